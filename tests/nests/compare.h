/* SPDX-License-Identifier: Apache-2.0 */
#ifndef NESTS_COMPARE_H
#define NESTS_COMPARE_H

/* Runs nests in their original form and in kernels, and says where they differ. */

#include "nest.h"
#include "tensorwasm/tensorwasm.h"

typedef struct nest_verdict {
    bool skipped; /* the original ran out of time */
    bool differs;
    bool offloaded; /* some dispatch ran a kernel */
    uint32_t calls;
    char refusals[512]; /* of the run on one thread: "dependence 1, few-iterations 3" */
    char detail[512];   /* of the last ones, for people */
    char text[2600];    /* the first difference */
} nest_verdict;

/* Called before each call of a nest, so that a crash can be laid at its door. May be NULL. */
typedef void (*nest_watch)(void *context, const nest *it, const char *mode, int step);

/* All nests must be of one class. verdicts has an entry for each. threads: for the runs on several. sabotaged: what is compared with
 * the original lacks a statement, which must be found. Modules that the engine refuses are a failure of the generator
 * and end the process. */
void nests_compare(const nest *nests, uint32_t count, uint32_t threads, bool sabotaged, nest_watch watch, void *context,
                   nest_verdict *verdicts);
/* The module that nests_compare runs; free() the bytes. */
uint8_t *nests_module(const nest *nests, uint32_t count, size_t *size);

#endif
