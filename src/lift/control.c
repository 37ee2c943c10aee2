/* SPDX-License-Identifier: Apache-2.0 */
#include <string.h>

#include "lift/lifter.h"

/* Labels, branches and where values meet. */

static uint32_t meeting_count(const tw_frame *frame)
{
    return frame->type.result_count + frame->assigned.count;
}

/* The results on the stack (left there), then the locals, as they are now. */
static tw_status meeting_values(tw_lifter *l, const tw_frame *frame, tw_ir_value **out)
{
    uint32_t results = frame->type.result_count;
    tw_ir_value *values = TW_NEW_ARRAY(&l->scratch, tw_ir_value, meeting_count(frame));
    if (!values) return tw_lift_memory(l);
    const tw_frame *inner = &l->frames[l->frame_count - 1];
    if (l->stack_count < inner->height + results) return tw_lift_fail(l, "the operand stack is too short for a branch");
    if (results) memcpy(values, l->stack + l->stack_count - results, results * sizeof *values);
    for (uint32_t i = 0; i < frame->assigned.count; i++) values[results + i] = l->locals[frame->assigned.locals[i]];
    *out = values;
    return TW_OK;
}

static tw_status add_pending(tw_lifter *l, tw_frame *frame, tw_ir_block from, uint32_t edge, tw_ir_value *values)
{
    if (!TW_ARENA_GROW(&l->scratch, frame->pending, frame->pending_count, frame->pending_capacity)) return tw_lift_memory(l);
    frame->pending[frame->pending_count++] = (tw_pending){from, edge, values};
    return TW_OK;
}

/* Parameters on the stack (left there), then the locals: what a loop's header takes. */
static tw_status branch_to_header(tw_lifter *l, const tw_frame *frame, tw_ir_block from, uint32_t edge)
{
    uint32_t params = frame->type.param_count, count = params + frame->assigned.count;
    const tw_frame *inner = &l->frames[l->frame_count - 1];
    if (l->stack_count < inner->height + params) return tw_lift_fail(l, "the operand stack is too short for a branch");
    tw_ir_value *values = TW_NEW_ARRAY(&l->scratch, tw_ir_value, count);
    if (!values) return tw_lift_memory(l);
    if (params) memcpy(values, l->stack + l->stack_count - params, params * sizeof *values);
    for (uint32_t i = 0; i < frame->assigned.count; i++) values[params + i] = l->locals[frame->assigned.locals[i]];
    return tw_ir_edge_set(l->func, &l->func->blocks[from].edges[edge], frame->header, values, count) ? TW_OK
                                                                                                  : tw_lift_memory(l);
}

/* Lets edge `edge` of block `from` go to the label `depth` frames out. The label's values stay on the stack. */
static tw_status branch(tw_lifter *l, uint32_t depth, tw_ir_block from, uint32_t edge)
{
    if (depth >= l->frame_count) return tw_lift_fail(l, "branch to a label that doesn't exist");
    tw_frame *frame = &l->frames[l->frame_count - 1 - depth];
    if (frame->kind == TW_FRAME_LOOP) return branch_to_header(l, frame, from, edge);
    tw_ir_value *values = NULL;
    TW_TRY(meeting_values(l, frame, &values));
    return add_pending(l, frame, from, edge, values);
}

static tw_status terminate(tw_lifter *l, tw_ir_term term, tw_ir_value value, uint32_t edges)
{
    if (!tw_ir_terminate(l->func, l->block, term, value, edges)) return tw_lift_memory(l);
    l->func->blocks[l->block].term_offset = l->instr.offset;
    return TW_OK;
}

static tw_status open_frame(tw_lifter *l, tw_frame_kind kind, tw_frame **out)
{
    if (!TW_ARENA_GROW(&l->scratch, l->frames, l->frame_count, l->frame_capacity)) return tw_lift_memory(l);
    tw_frame *frame = &l->frames[l->frame_count++];
    *frame = (tw_frame){.kind = kind, .opened_in = l->block, .offset = l->instr.offset};
    if (kind != TW_FRAME_FUNC) {
        if (l->constructs >= l->assigned.count) return tw_lift_fail(l, "a construct that the first walk didn't see");
        frame->assigned = l->assigned.lists[l->constructs++];
        tw_wasm_block_type(l->module, &l->instr, &frame->type);
        uint32_t outer = l->frames[l->frame_count - 2].height;
        if (l->stack_count < outer + frame->type.param_count) return tw_lift_fail(l, "the operand stack is too short");
        frame->height = l->stack_count - frame->type.param_count;
    }
    *out = frame;
    return TW_OK;
}

tw_status tw_lift_open_func(tw_lifter *l)
{
    tw_frame *frame = NULL;
    TW_TRY(open_frame(l, TW_FRAME_FUNC, &frame));
    const tw_functype *type = tw_wasm_func_type(l->module, l->func_index);
    frame->type = (tw_functype){.results = type->results, .result_count = type->result_count};
    return TW_OK;
}

