/* SPDX-License-Identifier: Apache-2.0 */
/* Which of the forms a file is, is said by its own bytes; the order of checks is the same for all: signature, then
 * decompression, then content hash, then the payload. */
#include <inttypes.h>
#include <sodium.h>
#include <stdlib.h>
#include <string.h>

#include "blake3/blake3.h"
#include "snapshot/craton.h"
#include "snapshot/frame.h"
#include "snapshot/little.h"

const uint8_t tw_craton_trailer_magic[TW_CRATON_TRAILER_MAGIC] = {'S', '3', 'T', '1'};
const uint8_t tw_craton_envelope_magic[TW_CRATON_ENVELOPE_MAGIC] = {'t', 'w', 'a', 's', 'm', '-', 'a', 'r',
                                                                    't', 'i', 'f', 'a', 'c', 't', '0', '1'};
const uint8_t tw_craton_wrapper_magic[TW_CRATON_WRAPPER_MAGIC] = {'t', 'w', 's', 'A', 'E', 'A', 'D', '1'};

static const uint8_t wasm_magic[] = {0, 'a', 's', 'm'}; /* of files given in the wrong order */

static bool begins(tw_span file, const uint8_t *magic, size_t size)
{
    return file.size >= size && memcmp(file.data, magic, size) == 0;
}

static tw_span front(tw_span span, size_t size)
{
    return (tw_span){span.data, size};
}

static tw_span behind(tw_span span, size_t size)
{
    return (tw_span){span.data + size, span.size - size};
}

/* ---- the wrapper ---- */

bool tw_craton_is_wrapped(tw_span file)
{
    return begins(file, tw_craton_wrapper_magic, TW_CRATON_WRAPPER_MAGIC);
}

tw_status tw_craton_unwrap(const tw_snapshot_key *key, tw_span file, uint8_t **out, size_t *size, tw_snap_why *why)
{
    if (!tw_craton_is_wrapped(file))
        return tw_snap_refuse(why, TW_SNAPSHOT_CLASS_AEAD,
                              "it is not encrypted, and the reader takes encrypted files only");
    if (file.size < TW_CRATON_WRAPPER_HEAD + TW_CRATON_WRAPPER_TAG)
        return tw_snap_refuse(why, TW_SNAPSHOT_CLASS_AEAD, "%zu bytes: less than an encrypted file's header and tag",
                              file.size);
    tw_span sealed = behind(file, TW_CRATON_WRAPPER_HEAD);
    uint8_t *plain = malloc(sealed.size);
    TW_TRY_ALLOC(plain, why->error);
    unsigned long long length;
    if (crypto_aead_chacha20poly1305_ietf_decrypt(plain, &length, NULL, sealed.data, sealed.size,
                                                  tw_craton_wrapper_magic, TW_CRATON_WRAPPER_MAGIC,
                                                  file.data + TW_CRATON_WRAPPER_MAGIC, tw_snap_key_bytes(key))) {
        free(plain);
        return tw_snap_refuse(why, TW_SNAPSHOT_CLASS_AEAD, "it was not encrypted with this key, or was changed since");
    }
    *out = plain;
    *size = (size_t)length;
    return TW_OK;
}

/* ---- v2, and what v3 has in common ---- */

/* One frame, and nothing behind it. */
static tw_status read_frame(const tw_snapshot_reader_options *options, tw_span in, uint32_t version, tw_snapshot *out,
                            uint8_t **storage, tw_snap_why *why)
{
    tw_snap_frame frame;
    TW_TRY(tw_snap_frame_read(in, options->max_bytes, false, &frame, why));
    *storage = frame.data;
    if (frame.used < in.size)
        return tw_snap_refuse(why, TW_SNAPSHOT_CLASS_TRAILING,
                              "%zu bytes stand behind the zstd frame, which ends at %zu", in.size - frame.used,
                              frame.used);
    return tw_craton_payload_read((tw_span){frame.data, frame.size}, version, options->lenient, out, why);
}

