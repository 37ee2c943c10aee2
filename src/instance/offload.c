/* SPDX-License-Identifier: Apache-2.0 */
#include "instance/offload.h"

#include <stdio.h>
#include <stdlib.h>

#include "os/clock.h"
#include "region/worth.h"

/* ---- a module's share: which regions ---- */

typedef struct candidate {
    uint32_t region, weight;
} candidate;

static int heavier(const void *a, const void *b)
{
    const candidate *x = a, *y = b;
    if (x->weight != y->weight) return x->weight > y->weight ? -1 : 1;
    return x->region < y->region ? -1 : 1;
}

/* Leaves TW_NONE in site_of_region for those that don't go along, 0 for the others. */
static tw_status choose(const tw_wasm *wasm, const tw_survey *survey, uint32_t most, tw_offload_plan *plan, tw_error *error)
{
    candidate *all = calloc(survey->region_count + 1u, sizeof *all);
    TW_TRY_ALLOC(all, error);
    uint32_t count = 0;
    if (most != TW_OFFLOAD_ALL_REGIONS) tw_survey_doubts(wasm, survey, plan->why_left);
    for (uint32_t i = 0; i < survey->region_count; i++) {
        plan->site_of_region[i] = TW_NONE;
        if (plan->why_left[i]) continue;
        all[count++] = (candidate){i, survey->regions[i].whole_function ? UINT32_MAX : survey->regions[i].model->loop_count};
    }
    qsort(all, count, sizeof *all, heavier);
    for (uint32_t i = 0; i < count; i++) {
        if (i < most) plan->site_of_region[all[i].region] = 0;
        else plan->why_left[all[i].region] = "the module has too many regions, and most are larger";
    }
    free(all);
    return TW_OK;
}

static void count_kinds(const tw_survey *survey, const tw_offload_plan *plan, uint32_t *loops, uint32_t *functions)
{
    *loops = *functions = 0;
    for (uint32_t i = 0; i < survey->region_count; i++)
        if (plan->site_of_region[i] != TW_NONE) ++*(survey->regions[i].whole_function ? functions : loops);
}

/* Sites are the loops in order, then the functions. */
static void number_sites(const tw_survey *survey, uint32_t loops, tw_offload_plan *plan)
{
    uint32_t loop = 0, function = loops;
    for (uint32_t i = 0; i < survey->region_count; i++) {
        if (plan->site_of_region[i] == TW_NONE) continue;
        uint32_t site = survey->regions[i].whole_function ? function++ : loop++;
        plan->site_of_region[i] = site;
        plan->region_of_site[site] = i;
    }
}

static void ask_for(const tw_survey *survey, const tw_offload_plan *plan, tw_rewrite_region *regions,
                    tw_rewrite_function *functions, uint32_t loops)
{
    for (uint32_t i = 0; i < survey->region_count; i++) {
        const tw_survey_region *from = &survey->regions[i];
        uint32_t site = plan->site_of_region[i];
        if (site == TW_NONE) continue;
        if (from->whole_function) functions[site - loops].func = from->func;
        else regions[site] = (tw_rewrite_region){.func = from->func, .loop_offset = from->place, .nested = from->nested,
                                                 .live_ins = from->live_ins, .live_in_count = from->live_in_count,
                                                 .headers = from->headers, .header_count = from->header_count};
    }
}

static tw_status rewrite(const tw_wasm *wasm, const tw_survey *survey, bool capturable, tw_offload_plan *plan, tw_error *error)
{
    uint32_t loops, functions;
    count_kinds(survey, plan, &loops, &functions);
    number_sites(survey, loops, plan);
    tw_rewrite_region *regions = calloc(loops + 1u, sizeof *regions);
    tw_rewrite_function *whole = calloc(functions + 1u, sizeof *whole);
    tw_status status = regions && whole ? TW_OK : tw_fail_memory(error);
    if (status == TW_OK) {
        ask_for(survey, plan, regions, whole, loops);
        tw_rewrite_options options = {.regions = regions, .region_count = loops, .functions = whole,
                                      .function_count = functions, .stoppable = true, .capturable = capturable};
        status = tw_rewrite_module(wasm, &options, &plan->rewrite, error);
    }
    free(regions);
    free(whole);
    return status;
}

