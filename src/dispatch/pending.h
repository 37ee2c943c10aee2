/* SPDX-License-Identifier: Apache-2.0 */
#ifndef TW_DISPATCH_PENDING_H
#define TW_DISPATCH_PENDING_H

/* Iterations given back to the original code. Whether they have run is known at the next arrival: the same live-ins with
 * header values k steps on are the same loop, k iterations later; anything else means that all of them have. */

#include "dispatch/state.h"

/* The region's plan holds the numbers of this arrival. known: shape is; else nothing will be counted.
 * measures: the entries till the next question, from `now` on, are of this shape. */
void tw_pending_begin(tw_region_state *state, const tw_shape *shape, bool known, uint64_t countdown, uint64_t now, bool measures);
/* Counts what has run, learns how long it took. True when the arrival continues the loop: pending then stands for the rest. */
bool tw_pending_resolve(tw_region_state *state, const tw_raw *values, uint64_t now);
/* Given back once more, unlooked at, with the same countdown: the rest of a loop that continues, else one like the last. */
void tw_pending_again(tw_region_state *state, uint64_t now, bool continues);
/* After this one so many calls of the function don't come by: each counts as one entry, and what time they take isn't known. */
void tw_pending_rests(tw_region_state *state, uint32_t calls);
/* The rest won't run in the original code: a kernel does it. */
void tw_pending_end(tw_region_state *state);
/* Innermost iterations that are out but not yet counted, and what they take. to_come: entries that are still to come. */
double tw_pending_count(const tw_region_state *state, uint64_t to_come, double *seconds);

#endif
