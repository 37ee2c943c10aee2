/* SPDX-License-Identifier: Apache-2.0 */
#include "dispatch/pending.h"

static uint64_t mask_of(const tw_region_state *state, uint32_t symbol)
{
    return state->masks[symbol];
}

static int64_t widen(uint64_t value, uint64_t mask)
{
    return mask == UINT32_MAX ? (int32_t)(uint32_t)value : (int64_t)value;
}

void tw_pending_begin(tw_region_state *state, const tw_shape *shape, bool known, uint64_t countdown, uint64_t now, bool measures)
{
    const tw_model *model = state->model;
    const tw_numbers *numbers = tw_plan_numbers(state->plan);
    tw_pending *pending = &state->pending;
    *pending = (tw_pending){.active = known, .measures = measures, .symbols = pending->symbols, .steps = pending->steps,
                            .shape = *shape, .countdown = countdown, .since = now,
                            .entries = state->region->nested ? 1 : countdown};
    if (!known) return;
    for (uint32_t s = 0; s < model->symbol_count; s++) pending->symbols[s] = numbers->symbols[s], pending->steps[s] = 0;
    for (uint32_t h = 0; h < model->header_count; h++) {
        uint32_t s = model->headers[h].symbol;
        if (model->headers[h].kind != TW_HEADER_AFFINE) continue;
        pending->steps[s] = (tw_plan_header_after(state->plan, h, 1) - pending->symbols[s]) & mask_of(state, s);
    }
}

/* k > 0 when symbol s is k steps on. */
static int64_t steps_on(const tw_region_state *state, uint32_t s, uint64_t value)
{
    uint64_t mask = mask_of(state, s);
    int64_t step = widen(state->pending.steps[s], mask), way = widen((value - state->pending.symbols[s]) & mask, mask);
    if (!step || step == -1) return step ? -way : 0;
    return way % step ? 0 : way / step;
}

static bool is_header(const tw_model *model, uint32_t s)
{
    return model->symbols[s].kind == TW_SYMBOL_HEADER;
}

/* How many iterations further the same loop is; 0 when it is another. Headers without a step are left aside. */
static uint64_t progress(const tw_region_state *state, const tw_raw *values)
{
    const tw_model *model = state->model;
    const tw_pending *pending = &state->pending;
    int64_t k = 0;
    for (uint32_t s = 0; s < model->symbol_count; s++)
        if (is_header(model, s) && pending->steps[s] && (k = steps_on(state, s, values[s].bits))) break;
    if (k <= 0 || (uint64_t)k > pending->shape.iterations) return 0;
    for (uint32_t s = 0; s < model->symbol_count; s++) {
        if (is_header(model, s) && !pending->steps[s]) continue;
        uint64_t expected = pending->symbols[s] + (uint64_t)k * pending->steps[s];
        if ((values[s].bits ^ expected) & mask_of(state, s)) return 0;
    }
    return (uint64_t)k;
}

static void advance(tw_region_state *state, uint64_t k)
{
    tw_pending *pending = &state->pending;
    for (uint32_t s = 0; s < state->model->symbol_count; s++)
        pending->symbols[s] = (pending->symbols[s] + k * pending->steps[s]) & mask_of(state, s);
    if (pending->shape.iterations)
        pending->shape.work *= (double)(pending->shape.iterations - k) / (double)pending->shape.iterations;
    pending->shape.iterations -= k;
}

/* All entries that weren't asked about are taken to have been like this one. */
static double skipped(const tw_pending *pending)
{
    return pending->shape.each * (double)pending->shape.iterations * (double)pending->entries;
}

/* Nanoseconds that all of `skipped` took, about. */
static double skipped_time(const tw_region_state *state, const tw_pending *pending)
{
    return pending->shape.iterations ? tw_original_time(state, &pending->shape) * (double)pending->entries : 0;
}

/* k outer iterations of the loop have run, which went on: measured when the clock was read before and after them. */
static double part_time(const tw_region_state *state, uint64_t k, uint64_t start, uint64_t now)
{
    const tw_pending *pending = &state->pending;
    if (start && now > start && k == pending->countdown) return (double)(now - start);
    return tw_original_time(state, &pending->shape) * (double)k / (double)pending->shape.iterations;
}

/* The time since the answer is that of the region's original code, or an upper bound of it: no more than twenty times the
 * estimate is believed. */
static void note_heat(tw_region_state *state, double passed)
{
    const tw_pending *pending = &state->pending;
    double entries = (double)pending->countdown;
    if (state->region->nested) entries = pending->shape.iterations ? entries / (double)pending->shape.iterations : 1;
    double most = 20 * tw_original_time(state, &pending->shape) * (entries < 1 ? 1 : entries);
    state->heat += passed < most ? passed : most;
}

static void note_time(tw_region_state *state, uint64_t now, uint64_t start)
{
    tw_pending *pending = &state->pending;
    double passed = (double)(now - start), unit = passed / (double)pending->countdown;
    if (now <= start) return;
    note_heat(state, passed);
    state->interval = state->interval > 0 ? state->interval * 0.75 + unit * 0.25 : unit;
    if (pending->measures && !state->region->nested) tw_note_turn(state, &pending->shape, unit);
}

bool tw_pending_resolve(tw_region_state *state, const tw_raw *values, uint64_t now)
{
    tw_pending *pending = &state->pending;
    uint64_t start = pending->since;
    pending->since = 0;
    if (start) note_time(state, now, start);
    if (!pending->active) return false;
    uint64_t k = state->region->nested ? progress(state, values) : 0;
    state->stats.original_iterations += (uint64_t)(k ? (double)k * pending->shape.each : skipped(pending));
    state->stats.original_seconds += 1e-9 * (k ? part_time(state, k, start, now) : skipped_time(state, pending));
    if (!k) {
        pending->active = false;
        return false;
    }
    if (start && now > start && k == pending->countdown) tw_note_original(state, &pending->shape, k, (double)(now - start));
    advance(state, k);
    return true;
}

void tw_pending_again(tw_region_state *state, uint64_t now, bool continues)
{
    tw_pending *pending = &state->pending;
    pending->since = now;
    pending->active = pending->shape.iterations > 0;
    pending->measures &= continues;
}

void tw_pending_rests(tw_region_state *state, uint32_t calls)
{
    tw_pending *pending = &state->pending;
    pending->rests = true, pending->entries = (uint64_t)calls + 1, pending->since = 0;
}

void tw_pending_end(tw_region_state *state)
{
    state->pending.active = false, state->pending.since = 0;
}

double tw_pending_count(const tw_region_state *state, uint64_t to_come, double *seconds)
{
    tw_pending pending = state->pending;
    pending.entries = pending.entries > to_come ? pending.entries - to_come : 1;
    *seconds = pending.active ? 1e-9 * skipped_time(state, &pending) : 0;
    return pending.active ? skipped(&pending) : 0;
}
