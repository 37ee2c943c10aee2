/* SPDX-License-Identifier: Apache-2.0
 * The pipeline of one arrival, top to bottom as at the head of dispatch.h. consider() is the long way; an arrival whose
 * numbers were met before goes from tw_dispatch_arrive straight to run(). */
#include "dispatch/dispatch.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "dispatch/distances.h"
#include "dispatch/legality.h"
#include "dispatch/pending.h"
#include "dispatch/state.h"
#include "os/clock.h"

static const double
    FEW_NS = 400,         /* of original code: less isn't worth a question */
    WARM_NS = 2e5,        /* of original code seen, before a kernel is asked for */
    WAIT_NS = 2e8,        /* of original code to come that can't be interrupted: better wait for the compiler */
    POLL_COST_NS = 150,   /* of asking whether the compiler has finished */
    SHORT_WAY_NS = 100,   /* of an arrival whose numbers are remembered, the stub included */
    ALWAYS_TIME_NS = 5000;/* shorter runs are timed now and then only */
enum { RUNS_PER_CHOICE = 32, TIMED_EVERY = 16, STRANGERS = 16, NEVER = 1 << 30 };

typedef struct arrival {
    tw_dispatch *dispatch;
    tw_region_state *state;
    tw_raw *values;
    tw_plan_memory memory;
    uint8_t *base;
    uint64_t now; /* clock at arrival; 0 on the short way */
    tw_shape shape;
    bool known;   /* shape is */
    tw_answer *answer;
} arrival;

static bool forced(const arrival *a)
{
    return a->dispatch->options.mode == TW_DISPATCH_FORCE;
}

/* ---- answers without a run ---- */

/* Results are headers; arguments are symbols: they lie differently in the same array. */
static void return_headers(const tw_region_state *state, tw_raw *values, const uint64_t *header_values)
{
    for (uint32_t h = 0; h < state->model->header_count; h++) values[1 + h] = (tw_raw){.bits = header_values[h]};
}

static void return_inputs(const arrival *a)
{
    const tw_model *model = a->state->model;
    uint64_t headers[TW_MODEL_MAX_SYMBOLS];
    for (uint32_t h = 0; h < model->header_count; h++) headers[h] = a->values[model->headers[h].symbol].bits;
    return_headers(a->state, a->values, headers);
}

/* FORCE asks every time, unless asking is dear (a plan that walks many outer iterations only to refuse), which is spaced out
 * as in AUTO, or has come to nothing many times in a row: then up to MOST_FORCED_SPACE. So what never dispatches still ends. */
static uint64_t forced_countdown(const tw_region_state *state, uint64_t countdown)
{
    enum { DEAR_NS = 50000, FEW_LOSSES = 16, MOST_FORCED_SPACE = 64 };
    if (state->cost >= DEAR_NS) return countdown;
    if (state->losses < FEW_LOSSES) return 1;
    return countdown < MOST_FORCED_SPACE ? countdown : MOST_FORCED_SPACE;
}

/* Nothing has come of many questions in a row: neither the stub nor the outlined form is worth its while. Asking again takes
 * its share of the time, less the longer nothing comes of it; but numbers may change sooner or later. */
static uint64_t rest(const arrival *a)
{
    enum { LOSING = 8, MOST_LOSING = 32, REST_NS = 1000000 };
    const tw_region_state *state = a->state;
    if (state->off) return UINT64_MAX;
    if (forced(a) || state->losses < LOSING) return 0;
    uint32_t losses = state->losses < MOST_LOSING ? state->losses : MOST_LOSING;
    double wanted = state->cost * TW_CALM < REST_NS ? REST_NS : state->cost * TW_CALM;
    return wanted > 1e8 ? 100000000 : (uint64_t)wanted << (losses / 8 - 1);
}

static void give_back(arrival *a, uint64_t countdown, bool measures)
{
    tw_region_state *state = a->state;
    uint64_t now = tw_clock_now();
    if (forced(a) && !state->off) countdown = forced_countdown(state, countdown);
    if (state->plan) tw_pending_begin(state, &a->shape, a->known, countdown, now, measures);
    return_inputs(a);
    *a->answer = (tw_answer){.outcome = state->region->whole_function ? TW_OUTCOME_TRAP : TW_OUTCOME_GO_ON,
                             .countdown = countdown};
}

