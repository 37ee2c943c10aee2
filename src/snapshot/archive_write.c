/* SPDX-License-Identifier: Apache-2.0 */
#include <sodium.h>
#include <string.h>

#include "snapshot/archive.h"
#include "snapshot/little.h"

const tw_envelope_form tw_archive_form = {
    .format = TW_SNAPSHOT_ARCHIVE, .noun = "archive", .magic = TW_SNAPSHOT_ARCHIVE_MAGIC, .version = TW_SNAPSHOT_ARCHIVE_VERSION,
    .flags = TW_ARCHIVE_ENCRYPTED, .sections = TW_ARCHIVE_SECTIONS, .section_version = 1,
    .names = {"metadata", "wasm memory", "device memory", "registers"}};

/* A file on its way. Bodies go straight into the file, behind room for what comes before them; only what is to be encrypted
 * waits beside it, since encryption binds a header that knows all lengths. */
typedef struct draft {
    const tw_snapshot_writer_options *options;
    uint8_t head[TW_ENVELOPE_HEAD];
    uint8_t table[TW_ARCHIVE_SECTIONS][TW_ENVELOPE_ENTRY];
    uint64_t plain[TW_ARCHIVE_SECTIONS];  /* lengths of the bodies before encryption */
    tw_bytes bodies[TW_ARCHIVE_SECTIONS]; /* when encrypting */
    tw_bytes *out;                        /* empty at first */
} draft;

static tw_span span_of(const tw_bytes *bytes)
{
    return (tw_span){(const uint8_t *)bytes->data, bytes->size};
}

static void reserve_front(draft *d)
{
    static const uint8_t zeros[TW_ENVELOPE_HEAD + TW_ARCHIVE_SECTIONS * TW_ENVELOPE_ENTRY + TW_SNAP_ED25519_SIZE];
    tw_bytes_append(d->out, zeros, sizeof d->head + sizeof d->table + tw_envelope_tag_size(tw_envelope_signature(d->options)));
}

static tw_status write_body(draft *d, const tw_snapshot_state *state, size_t index, tw_error *error)
{
    const tw_span memories[] = {{NULL, 0}, state->wasm_memory, state->device_memory, state->registers};
    tw_bytes *to = d->options->aead_key ? &d->bodies[index] : d->out;
    size_t before = to->size;
    if (index == 0) tw_envelope_append_meta(state, to);
    else TW_TRY(tw_archive_pages_write(memories[index], d->options->level, d->options->threads, to, error));
    d->plain[index] = to->size - before;
    return to->failed ? tw_fail_memory(error) : TW_OK;
}

/* All of header and table but the hashes: sizes are known before anything is encrypted, which binds them. */
static void fill_table(draft *d, const tw_snapshot_state *state)
{
    const uint64_t sizes[] = {TW_ENVELOPE_META, state->wasm_memory.size, state->device_memory.size,
                              state->registers.size};
    bool encrypted = d->options->aead_key;
    uint64_t offset = TW_ENVELOPE_HEAD + sizeof d->table + tw_envelope_tag_size(tw_envelope_signature(d->options));
    for (size_t i = 0; i < TW_ARCHIVE_SECTIONS; i++) {
        uint64_t length = encrypted ? tw_archive_sealed_size(d->plain[i]) : d->plain[i];
        tw_envelope_put_entry(&tw_archive_form, i, offset, length, sizes[i], d->table[i]);
        offset += length;
    }
    tw_envelope_put_head(&tw_archive_form, tw_envelope_signature(d->options) | (encrypted ? TW_ARCHIVE_ENCRYPTED : 0), offset, d->head);
    if (encrypted) randombytes_buf(d->head + TW_ARCHIVE_ID_AT, TW_ARCHIVE_ID);
}

static tw_status seal_body(draft *d, size_t index, tw_error *error)
{
    uint8_t bound[TW_ENVELOPE_HASHED + TW_ARCHIVE_BOUND];
    memcpy(bound, d->head, TW_ENVELOPE_HASHED);
    memcpy(bound + TW_ENVELOPE_HASHED, d->table[index], TW_ARCHIVE_BOUND);
    tw_status status = tw_archive_seal(d->options->aead_key, (tw_span){bound, sizeof bound}, span_of(&d->bodies[index]),
                                       d->out, error);
    tw_bytes_free(&d->bodies[index]);
    return status;
}

/* Hashes, then header, table and tag into the room before the bodies. */
static void fill_front(draft *d)
{
    uint8_t *front = (uint8_t *)d->out->data;
    for (size_t i = 0; i < TW_ARCHIVE_SECTIONS; i++) {
        tw_span body = {front + tw_little64(d->table[i] + 8), (size_t)tw_little64(d->table[i] + 16)};
        tw_envelope_hash(body, (tw_span){NULL, 0}, d->table[i] + TW_ENVELOPE_HASH_AT);
    }
    memcpy(front, d->head, sizeof d->head);
    memcpy(front + sizeof d->head, d->table, sizeof d->table);
    tw_envelope_close(&tw_archive_form, d->options, front);
}

static tw_status write_draft(draft *d, const tw_snapshot_state *state, tw_error *error)
{
    reserve_front(d);
    for (size_t i = 0; i < TW_ARCHIVE_SECTIONS; i++) TW_TRY(write_body(d, state, i, error));
    fill_table(d, state);
    for (size_t i = 0; d->options->aead_key && i < TW_ARCHIVE_SECTIONS; i++) TW_TRY(seal_body(d, i, error));
    if (d->out->failed) return tw_fail_memory(error);
    fill_front(d);
    return TW_OK;
}

tw_status tw_archive_write(const tw_snapshot_writer_options *options, const tw_snapshot_state *state, tw_bytes *out,
                           tw_error *error)
{
    draft d = {.options = options, .out = out};
    tw_status status = write_draft(&d, state, error);
    for (size_t i = 0; i < TW_ARCHIVE_SECTIONS; i++) tw_bytes_free(&d.bodies[i]);
    return status;
}
