;; Bounds checks that report and trap: where reports stand, what they read, dead ends in odd places, traps without a report.
;; timeout 5000
;; kernels 20
;; call A 30 4000
;; call A 30 16
;; call A 16 16
;; call A 7 0
;; call B 30 4000
;; call B 30 16
;; call B 16 16
;; call B 7 0
;; call C 30 4000
;; call C 30 16
;; call C 16 16
;; call C 7 0
;; call D 30 4000
;; call D 30 16
;; call D 16 16
;; call D 7 0
;; call E 30 4000
;; call E 30 16
;; call E 16 16
;; call E 7 0
;; call G 30 4000
;; call G 30 16
;; call G 16 16
;; call G 7 0
;; call J 30 4000
;; call J 30 16
;; call J 16 16
;; call J 7 0
;; call K 30 4000
;; call K 30 16
;; call K 16 16
;; call K 7 0
;; call M 30 4000
;; call M 30 16
;; call M 16 16
;; call M 7 0
;; call N 30 4000
;; call N 30 16
;; call N 16 16
;; call N 7 0
;; call O 30 4000
;; call O 30 16
;; call O 16 16
;; call O 7 0
;; call Q 30 4000
;; call Q 30 16
;; call Q 16 16
;; call Q 7 0
;; call R 30 4000
;; call R 30 16
;; call R 16 16
;; call R 7 0
;; call S 30 4000
;; call S 30 16
;; call S 16 16
;; call S 7 0
;; call U 30 4000
;; call U 30 16
;; call U 16 16
;; call U 7 0
;; call V 30 4000
;; call V 30 16
;; call V 16 16
;; call V 7 0
;; call W 30 4000
;; call W 30 16
;; call W 16 16
;; call W 7 0
;; call Y 30 4000
;; call Y 30 16
;; call Y 7 0
;; call X 30 4000
;; call X 30 16
;; call X 16 16
;; call X 7 0
(module
 (memory (export "memory") 4)
 (global $g (mut i32) (i32.const 0))
 (table 4 funcref)
 (elem (i32.const 0) $dump3 $boom)
 (type $t3 (func (param i32 i32 i32)))
 ;; what reports say goes into the memory, one number after the other
 (func $keep (param $x i32)
  (i32.store (i32.const 256) (i32.add (i32.load (i32.const 256)) (i32.const 4)))
  (i32.store offset=260 (i32.and (i32.load (i32.const 256)) (i32.const 511)) (local.get $x)))
 (func $dump3 (param i32 i32 i32)
  (call $keep (local.get 0)) (call $keep (local.get 1)) (call $keep (local.get 2)) (call $keep (global.get $g)))
 (func $dump3r (param i32 i32 i32) (result i32) (call $dump3 (local.get 0) (local.get 1) (local.get 2)) (i32.const 5))
 (func $boom (param i32 i32 i32) (call $dump3 (local.get 0) (local.get 1) (local.get 2)) (unreachable))

 ;; A: reads the value of the previous iteration, of an inner loop, only in the report
 (func $A (export "A") (param $n i32) (param $lim i32) (local $i i32) (local $j i32) (local $last i32) (local $sum i32)
  (local.set $last (i32.const 77))
  (loop $o
   (local.set $j (i32.const 0))
   (loop $in
     (if (i32.ge_u (i32.add (i32.mul (local.get $i) (local.get $n)) (local.get $j)) (local.get $lim))
      (then (call $dump3 (local.get $i) (local.get $j) (local.get $last)) (unreachable)))
     (i32.store offset=1024 (i32.shl (i32.add (i32.mul (local.get $i) (local.get $n)) (local.get $j)) (i32.const 2)) (i32.mul (local.get $i) (local.get $j)))
     (local.set $last (i32.mul (local.get $j) (i32.const 3)))
     (br_if $in (i32.lt_u (local.tee $j (i32.add (local.get $j) (i32.const 1))) (local.get $n))))
   (br_if $o (i32.lt_u (local.tee $i (i32.add (local.get $i) (i32.const 1))) (local.get $n))))
  (call $dump3 (local.get $i) (local.get $j) (i32.const 9)))
 ;; B: dead end sets locals, global, tail-ish call_indirect, operands on the stack
 (func $B (export "B") (param $n i32) (param $lim i32) (local $i i32) (local $q i32)
  (block $out
  (loop $o
   (br_if $out (i32.ge_u (local.get $i) (local.get $n)))
   (block $ok
     (br_if $ok (i32.lt_u (local.get $i) (local.get $lim)))
     (local.set $q (i32.mul (local.get $i) (i32.const 10)))
     (global.set $g (local.get $q))
     (call_indirect (type $t3) (local.get $i) (local.get $q) (local.get $lim) (i32.const 0))
     (unreachable))
   (i32.store offset=1024 (i32.shl (local.get $i) (i32.const 2)) (i32.add (local.get $i) (i32.const 5)))
   (local.set $q (local.get $i))
   (local.set $i (i32.add (local.get $i) (i32.const 1)))
   (br $o)))
  (call $dump3 (local.get $i) (local.get $q) (i32.const 9)))
 ;; C: br_table to dead ends, one shared report, one own
 (func $C (export "C") (param $n i32) (param $lim i32) (local $i i32) (local $q i32)
  (block $fail
  (block $fail2
  (loop $o
   (br_if $fail (i32.ge_u (local.get $i) (local.get $lim)))
   (br_if $fail2 (i32.eq (local.get $i) (i32.add (local.get $lim) (i32.const 5))))
   (i32.store offset=1024 (i32.shl (local.get $i) (i32.const 2)) (i32.add (local.get $i) (i32.const 5)))
   (local.set $q (i32.mul (local.get $i) (local.get $i)))
   (local.set $i (i32.add (local.get $i) (i32.const 1)))
   (br_if $o (i32.lt_u (local.get $i) (local.get $n))))
   (local.set $i (i32.const 0))
   (loop $o2
   (br_if $fail (i32.ge_u (i32.add (local.get $i) (local.get $i)) (local.get $lim)))
   (i32.store offset=60000 (i32.shl (local.get $i) (i32.const 2)) (i32.add (local.get $i) (local.get $q)))
   (local.set $i (i32.add (local.get $i) (i32.const 1)))
   (br_if $o2 (i32.lt_u (local.get $i) (local.get $n))))
  (call $dump3 (local.get $i) (local.get $q) (i32.const 9))
  (return))
  (call $dump3 (local.get $i) (local.get $q) (i32.const 2)) (unreachable))
  (call $dump3 (local.get $i) (local.get $q) (i32.const 1)) (return_call $boom (local.get $q) (local.get $i) (i32.const 3)))
 ;; D: operand on the stack around the dead end; loop inside block with result
 (func $D (export "D") (param $n i32) (param $lim i32) (local $i i32) (local $q i32)
  (loop $o
   (i32.shl (local.get $i) (i32.const 2))
   (if (i32.eqz (i32.lt_u (local.get $i) (local.get $lim)))
     (then (i32.const 3) (call $dump3r (local.get $i) (local.get $q) (i32.const 4)) (drop) (drop) (unreachable)))
   (local.set $q (i32.mul (local.get $i) (i32.const 7)))
   (i32.store offset=1024 (local.get $q))
   (br_if $o (i32.lt_u (local.tee $i (i32.add (local.get $i) (i32.const 1))) (local.get $n))))
  (call $dump3 (local.get $i) (local.get $q) (i32.const 9)))
 ;; E: lag counter with a start that isn't one step before, used by check and report only
 (func $E (export "E") (param $n i32) (param $lim i32) (local $i i32) (local $prev i32)
  (local.set $prev (i32.sub (i32.const 0) (i32.rem_u (local.get $n) (i32.const 3))))
  (block $f
  (loop $o
   (br_if $f (i32.ge_s (local.get $prev) (local.get $lim)))
   (i32.store offset=1024 (i32.shl (local.get $i) (i32.const 2)) (i32.add (local.get $i) (i32.const 5)))
   (local.set $prev (local.get $i))
   (br_if $o (i32.lt_u (local.tee $i (i32.add (local.get $i) (i32.const 1))) (local.get $n))))
  (call $dump3 (local.get $i) (local.get $prev) (i32.const 9))
  (return))
  (call $dump3 (local.get $i) (local.get $prev) (i32.const 8)) (unreachable))
 ;; G: f64 value carried from the previous iteration, read only in the report (load of the last iteration)
 (func $G (export "G") (param $n i32) (param $lim i32) (local $i i32) (local $f f64) (local $k i32)
  (loop $o
     (if (i32.ge_u (local.get $i) (local.get $lim)) (then (call $dump3 (local.get $i) (local.get $k) (i32.wrap_i64 (i64.shr_u (i64.reinterpret_f64 (local.get $f)) (i64.const 32)))) (unreachable)))
     (local.set $f (f64.add (f64.const 1) (f64.load offset=1024 (i32.shl (local.get $i) (i32.const 3)))))
     (f64.store offset=1024 (i32.shl (local.get $i) (i32.const 3)) (local.get $f))
     (local.set $k (i32.load8_u offset=1030 (i32.shl (local.get $i) (i32.const 3))))
     (br_if $o (i32.lt_u (local.tee $i (i32.add (local.get $i) (i32.const 1))) (local.get $n))))
  (call $dump3 (local.get $i) (local.get $n) (i32.const 9)))
 ;; J: 64-bit counter and check
 (func $J (export "J") (param $n i32) (param $lim i32) (local $i i64)
  (block $x (loop $o
     (br_if $x (i64.ge_s (local.get $i) (i64.extend_i32_s (local.get $n))))
     (if (i64.gt_u (i64.sub (local.get $i) (i64.const 2)) (i64.sub (i64.extend_i32_s (local.get $lim)) (i64.const 2))) (then (call $dump3 (i32.wrap_i64 (local.get $i)) (local.get $lim) (i32.const 6)) (unreachable)))
     (i64.store offset=1024 (i32.shl (i32.wrap_i64 (local.get $i)) (i32.const 3)) (local.get $i))
     (local.set $i (i64.add (local.get $i) (i64.const 1)))
     (br $o)))
  (call $dump3 (i32.wrap_i64 (local.get $i)) (local.get $n) (i32.const 9)))
 ;; K: dead end that stores memory and traps by itself (div by zero), unreachable behind
 (func $K (export "K") (param $n i32) (param $lim i32) (local $i i32)
  (loop $o
     (if (i32.ge_u (local.get $i) (local.get $lim)) (then (i32.store (i32.const 2000) (local.get $i)) (drop (i32.div_u (local.get $i) (i32.const 0))) (call $keep (i32.const 3)) (unreachable)))
     (i32.store offset=1024 (i32.shl (local.get $i) (i32.const 2)) (i32.add (local.get $n) (i32.load offset=1024 (i32.shl (local.get $i) (i32.const 2)))))
     (br_if $o (i32.lt_u (local.tee $i (i32.add (local.get $i) (i32.const 1))) (local.get $n))))
  (call $dump3 (local.get $i) (local.get $n) (i32.const 9)))
 ;; M: dead end in else branch; and a dead end right after end of inner loop's block; unreachable code behind
 (func $M (export "M") (param $n i32) (param $lim i32) (local $i i32) (local $j i32) (local $k i32)
  (loop $o
     (if (i32.lt_u (local.get $i) (local.get $lim)) (then (nop)) (else (call $dump3 (local.get $i) (local.get $j) (local.get $k)) (unreachable) (call $keep (i32.const 5)) (br $o)))
     (local.set $j (i32.const 0))
     (block $deadj
      (block $okj
      (loop $in
       (br_if $deadj (i32.gt_u (local.tee $k (i32.add (local.get $i) (local.get $j))) (i32.add (local.get $lim) (i32.const 3))))
       (i32.store offset=1024 (i32.shl (i32.add (i32.shl (local.get $i) (i32.const 6)) (local.get $j)) (i32.const 2)) (local.get $k))
       (br_if $in (i32.lt_u (local.tee $j (i32.add (local.get $j) (i32.const 1))) (i32.const 8))))
       (br $okj))
      (br_if $o (i32.lt_u (local.tee $i (i32.add (local.get $i) (i32.const 1))) (local.get $n)))
      (call $dump3 (local.get $i) (local.get $n) (local.get $k))
      (return))
     (call $dump3 (local.get $i) (local.get $j) (local.get $k)) (unreachable)))
 ;; N: outermost loop, check before the test
 (func $N (export "N") (param $n i32) (param $lim i32) (local $i i32)
  (block $out
  (loop $o
   (if (i32.ge_u (local.get $i) (local.get $lim)) (then (call $dump3 (local.get $i) (i32.const 1) (i32.const 2)) (unreachable)))
   (br_if $out (i32.ge_u (local.get $i) (local.get $n)))
   (i32.store offset=1024 (i32.shl (local.get $i) (i32.const 2)) (i32.add (local.get $i) (i32.const 5)))
   (local.set $i (i32.add (local.get $i) (i32.const 1)))
   (br $o)))
  (call $keep (i32.const 9)))
 ;; O: inner loop, check before the test
 (func $O (export "O") (param $n i32) (param $lim i32) (local $i i32) (local $j i32)
  (loop $oo
  (local.set $i (i32.const 0))
  (block $out
  (loop $o
   (if (i32.ge_u (i32.add (local.get $j) (local.get $i)) (local.get $lim)) (then (call $dump3 (local.get $i) (local.get $j) (i32.const 2)) (unreachable)))
   (br_if $out (i32.ge_u (local.get $i) (local.get $j)))
   (i32.store offset=1024 (i32.shl (i32.add (i32.shl (local.get $j) (i32.const 6)) (local.get $i)) (i32.const 2)) (i32.add (local.get $i) (i32.const 5)))
   (local.set $i (i32.add (local.get $i) (i32.const 1)))
   (br $o)))
   (br_if $oo (i32.lt_u (local.tee $j (i32.add (local.get $j) (i32.const 1))) (local.get $n))))
  (call $keep (i32.const 9)))
 ;; Q: same, check at the latch after the test of a bottom loop: executed T-1 times; and in front, T times
 (func $Q (export "Q") (param $n i32) (param $lim i32) (local $i i32) (local $j i32)
  (block $fail
  (loop $oo
  (local.set $i (i32.const 0))
  (block $out
  (loop $o
   (i32.store offset=1024 (i32.shl (i32.add (i32.shl (local.get $j) (i32.const 6)) (local.get $i)) (i32.const 2)) (i32.add (local.get $i) (i32.const 5)))
   (br_if $out (i32.ge_u (local.tee $i (i32.add (local.get $i) (i32.const 1))) (local.get $n)))
   (br_if $fail (i32.ge_u (local.get $i) (local.get $lim)))
   (br $o)))
   (br_if $fail (i32.gt_u (local.get $i) (i32.add (local.get $lim) (local.get $j))))
   (br_if $oo (i32.lt_u (local.tee $j (i32.add (local.get $j) (i32.const 1))) (local.get $n))))
  (call $dump3 (local.get $i) (local.get $j) (i32.const 2))
  (return))
  (call $dump3 (local.get $i) (local.get $j) (i32.const 3)) (unreachable))
 ;; R: outermost bottom-tested, check behind the test in the latch
 (func $R (export "R") (param $n i32) (param $lim i32) (local $i i32) (local $j i32)
  (block $fail
  (block $out
  (loop $o
   (i32.store offset=1024 (i32.shl (local.get $i) (i32.const 2)) (i32.add (local.get $i) (i32.const 5)))
   (br_if $out (i32.ge_u (local.tee $i (i32.add (local.get $i) (i32.const 1))) (local.get $n)))
   (br_if $fail (i32.ge_u (local.get $i) (local.get $lim)))
   (br $o)))
  (call $dump3 (local.get $i) (local.get $j) (i32.const 2))
  (return))
  (call $dump3 (local.get $i) (local.get $j) (i32.const 3)) (unreachable))
 ;; S: outermost header with several checks and an inner loop before the test; counters up to wrap
 (func $S (export "S") (param $n i32) (param $lim i32) (local $i i32) (local $j i32) (local $s i32)
  (block $out
  (loop $o
   (if (i32.eq (local.get $i) (local.get $lim)) (then (call $dump3 (local.get $i) (local.get $s) (i32.const 2)) (unreachable)))
   (if (i32.gt_s (local.get $i) (i32.const 30)) (then (call $dump3 (local.get $i) (local.get $s) (i32.const 5)) (unreachable)))
   (br_if $out (i32.gt_u (local.get $i) (local.get $n)))
   (local.set $j (i32.const 0))
   (block $iout (loop $in
     (br_if $iout (i32.ge_u (local.get $j) (local.get $i)))
     (if (i32.ge_u (local.tee $s (i32.mul (local.get $j) (local.get $i))) (i32.mul (local.get $lim) (i32.const 20))) (then (call $dump3 (local.get $i) (local.get $s) (local.get $j)) (unreachable)))
     (i32.store offset=1024 (i32.shl (i32.add (i32.shl (local.get $i) (i32.const 6)) (local.get $j)) (i32.const 2)) (i32.add (local.get $i) (i32.const 5)))
     (local.set $j (i32.add (local.get $j) (i32.const 1)))
     (br $in)))
   (local.set $i (i32.add (local.get $i) (i32.const 1)))
   (br $o)))
  (call $dump3 (local.get $i) (local.get $j) (i32.const 9)))
 ;; U: limits that go round: unsigned check of i - 3, signed check near 2^31, 64-bit near 2^63
 (func $U (export "U") (param $n i32) (param $lim i32) (local $i i32) (local $q i64)
  (local.set $q (i64.sub (i64.const 0x7fffffffffffffff) (i64.extend_i32_u (local.get $lim))))
  (loop $o
    (if (i32.gt_u (i32.sub (local.get $i) (i32.const 3)) (i32.const -4)) (then (call $dump3 (local.get $i) (i32.const 1) (i32.const 1)) (unreachable)))
    (if (i64.lt_s (local.get $q) (i64.const 0)) (then (call $dump3 (local.get $i) (i32.const 1) (i32.const 2)) (unreachable)))
    (i32.store offset=1024 (i32.shl (local.get $i) (i32.const 2)) (i32.add (i32.load offset=1024 (i32.shl (local.get $i) (i32.const 2))) (local.get $i)))
    (local.set $q (i64.add (local.get $q) (i64.const 1)))
    (br_if $o (i32.lt_u (local.tee $i (i32.add (local.get $i) (i32.const 1))) (local.get $n))))
    (call $keep (i32.wrap_i64 (local.get $q))))
 ;; V: nest in the middle with live-outs and exit by dead end only read there; i from 3 down, check at i-1
 (func $V (export "V") (param $n i32) (param $lim i32) (local $i i32) (local $w i32) (local $f f64) (local $g f64)
  (local.set $i (local.get $n)) (local.set $f (f64.const 1.5))
  (block $fail
  (loop $o
    (local.set $w (i32.add (i32.mul (local.get $i) (i32.const 3)) (i32.const 1)))
    (br_if $fail (i32.lt_s (i32.sub (local.get $i) (i32.const 1)) (i32.sub (i32.const 20) (local.get $lim))))
    (local.set $g (f64.mul (local.get $f) (f64.convert_i32_s (local.get $i))))
    (f64.store offset=1024 (i32.shl (local.get $i) (i32.const 3)) (local.get $g))
    (br_if $o (i32.gt_s (local.tee $i (i32.sub (local.get $i) (i32.const 1))) (i32.const 0))))
  (call $dump3 (local.get $i) (local.get $w) (i32.trunc_f64_s (local.get $g)))
  (return))
  (call $dump3 (local.get $i) (local.get $w) (i32.trunc_sat_f64_s (local.get $g))) (unreachable))
 ;; ways out that lead straight to a trap: it is told with the place that it has without kernels
 (func $W (export "W") (param $n i32) (param $lim i32) (local $i i32)
  (block $trap
   (block $told
    (loop $o
     (br_if $trap (i32.ge_u (local.get $i) (local.get $lim)))
     (i32.store offset=1024 (i32.shl (local.get $i) (i32.const 2)) (i32.add (local.get $i) (i32.const 5)))
     (br_if $told (i32.eq (local.get $i) (i32.const 25)))
     (br_if $o (i32.lt_u (local.tee $i (i32.add (local.get $i) (i32.const 1))) (local.get $n))))
    (return))
   (call $dump3 (local.get $i) (local.get $n) (local.get $lim)))
  (unreachable))
 ;; two of them
 (func $X (export "X") (param $n i32) (param $lim i32) (local $i i32)
  (block $two
   (block $one
    (loop $o
     (br_if $one (i32.ge_u (local.get $i) (local.get $lim)))
     (i32.store offset=1024 (i32.shl (local.get $i) (i32.const 2)) (i32.add (local.get $i) (i32.const 5)))
     (br_if $two (i32.ge_u (i32.shl (local.get $i) (i32.const 1)) (local.get $lim)))
     (br_if $o (i32.lt_u (local.tee $i (i32.add (local.get $i) (i32.const 1))) (local.get $n))))
    (return))
   (unreachable))
  (unreachable)) ;; one, and behind its end another block's
 (func $Y (export "Y") (param $n i32) (param $lim i32) (local $i i32)
  (block $outer
   (block $two
    (block $one
     (br_if $two (i32.eq (local.get $n) (i32.const 99)))
     (loop $o
      (br_if $one (i32.ge_u (local.get $i) (local.get $lim)))
      (i32.store offset=1024 (i32.shl (local.get $i) (i32.const 2)) (i32.add (local.get $i) (i32.const 5)))
      (br_if $o (i32.lt_u (local.tee $i (i32.add (local.get $i) (i32.const 1))) (local.get $n))))
     (br $outer)))
   (unreachable)))
)
