/* SPDX-License-Identifier: Apache-2.0 */
#ifndef TW_TEST_RANDOM_STATE_H
#define TW_TEST_RANDOM_STATE_H

/* Random modules in text form that have and change everything an instance's state consists of: memory of any size with active and
 * passive data, tables and elements, globals of every type, a start function, imports of the host's and of WASI's. Memory, the first
 * table, and two globals, "place" (immutable: STATE_PLACE) and "shared" (an i32, mutable), may be imports from "h". Exports:
 *
 *   op0 … (param i32) → i32     a few random statements; they may trap, and a few of them drop segments or grow a table
 *   globals, vector, refs       → what the globals hold
 *   t0 … (param i32) → i32      what a table's slot holds: -1 for null, else what the function there gives
 *   size, size_t0 …             → of memory and tables
 *   memory                      when there is one
 *
 * The same seed gives the same text. What a call does depends on the state, its argument and the files of its folder only. */

#include <stdbool.h>
#include <stdint.h>
#include <string.h>

#include "base/bytes.h"

enum { STATE_OPS = 10, STATE_LEAVES = 6, STATE_TABLES = 3, STATE_SEGMENTS = 6, STATE_PLACE = 24 };

typedef struct random_state {
    tw_bytes out;
    uint64_t seed;
    uint32_t pages, max_pages;   /* pages 0 and has_memory: begins empty */
    bool has_memory, has_wasi, has_host, has_start, has_loops, no_max;
    bool lends_memory, lends_table, has_place, has_shared; /* imported */
    uint32_t tables, table_size[STATE_TABLES], table_max[STATE_TABLES];
    uint32_t passive_data, passive_elems;
    uint32_t spoilers; /* one statement in so many drops a segment or grows a table; 0 = none */
} random_state;

static inline uint32_t state_pick(random_state *g, uint32_t n)
{
    g->seed ^= g->seed << 13;
    g->seed ^= g->seed >> 7;
    g->seed ^= g->seed << 17;
    return (uint32_t)(g->seed >> 11) % n;
}

#define SAY(...) tw_bytes_printf(&g->out, __VA_ARGS__)

/* An i32 that depends on the argument. */
static inline void state_index(random_state *g, uint32_t below)
{
    switch (state_pick(g, 3)) {
    case 0: SAY("(i32.const %u)", state_pick(g, below)); return;
    case 1: SAY("(i32.rem_u (local.get 0) (i32.const %u))", below); return;
    default: SAY("(i32.rem_u (i32.add (local.get 0) (global.get $i0)) (i32.const %u))", below + (state_pick(g, 40) == 0)); return; /* perhaps one too far */
    }
}

static inline void state_address(random_state *g)
{
    uint32_t bytes = g->pages ? g->pages * 65536 : 65536;
    switch (state_pick(g, 5)) {
    case 0: SAY("(i32.const %u)", state_pick(g, bytes)); return;
    case 1: SAY("(i32.rem_u (i32.mul (local.get 0) (i32.const %u)) (i32.const %u))", state_pick(g, 100000) * 2 + 1, bytes - 16); return;
    case 2: SAY("(i32.sub (i32.shl (memory.size) (i32.const 16)) (i32.const %u))", 16 + state_pick(g, 40)); return; /* the last bytes */
    case 3: SAY("(i32.and (global.get $i1) (i32.const %u))", 0xFFFF); return;
    default: SAY("(i32.mul (local.get 0) (i32.const %u))", state_pick(g, state_pick(g, 10) ? 1500 : 3000)); return;
    }
}

static inline void state_number(random_state *g)
{
    static const char *const numbers[] = {
        "(global.set $i0 (i32.add (i32.mul (global.get $i0) (i32.const 17)) (local.get 0)))",
        "(global.set $i1 (i32.xor (global.get $i1) (i32.shl (local.get 0) (i32.and (global.get $i0) (i32.const 31)))))",
        "(global.set $l (i64.add (i64.mul (global.get $l) (i64.const 6364136223846793005)) (i64.extend_i32_s (local.get 0))))",
        "(global.set $f (f32.add (f32.mul (global.get $f) (f32.const 0.75)) (f32.convert_i32_s (local.get 0))))",
        "(global.set $d (f64.sub (f64.sqrt (f64.abs (global.get $d))) (f64.convert_i32_s (local.get 0))))",
        "(global.set $v (i32x4.add (i8x16.swizzle (global.get $v) (v128.const i8x16 1 2 3 4 5 6 7 8 9 10 11 12 13 14 15 0)) (i32x4.splat (local.get 0))))",
    };
    SAY(" %s", numbers[state_pick(g, 6)]);
}

