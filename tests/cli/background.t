A program may be over before its kernels are compiled: they are finished in the background, and the next run has them.

  $ cat > stir.wat <<'END'
  > (module (memory (export "memory") 16)
  >   (func (export "stir") (param $times i32) (result f64) (local $t i32) (local $i i32)
  >     (loop $again
  >       (local.set $i (i32.const 0))
  >       (loop $l
  >         (f64.store (local.get $i) (f64.add (f64.mul (f64.load (local.get $i)) (f64.const 0.5)) (f64.const 1)))
  >         (br_if $l (i32.lt_u (local.tee $i (i32.add (local.get $i) (i32.const 8))) (i32.const 65536))))
  >       (br_if $again (i32.lt_u (local.tee $t (i32.add (local.get $t) (i32.const 1))) (local.get $times))))
  >     (f64.load (i32.const 64))))
  > END
  $ tensor-wasm run --cache-dir kernels --invoke stir stir.wat 4000
  2
  $ i=0; while test -z "$(ls kernels | grep ^k | grep -v '^key$')" -a $i -lt 600; do sleep 0.1; i=$((i+1)); done
  $ ls kernels | grep -c '^k[0-9a-f]'
  [1-9] (re)
  $ tensor-wasm run -v --offload force --cache-dir kernels --report-format json --report-file report.json --invoke stir stir.wat 4000
  2
  ! ...
  ! tensor-wasm: kernels: [1-9] from disk, 0 refused there, [1-9] in memory at the end (re)
  ! ...
  $ python3 -c 'import json; r = json.load(open("report.json"))["regions"][0]; print(r["kernel_iterations"] > r["original_iterations"])'
  True

Nothing is left behind with --no-cache, and what the background process is given must be what a run leaves:

  $ HOME=$PWD/home tensor-wasm run --no-cache --invoke stir stir.wat 4000
  2
  $ ls home 2>/dev/null
  [2]
  $ echo nonsense | tensor-wasm finish-kernels kernels
  ! tensor-wasm: tw_kernel_cache_compile: these aren't unfinished kernels
  [1]
  $ printf 'TWUNFIN1\1\0\0\0\0\0\0\0\377\377\377\377\377\377\377\377' | tensor-wasm finish-kernels kernels
  ! tensor-wasm: tw_kernel_cache_compile: the bytes end in the middle
  [1]
  $ printf 'TWUNFIN1\1\0\0\0\0\0\0\0\4\0\0\0\0\0\0\0abcd' | tensor-wasm finish-kernels kernels
