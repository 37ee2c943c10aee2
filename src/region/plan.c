/* SPDX-License-Identifier: Apache-2.0 */
#include "region/plan.h"

#include <inttypes.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "analysis/trip.h"
#include "ir/ir.h"
#include "region/exprs.h"
#include "region/refusals.h"

/* Inner trip counts and checks that vary with outer counters aren't proven by algebra: they are evaluated for every value
 * of those counters, and a linear form is fitted and compared at each point. Exact by construction, whatever masks,
 * shifts and selects the guest's compiler put in; the price is one evaluation a point (tens of nanoseconds), against the
 * iterations of the loops inside, each of which costs as much. POINTS bounds it. */
enum { POINTS = 1 << 16 };
static const uint64_t MOST_TRIPS = UINT64_C(1) << 40;

struct tw_plan {
    const tw_model *model;
    tw_arena arena;
    tw_numbers numbers;
    tw_plan_memory memory;
    uint64_t *value;                     /* by expr */
    uint8_t *poison;                     /* by expr */
    uint64_t counter[TW_MODEL_MAX_LOOPS];
    uint64_t *made_of;                   /* by expr: bit s % 64 for each symbol s in it */
    uint32_t **needs, *need_count;       /* by target (loops, then checks): the varying exprs to evaluate, in order */
};

/* ---- exprs ---- */

static uint64_t mask(uint64_t value, unsigned bits)
{
    return bits == 32 ? (uint32_t)value : value;
}

/* A live-in in memory. Little-endian, as wasm is. */
static bool load(tw_plan *plan, const tw_expr_node *node, uint64_t *out)
{
    uint64_t at = (uint32_t)plan->value[node->a] + node->imm;
    unsigned width = tw_op_describe((tw_op)node->op)->access;
    if (at > plan->memory.size || width > plan->memory.size - at) return false;
    uint64_t raw = 0;
    memcpy(&raw, plan->memory.base + at, width);
    plan->numbers.read_memory = true;
    switch (node->op) {
    case TW_OP_I32_LOAD8_S: raw = (uint32_t)(int8_t)raw; break;
    case TW_OP_I32_LOAD16_S: raw = (uint32_t)(int16_t)raw; break;
    case TW_OP_I64_LOAD8_S: raw = (uint64_t)(int8_t)raw; break;
    case TW_OP_I64_LOAD16_S: raw = (uint64_t)(int16_t)raw; break;
    case TW_OP_I64_LOAD32_S: raw = (uint64_t)(int32_t)raw; break;
    default: break;
    }
    *out = raw;
    return true;
}

static bool operate(tw_plan *plan, const tw_expr_node *node, uint64_t *out)
{
    if (plan->poison[node->a]) return false;
    if (node->b != TW_NONE && plan->poison[node->b]) return false;
    return tw_ir_fold_int((tw_op)node->op, plan->value[node->a],
                          node->b == TW_NONE ? 0 : plan->value[node->b], out);
}

static bool choose(tw_plan *plan, const tw_expr_node *node, uint64_t *out)
{
    if (plan->poison[node->a]) return false;
    uint32_t taken = (uint32_t)plan->value[node->a] ? node->b : node->c;
    *out = plan->value[taken];
    return !plan->poison[taken];
}

static bool count_trips(tw_plan *plan, const tw_expr_node *node, uint64_t *out)
{
    tw_compare compare;
    if (plan->poison[node->a] || plan->poison[node->b] || plan->poison[node->c]) return false;
    return tw_expr_compare((tw_op)node->op, &compare) &&
           tw_trip_count(compare, node->bits, plan->value[node->a], plan->value[node->b],
                         plan->value[node->c], out);
}

