/* SPDX-License-Identifier: Apache-2.0 */
#include "snapshot/snapshot.h"

#include <inttypes.h>
#include <sodium.h>
#include <stdlib.h>
#include <string.h>

#include "os/clock.h"
#include "snapshot/archive.h"
#include "snapshot/craton.h"
#include "snapshot/key.h"

enum { MIN_LEVEL = 1, MAX_LEVEL = 19 };

/* A snapshot and the memory behind it. */
typedef struct owned {
    tw_snapshot snapshot; /* first: a pointer to it is a pointer to this */
    tw_snap_storage storage;
} owned;

void tw_snapshot_free(tw_snapshot *snapshot)
{
    owned *o = (owned *)(void *)snapshot;
    if (!o) return;
    tw_snap_storage_free(&o->storage);
    free(o);
}

/* A copy of a snapshot's fields may have been given another memory. */
static const tw_snap_storage *storage_of_memory(const tw_snapshot *snapshot)
{
    const owned *o = snapshot->inside;
    bool same = o && snapshot->wasm_memory.data == o->snapshot.wasm_memory.data && snapshot->wasm_memory.size == o->snapshot.wasm_memory.size;
    return same ? &o->storage : NULL;
}

const tw_snap_backing *tw_snap_backing_of(const tw_snapshot *snapshot)
{
    const tw_snap_storage *storage = storage_of_memory(snapshot);
    return storage && storage->backing.there ? &storage->backing : NULL;
}

const uint8_t *tw_snap_present_of(const tw_snapshot *snapshot)
{
    const tw_snap_storage *storage = storage_of_memory(snapshot);
    return storage ? storage->present : NULL;
}

/* ---- writing ---- */

static bool has_data(const tw_snapshot *s)
{
    return (s->wasm_memory.data || !s->wasm_memory.size) && (s->device_memory.data || !s->device_memory.size);
}

static tw_status check_base(const tw_snapshot_writer_options *options, tw_error *error)
{
    const tw_snapshot *base = options->base;
    if (!base) return TW_OK;
    if (options->format != TW_SNAPSHOT_IMAGE) return tw_fail(error, TW_INVALID_ARGUMENT, "only an image has a base");
    if (!base->has_content) return tw_fail(error, TW_INVALID_ARGUMENT, "a base is an archive or an image of ours");
    if (!has_data(base)) return tw_fail(error, TW_INVALID_ARGUMENT, "a base must have been verified in full");
    if (base->depth < TW_SNAPSHOT_MAX_DEPTH) return TW_OK;
    return tw_fail(error, TW_LIMIT, "%d snapshots stand on one another: no more may; write this one without a base", TW_SNAPSHOT_MAX_DEPTH);
}

tw_status tw_snap_writer_check(const tw_snapshot_writer_options *options, tw_error *error)
{
    bool hmac = options->hmac_key, ed25519 = options->ed25519_secret;
    TW_TRY(tw_snap_crypto_start(error));
    TW_TRY(tw_snap_key_check(options->hmac_key, TW_SNAPSHOT_KEY_HMAC, error));
    TW_TRY(tw_snap_key_check(options->ed25519_secret, TW_SNAPSHOT_KEY_ED25519_SECRET, error));
    TW_TRY(tw_snap_key_check(options->aead_key, TW_SNAPSHOT_KEY_AEAD, error));
    if (options->level < MIN_LEVEL || options->level > MAX_LEVEL)
        return tw_fail(error, TW_INVALID_ARGUMENT, "zstd level %d: it must lie between 1 and 19", options->level);
    if (options->aead_key && options->format != TW_SNAPSHOT_ARCHIVE)
        return tw_fail(error, TW_INVALID_ARGUMENT, "only an archive is encrypted");
    TW_TRY(check_base(options, error));
    switch (options->format) {
    case TW_SNAPSHOT_ARCHIVE:
    case TW_SNAPSHOT_IMAGE: return TW_OK;
    case TW_SNAPSHOT_V2:
        if (hmac || ed25519)
            return tw_fail(error, TW_INVALID_ARGUMENT, "v2 has no signature: give no key, or choose v3 or v4");
        return TW_OK;
    case TW_SNAPSHOT_V3:
        if (!hmac && !ed25519)
            return tw_fail(error, TW_INVALID_ARGUMENT, "v3 needs an HMAC key or an Ed25519 secret key");
        return TW_OK;
    case TW_SNAPSHOT_V4:
        if (!hmac || ed25519) return tw_fail(error, TW_INVALID_ARGUMENT, "v4 needs an HMAC key and takes no other");
        return TW_OK;
    }
    return tw_fail(error, TW_INVALID_ARGUMENT, "no such snapshot format: %d", (int)options->format);
}

