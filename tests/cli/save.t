snapshot save runs a guest up to the end of a call and writes its state; snapshot restore goes on from there.

  $ cat > count.wat <<'END'
  > (module (memory (export "memory") 1) (global $n (mut i32) (i32.const 0)) (global $restored (mut i32) (i32.const 0))
  >  (func $s (global.set $n (i32.const 100))) (start $s)
  >  (func (export "add") (param i32) (result i32)
  >   (global.set $n (i32.add (global.get $n) (local.get 0)))
  >   (i32.store (i32.const 0) (global.get $n)) (global.get $n))
  >  (func (export "tw_after_restore") (global.set $restored (i32.add (global.get $restored) (i32.const 1))))
  >  (func (export "restored") (result i32) (global.get $restored))
  >  (func (export "get") (result i32) (i32.load (i32.const 0))))
  > END
  $ tensor-wasm snapshot save --invoke add -o a.snap count.wat 1
  101
  $ tensor-wasm snapshot restore --invoke add a.snap count.wat 2
  103
  $ tensor-wasm snapshot restore --invoke get a.snap count.wat
  101
  $ tensor-wasm snapshot restore --invoke add --output a.snap a.snap count.wat 5; tensor-wasm snapshot restore --invoke get a.snap count.wat
  106
  106
  $ tensor-wasm snapshot restore --invoke restored -o b.snap a.snap count.wat; tensor-wasm snapshot restore --invoke restored b.snap count.wat
  2
  3
  $ ls -l a.snap | cut -c1-10
  -rw-------

It is what run reads and writes, too:

  $ tensor-wasm run --from-snapshot a.snap --invoke get count.wat
  106

Without --invoke, what run would do: a module's start function and _start, or _initialize:

  $ tensor-wasm snapshot save -o start.snap count.wat
  ! tensor-wasm: count.wat: has no _start, so nothing is called; --invoke NAME calls one of its functions: add, tw_after_restore, restored, get
  $ tensor-wasm snapshot restore --invoke add start.snap count.wat 1
  101
  $ cat > once.wat <<'END'
  > (module (import "wasi_snapshot_preview1" "proc_exit" (func $exit (param i32))) (memory (export "memory") 1)
  >  (func (export "_start") (i32.store (i32.const 0) (i32.const 7)) (call $exit (i32.const 0)))
  >  (func (export "get") (result i32) (i32.load (i32.const 0))))
  > END
  $ tensor-wasm snapshot save -o once.snap once.wat && tensor-wasm snapshot restore --invoke get once.snap once.wat
  7

Nothing is written when the guest doesn't come back well, and the old file stays:

  $ sed 's/(call $exit (i32.const 0))/(call $exit (i32.const 3))/' once.wat > failed.wat
  $ cp once.snap old.snap; tensor-wasm snapshot save -o old.snap failed.wat
  ! tensor-wasm: failed.wat: no snapshot was written: the guest exited with 3
  [3]
  $ cmp old.snap once.snap
  $ sed 's/(call $exit (i32.const 0))/(unreachable)/' once.wat > trap.wat; tensor-wasm snapshot save -o trap.snap trap.wat 2>&1 | head -1
  tensor-wasm: trap: wasm `unreachable` instruction executed in _start (function 1) at 0x6d
  $ ls trap.snap 2>/dev/null
  [2]
  $ mkdir in; echo abc > in/a.txt; tensor-wasm snapshot save --dir in::/in -o world.snap $GUESTS/files.wasm > /dev/null 2>&1; echo $?
  0

Open files are named:

  $ cat > open.wat <<'END'
  > (module (import "wasi_snapshot_preview1" "path_open" (func $open (param i32 i32 i32 i32 i32 i64 i64 i32 i32) (result i32)))
  >  (memory (export "memory") 1) (data (i32.const 16) "a.txt") (data (i32.const 32) "b.txt")
  >  (func $one (param i32) (if (call $open (i32.const 3) (i32.const 0) (local.get 0) (i32.const 5) (i32.const 1) (i64.const 64) (i64.const 0)
  >   (i32.const 0) (i32.const 8)) (then unreachable)))
  >  (func (export "_start") (call $one (i32.const 16)) (call $one (i32.const 32))))
  > END
  $ tensor-wasm snapshot save --dir in::/in -o open.snap open.wat; ls open.snap 2>/dev/null
  ! tensor-wasm: open.wat: the instance can't be captured now: it has open files: a.txt (descriptor 4), b.txt (descriptor 5)
  [2]