static void evaluate(tw_plan *plan, uint32_t index)
{
    const tw_expr_node *node = &plan->model->exprs[index];
    uint64_t value = 0;
    bool ok = true;
    switch ((tw_expr_kind)node->kind) {
    case TW_EXPR_CONST: value = node->imm; break;
    case TW_EXPR_SYMBOL: value = plan->numbers.symbols[node->index]; break;
    case TW_EXPR_COUNTER: value = plan->counter[node->index]; break;
    case TW_EXPR_OP: ok = operate(plan, node, &value); break;
    case TW_EXPR_SELECT: ok = choose(plan, node, &value); break;
    case TW_EXPR_LOAD: ok = !plan->poison[node->a] && load(plan, node, &value); break;
    case TW_EXPR_TRIPS: ok = count_trips(plan, node, &value); break;
    }
    plan->value[index] = node->kind == TW_EXPR_TRIPS ? value : mask(value, node->bits);
    plan->poison[index] = !ok;
}

/* The varying exprs that `target` is made of, ascending. */
static bool collect_needs(tw_plan *plan, uint32_t target, uint32_t slot, uint8_t *seen)
{
    const tw_model *model = plan->model;
    memset(seen, 0, model->expr_count);
    uint32_t count = 0;
    if (target != TW_NONE && model->exprs[target].counters) seen[target] = 1;
    for (uint32_t i = model->expr_count; i-- > 0;) {
        if (!seen[i]) continue;
        count++;
        uint32_t args[] = {model->exprs[i].a, model->exprs[i].b, model->exprs[i].c};
        for (int a = 0; a < 3; a++)
            if (args[a] != TW_NONE && model->exprs[args[a]].counters) seen[args[a]] = 1;
    }
    plan->need_count[slot] = count;
    plan->needs[slot] = TW_NEW_ARRAY(&plan->arena, uint32_t, count);
    if (!plan->needs[slot]) return false;
    for (uint32_t i = 0, k = 0; i < model->expr_count; i++)
        if (seen[i]) plan->needs[slot][k++] = i;
    return true;
}

static void find_made_of(tw_plan *plan)
{
    const tw_model *model = plan->model;
    for (uint32_t i = 0; i < model->expr_count; i++) {
        const tw_expr_node *node = &model->exprs[i];
        const uint32_t parts[] = {node->a, node->b, node->c};
        plan->made_of[i] = node->kind == TW_EXPR_SYMBOL ? UINT64_C(1) << node->index % 64 : 0;
        for (size_t p = 0; p < 3; p++)
            if (parts[p] != TW_NONE && parts[p] < i) plan->made_of[i] |= plan->made_of[parts[p]];
    }
}

tw_status tw_plan_new(const tw_model *model, tw_plan **out, tw_error *error)
{
    tw_plan *plan = calloc(1, sizeof *plan);
    TW_TRY_ALLOC(plan, error);
    plan->model = model;
    tw_arena *arena = &plan->arena;
    tw_arena_init(arena, TW_ARENA_NO_LIMIT);
    tw_numbers *numbers = &plan->numbers;
    uint32_t targets = model->loop_count + model->check_count;
    numbers->symbols = TW_NEW_ARRAY(arena, uint64_t, model->symbol_count);
    numbers->loops = TW_NEW_ARRAY(arena, tw_numbers_loop, model->loop_count);
    numbers->accesses = TW_NEW_ARRAY(arena, tw_numbers_access, model->access_count);
    numbers->affines = TW_NEW_ARRAY(arena, tw_numbers_affine, model->affine_count);
    plan->value = TW_NEW_ARRAY(arena, uint64_t, model->expr_count);
    plan->poison = TW_NEW_ARRAY(arena, uint8_t, model->expr_count);
    plan->made_of = TW_NEW_ARRAY(arena, uint64_t, model->expr_count);
    plan->needs = TW_NEW_ARRAY(arena, uint32_t *, targets);
    plan->need_count = TW_NEW_ARRAY(arena, uint32_t, targets);
    uint8_t *seen = TW_NEW_ARRAY(arena, uint8_t, model->expr_count);
    bool ok = numbers->symbols && numbers->loops && numbers->accesses && numbers->affines &&
              plan->value && plan->poison && plan->made_of && plan->needs && plan->need_count && seen;
    if (ok) find_made_of(plan);
    for (uint32_t l = 0; ok && l < model->loop_count; l++)
        ok = collect_needs(plan, model->loops[l].trips, l, seen);
    for (uint32_t c = 0; ok && c < model->check_count; c++)
        ok = collect_needs(plan, model->checks[c].expr, model->loop_count + c, seen);
    if (!ok) {
        tw_plan_free(plan);
        return tw_fail_memory(error);
    }
    *out = plan;
    return TW_OK;
}

