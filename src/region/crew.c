/* SPDX-License-Identifier: Apache-2.0 */
#include "region/crew.h"

#include <pthread.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>

enum { MOST_THREADS = 8, WORTH_A_THREAD = 4 << 10, SURVEY_MEMORY = 1 << 30 }; /* bytes of code a thread should find to do */

typedef struct crew {
    const tw_wasm *module;
    const tw_detector_options *detector;
    tw_survey **parts; /* by function with a body */
    uint32_t count;
    atomic_uint next;
    atomic_bool failed;
} crew;

static void *work(void *context)
{
    crew *c = context;
    for (uint32_t f; (f = atomic_fetch_add(&c->next, 1)) < c->count && !atomic_load(&c->failed);)
        if (!tw_survey_function(c->module, c->module->imported_funcs + f, c->detector, &c->parts[f])) atomic_store(&c->failed, true);
    return NULL;
}

static unsigned helpers_for(const tw_wasm *module, unsigned threads)
{
    uint64_t bytes = 0;
    for (uint32_t f = module->imported_funcs; f < module->func_count; f++) bytes += module->funcs[f].body.size;
    if (threads > MOST_THREADS) threads = MOST_THREADS;
    if (threads > bytes / WORTH_A_THREAD) threads = (unsigned)(bytes / WORTH_A_THREAD);
    return threads ? threads - 1 : 0;
}

/* With as many helpers as can be had; none is needed. They take no signals: these are for the program's own threads. */
static void work_together(crew *c, unsigned helpers)
{
    pthread_t threads[MOST_THREADS];
    unsigned started = 0;
    sigset_t all, before;
    sigfillset(&all);
    pthread_sigmask(SIG_BLOCK, &all, &before);
    while (started < helpers && pthread_create(&threads[started], NULL, work, c) == 0) started++;
    pthread_sigmask(SIG_SETMASK, &before, NULL);
    work(c);
    for (unsigned t = 0; t < started; t++) pthread_join(threads[t], NULL);
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
    crew c = {.module = module, .detector = detector, .count = module->func_count - module->imported_funcs};
    tw_survey *survey = calloc(1, sizeof *survey);
    TW_TRY_ALLOC(survey, error);
    tw_arena_init(&survey->arena, SURVEY_MEMORY);
    survey->parts = c.parts = calloc(c.count + 1u, sizeof *c.parts);
    if (survey->parts) {
        survey->part_count = c.count;
        work_together(&c, helpers_for(module, threads));
    }
    if (!survey->parts || atomic_load(&c.failed) || !join_parts(survey)) {
        tw_survey_free(survey);
        return tw_fail_memory(error);
    }
    *out = survey;
    return TW_OK;
}
