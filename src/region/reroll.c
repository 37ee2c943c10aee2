/* SPDX-License-Identifier: Apache-2.0 */
#include "region/match.h"

#include <string.h>

/* Guests' compilers unroll. A loop of U copies of a statement, and the remainder loop (or `if`) behind it, are made one
 * loop over a finer domain again, so that the factor, the remainder and the guest's vector width are gone. Here the body:
 * statements u = 0 … U-1 match structurally; between u and u+1 every address moves by d, and over a whole iteration by U·d. Then
 * the counter may run U times as often in steps of d. Scalars that an iteration hands on take part: what copy u does to one
 * must be what copy 0 does. For what comes behind the loop see remainder.c.
 *
 * Reads move down to their statement. Where that carries one over a store that isn't provably elsewhere, the two
 * accesses go on the model's list of pairs that must lie apart, which the plan checks. Static offsets: copies with offset o
 * and smallest offset m have o - m folded into the address. That is only the same number when it can't wrap, which
 * holds when the copy shares its address with the one of offset m: that one's window check covers both.
 *
 * Where two distances differ as polynomials over symbols alone (a compiler keeps 2n and 3n in locals of their own), that they
 * are equal becomes a check too: unrolled code that looks like this and isn't so is not worth a second model.
 *
 * What doesn't match is left alone: rerolling is never needed for correctness. */

enum { MOST_CHANGES = 2 * TW_MATCH_LEAVES, MOST_COPIES = TW_MATCH_STATEMENTS };

typedef struct change { /* one leaf of the kept copy, as it will be */
    bool is_access;
    uint32_t index, affine;
    uint64_t offset;
} change;

/* A loop's body as `copies` copies of `units` parts each: first the stores, in order, then a step of each chain. */
typedef struct copying {
    tw_builder *b;
    uint32_t loop;
    tw_stretch body;
    tw_chains chains;
    uint32_t copies, stores; /* stores: of one copy */
    bool *keep;              /* by item */
} copying;

static uint32_t units_of(const copying *c)
{
    return c->stores + c->chains.count;
}

/* ---- units ---- */

/* Copy 0 of the unit against copy u. */
static bool match_unit(const copying *c, uint32_t unit, uint32_t u, tw_leaves *leaves)
{
    tw_match m = {.b = c->b, .x = &c->body, .y = &c->body, .chains = &c->chains, .copies = c->copies, .shift = u, .leaves = leaves};
    if (unit < c->stores) return tw_match_stores(&m, c->body.stores[unit], c->body.stores[unit + c->stores * u]);
    const tw_chain *chain = &c->chains.items[unit - c->stores];
    return tw_match_steps(&m, tw_chain_at(chain, 1, c->copies), tw_chain_at(chain, u + 1, c->copies));
}

/* Points of chains are other units' business. */
static bool reads(const copying *c, uint32_t value, uint32_t read, bool root, uint32_t depth)
{
    if (value == TW_NONE || depth > 40) return value != TW_NONE;
    if (value == read) return true;
    if (!root && tw_chains_hold(&c->chains, c->copies, value)) return false;
    const tw_value_node *node = &c->b->model->values[value];
    for (int a = 0; a < 3; a++)
        if (node->args[a] != TW_NONE && reads(c, node->args[a], read, false, depth + 1)) return true;
    return false;
}

static bool unit_reads(const copying *c, uint32_t unit, uint32_t u, uint32_t read)
{
    if (unit >= c->stores) return reads(c, tw_chain_at(&c->chains.items[unit - c->stores], u + 1, c->copies), read, true, 0);
    const tw_item *store = &c->body.items[c->body.stores[unit + c->stores * u]];
    return reads(c, store->value, read, false, 0) || (store->guard != TW_NONE && reads(c, store->guard, read, false, 0));
}

/* ---- bodies ---- */

/* x == y, as polynomials or, over symbols alone, by a check on arrival. */
static bool same(tw_builder *b, const tw_poly *x, const tw_poly *y)
{
    if (!x || !y || x->bits != y->bits) return false;
    if (tw_poly_equal(x, y)) return true;
    const tw_poly *gap = tw_poly_sub(b->arena, x, y);
    uint64_t value;
    if (!gap || tw_poly_is_const(gap, &value) || !tw_match_only_symbols(b, gap)) return false;
    if (tw_poly_is_const(x, &value) || tw_poly_is_const(y, &value)) return false; /* a size that happens to be this number */
    return tw_match_check(b, tw_expr_equal(b->model, gap->bits, tw_build_expr(b, gap), tw_expr_const(b->model, gap->bits, 0)), TW_NONE);
}