void tw_plan_free(tw_plan *plan)
{
    if (!plan) return;
    tw_arena_free(&plan->arena);
    free(plan);
}

tw_numbers *tw_plan_numbers(tw_plan *plan)
{
    return &plan->numbers;
}

static bool refuse(tw_plan *plan, tw_refusal refusal, const char *format, ...)
    __attribute__((format(printf, 3, 4)));
static bool refuse(tw_plan *plan, tw_refusal refusal, const char *format, ...)
{
    va_list args;
    va_start(args, format);
    vsnprintf(plan->numbers.detail, sizeof plan->numbers.detail, format, args);
    va_end(args);
    plan->numbers.refusal = (uint16_t)refusal;
    return false;
}

/* ---- walking the values of outer counters ---- */

/* The loops of `chain` that `counters` names, with those that their trip counts vary with. */
static uint32_t closure(const tw_plan *plan, uint32_t counters, const uint32_t *chain, uint32_t length)
{
    for (uint32_t d = length; d-- > 0;)
        if (counters >> chain[d] & 1) counters |= plan->model->exprs[plan->model->loops[chain[d]].trips].counters;
    return counters;
}

static int64_t trips_at(const tw_plan *plan, uint32_t loop, const uint32_t *chain)
{
    const tw_numbers_loop *numbers = &plan->numbers.loops[loop];
    int64_t trips = numbers->t0;
    for (uint32_t d = 0; d < plan->model->loops[loop].depth; d++)
        trips += numbers->t[d] * (int64_t)plan->counter[chain[d]];
    return trips > 0 ? trips : 0;
}

typedef struct walk {
    uint32_t chain[TW_MODEL_MAX_DEPTH], length; /* the loops to step through, outermost first */
    uint64_t points;
} walk;

/* The first point, lexicographically; false when there is none. Loops outside the walk keep counter 0. */
static bool walk_settle(tw_plan *plan, walk *w, const uint32_t *full, uint32_t from)
{
    /* Steps back and forth until every counter is inside its loop's trips. */
    uint32_t d = from;
    while (d < w->length) {
        if ((int64_t)plan->counter[w->chain[d]] < trips_at(plan, w->chain[d], full)) {
            if (++d < w->length) plan->counter[w->chain[d]] = 0;
            continue;
        }
        if (d == 0) return false;
        d--;
        plan->counter[w->chain[d]]++;
    }
    w->points++;
    return true;
}

static bool walk_first(tw_plan *plan, walk *w, const uint32_t *full, uint32_t length, uint32_t counters)
{
    *w = (walk){0};
    counters = closure(plan, counters, full, length);
    for (uint32_t d = 0; d < length; d++) {
        plan->counter[full[d]] = 0;
        if (counters >> full[d] & 1) w->chain[w->length++] = full[d];
    }
    return walk_settle(plan, w, full, 0);
}

static bool walk_next(tw_plan *plan, walk *w, const uint32_t *full)
{
    if (!w->length) return false;
    plan->counter[w->chain[w->length - 1]]++;
    return walk_settle(plan, w, full, w->length - 1);
}

static void evaluate_needs(tw_plan *plan, uint32_t slot)
{
    for (uint32_t i = 0; i < plan->need_count[slot]; i++) evaluate(plan, plan->needs[slot][i]);
}

/* ---- trip counts ---- */

static bool trips_value(tw_plan *plan, uint32_t loop, int64_t *out)
{
    uint32_t expr = plan->model->loops[loop].trips;
    if (plan->poison[expr] || plan->value[expr] > MOST_TRIPS)
        return refuse(plan, TW_REFUSAL_TRIPS_UNKNOWN, "loop n%u: no trip count with these numbers", loop);
    *out = (int64_t)plan->value[expr];
    return true;
}

