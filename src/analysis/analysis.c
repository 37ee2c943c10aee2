/* SPDX-License-Identifier: Apache-2.0 */
#include <stdlib.h>

#include "analysis/inside.h"

tw_status tw_analysis_new(const tw_ir_func *func, size_t memory_limit, tw_analysis **out, tw_error *error)
{
    tw_analysis *analysis = calloc(1, sizeof *analysis);
    TW_TRY_ALLOC(analysis, error);
    tw_arena_init(&analysis->arena, memory_limit);
    tw_arena_init(&analysis->scratch, memory_limit);
    analysis->func = func;
    *out = analysis;
    return TW_OK;
}

void tw_analysis_free(tw_analysis *analysis)
{
    if (!analysis) return;
    tw_arena_free(&analysis->arena);
    tw_arena_free(&analysis->scratch);
    free(analysis);
}

bool tw_analysis_failed(const tw_analysis *analysis)
{
    return analysis->failed;
}

const tw_ir_func *tw_analysis_func(const tw_analysis *analysis)
{
    return analysis->func;
}

tw_arena *tw_analysis_arena(tw_analysis *analysis)
{
    return &analysis->arena;
}

void *tw_analysis_fail(tw_analysis *analysis)
{
    analysis->failed = true;
    return NULL;
}

uint8_t tw_value_bits(const tw_analysis *analysis, tw_ir_value value)
{
    uint8_t type = analysis->func->values[value].type;
    return type == TW_I32 ? 32 : type == TW_I64 ? 64 : 0;
}