/* Copy u of a unit is copy 0 moved by u·d, for every leaf; and U·d is a whole iteration. */
static bool unit_fits(const copying *c, uint32_t unit)
{
    tw_builder *b = c->b;
    tw_leaves first, pair;
    for (uint32_t u = 1; u < c->copies; u++) {
        if (!match_unit(c, unit, u, &pair)) return false;
        if (u == 1) first = pair;
        if (pair.count != first.count) return false;
        for (uint32_t i = 0; i < pair.count; i++) {
            const tw_poly *d = tw_leaf_distance(b, &first.items[i]);
            if (pair.items[i].x != first.items[i].x || !same(b, tw_leaf_distance(b, &pair.items[i]), d ? tw_poly_scale(b->arena, d, u) : NULL))
                return false;
        }
    }
    for (uint32_t i = 0; i < first.count; i++) {
        const tw_poly *d = tw_leaf_distance(b, &first.items[i]), *whole = d ? tw_poly_scale(b->arena, d, c->copies) : NULL;
        if (!same(b, tw_match_stride(b, tw_leaf_poly(b, &first.items[i], false), c->loop), whole)) return false;
    }
    return true;
}

/* Static offsets fold into addresses without a wrap: see the top. */
static bool offsets_fold(const tw_builder *b, const uint32_t *access, uint32_t copies, uint64_t *least)
{
    *least = UINT64_MAX;
    for (uint32_t u = 0; u < copies; u++)
        if (b->model->accesses[access[u]].offset < *least) *least = b->model->accesses[access[u]].offset;
    for (uint32_t u = 0; u < copies; u++) {
        const tw_model_access *a = &b->model->accesses[access[u]];
        bool anchored = a->offset == *least;
        for (uint32_t v = 0; v < copies && !anchored; v++)
            anchored = b->model->accesses[access[v]].offset == *least &&
                       tw_poly_equal(b->affine[b->model->accesses[access[v]].address], b->affine[a->address]);
        if (!anchored) return false;
    }
    return true;
}

/* The kept copy's leaf with the counter's coefficient d instead of copies·d. */
static bool plan_change(const copying *c, uint32_t unit, uint32_t i, const tw_leaf *l, change *out)
{
    tw_builder *b = c->b;
    const tw_poly *d = tw_leaf_distance(b, l), *poly = tw_leaf_poly(b, l, false), *coef, *rest;
    *out = (change){.is_access = l->is_access, .index = l->x, .offset = tw_leaf_offset(b, l, false)};
    if (l->is_access) {
        uint32_t access[MOST_COPIES];
        tw_leaves pair;
        access[0] = l->x;
        for (uint32_t u = 1; u < c->copies; u++) {
            if (!match_unit(c, unit, u, &pair)) return false;
            access[u] = pair.items[i].y;
        }
        uint64_t least;
        if (!offsets_fold(b, access, c->copies, &least)) return false;
        poly = tw_poly_add(b->arena, poly, tw_poly_const(b->arena, poly->bits, out->offset - least));
        out->offset = least;
    }
    tw_atom counter = tw_match_counter(b, c->loop);
    uint64_t apart;
    bool stays = !l->is_access && poly && !tw_poly_has(poly, counter) && tw_poly_is_const(d, &apart) && !apart;
    if (stays) /* from around the loop, and perhaps used there, too */
        return out->affine = b->model->values[l->x].index, true;
    if (!poly || !d || !tw_poly_linear(b->arena, poly, counter, &coef, &rest)) return false;
    const tw_poly *moved = tw_poly_mul(b->arena, d, tw_poly_atom(b->arena, poly->bits, counter));
    out->affine = tw_build_affine(b, tw_poly_add(b->arena, rest, moved), c->loop);
    return out->affine != TW_NONE;
}

/* |distance| of two accesses whose addresses differ by a constant is at least their widths. */
static bool provably_apart(const tw_builder *b, uint32_t x, uint32_t y)
{
    uint64_t value;
    tw_leaf l = {true, x, y};
    if (b->model->accesses[x].is_indirect || b->model->accesses[y].is_indirect) return false;
    if (!tw_poly_is_const(tw_leaf_distance(b, &l), &value)) return false;
    int64_t by = (int32_t)(uint32_t)value;
    return by >= b->model->accesses[x].width || -by >= b->model->accesses[y].width;
}

