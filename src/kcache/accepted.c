/* SPDX-License-Identifier: Apache-2.0 */
#include "kcache/accepted.h"

#include <stdlib.h>
#include <string.h>

enum { MAX_ACCEPTED = 1 << 20 };

/* Region ids are hashes already. */
static tw_accepted_region *slot_of(tw_accepted *accepted, uint64_t tenant, const tw_region_id *region)
{
    uint64_t hash;
    memcpy(&hash, region->bytes, sizeof hash);
    hash = (hash ^ tenant * UINT64_C(0x9E3779B97F4A7C15));
    for (uint32_t i = (uint32_t)(hash >> 16);; i++) {
        tw_accepted_region *slot = &accepted->slots[i & (accepted->capacity - 1)];
        if (!slot->used) return slot;
        if (slot->tenant == tenant && !memcmp(&slot->region, region, sizeof *region)) return slot;
    }
}

static bool grow(tw_accepted *accepted)
{
    tw_accepted bigger = {.capacity = accepted->capacity ? accepted->capacity * 2 : 16};
    bigger.slots = calloc(bigger.capacity, sizeof *bigger.slots);
    if (!bigger.slots) return false;
    for (uint32_t i = 0; i < accepted->capacity; i++)
        if (accepted->slots[i].used) *slot_of(&bigger, accepted->slots[i].tenant, &accepted->slots[i].region) = accepted->slots[i];
    bigger.count = accepted->count;
    free(accepted->slots);
    *accepted = bigger;
    return true;
}

void tw_accepted_add(tw_accepted *accepted, uint64_t tenant, const tw_region_id *region)
{
    if (accepted->count >= MAX_ACCEPTED) return;
    if (accepted->count >= accepted->capacity / 2 && !grow(accepted)) return;
    tw_accepted_region *slot = slot_of(accepted, tenant, region);
    if (slot->used) return;
    *slot = (tw_accepted_region){tenant, *region, true};
    accepted->count++;
}

uint64_t tw_accepted_count(const tw_accepted *accepted, uint64_t tenant)
{
    uint64_t count = 0;
    for (uint32_t i = 0; i < accepted->capacity; i++) count += accepted->slots[i].used && accepted->slots[i].tenant == tenant;
    return count;
}

void tw_accepted_free(tw_accepted *accepted)
{
    free(accepted->slots);
    *accepted = (tw_accepted){0};
}
