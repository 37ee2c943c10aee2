/* SPDX-License-Identifier: Apache-2.0 */
/* The range check at a kernel's entry: generated from the tree, independent of the plan.
 *
 * For every access the least and the greatest byte offset over all trips: the offset is linear in the counters, and a loop's
 * counter runs from 0 to a bound that is linear in the counters around it; so from the innermost loop outwards each
 * counter is replaced by the end of its range that the sign of its coefficient asks for. What remains is a number. Where
 * an inner loop makes no trip for some outer ones its bound is -1 there, which can only widen the range. An access beneath
 * a loop that never has a trip is let off.
 *
 * Why in doubles: they never wrap, so a huge number stays huge. Sums of whole numbers are exact below 2^53; that nothing
 * larger took part is seen from the sum of the terms' magnitudes, which must stay below 2^50. (128-bit integers were three
 * quarters of a small kernel's compile time.) */

#include "codegen/inside.h"

typedef struct linear {
    LLVMValueRef constant, coef[TW_MODEL_MAX_DEPTH]; /* f64; coef NULL: 0 */
} linear;

typedef struct checker {
    tw_emitter *e;
    linear trips[TW_MODEL_MAX_LOOPS];         /* as a function of the counters around */
    LLVMValueRef reached[TW_MODEL_MAX_LOOPS]; /* i1: may have a trip; never false when it has one. NULL: not in the tree */
    LLVMValueRef good[TW_MODEL_MAX_LOOPS];    /* i1: what must hold if it is reached */
    LLVMValueRef always;                      /* i1: what must hold */
} checker;

static LLVMValueRef both(tw_emitter *e, LLVMValueRef a, LLVMValueRef b)
{
    return LLVMBuildAnd(e->builder, a, b, "");
}

/* What must hold if `loop` (TW_NONE: the function) is reached. */
static void require(checker *c, uint32_t loop, LLVMValueRef bit)
{
    LLVMValueRef *good = loop == TW_NONE ? &c->always : &c->good[loop];
    *good = both(c->e, *good, bit);
}

static LLVMValueRef number(tw_emitter *e, double value)
{
    return LLVMConstReal(e->f64, value);
}

static LLVMValueRef to_number(tw_emitter *e, LLVMValueRef word)
{
    return LLVMBuildSIToFP(e->builder, word, e->f64, "");
}

static LLVMValueRef add(tw_emitter *e, LLVMValueRef a, LLVMValueRef b)
{
    return LLVMBuildFAdd(e->builder, a, b, "");
}

static LLVMValueRef mul(tw_emitter *e, LLVMValueRef a, LLVMValueRef b)
{
    return LLVMBuildFMul(e->builder, a, b, "");
}

static LLVMValueRef compare(tw_emitter *e, LLVMRealPredicate how, LLVMValueRef a, LLVMValueRef b)
{
    return LLVMBuildFCmp(e->builder, how, a, b, "");
}

static LLVMValueRef equal_words(tw_emitter *e, LLVMValueRef a, LLVMValueRef b)
{
    return LLVMBuildICmp(e->builder, LLVMIntEQ, a, b, "");
}

/* ---- greatest and least ---- */

typedef struct extreme {
    LLVMValueRef value, magnitude; /* f64 */
} extreme;

static void add_term(tw_emitter *e, extreme *out, LLVMValueRef term)
{
    out->value = add(e, out->value, term);
    LLVMValueRef size = tw_gen_intrinsic(e, "llvm.fabs", e->f64, &term, 1);
    out->magnitude = add(e, out->magnitude, size);
}

static LLVMValueRef if_else_zero(tw_emitter *e, LLVMValueRef bit, LLVMValueRef value)
{
    return LLVMBuildSelect(e->builder, bit, value, number(e, 0), "");
}

/* Of `f` over the trips of chain[0 … count-1]. */
static extreme find_extreme(checker *c, linear f, const uint32_t *chain, uint32_t count, bool greatest)
{
    tw_emitter *e = c->e;
    extreme out = {number(e, 0), number(e, 0)};
    add_term(e, &out, f.constant);
    for (uint32_t d = count; d-- > 1;) {
        if (!f.coef[d]) continue;
        const linear *trips = &c->trips[chain[d]];
        LLVMValueRef at_end = compare(e, greatest ? LLVMRealOGT : LLVMRealOLT, f.coef[d], number(e, 0));
        LLVMValueRef last = add(e, trips->constant, number(e, -1));
        add_term(e, &out, if_else_zero(e, at_end, mul(e, f.coef[d], last)));
        for (uint32_t k = 0; k < d; k++) {
            if (!trips->coef[k]) continue;
            LLVMValueRef more = if_else_zero(e, at_end, mul(e, f.coef[d], trips->coef[k]));
            f.coef[k] = f.coef[k] ? add(e, f.coef[k], more) : more;
        }
    }
    if (!count || !f.coef[0]) return out;
    LLVMValueRef low = mul(e, f.coef[0], to_number(e, e->first));
    LLVMValueRef high = mul(e, f.coef[0], add(e, to_number(e, e->last), number(e, -1)));
    LLVMValueRef less = compare(e, LLVMRealOLT, low, high);
    add_term(e, &out, greatest ? LLVMBuildSelect(e->builder, less, high, low, "") : LLVMBuildSelect(e->builder, less, low, high, ""));
    return out;
}

