/* SPDX-License-Identifier: Apache-2.0 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <inttypes.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

#include "analysis/trip.h"
#include "region/plan.h"
#include "region/refusals.h"

static uint8_t memory[65536];

static tw_model *parse(const char *text)
{
    tw_model *model;
    tw_error error;
    if (tw_model_parse(text, strlen(text), &model, &error) != TW_OK) fail_msg("%s (byte %d)", error.message, (int)error.offset);
    return model;
}

static bool evaluate(tw_plan *plan, const uint64_t *symbols)
{
    memcpy(tw_plan_numbers(plan)->symbols, symbols, 2 * sizeof *symbols);
    return tw_plan_evaluate(plan, (tw_plan_memory){memory, sizeof memory});
}

/* for (i = 0; i != n; i++) b[i] = 0, b = s0, n = s1; bottom-tested. */
static const char FILL[] = "region \"fill\" exits-at-end exit 1\n"
                           "symbol s0 i32 live-in 0\nsymbol s1 i32 live-in 1\n"
                           "loop n0 trips e5\n"
                           "expr e0 = symbol s0\nexpr e1 = symbol s1\nexpr e2 = const i32 1\nexpr e3 = const i32 4\nexpr e4 = const i32 0\n"
                           "expr e5 = trips i32.ne e2 e2 e1\n"
                           "affine a0 i32 in n0 = e0 + e3 * n0\n"
                           "access x0 i32.store a0 + 8 in n0\n"
                           "value v0 = const i32 0\n"
                           "n0 {\n  store x0 v0\n}\nend\n";

static void footprints_end_with_the_last_byte(void **state)
{
    (void)state;
    tw_model *model = parse(FILL);
    tw_plan *plan;
    assert_int_equal(tw_plan_new(model, &plan, NULL), TW_OK);
    assert_true(evaluate(plan, (uint64_t[]){100, 10}));
    const tw_numbers *n = tw_plan_numbers(plan);
    assert_int_equal(n->iterations, 10);
    assert_true(n->leaves);
    assert_int_equal(n->accesses[0].low, 108);
    assert_int_equal(n->accesses[0].high, 148);
    /* The last element that fits, and one byte too many. */
    assert_true(evaluate(plan, (uint64_t[]){65536 - 48, 10}));
    assert_false(evaluate(plan, (uint64_t[]){65536 - 47, 10}));
    assert_int_equal(n->refusal, TW_REFUSAL_BOUNDS);
    tw_plan_free(plan);
    tw_model_free(model);
}

static void a_range_that_crosses_two_to_the_32_is_refused(void **state)
{
    (void)state;
    tw_model *model = parse(FILL);
    tw_plan *plan;
    assert_int_equal(tw_plan_new(model, &plan, NULL), TW_OK);
    assert_false(evaluate(plan, (uint64_t[]){UINT32_MAX - 7, 10}));
    assert_int_equal(tw_plan_numbers(plan)->refusal, TW_REFUSAL_WRAP);
    /* n = 0: 1 != 0 holds until the counter has wrapped. */
    assert_false(evaluate(plan, (uint64_t[]){100, 0}));
    assert_int_equal(tw_plan_numbers(plan)->refusal, TW_REFUSAL_TRIPS_UNKNOWN);
    tw_plan_free(plan);
    tw_model_free(model);
}

/* Nine iterations, in each of which start + i·step is held against a bound. */
static const char LIMITED[] = "region \"limited\" exits-at-end exit 1\n"
                              "symbol s0 i32 live-in 0\nsymbol s1 i32 live-in 1\nsymbol s2 i32 live-in 2\n"
                              "loop n0 trips e4\n"
                              "expr e0 = symbol s0\nexpr e1 = symbol s1\nexpr e2 = symbol s2\nexpr e3 = const i32 4\nexpr e4 = const i64 9\n"
                              "affine a0 i32 in n0 = e3 + e3 * n0\naffine a1 i32 in n0 = e0 + e1 * n0\n"
                              "access x0 i32.store a0 + 8 in n0\n"
                              "value v0 = const i32 0\n"
                              "limit a1 %s e2\n"
                              "n0 {\n  store x0 v0\n}\nend\n";

static bool holds_throughout(tw_compare compare, const uint64_t *s)
{
    for (uint64_t i = 0; i < 9; i++)
        if (!tw_compare_holds(compare, 32, (uint32_t)(s[0] + i * s[1]), s[2])) return false;
    return true;
}

/* Neither as a signed nor as an unsigned number, as the compare takes it, does it go round. */
static bool stays_in_window(bool is_signed, const uint64_t *s)
{
    int64_t first = is_signed ? (int32_t)s[0] : (int64_t)s[0], last = first + 8 * (int64_t)(int32_t)s[1];
    return is_signed ? last >= INT32_MIN && last <= INT32_MAX : last >= 0 && last <= UINT32_MAX;
}

