;; A local that nothing reads after a loop is left behind by the loop's kernel with what it had before. In SSA form it holds, at the header of
;; the next loop, a value that is also read there from elsewhere: that local is no place to take it from.
;; call constant 100
;; call computed 5000 100
;; call kept 5000 100
;; call between 5000 100
;; call vector 7 100
;; kernels 9
(module
  (memory (export "memory") 1)
  (data (i32.const 0) "those are other bytes than the loops should meet: ")
  (data (i32.const 20000) "and these are what they should meet, one after the other, and then some more of them to make a hundred")
  ;; $p is 20000 on all ways into the second loop, which sets it to something else first.
  (func (export "constant") (param $n i32) (local $i i32) (local $p i32)
    (loop $a
      (local.set $p (i32.const 1024))
      (i32.store (i32.add (local.get $p) (i32.shl (local.get $i) (i32.const 2))) (i32.mul (local.get $i) (i32.const 3)))
      (local.set $p (i32.const 20000))
      (br_if $a (i32.lt_u (local.tee $i (i32.add (local.get $i) (i32.const 1))) (local.get $n))))
    (local.set $i (i32.const 0))
    (loop $b
      (local.set $p (i32.const 4096))
      (i32.store (i32.add (local.get $p) (i32.shl (local.get $i) (i32.const 2)))
        (i32.load8_u (i32.add (i32.const 20000) (local.get $i))))
      (local.set $p (i32.const 20000))
      (br_if $b (i32.lt_u (local.tee $i (i32.add (local.get $i) (i32.const 1))) (local.get $n)))))
  ;; The second loop reads 4*$q in $from; $m, which comes first, holds it there, too, but for the kernel of the first loop.
  (func (export "computed") (param $q i32) (param $n i32) (local $i i32) (local $m i32) (local $from i32)
    (local.set $from (i32.shl (local.get $q) (i32.const 2)))
    (loop $a
      (local.set $m (local.get $from))
      (local.set $from (i32.mul (local.get $i) (i32.const 3)))
      (i32.store offset=1024 (i32.shl (local.get $i) (i32.const 2)) (local.get $from))
      (local.set $from (local.get $m))
      (br_if $a (i32.lt_u (local.tee $i (i32.add (local.get $i) (i32.const 1))) (local.get $n))))
    (local.set $i (i32.const 0))
    (loop $b
      (local.set $m (local.get $from))
      (local.set $from (i32.load8_u (i32.add (local.get $from) (local.get $i))))
      (i32.store offset=4096 (i32.shl (local.get $i) (i32.const 2)) (local.get $from))
      (local.set $from (local.get $m))
      (br_if $b (i32.lt_u (local.tee $i (i32.add (local.get $i) (i32.const 1))) (local.get $n)))))
  ;; $m leaves the second loop with what it would have had on arrival.
  (func (export "kept") (param $q i32) (param $n i32) (result i32) (local $i i32) (local $m i32) (local $from i32)
    (local.set $from (i32.shl (local.get $q) (i32.const 2)))
    (loop $a
      (local.set $m (local.get $from))
      (i32.store offset=1024 (i32.shl (local.get $i) (i32.const 2)) (i32.add (local.get $m) (local.get $i)))
      (br_if $a (i32.lt_u (local.tee $i (i32.add (local.get $i) (i32.const 1))) (local.get $n))))
    (local.set $i (i32.const 0))
    (loop $b
      (local.set $m (local.get $from))
      (i32.store offset=4096 (i32.shl (local.get $i) (i32.const 2)) (i32.load8_u (i32.add (local.get $m) (local.get $i))))
      (br_if $b (i32.lt_u (local.tee $i (i32.add (local.get $i) (i32.const 1))) (local.get $n))))
    (local.get $m))
  ;; $m is set behind the first loop, but between its brackets.
  (func (export "between") (param $q i32) (param $n i32) (local $i i32) (local $m i32) (local $from i32)
    (local.set $from (i32.shl (local.get $q) (i32.const 2)))
    (loop $a
      (i32.store offset=1024 (i32.shl (local.get $i) (i32.const 2)) (i32.mul (local.get $i) (i32.const 5)))
      (br_if $a (i32.lt_u (local.tee $i (i32.add (local.get $i) (i32.const 1))) (local.get $n)))
      (local.set $m (local.get $from)))
    (local.set $i (i32.const 0))
    (loop $b
      (local.set $m (local.get $from))
      (local.set $from (i32.load8_u (i32.add (local.get $from) (local.get $i))))
      (i32.store offset=4096 (i32.shl (local.get $i) (i32.const 2)) (local.get $from))
      (local.set $from (local.get $m))
      (br_if $b (i32.lt_u (local.tee $i (i32.add (local.get $i) (i32.const 1))) (local.get $n)))))
  ;; The vector is made of $x, which the loop doesn't touch and nothing reads any more.
  (func (export "vector") (param $q i32) (param $n i32) (local $i i32) (local $x i32) (local $y i32) (local $v v128)
    (local.set $y (i32.load8_u (i32.add (local.get $q) (i32.const 20000))))
    (local.set $v (i32x4.splat (local.get $y)))
    (loop $a
      (local.set $x (local.get $y))
      (i32.store offset=1024 (i32.shl (local.get $i) (i32.const 2)) (i32.add (local.get $x) (local.get $i)))
      (br_if $a (i32.lt_u (local.tee $i (i32.add (local.get $i) (i32.const 1))) (local.get $n))))
    (local.set $y (i32.const 0))
    (local.set $i (i32.const 0))
    (loop $b
      (v128.store offset=4096 (i32.shl (local.get $i) (i32.const 4)) (i32x4.add (local.get $v) (v128.load offset=20000 (i32.shl (local.get $i) (i32.const 4)))))
      (br_if $b (i32.lt_u (local.tee $i (i32.add (local.get $i) (i32.const 1))) (local.get $n))))))
