/* SPDX-License-Identifier: Apache-2.0 */
/* Bounds of values hold: random programs of all operations on bytes, halves and words from memory, run over random and notable
 * words, never give a number outside. And they are as narrow as tables need them. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

#include "region/bounds.h"
#include "region/interp.h"

enum { LEAVES = 8, VALUES = 40 };

static const uint16_t loads[LEAVES] = {TW_OP_I32_LOAD8_U, TW_OP_I32_LOAD8_S, TW_OP_I32_LOAD16_U, TW_OP_I32_LOAD16_S,
                                       TW_OP_I32_LOAD, TW_OP_I64_LOAD32_S, TW_OP_I64_LOAD32_U, TW_OP_I64_LOAD};

static uint64_t next(uint64_t *state)
{
    *state ^= *state << 13, *state ^= *state >> 7, *state ^= *state << 17;
    return *state;
}

static uint64_t notable(uint64_t *state)
{
    static const uint64_t words[] = {0, 1, 2, 7, 31, 32, 63, 100, 127, 128, 255, 256, 0x7fff, 0x8000, 0xffff, INT32_MAX, 0x80000000, UINT32_MAX, INT64_MAX,
                                     UINT64_C(1) << 63, UINT64_MAX, UINT64_MAX - 1, UINT64_MAX - 255};
    uint64_t r = next(state);
    return r % 3 ? words[(r >> 8) % (sizeof words / sizeof *words)] : next(state) >> (r >> 8) % 64;
}

static uint64_t loaded(uint16_t op, uint64_t word)
{
    switch (op) {
    case TW_OP_I32_LOAD8_U: return (uint8_t)word;
    case TW_OP_I32_LOAD8_S: return (uint32_t)(int8_t)word;
    case TW_OP_I32_LOAD16_U: return (uint16_t)word;
    case TW_OP_I32_LOAD16_S: return (uint32_t)(int16_t)word;
    case TW_OP_I32_LOAD: case TW_OP_I64_LOAD32_U: return (uint32_t)word;
    case TW_OP_I64_LOAD32_S: return (uint64_t)(int64_t)(int32_t)word;
    default: return word;
    }
}

/* A pure integer operation whose arguments are there, or a division by a constant, or a select. */
static bool draw(tw_model *m, uint64_t *state)
{
    tw_value_node n = {.kind = TW_VALUE_OP, .args = {TW_NONE, TW_NONE, TW_NONE}};
    uint32_t count = m->value_count;
    uint64_t r = next(state);
    if (r % 5 == 0) {
        bool wide = r >> 8 & 1;
        uint64_t bits = notable(state);
        m->values[m->value_count++] = (tw_value_node){.kind = TW_VALUE_CONST, .type = wide ? TW_I64 : TW_I32, .bits = wide ? bits : (uint32_t)bits,
                                                      .args = {TW_NONE, TW_NONE, TW_NONE}};
        return true;
    }
    n.op = (uint16_t)(r % 4 == 1 ? TW_OP_SELECT : TW_OP_I32_EQZ + (r >> 8) % (TW_OP_I64_EXTEND32_S - TW_OP_I32_EQZ + 1));
    const tw_op_info *info = tw_op_describe((tw_op)n.op);
    bool divides = info->kind == TW_KIND_TRAPPING;
    if (n.op != TW_OP_SELECT && !divides && info->kind != TW_KIND_PURE) return false;
    const char *types = n.op == TW_OP_SELECT ? (r >> 40 & 1 ? "iii" : "lli") : info->operands;
    if (strlen(types) > 3 || (divides && strlen(types) != 2)) return false;
    for (int i = 0; types[i]; i++) {
        n.args[i] = (uint32_t)(next(state) % count);
        if (m->values[n.args[i]].type != (uint8_t)tw_type_from_letter(types[i])) return false;
    }
    n.type = n.op == TW_OP_SELECT ? m->values[n.args[0]].type : (uint8_t)tw_type_from_letter(info->results[0]);
    if (n.type != TW_I32 && n.type != TW_I64) return false;
    const tw_value_node *by = divides ? &m->values[n.args[1]] : NULL;
    if (by && (by->kind != TW_VALUE_CONST || !by->bits || by->bits == UINT64_MAX || (by->type == TW_I32 && by->bits == UINT32_MAX))) return false;
    m->values[m->value_count++] = n;
    return true;
}

static int64_t as_signed(uint8_t type, uint64_t bits)
{
    return type == TW_I32 ? (int32_t)(uint32_t)bits : (int64_t)bits;
}