static void limits_are_those_of_all_iterations(void **state)
{
    (void)state;
    static const struct { const char *op; tw_compare compare; } ops[] = {
        {"i32.eq", TW_COMPARE_EQ},     {"i32.ne", TW_COMPARE_NE},     {"i32.lt_s", TW_COMPARE_LT_S}, {"i32.lt_u", TW_COMPARE_LT_U},
        {"i32.le_s", TW_COMPARE_LE_S}, {"i32.le_u", TW_COMPARE_LE_U}, {"i32.gt_s", TW_COMPARE_GT_S}, {"i32.gt_u", TW_COMPARE_GT_U},
        {"i32.ge_s", TW_COMPARE_GE_S}, {"i32.ge_u", TW_COMPARE_GE_U}};
    static const uint32_t centres[] = {0, 100, 0x7FFFFFFF, 0x80000000, 0xFFFFFFFF};
    uint32_t accepted = 0;
    for (size_t o = 0; o < sizeof ops / sizeof *ops; o++) {
        char text[1000];
        snprintf(text, sizeof text, LIMITED, ops[o].op);
        tw_model *model = parse(text);
        tw_plan *plan;
        assert_int_equal(tw_plan_new(model, &plan, NULL), TW_OK);
        bool is_signed = ops[o].compare >= TW_COMPARE_LT_S && ops[o].compare <= TW_COMPARE_GE_S;
        for (uint32_t n = 0; n < 60000; n++) {
            uint32_t near = centres[n % 5], draw = n * 2654435761u;
            uint64_t s[] = {(uint32_t)(near + (draw >> 8) % 41 - 20), (uint32_t)((int32_t)((draw >> 14) % 13) - 6), (uint32_t)(near + (draw >> 20) % 121 - 60)};
            memcpy(tw_plan_numbers(plan)->symbols, s, sizeof s);
            bool taken = tw_plan_evaluate(plan, (tw_plan_memory){memory, sizeof memory}), right = holds_throughout(ops[o].compare, s);
            bool equality = ops[o].compare <= TW_COMPARE_NE, in_window = stays_in_window(is_signed, s) || (equality && stays_in_window(true, s));
            if (taken && !right) fail_msg("%s taken: %" PRIu64 " + i * %d, %" PRIu64, ops[o].op, s[0], (int)(int32_t)s[1], s[2]);
            bool between = ops[o].compare == TW_COMPARE_NE; /* a value that the steps jump over counts as met */
            if (!taken && right && in_window && !between) fail_msg("%s refused: %" PRIu64 " + i * %d, %" PRIu64, ops[o].op, s[0], (int)(int32_t)s[1], s[2]);
            accepted += taken;
        }
        tw_plan_free(plan);
        tw_model_free(model);
    }
    assert_true(accepted > 50000);
}

/* The same with a right side that moves, too: s2 + i·s3. */
static const char LIMITED_BY_MOVING[] = "region \"limited\" exits-at-end exit 1\n"
                                        "symbol s0 i32 live-in 0\nsymbol s1 i32 live-in 1\nsymbol s2 i32 live-in 2\nsymbol s3 i32 live-in 3\n"
                                        "loop n0 trips e5\n"
                                        "expr e0 = symbol s0\nexpr e1 = symbol s1\nexpr e2 = symbol s2\nexpr e3 = symbol s3\n"
                                        "expr e4 = const i32 4\nexpr e5 = const i64 9\n"
                                        "affine a0 i32 in n0 = e4 + e4 * n0\naffine a1 i32 in n0 = e0 + e1 * n0\naffine a2 i32 in n0 = e2 + e3 * n0\n"
                                        "access x0 i32.store a0 + 8 in n0\n"
                                        "value v0 = const i32 0\n"
                                        "limit a1 %s affine a2\n"
                                        "n0 {\n  store x0 v0\n}\nend\n";

