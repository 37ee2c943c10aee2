/* SPDX-License-Identifier: Apache-2.0 */
#ifndef TW_BASE_CREW_H
#define TW_BASE_CREW_H

/* Numbered pieces of work shared out to threads that last as long as the work. */

#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

typedef struct tw_crew {
    size_t count;
    void (*work)(struct tw_crew *crew); /* takes numbers until there are none; runs in several threads at once */
    void *context;
    atomic_size_t next; /* 0 at first */
} tw_crew;

/* The next number, or false. */
static inline bool tw_crew_take(tw_crew *crew, size_t *index)
{
    *index = atomic_fetch_add_explicit(&crew->next, 1, memory_order_relaxed);
    return *index < crew->count;
}

/* Runs `work` in the calling thread and in up to threads - 1 more, 63 at most. They take no signals but their own faults: these
 * are for the program's own threads. Those that can't be had are done without. Everything that they wrote is seen afterwards. */
void tw_crew_run(tw_crew *crew, uint32_t threads);

#endif
