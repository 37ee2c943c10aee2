/* SPDX-License-Identifier: Apache-2.0 */
#ifndef TW_API_OPTIONS_H
#define TW_API_OPTIONS_H

#include <stddef.h>
#include <string.h>

#include "base/error.h"

/* Reads a size-prefixed option struct: what the caller's struct has is laid over *own, which holds the defaults. */
static inline tw_status tw_options_read(void *own, size_t own_size, const void *given, const char *what, tw_error *error)
{
    if (!given) return TW_OK;
    size_t size = *(const size_t *)given;
    if (size < sizeof(size_t))
        return tw_fail(error, TW_INVALID_ARGUMENT, "%s: set size, best with the INIT macro", what);
    memcpy(own, given, size < own_size ? size : own_size);
    *(size_t *)own = own_size;
    return TW_OK;
}

#endif