static inline void state_reference(random_state *g)
{
    switch (state_pick(g, 3)) {
    case 0: SAY("(ref.func $leaf%u)", state_pick(g, STATE_LEAVES)); return;
    case 1: SAY("(ref.null func)"); return;
    default:
        if (!g->tables) SAY("(global.get $r)");
        else {
            uint32_t t = state_pick(g, g->tables);
            SAY("(table.get $t%u ", t);
            state_index(g, g->table_size[t] ? g->table_size[t] : 1);
            SAY(")");
        }
    }
}

static inline void state_memory(random_state *g)
{
    static const char *const stores[] = {"i32.store8", "i32.store16", "i32.store", "i64.store", "f32.store", "f64.store", "v128.store"};
    static const char *const values[] = {"(local.get 0)", "(global.get $i0)", "(global.get $i1)", "(global.get $l)", "(global.get $f)", "(global.get $d)", "(global.get $v)"};
    uint32_t what = state_pick(g, 10), store = state_pick(g, 7), small = 1 + state_pick(g, 40);
    SAY(" ");
    switch (what) {
    case 0: SAY("(memory.fill "); state_address(g); SAY("(local.get 0) (i32.const %u))", state_pick(g, 6) ? 16 : small * 400); return;
    case 1: SAY("(memory.copy "); state_address(g); state_address(g); SAY("(i32.const %u))", state_pick(g, 6) ? small % 16 : small * 400); return;
    case 2: SAY("(global.set $i0 (memory.grow (i32.and (local.get 0) (i32.const 3))))"); return;
    case 3: SAY("(global.set $i1 (i32.load (i32.and "); state_address(g); SAY("(i32.const 0xFFF8))))"); return;
    case 4:
        if (!g->passive_data) return;
        SAY("(memory.init $passive%u ", state_pick(g, g->passive_data)); state_address(g); SAY("(i32.const 1) (i32.and (local.get 0) (i32.const 3)))");
        return;
    default: SAY("(%s ", stores[store]); state_address(g); SAY("%s)", values[store]); return;
    }
}

static inline void state_table(random_state *g)
{
    uint32_t t = state_pick(g, g->tables), u = state_pick(g, g->tables), size = g->table_size[t] ? g->table_size[t] : 1;
    SAY(" ");
    switch (state_pick(g, 6)) {
    case 0: SAY("(table.set $t%u ", t); state_index(g, size); state_reference(g); SAY(")"); return;
    case 1: SAY("(table.fill $t%u ", t); state_index(g, size); state_reference(g); SAY("(i32.const 1))"); return;
    case 2: SAY("(table.copy $t%u $t%u ", t, u); state_index(g, size); SAY("(i32.const 0) (i32.const 1))"); return;
    case 3:
        if (!g->passive_elems) return;
        SAY("(table.init $t%u $elem%u ", t, state_pick(g, g->passive_elems)); state_index(g, size); SAY("(i32.const 0) (i32.const 1))");
        return;
    case 4: SAY("(global.set $r "); state_reference(g); SAY(")"); return;
    default: SAY("(global.set $i0 (call_indirect $t%u (type $leaf) ", t); state_index(g, size); SAY("))"); return;
    }
}

/* Regions: with offload they become kernels. */
static inline void state_loop(random_state *g)
{
    uint32_t bytes = g->pages * 65536, n = 600 + state_pick(g, 6000), at = state_pick(g, bytes / 2) & ~7u;
    if (state_pick(g, 2))
        SAY(" (local.set 1 (i32.const 0)) (loop $l (i32.store offset=%u (i32.shl (local.get 1) (i32.const 2)) (i32.mul (local.get 1) (local.get 0)))"
            " (br_if $l (i32.lt_u (local.tee 1 (i32.add (local.get 1) (i32.const 1))) (i32.const %u))))", at, n);
    else
        SAY(" (local.set 1 (i32.const 0)) (loop $l (f32.store offset=%u (i32.shl (local.get 1) (i32.const 2))"
            " (f32.add (f32.load offset=%u (i32.shl (local.get 1) (i32.const 2))) (f32.mul (global.get $f) (f32.convert_i32_s (local.get 1)))))"
            " (br_if $l (i32.lt_u (local.tee 1 (i32.add (local.get 1) (i32.const 1))) (i32.const %u))))", at, at, n);
}

