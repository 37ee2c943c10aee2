/* SPDX-License-Identifier: Apache-2.0 */
#ifndef TW_WASM_EXPOSED_H
#define TW_WASM_EXPOSED_H

#include "wasm/nest.h"

/* Which locals that a nest writes have a value that the code may still read: at the nest's header (from before, or from the
 * iteration before) or after one of its exits, or only the latter. Clears candidate[local] where that surely isn't so. Works
 * on the bytecode: in SSA form a local that is set to the same value on all ways is no value of the loop at all. */
typedef enum tw_exposure { TW_EXPOSED_ANYWHERE, TW_EXPOSED_AFTER } tw_exposure;

tw_status tw_exposed_locals(const tw_wasm *module, const tw_nest *nest, tw_exposure where, tw_arena *arena,
                            bool *candidate, tw_error *error);

#endif
