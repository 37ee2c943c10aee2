/* SPDX-License-Identifier: Apache-2.0 */
#ifndef TW_MEMORY_RESET_H
#define TW_MEMORY_RESET_H

/* Makes a used memory what its image says again. Which pages have to be looked at depends on the way:
 *
 *   copy      all of them, with memcpy and memset: the cheapest for small memories, whose pages stay warm
 *   scan      those that the kernel says became private: PAGEMAP_SCAN (Linux 6.7)
 *   pagemap   the same from /proc/self/pagemap, a word a page: older kernels
 *   compare   those that differ: where neither can be had
 *   remap     none: the image is mapped anew, and the next accesses fault
 *
 * What a memory has grown by goes back to the system; a page that was swapped out counts as private. */

#include <stdbool.h>

#include "memory/image.h"
#include "memory/slot.h"

typedef enum tw_reset_way {
    TW_RESET_CHEAPEST, /* of the others, for this size and system */
    TW_RESET_COPY,
    TW_RESET_SCAN,
    TW_RESET_PAGEMAP,
    TW_RESET_COMPARE,
    TW_RESET_REMAP,
    TW_RESET_WAYS
} tw_reset_way;

/* Whether the system offers it. Asks once. */
bool tw_reset_can(tw_reset_way way);
/* The one that CHEAPEST stands for. */
tw_reset_way tw_reset_choose(size_t size);

/* Of a slot that isn't running and in which tw_slot_put_image was called with this image; its size is the image's afterwards.
 * False when the system refuses: the contents are undefined, give the slot back. Owner's thread. */
bool tw_reset(tw_slot *slot, tw_reset_way way);

#endif
