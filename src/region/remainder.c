/* SPDX-License-Identifier: Apache-2.0 */
#include "region/match.h"

#include <string.h>

/* What is left of a count that the factor of an unrolled loop doesn't divide follows the loop: as a loop, as an `if` around one
 * copy, or as copies in a row. It becomes more trips of the loop when it does the same, and starts where that ends: a
 * polynomial identity, or else a check made with numbers on arrival.
 *
 * A carried scalar goes on, too. Behind the loop its value is c's FINAL, and after the remainder
 *
 *   a loop        the FINAL of a scalar of its own, whose init is c's
 *   an `if`       an operation on c's FINAL, merged with that FINAL itself on the ways round it
 *   a row         an operation on c's FINAL
 *
 * That value becomes c's FINAL, which from then on means: after all trips. Nothing else may still want it from between. */

enum { MOST_REPLACED = 64 };

typedef enum rest_kind { REST_LOOP, REST_IF, REST_ROW } rest_kind;

typedef struct replaced {
    uint32_t value;
    tw_value_node old;
} replaced;

typedef struct merging {
    tw_builder *b;
    uint32_t main, parent;
    uint32_t copies;        /* main's trips are copies·ARRIVALS … */
    uint64_t extra;         /* … + extra */
    rest_kind kind;
    uint32_t rest;          /* loop; TW_NONE for a row */
    uint32_t first;         /* of a row: item of `parent` */
    tw_stretch x, y;
    uint32_t scalars[TW_MATCH_CHAINS], scalar_count; /* main's carried */
    uint32_t now[TW_MATCH_CHAINS], then[TW_MATCH_CHAINS]; /* by scalar: its value after main, and after the remainder */
    uint32_t after[TW_MATCH_CHAINS];                      /* by scalar: of a loop, the carried one that goes on from it */
    bool *used;             /* by item of y: a read that matched */
    replaced changed[MOST_REPLACED];
    uint32_t changed_count;
} merging;

static uint32_t final_of(const tw_builder *b, uint32_t carried)
{
    for (uint32_t v = 0; v < b->model->value_count; v++)
        if (b->model->values[v].kind == TW_VALUE_FINAL && b->model->values[v].index == carried) return v;
    return TW_NONE;
}

/* ---- where it starts ---- */

/* The main loop's trips so far. */
static const tw_poly *trips_before(const void *context, uint8_t bits)
{
    const merging *g = context;
    tw_arena *arena = g->b->arena;
    tw_atom arrivals = tw_atom_make(TW_ATOM_ARRIVALS, g->b->natural[g->main]);
    return tw_poly_add(arena, tw_poly_scale(arena, tw_poly_atom(arena, bits, arrivals), g->copies), tw_poly_const(arena, bits, g->extra));
}

/* The main loop's end: poly at counter = its trips so far. */
static const tw_poly *end_of(const merging *g, const tw_poly *poly)
{
    return tw_poly_substitute(g->b->arena, poly, tw_match_counter(g->b, g->main), trips_before(g, poly->bits));
}

/* `gap` is 0 whenever the remainder has a trip at all; what symbols alone decide, in any case. */
static bool is_no_gap(const merging *g, const tw_poly *gap)
{
    tw_model *model = g->b->model;
    uint64_t value;
    if (!gap) return false;
    if (tw_poly_is_const(gap, &value)) return value == 0;
    uint32_t expr = tw_expr_equal(model, gap->bits, tw_build_expr(g->b, gap), tw_expr_const(model, gap->bits, 0));
    if (tw_match_only_symbols(g->b, gap)) return tw_match_check(g->b, expr, TW_NONE);
    if (g->rest != TW_NONE) {
        uint32_t idle = tw_expr_op(model, TW_OP_I64_EQZ, 32, model->loops[g->rest].trips, TW_NONE);
        expr = tw_expr_select(model, idle, tw_expr_const(model, 32, 1), expr);
    }
    return tw_match_check(g->b, expr, model->loops[g->main].parent);
}

