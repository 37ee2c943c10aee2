/* SPDX-License-Identifier: Apache-2.0 */
/* Chooses threads and lanes.
 *
 * Threads go to the outermost parallel loop; where the root isn't parallel, to the outermost parallel loops further in that
 * are worth a meeting of threads. Lanes: for every loop that may have them, the estimated time of its subtree in lanes
 * is held against the best that its inner loops can do; the cheaper wins, from the inside out. The estimate counts an
 * operation or a well-placed memory access as 1 a vector, and an access whose addresses lie apart as 1.5 a lane. */

#include <stdlib.h>

#include "schedule/build.h"

enum {
    UNKNOWN_TRIPS = 256,         /* when facts have no hint */
    WORTH_A_MEETING = 20 * 1000, /* operations in one entry of an inner thread loop */
    UNROLLED_VECTORS = 4,
    SMALL_BODY = 24,             /* operations and accesses that may be repeated for several vectors */
};

typedef struct scheduler {
    tw_tree *tree;
    const tw_model *model;
    const tw_facts *facts;
    const tw_target *target;
    tw_shape shape;
    uint32_t ops[TW_MODEL_MAX_LOOPS]; /* operations that belong to a loop's own body */
    bool carries[TW_MODEL_MAX_LOOPS];
} scheduler;

static bool is_parallel(const scheduler *s, uint32_t loop)
{
    return s->facts->parallel[loop] && !s->model->loops[loop].is_if && !s->carries[loop];
}

static double trips_of(const scheduler *s, uint32_t loop)
{
    if (s->model->loops[loop].is_if) return 1;
    uint64_t hint = s->facts->trips[loop];
    return hint ? (double)hint : UNKNOWN_TRIPS;
}

static uint32_t op_cost(const tw_value_node *v)
{
    if (v->kind != TW_VALUE_OP) return 0;
    switch (v->op) {
    case TW_OP_F32_DIV: case TW_OP_F64_DIV: case TW_OP_F32_SQRT: case TW_OP_F64_SQRT: return 6;
    default: return 1;
    }
}

static void count_ops(scheduler *s)
{
    for (uint32_t i = 0; i < s->model->value_count; i++)
        if (s->shape.loop[i] != TW_NONE) s->ops[s->shape.loop[i]] += op_cost(&s->model->values[i]);
    for (uint32_t c = 0; c < s->model->carried_count; c++) s->carries[s->model->carried[c].loop] = true;
}

/* ---- widths ---- */

static uint32_t type_bytes(uint32_t type)
{
    return type == TW_I64 || type == TW_F64 ? 8 : 4;
}

/* Widest value and narrowest access beneath a node that vary with `loop`. */
typedef struct widths {
    uint32_t widest, narrowest;
} widths;

static void measure_widths(const scheduler *s, uint32_t node, uint32_t loop, widths *w)
{
    const tw_node *n = &s->tree->nodes[node];
    if (n->kind == TW_NODE_LOOP) {
        for (uint32_t i = 0; i < n->child_count; i++) measure_widths(s, n->children[i], loop, w);
        for (uint32_t v = 0; v < s->model->value_count; v++)
            if (s->shape.loop[v] == n->loop && s->model->values[v].kind == TW_VALUE_OP && (s->shape.varies[v] >> loop & 1) &&
                type_bytes(s->model->values[v].type) > w->widest)
                w->widest = type_bytes(s->model->values[v].type);
        return;
    }
    uint32_t width = s->model->accesses[n->access].width;
    if (tw_stride_by(s->model, s->facts, n->access, loop) == TW_STRIDE_ZERO) return;
    if (width > w->widest) w->widest = width;
    if (width < w->narrowest) w->narrowest = width;
}

/* Lanes that fill a vector with the narrowest data, but no more than four vectors with the widest. */
static uint32_t lanes_for(const scheduler *s, uint32_t node, uint32_t loop)
{
    widths w = {1, 8};
    measure_widths(s, node, loop, &w);
    uint32_t most = s->target->vector_bytes / w.narrowest, cap = 4 * s->target->vector_bytes / w.widest;
    return most < cap ? most : cap;
}

