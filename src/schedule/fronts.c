/* SPDX-License-Identifier: Apache-2.0 */
/* Wavefronts. In a pair of loops around a body, none of them parallel, the iterations on one line w = inner + skew·outer are
 * independent of each other when every dependence leads to a greater w. The loops change places: w outside, in order, and
 * within a front the trips of the outer loop, in any order, on threads and in lanes.
 *
 * Fronts of a large rectangle touch as many lines of memory as they are long, and one meeting of threads for each is too many.
 * So the plane of the outer counter and w is cut into tiles: along every dependence both grow or stay, hence the tiles on one
 * diagonal are independent of each other. Threads share out those; fronts are within a tile, for lanes and so that an
 * iteration needn't wait for the one before.
 *
 * Order is kept between dependent iterations and nowhere else, so each cell sees the same operations in the same order. What the
 * outer loop reads beside the inner one is read in the body: the region never stores to it. */

#include "schedule/scheduler.h"

enum {
    TILE_ROWS = 16,
    TILE_WIDTH = 256,
    WORTH_SHARING = 256, /* trips of either loop; there is a meeting for each diagonal */
};

static uint32_t node_of(const tw_tree *tree, uint32_t loop)
{
    for (uint32_t i = 0; i < tree->node_count; i++)
        if (tree->nodes[i].kind == TW_NODE_LOOP && tree->nodes[i].loop == loop) return i;
    return TW_NONE;
}

static bool is_stored_to(const tw_scheduler *s, uint32_t access)
{
    for (uint32_t i = 0; i < s->tree->node_count; i++) {
        const tw_node *n = &s->tree->nodes[i];
        if (n->kind == TW_NODE_STORE && s->facts->group[n->access] == s->facts->group[access]) return true;
    }
    return false;
}

/* Beneath `outer` nothing but the inner loop and reads of what isn't stored to; beneath `inner` no loop. */
static bool is_simple(const tw_scheduler *s, uint32_t outer, uint32_t inner)
{
    const tw_node *o = &s->tree->nodes[outer];
    for (uint32_t i = 0; i < o->child_count; i++) {
        const tw_node *child = &s->tree->nodes[o->children[i]];
        if (o->children[i] != inner && (child->kind != TW_NODE_READ || is_stored_to(s, child->access))) return false;
    }
    return tw_only_items(s, &s->tree->nodes[inner]);
}

static bool can_have_fronts(const tw_scheduler *s, uint32_t outer_loop, uint32_t inner_loop, uint32_t outer, uint32_t inner)
{
    const tw_model_loop *loops = s->model->loops;
    return outer != TW_NONE && inner != TW_NONE && !loops[outer_loop].is_if && !loops[inner_loop].is_if &&
           !s->carries[outer_loop] && !s->carries[inner_loop] && !tw_trips_vary_with(s->model, s->facts, inner_loop, outer_loop) &&
           is_simple(s, outer, inner);
}

/* The outer loop's reads go to the front of the body. */
static bool move_reads(tw_tree *tree, uint32_t outer, uint32_t inner)
{
    tw_node body = tree->nodes[inner], *o = &tree->nodes[outer];
    tree->nodes[inner].children = NULL;
    tree->nodes[inner].child_count = tree->nodes[inner].child_capacity = 0;
    for (uint32_t i = 0; i < o->child_count; i++)
        if (o->children[i] != inner && !tw_tree_append(tree, inner, o->children[i])) return false;
    for (uint32_t i = 0; i < body.child_count; i++)
        if (!tw_tree_append(tree, inner, body.children[i])) return false;
    o->children[0] = inner;
    o->child_count = 1;
    return true;
}

/* outer { inner { … } } becomes diagonals { tiles { fronts { in front { … } } } }. */
static bool make_nodes(tw_tree *tree, uint32_t outer, uint32_t inner)
{
    tw_node plain = {.kind = TW_NODE_LOOP, .lanes = 1, .vectors = 1, .rows = 1, .loop = tree->pair.outer};
    uint32_t tiles = tw_tree_add(tree, plain), fronts = tw_tree_add(tree, plain);
    if (tiles == TW_NONE || fronts == TW_NONE) return false;
    tree->has_fronts = true;
    tree->nodes[outer].diagonals = true;
    tree->nodes[tiles].tiles = true, tree->nodes[tiles].block = tree->pair.rows;
    tree->nodes[fronts].fronts = true, tree->nodes[fronts].loop = tree->pair.inner;
    tree->nodes[inner].in_front = true, tree->nodes[inner].loop = tree->pair.outer;
    tree->nodes[outer].child_count = 0;
    return tw_tree_append(tree, outer, tiles) && tw_tree_append(tree, tiles, fronts) && tw_tree_append(tree, fronts, inner);
}

