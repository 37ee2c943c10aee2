/* SPDX-License-Identifier: Apache-2.0 */
#include "ir/ir.h"

#include <string.h>

/* Each rule of docs/ir.md is checked here and nowhere else. */

typedef struct verifier {
    const tw_ir_func *func;
    const tw_wasm *module; /* or NULL */
    tw_error *error;
    tw_arena scratch;
    uint32_t *position;         /* block → place in reverse post-order; UINT32_MAX: unreachable */
    uint32_t *dom_in, *dom_out; /* numbering of the dominator tree */
    uint32_t *place;            /* inst → 1 + place in its block; 0: in none (yet) */
} verifier;

#define FAIL(v, ...) tw_fail_at((v)->error, TW_INVALID, (v)->func->index, TW_NO_OFFSET, "IR: " __VA_ARGS__)

static tw_status check_value(verifier *v, tw_ir_value value, const char *what, uint32_t number)
{
    if (!value || value >= v->func->value_count || v->func->values[value].kind == TW_IR_NONE)
        return FAIL(v, "%s %u uses v%u, which doesn't exist", what, number, value);
    return TW_OK;
}

static tw_status check_type(verifier *v, tw_ir_value value, tw_type type, const char *what, uint32_t number)
{
    TW_TRY(check_value(v, value, what, number));
    if (v->func->values[value].type != type)
        return FAIL(v, "%s %u uses v%u of type %s, expected %s", what, number, value,
                    tw_type_name(v->func->values[value].type), tw_type_name(type));
    return TW_OK;
}

static tw_status check_list(verifier *v, const tw_ir_value *values, uint32_t count, const uint8_t *types, uint32_t wanted,
                            const char *what, uint32_t number)
{
    if (count != wanted) return FAIL(v, "%s %u has %u operands, expected %u", what, number, count, wanted);
    for (uint32_t i = 0; i < count; i++) TW_TRY(check_type(v, values[i], types[i], what, number));
    return TW_OK;
}

/* ---- definitions ---- */

static bool defined_as(const tw_ir_func *func, tw_ir_value value, tw_ir_value_kind kind, tw_ir_block block, uint32_t position)
{
    if (!value || value >= func->value_count) return false;
    const tw_ir_valuedata *data = &func->values[value];
    return data->kind == kind && data->block == block && data->position == position;
}

static tw_status check_definitions(verifier *v, tw_ir_block index)
{
    const tw_ir_func *func = v->func;
    const tw_ir_blockdata *block = &func->blocks[index];
    for (uint32_t i = 0; i < block->param_count; i++)
        if (!defined_as(func, block->first_param + i, TW_IR_PARAM, index, i))
            return FAIL(v, "parameter %u of block %u isn't defined as one", i, index);
    for (uint32_t i = 0; i < block->inst_count; i++) {
        uint32_t number = block->insts[i];
        if (number >= func->inst_count) return FAIL(v, "block %u holds instruction %u, which doesn't exist", index, number);
        const tw_ir_inst *inst = &func->insts[number];
        if (inst->block != index || v->place[number]) return FAIL(v, "instruction %u is in two blocks or places", number);
        v->place[number] = i + 1;
        for (uint32_t r = 0; r < inst->result_count; r++)
            if (!defined_as(func, inst->first_result + r, TW_IR_RESULT, index, r) ||
                func->values[inst->first_result + r].inst != number)
                return FAIL(v, "result %u of instruction %u isn't defined as one", r, number);
    }
    return TW_OK;
}

static tw_status check_entry(verifier *v)
{
    const tw_ir_func *func = v->func;
    if (!func->block_count) return FAIL(v, "the function has no block");
    const tw_ir_blockdata *entry = &func->blocks[0];
    if (entry->param_count != func->param_count) return FAIL(v, "the entry's parameters aren't the function's");
    for (uint32_t i = 0; i < func->param_count; i++)
        if (func->values[entry->first_param + i].type != func->params[i])
            return FAIL(v, "the entry's parameter %u has another type than the function's", i);
    return TW_OK;
}

/* ---- operands ---- */

