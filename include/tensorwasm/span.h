/* SPDX-License-Identifier: Apache-2.0 */
#ifndef TENSORWASM_SPAN_H
#define TENSORWASM_SPAN_H

#include <stddef.h>
#include <stdint.h>

/* Bytes that belong to somebody else. */
typedef struct tw_span {
    const uint8_t *data; /* may be NULL when size is 0 */
    size_t size;         /* bytes */
} tw_span;

#endif
