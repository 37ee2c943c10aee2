/* SPDX-License-Identifier: Apache-2.0 */
#ifndef TW_SNAPSHOT_KEY_H
#define TW_SNAPSHOT_KEY_H

/* Keys, and what is done with them. A key's bytes lie in memory of their own (guarded, locked where the system lets us,
 * wiped when freed) and leave it only into the hash or cipher that they are for. */

#include <stdbool.h>

#include "base/error.h"
#include "tensorwasm/snapshot.h"

enum { TW_SNAP_HMAC_SIZE = 32, TW_SNAP_ED25519_SIZE = 64 };

/* libsodium is there and started. */
tw_status tw_snap_crypto_start(tw_error *error);
/* A key that may be NULL is one of this kind. */
tw_status tw_snap_key_check(const tw_snapshot_key *key, tw_snapshot_key_kind kind, tw_error *error);
const uint8_t *tw_snap_key_bytes(const tw_snapshot_key *key);

/* HMAC-SHA256 of two spans, one behind the other. */
void tw_snap_hmac(const tw_snapshot_key *key, tw_span first, tw_span second, uint8_t tag[TW_SNAP_HMAC_SIZE]);
/* In constant time. */
bool tw_snap_hmac_is(const tw_snapshot_key *key, tw_span first, tw_span second, const uint8_t tag[TW_SNAP_HMAC_SIZE]);
void tw_snap_ed25519_sign(const tw_snapshot_key *secret, tw_span message, uint8_t signature[TW_SNAP_ED25519_SIZE]);
/* Strict: only the one canonical form of a signature, and no key of small order. */
bool tw_snap_ed25519_is(const tw_snapshot_key *key, tw_span message, const uint8_t signature[TW_SNAP_ED25519_SIZE]);

#endif
