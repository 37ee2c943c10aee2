--invoke calls an export with arguments typed by its own signature, and prints its results one a line.

  $ cat > m.wat <<'END'
  > (module
  >   (func (export "add") (param i32 i32) (result i32) (i32.add (local.get 0) (local.get 1)))
  >   (func (export "all") (param i32 i64 f32 f64) (result f64 f32 i64 i32)
  >     (local.get 3) (local.get 2) (local.get 1) (local.get 0))
  >   (func (export "swap") (param v128) (result v128)
  >     (i8x16.shuffle 8 9 10 11 12 13 14 15 0 1 2 3 4 5 6 7 (local.get 0) (local.get 0)))
  >   (func (export "third") (result f64) (f64.div (f64.const 1) (f64.const 3)))
  >   (func (export "nothing"))
  >   (memory (export "memory") 1)
  >   (func (export "poke") (param i32) (i32.store (i32.const 0) (local.get 0)))
  >   (func (export "funcref") (param funcref)))
  > END
  $ tensor-wasm run --invoke add m.wat 7 5
  12
  $ tensor-wasm --invoke=add m.wat -7 0x10
  9
  $ tensor-wasm run --invoke add m.wat 4294967295 1
  0
  $ tensor-wasm run --invoke all m.wat -1 0xffffffffffffffff nan:0x200001 -0
  -0
  nan:0x200001
  -1
  -1
  $ tensor-wasm run --invoke all m.wat 1 2 1.5 inf
  inf
  1.5
  2
  1
  $ tensor-wasm run --invoke swap m.wat i32x4:1,2,3,4
  i32x4:3,4,1,2
  $ tensor-wasm run --invoke swap m.wat f64x2:0,1
  i32x4:0,1072693248,0,0
  $ tensor-wasm run --invoke third m.wat
  0.3333333333333333
  $ tensor-wasm run --invoke nothing m.wat

Mistakes name the signature, the argument, or the nearest export; nothing runs:

  $ tensor-wasm run --invoke add m.wat 7
  ! tensor-wasm: add(i32, i32) -> i32 takes 2 arguments; 1 was given
  ! See 'tensor-wasm run --help'.
  [2]
  $ tensor-wasm run --invoke poke m.wat
  ! tensor-wasm: poke(i32) takes 1 argument; 0 were given
  ! See 'tensor-wasm run --help'.
  [2]
  $ tensor-wasm run --invoke add m.wat 7 five
  ! tensor-wasm: argument 2 of add: 'five' is not of type i32: give an integer of 32 bits, like 42, -7 or 0xff
  ! See 'tensor-wasm run --help'.
  [2]
  $ tensor-wasm run --invoke add m.wat 7 4294967296
  ! tensor-wasm: argument 2 of add: '4294967296' is not of type i32: give an integer of 32 bits, like 42, -7 or 0xff
  ! See 'tensor-wasm run --help'.
  [2]
  $ tensor-wasm run --invoke swap m.wat 1
  ! tensor-wasm: argument 1 of swap: '1' is not of type v128: give a vector, like i32x4:1,2,3,4 or f64x2:0.5,nan or 0x followed by 32 hex digits
  ! See 'tensor-wasm run --help'.
  [2]
  $ tensor-wasm run --invoke ad m.wat 7 5
  ! tensor-wasm: --invoke: the module exports no function 'ad'; did you mean 'add'?
  ! See 'tensor-wasm run --help'.
  [2]
  $ tensor-wasm run --invoke memory m.wat
  ! tensor-wasm: --invoke: the module exports no function 'memory'; it exports add, all, swap, third, nothing, poke, funcref
  ! See 'tensor-wasm run --help'.
  [2]
  $ echo '(module (func (export "v")))' > short.wat; tensor-wasm run --invoke m short.wat
  ! tensor-wasm: --invoke: the module exports no function 'm'; it exports v
  ! See 'tensor-wasm run --help'.
  [2]
  $ tensor-wasm run --invoke funcref m.wat null
  ! tensor-wasm: argument 1 of funcref: 'null' is not of type funcref: give a function, which can't be written on a command line
  ! See 'tensor-wasm run --help'.
  [2]
  $ echo '(module)' > empty.wat; tensor-wasm run --invoke f empty.wat
  ! tensor-wasm: --invoke: the module exports no function 'f', nor any other
  ! See 'tensor-wasm run --help'.
  [2]

A module without anything to call is instantiated; what could be called is told once, unless -q:

  $ tensor-wasm run m.wat
  ! tensor-wasm: m.wat: has no _start, so nothing is called; --invoke NAME calls one of its functions: add, all, swap, third, nothing, poke, funcref
  $ tensor-wasm run -q m.wat
  $ tensor-wasm run empty.wat
  $ echo '(module (func $f unreachable) (start $f))' > start.wat
  $ tensor-wasm run start.wat 2>&1 | grep -c unreachable
  1
  $ tensor-wasm run start.wat 2>/dev/null
  [134]

What a program or a reactor begins with has no arguments and no results; nothing is made up for them:

  $ echo '(module (func (export "_start") (param i32 i64)))' > odd.wat; tensor-wasm run odd.wat
  ! tensor-wasm: odd.wat: exports _start(i32, i64), which should take no arguments and give no results
  [1]
  $ echo '(module (func (export "_initialize") (result i32) (i32.const 1)) (func (export "f")))' > odd.wat
  $ tensor-wasm run --invoke f odd.wat
  ! tensor-wasm: odd.wat: exports _initialize() -> i32, which should take no arguments and give no results
  [1]
  $ echo '(module (func (export "_start") (param i32) (result i32) (local.get 0)))' > odd.wat
  $ tensor-wasm run --invoke _start odd.wat 5
  5

A reactor's _initialize comes first, and once; a named _initialize is not called twice:

  $ cat > reactor.wat <<'END'
  > (module (global $n (mut i32) (i32.const 0))
  >   (func (export "_initialize") (global.set $n (i32.add (global.get $n) (i32.const 40))))
  >   (func (export "get") (result i32) (global.get $n)))
  > END
  $ tensor-wasm run --invoke get reactor.wat
  40
  $ tensor-wasm run --invoke _initialize reactor.wat
  $ tensor-wasm run reactor.wat

Binary modules, and modules from a pipe:

  $ wat2wasm m.wat -o m.wasm && tensor-wasm run --invoke add m.wasm 1 2
  3
  $ tensor-wasm run --invoke add - 3 4 < m.wasm
  7
  $ cat m.wat | tensor-wasm --invoke add - 5 6
  11
  $ cp m.wasm run; tensor-wasm ./run
  ! tensor-wasm: ./run: has no _start, so nothing is called; --invoke NAME calls one of its functions: add, all, swap, third, nothing, poke, funcref
