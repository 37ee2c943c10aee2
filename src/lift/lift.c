/* SPDX-License-Identifier: Apache-2.0 */
#include <string.h>

#include "lift/lifter.h"

/* The walk over a body: what is on the operand stack becomes operands. */

tw_status tw_lift_fail(tw_lifter *l, const char *what)
{
    return tw_fail_at(l->error, TW_INVALID, l->func_index, l->instr.offset, "%s", what);
}

tw_status tw_lift_memory(tw_lifter *l)
{
    size_t limit = l->func->arena.limit;
    if (limit == TW_ARENA_NO_LIMIT) return tw_fail_memory(l->error);
    return tw_fail_at(l->error, TW_LIMIT, l->func_index, TW_NO_OFFSET, "lifting the function needs more than %zu bytes", limit);
}

/* ---- the stack ---- */

tw_status tw_lift_push(tw_lifter *l, tw_ir_value value)
{
    if (!value || !TW_ARENA_GROW(&l->scratch, l->stack, l->stack_count, l->stack_capacity)) return tw_lift_memory(l);
    l->stack[l->stack_count++] = value;
    return TW_OK;
}

tw_status tw_lift_pop(tw_lifter *l, tw_ir_value *out)
{
    if (l->stack_count <= l->frames[l->frame_count - 1].height) return tw_lift_fail(l, "the operand stack is empty");
    *out = l->stack[--l->stack_count];
    return TW_OK;
}

tw_status tw_lift_pop_typed(tw_lifter *l, tw_type type, tw_ir_value *out)
{
    TW_TRY(tw_lift_pop(l, out));
    return l->func->values[*out].type == type ? TW_OK : tw_lift_fail(l, "an operand has the wrong type");
}

tw_status tw_lift_pop_list(tw_lifter *l, const uint8_t *types, uint32_t count, tw_ir_value **out)
{
    tw_ir_value *values = TW_NEW_ARRAY(&l->scratch, tw_ir_value, (size_t)count + 1);
    if (!values) return tw_lift_memory(l);
    for (uint32_t i = count; i-- > 0;) TW_TRY(tw_lift_pop_typed(l, types[i], &values[i]));
    *out = values;
    return TW_OK;
}

/* ---- blocks and instructions ---- */

tw_status tw_lift_new_block(tw_lifter *l, tw_ir_block base, uint64_t offset, tw_ir_block *out)
{
    *out = tw_ir_block_new(l->func);
    if (*out == TW_IR_NO_BLOCK) return tw_lift_memory(l);
    l->func->blocks[*out].state_base = base;
    l->func->blocks[*out].offset = offset;
    return TW_OK;
}

tw_status tw_lift_note_set(tw_lifter *l, uint32_t local, tw_ir_value value)
{
    tw_ir_blockdata *block = &l->func->blocks[l->block];
    if (!TW_ARENA_GROW(&l->func->arena, block->sets, block->set_count, block->set_capacity)) return tw_lift_memory(l);
    block->sets[block->set_count++] = (tw_ir_local_set){local, value};
    return TW_OK;
}

/* Appends the current instruction and pushes its results. *out, when asked for, stays valid until the next one. */
static tw_status emit(tw_lifter *l, tw_op op, const tw_ir_value *args, uint32_t arg_count, const uint8_t *results,
                      uint32_t result_count, tw_ir_inst **out)
{
    uint32_t inst = tw_ir_inst_new(l->func, l->block, op, args, arg_count, results, result_count);
    if (inst == UINT32_MAX) return tw_lift_memory(l);
    l->func->insts[inst].offset = l->instr.offset;
    for (uint32_t i = 0; i < result_count; i++) TW_TRY(tw_lift_push(l, l->func->insts[inst].first_result + i));
    if (out) *out = &l->func->insts[inst];
    return TW_OK;
}

static void set_immediates(const tw_instr *instr, tw_ir_inst *inst)
{
    switch ((tw_imm)tw_op_describe(instr->op)->imm) {
    case TW_IMM_MEM: inst->mem_offset = instr->imm.mem.offset; break;
    case TW_IMM_MEM_LANE:
        inst->mem_offset = instr->imm.mem.offset;
        inst->index = instr->imm.mem.lane;
        break;
    case TW_IMM_LANE: inst->index = instr->imm.lane; break;
    case TW_IMM_SHUFFLE: memcpy(inst->lanes, instr->imm.v128, sizeof inst->lanes); break;
    case TW_IMM_DATA_MEMORY: inst->index = instr->imm.pair.first; break;
    case TW_IMM_ELEM_TABLE: case TW_IMM_TABLE2:
        inst->index = instr->imm.pair.first;
        inst->index2 = instr->imm.pair.second;
        break;
    case TW_IMM_CALL_INDIRECT:
        inst->index = instr->imm.call_indirect.type;
        inst->index2 = instr->imm.call_indirect.table;
        break;
    case TW_IMM_FUNC: case TW_IMM_GLOBAL: case TW_IMM_TABLE: case TW_IMM_DATA: case TW_IMM_ELEM:
        inst->index = instr->imm.index;
        break;
    default: break;
    }
}

