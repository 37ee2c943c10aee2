/* SPDX-License-Identifier: Apache-2.0 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>

#include <cmocka.h>

#include "analysis/trip.h"

/* The independent opinion: plain 8-bit C, one step after the other. */

static bool holds(tw_compare compare, uint8_t a, uint8_t b)
{
    int sa = (int8_t)a, sb = (int8_t)b;
    switch (compare) {
    case TW_COMPARE_EQ: return a == b;
    case TW_COMPARE_NE: return a != b;
    case TW_COMPARE_LT_S: return sa < sb;
    case TW_COMPARE_LE_S: return sa <= sb;
    case TW_COMPARE_GT_S: return sa > sb;
    case TW_COMPARE_GE_S: return sa >= sb;
    case TW_COMPARE_LT_U: return a < b;
    case TW_COMPARE_LE_U: return a <= b;
    case TW_COMPARE_GT_U: return a > b;
    case TW_COMPARE_GE_U: return a >= b;
    default: return false;
    }
}

typedef struct counted {
    bool ends;      /* the test fails at some step */
    bool wrapped_s; /* on the way there the value left the signed range */
    bool wrapped_u; /* … the unsigned range */
    unsigned arrivals;
} counted;

static counted count(tw_compare compare, uint8_t start, uint8_t step, uint8_t bound)
{
    counted c = {0};
    int as_signed = (int8_t)start, as_unsigned = start;
    uint8_t value = start;
    for (unsigned k = 0; k <= 256; k++) {
        if (!holds(compare, value, bound)) {
            c.ends = true;
            c.arrivals = k + 1;
            return c;
        }
        value = (uint8_t)(value + step);
        as_signed += (int8_t)step;
        as_unsigned += (int8_t)step;
        c.wrapped_s |= as_signed < -128 || as_signed > 127;
        c.wrapped_u |= as_unsigned < 0 || as_unsigned > 255;
        if (step == 0 || (c.wrapped_s && c.wrapped_u && compare != TW_COMPARE_EQ)) break; /* never, or refused anyway */
    }
    return c;
}

static void the_table_agrees_with_counting_for_all_8_bit_numbers(void **state)
{
    (void)state;
    for (int compare = 0; compare < TW_COMPARE_COUNT; compare++)
        for (unsigned start = 0; start < 256; start++)
            for (unsigned step = 0; step < 256; step++)
                for (unsigned bound = 0; bound < 256; bound++) {
                    counted c = count((tw_compare)compare, (uint8_t)start, (uint8_t)step, (uint8_t)bound);
                    bool is_signed = compare >= TW_COMPARE_LT_S && compare <= TW_COMPARE_GE_S;
                    bool wrapped = compare == TW_COMPARE_NE   ? c.wrapped_s && c.wrapped_u
                                   : compare == TW_COMPARE_EQ ? false
                                   : is_signed                ? c.wrapped_s
                                                              : c.wrapped_u;
                    uint64_t arrivals = 0;
                    bool known = tw_trip_count((tw_compare)compare, 8, start, step, bound, &arrivals);
                    if (known != (c.ends && !wrapped) || (known && arrivals != c.arrivals))
                        fail_msg("%s start %u step %u bound %u: %d %llu, counted %d %u", tw_compare_name((tw_compare)compare),
                                 start, step, bound, known, (unsigned long long)arrivals, c.ends && !wrapped, c.arrivals);
                }
}

static void bits_above_the_width_do_not_count(void **state)
{
    (void)state;
    uint64_t arrivals;
    assert_true(tw_trip_count(TW_COMPARE_LT_S, 32, 0xFFFFFFFF00000000u, 0x500000001u, 10, &arrivals));
    assert_int_equal(arrivals, 11);
}

/* By hand. */
static void wide_numbers_are_exact(void **state)
{
    (void)state;
    uint64_t arrivals;
    assert_true(tw_trip_count(TW_COMPARE_LT_U, 64, 0, 1, UINT64_MAX - 1, &arrivals));
    assert_true(arrivals == UINT64_MAX);
    assert_false(tw_trip_count(TW_COMPARE_LT_U, 64, 0, 1, UINT64_MAX, &arrivals)); /* 2^64 arrivals */
    assert_false(tw_trip_count(TW_COMPARE_LE_U, 32, 0, 1, UINT32_MAX, &arrivals)); /* never fails */
    assert_true(tw_trip_count(TW_COMPARE_GE_S, 32, 100, (uint32_t)-7, 0, &arrivals)); /* 100, 93, … 2, -5 */
    assert_int_equal(arrivals, 16);
    assert_false(tw_trip_count(TW_COMPARE_GE_U, 32, 100, (uint32_t)-7, 0, &arrivals));
    assert_true(tw_trip_count(TW_COMPARE_NE, 32, 0x7FFFFFF0, 8, 0x80000010, &arrivals)); /* crosses the sign only */
    assert_int_equal(arrivals, 5);
}

static void negation_and_swap_mean_what_they_say(void **state)
{
    (void)state;
    for (int compare = 0; compare < TW_COMPARE_COUNT; compare++)
        for (unsigned a = 0; a < 256; a += 5)
            for (unsigned b = 0; b < 256; b += 3) {
                tw_compare c = (tw_compare)compare;
                bool truth = holds(c, (uint8_t)a, (uint8_t)b);
                assert_int_equal(tw_compare_holds(c, 8, a, b), truth);
                assert_int_equal(tw_compare_holds(tw_compare_negate(c), 8, a, b), !truth);
                assert_int_equal(tw_compare_holds(tw_compare_swap(c), 8, b, a), truth);
            }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(the_table_agrees_with_counting_for_all_8_bit_numbers),
        cmocka_unit_test(bits_above_the_width_do_not_count),
        cmocka_unit_test(wide_numbers_are_exact),
        cmocka_unit_test(negation_and_swap_mean_what_they_say),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
