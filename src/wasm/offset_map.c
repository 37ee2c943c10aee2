/* SPDX-License-Identifier: Apache-2.0 */
#include "wasm/offset_map.h"

#include <stdlib.h>
#include <string.h>

typedef struct place {
    uint32_t at;
    uint64_t original;
} place;

struct tw_offset_map {
    uint32_t func_count;
    tw_map_func *funcs;
    place *places; /* grouped by function, ascending in each */
};

/* Counting sort by function: keeps the order within one. */
static void distribute(tw_offset_map *map, const tw_map_entry *entries, uint32_t count)
{
    uint32_t total = 0;
    for (uint32_t i = 0; i < count; i++)
        if (entries[i].func < map->func_count) map->funcs[entries[i].func].count++;
    for (uint32_t i = 0; i < map->func_count; i++) {
        map->funcs[i].first = total;
        total += map->funcs[i].count;
        map->funcs[i].count = 0;
    }
    for (uint32_t i = 0; i < count; i++) {
        if (entries[i].func >= map->func_count) continue;
        tw_map_func *func = &map->funcs[entries[i].func];
        map->places[func->first + func->count++] = (place){entries[i].at, entries[i].original};
    }
}

tw_offset_map *tw_offset_map_new(const tw_map_func *funcs, uint32_t func_count, const tw_map_entry *entries,
                                 uint32_t entry_count)
{
    tw_offset_map *map = calloc(1, sizeof *map);
    if (!map) return NULL;
    map->func_count = func_count;
    map->funcs = calloc(func_count + (size_t)1, sizeof *map->funcs);
    map->places = calloc(entry_count + (size_t)1, sizeof *map->places);
    if (!map->funcs || !map->places) {
        tw_offset_map_free(map);
        return NULL;
    }
    if (func_count) memcpy(map->funcs, funcs, func_count * sizeof *funcs);
    for (uint32_t i = 0; i < func_count; i++) map->funcs[i].first = map->funcs[i].count = 0;
    distribute(map, entries, entry_count);
    return map;
}

void tw_offset_map_free(tw_offset_map *map)
{
    if (!map) return;
    free(map->funcs);
    free(map->places);
    free(map);
}

/* Number of places at or before `at`. */
static uint32_t places_until(const place *places, uint32_t count, uint64_t at)
{
    uint32_t low = 0, high = count;
    while (low < high) {
        uint32_t middle = low + (high - low) / 2;
        if (places[middle].at <= at) low = middle + 1;
        else high = middle;
    }
    return low;
}

bool tw_offset_map_original(const tw_offset_map *map, uint32_t func, uint64_t offset, uint32_t *original_func,
                            uint64_t *original_offset)
{
    *original_func = TW_NO_FUNCTION;
    *original_offset = TW_NO_OFFSET;
    if (func >= map->func_count) return false;
    const tw_map_func *f = &map->funcs[func];
    *original_func = f->origin;
    if (offset < f->start || (f->origin == TW_NO_FUNCTION && !f->count)) return false;
    uint64_t at = offset - f->start;
    if (!f->edited) {
        *original_offset = f->original + at;
        return true;
    }
    uint32_t before = places_until(map->places + f->first, f->count, at);
    if (before == 0) return false;
    *original_offset = map->places[f->first + before - 1].original;
    return *original_offset != TW_NO_OFFSET;
}
