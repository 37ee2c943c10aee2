/* SPDX-License-Identifier: Apache-2.0 */
/* Lanes: for every loop that may have them, the estimated time of its subtree in lanes is held against the best that its inner
 * loops can do; the cheaper wins, from the inside out. */

#include "schedule/scheduler.h"

enum {
    UNROLLED_VECTORS = 4,
    SMALL_BODY = 24, /* operations and accesses that may be repeated for several vectors */
};

/* Lanes that fill a vector with the narrowest data, but no more than four vectors with the widest. */
static uint32_t lanes_for(const tw_scheduler *s, uint32_t node, uint32_t loop)
{
    tw_widths w = tw_measure_widths(s, node, loop);
    uint32_t most = s->target->vector_bytes / w.narrowest, cap = 4 * s->target->vector_bytes / w.widest;
    return most < cap ? most : cap;
}

static void clear_lanes(tw_scheduler *s, uint32_t node)
{
    tw_node *n = &s->tree->nodes[node];
    n->lanes = n->vectors = 1;
    for (uint32_t i = 0; i < n->child_count; i++) clear_lanes(s, n->children[i]);
}

static uint32_t body_size(const tw_scheduler *s, uint32_t node)
{
    const tw_node *n = &s->tree->nodes[node];
    if (n->kind != TW_NODE_LOOP) return 1;
    uint32_t size = s->ops[n->loop];
    for (uint32_t i = 0; i < n->child_count; i++) size += body_size(s, n->children[i]);
    return size;
}

/* Several vectors in one go hide latencies; values wider than the narrowest data take several registers already. */
static uint16_t vectors_for(const tw_scheduler *s, uint32_t node, uint32_t loop, uint32_t lanes)
{
    tw_widths w = tw_measure_widths(s, node, loop);
    uint32_t registers = lanes * w.widest / s->target->vector_bytes, size = body_size(s, node);
    uint32_t vectors = UNROLLED_VECTORS / (registers ? registers : 1);
    while (vectors > 1 && vectors * size > 4 * SMALL_BODY) vectors /= 2;
    return (uint16_t)(vectors ? vectors : 1);
}

/* Returns the subtree's estimated cost with the lanes it has chosen. */
static double choose(tw_scheduler *s, uint32_t node)
{
    tw_node *n = &s->tree->nodes[node];
    if (n->kind != TW_NODE_LOOP) return 1;
    double best = s->ops[n->loop] + 1;
    for (uint32_t i = 0; i < n->child_count; i++) best += choose(s, n->children[i]);
    best *= tw_trips_hint(s, n->loop);
    if (!tw_is_parallel(s, n->loop) || !tw_uniform_beneath(s, node, n->loop)) return best;
    uint32_t lanes = lanes_for(s, node, n->loop);
    if (lanes < 2 || tw_trips_hint(s, n->loop) < lanes) return best;
    double with = tw_trips_hint(s, n->loop) / lanes * tw_body_cost(s, n, n->loop, lanes);
    if (with >= best) return best;
    clear_lanes(s, node);
    n->lanes = (uint16_t)lanes;
    n->vectors = vectors_for(s, node, n->loop, lanes);
    return with;
}

void tw_choose_lanes(tw_scheduler *s, uint32_t root)
{
    choose(s, root);
}