static LLVMValueRef is_exact(tw_emitter *e, extreme x)
{
    return compare(e, LLVMRealOLT, x.magnitude, number(e, 0x1p50));
}

/* ---- loops ---- */

/* Loops come after those around them. Where the count doesn't vary, the numbers must say so. */
static void enter_loop(checker *c, uint32_t loop)
{
    tw_emitter *e = c->e;
    const tw_model_loop *l = &e->model->loops[loop];
    LLVMValueRef yes = LLVMConstInt(e->i1, 1, 0);
    c->good[loop] = yes;
    if (loop == 0) {
        c->reached[loop] = LLVMBuildICmp(e->builder, LLVMIntSLT, e->first, e->last, "");
        return;
    }
    uint32_t word = e->layout.trips[loop], chain[TW_MODEL_MAX_DEPTH];
    c->trips[loop].constant = to_number(e, tw_gen_arg(e, word));
    for (uint32_t d = 0; d < l->depth; d++) {
        LLVMValueRef coef = tw_gen_arg(e, word + 1 + d);
        if (e->facts->varying[loop]) c->trips[loop].coef[d] = to_number(e, coef);
        else require(c, l->parent, equal_words(e, coef, tw_gen_const64(e, 0)));
    }
    extreme most = find_extreme(c, c->trips[loop], chain, tw_model_chain(e->model, l->parent, chain), true);
    if (e->facts->varying[loop]) require(c, l->parent, is_exact(e, most));
    LLVMValueRef some = compare(e, LLVMRealOGT, most.value, number(e, 0));
    c->reached[loop] = both(e, c->reached[l->parent], some);
}

/* ---- accesses ---- */

/* As the code computes it: from the representative's numbers. They must be the access's own, and the strides those that code
 * was made for. */
static linear offset_of(checker *c, uint32_t access, uint32_t loop, uint32_t count)
{
    tw_emitter *e = c->e;
    uint32_t word = e->layout.access[access], other = e->representative[access];
    linear f = {0};
    LLVMValueRef base = tw_gen_arg(e, e->layout.access[other]);
    f.constant = add(e, to_number(e, base), number(e, (double)e->delta[access]));
    for (uint32_t d = 0; d < count; d++) {
        int64_t known;
        LLVMValueRef stride = tw_gen_arg(e, word + 1 + d);
        bool is_known = tw_stride_known(e, access, d, &known);
        if (is_known) require(c, loop, equal_words(e, stride, tw_gen_const64(e, known)));
        else if (other != access)
            require(c, loop, equal_words(e, stride, tw_gen_arg(e, e->layout.access[other] + 1 + d)));
        if (is_known && !known) continue;
        f.coef[d] = is_known ? number(e, (double)known) : to_number(e, stride);
    }
    if (other == access) return f;
    LLVMValueRef from = LLVMBuildSub(e->builder, tw_gen_arg(e, word), base, "");
    require(c, loop, equal_words(e, from, tw_gen_const64(e, e->delta[access])));
    return f;
}

static void check_access(checker *c, uint32_t access)
{
    tw_emitter *e = c->e;
    const tw_model_access *x = &e->model->accesses[access];
    uint32_t chain[TW_MODEL_MAX_DEPTH], count = tw_model_chain(e->model, x->loop, chain);
    linear offset = offset_of(c, access, x->loop, count);
    extreme low = find_extreme(c, offset, chain, count, false), high = find_extreme(c, offset, chain, count, true);
    LLVMValueRef start = add(e, low.value, number(e, x->least)), end = add(e, high.value, number(e, (double)x->most + x->width));
    LLVMValueRef size = LLVMBuildUIToFP(e->builder, e->memory_size, e->f64, "");
    require(c, x->loop, both(e, is_exact(e, low), is_exact(e, high)));
    require(c, x->loop, both(e, compare(e, LLVMRealOGE, start, number(e, 0)), compare(e, LLVMRealOLE, end, size)));
}

LLVMValueRef tw_gen_range_check(tw_emitter *e)
{
    checker c = {.e = e, .always = LLVMConstInt(e->i1, 1, 0)};
    bool in_tree[TW_MODEL_MAX_LOOPS] = {0}, checked[TW_MODEL_MAX_ACCESSES] = {0};
    for (uint32_t i = 0; i < e->tree->node_count; i++)
        if (e->tree->nodes[i].kind == TW_NODE_LOOP) in_tree[e->tree->nodes[i].loop] = true;
    for (uint32_t l = 0; l < e->model->loop_count; l++)
        if (in_tree[l]) enter_loop(&c, l);
    for (uint32_t i = 0; i < e->tree->node_count; i++) {
        const tw_node *node = &e->tree->nodes[i];
        if (node->kind == TW_NODE_LOOP || checked[node->access]) continue;
        checked[node->access] = true;
        check_access(&c, node->access);
    }
    for (uint32_t l = 0; l < e->model->loop_count; l++) {
        if (!in_tree[l]) continue;
        LLVMValueRef unreached = LLVMBuildNot(e->builder, c.reached[l], "");
        c.always = both(e, c.always, LLVMBuildOr(e->builder, unreached, c.good[l], ""));
    }
    return c.always;
}
