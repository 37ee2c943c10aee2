/* SPDX-License-Identifier: Apache-2.0 */
#ifndef CHECK_H
#define CHECK_H

/* A program prints a line for each kernel: its name and a hash of the bytes that it left. The same program without
 * offload says what is right. */

#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* Visible outside, so that sizes stay parameters. */
#define KERNEL __attribute__((noinline))
#define COUNT(array) (sizeof(array) / sizeof *(array))

static uint64_t hash_state = 1;

static inline void hash_bytes(const void *data, size_t size)
{
    const volatile unsigned char *bytes = data;
    for (size_t i = 0; i < size; i++) hash_state = (hash_state ^ bytes[i]) * 0x100000001b3ull + (hash_state >> 47);
}

static inline void show(const char *name)
{
    printf("%s %016llx\n", name, (unsigned long long)hash_state);
    hash_state = 1;
}

#define SHOW(name, array) (hash_bytes((array), sizeof(array)), show(name))

static uint32_t random_state = 12345;
static inline uint32_t random_next(void)
{
    random_state ^= random_state << 13;
    random_state ^= random_state >> 17;
    random_state ^= random_state << 5;
    return random_state;
}

static inline void fill_bytes(void *data, size_t size)
{
    volatile unsigned char *bytes = data;
    for (size_t i = 0; i < size; i++) bytes[i] = (unsigned char)(random_next() >> 7);
}

static inline void fill_doubles(double *data, size_t count)
{
    for (size_t i = 0; i < count; i++) ((volatile double *)data)[i] = ((int)(random_next() % 2001) - 1000) / 64.0;
}

#endif
