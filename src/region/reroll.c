/* SPDX-License-Identifier: Apache-2.0 */
#include "region/builder.h"

#include <string.h>

/* Guests' compilers unroll. A loop of U copies of a statement, and the remainder loop (or `if`) behind it, are here made one
 * loop over a finer domain again, so that the factor, the remainder and the guest's vector width are gone:
 *
 *   body       statements u = 0 … U-1 match structurally; between u and u+1 every address moves by d, and over a whole
 *              iteration by U·d. Then the counter may run U times as often in steps of d.
 *   remainder  its statements match the main loop's, move by d, and start where the main loop ends. That they do is a
 *              polynomial identity, or else a check made with numbers on arrival.
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

enum { MOST_STATEMENTS = 64, MOST_LEAVES = 64, MOST_CHANGES = 2 * MOST_LEAVES };

typedef struct statement {
    uint32_t item;  /* the store's index among the loop's items */
} statement;

typedef struct leaf { /* a pair of corresponding affines, of accesses or of values */
    bool is_access;
    uint32_t x, y;    /* accesses, or value nodes of kind AFFINE */
} leaf;

typedef struct leaves {
    leaf items[MOST_LEAVES];
    uint32_t count;
} leaves;

static const tw_poly *poly_of(const tw_builder *b, const leaf *l, bool second)
{
    uint32_t index = second ? l->y : l->x;
    return b->affine[l->is_access ? b->model->accesses[index].address : b->model->values[index].index];
}

static uint64_t offset_of(const tw_builder *b, const leaf *l, bool second)
{
    return l->is_access ? b->model->accesses[second ? l->y : l->x].offset : 0;
}

static bool add_leaf(leaves *all, bool is_access, uint32_t x, uint32_t y)
{
    for (uint32_t i = 0; i < all->count; i++)
        if (all->items[i].is_access == is_access && all->items[i].x == x && all->items[i].y == y) return true;
    if (all->count == MOST_LEAVES) return false;
    all->items[all->count++] = (leaf){is_access, x, y};
    return true;
}

/* ---- matching ---- */

static bool match_access(const tw_builder *b, uint32_t x, uint32_t y, leaves *all)
{
    const tw_model_access *ax = &b->model->accesses[x], *ay = &b->model->accesses[y];
    return ax->op == ay->op && add_leaf(all, true, x, y);
}

/* lx, ly: the loops whose statements these are; values from loops around them are equal only when they are the same. */
static bool match(const tw_builder *b, uint32_t x, uint32_t y, uint32_t lx, uint32_t ly, leaves *all, uint32_t depth)
{
    if (x == TW_NONE || y == TW_NONE) return x == y;
    const tw_value_node *vx = &b->model->values[x], *vy = &b->model->values[y];
    if (depth > 40 || vx->kind != vy->kind || vx->type != vy->type) return false;
    switch ((tw_value_kind)vx->kind) {
    case TW_VALUE_CONST: return vx->bits == vy->bits;
    case TW_VALUE_SYMBOL: return vx->index == vy->index;
    case TW_VALUE_CARRIED: case TW_VALUE_FINAL: return x == y;
    case TW_VALUE_AFFINE: return add_leaf(all, false, x, y);
    case TW_VALUE_READ: {
        uint32_t hx = b->model->accesses[vx->index].loop, hy = b->model->accesses[vy->index].loop;
        if (hx != lx || hy != ly) return x == y;
        return match_access(b, vx->index, vy->index, all);
    }
    case TW_VALUE_OP: break;
    }
    if (vx->op != vy->op) return false;
    for (int a = 0; a < 3; a++)
        if (!match(b, vx->args[a], vy->args[a], lx, ly, all, depth + 1)) return false;
    return true;
}

static bool match_statements(const tw_builder *b, uint32_t lx, uint32_t ix, uint32_t ly, uint32_t iy, leaves *all)
{
    const tw_item *x = &b->model->loops[lx].items[ix], *y = &b->model->loops[ly].items[iy];
    all->count = 0;
    return match_access(b, x->index, y->index, all) && match(b, x->value, y->value, lx, ly, all, 0) &&
           match(b, x->guard, y->guard, lx, ly, all, 0);
}

static tw_atom counter_atom(const tw_builder *b, uint32_t loop)
{
    return tw_atom_make(TW_ATOM_COUNTER, b->natural[loop]);
}

/* How far poly moves in one iteration of loop. */
static const tw_poly *stride_of(const tw_builder *b, const tw_poly *poly, uint32_t loop)
{
    const tw_poly *coef, *rest;
    if (!poly || b->natural[loop] == TW_NO_LOOP) return NULL;
    return tw_poly_linear(b->arena, poly, counter_atom(b, loop), &coef, &rest) ? coef : NULL;
}