/* Descriptors are small numbers: any of those that are open, or none. The first 8 bytes of the area are a name, then a list of one
 * buffer, then the answer's place. */
static inline void state_wasi(random_state *g)
{
    static const char *const calls[] = {
        "(call $path_open (i32.const 3) (i32.const 0) (i32.const 60000) (i32.const 1) (i32.and (local.get 0) (i32.const 13)) (i64.const 0x1FFFFFFF) (i64.const 0x1FFFFFFF) (i32.and (global.get $i0) (i32.const 1)) (i32.const 60024))",
        "(call $fd_write (i32.rem_u (local.get 0) (i32.const 7)) (i32.const 60008) (i32.const 1) (i32.const 60024))",
        "(call $fd_read (i32.rem_u (local.get 0) (i32.const 7)) (i32.const 60008) (i32.const 1) (i32.const 60024))",
        "(call $fd_seek (i32.rem_u (local.get 0) (i32.const 7)) (i64.extend_i32_u (local.get 0)) (i32.const 0) (i32.const 60032))",
        "(call $fd_tell (i32.rem_u (local.get 0) (i32.const 7)) (i32.const 60032))",
        "(call $fd_close (i32.rem_u (local.get 0) (i32.const 9)))",
        "(call $fd_renumber (i32.rem_u (local.get 0) (i32.const 7)) (i32.rem_u (global.get $i0) (i32.const 7)))",
        "(call $path_rename (i32.const 3) (i32.const 60000) (i32.const 1) (i32.const 3) (i32.const 60001) (i32.const 1))",
        "(call $path_unlink_file (i32.const 3) (i32.const 60000) (i32.const 1))",
        "(call $path_create_directory (i32.const 3) (i32.const 60002) (i32.const 1))",
        "(call $fd_prestat_dir_name (i32.const 3) (i32.const 60040) (i32.const 1))",
        "(call $fd_fdstat_set_flags (i32.rem_u (local.get 0) (i32.const 7)) (i32.const 1))",
        "(call $environ_get (i32.const 60100) (i32.const 60200))",
        "(call $args_get (i32.const 60300) (i32.const 60400))",
        "(call $fd_filestat_set_size (i32.rem_u (local.get 0) (i32.const 7)) (i64.const 5))",
    };
    SAY(" (i64.store (i32.const 60000) (i64.const 0x%x)) (i64.store (i32.const 60008) (i64.const 0x%x0000EA00)) (global.set $i0 %s)",
        0x646261 + state_pick(g, 2), 1 + state_pick(g, 9), calls[state_pick(g, sizeof calls / sizeof *calls)]);
}

static inline void state_spoil(random_state *g)
{
    uint32_t what = state_pick(g, 3);
    if (what == 0 && g->passive_data) SAY(" (data.drop $passive%u)", state_pick(g, g->passive_data));
    else if (what == 1 && g->passive_elems) SAY(" (elem.drop $elem%u)", state_pick(g, g->passive_elems));
    else if (g->tables) SAY(" (global.set $i0 (table.grow $t%u (ref.func $leaf0) (i32.and (local.get 0) (i32.const 1))))", state_pick(g, g->tables));
}

static inline void state_statement(random_state *g)
{
    uint32_t kind = state_pick(g, 12);
    if (g->spoilers && state_pick(g, g->spoilers) == 0) state_spoil(g);
    else if (kind < 3) state_number(g);
    else if (kind < 5 && g->tables) state_table(g);
    else if (kind < 7 && g->has_wasi) state_wasi(g);
    else if (kind == 7 && g->has_loops && g->pages) state_loop(g);
    else if (kind == 8 && g->has_host) SAY(" (global.set $i1 (call $poke (local.get 0)))");
    else if (kind == 9 && state_pick(g, 8) == 0) SAY(" (if (i32.eq (local.get 0) (i32.const %u)) (then unreachable))", state_pick(g, 32));
    else if (g->has_memory) state_memory(g);
    else state_number(g);
}

