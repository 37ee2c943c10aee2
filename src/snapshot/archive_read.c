/* SPDX-License-Identifier: Apache-2.0 */
/* In this order: what kind of archive it is, the reader's demands on that, the signature of header and table, their hash, the
 * table, then for each section its hash, decryption, contents. */
#include <sodium.h>
#include <stdlib.h>
#include <string.h>

#include "snapshot/archive.h"

enum { ALIGN = 64 };

bool tw_archive_is(tw_span file)
{
    return tw_envelope_is(&tw_archive_form, file);
}

/* ---- header ---- */

/* As for wrapped files: a reader with a key takes encrypted ones only. */
static tw_status check_encryption(const tw_envelope *e)
{
    if (e->options->aead_key && !e->out->encrypted)
        return tw_snap_refuse(e->why, TW_SNAPSHOT_CLASS_AEAD,
                              "it is not encrypted, and the reader takes encrypted files only");
    if (!e->options->aead_key && e->out->encrypted)
        return tw_snap_refuse(e->why, TW_SNAPSHOT_CLASS_NO_KEY, "it is encrypted, and the reader has no AEAD key");
    return TW_OK;
}

static tw_status check_reserved(const tw_envelope *e)
{
    const uint8_t *head = e->front.data;
    if (sodium_is_zero(head + 24, 8) && sodium_is_zero(head + 48, 16) &&
        (e->out->encrypted || sodium_is_zero(head + 32, TW_ARCHIVE_ID)))
        return TW_OK;
    return tw_snap_refuse(e->why, TW_SNAPSHOT_CLASS_FORMAT, "bytes of the header that must be zero aren't");
}

static tw_status read_table(tw_envelope *e)
{
    uint64_t offset = e->bodies;
    for (size_t i = 0; i < TW_ARCHIVE_SECTIONS; i++) {
        TW_TRY(tw_envelope_read_entry(e, i, offset));
        offset += e->entries[i].length;
    }
    TW_TRY(tw_envelope_end(e, offset));
    const uint64_t sizes[] = {e->entries[1].size, e->entries[2].size, e->entries[3].size};
    return tw_envelope_check_sizes(e, sizes);
}

/* ---- bodies ---- */

/* The body of a section, authenticated; *opened is malloc'd where it had to be decrypted. */
static tw_status open_body(const tw_envelope *e, size_t index, tw_span *body, uint8_t **opened)
{
    const tw_envelope_entry *entry = &e->entries[index];
    uint8_t bound[TW_ENVELOPE_HASHED + TW_ARCHIVE_BOUND];
    *opened = NULL;
    *body = (tw_span){e->front.data + entry->offset, (size_t)entry->length};
    TW_TRY(tw_envelope_check_body(e, index, *body));
    if (!e->out->encrypted) return TW_OK;
    memcpy(bound, e->front.data, TW_ENVELOPE_HASHED);
    memcpy(bound + TW_ENVELOPE_HASHED, entry->raw, TW_ARCHIVE_BOUND);
    TW_TRY(tw_archive_open(e->options->aead_key, (tw_span){bound, sizeof bound}, *body, opened, &body->size, e->why));
    body->data = *opened;
    return TW_OK;
}

static tw_status read_section(const tw_envelope *e, size_t index, uint8_t *memory, uint8_t *present)
{
    tw_span body;
    uint8_t *opened;
    TW_TRY(open_body(e, index, &body, &opened));
    tw_status status =
        index == 0 ? tw_envelope_read_meta(e, body)
                   : tw_archive_pages_read(body, memory, (size_t)e->entries[index].size, e->options->threads, present, e->why);
    free(opened);
    return status;
}

/* The memories lie in one block, each at a multiple of 64 bytes. calloc gives large ones as pages that cost nothing yet. */
static tw_status read_sections(const tw_envelope *e, tw_snap_storage *storage)
{
    tw_span *spans[] = {&e->out->wasm_memory, &e->out->device_memory, &e->out->registers};
    TW_TRY(read_section(e, 0, NULL, NULL));
    storage->heap = calloc(1, (size_t)e->out->total_uncompressed_bytes + TW_ARCHIVE_SECTIONS * ALIGN);
    storage->present = calloc(1, tw_snap_present_size(e->entries[1].size));
    if (!storage->heap || !storage->present) return tw_fail_memory(e->why->error);
    uint8_t *memory = storage->heap;
    for (size_t i = 1; i < TW_ARCHIVE_SECTIONS; i++) {
        size_t size = (size_t)e->entries[i].size;
        memory = (uint8_t *)(((uintptr_t)memory + ALIGN - 1) / ALIGN * ALIGN);
        TW_TRY(read_section(e, i, memory, i == 1 ? storage->present : NULL));
        *spans[i - 1] = (tw_span){memory, size};
        memory += size;
    }
    return TW_OK;
}

static tw_status read_archive(tw_envelope *e, tw_snap_storage *storage)
{
    TW_TRY(tw_envelope_read_kind(e));
    e->out->encrypted = e->flags & TW_ARCHIVE_ENCRYPTED;
    TW_TRY(check_encryption(e));
    TW_TRY(tw_envelope_verify(e));
    TW_TRY(check_reserved(e));
    TW_TRY(read_table(e));
    return read_sections(e, storage);
}

tw_status tw_archive_read(const tw_snapshot_reader_options *options, tw_span file, tw_snapshot *out, tw_snap_storage *storage,
                          tw_snap_why *why)
{
    tw_envelope e = {.form = &tw_archive_form, .options = options, .front = file, .file_size = file.size, .why = why, .out = out};
    tw_status status = read_archive(&e, storage);
    if (status != TW_OK) tw_snap_storage_free(storage);
    return status;
}
