/* SPDX-License-Identifier: Apache-2.0 */
#include "region/facts.h"

/* Words in this order: trips, accesses, affines, symbols; each takes one word and one a loop around it. */

static uint32_t depth_of(const tw_model *model, uint32_t loop)
{
    return loop == TW_NONE ? 0 : model->loops[loop].depth + 1;
}

bool tw_layout_make(const tw_model *model, tw_arena *arena, tw_layout *out)
{
    *out = (tw_layout){0};
    out->affine = TW_NEW_ARRAY(arena, uint32_t, model->affine_count);
    out->symbol = TW_NEW_ARRAY(arena, uint32_t, model->symbol_count);
    if (!out->affine || !out->symbol) return false;
    uint32_t at = 0;
    for (uint32_t l = 0; l < model->loop_count; l++) {
        out->trips[l] = at;
        at += 1 + model->loops[l].depth;
    }
    for (uint32_t x = 0; x < model->access_count; x++) {
        out->access[x] = at;
        at += 1 + depth_of(model, model->accesses[x].loop);
    }
    for (uint32_t a = 0; a < model->affine_count; a++) {
        out->affine[a] = at;
        at += 1 + depth_of(model, model->affines[a].loop);
    }
    for (uint32_t s = 0; s < model->symbol_count; s++) out->symbol[s] = at++;
    out->count = at;
    return true;
}
