Images: written by run and save, mapped by run, in full or on trust.

  $ cat > count.wat <<'END'
  > (module (memory (export "memory") 4) (global $n (mut i32) (i32.const 0))
  >  (func $add (export "add") (param i32) (result i32)
  >   (global.set $n (i32.add (global.get $n) (local.get 0)))
  >   (i32.store (i32.const 70000) (global.get $n)) (global.get $n))
  >  (func (export "warm") (drop (call $add (i32.const 40))))
  >  (func (export "get") (result i32) (i32.load (i32.const 70000))))
  > END
  $ mkdir store && chmod 700 store
  $ tensor-wasm run --snapshot-after warm=store/a.twi --snapshot-format image --invoke add count.wat 1
  41
  $ tensor-wasm run --from-snapshot store/a.twi --invoke add count.wat 2
  42
  $ tensor-wasm run --from-snapshot store/a.twi --verify trusted --invoke add count.wat 2
  42
  $ tensor-wasm snapshot restore --verify=trusted --invoke get store/a.twi count.wat
  40
  $ tensor-wasm snapshot verify store/a.twi
  store/a.twi: verified: image, not signed
  $ tensor-wasm snapshot inspect store/a.twi | grep "[me] memory"
    wasm memory      262144 bytes
    device memory    0 bytes

What can't be taken on trust:

  $ cp store/a.twi a.twi
  $ chmod 755 .
  $ tensor-wasm run --from-snapshot a.twi --verify trusted --invoke get count.wat
  ! tensor-wasm: a.twi: it can't be taken on trust: its folder's mode isn't 0700 (store)
  [1]
  $ ln -s a.twi store/link && tensor-wasm run --from-snapshot store/link --verify trusted --invoke get count.wat
  ! tensor-wasm: store/link: it can't be taken on trust: it is a symbolic link (store)
  [1]
  $ tensor-wasm run --from-snapshot store/link --verify full --invoke get count.wat
  40

Archives become images and the other way round; a changed byte is seen:

  $ tensor-wasm snapshot convert a.twi a.snap && tensor-wasm snapshot convert --to image a.snap b.twi
  a.snap: archive, from a.twi, image
  b.twi: image, from a.snap, archive
  $ cmp a.twi b.twi
  $ printf x | dd of=b.twi bs=1 seek=70000 conv=notrunc status=none
  $ tensor-wasm snapshot verify b.twi
  ! tensor-wasm: b.twi: the hash of a block of wasm memory in the 65536 bytes from 65536 on is another (hash)
  [1]

Only what differs from another snapshot, which is needed to read it again:

  $ tensor-wasm run --from-snapshot a.twi --snapshot-after add=c.twi --snapshot-format image --against a.twi --invoke add count.wat 2
  42
  $ tensor-wasm run --from-snapshot c.twi --invoke get count.wat 2>&1 | sed 's/[0-9a-f]\{8\}/HASH/'
  tensor-wasm: c.twi: it holds only what differs from its base, the snapshot whose content hash begins with HASH, and the reader has none (base)
  $ tensor-wasm run --from-snapshot c.twi --base a.twi --invoke get count.wat
  42
  $ cp c.twi store/c.twi
  $ tensor-wasm run --from-snapshot store/c.twi --verify trusted --base store/a.twi --invoke get count.wat
  42
  $ tensor-wasm run --from-snapshot store/c.twi --verify trusted --base a.twi --invoke get count.wat
  42
  $ tensor-wasm snapshot convert --to image --base a.twi --against a.twi --against c.twi c.twi d.twi
  d.twi: image, from c.twi, image
  $ tensor-wasm snapshot verify --base a.twi --base c.twi d.twi
  d.twi: verified: image, not signed
  $ tensor-wasm snapshot verify --base a.snap d.twi 2>&1 | sed 's/[0-9a-f]\{8\}/HASH/g'
  tensor-wasm: d.twi: its base is the snapshot whose content hash begins with HASH; that of the reader's begins with HASH (base)
  $ tensor-wasm snapshot convert --against a.twi c.twi e.snap --base a.twi
  ! tensor-wasm: e.snap: only an image has a base (invalid-argument)
  [1]
