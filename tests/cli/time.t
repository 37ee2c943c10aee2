--timeout ends a guest however it spends its time, at most 100 ms late, with exit code 124 and one message.

One that computes:

  $ within 400 tensor-wasm run --timeout 300ms $GUESTS/leave.wasm spin
  ! tensor-wasm: the time limit of 300ms ended the guest; --timeout sets it
  [124]
  $ within 400 tensor-wasm run --timeout=300ms --offload=off $GUESTS/leave.wasm spin
  ! tensor-wasm: the time limit of 300ms ended the guest; --timeout sets it
  [124]

One that sleeps in poll_oneoff:

  $ within 400 tensor-wasm run --timeout 300ms $GUESTS/leave.wasm sleep
  ! tensor-wasm: the time limit of 300ms ended the guest; --timeout sets it
  [124]

One that waits for input which doesn't come:

  $ mkfifo pipe; sleep 30 > pipe & within 400 tensor-wasm run --timeout 300ms $GUESTS/leave.wasm read < pipe; c=$?; kill $!; exit $c
  ! tensor-wasm: the time limit of 300ms ended the guest; --timeout sets it
  [124]

Loops without a memory, in the start function and in a reactor's start:

  $ echo '(module (func (export "f") (loop (br 0))))' > f.wat
  $ within 400 tensor-wasm run --timeout 300ms --invoke f f.wat
  ! tensor-wasm: the time limit of 300ms ended the guest; --timeout sets it
  [124]
  $ echo '(module (func $f (loop (br 0))) (start $f))' > start.wat
  $ within 400 tensor-wasm run --timeout 300ms start.wat
  ! tensor-wasm: the time limit of 300ms ended the guest; --timeout sets it
  [124]
  $ echo '(module (func (export "_initialize") (loop (br 0))) (func (export "g")))' > reactor.wat
  $ within 400 tensor-wasm run --timeout 300ms --invoke g reactor.wat
  ! tensor-wasm: the time limit of 300ms ended the guest; --timeout sets it
  [124]

A tail call that calls itself, and recursion that stays within the stack:

  $ echo '(module (func $f (export "f") (return_call $f)))' > tail.wat
  $ within 400 tensor-wasm run --timeout 300ms --invoke f tail.wat
  ! tensor-wasm: the time limit of 300ms ended the guest; --timeout sets it
  [124]

A limit that isn't met changes nothing, and costs no time:

  $ within 400 tensor-wasm run --timeout 1h $GUESTS/leave.wasm now 5
  ! leaving
  [5]
  $ tensor-wasm run --timeout 100ms --invoke add /dev/stdin 1 2 <<'END'
  > (module (func (export "add") (param i32 i32) (result i32) (i32.add (local.get 0) (local.get 1))))
  > END
  3
