/* SPDX-License-Identifier: Apache-2.0 */
#ifndef TW_IR_IR_H
#define TW_IR_IR_H

/* SSA form of one function. docs/ir.md is its manual; print → parse → print is the identity.
 *
 * A function is blocks; a block has parameters (instead of phis), instructions, and one terminator whose
 * edges pass arguments to the successors' parameters. Block 0 is the entry; its parameters are the function's.
 *
 * The operations are WebAssembly's own (wasm/opcodes.def): an instruction whose op is of kind PURE, TRAPPING,
 * LOAD, STORE, MEMORY, TABLE, REF, or select or a call means exactly what the instruction of that name means. Locals,
 * the operand stack, block, loop and if are gone; global.get and global.set stay as ordered effects. Constants
 * (ref.null among them) are values without an instruction.
 *
 * Everything lives in the function's arena. One thread at a time. */

#include <stdbool.h>
#include <stdint.h>

#include "base/arena.h"
#include "base/bytes.h"
#include "base/error.h"
#include "wasm/module.h"

typedef uint32_t tw_ir_value; /* index into values; 0 = none */
typedef uint32_t tw_ir_block; /* index into blocks */
#define TW_IR_NO_BLOCK UINT32_MAX

typedef enum tw_ir_value_kind {
    TW_IR_NONE,
    TW_IR_PARAM,  /* block parameter: block, position */
    TW_IR_CONST,  /* bits[0], bits[1] */
    TW_IR_RESULT, /* result `position` of instruction `inst` */
} tw_ir_value_kind;

typedef struct tw_ir_valuedata {
    uint8_t kind; /* tw_ir_value_kind */
    uint8_t type; /* tw_type */
    uint32_t position;
    tw_ir_block block; /* where it is defined; constants: TW_IR_NO_BLOCK */
    uint32_t inst;     /* RESULT: index into insts */
    uint64_t bits[2];  /* CONST */
} tw_ir_valuedata;

typedef struct tw_ir_inst {
    tw_op op;
    tw_ir_block block;
    uint64_t offset;         /* in the user's module; TW_NO_OFFSET when parsed from text without one */
    uint32_t arg_count;
    uint32_t result_count;
    tw_ir_value *args;
    tw_ir_value first_result; /* results are consecutive values */
    /* immediates, by op */
    uint64_t mem_offset;     /* loads, stores: the static offset */
    uint32_t index, index2;  /* func, global, table, type (call_indirect: type, table), data/elem, lane */
    uint8_t lanes[16];       /* i8x16.shuffle */
} tw_ir_inst;

typedef struct tw_ir_edge {
    tw_ir_block to;
    uint32_t arg_count;
    tw_ir_value *args; /* one for each parameter of `to` */
} tw_ir_edge;

typedef enum tw_ir_term {
    TW_IR_JUMP,        /* edges[0] */
    TW_IR_BRANCH,      /* value != 0 → edges[0], else edges[1] */
    TW_IR_SWITCH,      /* value < edge_count - 1 → edges[value], else the last */
    TW_IR_RETURN,      /* args */
    TW_IR_TAIL_CALL,   /* return_call: index; return_call_indirect: as call_indirect; args */
    TW_IR_UNREACHABLE, /* traps */
} tw_ir_term;