/* What dispatch gets to know: only the sites that are there. */
static tw_status make_program(const tw_survey *survey, tw_offload_plan *plan, tw_error *error)
{
    const tw_rewrite *rewritten = plan->rewrite;
    tw_dispatch_region *regions = calloc(rewritten->site_count + 1u, sizeof *regions);
    TW_TRY_ALLOC(regions, error);
    for (uint32_t site = 0; site < rewritten->site_count; site++) {
        const tw_survey_region *from = &survey->regions[plan->region_of_site[site]];
        plan->entry_of_site[site] = TW_NONE;
        if (rewritten->sites[site].status != TW_OK) continue;
        regions[plan->entry_count] = (tw_dispatch_region){from->model, from->other, from->whole_function, from->nested};
        plan->entry_of_site[site] = plan->entry_count++;
    }
    tw_status status = plan->entry_count ? tw_program_new(regions, plan->entry_count, &plan->program, error) : TW_OK;
    free(regions);
    return status;
}

static tw_status fill(const tw_wasm *wasm, const tw_survey *survey, const tw_offload_choice *how, tw_offload_plan *plan,
                      tw_error *error)
{
    size_t count = survey->region_count + 1u;
    plan->site_of_region = calloc(count, sizeof *plan->site_of_region);
    plan->entry_of_site = calloc(count, sizeof *plan->entry_of_site);
    plan->region_of_site = calloc(count, sizeof *plan->region_of_site);
    plan->why_left = calloc(count, sizeof *plan->why_left);
    TW_TRY_ALLOC(plan->site_of_region && plan->entry_of_site && plan->region_of_site && plan->why_left, error);
    TW_TRY(choose(wasm, survey, how->most, plan, error));
    TW_TRY(rewrite(wasm, survey, how->capturable, plan, error));
    return make_program(survey, plan, error);
}

tw_status tw_offload_plan_new(const tw_wasm *wasm, const tw_survey *survey, const tw_offload_choice *choice,
                              tw_offload_plan **out, tw_error *error)
{
    *out = NULL;
    if (!survey->region_count) return TW_OK;
    tw_offload_plan *plan = calloc(1, sizeof *plan);
    TW_TRY_ALLOC(plan, error);
    tw_status status = fill(wasm, survey, choice, plan, error);
    if (status == TW_OK && plan->program) *out = plan;
    else tw_offload_plan_free(plan);
    return status;
}

void tw_offload_plan_free(tw_offload_plan *plan)
{
    if (!plan) return;
    tw_program_free(plan->program);
    tw_rewrite_free(plan->rewrite);
    free(plan->why_left);
    free(plan->site_of_region);
    free(plan->entry_of_site);
    free(plan->region_of_site);
    free(plan);
}

/* ---- an instance's share ---- */

#define NOT_ARRIVED (UINT64_MAX - 1) /* wishes to rest, but not for good: it is given its chance when a rest is over */

tw_status tw_stubs_new(const tw_offload_plan *plan, const tw_dispatch_options *options, tw_stopper *stopper,
                         tw_stubs **out, tw_error *error)
{
    tw_stubs *stubs = calloc(1, sizeof *stubs);
    TW_TRY_ALLOC(stubs, error);
    *stubs = (tw_stubs){.plan = plan, .stopper = stopper};
    stubs->sites = calloc(plan->rewrite->site_count + 1u, sizeof *stubs->sites);
    tw_status status = stubs->sites ? tw_dispatch_new(plan->program, options, &stubs->dispatch, error)
                                      : tw_fail_memory(error);
    if (status != TW_OK) {
        tw_stubs_free(stubs);
        return status;
    }
    for (uint32_t i = 0; i < plan->rewrite->site_count; i++)
        stubs->sites[i] = (tw_stub){.stubs = stubs, .entry = plan->entry_of_site[i], .site = &plan->rewrite->sites[i],
                                    .rest = NOT_ARRIVED};
    *out = stubs;
    return TW_OK;
}

void tw_stubs_free(tw_stubs *stubs)
{
    if (!stubs) return;
    if (stubs->dispatch) tw_dispatch_free(stubs->dispatch);
    free(stubs->sites);
    free(stubs);
}

/* ---- rests ---- */

static bool same_function(const tw_stub *a, const tw_stub *b)
{
    return a->site->func == b->site->func;
}

static tw_stub *first_of_function(tw_stub *site)
{
    while (site > site->stubs->sites && same_function(site - 1, site)) site--;
    return site;
}

static tw_stub *end_of_function(tw_stub *first)
{
    tw_stub *end = first->stubs->sites + first->stubs->plan->rewrite->site_count, *at = first;
    while (at < end && same_function(at, first)) at++;
    return at;
}

/* As long as all that have arrived wish. */
static uint64_t wished_rest(tw_stub *first)
{
    uint64_t least = UINT64_MAX;
    for (tw_stub *at = first, *end = end_of_function(first); at < end; at++)
        if (at->site->status == TW_OK && at->rest < least) least = at->rest;
    return least;
}

