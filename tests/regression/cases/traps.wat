;; Traps in the middle of a loop: kind, place and the memory left are those of the original.
;; call store 1000 65000
;; call store 1000 65536
;; call store 60000 6000
;; call store 65530 3
;; call store 65530 6
;; call store 65533 -1
;; call divide 0 100
;; call divide 37 100
;; call convert 50
;; call convert 40
;; call unreach 64 10
;; call unreach 64 64
;; call unreach 64 100
;; call guarded 65000 1000 500
;; call guarded 65000 1000 600
;; call nested 200 200 300
;; call nested 200 400 300
;; call both 65000 1 600
;; call both 1 65000 600
;; call both 65000 65100 600
(module
  (memory (export "memory") 1)
  (func (export "store") (param $at i32) (param $n i32) (local $i i32)
    (loop $l
      (i32.store8 (i32.add (local.get $at) (local.get $i)) (i32.mul (local.get $i) (i32.const 7)))
      (local.set $i (i32.add (local.get $i) (i32.const 1)))
      (br_if $l (i32.lt_u (local.get $i) (local.get $n)))))
  (func (export "divide") (param $zero i32) (param $n i32) (result i32) (local $i i32)
    (loop $l
      (i32.store (i32.shl (local.get $i) (i32.const 2)) (i32.div_s (i32.const 1000) (i32.sub (local.get $i) (local.get $zero))))
      (local.set $i (i32.add (local.get $i) (i32.const 1)))
      (br_if $l (i32.lt_u (local.get $i) (local.get $n))))
    (local.get $i))
  (func (export "convert") (param $n i32) (local $i i32) (local $x f64)
    (local.set $x (f64.const 1))
    (loop $l
      (local.set $x (f64.mul (local.get $x) (f64.const 1.6)))
      (i32.store offset=4096 (i32.shl (local.get $i) (i32.const 2)) (i32.trunc_f64_s (local.get $x)))
      (local.set $i (i32.add (local.get $i) (i32.const 1)))
      (br_if $l (i32.lt_u (local.get $i) (local.get $n)))))
  (func (export "unreach") (param $n i32) (param $k i32) (local $i i32)
    (loop $l
      (i32.store offset=8192 (i32.shl (local.get $i) (i32.const 2)) (local.get $i))
      (if (i32.eq (local.get $i) (local.get $k)) (then (unreachable)))
      (local.set $i (i32.add (local.get $i) (i32.const 1)))
      (br_if $l (i32.lt_u (local.get $i) (local.get $n)))))
  (func (export "guarded") (param $at i32) (param $n i32) (param $k i32) (local $i i32)
    (loop $l
      (if (i32.lt_u (local.get $i) (local.get $k))
        (then (i32.store8 (i32.add (local.get $at) (local.get $i)) (i32.const 3))))
      (local.set $i (i32.add (local.get $i) (i32.const 1)))
      (br_if $l (i32.lt_u (local.get $i) (local.get $n)))))
  (func (export "nested") (param $n i32) (param $m i32) (param $s i32) (local $i i32) (local $j i32)
    (loop $o
      (local.set $j (i32.const 0))
      (loop $l
        (i32.store8 (i32.add (i32.mul (local.get $i) (local.get $s)) (local.get $j)) (i32.add (local.get $i) (local.get $j)))
        (local.set $j (i32.add (local.get $j) (i32.const 1)))
        (br_if $l (i32.lt_u (local.get $j) (local.get $m))))
      (local.set $i (i32.add (local.get $i) (i32.const 1)))
      (br_if $o (i32.lt_u (local.get $i) (local.get $n)))))
  ;; a load that traps where the store wouldn't, and the other way round; the store comes first
  (func (export "both") (param $x i32) (param $y i32) (param $n i32) (local $i i32)
    (loop $l
      (i32.store8 (i32.add (local.get $y) (local.get $i)) (local.get $i))
      (i32.store8 offset=100 (local.get $i) (i32.load8_u (i32.add (local.get $x) (local.get $i))))
      (local.set $i (i32.add (local.get $i) (i32.const 1)))
      (br_if $l (i32.lt_u (local.get $i) (local.get $n))))))