/* ---- loop ---- */

/* The header's parameters become the stack's and the locals' values. */
static tw_status enter_header(tw_lifter *l, const tw_frame *frame)
{
    uint32_t params = frame->type.param_count;
    for (uint32_t i = 0; i < params; i++) {
        tw_ir_value value = tw_ir_param_new(l->func, frame->header, frame->type.params[i]);
        if (!value) return tw_lift_memory(l);
        l->stack[l->stack_count - params + i] = value;
    }
    for (uint32_t i = 0; i < frame->assigned.count; i++) {
        uint32_t local = frame->assigned.locals[i];
        tw_ir_value value = tw_ir_param_new(l->func, frame->header, l->code_locals[local]);
        if (!value) return tw_lift_memory(l);
        l->locals[local] = value;
        TW_TRY(tw_lift_note_set(l, local, value));
    }
    return TW_OK;
}

static tw_status note_local_values(tw_lifter *l, tw_ir_block header)
{
    tw_ir_value *values = TW_NEW_ARRAY(&l->func->arena, tw_ir_value, l->func->local_count);
    if (!values) return tw_lift_memory(l);
    if (l->func->local_count) memcpy(values, l->locals, l->func->local_count * sizeof *values);
    l->func->blocks[header].local_values = values;
    return TW_OK;
}

static tw_status open_loop(tw_lifter *l)
{
    tw_frame *frame = NULL;
    TW_TRY(open_frame(l, TW_FRAME_LOOP, &frame));
    TW_TRY(tw_lift_new_block(l, l->block, l->instr.offset, &frame->header));
    TW_TRY(terminate(l, TW_IR_JUMP, 0, 1));
    TW_TRY(branch_to_header(l, frame, l->block, 0));
    l->block = frame->header;
    l->func->blocks[l->block].loop_offset = l->instr.offset;
    TW_TRY(enter_header(l, frame));
    return note_local_values(l, l->block);
}

/* ---- if ---- */

static tw_status open_if(tw_lifter *l)
{
    tw_ir_value condition;
    tw_frame *frame = NULL;
    TW_TRY(tw_lift_pop_typed(l, TW_I32, &condition));
    TW_TRY(open_frame(l, TW_FRAME_IF, &frame));
    uint32_t params = frame->type.param_count;
    frame->entry_values = TW_NEW_ARRAY(&l->scratch, tw_ir_value, params + frame->assigned.count);
    if (!frame->entry_values) return tw_lift_memory(l);
    if (params) memcpy(frame->entry_values, l->stack + frame->height, params * sizeof *frame->entry_values);
    for (uint32_t i = 0; i < frame->assigned.count; i++)
        frame->entry_values[params + i] = l->locals[frame->assigned.locals[i]];
    frame->else_from = l->block;
    TW_TRY(terminate(l, TW_IR_BRANCH, condition, 2));
    tw_ir_block then;
    TW_TRY(tw_lift_new_block(l, l->block, l->instr.offset, &then));
    l->func->blocks[l->block].edges[0].to = then;
    l->block = then;
    return TW_OK;
}

/* Control falls out of the construct's end: from there it goes to the label. */
static tw_status fall_through(tw_lifter *l)
{
    if (l->block == TW_IR_NO_BLOCK) return TW_OK;
    const tw_frame *frame = &l->frames[l->frame_count - 1];
    if (l->stack_count != frame->height + frame->type.result_count) return tw_lift_fail(l, "values left on the operand stack");
    TW_TRY(terminate(l, TW_IR_JUMP, 0, 1));
    return branch(l, 0, l->block, 0);
}

static tw_status open_else(tw_lifter *l)
{
    tw_frame *frame = &l->frames[l->frame_count - 1];
    if (frame->kind != TW_FRAME_IF) return tw_lift_fail(l, "else without if");
    TW_TRY(fall_through(l));
    frame->kind = TW_FRAME_ELSE;
    l->stack_count = frame->height;
    uint32_t params = frame->type.param_count;
    for (uint32_t i = 0; i < params; i++) TW_TRY(tw_lift_push(l, frame->entry_values[i]));
    for (uint32_t i = 0; i < frame->assigned.count; i++)
        l->locals[frame->assigned.locals[i]] = frame->entry_values[params + i];
    TW_TRY(tw_lift_new_block(l, frame->else_from, l->instr.offset, &l->block));
    l->func->blocks[frame->else_from].edges[1].to = l->block;
    return TW_OK;
}

/* An if without else passes its parameters on. */
static tw_status close_if(tw_lifter *l, tw_frame *frame)
{
    if (frame->type.param_count != frame->type.result_count) return tw_lift_fail(l, "if without else changes the stack");
    return add_pending(l, frame, frame->else_from, 1, frame->entry_values);
}