/* Fits t0 + Σ t[d]·n_d from the first points met in each direction, then holds every point against it. The fit needs the
 * points 0 and the unit steps from the first point; a loop that lacks them (a triangle's tip) gets its slope later. */
static bool fit_trips(tw_plan *plan, uint32_t loop, const uint32_t *chain, uint32_t length)
{
    tw_numbers_loop *numbers = &plan->numbers.loops[loop];
    uint32_t counters = plan->model->exprs[plan->model->loops[loop].trips].counters;
    bool fitted[TW_MODEL_MAX_DEPTH] = {false};
    uint64_t origin[TW_MODEL_MAX_DEPTH];
    int64_t first = 0, trips = 0;
    double sum = 0;
    walk w;
    if (!walk_first(plan, &w, chain, length, counters)) return true; /* never reached: stays 0 */
    numbers->least = INT64_MAX;
    numbers->varies = true;
    do {
        if (w.points > POINTS) return refuse(plan, TW_REFUSAL_TRIPS_SHAPE, "loop n%u: too many outer iterations to check its trip count", loop);
        evaluate_needs(plan, loop);
        if (!trips_value(plan, loop, &trips)) return false;
        if (w.points == 1) {
            for (uint32_t d = 0; d < length; d++) origin[d] = plan->counter[chain[d]];
            first = trips;
        }
        /* The form at this point, and the one direction, if any, in which it may still be fitted. */
        int64_t form = first, delta = 0;
        uint32_t open = TW_NONE, opens = 0;
        for (uint32_t d = 0; d < length; d++) {
            int64_t step = (int64_t)(plan->counter[chain[d]] - origin[d]);
            if (!step) continue;
            if (fitted[d]) form += numbers->t[d] * step;
            else open = d, delta = step, opens++;
        }
        if (opens > 1) return refuse(plan, TW_REFUSAL_TRIPS_SHAPE, "loop n%u: its trip count can't be fitted", loop);
        if (opens == 1) {
            if ((trips - form) % delta) return refuse(plan, TW_REFUSAL_TRIPS_SHAPE, "loop n%u: its trip count isn't linear in outer counters", loop);
            numbers->t[open] = (trips - form) / delta;
            fitted[open] = true;
        } else if (form != trips) {
            return refuse(plan, TW_REFUSAL_TRIPS_SHAPE, "loop n%u: its trip count isn't linear in outer counters", loop);
        }
        if (trips < numbers->least) numbers->least = trips;
        if (trips > numbers->most) numbers->most = trips;
        sum += (double)trips;
    } while (walk_next(plan, &w, chain));
    numbers->t0 = first;
    for (uint32_t d = 0; d < length; d++) numbers->t0 -= numbers->t[d] * (int64_t)origin[d];
    numbers->average = sum / (double)w.points;
    return true;
}

/* Every loop around it has a trip, with these numbers. */
static bool reached(const tw_plan *plan, const uint32_t *chain, uint32_t length)
{
    for (uint32_t d = 0; d < length; d++)
        if (plan->numbers.loops[chain[d]].most == 0) return false;
    return true;
}

static bool evaluate_loop(tw_plan *plan, uint32_t loop)
{
    const tw_model *model = plan->model;
    tw_numbers_loop *numbers = &plan->numbers.loops[loop];
    uint32_t chain[TW_MODEL_MAX_DEPTH];
    uint32_t length = tw_model_chain(model, model->loops[loop].parent, chain);
    *numbers = (tw_numbers_loop){0};
    if (!reached(plan, chain, length)) return true;
    if (model->exprs[model->loops[loop].trips].counters) return fit_trips(plan, loop, chain, length);
    if (!trips_value(plan, loop, &numbers->t0)) return false;
    numbers->least = numbers->most = numbers->t0;
    numbers->average = (double)numbers->t0;
    return true;
}