static void count_refusal(tw_region_state *state, tw_refusal refusal, const char *detail)
{
    state->stats.refusals[refusal]++;
    snprintf(state->stats.last_detail, sizeof state->stats.last_detail, "%s", detail);
}

static double note_cost(arrival *a)
{
    tw_region_state *state = a->state;
    double cost = (double)(tw_clock_now() - a->now);
    return state->cost = state->cost > 0 ? state->cost * 0.75 + cost * 0.25 : cost;
}

/* Not with these numbers. */
static void refuse(arrival *a, tw_refusal refusal, const char *detail)
{
    tw_region_state *state = a->state;
    count_refusal(state, refusal, detail);
    uint64_t countdown = tw_space_out(state, &a->shape, note_cost(a));
    state->losses++;
    give_back(a, countdown, false);
    a->answer->rest = rest(a);
}

/* Never again. */
static void switch_off(arrival *a, tw_refusal refusal, const char *detail)
{
    a->state->off = true;
    count_refusal(a->state, refusal, detail);
    give_back(a, NEVER, false);
    a->answer->rest = rest(a);
}

static void not_yet(arrival *a)
{
    tw_region_state *state = a->state;
    count_refusal(state, TW_REFUSAL_NOT_YET, "the kernel is being compiled");
    uint32_t losses = state->losses;
    state->losses = 7; /* the question is cheap: neither slow to space out nor to come back */
    uint64_t countdown = tw_space_out(state, &a->shape, POLL_COST_NS);
    state->losses = losses;
    give_back(a, countdown, true);
}

/* ---- the plan's numbers ---- */

/* What depends on the model's form. */
static tw_status prepare_form(tw_region_state *state)
{
    const tw_model *model = state->model;
    tw_arena *arena = &state->arena;
    if (!tw_layout_make(model, arena, &state->layout)) return TW_NO_MEMORY;
    for (uint32_t i = 0; i < TW_VERDICTS; i++) {
        tw_verdict *verdict = &state->verdicts[i];
        verdict->valid = false;
        verdict->symbols = TW_NEW_ARRAY(arena, uint64_t, model->symbol_count);
        verdict->args = TW_NEW_ARRAY(arena, uint64_t, state->layout.count);
        verdict->after = TW_NEW_ARRAY(arena, uint64_t, (size_t)model->header_count + model->output_count);
        if (!verdict->symbols || !verdict->args || !verdict->after) return TW_NO_MEMORY;
    }
    return TW_OK;
}

static tw_status prepare(tw_region_state *state)
{
    const tw_model *model = state->model;
    tw_arena *arena = &state->arena;
    tw_arena_init(arena, 64 << 20);
    TW_TRY(tw_plan_new(model, &state->plan, NULL));
    TW_TRY(prepare_form(state));
    state->masks = TW_NEW_ARRAY(arena, uint64_t, model->symbol_count);
    state->pending.symbols = TW_NEW_ARRAY(arena, uint64_t, model->symbol_count);
    state->pending.steps = TW_NEW_ARRAY(arena, uint64_t, model->symbol_count);
    state->seen = TW_NEW_ARRAY(arena, uint64_t, model->symbol_count);
    state->rates = TW_NEW_ARRAY(arena, tw_rates, TW_SIZE_CLASSES);
    state->variants = calloc(TW_VARIANTS, sizeof *state->variants);
    if (!state->masks || !state->pending.symbols || !state->pending.steps || !state->seen || !state->rates || !state->variants)
        return TW_NO_MEMORY;
    for (uint32_t s = 0; s < model->symbol_count; s++) {
        uint8_t type = model->symbols[s].type;
        state->masks[s] = type == TW_I64 || type == TW_F64 ? UINT64_MAX : UINT32_MAX;
    }
    state->prepared = true;
    return TW_OK;
}

static bool evaluate(arrival *a)
{
    tw_region_state *state = a->state;
    tw_numbers *numbers = tw_plan_numbers(state->plan);
    for (uint32_t s = 0; s < state->model->symbol_count; s++) numbers->symbols[s] = a->values[s].bits & state->masks[s];
    bool good = tw_plan_evaluate(state->plan, a->memory);
    a->shape = tw_shape_of(state->model, numbers, &a->known);
    return good;
}

