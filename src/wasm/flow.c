/* SPDX-License-Identifier: Apache-2.0 */
#include "wasm/flow.h"

static tw_status push(tw_flow *flow, tw_flow_label label, tw_error *error)
{
    if (!TW_ARENA_GROW(flow->arena, flow->labels, flow->depth, flow->capacity)) return tw_fail_memory(error);
    flow->labels[flow->depth++] = label;
    return TW_OK;
}

tw_status tw_flow_begin(tw_flow *flow, const tw_wasm *module, uint32_t func, tw_arena *arena, tw_error *error)
{
    *flow = (tw_flow){.module = module, .arena = arena, .func = func, .live = true};
    uint32_t results = tw_wasm_func_type(module, func)->result_count;
    return push(flow, (tw_flow_label){.op = TW_OP_BLOCK, .results = results, .live_before = true}, error);
}

static tw_status open_label(tw_flow *flow, const tw_instr *instr, tw_error *error)
{
    tw_functype type;
    tw_wasm_block_type(flow->module, instr, &type);
    return push(flow, (tw_flow_label){instr->op, instr->offset, type.param_count, type.result_count, flow->live, false},
                error);
}

static void second_arm(tw_flow *flow)
{
    tw_flow_label *top = &flow->labels[flow->depth - 1];
    top->targeted |= flow->live;
    top->op = TW_OP_ELSE;
    flow->live = top->live_before;
}

static void close_label(tw_flow *flow)
{
    const tw_flow_label *top = &flow->labels[--flow->depth];
    if (top->op != TW_OP_LOOP) flow->live |= top->targeted;
    if (top->op == TW_OP_IF) flow->live |= top->live_before; /* there is no second arm */
}

bool tw_flow_next_branch(const tw_instr *instr, uint32_t open, const uint8_t **at, uint32_t *depth)
{
    static const uint8_t done;
    const tw_span *raw = &instr->imm.labels.raw; /* of br_table only */
    switch (instr->op) {
    case TW_OP_BR: case TW_OP_BR_IF: case TW_OP_RETURN:
        *depth = instr->op == TW_OP_RETURN ? open - 1 : instr->imm.index;
        if (*at == &done) return false;
        *at = &done;
        return true;
    case TW_OP_BR_TABLE:
        if (!*at) *at = raw->data;
        return *at != raw->data + raw->size && tw_wasm_read_u32(at, raw->data + raw->size, depth);
    default: return false;
    }
}

static tw_status branches(tw_flow *flow, const tw_instr *instr, tw_error *error)
{
    const uint8_t *at = NULL;
    uint32_t depth;
    while (tw_flow_next_branch(instr, flow->depth, &at, &depth)) {
        if (depth >= flow->depth)
            return tw_fail_at(error, TW_INVALID, flow->func, instr->offset, "label %u doesn't exist", depth);
        flow->labels[flow->depth - 1 - depth].targeted |= flow->live;
    }
    return TW_OK;
}

tw_status tw_flow_step(tw_flow *flow, const tw_instr *instr, tw_error *error)
{
    switch (instr->op) {
    case TW_OP_BLOCK: case TW_OP_LOOP: case TW_OP_IF: return open_label(flow, instr, error);
    case TW_OP_ELSE: second_arm(flow); return TW_OK;
    case TW_OP_END: close_label(flow); return TW_OK;
    case TW_OP_BR: case TW_OP_BR_TABLE: case TW_OP_RETURN: case TW_OP_BR_IF:
        TW_TRY(branches(flow, instr, error));
        if (instr->op != TW_OP_BR_IF) flow->live = false;
        return TW_OK;
    case TW_OP_UNREACHABLE: case TW_OP_RETURN_CALL: case TW_OP_RETURN_CALL_INDIRECT: flow->live = false; return TW_OK;
    default: return TW_OK;
    }
}
