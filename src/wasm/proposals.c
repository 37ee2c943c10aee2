/* SPDX-License-Identifier: Apache-2.0 */
#include "wasm/read.h"

/* What is recognised so that it can be refused by name: ranges of opcodes and type codes of proposals that
 * are off. */
typedef struct proposal_range {
    uint8_t prefix;
    uint32_t first, last;
    const char *name;
} proposal_range;

static const proposal_range op_ranges[] = {
    {0x00, 0x06, 0x0A, "exception handling"},
    {0x00, 0x18, 0x19, "exception handling"},
    {0x00, 0x1F, 0x1F, "exception handling"},
    {0x00, 0x14, 0x15, "typed function references"},
    {0x00, 0xD3, 0xD3, "garbage collection (GC)"},
    {0x00, 0xD4, 0xD6, "typed function references"},
    {0x00, 0xE0, 0xE6, "stack switching"},
    {0xFB, 0x00, UINT32_MAX, "garbage collection (GC)"},
    {0xFC, 0x12, 0x12, "memory control"},
    {0xFC, 0x13, 0x16, "wide arithmetic"},
    {0xFC, 0x30, 0x31, "half precision"},
    {0xFD, 0x120, 0x16F, "half precision"},
    {0xFE, 0x00, UINT32_MAX, "shared memory and atomics (threads)"},
};

static const proposal_range type_ranges[] = {
    {0, 0x6F, 0x6F, "externref (reference types beyond funcref)"},
    {0, 0x63, 0x64, "typed function references"},
    {0, 0x68, 0x68, "stack switching"},
    {0, 0x75, 0x75, "stack switching"},
    {0, 0x69, 0x69, "exception handling"},
    {0, 0x74, 0x74, "exception handling"},
    {0, 0x65, 0x67, "garbage collection (GC)"},
    {0, 0x6A, 0x6E, "garbage collection (GC)"},
    {0, 0x71, 0x73, "garbage collection (GC)"},
    {0, 0x77, 0x78, "garbage collection (GC)"}, /* packed fields */
};

static const char *find(const proposal_range *ranges, size_t count, uint8_t prefix, uint32_t code)
{
    for (size_t i = 0; i < count; i++)
        if (ranges[i].prefix == prefix && code >= ranges[i].first && code <= ranges[i].last) return ranges[i].name;
    return NULL;
}

const char *tw_opcode_proposal(uint8_t prefix, uint32_t code)
{
    return find(op_ranges, sizeof op_ranges / sizeof *op_ranges, prefix, code);
}

static tw_status refuse_type(tw_reader *at, const char *what, uint8_t code, tw_error *error)
{
    const char *proposal = find(type_ranges, sizeof type_ranges / sizeof *type_ranges, 0, code);
    if (proposal)
        return TW_READ_FAIL(at, error, TW_UNSUPPORTED,
                            "%s: type 0x%02x belongs to the proposal %s, which isn't supported", what, code, proposal);
    return TW_READ_FAIL(at, error, TW_MALFORMED, "%s: 0x%02x isn't a type", what, code);
}

tw_status tw_read_type(tw_reader *reader, const char *what, tw_type *out, tw_error *error)
{
    tw_reader start = *reader;
    uint8_t code;
    TW_TRY(tw_read_byte(reader, what, &code, error));
    switch (code) {
    case TW_I32: case TW_I64: case TW_F32: case TW_F64: case TW_V128: case TW_FUNCREF:
        *out = (tw_type)code;
        return TW_OK;
    default: return refuse_type(&start, what, code, error);
    }
}

tw_status tw_read_heap_type(tw_reader *reader, tw_type *out, tw_error *error)
{
    tw_reader start = *reader;
    uint8_t code;
    TW_TRY(tw_read_byte(reader, "heap type", &code, error));
    if (code == TW_FUNCREF) {
        *out = TW_FUNCREF;
        return TW_OK;
    }
    if (!(code & 0x40) || (code & 0x80))
        return TW_READ_FAIL(
            &start, error, TW_UNSUPPORTED,
            "ref.null of a type index belongs to the proposal typed function references, which isn't supported");
    return refuse_type(&start, "heap type", code, error);
}

tw_status tw_read_block_type(tw_reader *reader, tw_instr *out, tw_error *error)
{
    tw_reader start = *reader;
    out->imm.block.has_type_index = false;
    out->imm.block.type = TW_TYPE_NONE;
    out->imm.block.index = 0;
    if (tw_reader_left(reader) && *reader->at == 0x40) {
        reader->at++;
        return TW_OK;
    }
    if (tw_reader_left(reader) && (*reader->at & 0xC0) == 0x40)
        return tw_read_type(reader, "block type", &out->imm.block.type, error);
    int64_t index;
    TW_TRY(tw_read_s64(reader, "block type", &index, error));
    if (index < 0 || index > UINT32_MAX || reader->at - start.at > 5)
        return TW_READ_FAIL(&start, error, TW_MALFORMED, "block type isn't a type or an index");
    out->imm.block.has_type_index = true;
    out->imm.block.index = (uint32_t)index;
    return TW_OK;
}