static tw_status check_results(verifier *v, uint32_t number, const uint8_t *types, uint32_t count)
{
    const tw_ir_inst *inst = &v->func->insts[number];
    if (inst->result_count != count) return FAIL(v, "instruction %u has %u results, expected %u", number, inst->result_count, count);
    for (uint32_t i = 0; i < count; i++)
        if (v->func->values[inst->first_result + i].type != types[i])
            return FAIL(v, "result %u of instruction %u has the wrong type", i, number);
    return TW_OK;
}

/* Callee's type, or NULL in *out when there is no module to ask. An indirect call has its table index last. */
static tw_status callee_type(verifier *v, tw_op op, uint32_t index, uint32_t index2, const tw_functype **out)
{
    *out = NULL;
    if (!v->module) return TW_OK;
    if (op == TW_OP_CALL || op == TW_OP_RETURN_CALL) {
        if (index >= v->module->func_count) return FAIL(v, "call of function %u, which doesn't exist", index);
        *out = tw_wasm_func_type(v->module, index);
    } else {
        if (index >= v->module->type_count) return FAIL(v, "call of type %u, which doesn't exist", index);
        if (index2 >= v->module->table_count) return FAIL(v, "call through table %u, which doesn't exist", index2);
        *out = &v->module->types[index];
    }
    return TW_OK;
}

static tw_status check_call_args(verifier *v, tw_op op, const tw_functype *type, const tw_ir_value *args, uint32_t count,
                                 const char *what, uint32_t number)
{
    bool indirect = op == TW_OP_CALL_INDIRECT || op == TW_OP_RETURN_CALL_INDIRECT;
    if (indirect) {
        if (!count) return FAIL(v, "%s %u: an indirect call needs its table index", what, number);
        TW_TRY(check_type(v, args[--count], TW_I32, what, number));
    }
    if (type) return check_list(v, args, count, type->params, type->param_count, what, number);
    for (uint32_t i = 0; i < count; i++) TW_TRY(check_value(v, args[i], what, number));
    return TW_OK;
}

static tw_status check_call(verifier *v, uint32_t number)
{
    const tw_ir_inst *inst = &v->func->insts[number];
    const tw_functype *type;
    TW_TRY(callee_type(v, inst->op, inst->index, inst->index2, &type));
    TW_TRY(check_call_args(v, inst->op, type, inst->args, inst->arg_count, "instruction", number));
    return type ? check_results(v, number, type->results, type->result_count) : TW_OK;
}

static tw_status check_select(verifier *v, uint32_t number)
{
    const tw_ir_inst *inst = &v->func->insts[number];
    if (inst->arg_count != 3 || inst->result_count != 1) return FAIL(v, "select %u needs 3 operands and 1 result", number);
    uint8_t type = v->func->values[inst->first_result].type;
    uint8_t types[] = {type, type, TW_I32};
    return check_list(v, inst->args, 3, types, 3, "instruction", number);
}

static tw_status check_global(verifier *v, uint32_t number)
{
    const tw_ir_inst *inst = &v->func->insts[number];
    bool get = inst->op == TW_OP_GLOBAL_GET;
    if (inst->result_count != (get ? 1u : 0u) || inst->arg_count != (get ? 0u : 1u))
        return FAIL(v, "instruction %u has the wrong number of operands or results", number);
    if (!get) TW_TRY(check_value(v, inst->args[0], "instruction", number));
    if (!v->module) return TW_OK;
    if (inst->index >= v->module->global_count) return FAIL(v, "global %u doesn't exist", inst->index);
    tw_type type = v->module->globals[inst->index].type.type;
    if (get) return v->func->values[inst->first_result].type == type ? TW_OK : FAIL(v, "global %u has another type", inst->index);
    return check_type(v, inst->args[0], type, "instruction", number);
}

