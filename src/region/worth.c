/* SPDX-License-Identifier: Apache-2.0 */
#include "region/worth.h"

enum { SMALL_SHARE = 3 }; /* a loop is a small part of its function when that is more than so many times as long */

/* One loop that copies or fills: memory bounds it, and allocators and libraries are full of short ones. */
static bool only_moves(const tw_model *model)
{
    if (model->loop_count != 1 || model->carried_count || model->output_count) return false;
    for (uint32_t v = 0; v < model->value_count; v++)
        if (model->values[v].kind == TW_VALUE_OP) return false;
    return true;
}

static bool is_hopeless(const tw_survey *survey, uint32_t region)
{
    return survey->regions[region].hopeless != TW_REFUSAL_NONE;
}

static bool has_promising(const tw_survey *survey, const char *const *why, uint32_t func)
{
    for (uint32_t r = 0; r < survey->region_count; r++)
        if (survey->regions[r].func == func && !why[r]) return true;
    return false;
}

/* A function that gets its twin anyway keeps all its regions that may pay. */
static void forgive(const tw_survey *survey, const char **why)
{
    for (uint32_t r = 0; r < survey->region_count; r++)
        if (why[r] && !is_hopeless(survey, r) && has_promising(survey, why, survey->regions[r].func)) why[r] = NULL;
}

void tw_survey_doubts(const tw_wasm *module, const tw_survey *survey, const char **why)
{
    for (uint32_t r = 0; r < survey->region_count; r++) {
        const tw_survey_region *region = &survey->regions[r];
        bool small = module->funcs[region->func].body.size > SMALL_SHARE * region->size;
        why[r] = small && !region->whole_function && only_moves(region->model)
                     ? "it only moves data, and is a small part of its function" : NULL;
        if (is_hopeless(survey, r)) why[r] = region->why_hopeless;
    }
    forgive(survey, why);
}
