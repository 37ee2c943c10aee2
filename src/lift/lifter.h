/* SPDX-License-Identifier: Apache-2.0 */
#ifndef TW_LIFT_LIFTER_H
#define TW_LIFT_LIFTER_H

/* Inside src/lift only: the state of one lift.
 *
 * WebAssembly's control is structured, so SSA needs no search for where values meet: they meet at the end of a block
 * or an if, and at the header of a loop. A first walk lists, for every construct, the locals written inside it; only
 * these can differ where its branches meet. The second walk keeps the current value of each local and of each stack slot;
 * a branch to a forward label notes the values of the label's locals, the label's end makes parameters of those that
 * differ. A loop's header gets a parameter for each local written in the loop; the simplifier removes what turns out
 * to be always the same. Code after a branch is skipped up to the end of its construct.
 *
 * Cost: a value noted for each branch and local written in the branch's target. The lists live in arenas with the caller's
 * limit, so hostile nesting ends in TW_LIMIT and not in a long wait. */

#include "ir/ir.h"
#include "lift/lift.h"

typedef struct tw_local_list {
    const uint32_t *locals;
    uint32_t count;
} tw_local_list;

/* For the i-th block, loop or if of the body (in the order of their opcodes, dead ones included). */
typedef struct tw_assigned {
    tw_local_list *lists;
    uint32_t count;
} tw_assigned;

tw_status tw_lift_assigned(const tw_wasm *module, uint32_t func, tw_arena *arena, tw_assigned *out, tw_error *error);

/* A branch to a label that hasn't been reached: its values wait for the label's parameters. */
typedef struct tw_pending {
    tw_ir_block from;
    uint32_t edge;
    tw_ir_value *values; /* the label's results, then its locals */
} tw_pending;

typedef enum tw_frame_kind { TW_FRAME_FUNC, TW_FRAME_BLOCK, TW_FRAME_LOOP, TW_FRAME_IF, TW_FRAME_ELSE } tw_frame_kind;

typedef struct tw_frame {
    tw_frame_kind kind;
    tw_functype type;
    uint32_t height;           /* of the operand stack without the parameters */
    tw_local_list assigned;
    tw_ir_block opened_in;
    uint64_t offset;           /* of the opcode */
    tw_ir_block header;        /* LOOP */
    tw_ir_value *entry_values; /* IF: parameters, then locals of `assigned`, as they were at the if */
    tw_ir_block else_from;     /* IF: the block whose edge 1 is to the else part */
    tw_pending *pending;
    uint32_t pending_count, pending_capacity;
} tw_frame;

typedef struct tw_lifter {
    const tw_wasm *module;
    uint32_t func_index;
    tw_ir_func *func;
    tw_arena scratch;
    tw_error *error;
    tw_reader reader;
    tw_instr instr;
    const uint8_t *code_locals;     /* type of each local */
    tw_assigned assigned;
    uint32_t constructs;       /* opened so far */
    tw_ir_block block;         /* being filled; TW_IR_NO_BLOCK in dead code */
    uint32_t dead_depth;       /* constructs opened in dead code */
    tw_ir_value *locals;
    tw_ir_value *stack;
    uint32_t stack_count, stack_capacity;
    tw_frame *frames;
    uint32_t frame_count, frame_capacity;
} tw_lifter;

tw_status tw_lift_fail(tw_lifter *lifter, const char *what); /* TW_INVALID at the current instruction */
tw_status tw_lift_memory(tw_lifter *lifter);                 /* TW_LIMIT, or TW_NO_MEMORY without a limit */

tw_status tw_lift_push(tw_lifter *lifter, tw_ir_value value);
tw_status tw_lift_pop(tw_lifter *lifter, tw_ir_value *out);
/* Checks the type. */
tw_status tw_lift_pop_typed(tw_lifter *lifter, tw_type type, tw_ir_value *out);
/* The top values of these types, in order, taken off; *out lives in scratch. */
tw_status tw_lift_pop_list(tw_lifter *lifter, const uint8_t *types, uint32_t count, tw_ir_value **out);
/* A block that control reaches from `base` with base's locals. */
tw_status tw_lift_new_block(tw_lifter *lifter, tw_ir_block base, uint64_t offset, tw_ir_block *out);
/* Notes that the current block holds a write to a local. */
tw_status tw_lift_note_set(tw_lifter *lifter, uint32_t local, tw_ir_value value);

tw_status tw_lift_open_func(tw_lifter *lifter);
/* Every instruction of kind CONTROL but calls. */
tw_status tw_lift_control(tw_lifter *lifter);

#endif
