/* SPDX-License-Identifier: Apache-2.0 */
#include "analysis/inside.h"

/* Operand `number` of value; 0 after the last. */
static tw_ir_value operand(tw_analysis *a, tw_ir_value value, uint32_t number)
{
    const tw_ir_valuedata *data = &a->func->values[value];
    if (data->kind == TW_IR_RESULT) {
        const tw_ir_inst *inst = &a->func->insts[data->inst];
        uint8_t kind = tw_op_describe(inst->op)->kind;
        if (kind != TW_KIND_PURE && kind != TW_KIND_TRAPPING && inst->op != TW_OP_SELECT) return 0;
        return number < inst->arg_count ? inst->args[number] : 0;
    }
    if (data->kind != TW_IR_PARAM) return 0;
    tw_loop headed = tw_header_loop(a, value);
    const tw_cfg_edge *edge;
    if (headed != TW_NO_LOOP) {
        const tw_loopdata *loop = &a->loops->items[headed];
        if (number >= loop->entry_count) return 0;
        edge = &loop->entries[number];
    } else {
        uint32_t first = a->cfg->pred_start[data->block];
        if (number >= a->cfg->pred_start[data->block + 1] - first) return 0;
        edge = &a->cfg->preds[first + number];
    }
    return a->func->blocks[edge->from].edges[edge->edge].args[data->position];
}

static bool push(tw_analysis *a, tw_ir_value value, uint8_t *state)
{
    if (!TW_ARENA_GROW(&a->arena, a->walk, a->walk_count, a->walk_capacity)) {
        a->failed = true;
        return false;
    }
    a->walk[a->walk_count++] = (tw_walk_frame){value, 0};
    state[value] = TW_VISITING;
    return true;
}

void tw_analysis_walk(tw_analysis *a, tw_ir_value root, uint8_t *state,
                      void (*settle)(tw_analysis *analysis, tw_ir_value value))
{
    uint32_t base = a->walk_count; /* settle may walk again, for another question */
    if (!tw_analysis_loops(a) || state[root] != TW_UNKNOWN || !push(a, root, state)) return;
    while (a->walk_count > base) {
        tw_walk_frame *top = &a->walk[a->walk_count - 1];
        tw_ir_value value = top->value, next = operand(a, value, top->next++);
        if (next && state[next] == TW_UNKNOWN && push(a, next, state)) continue;
        if (next) continue;
        settle(a, value);
        state[value] = TW_KNOWN;
        a->walk_count--;
    }
}
