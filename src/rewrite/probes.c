/* SPDX-License-Identifier: Apache-2.0 */
#include "rewrite/probes.h"

enum { SCRATCH_KEPT = 1 << 20 }; /* bytes of scratch that stay for the next function */

/* A cycle of calls is cut at every function of it that may call before it has touched memory. (Within one activation the
 * first access can't repeat an earlier one, so any will do; a function whose calls all come after an access needs no probe.) */
static tw_status find_all(const tw_wasm *module, const bool *in_cycle, tw_arena *scratch, tw_arena *arena,
                          tw_probes *all, tw_error *error)
{
    for (uint32_t i = module->imported_funcs; i < module->func_count; i++) {
        bool calls_unseen;
        TW_TRY(tw_probes_of_loops(module, i, scratch, arena, &all[i], &calls_unseen, error));
        all[i].recursive = in_cycle[i];
        all[i].entry = in_cycle[i] && calls_unseen;
        if (scratch->used > SCRATCH_KEPT) tw_arena_free(scratch);
    }
    return TW_OK;
}

tw_status tw_probes_find(const tw_wasm *module, tw_arena *arena, tw_probes **out, tw_error *error)
{
    tw_arena scratch;
    bool *in_cycle;
    *out = TW_NEW_ARRAY(arena, tw_probes, module->func_count);
    TW_TRY_ALLOC(*out, error);
    tw_arena_init(&scratch, TW_ARENA_NO_LIMIT);
    tw_status status = tw_call_cycles(module, arena, &in_cycle, error);
    if (status == TW_OK) status = find_all(module, in_cycle, &scratch, arena, *out, error);
    tw_arena_free(&scratch);
    return status;
}

bool tw_probes_has(const tw_probes *probes, uint64_t loop_offset)
{
    uint32_t low = 0, high = probes->loop_count;
    while (low < high) {
        uint32_t middle = low + (high - low) / 2;
        if (probes->loops[middle] < loop_offset) low = middle + 1;
        else high = middle;
    }
    return low < probes->loop_count && probes->loops[low] == loop_offset;
}