/* Loop 0 arrives `most` times. How many of these a kernel may run whole, and whether it then has left. */
static bool settle_outermost(tw_plan *plan)
{
    const tw_model *model = plan->model;
    tw_numbers *numbers = &plan->numbers;
    if (!model->loop_count) {
        numbers->iterations = 1;
        numbers->leaves = true;
        return true;
    }
    if (!evaluate_loop(plan, 0)) return false;
    tw_numbers_loop *outer = &numbers->loops[0];
    /* Left to the guest: the arrival that only finds the loop's end, when that isn't the latch's business; and one whole
     * iteration, when something is live after the loop that only running it can tell. */
    int64_t left = model->exits_at_end ? 0 : model->copies;
    for (uint32_t o = 0; o < model->live_out_count; o++)
        if (model->live_outs[o].kind == TW_LIVE_OUT_UNKNOWN) {
            left += model->copies;
            break;
        }
    outer->most = outer->most > left ? outer->most - left : 0;
    numbers->leaves = left == 0;
    numbers->iterations = (uint64_t)outer->most;
    outer->t0 = outer->least = outer->most;
    outer->average = (double)outer->most;
    return true;
}

/* ---- addresses ---- */

static void evaluate_affine(tw_plan *plan, uint32_t index)
{
    const tw_affine *affine = &plan->model->affines[index];
    tw_numbers_affine *numbers = &plan->numbers.affines[index];
    numbers->c0 = mask(plan->value[affine->base], affine->bits);
    for (uint32_t d = 0; d < TW_MODEL_MAX_DEPTH; d++)
        numbers->c[d] = affine->coef[d] == TW_NONE ? 0 : mask(plan->value[affine->coef[d]], affine->bits);
}

static bool affine_is_poison(const tw_plan *plan, const tw_affine *affine)
{
    bool poison = plan->poison[affine->base];
    for (uint32_t d = 0; d < TW_MODEL_MAX_DEPTH; d++)
        if (affine->coef[d] != TW_NONE) poison |= plan->poison[affine->coef[d]] != 0;
    return poison;
}

static int64_t as_signed(uint64_t value, uint8_t bits)
{
    return bits == 32 ? (int32_t)(uint32_t)value : (int64_t)value;
}

/* The greatest (or least) value over all counters, *out being that at their 0, by_depth what each multiplies: a counter runs from 0 to a bound that is linear in the counters around it, so
 * from the innermost loop outwards each is replaced by the end of its range that the sign of its coefficient asks for. Of a
 * triangle that is a corner, not the corner of the box around it. False when the arithmetic would overflow. */
static bool extreme(const tw_plan *plan, const uint32_t *chain, uint32_t length, const __int128 *by_depth, bool greatest, __int128 *out)
{
    __int128 coef[TW_MODEL_MAX_DEPTH], step;
    for (uint32_t d = 0; d < length; d++) coef[d] = by_depth[d];
#ifdef TW_PLANT_SWAP_MIN
    greatest = !greatest;
#endif
    for (uint32_t d = length; d-- > 0;) {
        const tw_numbers_loop *loop = &plan->numbers.loops[chain[d]];
        if (greatest ? coef[d] <= 0 : coef[d] >= 0) continue;
        if (__builtin_mul_overflow(coef[d], (__int128)loop->t0 - 1, &step) || __builtin_add_overflow(*out, step, out)) return false;
        for (uint32_t e = 0; e < d; e++)
            if (__builtin_mul_overflow(coef[d], (__int128)loop->t[e], &step) || __builtin_add_overflow(coef[e], step, &coef[e])) return false;
    }
    return true;
}

/* The range over all counters, given the value at their 0. */
typedef struct range {
    __int128 low, high;
} range;

static bool range_of(const tw_plan *plan, const uint32_t *chain, uint32_t length, __int128 base, const __int128 *coef, range *out)
{
    out->low = out->high = base;
    return extreme(plan, chain, length, coef, false, &out->low) && extreme(plan, chain, length, coef, true, &out->high);
}

static void signed_coefs(const tw_numbers_affine *affine, uint8_t bits, uint32_t length, __int128 *out)
{
    for (uint32_t d = 0; d < length; d++) out[d] = as_signed(affine->c[d], bits);
}

