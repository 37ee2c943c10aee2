/* SPDX-License-Identifier: Apache-2.0 */
#include "region/match.h"

#include <string.h>

enum { DEEPEST = 40, MOST_SPINE = 256 };

/* ---- stretches ---- */

bool tw_stretch_of(const tw_builder *b, uint32_t loop, uint32_t first, uint32_t count, tw_stretch *out)
{
    const tw_model_loop *l = &b->model->loops[loop];
    if (first + count > l->item_count) return false;
    *out = (tw_stretch){.loop = loop, .items = l->items + first, .item_count = count};
    for (uint32_t i = 0; i < count; i++) {
        if (out->items[i].kind == TW_ITEM_LOOP) return false;
        if (out->items[i].kind == TW_ITEM_READ && out->items[i].guard != TW_NONE) return false; /* its leaves wouldn't be matched */
        if (out->items[i].kind != TW_ITEM_STORE) continue;
        if (out->store_count == TW_MATCH_STATEMENTS) return false;
        out->stores[out->store_count++] = i;
    }
    return true;
}

uint32_t tw_stretch_item(const tw_stretch *stretch, uint32_t access)
{
    for (uint32_t i = 0; i < stretch->item_count; i++)
        if (stretch->items[i].kind == TW_ITEM_READ && stretch->items[i].index == access) return i;
    return TW_NONE;
}

/* ---- chains ---- */

typedef struct spines { /* of the values that are made of the scalar: the nearest one below that all ways pass */
    uint32_t *below, *height; /* by value; height 0: not made of it (the scalar itself: 1) */
} spines;

static uint32_t common(const spines *s, uint32_t x, uint32_t y)
{
    while (x != y) {
        if (s->height[x] >= s->height[y]) x = s->below[x];
        else y = s->below[y];
    }
    return x;
}

static bool find_spines(const tw_builder *b, uint32_t scalar, uint32_t last, spines *s)
{
    s->below = TW_NEW_ARRAY(b->arena, uint32_t, (size_t)last + 1);
    s->height = TW_NEW_ARRAY(b->arena, uint32_t, (size_t)last + 1);
    if (!s->below || !s->height) return false;
    s->height[scalar] = 1;
    for (uint32_t v = scalar + 1; v <= last; v++) {
        const tw_value_node *node = &b->model->values[v];
        uint32_t below = TW_NONE;
        for (int a = 0; node->kind == TW_VALUE_OP && a < 3; a++) {
            if (node->args[a] == TW_NONE || !s->height[node->args[a]]) continue;
            below = below == TW_NONE ? node->args[a] : common(s, below, node->args[a]);
        }
        if (below == TW_NONE) continue;
        s->below[v] = below;
        s->height[v] = s->height[below] + 1;
    }
    return true;
}

static uint32_t scalar_of(const tw_builder *b, uint32_t carried)
{
    for (uint32_t v = 0; v < b->model->value_count; v++)
        if (b->model->values[v].kind == TW_VALUE_CARRIED && b->model->values[v].index == carried) return v;
    return TW_NONE;
}

static bool chain_of(const tw_builder *b, uint32_t carried, tw_chain *out)
{
    uint32_t scalar = scalar_of(b, carried), next = b->model->carried[carried].next;
    spines s;
    if (scalar == TW_NONE || next == TW_NONE || next <= scalar || !find_spines(b, scalar, next, &s)) return false;
    if (s.height[next] < 2 || s.height[next] > MOST_SPINE) return false;
    *out = (tw_chain){.carried = carried, .length = s.height[next] - 1};
    out->spine = TW_NEW_ARRAY(b->arena, uint32_t, (size_t)out->length + 1);
    if (!out->spine) return false;
    for (uint32_t v = next, k = out->length;; v = s.below[v], k--) {
        out->spine[k] = v;
        if (!k) return true;
    }
}

bool tw_chains_of(const tw_builder *b, uint32_t loop, tw_chains *out)
{
    out->count = 0;
    for (uint32_t c = 0; c < b->model->carried_count; c++) {
        if (b->model->carried[c].loop != loop) continue;
        if (out->count == TW_MATCH_CHAINS || !chain_of(b, c, &out->items[out->count])) return false;
        out->count++;
    }
    return true;
}

uint32_t tw_chain_at(const tw_chain *chain, uint32_t copy, uint32_t copies)
{
    return chain->spine[chain->length / copies * copy];
}

/* Which chain and copy the value is a point of. */
static bool point_of(const tw_chains *chains, uint32_t copies, uint32_t value, uint32_t *chain, uint32_t *copy)
{
    for (*chain = 0; *chain < chains->count; (*chain)++)
        for (*copy = 0; *copy <= copies; (*copy)++)
            if (tw_chain_at(&chains->items[*chain], *copy, copies) == value) return true;
    return false;
}

bool tw_chains_hold(const tw_chains *chains, uint32_t copies, uint32_t value)
{
    uint32_t chain, copy;
    return point_of(chains, copies, value, &chain, &copy);
}

/* ---- matching ---- */

static bool add_leaf(tw_leaves *all, bool is_access, uint32_t x, uint32_t y)
{
    for (uint32_t i = 0; i < all->count; i++)
        if (all->items[i].is_access == is_access && all->items[i].x == x && all->items[i].y == y) return true;
    if (all->count == TW_MATCH_LEAVES) return false;
    all->items[all->count++] = (tw_leaf){is_access, x, y};
    return true;
}

static bool match_access(const tw_match *m, uint32_t x, uint32_t y)
{
    const tw_model_access *ax = &m->b->model->accesses[x], *ay = &m->b->model->accesses[y];
    return ax->op == ay->op && add_leaf(m->leaves, true, x, y);
}

