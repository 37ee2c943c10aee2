/* SPDX-License-Identifier: Apache-2.0 */
#ifndef TW_BLAKE3_BLAKE3_H
#define TW_BLAKE3_BLAKE3_H

/* BLAKE3-256 of bytes that come in pieces. The code is the `blake3` crate, in the engine's static library
 * (engine/crate/src/blake3_c.rs); this folder is its home in C. A state is plain memory: copy it, leave it, nothing needs
 * to be freed. One thread at a time. */

#include <stddef.h>
#include <stdint.h>

enum { TW_BLAKE3_SIZE = 32 };

typedef struct tw_blake3 {
    _Alignas(64) uint8_t space[2048];
} tw_blake3;

void tw_blake3_start(tw_blake3 *state);
/* data may be NULL when size is 0. */
void tw_blake3_add(tw_blake3 *state, const uint8_t *data, size_t size);
/* The hash of all that was added; more may be added after it. */
void tw_blake3_end(const tw_blake3 *state, uint8_t hash[TW_BLAKE3_SIZE]);

#endif