typedef struct tw_ir_blockdata {
    uint32_t param_count;
    tw_ir_value first_param; /* consecutive values */
    uint32_t inst_count, inst_capacity;
    uint32_t *insts;         /* indices into insts, in order */
    uint8_t term;            /* tw_ir_term */
    tw_ir_value value;       /* BRANCH, SWITCH */
    uint32_t edge_count;
    tw_ir_edge *edges;
    uint32_t arg_count;      /* RETURN, TAIL_CALL */
    tw_ir_value *args;
    tw_op tail_op;           /* TAIL_CALL */
    uint32_t index, index2;  /* TAIL_CALL */
    uint64_t offset;         /* of the first instruction that this block stands for */
    uint64_t term_offset;
    /* The block is the header of a wasm `loop`: module offset of the loop opcode, else TW_NO_OFFSET. */
    uint64_t loop_offset;
    /* For wasm-loop headers made by lift: local_values[i] is the value of local i on entry to the block (0 =
     * dead: nothing that can still be observed depends on it). NULL for other blocks and for parsed text. The
     * rewriter and the region builder use it to know which local holds which value. */
    tw_ir_value *local_values;
    /* Which local holds which value elsewhere: see tw_ir_locals_at_end. */
    tw_ir_block state_base;
    uint32_t set_count, set_capacity;
    struct tw_ir_local_set *sets;
} tw_ir_blockdata;

/* One write to a local, in order. */
typedef struct tw_ir_local_set {
    uint32_t local;
    tw_ir_value value;
} tw_ir_local_set;

/* Marks of the region builder, no part of the text form (region/doomed.h). */

/* Taken for granted of a way that has been left out of the function: whenever `block` ends, `value` is ≠ 0 (holds) or 0. */
typedef struct tw_ir_assume {
    tw_ir_block block;
    tw_ir_value value;
    bool holds;
    uint64_t offset; /* of the branch */
} tw_ir_assume;

/* The way that has been left out at the end of `block` reads `value`. */
typedef struct tw_ir_doomed_use {
    tw_ir_block block;
    tw_ir_value value;
} tw_ir_doomed_use;

typedef struct tw_ir_func {
    tw_arena arena;
    char *name;
    uint32_t index; /* in the module, or TW_NO_FUNCTION */
    const uint8_t *params, *results;
    uint32_t param_count, result_count;
    const uint8_t *local_types;
    uint32_t local_count;
    tw_ir_valuedata *values;   uint32_t value_count, value_capacity; /* [0] is unused */
    tw_ir_inst *insts;         uint32_t inst_count, inst_capacity;
    tw_ir_blockdata *blocks;   uint32_t block_count, block_capacity;
    tw_ir_assume *assumes;     uint32_t assume_count, assume_capacity;
    tw_ir_doomed_use *doomed_uses; uint32_t doomed_use_count, doomed_use_capacity;
    uint32_t *constants;       uint32_t constant_slots, constant_count; /* hash of the CONST values */
    bool failed;               /* an allocation failed */
} tw_ir_func;

/* ---- build ---- (out of memory: 0 / TW_IR_NO_BLOCK / UINT32_MAX, sticky until the function is freed) */
tw_status tw_ir_func_new(const char *name, size_t memory_limit, tw_ir_func **out, tw_error *error);
void tw_ir_func_free(tw_ir_func *func);
tw_ir_block tw_ir_block_new(tw_ir_func *func);
/* The parameters of a block are consecutive values: no other value may be made between them. */
tw_ir_value tw_ir_param_new(tw_ir_func *func, tw_ir_block block, tw_type type);
tw_ir_value tw_ir_const(tw_ir_func *func, tw_type type, uint64_t low, uint64_t high); /* interned */
uint32_t tw_ir_inst_new(tw_ir_func *func, tw_ir_block block, tw_op op, const tw_ir_value *args, uint32_t arg_count,
                        const uint8_t *result_types, uint32_t result_count);
/* Sets a block's terminator (a new block ends in UNREACHABLE), with room for edge_count edges, all still to be set.
 * NULL when out of memory; a valid pointer otherwise, also for 0 edges. */
tw_ir_edge *tw_ir_terminate(tw_ir_func *func, tw_ir_block block, tw_ir_term term, tw_ir_value value, uint32_t edge_count);
bool tw_ir_edge_set(tw_ir_func *func, tw_ir_edge *edge, tw_ir_block to, const tw_ir_value *args, uint32_t arg_count);
/* The arguments of RETURN and TAIL_CALL, copied. */
bool tw_ir_terminate_args(tw_ir_func *func, tw_ir_block block, const tw_ir_value *args, uint32_t arg_count);