static void both_sides_of_a_limit_may_move(void **state)
{
    (void)state;
    static const struct { const char *op; tw_compare compare; } ops[] = {
        {"i32.lt_s", TW_COMPARE_LT_S}, {"i32.lt_u", TW_COMPARE_LT_U}, {"i32.le_s", TW_COMPARE_LE_S}, {"i32.le_u", TW_COMPARE_LE_U},
        {"i32.gt_s", TW_COMPARE_GT_S}, {"i32.gt_u", TW_COMPARE_GT_U}, {"i32.ge_s", TW_COMPARE_GE_S}, {"i32.ge_u", TW_COMPARE_GE_U}};
    static const uint32_t centres[] = {0, 100, 0x7FFFFFFF, 0x80000000, 0xFFFFFFFF};
    uint32_t accepted = 0;
    for (size_t o = 0; o < sizeof ops / sizeof *ops; o++) {
        char text[1000];
        snprintf(text, sizeof text, LIMITED_BY_MOVING, ops[o].op);
        tw_model *model = parse(text);
        tw_plan *plan;
        assert_int_equal(tw_plan_new(model, &plan, NULL), TW_OK);
        bool is_signed = ops[o].compare >= TW_COMPARE_LT_S && ops[o].compare <= TW_COMPARE_GE_S;
        for (uint32_t n = 0; n < 60000; n++) {
            uint32_t near = centres[n % 5], draw = n * 2654435761u, more = draw * 2246822519u + n;
            uint64_t s[] = {(uint32_t)(near + (draw >> 8) % 41 - 20), (uint32_t)((int32_t)((draw >> 14) % 13) - 6),
                            (uint32_t)(near + (draw >> 20) % 121 - 60), (uint32_t)((int32_t)((more >> 9) % 13) - 6)};
            memcpy(tw_plan_numbers(plan)->symbols, s, sizeof s);
            bool taken = tw_plan_evaluate(plan, (tw_plan_memory){memory, sizeof memory}), right = true;
            for (uint64_t i = 0; i < 9; i++) right &= tw_compare_holds(ops[o].compare, 32, (uint32_t)(s[0] + i * s[1]), (uint32_t)(s[2] + i * s[3]));
            bool expected = right && stays_in_window(is_signed, s) && stays_in_window(is_signed, s + 2);
            if (taken != expected) fail_msg("%s %s: %" PRIu64 " + i * %d, %" PRIu64 " + i * %d", ops[o].op, taken ? "taken" : "refused", s[0], (int)(int32_t)s[1], s[2], (int)(int32_t)s[3]);
            accepted += taken;
        }
        tw_plan_free(plan);
        tw_model_free(model);
    }
    assert_true(accepted > 50000);
}

/* for (i = 0; i < n; i++) for (j = 0; j < i; j++) b[8i + j] = 0, the inner loop under its guard i > 0: a triangle. */
static const char TRIANGLE[] =
    "region \"triangle\" exits-at-end exit 1\n"
    "symbol s0 i32 live-in 0\nsymbol s1 i32 live-in 1\n"
    "loop n0 trips e4\nloop n1 in n0 trips e10\n"
    "expr e0 = symbol s0\nexpr e1 = symbol s1\nexpr e2 = const i32 1\nexpr e3 = const i32 8\n"
    "expr e4 = trips i32.ne e2 e2 e1\n"
    "expr e5 = counter i32 n0\nexpr e6 = trips i32.ne e2 e2 e5\nexpr e7 = const i32 0\nexpr e8 = const i64 0\n"
    "expr e9 = i32.gt_s e5 e7\nexpr e10 = select e9 e6 e8\n"
    "affine a0 i32 in n1 = e0 + e3 * n0 + e2 * n1\n"
    "access x0 i32.store8 a0 + 0 in n1\n"
    "value v0 = const i32 0\n"
    "n0 {\n  n1 {\n    store x0 v0\n  }\n}\nend\n";

static void a_triangle_is_fitted_through_its_tip(void **state)
{
    (void)state;
    tw_model *model = parse(TRIANGLE);
    tw_plan *plan;
    assert_int_equal(tw_plan_new(model, &plan, NULL), TW_OK);
    assert_true(evaluate(plan, (uint64_t[]){0, 5}));
    const tw_numbers_loop *inner = &tw_plan_numbers(plan)->loops[1];
    assert_true(inner->varies);
    assert_int_equal(inner->t0, 0);
    assert_int_equal(inner->t[0], 1);
    assert_int_equal(inner->least, 0);
    assert_int_equal(inner->most, 4);
    assert_int_equal(tw_plan_numbers(plan)->accesses[0].high, 8 * 4 + 3 + 1);
    tw_plan_free(plan);
    tw_model_free(model);
}

/* The same under the guard i & 8: the trips jump from 0 to 8, which no line fits. */
static void what_no_line_fits_is_refused(void **state)
{
    (void)state;
    tw_model *model = parse(TRIANGLE);
    model->exprs[9].op = TW_OP_I32_AND;
    model->exprs[9].b = 3;
    assert_int_equal(tw_model_verify(model, NULL), TW_OK);
    tw_plan *plan;
    assert_int_equal(tw_plan_new(model, &plan, NULL), TW_OK);
    assert_true(evaluate(plan, (uint64_t[]){0, 8}));
    assert_false(evaluate(plan, (uint64_t[]){0, 11}));
    assert_int_equal(tw_plan_numbers(plan)->refusal, TW_REFUSAL_TRIPS_SHAPE);
    tw_plan_free(plan);
    tw_model_free(model);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(footprints_end_with_the_last_byte),
        cmocka_unit_test(a_range_that_crosses_two_to_the_32_is_refused),
        cmocka_unit_test(limits_are_those_of_all_iterations),
        cmocka_unit_test(both_sides_of_a_limit_may_move),
        cmocka_unit_test(a_triangle_is_fitted_through_its_tip),
        cmocka_unit_test(what_no_line_fits_is_refused),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
