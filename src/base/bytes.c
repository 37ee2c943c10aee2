/* SPDX-License-Identifier: Apache-2.0 */
#include "base/bytes.h"

#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

void tw_bytes_free(tw_bytes *bytes)
{
    free(bytes->data);
    *bytes = (tw_bytes){0};
}

/* Room for `more` bytes and the NUL. */
static int reserve(tw_bytes *bytes, size_t more)
{
    if (bytes->failed) return 0;
    size_t needed;
    if (__builtin_add_overflow(bytes->size, more, &needed) || needed == SIZE_MAX) goto fail;
    needed++;
    if (needed <= bytes->capacity) return 1;
    size_t capacity = bytes->capacity > SIZE_MAX / 2 ? needed : bytes->capacity * 2;
    if (capacity < needed) capacity = needed;
    if (capacity < 256) capacity = 256;
    char *grown = realloc(bytes->data, capacity);
    if (!grown) goto fail;
    bytes->data = grown;
    bytes->capacity = capacity;
    return 1;
fail:
    bytes->failed = 1;
    return 0;
}

void tw_bytes_append(tw_bytes *bytes, const void *data, size_t size)
{
    if (!reserve(bytes, size)) return;
    if (size) memcpy(bytes->data + bytes->size, data, size);
    bytes->size += size;
    bytes->data[bytes->size] = 0;
}

void tw_bytes_append_byte(tw_bytes *bytes, uint8_t byte)
{
    tw_bytes_append(bytes, &byte, 1);
}

void tw_bytes_append_string(tw_bytes *bytes, const char *text)
{
    tw_bytes_append(bytes, text, strlen(text));
}

void tw_bytes_printf(tw_bytes *bytes, const char *format, ...)
{
    va_list args, again;
    va_start(args, format);
    va_copy(again, args);
    int length = vsnprintf(NULL, 0, format, args);
    va_end(args);
    if (length < 0) bytes->failed = 1;
    else if (reserve(bytes, (size_t)length)) {
        vsnprintf(bytes->data + bytes->size, (size_t)length + 1, format, again);
        bytes->size += (size_t)length;
    }
    va_end(again);
}

char *tw_bytes_take(tw_bytes *bytes, size_t *size)
{
    if (!reserve(bytes, 0)) {
        tw_bytes_free(bytes);
        return NULL;
    }
    char *data = bytes->data;
    data[bytes->size] = 0;
    if (size) *size = bytes->size;
    *bytes = (tw_bytes){0};
    return data;
}

bool tw_is_zero(const void *bytes, size_t size)
{
    const uint8_t *at = bytes;
    return size == 0 || (at[0] == 0 && memcmp(at, at + 1, size - 1) == 0);
}
