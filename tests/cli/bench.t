bench starts a module over and over and tells how many starts and calls a second there were, and how long each took.

  $ cat > m.wat <<'END'
  > (module (memory (export "memory") 1) (data (i32.const 5) "hello")
  >   (func (export "add") (param i32 i32) (result i32) (i32.add (local.get 0) (local.get 1)))
  >   (func (export "once") (if (i32.load (i32.const 64)) (then unreachable)) (i32.store (i32.const 64) (i32.const 1)))
  >   (func (export "trap") unreachable)
  >   (func (export "spin") (loop (br 0)))
  >   (func (export "slow") (local $i i32) (loop (local.set $i (i32.add (local.get $i) (i32.const 1)))
  >     (br_if 0 (i32.lt_u (local.get $i) (i32.const 3000000))))))
  > END

As text, from a pool or not, by one thread or several:

  $ tensor-wasm bench -n 1000 --invoke add m.wat 7 -5
  m\.wat, add: 1000 starts, from a pool, by 1 thread in \d+\.\d{3} s, \d+\.\d{3} s of CPU time (re)
  starts/s +\d+\.\d (re)
  calls/s  +\d+\.\d (re)
   +mean +p50 +p95 +p99 +max +  (re)
  start( +\d+(\.\d+)? (ns|us|ms|s) ?){5} ? (re)
  call ( +\d+(\.\d+)? (ns|us|ms|s) ?){5} ? (re)
  end  ( +\d+(\.\d+)? (ns|us|ms|s) ?){5} ? (re)
  $ tensor-wasm bench --fresh -c 3 --calls 4 --starts=500 --invoke add m.wat 1 2 | sed -n 1p
  m\.wat, add: 500 starts, each a new instance, by 3 threads in .* (re)

Options may stand behind the module; numbers are the function's, and so is what comes behind '--':

  $ tensor-wasm bench m.wat --invoke add 7 -5 -n 300 -c 2 --json | python3 -c 'import json, sys; r = json.load(sys.stdin); print(r["function"], r["starts"], r["threads"])'
  add 300 2
  $ tensor-wasm bench m.wat --invoke add -n 300 -- 7 -5 | sed -n 1p
  m\.wat, add: 300 starts, from a pool, by 1 thread in .* (re)
  $ tensor-wasm bench m.wat --invoke add 7 -x 2>&1 | sed -n 1p
  tensor-wasm: unknown option '-x'

As JSON: counts are exact, times nanoseconds in order, and rates are what they say:

  $ cat > check.py <<'END'
  > import json, sys
  > r = json.load(sys.stdin)
  > for name, part in r["latency_ns"].items():
  >     assert part["min"] <= part["p50"] <= part["p95"] <= part["p99"] <= part["max"], (name, part)
  >     assert part["count"] == 0 or part["min"] <= part["mean"] <= part["max"], (name, part)
  > assert abs(r["starts_per_second"] * r["seconds"] - r["starts"]) < 1e-3 * r["starts"] + 1e-9
  > assert abs(r["calls_per_second"] * r["seconds"] - r["calls"]) < 1e-3 * r["calls"] + 1e-9
  > print(r["function"], r["mode"], r["threads"], r["starts"], r["calls"], r["exits"], r["interrupted"],
  >       r["error"] and r["error"]["status"], [p["count"] for p in r["latency_ns"].values()])
  > END
  $ tensor-wasm bench --json -n 700 -c 2 --calls 3 --invoke add m.wat 1 2 | python3 check.py
  add pooled 2 700 2100 0 False None [700, 2100, 700]
  $ tensor-wasm bench --json --fresh -n 70 --no-warm-up --invoke add m.wat 1 2 | python3 check.py
  add fresh 1 70 70 0 False None [70, 70, 70]

Each start finds a fresh instance, in a pool too; two calls in one don't:

  $ tensor-wasm bench --json -n 300 --invoke once m.wat | python3 check.py
  once pooled 1 300 300 0 False None [300, 300, 300]
  $ tensor-wasm bench --no-warm-up --calls 2 --invoke once m.wat 2>&1 | sed 1q
  tensor-wasm: trap: wasm `unreachable` instruction executed in once \(function 1\) at 0x\w+ (re)

It ends after the time that was given, or so many starts, whichever comes first:

  $ tensor-wasm bench --json --duration 100ms --invoke add m.wat 1 2 | python3 -c 'import json, sys; r = json.load(sys.stdin); print(0.1 <= r["seconds"] < 5, r["starts"] > 0)'
  True True
  $ tensor-wasm bench --json --duration 1h -n 5 --invoke add m.wat 1 2 | python3 check.py
  add pooled 1 5 5 0 False None [5, 5, 5]

