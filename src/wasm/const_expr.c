/* SPDX-License-Identifier: Apache-2.0 */
/* Constant expressions, extended-const included. Type-checked here on a small stack, since whoever evaluates them
 * (seed images, plans) does so without the engine. */
#include "wasm/decode.h"

enum { STACK = 1024 };

typedef struct const_stack {
    uint8_t types[STACK];
    uint32_t depth;
} const_stack;

static tw_status push(tw_decoder *d, const_stack *stack, tw_type type)
{
    if (stack->depth == STACK)
        return TW_DECODE_FAIL(d, TW_LIMIT, "constant expression needs a stack of over %d", STACK);
    stack->types[stack->depth++] = (uint8_t)type;
    return TW_OK;
}

static tw_status binary(tw_decoder *d, const_stack *stack, const tw_instr *instr)
{
    const tw_op_info *info = tw_op_describe(instr->op);
    tw_type type = tw_type_from_letter(info->results[0]);
    if (stack->depth < 2 || stack->types[stack->depth - 1] != type || stack->types[stack->depth - 2] != type)
        return TW_DECODE_FAIL(d, TW_INVALID, "constant expression: %s without two operands of type %s", info->name,
                              tw_type_name(type));
    stack->depth--;
    return TW_OK;
}

static tw_status global(tw_decoder *d, const_stack *stack, uint32_t index)
{
    const tw_wasm *m = d->module;
    if (index >= m->imported_globals)
        return TW_DECODE_FAIL(d, TW_INVALID, "constant expression: global %u isn't an imported one", index);
    if (m->globals[index].type.is_mutable)
        return TW_DECODE_FAIL(d, TW_INVALID, "constant expression: global %u is mutable", index);
    return push(d, stack, m->globals[index].type.type);
}

static tw_status step(tw_decoder *d, const_stack *stack, const tw_instr *instr)
{
    switch (instr->op) {
    case TW_OP_I32_CONST: return push(d, stack, TW_I32);
    case TW_OP_I64_CONST: return push(d, stack, TW_I64);
    case TW_OP_F32_CONST: return push(d, stack, TW_F32);
    case TW_OP_F64_CONST: return push(d, stack, TW_F64);
    case TW_OP_V128_CONST: return push(d, stack, TW_V128);
    case TW_OP_REF_NULL: return push(d, stack, instr->imm.ref);
    case TW_OP_REF_FUNC:
        if (instr->imm.index >= d->module->func_count)
            return TW_DECODE_FAIL(d, TW_INVALID, "constant expression: function %u doesn't exist", instr->imm.index);
        return push(d, stack, TW_FUNCREF);
    case TW_OP_GLOBAL_GET: return global(d, stack, instr->imm.index);
    case TW_OP_I32_ADD: case TW_OP_I32_SUB: case TW_OP_I32_MUL: case TW_OP_I64_ADD: case TW_OP_I64_SUB:
    case TW_OP_I64_MUL: return binary(d, stack, instr);
    default:
        return TW_DECODE_FAIL(d, TW_INVALID, "constant expression: %s isn't constant", tw_op_describe(instr->op)->name);
    }
}

tw_status tw_decode_const(tw_decoder *d, tw_type wanted, tw_span *out)
{
    const_stack stack;
    stack.depth = 0;
    const uint8_t *first = d->reader.at;
    for (;;) {
        tw_reader start = d->reader;
        tw_instr instr;
        TW_TRY(tw_wasm_next(&d->reader, &instr, d->error));
        if (instr.op == TW_OP_END) {
            *out = (tw_span){first, (size_t)(start.at - first)};
            break;
        }
        tw_reader after = d->reader;
        d->reader = start; /* failures name the instruction's place */
        TW_TRY(step(d, &stack, &instr));
        d->reader = after;
    }
    if (stack.depth == 1 && stack.types[0] == wanted) return TW_OK;
    return TW_DECODE_FAIL(d, TW_INVALID, "constant expression: it should give one %s", tw_type_name(wanted));
}
