--offload runs hot loops as kernels, with the same results, and --report tells what became of each.

  $ cat > regions.py <<'END'
  > import json, sys
  > for region in json.load(sys.stdin)["regions"]:
  >     print(region["name"], region["kernel_iterations"], region["original_iterations"])
  > END
  $ cat > twice.wat <<'END'
  > (module (memory (export "memory") 1)
  >   (func $double (param $n i32) (local $i i32)
  >     (loop $l
  >       (i32.store (i32.shl (local.get $i) (i32.const 2))
  >         (i32.add (i32.load (i32.shl (local.get $i) (i32.const 2))) (local.get $i)))
  >       (local.set $i (i32.add (local.get $i) (i32.const 1)))
  >       (br_if $l (i32.lt_u (local.get $i) (local.get $n)))))
  >   (func (export "at") (param $n i32) (param $i i32) (result i32)
  >     (call $double (local.get $n)) (call $double (local.get $n))
  >     (i32.load (i32.shl (local.get $i) (i32.const 2)))))
  > END

Off, there is no region and no kernel; forced, every iteration is a kernel's; the result is the same:

  $ tensor-wasm run --no-cache --offload off --report-format json --report-file report.json --invoke at twice.wat 1000 999
  1998
  $ python3 regions.py < report.json
  $ tensor-wasm run --no-cache --offload=force --report-format=json --report-file=report.json --invoke at twice.wat 1000 999
  1998
  $ python3 regions.py < report.json
  .*#0 2000 0 (re)
  $ tensor-wasm run --no-cache --offload=force --threads 1 --canonical-nan --invoke at twice.wat 16384 16383
  32766

A loop that is short is left alone by auto, which is the default, and the report says why:

  $ tensor-wasm run --no-cache --report --invoke at twice.wat 10 9
  18
  ! .*#0 at 0x[0-9a-f]+: 2 arrivals, 0 dispatches, .* (re)
  ! ...

The report goes to stderr, in text, unless told otherwise; a bare --report-format asks for one as well:

  $ tensor-wasm run --no-cache --offload force --report --invoke at twice.wat 100 99 2>&1 >/dev/null | grep -c '100.0 % of 200'
  1
  $ tensor-wasm run --no-cache --offload force --report-format json --invoke at twice.wat 100 99 2>&1 >/dev/null |
  > python3 regions.py
  .*#0 200 0 (re)
It tells the time in kernels, and about how long the original ran:

  $ tensor-wasm run --no-cache --offload force --report --invoke at twice.wat 100 99 2>&1 >/dev/null | grep -c 'original about'
  0
  [1]
  $ cat > overlap.wat <<'END'
  > (module (memory 64) (func (export "f") (param $times i32) (local $i i32)
  >   (loop $t
  >     (local.set $i (i32.const 0))
  >     (call $shift (i32.const 0))
  >     (br_if $t (local.tee $times (i32.sub (local.get $times) (i32.const 1))))))
  >   (func $shift (param $i i32)
  >     (loop $l
  >       (i32.store (i32.add (local.get $i) (i32.const 4)) (i32.mul (i32.load (local.get $i)) (i32.const 3)))
  >       (br_if $l (i32.lt_u (local.tee $i (i32.add (local.get $i) (i32.const 4))) (i32.const 4000000))))))
  > END
  $ tensor-wasm run --no-cache --offload force --report --invoke f overlap.wat 40 2>&1 | head -1
  shift#0 at .* 0 dispatches, 0.0 % of 40000000 iterations in kernels, original about .* ms (re)
  $ tensor-wasm run --no-cache --offload force --report-file time --report-format json --invoke f overlap.wat 40
  $ python3 - <<'END'
  > import json
  > r = json.load(open("time"))["regions"][0]
  > print(r["kernel_seconds"] == 0, 0.002 < r["original_seconds"] < 2)
  > END
  True True