A WASI program is started with its arguments; what it prints goes nowhere, unless asked for. One that exits with 0 is well, but no
instance to use again:

  $ tensor-wasm bench --json -n 20 $GUESTS/leave.wasm now 0 | python3 check.py
  _start pooled 1 20 20 20 False None [20, 20, 20]
  $ tensor-wasm bench -n 3 --no-warm-up --output $GUESTS/leave.wasm now 0 > /dev/null
  ! leaving
  ! leaving
  ! leaving

Nothing to call: only starts are measured.

  $ echo '(module (memory 1))' > quiet.wat; tensor-wasm bench --json -n 9 quiet.wat | python3 check.py
  None pooled 1 9 0 0 False None [9, 0, 9]

A guest that fails ends it, with what run would say and its exit code:

  $ tensor-wasm bench --invoke trap m.wat
  ! tensor-wasm: trap: wasm `unreachable` instruction executed in trap \(function 2\) at 0x\w+ (re)
  ! backtrace:
  !    0: trap \(function 2\) at 0x\w+ (re)
  [134]
  $ tensor-wasm bench --json --fresh --invoke trap m.wat 2> /dev/null > r.json; python3 check.py < r.json
  trap fresh 1 0 0 0 False trap [0, 0, 0]
  $ tensor-wasm bench --timeout 100ms --invoke spin m.wat
  ! tensor-wasm: the time limit of 100ms ended the guest; --timeout sets it
  [124]
  $ tensor-wasm bench -c 2 $GUESTS/leave.wasm now 7
  ! tensor-wasm: \S+/leave.wasm: a guest exited with 7 (re)
  [7]
  $ echo '(module (func $f unreachable) (start $f))' > start.wat; tensor-wasm bench start.wat 2> /dev/null
  [134]
  $ tensor-wasm bench --max-memory 1KiB --invoke add m.wat 1 2
  ! tensor-wasm: m.wat: the module's memory begins with 65536 bytes, over the limit of 1024
  [1]

Ctrl-C tells what was measured till then; a guest that hangs is ended:

  $ timeout --preserve-status -s INT 2 tensor-wasm bench --json -n 1000000000 -c 2 --invoke slow m.wat > r.json; echo $?; python3 check.py < r.json | sed 's/ 2 [0-9]* [0-9]* / 2 N N /; s/ \[.*//'
  130
  slow pooled 2 N N 0 True None
  $ timeout --preserve-status -s INT 2 tensor-wasm bench --invoke spin m.wat
  m\.wat, spin: 0 starts, .*, interrupted (re)
  starts/s            0.0
  calls/s             0.0
  [130]
  $ echo '(module (func $f (loop (br 0))) (start $f))' > hang.wat
  $ timeout --preserve-status -s INT 2 tensor-wasm bench --json hang.wat | python3 -c 'import json, sys; r = json.load(sys.stdin); print(r["interrupted"], r["starts"])'
  True 0

Progress is for terminals:

  $ python3 - <<'END'
  > import os, pty, subprocess
  > ours, theirs = pty.openpty()
  > for quiet in ([], ["--quiet"]):
  >     subprocess.run(["tensor-wasm", "bench", "--duration", "900ms", *quiet, "--invoke", "add", "m.wat", "1", "2"], stdout=subprocess.DEVNULL, stderr=theirs, check=True)
  >     os.write(theirs, b"end")
  >     print("starts, " in os.read(ours, 100000).decode())
  > END
  True
  False

Mistakes:

  $ tensor-wasm bench --fresh --pooled m.wat
  ! tensor-wasm: --fresh and --pooled can't both be
  ! See 'tensor-wasm bench --help'.
  [2]
  $ tensor-wasm bench -c 0 m.wat
  ! tensor-wasm: -c: between 1 and 1024 threads
  ! See 'tensor-wasm bench --help'.
  [2]
  $ tensor-wasm bench --calls 0 m.wat
  ! tensor-wasm: --calls must be 1 at least
  ! See 'tensor-wasm bench --help'.
  [2]
  $ tensor-wasm bench --invoke ad m.wat
  ! tensor-wasm: --invoke: the module exports no function 'ad'; did you mean 'add'?
  ! See 'tensor-wasm bench --help'.
  [2]
  $ tensor-wasm bench --json missing.wasm
  {
    "module": "missing.wasm",
    "error": {
      "status": "not-found",
      "function": null,
      "offset": null,
      "message": "can't be opened: No such file or directory"
    }
  }
  [1]
