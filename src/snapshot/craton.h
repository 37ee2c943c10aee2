/* SPDX-License-Identifier: Apache-2.0 */
#ifndef TW_SNAPSHOT_CRATON_H
#define TW_SNAPSHOT_CRATON_H

/* The earlier project's files, v2, v3, v4, and the AEAD wrapper around any of them. All integers are little-endian.
 *
 *   payload   magic u32, version u32; wasm memory, device memory, registers: length u64 and the bytes;
 *             tenant u64, instance u128, created_unix_ms u64, total u64, sequence u64, nonce tag u8 and 16 bytes if it is 1,
 *             crc32 u32 of the three spans' bytes
 *   v2        zstd frame of a payload of version 2
 *   v3        zstd frame of a payload of version 3 | "S3T1" | kind u8 | tag over all before it
 *             kind 1: HMAC-SHA256, 32 bytes; kind 2: Ed25519, 64 bytes
 *   v4        "twasm-artifact01" | u32 1 | BLAKE3-256 of the payload | zstd frame of a payload of version 2 | HMAC-SHA256 of
 *             all before it
 *   wrapper   "twsAEAD1" | nonce, 12 bytes | ChaCha20-Poly1305 (RFC 8439) of a file, the magic being associated data */

#include "base/bytes.h"
#include "snapshot/key.h"
#include "snapshot/refuse.h"

enum {
    TW_CRATON_PAYLOAD_SIZE = 85, /* beside the spans, without a nonce */
    TW_CRATON_TRAILER_MAGIC = 4,
    TW_CRATON_TRAILER_HEAD = 5, /* magic and kind */
    TW_CRATON_KIND_HMAC = 1,
    TW_CRATON_KIND_ED25519 = 2,
    TW_CRATON_ENVELOPE_MAGIC = 16,
    TW_CRATON_ENVELOPE_VERSION = 1,
    TW_CRATON_ENVELOPE_HEAD = 52,
    TW_CRATON_WRAPPER_MAGIC = 8,
    TW_CRATON_WRAPPER_HEAD = 20,
    TW_CRATON_WRAPPER_TAG = 16,
    TW_CRATON_V4_LEVEL = 3,
};
#define TW_CRATON_MAX_REGISTERS (UINT64_C(1) << 20)
#define TW_CRATON_MAX_WASM      (UINT64_C(1) << 30)
#define TW_CRATON_MAX_DEVICE    (UINT64_C(4) << 30)
#define TW_CRATON_MAX_V4        (UINT64_C(256) << 20)

extern const uint8_t tw_craton_trailer_magic[TW_CRATON_TRAILER_MAGIC];
extern const uint8_t tw_craton_envelope_magic[TW_CRATON_ENVELOPE_MAGIC];
extern const uint8_t tw_craton_wrapper_magic[TW_CRATON_WRAPPER_MAGIC];

/* ---- payload ---- */

/* Parses and checks: magic, version (the one given), sizes, total, crc32. Fills the fields that stand in a payload; the spans
 * point into `payload`. Bytes behind the payload are refused unless `lenient`. */
tw_status tw_craton_payload_read(tw_span payload, uint32_t version, bool lenient, tw_snapshot *out, tw_snap_why *why);

enum { TW_CRATON_PIECES = 7, TW_CRATON_HEAD_ROOM = 16, TW_CRATON_TAIL_ROOM = 85 };
/* A payload in pieces, so that the memories needn't be copied. The pieces point into this and into the state. */
typedef struct tw_craton_payload {
    uint8_t head[TW_CRATON_HEAD_ROOM], device_size[8], register_size[8], tail[TW_CRATON_TAIL_ROOM];
    tw_span pieces[TW_CRATON_PIECES];
    uint64_t size;
} tw_craton_payload;
/* `state` has its creation time. */
tw_status tw_craton_payload_write(const tw_snapshot_state *state, uint32_t version, tw_craton_payload *out,
                                  tw_error *error);

/* ---- files ---- */

/* Fills *out and gives the memory that its spans point into as *storage, malloc'd. The reader's demands on age, sequence and
 * nonce aren't looked at here. */
tw_status tw_craton_read(const tw_snapshot_reader_options *options, tw_span file, tw_snapshot *out, uint8_t **storage,
                         tw_snap_why *why);
/* Options are checked; `state` has its creation time. */
tw_status tw_craton_write(const tw_snapshot_writer_options *options, const tw_snapshot_state *state, tw_bytes *out,
                          tw_error *error);

bool tw_craton_is_wrapped(tw_span file);
/* What is in the wrapper, malloc'd. */
tw_status tw_craton_unwrap(const tw_snapshot_key *key, tw_span file, uint8_t **out, size_t *size, tw_snap_why *why);

#endif
