/* SPDX-License-Identifier: Apache-2.0 */
/* In this order: what kind of archive it is, the reader's demands on that, the signature of header and table, their hash, the
 * table, then for each section its hash, decryption, contents. */
#include <inttypes.h>
#include <sodium.h>
#include <stdlib.h>
#include <string.h>

#include "blake3/blake3.h"
#include "snapshot/archive.h"
#include "snapshot/little.h"

enum { ALIGN = 64 };

typedef struct entry {
    uint64_t offset, length, size;
    const uint8_t *raw; /* in the file */
} entry;

typedef struct archive {
    const tw_snapshot_reader_options *options;
    tw_span file;
    tw_snap_why *why;
    tw_snapshot *out;
    uint32_t flags;
    size_t table_end, bodies; /* offsets */
    entry entries[TW_ARCHIVE_SECTIONS];
} archive;

static const char *const section_names[TW_ARCHIVE_SECTIONS] = {"metadata", "wasm memory", "device memory", "registers"};

bool tw_archive_is(tw_span file)
{
    return file.size >= 4 && tw_little32(file.data) == TW_SNAPSHOT_ARCHIVE_MAGIC;
}

static bool hash_is(tw_span first, tw_span second, const uint8_t wanted[TW_ARCHIVE_HASH])
{
    tw_blake3 state;
    uint8_t hash[TW_BLAKE3_SIZE];
    tw_blake3_start(&state);
    tw_blake3_add(&state, first.data, first.size);
    tw_blake3_add(&state, second.data, second.size);
    tw_blake3_end(&state, hash);
    return sodium_memcmp(hash, wanted, sizeof hash) == 0;
}

static bool all_zero(const uint8_t *bytes, size_t size)
{
    return sodium_is_zero(bytes, size);
}

/* ---- header and signature ---- */

static tw_status too_short(const archive *a)
{
    return tw_snap_refuse(a->why, TW_SNAPSHOT_CLASS_FORMAT, "the archive is cut off after %zu bytes", a->file.size);
}

/* What the header says of itself, before anything vouches for it. */
static tw_status read_kind(archive *a)
{
    const uint8_t *head = a->file.data;
    if (a->file.size < TW_ARCHIVE_HEAD) return too_short(a);
    a->out->format = TW_SNAPSHOT_ARCHIVE;
    a->out->magic = tw_little32(head);
    a->out->version = tw_little32(head + 4);
    if (a->out->version != TW_SNAPSHOT_ARCHIVE_VERSION)
        return tw_snap_refuse(a->why, TW_SNAPSHOT_CLASS_VERSION,
                              "an archive of version %" PRIu32 "; only %d is known here", a->out->version,
                              TW_SNAPSHOT_ARCHIVE_VERSION);
    a->flags = tw_little32(head + 8);
    uint32_t signature = a->flags & TW_ARCHIVE_SIGNATURE_MASK;
    if (a->flags > (TW_ARCHIVE_SIGNATURE_MASK | TW_ARCHIVE_ENCRYPTED) || signature > TW_SNAPSHOT_SIGNATURE_ED25519)
        return tw_snap_refuse(a->why, TW_SNAPSHOT_CLASS_FORMAT, "the archive's flags, 0x%" PRIx32 ", aren't known",
                              a->flags);
    a->out->encrypted = a->flags & TW_ARCHIVE_ENCRYPTED;
    a->table_end = TW_ARCHIVE_HEAD + TW_ARCHIVE_SECTIONS * TW_ARCHIVE_ENTRY;
    a->bodies = a->table_end;
    if (signature == TW_SNAPSHOT_SIGNATURE_HMAC) a->bodies += TW_SNAP_HMAC_SIZE;
    if (signature == TW_SNAPSHOT_SIGNATURE_ED25519) a->bodies += TW_SNAP_ED25519_SIZE;
    return a->file.size < a->bodies ? too_short(a) : TW_OK;
}

/* As for wrapped files: a reader with a key takes encrypted ones only. */
static tw_status check_encryption(const archive *a)
{
    if (a->options->aead_key && !a->out->encrypted)
        return tw_snap_refuse(a->why, TW_SNAPSHOT_CLASS_AEAD,
                              "it is not encrypted, and the reader takes encrypted files only");
    if (!a->options->aead_key && a->out->encrypted)
        return tw_snap_refuse(a->why, TW_SNAPSHOT_CLASS_NO_KEY, "it is encrypted, and the reader has no AEAD key");
    return TW_OK;
}

