/* SPDX-License-Identifier: Apache-2.0 */
#ifndef TW_TEST_RANDOM_WAT_H
#define TW_TEST_RANDOM_WAT_H

/* Random modules in text form: FUNCS functions of one type that call earlier ones, with blocks, loops and ifs that have parameters and
 * results, branches to every label, br_table state machines, dead code, memory, globals, indirect and tail calls. Loops
 * are bounded by a global's fuel. Exports r0, m0, r1, m1, …: a call, and a digest of memory after it. NaNs never show their bits. */

#include <stdbool.h>
#include <stdint.h>
#include <string.h>

#include "base/bytes.h"

enum { FUNCS = 5, CALLS = 4 };
static const char *const type_names[] = {"i32", "i64", "f32", "f64"};

typedef struct label {
    int types[3], count;
    bool closed; /* random branches keep off: it spends no fuel */
} label;

typedef struct generator {
    tw_bytes out;
    uint64_t state;
    label labels[64];
    int label_count, func, budget;
    int results[2], result_count;
} generator;

static uint32_t pick(generator *g, uint32_t n)
{
    g->state ^= g->state << 13;
    g->state ^= g->state >> 7;
    g->state ^= g->state << 17;
    return (uint32_t)(g->state >> 11) % n;
}

#define EMIT(...) tw_bytes_printf(&g->out, __VA_ARGS__)

static void statements(generator *g, int count, int depth);

static void constant(generator *g, int type)
{
    static const char *const ints[] = {"0", "1", "2", "-1", "7", "31", "-8", "255", "65535", "2147483647", "-2147483648", "12345"};
    static const char *const floats[] = {"0", "-0", "1", "-1.5", "0.1", "1e10", "-3e9", "nan", "inf", "-inf", "4294967296", "0x1p-140"};
    EMIT("%s.const %s ", type_names[type], type < 2 ? ints[pick(g, 12)] : floats[pick(g, 12)]);
}

static void expression(generator *g, int type, int depth);

static void address(generator *g, int depth)
{
    expression(g, 0, depth);
    if (pick(g, 20)) EMIT("i32.const 4095 i32.and ");
}

static void unary(generator *g, int type, int depth)
{
    static const char *const ops[4][7] = {
        {"i32.eqz", "i32.clz", "i32.ctz", "i32.popcnt", "i32.extend8_s", "i32.extend16_s", "i32.eqz"},
        {"i64.clz", "i64.ctz", "i64.popcnt", "i64.extend8_s", "i64.extend16_s", "i64.extend32_s", "i64.clz"},
        {"f32.abs", "f32.neg", "f32.ceil", "f32.floor", "f32.trunc", "f32.nearest", "f32.sqrt"},
        {"f64.abs", "f64.neg", "f64.ceil", "f64.floor", "f64.trunc", "f64.nearest", "f64.sqrt"}};
    expression(g, type, depth);
    EMIT("%s ", ops[type][pick(g, 7)]);
}

static void binary(generator *g, int type, int depth)
{
    static const char *const ints[] = {"add", "sub", "mul", "and", "or", "xor", "shl", "shr_s", "shr_u", "rotl", "rotr", "add",
                                       "div_s", "div_u", "rem_s", "rem_u"};
    static const char *const floats[] = {"add", "sub", "mul", "div", "min", "max", "copysign"};
    expression(g, type, depth);
    if (type < 2 && pick(g, 3) == 0) constant(g, type);
    else expression(g, type, depth);
    int op = (int)pick(g, 7);
    /* a NaN's sign is open in wasm and only copysign would show it */
    if (type >= 2 && op == 6) EMIT("call $c%s ", type_names[type] + 1);
    EMIT("%s.%s ", type_names[type], type < 2 ? ints[pick(g, pick(g, 4) ? 12 : 16)] : floats[op]);
}

static void comparison(generator *g, int depth)
{
    static const char *const ints[] = {"eq", "ne", "lt_s", "lt_u", "gt_s", "gt_u", "le_s", "le_u", "ge_s", "ge_u"};
    static const char *const floats[] = {"eq", "ne", "lt", "gt", "le", "ge"};
    int type = (int)pick(g, 4);
    expression(g, type, depth);
    expression(g, type, depth);
    EMIT("%s.%s ", type_names[type], type < 2 ? ints[pick(g, 10)] : floats[pick(g, 6)]);
}

