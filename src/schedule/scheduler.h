/* SPDX-License-Identifier: Apache-2.0 */
#ifndef TW_SCHEDULE_SCHEDULER_H
#define TW_SCHEDULE_SCHEDULER_H

/* The passes of tw_schedule_make, in their order; inside this room only. Each is undone by nothing: what it can't do it leaves.
 *
 *   threads       the outermost parallel loops that are worth it
 *   interchange   a parallel loop out of a sequential one, where cells then stay in registers
 *   lanes         which loops become vectors
 *   rows          register tiles: another parallel loop's trips jammed around the lanes
 *   squares       transposes
 *   blocks        what all rows share stays in the nearest cache
 *
 * Where no loop is parallel but facts tell the dependences of a pair of loops, there is one pass instead: fronts. */

#include "schedule/build.h"

typedef struct tw_scheduler {
    tw_tree *tree;
    const tw_model *model;
    const tw_facts *facts;
    const tw_target *target;
    tw_shape shape;
    uint32_t ops[TW_MODEL_MAX_LOOPS]; /* operations that belong to a loop's own body */
    bool carries[TW_MODEL_MAX_LOOPS]; /* hands scalars on: facts that call it parallel lie */
} tw_scheduler;

/* ---- cost.c ---- */
void tw_count_ops(tw_scheduler *s);
bool tw_is_parallel(const tw_scheduler *s, uint32_t loop);
double tw_trips_hint(const tw_scheduler *s, uint32_t loop);
/* No loop beneath. */
bool tw_only_items(const tw_scheduler *s, const tw_node *n);
/* May trips of `loop` go side by side in what is beneath `node`? Loops there must make the same number of trips in each, and no
 * store may go to one cell in all (a loop that never has two trips passes for parallel). */
bool tw_uniform_beneath(const tw_scheduler *s, uint32_t node, uint32_t loop);
/* Widest value and narrowest access beneath a node that vary with `loop`, in bytes. */
typedef struct tw_widths {
    uint32_t widest, narrowest;
} tw_widths;
tw_widths tw_measure_widths(const tw_scheduler *s, uint32_t node, uint32_t loop);
/* Estimated operations of one trip of a loop's body, or of all of a node, with `lanes` trips of lane_loop in a vector. An
 * operation or a well-placed access counts 1 a vector, an access whose addresses lie apart 1.5 a lane. */
double tw_body_cost(const tw_scheduler *s, const tw_node *n, uint32_t lane_loop, uint32_t lanes);
double tw_subtree_cost(const tw_scheduler *s, uint32_t node, uint32_t lane_loop, uint32_t lanes);

/* ---- the passes, each on the subtree of a root ---- */
void tw_choose_threads(tw_scheduler *s, uint32_t root);
/* Takes thread loops inside a sequential root back if what is around them can't be shared. */
void tw_check_sharing(tw_scheduler *s, uint32_t root);
void tw_interchange(tw_scheduler *s, uint32_t node);
void tw_choose_lanes(tw_scheduler *s, uint32_t root);
void tw_choose_rows(tw_scheduler *s, uint32_t node);
void tw_choose_squares(tw_scheduler *s, uint32_t node);
/* Of roots[at]; may add roots. False when out of memory. */
bool tw_choose_blocks(tw_scheduler *s, uint32_t at);


/* ---- fronts.c, skew.c ---- */
/* The pair of loops that facts speak of, somewhere in the tree, in wavefronts. TW_REFUSED when that can't be. */
tw_status tw_choose_fronts(tw_scheduler *s, tw_error *error);
/* The least k ≥ 0 for which inner + k·outer grows by each of the distances, as far as a permutable schedule tells. TW_REFUSED
 * when there is none of that form. */
tw_status tw_find_skew(const tw_distance *distances, uint32_t count, uint32_t *skew, tw_error *error);

#endif