/* ---- what a front is worth ---- */

/* Addresses within a front lie apart in all but odd cases. */
static double body_cost(const tw_scheduler *s, const tw_node *n, uint32_t lanes)
{
    return s->ops[s->tree->pair.inner] + 1 + n->child_count * (lanes > 1 ? 1.5 * lanes : 1);
}

static bool known_stride(const tw_scheduler *s, uint32_t access, uint32_t loop, int64_t *out)
{
    const tw_model_access *x = &s->model->accesses[access];
    tw_stride stride = tw_stride_by(s->model, s->facts, access, loop);
    const tw_expr_node *coef = NULL;
    if (stride != TW_STRIDE_ZERO) coef = &s->model->exprs[s->model->affines[x->address].coef[s->model->loops[loop].depth]];
    *out = stride == TW_STRIDE_ZERO ? 0 : stride == TW_STRIDE_UNIT ? x->width : (int32_t)coef->imm;
    return stride != TW_STRIDE_ANY || coef->kind == TW_EXPR_CONST;
}

/* A store that goes to one cell all along a front: possible where a front never has two trips. */
static bool stands_still(const tw_scheduler *s, const tw_node *n)
{
    int64_t outer, inner;
    for (uint32_t i = 0; i < n->child_count; i++) {
        const tw_node *child = &s->tree->nodes[n->children[i]];
        if (child->kind == TW_NODE_STORE && known_stride(s, child->access, s->tree->pair.outer, &outer) &&
            (known_stride(s, child->access, s->tree->pair.inner, &inner) || !s->tree->pair.skew) &&
            outer == (s->tree->pair.skew ? inner * s->tree->pair.skew : 0))
            return true;
    }
    return false;
}

static void choose_lanes(tw_scheduler *s, tw_node *n)
{
    uint32_t widest = 1;
    if (stands_still(s, n)) return;
    for (uint32_t i = 0; i < n->child_count; i++) {
        const tw_node *child = &s->tree->nodes[n->children[i]];
        uint32_t width = s->model->accesses[child->access].width;
        if (width > widest) widest = width;
    }
    uint32_t lanes = s->target->vector_bytes / (widest < 4 ? 4 : widest);
    if (lanes < 2 || tw_trips_hint(s, s->tree->pair.outer) < 2 * lanes || tw_trips_hint(s, s->tree->pair.inner) < 2 * lanes) return;
    if (body_cost(s, n, lanes) < lanes * body_cost(s, n, 1)) n->lanes = (uint16_t)lanes;
}

tw_status tw_choose_fronts(tw_scheduler *s, tw_error *error)
{
    uint32_t inner_loop = s->facts->pair, outer_loop = s->model->loops[inner_loop].parent, skew;
    uint32_t outer = node_of(s->tree, outer_loop), inner = node_of(s->tree, inner_loop);
    if (!can_have_fronts(s, outer_loop, inner_loop, outer, inner))
        return tw_fail(error, TW_REFUSED, "loops n%u and n%u can't run in wavefronts", outer_loop, inner_loop);
    TW_TRY(tw_find_skew(s->facts->distance, s->facts->distance_count, &skew, error));
    s->tree->pair.outer = outer_loop, s->tree->pair.inner = inner_loop, s->tree->pair.skew = skew;
    s->tree->pair.rows = TILE_ROWS, s->tree->pair.width = TILE_WIDTH;
    if (!move_reads(s->tree, outer, inner) || !make_nodes(s->tree, outer, inner)) return tw_fail_memory(error);
    if (s->target->vector_bytes) choose_lanes(s, &s->tree->nodes[inner]);
    bool worth = tw_trips_hint(s, outer_loop) >= WORTH_SHARING && tw_trips_hint(s, inner_loop) >= WORTH_SHARING;
    s->tree->nodes[s->tree->nodes[outer].children[0]].threads = s->tree->shares_work = worth;
    tw_check_sharing(s, s->tree->roots[0]);
    return TW_OK;
}
