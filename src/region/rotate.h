/* SPDX-License-Identifier: Apache-2.0 */
#ifndef TW_REGION_ROTATE_H
#define TW_REGION_ROTATE_H

/* Inner loops that are left in their middle become loops that are tested at their end:
 *
 *   loop { P; if (done) leave; S }    ──►    if (!done at the start) loop { P; S; leave when the next test will say done }; P
 *
 * Compilers make the left form when they unroll a loop whose count is a constant that the factor doesn't divide. P then
 * is one copy of the body and S the others: on the right it is a main loop with its remainder behind it, as of any other
 * unrolling. The outermost loop of a cut needs none of this: its last arrival is the guest's. */

#include "analysis/analysis.h"
#include "region/extract.h"

/* Rotates what it can of cut->func's inner loops; cut->at_exit follows, and *analysis, which is one of cut->func, is made anew. False
 * with *reason when out of memory; *analysis may then be NULL. */
bool tw_rotate(tw_cut *cut, tw_analysis **analysis, tw_arena *arena, tw_reason *reason);

#endif