static tw_status check_by_table(verifier *v, uint32_t number)
{
    const tw_ir_inst *inst = &v->func->insts[number];
    const tw_op_info *info = tw_op_describe(inst->op);
    uint8_t types[8];
    size_t operands = strlen(info->operands), results = strlen(info->results);
    if (strchr(info->operands, '*') || strchr(info->results, '*') || operands > 8 || results > 8)
        return FAIL(v, "instruction %u: %s doesn't belong in the IR", number, info->name);
    for (size_t i = 0; i < operands; i++) types[i] = (uint8_t)tw_type_from_letter(info->operands[i]);
    TW_TRY(check_list(v, inst->args, inst->arg_count, types, (uint32_t)operands, "instruction", number));
    for (size_t i = 0; i < results; i++) types[i] = (uint8_t)tw_type_from_letter(info->results[i]);
    return check_results(v, number, types, (uint32_t)results);
}

static tw_status check_inst(verifier *v, uint32_t number)
{
    tw_op op = v->func->insts[number].op;
    switch ((tw_opkind)tw_op_describe(op)->kind) {
    case TW_KIND_CONTROL:
        if (op == TW_OP_CALL || op == TW_OP_CALL_INDIRECT) return check_call(v, number);
        break;
    case TW_KIND_STACK:
        if (op == TW_OP_SELECT) return check_select(v, number);
        break;
    case TW_KIND_VARIABLE:
        if (op == TW_OP_GLOBAL_GET || op == TW_OP_GLOBAL_SET) return check_global(v, number);
        break;
    case TW_KIND_CONST: break;
    case TW_KIND_REF:
        if (op != TW_OP_REF_NULL) return check_by_table(v, number);
        break;
    case TW_KIND_PURE: case TW_KIND_TRAPPING: case TW_KIND_LOAD: case TW_KIND_STORE:
    case TW_KIND_MEMORY: case TW_KIND_TABLE: return check_by_table(v, number);
    }
    return FAIL(v, "instruction %u: %s doesn't belong in the IR", number, tw_op_describe(op)->name);
}

/* ---- terminators ---- */

static tw_status check_edge(verifier *v, tw_ir_block from, const tw_ir_edge *edge)
{
    const tw_ir_func *func = v->func;
    if (edge->to >= func->block_count) return FAIL(v, "block %u jumps to block %u, which doesn't exist", from, edge->to);
    if (edge->to == 0) return FAIL(v, "block %u jumps to the entry", from);
    const tw_ir_blockdata *to = &func->blocks[edge->to];
    if (edge->arg_count != to->param_count)
        return FAIL(v, "block %u passes %u arguments to block %u, which has %u parameters", from, edge->arg_count, edge->to,
                    to->param_count);
    for (uint32_t i = 0; i < edge->arg_count; i++)
        TW_TRY(check_type(v, edge->args[i], func->values[to->first_param + i].type, "an edge of block", from));
    return TW_OK;
}

static tw_status check_term(verifier *v, tw_ir_block index)
{
    const tw_ir_func *func = v->func;
    const tw_ir_blockdata *block = &func->blocks[index];
    uint32_t least = block->term == TW_IR_JUMP || block->term == TW_IR_SWITCH ? 1 : block->term == TW_IR_BRANCH ? 2 : 0;
    if (block->edge_count < least || (block->term != TW_IR_SWITCH && block->edge_count != least))
        return FAIL(v, "block %u has %u successors", index, block->edge_count);
    for (uint32_t e = 0; e < block->edge_count; e++) TW_TRY(check_edge(v, index, &block->edges[e]));
    const tw_functype *type;
    switch ((tw_ir_term)block->term) {
    case TW_IR_BRANCH: case TW_IR_SWITCH: return check_type(v, block->value, TW_I32, "the end of block", index);
    case TW_IR_RETURN:
        return check_list(v, block->args, block->arg_count, func->results, func->result_count, "the return of block", index);
    case TW_IR_TAIL_CALL:
        if (block->tail_op != TW_OP_RETURN_CALL && block->tail_op != TW_OP_RETURN_CALL_INDIRECT)
            return FAIL(v, "block %u ends in a tail call that isn't one", index);
        TW_TRY(callee_type(v, block->tail_op, block->index, block->index2, &type));
        return check_call_args(v, block->tail_op, type, block->args, block->arg_count, "the tail call of block", index);
    case TW_IR_JUMP: case TW_IR_UNREACHABLE: return TW_OK;
    }
    return FAIL(v, "block %u ends in nothing known", index);
}

/* ---- dominance ---- */