static inline void state_imports(random_state *g)
{
    static const struct { const char *name, *params; } wasi[] = {
        {"path_open", "i32 i32 i32 i32 i32 i64 i64 i32 i32"}, {"fd_write", "i32 i32 i32 i32"}, {"fd_read", "i32 i32 i32 i32"},
        {"fd_seek", "i32 i64 i32 i32"}, {"fd_tell", "i32 i32"}, {"fd_close", "i32"}, {"fd_renumber", "i32 i32"},
        {"path_rename", "i32 i32 i32 i32 i32 i32"}, {"path_unlink_file", "i32 i32 i32"}, {"path_create_directory", "i32 i32 i32"},
        {"fd_prestat_dir_name", "i32 i32 i32"}, {"fd_fdstat_set_flags", "i32 i32"}, {"environ_get", "i32 i32"}, {"args_get", "i32 i32"},
        {"fd_filestat_set_size", "i32 i64"}};
    for (size_t i = 0; g->has_wasi && i < sizeof wasi / sizeof *wasi; i++)
        SAY("(import \"wasi_snapshot_preview1\" \"%s\" (func $%s (param %s) (result i32)))\n", wasi[i].name, wasi[i].name, wasi[i].params);
    if (g->has_place) SAY("(import \"h\" \"place\" (global $place i32))\n");
    if (g->has_host) SAY("(import \"h\" \"poke\" (func $poke (param i32) (result i32)))\n");
    if (g->lends_table) SAY("(import \"h\" \"t\" (table $t0 %u %u funcref))\n", g->table_size[0], g->table_max[0]);
    if (g->has_shared) SAY("(import \"h\" \"shared\" (global $i1 (mut i32)))\n");
}

/* Where a segment lies. */
static inline void state_place(random_state *g, uint32_t at)
{
    if (!g->has_place || state_pick(g, 2)) SAY("(i32.const %u)", at);
    else if (state_pick(g, 2)) SAY("(i32.add (global.get $place) (i32.const %d))", (int)at - STATE_PLACE);
    else SAY("(i32.sub (i32.const %u) (i32.mul (global.get $place) (i32.const 3)))", at + 3 * STATE_PLACE);
}

static inline void state_data(random_state *g)
{
    uint32_t bytes = g->pages * 65536;
    for (uint32_t i = 0; i < STATE_SEGMENTS; i++) {
        bool passive = state_pick(g, 3) == 0;
        uint32_t length = passive ? 4 + state_pick(g, 20) : state_pick(g, state_pick(g, 8) ? 60 : 30000);
        if (!passive && length > bytes) continue;
        if (passive) SAY("(data $passive%u \"", g->passive_data++);
        else {
            SAY("(data ");
            state_place(g, length == bytes ? 0 : state_pick(g, bytes - length + 1));
            SAY(" \"");
        }
        for (uint32_t j = 0; j < length; j++) SAY("%c", 'a' + state_pick(g, 26));
        SAY("\")\n");
    }
}

static inline void state_tables(random_state *g)
{
    for (uint32_t t = g->lends_table; t < g->tables; t++) SAY("(table $t%u %u %u funcref)\n", t, g->table_size[t], g->table_max[t]);
    for (uint32_t t = 0; t < g->tables; t++) {
        uint32_t count = g->table_size[t] ? state_pick(g, g->table_size[t] + 1) : 0;
        SAY("(elem (table $t%u) ", t);
        state_place(g, count ? state_pick(g, g->table_size[t] - count + 1) : 0);
        SAY(" func");
        for (uint32_t i = 0; i < count; i++) SAY(" $leaf%u", state_pick(g, STATE_LEAVES));
        SAY(")\n");
    }
    for (uint32_t i = 0; g->tables && i < 2; i++, g->passive_elems++)
        SAY("(elem $elem%u func $leaf%u $leaf%u)\n", i, state_pick(g, STATE_LEAVES), state_pick(g, STATE_LEAVES));
    SAY("(elem declare func");
    for (uint32_t i = 0; i < STATE_LEAVES; i++) SAY(" $leaf%u", i);
    SAY(")\n");
}

