/* SPDX-License-Identifier: Apache-2.0 */
#include "region/module.h"

#include <stdlib.h>

#include "base/crew.h"

enum { MOST_THREADS = 8, WORTH_A_THREAD = 4 << 10, SURVEY_MEMORY = 1 << 30 }; /* bytes of code a thread should find to do */

typedef struct job {
    const tw_wasm *module;
    const tw_detector_options *detector;
    tw_survey **parts; /* by function with a body */
    uint32_t *order;   /* the longest first, or a long one would be what all wait for */
    atomic_bool failed;
} job;

static void survey_functions(tw_crew *crew)
{
    job *j = crew->context;
    for (size_t k; !atomic_load(&j->failed) && tw_crew_take(crew, &k);) {
        uint32_t f = j->order[k];
        if (!tw_survey_function(j->module, j->module->imported_funcs + f, j->detector, &j->parts[f])) atomic_store(&j->failed, true);
    }
}

static int longest_first(const void *a, const void *b, void *context)
{
    const tw_wasm *module = context;
    uint32_t x = *(const uint32_t *)a, y = *(const uint32_t *)b;
    size_t first = module->funcs[module->imported_funcs + x].body.size, second = module->funcs[module->imported_funcs + y].body.size;
    return first != second ? (first > second ? -1 : 1) : x < y ? -1 : x > y;
}

static uint32_t *order_of(const tw_wasm *module, uint32_t count)
{
    uint32_t *order = malloc((count + 1u) * sizeof *order);
    for (uint32_t f = 0; order && f < count; f++) order[f] = f;
    if (order) qsort_r(order, count, sizeof *order, longest_first, (void *)module);
    return order;
}

static unsigned threads_for(const tw_wasm *module, unsigned threads)
{
    uint64_t bytes = 0;
    for (uint32_t f = module->imported_funcs; f < module->func_count; f++) bytes += module->funcs[f].body.size;
    if (threads > MOST_THREADS) threads = MOST_THREADS;
    return threads > bytes / WORTH_A_THREAD ? (unsigned)(bytes / WORTH_A_THREAD) : threads;
}

static bool join_part(tw_survey *survey, const tw_survey *part)
{
    uint32_t first = survey->region_count;
    for (uint32_t r = 0; r < part->region_count; r++) {
        if (!TW_ARENA_GROW(&survey->arena, survey->regions, survey->region_count, survey->region_capacity)) return false;
        survey->regions[survey->region_count++] = part->regions[r];
    }
    for (uint32_t l = 0; l < part->loop_count; l++) {
        if (!TW_ARENA_GROW(&survey->arena, survey->loops, survey->loop_count, survey->loop_capacity)) return false;
        tw_survey_loop *loop = &survey->loops[survey->loop_count++];
        *loop = part->loops[l];
        if (loop->region != TW_NONE) loop->region += first;
    }
    return true;
}

static bool join_parts(tw_survey *survey)
{
    bool good = true;
    for (uint32_t p = 0; p < survey->part_count && good; p++)
        if (survey->parts[p]) good = join_part(survey, survey->parts[p]);
    return good;
}

tw_status tw_survey_new(const tw_wasm *module, const tw_detector_options *detector, unsigned threads, tw_survey **out,
                        tw_error *error)
{
    uint32_t count = module->func_count - module->imported_funcs;
    job j = {.module = module, .detector = detector};
    tw_survey *survey = calloc(1, sizeof *survey);
    TW_TRY_ALLOC(survey, error);
    tw_arena_init(&survey->arena, SURVEY_MEMORY);
    survey->parts = j.parts = calloc(count + 1u, sizeof *j.parts);
    j.order = order_of(module, count);
    if (survey->parts && j.order) {
        survey->part_count = count;
        tw_crew crew = {.count = count, .work = survey_functions, .context = &j};
        tw_crew_run(&crew, threads_for(module, threads));
    }
    bool began = survey->parts && j.order;
    free(j.order);
    if (!began || atomic_load(&j.failed) || !join_parts(survey)) {
        tw_survey_free(survey);
        return tw_fail_memory(error);
    }
    *out = survey;
    return TW_OK;
}