static void no_number_is_out_of_its_bounds(void **state)
{
    (void)state;
    static tw_model_access accesses[LEAVES];
    static tw_value_node values[VALUES];
    static tw_bounds bounds[VALUES];
    uint64_t seed = 2026, narrow = 0;
    tw_model m = {.accesses = accesses, .access_count = LEAVES, .values = values};
    for (int program = 0; program < 4000; program++) {
        m.value_count = 0;
        for (uint32_t x = 0; x < LEAVES; x++) {
            accesses[x] = (tw_model_access){.op = loads[x]};
            values[m.value_count++] = (tw_value_node){.kind = TW_VALUE_READ, .type = x < 5 ? TW_I32 : TW_I64, .index = x, .args = {TW_NONE, TW_NONE, TW_NONE}};
        }
        while (m.value_count < VALUES) draw(&m, &seed);
        tw_bounds_find(&m, bounds);
        for (uint32_t v = LEAVES; v < VALUES; v++) narrow += bounds[v].most - 0x10000 < bounds[v].least && bounds[v].least > INT32_MIN;
        for (int run = 0; run < 60; run++) {
            uint64_t now[VALUES];
            for (uint32_t v = 0; v < VALUES; v++) {
                const tw_value_node *n = &values[v];
                uint64_t args[3] = {0};
                for (int i = 0; i < 3 && n->args[i] != TW_NONE; i++) args[i] = now[n->args[i]];
                if (n->kind == TW_VALUE_READ) now[v] = loaded(loads[v], notable(&seed));
                else if (n->kind == TW_VALUE_CONST) now[v] = n->bits;
                else assert_true(tw_interp_op((tw_op)n->op, args, &now[v]));
                int64_t is = as_signed(n->type, now[v]);
                if (is < bounds[v].least || is > bounds[v].most)
                    fail_msg("program %d: %s is %lld, not in %lld to %lld", program, n->kind == TW_VALUE_OP ? tw_op_describe((tw_op)n->op)->name : "a leaf",
                             (long long)is, (long long)bounds[v].least, (long long)bounds[v].most);
            }
        }
    }
    print_message("%llu of %d are narrow\n", (unsigned long long)narrow, 4000 * (VALUES - LEAVES));
    assert_true(narrow > 4000 * 8);
}

/* A word x, then the operations' constants and themselves: what the last one may be. */
static void assert_bounds(uint16_t load, const uint16_t *ops, const uint64_t *constants, int count, int64_t least, int64_t most)
{
    tw_model_access access = {.op = load};
    tw_value_node values[16] = {{.kind = TW_VALUE_READ, .type = TW_I32, .args = {TW_NONE, TW_NONE, TW_NONE}}};
    tw_bounds bounds[16];
    tw_model m = {.accesses = &access, .access_count = 1, .values = values, .value_count = 1};
    for (int i = 0; i < count; i++) {
        uint32_t before = m.value_count - 1;
        values[m.value_count++] = (tw_value_node){.kind = TW_VALUE_CONST, .type = TW_I32, .bits = (uint32_t)constants[i], .args = {TW_NONE, TW_NONE, TW_NONE}};
        values[m.value_count++] = (tw_value_node){.kind = TW_VALUE_OP, .type = TW_I32, .op = ops[i], .args = {before, before + 1, TW_NONE}};
    }
    tw_bounds_find(&m, bounds);
    assert_int_equal(bounds[m.value_count - 1].least, least);
    assert_int_equal(bounds[m.value_count - 1].most, most);
}

static void indices_of_tables_are_bounded_exactly(void **state)
{
    (void)state;
    assert_bounds(TW_OP_I32_LOAD8_U, NULL, NULL, 0, 0, 255);
    assert_bounds(TW_OP_I32_LOAD16_S, NULL, NULL, 0, -32768, 32767);
    assert_bounds(TW_OP_I32_LOAD8_U, (uint16_t[]){TW_OP_I32_SHL}, (uint64_t[]){2}, 1, 0, 1020);
    assert_bounds(TW_OP_I32_LOAD, (uint16_t[]){TW_OP_I32_AND}, (uint64_t[]){127}, 1, 0, 127);
    assert_bounds(TW_OP_I32_LOAD, (uint16_t[]){TW_OP_I32_SHR_U}, (uint64_t[]){24}, 1, 0, 255);
    assert_bounds(TW_OP_I32_LOAD, (uint16_t[]){TW_OP_I32_REM_U}, (uint64_t[]){100}, 1, 0, 99);
    assert_bounds(TW_OP_I32_LOAD, (uint16_t[]){TW_OP_I32_REM_S}, (uint64_t[]){100}, 1, -99, 99);
    assert_bounds(TW_OP_I32_LOAD, (uint16_t[]){TW_OP_I32_SHR_U, TW_OP_I32_AND, TW_OP_I32_MUL, TW_OP_I32_ADD}, (uint64_t[]){3, 0xF0, 8, (uint32_t)-64}, 4, -64, 1856);
    assert_bounds(TW_OP_I32_LOAD, (uint16_t[]){TW_OP_I32_MUL}, (uint64_t[]){4}, 1, INT32_MIN, INT32_MAX);
    assert_bounds(TW_OP_I32_LOAD16_U, (uint16_t[]){TW_OP_I32_SHL}, (uint64_t[]){16}, 1, INT32_MIN, INT32_MAX);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(no_number_is_out_of_its_bounds),
        cmocka_unit_test(indices_of_tables_are_bounded_exactly),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