static tw_status read_v2(const tw_snapshot_reader_options *options, tw_span file, tw_snapshot *out, uint8_t **storage,
                         tw_snap_why *why)
{
    out->format = TW_SNAPSHOT_V2;
    if (options->require_signature)
        return tw_snap_refuse(why, TW_SNAPSHOT_CLASS_UNSIGNED, "it has no signature, and the reader requires one");
    if (!tw_snap_frame_begins(file))
        return tw_snap_refuse(why, TW_SNAPSHOT_CLASS_FORMAT, "it begins as no snapshot file does%s",
                              begins(file, wasm_magic, sizeof wasm_magic) ? ": it is a WebAssembly module" : "");
    return read_frame(options, file, TW_SNAPSHOT_VERSION, out, storage, why);
}

/* ---- v3 ---- */

static bool has_trailer(tw_span file, size_t tag, uint8_t *kind)
{
    size_t size = TW_CRATON_TRAILER_HEAD + tag;
    if (file.size < size) return false;
    const uint8_t *trailer = file.data + file.size - size;
    *kind = trailer[TW_CRATON_TRAILER_MAGIC];
    return memcmp(trailer, tw_craton_trailer_magic, TW_CRATON_TRAILER_MAGIC) == 0;
}

static tw_status check_hmac(const tw_snapshot_reader_options *options, tw_span file, tw_snapshot *out, tw_snap_why *why)
{
    if (!options->hmac_key)
        return tw_snap_refuse(why, TW_SNAPSHOT_CLASS_NO_KEY,
                              "it is signed with HMAC-SHA256, and the reader has no such key");
    size_t signed_size = file.size - TW_SNAP_HMAC_SIZE;
    if (!tw_snap_hmac_is(options->hmac_key, front(file, signed_size), (tw_span){NULL, 0}, file.data + signed_size))
        return tw_snap_refuse(why, TW_SNAPSHOT_CLASS_SIGNATURE, "the HMAC is not of these bytes by this key");
    out->signature = TW_SNAPSHOT_SIGNATURE_HMAC;
    return TW_OK;
}

static tw_status check_ed25519(const tw_snapshot_reader_options *options, tw_span file, tw_snapshot *out,
                               tw_snap_why *why)
{
    if (!options->ed25519_public)
        return tw_snap_refuse(why, TW_SNAPSHOT_CLASS_NO_KEY,
                              "it is signed with Ed25519, and the reader has no public key");
    size_t signed_size = file.size - TW_SNAP_ED25519_SIZE;
    if (!tw_snap_ed25519_is(options->ed25519_public, front(file, signed_size), file.data + signed_size))
        return tw_snap_refuse(why, TW_SNAPSHOT_CLASS_SIGNATURE,
                              "the Ed25519 signature is not of these bytes by this key");
    out->signature = TW_SNAPSHOT_SIGNATURE_ED25519;
    return TW_OK;
}

/* tag: the size of the signature that was checked. */
static tw_status read_signed(const tw_snapshot_reader_options *options, tw_span file, size_t tag, tw_snapshot *out,
                             uint8_t **storage, tw_snap_why *why)
{
    tw_span frame = front(file, file.size - tag - TW_CRATON_TRAILER_HEAD);
    return read_frame(options, frame, TW_SNAPSHOT_VERSION_SIGNED, out, storage, why);
}

static tw_status read_v2_or_v3(const tw_snapshot_reader_options *options, tw_span file, tw_snapshot *out,
                               uint8_t **storage, tw_snap_why *why)
{
    uint8_t kind;
    out->format = TW_SNAPSHOT_V3;
    if (has_trailer(file, TW_SNAP_ED25519_SIZE, &kind) && kind == TW_CRATON_KIND_ED25519) {
        TW_TRY(check_ed25519(options, file, out, why));
        return read_signed(options, file, TW_SNAP_ED25519_SIZE, out, storage, why);
    }
    if (!has_trailer(file, TW_SNAP_HMAC_SIZE, &kind)) return read_v2(options, file, out, storage, why);
    if (kind != TW_CRATON_KIND_HMAC)
        return tw_snap_refuse(why, TW_SNAPSHOT_CLASS_NO_SIGNATURE,
                              "the trailer names a signature of kind %u, of which 32 bytes can't be", kind);
    TW_TRY(check_hmac(options, file, out, why));
    return read_signed(options, file, TW_SNAP_HMAC_SIZE, out, storage, why);
}