/* Eight times as many as last time, until they take as long as is wished. */
static uint32_t calls_for(const tw_stub *first, uint64_t rest, uint64_t now)
{
    enum { FEWEST = 64, MOST = 1 << 15, FACTOR = 8 }; /* later calls may be much longer */
    if (!first->calls) return FEWEST;
    double passed = (double)(now - first->since), factor = passed > 0 ? (double)rest / passed : FACTOR;
    double calls = first->calls * (factor < FACTOR ? factor : FACTOR);
    return calls < FEWEST ? FEWEST : calls > MOST ? MOST : (uint32_t)calls;
}

static void begin_rest(tw_stub *first, tw_store *store, int32_t calls)
{
    tw_stubs *stubs = first->stubs;
    for (tw_stub *at = first, *end = end_of_function(first); at < end; at++) {
        if (!at->has_stub) continue;
        tw_store_global_set_i32(store, &at->calls_left, calls); /* one for all of them */
        if (calls > 0) tw_dispatch_rests(stubs->dispatch, at->entry, (uint32_t)calls);
    }
}

static int32_t calls_left(const tw_stub *site, tw_store *store)
{
    tw_raw calls;
    tw_store_global_get(store, &site->calls_left, &calls);
    return calls.i32;
}

static void go_to_rest(tw_stub *first, tw_store *store, uint64_t wished)
{
    tw_stubs *stubs = first->stubs;
    if (wished == UINT64_MAX) {
        begin_rest(first, store, -1);
        return;
    }
    uint64_t now = tw_clock_now();
    first->calls = calls_for(first, wished, now), first->since = now;
    begin_rest(first, store, (int32_t)first->calls);
    if (!stubs->resting) stubs->resting = true, stubs->since = now;
}

/* This call's later arrivals may still change what its first ones led to. */
static void consider_rest(tw_stub *site, tw_store *store, uint64_t rest)
{
    tw_stub *first = first_of_function(site);
    site->rest = rest;
    uint64_t wished = wished_rest(first);
    if (!rest) first->calls = 0;
    if (!wished) tw_store_global_set_i32(store, &site->calls_left, 0);
    else if (wished == UINT64_MAX || !calls_left(site, store)) go_to_rest(first, store, wished);
}

/* The last call of it sees to the countdowns. */
static void end_rest(tw_stub *first, tw_store *store)
{
    int32_t left = 0;
    for (tw_stub *at = first, *end = end_of_function(first); at < end; at++) {
        if (!at->has_stub) continue;
        if (!left) left = calls_left(at, store);
        if (left <= 1) return;
        tw_store_global_set_i32(store, &at->calls_left, 1);
        tw_dispatch_rests(first->stubs->dispatch, at->entry, first->calls - (uint32_t)left + 1); /* one is to come */
    }
}

static void end_rests(tw_stubs *stubs, tw_store *store)
{
    tw_stub *first = stubs->sites, *end = first + stubs->plan->rewrite->site_count;
    for (; first < end && !first->site->whole_function; first = end_of_function(first))
        if (first->calls) end_rest(first, store);
}

void tw_stubs_broken_off(tw_store *store)
{
    tw_handle depth;
    if (tw_store_export(store, "tw:depth", TW_HANDLE_GLOBAL, &depth)) tw_store_global_set_i32(store, &depth, 0);
}

void tw_stubs_call(tw_stubs *stubs, tw_store *store)
{
    enum { LOOK_EVERY = 16, AWAKE_NS = 50000000 };
    if (!stubs->resting || ++stubs->calls % LOOK_EVERY) return;
    if (tw_clock_now() - stubs->since < AWAKE_NS) return;
    end_rests(stubs, store);
    stubs->resting = false;
}

/* ---- a typed stub ---- */

/* The kernel runs with the stop flag in view. False: the guest is being stopped. */
static bool arrive(tw_stub *site, const tw_slot *memory, tw_raw *values, tw_answer *answer)
{
    tw_stubs *stubs = site->stubs;
    tw_stop_enter_host(stubs->stopper);
    tw_dispatch_arrive(stubs->dispatch, site->entry, values, memory ? memory->base : NULL,
                       memory ? atomic_load_explicit(&memory->size, memory_order_relaxed) : 0, answer);
    return tw_stop_leave_host(stubs->stopper);
}

