/* SPDX-License-Identifier: Apache-2.0 */
#include "wasm/module.h"

void tw_write_u32(tw_bytes *out, uint32_t value)
{
    while (value >= 0x80) {
        tw_bytes_append_byte(out, (uint8_t)(value | 0x80));
        value >>= 7;
    }
    tw_bytes_append_byte(out, (uint8_t)value);
}

void tw_write_s64(tw_bytes *out, int64_t value)
{
    while (value < -0x40 || value > 0x3F) {
        tw_bytes_append_byte(out, (uint8_t)(((uint64_t)value & 0x7F) | 0x80));
        value >>= 7;
    }
    tw_bytes_append_byte(out, (uint8_t)((uint64_t)value & 0x7F));
}

void tw_write_s32(tw_bytes *out, int32_t value)
{
    tw_write_s64(out, value);
}

void tw_write_op(tw_bytes *out, tw_op op)
{
    const tw_op_info *info = tw_op_describe(op);
    if (info->prefix) {
        tw_bytes_append_byte(out, info->prefix);
        tw_write_u32(out, info->code);
    } else {
        tw_bytes_append_byte(out, (uint8_t)info->code);
    }
}
