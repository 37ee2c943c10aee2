/* SPDX-License-Identifier: Apache-2.0 */
#include "wasm/section_write.h"

void tw_write_name(tw_bytes *out, tw_name name)
{
    tw_write_u32(out, name.size);
    tw_bytes_append(out, name.data, name.size);
}

void tw_write_functype(tw_bytes *out, const tw_functype *type)
{
    tw_bytes_append_byte(out, 0x60);
    tw_write_u32(out, type->param_count);
    tw_bytes_append(out, type->params, type->param_count);
    tw_write_u32(out, type->result_count);
    tw_bytes_append(out, type->results, type->result_count);
}

void tw_write_limits(tw_bytes *out, const tw_limits *limits)
{
    tw_bytes_append_byte(out, limits->has_maximum);
    tw_write_u32(out, (uint32_t)limits->minimum);
    if (limits->has_maximum) tw_write_u32(out, (uint32_t)limits->maximum);
}

void tw_write_table_type(tw_bytes *out, const tw_table_type *table)
{
    tw_bytes_append_byte(out, (uint8_t)table->element);
    tw_write_limits(out, &table->limits);
}

void tw_write_global_type(tw_bytes *out, const tw_global_type *type)
{
    tw_bytes_append_byte(out, (uint8_t)type->type);
    tw_bytes_append_byte(out, type->is_mutable);
}

void tw_write_export(tw_bytes *out, const tw_export *export)
{
    tw_write_name(out, export->name);
    tw_bytes_append_byte(out, (uint8_t)export->kind);
    tw_write_u32(out, export->index);
}

void tw_write_section(tw_bytes *out, uint8_t id, const tw_bytes *payload)
{
    if (payload->failed || payload->size > UINT32_MAX) out->failed = 1;
    tw_bytes_append_byte(out, id);
    tw_write_u32(out, (uint32_t)payload->size);
    tw_bytes_append(out, payload->data, payload->size);
}