/* Signed representatives of base and strides, under the check that the whole range stays in one window of 2^32. */
static bool evaluate_access(tw_plan *plan, uint32_t index)
{
    const tw_model *model = plan->model;
    const tw_model_access *access = &model->accesses[index];
    const tw_affine *affine = &model->affines[access->address];
    const tw_numbers_affine *address = &plan->numbers.affines[access->address];
    tw_numbers_access *numbers = &plan->numbers.accesses[index];
    uint32_t chain[TW_MODEL_MAX_DEPTH];
    uint32_t length = tw_model_chain(model, access->loop, chain);
    *numbers = (tw_numbers_access){0};
    if (!reached(plan, chain, length)) return true;
    if (affine_is_poison(plan, affine))
        return refuse(plan, TW_REFUSAL_CHECK, "access x%u: its address can't be computed", index);
    for (uint32_t d = 0; d < length; d++) numbers->stride[d] = (int32_t)(uint32_t)address->c[d];
    __int128 coef[TW_MODEL_MAX_DEPTH];
    range bytes;
    signed_coefs(address, 32, length, coef);
    if (!range_of(plan, chain, length, address->c0, coef, &bytes))
        return refuse(plan, TW_REFUSAL_WRAP, "access x%u at 0x%" PRIx64 ": its addresses wrap round", index, access->place);
    bytes.low += access->least, bytes.high += access->most;
#ifndef TW_PLANT_SKIP_WRAP
    if (bytes.low < 0 || bytes.high > UINT32_MAX)
        return refuse(plan, TW_REFUSAL_WRAP, "access x%u at 0x%" PRIx64 ": its addresses wrap round", index, access->place);
#endif
    numbers->base = (int64_t)(address->c0 + access->offset);
    numbers->low = (int64_t)(bytes.low + access->offset);
    numbers->high = (int64_t)(bytes.high + access->offset + access->width);
#ifdef TW_PLANT_SHIFT_FOOTPRINT
    numbers->low += 3 * access->width;
    numbers->high -= 3 * access->width;
    if (numbers->high < numbers->low) numbers->high = numbers->low;
#endif
    if (numbers->low < 0 || numbers->high < numbers->low || (uint64_t)numbers->high > plan->memory.size)
        return refuse(plan, TW_REFUSAL_BOUNDS,
                      "access x%u at 0x%" PRIx64 ": bytes %" PRId64 " to %" PRId64 " of a memory of %" PRIu64,
                      index, access->place, numbers->low, numbers->high, plan->memory.size);
    return true;
}

static bool share_symbols(const tw_plan *plan, uint32_t x, uint32_t y)
{
    const tw_model *model = plan->model;
    uint64_t first = plan->made_of[model->affines[model->accesses[x].address].base];
    uint64_t second = plan->made_of[model->affines[model->accesses[y].address].base];
    return first == second || (first & second) != 0;
}

/* A kernel reaches an access from another one that lies a small constant away. In a memory that ends at 2^32 the way from its
 * last bytes to its first ones may lead round: there the constant isn't the distance. */
static bool evaluate_neighbours(tw_plan *plan)
{
    const int64_t round = (INT64_C(1) << 32) - TW_MODEL_MAX_DELTA;
    if (plan->memory.size <= (uint64_t)round) return true;
    const tw_model *model = plan->model;
    const tw_numbers_access *numbers = plan->numbers.accesses;
    for (uint32_t x = 1; x < model->access_count; x++)
        for (uint32_t y = 0; y < x; y++) {
            if (model->accesses[x].loop != model->accesses[y].loop || numbers[x].low == numbers[x].high || !share_symbols(plan, x, y)) continue;
            int64_t apart = numbers[x].base - numbers[y].base;
            if (apart >= round || apart <= -round)
                return refuse(plan, TW_REFUSAL_WRAP, "access x%u at 0x%" PRIx64 ": it lies at the other end of the memory than x%u",
                              x, model->accesses[x].place, y);
        }
    return true;
}

/* ---- checks and work ---- */