/* Whether the two are points of chains, or scalars that stand for each other; *equal then says whether the right ones. */
static bool stand_for(const tw_match *m, uint32_t x, uint32_t y, bool *equal)
{
    for (uint32_t h = 0; h < m->hole_count; h++) {
        *equal = m->holes[h][0] == x && m->holes[h][1] == y;
        if (m->holes[h][0] == x || m->holes[h][1] == y) return true;
    }
    uint32_t cx, cy, ux, uy;
    if (!m->chains) return false;
    bool at_x = point_of(m->chains, m->copies, x, &cx, &ux), at_y = point_of(m->chains, m->copies, y, &cy, &uy);
    *equal = at_x && at_y && cx == cy && uy - ux == m->shift;
    return at_x || at_y;
}

static bool match_node(const tw_match *m, uint32_t x, uint32_t y, uint32_t depth);

/* Values from loops around the stretches are equal only when they are the same. */
static bool match(const tw_match *m, uint32_t x, uint32_t y, uint32_t depth)
{
    bool equal;
    if (x == TW_NONE || y == TW_NONE) return x == y;
    return stand_for(m, x, y, &equal) ? equal : match_node(m, x, y, depth);
}

/* Of indirect reads static offsets must be the same: addresses that are equal as polynomials say nothing of one another. */
static bool match_indices(const tw_match *m, const tw_value_node *x, const tw_value_node *y, uint32_t depth)
{
    const tw_model_access *accesses = m->b->model->accesses;
    if (x->args[0] == TW_NONE || y->args[0] == TW_NONE) return x->args[0] == y->args[0];
    return accesses[x->index].offset == accesses[y->index].offset && match(m, x->args[0], y->args[0], depth + 1);
}

static bool match_node(const tw_match *m, uint32_t x, uint32_t y, uint32_t depth)
{
    const tw_value_node *vx = &m->b->model->values[x], *vy = &m->b->model->values[y];
    if (depth > DEEPEST || vx->kind != vy->kind || vx->type != vy->type) return false;
    switch ((tw_value_kind)vx->kind) {
    case TW_VALUE_CONST: return vx->bits == vy->bits;
    case TW_VALUE_SYMBOL: return vx->index == vy->index;
    case TW_VALUE_CARRIED: case TW_VALUE_FINAL: return x == y;
    case TW_VALUE_AFFINE: return add_leaf(m->leaves, false, x, y);
    case TW_VALUE_READ:
        if (tw_stretch_item(m->x, vx->index) == TW_NONE || tw_stretch_item(m->y, vy->index) == TW_NONE) return x == y;
        return match_access(m, vx->index, vy->index) && match_indices(m, vx, vy, depth);
    case TW_VALUE_OP: break;
    }
    if (vx->op != vy->op) return false;
    for (int a = 0; a < 3; a++)
        if (!match(m, vx->args[a], vy->args[a], depth + 1)) return false;
    return true;
}

bool tw_match_stores(const tw_match *m, uint32_t x, uint32_t y)
{
    const tw_item *ix = &m->x->items[x], *iy = &m->y->items[y];
    m->leaves->count = 0;
    return match_access(m, ix->index, iy->index) && match(m, ix->value, iy->value, 0) && match(m, ix->guard, iy->guard, 0);
}

bool tw_match_steps(const tw_match *m, uint32_t x, uint32_t y)
{
    m->leaves->count = 0;
    return match_node(m, x, y, 0);
}

/* ---- leaves ---- */

const tw_poly *tw_leaf_poly(const tw_builder *b, const tw_leaf *leaf, bool second)
{
    uint32_t index = second ? leaf->y : leaf->x;
    return b->affine[leaf->is_access ? b->model->accesses[index].address : b->model->values[index].index];
}

uint64_t tw_leaf_offset(const tw_builder *b, const tw_leaf *leaf, bool second)
{
    return leaf->is_access ? b->model->accesses[second ? leaf->y : leaf->x].offset : 0;
}

const tw_poly *tw_leaf_distance(const tw_builder *b, const tw_leaf *leaf)
{
    const tw_poly *x = tw_leaf_poly(b, leaf, false), *y = tw_leaf_poly(b, leaf, true);
    if (!x || !y || x->bits != y->bits) return NULL;
    return tw_poly_add(b->arena, tw_poly_sub(b->arena, y, x),
                       tw_poly_const(b->arena, x->bits, tw_leaf_offset(b, leaf, true) - tw_leaf_offset(b, leaf, false)));
}

tw_atom tw_match_counter(const tw_builder *b, uint32_t loop)
{
    return tw_atom_make(TW_ATOM_COUNTER, b->natural[loop]);
}

const tw_poly *tw_match_stride(const tw_builder *b, const tw_poly *poly, uint32_t loop)
{
    const tw_poly *coef, *rest;
    if (!poly || b->natural[loop] == TW_NO_LOOP) return NULL;
    return tw_poly_linear(b->arena, poly, tw_match_counter(b, loop), &coef, &rest) ? coef : NULL;
}

bool tw_match_only_symbols(const tw_builder *b, const tw_poly *poly)
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

bool tw_match_check(tw_builder *b, uint32_t expr, uint32_t loop)
{
    tw_model *model = b->model;
    uint64_t value;
    if (expr == TW_NONE) return false;
    if (tw_expr_is_const(model, expr, &value)) return value != 0;
    for (uint32_t c = 0; c < model->check_count; c++)
        if (model->checks[c].expr == expr && model->checks[c].loop == loop) return true;
    if (!TW_ARENA_GROW(&model->arena, model->checks, model->check_count, model->check_capacity)) return false;
    model->checks[model->check_count++] = (tw_check){.expr = expr, .loop = loop, .refusal = TW_REFUSAL_CHECK};
    return true;
}