static bool add_apart(tw_builder *b, uint32_t x, uint32_t y)
{
    tw_model *model = b->model;
    for (uint32_t p = 0; p < model->apart_count; p++)
        if (model->apart[p].first == x && model->apart[p].second == y) return true;
    if (model->apart_count >= TW_MODEL_MAX_ACCESSES) return false;
    if (!TW_ARENA_GROW(&model->arena, model->apart, model->apart_count, model->apart_capacity)) return false;
    model->apart[model->apart_count++] = (tw_pair){x, y};
    return true;
}

/* ---- reads ---- */

/* Copy u's use of the read that is item `read` becomes one of the read that is item `kept` of the first copy: after all
 * stores of earlier copies, and among its own copy's where the first has it. */
static bool read_may_move(const copying *c, uint32_t read, uint32_t u, uint32_t kept)
{
    const tw_item *items = c->body.items;
    for (uint32_t s = 0; s < c->body.store_count; s++) {
        uint32_t store = c->body.stores[s], first = c->body.stores[s % c->stores];
        bool was_before = read < store;
        bool is_before = s / c->stores != u ? s / c->stores > u : kept < first;
        if (was_before == is_before || provably_apart(c->b, items[read].index, items[store].index)) continue;
        if (!add_apart(c->b, items[kept].index, items[first].index)) return false;
    }
    return true;
}

/* All that copy u of the unit does with the read: it may play several parts, one of which another copy has a read of its own for. */
static bool uses_may_move(const copying *c, uint32_t read, uint32_t unit, uint32_t u)
{
    tw_leaves pair;
    if (u == 0) return read_may_move(c, read, u, read);
    if (!match_unit(c, unit, u, &pair)) return false;
    for (uint32_t i = 0; i < pair.count; i++) {
        if (!pair.items[i].is_access || pair.items[i].y != c->body.items[read].index) continue;
        uint32_t kept = tw_stretch_item(&c->body, pair.items[i].x);
        if (kept == TW_NONE || !read_may_move(c, read, u, kept)) return false;
    }
    return true;
}

/* A read that units share is made anew by each copy: every use counts. */
static bool reads_may_move(const copying *c)
{
    for (uint32_t i = 0; i < c->body.item_count; i++) {
        bool used = false;
        if (c->body.items[i].kind != TW_ITEM_READ) continue;
        for (uint32_t unit = 0; unit < units_of(c); unit++)
            for (uint32_t u = 0; u < c->copies; u++) {
                if (!unit_reads(c, unit, u, c->body.items[i].value)) continue;
                used = true;
                if (!uses_may_move(c, i, unit, u)) return false;
            }
        if (!used) return false; /* a read for nothing, which may trap: leave it in its place */
    }
    return true;
}

/* ---- the change ---- */

/* Stores of one copy keep their order, and copies theirs; so do the stores of different units only if the original
 * had them copy by copy, which is how units are matched here. */
static void keep_first_copy(const copying *c)
{
    tw_model_loop *l = &c->b->model->loops[c->loop];
    uint32_t kept = 0;
    for (uint32_t i = 0; i < l->item_count; i++) {
        bool keep = false;
        for (uint32_t unit = 0; unit < units_of(c) && l->items[i].kind == TW_ITEM_READ && !keep; unit++)
            keep = unit_reads(c, unit, 0, l->items[i].value);
        for (uint32_t s = 0; s < c->stores; s++) keep |= c->body.stores[s] == i;
        c->keep[i] = keep;
    }
    for (uint32_t i = 0; i < l->item_count; i++)
        if (c->keep[i]) l->items[kept++] = l->items[i];
    l->item_count = kept;
}

static void apply(tw_builder *b, const change *changes, uint32_t count)
{
    for (uint32_t c = 0; c < count; c++) {
        if (changes[c].is_access) {
            b->model->accesses[changes[c].index].address = changes[c].affine;
            b->model->accesses[changes[c].index].offset = changes[c].offset;
        } else {
            b->model->values[changes[c].index].index = changes[c].affine;
        }
    }
}

/* A leaf that plays several parts must change to one and the same: U·d doesn't tell d from d + 2^31. */
static bool add_change(const tw_builder *b, change *changes, uint32_t *count, const change *next)
{
    for (uint32_t c = 0; c < *count; c++) {
        if (changes[c].is_access != next->is_access || changes[c].index != next->index) continue;
        return changes[c].offset == next->offset && tw_poly_equal(b->affine[changes[c].affine], b->affine[next->affine]);
    }
    if (*count == MOST_CHANGES) return false;
    changes[(*count)++] = *next;
    return true;
}

