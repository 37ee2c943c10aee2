WASI preview 1 programs see what they are given, and nothing else.

Arguments: everything behind MODULE is the guest's, options too; argument 0 is the module's file name.

  $ tensor-wasm run $GUESTS/world.wasm a --offload -q 'b c' ''
  arg 0: world.wasm
  arg 1: a
  arg 2: --offload
  arg 3: -q
  arg 4: b c
  arg 5: 
  $ tensor-wasm $GUESTS/world.wasm x
  arg 0: world.wasm
  arg 1: x
  $ tensor-wasm run --argv0 other $GUESTS/world.wasm
  arg 0: other
  $ tensor-wasm run --argv0=other -- $GUESTS/world.wasm -- x
  arg 0: other
  arg 1: --
  arg 2: x
  $ tensor-wasm - x < $GUESTS/world.wasm
  arg 0: -
  arg 1: x

The environment is empty but for what is given; the last value of a name counts; a bare name takes ours.

  $ A=ours tensor-wasm run --env B=1 --env=B=2 --env A --env C= $GUESTS/world.wasm '$A' '$B' '$C' '$HOME' | tail -4
  env A: ours
  env B: 2
  env C: 
  env HOME: (unset)

Folders: without --dir there are none; with it, only what is below.

  $ mkdir -p in/deep out; echo one > in/a.txt; echo two > in/deep/b.txt; echo secret > secret.txt
  $ tensor-wasm run $GUESTS/files.wasm in/a.txt
  ! in/a.txt: .* (re)
  [3]
  $ tensor-wasm run --dir in $GUESTS/files.wasm in/a.txt in/deep/b.txt
  one
  two
  $ tensor-wasm run --dir in::/data --dir out $GUESTS/files.wasm /data/a.txt =out/c.txt && cat out/c.txt
  one
  written by the guest
  $ tensor-wasm run --dir=in $GUESTS/files.wasm in/../secret.txt
  ! in/../secret.txt: .* (re)
  [3]
  $ ln -s ../secret.txt in/link; tensor-wasm run --dir in $GUESTS/files.wasm in/link
  ! in/link: .* (re)
  [3]
  $ ln -s "$PWD/secret.txt" in/absolute; tensor-wasm run --dir in $GUESTS/files.wasm in/absolute
  ! in/absolute: .* (re)
  [3]
  $ ln -s deep/b.txt in/inside; tensor-wasm run --dir in $GUESTS/files.wasm in/inside
  two
  $ tensor-wasm run --dir . $GUESTS/files.wasm secret.txt
  secret

The standard streams, and what the guest is left with when nobody reads:

  $ printf 'abc\nxyz' | tensor-wasm run $GUESTS/upper.wasm; echo
  ABC
  XYZ
  ! 7 bytes
  $ tensor-wasm run $GUESTS/upper.wasm < /dev/null
  ! 0 bytes
  $ tensor-wasm run $GUESTS/leave.wasm yes | head -2
  y
  y
  ! leaving
  $ tensor-wasm run $GUESTS/world.wasm > /dev/full
  $ dd if=/dev/zero bs=1M count=3 2>/dev/null | tensor-wasm run $GUESTS/upper.wasm | wc -c
  3145728
  ! 3145728 bytes

The exit code is the guest's:

  $ tensor-wasm run $GUESTS/leave.wasm now 0
  ! leaving
  $ tensor-wasm run $GUESTS/leave.wasm now 7
  ! leaving
  [7]
  $ tensor-wasm run $GUESTS/leave.wasm now 125
  ! leaving
  [125]
  $ tensor-wasm run $GUESTS/leave.wasm now 126
  ! leaving
  [126]
  $ tensor-wasm run $GUESTS/leave.wasm now 255
  ! leaving
  [255]
  $ cat > begin.wat <<'END'
  > (module (import "wasi_snapshot_preview1" "proc_exit" (func $exit (param i32))) (memory (export "memory") 1)
  >   (func $f (call $exit (i32.const 200))) (start $f))
  > END
  $ tensor-wasm run begin.wat
  [200]

A module that imports what isn't there is told by name:

  $ echo '(module (import "env" "missing" (func)) (func (export "_start")))' > link.wat; tensor-wasm link.wat
  ! tensor-wasm: link.wat: .*env.*missing.* (re)
  ! tensor-wasm: this command offers WASI preview 1 and nothing else; what embeds TensorWasm can offer functions, memories, globals and tables
  [1]
  $ echo '(module (import "env" "base" (global i32)) (func (export "_start")))' > link.wat; tensor-wasm link.wat
  ! tensor-wasm: link.wat: the import "env"."base" is a global, immutable i32, that isn't offered by anyone: its host makes it (tw_global_new)
  ! tensor-wasm: this command offers WASI preview 1 and nothing else; what embeds TensorWasm can offer functions, memories, globals and tables
  [1]
  $ tensor-wasm -q link.wat
  ! tensor-wasm: link.wat: the import "env"."base" is a global, immutable i32, that isn't offered by anyone: its host makes it (tw_global_new)
  [1]

A file that may not grow is the guest's error, not the end of the process:

  $ cat > fill.wat <<'END'
  > (module (import "wasi_snapshot_preview1" "fd_write" (func $write (param i32 i32 i32 i32) (result i32)))
  >   (import "wasi_snapshot_preview1" "proc_exit" (func $exit (param i32)))
  >   (memory (export "memory") 2) (data (i32.const 0) "\40\00\00\00\00\00\01\00")
  >   (func (export "_start") (local $error i32)
  >     (loop $l (br_if $l (i32.eqz (local.tee $error (call $write (i32.const 1) (i32.const 0) (i32.const 1) (i32.const 8))))))
  >     (call $exit (local.get $error))))
  > END
  $ (ulimit -f 100; tensor-wasm run fill.wat > filled)
  [22]

A stream that was closed isn't some other file of ours: the guest can't use it, and nothing is written anywhere:

  $ cat > waits.wat <<'END'
  > (module (import "wasi_snapshot_preview1" "fd_write" (func $write (param i32 i32 i32 i32) (result i32)))
  >   (import "wasi_snapshot_preview1" "fd_read" (func $read (param i32 i32 i32 i32) (result i32)))
  >   (memory (export "memory") 1) (data (i32.const 0) "\40\00\00\00\06\00\00\00") (data (i32.const 64) "ready\n")
  >   (func (export "_start") (drop (call $write (i32.const 2) (i32.const 0) (i32.const 1) (i32.const 8)))
  >     (drop (call $read (i32.const 0) (i32.const 0) (i32.const 1) (i32.const 8)))))
  > END
  $ mkfifo gate; tensor-wasm run waits.wat < gate >&- 2> err & exec 9> gate; until [ -s err ]; do sleep 0.05; done; readlink /proc/$!/fd/1; exec 9>&-; wait
  /dev/null
  $ tensor-wasm --version >&-
  ! tensor-wasm: the output can't be written
  [1]
