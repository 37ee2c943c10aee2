/* SPDX-License-Identifier: Apache-2.0 */
#ifndef TW_WASM_FLOW_H
#define TW_WASM_FLOW_H

/* The open labels of a function while its code is read, and which code can be reached as far as structure tells: after
 * an unconditional branch nothing is live until the end or else of the innermost block; an end is live when it was
 * fallen into or branched to from live code. */

#include "wasm/module.h"

typedef struct tw_flow_label {
    tw_op op;          /* BLOCK, LOOP, IF, ELSE (an if in its second arm); the function's own: BLOCK */
    uint64_t offset;   /* of the opcode; 0 for the function's own */
    uint32_t params, results; /* how many */
    bool live_before;  /* its start can be reached */
    bool targeted;     /* its end is branched to, or fallen into from a first arm */
} tw_flow_label;

typedef struct tw_flow {
    const tw_wasm *module;
    tw_arena *arena;
    uint32_t func;
    tw_flow_label *labels; /* outermost first; [0] is the function's own */
    uint32_t depth, capacity;
    bool live;             /* the next instruction can be reached */
} tw_flow;

tw_status tw_flow_begin(tw_flow *flow, const tw_wasm *module, uint32_t func, tw_arena *arena, tw_error *error);
/* Takes the next instruction into account. After the function's last end depth is 0. */
tw_status tw_flow_step(tw_flow *flow, const tw_instr *instr, tw_error *error);

/* The labels that an instruction may branch to, as depths: br, br_if, br_table, and return (the outermost label, so the
 * caller gives the number of open ones). *at is the iteration's state, NULL at first. False when there are no more. */
bool tw_flow_next_branch(const tw_instr *instr, uint32_t open, const uint8_t **at, uint32_t *depth);

#endif
