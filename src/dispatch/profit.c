/* SPDX-License-Identifier: Apache-2.0
 * Is it worth it, and on how many threads?
 *
 * Estimates come first: so many nanoseconds per unit of the plan's work. Measurements replace them, by size class:
 *
 *   kernel       the clock around a run
 *   original     a nest that counts down in its header asks again in the middle of itself: between an answer and that question
 *                nothing but the nest's original code has run, and the header values say how much of it
 *   original     a one-level loop asks once an entry, so what can be timed is the *turn* from an answer to the next arrival,
 *                loop and surroundings together, and the *gap* from a kernel's end to the next arrival, the same surroundings
 *                alone. turn - gap is the loop. Minima of both, since all that disturbs only adds; and only at one amount of
 *                work, or the least turn would be that of the smallest loop.
 *
 * Turns come for nothing while a kernel is being compiled; where it was in the cache already and nothing is known, two
 * arrivals are given back for the sake of measuring, if they are short. */
#include "dispatch/state.h"

#include <math.h>

enum { TURNS = 3, GAPS = 4, ORIGINALS = 4 }; /* samples without which a minimum isn't believed */

static const double
    ORIGINAL_NS = 0.3,        /* a unit of work in the engine's code, before anything was measured */
    SPEED_UP = 3,             /* of one thread, likewise */
    THREADS_FROM_NS = 40000,  /* below, waking others costs more than they bring */
    SEQUENTIAL_OFTEN_NS = 2e6,/* above, one thread isn't tried just to know */
    MEASURE_NS = 2e4,         /* of a nest's original code, to know its speed */
    QUESTION_NS = 200,        /* at most, of the way from an answer into the loop and back to the stub: a nest must win by that */
    WELL_MEASURED_NS = 1e4,   /* one sample is enough, though it was the first time and caches were cold … */
    SURPRISE = 20,            /* … unless it is so many times the estimate: then something else ran */
    MEASURE_UP_TO_NS = 1e6,   /* an arrival longer than that isn't given back just to know */
    HYSTERESIS = 0.95;

/* ---- rates ---- */

static void settle(tw_rate *rate, double sample)
{
    double old = rate->value * 1.02;
    if (!(sample > 0)) return;
    rate->value = rate->samples && old < sample ? old : sample;
    if (rate->samples < 60000) rate->samples++;
}

/* 0: not known. */
static double original_rate(const tw_rates *rates)
{
    if (rates->original.samples >= ORIGINALS) return rates->original.value;
    if (rates->turn.samples < TURNS || rates->gap.samples < GAPS) return 0;
    double loop = rates->turn.value - rates->gap.value;
    return loop > 0 ? loop / rates->turn_work : 0; /* less than nothing: disturbed, so not known */
}

double tw_original_time(const tw_region_state *state, const tw_shape *shape)
{
    double rate = original_rate(&state->rates[shape->size_class]);
    return shape->work * (rate > 0 ? rate : ORIGINAL_NS);
}

void tw_note_run(tw_region_state *state, tw_verdict *verdict, uint32_t threads, double nanoseconds)
{
    tw_rates *rates = &state->rates[verdict->shape.size_class];
    settle(threads > 1 ? &rates->many : &rates->one, nanoseconds / verdict->shape.work);
    if (threads > 1) rates->many_threads = threads;
    if (threads == verdict->threads) verdict->nanoseconds = nanoseconds;
    rates->changed = true;
}

void tw_note_original(tw_region_state *state, const tw_shape *shape, uint64_t iterations, double nanoseconds)
{
    tw_rates *rates = &state->rates[shape->size_class];
    double work = shape->work / (double)shape->iterations * (double)iterations;
    double loop = nanoseconds > QUESTION_NS + 1 ? nanoseconds - QUESTION_NS : 1;
    if (!shape->iterations || !(work > 0)) return;
    settle(&rates->original, loop / work);
    bool well = nanoseconds >= WELL_MEASURED_NS && nanoseconds < SURPRISE * ORIGINAL_NS * work;
    if (well && rates->original.samples < ORIGINALS) rates->original.samples = ORIGINALS;
    rates->changed = true;
}

static tw_rates *rates_at(tw_region_state *state, const tw_shape *shape)
{
    tw_rates *rates = &state->rates[shape->size_class];
    if (fabs(shape->work - rates->turn_work) <= rates->turn_work / 64) return rates;
    rates->turn = rates->gap = (tw_rate){0};
    rates->turn_work = shape->work;
    return rates;
}

void tw_note_turn(tw_region_state *state, const tw_shape *shape, double nanoseconds)
{
    settle(&rates_at(state, shape)->turn, nanoseconds);
}

void tw_note_gap(tw_region_state *state, const tw_shape *shape, double nanoseconds)
{
    settle(&rates_at(state, shape)->gap, nanoseconds);
}

void tw_rates_recall(tw_dispatch *dispatch, tw_region_state *state, uint32_t size_class)
{
    tw_rates *rates = &state->rates[size_class];
    tw_learned learned;
    if (rates->recalled) return;
    rates->recalled = true;
    if (!tw_kcache_recall(dispatch->options.cache, dispatch->options.tenant, state->id, size_class, &learned)) return;
    if (learned.original > 0) rates->original = (tw_rate){learned.original, ORIGINALS};
    if (learned.one > 0) rates->one = (tw_rate){learned.one, 1};
    if (learned.many > 0 && learned.threads == dispatch->options.threads) rates->many = (tw_rate){learned.many, 1};
    rates->many_threads = learned.threads;
}