/* ---- verdicts ---- */

static bool matches(const tw_region_state *state, const tw_verdict *verdict, const tw_raw *values, uint64_t memory_size)
{
    if (!verdict->valid || verdict->memory_size != memory_size) return false;
    for (uint32_t s = 0; s < state->model->symbol_count; s++)
        if ((values[s].bits ^ verdict->symbols[s]) & state->masks[s]) return false;
    return true;
}

static tw_verdict *recall(tw_region_state *state, const tw_raw *values, uint64_t memory_size)
{
    for (uint32_t i = 0; i < TW_VERDICTS; i++) {
        uint32_t at = (state->last_verdict + i) % TW_VERDICTS;
        if (!matches(state, &state->verdicts[at], values, memory_size)) continue;
        state->last_verdict = at;
        return &state->verdicts[at];
    }
    return NULL;
}

static void fill_after(const tw_region_state *state, uint64_t *after)
{
    const tw_model *model = state->model;
    const tw_numbers *numbers = tw_plan_numbers(state->plan);
    for (uint32_t h = 0; h < model->header_count; h++) after[h] = tw_plan_header_after(state->plan, h, numbers->iterations);
    for (uint32_t o = 0; numbers->leaves && o < model->live_out_count; o++)
        if (model->live_outs[o].kind == TW_LIVE_OUT_AFFINE) after[model->live_outs[o].header] = tw_plan_live_out(state->plan, o);
}

/* Good for as long as memory isn't consulted: numbers that came from there are looked at anew each time. */
static tw_verdict *remember(arrival *a, tw_kernel *kernel)
{
    tw_region_state *state = a->state;
    const tw_numbers *numbers = tw_plan_numbers(state->plan);
    state->last_verdict = (state->last_verdict + 1) % TW_VERDICTS;
    tw_verdict *verdict = &state->verdicts[state->last_verdict];
    memcpy(verdict->symbols, numbers->symbols, state->model->symbol_count * sizeof *verdict->symbols);
    tw_args_fill(state->model, numbers, &state->layout, verdict->args);
    fill_after(state, verdict->after);
    verdict->valid = !numbers->read_memory;
    verdict->memory_size = a->memory.size, verdict->kernel = kernel, verdict->shape = a->shape, verdict->leaves = numbers->leaves;
    return verdict;
}

/* ---- run ---- */

static void launch(const arrival *a, tw_verdict *verdict, tw_launched *out)
{
    struct tw_device *device = a->dispatch->options.device;
    const tw_model *model = a->state->model;
    bool split = forced(a) && verdict->one_nanoseconds < 1e6; /* finely, whatever that costs: 0 = no estimate */
    tw_launch it = {
        .entry = tw_kernel_entry_of(verdict->kernel), .info = tw_kernel_info_of(verdict->kernel), .memory = a->base,
        .memory_size = a->memory.size, .args = verdict->args, .outputs = model->output_count ? verdict->after + model->header_count : NULL,
        .stop = a->dispatch->options.stop, .iterations = (int64_t)verdict->shape.iterations, .threads = verdict->threads,
        .nanoseconds = split ? 0 : verdict->one_nanoseconds,
    };
    if (device) device->table->launch(device, &it, out);
    else tw_launch_here(&it, out);
}

static void count_run(tw_region_state *state, const tw_verdict *verdict, const tw_launched *launched)
{
    double each = verdict->shape.each;
    state->stats.dispatches++;
    state->stats.threads = launched->threads;
    state->stats.kernel_seconds += verdict->nanoseconds * 1e-9;
    state->stats.kernel_iterations += (uint64_t)(each * (double)verdict->shape.iterations);
    if (!verdict->leaves) state->stats.original_iterations += (uint64_t)each; /* the guest does the last one */
    state->losses = 0;
}

