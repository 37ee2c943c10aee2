/* SPDX-License-Identifier: Apache-2.0
 * A region has a handful of variants. Facts that were never met ask for a kernel of their own, unless one that is there may
 * stand in without loss: it must assume nothing that isn't so, and differ only in what hardly matters for its schedule (which
 * loops happen to be dead, which trip counts happen to vary, arrays further apart than it needs), and have been made for trip
 * counts no smaller: a loop entered in its middle has few left. While a better one
 * is compiled, or when it can't be had, any one that may run does. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "dispatch/legality.h"
#include "dispatch/state.h"

enum { MAX_REQUESTS = 24 }; /* of one region in one instance: numbers that flicker mustn't keep the compiler busy for ever */

static bool ready(const tw_variant *variant)
{
    return variant->kernel && tw_kernel_state_of(variant->kernel) == TW_KERNEL_READY;
}

static bool as_large(const tw_model *model, const tw_facts *facts, const tw_facts *than)
{
    for (uint32_t l = 0; l < model->loop_count; l++)
        if (facts->trips[l] < than->trips[l]) return false;
    return true;
}

static bool as_good(const tw_model *model, const tw_facts *facts, const tw_facts *than)
{
    for (uint32_t l = 0; l < model->loop_count; l++)
        if (facts->parallel[l] != than->parallel[l] || facts->free[l] != than->free[l]) return false;
    if (facts->distance_count != than->distance_count || memcmp(facts->distance, than->distance, sizeof facts->distance)) return false;
    return as_large(model, facts, than) && !memcmp(facts->stride, than->stride, sizeof facts->stride);
}

/* Made for these facts, in whatever state. */
static tw_variant *find_exact(tw_region_state *state, const tw_facts *facts)
{
    for (tw_variant *v = state->variants; v < state->variants + TW_VARIANTS; v++) {
        tw_facts own;
        if (!v->kernel || !as_large(state->model, &v->facts, facts)) continue;
        memcpy(&own, &v->facts, sizeof own);
        memcpy(own.trips, facts->trips, sizeof own.trips);
        if (!memcmp(&own, facts, sizeof own)) return v;
    }
    return NULL;
}

/* Ready and right for these facts; good: and hardly worse than one of their own. */
static tw_variant *find_substitute(tw_region_state *state, const tw_facts *facts, bool good)
{
    const tw_model *model = state->model;
    tw_variant *best = NULL;
    for (tw_variant *v = state->variants; v < state->variants + TW_VARIANTS; v++) {
        if (!ready(v) || !tw_facts_imply(model, facts, &v->facts)) continue;
        if (good && !as_good(model, &v->facts, facts)) continue;
        if (!best || v->used > best->used) best = v;
    }
    return best;
}

static tw_variant *free_slot(tw_region_state *state)
{
    tw_variant *oldest = NULL;
    for (tw_variant *v = state->variants; v < state->variants + TW_VARIANTS; v++) {
        if (!v->kernel) return v;
        if (!oldest || v->used < oldest->used) oldest = v;
    }
    for (uint32_t i = 0; i < TW_VERDICTS; i++)
        if (state->verdicts[i].kernel == oldest->kernel) state->verdicts[i].valid = false;
    if (state->awaited == oldest) state->awaited = NULL;
    tw_kernel_unref(oldest->kernel);
    oldest->kernel = NULL;
    return oldest;
}

void tw_dispatch_compiled(void *kernel, tw_status status, const tw_kernel_info *info, const uint8_t *code,
                          const tw_error *error)
{
    if (status == TW_OK) tw_kernel_finish(kernel, info, code);
    else tw_kernel_fail(kernel, status, error ? error->message : "no reason given");
}

static tw_status request(tw_dispatch *dispatch, tw_region_state *state, const tw_facts *facts, tw_kernel **out, tw_error *error)
{
    tw_bytes text = {0};
    bool claimed = false;
    tw_model_print(state->model, &text);
    tw_facts_print(state->model, facts, &text);
    tw_status status = text.failed ? tw_fail_memory(error) : TW_OK;
    if (status == TW_OK && !dispatch->identity) status = tw_compiler_identity(dispatch->options.compiler, &dispatch->identity, error);
    if (status == TW_OK) {
        tw_kcache_key key = {dispatch->options.tenant, dispatch->identity, text.data, text.size};
        status = tw_kcache_get(dispatch->options.cache, &key, true, out, &claimed, error);
    }
    if (status == TW_OK && claimed) {
        tw_error late;
        tw_status submitted = tw_compiler_submit(dispatch->options.compiler, text.data, text.size, tw_dispatch_compiled, *out, &late);
        if (submitted != TW_OK) tw_kernel_fail(*out, submitted, late.message);
    }
    tw_bytes_free(&text);
    return status;
}

static tw_variant *make(tw_dispatch *dispatch, tw_region_state *state, const tw_facts *facts, char detail[200])
{
    tw_error error;
    tw_kernel *kernel;
    if (state->requested++ >= MAX_REQUESTS) {
        snprintf(detail, 200, "%d variants were compiled already", MAX_REQUESTS);
        return NULL;
    }
    if (request(dispatch, state, facts, &kernel, &error) != TW_OK) {
        snprintf(detail, 200, "%.199s", error.message);
        return NULL;
    }
    tw_variant *variant = free_slot(state);
    variant->kernel = kernel;
    memcpy(&variant->facts, facts, sizeof *facts); /* padding too: facts are compared as bytes */
    return variant;
}

tw_variant *tw_variant_for(tw_dispatch *dispatch, tw_region_state *state, const tw_facts *facts, bool ask, bool *failed,
                           char detail[200])
{
    *failed = false;
    tw_variant *exact = find_exact(state, facts), *found = exact && ready(exact) ? exact : NULL;
    if (!found && !exact) found = find_substitute(state, facts, true);
    if (!found && !exact && ask) {
        exact = make(dispatch, state, facts, detail);
        *failed = !exact;
        if (exact && ready(exact)) found = exact; /* from the cache */
    }
    if (exact && tw_kernel_state_of(exact->kernel) == TW_KERNEL_FAILED) {
        *failed = true;
        tw_kernel_failure(exact->kernel, detail, 200);
    }
    if (!found) found = find_substitute(state, facts, false);
    if (!found && !*failed) found = exact;
    if (found) found->used = ++state->clock, *failed = false;
    return found;
}

void tw_variants_free(tw_region_state *state)
{
    for (uint32_t i = 0; state->variants && i < TW_VARIANTS; i++) tw_kernel_unref(state->variants[i].kernel);
    free(state->variants);
    state->variants = NULL;
}
