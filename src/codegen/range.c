/* SPDX-License-Identifier: Apache-2.0 */
/* The range check at a kernel's entry: generated from the tree, independent of the plan.
 *
 * For every access the least and the greatest byte offset over all trips: the offset is linear in the counters, and a loop's
 * counter runs from 0 to a bound that is linear in the counters around it; so from the innermost loop outwards each
 * counter is replaced by the end of its range that the sign of its coefficient asks for. What remains is a number. Where
 * an inner loop makes no trip for some outer ones its bound is -1 there, which can only widen the range. An access beneath
 * a loop that never has a trip is let off.
 *
 * Arithmetic has 128 bits; that it can't overflow is checked on the arguments: bases, strides and trip counts below 2^40, their
 * coefficients below 2^12, at most three loops of a chain with a varying trip count. */

#include "codegen/inside.h"

enum { NUMBER_BITS = 40, COEFFICIENT_BITS = 12, MAX_VARYING = 3 };

typedef struct checker {
    tw_emitter *e;
    LLVMValueRef good; /* i1 so far */
} checker;

static void require(checker *c, LLVMValueRef bit)
{
    c->good = LLVMBuildAnd(c->e->builder, c->good, bit, "");
}

/* |word| < 2^bits, as an i1. */
static LLVMValueRef is_small(tw_emitter *e, LLVMValueRef word, unsigned bits)
{
    LLVMValueRef shifted = LLVMBuildAdd(e->builder, word, tw_gen_const64(e, (int64_t)1 << bits), "");
    return LLVMBuildICmp(e->builder, LLVMIntULT, shifted, tw_gen_const64(e, (int64_t)1 << (bits + 1)), "");
}

static LLVMValueRef word_at(checker *c, uint32_t index, unsigned bits)
{
    LLVMValueRef word = tw_gen_arg(c->e, index);
    require(c, is_small(c->e, word, bits));
    return word;
}

static LLVMValueRef widen(tw_emitter *e, LLVMValueRef word)
{
    return LLVMBuildSExt(e->builder, word, e->i128, "");
}

static LLVMValueRef const128(tw_emitter *e, int64_t value)
{
    return LLVMConstInt(e->i128, (uint64_t)value, 1);
}

/* A linear function of the counters of a chain's first loops. */
typedef struct linear {
    LLVMValueRef constant, coef[TW_MODEL_MAX_DEPTH]; /* i128; coef NULL: 0 */
} linear;

static void add_scaled(tw_emitter *e, LLVMValueRef *sum, LLVMValueRef scale, LLVMValueRef number, LLVMValueRef only_if)
{
    LLVMValueRef product = LLVMBuildMul(e->builder, scale, number, "");
    if (only_if) product = LLVMBuildSelect(e->builder, only_if, product, const128(e, 0), "");
    *sum = *sum ? LLVMBuildAdd(e->builder, *sum, product, "") : product;
}

/* Trips of the loop at depth d, as a linear function of the counters around it. */
static linear trips_of(checker *c, uint32_t loop)
{
    tw_emitter *e = c->e;
    linear t = {0};
    uint32_t word = e->layout.trips[loop], depth = e->model->loops[loop].depth;
    t.constant = widen(e, word_at(c, word, NUMBER_BITS));
    for (uint32_t d = 0; d < depth; d++) {
        LLVMValueRef coef = tw_gen_arg(e, word + 1 + d);
        if (e->facts->varying[loop]) {
            require(c, is_small(e, coef, COEFFICIENT_BITS));
            t.coef[d] = widen(e, coef);
        } else {
            require(c, LLVMBuildICmp(e->builder, LLVMIntEQ, coef, tw_gen_const64(e, 0), ""));
        }
    }
    return t;
}

/* Greatest (or least) value over the trips of chain[0 … count-1]. trips: by depth. */
static LLVMValueRef extreme(tw_emitter *e, linear f, const linear *trips, uint32_t count, bool greatest)
{
    for (uint32_t d = count; d-- > 1;) {
        LLVMValueRef c = f.coef[d];
        if (!c) continue;
        LLVMIntPredicate how = greatest ? LLVMIntSGT : LLVMIntSLT;
        LLVMValueRef at_end = LLVMBuildICmp(e->builder, how, c, const128(e, 0), "");
        LLVMValueRef last = LLVMBuildSub(e->builder, trips[d].constant, const128(e, 1), "");
        add_scaled(e, &f.constant, c, last, at_end);
        for (uint32_t k = 0; k < d; k++)
            if (trips[d].coef[k]) add_scaled(e, &f.coef[k], c, trips[d].coef[k], at_end);
    }
    if (!count || !f.coef[0]) return f.constant;
    LLVMValueRef low = LLVMBuildMul(e->builder, f.coef[0], widen(e, e->first), "");
    LLVMValueRef last = LLVMBuildSub(e->builder, widen(e, e->last), const128(e, 1), "");
    LLVMValueRef high = LLVMBuildMul(e->builder, f.coef[0], last, "");
    LLVMValueRef less = LLVMBuildICmp(e->builder, LLVMIntSLT, low, high, "");
    LLVMValueRef chosen = greatest ? LLVMBuildSelect(e->builder, less, high, low, "")
                                   : LLVMBuildSelect(e->builder, less, low, high, "");
    return LLVMBuildAdd(e->builder, f.constant, chosen, "");
}

