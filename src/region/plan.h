/* SPDX-License-Identifier: Apache-2.0 */
#ifndef TW_REGION_PLAN_H
#define TW_REGION_PLAN_H

/* The plan: a model's exprs, evaluated with one arrival's numbers. Microseconds, no allocation after tw_plan_new. */

#include "region/model.h"

/* Guest memory as the plan may read it. */
typedef struct tw_plan_memory {
    const uint8_t *base;
    uint64_t size;
} tw_plan_memory;

typedef struct tw_numbers_loop {
    /* trips(n) = t0 + Σ t[d]·n_d over enclosing loops, proven for every value of their counters; never negative there. */
    int64_t t0, t[TW_MODEL_MAX_DEPTH];
    int64_t least, most; /* trips, over all values of the outer counters */
    bool varies;
    double average;      /* trips, for estimates */
} tw_numbers_loop;

typedef struct tw_numbers_access {
    int64_t base;                       /* effective address at all counters 0, offset included */
    int64_t stride[TW_MODEL_MAX_DEPTH]; /* bytes, signed, by depth of the enclosing loop */
    int64_t low, high;                  /* every byte touched lies in [low, high); low == high: no trip */
} tw_numbers_access;

typedef struct tw_numbers_affine {
    uint64_t c0, c[TW_MODEL_MAX_DEPTH]; /* modulo 2^bits */
} tw_numbers_affine;

/* One arrival in numbers. Arrays have the model's counts. */
typedef struct tw_numbers {
    uint64_t *symbols;          /* raw bits, in the model's order */
    uint64_t iterations;        /* of loop 0 that a kernel is to run: counters 0 … iterations-1; a multiple of model->copies */
    bool leaves;                /* after them the loop has been left through model->exit; else the guest goes on */
    tw_numbers_loop *loops;
    tw_numbers_access *accesses;
    tw_numbers_affine *affines;
    bool read_memory;           /* a number came from guest memory: the verdict holds only until the memory changes */
    double work;                /* estimated operations in all */
    uint16_t refusal;           /* tw_refusal; TW_REFUSAL_NONE when all holds */
    char detail[160];           /* for a refusal */
} tw_numbers;

typedef struct tw_plan tw_plan;
/* Borrows the model. One thread at a time. */
tw_status tw_plan_new(const tw_model *model, tw_plan **out, tw_error *error);
void tw_plan_free(tw_plan *plan);

/* Evaluates with tw_plan_numbers(plan)->symbols filled in by the caller. The result is true when a kernel may run as far
 * as trip counts, windows, bounds against memory.size and checks go (dependences are dispatch's business); else
 * numbers->refusal says why not. */
bool tw_plan_evaluate(tw_plan *plan, tw_plan_memory memory);
tw_numbers *tw_plan_numbers(tw_plan *plan);

/* Value of header h after `iterations` iterations of loop 0, a multiple of model->copies. */
uint64_t tw_plan_header_after(const tw_plan *plan, uint32_t header, uint64_t iterations);
/* Value of live-out o after the loop was left with numbers->iterations iterations run. */
uint64_t tw_plan_live_out(const tw_plan *plan, uint32_t live_out);

/* Readable form of the model's exprs, trip counts and checks. */
void tw_plan_print(const tw_model *model, tw_bytes *out);

#endif