/* ---- costs ---- */

static double subtree_cost(const scheduler *s, uint32_t node, uint32_t lane_loop, uint32_t lanes);

static double access_cost(const scheduler *s, const tw_node *n, uint32_t lane_loop, uint32_t lanes)
{
    if (lanes == 1) return 1;
    tw_stride stride = tw_stride_by(s->model, s->facts, n->access, lane_loop);
    if (stride == TW_STRIDE_ZERO || stride == TW_STRIDE_UNIT) return 1;
    return 1.5 * lanes;
}

/* Of one trip of a loop's body. */
static double body_cost(const scheduler *s, const tw_node *n, uint32_t lane_loop, uint32_t lanes)
{
    double cost = s->ops[n->loop] + 1;
    for (uint32_t i = 0; i < n->child_count; i++) cost += subtree_cost(s, n->children[i], lane_loop, lanes);
    return cost;
}

/* Everything beneath in vectors of `lanes` trips of `lane_loop`; lanes 1: trip by trip. */
static double subtree_cost(const scheduler *s, uint32_t node, uint32_t lane_loop, uint32_t lanes)
{
    const tw_node *n = &s->tree->nodes[node];
    if (n->kind != TW_NODE_LOOP) return access_cost(s, n, lane_loop, lanes);
    return trips_of(s, n->loop) * body_cost(s, n, lane_loop, lanes);
}

/* ---- lanes ---- */

/* May trips of `loop` go side by side in what is beneath? Loops there must make the same number of trips in each, and no
 * store may go to one cell in all (a loop that never has two trips passes for parallel). */
static bool uniform_beneath(const scheduler *s, uint32_t node, uint32_t loop)
{
    const tw_node *n = &s->tree->nodes[node];
    for (uint32_t i = 0; i < n->child_count; i++) {
        const tw_node *child = &s->tree->nodes[n->children[i]];
        if (child->kind == TW_NODE_STORE && tw_stride_by(s->model, s->facts, child->access, loop) == TW_STRIDE_ZERO) return false;
        if (child->kind != TW_NODE_LOOP) continue;
        if (tw_trips_vary_with(s->model, s->facts, child->loop, loop)) return false;
        if (!uniform_beneath(s, n->children[i], loop)) return false;
    }
    return true;
}

static void clear_lanes(scheduler *s, uint32_t node)
{
    tw_node *n = &s->tree->nodes[node];
    n->lanes = n->vectors = 1;
    for (uint32_t i = 0; i < n->child_count; i++) clear_lanes(s, n->children[i]);
}

static uint32_t body_size(const scheduler *s, uint32_t node)
{
    const tw_node *n = &s->tree->nodes[node];
    if (n->kind != TW_NODE_LOOP) return 1;
    uint32_t size = s->ops[n->loop];
    for (uint32_t i = 0; i < n->child_count; i++) size += body_size(s, n->children[i]);
    return size;
}

/* Several vectors in one go hide latencies; values wider than the narrowest data take several registers already. */
static uint16_t vectors_for(const scheduler *s, uint32_t node, uint32_t loop, uint32_t lanes)
{
    widths w = {1, 8};
    measure_widths(s, node, loop, &w);
    uint32_t registers = lanes * w.widest / s->target->vector_bytes, size = body_size(s, node);
    uint32_t vectors = UNROLLED_VECTORS / (registers ? registers : 1);
    while (vectors > 1 && vectors * size > 4 * SMALL_BODY) vectors /= 2;
    return (uint16_t)(vectors ? vectors : 1);
}

