snapshot diff tells what differs between two snapshots.

  $ cat > all.wat <<'END'
  > (module (memory (export "memory") 1 9) (table $t 3 9 funcref) (elem (i32.const 0) $one $two) (data $d "bytes")
  >  (global $a (mut i32) (i32.const -1)) (global $b (mut i64) (i64.const 2)) (global $c (mut f32) (f32.const 1.5))
  >  (global $d (mut f64) (f64.const 0.1)) (global $e (mut v128) (v128.const i32x4 1 2 3 4)) (global $f (mut funcref) (ref.func $two))
  >  (func $one) (func $two)
  >  (func (export "nothing"))
  >  (func (export "change") (param i32)
  >   (global.set $a (i32.const 7)) (global.set $b (i64.const -2)) (global.set $c (f32.const nan)) (global.set $d (f64.const 0.2))
  >   (global.set $e (v128.const i32x4 1 2 3 5)) (global.set $f (ref.null func)) (table.set $t (i32.const 2) (ref.func $one))
  >   (drop (table.grow $t (ref.func $two) (i32.const 1))) (data.drop $d) (drop (memory.grow (i32.const 1)))
  >   (i32.store8 (i32.const 5000) (local.get 0)) (i32.store16 (i32.const 8191) (i32.const 0x0202)) (i32.store (i32.const 70000) (i32.const -1))))
  > END
  $ tensor-wasm snapshot save --invoke nothing --env K=1 -o a.snap all.wat
  $ tensor-wasm snapshot save --invoke change --env K=2 --argv0 other --sequence 3 --nonce 000102030405060708090a0b0c0d0e0f -o b.snap all.wat 9
  $ tensor-wasm snapshot diff a.snap b.snap | grep -v created
  a.snap, b.snap: they differ
    metadata: sequence: 0 -> 3
    metadata: nonce: none -> 000102030405060708090a0b0c0d0e0f
    globals: global 0: -1 -> 7
    globals: global 1: 2 -> -2
    globals: global 2: 1.5 (0x3fc00000) -> nan (0x7fc00000)
    globals: global 3: 0.10000000000000001 (0x3fb999999999999a) -> 0.20000000000000001 (0x3fc999999999999a)
    globals: global 4: 01000000020000000300000004000000 -> 01000000020000000300000005000000
    globals: global 5: function 1 -> null
    tables: table 0, size: 3 -> 4
    tables: table 0, slot 2: null -> function 0
    tables: table 0, slot 3: none -> function 1
    drops: segment of drop 0: there -> dropped
    wasi: argument 0: all.wat -> other
    wasi: argument 1: none -> 9
    wasi: variable 0: K=1 -> K=2
    wasm memory: 65536 bytes -> 131072 bytes, 7 differ
      0x00001000-0x00002fff: 3 of 8192 bytes
      0x00011000-0x00011fff: 4 of 4096 bytes

The exit code says it, too:

  $ tensor-wasm snapshot diff a.snap b.snap > /dev/null
  [1]
  $ tensor-wasm snapshot diff a.snap a.snap
  a.snap, a.snap: the same

The same state in another format, at another time, is the same state:

  $ umask 077; printf '%02x' $(seq 0 31) > key; tensor-wasm snapshot convert --to v4 --sign-hmac-key-file key a.snap a4.snap > /dev/null
  $ tensor-wasm snapshot diff --hmac-key-file key a.snap a4.snap
  a.snap, a4.snap: the same
  $ tensor-wasm snapshot save --invoke nothing --env K=1 --sequence 5 -o later.snap all.wat; tensor-wasm snapshot diff --state-only a.snap later.snap
  a.snap, later.snap: the same
  $ tensor-wasm snapshot diff a.snap later.snap | grep sequence
    metadata: sequence: 0 -> 5

Snapshots of something else are bytes:

  $ cp $DATA/craton/good/v2_seq7_nonce.snap x.snap; cp $DATA/craton/good/v2_maxvals.snap y.snap
  $ tensor-wasm snapshot diff x.snap y.snap | grep -v 'metadata: [tci]'
  x.snap, y.snap: they differ
    metadata: sequence: 7 -> 18446744073709551615
    metadata: nonce: 000102030405060708090a0b0c0d0e0f -> ffffffffffffffffffffffffffffffff
    wasm memory: 4 bytes -> 1 bytes, 4 differ
      0x00000000-0x00000003: 4 of 4 bytes
    device memory: 3 bytes -> 0 bytes, 3 differ
      0x00000000-0x00000002: 3 of 3 bytes
    registers: 2 bytes -> 3 bytes, 3 differ
      0x00000000-0x00000002: 3 of 3 bytes

For programs:

  $ tensor-wasm snapshot diff --json --state-only a.snap b.snap > d.json; python3 - <<'END'
  > import json
  > d = json.load(open("d.json"))
  > print(d["a"], d["b"], d["same"], len(d["differences"]))
  > print([(i["a"], i["b"]) for i in d["differences"] if i["what"] in ("global 1", "table 0, slot 3", "argument 1")])
  > print(d["memories"])
  > END
  a.snap b.snap False 13
  [('2', '-2'), (None, 'function 1'), (None, '9')]
  [{'name': 'wasm memory', 'a_bytes': 65536, 'b_bytes': 131072, 'differing_bytes': 7, 'ranges': [{'offset': 4096, 'bytes': 8192, 'differing_bytes': 3}, {'offset': 69632, 'bytes': 4096, 'differing_bytes': 4}]}]
  $ tensor-wasm snapshot diff --json a.snap a.snap | python3 -c 'import json, sys; print(json.load(sys.stdin)["same"])'
  True
  $ tensor-wasm snapshot diff --json a.snap missing.snap
  {
    "error": {
      "class": "not-found",
      "message": "can't be opened: No such file or directory"
    }
  }
  [1]
  $ tensor-wasm snapshot diff --require-signature a.snap b.snap
  ! tensor-wasm: a.snap: it has no signature, and the reader requires one (unsigned)
  [1]

What a guest was told can't reach the terminal as it is:

  $ tensor-wasm snapshot save --invoke nothing --env "K=$(printf '\033[2J')" -o bad.snap all.wat; tensor-wasm snapshot diff --state-only a.snap bad.snap
  a.snap, bad.snap: they differ
    wasi: variable 0: K=1 -> K=?[2J
  [1]
