;; Odd control flow around and in loops.
;; call exits 100 50
;; call exits 100 30
;; call exits 100 1000
;; call table 200
;; call dead 100
;; call none 0
;; call none 5
;; call middle 90
;; call two_back 100
;; call two_headers 64
;; call infinite_free 10
;; call values 100
;; call params 100
;; call tee 64
;; call same 100
;; call early 100 40
;; call select 100 1
;; call select 100 0
;; call twice 90
;; call nine 2
;; call nine 3
;; call swap 33
;; call swap 34
;; call multi 50
(module
  (memory (export "memory") 1)
  ;; several exits to one label
  (func (export "exits") (param $n i32) (param $k i32) (result i32) (local $i i32)
    (block $out
      (loop $l
        (br_if $out (i32.eq (local.get $i) (local.get $k)))
        (i32.store (i32.shl (local.get $i) (i32.const 2)) (local.get $i))
        (local.set $i (i32.add (local.get $i) (i32.const 1)))
        (br_if $out (i32.eq (i32.mul (local.get $i) (i32.const 3)) (i32.const 90)))
        (br_if $l (i32.lt_u (local.get $i) (local.get $n)))
        (br $out)))
    (local.get $i))
  (func (export "table") (param $n i32) (result i32) (local $i i32) (local $s i32)
    (block $out
      (loop $l
        (block $c (block $b (block $a
          (br_table $a $b $c $l $out (i32.and (local.get $s) (i32.const 3))))
          (i32.store8 (local.get $i) (i32.const 1)))
          (i32.store8 offset=256 (local.get $i) (i32.const 2)))
        (i32.store8 offset=512 (local.get $i) (i32.const 3))
        (local.set $s (i32.rem_u (i32.add (local.get $s) (i32.const 1)) (i32.const 3)))
        (local.set $i (i32.add (local.get $i) (i32.const 1)))
        (br_table $out $l (i32.lt_u (local.get $i) (local.get $n)))))
    (local.get $i))
  (func (export "dead") (param $n i32) (local $i i32)
    (loop $l
      (i32.store8 offset=1000 (local.get $i) (local.get $i))
      (local.set $i (i32.add (local.get $i) (i32.const 1)))
      (if (i32.lt_u (local.get $i) (local.get $n)) (then (br $l) (loop $m (br $m)) (unreachable)))
      (return) (loop $k (br $k))))
  (func (export "none") (param $n i32) (result i32) (local $i i32)
    (block $out
      (loop $l
        (br_if $out (i32.ge_s (local.get $i) (local.get $n)))
        (i32.store8 offset=1200 (local.get $i) (local.get $i))
        (local.set $i (i32.add (local.get $i) (i32.const 1)))
        (br $l)))
    (local.get $i))
  (func (export "middle") (param $n i32) (result i32) (local $i i32)
    (block $out
      (loop $l
        (i32.store8 offset=1300 (local.get $i) (local.get $i))
        (br_if $out (i32.ge_s (local.get $i) (local.get $n)))
        (i32.store8 offset=1500 (local.get $i) (local.get $i))
        (local.set $i (i32.add (local.get $i) (i32.const 1)))
        (br $l)))
    (local.get $i))
  (func (export "two_back") (param $n i32) (result i32) (local $i i32)
    (loop $l
      (local.set $i (i32.add (local.get $i) (i32.const 1)))
      (i32.store8 offset=2000 (local.get $i) (local.get $i))
      (br_if $l (i32.and (i32.and (local.get $i) (i32.const 1)) (i32.lt_u (local.get $i) (local.get $n))))
      (i32.store8 offset=2200 (local.get $i) (local.get $i))
      (br_if $l (i32.lt_u (local.get $i) (local.get $n))))
    (local.get $i))
  (func (export "two_headers") (param $n i32) (result i32) (local $i i32)
    (loop $a (loop $b
      (i32.store8 offset=2400 (local.get $i) (i32.const 4))
      (local.set $i (i32.add (local.get $i) (i32.const 1)))
      (br_if $b (i32.and (local.get $i) (i32.const 7)))
      (br_if $a (i32.lt_u (local.get $i) (local.get $n)))))
    (local.get $i))
  (func (export "infinite_free") (param $n i32) (result i32) (local $i i32)
    (loop $l
      (if (i32.eq (local.get $i) (local.get $n)) (then (return (local.get $i))))
      (i32.store8 offset=2600 (local.get $i) (i32.const 4))
      (local.set $i (i32.add (local.get $i) (i32.const 1)))
      (br $l))
    (unreachable))
  (func (export "values") (param $n i32) (result i32) (local $i i32)
    (loop $l (result i32)
      (i32.store8 offset=2700 (local.get $i) (i32.const 4))
      (local.set $i (i32.add (local.get $i) (i32.const 1)))
      (br_if $l (i32.lt_u (local.get $i) (local.get $n)))
      (i32.mul (local.get $i) (i32.const 10))))
  (func (export "params") (param $n i32) (result i32) (local $i i32)
    (i32.const 5)
    (loop $l (param i32) (result i32)
      (local.set $i)
      (i32.store8 offset=2900 (local.get $i) (i32.const 6))
      (i32.add (local.get $i) (i32.const 1))
      (br_if $l (i32.lt_u (local.get $i) (local.get $n)))))
  (func (export "tee") (param $n i32) (result i32) (local $i i32) (local $j i32) (local $k i32)
    (loop $l
      (i32.store8 offset=3000 (local.get $i) (local.get $j))
      (local.set $k (local.tee $j (local.tee $i (i32.add (local.get $i) (i32.const 1)))))
      (br_if $l (i32.lt_u (local.get $i) (local.get $n))))
    (i32.add (i32.mul (local.get $i) (local.get $j)) (local.get $k)))
  (func (export "same") (param $n i32) (result i32) (local $i i32) (local $j i32) (local $k i32)
    (block $out
      (loop $l
        (br_if $out (i32.ge_u (local.get $i) (local.get $n)))
        (i32.store8 offset=3200 (local.get $j) (local.get $i))
        (local.set $k (local.get $j))
        (local.set $j (local.tee $i (i32.add (local.get $i) (i32.const 1))))
        (br $l)))
    (i32.add (i32.mul (local.get $i) (i32.const 1000)) (i32.add (local.get $j) (i32.mul (local.get $k) (i32.const 7)))))
  (func (export "early") (param $n i32) (param $k i32) (result i32) (local $i i32)
    (loop $l
      (i32.store8 offset=3400 (local.get $i) (local.get $i))
      (local.set $i (i32.add (local.get $i) (i32.const 1)))
      (if (i32.eq (local.get $i) (local.get $k)) (then (return (i32.const -1))))
      (br_if $l (i32.lt_u (local.get $i) (local.get $n))))
    (local.get $i))
  (func (export "select") (param $n i32) (param $c i32) (result i32) (local $i i32)
    (loop $l
      (i32.store8 offset=3600 (select (local.get $i) (i32.sub (local.get $n) (local.get $i)) (local.get $c)) (local.get $i))
      (local.set $i (i32.add (local.get $i) (select (i32.const 1) (i32.const 3) (local.get $c))))
      (br_if $l (i32.lt_u (local.get $i) (local.get $n))))
    (local.get $i))
  ;; the counter moves on two ways
  (func (export "twice") (param $n i32) (result i32) (local $i i32)
    (loop $l
      (i32.store8 offset=3800 (local.get $i) (local.get $i))
      (if (i32.and (local.get $i) (i32.const 1))
        (then (local.set $i (i32.add (local.get $i) (i32.const 1))))
        (else (local.set $i (i32.add (local.get $i) (i32.const 3)))))
      (br_if $l (i32.lt_u (local.get $i) (local.get $n))))
    (local.get $i))
  (func (export "nine") (param $n i32) (result i32) (local $a i32) (local $b i32) (local $c i32) (local $d i32) (local $e i32) (local $f i32) (local $g i32) (local $h i32) (local $i i32) (local $p i32)
    (loop $la (local.set $b (i32.const 0))
     (loop $lb (local.set $c (i32.const 0))
      (loop $lc (local.set $d (i32.const 0))
       (loop $ld (local.set $e (i32.const 0))
        (loop $le (local.set $f (i32.const 0))
         (loop $lf (local.set $g (i32.const 0))
          (loop $lg (local.set $h (i32.const 0))
           (loop $lh (local.set $i (i32.const 0))
            (loop $li
             (i32.store8 offset=4096 (local.get $p) (i32.add (local.get $a) (i32.mul (local.get $i) (local.get $h))))
             (local.set $p (i32.add (local.get $p) (i32.const 1)))
             (br_if $li (i32.lt_u (local.tee $i (i32.add (local.get $i) (i32.const 1))) (local.get $n))))
            (br_if $lh (i32.lt_u (local.tee $h (i32.add (local.get $h) (i32.const 1))) (local.get $n))))
           (br_if $lg (i32.lt_u (local.tee $g (i32.add (local.get $g) (i32.const 1))) (local.get $n))))
          (br_if $lf (i32.lt_u (local.tee $f (i32.add (local.get $f) (i32.const 1))) (local.get $n))))
         (br_if $le (i32.lt_u (local.tee $e (i32.add (local.get $e) (i32.const 1))) (local.get $n))))
        (br_if $ld (i32.lt_u (local.tee $d (i32.add (local.get $d) (i32.const 1))) (local.get $n))))
       (br_if $lc (i32.lt_u (local.tee $c (i32.add (local.get $c) (i32.const 1))) (local.get $n))))
      (br_if $lb (i32.lt_u (local.tee $b (i32.add (local.get $b) (i32.const 1))) (local.get $n))))
     (br_if $la (i32.lt_u (local.tee $a (i32.add (local.get $a) (i32.const 1))) (local.get $n))))
    (local.get $p))
  ;; two addresses that change places
  (func (export "swap") (param $n i32) (result i32) (local $i i32) (local $x i32) (local $y i32) (local $t i32)
    (local.set $x (i32.const 40000)) (local.set $y (i32.const 41000))
    (loop $l
      (i32.store8 (i32.add (local.get $x) (local.get $i)) (i32.const 1))
      (i32.store8 (i32.add (local.get $y) (local.get $i)) (i32.const 2))
      (local.set $t (local.get $x)) (local.set $x (local.get $y)) (local.set $y (local.get $t))
      (br_if $l (i32.lt_u (local.tee $i (i32.add (local.get $i) (i32.const 1))) (local.get $n))))
    (local.get $x))
  (func (export "multi") (param $n i32) (result i32 i32 i64 f64) (local $i i32) (local $w i64) (local $x f64) (local $last i32)
    (loop $l
      (i32.store offset=50000 (i32.shl (local.get $i) (i32.const 2)) (local.get $i))
      (local.set $last (i32.load offset=50000 (i32.shl (local.get $i) (i32.const 2))))
      (local.set $w (i64.add (local.get $w) (i64.const 3)))
      (local.set $x (f64.convert_i32_u (local.get $i)))
      (br_if $l (i32.lt_u (local.tee $i (i32.add (local.get $i) (i32.const 1))) (local.get $n))))
    (local.get $i) (local.get $last) (local.get $w) (local.get $x)))
