/* SPDX-License-Identifier: Apache-2.0 */
#ifndef TW_SCHEDULE_BUILD_H
#define TW_SCHEDULE_BUILD_H

/* Making trees; inside this room only. */

#include "schedule/tree.h"

/* Empty; NULL when out of memory. */
tw_tree *tw_tree_new(const tw_model *model, const tw_facts *facts, tw_arena *arena);
/* The node's number; TW_NONE when out of memory. Pointers to nodes are no longer valid. */
uint32_t tw_tree_add(tw_tree *tree, tw_node node);
/* parent TW_NONE: a root. False when out of memory or child is TW_NONE. */
bool tw_tree_append(tw_tree *tree, uint32_t parent, uint32_t child);

/* ---- shape.c: what varies with what ---- */

typedef struct tw_shape {
    uint32_t varies[TW_MODEL_MAX_VALUES]; /* bit l: the value differs between trips of loop l */
    uint32_t loop[TW_MODEL_MAX_VALUES];   /* innermost loop in which it must be computed, TW_NONE: none */
} tw_shape;
void tw_shape_of(const tw_model *model, const tw_facts *facts, tw_shape *out);
/* Stride of an access by a loop: any when it isn't around it. */
tw_stride tw_stride_by(const tw_model *model, const tw_facts *facts, uint32_t access, uint32_t loop);
/* May this loop's trip count differ between trips of `outer`? */
bool tw_trips_vary_with(const tw_model *model, const tw_facts *facts, uint32_t loop, uint32_t outer);

#endif
