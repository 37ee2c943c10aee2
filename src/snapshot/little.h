/* SPDX-License-Identifier: Apache-2.0 */
#ifndef TW_SNAPSHOT_LITTLE_H
#define TW_SNAPSHOT_LITTLE_H

#include <stdint.h>

/* Little-endian integers at any address. */
static inline uint32_t tw_little32(const uint8_t *p)
{
    return (uint32_t)p[0] | (uint32_t)p[1] << 8 | (uint32_t)p[2] << 16 | (uint32_t)p[3] << 24;
}

static inline uint64_t tw_little64(const uint8_t *p)
{
    return tw_little32(p) | (uint64_t)tw_little32(p + 4) << 32;
}

/* Each gives the address behind what it wrote. */
static inline uint8_t *tw_put_little32(uint8_t *p, uint32_t value)
{
    for (int i = 0; i < 4; i++) p[i] = (uint8_t)(value >> (8 * i));
    return p + 4;
}

static inline uint8_t *tw_put_little64(uint8_t *p, uint64_t value)
{
    return tw_put_little32(tw_put_little32(p, (uint32_t)value), (uint32_t)(value >> 32));
}

#endif