/* ---- the end of a label ---- */

static bool all_same(const tw_frame *frame, uint32_t position)
{
    for (uint32_t i = 1; i < frame->pending_count; i++)
        if (frame->pending[i].values[position] != frame->pending[0].values[position]) return false;
    return true;
}

/* Where pending branches meet: a parameter for each value that differs. met[] receives the value of each position. */
static tw_status meet(tw_lifter *l, const tw_frame *frame, tw_ir_value *met, uint32_t *position_of_param, uint32_t *params)
{
    *params = 0;
    for (uint32_t i = 0; i < meeting_count(frame); i++) {
        met[i] = frame->pending[0].values[i];
        if (all_same(frame, i)) continue;
        tw_type type = i < frame->type.result_count ? frame->type.results[i]
                                                    : l->code_locals[frame->assigned.locals[i - frame->type.result_count]];
        met[i] = tw_ir_param_new(l->func, l->block, type);
        if (!met[i]) return tw_lift_memory(l);
        position_of_param[(*params)++] = i;
    }
    return TW_OK;
}

static tw_status connect(tw_lifter *l, const tw_frame *frame, const uint32_t *position_of_param, uint32_t params)
{
    tw_ir_value *args = TW_NEW_ARRAY(&l->scratch, tw_ir_value, params);
    if (!args) return tw_lift_memory(l);
    for (uint32_t i = 0; i < frame->pending_count; i++) {
        const tw_pending *pending = &frame->pending[i];
        for (uint32_t p = 0; p < params; p++) args[p] = pending->values[position_of_param[p]];
        if (!tw_ir_edge_set(l->func, &l->func->blocks[pending->from].edges[pending->edge], l->block, args, params))
            return tw_lift_memory(l);
    }
    return TW_OK;
}

static tw_status join(tw_lifter *l, const tw_frame *frame)
{
    uint32_t count = meeting_count(frame), params;
    tw_ir_value *met = TW_NEW_ARRAY(&l->scratch, tw_ir_value, count);
    uint32_t *position_of_param = TW_NEW_ARRAY(&l->scratch, uint32_t, count);
    if (!met || !position_of_param) return tw_lift_memory(l);
    TW_TRY(tw_lift_new_block(l, frame->opened_in, l->instr.offset, &l->block));
    TW_TRY(meet(l, frame, met, position_of_param, &params));
    TW_TRY(connect(l, frame, position_of_param, params));
    l->stack_count = frame->height;
    for (uint32_t i = 0; i < frame->type.result_count; i++) TW_TRY(tw_lift_push(l, met[i]));
    for (uint32_t i = 0; i < frame->assigned.count; i++) {
        tw_ir_value value = met[frame->type.result_count + i];
        l->locals[frame->assigned.locals[i]] = value;
        TW_TRY(tw_lift_note_set(l, frame->assigned.locals[i], value));
    }
    return TW_OK;
}

/* A loop's end is no label: control goes on with what is there. So does that of a block nothing branches to. */
static tw_status go_on(tw_lifter *l, const tw_frame *frame)
{
    if (l->block == TW_IR_NO_BLOCK) {
        l->stack_count = frame->height;
        return TW_OK;
    }
    if (l->stack_count != frame->height + frame->type.result_count) return tw_lift_fail(l, "values left on the operand stack");
    return TW_OK;
}

static tw_status return_values(tw_lifter *l, const tw_frame *frame)
{
    if (l->block == TW_IR_NO_BLOCK) return TW_OK;
    tw_ir_value *values;
    TW_TRY(tw_lift_pop_list(l, frame->type.results, frame->type.result_count, &values));
    TW_TRY(terminate(l, TW_IR_RETURN, 0, 0));
    if (!tw_ir_terminate_args(l->func, l->block, values, frame->type.result_count)) return tw_lift_memory(l);
    l->block = TW_IR_NO_BLOCK;
    return TW_OK;
}

static tw_status close_frame(tw_lifter *l)
{
    tw_frame *frame = &l->frames[l->frame_count - 1];
    if (frame->kind == TW_FRAME_IF) {
        TW_TRY(fall_through(l));
        TW_TRY(close_if(l, frame));
        l->block = TW_IR_NO_BLOCK;
    } else if (frame->kind != TW_FRAME_LOOP && frame->pending_count) {
        TW_TRY(fall_through(l));
        l->block = TW_IR_NO_BLOCK;
    }
    TW_TRY(frame->pending_count ? join(l, frame) : go_on(l, frame));
    if (frame->kind == TW_FRAME_FUNC) TW_TRY(return_values(l, frame));
    l->frame_count--;
    return TW_OK;
}

/* ---- branches ---- */