tw_status tw_snap_draft_make(const tw_snapshot_writer_options *options, const tw_snapshot_state *state, tw_snap_draft *out,
                             tw_error *error)
{
    tw_snapshot_state own = *state;
    if (!own.has_created) own.created_unix_ms = tw_clock_unix_ms();
    if (options->format == TW_SNAPSHOT_IMAGE) return tw_image_draft(options, &own, out, error);
    bool archive = options->format == TW_SNAPSHOT_ARCHIVE;
    TW_TRY(archive ? tw_archive_write(options, &own, &out->front, error) : tw_craton_write(options, &own, &out->front, error));
    out->parts = malloc(sizeof *out->parts);
    TW_TRY_ALLOC(out->parts, error);
    out->parts[out->part_count++] = (tw_publish_part){0, out->front.data, out->front.size};
    out->size = out->front.size;
    return TW_OK;
}

tw_status tw_snap_draft_publish(const tw_snap_draft *draft, const char *path, tw_error *error)
{
    const char *step;
    int failed = tw_publish_parts(path, draft->parts, draft->part_count, &step);
    return failed ? tw_fail(error, TW_IO, "can't write the snapshot %.300s: %s: %s", path, step, strerror(failed)) : TW_OK;
}

/* All parts in one piece. */
static tw_status join(const tw_snap_draft *draft, tw_bytes *out, tw_error *error)
{
    char *bytes = draft->size < SIZE_MAX ? calloc(1, (size_t)draft->size + 1) : NULL;
    TW_TRY_ALLOC(bytes, error);
    for (size_t i = 0; i < draft->part_count; i++)
        if (draft->parts[i].size) memcpy(bytes + draft->parts[i].offset, draft->parts[i].bytes, draft->parts[i].size);
    *out = (tw_bytes){bytes, (size_t)draft->size, (size_t)draft->size + 1, 0};
    return TW_OK;
}

tw_status tw_snap_write(const tw_snapshot_writer_options *options, const tw_snapshot_state *state, tw_bytes *out,
                        tw_error *error)
{
    tw_snap_draft draft = {0};
    tw_status status = tw_snap_draft_make(options, state, &draft, error);
    if (!status && draft.part_count == 1) {
        *out = draft.front;
        draft.front = (tw_bytes){0};
    } else if (!status) {
        status = join(&draft, out, error);
    }
    tw_snap_draft_free(&draft);
    return status;
}

/* ---- reading ---- */

tw_status tw_snap_reader_check(const tw_snapshot_reader_options *options, tw_error *error)
{
    TW_TRY(tw_snap_crypto_start(error));
    TW_TRY(tw_snap_key_check(options->hmac_key, TW_SNAPSHOT_KEY_HMAC, error));
    TW_TRY(tw_snap_key_check(options->ed25519_public, TW_SNAPSHOT_KEY_ED25519_PUBLIC, error));
    const tw_snapshot *base = options->base;
    bool trusted = base && options->verify == TW_SNAPSHOT_VERIFY_TRUSTED && tw_snap_backing_of(base);
    if (base && !has_data(base) && !trusted)
        return tw_fail(error, TW_INVALID_ARGUMENT, "a base must have been verified in full, but for a reader that takes images on trust");
    return tw_snap_key_check(options->aead_key, TW_SNAPSHOT_KEY_AEAD, error);
}

