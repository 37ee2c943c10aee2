/* SPDX-License-Identifier: Apache-2.0
 * Of a pair of loops o (outer) and i (inner), take an access a in iteration (o, i) and b in (o + d, i + e), outer counters being
 * equal. If both have the same strides O and I by the pair's loops, then
 *
 *   address(b) - address(a) = base(b) - base(a) + Σ outer (B - A)·n + O·d + I·e
 *
 * and they touch a common byte when that lies in (-width(b), width(a)). For d = 0, 1, … the least e for which that can be is
 * asked for, one exact question (overlap.c) after the other; beyond NEAR outer iterations one question does for all. What is
 * written down is a lower bound of every dependence: at least (d, e) on for one of the pairs. Where e would be less than -FAR, or
 * strides differ, nothing is said. */
#include "dispatch/distances.h"

#include <string.h>

#include "dispatch/overlap.h"
#include "region/fronts.h"

static const double
    MEETING = 10000, /* cycles */
    MARGIN = 1.3,
    TILE_ROWS = 16, TILE_WIDTH = 256, /* about what the schedule takes */
    FEW_TRIPS = 24;

enum { NEAR = 3, FAR = 8, PAIR_BUDGET = 200, BUDGET = 20000 };

/* ---- the pair ---- */

static bool is_pair(const tw_model *model, const tw_numbers *numbers, uint32_t inner)
{
    return tw_fronts_pair(model, inner, numbers->loops[inner].varies) && numbers->loops[inner].most > 1 &&
           numbers->loops[model->loops[inner].parent].most > 1;
}

static double size_of(const tw_numbers *numbers, uint32_t outer, uint32_t inner)
{
    return (double)numbers->loops[outer].most * (double)numbers->loops[inner].most;
}

bool tw_pair_find(const tw_model *model, const tw_numbers *numbers, uint32_t *inner)
{
    double most = 0;
    for (uint32_t l = 0; l < model->loop_count; l++) {
        if (!is_pair(model, numbers, l) || size_of(numbers, model->loops[l].parent, l) <= most) continue;
        most = size_of(numbers, model->loops[l].parent, l);
        *inner = l;
    }
    return most > 0;
}

/* ---- distances ---- */

typedef struct pair_search {
    const tw_model *model;
    const tw_numbers *numbers;
    uint32_t outer, inner, depth; /* depth: of the outer loop */
    int64_t last_outer, last_inner;
    uint32_t chain[TW_MODEL_MAX_DEPTH];
    uint32_t budget;
} pair_search;

static int64_t last_of(const tw_numbers *numbers, uint32_t loop)
{
    int64_t most = numbers->loops[loop].most;
    return most > 1 ? most - 1 : 1; /* one trip counts as two, so that facts don't flicker with the size */
}

/* Can b, (d, e) iterations on from a, touch one of its bytes, for some d in [first, last] and e in [low, high]? */
static bool reaches(pair_search *s, uint32_t a, uint32_t b, int64_t first, int64_t last, int64_t low, int64_t high)
{
    const tw_numbers_access *A = &s->numbers->accesses[a], *B = &s->numbers->accesses[b];
    int64_t outer = A->stride[s->depth], inner = A->stride[s->depth + 1];
    tw_overlap o = {.least = 1 - (int64_t)s->model->accesses[b].width, .most = (int64_t)s->model->accesses[a].width - 1};
    if (low < -s->last_inner) low = -s->last_inner;
    if (high > s->last_inner) high = s->last_inner;
    if (last > s->last_outer) last = s->last_outer;
    if (first > last || low > high) return false;
    o.start = (__int128)B->base - A->base + (__int128)outer * first + (__int128)inner * low;
    for (uint32_t d = 0; d < s->depth; d++) {
        __int128 apart = (__int128)B->stride[d] - A->stride[d];
        if (apart) o.terms[o.count++] = (tw_overlap_term){apart, 0, last_of(s->numbers, s->chain[d]), false};
    }
    if (outer && first < last) o.terms[o.count++] = (tw_overlap_term){outer, 0, last - first, false};
    if (inner && low < high) o.terms[o.count++] = (tw_overlap_term){inner, 0, high - low, false};
    uint32_t budget = s->budget < PAIR_BUDGET ? s->budget : PAIR_BUDGET, before = budget;
    bool answer = tw_overlap_possible(&o, &budget);
    s->budget -= before - budget;
    return answer;
}

/* The least inner distance at an outer one: 1 says as much as all that is greater. */
enum { NONE_THERE = 2 };

/* Lowers *least to the least inner distance at outer distances [first, last]. False: too far back. */
static bool lower(pair_search *s, uint32_t a, uint32_t b, int64_t first, int64_t last, int *least)
{
    if (!reaches(s, a, b, first, last, -s->last_inner, s->last_inner)) return true;
    if (*least == NONE_THERE) *least = 1;
    if (reaches(s, a, b, first, last, -s->last_inner, -FAR - 1)) return false;
    for (int e = -FAR; e < *least; e++)
        if (reaches(s, a, b, first, last, e, e)) *least = e;
    return true;
}