static bool starts_at_end(const merging *g, const tw_leaf *l)
{
    tw_builder *b = g->b;
    const tw_poly *x = tw_leaf_poly(b, l, false), *y = tw_leaf_poly(b, l, true);
    if (!x || !y || x->bits != y->bits || tw_leaf_offset(b, l, false) != tw_leaf_offset(b, l, true)) return false;
    if (g->kind == REST_LOOP) {
        if (!tw_poly_equal(tw_match_stride(b, x, g->main), tw_match_stride(b, y, g->rest))) return false;
        y = tw_poly_substitute(b->arena, y, tw_match_counter(b, g->rest), tw_poly_const(b->arena, y->bits, 0));
    }
    const tw_poly *end = end_of(g, x);
    return is_no_gap(g, y && end ? tw_poly_sub(b->arena, y, end) : NULL);
}

/* Reads that correspond are the same items, unless nothing is stored: those of one address may differ by a store between them. */
static bool leaves_fit(merging *g, const tw_leaves *leaves)
{
    for (uint32_t i = 0; i < leaves->count; i++) {
        const tw_leaf *l = &leaves->items[i];
        uint32_t x = l->is_access ? tw_stretch_item(&g->x, l->x) : TW_NONE, y = l->is_access ? tw_stretch_item(&g->y, l->y) : TW_NONE;
        if ((g->x.store_count && x != y) || !starts_at_end(g, l)) return false;
        if (y != TW_NONE) g->used[y] = true;
    }
    return true;
}

/* ---- what it does ---- */

static bool same_order(const merging *g)
{
    const tw_model_access *accesses = g->b->model->accesses;
    if (g->x.item_count != g->y.item_count || g->x.store_count != g->y.store_count) return false;
    for (uint32_t i = 0; g->x.store_count && i < g->x.item_count; i++)
        if (g->x.items[i].kind != g->y.items[i].kind || accesses[g->x.items[i].index].op != accesses[g->y.items[i].index].op) return false;
    return true;
}

/* The remainder loop's scalar that goes on from main's. */
static uint32_t scalar_after(const merging *g, uint32_t now)
{
    const tw_model *model = g->b->model;
    for (uint32_t c = 0; c < model->carried_count; c++)
        if (model->carried[c].loop == g->rest && model->carried[c].init == now) return c;
    return TW_NONE;
}

static uint32_t carried_value(const tw_builder *b, uint32_t carried)
{
    for (uint32_t v = 0; v < b->model->value_count; v++)
        if (b->model->values[v].kind == TW_VALUE_CARRIED && b->model->values[v].index == carried) return v;
    return TW_NONE;
}

/* Main's scalars, and what stands for each in the remainder. */
static bool find_scalars(merging *g, tw_match *m)
{
    const tw_model *model = g->b->model;
    uint32_t others = 0;
    for (uint32_t c = 0; c < model->carried_count; c++) {
        others += g->kind == REST_LOOP && model->carried[c].loop == g->rest;
        if (model->carried[c].loop != g->main) continue;
        uint32_t k = g->scalar_count++, after;
        if (k == TW_MATCH_CHAINS || (g->now[k] = final_of(g->b, c)) == TW_NONE) return false;
        g->scalars[k] = c;
        m->holes[k][0] = carried_value(g->b, c);
        m->holes[k][1] = g->now[k];
        if (g->kind != REST_LOOP) continue;
        if ((after = scalar_after(g, g->now[k])) == TW_NONE) return false;
        m->holes[k][1] = carried_value(g->b, after);
        g->after[k] = after;
        g->then[k] = final_of(g->b, after);
    }
    m->hole_count = g->scalar_count;
    return g->kind != REST_LOOP || others == g->scalar_count;
}

