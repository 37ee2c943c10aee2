/* SPDX-License-Identifier: Apache-2.0 */
#ifndef TW_MEMORY_IMAGE_H
#define TW_MEMORY_IMAGE_H

/* The contents that memories begin with, kept once for all of them: a sealed memfd that holds the extents with data, one behind the
 * other. Slots map it MAP_PRIVATE: a page is shared until it is written. What lies between extents isn't in the file, but
 * anonymous memory: to read a hole of a memfd would allocate it for good. The file can't change any more, nor become
 * shorter, so no access of it ends in SIGBUS. Its bytes are charged as committed (memory/budget.h).
 *
 * Or the files are somebody else's: a snapshot's image, and those that it stands on. They may become shorter. Where a guest reads such
 * a page it traps; whoever reads a view finds zeros there, and `lost` is set.
 *
 * Immutable, counted; any thread. */

#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/error.h"
#include "memory/account.h"

enum { TW_IMAGE_PAGE = 4096, TW_IMAGE_EXTENTS = 8, TW_IMAGE_FILES = 17 };

typedef struct tw_extent {
    size_t at, size; /* in the memory; whole pages */
    size_t in_file;
    uint32_t file;   /* which of the image's */
} tw_extent;

typedef struct tw_image_file {
    int file;
    size_t bytes;
    const uint8_t *view; /* all of it, to be read; NULL where there is nothing, or nobody has asked for it */
} tw_image_file;

typedef struct tw_image {
    atomic_size_t references;
    tw_image_file files[TW_IMAGE_FILES];
    uint32_t file_count;
    size_t size;         /* live bytes of a memory that begins so */
    size_t bytes;        /* of the files */
    size_t charged;
    bool foreign;        /* the files aren't ours alone */
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
/* Of files, at most TW_IMAGE_FILES, whose pages are that memory's, in ascending extents; what is between them is zero. Keeps descriptors
 * of its own. There are no views yet. */
tw_status tw_image_of_files(const int *files, uint32_t file_count, size_t size, const tw_extent *extents, uint32_t count, tw_image **out,
                            tw_error *error);
/* The views of files' images, for resets. Before others have the image. TW_LIMIT. */
tw_status tw_image_make_readable(tw_image *image, tw_error *error);
/* A memory of the image's size, whatever it holds, gets these contents; what isn't touched yet and is to be zero stays so. By reading
 * the files. TW_IO where one is shorter than it was: some of it has been written. */
tw_status tw_image_copy(const tw_image *image, uint8_t *memory, tw_error *error);
void tw_image_retain(tw_image *image);
void tw_image_release(tw_image *image); /* NULL is fine */
/* The page at `at`, or NULL where it is zero. */
const uint8_t *tw_image_page(const tw_image *image, size_t at);

#endif
