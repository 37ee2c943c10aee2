/* SPDX-License-Identifier: Apache-2.0
 * Branch and bound over the terms, largest coefficient first. At each level the rest's hull leaves few values of x (for rows
 * of an array: one or two), and the rest's greatest common divisor excludes residues that can't be reached. For addresses as
 * programs make them, where each coefficient exceeds the hull of all smaller terms, that is exact and takes a step or two a
 * level; where it isn't, the budget ends it, with the safe answer. */
#include "dispatch/overlap.h"

typedef __int128 wide;

static const wide TOO_LARGE = (wide)1 << 100;

typedef struct search {
    const tw_overlap *of;
    wide low[TW_OVERLAP_TERMS + 1], high[TW_OVERLAP_TERMS + 1], gcd[TW_OVERLAP_TERMS + 1]; /* of terms k, k+1, … */
    uint32_t *budget;
} search;

/* Most numbers fit into 64 bits, and dividing those is ten times quicker. */
static bool is_short(wide a)
{
    return a == (int64_t)a && a != INT64_MIN;
}

static wide floor_div(wide a, wide b) /* b > 0 */
{
    if (is_short(a) && is_short(b)) return (int64_t)a / (int64_t)b - ((int64_t)a % (int64_t)b < 0);
    return a / b - (a % b < 0);
}

static wide gcd_of(wide a, wide b) /* a > 0, b >= 0 */
{
    while (b) {
        wide rest = is_short(a) && is_short(b) ? (int64_t)a % (int64_t)b : a % b;
        a = b, b = rest;
    }
    return a;
}

/* ---- normal form: positive coefficients, descending, no two alike ---- */

static void make_positive(tw_overlap_term *term)
{
    if (term->coef >= 0) return;
    int64_t low = term->low;
    term->coef = -term->coef, term->low = -term->high, term->high = -low;
}

/* x + y for x in one range and y in the other takes every value of the sum's range, 0 too: both ranges hold 0 and one of its
 * neighbours, so one that mustn't be 0 has the other make up for it. */
static bool merge_into(tw_overlap_term *to, const tw_overlap_term *from)
{
    to->nonzero = false;
    return !__builtin_add_overflow(to->low, from->low, &to->low) && !__builtin_add_overflow(to->high, from->high, &to->high);
}

/* Insertion by coefficient. False: a range overflows. */
static bool insert(tw_overlap_term *terms, uint32_t *count, tw_overlap_term term)
{
    uint32_t at = 0;
    while (at < *count && terms[at].coef > term.coef) at++;
    if (at < *count && terms[at].coef == term.coef) return merge_into(&terms[at], &term);
    for (uint32_t i = *count; i > at; i--) terms[i] = terms[i - 1];
    terms[at] = term;
    ++*count;
    return true;
}

static bool normalise(tw_overlap *overlap)
{
    uint32_t given = overlap->count;
    overlap->count = 0;
    for (uint32_t i = 0; i < given; i++) {
        tw_overlap_term term = overlap->terms[i];
        if (term.low == INT64_MIN) return false;
        make_positive(&term);
        bool fixed = term.low == 0 && term.high == 0;
        if (term.coef && !fixed && !insert(overlap->terms, &overlap->count, term)) return false;
    }
    return true;
}

/* ---- the search ---- */

static bool summarise(search *s)
{
    uint32_t count = s->of->count;
    s->low[count] = s->high[count] = s->gcd[count] = 0;
    for (uint32_t k = count; k--;) {
        const tw_overlap_term *term = &s->of->terms[k];
        wide low, high;
        if (__builtin_mul_overflow(term->coef, (wide)term->low, &low) || low < -TOO_LARGE) return false;
        if (__builtin_mul_overflow(term->coef, (wide)term->high, &high) || high > TOO_LARGE) return false;
        s->low[k] = s->low[k + 1] + low, s->high[k] = s->high[k + 1] + high;
        s->gcd[k] = gcd_of(term->coef, s->gcd[k + 1]);
    }
    return true;
}

/* Some value in [least, most] is start modulo gcd. */
static bool residue_fits(const search *s, uint32_t k, wide start)
{
    wide gcd = s->gcd[k], least = s->of->least;
    wide ahead = start - least - floor_div(start - least, gcd) * gcd;
    return least + ahead <= s->of->most;
}

static bool reach(search *s, uint32_t k, wide start)
{
    if (start + s->low[k] > s->of->most || start + s->high[k] < s->of->least) return false;
    if (k == s->of->count) return true;
    if (!residue_fits(s, k, start)) return false;
    const tw_overlap_term *term = &s->of->terms[k];
    wide first = -floor_div(-(s->of->least - start - s->high[k + 1]), term->coef);
    wide last = floor_div(s->of->most - start - s->low[k + 1], term->coef);
    if (first < term->low) first = term->low;
    if (last > term->high) last = term->high;
    for (wide x = first; x <= last; x++) {
        if (!*s->budget) return true;
        --*s->budget;
        if (!(term->nonzero && x == 0) && reach(s, k + 1, start + term->coef * x)) return true;
    }
    return false;
}

bool tw_overlap_possible(tw_overlap *overlap, uint32_t *budget)
{
    search s;
    s.of = overlap, s.budget = budget;
    if (overlap->least > overlap->most) return false;
    if (!normalise(overlap) || !summarise(&s)) return true;
    return reach(&s, 0, overlap->start);
}
