;; Values that an inner loop leaves behind, and bounds that come from them.
;; call left 40 37
;; call left 40 0
;; call bound_after 20 64
;; call twice 8 20 6
;; call reload 10 2000 40
;; call reload2 4 3
;; call chain 3000 20
;; call self 100
;; call steps 20 5
;; call cond_bound 30 7
;; call cond_bound 30 100
(module
  (memory (export "memory") 2)
  (data (i32.const 3000) "\00\0c\00\00\40\0c\00\00\80\0c\00\00\c0\0c\00\00")
  ;; x = j >> 1 of the last inner trip is used as an address after it
  (func (export "left") (param $n i32) (param $m i32) (local $i i32) (local $j i32) (local $x i32)
    (loop $o
      (local.set $j (i32.const 0))
      (loop $l
        (local.set $x (i32.shr_u (local.get $j) (i32.const 1)))
        (i32.store8 offset=100 (i32.add (local.get $j) (i32.mul (local.get $i) (i32.const 64))) (local.get $i))
        (br_if $l (i32.lt_u (local.tee $j (i32.add (local.get $j) (i32.const 1))) (local.get $m))))
      (i32.store8 offset=8000 (i32.add (local.get $x) (i32.mul (local.get $i) (i32.const 64))) (i32.const 1))
      (br_if $o (i32.lt_u (local.tee $i (i32.add (local.get $i) (i32.const 1))) (local.get $n)))))
  ;; and as the next loop's bound
  (func (export "bound_after") (param $n i32) (param $m i32) (local $i i32) (local $j i32) (local $x i32)
    (loop $o
      (local.set $j (i32.const 0))
      (loop $l
        (local.set $x (i32.shr_u (i32.add (local.get $j) (local.get $i)) (i32.const 1)))
        (i32.store8 offset=100 (i32.add (local.get $j) (i32.mul (local.get $i) (i32.const 64))) (local.get $x))
        (br_if $l (i32.lt_u (local.tee $j (i32.add (local.get $j) (i32.const 1))) (local.get $m))))
      (local.set $j (i32.const 0))
      (loop $l
        (i32.store8 offset=9000 (i32.add (local.get $j) (i32.mul (local.get $i) (i32.const 64))) (i32.const 9))
        (br_if $l (i32.lt_u (local.tee $j (i32.add (local.get $j) (i32.const 1))) (local.get $x))))
      (br_if $o (i32.lt_u (local.tee $i (i32.add (local.get $i) (i32.const 1))) (local.get $n)))))
  ;; a pointer that two inner loops move on
  (func (export "twice") (param $n i32) (param $a i32) (param $b i32) (result i32) (local $i i32) (local $j i32) (local $p i32)
    (local.set $p (i32.const 20000))
    (loop $o
      (local.set $j (local.get $a))
      (loop $l
        (i32.store8 (local.get $p) (local.get $j))
        (local.set $p (i32.add (local.get $p) (i32.const 1)))
        (br_if $l (local.tee $j (i32.sub (local.get $j) (i32.const 1)))))
      (local.set $j (i32.const 0))
      (loop $l
        (i32.store16 (local.get $p) (local.get $i))
        (local.set $p (i32.add (local.get $p) (i32.const 2)))
        (br_if $l (i32.lt_s (local.tee $j (i32.add (local.get $j) (i32.const 2))) (local.get $b))))
      (br_if $o (i32.lt_u (local.tee $i (i32.add (local.get $i) (i32.const 1))) (local.get $n))))
    (local.get $p))
  ;; the inner bound is reloaded each time, and the stores come to it
  (func (export "reload") (param $n i32) (param $at i32) (param $m i32) (local $i i32) (local $j i32)
    (i32.store (local.get $at) (local.get $m))
    (loop $o
      (local.set $j (i32.const 0))
      (loop $l
        (i32.store8 (i32.add (local.get $j) (i32.mul (local.get $i) (i32.const 220))) (i32.const 30))
        (br_if $l (i32.lt_u (local.tee $j (i32.add (local.get $j) (i32.const 1))) (i32.load (local.get $at)))))
      (br_if $o (i32.lt_u (local.tee $i (i32.add (local.get $i) (i32.const 1))) (local.get $n)))))
  ;; each row has its own bound in memory
  (func (export "reload2") (param $n i32) (param $s i32) (local $i i32) (local $j i32)
    (loop $o
      (local.set $j (i32.const 0))
      (loop $l
        (i32.store8 offset=30000 (i32.add (local.get $j) (i32.mul (local.get $i) (i32.const 64))) (i32.const 30))
        (br_if $l (i32.lt_u (local.tee $j (i32.add (local.get $j) (i32.const 1))) (i32.load8_u offset=3000 (i32.mul (local.get $i) (local.get $s))))))
      (br_if $o (i32.lt_u (local.tee $i (i32.add (local.get $i) (i32.const 1))) (local.get $n)))))
  ;; a pointer to a pointer, which the last store changes
  (func (export "chain") (param $at i32) (param $n i32) (local $i i32)
    (loop $l
      (i32.store (i32.add (i32.load (local.get $at)) (i32.shl (local.get $i) (i32.const 2))) (i32.add (local.get $at) (i32.shl (local.get $i) (i32.const 1))))
      (i32.store8 (i32.sub (i32.add (local.get $at) (i32.const 19)) (local.get $i)) (i32.const 12))
      (br_if $l (i32.lt_u (local.tee $i (i32.add (local.get $i) (i32.const 1))) (local.get $n)))))
  ;; the loop's counter lives in memory
  (func (export "self") (param $n i32)
    (i32.store (i32.const 40000) (i32.const 0))
    (loop $l
      (i32.store8 offset=40004 (i32.load (i32.const 40000)) (i32.const 5))
      (i32.store (i32.const 40000) (i32.add (i32.load (i32.const 40000)) (i32.const 1)))
      (br_if $l (i32.lt_u (i32.load (i32.const 40000)) (local.get $n)))))
  ;; the step comes from memory, too
  (func (export "steps") (param $n i32) (param $s i32) (local $i i32)
    (i32.store (i32.const 50000) (local.get $s))
    (loop $l
      (i32.store8 offset=50000 (i32.mul (local.get $i) (i32.const 1)) (i32.const 2))
      (local.set $i (i32.add (local.get $i) (i32.load (i32.const 50000))))
      (br_if $l (i32.lt_u (local.get $i) (local.get $n)))))
  (func (export "cond_bound") (param $n i32) (param $k i32) (local $i i32) (local $j i32) (local $m i32)
    (loop $o
      (local.set $m (if (result i32) (i32.lt_u (local.get $i) (local.get $k)) (then (local.get $i)) (else (i32.sub (i32.const 40) (local.get $i)))))
      (local.set $j (i32.const 0))
      (block $none
        (br_if $none (i32.eqz (local.get $m)))
        (loop $l
          (i32.store8 offset=60000 (i32.add (local.get $j) (i32.mul (local.get $i) (i32.const 40))) (local.get $m))
          (br_if $l (i32.lt_u (local.tee $j (i32.add (local.get $j) (i32.const 1))) (local.get $m)))))
      (br_if $o (i32.lt_u (local.tee $i (i32.add (local.get $i) (i32.const 1))) (local.get $n))))))
