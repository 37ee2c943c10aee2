/* SPDX-License-Identifier: Apache-2.0 */
/* A conversion becomes a saturating one where, and only where, the branches on every way to it leave no number that it would trap on. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

#include "analysis/analysis.h"
#include "ir/ir.h"
#include "region/guarded.h"

/* b0 decides by v9 between b1, which converts x = v1, and b2. */
#define CAST(type, op, condition)                                                                                      \
    "func 0 \"f\" (" type ", i32) -> (i64) {\nb0(v1: " type ", v2: i32):\n" condition                                  \
    "  branch v9, b1(), b2()\nb1():\n  v10 = " op " v1\n  return i64:1\nb2():\n  return i64:0\n}\n"
#define TURNED(type, op, condition)                                                                                    \
    "func 0 \"f\" (" type ", i32) -> (i64) {\nb0(v1: " type ", v2: i32):\n" condition                                  \
    "  branch v9, b2(), b1()\nb1():\n  v10 = " op " v1\n  return i64:1\nb2():\n  return i64:0\n}\n"

typedef struct example {
    const char *what, *text;
    bool taken;
} example;

static const example examples[] = {
    {"|x| < 2^31", CAST("f64", "i32.trunc_f64_s", "  v3 = f64.abs v1\n  v9 = f64.lt v3, f64:0x41e0000000000000\n"), true},
    {"2^31 > |x|", CAST("f64", "i32.trunc_f64_s", "  v3 = f64.abs v1\n  v9 = f64.gt f64:0x41e0000000000000, v3\n"), true},
    {"|x| <= 2^31", CAST("f64", "i32.trunc_f64_s", "  v3 = f64.abs v1\n  v9 = f64.le v3, f64:0x41e0000000000000\n"), false},
    {"|x| <= 1000", CAST("f64", "i32.trunc_f64_s", "  v3 = f64.abs v1\n  v9 = f64.le v3, f64:0x408f400000000000\n"), true},
    {"|x| < 2^32", CAST("f64", "i32.trunc_f64_s", "  v3 = f64.abs v1\n  v9 = f64.lt v3, f64:0x41f0000000000000\n"), false},
    {"|x| > 2^31", CAST("f64", "i32.trunc_f64_s", "  v3 = f64.abs v1\n  v9 = f64.gt v3, f64:0x41e0000000000000\n"), false},
    {"not |x| >= 2^31: it may be NaN", TURNED("f64", "i32.trunc_f64_s", "  v3 = f64.abs v1\n  v9 = f64.ge v3, f64:0x41e0000000000000\n"), false},
    {"not not |x| < 2^31", TURNED("f64", "i32.trunc_f64_s", "  v3 = f64.abs v1\n  v4 = f64.lt v3, f64:0x41e0000000000000\n  v9 = i32.eqz v4\n"), true},
    {"not |x| < 2^31", TURNED("f64", "i32.trunc_f64_s", "  v3 = f64.abs v1\n  v9 = f64.lt v3, f64:0x41e0000000000000\n"), false},
    {"|x| < 2^63", CAST("f32", "i64.trunc_f32_s", "  v3 = f32.abs v1\n  v9 = f32.lt v3, f32:0x5f000000\n"), true},
    {"|x| < 2^63, unsigned", CAST("f32", "i64.trunc_f32_u", "  v3 = f32.abs v1\n  v9 = f32.lt v3, f32:0x5f000000\n"), false},
    {"x < 2^32 and x >= 0", CAST("f32", "i32.trunc_f32_u", "  v3 = f32.lt v1, f32:0x4f800000\n  v4 = f32.ge v1, f32:0\n  v9 = i32.and v3, v4\n"), true},
    {"x < 2^32 or x >= 0", CAST("f32", "i32.trunc_f32_u", "  v3 = f32.lt v1, f32:0x4f800000\n  v4 = f32.ge v1, f32:0\n  v9 = i32.or v3, v4\n"), false},
    {"x < 2^32", CAST("f32", "i32.trunc_f32_u", "  v9 = f32.lt v1, f32:0x4f800000\n"), false},
    {"x >= 0", CAST("f32", "i32.trunc_f32_u", "  v9 = f32.ge v1, f32:0\n"), false},
    {"x < 2^32 and x >= -1", CAST("f32", "i32.trunc_f32_u", "  v3 = f32.lt v1, f32:0x4f800000\n  v4 = f32.ge v1, f32:0xbf800000\n  v9 = i32.and v3, v4\n"), false},
    {"x < 2^32 and x >= 0, signed", CAST("f32", "i32.trunc_f32_s", "  v3 = f32.lt v1, f32:0x4f800000\n  v4 = f32.ge v1, f32:0\n  v9 = i32.and v3, v4\n"), false},
    {"x < 2^31 and x >= -2^31", CAST("f32", "i32.trunc_f32_s", "  v3 = f32.lt v1, f32:0x4f000000\n  v4 = f32.ge v1, f32:0xcf000000\n  v9 = i32.and v3, v4\n"), true},
    {"x < NaN", CAST("f64", "i32.trunc_f64_s", "  v3 = f64.abs v1\n  v9 = f64.lt v3, f64:0x7ff8000000000000\n"), false},
    {"something else", CAST("f64", "i32.trunc_f64_s", "  v9 = i32.eqz v2\n"), false},
    {"of another number", CAST("f64", "i32.trunc_f64_s", "  v3 = f64.sqrt v1\n  v4 = f64.abs v3\n  v9 = f64.lt v4, f64:0x41e0000000000000\n"), false},
    {"a way around", "func 0 \"f\" (f64, i32) -> (i64) {\nb0(v1: f64, v2: i32):\n  branch v2, b1(), b2()\nb1():\n  v3 = f64.abs v1\n  v9 = f64.lt v3, f64:0x41e0000000000000\n"
                     "  branch v9, b2(), b3()\nb2():\n  v10 = i32.trunc_f64_s v1\n  return i64:1\nb3():\n  return i64:0\n}\n", false},
    {"two branches, one each", "func 0 \"f\" (f64, i32) -> (i64) {\nb0(v1: f64, v2: i32):\n  v3 = f64.lt v1, f64:0x41f0000000000000\n  branch v3, b1(), b3()\nb1():\n"
                               "  v9 = f64.ge v1, f64:0\n  branch v9, b2(), b3()\nb2():\n  v10 = i32.trunc_f64_u v1\n  return i64:1\nb3():\n  return i64:0\n}\n", true},
};

