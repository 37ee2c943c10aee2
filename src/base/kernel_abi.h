/* SPDX-License-Identifier: Apache-2.0 */
#ifndef TW_BASE_KERNEL_ABI_H
#define TW_BASE_KERNEL_ABI_H

/* How a kernel is called: the contract between generated code and the runtime that loads it. Changing anything here
 * changes TW_KERNEL_ABI, which is part of every cache key. */

#include <stdint.h>

#define TW_KERNEL_ABI 2

typedef struct tw_kernel_env {
    uint8_t *memory;          /* linear memory's first byte */
    uint64_t memory_size;     /* live bytes */
    const uint64_t *args;     /* numbers, laid out by tw_layout_make */
    uint64_t *outputs;        /* scalar output block; NULL when the model has none */
    const uint32_t *stop;     /* != 0: leave soon; polled at entry and in every iteration of loops with loops inside or very long */
    uint32_t thread, threads; /* this caller among those that run the same call together */
    /* Meets the other threads; NULL when threads == 1. Not 0: leave at once with TW_KERNEL_STOPPED. */
    int32_t (*meet)(void *context);
    void *context;
} tw_kernel_env;

typedef enum tw_kernel_result {
    TW_KERNEL_DONE = 0,
    TW_KERNEL_OUT_OF_RANGE = 1, /* the kernel's own range check refused before it touched anything */
    TW_KERNEL_STOPPED = 2,      /* left in the middle: memory is torn */
} tw_kernel_result;

/* Runs iterations first … last-1 of the region's outermost loop (0, 1 for a region without loops). When the outermost
 * loop is parallel (tw_kernel_info.outer_parallel), calls with disjoint ranges may run at once, each with threads = 1. When
 * it isn't, `threads` callers make the same call together and share the work inside through `meet`. */
typedef int32_t (*tw_kernel_entry)(const tw_kernel_env *env, int64_t first, int64_t last);

typedef struct tw_kernel_info {
    uint32_t abi;            /* TW_KERNEL_ABI */
    uint32_t entry;          /* byte offset of the entry in the code */
    uint32_t code_size;      /* position-independent code and constants, 64-byte aligned, no relocations left */
    uint32_t arg_count;      /* words of args it was compiled for */
    uint32_t output_count;
    uint8_t outer_parallel;  /* see tw_kernel_entry */
    uint8_t shares_work;     /* not outer_parallel, but has an inner thread loop: more threads help */
    uint8_t lanes;           /* of the widest vector it was asked to use; 1 = scalar. For reports. */
    uint8_t grain;           /* fewest iterations of the outermost loop worth a call, and a good multiple; 0: any */
    char schedule[128];      /* for reports: "threads n0, lanes n2 (x4)"; NUL-terminated */
} tw_kernel_info;

#endif
