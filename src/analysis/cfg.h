/* SPDX-License-Identifier: Apache-2.0 */
#ifndef TW_ANALYSIS_CFG_H
#define TW_ANALYSIS_CFG_H

/* Shape of a function: predecessors, order, dominators, loops. All arrays live in the analysis' arena and are
 * read-only for others. Blocks that can't be reached from the entry are in no list. */

#include <stdbool.h>
#include <stdint.h>

#include "ir/ir.h"

typedef struct tw_cfg_edge {
    tw_ir_block from;
    uint32_t edge; /* index into the edges of `from` */
} tw_cfg_edge;

typedef struct tw_cfg {
    uint32_t block_count;      /* of the function: length of the arrays indexed by block */
    uint32_t order_count;      /* reachable blocks */
    const tw_ir_block *order;  /* reverse post-order; [0] is the entry */
    const uint32_t *position;  /* block → index into order; UINT32_MAX when unreachable */
    const uint32_t *pred_start;/* block → first of its preds; pred_start[block + 1] is the end */
    const tw_cfg_edge *preds;  /* from reachable blocks only */
    const tw_ir_block *idom;   /* immediate dominator; TW_IR_NO_BLOCK for the entry and unreachable blocks */
    const tw_ir_block *ipdom;  /* immediate post-dominator; TW_IR_NO_BLOCK when it is the way out, or there is none */
    const uint32_t *dom_in, *dom_out; /* numbering of the dominator tree; see tw_cfg_dominates */
} tw_cfg;

/* Every path from the entry to b goes through a (true for a == b). False when either is unreachable. O(1). */
bool tw_cfg_dominates(const tw_cfg *cfg, tw_ir_block a, tw_ir_block b);

/* A natural loop: the header dominates every block of it, and every edge from inside to the header is a latch.
 * Two natural loops with one header are one loop. */
typedef uint32_t tw_loop; /* index into tw_loops.items; parents come before children */
#define TW_NO_LOOP UINT32_MAX

typedef struct tw_loopdata {
    tw_ir_block header;
    tw_loop parent;           /* TW_NO_LOOP for an outermost one */
    uint32_t depth;           /* 1 for an outermost loop */
    uint32_t child_count;
    const tw_loop *children;  /* in program order */
    uint32_t block_count;
    const tw_ir_block *blocks;/* children's blocks included; reverse post-order; [0] is the header */
    uint32_t latch_count, entry_count, exit_count;
    const tw_cfg_edge *latches; /* edges from inside to the header */
    const tw_cfg_edge *entries; /* edges from outside to the header */
    const tw_cfg_edge *exits;   /* edges from inside (a child's blocks included) to outside */
    /* A cycle inside it has more than one entry and so isn't in the forest. Nothing may be said of iterations then. */
    bool irreducible;
} tw_loopdata;

typedef struct tw_loops {
    uint32_t count;
    const tw_loopdata *items;
    const tw_loop *innermost; /* block → innermost loop that holds it, or TW_NO_LOOP */
    bool irreducible;         /* some cycle of the function isn't a natural loop */
} tw_loops;

/* outer == inner counts; outer may be TW_NO_LOOP (the function), which contains everything. */
bool tw_loop_contains(const tw_loops *loops, tw_loop outer, tw_loop inner);
bool tw_loop_has_block(const tw_loops *loops, tw_loop loop, tw_ir_block block);

#endif
