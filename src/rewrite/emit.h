/* SPDX-License-Identifier: Apache-2.0 */
#ifndef TW_REWRITE_EMIT_H
#define TW_REWRITE_EMIT_H

/* Writing one function's new body: instructions, and for each the place in the user's module that it stands for. */

#include "rewrite/probes.h"
#include "rewrite/rewrite.h"

typedef struct tw_emit {
    tw_bytes code; /* failures stick; tw_emit_finish tells */
    tw_edit *edit;
    uint32_t func;
} tw_emit;

/* Everything from here on stands for module offset `original`. */
void tw_emit_place(tw_emit *e, uint64_t original);
void tw_emit_op(tw_emit *e, tw_op op);
void tw_emit_index(tw_emit *e, tw_op op, uint32_t index);
void tw_emit_i32(tw_emit *e, int32_t value);
void tw_emit_i64(tw_emit *e, int64_t value);
/* block, loop or if of type [] -> []. */
void tw_emit_block(tw_emit *e, tw_op op);
/* A block of type [] -> results. */
void tw_emit_result_block(tw_emit *e, const uint8_t *results, uint32_t count);
/* global += value, for an i32. */
void tw_emit_add_to(tw_emit *e, uint32_t global, int32_t value);
void tw_emit_call_indirect(tw_emit *e, uint32_t type, uint32_t table);
void tw_emit_instr(tw_emit *e, const tw_instr *instr);
/* The instruction as it is in the user's module, and its place. */
void tw_emit_copy(tw_emit *e, const tw_wasm *module, const tw_instr *instr);
/* local.get or local.set of each of `count` locals; set goes from last to first, as results lie on the stack. */
void tw_emit_gets(tw_emit *e, const uint32_t *locals, uint32_t count);
void tw_emit_sets(tw_emit *e, const uint32_t *locals, uint32_t count);
/* At a loop's header: touches memory at an address that is never the same twice in a row. */
void tw_emit_loop_probe(tw_emit *e, uint32_t counter, uint32_t memory);
/* At a function's entry: touches memory. */
void tw_emit_entry_probe(tw_emit *e, uint32_t memory);
/* The local declarations of a user's function, with `extra` locals (tw_type bytes) behind them. */
tw_status tw_emit_locals(tw_emit *e, const tw_wasm *module, uint32_t func, const uint8_t *extra, uint32_t extra_count,
                         tw_error *error);
/* Declarations of `count` locals from nothing. */
void tw_emit_new_locals(tw_emit *e, const uint8_t *types, uint32_t count);
/* Gives the body to the edit: defines an appended function, replaces an existing one. Frees the code. */
tw_status tw_emit_finish(tw_emit *e, bool replaces, tw_error *error);

#endif
