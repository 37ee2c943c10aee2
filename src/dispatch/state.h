/* SPDX-License-Identifier: Apache-2.0 */
#ifndef TW_DISPATCH_STATE_H
#define TW_DISPATCH_STATE_H

/* What an instance knows about each of its regions. Only the guest's thread touches it.
 *
 *   verdict   numbers that were found good, remembered with all that a run needs
 *   variant   a set of facts and the kernel for it
 *   pending   iterations that were given back to the original code and have perhaps not run yet
 *   rates     what was measured, by size class (log2 of the plan's work) */

#include "device/device.h"
#include "dispatch/dispatch.h"
#include "kcache/kcache.h"
#include "region/facts.h"

enum { TW_VARIANTS = 8, TW_VERDICTS = 4, TW_SIZE_CLASSES = 64 };

struct tw_program {
    tw_dispatch_region *regions;
    tw_region_id *ids;
    uint32_t count;
};

typedef struct tw_variant {
    tw_facts facts;
    tw_kernel *kernel; /* NULL: free slot */
    uint64_t used;
} tw_variant;

typedef struct tw_shape { /* of one arrival: how much there is to do */
    uint64_t iterations; /* of the outermost loop */
    double each, work;   /* innermost iterations in one of them; the plan's work in all */
    uint32_t size_class;
} tw_shape;

typedef struct tw_verdict {
    bool valid;             /* may be recalled */
    uint64_t memory_size;
    uint64_t *symbols, *args, *after; /* after: header values, or results' space, when all has run */
    tw_kernel *kernel;      /* a variant's */
    tw_shape shape;
    bool leaves;
    uint32_t threads, runs; /* chosen; since it was chosen */
    double nanoseconds;     /* a run, as last measured or estimated, on `threads` threads */
    double one_nanoseconds; /* the same on one */
} tw_verdict;

typedef struct tw_pending {
    bool active, measures;        /* measures: the turn of a one-level loop is one of just this shape */
    bool rests;                   /* entries are calls of the function that don't come by */
    uint64_t *symbols, *steps;    /* header symbols' steps; 0 for others */
    tw_shape shape;
    uint64_t countdown, since;    /* the answer's; clock */
    uint64_t entries;             /* that the answer stands for: arrivals that don't ask */
} tw_pending;

typedef struct tw_rate {
    double value; /* a minimum that forgets slowly */
    uint32_t samples;
} tw_rate;

typedef struct tw_rates {
    bool recalled, changed;
    tw_rate original, one, many; /* nanoseconds per unit of work */
    tw_rate turn, gap;           /* from an answer to the next arrival, in the original code and after a kernel … */
    double turn_work;            /* … with this much work */
    uint32_t many_threads, lost; /* lost: consecutive arrivals refused as slower */
} tw_rates;

typedef struct tw_region_state {
    const tw_dispatch_region *region;
    const tw_region_id *id;
    const tw_model *model;  /* the region's model; its other one from when that has shown what the first hid */
    bool prepared, off;
    tw_arena arena;
    tw_plan *plan, *other_plan; /* other_plan: of the region's other model, while that isn't in use */
    tw_layout layout;
    uint64_t *masks; /* by symbol: the bits that its type has */
    tw_verdict verdicts[TW_VERDICTS];
    uint32_t last_verdict;
    tw_variant *variants; /* TW_VARIANTS */
    uint64_t clock;
    uint32_t requested;   /* compilations asked for */
    tw_variant *awaited;  /* not yet compiled when last looked at */
    tw_pending pending;
    tw_rates *rates;      /* TW_SIZE_CLASSES */
    uint64_t left_at;     /* clock at the last answer that followed a kernel; 0: not taken */
    tw_shape left_shape;
    uint64_t *seen;       /* symbols of the last arrival that was looked at and wasn't a loop's continuation */
    uint32_t strangers;   /* consecutive arrivals with other numbers than that */
    double heat;          /* nanoseconds of original code seen, about */
    double interval;      /* nanoseconds per unit of countdown; 0: unknown */
    double cost;          /* nanoseconds of an evaluation */
    uint32_t losses;      /* consecutive answers without a run */
    tw_region_stats stats;
} tw_region_state;

struct tw_dispatch {
    const tw_program *program;
    tw_dispatch_options options;
    const char *identity; /* of the compiler, once asked for */
    tw_region_state *states;
};

enum { TW_CALM = 200 }; /* asking may take 1/200 of the time */

/* ---- shape.c ---- */

/* What the plan's numbers amount to. known: trip counts were found, even if something else was refused. */
tw_shape tw_shape_of(const tw_model *model, const tw_numbers *numbers, bool *known);
/* Numbers as a kernel's words. */
void tw_args_fill(const tw_model *model, const tw_numbers *numbers, const tw_layout *layout, uint64_t *args);

/* ---- variants.c ---- */

/* The variant for these facts, or one whose facts they imply and that is ready; makes and asks for one when `ask`. NULL: none,
 * and *failed says whether it can't be had (detail says why) or wasn't asked for. */
tw_variant *tw_variant_for(tw_dispatch *dispatch, tw_region_state *state, const tw_facts *facts, bool ask, bool *failed,
                           char detail[200]);
void tw_variants_free(tw_region_state *state);

/* ---- profit.c ---- */

/* Nanoseconds of the original code for this much work: measured, else estimated. */
double tw_original_time(const tw_region_state *state, const tw_shape *shape);
/* Threads for a run; 0: the original is faster. Sets the verdict's threads and estimates. overhead: nanoseconds that a dispatch
 * adds to the run. */
uint32_t tw_choose(tw_dispatch *dispatch, tw_region_state *state, tw_verdict *verdict, double overhead);
/* True when the original code should run once so that it can be measured; *countdown says for how long. */
bool tw_measure_original(tw_region_state *state, const tw_shape *shape, uint64_t *countdown);
/* True while gaps are too few. */
bool tw_wants_gap(const tw_region_state *state, const tw_shape *shape);
void tw_note_run(tw_region_state *state, tw_verdict *verdict, uint32_t threads, double nanoseconds);
/* iterations of the outermost loop ran in the original code. */
void tw_note_original(tw_region_state *state, const tw_shape *shape, uint64_t iterations, double nanoseconds);
void tw_note_turn(tw_region_state *state, const tw_shape *shape, double nanoseconds);
void tw_note_gap(tw_region_state *state, const tw_shape *shape, double nanoseconds);
/* The next question is worth `cost` nanoseconds after so many arrivals or outer iterations. */
uint64_t tw_space_out(const tw_region_state *state, const tw_shape *shape, double cost);
void tw_rates_recall(tw_dispatch *dispatch, tw_region_state *state, uint32_t size_class);
void tw_rates_learn(tw_dispatch *dispatch, tw_region_state *state);

#endif
