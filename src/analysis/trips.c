/* SPDX-License-Identifier: Apache-2.0 */
#include "analysis/inside.h"

/* From the test at an exit to the form of the trip-count table. Where in the iteration the test stands, and whether
 * before or after the increment, makes no difference: both sides are polynomials in the loop's COUNTER. */

typedef struct test {
    tw_compare compare; /* the loop goes on while left compare right */
    tw_ir_value left, right; /* right 0: the number 0 */
    uint8_t bits;
} test;

static bool compare_of(tw_op op, tw_compare *compare, uint8_t *bits)
{
    static const struct { tw_op op32, op64; tw_compare compare; } rows[] = {
        {TW_OP_I32_EQ, TW_OP_I64_EQ, TW_COMPARE_EQ},       {TW_OP_I32_NE, TW_OP_I64_NE, TW_COMPARE_NE},
        {TW_OP_I32_LT_S, TW_OP_I64_LT_S, TW_COMPARE_LT_S}, {TW_OP_I32_LE_S, TW_OP_I64_LE_S, TW_COMPARE_LE_S},
        {TW_OP_I32_GT_S, TW_OP_I64_GT_S, TW_COMPARE_GT_S}, {TW_OP_I32_GE_S, TW_OP_I64_GE_S, TW_COMPARE_GE_S},
        {TW_OP_I32_LT_U, TW_OP_I64_LT_U, TW_COMPARE_LT_U}, {TW_OP_I32_LE_U, TW_OP_I64_LE_U, TW_COMPARE_LE_U},
        {TW_OP_I32_GT_U, TW_OP_I64_GT_U, TW_COMPARE_GT_U}, {TW_OP_I32_GE_U, TW_OP_I64_GE_U, TW_COMPARE_GE_U}};
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++)
        if (op == rows[i].op32 || op == rows[i].op64) {
            *compare = rows[i].compare;
            *bits = op == rows[i].op32 ? 32 : 64;
            return true;
        }
    return false;
}

/* What goes on when `value` is not 0 (truth), or is 0. Peels eqz off, and comparisons of a comparison with 0. */
static test read_test(const tw_ir_func *func, tw_ir_value value, bool truth)
{
    for (int depth = 0; depth < 8; depth++) {
        const tw_ir_valuedata *data = &func->values[value];
        if (data->kind != TW_IR_RESULT) break;
        const tw_ir_inst *inst = &func->insts[data->inst];
        test t = {.left = inst->arg_count ? inst->args[0] : 0};
        if (inst->op == TW_OP_I32_EQZ) {
            value = inst->args[0];
            truth = !truth;
            continue;
        }
        if (inst->op == TW_OP_I64_EQZ) {
            t.compare = truth ? TW_COMPARE_EQ : TW_COMPARE_NE;
            t.bits = 64;
            return t;
        }
        if (!compare_of(inst->op, &t.compare, &t.bits)) break;
        t.right = inst->args[1];
        if (!truth) t.compare = tw_compare_negate(t.compare);
        return t;
    }
    return (test){.compare = truth ? TW_COMPARE_NE : TW_COMPARE_EQ, .left = value, .bits = 32};
}

static tw_trip unknown(const char *why)
{
    return (tw_trip){.why = why};
}

/* ---- bounds in memory ----
 *
 * A compiler that can't rule out that a store hits a bound loads it again in every iteration. Such a load gives the same each
 * time provided that no store of the loop touches it, which is for the numbers of an arrival to say (region/build.c makes
 * an inspected access of it). Nothing here but a trip count takes that for granted. */

enum { DEEPEST_BOUND = 8 };

static bool poly_steady(tw_analysis *a, const tw_poly *poly, tw_loop loop, int depth);

/* A load in the loop at an address that doesn't change, or pure operations on such. */
static bool value_steady(tw_analysis *a, tw_ir_value value, tw_loop loop, int depth)
{
    const tw_ir_valuedata *data = &a->func->values[value];
    if (data->kind == TW_IR_CONST || !tw_loop_has_block(a->loops, loop, data->block)) return true;
    if (data->kind != TW_IR_RESULT || depth > DEEPEST_BOUND) return false;
    const tw_ir_inst *inst = &a->func->insts[data->inst];
    uint8_t kind = tw_op_describe(inst->op)->kind;
    if ((kind != TW_KIND_LOAD && kind != TW_KIND_PURE) || !inst->arg_count) return false;
    for (uint32_t i = 0; i < inst->arg_count; i++)
        if (!poly_steady(a, tw_evolution_of(a, inst->args[i], a->loops->innermost[inst->block]), loop, depth + 1)) return false;
    return true;
}

