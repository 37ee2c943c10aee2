/* SPDX-License-Identifier: Apache-2.0 */
#include "analysis/trip.h"

/* The table is proven for 8 bits, every combination of comparison, start, step and bound, by counting (tests/unit/analysis). */

const char *tw_compare_name(tw_compare compare)
{
    static const char *const names[] = {"eq", "ne", "lt_s", "le_s", "gt_s", "ge_s", "lt_u", "le_u", "gt_u", "ge_u"};
    return (unsigned)compare < TW_COMPARE_COUNT ? names[compare] : "?";
}

static uint64_t mask_of(unsigned bits)
{
    return bits >= 64 ? UINT64_MAX : ((uint64_t)1 << bits) - 1;
}

bool tw_compare_is_signed(tw_compare compare)
{
    return compare >= TW_COMPARE_LT_S && compare <= TW_COMPARE_GE_S;
}

/* As a number in the comparison's signedness. */
static __int128 number(uint64_t value, unsigned bits, bool with_sign)
{
    value &= mask_of(bits);
    if (with_sign && value >> (bits - 1)) return (__int128)value - ((__int128)1 << bits);
    return (__int128)value;
}

bool tw_compare_holds(tw_compare compare, unsigned bits, uint64_t a, uint64_t b)
{
    __int128 x = number(a, bits, tw_compare_is_signed(compare)), y = number(b, bits, tw_compare_is_signed(compare));
    switch (compare) {
    case TW_COMPARE_EQ: return x == y;
    case TW_COMPARE_NE: return x != y;
    case TW_COMPARE_LT_S: case TW_COMPARE_LT_U: return x < y;
    case TW_COMPARE_LE_S: case TW_COMPARE_LE_U: return x <= y;
    case TW_COMPARE_GT_S: case TW_COMPARE_GT_U: return x > y;
    case TW_COMPARE_GE_S: case TW_COMPARE_GE_U: return x >= y;
    case TW_COMPARE_COUNT: break;
    }
    return false;
}

tw_compare tw_compare_negate(tw_compare compare)
{
    static const uint8_t opposite[TW_COMPARE_COUNT] = {
        [TW_COMPARE_EQ] = TW_COMPARE_NE, [TW_COMPARE_NE] = TW_COMPARE_EQ,
        [TW_COMPARE_LT_S] = TW_COMPARE_GE_S, [TW_COMPARE_GE_S] = TW_COMPARE_LT_S,
        [TW_COMPARE_LE_S] = TW_COMPARE_GT_S, [TW_COMPARE_GT_S] = TW_COMPARE_LE_S,
        [TW_COMPARE_LT_U] = TW_COMPARE_GE_U, [TW_COMPARE_GE_U] = TW_COMPARE_LT_U,
        [TW_COMPARE_LE_U] = TW_COMPARE_GT_U, [TW_COMPARE_GT_U] = TW_COMPARE_LE_U};
    return (tw_compare)opposite[compare];
}

tw_compare tw_compare_swap(tw_compare compare)
{
    static const uint8_t swapped[TW_COMPARE_COUNT] = {
        [TW_COMPARE_EQ] = TW_COMPARE_EQ, [TW_COMPARE_NE] = TW_COMPARE_NE,
        [TW_COMPARE_LT_S] = TW_COMPARE_GT_S, [TW_COMPARE_GT_S] = TW_COMPARE_LT_S,
        [TW_COMPARE_LE_S] = TW_COMPARE_GE_S, [TW_COMPARE_GE_S] = TW_COMPARE_LE_S,
        [TW_COMPARE_LT_U] = TW_COMPARE_GT_U, [TW_COMPARE_GT_U] = TW_COMPARE_LT_U,
        [TW_COMPARE_LE_U] = TW_COMPARE_GE_U, [TW_COMPARE_GE_U] = TW_COMPARE_LE_U};
    return (tw_compare)swapped[compare];
}

/* The largest (direction > 0) or least number of the comparison's type. */
static __int128 limit_of(unsigned bits, bool with_sign, bool largest)
{
    if (!with_sign) return largest ? (__int128)mask_of(bits) : 0;
    return largest ? (__int128)(mask_of(bits) >> 1) : -((__int128)1 << (bits - 1));
}

/* lt, le, gt, ge with numbers that don't wrap: how many steps until the bound is met or passed. */
static bool steps_to_pass(tw_compare compare, unsigned bits, uint64_t start, uint64_t step, uint64_t bound, __int128 *steps)
{
    bool with_sign = tw_compare_is_signed(compare);
    bool up = compare == TW_COMPARE_LT_S || compare == TW_COMPARE_LE_S || compare == TW_COMPARE_LT_U || compare == TW_COMPARE_LE_U;
    bool closed = compare == TW_COMPARE_LE_S || compare == TW_COMPARE_GE_S || compare == TW_COMPARE_LE_U || compare == TW_COMPARE_GE_U;
    __int128 from = number(start, bits, with_sign), by = number(step, bits, true), to = number(bound, bits, with_sign);
    if (up ? by <= 0 : by >= 0) return false; /* goes the other way: would have to wrap */
    __int128 distance = (up ? to - from : from - to) + closed, size = up ? by : -by;
    *steps = (distance + size - 1) / size;
    __int128 last = from + *steps * by;
    return last >= limit_of(bits, with_sign, false) && last <= limit_of(bits, with_sign, true);
}

/* From start to bound the way of the step's sign: wraps neither as unsigned, or not as signed. */
static bool one_way(unsigned bits, uint64_t start, uint64_t bound, bool up)
{
    for (int with_sign = 0; with_sign < 2; with_sign++) {
        __int128 from = number(start, bits, with_sign), to = number(bound, bits, with_sign);
        if (up ? from <= to : from >= to) return true;
    }
    return false;
}

static bool steps_to_meet(unsigned bits, uint64_t start, uint64_t step, uint64_t bound, __int128 *steps)
{
    __int128 by = number(step, bits, true);
    if (by == 0) return false;
    bool up = by > 0;
    uint64_t size = (uint64_t)(up ? by : -by), distance = (up ? bound - start : start - bound) & mask_of(bits);
    if (distance % size || !one_way(bits, start, bound, up)) return false;
    *steps = distance / size;
    return true;
}

bool tw_trip_count(tw_compare compare, unsigned bits, uint64_t start, uint64_t step, uint64_t bound, uint64_t *arrivals)
{
    __int128 steps = 0;
    if (bits < 1 || bits > 64 || (unsigned)compare >= TW_COMPARE_COUNT) return false;
    if (tw_compare_holds(compare, bits, start, bound)) {
        bool known;
        if (compare == TW_COMPARE_NE) known = steps_to_meet(bits, start, step, bound, &steps);
        else if (compare == TW_COMPARE_EQ) {
            known = (step & mask_of(bits)) != 0; /* the next value differs */
            steps = 1;
        } else known = steps_to_pass(compare, bits, start, step, bound, &steps);
        if (!known) return false;
    }
    if (steps >= UINT64_MAX) return false;
    *arrivals = (uint64_t)steps + 1;
    return true;
}
