/* SPDX-License-Identifier: Apache-2.0 */
#include <inttypes.h>

#include "blake3/blake3.h"
#include "snapshot/craton.h"
#include "snapshot/frame.h"
#include "snapshot/little.h"

static tw_span all_of(const tw_bytes *bytes)
{
    return (tw_span){(const uint8_t *)bytes->data, bytes->size};
}

static void append_hmac(const tw_snapshot_key *key, tw_bytes *out)
{
    uint8_t tag[TW_SNAP_HMAC_SIZE];
    tw_snap_hmac(key, all_of(out), (tw_span){NULL, 0}, tag);
    tw_bytes_append(out, tag, sizeof tag);
}

static void append_ed25519(const tw_snapshot_key *key, tw_bytes *out)
{
    uint8_t signature[TW_SNAP_ED25519_SIZE];
    tw_snap_ed25519_sign(key, all_of(out), signature);
    tw_bytes_append(out, signature, sizeof signature);
}

/* With both keys Ed25519 is used, as the earlier project's writer does. */
static void append_trailer(const tw_snapshot_writer_options *options, tw_bytes *out)
{
    const tw_snapshot_key *secret = options->ed25519_secret;
    tw_bytes_append(out, tw_craton_trailer_magic, TW_CRATON_TRAILER_MAGIC);
    tw_bytes_append_byte(out, secret ? TW_CRATON_KIND_ED25519 : TW_CRATON_KIND_HMAC);
    if (out->failed) return;
    if (secret) append_ed25519(secret, out);
    else append_hmac(options->hmac_key, out);
}

static void append_envelope(const tw_craton_payload *payload, tw_bytes *out)
{
    tw_blake3 state;
    uint8_t version[4], hash[TW_BLAKE3_SIZE];
    tw_blake3_start(&state);
    for (size_t i = 0; i < TW_CRATON_PIECES; i++)
        tw_blake3_add(&state, payload->pieces[i].data, payload->pieces[i].size);
    tw_blake3_end(&state, hash);
    tw_put_little32(version, TW_CRATON_ENVELOPE_VERSION);
    tw_bytes_append(out, tw_craton_envelope_magic, TW_CRATON_ENVELOPE_MAGIC);
    tw_bytes_append(out, version, sizeof version);
    tw_bytes_append(out, hash, sizeof hash);
}

tw_status tw_craton_write(const tw_snapshot_writer_options *options, const tw_snapshot_state *state, tw_bytes *out,
                          tw_error *error)
{
    bool v3 = options->format == TW_SNAPSHOT_V3, v4 = options->format == TW_SNAPSHOT_V4;
    tw_craton_payload payload;
    TW_TRY(tw_craton_payload_write(state, v3 ? TW_SNAPSHOT_VERSION_SIGNED : TW_SNAPSHOT_VERSION, &payload, error));
    if (v4 && payload.size > TW_CRATON_MAX_V4)
        return tw_fail(error, TW_LIMIT, "a payload of %" PRIu64 " bytes: v4 holds at most %" PRIu64, payload.size,
                       TW_CRATON_MAX_V4);
    if (v4) append_envelope(&payload, out);
    int level = v4 ? TW_CRATON_V4_LEVEL : options->level;
    TW_TRY(tw_snap_frame_write(payload.pieces, TW_CRATON_PIECES, level, out, error));
    if (v3) append_trailer(options, out);
    if (v4) append_hmac(options->hmac_key, out);
    return out->failed ? tw_fail_memory(error) : TW_OK;
}
