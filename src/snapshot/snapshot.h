/* SPDX-License-Identifier: Apache-2.0 */
#ifndef TW_SNAPSHOT_SNAPSHOT_H
#define TW_SNAPSHOT_SNAPSHOT_H

/* This room's two entry points; api/snapshot.c has checked the options. Any thread. */

#include "base/bytes.h"
#include "snapshot/image.h"
#include "snapshot/refuse.h"

/* Whether format, level and keys go together. */
tw_status tw_snap_writer_check(const tw_snapshot_writer_options *options, tw_error *error);
tw_status tw_snap_reader_check(const tw_snapshot_reader_options *options, tw_error *error);

/* Appends the file to out. */
tw_status tw_snap_write(const tw_snapshot_writer_options *options, const tw_snapshot_state *state, tw_bytes *out,
                        tw_error *error);
/* The same as parts that point into the state's memories; free with tw_snap_draft_free, after a failure too. *out is zero at first. */
tw_status tw_snap_draft_make(const tw_snapshot_writer_options *options, const tw_snapshot_state *state, tw_snap_draft *out,
                             tw_error *error);
/* Into the file at `path`, all or nothing. */
tw_status tw_snap_draft_publish(const tw_snap_draft *draft, const char *path, tw_error *error);
/* *out is freed with tw_snapshot_free. */
tw_status tw_snap_read(const tw_snapshot_reader_options *options, tw_span file, tw_snapshot **out, tw_snap_why *why);
tw_status tw_snap_open(const tw_snapshot_reader_options *options, const char *path, tw_snapshot **out, tw_snap_why *why);
/* The pages of the wasm memory, to be mapped; NULL where they lie in no files that can't change or are to be trusted. */
const tw_snap_backing *tw_snap_backing_of(const tw_snapshot *snapshot);
/* A bit for each block of 64 KiB of the wasm memory that may be other than zero; NULL where nobody has looked. */
const uint8_t *tw_snap_present_of(const tw_snapshot *snapshot);

/* ---- between snapshot.c and open.c ---- */

/* From bytes, or of an image's file. */
tw_status tw_snap_read_source(const tw_snapshot_reader_options *options, const tw_image_source *source, tw_snapshot **out,
                              tw_snap_why *why);
tw_status tw_snap_check_file_size(const tw_snapshot_reader_options *options, uint64_t size, tw_snap_why *why);

#endif
