/* SPDX-License-Identifier: Apache-2.0 */
#ifndef TW_DISPATCH_DISPATCH_H
#define TW_DISPATCH_DISPATCH_H

/* Answers stubs. An arrival brings a region's numbers; the answer is the loop's state after however many iterations
 * dispatch chose to run in a kernel, possibly none.
 *
 *   arrive: same numbers as last time? ── yes ──► run the remembered kernel
 *      │ no
 *   plan (region/plan.h) ─► legality: dependences, groups, strides → facts ─► worth it? ─► kernel: kcache / compile
 *      │                                                                                     │
 *      └── refused: count it, space the next arrivals out, give the inputs back              └─► run (device/cpu), chunked
 *
 * A tw_program is a module's share: models, immutable, any thread. A tw_dispatch is an instance's share: one thread (the
 * guest's), but for the stop flag. */

#include <stdatomic.h>

#include "base/bytes.h"
#include "base/error.h"
#include "base/raw.h"
#include "compile/compile.h"
#include "region/model.h"
#include "region/plan.h"
#include "region/refusals.h"

struct tw_kcache;
struct tw_device;

typedef enum tw_dispatch_mode { TW_DISPATCH_AUTO, TW_DISPATCH_FORCE } tw_dispatch_mode;
typedef enum tw_dispatch_kind { TW_DISPATCH_REAL, TW_DISPATCH_ECHO, TW_DISPATCH_TRAP } tw_dispatch_kind;

/* One region of a module, in the order of the rewrite's sites. */
typedef struct tw_dispatch_region {
    const tw_model *model; /* borrowed; outlives the program */
    const tw_model *other; /* the same nest with scalars read back from memory, or NULL; likewise */
    bool whole_function;   /* no loop behind it: the kernel must answer */
    bool nested;           /* the countdown is in the outer header, else at entry */
} tw_dispatch_region;

/* Copies the array; hashes each model's text. Immutable: any thread, any number of dispatches, which it must outlive. */
typedef struct tw_program tw_program;
tw_status tw_program_new(const tw_dispatch_region *regions, uint32_t count, tw_program **out, tw_error *error);
void tw_program_free(tw_program *program);

typedef struct tw_dispatch_options {
    tw_dispatch_mode mode;
    tw_dispatch_kind kind;
    uint32_t threads;       /* at least 1 */
    bool canonical_nan;
    uint64_t tenant;
    struct tw_kcache *cache;/* of the embedder; never NULL here; the dispatch keeps a reference */
    tw_compiler *compiler;  /* outlives the dispatch */
    struct tw_device *device; /* the CPU; NULL: the guest's own thread only; outlives the dispatch */
    const atomic_uint *stop;/* set when the instance is being stopped; never NULL; outlives the dispatch */
} tw_dispatch_options;

typedef struct tw_dispatch tw_dispatch;
/* Cheap: makes an entry in the cache for each region (so that it isn't empty from here on), prepares nothing else. */
tw_status tw_dispatch_new(const tw_program *program, const tw_dispatch_options *options, tw_dispatch **out, tw_error *error);
void tw_dispatch_free(tw_dispatch *dispatch);
/* A tw_compiled whose context is a claimed tw_kernel: gives it its code, or the reason why it has none. */
void tw_dispatch_compiled(void *kernel, tw_status status, const tw_kernel_info *info, const uint8_t *code,
                          const tw_error *error);

typedef enum tw_outcome {
    TW_OUTCOME_GO_ON,   /* exit 0 */
    TW_OUTCOME_LEFT,    /* exit = model->exit */
    TW_OUTCOME_TRAP,    /* dispatcher `trap`, or a whole-function kernel that can't be had: make the guest trap "unreachable" */
    TW_OUTCOME_STOPPED, /* the stop flag was seen in mid-kernel: the instance is torn */
} tw_outcome;

typedef struct tw_answer {
    tw_outcome outcome;
    uint32_t exit;          /* for the stub's first result */
    uint64_t countdown;     /* arrivals (or outer iterations, when nested) until the stub is to be called again; ≥ 1 */
    uint64_t rest;          /* nanoseconds for which the function may as well run as it came, as far as this region is concerned;
                               0: none, UINT64_MAX: for good */
} tw_answer;

/* values: the stub's arguments on entry (live-ins, then headers: the model's symbols in order of the rewrite's signature) and
 * its results from values[1] on return (headers in order; for whole functions the results); values[0] is written by the caller
 * from answer->exit. memory: memory 0 now. */
void tw_dispatch_arrive(tw_dispatch *dispatch, uint32_t region, tw_raw *values, uint8_t *memory, uint64_t memory_size,
                        tw_answer *answer);

/* The function of this region runs as it came for its next `calls` calls. */
void tw_dispatch_rests(tw_dispatch *dispatch, uint32_t region, uint32_t calls);

/* ---- report ---- */
typedef struct tw_region_stats {
    uint64_t arrivals, dispatches;             /* stub calls; kernel runs */
    uint64_t kernel_iterations;                /* innermost statement executions in kernels, by the numbers of each dispatch */
    uint64_t original_iterations;              /* the same, of dispatches that were given back, as far as known */
    double kernel_seconds;                     /* wall */
    double original_seconds;                   /* of original_iterations, about: measured where a loop went on at its next question, else
                                                * by the rate that was measured for such numbers, or estimated */
    uint32_t threads;                          /* of the last dispatch */
    uint64_t refusals[TW_REFUSAL_COUNT];
    char last_detail[200];                     /* of the last refusal */
    char schedule[128];                        /* of the last kernel */
} tw_region_stats;
/* to_come: of the entries (or calls at rest) that the last answer let by, those that haven't come yet. */
void tw_dispatch_stats(const tw_dispatch *dispatch, uint32_t region, uint64_t to_come, tw_region_stats *out);

#endif
