/* SPDX-License-Identifier: Apache-2.0 */
#include "schedule/scheduler.h"

/* A store to cells that `loop` comes back to in every trip. */
static bool returns_to_cells(const tw_scheduler *s, const tw_node *n, uint32_t loop)
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
void tw_interchange(tw_scheduler *s, uint32_t node)
{
    tw_node *n = &s->tree->nodes[node];
    if (n->kind != TW_NODE_LOOP) return;
    for (uint32_t i = 0; i < n->child_count; i++) tw_interchange(s, n->children[i]);
    if (n->child_count != 1 || s->tree->nodes[n->children[0]].kind != TW_NODE_LOOP) return;
    tw_node *inner = &s->tree->nodes[n->children[0]];
    uint32_t outer_loop = n->loop, inner_loop = inner->loop;
    if (tw_is_parallel(s, outer_loop) || s->model->loops[outer_loop].is_if || s->carries[outer_loop]) return;
    if (!tw_is_parallel(s, inner_loop) || !s->facts->free[inner_loop] || !tw_only_items(s, inner)) return;
    if (tw_trips_vary_with(s->model, s->facts, inner_loop, outer_loop) || !returns_to_cells(s, inner, outer_loop)) return;
    n->loop = inner_loop;
    inner->loop = outer_loop;
    n->threads = inner->threads; /* threads go with their loop */
    inner->threads = false;
}