/* An instruction whose types the table knows. */
static tw_status lift_by_table(tw_lifter *l)
{
    const tw_op_info *info = tw_op_describe(l->instr.op);
    uint32_t operands = (uint32_t)strlen(info->operands), results = (uint32_t)strlen(info->results);
    tw_ir_value args[8];
    uint8_t types[8];
    if (operands > 8 || results > 8) return tw_lift_fail(l, "an instruction with too many operands");
    for (uint32_t i = operands; i-- > 0;) {
        tw_type type = tw_type_from_letter(info->operands[i]);
        if (type == TW_TYPE_NONE) return tw_lift_fail(l, "unexpected instruction");
        TW_TRY(tw_lift_pop_typed(l, type, &args[i]));
    }
    for (uint32_t i = 0; i < results; i++) {
        types[i] = (uint8_t)tw_type_from_letter(info->results[i]);
        if (types[i] == TW_TYPE_NONE) return tw_lift_fail(l, "unexpected instruction");
    }
    tw_ir_inst *inst;
    TW_TRY(emit(l, l->instr.op, args, operands, types, results, &inst));
    set_immediates(&l->instr, inst);
    return TW_OK;
}

static tw_status lift_const(tw_lifter *l)
{
    uint64_t bits[2];
    switch (l->instr.op) {
    case TW_OP_I32_CONST: return tw_lift_push(l, tw_ir_const(l->func, TW_I32, (uint32_t)l->instr.imm.i32, 0));
    case TW_OP_I64_CONST: return tw_lift_push(l, tw_ir_const(l->func, TW_I64, (uint64_t)l->instr.imm.i64, 0));
    case TW_OP_F32_CONST: return tw_lift_push(l, tw_ir_const(l->func, TW_F32, l->instr.imm.f32, 0));
    case TW_OP_F64_CONST: return tw_lift_push(l, tw_ir_const(l->func, TW_F64, l->instr.imm.f64, 0));
    case TW_OP_V128_CONST:
        memcpy(bits, l->instr.imm.v128, sizeof bits);
        return tw_lift_push(l, tw_ir_const(l->func, TW_V128, bits[0], bits[1]));
    default: return tw_lift_fail(l, "unexpected constant");
    }
}

static tw_status lift_select(tw_lifter *l)
{
    tw_ir_value args[3];
    TW_TRY(tw_lift_pop_typed(l, TW_I32, &args[2]));
    TW_TRY(tw_lift_pop(l, &args[1]));
    uint8_t type = l->func->values[args[1]].type;
    TW_TRY(tw_lift_pop_typed(l, type, &args[0]));
    return emit(l, TW_OP_SELECT, args, 3, &type, 1, NULL);
}

static tw_status lift_local(tw_lifter *l)
{
    uint32_t local = l->instr.imm.index;
    tw_ir_value value;
    if (local >= l->func->local_count) return tw_lift_fail(l, "local doesn't exist");
    if (l->instr.op == TW_OP_LOCAL_GET) return tw_lift_push(l, l->locals[local]);
    TW_TRY(tw_lift_pop_typed(l, l->code_locals[local], &value));
    l->locals[local] = value;
    TW_TRY(tw_lift_note_set(l, local, value));
    return l->instr.op == TW_OP_LOCAL_TEE ? tw_lift_push(l, value) : TW_OK;
}

static tw_status lift_global(tw_lifter *l)
{
    uint32_t global = l->instr.imm.index;
    if (global >= l->module->global_count) return tw_lift_fail(l, "global doesn't exist");
    uint8_t type = (uint8_t)l->module->globals[global].type.type;
    bool get = l->instr.op == TW_OP_GLOBAL_GET;
    tw_ir_value value = 0;
    tw_ir_inst *inst;
    if (!get) TW_TRY(tw_lift_pop_typed(l, type, &value));
    TW_TRY(emit(l, l->instr.op, &value, !get, &type, get, &inst));
    inst->index = global;
    return TW_OK;
}

static tw_status lift_call(tw_lifter *l)
{
    bool indirect = l->instr.op == TW_OP_CALL_INDIRECT;
    uint32_t index = indirect ? l->instr.imm.call_indirect.type : l->instr.imm.index;
    if (index >= (indirect ? l->module->type_count : l->module->func_count)) return tw_lift_fail(l, "call of nothing");
    const tw_functype *type = indirect ? &l->module->types[index] : tw_wasm_func_type(l->module, index);
    tw_ir_value selector = 0, *args;
    if (indirect) TW_TRY(tw_lift_pop_typed(l, TW_I32, &selector));
    TW_TRY(tw_lift_pop_list(l, type->params, type->param_count, &args)); /* has room for one more */
    if (indirect) args[type->param_count] = selector;
    tw_ir_inst *inst;
    TW_TRY(emit(l, l->instr.op, args, type->param_count + indirect, type->results, type->result_count, &inst));
    set_immediates(&l->instr, inst);
    return TW_OK;
}

