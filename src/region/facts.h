/* SPDX-License-Identifier: Apache-2.0 */
#ifndef TW_REGION_FACTS_H
#define TW_REGION_FACTS_H

/* What dispatch found out from the numbers, as far as a kernel may rely on it: the assumptions of a variant. A kernel is
 * compiled for one model and one set of facts and may be used whenever a dispatch establishes the same set. */

#include "region/model.h"

typedef enum tw_stride { TW_STRIDE_ANY, TW_STRIDE_ZERO, TW_STRIDE_UNIT } tw_stride; /* unit: the access's width */

/* How far on, at least, in the counters of a pair of loops. */
typedef struct tw_distance {
    int8_t outer, inner;
} tw_distance;

enum { TW_FACTS_DISTANCES = 8 };

typedef struct tw_facts {
    /* by loop */
    bool parallel[TW_MODEL_MAX_LOOPS];  /* no dependence between its iterations, for equal outer counters */
    /* Of a parallel loop: its iterations are independent of each other even when the counters of this many loops just
     * around it differ too (those further out being equal). 0: parallel and no more. C[i][j] += A[i][l]·B[l][j], loops i, l, j:
     * j is free over 1 loop, l (and over 2 if rows don't overlap): what interchange and tiles need. */
    uint8_t free[TW_MODEL_MAX_LOOPS];
    /* Where no loop is parallel there may be a pair of them, the loop `pair` and the one around it, whose dependences are known: of two
     * different iterations of the pair (counters further out being equal) that touch a common byte, the later one is ahead
     * of the earlier by at least one of these distances, in both counters. None: nothing is known of any pair. */
    uint8_t pair, distance_count;
    tw_distance distance[TW_FACTS_DISTANCES];
    bool dead[TW_MODEL_MAX_LOOPS];      /* never has a trip */
    bool varying[TW_MODEL_MAX_LOOPS];   /* its trip count depends on outer counters */
    uint64_t trips[TW_MODEL_MAX_LOOPS]; /* a hint for cost only, rounded to a power of two: no assumption */
    /* by access and depth of the enclosing loop */
    uint8_t stride[TW_MODEL_MAX_ACCESSES][TW_MODEL_MAX_DEPTH]; /* tw_stride */
    /* accesses of different groups never touch a common byte (reads among themselves aside) */
    uint8_t group[TW_MODEL_MAX_ACCESSES];
    bool canonical_nan;
    bool checked; /* every access is tested as it is made, for checked builds: no assumption */
} tw_facts;

/* "fact …" lines after the model's text; together they are the request to the compile worker and the cache key. */
void tw_facts_print(const tw_model *model, const tw_facts *facts, tw_bytes *out);
/* text: only the fact lines. Every line is checked; the order doesn't matter. */
tw_status tw_facts_parse(const tw_model *model, const char *text, size_t size, tw_facts *out, tw_error *error);

/* Where a kernel finds its numbers: `args` is an array of 64-bit words laid out from the model alone. */
typedef struct tw_layout {
    uint32_t trips[TW_MODEL_MAX_LOOPS];      /* t0, then one coefficient for each enclosing loop, outermost first; an int64 each */
    uint32_t access[TW_MODEL_MAX_ACCESSES];  /* base (int64, bytes from the memory's start), then a stride for each enclosing loop */
    uint32_t *affine;                        /* by affine: c0, then a coefficient for each enclosing loop (wrapped to its bits) */
    uint32_t *symbol;                        /* by symbol: raw bits */
    uint32_t count;                          /* words in all */
} tw_layout;
/* Arrays come from `arena`. False when out of memory. */
bool tw_layout_make(const tw_model *model, tw_arena *arena, tw_layout *out);

#endif