/* Returns the subtree's estimated cost with the lanes it has chosen. */
static double choose_lanes(scheduler *s, uint32_t node)
{
    tw_node *n = &s->tree->nodes[node];
    if (n->kind != TW_NODE_LOOP) return 1;
    double best = s->ops[n->loop] + 1;
    for (uint32_t i = 0; i < n->child_count; i++) best += choose_lanes(s, n->children[i]);
    best *= trips_of(s, n->loop);
    if (!is_parallel(s, n->loop) || !uniform_beneath(s, node, n->loop)) return best;
    uint32_t lanes = lanes_for(s, node, n->loop);
    if (lanes < 2 || trips_of(s, n->loop) < lanes) return best;
    double with = trips_of(s, n->loop) / lanes * body_cost(s, n, n->loop, lanes);
    if (with >= best) return best;
    clear_lanes(s, node);
    n->lanes = (uint16_t)lanes;
    n->vectors = vectors_for(s, node, n->loop, lanes);
    return with;
}

/* ---- interchange ---- */

static bool only_items(const scheduler *s, const tw_node *n)
{
    for (uint32_t i = 0; i < n->child_count; i++)
        if (s->tree->nodes[n->children[i]].kind == TW_NODE_LOOP) return false;
    return true;
}

/* A store to cells that `loop` comes back to in every trip. */
static bool returns_to_cells(const scheduler *s, const tw_node *n, uint32_t loop)
{
    for (uint32_t i = 0; i < n->child_count; i++) {
        const tw_node *child = &s->tree->nodes[n->children[i]];
        if (child->kind == TW_NODE_STORE && tw_stride_by(s->model, s->facts, child->access, loop) == TW_STRIDE_ZERO) return true;
    }
    return false;
}

/* for l { for j parallel { c[j] = c[j] + … } } becomes for j { for l { … } }: c[j] then stays in a register. Legal where the
 * trips of j are independent over those of l as well. Nothing is lost: a value carried by l would be carried between j's
 * loops, and j has none. */
static void interchange(scheduler *s, uint32_t node)
{
    tw_node *n = &s->tree->nodes[node];
    if (n->kind != TW_NODE_LOOP) return;
    for (uint32_t i = 0; i < n->child_count; i++) interchange(s, n->children[i]);
    if (n->child_count != 1 || s->tree->nodes[n->children[0]].kind != TW_NODE_LOOP) return;
    tw_node *inner = &s->tree->nodes[n->children[0]];
    uint32_t outer_loop = n->loop, inner_loop = inner->loop;
    if (is_parallel(s, outer_loop) || s->model->loops[outer_loop].is_if || s->carries[outer_loop]) return;
    if (!is_parallel(s, inner_loop) || !s->facts->free[inner_loop] || !only_items(s, inner)) return;
    if (tw_trips_vary_with(s->model, s->facts, inner_loop, outer_loop) || !returns_to_cells(s, inner, outer_loop)) return;
    n->loop = inner_loop;
    inner->loop = outer_loop;
    n->threads = inner->threads; /* threads go with their loop */
    inner->threads = false;
}

/* ---- rows ---- */

enum { ROWS = 4 }; /* for estimates */

/* Operations and accesses of an innermost body, and what they become with rows. */
typedef struct row_cost {
    double once, rows;
    uint32_t held, shared; /* cells in registers; vectors that all rows use */
} row_cost;

static void count_rows(const scheduler *s, uint32_t node, uint32_t row_loop, uint32_t lane_loop, row_cost *out)
{
    const tw_node *n = &s->tree->nodes[node];
    if (n->kind != TW_NODE_LOOP) {
        bool differs = tw_stride_by(s->model, s->facts, n->access, row_loop) != TW_STRIDE_ZERO;
        out->once += 1;
        out->rows += differs ? ROWS : 1;
        bool lanes = tw_stride_by(s->model, s->facts, n->access, lane_loop) != TW_STRIDE_ZERO;
        if (!differs && lanes && n->kind == TW_NODE_READ) out->shared++;
        return;
    }
    for (uint32_t v = 0; only_items(s, n) && v < s->model->value_count; v++) {
        if (s->model->values[v].kind != TW_VALUE_OP || s->shape.loop[v] == TW_NONE) continue;
        if (s->shape.loop[v] != n->loop && !(s->shape.varies[v] >> n->loop & 1)) continue;
        out->once += 1;
        out->rows += s->shape.varies[v] >> row_loop & 1 ? ROWS : 1;
    }
    for (uint32_t i = 0; i < n->child_count; i++) {
        const tw_node *child = &s->tree->nodes[n->children[i]];
        count_rows(s, n->children[i], row_loop, lane_loop, out);
        if (child->kind == TW_NODE_STORE && tw_stride_by(s->model, s->facts, child->access, n->loop) == TW_STRIDE_ZERO)
            out->held++;
    }
}