/* place: 1 + place of the using instruction in its block; UINT32_MAX for the block's end. */
static tw_status check_use(verifier *v, tw_ir_value value, tw_ir_block block, uint32_t place)
{
    const tw_ir_valuedata *data = &v->func->values[value];
    if (data->kind == TW_IR_CONST) return TW_OK;
    tw_ir_block from = data->block;
    bool good = from == block ? data->kind == TW_IR_PARAM || v->place[data->inst] < place
                              : v->position[from] != UINT32_MAX && v->dom_in[from] <= v->dom_in[block] &&
                                    v->dom_out[block] <= v->dom_out[from];
    if (data->kind == TW_IR_RESULT && !v->place[data->inst]) good = false;
    return good ? TW_OK : FAIL(v, "v%u is used in block %u where it may not have been defined", value, block);
}

static tw_status check_uses(verifier *v, tw_ir_block index)
{
    const tw_ir_func *func = v->func;
    const tw_ir_blockdata *block = &func->blocks[index];
    if (v->position[index] == UINT32_MAX) return TW_OK;
    for (uint32_t i = 0; i < block->inst_count; i++) {
        const tw_ir_inst *inst = &func->insts[block->insts[i]];
        for (uint32_t a = 0; a < inst->arg_count; a++) TW_TRY(check_use(v, inst->args[a], index, i + 1));
    }
    if (block->term == TW_IR_BRANCH || block->term == TW_IR_SWITCH) TW_TRY(check_use(v, block->value, index, UINT32_MAX));
    for (uint32_t a = 0; a < block->arg_count; a++) TW_TRY(check_use(v, block->args[a], index, UINT32_MAX));
    for (uint32_t e = 0; e < block->edge_count; e++)
        for (uint32_t a = 0; a < block->edges[e].arg_count; a++)
            TW_TRY(check_use(v, block->edges[e].args[a], index, UINT32_MAX));
    return TW_OK;
}

static tw_status prepare_dominance(verifier *v)
{
    uint32_t n = v->func->block_count;
    tw_ir_block *order = TW_NEW_ARRAY(&v->scratch, tw_ir_block, n), *idom = TW_NEW_ARRAY(&v->scratch, tw_ir_block, n);
    v->position = TW_NEW_ARRAY(&v->scratch, uint32_t, n);
    v->dom_in = TW_NEW_ARRAY(&v->scratch, uint32_t, n);
    v->dom_out = TW_NEW_ARRAY(&v->scratch, uint32_t, n);
    if (!order || !idom || !v->position || !v->dom_in || !v->dom_out) return tw_fail_memory(v->error);
    uint32_t count = tw_ir_order(v->func, &v->scratch, order, v->position);
    if (count == UINT32_MAX || !tw_ir_dominators(v->func, &v->scratch, idom) ||
        !tw_ir_dominance(v->func, &v->scratch, order, count, idom, v->dom_in, v->dom_out))
        return tw_fail_memory(v->error);
    return TW_OK;
}

static tw_status verify(verifier *v)
{
    const tw_ir_func *func = v->func;
    v->place = TW_NEW_ARRAY(&v->scratch, uint32_t, func->inst_count);
    TW_TRY_ALLOC(v->place, v->error);
    for (tw_ir_block b = 0; b < func->block_count; b++) TW_TRY(check_definitions(v, b));
    TW_TRY(check_entry(v));
    for (tw_ir_block b = 0; b < func->block_count; b++) {
        for (uint32_t i = 0; i < func->blocks[b].inst_count; i++) TW_TRY(check_inst(v, func->blocks[b].insts[i]));
        TW_TRY(check_term(v, b));
    }
    TW_TRY(prepare_dominance(v));
    for (tw_ir_block b = 0; b < func->block_count; b++) TW_TRY(check_uses(v, b));
    return TW_OK;
}

tw_status tw_ir_verify(const tw_ir_func *func, const tw_wasm *module, tw_error *error)
{
    verifier v = {.func = func, .module = module, .error = error};
    tw_arena_init(&v.scratch, TW_ARENA_NO_LIMIT);
    tw_status status = verify(&v);
    tw_arena_free(&v.scratch);
    return status;
}