/* The step that scalar k takes in the remainder. */
static bool match_step(merging *g, const tw_match *m, uint32_t k)
{
    const tw_model *model = g->b->model;
    uint32_t next = model->carried[g->scalars[k]].next;
    if (g->kind == REST_LOOP) return tw_match_steps(m, next, model->carried[g->after[k]].next) && leaves_fit(g, m->leaves);
    for (uint32_t v = g->now[k] + 1; v < model->value_count; v++) {
        uint32_t checks = model->check_count;
        if (model->values[v].kind == TW_VALUE_OP && tw_match_steps(m, next, v) && leaves_fit(g, m->leaves)) return g->then[k] = v, true;
        g->b->model->check_count = checks;
    }
    return false;
}

static bool does_the_same(merging *g)
{
    tw_leaves leaves;
    tw_match m = {.b = g->b, .x = &g->x, .y = &g->y, .leaves = &leaves};
    if (!same_order(g) || !find_scalars(g, &m)) return false;
    for (uint32_t s = 0; s < g->x.store_count; s++)
        if (!tw_match_stores(&m, g->x.stores[s], g->y.stores[s]) || !leaves_fit(g, &leaves)) return false;
    for (uint32_t k = 0; k < g->scalar_count; k++)
        if (!match_step(g, &m, k)) return false;
    for (uint32_t i = 0; i < g->y.item_count; i++)
        if (g->y.items[i].kind == TW_ITEM_READ && !g->used[i]) return false; /* a read for something else */
    return true;
}

/* ---- scalars after it ---- */

static tw_value_node final_node(uint8_t type, uint32_t carried)
{
    return (tw_value_node){.kind = TW_VALUE_FINAL, .type = type, .index = carried, .args = {TW_NONE, TW_NONE, TW_NONE}};
}

static bool remember(merging *g, uint32_t value)
{
    if (g->changed_count == MOST_REPLACED) return false;
    g->changed[g->changed_count++] = (replaced){value, g->b->model->values[value]};
    return true;
}

static bool become_final(merging *g, uint32_t value, uint32_t carried)
{
    if (!remember(g, value)) return false;
    tw_value_node *node = &g->b->model->values[value];
    *node = final_node(node->type, carried);
    return true;
}

static bool is_merge(const tw_builder *b, tw_ir_value value)
{
    const tw_ir_valuedata *data = &b->func->values[value];
    if (data->kind != TW_IR_PARAM || data->block == 0) return false;
    tw_loop loop = b->loops->innermost[data->block];
    return loop == TW_NO_LOOP || b->loops->items[loop].header != data->block;
}

static tw_ir_value merged(const tw_builder *b, tw_ir_value param, const tw_cfg_edge *edge)
{
    return b->func->blocks[edge->from].edges[edge->edge].args[b->func->values[param].position];
}

static bool is_behind_rest(const merging *g, tw_ir_block through, tw_ir_block block)
{
    return g->kind == REST_LOOP ? tw_build_loop_reaches(g->b, g->b->natural[g->rest], block) : tw_build_reaches(g->b, through, block);
}

/* What the way in brings: of a loop that is over, what it left. */
static uint32_t brought(tw_builder *b, tw_ir_value param, const tw_cfg_edge *edge)
{
    return tw_build_use(b, merged(b, param, edge), b->loops->innermost[b->func->values[param].block]);
}

/* Whether the merge has ways in through the remainder, with what it computed; those with what main left go round it then. */
static bool merges_scalar(const merging *g, tw_ir_value param, uint32_t k)
{
    tw_builder *b = g->b;
    tw_ir_block block = b->func->values[param].block, through = TW_IR_NO_BLOCK;
    uint32_t first = b->cfg->pred_start[block], end = b->cfg->pred_start[block + 1];
    for (uint32_t i = first; i < end; i++) {
        if (brought(b, param, &b->cfg->preds[i]) == g->then[k]) through = b->func->values[merged(b, param, &b->cfg->preds[i])].block;
    }
    if (through == TW_IR_NO_BLOCK) return false;
    for (uint32_t i = first; i < end; i++) {
        const tw_cfg_edge *edge = &b->cfg->preds[i];
        if (brought(b, param, edge) == g->now[k] && is_behind_rest(g, through, edge->from)) return false;
    }
    return true;
}

