A trap prints its kind, its place in the user's module and a backtrace, and exits with 134.

  $ cat > traps.wat <<'END'
  > (module
  >   (memory 1)
  >   (table 2 funcref)
  >   (type $none (func))
  >   (func $deep (unreachable))
  >   (func $middle (call $deep))
  >   (func (export "unreachable") (call $middle))
  >   (func (export "divide") (param i32) (result i32) (i32.div_s (i32.const 1) (local.get 0)))
  >   (func (export "overflow") (result i32) (i32.div_s (i32.const 0x80000000) (i32.const -1)))
  >   (func (export "load") (param i32) (result i32) (i32.load (local.get 0)))
  >   (func (export "null") (call_indirect (type $none) (i32.const 0)))
  >   (func (export "beyond") (call_indirect (type $none) (i32.const 9)))
  >   (func (export "nan") (param f32) (result i32) (i32.trunc_f32_s (local.get 0)))
  >   (func $again (export "recurse") (param i32) (result i32)
  >     (i32.add (i32.const 1) (call $again (i32.add (local.get 0) (i32.const 1))))))
  > END
  $ wat2wasm --debug-names traps.wat -o traps.wasm

The first line names the kind, the function and the offset. That is the offset of the instruction in the file, which
wasm-objdump tells too:

  $ tensor-wasm run --invoke unreachable traps.wasm 2>&1 >/dev/null | head -1
  tensor-wasm: .*unreachable.*deep.* (re)
  $ tensor-wasm run --invoke unreachable traps.wasm >/dev/null 2>&1
  [134]
  $ offset=$(wasm-objdump -d traps.wasm | awk '/unreachable/ && !/func/ { sub(":", "", $1); print $1; exit }' | sed 's/^0*//')
  > tensor-wasm run --invoke unreachable traps.wasm 2>&1 | grep -c "0x0*$offset"
  [1-9] (re)
  $ tensor-wasm run --invoke unreachable traps.wasm 2>&1 | grep -o 'deep\|middle' | uniq | head -2
  deep
  middle

Every kind:

  $ for call in 'divide 0' overflow 'load 65533' 'load -1' null beyond 'nan nan' 'nan 1e10' 'recurse 0'; do
  >   tensor-wasm run --invoke ${call%% *} traps.wasm ${call#"${call%% *}"} > out 2> err; echo "$call: $?"; head -1 err
  > done | sed 's/ (in|at) .*//'
  divide 0: 134
  tensor-wasm: .*divi(de|sion) by zero.* (re)
  overflow: 134
  tensor-wasm: .*integer overflow.* (re)
  load 65533: 134
  tensor-wasm: .*out of bounds.* (re)
  load -1: 134
  tensor-wasm: .*out of bounds.* (re)
  null: 134
  tensor-wasm: .*(null|uninitialized).* (re)
  beyond: 134
  tensor-wasm: .*(undefined element|out of bounds).* (re)
  nan nan: 134
  tensor-wasm: .*invalid conversion to integer.* (re)
  nan 1e10: 134
  tensor-wasm: .*integer overflow.* (re)
  recurse 0: 134
  tensor-wasm: .*stack.* (re)

What doesn't trap doesn't:

  $ tensor-wasm run --invoke load traps.wasm 65532
  0
  $ tensor-wasm run --invoke nan traps.wasm -2147483648
  -2147483648

A program in C, with names from its name section; what it wrote before comes out:

  $ tensor-wasm run $GUESTS/leave.wasm trap 2>&1 | grep -o 'inner\|outer' | uniq
  inner
  outer
  $ tensor-wasm run --offload=off $GUESTS/leave.wasm trap 2>/dev/null
  [134]
