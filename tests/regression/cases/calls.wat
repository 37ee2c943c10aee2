;; Guarded functions by export, table, ref.func and tail call; recursion; globals that bear our names; a hot start function.
;; call get 0
;; call direct 200
;; call indirect 0 100
;; call indirect 1 100
;; call indirect 2 100
;; call by_ref 50
;; call recurse 5 60
;; call tail 40
;; call even 41
;; call global
;; call bump 100
;; call bump 7
;; call global
;; call loops_calls 20
;; call indirect 3 5
;; call mutual 30
(module
  (type $t (func (param i32) (result i32)))
  (memory (export "memory") 1)
  (table (export "tensorwasm") 4 4 funcref)
  (table (export "table") 3 funcref)
  (elem (table 0) (i32.const 0) func $fill $other $get)
  (elem declare func $fill)
  (global $g (export "tensorwasm.countdown") (mut i32) (i32.const 5))
  (global (export "guard") (mut i32) (i32.const 1))
  (global $sp (mut i32) (i32.const 60000))
  (func $start (local $i i32)
    (loop $l
      (i32.store offset=20000 (i32.shl (local.get $i) (i32.const 2)) (i32.mul (local.get $i) (local.get $i)))
      (br_if $l (i32.lt_u (local.tee $i (i32.add (local.get $i) (i32.const 1))) (i32.const 2000)))))
  (start $start)
  (func $get (export "get") (param i32) (result i32) (i32.load offset=20004 (local.get 0)))
  (func $fill (export "direct") (export "tw_twin") (param $n i32) (result i32) (local $i i32)
    (loop $l
      (i32.store8 (local.get $i) (i32.add (local.get $i) (local.get $n)))
      (br_if $l (i32.lt_u (local.tee $i (i32.add (local.get $i) (i32.const 1))) (local.get $n))))
    (local.get $i))
  (func $other (param $n i32) (result i32) (local $i i32)
    (loop $l
      (i32.store8 offset=1000 (local.get $i) (i32.xor (i32.load8_u (local.get $i)) (local.get $n)))
      (br_if $l (i32.lt_u (local.tee $i (i32.add (local.get $i) (i32.const 1))) (local.get $n))))
    (i32.add (local.get $i) (i32.const 1)))
  (func (export "indirect") (param $k i32) (param $n i32) (result i32)
    (call_indirect (type $t) (local.get $n) (local.get $k)))
  (func (export "by_ref") (param $n i32) (result i32)
    (table.set 1 (i32.const 1) (ref.func $fill))
    (table.copy 0 1 (i32.const 3) (i32.const 1) (i32.const 1))
    (call_indirect 1 (type $t) (local.get $n) (i32.const 1)))
  (func $recurse (export "recurse") (param $d i32) (param $n i32) (result i32) (local $i i32)
    (if (i32.eqz (local.get $d)) (then (return (call $fill (local.get $n)))))
    (loop $l
      (i32.store8 (i32.add (i32.mul (local.get $d) (i32.const 300)) (local.get $i)) (local.get $d))
      (br_if $l (i32.lt_u (local.tee $i (i32.add (local.get $i) (i32.const 1))) (local.get $n))))
    (local.set $i (call $recurse (i32.sub (local.get $d) (i32.const 1)) (i32.add (local.get $n) (i32.const 1))))
    (loop $l
      (i32.store8 offset=4000 (i32.add (i32.mul (local.get $d) (i32.const 300)) (local.get $i)) (local.get $d))
      (local.set $i (i32.sub (local.get $i) (i32.const 1)))
      (br_if $l (local.get $i)))
    (local.get $d))
  (func (export "tail") (param $n i32) (result i32) (local $i i32)
    (loop $l
      (i32.store8 offset=9000 (local.get $i) (local.get $n))
      (br_if $l (i32.lt_u (local.tee $i (i32.add (local.get $i) (i32.const 1))) (local.get $n))))
    (return_call_indirect (type $t) (local.get $n) (i32.const 1)))
  (func $even (export "even") (param $n i32) (result i32) (local $i i32)
    (if (i32.eqz (local.get $n)) (then (return (i32.const 1))))
    (loop $l
      (i32.store8 offset=10000 (local.get $i) (i32.add (local.get $n) (local.get $i)))
      (br_if $l (i32.lt_u (local.tee $i (i32.add (local.get $i) (i32.const 1))) (local.get $n))))
    (return_call $odd (i32.sub (local.get $n) (i32.const 1))))
  (func $odd (param $n i32) (result i32)
    (if (i32.eqz (local.get $n)) (then (return (i32.const 0))))
    (return_call $even (i32.sub (local.get $n) (i32.const 1))))
  (func (export "global") (result i32 i32) (global.get $g) (global.get 1))
  (func (export "bump") (param $n i32) (result i32) (local $i i32)
    (global.set $sp (i32.sub (global.get $sp) (i32.const 512)))
    (loop $l
      (i32.store8 (i32.add (global.get $sp) (local.get $i)) (local.get $i))
      (global.set $g (i32.add (global.get $g) (i32.const 1)))
      (br_if $l (i32.lt_u (local.tee $i (i32.add (local.get $i) (i32.const 1))) (local.get $n))))
    (local.set $i (i32.const 0))
    (loop $l
      (i32.store8 offset=256 (i32.add (global.get $sp) (local.get $i)) (local.get $i))
      (br_if $l (i32.lt_u (local.tee $i (i32.add (local.get $i) (i32.const 1))) (local.get $n))))
    (global.set $sp (i32.add (global.get $sp) (i32.const 512)))
    (global.get $sp))
  (func (export "loops_calls") (param $n i32) (result i32) (local $i i32) (local $s i32)
    (loop $l
      (local.set $s (i32.add (local.get $s) (call $fill (local.get $i))))
      (i32.store8 offset=12000 (local.get $i) (local.get $s))
      (br_if $l (i32.lt_u (local.tee $i (i32.add (local.get $i) (i32.const 1))) (local.get $n))))
    (local.get $s))
  (func $mutual (export "mutual") (param $n i32) (result i32) (local $i i32)
    (loop $l
      (i32.store8 offset=13000 (local.get $i) (i32.add (i32.load8_u offset=13000 (local.get $i)) (local.get $n)))
      (br_if $l (i32.lt_u (local.tee $i (i32.add (local.get $i) (i32.const 1))) (local.get $n))))
    (if (result i32) (i32.gt_s (local.get $n) (i32.const 1))
      (then (i32.add (call $mutual (i32.sub (local.get $n) (i32.const 2))) (call_indirect (type $t) (local.get $n) (i32.const 0))))
      (else (i32.const 1)))))
