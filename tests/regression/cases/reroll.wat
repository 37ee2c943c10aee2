;; Bodies that look like unrolled statements and aren't, quite.
;; call squares 64
;; call squares64 64
;; call init
;; call shared 1024 1028 16 24
;; call init
;; call shared 1024 9000 16 24
;; call init
;; call two_stores 1024 1028 16 24
;; call init
;; call remainder 4 41
;; kernels 1
(module
  (memory (export "memory") 1)
  (func (export "init") (local $i i32)
    (loop $l
      (i32.store (i32.shl (local.get $i) (i32.const 2)) (i32.mul (i32.add (local.get $i) (i32.const 7)) (i32.const 0x9E3779B1)))
      (br_if $l (i32.lt_u (local.tee $i (i32.add (local.get $i) (i32.const 1))) (i32.const 4000)))))
  ;; the second copy's operands move by 1 and by 1 + 2^31: twice either is 2
  (func (export "squares") (param $n i32) (local $i i32)
    (loop $l
      (i32.store (i32.shl (local.get $i) (i32.const 2)) (i32.mul (local.get $i) (local.get $i)))
      (i32.store offset=4 (i32.shl (local.get $i) (i32.const 2))
        (i32.mul (i32.add (local.get $i) (i32.const 1)) (i32.add (local.get $i) (i32.const 0x80000001))))
      (br_if $l (i32.lt_u (local.tee $i (i32.add (local.get $i) (i32.const 2))) (local.get $n)))))
  (func (export "squares64") (param $n i64) (local $i i64)
    (loop $l
      (i64.store (i32.shl (i32.wrap_i64 (local.get $i)) (i32.const 3)) (i64.mul (local.get $i) (local.get $i)))
      (i64.store offset=8 (i32.shl (i32.wrap_i64 (local.get $i)) (i32.const 3))
        (i64.mul (i64.add (local.get $i) (i64.const 1)) (i64.add (local.get $i) (i64.const 0x8000000000000001))))
      (br_if $l (i64.lt_u (local.tee $i (i64.add (local.get $i) (i64.const 2))) (local.get $n)))))
  ;; a load that both copies use, taken before the first copy's store, which may lie on it
  (func (export "shared") (param $x i32) (param $y i32) (param $n i32) (param $m i32) (local $i i32) (local $j i32) (local $p i32) (local $q i32) (local $a i32) (local $b i32) (local $c i32)
    (loop $o
      (local.set $j (i32.const 0))
      (local.set $p (i32.add (local.get $x) (i32.mul (local.get $i) (i32.const 256))))
      (local.set $q (i32.add (local.get $y) (i32.mul (local.get $i) (i32.const 256))))
      (loop $l
        (local.set $a (i32.load (i32.add (local.get $p) (i32.shl (local.get $j) (i32.const 2)))))
        (local.set $b (i32.load offset=4 (i32.add (local.get $p) (i32.shl (local.get $j) (i32.const 2)))))
        (i32.store (i32.add (local.get $q) (i32.shl (local.get $j) (i32.const 2))) (i32.add (local.get $a) (i32.mul (local.get $b) (i32.const 3))))
        (local.set $c (i32.load offset=8 (i32.add (local.get $p) (i32.shl (local.get $j) (i32.const 2)))))
        (i32.store offset=4 (i32.add (local.get $q) (i32.shl (local.get $j) (i32.const 2))) (i32.add (local.get $b) (i32.mul (local.get $c) (i32.const 3))))
        (br_if $l (i32.lt_u (local.tee $j (i32.add (local.get $j) (i32.const 2))) (local.get $m))))
      (br_if $o (i32.lt_u (local.tee $i (i32.add (local.get $i) (i32.const 1))) (local.get $n)))))
  ;; likewise with two stores a copy, the load used by the second one of the first copy and the first one of the second
  (func (export "two_stores") (param $x i32) (param $y i32) (param $n i32) (param $m i32) (local $i i32) (local $j i32) (local $p i32) (local $q i32) (local $a i32) (local $b i32) (local $c i32)
    (loop $o
      (local.set $j (i32.const 0))
      (local.set $p (i32.add (local.get $x) (i32.mul (local.get $i) (i32.const 256))))
      (local.set $q (i32.add (local.get $y) (i32.mul (local.get $i) (i32.const 256))))
      (loop $l
        (local.set $a (i32.load (i32.add (local.get $p) (i32.shl (local.get $j) (i32.const 2)))))
        (local.set $b (i32.load offset=4 (i32.add (local.get $p) (i32.shl (local.get $j) (i32.const 2)))))
        (local.set $c (i32.load offset=8 (i32.add (local.get $p) (i32.shl (local.get $j) (i32.const 2)))))
        (i32.store offset=20000 (i32.add (local.get $q) (i32.shl (local.get $j) (i32.const 2))) (i32.sub (local.get $a) (local.get $b)))
        (i32.store (i32.add (local.get $q) (i32.shl (local.get $j) (i32.const 2))) (i32.add (local.get $a) (local.get $b)))
        (i32.store offset=20004 (i32.add (local.get $q) (i32.shl (local.get $j) (i32.const 2))) (i32.sub (local.get $b) (local.get $c)))
        (i32.store offset=4 (i32.add (local.get $q) (i32.shl (local.get $j) (i32.const 2))) (i32.add (local.get $b) (local.get $c)))
        (br_if $l (i32.lt_u (local.tee $j (i32.add (local.get $j) (i32.const 2))) (local.get $m))))
      (br_if $o (i32.lt_u (local.tee $i (i32.add (local.get $i) (i32.const 1))) (local.get $n)))))
  ;; the remainder subtracts the other way round: both loads have one address, and a store between them
  (func (export "remainder") (param $n i32) (param $m i32) (local $i i32) (local $j i32) (local $p i32) (local $a i32) (local $b i32) (local $end i32)
    (local.set $end (i32.and (local.get $m) (i32.const -2)))
    (loop $o
      (local.set $j (i32.const 0))
      (loop $l
        (local.set $p (i32.add (i32.mul (local.get $i) (i32.const 256)) (i32.shl (local.get $j) (i32.const 2))))
        (local.set $a (i32.load (local.get $p)))
        (i32.store (local.get $p) (i32.mul (local.get $a) (i32.const 5)))
        (local.set $b (i32.load (local.get $p)))
        (i32.store offset=20000 (local.get $p) (i32.sub (local.get $a) (local.get $b)))
        (local.set $a (i32.load offset=4 (local.get $p)))
        (i32.store offset=4 (local.get $p) (i32.mul (local.get $a) (i32.const 5)))
        (local.set $b (i32.load offset=4 (local.get $p)))
        (i32.store offset=20004 (local.get $p) (i32.sub (local.get $a) (local.get $b)))
        (br_if $l (i32.ne (local.tee $j (i32.add (local.get $j) (i32.const 2))) (local.get $end))))
      (if (i32.and (local.get $m) (i32.const 1))
        (then
          (local.set $p (i32.add (i32.mul (local.get $i) (i32.const 256)) (i32.shl (local.get $end) (i32.const 2))))
          (local.set $a (i32.load (local.get $p)))
          (i32.store (local.get $p) (i32.mul (local.get $a) (i32.const 5)))
          (local.set $b (i32.load (local.get $p)))
          (i32.store offset=20000 (local.get $p) (i32.sub (local.get $b) (local.get $a)))))
      (br_if $o (i32.lt_u (local.tee $i (i32.add (local.get $i) (i32.const 1))) (local.get $n))))))
