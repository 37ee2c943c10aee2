/* SPDX-License-Identifier: Apache-2.0 */
#include <sodium.h>
#include <string.h>

#include "blake3/blake3.h"
#include "snapshot/archive.h"
#include "snapshot/little.h"

/* A file on its way. Bodies go straight into the file, behind room for what comes before them; only what is to be encrypted
 * waits beside it, since encryption binds a header that knows all lengths. */
typedef struct draft {
    const tw_snapshot_writer_options *options;
    tw_snapshot_signature signature;
    uint8_t head[TW_ARCHIVE_HEAD];
    uint8_t table[TW_ARCHIVE_SECTIONS][TW_ARCHIVE_ENTRY];
    uint64_t plain[TW_ARCHIVE_SECTIONS];  /* lengths of the bodies before encryption */
    tw_bytes bodies[TW_ARCHIVE_SECTIONS]; /* when encrypting */
    tw_bytes *out;                        /* empty at first */
} draft;

static tw_span span_of(const tw_bytes *bytes)
{
    return (tw_span){(const uint8_t *)bytes->data, bytes->size};
}

static size_t tag_size(tw_snapshot_signature signature)
{
    if (signature == TW_SNAPSHOT_SIGNATURE_ED25519) return TW_SNAP_ED25519_SIZE;
    return signature == TW_SNAPSHOT_SIGNATURE_HMAC ? TW_SNAP_HMAC_SIZE : 0;
}

static void append_meta(const tw_snapshot_state *state, tw_bytes *out)
{
    uint8_t meta[TW_ARCHIVE_META] = {0}, *at = meta;
    at = tw_put_little64(at, state->tenant);
    at = tw_put_little64(at, state->instance.low);
    at = tw_put_little64(at, state->instance.high);
    at = tw_put_little64(at, state->created_unix_ms);
    at = tw_put_little64(at, state->sequence);
    at = tw_put_little64(at, (uint64_t)state->wasm_memory.size + state->device_memory.size + state->registers.size);
    *at++ = state->has_nonce;
    if (state->has_nonce) memcpy(at, state->nonce, TW_SNAPSHOT_NONCE_SIZE);
    tw_bytes_append(out, meta, sizeof meta);
}

static void reserve_front(draft *d)
{
    static const uint8_t zeros[TW_ARCHIVE_HEAD + TW_ARCHIVE_SECTIONS * TW_ARCHIVE_ENTRY + TW_SNAP_ED25519_SIZE];
    tw_bytes_append(d->out, zeros, sizeof d->head + sizeof d->table + tag_size(d->signature));
}

static tw_status write_body(draft *d, const tw_snapshot_state *state, size_t index, tw_error *error)
{
    const tw_span memories[] = {{NULL, 0}, state->wasm_memory, state->device_memory, state->registers};
    tw_bytes *to = d->options->aead_key ? &d->bodies[index] : d->out;
    size_t before = to->size;
    if (index == 0) append_meta(state, to);
    else TW_TRY(tw_archive_pages_write(memories[index], d->options->level, d->options->threads, to, error));
    d->plain[index] = to->size - before;
    return to->failed ? tw_fail_memory(error) : TW_OK;
}

/* All of header and table but the hashes: sizes are known before anything is encrypted, which binds them. */
static void fill_table(draft *d, const tw_snapshot_state *state)
{
    const uint64_t sizes[] = {TW_ARCHIVE_META, state->wasm_memory.size, state->device_memory.size,
                              state->registers.size};
    bool encrypted = d->options->aead_key;
    uint64_t offset = TW_ARCHIVE_HEAD + sizeof d->table + tag_size(d->signature);
    for (size_t i = 0; i < TW_ARCHIVE_SECTIONS; i++) {
        uint64_t length = encrypted ? tw_archive_sealed_size(d->plain[i]) : d->plain[i];
        uint8_t *at = tw_put_little32(d->table[i], (uint32_t)i + TW_ARCHIVE_KIND_META);
        at = tw_put_little32(at, TW_ARCHIVE_SECTION_VERSION);
        tw_put_little64(tw_put_little64(tw_put_little64(at, offset), length), sizes[i]);
        offset += length;
    }
    uint8_t *at = tw_put_little32(d->head, TW_SNAPSHOT_ARCHIVE_MAGIC);
    at = tw_put_little32(at, TW_SNAPSHOT_ARCHIVE_VERSION);
    at = tw_put_little32(at, d->signature | (encrypted ? TW_ARCHIVE_ENCRYPTED : 0));
    at = tw_put_little32(at, TW_ARCHIVE_SECTIONS);
    at = tw_put_little64(at, offset) + 8;
    if (encrypted) randombytes_buf(at, TW_ARCHIVE_ID);
}