static void return_results(const arrival *a, const tw_verdict *verdict)
{
    const tw_model *model = a->state->model;
    return_headers(a->state, a->values, verdict->after);
    for (uint32_t o = 0; o < model->output_count; o++) a->values[1 + o] = (tw_raw){.bits = verdict->after[model->header_count + o]};
    *a->answer = (tw_answer){.outcome = verdict->leaves ? TW_OUTCOME_LEFT : TW_OUTCOME_GO_ON,
                             .exit = verdict->leaves ? model->exit : 0, .countdown = 1};
}

/* The kernel's own check disagrees with the plan, or a team fell apart: a bug. What has run stands; if that isn't known the
 * memory is torn. */
static void give_up(arrival *a, const tw_verdict *verdict, const tw_launched *launched)
{
    tw_region_state *state = a->state;
    char detail[200];
    snprintf(detail, sizeof detail, "%s after %lld of %llu iterations (%s)",
             launched->result == TW_KERNEL_OUT_OF_RANGE ? "a kernel's range check failed" : "a kernel stopped by itself",
             (long long)launched->done, (unsigned long long)verdict->shape.iterations, tw_kernel_info_of(verdict->kernel)->schedule);
    for (uint32_t i = 0; i < TW_VERDICTS; i++) state->verdicts[i].valid = false;
    a->shape = verdict->shape;
    a->known = evaluate(a) && !launched->torn;
    switch_off(a, TW_REFUSAL_INTERNAL, detail);
    if (launched->torn) a->answer->outcome = TW_OUTCOME_STOPPED;
    if (launched->torn || launched->done <= 0 || state->region->whole_function) return;
    uint64_t done = (uint64_t)launched->done, headers[TW_MODEL_MAX_SYMBOLS];
    for (uint32_t h = 0; h < state->model->header_count; h++) headers[h] = tw_plan_header_after(state->plan, h, done);
    return_headers(state, a->values, headers);
    state->stats.kernel_iterations += (uint64_t)(verdict->shape.each * (double)done);
}

static void run(arrival *a, tw_verdict *verdict)
{
    tw_region_state *state = a->state;
    bool timed = a->now || verdict->nanoseconds > ALWAYS_TIME_NS || verdict->runs % TIMED_EVERY == TIMED_EVERY - 1;
    uint64_t start = timed ? tw_clock_now() : 0;
    tw_launched launched;
    launch(a, verdict, &launched);
    verdict->runs++;
    if (launched.result != TW_KERNEL_DONE) {
        if (atomic_load(a->dispatch->options.stop)) *a->answer = (tw_answer){.outcome = TW_OUTCOME_STOPPED, .countdown = 1};
        else give_up(a, verdict, &launched);
        return;
    }
    state->left_at = timed ? tw_clock_now() : 0;
    if (timed) state->left_shape = verdict->shape;
    if (timed) tw_note_run(state, verdict, launched.threads, (double)(state->left_at - start));
    count_run(state, verdict, &launched);
    return_results(a, verdict);
}

/* ---- the long way ---- */

static void note_gap(tw_region_state *state, uint64_t now)
{
    if (state->left_at && !state->region->nested && now > state->left_at)
        tw_note_gap(state, &state->left_shape, (double)(now - state->left_at));
    state->left_at = 0;
}

/* Can't be interrupted soon, and takes so long that waiting for the compiler is the shorter way. */
static bool worth_waiting(const arrival *a)
{
    double time = tw_original_time(a->state, &a->shape);
    if (forced(a) || a->state->region->whole_function) return true;
    if (a->state->region->nested) time /= (double)a->shape.iterations;
    return time > WAIT_NS;
}

/* NULL: answered. */
static tw_kernel *obtain(arrival *a, const tw_facts *facts)
{
    tw_region_state *state = a->state;
    char detail[200] = "";
    bool failed, wait = worth_waiting(a), ask = wait || state->heat >= WARM_NS;
    tw_variant *variant = tw_variant_for(a->dispatch, state, facts, ask, &failed, detail);
    if (failed) {
        refuse(a, TW_REFUSAL_COMPILE, detail);
        return NULL;
    }
    if (!variant) {
        refuse(a, TW_REFUSAL_FEW, "not enough of it has run yet to pay for a compilation");
        a->answer->rest = 0; /* how much has run wouldn't be known */
        return NULL;
    }
    if (wait) tw_kernel_wait(variant->kernel, a->dispatch->options.stop, UINT64_MAX);
    tw_kernel_state now = tw_kernel_state_of(variant->kernel);
    state->awaited = now == TW_KERNEL_COMPILING ? variant : NULL;
    if (now == TW_KERNEL_READY) return variant->kernel;
    if (now == TW_KERNEL_COMPILING) {
        not_yet(a);
        return NULL;
    }
    tw_kernel_failure(variant->kernel, detail, sizeof detail);
    refuse(a, TW_REFUSAL_COMPILE, detail);
    return NULL;
}

