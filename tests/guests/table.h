/* SPDX-License-Identifier: Apache-2.0 */
#ifndef GUESTS_TABLE_H
#define GUESTS_TABLE_H

/* The guests: which export of which program, what it is called with at a size, where its arrays lie and what is in them,
 * and what is expected of the offload. One table for the end-to-end suite and for the figures. */

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "tensorwasm/tensorwasm.h"

enum {
    GUEST_ARGS = 8,
    GUEST_ARRAYS = 4,
    GUEST_FIRST_ADDRESS = 128 * 1024, /* above the program's own data and stack */
};

typedef enum guest_elem { GUEST_U8, GUEST_I32, GUEST_F32, GUEST_F64, GUEST_JOB } guest_elem;

typedef struct guest_array {
    uint32_t address;
    uint64_t count; /* elements */
    guest_elem elem;
} guest_array;

/* One call, laid out. */
typedef struct guest_call {
    tw_val args[GUEST_ARGS];
    size_t arg_count;
    guest_array arrays[GUEST_ARRAYS];
    size_t array_count;
    uint64_t end;        /* bytes of memory that the call needs */
    uint64_t iterations; /* of innermost loop bodies, as the source is written */
} guest_call;

typedef struct guest {
    const char *name;    /* for people; unique */
    const char *program; /* the file without .c */
    const char *export;
    /* Fills a zeroed call for size n: n elements, or a matrix with about that many for programs that take matrices. */
    void (*lay_out)(guest_call *call, uint32_t n);
    const char *refusal; /* NULL: every hot loop runs in kernels; else the reason why it must not */
    uint32_t bench_size; /* n for the figures: data that fits the second-level cache, or what the issue names */
} guest;

extern const guest guests[];
extern const size_t guest_count;

/* Which values the arrays hold. All are a function of the guest and the seed. */
typedef enum guest_data {
    GUEST_PLAIN,   /* numbers about 1 */
    GUEST_CORNERS, /* also -0, subnormals, the largest and the smallest */
    GUEST_SPECIAL, /* also infinities and NaNs of several payloads, signalling ones too */
} guest_data;

void guest_lay_out(const guest *which, uint32_t n, guest_call *out);
/* memory has call->end bytes or more. */
void guest_fill(const guest_call *call, guest_data data, uint64_t seed, uint8_t *memory);

size_t guest_elem_size(guest_elem elem);

#endif
