/* SPDX-License-Identifier: Apache-2.0
 * A proof without numbers that a loop is serial. Take a store and an access of the same iteration that is made whenever the
 * store is. If one of them in iteration k touches a byte of the other in iteration 0, then that is a dependence for any numbers
 * at all, provided there is such an iteration. For k = 1 there always is (one trip counts as two, see dispatch/legality.c); for
 * more, a loop that ends before it is too short to pay.
 *
 * Only regions of one loop: where every loop of several is serial there may be diagonals that aren't.
 *
 * Addresses are compared as polynomials over exprs modulo 2^32, so that A + 8n·i + 8n and A + 8n·(i + 1) are found equal.
 *
 * Every store must have a partner: whichever conditions hold, what is left is serial or does nothing. */
#include "region/chance.h"

#include <inttypes.h>
#include <stdio.h>

#include "analysis/poly.h"
#include "analysis/trip.h"
#include "ir/ir.h"
#include "region/exprs.h"

enum {
    SHORT_WORK = 400,    /* of the plan's units: as good as nothing */
    MOST_ACCESSES = 64,  /* time is quadratic at worst */
    POLY_MEMORY = 4 << 20,
    NESTING = 16,        /* of a constant */
};

typedef struct chance {
    const tw_model *model;
    tw_arena arena;
    const tw_poly **polys; /* by expr */
    uint64_t most;
} chance;

/* ---- before there is a model ---- */

/* The largest start that the range of its one unknown allows, where a loop counts down to a number. */
static bool most_start(tw_analysis *analysis, const tw_trip *trip, uint64_t *start)
{
    uint64_t step, bound;
    const tw_poly *from = trip->start;
    if (tw_poly_is_const(from, start)) return true;
    if (!tw_poly_is_const(trip->step, &step) || !tw_poly_is_const(trip->bound, &bound) || trip->bits != 32) return false;
    const tw_term *term = &from->terms[from->term_count - 1];
    bool offset = from->term_count == 2 && !from->terms[0].atoms[0];
    if ((from->term_count != 1 && !offset) || term->coef != 1 || term->atoms[1] || tw_atom_kind_of(term->atoms[0]) != TW_ATOM_VALUE) return false;
    uint64_t most = tw_range_of(analysis, tw_atom_index(term->atoms[0])).max;
    if ((uint32_t)step != UINT32_MAX || most > INT32_MAX) return false;
    *start = (uint32_t)(most + (offset ? from->terms[0].coef : 0));
    return true;
}

uint64_t tw_chance_most(tw_analysis *analysis, const tw_loops *loops, tw_loop loop)
{
    const tw_trip *trips = tw_trips_of(analysis, loop);
    uint64_t most = 0, start, step, bound, count;
    for (uint32_t e = 0; trips && e < loops->items[loop].exit_count; e++) {
        const tw_trip *trip = &trips[e];
        if (!trip->known || !most_start(analysis, trip, &start) || !tw_poly_is_const(trip->step, &step) ||
            !tw_poly_is_const(trip->bound, &bound) || !tw_trip_count(trip->compare, trip->bits, start, step, bound, &count))
            continue;
        if (!most || count < most) most = count;
    }
    return most;
}

/* ---- constants ---- */

static bool number(const tw_model *model, uint32_t expr, uint32_t nesting, uint64_t *out);

static bool number_of_op(const tw_model *model, const tw_expr_node *node, uint32_t nesting, uint64_t *out)
{
    uint64_t a, b = 0;
    return number(model, node->a, nesting, &a) && (node->b == TW_NONE || number(model, node->b, nesting, &b)) &&
           tw_ir_fold_int((tw_op)node->op, a, b, out);
}

static bool number_of_trips(const tw_model *model, const tw_expr_node *node, uint32_t nesting, uint64_t *out)
{
    tw_compare compare;
    uint64_t start, step, bound;
    return tw_expr_compare((tw_op)node->op, &compare) && number(model, node->a, nesting, &start) && number(model, node->b, nesting, &step) &&
           number(model, node->c, nesting, &bound) && tw_trip_count(compare, node->bits, start, step, bound, out);
}

