/* SPDX-License-Identifier: Apache-2.0 */
/* From the decoded form back to bytes, everything in its shortest form. */
#include "wasm/encode.h"

#include "wasm/read.h"
#include "wasm/section_write.h"

typedef struct encoder {
    const tw_wasm *module;
    tw_bytes payload; /* of the section being written */
    tw_error *error;
} encoder;

/* Instructions up to the end of the span, one by one. */
static tw_status encode_instrs(encoder *e, tw_bytes *out, tw_reader reader)
{
    while (reader.at != reader.end) {
        tw_instr instr;
        TW_TRY(tw_wasm_next(&reader, &instr, e->error));
        tw_write_instr(out, &instr);
    }
    return TW_OK;
}

static tw_reader span_reader(const encoder *e, tw_span span)
{
    uint64_t base = span.data ? (uint64_t)(span.data - e->module->bytes.data) : 0;
    return (tw_reader){span.data, span.data, span.data + span.size, base};
}

static tw_status encode_const(encoder *e, tw_span init)
{
    TW_TRY(encode_instrs(e, &e->payload, span_reader(e, init)));
    tw_write_op(&e->payload, TW_OP_END);
    return TW_OK;
}

static tw_status encode_types(encoder *e)
{
    tw_write_u32(&e->payload, e->module->type_count);
    for (uint32_t i = 0; i < e->module->type_count; i++) tw_write_functype(&e->payload, &e->module->types[i]);
    return TW_OK;
}

static tw_status encode_imports(encoder *e)
{
    const tw_wasm *m = e->module;
    tw_write_u32(&e->payload, m->import_count);
    for (uint32_t i = 0; i < m->import_count; i++) {
        const tw_import *import = &m->imports[i];
        tw_write_name(&e->payload, import->module);
        tw_write_name(&e->payload, import->name);
        tw_bytes_append_byte(&e->payload, (uint8_t)import->kind);
        switch (import->kind) {
        case TW_EXTERN_FUNC: tw_write_u32(&e->payload, m->funcs[import->index].type); break;
        case TW_EXTERN_TABLE: tw_write_table_type(&e->payload, &m->tables[import->index]); break;
        case TW_EXTERN_MEMORY: tw_write_limits(&e->payload, &m->memories[import->index]); break;
        case TW_EXTERN_GLOBAL: tw_write_global_type(&e->payload, &m->globals[import->index].type); break;
        }
    }
    return TW_OK;
}

static tw_status encode_functions(encoder *e)
{
    const tw_wasm *m = e->module;
    tw_write_u32(&e->payload, m->func_count - m->imported_funcs);
    for (uint32_t i = m->imported_funcs; i < m->func_count; i++) tw_write_u32(&e->payload, m->funcs[i].type);
    return TW_OK;
}

static tw_status encode_tables(encoder *e)
{
    const tw_wasm *m = e->module;
    tw_write_u32(&e->payload, m->table_count - m->imported_tables);
    for (uint32_t i = m->imported_tables; i < m->table_count; i++) tw_write_table_type(&e->payload, &m->tables[i]);
    return TW_OK;
}

static tw_status encode_memories(encoder *e)
{
    const tw_wasm *m = e->module;
    tw_write_u32(&e->payload, m->memory_count - m->imported_memories);
    for (uint32_t i = m->imported_memories; i < m->memory_count; i++) tw_write_limits(&e->payload, &m->memories[i]);
    return TW_OK;
}

static tw_status encode_globals(encoder *e)
{
    const tw_wasm *m = e->module;
    tw_write_u32(&e->payload, m->global_count - m->imported_globals);
    for (uint32_t i = m->imported_globals; i < m->global_count; i++) {
        tw_write_global_type(&e->payload, &m->globals[i].type);
        TW_TRY(encode_const(e, m->globals[i].init));
    }
    return TW_OK;
}

static tw_status encode_exports(encoder *e)
{
    tw_write_u32(&e->payload, e->module->export_count);
    for (uint32_t i = 0; i < e->module->export_count; i++) tw_write_export(&e->payload, &e->module->exports[i]);
    return TW_OK;
}

static tw_status encode_start(encoder *e)
{
    tw_write_u32(&e->payload, e->module->start);
    return TW_OK;
}

