/* SPDX-License-Identifier: Apache-2.0 */
#include <stdlib.h>

#include "schedule/scheduler.h"

static bool run_passes(tw_scheduler *s, uint32_t root)
{
    uint32_t node = s->tree->roots[root];
    tw_choose_threads(s, node);
    tw_interchange(s, node);
    if (!s->target->vector_bytes) return true;
    tw_choose_lanes(s, node);
    tw_choose_rows(s, node);
    tw_choose_squares(s, node);
    return tw_choose_blocks(s, root);
}

tw_status tw_schedule_make(const tw_model *model, const tw_facts *facts, const tw_target *target, tw_arena *arena,
                           tw_tree **out, tw_error *error)
{
    TW_TRY(tw_schedule_plain(model, facts, arena, out, error));
    tw_scheduler *s = calloc(1, sizeof *s);
    TW_TRY_ALLOC(s, error);
    *s = (tw_scheduler){.tree = *out, .model = model, .facts = facts, .target = target};
    s->tree->vector_bytes = target->vector_bytes;
    tw_shape_of(model, facts, &s->shape);
    tw_count_ops(s);
    /* A region has one root, its outermost loop, unless that is dead or the region has no loops. */
    tw_status status = TW_OK;
    if (facts->distance_count) status = tw_choose_fronts(s, error);
    else if (s->tree->root_count && model->loop_count && !run_passes(s, 0)) status = tw_fail_memory(error);
    free(s);
    return status;
}
