/* SPDX-License-Identifier: Apache-2.0 */
#include "wasm/opcode.h"

#include <string.h>

enum { CODES = 0x120 }; /* more than any prefix uses */

static const tw_op_info op_table[TW_OP_COUNT] = {
    [TW_OP_INVALID] = {"invalid", 0, 0, TW_IMM_NONE, TW_KIND_CONTROL, 0, "", ""},
#define TW_OP(id, name, prefix, code, imm, kind, operands, results, access, feature) \
    [TW_OP_##id] = {name, prefix, code, TW_IMM_##imm, TW_KIND_##kind, access, operands, results},
#include "wasm/opcodes.def"
#undef TW_OP
};

/* Plain opcodes, then those after 0xFC, then those after 0xFD. */
#define SLOT(prefix, code) (((prefix) ? (prefix) - 0xFB : 0) * CODES + (code))
static const uint16_t op_by_code[3 * CODES] = {
#define TW_OP(id, name, prefix, code, imm, kind, operands, results, access, feature) \
    [SLOT(prefix, code)] = TW_OP_##id,
#include "wasm/opcodes.def"
#undef TW_OP
};
_Static_assert(TW_OP_COUNT == 459 + 1, "a line an instruction, none lost");

const tw_op_info *tw_op_describe(tw_op op)
{
    return &op_table[(unsigned)op < TW_OP_COUNT ? op : TW_OP_INVALID];
}

tw_op tw_op_from_code(uint8_t prefix, uint32_t code)
{
    if (prefix != 0 && prefix != 0xFC && prefix != 0xFD) return TW_OP_INVALID;
    if (code >= CODES) return TW_OP_INVALID;
    return (tw_op)op_by_code[SLOT(prefix, code)];
}

tw_op tw_op_from_name(const char *name, uint32_t length)
{
    for (unsigned op = 1; op < TW_OP_COUNT; op++) {
        const char *candidate = op_table[op].name;
        if (strlen(candidate) == length && memcmp(candidate, name, length) == 0) return (tw_op)op;
    }
    return TW_OP_INVALID;
}

const char *tw_type_name(tw_type type)
{
    switch (type) {
    case TW_TYPE_NONE: return "none";
    case TW_I32: return "i32";
    case TW_I64: return "i64";
    case TW_F32: return "f32";
    case TW_F64: return "f64";
    case TW_V128: return "v128";
    case TW_FUNCREF: return "funcref";
    case TW_EXTERNREF: return "externref";
    }
    return "unknown";
}

tw_type tw_type_from_letter(char letter)
{
    switch (letter) {
    case 'i': return TW_I32;
    case 'l': return TW_I64;
    case 'f': return TW_F32;
    case 'd': return TW_F64;
    case 'v': return TW_V128;
    case 'r': return TW_FUNCREF;
    default: return TW_TYPE_NONE;
    }
}