static tw_status check_age(const tw_snapshot_reader_options *options, const tw_snapshot *s, tw_snap_why *why)
{
    uint64_t now = tw_clock_unix_ms();
    if (!options->has_max_age || s->created_unix_ms >= now || now - s->created_unix_ms <= options->max_age_ms)
        return TW_OK;
    return tw_snap_refuse(why, TW_SNAPSHOT_CLASS_STALE, "it is %" PRIu64 " ms old; the reader takes at most %" PRIu64,
                          now - s->created_unix_ms, options->max_age_ms);
}

static tw_status check_replay(const tw_snapshot_reader_options *options, const tw_snapshot *s, tw_snap_why *why)
{
    if (s->sequence < options->min_sequence)
        return tw_snap_refuse(why, TW_SNAPSHOT_CLASS_REPLAY,
                              "its sequence number is %" PRIu64 "; the reader takes none below %" PRIu64, s->sequence,
                              options->min_sequence);
    if (!options->has_expected_nonce) return TW_OK;
    if (!s->has_nonce)
        return tw_snap_refuse(why, TW_SNAPSHOT_CLASS_REPLAY, "it has no nonce, and the reader expects one");
    if (sodium_memcmp(s->nonce, options->expected_nonce, TW_SNAPSHOT_NONCE_SIZE) == 0) return TW_OK;
    return tw_snap_refuse(why, TW_SNAPSHOT_CLASS_REPLAY, "its nonce is not the one that the reader expects");
}

static tw_status read_wrapped(const tw_snapshot_reader_options *options, tw_span file, owned *out, tw_snap_why *why)
{
    uint8_t *plain;
    size_t size;
    TW_TRY(tw_craton_unwrap(options->aead_key, file, &plain, &size, why));
    out->snapshot.encrypted = true;
    tw_status status = tw_craton_read(options, (tw_span){plain, size}, &out->snapshot, &out->storage.heap, why);
    free(plain);
    return status;
}

static tw_status read_bytes(const tw_snapshot_reader_options *options, tw_span file, owned *out, tw_snap_why *why)
{
    tw_image_source source = {-1, file, file.size};
    if (tw_archive_is(file)) return tw_archive_read(options, file, &out->snapshot, &out->storage, why);
    if (tw_image_is(file)) return tw_image_read(options, &source, &out->snapshot, &out->storage, why);
    if (options->aead_key) return read_wrapped(options, file, out, why);
    return tw_craton_read(options, file, &out->snapshot, &out->storage.heap, why);
}

tw_status tw_snap_check_file_size(const tw_snapshot_reader_options *options, uint64_t size, tw_snap_why *why)
{
    if (size <= options->max_file) return TW_OK;
    return tw_snap_refuse(why, TW_SNAPSHOT_CLASS_LIMIT, "the file has %" PRIu64 " bytes; the reader takes at most %" PRIu64, size,
                          options->max_file);
}

tw_status tw_snap_read_source(const tw_snapshot_reader_options *options, const tw_image_source *source, tw_snapshot **out,
                              tw_snap_why *why)
{
    TW_TRY(tw_snap_check_file_size(options, source->size, why));
    owned *o = calloc(1, sizeof *o);
    TW_TRY_ALLOC(o, why->error);
    o->snapshot.inside = o;
    tw_status status = source->file < 0 ? read_bytes(options, source->bytes, o, why)
                                        : tw_image_read(options, source, &o->snapshot, &o->storage, why);
    if (!status) status = check_age(options, &o->snapshot, why);
    if (!status) status = check_replay(options, &o->snapshot, why);
    if (status != TW_OK) {
        tw_snapshot_free(&o->snapshot);
        return status;
    }
    *out = &o->snapshot;
    return TW_OK;
}

tw_status tw_snap_read(const tw_snapshot_reader_options *options, tw_span file, tw_snapshot **out, tw_snap_why *why)
{
    tw_image_source source = {-1, file, file.size};
    return tw_snap_read_source(options, &source, out, why);
}
