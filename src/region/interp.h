/* SPDX-License-Identifier: Apache-2.0 */
#ifndef TW_REGION_INTERP_H
#define TW_REGION_INTERP_H

/* The obvious, slow meaning of a model with numbers: what every schedule and every kernel must equal. For tests and
 * fuzzers; nothing at run time uses it. */

#include "region/facts.h"

typedef struct tw_interp {
    const tw_model *model;
    const tw_layout *layout;
    const uint64_t *args; /* as kernels get them */
    uint8_t *memory;
    uint64_t memory_size;
    uint64_t *outputs;      /* NULL when the model has none */
    bool canonical_nan;
    const tw_facts *facts;  /* with `shuffle`: loops that are parallel are run in a random order; may be NULL else */
    uint64_t shuffle;       /* 0: program order; else a seed */
    /* Called before each access that is made; counters by loop. NULL: nobody wants to know. */
    void (*touch)(void *context, uint32_t access, const uint64_t *counters, uint64_t address);
    void *context;
} tw_interp;

/* Trips first … last-1 of loop 0 (or the items of a region without loops). An access outside memory fails with TW_INVALID
 * and leaves what was done before it. */
tw_status tw_model_run(const tw_interp *interp, int64_t first, int64_t last, tw_error *error);

/* One PURE scalar operation or select, or a division as models have it, on raw bits. False: not such an operation. */
bool tw_interp_op(tw_op op, const uint64_t args[3], uint64_t *out);

#endif