static tw_status seal_body(draft *d, size_t index, tw_error *error)
{
    uint8_t bound[TW_ARCHIVE_HASHED + TW_ARCHIVE_BOUND];
    memcpy(bound, d->head, TW_ARCHIVE_HASHED);
    memcpy(bound + TW_ARCHIVE_HASHED, d->table[index], TW_ARCHIVE_BOUND);
    tw_status status = tw_archive_seal(d->options->aead_key, (tw_span){bound, sizeof bound}, span_of(&d->bodies[index]),
                                       d->out, error);
    tw_bytes_free(&d->bodies[index]);
    return status;
}

static void fill_hashes(draft *d)
{
    tw_blake3 state;
    for (size_t i = 0; i < TW_ARCHIVE_SECTIONS; i++) {
        const uint8_t *entry = d->table[i];
        tw_blake3_start(&state);
        tw_blake3_add(&state, (const uint8_t *)d->out->data + tw_little64(entry + 8), (size_t)tw_little64(entry + 16));
        tw_blake3_end(&state, d->table[i] + TW_ARCHIVE_BOUND);
    }
    tw_blake3_start(&state);
    tw_blake3_add(&state, d->head, TW_ARCHIVE_HASHED);
    tw_blake3_add(&state, d->table[0], sizeof d->table);
    tw_blake3_end(&state, d->head + TW_ARCHIVE_HASHED);
}

/* Header, table and tag into the room before the bodies. */
static void fill_front(const draft *d)
{
    uint8_t *front = (uint8_t *)d->out->data, *tag = front + sizeof d->head + sizeof d->table;
    tw_span covered = {front, sizeof d->head + sizeof d->table};
    memcpy(front, d->head, sizeof d->head);
    memcpy(front + sizeof d->head, d->table, sizeof d->table);
    if (d->signature == TW_SNAPSHOT_SIGNATURE_HMAC)
        tw_snap_hmac(d->options->hmac_key, covered, (tw_span){NULL, 0}, tag);
    if (d->signature == TW_SNAPSHOT_SIGNATURE_ED25519) tw_snap_ed25519_sign(d->options->ed25519_secret, covered, tag);
}

static tw_status write_draft(draft *d, const tw_snapshot_state *state, tw_error *error)
{
    reserve_front(d);
    for (size_t i = 0; i < TW_ARCHIVE_SECTIONS; i++) TW_TRY(write_body(d, state, i, error));
    fill_table(d, state);
    for (size_t i = 0; d->options->aead_key && i < TW_ARCHIVE_SECTIONS; i++) TW_TRY(seal_body(d, i, error));
    if (d->out->failed) return tw_fail_memory(error);
    fill_hashes(d);
    fill_front(d);
    return TW_OK;
}

tw_status tw_archive_write(const tw_snapshot_writer_options *options, const tw_snapshot_state *state, tw_bytes *out,
                           tw_error *error)
{
    draft d = {.options = options, .out = out};
    if (options->hmac_key) d.signature = TW_SNAPSHOT_SIGNATURE_HMAC;
    if (options->ed25519_secret) d.signature = TW_SNAPSHOT_SIGNATURE_ED25519;
    tw_status status = write_draft(&d, state, error);
    for (size_t i = 0; i < TW_ARCHIVE_SECTIONS; i++) tw_bytes_free(&d.bodies[i]);
    return status;
}