static tw_status check_signature(archive *a)
{
    tw_span covered = {a->file.data, a->table_end};
    const uint8_t *tag = a->file.data + a->table_end;
    tw_snapshot_signature signature = (tw_snapshot_signature)(a->flags & TW_ARCHIVE_SIGNATURE_MASK);
    if (signature == TW_SNAPSHOT_SIGNATURE_NONE) {
        if (!a->options->require_signature) return TW_OK;
        return tw_snap_refuse(a->why, TW_SNAPSHOT_CLASS_UNSIGNED, "it has no signature, and the reader requires one");
    }
    bool hmac = signature == TW_SNAPSHOT_SIGNATURE_HMAC;
    const tw_snapshot_key *key = hmac ? a->options->hmac_key : a->options->ed25519_public;
    const char *name = hmac ? "HMAC-SHA256" : "Ed25519";
    if (!key)
        return tw_snap_refuse(a->why, TW_SNAPSHOT_CLASS_NO_KEY,
                              "it is signed with %s, and the reader has no key for that", name);
    if (hmac ? !tw_snap_hmac_is(key, covered, (tw_span){NULL, 0}, tag) : !tw_snap_ed25519_is(key, covered, tag))
        return tw_snap_refuse(a->why, TW_SNAPSHOT_CLASS_SIGNATURE, "the %s signature is not of these bytes by this key",
                              name);
    a->out->signature = signature;
    return TW_OK;
}

static tw_status check_header(const archive *a)
{
    const uint8_t *head = a->file.data;
    tw_span table = {head + TW_ARCHIVE_HEAD, a->table_end - TW_ARCHIVE_HEAD};
    if (!hash_is((tw_span){head, TW_ARCHIVE_HASHED}, table, head + TW_ARCHIVE_HASHED))
        return tw_snap_refuse(a->why, TW_SNAPSHOT_CLASS_HASH, "the hash of header and section table is another");
    if (tw_little32(head + 12) != TW_ARCHIVE_SECTIONS)
        return tw_snap_refuse(a->why, TW_SNAPSHOT_CLASS_FORMAT, "the archive has %" PRIu32 " sections; %d belong there",
                              tw_little32(head + 12), TW_ARCHIVE_SECTIONS);
    uint64_t size = tw_little64(head + 16);
    if (size > a->file.size) return too_short(a);
    if (size < a->file.size)
        return tw_snap_refuse(a->why, TW_SNAPSHOT_CLASS_TRAILING, "%" PRIu64 " bytes stand behind the archive",
                              a->file.size - size);
    if (!all_zero(head + 24, 8) || !all_zero(head + 48, 16) ||
        (!a->out->encrypted && !all_zero(head + 32, TW_ARCHIVE_ID)))
        return tw_snap_refuse(a->why, TW_SNAPSHOT_CLASS_FORMAT, "bytes of the header that must be zero aren't");
    return TW_OK;
}

/* ---- the table ---- */

/* Sections stand in one order, each once, without gaps: so there is nothing to be duplicated, reordered or overlapped. */
static tw_status read_entry(archive *a, size_t index, uint64_t offset)
{
    entry *e = &a->entries[index];
    e->raw = a->file.data + TW_ARCHIVE_HEAD + index * TW_ARCHIVE_ENTRY;
    uint32_t kind = tw_little32(e->raw), version = tw_little32(e->raw + 4);
    e->offset = tw_little64(e->raw + 8);
    e->length = tw_little64(e->raw + 16);
    e->size = tw_little64(e->raw + 24);
    if (kind != index + TW_ARCHIVE_KIND_META)
        return tw_snap_refuse(a->why, TW_SNAPSHOT_CLASS_FORMAT, "section %zu is of kind %" PRIu32 "; %s belongs there",
                              index, kind, section_names[index]);
    if (version != TW_ARCHIVE_SECTION_VERSION)
        return tw_snap_refuse(a->why, TW_SNAPSHOT_CLASS_VERSION, "%s of version %" PRIu32 "; only %d is known here",
                              section_names[index], version, TW_ARCHIVE_SECTION_VERSION);
    if (e->offset != offset || e->length > a->file.size - offset)
        return tw_snap_refuse(a->why, TW_SNAPSHOT_CLASS_FORMAT, "%s doesn't lie where it should in the archive",
                              section_names[index]);
    return TW_OK;
}

static tw_status check_sizes(archive *a)
{
    uint64_t total = 0;
    for (size_t i = 1; i < TW_ARCHIVE_SECTIONS; i++)
        if (__builtin_add_overflow(total, a->entries[i].size, &total)) total = UINT64_MAX;
    a->out->total_uncompressed_bytes = total;
    if (total > a->options->max_bytes || total > SIZE_MAX / 2)
        return tw_snap_refuse(a->why, TW_SNAPSHOT_CLASS_LIMIT,
                              "the memories have %" PRIu64 " bytes; the reader takes at most %" PRIu64, total,
                              a->options->max_bytes);
    if (a->entries[0].size != TW_ARCHIVE_META)
        return tw_snap_refuse(a->why, TW_SNAPSHOT_CLASS_FORMAT, "metadata of %" PRIu64 " bytes; %d belong there",
                              a->entries[0].size, TW_ARCHIVE_META);
    return TW_OK;
}

