/* SPDX-License-Identifier: Apache-2.0 */
#include "ir/ir.h"

#include <string.h>

static void print_name(const char *name, tw_bytes *out)
{
    tw_bytes_append_byte(out, '"');
    for (const unsigned char *c = (const unsigned char *)name; *c; c++) {
        if (*c < 0x20 || *c == '"' || *c == '\\' || *c == 0x7F) tw_bytes_printf(out, "\\%02x", *c);
        else tw_bytes_append_byte(out, *c);
    }
    tw_bytes_append_byte(out, '"');
}

static void print_types(const uint8_t *types, uint32_t count, tw_bytes *out)
{
    tw_bytes_append_byte(out, '(');
    for (uint32_t i = 0; i < count; i++) tw_bytes_printf(out, "%s%s", i ? ", " : "", tw_type_name(types[i]));
    tw_bytes_append_byte(out, ')');
}

/* A float that is a small whole number is written as one ("-0" and all others by their bits): nothing here depends on
 * how a library prints floats. */
static bool whole(tw_type type, uint64_t bits, int64_t *number)
{
    double value;
    if (type == TW_F32) {
        float narrow;
        uint32_t low = (uint32_t)bits;
        memcpy(&narrow, &low, sizeof narrow);
        value = narrow;
    } else memcpy(&value, &bits, sizeof value);
    if (!(value >= -1e6 && value <= 1e6)) return false;
    *number = (int64_t)value;
    return (double)*number == value && (bits << (type == TW_F32 ? 32 : 0) != 1ull << 63);
}

static void print_const(const tw_ir_valuedata *value, tw_bytes *out)
{
    int64_t number;
    tw_type type = value->type;
    uint64_t bits = value->bits[0];
    tw_bytes_printf(out, "%s:", tw_type_name(type));
    if (type == TW_I32) tw_bytes_printf(out, "%d", (int32_t)(uint32_t)bits);
    else if (type == TW_I64) tw_bytes_printf(out, "%lld", (long long)bits);
    else if (type == TW_V128) tw_bytes_printf(out, "0x%016llx%016llx", (unsigned long long)value->bits[1], (unsigned long long)bits);
    else if (type == TW_FUNCREF) tw_bytes_append_string(out, "null");
    else if (whole(type, bits, &number)) tw_bytes_printf(out, "%lld", (long long)number);
    else tw_bytes_printf(out, "0x%0*llx", type == TW_F32 ? 8 : 16, (unsigned long long)bits);
}

void tw_ir_print_value(const tw_ir_func *func, tw_ir_value value, tw_bytes *out)
{
    if (value < func->value_count && func->values[value].kind == TW_IR_CONST) print_const(&func->values[value], out);
    else tw_bytes_printf(out, "v%u", value);
}

static void print_values(const tw_ir_func *func, const tw_ir_value *values, uint32_t count, tw_bytes *out)
{
    for (uint32_t i = 0; i < count; i++) {
        tw_bytes_append_string(out, i ? ", " : "");
        tw_ir_print_value(func, values[i], out);
    }
}

static void print_offset(uint64_t offset, tw_bytes *out)
{
    if (offset != TW_NO_OFFSET) tw_bytes_printf(out, " @0x%llx", (unsigned long long)offset);
}

/* What an op's immediates are called, in the order (index, index2); NULL where it has none. */
static void immediate_names(tw_op op, const char *names[2])
{
    names[0] = names[1] = NULL;
    switch ((tw_imm)tw_op_describe(op)->imm) {
    case TW_IMM_FUNC: names[0] = "func"; break;
    case TW_IMM_CALL_INDIRECT: names[0] = "type"; names[1] = "table"; break;
    case TW_IMM_GLOBAL: names[0] = "global"; break;
    case TW_IMM_TABLE: names[0] = "table"; break;
    case TW_IMM_MEM_LANE: case TW_IMM_LANE: names[0] = "lane"; break;
    case TW_IMM_DATA_MEMORY: case TW_IMM_DATA: names[0] = "data"; break;
    case TW_IMM_ELEM_TABLE: names[0] = "elem"; names[1] = "table"; break;
    case TW_IMM_ELEM: names[0] = "elem"; break;
    case TW_IMM_TABLE2: names[0] = "to"; names[1] = "from"; break;
    default: break;
    }
}

static void print_indices(tw_op op, uint32_t index, uint32_t index2, tw_bytes *out)
{
    const char *names[2];
    immediate_names(op, names);
    if (names[0]) tw_bytes_printf(out, " %s=%u", names[0], index);
    if (names[1]) tw_bytes_printf(out, " %s=%u", names[1], index2);
}

