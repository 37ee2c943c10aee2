/* SPDX-License-Identifier: Apache-2.0 */
#ifndef TW_SNAPSHOT_IMAGE_H
#define TW_SNAPSHOT_IMAGE_H

/* Our own file whose pages can be mapped: an envelope (snapshot/envelope.h) with the magic "TWSI", version 1. Memories are cut into
 * blocks of 64 KiB, the last one as short as it has to be; of each some are in the file, in runs, and all others are zero or,
 * where the image is incremental, what they are in its base.
 *
 *   flags    bit 2: incremental
 *   header   its own part: u32 depth, how many files are below this one; u32 zero; 32 bytes the base's check, or zero
 *   sections of version 1, in this order; what a size says
 *     1 metadata                     65
 *     2 registers                    their bytes
 *     3 runs of wasm memory          the memory's bytes
 *     4 runs of device memory        the memory's bytes
 *     5 hashes                       how many
 *     6 pages of wasm memory         those of the body
 *     7 pages of device memory       those of the body
 *
 *   meta     as an archive's
 *   runs     8 bytes each: u32 first block, u32 blocks. They ascend and don't touch; at most 256. A writer fills the smallest gaps
 *            between them, of equal ones the first, until there are 32
 *   hashes   32 bytes for each block in the file, wasm memory's first: its BLAKE3, or zero where all of it is zero. The BLAKE3 of
 *            these, in the section's entry, is the root of the tree; entries of pages have no hash of their own: zero
 *   pages    the blocks of all runs, one behind the other. A body that isn't empty lies at a multiple of 64 KiB, with zeros before
 *            it; bodies 1 to 5 follow each other without gaps
 *
 * What is behind the end of a base is zero in it. A file system needn't store a block that is zero: writers leave it out. */

#include "os/publish.h"
#include "snapshot/envelope.h"

enum {
    TW_SNAP_BLOCK = 64 << 10,
    TW_SNAP_RUNS = 256, /* a memory */
    TW_SNAP_RUN = 8,
    TW_SNAP_MAPPED_RUNS = 512,  /* of a chain of images: more are copied */
    TW_SNAP_FILES = TW_SNAPSHOT_MAX_DEPTH + 1,
    TW_IMAGE_INCREMENTAL = 4, /* a flag */
    TW_IMAGE_DEPTH_AT = 24,
    TW_IMAGE_BASE_AT = 32,
};
typedef enum tw_image_section {
    TW_IMAGE_META,
    TW_IMAGE_REGISTERS,
    TW_IMAGE_RUNS,   /* and device memory's */
    TW_IMAGE_HASHES = 4,
    TW_IMAGE_PAGES,  /* likewise */
    TW_IMAGE_SECTIONS = 7
} tw_image_section;
extern const tw_envelope_form tw_image_form;

/* ---- reading ---- */

/* Where the bytes come from. */
typedef struct tw_image_source {
    int file;       /* -1: `bytes` */
    tw_span bytes;
    uint64_t size;
} tw_image_source;

/* A piece of a memory that lies in a file: whole blocks, but for the memory's end. */
typedef struct tw_snap_run {
    uint64_t at, size, in_file;
    uint32_t file; /* which one */
} tw_snap_run;

/* The pages of a snapshot's wasm memory in files, to be mapped: in the image's own, and in those that it stands on what isn't as in
 * them. Only files that have some are here. */
typedef struct tw_snap_backing {
    bool there;
    int files[TW_SNAP_FILES];
    uint32_t file_count;
    tw_snap_run *runs; /* ascending, disjoint */
    uint32_t run_count;
} tw_snap_backing;

/* What is behind a snapshot. */
typedef struct tw_snap_storage {
    uint8_t *heap, *registers;
    uint8_t *present; /* a bit for each TW_SNAP_BLOCK of wasm memory: where it is 0, all of that is zero. NULL: nobody has looked */
    uint8_t *view; /* mapped */
    size_t view_size;
    tw_snap_backing backing;
} tw_snap_storage;
void tw_snap_storage_free(tw_snap_storage *storage);
/* Bytes of `present` for so large a memory. */
size_t tw_snap_present_size(uint64_t size);

bool tw_image_is(tw_span file);
/* As tw_archive_read. From a file, verified in full, the pages become a copy that nobody can change; to take them on trust, the
 * reader's own word, they stay where they are, and the snapshot's wasm memory has a size and no data. An incremental one stands on its
 * base's pages where those can be mapped; else, or where there would be too many mappings, both are merged in the heap. */
tw_status tw_image_read(const tw_snapshot_reader_options *options, const tw_image_source *source, tw_snapshot *out,
                        tw_snap_storage *storage, tw_snap_why *why);

/* ---- writing ---- */

/* A file that isn't written yet. Parts ascend; between them all is zero. Those behind the first point into the state's memories. */
typedef struct tw_snap_draft {
    tw_bytes front;
    tw_publish_part *parts;
    size_t part_count;
    uint64_t size;
} tw_snap_draft;
void tw_snap_draft_free(tw_snap_draft *draft);

tw_status tw_image_draft(const tw_snapshot_writer_options *options, const tw_snapshot_state *state, tw_snap_draft *out,
                         tw_error *error);

#endif
