/* SPDX-License-Identifier: Apache-2.0 */
#include <stdlib.h>

#include "analysis/inside.h"

/* One walk over all uses: a use crosses the border of each loop that holds the definition and not the use, and of each that
 * holds the use and not the definition. */

enum { MAX_CROSSINGS = 1 << 22 }; /* more than any sane function has: deep nests multiply */

typedef struct crossings {
    tw_analysis *a;
    tw_arena *scratch;
    uint64_t *outs, *ins; /* loop << 32 | value */
    uint32_t out_count, out_capacity, in_count, in_capacity;
    bool failed;
} crossings;

static void note(crossings *c, uint64_t **items, uint32_t *count, uint32_t *capacity, tw_loop loop, tw_ir_value value)
{
    uint64_t key = (uint64_t)loop << 32 | value;
    if (*count && (*items)[*count - 1] == key) return;
    if (*count >= MAX_CROSSINGS || !TW_ARENA_GROW(c->scratch, *items, *count, *capacity)) c->failed = true;
    else (*items)[(*count)++] = key;
}

/* used_in: the block whose instruction or terminator reads it; leaves_to: where the value is on leaving loops (for an edge's
 * argument the successor, else the same). */
static void use(crossings *c, tw_ir_value value, tw_ir_block used_in, tw_ir_block leaves_to)
{
    const tw_loops *loops = c->a->loops;
    const tw_ir_valuedata *data = &c->a->func->values[value];
    if (data->kind == TW_IR_CONST || c->failed) return;
    for (tw_loop l = loops->innermost[data->block]; l != TW_NO_LOOP; l = loops->items[l].parent) {
        if (tw_loop_has_block(loops, l, leaves_to)) break;
        note(c, &c->outs, &c->out_count, &c->out_capacity, l, value);
    }
    for (tw_loop l = loops->innermost[used_in]; l != TW_NO_LOOP; l = loops->items[l].parent) {
        if (tw_loop_has_block(loops, l, data->block)) break;
        note(c, &c->ins, &c->in_count, &c->in_capacity, l, value);
    }
}

static void use_list(crossings *c, const tw_ir_value *values, uint32_t count, tw_ir_block used_in, tw_ir_block leaves_to)
{
    for (uint32_t i = 0; i < count; i++) use(c, values[i], used_in, leaves_to);
}

static void use_block(crossings *c, tw_ir_block index)
{
    const tw_ir_func *func = c->a->func;
    const tw_ir_blockdata *block = &func->blocks[index];
    for (uint32_t i = 0; i < block->inst_count; i++)
        use_list(c, func->insts[block->insts[i]].args, func->insts[block->insts[i]].arg_count, index, index);
    if (block->term == TW_IR_BRANCH || block->term == TW_IR_SWITCH) use(c, block->value, index, index);
    use_list(c, block->args, block->arg_count, index, index);
    for (uint32_t e = 0; e < block->edge_count; e++)
        use_list(c, block->edges[e].args, block->edges[e].arg_count, index, block->edges[e].to);
}

static int by_number(const void *x, const void *y)
{
    uint64_t a = *(const uint64_t *)x, b = *(const uint64_t *)y;
    return a < b ? -1 : a > b;
}

static tw_values *group(crossings *c, uint64_t *items, uint32_t count)
{
    tw_values *lists = TW_NEW_ARRAY(&c->a->arena, tw_values, c->a->loops->count);
    tw_ir_value *values = TW_NEW_ARRAY(&c->a->arena, tw_ir_value, count);
    if (!lists || !values) return NULL;
    if (count) qsort(items, count, sizeof *items, by_number);
    for (uint32_t i = 0, kept = 0; i < count; i++) {
        if (i && items[i] == items[i - 1]) continue;
        tw_values *list = &lists[items[i] >> 32];
        if (!list->count++) list->items = values + kept;
        values[kept++] = (tw_ir_value)items[i];
    }
    return lists;
}

static bool prepare(tw_analysis *a)
{
    if (a->live_outs) return true;
    if (!tw_analysis_loops(a)) return false;
    tw_arena scratch;
    tw_arena_init(&scratch, a->arena.limit);
    crossings c = {.a = a, .scratch = &scratch};
    for (uint32_t i = 0; i < a->cfg->order_count; i++) use_block(&c, a->cfg->order[i]);
    for (uint32_t i = 0; i < a->func->doomed_use_count; i++)
        use(&c, a->func->doomed_uses[i].value, a->func->doomed_uses[i].block, a->func->doomed_uses[i].block);
    tw_values *outs = c.failed ? NULL : group(&c, c.outs, c.out_count);
    a->live_ins = outs ? group(&c, c.ins, c.in_count) : NULL;
    tw_arena_free(&scratch);
    if (!a->live_ins) return tw_analysis_fail(a) != NULL;
    a->live_outs = outs;
    return true;
}

tw_values tw_live_outs_of(tw_analysis *a, tw_loop loop)
{
    return prepare(a) ? a->live_outs[loop] : (tw_values){0};
}

tw_values tw_live_ins_of(tw_analysis *a, tw_loop loop)
{
    return prepare(a) ? a->live_ins[loop] : (tw_values){0};
}
