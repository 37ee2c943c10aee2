/* SPDX-License-Identifier: Apache-2.0 */
#ifndef TW_KCACHE_CODE_H
#define TW_KCACHE_CODE_H

/* Machine code in memory. A mapping is writable or executable, never both. */

#include "base/error.h"
#include "base/kernel_abi.h"

typedef struct tw_code {
    void *base;
    size_t size;
} tw_code;

enum { TW_CODE_MAX = 64 << 20 };

/* What a kernel from a worker or a file must fulfil before it is mapped. */
tw_status tw_code_check(const tw_kernel_info *info, tw_error *error);
tw_status tw_code_map(const tw_kernel_info *info, const uint8_t *bytes, tw_code *out, tw_error *error);
void tw_code_unmap(tw_code *code);

#endif
