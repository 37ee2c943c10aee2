/* SPDX-License-Identifier: Apache-2.0 */
#ifndef TW_WASM_NEST_H
#define TW_WASM_NEST_H

/* A loop of the bytecode with all that is inside it, and the ways out of it. The rewriter outlines it; the region builder
 * asks it for exit numbers, so that both mean the same by "exit n". Code that can't be reached counts for nothing here. */

#include "wasm/module.h"

/* Exits are numbered from 1 in the order in which their label is first branched to in the code; running off the loop's end
 * comes at its place, last. exits[n - 1] is exit n. `return` is a branch to the function's own label. A dead end between the
 * loop's brackets that calls isn't the nest's: control leaves it there, and the exit comes where that begins. */
typedef struct tw_nest_exit {
    uint64_t dead_end;   /* module offset where such a one begins; the rest but `dead_end_end` is then unset. Else 0 */
    uint64_t dead_end_end;
    bool falls_through;  /* off the end of the loop */
    uint32_t depth;      /* label as seen from right outside the loop: 0 = the innermost block around it */
    uint32_t arity;      /* values that the label takes; 0 when falling through */
    uint64_t branch;     /* module offset of the first instruction that branches there; 0 when falling through */
    uint64_t
        target; /* module offset of where the code goes on: after the label's end, or the enclosing loop's opcode */
    uint64_t continues;  /* the same, but past every `end`, `else` and `block` that comes first: exits with
                          * equal `continues` go on alike. The function's end: the offset of its last `end` */
} tw_nest_exit;

typedef struct tw_nest {
    uint32_t func;
    uint64_t loop_offset;  /* of the `loop` opcode */
    uint64_t end_offset;   /* of its `end` opcode */
    uint64_t first_offset; /* of the first instruction inside */
    bool has_type;         /* the loop takes or gives values */
    bool nested;           /* a loop inside */
    tw_nest_exit *exits;
    uint32_t exit_count, exit_capacity;
    uint8_t *touched;      /* by local: TW_NEST_READ | TW_NEST_WRITTEN, inside the nest; | TW_NEST_AT_DEAD_END */
    const uint8_t *local_types;
    uint32_t local_count;
    /* First instruction of each sort inside, for a refusal; 0 = none. */
    uint64_t call, grow, table;
} tw_nest;
enum { TW_NEST_READ = 1, TW_NEST_WRITTEN = 2, TW_NEST_TOUCHED = 3, TW_NEST_AT_DEAD_END = 4 /* read by an exit's dead end */ };

/* Everything from `arena`. TW_NOT_FOUND when no reachable `loop` of the function is at loop_offset. */
tw_status tw_wasm_nest(const tw_wasm *module, uint32_t func, uint64_t loop_offset, tw_arena *arena, tw_nest *out,
                       tw_error *error);
/* Number of the exit taken by a branch to `depth` as seen from right outside the loop; 0 when there is none. */
uint32_t tw_nest_exit_number(const tw_nest *nest, uint32_t depth);
/* The exit whose dead end begins at this module offset; NULL when there is none. */
const tw_nest_exit *tw_nest_dead_end(const tw_nest *nest, uint64_t offset);
/* Number of the exit off the loop's end; 0 when it can't be reached. */
uint32_t tw_nest_fall_through(const tw_nest *nest);
/* Number of the first exit that goes on at module offset `continues`; 0 when there is none. */
uint32_t tw_nest_exit_to(const tw_nest *nest, uint64_t continues);

#endif
