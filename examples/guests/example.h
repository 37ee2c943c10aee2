/* SPDX-License-Identifier: Apache-2.0 */
#ifndef EXAMPLE_H
#define EXAMPLE_H

/* What the example programs share: numbers to work on, and a line that says what came out, to the last bit. Nothing here, and
 * nothing in the programs, knows of TensorWasm: build them with any compiler and run them with any runtime. */

#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>

/* As if it were in a file of its own, which is where such functions usually are. */
#define SEPARATE __attribute__((noinline))

/* The same numbers on every machine. */
static uint32_t example_next(void)
{
    static uint32_t state = 12345;
    return state = state * 1664525u + 1013904223u;
}

/* 0.5 … 1.5 */
static inline double example_number(void)
{
    return 0.5 + (example_next() >> 8) / 16777216.0;
}

static inline void *example_memory(size_t count, size_t size)
{
    void *memory = calloc(count, size);
    if (!memory) {
        fprintf(stderr, "out of memory\n");
        exit(1);
    }
    return memory;
}

/* FNV-1a over every byte of a result. */
static inline void example_print(const char *what, const void *data, size_t size)
{
    uint64_t hash = 0xCBF29CE484222325u;
    for (size_t i = 0; i < size; i++) hash = (hash ^ ((const uint8_t *)data)[i]) * 0x100000001B3u;
    printf("%s: %016llx\n", what, (unsigned long long)hash);
}

/* The n-th argument as a number, or `usual` when there is none. */
static inline int example_argument(int argc, char **argv, int n, int usual)
{
    return argc > n ? atoi(argv[n]) : usual;
}

#endif
