/* SPDX-License-Identifier: Apache-2.0 */
#include <sodium.h>
#include <stdlib.h>
#include <string.h>

#include "snapshot/archive.h"

enum {
    PIECE = 64 << 10,
    MORE = crypto_secretstream_xchacha20poly1305_ABYTES,
    STREAM_HEAD = crypto_secretstream_xchacha20poly1305_HEADERBYTES,
};
_Static_assert(crypto_secretstream_xchacha20poly1305_KEYBYTES == TW_SNAPSHOT_KEY_SIZE, "a key is a key");

static uint64_t pieces_of(uint64_t plain)
{
    return plain == 0 ? 1 : (plain - 1) / PIECE + 1;
}

uint64_t tw_archive_sealed_size(uint64_t plain)
{
    return STREAM_HEAD + plain + MORE * pieces_of(plain);
}

tw_status tw_archive_seal(const tw_snapshot_key *key, tw_span bound, tw_span plain, tw_bytes *out, tw_error *error)
{
    crypto_secretstream_xchacha20poly1305_state state;
    uint8_t head[STREAM_HEAD];
    uint8_t *sealed = malloc(PIECE + MORE);
    TW_TRY_ALLOC(sealed, error);
    crypto_secretstream_xchacha20poly1305_init_push(&state, head, tw_snap_key_bytes(key));
    tw_bytes_append(out, head, sizeof head);
    uint64_t pieces = pieces_of(plain.size);
    if (!plain.data) plain.data = head; /* of which no byte is read */
    for (uint64_t i = 0; i < pieces; i++) {
        bool last = i + 1 == pieces;
        size_t size = last ? plain.size - (size_t)i * PIECE : PIECE;
        crypto_secretstream_xchacha20poly1305_push(&state, sealed, NULL, plain.data + i * PIECE, size,
                                                   i == 0 ? bound.data : NULL, i == 0 ? bound.size : 0,
                                                   last ? crypto_secretstream_xchacha20poly1305_TAG_FINAL : 0);
        tw_bytes_append(out, sealed, size + MORE);
    }
    sodium_memzero(&state, sizeof state);
    free(sealed);
    return out->failed ? tw_fail_memory(error) : TW_OK;
}

/* Whether every piece is authentic, and the last one, and no other, is marked so. */
static bool open_pieces(crypto_secretstream_xchacha20poly1305_state *state, tw_span bound, tw_span pieces,
                        uint8_t *plain, size_t *size)
{
    *size = 0;
    for (size_t at = 0; at < pieces.size;) {
        size_t left = pieces.size - at, length = left < PIECE + MORE ? left : PIECE + MORE;
        uint8_t tag;
        if (length < MORE ||
            crypto_secretstream_xchacha20poly1305_pull(state, plain + *size, NULL, &tag, pieces.data + at, length,
                                                       at == 0 ? bound.data : NULL, at == 0 ? bound.size : 0))
            return false;
        at += length;
        *size += length - MORE;
        bool last = at == pieces.size;
        if ((tag == crypto_secretstream_xchacha20poly1305_TAG_FINAL) != last) return false;
    }
    return pieces.size > 0;
}

tw_status tw_archive_open(const tw_snapshot_key *key, tw_span bound, tw_span sealed, uint8_t **out, size_t *size,
                          tw_snap_why *why)
{
    crypto_secretstream_xchacha20poly1305_state state;
    uint8_t *plain = malloc(sealed.size + 1);
    TW_TRY_ALLOC(plain, why->error);
    bool good =
        sealed.size > STREAM_HEAD &&
        crypto_secretstream_xchacha20poly1305_init_pull(&state, sealed.data, tw_snap_key_bytes(key)) == 0 &&
        open_pieces(&state, bound, (tw_span){sealed.data + STREAM_HEAD, sealed.size - STREAM_HEAD}, plain, size);
    sodium_memzero(&state, sizeof state);
    if (!good) {
        free(plain);
        return tw_snap_refuse(why, TW_SNAPSHOT_CLASS_AEAD, "it was not encrypted with this key, or was changed since");
    }
    *out = plain;
    return TW_OK;
}