static tw_status read_table(archive *a)
{
    uint64_t offset = a->bodies;
    for (size_t i = 0; i < TW_ARCHIVE_SECTIONS; i++) {
        TW_TRY(read_entry(a, i, offset));
        offset += a->entries[i].length;
    }
    if (offset != a->file.size)
        return tw_snap_refuse(a->why, TW_SNAPSHOT_CLASS_FORMAT, "the sections end at %" PRIu64 ", the archive at %zu",
                              offset, a->file.size);
    return check_sizes(a);
}

/* ---- bodies ---- */

/* The body of a section, authenticated; *opened is malloc'd where it had to be decrypted. */
static tw_status open_body(const archive *a, size_t index, tw_span *body, uint8_t **opened)
{
    const entry *e = &a->entries[index];
    uint8_t bound[TW_ARCHIVE_HASHED + TW_ARCHIVE_BOUND];
    *opened = NULL;
    *body = (tw_span){a->file.data + e->offset, (size_t)e->length};
    if (!hash_is(*body, (tw_span){NULL, 0}, e->raw + TW_ARCHIVE_BOUND))
        return tw_snap_refuse(a->why, TW_SNAPSHOT_CLASS_HASH, "the hash of %s is another", section_names[index]);
    if (!a->out->encrypted) return TW_OK;
    memcpy(bound, a->file.data, TW_ARCHIVE_HASHED);
    memcpy(bound + TW_ARCHIVE_HASHED, e->raw, TW_ARCHIVE_BOUND);
    TW_TRY(tw_archive_open(a->options->aead_key, (tw_span){bound, sizeof bound}, *body, opened, &body->size, a->why));
    body->data = *opened;
    return TW_OK;
}

static tw_status parse_meta(const archive *a, tw_span body)
{
    tw_snapshot *s = a->out;
    const uint8_t *at = body.data;
    if (body.size != TW_ARCHIVE_META || at[48] > 1 || (at[48] == 0 && !all_zero(at + 49, TW_SNAPSHOT_NONCE_SIZE)))
        return tw_snap_refuse(a->why, TW_SNAPSHOT_CLASS_FORMAT, "the metadata isn't built as it should be");
    s->tenant = tw_little64(at);
    s->instance = (tw_instance_id){.low = tw_little64(at + 8), .high = tw_little64(at + 16)};
    s->created_unix_ms = tw_little64(at + 24);
    s->sequence = tw_little64(at + 32);
    s->has_nonce = at[48];
    memcpy(s->nonce, at + 49, TW_SNAPSHOT_NONCE_SIZE);
    if (tw_little64(at + 40) != s->total_uncompressed_bytes)
        return tw_snap_refuse(a->why, TW_SNAPSHOT_CLASS_TOTAL,
                              "the total is given as %" PRIu64 " bytes; the memories have %" PRIu64,
                              tw_little64(at + 40), s->total_uncompressed_bytes);
    return TW_OK;
}

static tw_status read_section(const archive *a, size_t index, uint8_t *memory)
{
    tw_span body;
    uint8_t *opened;
    TW_TRY(open_body(a, index, &body, &opened));
    tw_status status =
        index == 0 ? parse_meta(a, body)
                   : tw_archive_pages_read(body, memory, (size_t)a->entries[index].size, a->options->threads, a->why);
    free(opened);
    return status;
}

/* The memories lie in one block, each at a multiple of 64 bytes. calloc gives large ones as pages that cost nothing yet. */
static tw_status read_sections(const archive *a, uint8_t **storage)
{
    tw_span *spans[] = {&a->out->wasm_memory, &a->out->device_memory, &a->out->registers};
    TW_TRY(read_section(a, 0, NULL));
    *storage = calloc(1, (size_t)a->out->total_uncompressed_bytes + TW_ARCHIVE_SECTIONS * ALIGN);
    TW_TRY_ALLOC(*storage, a->why->error);
    uint8_t *memory = *storage;
    for (size_t i = 1; i < TW_ARCHIVE_SECTIONS; i++) {
        size_t size = (size_t)a->entries[i].size;
        memory = (uint8_t *)(((uintptr_t)memory + ALIGN - 1) / ALIGN * ALIGN);
        TW_TRY(read_section(a, i, memory));
        *spans[i - 1] = (tw_span){memory, size};
        memory += size;
    }
    return TW_OK;
}

static tw_status read_archive(archive *a, uint8_t **storage)
{
    TW_TRY(read_kind(a));
    TW_TRY(check_encryption(a));
    TW_TRY(check_signature(a));
    TW_TRY(check_header(a));
    TW_TRY(read_table(a));
    return read_sections(a, storage);
}

tw_status tw_archive_read(const tw_snapshot_reader_options *options, tw_span file, tw_snapshot *out, uint8_t **storage,
                          tw_snap_why *why)
{
    archive a = {.options = options, .file = file, .why = why, .out = out};
    *storage = NULL;
    tw_status status = read_archive(&a, storage);
    if (status == TW_OK) return TW_OK;
    free(*storage);
    *storage = NULL;
    return status;
}
