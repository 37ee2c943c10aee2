/* SPDX-License-Identifier: Apache-2.0 */
#include "schedule/scheduler.h"

enum { BLOCK_TRIPS = 128, BLOCK_GRAIN = 32 };

static uint32_t new_loop(tw_scheduler *s, tw_node like)
{
    like.children = NULL;
    like.child_count = like.child_capacity = 0;
    return tw_tree_add(s->tree, like);
}

/* The root i { A…; l { j { items } } }, already interchanged to i { A…; j { l { items } } } with rows for i and lanes for j,
 * becomes i { A… } and l in blocks { j { i { l in the block { items } } } }: a block of what all i share stays in the
 * nearest cache while the i go by. i is parallel, so its trips may be interleaved in any way; for one i the order of l
 * is kept for each j. */
bool tw_choose_blocks(tw_scheduler *s, uint32_t at)
{
    uint32_t root = s->tree->roots[at];
    tw_node *i = &s->tree->nodes[root];
    if (i->kind != TW_NODE_LOOP || i->rows < 2 || !s->tree->outer_parallel || i->loop != 0 || i->child_count == 0) return true;
    uint32_t j_index = i->children[i->child_count - 1];
    tw_node *j = &s->tree->nodes[j_index];
    if (j->kind != TW_NODE_LOOP || j->lanes < 2 || j->child_count != 1) return true;
    tw_node *l = &s->tree->nodes[j->children[0]];
    if (l->kind != TW_NODE_LOOP || !tw_only_items(s, l) || tw_is_parallel(s, l->loop)) return true;
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