/* (y + its offset) - (x + its offset) */
static const tw_poly *distance(const tw_builder *b, const leaf *l)
{
    const tw_poly *x = poly_of(b, l, false), *y = poly_of(b, l, true);
    if (!x || !y || x->bits != y->bits) return NULL;
    return tw_poly_add(b->arena, tw_poly_sub(b->arena, y, x),
                       tw_poly_const(b->arena, x->bits, offset_of(b, l, true) - offset_of(b, l, false)));
}

/* ---- a loop's statements ---- */

/* Leaf loops of plain statements only: unguarded reads, stores, no loops inside, no carried scalars. */
static uint32_t statements_of(const tw_builder *b, uint32_t loop, statement *out)
{
    const tw_model_loop *l = &b->model->loops[loop];
    uint32_t count = 0;
    for (uint32_t c = 0; c < b->model->carried_count; c++)
        if (b->model->carried[c].loop == loop) return 0;
    for (uint32_t i = 0; i < l->item_count; i++) {
        if (l->items[i].kind == TW_ITEM_LOOP) return 0;
        if (l->items[i].kind == TW_ITEM_READ && l->items[i].guard != TW_NONE) return 0; /* its leaves wouldn't be matched */
        if (l->items[i].kind != TW_ITEM_STORE) continue;
        if (count == MOST_STATEMENTS) return 0;
        out[count++].item = i;
    }
    return count;
}

static bool reads(const tw_builder *b, uint32_t value, uint32_t read, uint32_t depth)
{
    if (value == TW_NONE || depth > 40) return value != TW_NONE;
    if (value == read) return true;
    const tw_value_node *node = &b->model->values[value];
    for (int a = 0; node->kind == TW_VALUE_OP && a < 3; a++)
        if (node->args[a] != TW_NONE && reads(b, node->args[a], read, depth + 1)) return true;
    return false;
}

static bool statement_reads(const tw_builder *b, const tw_item *store, uint32_t read)
{
    return reads(b, store->value, read, 0) || (store->guard != TW_NONE && reads(b, store->guard, read, 0));
}

/* The item's statement: the first store that uses the read. TW_NONE for a read that no store uses. */
static uint32_t owner_of(const tw_builder *b, const tw_model_loop *loop, const statement *all, uint32_t count, uint32_t item)
{
    for (uint32_t s = 0; s < count; s++)
        if (statement_reads(b, &loop->items[all[s].item], loop->items[item].value)) return s;
    return TW_NONE;
}

/* ---- bodies ---- */

static bool add_check(tw_builder *b, uint32_t expr, uint32_t loop)
{
    tw_model *model = b->model;
    uint64_t value;
    if (expr == TW_NONE) return false;
    if (tw_expr_is_const(model, expr, &value)) return value != 0;
    if (!TW_ARENA_GROW(&model->arena, model->checks, model->check_count, model->check_capacity)) return false;
    model->checks[model->check_count++] = (tw_check){.expr = expr, .loop = loop, .refusal = TW_REFUSAL_CHECK};
    return true;
}

static bool only_symbols(const tw_builder *b, const tw_poly *poly)
{
    for (uint32_t t = 0; t < poly->term_count; t++)
        for (uint32_t k = 0; k < TW_POLY_DEGREE && poly->terms[t].atoms[k]; k++) {
            tw_atom atom = poly->terms[t].atoms[k];
            if (tw_atom_kind_of(atom) != TW_ATOM_VALUE || b->func->values[tw_atom_index(atom)].kind != TW_IR_PARAM ||
                b->func->values[tw_atom_index(atom)].block != 0)
                return false;
        }
    return true;
}

bool tw_build_same(tw_builder *b, const tw_poly *x, const tw_poly *y)
{
    if (!x || !y || x->bits != y->bits) return false;
    if (tw_poly_equal(x, y)) return true;
    const tw_poly *gap = tw_poly_sub(b->arena, x, y);
    uint64_t value;
    if (!gap || tw_poly_is_const(gap, &value) || !only_symbols(b, gap)) return false;
    return add_check(b, tw_expr_equal(b->model, gap->bits, tw_build_expr(b, gap), tw_expr_const(b->model, gap->bits, 0)), TW_NONE);
}

