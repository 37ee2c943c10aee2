/* SPDX-License-Identifier: Apache-2.0 */
#ifndef TW_TEST_EVERYTHING_H
#define TW_TEST_EVERYTHING_H

#define GLOBAL(name, type, init) "(global $" name " (mut " type ") (" type ".const " init "))"

/* Everything that an instance's state consists of, and functions that change and show it. */
static const char *const all_text =
    "(module (memory (export \"memory\") 1 40) (type $f (func (result i32)))"
    "(global $i i32 (i32.const 5))" GLOBAL("a", "i32", "1") GLOBAL("b", "i64", "2") GLOBAL("c", "f32", "3.5") GLOBAL("d", "f64", "0x1.8p-1070")
    "(global $e (mut v128) (v128.const i32x4 1 2 3 4)) (global $r (mut funcref) (ref.func $two))"
    "(table $t 4 30 funcref) (table $u 2 funcref)"
    "(elem (table $t) (i32.const 0) func $one $two $three) (elem $later func $three $one $secret) (elem declare func $hidden)"
    "(data (i32.const 100) \"hello\") (data $p \"passive\") (data $q \"other\")"
    "(func $one (result i32) (i32.const 1)) (func $two (result i32) (i32.const 2)) (func $three (result i32) (i32.const 3))"
    "(func $secret (result i32) (global.set $a (i32.add (global.get $a) (i32.const 7))) (global.get $a))"
    "(func $hidden (result i32) (i32.const 99))"
    "(func (export \"globals\") (result i32 i64 f32 f64) (global.get $a) (global.get $b) (global.get $c) (global.get $d))"
    "(func (export \"vector\") (result v128) (global.get $e))"
    "(func (export \"change\") (param i32) (global.set $a (i32.mul (global.get $a) (i32.const 3)))"
    " (global.set $b (i64.add (global.get $b) (i64.extend_i32_s (local.get 0)))) (global.set $c (f32.sqrt (f32.add (global.get $c) (f32.convert_i32_s (local.get 0)))))"
    " (global.set $d (f64.mul (global.get $d) (f64.const 1.5))) (global.set $e (i32x4.add (global.get $e) (i32x4.splat (local.get 0)))))"
    "(func (export \"store\") (param i32) (i32.store (i32.mul (local.get 0) (i32.const 900)) (i32.add (local.get 0) (global.get $a))))"
    "(func (export \"grow\") (param i32) (result i32) (memory.grow (i32.and (local.get 0) (i32.const 3))))"
    "(func (export \"size\") (result i32) (memory.size))"
    "(func (export \"far\") (param i32) (i32.store8 (i32.mul (local.get 0) (i32.const 40000)) (local.get 0)))"
    "(func (export \"table_grow\") (param i32) (result i32) (table.grow $t (ref.func $hidden) (i32.and (local.get 0) (i32.const 1))))"
    "(func (export \"table_set\") (param i32) (table.set $t (local.get 0) (table.get $t (i32.and (local.get 0) (i32.const 3)))))"
    "(func (export \"table_null\") (param i32) (table.set $u (i32.and (local.get 0) (i32.const 1)) (ref.null func)))"
    "(func (export \"table_init\") (param i32) (table.init $t $later (local.get 0) (i32.const 0) (i32.const 3)))"
    "(func (export \"table_keep\") (param i32) (table.set $u (i32.const 1) (table.get $t (local.get 0))))"
    "(func (export \"call_t\") (param i32) (result i32) (call_indirect $t (type $f) (local.get 0)))"
    "(func (export \"call_u\") (param i32) (result i32) (call_indirect $u (type $f) (i32.and (local.get 0) (i32.const 1))))"
    "(func (export \"ref\") (param i32) (global.set $r (table.get $t (i32.and (local.get 0) (i32.const 3)))))"
    "(func (export \"call_r\") (result i32) (table.set $u (i32.const 0) (global.get $r)) (call_indirect $u (type $f) (i32.const 0)))"
    "(func (export \"init\") (param i32) (memory.init $p (local.get 0) (i32.const 1) (i32.const 4)))"
    "(func (export \"init_q\") (param i32) (memory.init $q (local.get 0) (i32.const 1) (i32.const 2)))"
    "(func (export \"drop_p\") (data.drop $p)) (func (export \"drop_later\") (elem.drop $later)))";
static const char *const all_names[] = {
    "globals", "vector", "change", "store", "grow", "size", "far", "table_grow", "table_set", "table_null", "table_init",
    "table_keep", "call_t", "call_u", "ref", "call_r", "init", "init_q", "drop_p", "drop_later"};
enum { ALL = sizeof all_names / sizeof *all_names };

#endif
