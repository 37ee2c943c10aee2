/* SPDX-License-Identifier: Apache-2.0 */
#ifndef TW_REWRITE_EXPOSED_H
#define TW_REWRITE_EXPOSED_H

#include "wasm/nest.h"

/* Which locals that the nest writes have a value that the code may still read: at the nest's header (from before, or from
 * the iteration before), or after one of its exits. Clears candidate[local] where that surely isn't so; candidates that
 * stay have to be handed in and out of L. Works on the bytecode, so that the original loop runs right in L whatever the
 * model thinks of its values (in SSA form a local that is set to the same constant on all ways is no value at all). */
tw_status tw_exposed_locals(const tw_wasm *module, const tw_nest *nest, tw_arena *arena, bool *candidate,
                            tw_error *error);

#endif