static bool is_way_in(tw_builder *b, tw_ir_value param, uint32_t value)
{
    tw_ir_block block = b->func->values[param].block;
    for (uint32_t i = b->cfg->pred_start[block]; i < b->cfg->pred_start[block + 1]; i++)
        if (brought(b, param, &b->cfg->preds[i]) == value) return true;
    return false;
}

/* In the selects that the merge is made of, what main left becomes what there is in the end, which node then[k] will be. */
static bool pick_last(merging *g, tw_ir_value param, uint32_t value, uint32_t k)
{
    tw_value_node *node = &g->b->model->values[value];
    if (is_way_in(g->b, param, value) || node->kind != TW_VALUE_OP || node->op != TW_OP_SELECT) return true;
    if (!remember(g, value)) return false;
    for (int a = 0; a < 2; a++) {
        if (node->args[a] == g->now[k]) node->args[a] = g->then[k];
        else if (!pick_last(g, param, node->args[a], k)) return false;
    }
    if (node->args[0] == g->then[k] && node->args[1] == g->then[k]) *node = final_node(node->type, g->scalars[k]);
    return true;
}

static bool replace_merges(merging *g, uint32_t k)
{
    const tw_builder *b = g->b;
    for (tw_ir_value p = 1; p < b->func->value_count; p++) {
        if (b->value[p] == TW_NONE || !is_merge(b, p) || !merges_scalar(g, p, k)) continue;
        if (!pick_last(g, p, b->value[p], k)) return false;
    }
    return become_final(g, g->then[k], g->scalars[k]);
}

static bool replace_scalars(merging *g)
{
    for (uint32_t k = 0; k < g->scalar_count; k++) {
        if (g->then[k] == TW_NONE) continue; /* not wanted after it */
        if (g->kind == REST_ROW ? !become_final(g, g->then[k], g->scalars[k]) : !replace_merges(g, k)) return false;
    }
    return true;
}

/* ---- what is still wanted ---- */

static void want(const tw_model *model, uint8_t *wanted, uint32_t value)
{
    if (value == TW_NONE || wanted[value]) return;
    wanted[value] = 1;
    const tw_value_node *node = &model->values[value];
    for (int a = 0; a < 3; a++) want(model, wanted, node->args[a]);
    if (node->kind != TW_VALUE_CARRIED && node->kind != TW_VALUE_FINAL) return;
    want(model, wanted, model->carried[node->index].init);
    want(model, wanted, model->carried[node->index].next);
}

static bool is_in_rest(const merging *g, uint32_t loop, uint32_t item)
{
    if (g->kind == REST_ROW) return loop == g->parent && item >= g->first && item < g->first + g->y.item_count;
    const tw_item *it = &g->b->model->loops[loop].items[item];
    return it->kind == TW_ITEM_LOOP && it->index == g->rest;
}

static void want_loop(const merging *g, uint8_t *wanted, uint32_t loop)
{
    const tw_model *model = g->b->model;
    const tw_model_loop *l = &model->loops[loop];
    if (l->is_if) want(model, wanted, g->b->if_value[loop]);
    for (uint32_t i = 0; i < l->item_count; i++) {
        if (is_in_rest(g, loop, i)) continue;
        if (l->items[i].kind == TW_ITEM_LOOP) {
            want_loop(g, wanted, l->items[i].index);
            continue;
        }
        want(model, wanted, l->items[i].value);
        want(model, wanted, l->items[i].guard);
    }
}

/* Neither the remainder's reads nor the scalars from before it. */
static bool nothing_is_wanted(const merging *g)
{
    uint8_t *wanted = TW_NEW_ARRAY(g->b->arena, uint8_t, g->b->model->value_count);
    if (!wanted) return false;
    want_loop(g, wanted, 0);
    for (uint32_t k = 0; k < g->scalar_count; k++)
        if (wanted[g->now[k]]) return false;
    for (uint32_t i = 0; i < g->y.item_count; i++)
        if (g->y.items[i].kind == TW_ITEM_READ && wanted[g->y.items[i].value]) return false;
    return true;
}