static void judged(const example *it)
{
    tw_ir_func *func;
    tw_analysis *analysis;
    tw_error error = {.message = ""};
    if (tw_ir_parse(it->text, strlen(it->text), &func, &error) != TW_OK) fail_msg("%s: %s", it->what, error.message);
    assert_int_equal(tw_analysis_new(func, 1 << 20, &analysis, &error), TW_OK);
    tw_take_guarded(func, tw_analysis_cfg(analysis));
    bool taken = false, found = false;
    for (uint32_t i = 0; i < func->inst_count; i++) {
        bool plain = func->insts[i].op >= TW_OP_I32_TRUNC_F32_S && func->insts[i].op <= TW_OP_I64_TRUNC_F64_U && tw_op_describe(func->insts[i].op)->kind == TW_KIND_TRAPPING;
        bool saturates = func->insts[i].op >= TW_OP_I32_TRUNC_SAT_F32_S && func->insts[i].op <= TW_OP_I64_TRUNC_SAT_F64_U;
        taken |= saturates, found |= plain || saturates;
    }
    assert_true(found);
    if (taken != it->taken) fail_msg("%s: %s", it->what, taken ? "taken, and may trap" : "not taken");
    tw_analysis_free(analysis);
    tw_ir_func_free(func);
}

static void only_what_cannot_trap_is_taken(void **state)
{
    (void)state;
    for (size_t i = 0; i < sizeof examples / sizeof *examples; i++) judged(&examples[i]);
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(only_what_cannot_trap_is_taken)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