static void print_inst(const tw_ir_func *func, const tw_ir_inst *inst, tw_bytes *out)
{
    const tw_op_info *info = tw_op_describe(inst->op);
    bool typed = strchr(info->results, '*') != NULL;
    tw_bytes_append_string(out, "  ");
    for (uint32_t i = 0; i < inst->result_count; i++) {
        tw_ir_value value = inst->first_result + i;
        tw_bytes_printf(out, "%sv%u", i ? ", " : "", value);
        if (typed) tw_bytes_printf(out, ": %s", tw_type_name(func->values[value].type));
    }
    tw_bytes_printf(out, "%s%s", inst->result_count ? " = " : "", info->name);
    if (inst->arg_count) tw_bytes_append_byte(out, ' ');
    print_values(func, inst->args, inst->arg_count, out);
    if (info->imm == TW_IMM_MEM || info->imm == TW_IMM_MEM_LANE)
        tw_bytes_printf(out, " offset=%llu", (unsigned long long)inst->mem_offset);
    print_indices(inst->op, inst->index, inst->index2, out);
    if (info->imm == TW_IMM_SHUFFLE) {
        tw_bytes_append_string(out, " lanes=");
        for (int i = 0; i < 16; i++) tw_bytes_printf(out, "%02x", inst->lanes[i]);
    }
    print_offset(inst->offset, out);
    tw_bytes_append_byte(out, '\n');
}

static void print_edges(const tw_ir_func *func, const tw_ir_blockdata *block, tw_bytes *out)
{
    for (uint32_t i = 0; i < block->edge_count; i++) {
        bool first = i == 0 && block->term == TW_IR_JUMP;
        tw_bytes_printf(out, "%sb%u(", first ? " " : ", ", block->edges[i].to);
        print_values(func, block->edges[i].args, block->edges[i].arg_count, out);
        tw_bytes_append_byte(out, ')');
    }
}

static void print_term(const tw_ir_func *func, const tw_ir_blockdata *block, tw_bytes *out)
{
    static const char *const names[] = {"jump", "branch", "switch", "return", "", "unreachable"};
    tw_bytes_printf(out, "  %s", block->term == TW_IR_TAIL_CALL ? tw_op_describe(block->tail_op)->name : names[block->term]);
    if (block->term == TW_IR_BRANCH || block->term == TW_IR_SWITCH) {
        tw_bytes_append_byte(out, ' ');
        tw_ir_print_value(func, block->value, out);
    }
    print_edges(func, block, out);
    if (block->term == TW_IR_RETURN || block->term == TW_IR_TAIL_CALL) {
        if (block->arg_count) tw_bytes_append_byte(out, ' ');
        print_values(func, block->args, block->arg_count, out);
    }
    if (block->term == TW_IR_TAIL_CALL) print_indices(block->tail_op, block->index, block->index2, out);
    print_offset(block->term_offset, out);
    tw_bytes_append_byte(out, '\n');
}

static void print_block(const tw_ir_func *func, tw_ir_block index, tw_bytes *out)
{
    const tw_ir_blockdata *block = &func->blocks[index];
    tw_bytes_printf(out, "b%u(", index);
    for (uint32_t i = 0; i < block->param_count; i++) {
        tw_ir_value value = block->first_param + i;
        tw_bytes_printf(out, "%sv%u: %s", i ? ", " : "", value, tw_type_name(func->values[value].type));
    }
    tw_bytes_append_string(out, "):");
    if (block->loop_offset != TW_NO_OFFSET) tw_bytes_printf(out, " loop=0x%llx", (unsigned long long)block->loop_offset);
    print_offset(block->offset, out);
    tw_bytes_append_byte(out, '\n');
    for (uint32_t i = 0; i < block->inst_count; i++) print_inst(func, &func->insts[block->insts[i]], out);
    print_term(func, block, out);
}

void tw_ir_print(const tw_ir_func *func, tw_bytes *out)
{
    tw_bytes_append_string(out, "func ");
    if (func->index != TW_NO_FUNCTION) tw_bytes_printf(out, "%u ", func->index);
    print_name(func->name, out);
    tw_bytes_append_byte(out, ' ');
    print_types(func->params, func->param_count, out);
    tw_bytes_append_string(out, " -> ");
    print_types(func->results, func->result_count, out);
    tw_bytes_append_string(out, " {\n");
    for (uint32_t i = 0; i < func->block_count; i++) print_block(func, i, out);
    tw_bytes_append_string(out, "}\n");
}