/* Numbers that are new each time must pay for the long way each time. */
static bool too_little(const arrival *a, double time)
{
    const tw_region_state *state = a->state;
    if (forced(a) || state->region->whole_function) return false;
    return time < FEW_NS || (state->strangers > STRANGERS && time < state->cost);
}

/* No loop is parallel: are there wavefronts, and would they be worth it? */
static bool find_fronts(const arrival *a, const tw_model *model, const tw_numbers *numbers, tw_facts *facts)
{
    uint32_t inner;
    if (!tw_pair_find(model, numbers, &inner)) return false;
    if (!forced(a) && !tw_fronts_pay(model, numbers, inner, a->dispatch->options.threads)) return false;
    return tw_distances_find(model, numbers, inner, facts);
}

/* From now on the region is its other model. Kernels of the first one are of no use any more. */
static bool take_other(tw_region_state *state)
{
    tw_variants_free(state);
    tw_plan_free(state->plan);
    state->plan = state->other_plan, state->other_plan = NULL;
    state->model = state->region->other;
    state->awaited = NULL;
    state->variants = calloc(TW_VARIANTS, sizeof *state->variants);
    return state->variants && prepare_form(state) == TW_OK;
}

/* The other model for the same arrival: it says what the first one couldn't. */
static bool try_other(arrival *a, tw_facts *facts)
{
    tw_region_state *state = a->state;
    const tw_model *other = state->region->other;
    tw_legality legality;
    if (!other || state->model == other) return false;
    if (!state->other_plan && tw_plan_new(other, &state->other_plan, NULL) != TW_OK) return false;
    tw_numbers *numbers = tw_plan_numbers(state->other_plan);
    for (uint32_t s = 0; s < other->symbol_count; s++) numbers->symbols[s] = a->values[s].bits & state->masks[s];
    if (!tw_plan_evaluate(state->other_plan, a->memory) || !numbers->iterations) return false;
    tw_legality_find(other, numbers, facts, &legality);
    if (legality.refusal != TW_REFUSAL_NONE && !(legality.is_serial && find_fronts(a, other, numbers, facts))) return false;
    if (!take_other(state)) return false;
    a->shape = tw_shape_of(other, numbers, &a->known);
    return true;
}

static bool has_another_way(arrival *a, tw_facts *facts)
{
    const tw_region_state *state = a->state;
    return find_fronts(a, state->model, tw_plan_numbers(state->plan), facts) || try_other(a, facts);
}

/* The plan, the size, the dependences. False: answered. */
static bool establish(arrival *a, tw_facts *facts)
{
    tw_region_state *state = a->state;
    const tw_numbers *numbers = tw_plan_numbers(state->plan);
    tw_legality legality;
    if (!evaluate(a)) {
        refuse(a, (tw_refusal)numbers->refusal, numbers->detail);
        return false;
    }
    tw_rates_recall(a->dispatch, state, a->shape.size_class);
    double time = tw_original_time(state, &a->shape);
    if (!state->heat) state->heat = time;
    if (!numbers->iterations || too_little(a, time)) {
        refuse(a, TW_REFUSAL_FEW, "too little work");
        return false;
    }
    tw_legality_find(state->model, numbers, facts, &legality);
    if (legality.refusal != TW_REFUSAL_NONE && !(legality.is_serial && has_another_way(a, facts))) {
        refuse(a, legality.refusal, legality.detail);
        return false;
    }
    facts->canonical_nan = a->dispatch->options.canonical_nan;
    return true;
}

