/* SPDX-License-Identifier: Apache-2.0 */
#ifndef TW_SNAPSHOT_ENVELOPE_H
#define TW_SNAPSHOT_ENVELOPE_H

/* What our own two forms, archive and image, begin with. All integers are little-endian.
 *
 *   header   96 bytes
 *     0   u32   magic
 *     4   u32   version
 *     8   u32   flags: bits 0-1 signature (0 none, 1 HMAC-SHA256, 2 Ed25519), the others are the form's
 *    12   u32   number of sections
 *    16   u64   size of the file
 *    24   40    the form's
 *    64   32    check: BLAKE3 of bytes 0 to 63 and the section table
 *   table    64 bytes a section, in one order, each kind once
 *     0   u32   kind: 1, 2, 3, …
 *     4   u32   version of the section
 *     8   u64   offset of its body in the file
 *    16   u64   length of its body
 *    24   u64   size of what it holds
 *    32   32    hash of its body
 *   tag      0, 32 or 64 bytes: over header and table, which hold the hash of everything else
 *   bodies
 *
 * So a reader knows what to make of a file when it has read its first TW_ENVELOPE_MOST bytes. */

#include "base/bytes.h"
#include "snapshot/key.h"
#include "snapshot/refuse.h"

enum {
    TW_ENVELOPE_HEAD = 96,
    TW_ENVELOPE_OWN = 24,     /* where the form's own part of the header begins */
    TW_ENVELOPE_HASHED = 64,  /* of the header */
    TW_ENVELOPE_ENTRY = 64,
    TW_ENVELOPE_HASH_AT = 32, /* in an entry */
    TW_ENVELOPE_HASH = 32,
    TW_ENVELOPE_SECTIONS = 7, /* at most */
    TW_ENVELOPE_SIGNATURE_MASK = 3,
    TW_ENVELOPE_META = 65,
    TW_ENVELOPE_MOST = TW_ENVELOPE_HEAD + TW_ENVELOPE_SECTIONS * TW_ENVELOPE_ENTRY + TW_SNAP_ED25519_SIZE,
};

typedef struct tw_envelope_form {
    tw_snapshot_format format;
    const char *noun; /* "archive" */
    uint32_t magic, version, flags, sections, section_version;
    const char *names[TW_ENVELOPE_SECTIONS];
} tw_envelope_form;

typedef struct tw_envelope_entry {
    uint64_t offset, length, size;
    const uint8_t *raw; /* in `front` */
} tw_envelope_entry;

/* A file that is being read. */
typedef struct tw_envelope {
    const tw_envelope_form *form;
    const tw_snapshot_reader_options *options;
    tw_span front;      /* its first bytes: TW_ENVELOPE_MOST, or all */
    uint64_t file_size;
    tw_snap_why *why;
    tw_snapshot *out;
    uint32_t flags;
    size_t table_end, bodies; /* offsets */
    tw_envelope_entry entries[TW_ENVELOPE_SECTIONS];
} tw_envelope;

/* The form's magic stands there. */
bool tw_envelope_is(const tw_envelope_form *form, tw_span file);
/* What kind of file it says that it is: format, version, flags. Nothing vouches for that yet. */
tw_status tw_envelope_read_kind(tw_envelope *e);
/* The signature, as far as the reader demands one; then the check and the file's size. The form's own part of the header is the
 * form's to look at. */
tw_status tw_envelope_verify(tw_envelope *e);
/* The index-th entry is of its kind and its body lies at `offset`. */
tw_status tw_envelope_read_entry(tw_envelope *e, size_t index, uint64_t offset);
/* The bodies have ended there, and so has the file. */
tw_status tw_envelope_end(const tw_envelope *e, uint64_t offset);
/* The three memories' sum is what the reader takes; metadata have their size. */
tw_status tw_envelope_check_sizes(tw_envelope *e, const uint64_t sizes[3]);
/* The body's hash is the entry's. */
tw_status tw_envelope_check_body(const tw_envelope *e, size_t index, tw_span body);
/* Into *out; the total must be the one of the sizes. */
tw_status tw_envelope_read_meta(const tw_envelope *e, tw_span body);

/* ---- writing ---- */

tw_snapshot_signature tw_envelope_signature(const tw_snapshot_writer_options *options);
size_t tw_envelope_tag_size(tw_snapshot_signature signature);
void tw_envelope_append_meta(const tw_snapshot_state *state, tw_bytes *out);
/* All of an entry but the hash. */
void tw_envelope_put_entry(const tw_envelope_form *form, size_t index, uint64_t offset, uint64_t length, uint64_t size,
                           uint8_t entry[TW_ENVELOPE_ENTRY]);
/* The header's first 24 bytes. */
void tw_envelope_put_head(const tw_envelope_form *form, uint32_t flags, uint64_t file_size, uint8_t head[TW_ENVELOPE_HEAD]);
/* The check of a header with its table behind it, then the tag behind that. */
void tw_envelope_close(const tw_envelope_form *form, const tw_snapshot_writer_options *options, uint8_t *front);

/* BLAKE3 of two spans, one behind the other. */
void tw_envelope_hash(tw_span first, tw_span second, uint8_t hash[TW_ENVELOPE_HASH]);

#endif
