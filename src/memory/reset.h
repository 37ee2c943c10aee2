/* SPDX-License-Identifier: Apache-2.0 */
#ifndef TW_MEMORY_RESET_H
#define TW_MEMORY_RESET_H

/* Makes a used memory what its image says again. Which pages have to be looked at depends on the way:
 *
 *   copy      all of them, with memcpy and memset
 *   scan      those that the kernel says became private: PAGEMAP_SCAN (Linux 6.7)
 *   recall    those that it said last time, if no page fault has happened in this process since; else scan
 *   pagemap   the same as scan from /proc/self/pagemap, a word a page: older kernels
 *   compare   those that differ: the cheapest for small memories. Pages that nobody wrote stay shared
 *   remap     none: the image is mapped anew, and the next accesses fault
 *
 * Recall rests on this: a page becomes private by a page fault only, whoever's, and the system counts those of the process, its exited
 * threads and the system calls that it makes included. Huge pages would break it, which the system makes of small ones in the
 * background: such a slot gets none. A device that writes pages without this process (HMM) would break it, too; nothing here has
 * one do so. Where more pages have become private than a guest uses, they are given back.
 *
 * What a memory has grown by goes back to the system; a page that was swapped out counts as private. */

#include <stdbool.h>

#include "memory/image.h"
#include "memory/slot.h"

typedef enum tw_reset_way {
    TW_RESET_CHEAPEST, /* of the others, for this size and system */
    TW_RESET_COPY,
    TW_RESET_SCAN,
    TW_RESET_RECALL,
    TW_RESET_PAGEMAP,
    TW_RESET_COMPARE,
    TW_RESET_REMAP,
    TW_RESET_WAYS
} tw_reset_way;

/* Whether the system offers it. Asks once. */
bool tw_reset_can(tw_reset_way way);
/* The one that CHEAPEST stands for. */
tw_reset_way tw_reset_choose(size_t size);

/* Of a slot that isn't running and in which tw_slot_put_image was called with this image, which has a view; its size is the image's afterwards.
 * False when the system refuses: the contents are undefined, give the slot back. Owner's thread. */
bool tw_reset(tw_slot *slot, tw_reset_way way);

#endif
