/* SPDX-License-Identifier: Apache-2.0 */
#ifndef TW_WASM_OFFSET_MAP_H
#define TW_WASM_OFFSET_MAP_H

/* How tw_edit makes a tw_offset_map. */

#include "wasm/encode.h"

typedef struct tw_map_entry {
    uint32_t func, at;
    uint64_t original;
} tw_map_entry;

typedef struct tw_map_func {
    uint64_t start;    /* of its body in the written module */
    uint64_t original; /* of its body in the user's, when not edited */
    uint32_t origin;
    bool edited;
    uint32_t first, count; /* entries; filled in by tw_offset_map_new */
} tw_map_func;

/* Copies both; entries in any order, those of one function ascending. NULL when out of memory. */
tw_offset_map *tw_offset_map_new(const tw_map_func *funcs, uint32_t func_count, const tw_map_entry *entries,
                                 uint32_t entry_count);

#endif