/* Does any trip reach the innermost loop of the chain? An i1; never false when one does. */
static LLVMValueRef is_reached(tw_emitter *e, const linear *trips, uint32_t count)
{
    LLVMValueRef reached = LLVMBuildICmp(e->builder, LLVMIntSLT, e->first, e->last, "");
    for (uint32_t d = 1; d < count; d++) {
        LLVMValueRef most = extreme(e, trips[d], trips, d, true);
        LLVMValueRef some = LLVMBuildICmp(e->builder, LLVMIntSGT, most, const128(e, 0), "");
        reached = LLVMBuildAnd(e->builder, reached, some, "");
    }
    return reached;
}

static void require_unless(checker *c, LLVMValueRef exempt, LLVMValueRef bit)
{
    require(c, LLVMBuildOr(c->e->builder, exempt, bit, ""));
}

/* The strides are what code was made for, and the base is where the representative says. */
static linear offset_of(checker *c, uint32_t access, uint32_t count, LLVMValueRef unreached)
{
    tw_emitter *e = c->e;
    LLVMBuilderRef b = e->builder;
    uint32_t word = e->layout.access[access], other = e->representative[access];
    linear f = {0};
    LLVMValueRef base = tw_gen_arg(e, word);
    require_unless(c, unreached, is_small(e, base, NUMBER_BITS));
    f.constant = widen(e, base);
    for (uint32_t d = 0; d < count; d++) {
        int64_t known;
        LLVMValueRef stride = tw_gen_arg(e, word + 1 + d);
        bool is_known = tw_stride_known(e, access, d, &known);
        LLVMValueRef fits = is_known ? LLVMBuildICmp(b, LLVMIntEQ, stride, tw_gen_const64(e, known), "")
                                     : is_small(e, stride, NUMBER_BITS);
        require_unless(c, unreached, fits);
        if (!is_known || known) f.coef[d] = widen(e, stride);
        if (other == access || is_known) continue;
        LLVMValueRef others = tw_gen_arg(e, e->layout.access[other] + 1 + d);
        require_unless(c, unreached, LLVMBuildICmp(b, LLVMIntEQ, stride, others, ""));
    }
    if (other == access) return f;
    LLVMValueRef from = LLVMBuildSub(b, base, tw_gen_arg(e, e->layout.access[other]), "");
    require_unless(c, unreached, LLVMBuildICmp(b, LLVMIntEQ, from, tw_gen_const64(e, e->delta[access]), ""));
    return f;
}

static void check_access(checker *c, uint32_t access, const linear *all_trips)
{
    tw_emitter *e = c->e;
    const tw_model_access *x = &e->model->accesses[access];
    uint32_t chain[TW_MODEL_MAX_DEPTH], count = tw_model_chain(e->model, x->loop, chain), varying = 0;
    linear trips[TW_MODEL_MAX_DEPTH] = {0};
    for (uint32_t d = 1; d < count; d++) {
        trips[d] = all_trips[chain[d]];
        varying += e->facts->varying[chain[d]];
    }
    if (varying > MAX_VARYING) tw_gen_fail(e, TW_REFUSED, "more than %d nested loops with varying trip counts", MAX_VARYING);
    LLVMValueRef unreached = LLVMBuildNot(e->builder, is_reached(e, trips, count), "");
    if (!count) unreached = LLVMConstInt(e->i1, 0, 0);
    linear offset = offset_of(c, access, count, unreached);
    LLVMValueRef low = extreme(e, offset, trips, count, false), high = extreme(e, offset, trips, count, true);
    LLVMValueRef end = LLVMBuildAdd(e->builder, high, const128(e, x->width), "");
    LLVMValueRef size = LLVMBuildZExt(e->builder, e->memory_size, e->i128, "");
    LLVMValueRef above = LLVMBuildICmp(e->builder, LLVMIntSGE, low, const128(e, 0), "");
    LLVMValueRef below = LLVMBuildICmp(e->builder, LLVMIntSLE, end, size, "");
    require_unless(c, unreached, LLVMBuildAnd(e->builder, above, below, ""));
}

LLVMValueRef tw_gen_range_check(tw_emitter *e)
{
    checker c = {e, LLVMConstInt(e->i1, 1, 0)};
    linear trips[TW_MODEL_MAX_LOOPS] = {0};
    bool in_tree[TW_MODEL_MAX_LOOPS] = {0}, checked[TW_MODEL_MAX_ACCESSES] = {0};
    require(&c, is_small(e, e->first, NUMBER_BITS));
    require(&c, is_small(e, e->last, NUMBER_BITS));
    for (uint32_t i = 0; i < e->tree->node_count; i++) {
        const tw_node *node = &e->tree->nodes[i];
        if (node->kind != TW_NODE_LOOP || node->loop == 0 || in_tree[node->loop]) continue;
        trips[node->loop] = trips_of(&c, node->loop);
        in_tree[node->loop] = true;
    }
    for (uint32_t i = 0; i < e->tree->node_count; i++) {
        const tw_node *node = &e->tree->nodes[i];
        if (node->kind == TW_NODE_LOOP || checked[node->access]) continue;
        checked[node->access] = true;
        check_access(&c, node->access, trips);
    }
    return c.good;
}