static uint32_t find_lanes(const scheduler *s, uint32_t node, uint32_t *deepest)
{
    const tw_node *n = &s->tree->nodes[node];
    if (n->kind != TW_NODE_LOOP) return TW_NONE;
    if (n->lanes > 1) *deepest = node;
    for (uint32_t i = 0; i < n->child_count; i++) find_lanes(s, n->children[i], deepest);
    return *deepest;
}

static void set_vectors(scheduler *s, uint32_t node, uint32_t lanes, uint16_t vectors)
{
    tw_node *n = &s->tree->nodes[node];
    if (n->kind != TW_NODE_LOOP) return;
    if (n->lanes > 1) n->lanes = (uint16_t)lanes, n->vectors = vectors;
    for (uint32_t i = 0; i < n->child_count; i++) set_vectors(s, n->children[i], lanes, vectors);
}

/* Tiles of rows and vectors, best first. Measured on Zen 3 for an inner product in doubles: 3 x 3 13-15 GFLOP/s, 4 x 2
 * 10-12, 4 x 3 11-14 (it spills), 6 x 2 8-9. */
typedef struct tile {
    uint16_t rows, vectors;
} tile;
static const tile tiles[] = {{6, 4}, {4, 4}, {3, 3}, {4, 2}, {3, 2}, {2, 2}, {2, 1}};

/* Cells, what all rows share, and two for what comes and goes. */
static uint32_t tile_registers(tile t, const row_cost *cost)
{
    uint32_t held = cost->held ? cost->held : 1;
    return t.rows * t.vectors * held + t.vectors * cost->shared + 2;
}

/* Rows for the outermost parallel loop around lanes, when rows have enough in common. */
static void choose_rows(scheduler *s, uint32_t node)
{
    tw_node *n = &s->tree->nodes[node];
    uint32_t lane_node = TW_NONE;
    if (n->kind != TW_NODE_LOOP) return;
    if (n->lanes > 1) return;
    if (!is_parallel(s, n->loop) || !uniform_beneath(s, node, n->loop) || trips_of(s, n->loop) < 2 * ROWS ||
        find_lanes(s, node, &lane_node) == TW_NONE) {
        for (uint32_t i = 0; i < n->child_count; i++) choose_rows(s, n->children[i]);
        return;
    }
    row_cost cost = {0};
    count_rows(s, lane_node, n->loop, s->tree->nodes[lane_node].loop, &cost);
    bool chains = cost.held && cost.shared; /* each cell waits for its last addition: more cells, less waiting */
    if (!chains && cost.once * ROWS < 1.25 * cost.rows) return;
    uint32_t lanes = s->tree->nodes[lane_node].lanes, loop = s->tree->nodes[lane_node].loop;
    widths w = {1, 8};
    measure_widths(s, lane_node, loop, &w);
    uint32_t full = s->target->vector_bytes / w.widest;
    size_t best = 0;
    while (best + 1 < sizeof tiles / sizeof *tiles && tile_registers(tiles[best], &cost) > s->target->vector_registers) best++;
    n->rows = tiles[best].rows;
    set_vectors(s, node, lanes < full ? lanes : full, tiles[best].vectors);
}

/* ---- squares ---- */

enum { SQUARE = 8 };

