/* SPDX-License-Identifier: Apache-2.0 */
#ifndef TW_KCACHE_LEARNED_H
#define TW_KCACHE_LEARNED_H

/* The table of what was measured. Not locked: the cache does that. */

#include "kcache/disk.h"
#include "kcache/kcache.h"

typedef struct tw_lesson {
    uint64_t tenant;
    tw_region_id region;
    uint32_t size_class;
    tw_learned learned;
    uint32_t age; /* order of the last change */
} tw_lesson;

typedef struct tw_lessons {
    tw_lesson *items;
    uint32_t count, capacity, clock;
    bool changed;
} tw_lessons;

bool tw_lessons_get(const tw_lessons *lessons, uint64_t tenant, const tw_region_id *region, uint32_t size_class, tw_learned *out);
/* Forgets the oldest when there are too many. Best effort. */
void tw_lessons_put(tw_lessons *lessons, uint64_t tenant, const tw_region_id *region, uint32_t size_class,
                    const tw_learned *learned);
/* Adds what the disk knows and we don't. */
void tw_lessons_load(tw_lessons *lessons, tw_disk *disk);
void tw_lessons_save(tw_lessons *lessons, tw_disk *disk);
void tw_lessons_free(tw_lessons *lessons);

#endif