/* Where a condition isn't known, the larger arm: good for trip counts. */
static bool number_of_select(const tw_model *model, const tw_expr_node *node, uint32_t nesting, uint64_t *out)
{
    uint64_t a, b, condition;
    if (!number(model, node->b, nesting, &a) || !number(model, node->c, nesting, &b)) return false;
    if (number(model, node->a, nesting, &condition)) *out = condition ? a : b;
    else *out = a > b ? a : b;
    return true;
}

static bool number(const tw_model *model, uint32_t expr, uint32_t nesting, uint64_t *out)
{
    const tw_expr_node *node = &model->exprs[expr];
    if (!nesting) return false;
    switch (node->kind) {
    case TW_EXPR_CONST: *out = node->imm; return true;
    case TW_EXPR_OP: return number_of_op(model, node, nesting - 1, out);
    case TW_EXPR_TRIPS: return number_of_trips(model, node, nesting - 1, out);
    case TW_EXPR_SELECT: return number_of_select(model, node, nesting - 1, out);
    default: return false;
    }
}

/* ---- too little to do ---- */

/* At most so often; 0: not known. */
static uint64_t trips(chance *c, uint32_t loop)
{
    uint64_t count;
    if (c->model->loops[loop].is_if) return 1;
    if (loop == 0 && c->most) return c->most;
    return number(c->model, c->model->loops[loop].trips, NESTING, &count) && count ? count : 0;
}

/* As the plan counts it; infinite where that isn't known. */
static double work(chance *c, uint32_t loop)
{
    const tw_model_loop *it = &c->model->loops[loop];
    double once = 0;
    for (uint32_t i = 0; i < it->item_count; i++) once += it->items[i].kind == TW_ITEM_LOOP ? work(c, it->items[i].index) : 2;
    uint64_t count = trips(c, loop);
    return count ? once * (double)count : 1e300;
}

/* ---- serial ---- */

static const tw_poly *poly_of(chance *c, const tw_expr_node *node)
{
    uint64_t shift;
    tw_arena *arena = &c->arena;
    if (node->kind == TW_EXPR_CONST) return tw_poly_const(arena, 32, node->imm);
    if (node->kind != TW_EXPR_OP) return NULL;
    const tw_poly *a = c->polys[node->a], *b = node->b == TW_NONE ? NULL : c->polys[node->b];
    switch (node->op) {
    case TW_OP_I32_ADD: return tw_poly_add(arena, a, b);
    case TW_OP_I32_SUB: return tw_poly_sub(arena, a, b);
    case TW_OP_I32_MUL: return tw_poly_mul(arena, a, b);
    case TW_OP_I32_SHL: return tw_poly_is_const(b, &shift) ? tw_poly_scale(arena, a, UINT64_C(1) << (shift & 31)) : NULL;
    default: return NULL;
    }
}

/* Arguments have lower numbers. What isn't ring arithmetic stands for itself. */
static bool find_polys(chance *c)
{
    c->polys = TW_NEW_ARRAY(&c->arena, const tw_poly *, c->model->expr_count);
    if (!c->polys) return false;
    for (uint32_t e = 0; e < c->model->expr_count; e++) {
        if (c->model->exprs[e].bits != 32) continue;
        c->polys[e] = poly_of(c, &c->model->exprs[e]);
        if (!c->polys[e]) c->polys[e] = tw_poly_atom(&c->arena, 32, tw_atom_make(TW_ATOM_VALUE, e));
    }
    return true;
}

typedef struct place {
    const tw_model_access *access;
    uint32_t chain[TW_MODEL_MAX_DEPTH], depth;
} place;

static place place_of(chance *c, uint32_t access)
{
    place p = {.access = &c->model->accesses[access]};
    p.depth = tw_model_chain(c->model, p.access->loop, p.chain);
    return p;
}

static const tw_poly *stride(chance *c, const place *p)
{
    uint32_t coef = c->model->affines[p->access->address].coef[0];
    return coef == TW_NONE ? tw_poly_const(&c->arena, 32, 0) : c->polys[coef];
}

