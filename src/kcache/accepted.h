/* SPDX-License-Identifier: Apache-2.0 */
#ifndef TW_KCACHE_ACCEPTED_H
#define TW_KCACHE_ACCEPTED_H

/* The set of accepted regions, by tenant. Not locked: the cache does that. */

#include "kcache/kcache.h"

typedef struct tw_accepted_region {
    uint64_t tenant;
    tw_region_id region;
    bool used;
} tw_accepted_region;

typedef struct tw_accepted {
    tw_accepted_region *slots; /* open addressing; a power of two */
    uint32_t count, capacity;
} tw_accepted;

void tw_accepted_add(tw_accepted *accepted, uint64_t tenant, const tw_region_id *region);
uint64_t tw_accepted_count(const tw_accepted *accepted, uint64_t tenant);
void tw_accepted_free(tw_accepted *accepted);

#endif
