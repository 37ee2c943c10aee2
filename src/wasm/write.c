/* SPDX-License-Identifier: Apache-2.0 */
#include "wasm/module.h"

void tw_write_u32(tw_bytes *out, uint32_t value)
{
    while (value >= 0x80) {
        tw_bytes_append_byte(out, (uint8_t)(value | 0x80));
        value >>= 7;
    }
    tw_bytes_append_byte(out, (uint8_t)value);
}

void tw_write_s64(tw_bytes *out, int64_t value)
{
    while (value < -0x40 || value > 0x3F) {
        tw_bytes_append_byte(out, (uint8_t)(((uint64_t)value & 0x7F) | 0x80));
        value >>= 7;
    }
    tw_bytes_append_byte(out, (uint8_t)((uint64_t)value & 0x7F));
}

void tw_write_s32(tw_bytes *out, int32_t value)
{
    tw_write_s64(out, value);
}

void tw_write_op(tw_bytes *out, tw_op op)
{
    const tw_op_info *info = tw_op_describe(op);
    if (info->prefix) {
        tw_bytes_append_byte(out, info->prefix);
        tw_write_u32(out, info->code);
    } else {
        tw_bytes_append_byte(out, (uint8_t)info->code);
    }
}

void tw_write_index(tw_bytes *out, tw_op op, uint32_t index)
{
    tw_write_op(out, op);
    if (tw_op_describe(op)->imm != TW_IMM_NONE) tw_write_u32(out, index);
}

static void write_block_type(tw_bytes *out, const tw_instr *instr)
{
    if (instr->imm.block.has_type_index) tw_write_s64(out, instr->imm.block.index);
    else tw_bytes_append_byte(out, instr->imm.block.type ? (uint8_t)instr->imm.block.type : 0x40);
}

static void write_labels(tw_bytes *out, const tw_instr *instr)
{
    const uint8_t *at = instr->imm.labels.raw.data, *end = at + instr->imm.labels.raw.size;
    uint32_t label;
    tw_write_u32(out, instr->imm.labels.count);
    while (at != end && tw_wasm_read_u32(&at, end, &label)) tw_write_u32(out, label);
}

static void write_mem(tw_bytes *out, const tw_instr *instr)
{
    uint32_t memory = instr->imm.mem.memory;
    tw_write_u32(out, instr->imm.mem.align | (memory ? 0x40u : 0));
    if (memory) tw_write_u32(out, memory);
    tw_write_u32(out, (uint32_t)instr->imm.mem.offset);
}

void tw_write_instr(tw_bytes *out, const tw_instr *instr)
{
    tw_write_op(out, instr->op);
    switch ((tw_imm)tw_op_describe(instr->op)->imm) {
    case TW_IMM_NONE: return;
    case TW_IMM_BLOCK: write_block_type(out, instr); return;
    case TW_IMM_LABEL: case TW_IMM_FUNC: case TW_IMM_LOCAL: case TW_IMM_GLOBAL: case TW_IMM_TABLE: case TW_IMM_DATA:
    case TW_IMM_ELEM: case TW_IMM_MEMORY: tw_write_u32(out, instr->imm.index); return;
    case TW_IMM_LABELS: write_labels(out, instr); return;
    case TW_IMM_CALL_INDIRECT:
        tw_write_u32(out, instr->imm.call_indirect.type);
        tw_write_u32(out, instr->imm.call_indirect.table);
        return;
    case TW_IMM_TYPES:
        tw_write_u32(out, instr->imm.types.count);
        tw_bytes_append(out, instr->imm.types.raw.data, instr->imm.types.raw.size);
        return;
    case TW_IMM_MEM: write_mem(out, instr); return;
    case TW_IMM_MEM_LANE:
        write_mem(out, instr);
        tw_bytes_append_byte(out, (uint8_t)instr->imm.mem.lane);
        return;
    case TW_IMM_LANE: tw_bytes_append_byte(out, instr->imm.lane); return;
    case TW_IMM_MEMORY2: case TW_IMM_DATA_MEMORY: case TW_IMM_ELEM_TABLE: case TW_IMM_TABLE2:
        tw_write_u32(out, instr->imm.pair.first);
        tw_write_u32(out, instr->imm.pair.second);
        return;
    case TW_IMM_I32: tw_write_s32(out, instr->imm.i32); return;
    case TW_IMM_I64: tw_write_s64(out, instr->imm.i64); return;
    case TW_IMM_F32: tw_bytes_append(out, &instr->imm.f32, 4); return; /* little-endian hosts only */
    case TW_IMM_F64: tw_bytes_append(out, &instr->imm.f64, 8); return;
    case TW_IMM_SHUFFLE: case TW_IMM_V128: tw_bytes_append(out, instr->imm.v128, 16); return;
    case TW_IMM_REF: tw_bytes_append_byte(out, (uint8_t)instr->imm.ref); return;
    }
}