/* All is there: run, or let the original run after all. */
static void decide(arrival *a, tw_verdict *verdict)
{
    tw_region_state *state = a->state;
    uint64_t countdown;
    double overhead = note_cost(a);
    if (!tw_choose(a->dispatch, state, verdict, state->strangers > STRANGERS ? overhead : SHORT_WAY_NS)) {
        verdict->valid = false;
        refuse(a, TW_REFUSAL_SLOWER, "measured slower than the original code");
    } else if (!forced(a) && tw_measure_original(state, &a->shape, &countdown)) {
        verdict->valid = false;
        give_back(a, countdown, true);
    } else {
        tw_pending_end(state);
        run(a, verdict);
    }
}

static void consider(arrival *a)
{
    tw_facts facts;
    if (!establish(a, &facts)) return;
    tw_kernel *kernel = obtain(a, &facts);
    if (!kernel) return;
    memcpy(a->state->stats.schedule, tw_kernel_info_of(kernel)->schedule, sizeof a->state->stats.schedule);
    decide(a, remember(a, kernel));
}

/* Still compiling when last looked at: then that is all there is to look at. An arrival that isn't the same loop's
 * continuation is taken to be like the last one, unless it may be so long that it deserves a closer look. */
static bool still_waiting(arrival *a, bool continues)
{
    tw_region_state *state = a->state;
    if (!state->awaited || forced(a) || state->region->whole_function) return false;
    if (tw_kernel_state_of(state->awaited->kernel) != TW_KERNEL_COMPILING) {
        state->awaited = NULL;
        return false;
    }
    bool brief = !state->region->nested && state->interval > 0 && state->interval < 100 * state->cost;
    if (!continues && !brief) return false;
    count_refusal(state, TW_REFUSAL_NOT_YET, "the kernel is being compiled");
    return_inputs(a);
    tw_pending_again(state, a->now, continues);
    *a->answer = (tw_answer){.outcome = TW_OUTCOME_GO_ON, .countdown = state->pending.countdown};
    return true;
}

static void note_stranger(tw_region_state *state, const tw_raw *values)
{
    bool other = false;
    for (uint32_t s = 0; s < state->model->symbol_count; s++) {
        uint64_t value = values[s].bits & state->masks[s];
        other |= value != state->seen[s];
        state->seen[s] = value;
    }
    state->strangers = other ? state->strangers + 1 : 0;
}

static void look_closely(arrival *a)
{
    tw_region_state *state = a->state;
    if (!state->prepared && prepare(state) != TW_OK) {
        switch_off(a, TW_REFUSAL_TOO_BIG, "out of memory");
        return;
    }
    a->now = tw_clock_now();
    note_gap(state, a->now);
    bool continues = tw_pending_resolve(state, a->values, a->now);
    if (!continues) note_stranger(state, a->values);
    if (!still_waiting(a, continues)) consider(a);
}

/* Numbers met before. Every so many runs the choice is made anew; if that is more than a choice of threads, the long way. */
static bool run_again(arrival *a, tw_verdict *verdict)
{
    tw_region_state *state = a->state;
    uint64_t countdown;
    bool choose = verdict->runs >= RUNS_PER_CHOICE;
    state->strangers = 0;
    if (state->left_at && (choose || tw_wants_gap(state, &verdict->shape))) note_gap(state, tw_clock_now());
    if (choose) {
        if (!tw_choose(a->dispatch, state, verdict, SHORT_WAY_NS)) return false;
        if (!forced(a) && tw_measure_original(state, &verdict->shape, &countdown)) return false;
    }
    run(a, verdict);
    return true;
}

/* ---- dispatchers for conformance ---- */

/* echo: the first bytes of the arguments are the result. Loops just go on. */
static void conform(arrival *a)
{
    const tw_model *model = a->state->model;
    bool whole = a->state->region->whole_function, trap = a->dispatch->options.kind == TW_DISPATCH_TRAP;
    if (!whole) return_inputs(a);
    for (uint32_t o = model->output_count; whole && o-- > 0;) {
        a->values[1 + o] = o < model->symbol_count ? a->values[o] : (tw_raw){0};
    }
    *a->answer = (tw_answer){.outcome = trap ? TW_OUTCOME_TRAP : whole ? TW_OUTCOME_LEFT : TW_OUTCOME_GO_ON,
                             .exit = whole ? model->exit : 0, .countdown = whole ? 1 : NEVER};
}

