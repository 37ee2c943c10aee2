snapshot export writes a module with a snapshot's state baked in, for any engine.

  $ cp $GUESTS/warm.wasm .; tensor-wasm snapshot save --invoke init -o warm.snap warm.wasm
  $ tensor-wasm snapshot export --wasm warm.wasm warm.snap -o baked.wasm
  $ tensor-wasm validate baked.wasm; ! command -v wasm-validate > /dev/null || wasm-validate baked.wasm
  baked.wasm: valid
  $ for i in 1 7 1000 19997; do
  >   for f in step depth; do
  >     a=$(tensor-wasm snapshot restore --invoke $f warm.snap warm.wasm $i); b=$(tensor-wasm run --invoke $f baked.wasm $i)
  >     test "$a" = "$b" || echo "$f $i: $a, $b"
  >   done
  > done
  $ tensor-wasm run --invoke primes warm.wasm; tensor-wasm run --invoke primes baked.wasm; tensor-wasm run --invoke say baked.wasm 3
  0
  2262
  3 of 1000 calls

Another engine runs on from there as it does without: every result and the memory.

  $ cat > both.mjs <<'END'
  > import fs from "fs"; import crypto from "crypto";
  > const wasi = new Proxy({}, {get: () => () => 0});
  > const load = async f => (await WebAssembly.instantiate(fs.readFileSync(f), {wasi_snapshot_preview1: wasi})).instance.exports;
  > const a = await load("warm.wasm"), b = await load("baked.wasm");
  > a._initialize(); a.init();
  > const hash = x => crypto.createHash("sha256").update(new Uint8Array(x.memory.buffer)).digest("hex");
  > let wrong = hash(a) !== hash(b) || "_initialize" in b, seed = 7;
  > for (let i = 0; i < 3000; i++) {
  >   seed = (Math.imul(seed, 1664525) + 1013904223) | 0;
  >   const name = ["step", "depth", "primes", "total"][seed >>> 30];
  >   if (!Object.is(a[name](seed >> 8), b[name](seed >> 8))) wrong = name + " " + i;
  > }
  > console.log(wrong, hash(a) === hash(b), a.memory.buffer.byteLength > 1 << 17);
  > END
  $ ! command -v node > /dev/null && echo false true true || node both.mjs
  false true true

A module that begins with nothing but segments of its own, tables, vectors, references:

  $ cat > all.wat <<'END'
  > (module (memory (export "memory") 1 9) (table $t 3 9 funcref) (table $u 2 funcref)
  >  (elem (i32.const 0) $one $two) (elem $p func $two $one) (elem $q func $one) (data $d "bytes") (data $k "kept") (data (i32.const 9) "active")
  >  (global $c i32 (i32.const 5)) (global $a (mut i32) (i32.const -1)) (global $e (mut v128) (v128.const i32x4 1 2 3 4))
  >  (global $f (mut funcref) (ref.func $two)) (type $r (func (result i32)))
  >  (func $one (result i32) (i32.const 1)) (func $two (result i32) (i32.const 2)) (start $s) (func $s (global.set $a (i32.const 3)))
  >  (func (export "change") (global.set $a (i32.add (global.get $a) (global.get $c))) (global.set $e (v128.const i32x4 9 9 9 9))
  >   (drop (table.grow $t (ref.func $one) (i32.const 2))) (data.drop $d) (elem.drop $p) (table.init $u $q (i32.const 1) (i32.const 0) (i32.const 1))
  >   (drop (memory.grow (i32.const 1))) (i32.store (i32.const 70000) (i32.const 77)) (global.set $f (ref.null func)))
  >  (func (export "numbers") (result i32 i32 i32 i32 i32) (global.get $a) (i32x4.extract_lane 2 (global.get $e)) (memory.size)
  >   (i32.load (i32.const 70000)) (i32.load8_u (i32.const 9)))
  >  (func (export "tables") (result i32 i32 i32) (call_indirect $t (type $r) (i32.const 4)) (call_indirect $u (type $r) (i32.const 1)) (table.size $t))
  >  (func (export "kept") (result i32) (memory.init $k (i32.const 0) (i32.const 0) (i32.const 4)) (i32.load8_u (i32.const 3)))
  >  (func (export "gone") (memory.init $d (i32.const 0) (i32.const 0) (i32.const 1)))
  >  (func (export "gone_too") (table.init $t $p (i32.const 0) (i32.const 0) (i32.const 1)))
  >  (func (export "null") (result i32) (ref.is_null (global.get $f))))
  > END
  $ tensor-wasm snapshot save --invoke change -o all.snap all.wat; tensor-wasm snapshot export all.wat all.snap -o all.wasm
  $ ! command -v wasm-validate > /dev/null || wasm-validate all.wasm
  $ for f in numbers tables kept null; do tensor-wasm run --invoke $f all.wasm | tr '\n' ' '; done; echo
  8 9 2 77 97 1 1 5 116 1 
  $ for f in numbers tables kept null; do tensor-wasm snapshot restore --invoke $f all.snap all.wat | tr '\n' ' '; done; echo
  8 9 2 77 97 1 1 5 116 1 
  $ for f in gone gone_too; do tensor-wasm run --invoke $f all.wasm 2>&1 | head -1 | cut -d' ' -f1-9; done
  tensor-wasm: trap: out of bounds memory access in gone
  tensor-wasm: trap: out of bounds table access in gone_too