/* Every access beneath is in unit or zero steps by one of the two loops, and each of them has one that needs it. */
static bool wants_square(const scheduler *s, const tw_node *n, uint32_t a, uint32_t b)
{
    bool by_a = false, by_b = false;
    for (uint32_t i = 0; i < n->child_count; i++) {
        const tw_node *child = &s->tree->nodes[n->children[i]];
        if (child->kind == TW_NODE_LOOP || child->guard != TW_NONE) return false;
        tw_stride stride_a = tw_stride_by(s->model, s->facts, child->access, a);
        tw_stride stride_b = tw_stride_by(s->model, s->facts, child->access, b);
        if (stride_a == TW_STRIDE_ANY && stride_b != TW_STRIDE_UNIT) return false;
        if (stride_b == TW_STRIDE_ANY && stride_a != TW_STRIDE_UNIT) return false;
        by_a |= stride_b == TW_STRIDE_ANY;
        by_b |= stride_a == TW_STRIDE_ANY;
    }
    return by_a && by_b;
}

/* Two parallel loops, one in the other and nothing else, over arrays of which one lies along the one and another along the
 * other: a transpose. A square of both is done at once, turned in registers. */
static void choose_squares(scheduler *s, uint32_t node)
{
    tw_node *n = &s->tree->nodes[node];
    if (n->kind != TW_NODE_LOOP) return;
    for (uint32_t i = 0; i < n->child_count; i++) choose_squares(s, n->children[i]);
    if (n->child_count != 1 || n->rows > 1) return;
    tw_node *inner = &s->tree->nodes[n->children[0]];
    if (inner->kind != TW_NODE_LOOP || inner->rows > 1 || !is_parallel(s, n->loop) || !is_parallel(s, inner->loop)) return;
    if (!uniform_beneath(s, node, n->loop) || !uniform_beneath(s, n->children[0], inner->loop) ||
        !wants_square(s, inner, n->loop, inner->loop))
        return;
    widths w = {1, 8};
    measure_widths(s, n->children[0], inner->loop, &w);
    uint32_t side = s->target->vector_bytes / w.widest;
    if (side > SQUARE) side = SQUARE;
    n->rows = inner->lanes = (uint16_t)side;
    n->lanes = n->vectors = inner->vectors = 1;
}

/* ---- blocks ---- */

enum { BLOCK_TRIPS = 128, BLOCK_GRAIN = 32 };

static uint32_t new_loop(scheduler *s, tw_node like)
{
    like.children = NULL;
    like.child_count = like.child_capacity = 0;
    return tw_tree_add(s->tree, like);
}

/* The root i { A…; l { j { items } } }, already interchanged to i { A…; j { l { items } } } with rows for i and lanes for j,
 * becomes i { A… } and l in blocks { j { i { l in the block { items } } } }: a block of what all i share stays in the
 * nearest cache while the i go by. i is parallel, so its trips may be interleaved in any way; for one i the order of l
 * is kept for each j. */
static bool block_root(scheduler *s, uint32_t at)
{
    uint32_t root = s->tree->roots[at];
    tw_node *i = &s->tree->nodes[root];
    if (i->kind != TW_NODE_LOOP || i->rows < 2 || !s->tree->outer_parallel || i->loop != 0 || i->child_count == 0) return true;
    uint32_t j_index = i->children[i->child_count - 1];
    tw_node *j = &s->tree->nodes[j_index];
    if (j->kind != TW_NODE_LOOP || j->lanes < 2 || j->child_count != 1) return true;
    tw_node *l = &s->tree->nodes[j->children[0]];
    if (l->kind != TW_NODE_LOOP || !only_items(s, l) || is_parallel(s, l->loop)) return true;
    uint32_t inner_l = j->children[0];
    uint32_t block = new_loop(s, s->tree->nodes[inner_l]), inner_i = new_loop(s, s->tree->nodes[root]);
    if (block == TW_NONE || inner_i == TW_NONE) return false;
    tw_node *n = s->tree->nodes;
    n[block].block = BLOCK_TRIPS;
    n[inner_l].in_block = true;
    n[root].child_count--;
    n[j_index].child_count = 0;
    s->tree->grain = (BLOCK_GRAIN + n[root].rows - 1) / n[root].rows * n[root].rows;
    bool done = tw_tree_append(s->tree, j_index, inner_i) && tw_tree_append(s->tree, inner_i, inner_l) &&
                tw_tree_append(s->tree, block, j_index);
    if (n[root].child_count == 0) s->tree->roots[at] = block;
    else done = done && tw_tree_append(s->tree, TW_NONE, block);
    return done;
}