static bool evaluate_check(tw_plan *plan, uint32_t index)
{
    const tw_check *check = &plan->model->checks[index];
    uint32_t chain[TW_MODEL_MAX_DEPTH];
    uint32_t length = tw_model_chain(plan->model, check->loop, chain);
    walk w;
    if (!reached(plan, chain, length)) return true;
    if (!walk_first(plan, &w, chain, length, plan->model->exprs[check->expr].counters)) return true;
    do {
        if (w.points > POINTS) return refuse(plan, check->refusal, "check %u: too many outer iterations to prove it", index);
        evaluate_needs(plan, plan->model->loop_count + index);
        if (plan->poison[check->expr] || !plan->value[check->expr])
            return refuse(plan, check->refusal, "check %u doesn't hold (e%u)", index, check->expr);
    } while (walk_next(plan, &w, chain));
    return true;
}

/* One side of a limit as integers, in one window of the signedness: no value of it has wrapped. False where one has. */
static bool side_of(const tw_plan *plan, uint32_t affine, bool is_signed, __int128 *base, __int128 *coef, range *out)
{
    const tw_affine *a = &plan->model->affines[affine];
    const tw_numbers_affine *numbers = &plan->numbers.affines[affine];
    uint32_t chain[TW_MODEL_MAX_DEPTH], length = tw_model_chain(plan->model, a->loop, chain);
    const __int128 round = (__int128)1 << a->bits, least = is_signed ? -(round >> 1) : 0, most = least + round - 1;
    *base = is_signed ? as_signed(numbers->c0, a->bits) : (__int128)numbers->c0;
    signed_coefs(numbers, a->bits, length, coef);
    return range_of(plan, chain, length, *base, coef, out) && out->low >= least && out->high <= most;
}

/* *out: the range of what is left of the compare, less its right side. */
static bool difference(const tw_plan *plan, const tw_limit *limit, bool is_signed, range *out)
{
    const tw_affine *affine = &plan->model->affines[limit->affine];
    uint32_t chain[TW_MODEL_MAX_DEPTH], length = tw_model_chain(plan->model, affine->loop, chain);
    __int128 left[TW_MODEL_MAX_DEPTH], right[TW_MODEL_MAX_DEPTH], base, other;
    range side;
    if (!side_of(plan, limit->affine, is_signed, &base, left, out)) return false;
    if (limit->other == TW_NONE) {
        other = is_signed ? as_signed(plan->value[limit->bound], affine->bits) : (__int128)plan->value[limit->bound];
        out->low -= other, out->high -= other;
        return true;
    }
    if (!side_of(plan, limit->other, is_signed, &other, right, &side)) return false;
    for (uint32_t d = 0; d < length; d++) left[d] -= right[d];
    return range_of(plan, chain, length, base - other, left, out);
}

static bool limit_holds(const tw_plan *plan, const tw_limit *limit, tw_compare compare, bool is_signed)
{
    range gap;
    if (!difference(plan, limit, is_signed, &gap)) return false;
#ifdef TW_PLANT_LIMIT_BY_ONE
    if (gap.high > gap.low) gap.high--;
#endif
    switch (compare) {
    case TW_COMPARE_EQ: return gap.low == 0 && gap.high == 0;
    case TW_COMPARE_NE: return gap.low > 0 || gap.high < 0;
    case TW_COMPARE_LT_S: case TW_COMPARE_LT_U: return gap.high < 0;
    case TW_COMPARE_LE_S: case TW_COMPARE_LE_U: return gap.high <= 0;
    case TW_COMPARE_GT_S: case TW_COMPARE_GT_U: return gap.low > 0;
    case TW_COMPARE_GE_S: case TW_COMPARE_GE_U: return gap.low >= 0;
    case TW_COMPARE_COUNT: break;
    }
    return false;
}

