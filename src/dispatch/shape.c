/* SPDX-License-Identifier: Apache-2.0 */
#include <math.h>

#include "dispatch/state.h"

static bool has_loops(const tw_model *model, const tw_model_loop *loop)
{
    for (uint32_t i = 0; i < loop->item_count; i++) {
        if (loop->items[i].kind != TW_ITEM_LOOP) continue;
        const tw_model_loop *inner = &model->loops[loop->items[i].index];
        if (!inner->is_if || has_loops(model, inner)) return true;
    }
    return false;
}

/* How often its iterations run, per iteration of the outermost loop: averages multiply, since each is over all iterations
 * of the loops around that it varies with. */
static double runs_of(const tw_model *model, const tw_numbers *numbers, uint32_t loop)
{
    double runs = 1;
    for (; loop && loop != TW_NONE; loop = model->loops[loop].parent) runs *= numbers->loops[loop].average;
    return runs;
}

tw_shape tw_shape_of(const tw_model *model, const tw_numbers *numbers, bool *known)
{
    tw_shape shape = {.iterations = numbers->iterations};
    *known = numbers->refusal != TW_REFUSAL_TRIPS_UNKNOWN && numbers->refusal != TW_REFUSAL_TRIPS_SHAPE;
    if (!*known) return (tw_shape){0};
    for (uint32_t loop = 0; loop < model->loop_count; loop++)
        if (!model->loops[loop].is_if && !has_loops(model, &model->loops[loop])) shape.each += runs_of(model, numbers, loop);
    if (!model->loop_count) shape.each = 1;
    /* A refused plan hasn't come to its work: two accesses and two operations an iteration, for estimates only. */
    shape.work = numbers->refusal == TW_REFUSAL_NONE ? numbers->work : 4 * shape.each * (double)shape.iterations;
    if (!(shape.work >= 1)) shape.work = 1;
    int exponent = ilogb(shape.work);
    shape.size_class = exponent < 0 ? 0 : exponent >= TW_SIZE_CLASSES ? TW_SIZE_CLASSES - 1 : (uint32_t)exponent;
    return shape;
}

static uint32_t depth_of(const tw_model *model, uint32_t loop)
{
    return loop == TW_NONE ? 0 : model->loops[loop].depth + 1;
}

static void fill_row(uint64_t *to, uint64_t first, const void *rest, uint32_t count)
{
    const uint64_t *words = rest; /* signed or not: the bits */
    to[0] = first;
    for (uint32_t i = 0; i < count; i++) to[1 + i] = words[i];
}

void tw_args_fill(const tw_model *model, const tw_numbers *numbers, const tw_layout *layout, uint64_t *args)
{
    for (uint32_t l = 0; l < model->loop_count; l++)
        fill_row(args + layout->trips[l], (uint64_t)numbers->loops[l].t0, numbers->loops[l].t, model->loops[l].depth);
    for (uint32_t x = 0; x < model->access_count; x++)
        fill_row(args + layout->access[x], (uint64_t)numbers->accesses[x].base, numbers->accesses[x].stride,
                 depth_of(model, model->accesses[x].loop));
    for (uint32_t a = 0; a < model->affine_count; a++)
        fill_row(args + layout->affine[a], numbers->affines[a].c0, numbers->affines[a].c, depth_of(model, model->affines[a].loop));
    for (uint32_t s = 0; s < model->symbol_count; s++) args[layout->symbol[s]] = numbers->symbols[s];
}