/* ---- threads ---- */

static void choose_threads(scheduler *s, uint32_t node, bool is_root)
{
    tw_node *n = &s->tree->nodes[node];
    if (n->kind != TW_NODE_LOOP) return;
    if (is_parallel(s, n->loop)) {
        if (!is_root && subtree_cost(s, node, TW_NONE, 1) < WORTH_A_MEETING) return;
        n->threads = true;
        if (is_root) s->tree->outer_parallel = true;
        else s->tree->shares_work = true;
        return;
    }
    for (uint32_t i = 0; i < n->child_count; i++) choose_threads(s, n->children[i], false);
}

static bool has_thread_loop(const scheduler *s, uint32_t node)
{
    const tw_node *n = &s->tree->nodes[node];
    if (n->threads) return true;
    for (uint32_t i = 0; i < n->child_count; i++)
        if (has_thread_loop(s, n->children[i])) return true;
    return false;
}

static bool stores_and_carries(const scheduler *s, uint32_t node, bool *stores, bool *carries)
{
    const tw_node *n = &s->tree->nodes[node];
    if (n->kind == TW_NODE_STORE) *stores = true;
    if (n->kind == TW_NODE_LOOP) *carries |= s->carries[n->loop];
    for (uint32_t i = 0; i < n->child_count; i++) stores_and_carries(s, n->children[i], stores, carries);
    return *stores && *carries;
}

/* Threads inside a sequential loop want everything else in it to be one thread's, or to be done by each: a loop that both
 * stores and hands a scalar on is neither. */
static bool can_share(const scheduler *s, uint32_t node)
{
    const tw_node *n = &s->tree->nodes[node];
    bool stores = false, carries = false;
    if (n->kind != TW_NODE_LOOP || n->threads) return true;
    if (!has_thread_loop(s, node)) return !stores_and_carries(s, node, &stores, &carries);
    for (uint32_t i = 0; i < n->child_count; i++)
        if (!can_share(s, n->children[i])) return false;
    return true;
}

static void clear_threads(scheduler *s)
{
    for (uint32_t i = 0; i < s->tree->node_count; i++) s->tree->nodes[i].threads = false;
    s->tree->shares_work = false;
}

tw_status tw_schedule_make(const tw_model *model, const tw_facts *facts, const tw_target *target, tw_arena *arena,
                           tw_tree **out, tw_error *error)
{
    TW_TRY(tw_schedule_plain(model, facts, arena, out, error));
    scheduler *s = calloc(1, sizeof *s);
    if (!s) return tw_fail_memory(error);
    s->tree = *out;
    s->model = model;
    s->facts = facts;
    s->target = target;
    s->tree->vector_bytes = target->vector_bytes;
    tw_shape_of(model, facts, &s->shape);
    count_ops(s);
    bool failed = false;
    for (uint32_t i = 0; i < s->tree->root_count; i++) {
        choose_threads(s, s->tree->roots[i], true);
        if (s->tree->shares_work && !can_share(s, s->tree->roots[i])) clear_threads(s);
        interchange(s, s->tree->roots[i]);
        if (!target->vector_bytes) continue;
        choose_lanes(s, s->tree->roots[i]);
        choose_rows(s, s->tree->roots[i]);
        choose_squares(s, s->tree->roots[i]);
        if (!block_root(s, i)) failed = true;
        break;
    }
    free(s);
    return failed ? tw_fail_memory(error) : TW_OK;
}
