/* SPDX-License-Identifier: Apache-2.0 */
#ifndef TW_SNAPSHOT_CREW_H
#define TW_SNAPSHOT_CREW_H

/* Numbered pieces of work shared out to threads that last as long as the work. */

#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

typedef struct tw_snap_crew {
    size_t count;
    void (*work)(struct tw_snap_crew *crew); /* takes numbers until there are none; runs in several threads at once */
    void *context;
    atomic_size_t next; /* 0 at first */
} tw_snap_crew;

/* The next number, or false. */
static inline bool tw_snap_crew_take(tw_snap_crew *crew, size_t *index)
{
    *index = atomic_fetch_add_explicit(&crew->next, 1, memory_order_relaxed);
    return *index < crew->count;
}

/* Runs `work` in the calling thread and in up to threads - 1 more; 0 = as many as there are processors. Threads that can't be
 * had are done without. Everything that they wrote is seen afterwards. */
void tw_snap_crew_run(tw_snap_crew *crew, uint32_t threads);

#endif
