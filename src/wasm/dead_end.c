/* SPDX-License-Identifier: Apache-2.0 */
#include "wasm/dead_end.h"

#include <string.h>

#include "wasm/read.h"

/* Operands taken, and left. False for what ends or opens a block, and branches. */
static bool effect(const tw_wasm *module, const tw_instr *instr, uint32_t *taken, uint32_t *left)
{
    const tw_op_info *info = tw_op_describe(instr->op);
    const tw_functype *type;
    switch (instr->op) {
    case TW_OP_CALL:
        type = tw_wasm_func_type(module, instr->imm.index);
        return *taken = type->param_count, *left = type->result_count, true;
    case TW_OP_CALL_INDIRECT:
        type = &module->types[instr->imm.call_indirect.type];
        return *taken = type->param_count + 1, *left = type->result_count, true;
    case TW_OP_DROP: case TW_OP_LOCAL_SET: case TW_OP_GLOBAL_SET: return *taken = 1, *left = 0, true;
    case TW_OP_LOCAL_GET: case TW_OP_GLOBAL_GET: return *taken = 0, *left = 1, true;
    case TW_OP_LOCAL_TEE: return *taken = *left = 1, true;
    case TW_OP_SELECT: case TW_OP_SELECT_T: return *taken = 3, *left = 1, true;
    case TW_OP_NOP: return *taken = *left = 0, true;
    default: break;
    }
    if (info->kind == TW_KIND_CONTROL || strchr(info->operands, '*') || strchr(info->results, '*')) return false;
    *taken = (uint32_t)strlen(info->operands);
    *left = (uint32_t)strlen(info->results);
    return true;
}

static bool needs_function(tw_op op)
{
    return op == TW_OP_CALL || op == TW_OP_CALL_INDIRECT || op == TW_OP_MEMORY_GROW || tw_op_describe(op)->kind == TW_KIND_TABLE;
}

bool tw_dead_end_at(const tw_wasm *module, tw_reader reader, tw_dead_end *out)
{
    uint64_t height = 0;
    tw_instr instr;
    *out = (tw_dead_end){.offset = tw_reader_offset(&reader)};
    while (reader.at != reader.end && tw_wasm_next(&reader, &instr, NULL) == TW_OK) {
        uint32_t taken, left;
        out->end = tw_reader_offset(&reader);
        if (instr.op == TW_OP_UNREACHABLE) return true;
        if (!effect(module, &instr, &taken, &left) || taken > height) return false;
        out->needs_function |= needs_function(instr.op);
        height += (uint64_t)left - taken;
    }
    return false;
}
