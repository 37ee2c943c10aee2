/* SPDX-License-Identifier: Apache-2.0 */
#ifndef TESTS_RANDOM_H
#define TESTS_RANDOM_H

/* Reproducible random numbers for tests: the same seed gives the same numbers on every machine. (splitmix64) */

#include <stdint.h>

typedef struct random_state {
    uint64_t state;
} random_state;

static inline random_state random_seeded(uint64_t seed)
{
    return (random_state){seed};
}

static inline uint64_t random_next(random_state *random)
{
    uint64_t x = random->state += 0x9E3779B97F4A7C15;
    x = (x ^ (x >> 30)) * 0xBF58476D1CE4E5B9;
    x = (x ^ (x >> 27)) * 0x94D049BB133111EB;
    return x ^ (x >> 31);
}

/* 0 … limit-1; limit > 0. The bias of the modulo doesn't matter here. */
static inline uint32_t random_below(random_state *random, uint32_t limit)
{
    return (uint32_t)((random_next(random) >> 32) % limit);
}

#endif
