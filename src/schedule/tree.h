/* SPDX-License-Identifier: Apache-2.0 */
#ifndef TW_SCHEDULE_TREE_H
#define TW_SCHEDULE_TREE_H

/* A schedule: in which order, on which threads and in how many lanes a model's items run. Made by schedule/, read by codegen/.
 *
 *   tree ::= node…                in program order
 *   node ::= read | store         an item of the model, under all the loops that it belongs to
 *          | loop { node… }       a loop of the model: all its trips, or those of one block
 *
 * A loop node makes its trips one after the other unless it says otherwise:
 *   threads   trips are shared out among the threads of one call (or among calls, for the root: outer_parallel)
 *   lanes     that many trips side by side in one vector; `vectors` such vectors in one go
 *   rows      that many trips jammed: each item beneath is done for all of them before the next item
 *   block     the node only sets off blocks of that many trips, made by the node of the same loop beneath it
 * A pair of loops, the outer o and the inner i, may run in wavefronts instead: w = i + skew·o. Four nodes make them, one in
 * the other; the plane of o and w is cut into tiles of rows × width, and tiles on a diagonal are independent:
 *   diagonals  the sum of a tile's numbers by o and by w, in order
 *   tiles      by o, in blocks of `block` rows, those of one diagonal; they may have threads
 *   fronts     w, in order, as far as it is the tile's; the node has i's number
 *   in_front   those trips of o in the tile for which w - skew·o is one of i's; the node has o's number, and may have lanes
 * What doesn't fill vectors, rows or blocks is done trip by trip at the end.
 */

#include "region/facts.h"

typedef enum tw_node_kind { TW_NODE_LOOP, TW_NODE_READ, TW_NODE_STORE } tw_node_kind;

typedef struct tw_node {
    uint8_t kind;                   /* tw_node_kind */
    bool threads;                   /* LOOP */
    bool in_block;                  /* LOOP: only the trips of the enclosing node of the same loop */
    bool diagonals, tiles, fronts, in_front; /* LOOP: of the tree's pair */
    uint16_t lanes, vectors, rows;  /* LOOP: at least 1 */
    uint32_t block;                 /* LOOP: 0 = no blocks */
    uint32_t loop;                  /* LOOP: of the model */
    uint32_t access, value, guard;  /* READ, STORE: as in tw_item */
    uint32_t *children, child_count, child_capacity; /* LOOP: nodes */
} tw_node;

typedef struct tw_tree {
    const tw_model *model; /* borrowed */
    const tw_facts *facts; /* borrowed */
    tw_arena *arena;       /* borrowed */
    tw_node *nodes;
    uint32_t node_count, node_capacity;
    uint32_t *roots, root_count, root_capacity;
    bool outer_parallel;   /* the root is the thread loop */
    bool shares_work;      /* a loop further in is */
    struct {
        uint32_t outer, inner, skew; /* the pair of loops that runs in wavefronts, if there is one */
        uint32_t rows, width;        /* of a tile */
    } pair;
    bool has_fronts;
    uint32_t grain;        /* trips of the root that a call should have at least, and a multiple of; 0: any */
    uint32_t vector_bytes; /* of the target's vectors, as the schedule assumed */
} tw_tree;

/* What the schedule may count on. */
typedef struct tw_target {
    uint32_t vector_bytes;     /* 16, 32 or 64; 0: no vectors */
    uint32_t vector_registers;
} tw_target;

/* The tree and all in it come from `arena` and borrow model and facts. */
tw_status tw_schedule_make(const tw_model *model, const tw_facts *facts, const tw_target *target, tw_arena *arena,
                           tw_tree **out, tw_error *error);

/* The original order, no threads, no lanes: what every schedule must equal. */
tw_status tw_schedule_plain(const tw_model *model, const tw_facts *facts, tw_arena *arena, tw_tree **out, tw_error *error);

/* By value: bit l set when it may differ between trips of loop l. */
void tw_tree_varies(const tw_tree *tree, uint32_t varies[TW_MODEL_MAX_VALUES]);

/* Readable, for `inspect --dump=schedule`. */
void tw_tree_print(const tw_tree *tree, tw_bytes *out);
/* One line for reports: "threads n0, lanes n1 (x4)". At most size - 1 bytes. */
void tw_tree_summary(const tw_tree *tree, char *out, size_t size);

#endif
