/* SPDX-License-Identifier: Apache-2.0 */
#ifndef TW_SNAPSHOT_ARCHIVE_H
#define TW_SNAPSHOT_ARCHIVE_H

/* Our own portable file: an envelope (snapshot/envelope.h) with the magic "TWSA", version 1, in which
 *
 *   flags    bit 2: encrypted
 *   header   its own part: 8 zero bytes; 16 random bytes where encrypted, so that sections of two files can't be exchanged, else
 *            zero; 16 zero bytes
 *   sections meta, wasm memory, device memory, registers, of version 1; bodies follow each other without gaps
 *
 * docs/snapshot-format.md says the same for people.
 *
 *   meta     u64 tenant, u128 instance, u64 created, u64 sequence, u64 total, u8 has nonce, 16 bytes nonce or zero
 *   pages    (the other three) a table of 8 bytes for each group of 16 pages of 64 KiB: u32 length of its frame, u16 which
 *            pages it has (bit 0 the first), u16 zero; then the frames: zstd, the pages that aren't all zero, one behind the
 *            other. A group of zero pages has no frame. The last page ends where the memory does.
 *
 *   Encrypted: a body is libsodium's secretstream: its header of 24 bytes, then pieces of 64 KiB, each 17 bytes longer, the last
 *   one (perhaps empty) with the tag FINAL. The first has the header's bytes 0 to 63 and the section's bytes 0 to 31 in the
 *   table as associated data. Hashes are of what stands in the file. */

#include "snapshot/envelope.h"
#include "snapshot/image.h"

enum {
    TW_ARCHIVE_SECTIONS = 4,
    TW_ARCHIVE_BOUND = 32, /* of an entry: what encryption binds, with the header's hashed part */
    TW_ARCHIVE_ID_AT = 32,
    TW_ARCHIVE_ID = 16,
    TW_ARCHIVE_ENCRYPTED = 4, /* a flag */
};
extern const tw_envelope_form tw_archive_form;

bool tw_archive_is(tw_span file);
/* As tw_craton_read; storage is empty at first, and after a failure. */
tw_status tw_archive_read(const tw_snapshot_reader_options *options, tw_span file, tw_snapshot *out, tw_snap_storage *storage,
                          tw_snap_why *why);
/* As tw_craton_write; out is empty at first. */
tw_status tw_archive_write(const tw_snapshot_writer_options *options, const tw_snapshot_state *state, tw_bytes *out,
                           tw_error *error);

/* ---- pages.c ---- */

/* Appends the body of a memory. The bytes don't depend on the number of threads. */
tw_status tw_archive_pages_write(tw_span memory, int level, uint32_t threads, tw_bytes *out, tw_error *error);
/* Fills `memory`, which is all zero, from a body. present (may be NULL) has tw_snap_present_size(size) zero bytes and gets a bit for
 * each page that was filled. */
tw_status tw_archive_pages_read(tw_span body, uint8_t *memory, size_t size, uint32_t threads, uint8_t *present, tw_snap_why *why);

/* ---- seal.c ---- */

/* Of the body that a body of this size becomes. */
uint64_t tw_archive_sealed_size(uint64_t plain);
/* Appends. bound: the associated data. */
tw_status tw_archive_seal(const tw_snapshot_key *key, tw_span bound, tw_span plain, tw_bytes *out, tw_error *error);
/* *out is malloc'd. */
tw_status tw_archive_open(const tw_snapshot_key *key, tw_span bound, tw_span sealed, uint8_t **out, size_t *size,
                          tw_snap_why *why);

#endif