Regions that auto leaves alone are named, also when it leaves all of them alone:

  $ cat > few.wat <<'END'
  > (module (memory 1) (func $few (export "f") (local $i i32)
  >   (loop (i32.store (local.get $i) (local.get $i)) (br_if 0 (i32.ne (local.tee $i (i32.add (local.get $i) (i32.const 4))) (i32.const 32))))))
  > END
  $ tensor-wasm run --no-cache --report --invoke f few.wat
  ! offload: none of the regions that were found (1) promises to pay
  ! few#0 at 0x[0-9a-f]+: left alone: few-iterations: .* (re)
  $ tensor-wasm run --no-cache --report-format json --invoke f few.wat 2>&1 | python3 -c '
  > import json, sys
  > print([r["name"] for r in json.load(sys.stdin)["left_alone"]])'
  ['few#0']

A report that can't be written is told before the guest runs:

  $ tensor-wasm run --no-cache --report-file none/report --invoke at twice.wat 100 99
  ! tensor-wasm: --report-file: none/report: No such file or directory
  [1]
  $ tensor-wasm run --no-cache --report-file /dev/full --offload force --invoke at twice.wat 100 99
  198
  ! tensor-wasm: the report can't be written to /dev/full
  [1]

A trap in the middle of a loop is the guest's: the report comes all the same, the exit code stays, and the place is that of the
original code:

  $ tensor-wasm run --no-cache --offload=off --invoke at twice.wat 16385 0 2> off
  [134]
  $ tensor-wasm run --no-cache --offload=force --invoke at twice.wat 16385 0 2> forced
  [134]
  $ cmp off forced; head -1 off
  tensor-wasm: .*out of bounds.* (re)
  $ tensor-wasm run --no-cache --offload=force --report --invoke at twice.wat 16385 0 2>&1 | grep -c '#0 at 0x'
  1

Kernels are kept on disk, for us alone; a second process finds them:

  $ tensor-wasm run --offload=force --cache-dir kernels --invoke at twice.wat 1000 7
  14
  $ stat -c %a kernels; ls kernels | grep -c '^k' | grep -c '^[1-9]'
  700
  1
  $ tensor-wasm run -v --offload=force --cache-dir kernels --invoke at twice.wat 1000 7
  14
  ! tensor-wasm: kernels: 1 from disk, 0 refused there, 1 in memory at the end
  $ tensor-wasm run --offload=force --invoke at twice.wat 1000 7; ls -d .cache/tensorwasm/kernels
  14
  .cache/tensorwasm/kernels
  $ XDG_CACHE_HOME=$PWD/xdg tensor-wasm run --offload=force --invoke at twice.wat 1000 7; ls -d xdg/tensorwasm/kernels
  14
  xdg/tensorwasm/kernels

A damaged kernel isn't run:

  $ for file in kernels/k*; do printf 'XXXX' | dd of=$file bs=1 seek=200 conv=notrunc 2> /dev/null; done
  $ tensor-wasm run -v --offload=force --cache-dir kernels --invoke at twice.wat 1000 7
  14
  ! tensor-wasm: kernels: 0 from disk, 1 refused there, 1 in memory at the end

A folder that others may write to is refused when it was named; the usual one is then done without:

  $ mkdir -m 777 open; tensor-wasm run --cache-dir open --invoke at twice.wat 10 7
  ! tensor-wasm: --cache-dir: no kernels on disk in open: .+ (re)
  [1]
  $ mkdir home; touch home/.cache; HOME=$PWD/home tensor-wasm run --offload=force --invoke at twice.wat 1000 7
  14
  $ HOME=$PWD/home tensor-wasm run -v --offload=force --invoke at twice.wat 1000 7
  14
  ! tensor-wasm: no kernels on disk in .*/home/.cache/tensorwasm/kernels: .+ (re)
  ! tensor-wasm: kernels: 0 from disk, 0 refused there, 1 in memory at the end