static inline void state_seers(random_state *g)
{
    SAY("(func (export \"globals\") (result i32 i64 f32 f64) (i32.add (i32.mul (global.get $i0) (i32.const 31)) (global.get $i1)) (global.get $l) (global.get $f) (global.get $d))\n"
        "(func (export \"vector\") (result v128 i32) (global.get $v) (ref.is_null (global.get $r)))\n");
    if (g->has_memory) SAY("(func (export \"size\") (result i32) (memory.size))\n");
    for (uint32_t t = 0; t < g->tables; t++)
        SAY("(func (export \"size_t%u\") (result i32) (table.size $t%u))\n"
            "(func (export \"t%u\") (param i32) (result i32) (if (result i32) (ref.is_null (table.get $t%u (local.get 0)))"
            " (then (i32.const -1)) (else (call_indirect $t%u (type $leaf) (local.get 0)))))\n", t, t, t, t, t);
}

static inline void state_shape(random_state *g)
{
    static const uint32_t sizes[] = {0, 1, 1, 1, 2, 3, 6, 17, 80};
    g->has_memory = state_pick(g, 12) != 0;
    g->pages = g->has_memory ? sizes[state_pick(g, 9)] : 0;
    g->max_pages = g->pages + state_pick(g, 12);
    g->no_max = state_pick(g, 4) == 0;
    g->has_wasi = g->pages && state_pick(g, 3) == 0;
    g->has_host = state_pick(g, 3) == 0;
    g->has_start = state_pick(g, 2) == 0;
    g->has_loops = state_pick(g, 2) == 0;
    g->tables = state_pick(g, STATE_TABLES + 1);
    for (uint32_t t = 0; t < g->tables; t++) g->table_size[t] = state_pick(g, 10) ? 1 + state_pick(g, 7) : 0, g->table_max[t] = g->table_size[t] + state_pick(g, 5);
    g->spoilers = state_pick(g, 4) ? 0 : 20;
    g->lends_memory = g->has_memory && state_pick(g, 4) == 0;
    g->lends_table = g->tables && state_pick(g, 4) == 0;
    g->has_place = state_pick(g, 3) == 0;
    g->has_shared = state_pick(g, 4) == 0;
}

static inline void state_generate(random_state *g)
{
    state_shape(g);
    SAY("(module\n(type $leaf (func (result i32)))\n");
    state_imports(g);
    const char *lent = g->lends_memory ? " (import \"h\" \"m\")" : "";
    if (g->has_memory && g->no_max) SAY("(memory (export \"memory\")%s %u)\n", lent, g->pages);
    else if (g->has_memory) SAY("(memory (export \"memory\")%s %u %u)\n", lent, g->pages, g->max_pages);
    if (!g->has_shared) SAY("(global $i1 (mut i32) (i32.const -5))");
    SAY("(global $k i32 (%s)) (global $i0 (mut i32) (i32.const %u)) (global $l (mut i64) (i64.const %u))\n"
        "(global $f (mut f32) (f32.const 1.25)) (global $d (mut f64) (f64.const -0x1.8p-1040)) (global $v (mut v128) (v128.const i32x4 1 %u 3 4))\n"
        "(global $r (mut funcref) (ref.func $leaf%u))\n", g->has_place ? "global.get $place" : "i32.const 77", state_pick(g, 1000), state_pick(g, 1000),
        state_pick(g, 1000), state_pick(g, STATE_LEAVES));
    if (g->has_memory) state_data(g);
    state_tables(g);
    for (uint32_t i = 0; i < STATE_LEAVES; i++) {
        if (i % 3) SAY("(func $leaf%u (type $leaf) (i32.const %u))\n", i, 100 + i);
        else SAY("(func $leaf%u (type $leaf) (global.set $i1 (i32.add (global.get $i1) (i32.const %u))) (global.get $i1))\n", i, i + 1);
    }
    for (uint32_t i = 0; i < STATE_OPS; i++) {
        SAY("(func (export \"op%u\") (param i32) (result i32) (local i32)", i);
        for (uint32_t n = 1 + state_pick(g, 4); n; n--) state_statement(g);
        SAY(" (i32.xor (global.get $i0) (global.get $i1)))\n");
    }
    state_seers(g);
    if (g->has_start) {
        uint32_t spoilers = g->spoilers;
        g->spoilers = 0;
        SAY("(func $begin (param i32) (local i32)");
        for (uint32_t n = 1 + state_pick(g, 3); n; n--) state_statement(g);
        SAY(") (func $start (call $begin (i32.const %u))) (start $start)\n", state_pick(g, 32));
        g->spoilers = spoilers;
    }
    SAY(")\n");
}

#undef SAY

#endif
