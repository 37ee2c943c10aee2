/* SPDX-License-Identifier: Apache-2.0 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

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
        cmocka_unit_test(a_triangle_is_fitted_through_its_tip),
        cmocka_unit_test(what_no_line_fits_is_refused),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