static tw_status lift_br(tw_lifter *l)
{
    TW_TRY(terminate(l, TW_IR_JUMP, 0, 1));
    TW_TRY(branch(l, l->instr.imm.index, l->block, 0));
    l->block = TW_IR_NO_BLOCK;
    return TW_OK;
}

static tw_status lift_br_if(tw_lifter *l)
{
    tw_ir_value condition;
    tw_ir_block next;
    TW_TRY(tw_lift_pop_typed(l, TW_I32, &condition));
    TW_TRY(terminate(l, TW_IR_BRANCH, condition, 2));
    TW_TRY(branch(l, l->instr.imm.index, l->block, 0));
    TW_TRY(tw_lift_new_block(l, l->block, l->instr.offset + l->instr.size, &next));
    l->func->blocks[l->block].edges[1].to = next;
    l->block = next;
    return TW_OK;
}

static tw_status lift_br_table(tw_lifter *l)
{
    tw_ir_value selector;
    uint32_t count = l->instr.imm.labels.count + 1;
    const uint8_t *at = l->instr.imm.labels.raw.data, *end = at + l->instr.imm.labels.raw.size;
    TW_TRY(tw_lift_pop_typed(l, TW_I32, &selector));
    TW_TRY(terminate(l, TW_IR_SWITCH, selector, count));
    for (uint32_t i = 0; i < count; i++) {
        uint32_t depth;
        if (!tw_wasm_read_u32(&at, end, &depth)) return tw_lift_fail(l, "br_table's labels end early");
        TW_TRY(branch(l, depth, l->block, i));
    }
    l->block = TW_IR_NO_BLOCK;
    return TW_OK;
}

static tw_status lift_return(tw_lifter *l)
{
    const tw_frame *func = &l->frames[0];
    return return_values(l, func);
}

static tw_status lift_tail_call(tw_lifter *l)
{
    bool indirect = l->instr.op == TW_OP_RETURN_CALL_INDIRECT;
    uint32_t index = indirect ? l->instr.imm.call_indirect.type : l->instr.imm.index;
    if (index >= (indirect ? l->module->type_count : l->module->func_count)) return tw_lift_fail(l, "call of nothing");
    const tw_functype *type = indirect ? &l->module->types[index] : tw_wasm_func_type(l->module, index);
    tw_ir_value selector = 0, *args;
    if (indirect) TW_TRY(tw_lift_pop_typed(l, TW_I32, &selector));
    TW_TRY(tw_lift_pop_list(l, type->params, type->param_count, &args)); /* has room for one more */
    if (indirect) args[type->param_count] = selector;
    TW_TRY(terminate(l, TW_IR_TAIL_CALL, 0, 0));
    if (!tw_ir_terminate_args(l->func, l->block, args, type->param_count + indirect)) return tw_lift_memory(l);
    tw_ir_blockdata *block = &l->func->blocks[l->block];
    block->tail_op = l->instr.op;
    block->index = index;
    block->index2 = indirect ? l->instr.imm.call_indirect.table : 0;
    l->block = TW_IR_NO_BLOCK;
    return TW_OK;
}

/* In dead code only the nesting counts. */
static tw_status skip_dead(tw_lifter *l)
{
    tw_op op = l->instr.op;
    if (op == TW_OP_BLOCK || op == TW_OP_LOOP || op == TW_OP_IF) {
        l->constructs++;
        l->dead_depth++;
    } else if (op == TW_OP_END && l->dead_depth) l->dead_depth--;
    else if (op == TW_OP_END) return close_frame(l);
    else if (op == TW_OP_ELSE && !l->dead_depth) return open_else(l);
    return TW_OK;
}

tw_status tw_lift_control(tw_lifter *l)
{
    tw_frame *frame;
    if (l->block == TW_IR_NO_BLOCK) return skip_dead(l);
    switch (l->instr.op) {
    case TW_OP_NOP: return TW_OK;
    case TW_OP_BLOCK: return open_frame(l, TW_FRAME_BLOCK, &frame);
    case TW_OP_LOOP: return open_loop(l);
    case TW_OP_IF: return open_if(l);
    case TW_OP_ELSE: return open_else(l);
    case TW_OP_END: return close_frame(l);
    case TW_OP_BR: return lift_br(l);
    case TW_OP_BR_IF: return lift_br_if(l);
    case TW_OP_BR_TABLE: return lift_br_table(l);
    case TW_OP_RETURN: return lift_return(l);
    case TW_OP_RETURN_CALL: case TW_OP_RETURN_CALL_INDIRECT: return lift_tail_call(l);
    case TW_OP_UNREACHABLE:
        TW_TRY(terminate(l, TW_IR_UNREACHABLE, 0, 0));
        l->block = TW_IR_NO_BLOCK;
        return TW_OK;
    default: return tw_lift_fail(l, "unexpected instruction");
    }
}
