/* SPDX-License-Identifier: Apache-2.0 */
#ifndef TW_MEMORY_IMAGE_H
#define TW_MEMORY_IMAGE_H

/* The contents that memories begin with, kept once for all of them: a sealed memfd that holds the extents with data, one behind the
 * other. Slots map it MAP_PRIVATE: a page is shared until it is written. What lies between extents isn't in the file, but
 * anonymous memory: to read a hole of a memfd would allocate it for good. The file can't change any more, nor become
 * shorter, so no access of it ends in SIGBUS. Its bytes are charged as committed (memory/budget.h).
 *
 * Or the file is somebody else's: a snapshot's image. It may become shorter. Where a guest reads such a page it traps; whoever reads
 * the view finds zeros there, and `lost` is set.
 *
 * Immutable, counted; any thread. */

#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/error.h"
#include "memory/account.h"

enum { TW_IMAGE_PAGE = 4096, TW_IMAGE_EXTENTS = 8 };

typedef struct tw_extent {
    size_t at, size; /* in the memory; whole pages */
    size_t in_file;
} tw_extent;

typedef struct tw_image {
    atomic_size_t references;
    int file;
    size_t size;         /* live bytes of a memory that begins so */
    size_t bytes;        /* of the file */
    size_t charged;
    const uint8_t *view; /* all of the file, to be read; NULL where there is nothing, or nobody has asked for it */
    bool foreign;        /* the file isn't ours alone */
    atomic_bool lost;    /* some of a foreign one was gone when it was read */
    tw_extent *extents;  /* ascending */
    uint32_t extent_count;
    tw_account *account; /* that its bytes are charged to; NULL: nobody's */
} tw_image;

/* Of `size` bytes of memory, whole pages. Zero pages between data count as data where there would be too many extents. TW_LIMIT
 * or TW_IO. */
tw_status tw_image_new(const uint8_t *memory, size_t size, tw_image **out, tw_error *error);
/* Once, before others know the image: charges its bytes to a tenant, too, as long as it lives. TW_LIMIT: release it. */
tw_status tw_image_charge(tw_image *image, tw_account *account, tw_error *error);
/* Of a file whose pages are that memory's, in ascending extents; what is between them is zero. Keeps a descriptor of its own.
 * There is no view yet. */
tw_status tw_image_of_file(int file, size_t size, const tw_extent *extents, uint32_t count, tw_image **out, tw_error *error);
/* The view of a file's image, for resets. Before others have the image. TW_LIMIT. */
tw_status tw_image_make_readable(tw_image *image, tw_error *error);
void tw_image_retain(tw_image *image);
void tw_image_release(tw_image *image); /* NULL is fine */
/* The page at `at`, or NULL where it is zero. */
const uint8_t *tw_image_page(const tw_image *image, size_t at);

#endif
