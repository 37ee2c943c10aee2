/* SPDX-License-Identifier: Apache-2.0 */
#ifndef TW_ANALYSIS_ANALYSIS_H
#define TW_ANALYSIS_ANALYSIS_H

/* What is true of a function, computed when first asked for and then kept.
 *
 *   cfg ─► loops ─► recurrences (evolution of a value) ─► trips, accesses
 *      └► ranges
 *
 * Scope. A question about a value is asked from inside a loop, the scope (or TW_NO_LOOP: from outside all loops). The answer
 * speaks of the current iteration of the scope and of every loop around it: COUNTER atoms of these loops only. Loops that
 * are over when the value is used appear as ARRIVALS. The value must be usable there: its definition dominates some use in the scope.
 *
 * An atom is invariant in loop L when no iteration of L changes it: VALUE of something defined outside L, COUNTER of a
 * loop that isn't L or inside L, ARRIVALS of a loop not inside L or one whose count is provably the same each time.
 *
 * The function must not change while an analysis of it is in use. One thread at a time. Out of memory (or over the
 * memory limit) answers turn into the weakest true ones (opaque, no trip count, full range) and tw_analysis_failed says so;
 * a caller that builds something from the answers asks it once at the end. */

#include "analysis/cfg.h"
#include "analysis/poly.h"
#include "analysis/trip.h"

typedef struct tw_analysis tw_analysis;

/* Borrows func. Free with tw_analysis_free. */
tw_status tw_analysis_new(const tw_ir_func *func, size_t memory_limit, tw_analysis **out, tw_error *error);
void tw_analysis_free(tw_analysis *analysis);
bool tw_analysis_failed(const tw_analysis *analysis);
const tw_ir_func *tw_analysis_func(const tw_analysis *analysis);
/* For results that shall live as long as the analysis. */
tw_arena *tw_analysis_arena(tw_analysis *analysis);

/* NULL only when out of memory. */
const tw_cfg *tw_analysis_cfg(tw_analysis *analysis);
const tw_loops *tw_analysis_loops(tw_analysis *analysis);

/* ---- values ---- */

/* The value as a polynomial (bits of its type), seen from scope. Integer values only; NULL for other types and
 * when out of memory. What can't be expressed is the VALUE atom of itself. */
const tw_poly *tw_evolution_of(tw_analysis *analysis, tw_ir_value value, tw_loop scope);

typedef enum tw_param_kind {
    TW_PARAM_OTHER,     /* neither, or not known */
    TW_PARAM_INVARIANT, /* keeps its entry value: init */
    TW_PARAM_AFFINE,    /* init + step * COUNTER(loop); step is invariant in the loop and not 0 */
} tw_param_kind;

typedef struct tw_recurrence {
    tw_param_kind kind;
    tw_loop loop;        /* whose header has the parameter */
    const tw_poly *init; /* seen from the loop's parent; NULL for OTHER */
    const tw_poly *step; /* seen from the loop; zero polynomial for INVARIANT, NULL for OTHER */
    const tw_poly *given; /* all this is so provided that it is 0; NULL: in any case. For outermost loops only */
} tw_recurrence;

/* param: a parameter of the header of a loop; anything else gives OTHER with loop TW_NO_LOOP. */
tw_recurrence tw_recurrence_of(tw_analysis *analysis, tw_ir_value param);

/* No iteration of loop changes any atom of poly; see above. False for NULL. */
bool tw_poly_invariant(tw_analysis *analysis, const tw_poly *poly, tw_loop loop);

/* Known bits and unsigned range, for i32 and i64. Bits above the type's width are known zero. */
typedef struct tw_range {
    uint64_t zero, one; /* bits known to be 0, known to be 1 */
    uint64_t min, max;  /* unsigned, inclusive */
} tw_range;
tw_range tw_range_of(tw_analysis *analysis, tw_ir_value value);

/* ---- loops ---- */

/* One exit of a loop whose test is an integer comparison of a value that advances evenly with one that doesn't
 * change, made once in every iteration that reaches it. */
typedef struct tw_trip {
    bool known;       /* false: why says why not, the rest is unset */
    const char *why;  /* static text */
    tw_compare compare; /* the loop goes on through this test while lhs CMP bound */
    uint8_t bits;
    const tw_poly *start, *step; /* lhs in iteration k is start + k*step; step as seen from the loop, start and bound */
    const tw_poly *bound;        /* from its parent; all three invariant in the loop */
    bool loaded; /* start and bound are so only provided that no store of the loop touches what it loads for them */
} tw_trip;

/* One for each exit, in the order of tw_loopdata.exits. The exit of edge e is taken in the first iteration in which some
 * test fails; of tests failing in the same iteration the one first in program order is taken. NULL only when out of memory. */
const tw_trip *tw_trips_of(tw_analysis *analysis, tw_loop loop);

typedef struct tw_access {
    uint32_t inst; /* index into the function's insts */
    tw_op op;
    tw_ir_block block;
    tw_loop loop;   /* innermost around it; the scope of address */
    uint32_t width; /* bytes touched */
    bool is_store;
    const tw_poly *address; /* 32 bits; the bytes are at (address mod 2^32) + offset */
    uint64_t offset;
} tw_access;

/* Something that touches memory or the world in another way: calls, memory.copy/fill/init/grow/size, global.set/get,
 * tables, traps that aren't loads or stores stay out (ask the instruction's kind). */
typedef struct tw_effect {
    uint32_t inst;     /* UINT32_MAX: the tail call that ends `block` */
    tw_op op;
    tw_ir_block block;
} tw_effect;

typedef struct tw_accesses {
    uint32_t access_count, effect_count;
    const tw_access *accesses; /* in program order (reverse post-order of blocks) */
    const tw_effect *effects;
} tw_accesses;

/* Of all blocks of the loop, inner loops included; TW_NO_LOOP: the whole function. NULL only when out of memory. */
const tw_accesses *tw_accesses_of(tw_analysis *analysis, tw_loop loop);

typedef struct tw_values {
    uint32_t count;
    const tw_ir_value *items; /* ascending, without constants */
} tw_values;

/* Defined in the loop and used outside it (exit edges' arguments count as outside). */
tw_values tw_live_outs_of(tw_analysis *analysis, tw_loop loop);
/* Defined outside the loop and used inside it (entry edges' arguments don't count). */
tw_values tw_live_ins_of(tw_analysis *analysis, tw_loop loop);

/* Everything above, as text for golden tests and `inspect`. */
void tw_analysis_print(tw_analysis *analysis, tw_bytes *out);

/* ---- a pass ---- */

/* Jump threading, IR → IR: a jump to a block that only chooses by one of its parameters (switch, branch), with a constant
 * for it, goes straight to the chosen successor. Go's functions keep their loops behind such a switch. *changed says whether
 * anything was; if so the function has been simplified again: all numbers are new, local_values have followed, local sets are
 * gone. Very large functions are left alone. TW_NO_MEMORY leaves the function unusable. */
tw_status tw_thread_jumps(tw_ir_func *func, bool *changed, tw_error *error);

#endif
