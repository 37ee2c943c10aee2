/* SPDX-License-Identifier: Apache-2.0 */
#ifndef TW_BASE_RAW_H
#define TW_BASE_RAW_H

#include <stdint.h>

/* One raw value of a call across the engine's border: 16 bytes, little-endian, as the engine lays them out. A value
 * narrower than 8 bytes leaves the rest undefined. */
typedef union tw_raw {
    uint64_t bits;
    uint64_t space[2];
    int32_t i32;
    int64_t i64;
    uint32_t f32; /* bits */
    uint64_t f64; /* bits */
    uint8_t v128[16];
    void *funcref;
} tw_raw;
_Static_assert(sizeof(tw_raw) == 16, "the engine's raw value");

#endif