static void conversion(generator *g, int type, int depth)
{
    static const char *const ops[4][6] = {
        {"1i32.wrap_i64", "2i32.trunc_sat_f32_s", "3i32.trunc_sat_f64_u", "3i32.trunc_f64_s", "2i32.trunc_f32_u", "1i64.eqz"},
        {"0i64.extend_i32_s", "0i64.extend_i32_u", "2i64.trunc_sat_f32_u", "3i64.trunc_sat_f64_s", "3i64.trunc_f64_u", "0i64.extend_i32_s"},
        {"0f32.convert_i32_s", "0f32.convert_i32_u", "1f32.convert_i64_s", "1f32.convert_i64_u", "3f32.demote_f64", "0f32.reinterpret_i32"},
        {"0f64.convert_i32_s", "0f64.convert_i32_u", "1f64.convert_i64_s", "1f64.convert_i64_u", "2f64.promote_f32", "1f64.reinterpret_i64"}};
    const char *op = ops[type][pick(g, 6)];
    expression(g, op[0] - '0', depth);
    EMIT("%s ", op + 1);
}

static void load(generator *g, int type, int depth)
{
    static const char *const ops[4][6] = {
        {"i32.load", "i32.load8_s", "i32.load8_u", "i32.load16_s", "i32.load16_u", "i32.load"},
        {"i64.load", "i64.load8_s", "i64.load16_u", "i64.load32_s", "i64.load32_u", "i64.load8_u"},
        {"f32.load", "f32.load", "f32.load", "f32.load", "f32.load", "f32.load"},
        {"f64.load", "f64.load", "f64.load", "f64.load", "f64.load", "f64.load"}};
    address(g, depth);
    EMIT("%s offset=%u ", ops[type][pick(g, 6)], pick(g, 9));
}

/* Parameters are locals 0-3, one of each type; two more of each follow. */
static void local(generator *g, int type, const char *what)
{
    int which = (int)pick(g, 3);
    EMIT("local.%s %d ", what, which ? 3 + 2 * type + which : type);
}

static void push_label(generator *g, const int *types, int count)
{
    label *l = &g->labels[g->label_count++];
    l->count = count;
    l->closed = false;
    for (int i = 0; i < count; i++) l->types[i] = types[i];
}

/* Loops end: each header spends fuel. */
static void spend_fuel(generator *g)
{
    EMIT("global.get $fuel i32.const 1 i32.sub global.set $fuel global.get $fuel i32.const 0 i32.lt_s if unreachable end ");
}

/* block, loop or if with parameters and results; the operands are emitted here, the parameters go to locals. */
static void construct(generator *g, const int *results, int result_count, int depth)
{
    int params[2], param_count = (int)pick(g, 3), kind = (int)pick(g, 3);
    for (int i = 0; i < param_count; i++) expression(g, params[i] = (int)pick(g, 4), depth);
    if (kind == 2) expression(g, 0, depth);
    static const char *const names[] = {"block", "loop", "if"};
    EMIT("\n%s ", names[kind]);
    for (int i = 0; i < param_count; i++) EMIT("(param %s) ", type_names[params[i]]);
    for (int i = 0; i < result_count; i++) EMIT("(result %s) ", type_names[results[i]]);
    if (kind == 1) push_label(g, params, param_count);
    else push_label(g, results, result_count);
    for (int arm = 0; arm < (kind == 2 ? 2 : 1); arm++) {
        if (arm) EMIT("\nelse ");
        for (int i = param_count; i-- > 0;) local(g, params[i], "set");
        if (kind == 1) spend_fuel(g);
        statements(g, 1 + (int)pick(g, 3), depth - 1);
        for (int i = 0; i < result_count; i++) expression(g, results[i], depth - 1);
    }
    g->label_count--;
    EMIT("end\n");
}

static void arguments(generator *g)
{
    for (int i = 0; i < 2; i++) constant(g, i);
    expression(g, 2, 1);
    expression(g, 3, 1);
}

static void call(generator *g, int callee, bool indirect)
{
    arguments(g);
    if (indirect) EMIT("i32.const %d call_indirect (type $t) ", callee);
    else EMIT("call $f%d ", callee);
}

