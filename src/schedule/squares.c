/* SPDX-License-Identifier: Apache-2.0 */
#include "schedule/scheduler.h"

enum { SQUARE = 8 };

/* Every access beneath is in unit or zero steps by one of the two loops, and each of them has one that needs it. */
static bool wants_square(const tw_scheduler *s, const tw_node *n, uint32_t a, uint32_t b)
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
void tw_choose_squares(tw_scheduler *s, uint32_t node)
{
    tw_node *n = &s->tree->nodes[node];
    if (n->kind != TW_NODE_LOOP) return;
    for (uint32_t i = 0; i < n->child_count; i++) tw_choose_squares(s, n->children[i]);
    if (n->child_count != 1 || n->rows > 1) return;
    tw_node *inner = &s->tree->nodes[n->children[0]];
    if (inner->kind != TW_NODE_LOOP || inner->rows > 1 || !tw_is_parallel(s, n->loop) || !tw_is_parallel(s, inner->loop)) return;
    if (!tw_uniform_beneath(s, node, n->loop) || !tw_uniform_beneath(s, n->children[0], inner->loop) ||
        !wants_square(s, inner, n->loop, inner->loop))
        return;
    tw_widths w = tw_measure_widths(s, n->children[0], inner->loop);
    uint32_t side = s->target->vector_bytes / w.widest;
    if (side > SQUARE) side = SQUARE;
    n->rows = inner->lanes = (uint16_t)side;
    n->lanes = n->vectors = inner->vectors = 1;
}
