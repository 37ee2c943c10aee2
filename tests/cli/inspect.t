inspect tells of every loop whether it can be offloaded, or why not. The names of loops survive rebuilds: function and
ordinal.

A loop whose iterations are independent is a region with a model; one that carries a value isn't, and says which refusal:

  $ tensor-wasm inspect $GUESTS/loops.wasm > text; grep -c '^saxpy#0 .*depth 1.*: region$' text
  1
  $ grep '^prefix#0' text
  prefix#0 .*refused: carried-scalar: .* (re)

The same as JSON:

  $ tensor-wasm inspect --json $GUESTS/loops.wasm > loops.json; python3 - <<'END'
  > import json
  > for loop in json.load(open("loops.json"))["loops"]:
  >     print(loop["name"], loop["depth"], loop["status"], loop.get("refusal"), "model" in loop)
  > END
  saxpy#0 1 region None True
  prefix#0 1 refused carried-scalar False
  fill#0 1 region None True

How often a loop goes round is told where that is a number, of refused loops too; a test at the top is made once more than that:

  $ cat > times.wat <<'END'
  > (module (memory 1) (func $f (local i32 i32)
  >   (block (loop (br_if 1 (i32.ge_u (local.get 0) (i32.const 10)))
  >     (i32.store (local.get 0) (i32.const 1)) (local.set 0 (i32.add (local.get 0) (i32.const 1))) (br 0)))
  >   (local.set 0 (i32.const 0))
  >   (loop (i32.store (i32.const 8) (local.tee 1 (i32.mul (i32.add (local.get 1) (i32.const 7)) (i32.const 3))))
  >     (br_if 0 (i32.ne (local.tee 0 (i32.add (local.get 0) (i32.const 2))) (i32.const 30))))
  >   (loop (i32.store8 (local.tee 0 (i32.add (local.get 0) (i32.const 1))) (i32.const 0)) (br_if 0 (i32.load8_u (local.get 0))))))
  > END
  $ tensor-wasm inspect times.wat | grep -o '^f#.*times: [a-z]*\|^f#2.*depth 1: [a-z]*'
  f#0 at 0x[0-9a-f]+, depth 1, 10 times: region (re)
  f#1 at 0x[0-9a-f]+, depth 1, 15 times: refused (re)
  f#2 at 0x[0-9a-f]+, depth 1: refused (re)
  $ tensor-wasm inspect --json times.wat | python3 -c 'import json, sys; print([l.get("trips") for l in json.load(sys.stdin)["loops"]])'
  [10, 15, None]

Every refusal is explained, and every one that is used is in the list:

  $ tensor-wasm inspect --explain carried-scalar
  carried-scalar: .* What to change: .* (re)
  $ tensor-wasm inspect --explain all | grep -c '^[a-z]' > count; tensor-wasm inspect --json --explain all |
  > python3 -c 'import json, sys; print(len(json.load(sys.stdin)))' | cmp - count
  $ for name in $(tensor-wasm inspect --explain all | grep '^[a-z]'); do
  >   tensor-wasm inspect --explain $name | grep -q "^$name: .*What to change: ." || echo "$name isn't explained"
  > done
  $ tensor-wasm inspect --explain carried-scaler
  ! tensor-wasm: no refusal is called 'carried-scaler'; did you mean 'carried-scalar'?
  ! See 'tensor-wasm inspect --help'.
  [2]
  $ tensor-wasm inspect --explain zzz
  ! tensor-wasm: no refusal is called 'zzz'; 'inspect --explain all' lists them
  ! See 'tensor-wasm inspect --help'.
  [2]

Each stage can be seen:

  $ for stage in ir model plan schedule llvm; do
  >   tensor-wasm inspect --dump=$stage $GUESTS/loops.wasm saxpy#0 > $stage && test -s $stage && echo "$stage is there"
  > done
  ir is there
  model is there
  plan is there
  schedule is there
  llvm is there
  $ grep -c f32.mul ir; grep -c 'loop n0' model; grep -c 'fmul' llvm | grep -c '^[1-9]'
  1
  1
  1
  $ tensor-wasm inspect --json --dump model $GUESTS/loops.wasm saxpy#0 | python3 -c '
  > import json, sys
  > d = json.load(sys.stdin); print(d["dump"], d["region"], d["text"] == open("model").read())'
  model saxpy#0 True

A loop that isn't a region has no model, and the reason is told:

  $ tensor-wasm inspect --dump=model $GUESTS/loops.wasm prefix#0
  ! tensor-wasm: .*loops.wasm: prefix#0 is a loop, but no region: carried-scalar: .* (re)
  [1]
  $ tensor-wasm inspect --json --dump=plan $GUESTS/loops.wasm prefix#0 | grep -c '"status": "refused"'
  1
  $ cat > inner.wat <<'END'
  > (module (memory 2) (func $f (param i32) (local i32 i32)
  >   (loop (local.set 2 (i32.const 0))
  >     (loop (f32.store (i32.add (i32.mul (local.get 1) (i32.const 400)) (i32.shl (local.get 2) (i32.const 2))) (f32.const 1))
  >       (br_if 0 (i32.lt_u (local.tee 2 (i32.add (local.get 2) (i32.const 1))) (i32.const 100))))
  >     (br_if 0 (i32.lt_u (local.tee 1 (i32.add (local.get 1) (i32.const 1))) (i32.const 100))))))
  > END
  $ tensor-wasm inspect --dump=model inner.wat f#1
  ! tensor-wasm: inner.wat: f#1 is part of the region f#0
  [1]

A region that isn't there:

  $ tensor-wasm inspect --dump=ir $GUESTS/loops.wasm saxpi#0
  ! tensor-wasm: .*loops.wasm: .*saxpi.*; did you mean 'saxpy#0'\? (re)
  [1]
  $ tensor-wasm inspect --json --dump=ir $GUESTS/loops.wasm nothing#7 | grep -c '"status": "not-found"'
  1
  $ tensor-wasm inspect missing.wasm
  ! tensor-wasm: missing.wasm: can't be opened: No such file or directory
  [1]
