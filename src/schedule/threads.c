/* SPDX-License-Identifier: Apache-2.0 */
/* Threads go to the outermost parallel loop; where the root isn't parallel, to the outermost parallel loops further in that are
 * worth a meeting of threads. */

#include "schedule/scheduler.h"

enum { WORTH_A_MEETING = 20 * 1000 /* operations in one entry of an inner thread loop */ };

static void choose(tw_scheduler *s, uint32_t node, bool is_root)
{
    tw_node *n = &s->tree->nodes[node];
    if (n->kind != TW_NODE_LOOP) return;
    if (tw_is_parallel(s, n->loop)) {
        if (!is_root && tw_subtree_cost(s, node, TW_NONE, 1) < WORTH_A_MEETING) return;
        n->threads = true;
        if (is_root) s->tree->outer_parallel = true;
        else s->tree->shares_work = true;
        return;
    }
    for (uint32_t i = 0; i < n->child_count; i++) choose(s, n->children[i], false);
}

static bool has_thread_loop(const tw_scheduler *s, uint32_t node)
{
    const tw_node *n = &s->tree->nodes[node];
    if (n->threads) return true;
    for (uint32_t i = 0; i < n->child_count; i++)
        if (has_thread_loop(s, n->children[i])) return true;
    return false;
}

static bool stores_and_carries(const tw_scheduler *s, uint32_t node, bool *stores, bool *carries)
{
    const tw_node *n = &s->tree->nodes[node];
    if (n->kind == TW_NODE_STORE) *stores = true;
    if (n->kind == TW_NODE_LOOP) *carries |= s->carries[n->loop];
    for (uint32_t i = 0; i < n->child_count; i++) stores_and_carries(s, n->children[i], stores, carries);
    return *stores && *carries;
}

/* Threads inside a sequential loop want everything else in it to be one thread's, or to be done by each: a loop that both
 * stores and hands a scalar on is neither. */
static bool can_share(const tw_scheduler *s, uint32_t node)
{
    const tw_node *n = &s->tree->nodes[node];
    bool stores = false, carries = false;
    if (n->kind != TW_NODE_LOOP || n->threads) return true;
    if (!has_thread_loop(s, node)) return !stores_and_carries(s, node, &stores, &carries);
    for (uint32_t i = 0; i < n->child_count; i++)
        if (!can_share(s, n->children[i])) return false;
    return true;
}

static void clear_threads(tw_scheduler *s)
{
    for (uint32_t i = 0; i < s->tree->node_count; i++) s->tree->nodes[i].threads = false;
    s->tree->shares_work = false;
}

void tw_check_sharing(tw_scheduler *s, uint32_t root)
{
    if (s->tree->shares_work && !can_share(s, root)) clear_threads(s);
}

void tw_choose_threads(tw_scheduler *s, uint32_t root)
{
    choose(s, root, true);
    tw_check_sharing(s, root);
}