A folder must be mapped by its name:

  $ tensor-wasm snapshot save --dir in::/in --invoke get -o dir.snap count.wat
  0
  $ tensor-wasm snapshot restore --invoke get dir.snap count.wat
  ! tensor-wasm: count.wat: the snapshot's guest has the directory "/in": map one to that name
  [1]
  $ mkdir other; tensor-wasm snapshot restore --dir other::/in --dir in::/more --invoke get dir.snap count.wat
  ! tensor-wasm: count.wat: the snapshot's guest has no directory "/more", and can't be given one now
  [1]
  $ tensor-wasm snapshot restore --dir other::/in --invoke get dir.snap count.wat
  0

A reader's demands, and what the writer says for them:

  $ umask 077; printf '%02x' $(seq 0 31) > key; printf '%02x' $(seq 40 71) > aead
  $ tensor-wasm snapshot save --sign-hmac-key-file key --encrypt-key-file aead --sequence 7 --nonce 000102030405060708090a0b0c0d0e0f \
  >   --invoke add -o s.snap count.wat 1
  101
  $ tensor-wasm snapshot restore --hmac-key-file key --aead-key-file aead --require-signature --min-sequence 7 --max-age 1h \
  >   --expect-nonce 000102030405060708090A0B0C0D0E0F --max-bytes 1MiB --invoke get s.snap count.wat
  101
  $ tensor-wasm snapshot restore --hmac-key-file key --aead-key-file aead --min-sequence 8 --invoke get s.snap count.wat
  ! tensor-wasm: s.snap: its sequence number is 7; the reader takes none below 8 (replay)
  [1]
  $ tensor-wasm snapshot restore --hmac-key-file key --aead-key-file key --invoke get s.snap count.wat
  ! tensor-wasm: s.snap: it was not encrypted with this key, or was changed since (aead)
  [1]
  $ tensor-wasm snapshot restore --require-signature --invoke get a.snap count.wat
  ! tensor-wasm: a.snap: it has no signature, and the reader requires one (unsigned)
  [1]
  $ tensor-wasm snapshot restore --max-bytes 60000 --invoke get a.snap count.wat 2>&1 | grep -o '(limit)'
  (limit)

The earlier project's formats hold a guest as well:

  $ for f in v2 v3 v4; do
  >   key=$(test $f = v2 || echo --sign-hmac-key-file key); tensor-wasm snapshot save --to $f $key --invoke add -o $f.snap count.wat 1
  >   tensor-wasm snapshot restore --hmac-key-file key --invoke add $f.snap count.wat 1
  > done
  101
  102
  101
  102
  101
  102

What can't be meant is said before the guest runs:

  $ tensor-wasm snapshot save --invoke add count.wat 1
  ! tensor-wasm: no file to write: give --output FILE
  ! See 'tensor-wasm snapshot save --help'.
  [2]
  $ tensor-wasm snapshot save --to v4 --invoke add -o x.snap count.wat 1
  ! tensor-wasm: x.snap: v4 needs an HMAC key and takes no other
  [1]
  $ tensor-wasm snapshot save --nonce 12 -o x.snap count.wat
  ! tensor-wasm: --nonce: '12' is not 32 hexadecimal digits
  ! See 'tensor-wasm snapshot save --help'.
  [2]
  $ tensor-wasm snapshot save --invoke ad -o x.snap count.wat
  ! tensor-wasm: --invoke: the module exports no function 'ad'; did you mean 'add'?
  ! See 'tensor-wasm snapshot save --help'.
  [2]
  $ tensor-wasm snapshot restore a.snap
  ! tensor-wasm: nothing to work on: usage is 'tensor-wasm snapshot restore [options] FILE MODULE [args...]'
  ! See 'tensor-wasm snapshot restore --help'.
  [2]
  $ tensor-wasm snapshot restore a.snap count.wat more
  ! tensor-wasm: 'more': a guest from a snapshot has the arguments that it had
  ! See 'tensor-wasm snapshot restore --help'.
  [2]
  $ tensor-wasm snapshot restore --env A=B a.snap count.wat
  ! tensor-wasm: unknown option '--env'
  ! See 'tensor-wasm snapshot restore --help'.
  [2]
  $ tensor-wasm snapshot restore --invoke get once.snap count.wat 2>&1 | sed 's/[0-9a-f]\{8\}/HASH/g'
  tensor-wasm: count.wat: the snapshot is of another module: its BLAKE3 begins with HASH, this one's with HASH
  $ tensor-wasm snapshot restore --invoke get nothing.snap count.wat
  ! tensor-wasm: nothing.snap: can't be opened: No such file or directory
  [1]

Options may stand behind the module, too:

  $ cat > behind.wat <<'END'
  > (module (global $n (mut i32) (i32.const 0)) (func (export "add") (param i32) (result i32)
  >   (global.set $n (i32.add (global.get $n) (local.get 0))) (global.get $n)))
  > END
  $ tensor-wasm snapshot save behind.wat --invoke add -5 -o behind.snap
  -5
  $ tensor-wasm snapshot restore behind.snap behind.wat 3 --invoke=add
  -2