static bool poly_steady(tw_analysis *a, const tw_poly *poly, tw_loop loop, int depth)
{
    if (tw_poly_invariant(a, poly, loop)) return true;
    for (uint32_t t = 0; poly && t < poly->term_count; t++)
        for (int k = 0; k < TW_POLY_DEGREE && poly->terms[t].atoms[k]; k++) {
            tw_atom atom = poly->terms[t].atoms[k];
            if (tw_atom_kind_of(atom) != TW_ATOM_VALUE || !value_steady(a, tw_atom_index(atom), loop, depth)) return false;
        }
    return poly != NULL;
}

/* lhs = start + step * COUNTER, all but the counter steady. */
static bool advances(tw_analysis *a, tw_loop loop, const tw_poly *side, const tw_poly **start, const tw_poly **step)
{
    return tw_poly_linear(&a->arena, side, tw_atom_make(TW_ATOM_COUNTER, loop), step, start) &&
           poly_steady(a, *start, loop, 0) && tw_poly_invariant(a, *step, loop);
}

static tw_trip describe(tw_analysis *a, tw_loop loop, test t)
{
    const tw_poly *left = tw_evolution_of(a, t.left, loop);
    const tw_poly *right = t.right ? tw_evolution_of(a, t.right, loop) : tw_poly_const(&a->arena, t.bits, 0);
    tw_trip trip = {.known = true, .compare = t.compare, .bits = t.bits};
    if (!left || !right || left->bits != t.bits || right->bits != t.bits) return unknown("the test isn't of integers");
    bool left_fixed = poly_steady(a, left, loop, 0), right_fixed = poly_steady(a, right, loop, 0);
    if (left_fixed && !right_fixed) {
        const tw_poly *other = left;
        left = right;
        right = other;
        trip.compare = tw_compare_swap(trip.compare);
    } else if (left_fixed && !(tw_poly_invariant(a, left, loop) && tw_poly_invariant(a, right, loop))) {
        return unknown("the tested value doesn't advance"); /* a counter in memory */
    } else if (!right_fixed) {
        if (trip.compare != TW_COMPARE_EQ && trip.compare != TW_COMPARE_NE) return unknown("both sides of the test change");
        left = tw_poly_sub(&a->arena, left, right);
        right = tw_poly_const(&a->arena, t.bits, 0);
    }
    if (!advances(a, loop, left, &trip.start, &trip.step)) return unknown("the tested value doesn't advance evenly");
    trip.bound = right;
    trip.loaded = !tw_poly_invariant(a, trip.start, loop) || !tw_poly_invariant(a, right, loop);
    return trip;
}

/* A block dominates every latch exactly when its interval in the dominator tree holds all of theirs. */
typedef struct interval {
    uint32_t in, out;
} interval;

static interval latch_interval(const tw_analysis *a, const tw_loopdata *data)
{
    interval all = {UINT32_MAX, 0};
    for (uint32_t i = 0; i < data->latch_count; i++) {
        uint32_t in = a->cfg->dom_in[data->latches[i].from], out = a->cfg->dom_out[data->latches[i].from];
        if (in < all.in) all.in = in;
        if (out > all.out) all.out = out;
    }
    return all;
}

static tw_trip trip_of_exit(tw_analysis *a, tw_loop loop, tw_cfg_edge exit, interval latches)
{
    const tw_loopdata *data = &a->loops->items[loop];
    const tw_ir_blockdata *block = &a->func->blocks[exit.from];
    if (data->irreducible) return unknown("the loop has a cycle with more than one entry");
    if (a->loops->innermost[exit.from] != loop) return unknown("the exit leaves from an inner loop");
    if (a->cfg->dom_in[exit.from] > latches.in || a->cfg->dom_out[exit.from] < latches.out)
        return unknown("not every iteration makes the test");
    if (block->term != TW_IR_BRANCH) return unknown("the exit is part of a switch");
    return describe(a, loop, read_test(a->func, block->value, exit.edge == 1));
}

const tw_trip *tw_trips_find(tw_analysis *a, tw_loop loop)
{
    if (!tw_analysis_loops(a)) return NULL;
    if (!a->trips) a->trips = TW_NEW_ARRAY(&a->arena, tw_trip *, a->loops->count);
    if (!a->trips) return tw_analysis_fail(a);
    if (a->trips[loop]) return a->trips[loop];
    const tw_loopdata *data = &a->loops->items[loop];
    tw_trip *trips = TW_NEW_ARRAY(&a->arena, tw_trip, data->exit_count);
    if (!trips) return tw_analysis_fail(a);
    interval latches = latch_interval(a, data);
    for (uint32_t i = 0; i < data->exit_count; i++) trips[i] = trip_of_exit(a, loop, data->exits[i], latches);
    if (!a->solving) a->trips[loop] = trips;
    return trips;
}

const tw_trip *tw_trips_of(tw_analysis *a, tw_loop loop)
{
    return tw_trips_find(a, loop);
}
