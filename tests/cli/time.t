--timeout ends a guest however it spends its time, at most 100 ms late, with exit code 124 and one message.

What is measured is the time from the start of the guest: $BASE is what the same start takes with nothing to do.

One that computes:

  $ BASE="tensor-wasm run $GUESTS/leave.wasm now" within 400 tensor-wasm run --timeout 300ms $GUESTS/leave.wasm spin
  ! tensor-wasm: the time limit of 300ms ended the guest; --timeout sets it
  [124]
  $ BASE="tensor-wasm run $GUESTS/leave.wasm now" within 400 tensor-wasm run --timeout=300ms --offload=off $GUESTS/leave.wasm spin
  ! tensor-wasm: the time limit of 300ms ended the guest; --timeout sets it
  [124]

One that sleeps in poll_oneoff:

  $ BASE="tensor-wasm run $GUESTS/leave.wasm now" within 400 tensor-wasm run --timeout 300ms $GUESTS/leave.wasm sleep
  ! tensor-wasm: the time limit of 300ms ended the guest; --timeout sets it
  [124]

One that waits for input which doesn't come:

  $ mkfifo pipe; sleep 30 > pipe & BASE="tensor-wasm run $GUESTS/leave.wasm now" within 400 tensor-wasm run --timeout 300ms $GUESTS/leave.wasm read < pipe; c=$?; kill $!; exit $c
  ! tensor-wasm: the time limit of 300ms ended the guest; --timeout sets it
  [124]

Loops without a memory, in the start function and in a reactor's start:

  $ echo '(module)' > nothing.wat; echo '(module (func (export "f") (loop (br 0))))' > f.wat
  $ BASE="tensor-wasm run nothing.wat" within 400 tensor-wasm run --timeout 300ms --invoke f f.wat
  ! tensor-wasm: the time limit of 300ms ended the guest; --timeout sets it
  [124]
  $ echo '(module (func $f (loop (br 0))) (start $f))' > start.wat
  $ BASE="tensor-wasm run nothing.wat" within 400 tensor-wasm run --timeout 300ms start.wat
  ! tensor-wasm: the time limit of 300ms ended the guest; --timeout sets it
  [124]
  $ echo '(module (func (export "_initialize") (loop (br 0))) (func (export "g")))' > reactor.wat
  $ BASE="tensor-wasm run nothing.wat" within 400 tensor-wasm run --timeout 300ms --invoke g reactor.wat
  ! tensor-wasm: the time limit of 300ms ended the guest; --timeout sets it
  [124]

A tail call that calls itself, and recursion that stays within the stack:

  $ echo '(module (func $f (export "f") (return_call $f)))' > tail.wat
  $ BASE="tensor-wasm run nothing.wat" within 400 tensor-wasm run --timeout 300ms --invoke f tail.wat
  ! tensor-wasm: the time limit of 300ms ended the guest; --timeout sets it
  [124]

A limit that isn't met changes nothing, and nobody waits for it:

  $ within 30000 tensor-wasm run --timeout 1h $GUESTS/leave.wasm now 5
  ! leaving
  [5]
  $ tensor-wasm run --timeout 1m --invoke add /dev/stdin 1 2 <<'END'
  > (module (func (export "add") (param i32 i32) (result i32) (i32.add (local.get 0) (local.get 1))))
  > END
  3

What became of the loops is reported after a time-out too:

  $ tensor-wasm run --no-cache --timeout 100ms --report --invoke f f.wat 2>&1 >/dev/null | sed -n 1p
  tensor-wasm: the time limit of 100ms ended the guest; --timeout sets it
  $ tensor-wasm run --no-cache --timeout 100ms --report-file report --report-format json --invoke f f.wat 2> /dev/null
  [124]
  $ python3 -c 'import json; print(json.load(open("report"))["regions"])'
  []
