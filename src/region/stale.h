/* SPDX-License-Identifier: Apache-2.0 */
#ifndef TW_REGION_STALE_H
#define TW_REGION_STALE_H

/* Which locals, on arrival at a nest, have the value that SSA form says they hold there.
 *
 * Not all have. What a kernel leaves in the locals of its nest is what is live after it; so is what an outlined nest hands back. A local
 * that the code writes again before it reads it keeps whatever it had, while SSA form, which knows the function as it was
 * written, sees in it what the nest would have put there: a constant, or a value that some other local holds as well.
 *
 * So a nest surely leaves in a local a value of its own (if anything uses it, it is live) and what the local had on arrival. A local is
 * stale at a nest if another loop, or this one when it is entered again, sets it to anything else: then it isn't to be read for a value
 * unless the nest's own code reads it. Loops around the nest don't count; they have been refused. */

#include "analysis/analysis.h"
#include "base/arena.h"

/* By local, in `arena`; NULL when out of memory. */
bool *tw_stale_locals(tw_analysis *analysis, tw_loop loop, tw_arena *arena);

#endif
