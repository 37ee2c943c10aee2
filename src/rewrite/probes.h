/* SPDX-License-Identifier: Apache-2.0 */
#ifndef TW_REWRITE_PROBES_H
#define TW_REWRITE_PROBES_H

/* What needs a probe to be stoppable. A guest is stopped by taking its memory's pages away, so every cycle of its code has
 * to touch memory, in a way that the engine's optimiser can't remove: it drops loads and stores that repeat an earlier one
 * at the same address, so in a loop the address has to vary with something that the loop carries. */

#include "wasm/module.h"

typedef struct tw_probes {
    uint64_t *loops;  /* by function: offsets of the `loop` opcodes that need one, ascending */
    uint32_t loop_count;
    bool entry;       /* the function's entry needs one */
    bool recursive;   /* the function may, through calls, call itself */
} tw_probes;

/* Probes for every function (func_count entries) from `arena`. */
tw_status tw_probes_find(const tw_wasm *module, tw_arena *arena, tw_probes **out, tw_error *error);
bool tw_probes_has(const tw_probes *probes, uint64_t loop_offset);

/* ---- between this room's files ---- */

/* Loops of one function that need a probe; `scratch` may be freed afterwards. *calls_unseen is true when some call (or tail call) may be reached from the
 * entry without touching memory first. */
tw_status tw_probes_of_loops(const tw_wasm *module, uint32_t func, tw_arena *scratch, tw_arena *arena, tw_probes *out,
                             bool *calls_unseen, tw_error *error);
/* in_cycle[f]: f may, through calls, call itself. */
tw_status tw_call_cycles(const tw_wasm *module, tw_arena *arena, bool **in_cycle, tw_error *error);

#endif
