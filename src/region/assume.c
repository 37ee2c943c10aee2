/* SPDX-License-Identifier: Apache-2.0 */
#include "region/assume.h"

#include "region/exprs.h"

enum { ASSUMED_TRIPS = 1024 };

static bool has_carried(const tw_model *model, uint32_t loop)
{
    for (uint32_t c = 0; c < model->carried_count; c++)
        if (model->carried[c].loop == loop) return true;
    return false;
}

/* Every store inside moves with the loop. */
static bool stores_move(const tw_model *model, uint32_t loop)
{
    for (uint32_t x = 0; x < model->access_count; x++) {
        uint32_t chain[TW_MODEL_MAX_DEPTH], length = tw_model_chain(model, model->accesses[x].loop, chain);
        uint32_t depth = model->loops[loop].depth;
        if (!model->accesses[x].is_store || depth >= length || chain[depth] != loop) continue;
        if (model->affines[model->accesses[x].address].coef[depth] == TW_NONE) return false;
    }
    return true;
}

static tw_stride stride_of(const tw_model *model, const tw_model_access *access, uint32_t depth)
{
    uint32_t coef = model->affines[access->address].coef[depth];
    uint64_t value;
    if (coef == TW_NONE) return TW_STRIDE_ZERO;
    return tw_expr_is_const(model, coef, &value) && value == access->width ? TW_STRIDE_UNIT : TW_STRIDE_ANY;
}

void tw_facts_assume(const tw_model *model, tw_facts *out)
{
    *out = (tw_facts){0};
    for (uint32_t l = 0; l < model->loop_count; l++) {
        out->parallel[l] = model->loops[l].is_if || (!has_carried(model, l) && stores_move(model, l));
        out->varying[l] = model->exprs[model->loops[l].trips].counters != 0;
        out->trips[l] = model->loops[l].is_if ? 1 : ASSUMED_TRIPS;
    }
    for (uint32_t x = 0; x < model->access_count; x++) {
        for (uint32_t d = 0; d < TW_MODEL_MAX_DEPTH; d++) out->stride[x][d] = (uint8_t)stride_of(model, &model->accesses[x], d);
        out->group[x] = (uint8_t)x;
        for (uint32_t y = 0; y < x; y++)
            if (model->affines[model->accesses[y].address].base == model->affines[model->accesses[x].address].base) out->group[x] = out->group[y];
    }
}
