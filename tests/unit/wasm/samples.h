/* SPDX-License-Identifier: Apache-2.0 */
#ifndef TW_TEST_SAMPLES_H
#define TW_TEST_SAMPLES_H

/* Modules that between them use every section, segment kind and form of immediate. */
static const char *const samples[] = {
    "(module)",
    "(module (func (export \"f\")))",
    "(module (memory (export \"m\") 1 10) (data (i32.const 8) \"hello\\00\\ff\"))",
    "(module (memory 1) (data \"passive\") (func (memory.init 0 (i32.const 0) (i32.const 0) (i32.const 3)) (data.drop 0)"
    " (memory.copy (i32.const 0) (i32.const 4) (i32.const 2)) (memory.fill (i32.const 0) (i32.const 4) (i32.const 2))))",
    "(module (import \"env\" \"f\" (func $f (param i32) (result i64))) (import \"env\" \"t\" (table 2 funcref))"
    " (import \"env\" \"m\" (memory 1)) (import \"env\" \"g\" (global $g i32)) (import \"env\" \"h\" (global (mut f64)))"
    " (global i32 (i32.add (global.get $g) (i32.const -70000))) (global (mut i64) (i64.const -1))"
    " (elem (i32.const 0) $f) (data (global.get $g) \"x\") (func (drop (call $f (i32.const -1)))))",
    "(module (table $a 4 funcref) (table $b 4 8 funcref) (func $f) (func $g)"
    " (elem (i32.const 0) $f $g) (elem func $f) (elem (table $b) (i32.const 1) func $g)"
    " (elem declare func $g) (elem funcref (ref.func $f) (ref.null func))"
    " (elem (table $b) (offset i32.const 0) funcref (ref.func $g))"
    " (func (result funcref) ref.func $g) (func (table.init $b 1 (i32.const 0) (i32.const 0) (i32.const 1)) (elem.drop 1)"
    "  (table.copy $a $b (i32.const 0) (i32.const 0) (i32.const 1))"
    "  (table.fill $a (i32.const 0) (table.get $b (i32.const 0)) (i32.const 2))"
    "  (table.set $a (i32.const 1) (ref.null func)) (drop (table.grow $b (ref.null func) (table.size $a)))))",
    "(module (memory 1) (func $main (param i32 i64 f32 f64) (result i32) (local i32 i32 i64 v128)"
    " block $out (result i32) loop $top (param) local.get 0 i32.const 1 i32.sub local.tee 0 br_if $top"
    "  local.get 4 local.get 5 local.get 0 br_table $out $out 2 $out end unreachable end"
    " (if (result i32) (i64.eqz (local.get 1)) (then (f32.load offset=65535 align=1 (i32.const 4)) (drop) (i32.const 2147483647))"
    "  (else (i32.const -2147483648))) i32.add"
    " (f64.const nan:0x4000000000001) drop (f32.const -0) drop (i64.const 9223372036854775807) drop (i64.const -9223372036854775808) drop"
    " (v128.store (i32.const 16) (i8x16.shuffle 0 31 2 3 4 5 6 7 8 9 10 11 12 13 14 15 (v128.const i32x4 1 2 3 4) (local.get 7)))"
    " (i32x4.extract_lane 3 (v128.load32_lane offset=4 2 (i32.const 0) (local.get 7))) i32.add"
    " (select (result i32) (i32.const 1) (i32.const 2) (i32.const 0)) i32.add)"
    " (func (param i32) (result i32 i32) local.get 0 local.get 0 (block (param i32 i32) (result i32 i32)))"
    " (start $s) (func $s) (table 1 funcref) (func (result i32) (return_call_indirect (result i32) (i32.const 0)))"
    " (func (result i32) (return_call 3)) (func (drop (memory.grow (memory.size)))"
    "  (drop (f32x4.relaxed_madd (v128.const i64x2 0 1) (v128.const f32x4 1 2 3 4) (v128.const f64x2 1 2)))))",
};
enum { SAMPLES = sizeof samples / sizeof *samples };

#endif
