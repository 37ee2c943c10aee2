/* SPDX-License-Identifier: Apache-2.0 */
#include "kcache/code.h"

#include <errno.h>
#include <string.h>
#include <sys/mman.h>

tw_status tw_code_check(const tw_kernel_info *info, tw_error *error)
{
    if (info->abi != TW_KERNEL_ABI)
        return tw_fail(error, TW_INTERNAL, "the kernel has ABI %u, this runtime has %u", info->abi, TW_KERNEL_ABI);
    if (!info->code_size || info->code_size > TW_CODE_MAX || info->entry >= info->code_size)
        return tw_fail(error, TW_INTERNAL, "the kernel's code (%u bytes, entry %u) can't be right", info->code_size, info->entry);
    if (!memchr(info->schedule, 0, sizeof info->schedule))
        return tw_fail(error, TW_INTERNAL, "the kernel's description doesn't end");
    return TW_OK;
}

tw_status tw_code_map(const tw_kernel_info *info, const uint8_t *bytes, tw_code *out, tw_error *error)
{
    void *base = mmap(NULL, info->code_size, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    if (base == MAP_FAILED) return tw_fail(error, TW_IO, "no mapping for a kernel: %s", strerror(errno));
    memcpy(base, bytes, info->code_size);
    if (mprotect(base, info->code_size, PROT_READ | PROT_EXEC)) {
        int why = errno;
        munmap(base, info->code_size);
        return tw_fail(error, TW_IO, "a kernel can't be made executable: %s", strerror(why));
    }
    *out = (tw_code){base, info->code_size};
    return TW_OK;
}

void tw_code_unmap(tw_code *code)
{
    if (code->base) munmap(code->base, code->size);
    *code = (tw_code){0};
}
