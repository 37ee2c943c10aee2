run writes a snapshot of a guest after a call, and goes on from one.

  $ cat > count.wat <<'END'
  > (module (memory (export "memory") 1) (global $n (mut i32) (i32.const 0))
  >  (func $add (export "add") (param i32) (result i32)
  >   (global.set $n (i32.add (global.get $n) (local.get 0)))
  >   (i32.store (i32.const 0) (global.get $n)) (global.get $n))
  >  (func (export "warm") (drop (call $add (i32.const 40))))
  >  (func (export "get") (result i32) (i32.load (i32.const 0))))
  > END
  $ tensor-wasm run --snapshot-after warm=a.snap --invoke add count.wat 1
  41
  $ tensor-wasm run --from-snapshot a.snap --invoke add count.wat 2
  42
  $ tensor-wasm run --from-snapshot a.snap --snapshot-after add=b.snap --invoke add count.wat 3
  43
  $ tensor-wasm run --from-snapshot b.snap --invoke get count.wat
  43
  $ ls -l a.snap | cut -c1-10; ls -A | grep -c tmp
  -rw-------
  0
  [1]
  $ tensor-wasm snapshot inspect a.snap | grep -v 'created\|module'
  a.snap: archive, not signed
    tenant           0x0
    instance         0x0
    sequence number  0
    nonce            none
    wasm memory      65536 bytes
    device memory    0 bytes
    registers        120 bytes
    memory's limit   4294967296 bytes
    mutable globals  1
    arguments        count.wat 1

A program that leaves through exit code 0:

  $ cat > once.wat <<'END'
  > (module (import "wasi_snapshot_preview1" "proc_exit" (func $exit (param i32))) (memory (export "memory") 1)
  >  (func (export "_start") (i32.store (i32.const 0) (i32.const 7)) (call $exit (i32.const 0)))
  >  (func (export "get") (result i32) (i32.load (i32.const 0))))
  > END
  $ tensor-wasm run --snapshot-after _start=once.snap once.wat && tensor-wasm run --from-snapshot once.snap --invoke get once.wat
  7

One that exits with a failure, or before the call, leaves no snapshot, and that is told:

  $ sed 's/(call $exit (i32.const 0))/(call $exit (i32.const 3))/' once.wat > failed.wat
  $ tensor-wasm run --snapshot-after _start=failed.snap failed.wat
  ! tensor-wasm: failed.wat: no snapshot was written: the guest exited with 3
  [3]
  $ sed 's/_start/_initialize/' once.wat > early.wat; tensor-wasm run --snapshot-after get=failed.snap --invoke get early.wat
  ! tensor-wasm: early.wat: no snapshot was written: the guest exited with 0
  $ ls failed.snap 2>/dev/null
  [2]

A key signs what is written; with it, nothing else is read:

  $ umask 077; printf '%02x' $(seq 0 31) > key
  $ tensor-wasm run --snapshot-key-file key --snapshot-after warm=s.snap count.wat
  $ tensor-wasm run --snapshot-key-file key --from-snapshot s.snap --invoke get count.wat
  40
  $ tensor-wasm run --snapshot-key-file key --from-snapshot a.snap --invoke get count.wat
  ! tensor-wasm: a.snap: it has no signature, and the reader requires one (unsigned)
  [1]
  $ tensor-wasm run --from-snapshot s.snap --invoke get count.wat
  ! tensor-wasm: s.snap: it is signed with HMAC-SHA256, and the reader has no key for that (nokey)
  [1]

Another one encrypts, and Ed25519 signs as well:

  $ umask 077; printf '%02x' $(seq 40 71) > aead; printf '42%.0s' $(seq 32) > seed
  $ umask 077; echo 2152f8d19b791d24453242e15f2eab6cb7cffa7b6a5ed30097960e069881db12 > ed
  $ tensor-wasm run --aead-key-file aead --sign-ed25519-key-file seed --snapshot-after warm=e.snap count.wat
  $ tensor-wasm run --aead-key-file aead --ed25519-public-key-file ed --from-snapshot e.snap --invoke get count.wat
  40
  $ tensor-wasm run --aead-key-file key --ed25519-public-key-file ed --from-snapshot e.snap --invoke get count.wat
  ! tensor-wasm: e.snap: it was not encrypted with this key, or was changed since (aead)
  [1]
  $ tensor-wasm run --aead-key-file aead --from-snapshot a.snap --invoke get count.wat
  ! tensor-wasm: a.snap: it is not encrypted, and the reader takes encrypted files only (aead)
  [1]
  $ tensor-wasm run --ed25519-public-key-file ed --from-snapshot a.snap --invoke get count.wat
  ! tensor-wasm: a.snap: it has no signature, and the reader requires one (unsigned)
  [1]
  $ chmod 640 aead; tensor-wasm run --aead-key-file aead --snapshot-after warm=open.snap count.wat; ls open.snap 2>/dev/null
  ! tensor-wasm: open.snap: the key file aead is open to others (mode 0640): chmod 600 it
  [2]

What can't be:

  $ tensor-wasm run --from-snapshot once.snap --invoke get count.wat 2>&1 | sed 's/[0-9a-f]\{8\}/HASH/g'
  tensor-wasm: count.wat: the snapshot is of another module: its BLAKE3 begins with HASH, this one's with HASH
  $ tensor-wasm run --snapshot-after warm count.wat
  ! tensor-wasm: --snapshot-after: 'warm' is not EXPORT=FILE
  ! See 'tensor-wasm run --help'.
  [2]
  $ tensor-wasm run --snapshot-after none=x count.wat
  ! tensor-wasm: --snapshot-after: the module exports no function 'none'
  ! See 'tensor-wasm run --help'.
  [2]
  $ tensor-wasm run --snapshot-after add=x count.wat
  ! tensor-wasm: --snapshot-after: add has parameters or results: name it with --invoke, too
  ! See 'tensor-wasm run --help'.
  [2]
  $ tensor-wasm run --from-snapshot a.snap --env A=B count.wat
  ! tensor-wasm: --env: a guest from a snapshot has the arguments and environment that it had
  ! See 'tensor-wasm run --help'.
  [2]
  $ tensor-wasm run --from-snapshot a.snap count.wat more
  ! tensor-wasm: 'more': a guest from a snapshot has the arguments that it had
  ! See 'tensor-wasm run --help'.
  [2]
  $ tensor-wasm run --from-snapshot nothing.snap count.wat
  ! tensor-wasm: nothing.snap: can't be opened: No such file or directory
  [1]
  $ tensor-wasm run --snapshot-after warm=/nowhere/x count.wat
  ! tensor-wasm: count.wat: can't write the snapshot /nowhere/x: open the folder: No such file or directory
  [1]