static bool plan_unit(const copying *c, uint32_t unit, change *changes, uint32_t *changed)
{
    tw_leaves first;
    change next;
    if (!match_unit(c, unit, 1, &first)) return false;
    for (uint32_t i = 0; i < first.count; i++)
        if (!plan_change(c, unit, i, &first.items[i], &next) || !add_change(c->b, changes, changed, &next)) return false;
    return true;
}

static bool reroll_by(copying *c)
{
    tw_builder *b = c->b;
    uint32_t changed = 0, apart_before = b->model->apart_count;
    change changes[MOST_CHANGES];
    for (uint32_t unit = 0; unit < units_of(c); unit++)
        if (!unit_fits(c, unit)) return false;
    for (uint32_t unit = 0; unit < units_of(c); unit++)
        if (!plan_unit(c, unit, changes, &changed)) return false;
    uint32_t trips = tw_expr_mul(b->model, 64, b->model->loops[c->loop].trips, tw_expr_const(b->model, 64, c->copies));
    c->keep = TW_NEW_ARRAY(b->arena, bool, c->body.item_count);
    if (trips == TW_NONE || !c->keep || !reads_may_move(c)) {
        b->model->apart_count = apart_before;
        return false;
    }
    keep_first_copy(c);
    apply(b, changes, changed);
    for (uint32_t k = 0; k < c->chains.count; k++)
        b->model->carried[c->chains.items[k].carried].next = tw_chain_at(&c->chains.items[k], 1, c->copies);
    b->model->loops[c->loop].trips = trips;
    return true;
}

static bool divides(const copying *c, uint32_t copies)
{
    bool all = c->body.store_count % copies == 0;
    for (uint32_t k = 0; k < c->chains.count; k++) all &= c->chains.items[k].length % copies == 0;
    return all;
}

static uint32_t reroll_body(tw_builder *b, uint32_t loop)
{
    copying c = {.b = b, .loop = loop};
    if (b->natural[loop] == TW_NO_LOOP || tw_build_is_limited(b, loop) ||
        !tw_stretch_of(b, loop, 0, b->model->loops[loop].item_count, &c.body) || !tw_chains_of(b, loop, &c.chains))
        return 1;
    uint32_t most = c.body.store_count;
    for (uint32_t k = 0; k < c.chains.count; k++)
        if (!most || c.chains.items[k].length < most) most = c.chains.items[k].length;
    for (uint32_t u = most < MOST_COPIES ? most : MOST_COPIES; u > 1; u--) {
        uint32_t checks = b->model->check_count;
        if (!divides(&c, u)) continue;
        c.copies = u;
        c.stores = c.body.store_count / u;
        if (reroll_by(&c)) {
            if (loop == 0) b->model->copies = u;
            return u;
        }
        b->model->check_count = checks;
    }
    return 1;
}

/* ---- the tree ---- */

static bool holds_loops_only(const tw_model_loop *loop)
{
    for (uint32_t i = 0; i < loop->item_count; i++)
        if (loop->items[i].kind != TW_ITEM_LOOP) return false;
    return true;
}

void tw_build_collapse_ifs(tw_builder *b)
{
    tw_model *model = b->model;
    for (uint32_t l = 0; l < model->loop_count; l++)
        for (uint32_t i = 0; i < model->loops[l].item_count;) {
            const tw_item *item = &model->loops[l].items[i];
            bool goes = item->kind == TW_ITEM_LOOP && model->loops[item->index].is_if && holds_loops_only(&model->loops[item->index]);
            if (!goes || !tw_build_splice(b, l, i)) i++;
        }
}

void tw_build_reroll(tw_builder *b)
{
    tw_model *model = b->model;
    uint32_t copies[TW_MODEL_MAX_LOOPS];
    tw_build_collapse_ifs(b);
    for (uint32_t l = 0; l < model->loop_count; l++) copies[l] = reroll_body(b, l);
    for (uint32_t l = 0; l < model->loop_count; l++)
        for (uint32_t i = 0; i + 1 < model->loops[l].item_count; i++) {
            const tw_item *main = &model->loops[l].items[i];
            if (main->kind == TW_ITEM_LOOP && b->natural[main->index] != TW_NO_LOOP && copies[main->index] > 1)
                tw_build_remainders(b, l, i, copies[main->index]);
        }
}