/* a's address less b's is `apart` */
static bool meet(const place *a, const place *b, const tw_poly *apart)
{
    uint64_t value;
    if (!tw_poly_is_const(apart, &value)) return false;
    __int128 distance = (__int128)(int32_t)(uint32_t)value + a->access->offset - b->access->offset;
    return distance < b->access->width && distance > -(__int128)a->access->width;
}

/* Some k up to `longest`: a in iteration k and b in iteration 0, or the other way round. */
static bool dependent(chance *c, const place *a, const place *b, uint64_t longest)
{
    tw_arena *arena = &c->arena;
    const tw_affine *x = &c->model->affines[a->access->address], *y = &c->model->affines[b->access->address];
    const tw_poly *forward = tw_poly_sub(arena, c->polys[x->base], c->polys[y->base]), *backward = forward;
    const tw_poly *step_a = stride(c, a), *step_b = stride(c, b);
    uint64_t value;
    if (tw_poly_is_const(step_a, &value) && tw_poly_is_const(step_b, &value) && !tw_poly_is_const(forward, &value)) return false;
    for (uint64_t k = 1; k <= longest; k++) {
        forward = tw_poly_add(arena, forward, step_a);
        backward = tw_poly_sub(arena, backward, step_b);
        if (!forward || !backward) return false;
        if (meet(a, b, forward) || meet(a, b, backward)) return true;
    }
    return false;
}

/* b is made whenever a is: its loops are around a, too. */
static bool goes_along(const place *a, const place *b)
{
    return b->depth && b->depth <= a->depth && b->chain[b->depth - 1] == a->chain[b->depth - 1] && !b->access->is_inspected;
}

static bool has_partner(chance *c, const place *store, uint64_t longest)
{
    for (uint32_t x = 0; x < c->model->access_count; x++) {
        place other = place_of(c, x);
        if (!other.access->is_indirect && goes_along(store, &other) && dependent(c, store, &other, longest)) return true;
    }
    return false;
}

static bool is_serial(chance *c, uint64_t longest)
{
    uint32_t stores = 0;
    for (uint32_t x = 0; x < c->model->access_count; x++) {
        place p = place_of(c, x);
        if (!p.access->is_store || !p.depth) continue;
        if (!has_partner(c, &p, longest)) return false;
        stores++;
    }
    return stores > 0;
}

/* A distance of so many iterations leaves too little to do between the dependent ones. */
static uint64_t longest_distance(const tw_model *model)
{
    double once = 0;
    for (uint32_t l = 0; l < model->loop_count; l++)
        for (uint32_t i = 0; i < model->loops[l].item_count; i++) once += 2;
    return once > SHORT_WORK / 2 ? 1 : (uint64_t)(SHORT_WORK / once);
}

static bool has_one_loop(const tw_model *model)
{
    for (uint32_t l = 1; l < model->loop_count; l++)
        if (!model->loops[l].is_if) return false;
    return !model->loops[0].is_if;
}

static tw_refusal judge(chance *c, char detail[200])
{
    double most = work(c, 0);
    if (most < SHORT_WORK) {
        snprintf(detail, 200, "at most %.0f accesses each time, whatever the numbers", most / 2);
        return TW_REFUSAL_FEW;
    }
    if (c->model->access_count > MOST_ACCESSES || !has_one_loop(c->model) || !find_polys(c)) return TW_REFUSAL_NONE;
    if (!is_serial(c, longest_distance(c->model))) return TW_REFUSAL_NONE;
    snprintf(detail, 200, "whatever the numbers, an iteration needs what one before it has stored");
    return TW_REFUSAL_DEPENDENCE;
}

tw_refusal tw_model_chance(const tw_model *model, uint64_t most, char detail[200])
{
    chance c = {.model = model, .most = most};
    if (!model->loop_count) return TW_REFUSAL_NONE;
    tw_arena_init(&c.arena, POLY_MEMORY);
    tw_refusal refusal = judge(&c, detail);
    tw_arena_free(&c.arena);
    return refusal;
}
