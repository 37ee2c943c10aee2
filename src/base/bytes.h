/* SPDX-License-Identifier: Apache-2.0 */
#ifndef TW_BASE_BYTES_H
#define TW_BASE_BYTES_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* Growing bytes, malloc-backed, always followed by a NUL. A failed append sets `failed` and every
 * later append does nothing: write freely and look once at the end. One thread at a time. */
typedef struct tw_bytes {
    char *data;
    size_t size, capacity;
    int failed;
} tw_bytes;

void tw_bytes_free(tw_bytes *bytes);
void tw_bytes_append(tw_bytes *bytes, const void *data, size_t size);
void tw_bytes_append_byte(tw_bytes *bytes, uint8_t byte);
void tw_bytes_append_string(tw_bytes *bytes, const char *text);
void tw_bytes_printf(tw_bytes *bytes, const char *format, ...)
    __attribute__((format(printf, 2, 3)));
/* Takes the storage over (free() it); NULL when an append had failed. The buffer is empty again. */
char *tw_bytes_take(tw_bytes *bytes, size_t *size);

/* All of them are 0; so are none. Any thread. */
bool tw_is_zero(const void *bytes, size_t size);

#endif
