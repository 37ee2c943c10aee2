/* SPDX-License-Identifier: Apache-2.0 */
#ifndef TW_SNAPSHOT_FRAME_H
#define TW_SNAPSHOT_FRAME_H

/* zstd frames of unknown content: never more output than the caller allows, whatever the frame says of itself. */

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/bytes.h"
#include "snapshot/refuse.h"

typedef struct tw_snap_frame {
    uint8_t *data; /* malloc'd */
    size_t size;
    size_t used; /* bytes of the input that the frames took */
} tw_snap_frame;

/* Decompresses the frame that `in` begins with; with `joined`, all frames up to the end of `in`, skippable ones left out.
 * Refuses more than `cap` bytes of output and windows above 128 MiB. The memory asked for grows with the output. */
tw_status tw_snap_frame_read(tw_span in, uint64_t cap, bool joined, tw_snap_frame *out, tw_snap_why *why);
/* Whether a zstd frame, or one to be skipped, could begin there. */
bool tw_snap_frame_begins(tw_span in);

/* The spans, one behind the other, as one frame without content size and checksum: appended to out. */
tw_status tw_snap_frame_write(const tw_span *spans, size_t count, int level, tw_bytes *out, tw_error *error);

#endif
