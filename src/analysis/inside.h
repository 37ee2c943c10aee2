/* SPDX-License-Identifier: Apache-2.0 */
#ifndef TW_ANALYSIS_INSIDE_H
#define TW_ANALYSIS_INSIDE_H

/* Inside src/analysis only: the object and what its pieces show each other. */

#include "analysis/analysis.h"

enum { TW_UNKNOWN, TW_VISITING, TW_KNOWN }; /* state of a value in a walk */

typedef struct tw_walk_frame {
    tw_ir_value value;
    uint32_t next; /* operand to look at next */
} tw_walk_frame;

typedef struct tw_memo_slot {
    uint64_t key; /* value << 32 | scope + 1; 0 = empty */
    const tw_poly *poly;
} tw_memo_slot;

struct tw_analysis {
    tw_arena arena;
    const tw_ir_func *func;
    bool failed;
    bool shapeless; /* cfg or loops were over the limit: not tried again */
    tw_cfg *cfg;
    tw_loops *loops;
    /* evolution.c */
    const tw_poly **raw;        /* by value: over VALUE atoms, header parameters among them */
    uint8_t *raw_state;
    const tw_poly **closed;     /* by value, header parameters only: init + step*COUNTER, init as raw; NULL unless affine or invariant */
    tw_recurrence *recurrences; /* by value, header parameters only */
    uint8_t *recurrence_state;
    uint32_t solving;           /* recurrences in progress: what is found meanwhile may be weaker and isn't kept */
    tw_memo_slot *memo;
    uint32_t memo_slots, memo_count;
    tw_arena scratch;           /* polynomials on the way to a resolved one */
    uint32_t resolving;         /* resolutions in progress that use it */
    uint32_t substitutions;     /* made so far */
    /* trips.c */
    tw_trip **trips; /* by loop */
    /* range.c */
    tw_range *ranges;
    uint8_t *range_state;
    /* access.c, live.c */
    tw_accesses **accesses; /* by loop; the function's comes last */
    tw_values *live_ins, *live_outs; /* by loop */
    /* walk.c */
    tw_walk_frame *walk;
    uint32_t walk_count, walk_capacity;
};

/* Remembers that memory ran out and gives NULL. */
void *tw_analysis_fail(tw_analysis *analysis);

/* Visits root and what it depends on, operands first, without recursion: `settle` is called once for each value whose state
 * isn't TW_KNOWN, when all its operands are known, or still being visited (a cycle without a natural loop's header). Operands are
 * an instruction's arguments, a join's incoming arguments, a loop header's arguments from outside. */
void tw_analysis_walk(tw_analysis *analysis, tw_ir_value root, uint8_t *state,
                      void (*settle)(tw_analysis *analysis, tw_ir_value value));

/* The loop whose header has this parameter; TW_NO_LOOP for any other value. */
tw_loop tw_header_loop(tw_analysis *analysis, tw_ir_value value);
uint8_t tw_value_bits(const tw_analysis *analysis, tw_ir_value value); /* 32, 64; 0 when no integer */

/* tw_trips_of while recurrences are being solved: not kept. */
const tw_trip *tw_trips_find(tw_analysis *analysis, tw_loop loop);

#endif