/* ---- v4 ---- */

static tw_status check_hash(tw_span payload, const uint8_t wanted[TW_BLAKE3_SIZE], tw_snap_why *why)
{
    tw_blake3 state;
    uint8_t hash[TW_BLAKE3_SIZE];
    tw_blake3_start(&state);
    tw_blake3_add(&state, payload.data, payload.size);
    tw_blake3_end(&state, hash);
    if (sodium_memcmp(hash, wanted, sizeof hash) == 0) return TW_OK;
    return tw_snap_refuse(why, TW_SNAPSHOT_CLASS_HASH, "the payload's BLAKE3 is another than the envelope says");
}

/* One frame; or, when lenient, as many as there are, joined. */
static tw_status read_body(const tw_snapshot_reader_options *options, tw_span body, tw_snap_frame *out,
                           tw_snap_why *why)
{
    TW_TRY(tw_snap_frame_read(body, options->max_bytes, options->lenient, out, why));
    if (out->used == body.size) return TW_OK;
    tw_span rest = behind(body, out->used);
    if (tw_snap_frame_begins(rest))
        return tw_snap_refuse(why, TW_SNAPSHOT_CLASS_TRAILING, "%zu bytes, another frame, stand behind the first one",
                              rest.size);
    return tw_snap_refuse(why, TW_SNAPSHOT_CLASS_FORMAT, "%zu bytes that are no zstd frame stand behind the first one",
                          rest.size);
}

static tw_status read_v4(const tw_snapshot_reader_options *options, tw_span file, tw_snapshot *out, uint8_t **storage,
                         tw_snap_why *why)
{
    out->format = TW_SNAPSHOT_V4;
    if (file.size < TW_CRATON_ENVELOPE_HEAD + TW_SNAP_HMAC_SIZE)
        return tw_snap_refuse(why, TW_SNAPSHOT_CLASS_FORMAT, "%zu bytes: less than an envelope's header and tag",
                              file.size);
    uint32_t version = tw_little32(file.data + TW_CRATON_ENVELOPE_MAGIC);
    if (version != TW_CRATON_ENVELOPE_VERSION)
        return tw_snap_refuse(why, TW_SNAPSHOT_CLASS_VERSION, "the envelope has version %" PRIu32 "; only 1 is known",
                              version);
    TW_TRY(check_hmac(options, file, out, why));
    tw_snap_frame frame;
    tw_span body = behind(front(file, file.size - TW_SNAP_HMAC_SIZE), TW_CRATON_ENVELOPE_HEAD);
    tw_status status = read_body(options, body, &frame, why);
    *storage = frame.data;
    TW_TRY(status);
    tw_span payload = {frame.data, frame.size};
    TW_TRY(check_hash(payload, file.data + TW_CRATON_ENVELOPE_MAGIC + 4, why));
    return tw_craton_payload_read(payload, TW_SNAPSHOT_VERSION, options->lenient, out, why);
}

static tw_status read_any(const tw_snapshot_reader_options *options, tw_span file, tw_snapshot *out, uint8_t **storage,
                          tw_snap_why *why)
{
    if (tw_craton_is_wrapped(file))
        return tw_snap_refuse(why, TW_SNAPSHOT_CLASS_FORMAT, "it is encrypted%s",
                              out->encrypted ? " twice" : ", and the reader has no AEAD key");
    if (begins(file, tw_craton_envelope_magic, TW_CRATON_ENVELOPE_MAGIC))
        return read_v4(options, file, out, storage, why);
    return read_v2_or_v3(options, file, out, storage, why);
}

tw_status tw_craton_read(const tw_snapshot_reader_options *options, tw_span file, tw_snapshot *out, uint8_t **storage,
                         tw_snap_why *why)
{
    *storage = NULL;
    tw_status status = read_any(options, file, out, storage, why);
    if (status == TW_OK) return TW_OK;
    free(*storage);
    *storage = NULL;
    return status;
}
