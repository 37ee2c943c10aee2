/* SPDX-License-Identifier: Apache-2.0 */
#ifndef TW_SNAPSHOT_DIFF_H
#define TW_SNAPSHOT_DIFF_H

/* What differs between two snapshots' states. How their files are written (format, signature, encryption) doesn't matter. */

#include "base/arena.h"
#include "base/error.h"
#include "tensorwasm/snapshot.h"

/* One thing that is another. */
typedef struct tw_snap_difference {
    const char *part;    /* "metadata", "module", "globals", "tables", "drops", "wasi", "buffers" */
    const char *what;    /* "sequence", "global 3", "table 0, slot 7" */
    const char *a, *b;   /* as text; NULL = there is none */
} tw_snap_difference;

/* Neighbouring pages of 4 KiB with bytes that differ. */
typedef struct tw_snap_range {
    uint64_t offset, size, differing;
} tw_snap_range;

/* Of byte spans. What only one of them has is compared with zeros. */
typedef struct tw_snap_bytes_diff {
    const char *name;    /* "wasm memory" */
    uint64_t a, b;       /* sizes */
    uint64_t differing;  /* bytes */
    tw_snap_range *ranges;
    uint32_t range_count, range_capacity;
} tw_snap_bytes_diff;

enum { TW_SNAP_DIFF_SPANS = 3 };
typedef struct tw_snap_diff {
    tw_snap_difference *items;
    uint32_t count, capacity;
    tw_snap_bytes_diff spans[TW_SNAP_DIFF_SPANS]; /* wasm memory, device memory, and registers that aren't an instance's */
    bool same;
} tw_snap_diff;

/* All of *out lies in the arena. state_only: the metadata is left out. */
tw_status tw_snap_compare(const tw_snapshot *a, const tw_snapshot *b, bool state_only, tw_arena *arena, tw_snap_diff *out,
                          tw_error *error);

#endif
