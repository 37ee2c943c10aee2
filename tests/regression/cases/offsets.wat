;; Offsets beyond 2^31 and addresses that wrap: an effective address doesn't wrap, the address below the offset does.
;; call far -16 1
;; call far 0 100
;; call large 0 100
;; call large 0x7FFFFFFF 3
;; call large -100 200
;; call neg 400 101
;; call neg 400 102
;; call neg 400 200
;; call wrap -50 100
;; call wrap -400 100
;; call wrapping 0xFFFFFF00 100
;; call wrapping 0xFFFFFF00 300
;; call product 0x40000000 100
;; call product 0x10000 100
;; call sign -10 30
(module
  (memory (export "memory") 1)
  (func (export "far") (param $at i32) (param $n i32) (local $i i32)
    (loop $l
      (i32.store8 offset=0xFFFFFFFF (i32.add (local.get $at) (local.get $i)) (i32.const 9))
      (local.set $i (i32.add (local.get $i) (i32.const 1)))
      (br_if $l (i32.lt_u (local.get $i) (local.get $n)))))
  (func (export "large") (param $at i32) (param $n i32) (local $i i32)
    (loop $l
      (i32.store8 (i32.add (local.get $at) (local.get $i)) (i32.const 8))
      (i32.store8 offset=0x80000001 (i32.add (local.get $at) (local.get $i)) (i32.const 9))
      (local.set $i (i32.add (local.get $i) (i32.const 1)))
      (br_if $l (i32.lt_u (local.get $i) (local.get $n)))))
  (func (export "neg") (param $at i32) (param $n i32) (local $i i32)
    (loop $l
      (i32.store (i32.sub (local.get $at) (i32.shl (local.get $i) (i32.const 2))) (local.get $i))
      (local.set $i (i32.add (local.get $i) (i32.const 1)))
      (br_if $l (i32.lt_u (local.get $i) (local.get $n)))))
  (func (export "wrap") (param $at i32) (param $n i32) (local $i i32)
    (loop $l
      (i32.store8 offset=64 (i32.and (i32.add (local.get $at) (local.get $i)) (i32.const 0xFFFF)) (local.get $i))
      (local.set $i (i32.add (local.get $i) (i32.const 1)))
      (br_if $l (i32.lt_u (local.get $i) (local.get $n)))))
  (func (export "wrapping") (param $at i32) (param $n i32) (local $i i32)
    (loop $l
      (i32.store8 (i32.add (i32.add (local.get $at) (local.get $i)) (i32.const 0x100)) (local.get $i))
      (local.set $i (i32.add (local.get $i) (i32.const 1)))
      (br_if $l (i32.lt_u (local.get $i) (local.get $n)))))
  (func (export "product") (param $s i32) (param $n i32) (local $i i32)
    (loop $l
      (i32.store8 (i32.add (i32.mul (local.get $s) (local.get $i)) (local.get $i)) (local.get $i))
      (local.set $i (i32.add (local.get $i) (i32.const 4)))
      (br_if $l (i32.lt_u (local.get $i) (local.get $n)))))
  (func (export "sign") (param $from i32) (param $to i32) (local $i i64)
    (local.set $i (i64.extend_i32_s (local.get $from)))
    (loop $l
      (i32.store8 (i32.add (i32.wrap_i64 (local.get $i)) (i32.const 500)) (i32.const 77))
      (local.set $i (i64.add (local.get $i) (i64.const 1)))
      (br_if $l (i64.lt_s (local.get $i) (i64.extend_i32_s (local.get $to)))))))