/* ---- arrival ---- */

void tw_dispatch_arrive(tw_dispatch *dispatch, uint32_t region, tw_raw *values, uint8_t *memory, uint64_t memory_size,
                        tw_answer *answer)
{
    tw_region_state *state = &dispatch->states[region];
    arrival a = {.dispatch = dispatch, .state = state, .values = values, .memory = {memory, memory_size}, .base = memory, .answer = answer};
    state->stats.arrivals++;
    if (dispatch->options.kind != TW_DISPATCH_REAL) {
        conform(&a);
        return;
    }
    if (state->off) {
        give_back(&a, NEVER, false);
        answer->rest = rest(&a);
        return;
    }
    tw_verdict *verdict = state->prepared && !state->pending.active ? recall(state, values, memory_size) : NULL;
    if (!verdict || !run_again(&a, verdict)) look_closely(&a);
}

void tw_dispatch_rests(tw_dispatch *dispatch, uint32_t region, uint32_t calls)
{
    if (dispatch->states[region].prepared) tw_pending_rests(&dispatch->states[region], calls);
}

/* ---- life ---- */

static tw_status identify(const tw_model *model, tw_region_id *out, tw_error *error)
{
    tw_bytes text = {0};
    tw_model_print(model, &text);
    if (!text.failed) tw_region_identify(text.data, text.size, out);
    tw_status status = text.failed ? tw_fail_memory(error) : TW_OK;
    tw_bytes_free(&text);
    return status;
}

tw_status tw_program_new(const tw_dispatch_region *regions, uint32_t count, tw_program **out, tw_error *error)
{
    tw_program *program = calloc(1, sizeof *program);
    TW_TRY_ALLOC(program, error);
    program->regions = calloc((size_t)count + 1, sizeof *program->regions);
    program->ids = calloc((size_t)count + 1, sizeof *program->ids);
    program->count = count;
    tw_status status = program->regions && program->ids ? TW_OK : tw_fail_memory(error);
    for (uint32_t i = 0; status == TW_OK && i < count; i++) {
        program->regions[i] = regions[i];
        status = identify(regions[i].model, &program->ids[i], error);
    }
    if (status == TW_OK) *out = program;
    else tw_program_free(program);
    return status;
}

void tw_program_free(tw_program *program)
{
    if (!program) return;
    free(program->regions);
    free(program->ids);
    free(program);
}

tw_status tw_dispatch_new(const tw_program *program, const tw_dispatch_options *options, tw_dispatch **out, tw_error *error)
{
    tw_dispatch *dispatch = calloc(1, sizeof *dispatch);
    TW_TRY_ALLOC(dispatch, error);
    dispatch->program = program, dispatch->options = *options;
    dispatch->states = calloc((size_t)program->count + 1, sizeof *dispatch->states);
    if (!dispatch->states) {
        free(dispatch);
        return tw_fail_memory(error);
    }
    tw_kcache_ref(options->cache);
    for (uint32_t i = 0; i < program->count; i++) {
        dispatch->states[i].region = &program->regions[i], dispatch->states[i].id = &program->ids[i];
        dispatch->states[i].model = program->regions[i].model;
        tw_kcache_accept(options->cache, options->tenant, &program->ids[i]);
    }
    *out = dispatch;
    return TW_OK;
}

void tw_dispatch_free(tw_dispatch *dispatch)
{
    if (!dispatch) return;
    for (uint32_t i = 0; i < dispatch->program->count; i++) {
        tw_region_state *state = &dispatch->states[i];
        tw_rates_learn(dispatch, state);
        tw_variants_free(state);
        tw_plan_free(state->plan);
        tw_plan_free(state->other_plan);
        tw_arena_free(&state->arena);
    }
    tw_kcache_unref(dispatch->options.cache);
    free(dispatch->states);
    free(dispatch);
}

void tw_dispatch_stats(const tw_dispatch *dispatch, uint32_t region, uint64_t to_come, tw_region_stats *out)
{
    *out = dispatch->states[region].stats;
    double seconds;
    out->original_iterations += (uint64_t)tw_pending_count(&dispatch->states[region], to_come, &seconds);
    out->original_seconds += seconds;
}
