validate says valid, or what and where; run refuses what isn't valid, with the same words.

  $ echo '(module (memory 1) (func (export "f") (result i32) (i32.load (i32.const 0))))' > good.wat
  $ tensor-wasm validate good.wat
  good.wat: valid
  $ tensor-wasm validate -q good.wat
  $ wat2wasm good.wat -o good.wasm; tensor-wasm validate --json good.wasm
  {
    "module": "good.wasm",
    "valid": true
  }
  $ tensor-wasm validate - < good.wasm
  -: valid

Files that can't be read:

  $ tensor-wasm validate missing.wasm
  ! tensor-wasm: missing.wasm: can't be opened: No such file or directory
  [1]
  $ tensor-wasm validate --json missing.wasm
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
  $ mkdir folder; tensor-wasm validate folder
  ! tensor-wasm: folder: is a folder; name a .wasm or .wat file
  [1]
  $ tensor-wasm missing.wasm
  ! tensor-wasm: missing.wasm: can't be opened: No such file or directory
  [1]
  $ truncate -s 257M big.wasm; tensor-wasm validate big.wasm
  ! tensor-wasm: big.wasm: is larger than 256 MiB, the most that a module may have
  [1]

What isn't a module:

  $ : > empty; tensor-wasm validate empty 2>&1 | head -1
  tensor-wasm: empty: .+ (re)
  $ tensor-wasm validate empty 2> /dev/null
  [1]
  $ head -c 20 good.wasm > cut.wasm; tensor-wasm validate cut.wasm 2> /dev/null
  [1]
  $ tensor-wasm run cut.wasm 2> /dev/null
  [1]
  $ printf '\0asm\2\0\0\0' > version.wasm; tensor-wasm validate version.wasm 2>&1 | head -1
  tensor-wasm: version.wasm: .*version.* (re)
  $ cp /bin/true elf; tensor-wasm validate elf 2> /dev/null
  [1]

What doesn't validate is told with its function and offset:

  $ printf '(module\n (func (i32.ad)))' > typo.wat; tensor-wasm validate typo.wat 2>&1 | sed -n '2s/^ *//p'
  --> line 2:9
  $ echo '(module (func) (func (result i32) (f32.const 0)))' > type.wat
  $ wat2wasm --no-check type.wat -o type.wasm; tensor-wasm validate --json type.wasm > error.json
  [1]
  $ grep -c '"status": "invalid"' error.json; grep '"offset"' error.json
  1
      "offset": [1-9][0-9]*, (re)
  $ grep '"function"' error.json
      "function": 1,
  $ tensor-wasm validate type.wasm
  ! tensor-wasm: type.wasm: .*type mismatch.* in function 1 (re)
  [1]

Proposals that are off are refused with their name:

  $ refuse() { echo "$1" > p.wat; tensor-wasm validate p.wat 2>&1 | head -1 | grep -io "$2" | head -1 || echo "no word of $2"; }
  > refuse '(module (memory i64 1))' 'memory64'
  > refuse '(module (memory 1) (memory 1))' 'multi-memory'
  > refuse '(module (memory 1 1 shared))' 'threads'
  > refuse '(module (tag))' 'exception'
  memory64
  multi-memory
  threads
  exception

Limits hold, and are named:

  $ echo '(module (memory 17) (func (export "f") (result i32) (memory.size)))' > memory.wat
  $ tensor-wasm run --invoke f --max-memory 1088KiB memory.wat
  17
  $ tensor-wasm run --invoke f --max-memory=1MiB memory.wat 2>&1 | head -1
  tensor-wasm: memory.wat: .*memory.* (re)
  $ tensor-wasm run --invoke f --max-memory=1MiB memory.wat 2> /dev/null
  [1]
  $ echo '(module (memory 1) (func (export "f") (result i32) (memory.grow (i32.const 16))))' > grow.wat
  $ tensor-wasm run --invoke f --max-memory 1MiB grow.wat; tensor-wasm run --invoke f --max-memory 2MiB grow.wat
  -1
  1

The stack is as large as asked for, however small the process's own is:

  $ cat > deep.wat <<'END'
  > (module (func $r (export "r") (param i32) (result i32)
  >   (if (result i32) (i32.eqz (local.get 0)) (then (i32.const 0))
  >     (else (i32.add (i32.const 1) (call $r (i32.sub (local.get 0) (i32.const 1))))))))
  > END
  $ ulimit -s 512; tensor-wasm run --max-stack 128MiB --invoke r deep.wat 1000000
  1000000
  $ tensor-wasm run --max-stack 128MiB --invoke r deep.wat -1 2>&1 | head -1
  tensor-wasm: .*stack.* (re)
  $ tensor-wasm run --max-stack 64KiB --invoke r deep.wat 100000 2> /dev/null
  [134]
  $ tensor-wasm run --max-stack 1 --invoke r deep.wat 1
  ! tensor-wasm: --max-stack must lie between 64KiB and 256MiB
  ! See 'tensor-wasm run --help'.
  [2]
