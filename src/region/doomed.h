/* SPDX-License-Identifier: Apache-2.0 */
#ifndef TW_REGION_DOOMED_H
#define TW_REGION_DOOMED_H

/* Ways out of a loop that end in a trap are left out of the function: bounds checks that panic, assertions that abort.
 *
 *   b: branch c, panic, on          ──►    b: jump on        with the assumption that c is 0
 *
 * What remains is the loop that its author wrote. A model of it holds where each assumption does for all iterations that a kernel
 * runs; the plan proves that with an arrival's numbers (model.h: limits). The bytecode keeps its checks: iterations that aren't a
 * kernel's meet them, and the trap is the original code's.
 *
 * A block is doomed when no way leads from it back to the caller or into a loop. A branch of a loop loses its edge to a doomed
 * block if that loop has a way out that isn't doomed. */

#include "analysis/analysis.h"

/* func is that of *analysis; when it changes, *analysis is made anew, with the same memory limit. What is left out is noted in
 * func->assumes and func->doomed_uses. False when out of memory; *analysis may then be NULL. */
bool tw_prune_doomed(tw_ir_func *func, size_t memory_limit, tw_analysis **analysis);

/* The instruction at this module offset would branch to a trap, on a way that has been left out. */
bool tw_branches_to_doom(const tw_ir_func *func, uint64_t offset);

#endif