/* A function's results are (i32, f64); the one not wanted is dropped or stored. */
static void call_expression(generator *g, int type)
{
    call(g, (int)pick(g, (uint32_t)g->func), pick(g, 3) == 0);
    if (type == 3) EMIT("local.set 10 local.set 4 local.get 10 ");
    else EMIT("local.set 10 ");
}

static void expression(generator *g, int type, int depth)
{
    if (--g->budget < 0) depth = 0;
    switch (depth <= 0 ? pick(g, 2) : pick(g, 12)) {
    case 0: constant(g, type); return;
    case 1: local(g, type, "get"); return;
    case 2: unary(g, type, depth - 1); return;
    case 3: case 4: binary(g, type, depth - 1); return;
    case 5: conversion(g, type, depth - 1); return;
    case 6: load(g, type, depth - 1); return;
    case 7: construct(g, &type, 1, depth - 1); return;
    case 8:
        expression(g, type, depth - 1);
        expression(g, type, depth - 1);
        expression(g, 0, depth - 1);
        EMIT("select ");
        return;
    case 9:
        if (g->func && (type == 0 || type == 3) && g->label_count < 4) call_expression(g, type);
        else expression(g, type, depth - 1);
        return;
    case 10:
        expression(g, type, depth - 1);
        local(g, type, "tee");
        return;
    default:
        if (type == 0) comparison(g, depth - 1);
        else binary(g, type, depth - 1);
    }
}

static void store(generator *g, int depth)
{
    static const char *const ops[4][4] = {{"i32.store", "i32.store8", "i32.store16", "i32.store"},
                                          {"i64.store", "i64.store8", "i64.store16", "i64.store32"},
                                          {"call $c32 f32.store", "call $c32 f32.store", "call $c32 f32.store", "call $c32 f32.store"},
                                          {"call $c64 f64.store", "call $c64 f64.store", "call $c64 f64.store", "call $c64 f64.store"}};
    int type = (int)pick(g, 4);
    address(g, depth);
    expression(g, type, depth);
    EMIT("%s offset=%u ", ops[type][pick(g, 4)], pick(g, 20));
}

static void branch(generator *g, int depth)
{
    int distance = (int)pick(g, (uint32_t)g->label_count), kind = (int)pick(g, 6);
    while (g->labels[g->label_count - 1 - distance].closed) distance++; /* the outermost never is */
    const label *target = &g->labels[g->label_count - 1 - distance];
    for (int i = 0; i < target->count; i++) expression(g, target->types[i], depth);
    if (kind <= 2) {
        expression(g, 0, depth);
        EMIT("br_if %d ", distance);
        for (int i = 0; i < target->count; i++) EMIT("drop ");
    } else if (kind == 3) EMIT("br %d ", distance);
    else {
        expression(g, 0, depth);
        EMIT("br_table ");
        for (int i = 0; i < g->label_count; i++) {
            const label *l = &g->labels[g->label_count - 1 - i];
            bool same = l->count == target->count && !memcmp(l->types, target->types, (size_t)l->count * sizeof *l->types);
            if (same && !l->closed && pick(g, 4)) EMIT("%d ", i);
        }
        EMIT("%d ", distance);
    }
}

/* The next state of a machine: mostly a constant, which jump threading can follow. */
static void next_state(generator *g)
{
    if (pick(g, 5)) EMIT("i32.const %u local.set 12 ", pick(g, 5));
    else {
        expression(g, 0, 1);
        EMIT("i32.const 3 i32.and local.set 12 ");
    }
}

/* Code behind a br_table on a local, the way Go's compiler writes every function. */
static void state_machine(generator *g, int depth)
{
    enum { STATES = 3 };
    next_state(g);
    EMIT("\nblock loop ");
    push_label(g, NULL, 0);
    push_label(g, NULL, 0);
    g->labels[g->label_count - 1].closed = true;
    for (int i = 0; i < STATES; i++) {
        EMIT("block ");
        push_label(g, NULL, 0);
    }
    EMIT("local.get 12 br_table 0 1 2 4 ");
    for (int i = 0; i < STATES; i++) {
        EMIT("end ");
        g->label_count--;
        statements(g, 1 + (int)pick(g, 2), depth - 1);
        next_state(g);
        spend_fuel(g);
        if (pick(g, 3) == 0) EMIT("local.get %u br_if %d ", pick(g, 2) * 4, STATES - i); /* out */
        EMIT("br %d ", STATES - 1 - i);
    }
    EMIT("end end\n");
    g->label_count -= 2;
}