static tw_status lift_instr(tw_lifter *l)
{
    tw_op op = l->instr.op;
    uint8_t kind = tw_op_describe(op)->kind;
    bool call = op == TW_OP_CALL || op == TW_OP_CALL_INDIRECT;
    if (l->block == TW_IR_NO_BLOCK || (kind == TW_KIND_CONTROL && !call)) return tw_lift_control(l);
    tw_ir_value dropped;
    switch ((tw_opkind)kind) {
    case TW_KIND_CONTROL: return lift_call(l);
    case TW_KIND_STACK: return op == TW_OP_DROP ? tw_lift_pop(l, &dropped) : lift_select(l);
    case TW_KIND_VARIABLE: return op == TW_OP_GLOBAL_GET || op == TW_OP_GLOBAL_SET ? lift_global(l) : lift_local(l);
    case TW_KIND_CONST: return lift_const(l);
    case TW_KIND_REF:
        if (op == TW_OP_REF_NULL) return tw_lift_push(l, tw_ir_const(l->func, TW_FUNCREF, 0, 0));
        return lift_by_table(l);
    case TW_KIND_PURE: case TW_KIND_TRAPPING: case TW_KIND_LOAD: case TW_KIND_STORE: case TW_KIND_MEMORY:
    case TW_KIND_TABLE: return lift_by_table(l);
    }
    return tw_lift_fail(l, "unexpected instruction");
}

/* ---- the function ---- */

static uint8_t *copy_types(tw_ir_func *func, const uint8_t *types, uint32_t count)
{
    uint8_t *copy = TW_NEW_ARRAY(&func->arena, uint8_t, count);
    if (copy && count) memcpy(copy, types, count);
    return copy;
}

static tw_status set_types(tw_lifter *l)
{
    const tw_functype *type = tw_wasm_func_type(l->module, l->func_index);
    tw_ir_func *func = l->func;
    func->index = l->func_index;
    func->params = copy_types(func, type->params, type->param_count);
    func->results = copy_types(func, type->results, type->result_count);
    if (!func->params || !func->results) return tw_lift_memory(l);
    func->param_count = type->param_count;
    func->result_count = type->result_count;
    return TW_OK;
}

/* Parameters are the entry's, other locals begin as zero. */
static tw_status enter(tw_lifter *l)
{
    tw_ir_func *func = l->func;
    TW_TRY(tw_lift_new_block(l, TW_IR_NO_BLOCK, l->reader.base + (uint64_t)(l->reader.at - l->reader.start), &l->block));
    l->locals = TW_NEW_ARRAY(&l->scratch, tw_ir_value, func->local_count);
    if (!l->locals) return tw_lift_memory(l);
    for (uint32_t i = 0; i < func->local_count; i++) {
        l->locals[i] = i < func->param_count ? tw_ir_param_new(func, l->block, l->code_locals[i])
                                             : tw_ir_const(func, l->code_locals[i], 0, 0);
        if (!l->locals[i]) return tw_lift_memory(l);
        TW_TRY(tw_lift_note_set(l, i, l->locals[i]));
    }
    return tw_lift_open_func(l);
}

static tw_status walk(tw_lifter *l)
{
    while (l->frame_count) {
        TW_TRY(tw_wasm_next(&l->reader, &l->instr, l->error));
        TW_TRY(lift_instr(l));
    }
    return l->reader.at == l->reader.end ? TW_OK : tw_lift_fail(l, "code after the function's end");
}

static tw_status lift(tw_lifter *l)
{
    const uint8_t *locals;
    TW_TRY(set_types(l));
    TW_TRY(tw_wasm_body(l->module, l->func_index, &l->func->arena, &l->reader, &locals, &l->func->local_count, l->error));
    l->func->local_types = locals;
    l->code_locals = locals;
    TW_TRY(tw_lift_assigned(l->module, l->func_index, &l->scratch, &l->assigned, l->error));
    TW_TRY(enter(l));
    TW_TRY(walk(l));
    return tw_ir_simplify(l->func, l->error);
}

tw_status tw_lift(const tw_wasm *module, uint32_t func, size_t memory_limit, tw_ir_func **out, tw_error *error)
{
    char name[256];
    if (func >= module->func_count || module->funcs[func].imported)
        return tw_fail(error, TW_INVALID_ARGUMENT, "function %u has no body", func);
    tw_wasm_func_name(module, func, name, sizeof name);
    tw_lifter l = {.module = module, .func_index = func, .error = error, .block = TW_IR_NO_BLOCK};
    TW_TRY(tw_ir_func_new(name, memory_limit, &l.func, error));
    tw_arena_init(&l.scratch, memory_limit);
    tw_status status = lift(&l);
    tw_arena_free(&l.scratch);
    if (status != TW_OK) {
        if (error && error->function == TW_NO_FUNCTION) error->function = func;
        tw_ir_func_free(l.func);
        return status;
    }
    *out = l.func;
    return TW_OK;
}