/* The bits of kind are in the decoder (section_contents.c). */
static tw_status encode_elem(encoder *e, const tw_elem *elem)
{
    tw_write_u32(&e->payload, elem->kind);
    if ((elem->kind & 3) == 2) tw_write_u32(&e->payload, elem->table);
    if (!(elem->kind & 1)) TW_TRY(encode_const(e, elem->offset));
    if (elem->kind & 3) tw_bytes_append_byte(&e->payload, elem->kind & 4 ? (uint8_t)elem->type : 0);
    tw_write_u32(&e->payload, elem->count);
    if (elem->kind & 4) return encode_instrs(e, &e->payload, span_reader(e, elem->payload));
    for (uint32_t i = 0; i < elem->count; i++) tw_write_u32(&e->payload, elem->funcs[i]);
    return TW_OK;
}

static tw_status encode_elems(encoder *e)
{
    tw_write_u32(&e->payload, e->module->elem_count);
    for (uint32_t i = 0; i < e->module->elem_count; i++) TW_TRY(encode_elem(e, &e->module->elems[i]));
    return TW_OK;
}

static tw_status encode_data_count(encoder *e)
{
    tw_write_u32(&e->payload, e->module->data_count);
    return TW_OK;
}

/* The groups of local declarations are kept as they were. */
static tw_status encode_locals(encoder *e, tw_bytes *out, tw_reader *reader)
{
    uint32_t groups, count;
    TW_TRY(tw_read_u32(reader, "local declarations", &groups, e->error));
    tw_write_u32(out, groups);
    for (uint32_t i = 0; i < groups; i++) {
        tw_type type;
        TW_TRY(tw_read_u32(reader, "local count", &count, e->error));
        TW_TRY(tw_read_type(reader, "local", &type, e->error));
        tw_write_u32(out, count);
        tw_bytes_append_byte(out, (uint8_t)type);
    }
    return TW_OK;
}

static tw_status encode_body(encoder *e, tw_bytes *body, const tw_func *func)
{
    tw_reader reader = span_reader(e, func->body);
    TW_TRY(encode_locals(e, body, &reader));
    return encode_instrs(e, body, reader);
}

static tw_status encode_code(encoder *e)
{
    const tw_wasm *m = e->module;
    tw_bytes body = {0};
    tw_status status = TW_OK;
    tw_write_u32(&e->payload, m->func_count - m->imported_funcs);
    for (uint32_t i = m->imported_funcs; i < m->func_count && status == TW_OK; i++) {
        body.size = 0;
        status = encode_body(e, &body, &m->funcs[i]);
        tw_write_u32(&e->payload, (uint32_t)body.size);
        tw_bytes_append(&e->payload, body.data, body.size);
    }
    if (body.failed) e->payload.failed = 1;
    tw_bytes_free(&body);
    return status;
}

static tw_status encode_datas(encoder *e)
{
    const tw_wasm *m = e->module;
    tw_write_u32(&e->payload, m->data_count);
    for (uint32_t i = 0; i < m->data_count; i++) {
        const tw_data *data = &m->datas[i];
        tw_write_u32(&e->payload, data->kind);
        if (data->kind == 2) tw_write_u32(&e->payload, data->memory);
        if (data->kind != 1) TW_TRY(encode_const(e, data->offset));
        tw_write_u32(&e->payload, (uint32_t)data->bytes.size);
        tw_bytes_append(&e->payload, data->bytes.data, data->bytes.size);
    }
    return TW_OK;
}

static tw_status encode_custom(encoder *e, const tw_section *section)
{
    tw_write_name(&e->payload, section->name);
    tw_bytes_append(&e->payload, section->payload.data, section->payload.size);
    return TW_OK;
}

static tw_status encode_payload(encoder *e, const tw_section *section)
{
    switch (section->id) {
    case 0: return encode_custom(e, section);
    case 1: return encode_types(e);
    case 2: return encode_imports(e);
    case 3: return encode_functions(e);
    case 4: return encode_tables(e);
    case 5: return encode_memories(e);
    case 6: return encode_globals(e);
    case 7: return encode_exports(e);
    case 8: return encode_start(e);
    case 9: return encode_elems(e);
    case 10: return encode_code(e);
    case 11: return encode_datas(e);
    case 12: return encode_data_count(e);
    default: return tw_fail(e->error, TW_INTERNAL, "section %u", section->id);
    }
}

tw_status tw_wasm_encode(const tw_wasm *module, tw_bytes *out, tw_error *error)
{
    encoder e = {.module = module, .error = error};
    tw_status status = TW_OK;
    tw_bytes_append(out, "\0asm\1\0\0\0", 8);
    for (uint32_t i = 0; i < module->section_count && status == TW_OK; i++) {
        e.payload.size = 0;
        status = encode_payload(&e, &module->sections[i]);
        if (status == TW_OK) tw_write_section(out, module->sections[i].id, &e.payload);
    }
    tw_bytes_free(&e.payload);
    if (status == TW_OK && out->failed) status = tw_fail_memory(error);
    return status;
}