static tw_status stopped(tw_stub *site, const tw_answer *answer, tw_error *error)
{
    if (answer->outcome == TW_OUTCOME_STOPPED) tw_stop_tear(site->stubs->stopper);
    return tw_fail(error, TW_TERMINATED, "the instance was stopped while a kernel ran");
}

static tw_status on_stub(void *context, tw_store *store, tw_raw *values, size_t count, tw_error *error)
{
    (void)count;
    tw_stub *site = context;
    tw_answer answer;
    bool go_on = arrive(site, tw_store_slot(store, 0), values, &answer);
    if (!go_on || answer.outcome == TW_OUTCOME_STOPPED) return stopped(site, &answer, error);
    if (answer.outcome == TW_OUTCOME_TRAP) return TW_TRAP;
    values[0].i32 = (int32_t)answer.exit;
    if (site->site->whole_function) return TW_OK;
    values[site->site->result_count - 1].i64 = answer.countdown > INT64_MAX ? INT64_MAX : (int64_t)answer.countdown;
    if (answer.rest | site->rest) consider_rest(site, store, answer.rest);
    return TW_OK;
}

/* ---- report ---- */

/* While the function rests its calls run down, else the loop's entries do, the last of which asks again. */
static uint64_t to_come(const tw_stub *site, tw_store *store)
{
    tw_raw entries;
    if (!site->has_stub || site->site->whole_function) return 0;
    int32_t calls = calls_left(site, store);
    tw_store_global_get(store, &site->countdown, &entries);
    int64_t left = calls > 0 ? calls : entries.i64 - 1;
    return left > 0 ? (uint64_t)left : 0;
}

void tw_stubs_stats(const tw_stubs *stubs, tw_store *store, uint32_t site, tw_region_stats *out)
{
    const tw_stub *stub = &stubs->sites[site];
    *out = (tw_region_stats){0};
    if (stub->entry != TW_NONE) tw_dispatch_stats(stubs->dispatch, stub->entry, to_come(stub, store), out);
}

/* ---- slot 0: a region's first arrival ---- */

bool tw_own_export(tw_store *store, const char *what, uint32_t number, tw_handle_kind kind, tw_handle *out)
{
    char name[48];
    snprintf(name, sizeof name, "tw:%s:%u", what, number);
    return tw_store_export(store, name, kind, out);
}

static tw_status install(tw_stub *site, uint32_t number, tw_store *store, tw_error *error)
{
    tw_handle stub, installed;
    const tw_rewrite_site *rewritten = site->site;
    bool found = tw_own_export(store, "installed", number, TW_HANDLE_GLOBAL, &installed) &&
                 (rewritten->whole_function ||
                  (tw_own_export(store, "rest", rewritten->func, TW_HANDLE_GLOBAL, &site->calls_left) &&
                   tw_own_export(store, "countdown", number, TW_HANDLE_GLOBAL, &site->countdown)));
    if (!found) return tw_fail(error, TW_INTERNAL, "region %u lacks its globals", number);
    TW_TRY(tw_store_func_new(store, rewritten->params, rewritten->param_count, rewritten->results,
                             rewritten->result_count, on_stub, site, &stub, error));
    if (!tw_store_table_set(store, &site->stubs->table, rewritten->slot, &stub) ||
        !tw_store_global_set_i32(store, &installed, 1))
        return tw_fail(error, TW_INTERNAL, "region %u can't be given its stub", number);
    site->has_stub = true;
    return TW_OK;
}

static tw_status on_first_arrival(void *context, tw_store *store, tw_raw *values, size_t count, tw_error *error)
{
    (void)count;
    tw_stubs *stubs = context;
    uint32_t number = (uint32_t)values[0].i32;
    if (number >= stubs->plan->rewrite->site_count || stubs->sites[number].entry == TW_NONE)
        return tw_fail(error, TW_INTERNAL, "there is no region %u", number);
    return stubs->sites[number].has_stub ? TW_OK : install(&stubs->sites[number], number, store, error);
}

tw_status tw_stubs_attach(tw_stubs *stubs, tw_store *store, tw_error *error)
{
    static const uint8_t i32 = TW_I32;
    tw_handle generic;
    if (!tw_store_export(store, "tw:stubs", TW_HANDLE_TABLE, &stubs->table))
        return tw_fail(error, TW_INTERNAL, "the rewritten module lacks its stub table");
    TW_TRY(tw_store_func_new(store, &i32, 1, NULL, 0, on_first_arrival, stubs, &generic, error));
    if (!tw_store_table_set(store, &stubs->table, 0, &generic))
        return tw_fail(error, TW_INTERNAL, "the stub table has no first slot");
    return TW_OK;
}