static bool same_strides(const pair_search *s, uint32_t a, uint32_t b)
{
    const tw_numbers_access *A = &s->numbers->accesses[a], *B = &s->numbers->accesses[b];
    return A->stride[s->depth] == B->stride[s->depth] && A->stride[s->depth + 1] == B->stride[s->depth + 1];
}

/* least[d]: at outer distance d; the last: or more. */
static bool add_accesses(pair_search *s, uint32_t a, uint32_t b, bool *within, int least[NEAR + 1])
{
    *within |= reaches(s, a, b, 0, 0, 1, s->last_inner);
    for (int d = 1; d <= NEAR; d++)
        if (!lower(s, a, b, d, d == NEAR ? s->last_outer : d, &least[d])) return false;
    return true;
}

/* All that lies in the pair and may meet a store there. */
static bool search(pair_search *s, const tw_facts *facts, bool *within, int least[NEAR + 1])
{
    const tw_model *model = s->model;
    for (uint32_t x = 0; x < model->access_count; x++) {
        const tw_model_access *store = &model->accesses[x];
        if (!store->is_store || store->loop != s->inner) continue;
        for (uint32_t y = 0; y < model->access_count; y++) {
            const tw_model_access *other = &model->accesses[y];
            if (other->is_inspected || facts->group[y] != facts->group[x] || (other->is_store && y < x)) continue;
            if (other->loop == s->outer) return false;
            if (other->loop != s->inner) continue; /* elsewhere: the order between there and here is kept */
            if (!same_strides(s, x, y) || !add_accesses(s, x, y, within, least) || !add_accesses(s, y, x, within, least)) return false;
        }
    }
    return true;
}

bool tw_distances_find(const tw_model *model, const tw_numbers *numbers, uint32_t inner, tw_facts *facts)
{
    uint32_t outer = model->loops[inner].parent;
    pair_search s = {.model = model, .numbers = numbers, .outer = outer, .inner = inner, .depth = model->loops[outer].depth,
                     .last_outer = last_of(numbers, outer), .last_inner = last_of(numbers, inner), .budget = BUDGET};
    bool within = false;
    int least[NEAR + 1], ahead = NONE_THERE;
    for (int d = 0; d <= NEAR; d++) least[d] = NONE_THERE;
    tw_model_chain(model, inner, s.chain);
    facts->distance_count = 0;
    if (!search(&s, facts, &within, least)) return false;
    facts->pair = (uint8_t)inner;
    if (within) least[0] = 1;
    for (int d = 0; d <= NEAR; d++) {
#ifdef TW_PLANT_NEAR_DISTANCE
        least[d] += d > 0;
#endif
        if (least[d] >= ahead) continue;
        ahead = least[d];
        facts->distance[facts->distance_count++] = (tw_distance){(int8_t)d, (int8_t)least[d]};
    }
    return facts->distance_count > 0;
}

/* ---- profit ---- */

/* Iterations of the inner loop after which the access meets what a store wrote; 0: it doesn't, or not soon. */
static int64_t lag_of(const tw_model *model, const tw_numbers *numbers, uint32_t store, uint32_t load, uint32_t depth)
{
    const tw_numbers_access *s = &numbers->accesses[store], *l = &numbers->accesses[load];
    int64_t apart, stride = s->stride[depth];
    if (!stride || model->accesses[load].loop != model->accesses[store].loop || __builtin_sub_overflow(s->base, l->base, &apart)) return 0;
    for (uint32_t d = 0; d <= depth; d++)
        if (s->stride[d] != l->stride[d]) return 0;
    return apart % stride == 0 && apart / stride > 0 && apart / stride <= FAR ? apart / stride : 0;
}

static void find_lags(const tw_model *model, const tw_numbers *numbers, uint32_t inner, uint8_t *lags)
{
    memset(lags, 0, model->access_count);
    for (uint32_t x = 0; x < model->access_count; x++)
        for (uint32_t y = 0; y < model->access_count; y++) {
            if (!model->accesses[x].is_store || model->accesses[x].loop != inner || model->accesses[y].is_store) continue;
            int64_t lag = lag_of(model, numbers, x, y, model->loops[inner].depth);
            if (lag && (!lags[y] || lag < lags[y])) lags[y] = (uint8_t)lag;
        }
}

bool tw_fronts_pay(const tw_model *model, const tw_numbers *numbers, uint32_t inner, uint32_t threads)
{
    uint8_t lags[TW_MODEL_MAX_ACCESSES];
    double outer_trips = (double)numbers->loops[model->loops[inner].parent].most, inner_trips = (double)numbers->loops[inner].most;
    if (outer_trips < FEW_TRIPS || inner_trips < FEW_TRIPS) return false;
    find_lags(model, numbers, inner, lags);
    double alone = tw_fronts_work(model, inner), meetings = outer_trips / TILE_ROWS + (inner_trips + outer_trips) / TILE_WIDTH;
    double shared = alone / threads + MEETING * meetings / (outer_trips * inner_trips);
    return tw_fronts_wait(model, inner, lags) > MARGIN * (threads > 1 && shared < alone ? shared : alone);
}