/* ---- merging ---- */

/* There is one FINAL of a scalar again: what it was before the remainder is nothing any more. */
static void forget_before(merging *g)
{
    for (uint32_t k = 0; k < g->scalar_count; k++) {
        tw_value_node *node = &g->b->model->values[g->now[k]];
        if (g->then[k] == TW_NONE || g->then[k] == g->now[k]) continue;
        *node = (tw_value_node){.kind = TW_VALUE_CONST, .type = node->type, .index = TW_NONE, .args = {TW_NONE, TW_NONE, TW_NONE}};
    }
}

/* Last: they change when they can. */
static bool limits_go_on(const merging *g)
{
    return g->kind != REST_LOOP || tw_build_hand_on_limits(g->b, g->rest, g->main, trips_before, g);
}

static bool merge(merging *g)
{
    tw_model *model = g->b->model;
    uint32_t checks = model->check_count, rest = g->rest == TW_NONE ? tw_expr_const(model, 64, 1) : model->loops[g->rest].trips;
    uint32_t trips = tw_expr_add(model, 64, model->loops[g->main].trips, rest);
    g->used = TW_NEW_ARRAY(g->b->arena, bool, g->y.item_count);
    if (trips != TW_NONE && g->used && does_the_same(g) && replace_scalars(g) && nothing_is_wanted(g) && limits_go_on(g)) {
        model->loops[g->main].trips = trips;
        g->b->merged_under[g->main] |= g->kind != REST_LOOP;
        forget_before(g);
        if (g->scalar_count) tw_build_remerge(g->b);
        return true;
    }
    while (g->changed_count) model->values[g->changed[g->changed_count - 1].value] = g->changed[g->changed_count - 1].old, g->changed_count--;
    model->check_count = checks;
    return false;
}

static void remove_items(tw_model_loop *loop, uint32_t first, uint32_t count)
{
    memmove(&loop->items[first], &loop->items[first + count], (loop->item_count - first - count) * sizeof *loop->items);
    loop->item_count -= count;
}

static bool merge_next(tw_builder *b, uint32_t parent, uint32_t item, uint32_t copies, uint64_t extra)
{
    tw_model_loop *around = &b->model->loops[parent];
    const tw_item *next = &around->items[item + 1];
    merging g = {.b = b, .main = around->items[item].index, .parent = parent, .copies = copies, .extra = extra, .first = item + 1, .rest = TW_NONE};
    const tw_model_loop *main = &b->model->loops[g.main];
    if (!main->item_count || !tw_stretch_of(b, g.main, 0, main->item_count, &g.x)) return false;
    g.kind = REST_ROW;
    if (next->kind == TW_ITEM_LOOP) {
        g.rest = next->index;
        g.kind = b->natural[g.rest] == TW_NO_LOOP ? REST_IF : REST_LOOP;
        if (!tw_stretch_of(b, g.rest, 0, b->model->loops[g.rest].item_count, &g.y)) return false;
    } else if (!tw_stretch_of(b, parent, item + 1, main->item_count, &g.y)) {
        return false;
    }
    if (!merge(&g)) return false;
    remove_items(around, item + 1, g.kind == REST_ROW ? g.y.item_count : 1);
    return true;
}

void tw_build_remainders(tw_builder *b, uint32_t parent, uint32_t main_item, uint32_t copies)
{
    for (uint64_t extra = 0; main_item + 1 < b->model->loops[parent].item_count; extra++) {
        bool row = b->model->loops[parent].items[main_item + 1].kind != TW_ITEM_LOOP;
        if (!merge_next(b, parent, main_item, copies, extra) || !row) return; /* how long anything but a row was isn't known */
    }
}
