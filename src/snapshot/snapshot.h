/* SPDX-License-Identifier: Apache-2.0 */
#ifndef TW_SNAPSHOT_SNAPSHOT_H
#define TW_SNAPSHOT_SNAPSHOT_H

/* This room's two entry points; api/snapshot.c has checked the options. Any thread. */

#include "base/bytes.h"
#include "snapshot/refuse.h"

/* Whether format, level and keys go together. */
tw_status tw_snap_writer_check(const tw_snapshot_writer_options *options, tw_error *error);
tw_status tw_snap_reader_check(const tw_snapshot_reader_options *options, tw_error *error);

/* Appends the file to out. */
tw_status tw_snap_write(const tw_snapshot_writer_options *options, const tw_snapshot_state *state, tw_bytes *out,
                        tw_error *error);
/* *out is freed with tw_snapshot_free. */
tw_status tw_snap_read(const tw_snapshot_reader_options *options, tw_span file, tw_snapshot **out, tw_snap_why *why);

#endif