void tw_rates_learn(tw_dispatch *dispatch, tw_region_state *state)
{
    for (uint32_t c = 0; state->rates && c < TW_SIZE_CLASSES; c++) {
        const tw_rates *rates = &state->rates[c];
        if (!rates->changed || !(rates->one.samples || rates->many.samples)) continue;
        uint32_t samples = rates->one.samples + rates->many.samples;
        tw_learned learned = {.original = (float)original_rate(rates), .one = (float)rates->one.value,
                              .many = (float)rates->many.value, .threads = (uint16_t)dispatch->options.threads,
                              .samples = (uint16_t)(samples > 60000 ? 60000 : samples)};
        tw_kcache_learn(dispatch->options.cache, dispatch->options.tenant, state->id, c, &learned);
    }
}

/* ---- choices ---- */

static bool splits(const tw_verdict *verdict)
{
    const tw_kernel_info *info = tw_kernel_info_of(verdict->kernel);
    return (info->outer_parallel && verdict->shape.iterations > 1) || info->shares_work;
}

/* More threads: where they were measured faster, or where they should be and that hasn't been measured. Every so often the
 * other choice runs, so that a measurement from a bad moment doesn't last for ever. */
static uint32_t choose_threads(const tw_dispatch *dispatch, const tw_rates *rates, const tw_verdict *verdict, double one)
{
    uint32_t all = dispatch->options.threads;
    if (all < 2 || !splits(verdict)) return 1;
    if (dispatch->options.mode == TW_DISPATCH_FORCE) return all;
    if (one < THREADS_FROM_NS) return 1;
    if (one > SEQUENTIAL_OFTEN_NS || !rates->many.samples) return all;
    if (!rates->one.samples) return 1;
    bool many_wins = rates->many.value < rates->one.value * HYSTERESIS;
    bool probe = (rates->one.samples + rates->many.samples) % 128 == 127;
    return many_wins != probe ? all : 1;
}

/* Where the original's time isn't known a turn bounds it. */
static bool slower(tw_rates *rates, double with_kernel, const tw_shape *shape)
{
    double original = original_rate(rates) * shape->work;
    if (!(original > 0) && rates->turn.samples >= TURNS) original = rates->turn.value / rates->turn_work * shape->work;
    uint32_t runs = rates->one.samples + rates->many.samples;
    if (!(original > 0) || runs < 3 || with_kernel <= original) {
        rates->lost = 0;
        return false;
    }
    return ++rates->lost % 64 != 0; /* once in a while, look again */
}

uint32_t tw_choose(tw_dispatch *dispatch, tw_region_state *state, tw_verdict *verdict, double overhead)
{
    const tw_shape *shape = &verdict->shape;
    tw_rates *rates = &state->rates[shape->size_class];
    double guess = tw_original_time(state, shape) / SPEED_UP;
    double one = rates->one.samples ? rates->one.value * shape->work : guess;
    verdict->threads = choose_threads(dispatch, rates, verdict, one);
    verdict->one_nanoseconds = one;
    verdict->nanoseconds = verdict->threads == 1 ? one
        : rates->many.samples ? rates->many.value * shape->work : one / verdict->threads;
    verdict->runs = 0;
    if (dispatch->options.mode == TW_DISPATCH_FORCE || state->region->whole_function) return verdict->threads;
    double many = rates->many.samples ? rates->many.value * shape->work : verdict->nanoseconds;
    double best = many < verdict->nanoseconds ? many : verdict->nanoseconds;
    return slower(rates, best + overhead, shape) ? 0 : verdict->threads;
}

/* One more whenever twice as many runs were timed: a measurement from a bad moment doesn't last for ever. */
static uint32_t enough_originals(const tw_rates *rates)
{
    uint32_t enough = ORIGINALS, runs = rates->one.samples + rates->many.samples;
    for (; runs > 16; runs /= 2) enough++;
    return enough;
}

bool tw_measure_original(tw_region_state *state, const tw_shape *shape, uint64_t *countdown)
{
    const tw_rates *rates = &state->rates[shape->size_class];
    double time = tw_original_time(state, shape), each = time / (double)shape->iterations;
    if (rates->original.samples >= enough_originals(rates) || state->region->whole_function) return false;
    if (state->region->nested) {
        double wanted = ceil(MEASURE_NS / each), quarter = (double)(shape->iterations / 4);
        if (each > MEASURE_UP_TO_NS || quarter < 1) return false;
        *countdown = (uint64_t)(wanted < quarter ? wanted : quarter);
        return true;
    }
    *countdown = 1;
    return time < MEASURE_UP_TO_NS && rates->turn.samples < TURNS && rates->gap.samples >= 2;
}

bool tw_wants_gap(const tw_region_state *state, const tw_shape *shape)
{
    return !state->region->nested && state->rates[shape->size_class].gap.samples < GAPS;
}

/* ---- when to ask again ---- */

/* Cost over time stays below 1/TW_CALM, less the longer nothing comes of it; doubling from 1 while the time between questions
 * isn't known well. */
uint64_t tw_space_out(const tw_region_state *state, const tw_shape *shape, double cost)
{
    double unit = state->interval;
    if (!(unit > 0)) {
        unit = tw_original_time(state, shape);
        if (state->region->nested && shape->iterations) unit /= (double)shape->iterations;
    }
    uint32_t losses = state->losses < 32 ? state->losses : 32;
    double wanted = cost * TW_CALM * (double)(1u << losses / 8) / (unit > 1 ? unit : 1);
    double growing = losses < 30 ? (double)(1u << losses) : 1e9;
    if (wanted > growing) wanted = growing;
    return wanted < 1 ? 1 : wanted > 1e9 ? 1000000000 : (uint64_t)wanted;
}
