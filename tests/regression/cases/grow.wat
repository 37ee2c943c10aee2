;; Memory that grows between loops of one call, and from nothing.
;; call zero 5
;; call both 70000 10
;; call both 70000 10
;; call both 70000 10
;; call round 3
;; call both 190000 200000
;; call loop_grow 4
;; call both 450000 100
(module
  (memory (export "memory") 0 8)
  (func $fill (param $at i32) (param $n i32) (local $i i32)
    (loop $l
      (i32.store8 (i32.add (local.get $at) (local.get $i)) (i32.add (local.get $i) (local.get $n)))
      (local.set $i (i32.add (local.get $i) (i32.const 1)))
      (br_if $l (i32.lt_u (local.get $i) (local.get $n)))))
  (func (export "zero") (param $n i32) (call $fill (i32.const 0) (local.get $n)))
  (func (export "both") (param $at i32) (param $n i32) (result i32) (local $i i32)
    (drop (memory.grow (i32.const 1)))
    (loop $l
      (i32.store8 (i32.add (local.get $at) (local.get $i)) (i32.add (local.get $i) (memory.size)))
      (local.set $i (i32.add (local.get $i) (i32.const 1)))
      (br_if $l (i32.lt_u (local.get $i) (local.get $n))))
    (call $fill (i32.sub (local.get $at) (local.get $n)) (local.get $n))
    (memory.size))
  (func (export "round") (param $n i32) (local $k i32)
    (loop $o
      (drop (memory.grow (i32.const 0)))
      (call $fill (i32.mul (local.get $k) (i32.const 300)) (i32.const 250))
      (local.set $k (i32.add (local.get $k) (i32.const 1)))
      (br_if $o (i32.lt_u (local.get $k) (local.get $n)))))
  (func (export "loop_grow") (param $n i32) (result i32) (local $i i32) (local $k i32)
    (loop $o
      (local.set $i (i32.const 0))
      (loop $l
        (i32.store8 (i32.sub (i32.shl (memory.size) (i32.const 16)) (i32.add (local.get $i) (i32.const 1))) (local.get $i))
        (local.set $i (i32.add (local.get $i) (i32.const 1)))
        (br_if $l (i32.lt_u (local.get $i) (i32.const 100))))
      (drop (memory.grow (i32.const 1)))
      (local.set $k (i32.add (local.get $k) (i32.const 1)))
      (br_if $o (i32.lt_u (local.get $k) (local.get $n))))
    (memory.size)))
