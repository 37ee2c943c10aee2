/* SPDX-License-Identifier: Apache-2.0 */
#ifndef TW_SNAPSHOT_ARCHIVE_H
#define TW_SNAPSHOT_ARCHIVE_H

/* Our own file. All integers are little-endian. docs/snapshot-format.md says the same for people.
 *
 *   header   96 bytes
 *     0   u32   magic "TWSA"
 *     4   u32   version 1
 *     8   u32   flags: bits 0-1 signature (0 none, 1 HMAC-SHA256, 2 Ed25519), bit 2 encrypted
 *    12   u32   number of sections: 4
 *    16   u64   size of the file
 *    24   8     zero
 *    32   16    random where encrypted, so that sections of two files can't be exchanged; else zero
 *    48   16    zero
 *    64   32    BLAKE3 of bytes 0 to 63 and the section table
 *   table    64 bytes a section: meta, wasm memory, device memory, registers
 *     0   u32   kind: 1, 2, 3, 4, in this order
 *     4   u32   version of the section: 1
 *     8   u64   offset of its body in the file: bodies follow each other without gaps
 *    16   u64   length of its body
 *    24   u64   size of what it holds
 *    32   32    BLAKE3 of its body
 *   tag      0, 32 or 64 bytes: over header and table, which hold the hash of everything else
 *   bodies
 *
 *   meta     u64 tenant, u128 instance, u64 created, u64 sequence, u64 total, u8 has nonce, 16 bytes nonce or zero
 *   pages    (the other three) a table of 8 bytes for each group of 16 pages of 64 KiB: u32 length of its frame, u16 which
 *            pages it has (bit 0 the first), u16 zero; then the frames: zstd, the pages that aren't all zero, one behind the
 *            other. A group of zero pages has no frame. The last page ends where the memory does.
 *
 *   Encrypted: a body is libsodium's secretstream: its header of 24 bytes, then pieces of 64 KiB, each 17 bytes longer, the last
 *   one (perhaps empty) with the tag FINAL. The first has the header's bytes 0 to 63 and the section's bytes 0 to 31 in the
 *   table as associated data. Hashes are of what stands in the file. */

#include "base/bytes.h"
#include "snapshot/key.h"
#include "snapshot/refuse.h"

enum {
    TW_ARCHIVE_HEAD = 96,
    TW_ARCHIVE_HASHED = 64, /* of the header; and what encryption binds */
    TW_ARCHIVE_ENTRY = 64,
    TW_ARCHIVE_BOUND = 32, /* of an entry: what encryption binds */
    TW_ARCHIVE_SECTION_VERSION = 1,
    TW_ARCHIVE_ID = 16,
    TW_ARCHIVE_META = 65,
    TW_ARCHIVE_HASH = 32,
    TW_ARCHIVE_SIGNATURE_MASK = 3,
    TW_ARCHIVE_ENCRYPTED = 4,
};
typedef enum tw_archive_kind {
    TW_ARCHIVE_KIND_META = 1,
    TW_ARCHIVE_KIND_WASM,
    TW_ARCHIVE_KIND_DEVICE,
    TW_ARCHIVE_KIND_REGISTERS,
    TW_ARCHIVE_SECTIONS = 4
} tw_archive_kind;

bool tw_archive_is(tw_span file);
/* As tw_craton_read. */
tw_status tw_archive_read(const tw_snapshot_reader_options *options, tw_span file, tw_snapshot *out, uint8_t **storage,
                          tw_snap_why *why);
/* As tw_craton_write; out is empty at first. */
tw_status tw_archive_write(const tw_snapshot_writer_options *options, const tw_snapshot_state *state, tw_bytes *out,
                           tw_error *error);

/* ---- pages.c ---- */

/* Appends the body of a memory. The bytes don't depend on the number of threads. */
tw_status tw_archive_pages_write(tw_span memory, int level, uint32_t threads, tw_bytes *out, tw_error *error);
/* Fills `memory`, which is all zero, from a body. */
tw_status tw_archive_pages_read(tw_span body, uint8_t *memory, size_t size, uint32_t threads, tw_snap_why *why);

/* ---- seal.c ---- */

/* Of the body that a body of this size becomes. */
uint64_t tw_archive_sealed_size(uint64_t plain);
/* Appends. bound: the associated data. */
tw_status tw_archive_seal(const tw_snapshot_key *key, tw_span bound, tw_span plain, tw_bytes *out, tw_error *error);
/* *out is malloc'd. */
tw_status tw_archive_open(const tw_snapshot_key *key, tw_span bound, tw_span sealed, uint8_t **out, size_t *size,
                          tw_snap_why *why);

#endif
