/* SPDX-License-Identifier: Apache-2.0 */
#ifndef TW_REGION_REGION_H
#define TW_REGION_REGION_H

/* Chooses the regions of a module and builds their models; says why not, when not.
 *
 *   function → lift → analysis → for each loop nest, outermost first: model? ── yes ──► region
 *                                                                         └─ no: refusal; try the loops inside
 *
 * A survey is immutable after tw_survey_new; threads may share it. */

#include "region/model.h"
#include "region/refusals.h"
#include "wasm/module.h"

/* Every loop of the module that analysis looked at, for `inspect`. */
typedef struct tw_survey_loop {
    char *name;        /* "function#ordinal", ordinals in code order from 0 */
    uint32_t func;
    uint64_t place;    /* module offset of the wasm `loop` opcode (of the header's first instruction where there is none) */
    uint32_t depth;    /* 1 for an outermost loop */
    uint16_t refusal;  /* tw_refusal; NONE for a region */
    char *detail;      /* for a refusal: what and where; else NULL */
    uint32_t region;   /* index of the region that it is, or is part of (refusal INNER_OF); TW_NONE */
} tw_survey_loop;

typedef struct tw_survey_region {
    tw_model *model;
    tw_model *other;            /* the same nest with scalars read back from memory (recall.c); same symbols, headers and exit. NULL:
                                   none. For arrivals on which `model` has no parallel loop */
    uint32_t func;
    uint64_t place;             /* of the wasm `loop` opcode */
    uint64_t size;              /* bytes of the loop's code; 0 for a whole function */
    bool nested;                /* has inner loops */
    bool whole_function;
    uint16_t hopeless;          /* tw_refusal: what all arrivals would be refused with that bring more than a handful of
                                   iterations (region/chance.h); NONE: it may pay. It is a region all the same */
    char *why_hopeless;         /* "dependence: …"; NULL for NONE */
    /* for the rewrite, in the order of the stub's signature: the model's symbols, live-ins first, then headers */
    uint32_t *live_ins, live_in_count;
    uint32_t *headers, header_count;
} tw_survey_region;

typedef struct tw_detector_options { /* nominates whole functions (the seeds' path) */
    bool enabled;
    double v128_ratio_threshold;
    uint64_t min_trip_count;
} tw_detector_options;

typedef struct tw_survey {
    tw_arena arena;
    tw_survey_loop *loops;     uint32_t loop_count, loop_capacity;
    tw_survey_region *regions; uint32_t region_count, region_capacity;
    struct tw_survey **parts;  uint32_t part_count; /* of a module's survey: its functions', which own the models; NULL for none */
} tw_survey;

/* Never fails on a valid module but for memory: a function that can't be analysed has its loops refused. threads: as many as
 * may work on it, this one included; what comes out doesn't depend on it. detector may be NULL. */
tw_status tw_survey_new(const tw_wasm *module, const tw_detector_options *detector, unsigned threads, tw_survey **out,
                        tw_error *error);
void tw_survey_free(tw_survey *survey);
void tw_survey_print(const tw_survey *survey, const tw_wasm *module, tw_bytes *out);

/* For `inspect`: how often each loop of the survey goes round, where the bytecode alone says it; 0 where it doesn't. counts has
 * room for survey->loop_count. Analyses every function with a loop once more: a run doesn't need it. */
void tw_survey_trips(const tw_wasm *module, const tw_survey *survey, uint64_t *counts);

/* The SSA form and analysis of the function that holds region `name`, for `inspect --dump=ir`. */
tw_status tw_survey_print_ir(const tw_wasm *module, const char *name, tw_bytes *out, tw_error *error);

#endif
