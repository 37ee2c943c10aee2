/* SPDX-License-Identifier: Apache-2.0 */
#ifndef TW_WASM_OPCODE_H
#define TW_WASM_OPCODE_H

/* The vocabulary of instructions, written once in opcodes.def and expanded here and everywhere. */

#include <stdint.h>

typedef enum tw_type { /* value types; the numbers are the binary format's */
    TW_TYPE_NONE = 0,
    TW_I32 = 0x7F,
    TW_I64 = 0x7E,
    TW_F32 = 0x7D,
    TW_F64 = 0x7C,
    TW_V128 = 0x7B,
    TW_FUNCREF = 0x70,
    TW_EXTERNREF = 0x6F, /* recognised, to be refused by name */
} tw_type;

/* What follows an opcode. */
typedef enum tw_imm {
    TW_IMM_NONE,
    TW_IMM_BLOCK,      /* block type */
    TW_IMM_LABEL,      /* relative depth */
    TW_IMM_LABELS,     /* br_table */
    TW_IMM_FUNC,
    TW_IMM_CALL_INDIRECT, /* type, table */
    TW_IMM_LOCAL,
    TW_IMM_GLOBAL,
    TW_IMM_TABLE,
    TW_IMM_TYPES,      /* select t* */
    TW_IMM_MEM,        /* align, offset */
    TW_IMM_MEM_LANE,   /* align, offset, lane */
    TW_IMM_LANE,
    TW_IMM_SHUFFLE,    /* 16 lanes */
    TW_IMM_MEMORY,     /* one memory index: memory.size, memory.grow, memory.fill */
    TW_IMM_MEMORY2,    /* memory.copy */
    TW_IMM_DATA_MEMORY,/* memory.init: data, memory */
    TW_IMM_DATA,       /* data.drop */
    TW_IMM_ELEM_TABLE, /* table.init: elem, table */
    TW_IMM_ELEM,       /* elem.drop */
    TW_IMM_TABLE2,     /* table.copy */
    TW_IMM_I32,
    TW_IMM_I64,
    TW_IMM_F32,
    TW_IMM_F64,
    TW_IMM_V128,
    TW_IMM_REF,        /* ref.null: heap type */
} tw_imm;

/* What kind of thing an instruction is to the compiler. */
typedef enum tw_opkind {
    TW_KIND_CONTROL, /* block, br, call, return, unreachable … */
    TW_KIND_STACK,   /* drop, select */
    TW_KIND_VARIABLE,/* local.*, global.* */
    TW_KIND_CONST,
    TW_KIND_PURE,    /* result depends on the operands only; never traps */
    TW_KIND_TRAPPING,/* as pure, but may trap: div, rem, trunc */
    TW_KIND_LOAD,
    TW_KIND_STORE,
    TW_KIND_MEMORY,  /* memory.size/grow/copy/fill/init, data.drop */
    TW_KIND_TABLE,
    TW_KIND_REF,
} tw_opkind;

/* opcodes.def has a line an instruction:
 *   TW_OP(ID, "mnemonic", prefix, code, IMM, KIND, "operand types", "result types", access, FEATURE)
 * ID: TW_OP_<ID>, e.g. I32_ADD; IMM and KIND without TW_IMM_ and TW_KIND_. prefix 0, 0xFC or 0xFD. Types are letters: i l f d v (i32 i64 f32 f64
 * v128), r funcref; "*" where they depend on the immediate or the stack. access: bytes touched in
 * memory, 0 when none. FEATURE names the proposal: MVP, SIGN_EXT, SAT, BULK, REF, SIMD, RELAXED, TAIL. */
typedef enum tw_op {
    TW_OP_INVALID = 0,
#define TW_OP(id, name, prefix, code, imm, kind, operands, results, access, feature) TW_OP_##id,
#include "wasm/opcodes.def"
#undef TW_OP
    TW_OP_COUNT
} tw_op;

typedef struct tw_op_info {
    const char *name;
    uint8_t prefix;
    uint16_t code;
    uint8_t imm;    /* tw_imm */
    uint8_t kind;   /* tw_opkind */
    uint8_t access; /* bytes */
    const char *operands, *results;
} tw_op_info;

/* op < TW_OP_COUNT. Static. */
const tw_op_info *tw_op_describe(tw_op op);
/* TW_OP_INVALID when there is none. */
tw_op tw_op_from_code(uint8_t prefix, uint32_t code);
/* By mnemonic ("i32.add"), of length bytes; TW_OP_INVALID when there is none. */
tw_op tw_op_from_name(const char *name, uint32_t length);
/* "i32", "v128", …; static. */
const char *tw_type_name(tw_type type);
/* TW_I32 for 'i' and so on; TW_TYPE_NONE for anything else. */
tw_type tw_type_from_letter(char letter);

#endif
