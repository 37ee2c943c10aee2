/* SPDX-License-Identifier: Apache-2.0 */
#include "schedule/scheduler.h"

enum { ROWS = 4 }; /* for estimates */

/* Operations and accesses of an innermost body, and what they become with rows. */
typedef struct row_cost {
    double once, rows;
    uint32_t held, shared; /* cells in registers; vectors that all rows use */
} row_cost;

static void count_rows(const tw_scheduler *s, uint32_t node, uint32_t row_loop, uint32_t lane_loop, row_cost *out)
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
    for (uint32_t v = 0; tw_only_items(s, n) && v < s->model->value_count; v++) {
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

static uint32_t find_lanes(const tw_scheduler *s, uint32_t node, uint32_t *deepest)
{
    const tw_node *n = &s->tree->nodes[node];
    if (n->kind != TW_NODE_LOOP) return TW_NONE;
    if (n->lanes > 1) *deepest = node;
    for (uint32_t i = 0; i < n->child_count; i++) find_lanes(s, n->children[i], deepest);
    return *deepest;
}

static void set_vectors(tw_scheduler *s, uint32_t node, uint32_t lanes, uint16_t vectors)
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
void tw_choose_rows(tw_scheduler *s, uint32_t node)
{
    tw_node *n = &s->tree->nodes[node];
    uint32_t lane_node = TW_NONE;
    if (n->kind != TW_NODE_LOOP) return;
    if (n->lanes > 1) return;
    if (!tw_is_parallel(s, n->loop) || !tw_uniform_beneath(s, node, n->loop) || tw_trips_hint(s, n->loop) < 2 * ROWS ||
        find_lanes(s, node, &lane_node) == TW_NONE) {
        for (uint32_t i = 0; i < n->child_count; i++) tw_choose_rows(s, n->children[i]);
        return;
    }
    row_cost cost = {0};
    count_rows(s, lane_node, n->loop, s->tree->nodes[lane_node].loop, &cost);
    bool chains = cost.held && cost.shared; /* each cell waits for its last addition: more cells, less waiting */
    if (!chains && cost.once * ROWS < 1.25 * cost.rows) return;
    uint32_t lanes = s->tree->nodes[lane_node].lanes, loop = s->tree->nodes[lane_node].loop;
    tw_widths w = tw_measure_widths(s, lane_node, loop);
    uint32_t full = s->target->vector_bytes / w.widest;
    size_t best = 0;
    while (best + 1 < sizeof tiles / sizeof *tiles && tile_registers(tiles[best], &cost) > s->target->vector_registers) best++;
    n->rows = tiles[best].rows;
    set_vectors(s, node, lanes < full ? lanes : full, tiles[best].vectors);
}
