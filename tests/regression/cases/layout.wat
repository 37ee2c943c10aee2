;; Code that comes after a loop stands between the wasm loop's brackets: the loop's end isn't the bytecode's way out.
;; kernels 2
;; call after 2000
;; call after 1
;; call twice 2000
;; call local 2000
(module
  (memory (export "memory") 2)
  ;; a store after the loop
  (func (export "after") (param $n i32) (result i32) (local $i i32)
    (loop $l
      (i32.store offset=1024 (i32.shl (local.get $i) (i32.const 2)) (i32.mul (local.get $i) (i32.const 7)))
      (br_if $l (i32.ne (local.tee $i (i32.add (local.get $i) (i32.const 1))) (local.get $n)))
      (i32.store (i32.const 512) (i32.const 77))
      (return (i32.load (i32.const 512))))
    (unreachable))
  ;; a second loop after the first
  (func (export "twice") (param $n i32) (local $i i32)
    (loop $l
      (i32.store offset=1024 (i32.shl (local.get $i) (i32.const 2)) (i32.mul (local.get $i) (i32.const 5)))
      (br_if $l (i32.ne (local.tee $i (i32.add (local.get $i) (i32.const 1))) (local.get $n)))
      (local.set $i (i32.const 0))
      (loop $m
        (i32.store offset=16384 (i32.shl (local.get $i) (i32.const 2)) (i32.add (local.get $i) (i32.const 3)))
        (br_if $m (i32.ne (local.tee $i (i32.add (local.get $i) (i32.const 1))) (local.get $n)))
        (return)))
    (unreachable))
  ;; nothing but a local that is set
  (func (export "local") (param $n i32) (result i32) (local $i i32) (local $t i32)
    (block $out
      (loop $l
        (i32.store offset=1024 (i32.shl (local.get $i) (i32.const 2)) (i32.mul (local.get $i) (i32.const 3)))
        (br_if $l (i32.ne (local.tee $i (i32.add (local.get $i) (i32.const 1))) (local.get $n)))
        (local.set $t (i32.const 5))
        (br $out)))
    (i32.add (local.get $t) (local.get $i)))
)
