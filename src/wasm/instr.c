/* SPDX-License-Identifier: Apache-2.0 */
/* Reading instructions, one at a time. The immediate's form comes from the table; a new instruction is a line in
 * opcodes.def unless its immediate has a form of its own. */
#include <stdio.h>
#include <string.h>

#include "wasm/read.h"

static tw_status refuse_op(const tw_reader *at, uint8_t prefix, uint32_t code, tw_error *error)
{
    const char *proposal = tw_opcode_proposal(prefix, code);
    char name[24];
    if (prefix) snprintf(name, sizeof name, "0x%02x 0x%02x", prefix, code);
    else snprintf(name, sizeof name, "0x%02x", code);
    if (proposal)
        return TW_READ_FAIL(at, error, TW_UNSUPPORTED,
                            "instruction %s belongs to the proposal %s, which isn't supported", name, proposal);
    return TW_READ_FAIL(at, error, TW_MALFORMED, "unknown instruction %s", name);
}

static tw_status read_op(tw_reader *reader, tw_op *out, tw_error *error)
{
    tw_reader start = *reader;
    uint8_t prefix = 0, byte;
    TW_TRY(tw_read_byte(reader, "instruction", &byte, error));
    uint32_t code = byte;
    if (byte >= 0xFB && byte <= 0xFE) {
        prefix = byte;
        TW_TRY(tw_read_u32(reader, "instruction", &code, error));
    }
    *out = tw_op_from_code(prefix, code);
    return *out ? TW_OK : refuse_op(&start, prefix, code, error);
}

/* Bit 6 of the alignment says that a memory index follows. */
static tw_status read_mem(tw_reader *reader, tw_instr *out, tw_error *error)
{
    tw_reader start = *reader;
    uint32_t align, offset;
    out->imm.mem.memory = out->imm.mem.lane = 0;
    TW_TRY(tw_read_u32(reader, "alignment", &align, error));
    out->imm.mem.named = align & 0x40;
    if (out->imm.mem.named) TW_TRY(tw_read_u32(reader, "memory index", &out->imm.mem.memory, error));
    align &= ~(uint32_t)0x40;
    if (align >= 32) return TW_READ_FAIL(&start, error, TW_MALFORMED, "alignment 2^%u", align);
    TW_TRY(tw_read_u32(reader, "memory offset", &offset, error));
    out->imm.mem.align = align;
    out->imm.mem.offset = offset;
    return TW_OK;
}

static tw_status read_labels(tw_reader *reader, tw_instr *out, tw_error *error)
{
    uint32_t count, label;
    TW_TRY(tw_read_count(reader, "br_table labels", 1, UINT32_MAX - 1, &count, error));
    const uint8_t *first = reader->at;
    for (uint32_t i = 0; i <= count; i++) TW_TRY(tw_read_u32(reader, "br_table label", &label, error));
    out->imm.labels.count = count;
    out->imm.labels.raw = (tw_span){first, (size_t)(reader->at - first)};
    return TW_OK;
}

static tw_status read_types(tw_reader *reader, tw_instr *out, tw_error *error)
{
    uint32_t count;
    tw_type type;
    TW_TRY(tw_read_count(reader, "select types", 1, UINT32_MAX, &count, error));
    const uint8_t *first = reader->at;
    for (uint32_t i = 0; i < count; i++) TW_TRY(tw_read_type(reader, "select", &type, error));
    out->imm.types.count = count;
    out->imm.types.raw = (tw_span){first, count};
    return TW_OK;
}

static tw_status read_raw(tw_reader *reader, const char *what, void *out, size_t size, tw_error *error)
{
    tw_span bytes;
    TW_TRY(tw_read_bytes(reader, what, size, &bytes, error));
    memcpy(out, bytes.data, size);
    return TW_OK;
}

static tw_status read_pair(tw_reader *reader, tw_instr *out, tw_error *error)
{
    TW_TRY(tw_read_u32(reader, "index", &out->imm.pair.first, error));
    return tw_read_u32(reader, "index", &out->imm.pair.second, error);
}

static tw_status read_immediate(tw_reader *reader, tw_imm form, tw_instr *out, tw_error *error)
{
    switch (form) {
    case TW_IMM_NONE: return TW_OK;
    case TW_IMM_BLOCK: return tw_read_block_type(reader, out, error);
    case TW_IMM_LABEL: case TW_IMM_FUNC: case TW_IMM_LOCAL: case TW_IMM_GLOBAL: case TW_IMM_TABLE: case TW_IMM_DATA:
    case TW_IMM_ELEM: case TW_IMM_MEMORY: return tw_read_u32(reader, "index", &out->imm.index, error);
    case TW_IMM_LABELS: return read_labels(reader, out, error);
    case TW_IMM_CALL_INDIRECT:
        TW_TRY(tw_read_u32(reader, "type index", &out->imm.call_indirect.type, error));
        return tw_read_u32(reader, "table index", &out->imm.call_indirect.table, error);
    case TW_IMM_TYPES: return read_types(reader, out, error);
    case TW_IMM_MEM: return read_mem(reader, out, error);
    case TW_IMM_MEM_LANE: {
        uint8_t lane;
        TW_TRY(read_mem(reader, out, error));
        TW_TRY(tw_read_byte(reader, "lane", &lane, error));
        out->imm.mem.lane = lane;
        return TW_OK;
    }
    case TW_IMM_LANE: return tw_read_byte(reader, "lane", &out->imm.lane, error);
    case TW_IMM_MEMORY2: case TW_IMM_DATA_MEMORY: case TW_IMM_ELEM_TABLE: case TW_IMM_TABLE2:
        return read_pair(reader, out, error);
    case TW_IMM_I32: return tw_read_s32(reader, "i32.const", &out->imm.i32, error);
    case TW_IMM_I64: return tw_read_s64(reader, "i64.const", &out->imm.i64, error);
    case TW_IMM_F32: return read_raw(reader, "f32.const", &out->imm.f32, 4, error); /* little-endian hosts only */
    case TW_IMM_F64: return read_raw(reader, "f64.const", &out->imm.f64, 8, error);
    case TW_IMM_SHUFFLE: case TW_IMM_V128: return read_raw(reader, "v128", out->imm.v128, 16, error);
    case TW_IMM_REF: return tw_read_heap_type(reader, &out->imm.ref, error);
    }
    return TW_READ_FAIL(reader, error, TW_INTERNAL, "immediate form %d", (int)form);
}

tw_status tw_wasm_next(tw_reader *reader, tw_instr *out, tw_error *error)
{
    tw_reader start = *reader;
    tw_status status = read_op(reader, &out->op, error);
    if (status == TW_OK) status = read_immediate(reader, (tw_imm)tw_op_describe(out->op)->imm, out, error);
    if (status != TW_OK) {
        reader->at = start.at;
        return status;
    }
    out->offset = tw_reader_offset(&start);
    out->size = (uint32_t)(reader->at - start.at);
    return TW_OK;
}