static bool evaluate_limit(tw_plan *plan, uint32_t index)
{
    const tw_limit *limit = &plan->model->limits[index];
    const tw_affine *affine = &plan->model->affines[limit->affine];
    uint32_t chain[TW_MODEL_MAX_DEPTH], length = tw_model_chain(plan->model, affine->loop, chain);
    tw_compare compare;
    if (!reached(plan, chain, length)) return true;
    bool poison = limit->other == TW_NONE ? plan->poison[limit->bound] : affine_is_poison(plan, &plan->model->affines[limit->other]);
    if (poison || affine_is_poison(plan, affine) || !tw_expr_compare((tw_op)limit->op, &compare))
        return refuse(plan, TW_REFUSAL_CHECK, "whether the way out at 0x%" PRIx64 " is taken can't be computed", limit->place);
    bool holds = limit_holds(plan, limit, compare, tw_compare_is_signed(compare));
    if (!holds && compare <= TW_COMPARE_NE) holds = limit_holds(plan, limit, compare, true);
    return holds || refuse(plan, TW_REFUSAL_CHECK, "the way out at 0x%" PRIx64 " may be taken, and ends in a trap", limit->place);
}

/* Two footprints with a common byte where the model needs them apart. */
static bool evaluate_apart(tw_plan *plan, uint32_t index)
{
    const tw_pair *pair = &plan->model->apart[index];
    const tw_numbers_access *x = &plan->numbers.accesses[pair->first], *y = &plan->numbers.accesses[pair->second];
    if (x->low == x->high || y->low == y->high || x->high <= y->low || y->high <= x->low) return true;
    return refuse(plan, TW_REFUSAL_DEPENDENCE, "accesses at 0x%" PRIx64 " and 0x%" PRIx64 " overlap",
                  plan->model->accesses[pair->first].place, plan->model->accesses[pair->second].place);
}

static double work_of(const tw_plan *plan, const tw_item *items, uint32_t count)
{
    double work = 0;
    for (uint32_t i = 0; i < count; i++) {
        if (items[i].kind != TW_ITEM_LOOP) {
            work += 2;
            continue;
        }
        const tw_model_loop *loop = &plan->model->loops[items[i].index];
        work += plan->numbers.loops[items[i].index].average * work_of(plan, loop->items, loop->item_count);
    }
    return work;
}

bool tw_plan_evaluate(tw_plan *plan, tw_plan_memory memory)
{
    const tw_model *model = plan->model;
    tw_numbers *numbers = &plan->numbers;
    plan->memory = memory;
    numbers->read_memory = false;
    numbers->refusal = TW_REFUSAL_NONE;
    numbers->detail[0] = 0;
    for (uint32_t e = 0; e < model->expr_count; e++)
        if (!model->exprs[e].counters) evaluate(plan, e);
    if (!settle_outermost(plan)) return false;
    for (uint32_t l = 1; l < model->loop_count; l++)
        if (!evaluate_loop(plan, l)) return false;
    for (uint32_t a = 0; a < model->affine_count; a++) evaluate_affine(plan, a);
    for (uint32_t c = 0; c < model->check_count; c++)
        if (!evaluate_check(plan, c)) return false;
    for (uint32_t l = 0; l < model->limit_count; l++)
        if (!evaluate_limit(plan, l)) return false;
    for (uint32_t x = 0; x < model->access_count; x++)
        if (!evaluate_access(plan, x)) return false;
    if (!evaluate_neighbours(plan)) return false;
    for (uint32_t p = 0; p < model->apart_count; p++)
        if (!evaluate_apart(plan, p)) return false;
    numbers->work = model->loop_count ? (double)numbers->iterations *
                                            work_of(plan, model->loops[0].items, model->loops[0].item_count)
                                      : work_of(plan, model->items, model->item_count);
    return true;
}

uint64_t tw_plan_header_after(const tw_plan *plan, uint32_t header, uint64_t iterations)
{
    const tw_header *h = &plan->model->headers[header];
    uint64_t value = plan->numbers.symbols[h->symbol];
    if (h->kind != TW_HEADER_AFFINE) return value;
    unsigned bits = h->type == TW_I64 ? 64 : 32;
    return mask(value + iterations / plan->model->copies * plan->value[h->step], bits);
}

uint64_t tw_plan_live_out(const tw_plan *plan, uint32_t live_out)
{
    uint32_t index = plan->model->live_outs[live_out].affine;
    const tw_numbers_affine *affine = &plan->numbers.affines[index];
    return mask(affine->c0 + affine->c[0] * (plan->numbers.iterations / plan->model->copies - 1), plan->model->affines[index].bits);
}
