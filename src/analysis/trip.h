/* SPDX-License-Identifier: Apache-2.0 */
#ifndef TW_ANALYSIS_TRIP_H
#define TW_ANALYSIS_TRIP_H

/* The trip-count table: numbers in, number out. Used at dispatch, so it knows nothing of the IR. */

#include <stdbool.h>
#include <stdint.h>

/* The loop goes on while `lhs CMP bound`; in the k-th iteration (k = 0, 1, …) the test sees lhs = start + k*step. */
typedef enum tw_compare {
    TW_COMPARE_EQ, TW_COMPARE_NE,
    TW_COMPARE_LT_S, TW_COMPARE_LE_S, TW_COMPARE_GT_S, TW_COMPARE_GE_S,
    TW_COMPARE_LT_U, TW_COMPARE_LE_U, TW_COMPARE_GT_U, TW_COMPARE_GE_U,
    TW_COMPARE_COUNT
} tw_compare;

/* "eq", "lt_s", …; static. */
const char *tw_compare_name(tw_compare compare);
/* a CMP b for numbers of `bits` bits (1-64; higher bits ignored). */
bool tw_compare_holds(tw_compare compare, unsigned bits, uint64_t a, uint64_t b);
/* not (a CMP b) == a tw_compare_negate(CMP) b;  a CMP b == b tw_compare_swap(CMP) a */
tw_compare tw_compare_negate(tw_compare compare);
/* An order of signed numbers; not for EQ and NE. */
bool tw_compare_is_signed(tw_compare compare);
tw_compare tw_compare_swap(tw_compare compare);

/* *arrivals = 1 + the smallest k at which the test fails: how often the loop's header is reached when this is
 * the exit taken and the test is made once in every iteration. False (output unset) when the test never fails, or
 * only after start + k*step (step taken as a signed number) has wrapped in the comparison's signedness;
 * for EQ and NE: has wrapped both as a signed and as an unsigned number. 2^64 arrivals count as never. */
bool tw_trip_count(tw_compare compare, unsigned bits, uint64_t start, uint64_t step, uint64_t bound, uint64_t *arrivals);

#endif