/* Statement s+k·u is statement s moved by u·d, for every leaf; and U·d is a whole iteration. */
static bool copies_fit(tw_builder *b, uint32_t loop, const statement *all, uint32_t k, uint32_t copies)
{
    leaves first, pair;
    for (uint32_t s = 0; s < k; s++) {
        for (uint32_t u = 1; u < copies; u++) {
            if (!match_statements(b, loop, all[s].item, loop, all[s + k * u].item, &pair)) return false;
            if (u == 1) first = pair;
            if (pair.count != first.count) return false;
            for (uint32_t i = 0; i < pair.count; i++) {
                const tw_poly *d = distance(b, &first.items[i]);
                if (pair.items[i].x != first.items[i].x ||
                    !tw_build_same(b, distance(b, &pair.items[i]), d ? tw_poly_scale(b->arena, d, u) : NULL))
                    return false;
            }
        }
        for (uint32_t i = 0; i < first.count; i++) {
            const tw_poly *d = distance(b, &first.items[i]);
            if (!tw_build_same(b, stride_of(b, poly_of(b, &first.items[i], false), loop), d ? tw_poly_scale(b->arena, d, copies) : NULL))
                return false;
        }
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

static uint32_t new_affine(tw_builder *b, const tw_poly *poly, uint32_t loop)
{
    if (!poly || b->model->affine_count >= TW_MODEL_MAX_VALUES) return TW_NONE;
    b->affine[b->model->affine_count] = poly;
    b->affine_loop[b->model->affine_count] = loop;
    return b->model->affine_count++;
}

typedef struct change { /* one leaf of the kept copy, as it will be */
    bool is_access;
    uint32_t index, affine;
    uint64_t offset;
} change;

/* The kept copy's leaf with the counter's coefficient d instead of copies·d. */
static bool plan_change(tw_builder *b, uint32_t loop, const statement *all, uint32_t k, uint32_t copies, uint32_t s, uint32_t i,
                        const leaf *l, change *out)
{
    const tw_poly *d = distance(b, l), *poly = poly_of(b, l, false), *coef, *rest;
    uint32_t index = l->x;
    *out = (change){.is_access = l->is_access, .index = index, .offset = offset_of(b, l, false)};
    if (l->is_access) {
        uint32_t access[MOST_STATEMENTS];
        leaves pair;
        access[0] = index;
        for (uint32_t u = 1; u < copies; u++) {
            if (!match_statements(b, loop, all[s].item, loop, all[s + k * u].item, &pair)) return false;
            access[u] = pair.items[i].y;
        }
        uint64_t least;
        if (!offsets_fold(b, access, copies, &least)) return false;
        poly = tw_poly_add(b->arena, poly, tw_poly_const(b->arena, poly->bits, out->offset - least));
        out->offset = least;
    }
    tw_atom counter = counter_atom(b, loop);
    if (!poly || !d || !tw_poly_linear(b->arena, poly, counter, &coef, &rest)) return false;
    const tw_poly *moved = tw_poly_mul(b->arena, d, tw_poly_atom(b->arena, poly->bits, counter));
    out->affine = new_affine(b, tw_poly_add(b->arena, rest, moved), loop);
    return out->affine != TW_NONE;
}

/* |distance| of two accesses whose addresses differ by a constant is at least their widths. */
static bool provably_apart(const tw_builder *b, uint32_t x, uint32_t y)
{
    uint64_t value;
    leaf l = {true, x, y};
    if (!tw_poly_is_const(distance(b, &l), &value)) return false;
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

static uint32_t item_of(const tw_model_loop *loop, uint32_t access)
{
    for (uint32_t i = 0; i < loop->item_count; i++)
        if (loop->items[i].kind == TW_ITEM_READ && loop->items[i].index == access) return i;
    return TW_NONE;
}

typedef struct copying { /* a loop's statements, k to a copy */
    uint32_t loop;
    const statement *all;
    uint32_t count, k;
} copying;

/* Statement t's use of the read that is item `read` becomes one of the read that is item `kept` of the first copy: after all
 * statements of earlier copies, and among its own copy's where the first has it. */
static bool read_may_move(tw_builder *b, const copying *c, uint32_t read, uint32_t t, uint32_t kept)
{
    const tw_item *items = b->model->loops[c->loop].items;
    for (uint32_t s = 0; s < c->count; s++) {
        bool was_before = read < c->all[s].item;
        bool is_before = s / c->k != t / c->k ? s / c->k > t / c->k : kept < c->all[s % c->k].item;
        if (was_before == is_before || provably_apart(b, items[read].index, items[c->all[s].item].index)) continue;
        if (!add_apart(b, items[kept].index, items[c->all[s % c->k].item].index)) return false;
    }
    return true;
}

/* All that statement t does with the read: it may play several parts, one of which another copy has a read of its own for. */
static bool uses_may_move(tw_builder *b, const copying *c, uint32_t read, uint32_t t)
{
    const tw_model_loop *l = &b->model->loops[c->loop];
    leaves pair;
    if (t < c->k) return read_may_move(b, c, read, t, read);
    if (!match_statements(b, c->loop, c->all[t % c->k].item, c->loop, c->all[t].item, &pair)) return false;
    for (uint32_t i = 0; i < pair.count; i++) {
        if (!pair.items[i].is_access || pair.items[i].y != l->items[read].index) continue;
        uint32_t kept = item_of(l, pair.items[i].x);
        if (kept == TW_NONE || !read_may_move(b, c, read, t, kept)) return false;
    }
    return true;
}

/* A read that statements share is made anew by each copy: every use counts. */
static bool reads_may_move(tw_builder *b, const copying *c)
{
    const tw_model_loop *l = &b->model->loops[c->loop];
    for (uint32_t i = 0; i < l->item_count; i++) {
        bool used = false;
        if (l->items[i].kind != TW_ITEM_READ) continue;
        for (uint32_t t = 0; t < c->count; t++) {
            if (!statement_reads(b, &l->items[c->all[t].item], l->items[i].value)) continue;
            used = true;
            if (!uses_may_move(b, c, i, t)) return false;
        }
        if (!used) return false; /* a read for nothing, which may trap: leave it in its place */
    }
    return true;
}

/* Stores of one copy keep their order, and copies theirs; so do the stores of different statements only if the original
 * had them copy by copy, which is how statements are matched here. */
static void keep_first_copy(tw_builder *b, uint32_t loop, const statement *all, uint32_t count, uint32_t k)
{
    tw_model_loop *l = &b->model->loops[loop];
    uint32_t kept = 0;
    for (uint32_t i = 0; i < l->item_count; i++) {
        uint32_t s = TW_NONE;
        if (l->items[i].kind == TW_ITEM_READ) s = owner_of(b, l, all, count, i);
        for (uint32_t c = 0; c < count; c++)
            if (all[c].item == i) s = c;
        if (s < k) l->items[kept++] = l->items[i];
    }
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

static bool reroll_by(tw_builder *b, uint32_t loop, const statement *all, uint32_t count, uint32_t copies)
{
    uint32_t k = count / copies, changed = 0, apart_before = b->model->apart_count;
    copying copied = {loop, all, count, k};
    change changes[MOST_CHANGES], next;
    leaves first;
    if (!copies_fit(b, loop, all, k, copies)) return false;
    for (uint32_t s = 0; s < k; s++) {
        if (!match_statements(b, loop, all[s].item, loop, all[s + k].item, &first)) return false;
        for (uint32_t i = 0; i < first.count; i++) {
            if (!plan_change(b, loop, all, k, copies, s, i, &first.items[i], &next) || !add_change(b, changes, &changed, &next)) return false;
        }
    }
    uint32_t trips = tw_expr_mul(b->model, 64, b->model->loops[loop].trips, tw_expr_const(b->model, 64, copies));
    if (trips == TW_NONE || !reads_may_move(b, &copied)) {
        b->model->apart_count = apart_before;
        return false;
    }
    keep_first_copy(b, loop, all, count, k);
    apply(b, changes, changed);
    b->model->loops[loop].trips = trips;
    return true;
}

static void reroll_body(tw_builder *b, uint32_t loop, uint32_t *copies)
{
    statement all[MOST_STATEMENTS];
    *copies = 1;
    if (b->natural[loop] == TW_NO_LOOP) return;
    uint32_t count = statements_of(b, loop, all);
    for (uint32_t u = count; u > 1; u--) {
        uint32_t checks = b->model->check_count;
        if (count % u) continue;
        if (reroll_by(b, loop, all, count, u)) {
            *copies = u;
            if (loop == 0) b->model->copies = u;
            return;
        }
        b->model->check_count = checks;
    }
}

/* ---- remainders ---- */

/* The main loop's end: leaf x at counter = its trips, copies·ARRIVALS of the cut's loop. */
static const tw_poly *end_of(const tw_builder *b, uint32_t main, const tw_poly *poly, uint32_t copies)
{
    tw_atom arrivals = tw_atom_make(TW_ATOM_ARRIVALS, b->natural[main]);
    const tw_poly *trips = tw_poly_scale(b->arena, tw_poly_atom(b->arena, poly->bits, arrivals), copies);
    return tw_poly_substitute(b->arena, poly, counter_atom(b, main), trips);
}

/* `rest` starts where `main` ends, or a check that says so when it has a trip at all. */
static bool starts_at_end(tw_builder *b, uint32_t main, uint32_t rest, uint32_t copies, const leaf *l)
{
    const tw_poly *x = poly_of(b, l, false), *y = poly_of(b, l, true);
    if (!x || !y || x->bits != y->bits || offset_of(b, l, false) != offset_of(b, l, true)) return false;
    if (b->natural[rest] != TW_NO_LOOP) {
        if (!tw_poly_equal(stride_of(b, x, main), stride_of(b, y, rest))) return false;
        y = tw_poly_substitute(b->arena, y, counter_atom(b, rest), tw_poly_const(b->arena, y->bits, 0));
    }
    const tw_poly *end = end_of(b, main, x, copies), *gap = y && end ? tw_poly_sub(b->arena, y, end) : NULL;
    uint64_t value;
    if (!gap) return false;
    if (tw_poly_is_const(gap, &value)) return value == 0;
    uint32_t expr = tw_expr_equal(b->model, x->bits, tw_build_expr(b, gap), tw_expr_const(b->model, x->bits, 0));
    uint32_t idle = tw_expr_op(b->model, TW_OP_I64_EQZ, 32, b->model->loops[rest].trips, TW_NONE);
    expr = tw_expr_select(b->model, idle, tw_expr_const(b->model, 32, 1), expr);
    return add_check(b, expr, b->model->loops[main].parent);
}

/* The remainder's items are the main loop's in the same order: reads then keep their places. */
static bool same_order(const tw_builder *b, uint32_t main, uint32_t rest)
{
    const tw_model_loop *x = &b->model->loops[main], *y = &b->model->loops[rest];
    if (x->item_count != y->item_count) return false;
    for (uint32_t i = 0; i < x->item_count; i++)
        if (x->items[i].kind != y->items[i].kind || b->model->accesses[x->items[i].index].op != b->model->accesses[y->items[i].index].op) return false;
    return true;
}

/* Reads that correspond are the same items: those of one address may still differ by a store between them. */
static bool in_one_place(const tw_builder *b, uint32_t main, uint32_t rest, const leaf *l)
{
    return !l->is_access || item_of(&b->model->loops[main], l->x) == item_of(&b->model->loops[rest], l->y);
}

static bool merge_remainder(tw_builder *b, uint32_t main, uint32_t copies, uint32_t rest)
{
    statement x[MOST_STATEMENTS], y[MOST_STATEMENTS];
    uint32_t count = statements_of(b, main, x), checks = b->model->check_count;
    if (!count || statements_of(b, rest, y) != count || !same_order(b, main, rest)) return false;
    for (uint32_t s = 0; s < count; s++) {
        leaves pair;
        bool ok = match_statements(b, main, x[s].item, rest, y[s].item, &pair);
        for (uint32_t i = 0; ok && i < pair.count; i++)
            ok = in_one_place(b, main, rest, &pair.items[i]) && starts_at_end(b, main, rest, copies, &pair.items[i]);
        if (!ok) return b->model->check_count = checks, false;
    }
    uint32_t trips = tw_expr_add(b->model, 64, b->model->loops[main].trips, b->model->loops[rest].trips);
    if (trips == TW_NONE) return b->model->check_count = checks, false;
    b->model->loops[main].trips = trips;
    return true;
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

static void remove_item(tw_model_loop *loop, uint32_t item)
{
    memmove(&loop->items[item], &loop->items[item + 1], (loop->item_count - item - 1) * sizeof *loop->items);
    loop->item_count--;
}

void tw_build_reroll(tw_builder *b)
{
    tw_model *model = b->model;
    uint32_t copies[TW_MODEL_MAX_LOOPS];
    tw_build_collapse_ifs(b);
    for (uint32_t l = 0; l < model->loop_count; l++) reroll_body(b, l, &copies[l]);
    for (uint32_t l = 0; l < model->loop_count; l++) {
        tw_model_loop *loop = &model->loops[l];
        for (uint32_t i = 0; i + 1 < loop->item_count;) {
            const tw_item *main = &loop->items[i], *rest = &loop->items[i + 1];
            if (main->kind == TW_ITEM_LOOP && rest->kind == TW_ITEM_LOOP && b->natural[main->index] != TW_NO_LOOP && copies[main->index] > 1 &&
                merge_remainder(b, main->index, copies[main->index], rest->index)) {
                copies[main->index] = 1; /* its end is known as copies·ARRIVALS no more: a second loop behind it stays */
                remove_item(loop, i + 1);
            } else
                i++;
        }
    }
}
