/* SPDX-License-Identifier: Apache-2.0 */
#include "snapshot/snapshot.h"

#include <inttypes.h>
#include <sodium.h>
#include <stdlib.h>

#include "os/clock.h"
#include "snapshot/archive.h"
#include "snapshot/craton.h"
#include "snapshot/key.h"

enum { MIN_LEVEL = 1, MAX_LEVEL = 19 };

/* A snapshot and the memory behind it. */
typedef struct owned {
    tw_snapshot snapshot; /* first: a pointer to it is a pointer to this */
    uint8_t *storage;
} owned;

void tw_snapshot_free(tw_snapshot *snapshot)
{
    owned *o = (owned *)(void *)snapshot;
    if (!o) return;
    free(o->storage);
    free(o);
}

/* ---- writing ---- */

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
    switch (options->format) {
    case TW_SNAPSHOT_ARCHIVE: return TW_OK;
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

tw_status tw_snap_write(const tw_snapshot_writer_options *options, const tw_snapshot_state *state, tw_bytes *out,
                        tw_error *error)
{
    tw_snapshot_state own = *state;
    if (!own.has_created) own.created_unix_ms = tw_clock_unix_ms();
    if (options->format == TW_SNAPSHOT_ARCHIVE) return tw_archive_write(options, &own, out, error);
    return tw_craton_write(options, &own, out, error);
}

/* ---- reading ---- */

tw_status tw_snap_reader_check(const tw_snapshot_reader_options *options, tw_error *error)
{
    TW_TRY(tw_snap_crypto_start(error));
    TW_TRY(tw_snap_key_check(options->hmac_key, TW_SNAPSHOT_KEY_HMAC, error));
    TW_TRY(tw_snap_key_check(options->ed25519_public, TW_SNAPSHOT_KEY_ED25519_PUBLIC, error));
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
    tw_status status = tw_craton_read(options, (tw_span){plain, size}, &out->snapshot, &out->storage, why);
    free(plain);
    return status;
}

static tw_status read_file(const tw_snapshot_reader_options *options, tw_span file, owned *out, tw_snap_why *why)
{
    if (tw_archive_is(file)) return tw_archive_read(options, file, &out->snapshot, &out->storage, why);
    if (options->aead_key) return read_wrapped(options, file, out, why);
    return tw_craton_read(options, file, &out->snapshot, &out->storage, why);
}

tw_status tw_snap_read(const tw_snapshot_reader_options *options, tw_span file, tw_snapshot **out, tw_snap_why *why)
{
    if (file.size > options->max_file)
        return tw_snap_refuse(why, TW_SNAPSHOT_CLASS_LIMIT, "the file has %zu bytes; the reader takes at most %" PRIu64,
                              file.size, options->max_file);
    owned *o = calloc(1, sizeof *o);
    TW_TRY_ALLOC(o, why->error);
    tw_status status = read_file(options, file, o, why);
    if (!status) status = check_age(options, &o->snapshot, why);
    if (!status) status = check_replay(options, &o->snapshot, why);
    if (status != TW_OK) {
        tw_snapshot_free(&o->snapshot);
        return status;
    }
    *out = &o->snapshot;
    return TW_OK;
}