A module without anything newer than the first version of WebAssembly gets nothing newer:

  $ cat > mvp.wat <<'END'
  > (module (memory (export "memory") 1) (table 2 funcref) (elem (i32.const 0) $f) (global $g (mut f64) (f64.const 1)) (data (i32.const 0) "data")
  >  (func $f (param i32) (result i32) (i32.store (i32.const 60000) (local.get 0)) (global.set $g (f64.const 0.5)) (i32.load (i32.const 60000)))
  >  (export "f" (func $f)))
  > END
  $ tensor-wasm snapshot save --invoke f -o mvp.snap mvp.wat 5; tensor-wasm snapshot export mvp.wat mvp.snap -o mvp.wasm
  5
  $ ! command -v wasm-validate > /dev/null || wasm-validate --disable-bulk-memory --disable-reference-types mvp.wasm

What a module can't hold:

  $ umask 077; mkdir in; tensor-wasm snapshot save -o world.snap --env A=b $GUESTS/world.wasm > out 2>&1
  $ tensor-wasm snapshot export $GUESTS/world.wasm world.snap -o world.wasm 2>&1 | sed 's/^.*world.wasm/world.wasm/'
  world.wasm: the guest's arguments are WASI's, and a module can't hold them: wasi-from-host leaves them to the host that it runs on
  $ tensor-wasm snapshot export --wasi-from-host $GUESTS/world.wasm world.snap -o world.wasm && tensor-wasm validate world.wasm
  world.wasm: valid
  $ tensor-wasm snapshot export warm.wasm all.snap -o no.wasm 2>&1 | sed 's/[0-9a-f]\{8\}/HASH/g'; ls no.wasm 2>/dev/null
  tensor-wasm: warm.wasm: the snapshot is of another module: its BLAKE3 begins with HASH, this one's with HASH
  [2]
  $ tensor-wasm snapshot export warm.wasm warm.snap
  ! tensor-wasm: no file to write: give --output FILE
  ! See 'tensor-wasm snapshot export --help'.
  [2]
  $ tensor-wasm snapshot export warm.wasm $DATA/craton/good/v2_seq7_nonce.snap -o no.wasm
  ! tensor-wasm: warm.wasm: the snapshot's registers are malformed: they are cut off
  [1]
  $ tensor-wasm snapshot export --require-signature warm.wasm warm.snap -o no.wasm
  ! tensor-wasm: warm.snap: it has no signature, and the reader requires one (unsigned)
  [1]