static void statement(generator *g, int depth)
{
    int results[2] = {(int)pick(g, 4), (int)pick(g, 4)}, count = (int)pick(g, 3), type = (int)pick(g, 4);
    switch (depth <= 0 ? pick(g, 2) : pick(g, 12)) {
    case 10: state_machine(g, depth - 1); return;
    case 0: case 2: case 3:
        expression(g, type, depth);
        local(g, type, "set");
        return;
    case 1: store(g, depth); return;
    case 4: case 5: case 6:
        construct(g, results, count, depth - 1);
        for (int i = count; i-- > 0;) local(g, results[i], "set");
        return;
    case 7: branch(g, depth - 1); return;
    case 8:
        expression(g, 1, depth);
        EMIT("global.set $g global.get $g local.set 6 ");
        return;
    case 9:
        address(g, 1);
        expression(g, 0, 1);
        EMIT("i32.const %u memory.%s ", pick(g, 40), pick(g, 2) ? "fill" : "copy");
        return;
    default:
        if (pick(g, 4)) {
            expression(g, type, depth);
            EMIT("drop ");
        } else if (pick(g, 3)) {
            expression(g, 0, depth);
            expression(g, 3, depth);
            EMIT("return ");
        } else EMIT("unreachable ");
    }
}

static void statements(generator *g, int count, int depth)
{
    for (int i = 0; i < count; i++) statement(g, depth);
}

static void function(generator *g, int number)
{
    g->func = number;
    g->budget = 220;
    g->label_count = 0;
    EMIT("(func $f%d (type $t) (param i32 i64 f32 f64) (result i32 f64) (local i32 i32 i64 i64 f32 f32 f64 f64 i32)\n", number);
    int results[] = {0, 3};
    push_label(g, results, 2);
    statements(g, 4, 4);
    if (number && pick(g, 3) == 0) {
        arguments(g);
        if (pick(g, 2)) EMIT("return_call $f%u ", pick(g, (uint32_t)number));
        else EMIT("i32.const %u return_call_indirect (type $t) ", pick(g, (uint32_t)number));
    }
    expression(g, 0, 3);
    expression(g, 3, 3);
    EMIT(")\n");
}

static void generate_module(generator *g)
{
    EMIT("(module (memory 1 1) (global $fuel (mut i32) (i32.const 200)) (global $g (mut i64) (i64.const 5))\n"
         "(type $t (func (param i32 i64 f32 f64) (result i32 f64)))\n"
         "(table funcref (elem");
    for (int i = 0; i < FUNCS; i++) EMIT(" $f%d", i);
    EMIT("))\n(data (i32.const 0) \"\\01\\02\\03\\04\\05\\06\\07\\08\\ff\\fe\\80\\7f\\00\\00\\f0\\3f\")\n"
         "(func $c32 (param f32) (result f32) local.get 0 f32.const nan local.get 0 local.get 0 f32.eq select)\n"
         "(func $c64 (param f64) (result f64) local.get 0 f64.const nan local.get 0 local.get 0 f64.eq select)\n");
    for (int i = 0; i < FUNCS; i++) function(g, i);
    for (int i = 0; i < FUNCS * CALLS; i++) {
        EMIT("(func (export \"r%d\") (result i32 i64) i32.const 200 global.set $fuel ", i);
        for (int type = 0; type < 4; type++) constant(g, type);
        EMIT("call $f%d call $c64 i64.reinterpret_f64)\n", i % FUNCS);
        /* what the call left in memory, after a trap too: where nearly all goes, and at last everywhere */
        EMIT("(func (export \"m%d\") (result i64) (local i32 i64) loop local.get 1 i64.const 31 i64.mul local.get 0 i64.load i64.add "
             "local.set 1 local.get 0 i32.const 8 i32.add local.tee 0 i32.const %d i32.lt_u br_if 0 end local.get 1)\n", i,
             i + 1 < FUNCS * CALLS ? 4352 : 65536);
    }
    EMIT(")\n");
}

#undef EMIT

#endif