/* Integer folding with wasm's semantics: scalar i32 and i64 arithmetic, compares, eqz, extensions, wrap; division and
 * remainder where they don't trap. False when op is anything else or would trap (*out is then unset). i32 operands are
 * read modulo 2^32, i32 results are zero-extended; b is ignored by unary operations. Used by the IR's simplifier and by
 * the plan's evaluator: one place for these meanings. Thread-safe. */
bool tw_ir_fold_int(tw_op op, uint64_t a, uint64_t b, uint64_t *out);

/* ---- order ---- */

/* Reachable blocks in reverse post-order (order[0] is the entry). `order` and `position` have block_count entries;
 * position is UINT32_MAX for unreachable blocks. Returns how many are reachable, UINT32_MAX when out of memory. */
uint32_t tw_ir_order(const tw_ir_func *func, tw_arena *scratch, tw_ir_block *order, uint32_t *position);
/* Immediate dominators, by block; TW_IR_NO_BLOCK for the entry and for unreachable blocks. False when out of memory. */
bool tw_ir_dominators(const tw_ir_func *func, tw_arena *scratch, tw_ir_block *idom);
/* Numbers the dominator tree so that a dominates b exactly when in[a] <= in[b] && out[b] <= out[a]; arrays by block,
 * (UINT32_MAX, 0) for unreachable ones. order: reverse post-order. */
bool tw_ir_dominance(const tw_ir_func *func, tw_arena *scratch, const tw_ir_block *order, uint32_t count,
                     const tw_ir_block *idom, uint32_t *in, uint32_t *out);
/* Immediate dominators of any graph of count nodes: node's successors are to[start[node]] … to[start[node + 1] - 1]; idom of
 * the root and of nodes it doesn't reach is UINT32_MAX. O(edges * log nodes), no recursion. */
bool tw_graph_dominators(tw_arena *scratch, uint32_t count, const uint32_t *start, const uint32_t *to, uint32_t root,
                         uint32_t *idom);

/* ---- simplify ---- */

/* Removes unreachable blocks, parameters that always have the same value, and pure instructions and parameters that
 * nothing observable depends on; folds constants, integer identities and branches on constants; joins a block with its
 * only predecessor where that has no other successor (headers of wasm loops stay). Renumbers: values are dense, in
 * the order of the text, constants last. local_values and local sets follow; dead ones become 0. TW_NO_MEMORY leaves the
 * function unusable. */
tw_status tw_ir_simplify(tw_ir_func *func, tw_error *error);

/* Which value each local holds when control leaves `block` by any of its edges; values[local_count], 0 = dead or not
 * known. False for parsed text. Only locals written by the wasm code that the block stands for differ from
 * its dominating block's, which is how it's stored: O(local_count + writes on the chain). */
bool tw_ir_locals_at_end(const tw_ir_func *func, tw_ir_block block, tw_ir_value *values);

/* ---- text ---- (docs/ir.md) */
void tw_ir_print(const tw_ir_func *func, tw_bytes *out);
/* One value as the text form writes it: "v7", "i32:8". */
void tw_ir_print_value(const tw_ir_func *func, tw_ir_value value, tw_bytes *out);
/* Values keep the numbers they have in the text. What is parsed refers only to blocks and values that exist; whether it is
 * valid is tw_ir_verify's to say. TW_MALFORMED, TW_LIMIT, TW_NO_MEMORY. Free with tw_ir_func_free. */
tw_status tw_ir_parse(const char *text, size_t size, tw_ir_func **out, tw_error *error); /* error->offset: byte in the text */

/* Every rule of docs/ir.md: types, dominance of uses, edge arity, terminators. module may be NULL (calls unchecked). */
tw_status tw_ir_verify(const tw_ir_func *func, const tw_wasm *module, tw_error *error);

#endif
