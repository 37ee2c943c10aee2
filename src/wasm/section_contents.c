/* SPDX-License-Identifier: Apache-2.0 */
/* Sections with contents: exports, start, elements, code, data. */
#include <stdlib.h>
#include <string.h>

#include "wasm/decode.h"

/* ---- exports ---- */

static int compare_names(const void *a, const void *b)
{
    const tw_name *x = &((const tw_export *)a)->name, *y = &((const tw_export *)b)->name;
    size_t shorter = x->size < y->size ? x->size : y->size;
    int order = shorter ? memcmp(x->data, y->data, shorter) : 0;
    return order ? order : (x->size > y->size) - (x->size < y->size);
}

/* By sorting a copy: names of untrusted modules could be made to collide in a hash table. */
static tw_status check_unique(tw_decoder *d)
{
    const tw_wasm *m = d->module;
    size_t size = m->export_count * sizeof *m->exports;
    tw_export *sorted = size ? malloc(size) : NULL;
    if (size && !sorted) return tw_fail_memory(d->error);
    tw_status status = TW_OK;
    if (size) {
        memcpy(sorted, m->exports, size);
        qsort(sorted, m->export_count, sizeof *sorted, compare_names);
    }
    for (uint32_t i = 1; i < m->export_count && status == TW_OK; i++)
        if (compare_names(&sorted[i - 1], &sorted[i]) == 0)
            status = TW_DECODE_FAIL(d, TW_INVALID, "two exports have the name \"%.*s\"",
                                    (int)(sorted[i].name.size < 200 ? sorted[i].name.size : 200), sorted[i].name.data);
    free(sorted);
    return status;
}

static tw_status decode_export(tw_decoder *d, tw_export *out)
{
    const tw_wasm *m = d->module;
    const uint32_t counts[] = {m->func_count, m->table_count, m->memory_count, m->global_count};
    static const char *const spaces[] = {"function", "table", "memory", "global"};
    TW_TRY(tw_read_name(&d->reader, "export name", &out->name, d->error));
    tw_reader start = d->reader;
    uint8_t kind;
    TW_TRY(tw_read_byte(&d->reader, "export kind", &kind, d->error));
    TW_TRY(tw_read_u32(&d->reader, "export index", &out->index, d->error));
    if (kind <= TW_EXTERN_GLOBAL && out->index < counts[kind]) {
        out->kind = (tw_extern_kind)kind;
        return TW_OK;
    }
    d->reader = start;
    if (kind == 4)
        return TW_DECODE_FAIL(d, TW_UNSUPPORTED,
                              "exporting a tag belongs to the proposal exception handling, which isn't supported");
    if (kind > 4) return TW_DECODE_FAIL(d, TW_MALFORMED, "export kind 0x%02x", kind);
    return TW_DECODE_FAIL(d, TW_INVALID, "export of %s %u, which doesn't exist", spaces[kind], out->index);
}

tw_status tw_decode_exports(tw_decoder *d)
{
    tw_wasm *m = d->module;
    uint32_t count;
    TW_TRY(tw_read_count(&d->reader, "exports", 3, d->limits->exports, &count, d->error));
    m->exports = TW_NEW_ARRAY(&m->arena, tw_export, count);
    TW_TRY_ALLOC(m->exports, d->error);
    for (; m->export_count < count; m->export_count++) TW_TRY(decode_export(d, &m->exports[m->export_count]));
    return check_unique(d);
}

/* ---- start ---- */

tw_status tw_decode_start(tw_decoder *d)
{
    tw_wasm *m = d->module;
    tw_reader start = d->reader;
    TW_TRY(tw_read_u32(&d->reader, "start function", &m->start, d->error));
    tw_reader after = d->reader;
    d->reader = start;
    if (m->start >= m->func_count) return TW_DECODE_FAIL(d, TW_INVALID, "start function %u doesn't exist", m->start);
    const tw_functype *type = tw_wasm_func_type(m, m->start);
    if (type->param_count || type->result_count)
        return TW_DECODE_FAIL(d, TW_INVALID, "start function %u has parameters or results", m->start);
    d->reader = after;
    m->has_start = true;
    return TW_OK;
}

/* ---- element segments ---- */

/* Bits of a segment's kind: 0 not active, 1 explicit table (active) or declared (not), 2 expressions. */
enum { ELEM_NOT_ACTIVE = 1, ELEM_EXPLICIT = 2, ELEM_EXPRESSIONS = 4 };

static tw_status decode_elem_funcs(tw_decoder *d, tw_elem *out)
{
    tw_wasm *m = d->module;
    uint32_t *funcs = TW_NEW_ARRAY(&m->arena, uint32_t, out->count);
    TW_TRY_ALLOC(funcs, d->error);
    for (uint32_t i = 0; i < out->count; i++) {
        tw_reader start = d->reader;
        TW_TRY(tw_read_u32(&d->reader, "element segment", &funcs[i], d->error));
        if (funcs[i] < m->func_count) continue;
        d->reader = start;
        return TW_DECODE_FAIL(d, TW_INVALID, "element segment: function %u doesn't exist", funcs[i]);
    }
    out->funcs = funcs;
    return TW_OK;
}

static tw_status decode_elem_type(tw_decoder *d, tw_elem *out)
{
    uint8_t kind;
    out->type = TW_FUNCREF;
    if (!(out->kind & (ELEM_NOT_ACTIVE | ELEM_EXPLICIT))) return TW_OK;
    if (out->kind & ELEM_EXPRESSIONS) {
        TW_TRY(tw_read_type(&d->reader, "element segment", &out->type, d->error));
        if (out->type == TW_FUNCREF) return TW_OK;
        return TW_DECODE_FAIL(d, TW_MALFORMED, "element segment of %s", tw_type_name(out->type));
    }
    TW_TRY(tw_read_byte(&d->reader, "element segment", &kind, d->error));
    if (kind != 0) return TW_DECODE_FAIL(d, TW_MALFORMED, "element kind 0x%02x", kind);
    return TW_OK;
}

static tw_status decode_elem_place(tw_decoder *d, tw_elem *out)
{
    if (out->kind & ELEM_NOT_ACTIVE) {
        out->mode = out->kind & ELEM_EXPLICIT ? TW_SEGMENT_DECLARED : TW_SEGMENT_PASSIVE;
        return TW_OK;
    }
    out->mode = TW_SEGMENT_ACTIVE;
    tw_reader start = d->reader;
    if (out->kind & ELEM_EXPLICIT) TW_TRY(tw_read_u32(&d->reader, "table index", &out->table, d->error));
    if (out->table < d->module->table_count) return tw_decode_const(d, TW_I32, &out->offset);
    d->reader = start;
    return TW_DECODE_FAIL(d, TW_INVALID, "element segment: table %u doesn't exist", out->table);
}

static tw_status decode_elem(tw_decoder *d, tw_elem *out)
{
    uint32_t kind;
    tw_reader start = d->reader;
    TW_TRY(tw_read_u32(&d->reader, "element segment", &kind, d->error));
    if (kind > 7) {
        d->reader = start;
        return TW_DECODE_FAIL(d, TW_MALFORMED, "element segment: kind %u", kind);
    }
    out->kind = (uint8_t)kind;
    TW_TRY(decode_elem_place(d, out));
    TW_TRY(decode_elem_type(d, out));
    bool expressions = kind & ELEM_EXPRESSIONS;
    TW_TRY(
        tw_read_count(&d->reader, "elements", expressions ? 3 : 1, d->limits->table_elements, &out->count, d->error));
    const uint8_t *first = d->reader.at;
    tw_span ignored;
    if (!expressions) TW_TRY(decode_elem_funcs(d, out));
    else
        for (uint32_t i = 0; i < out->count; i++) TW_TRY(tw_decode_const(d, TW_FUNCREF, &ignored));
    out->payload = (tw_span){first, (size_t)(d->reader.at - first)};
    return TW_OK;
}

tw_status tw_decode_elems(tw_decoder *d)
{
    tw_wasm *m = d->module;
    uint32_t count;
    TW_TRY(tw_read_count(&d->reader, "element segments", 3, d->limits->segments, &count, d->error));
    m->elems = TW_NEW_ARRAY(&m->arena, tw_elem, count);
    TW_TRY_ALLOC(m->elems, d->error);
    for (; m->elem_count < count; m->elem_count++) TW_TRY(decode_elem(d, &m->elems[m->elem_count]));
    return TW_OK;
}

/* ---- code ---- */

static tw_status decode_body(tw_decoder *d, uint32_t index)
{
    uint32_t size;
    tw_func *func = &d->module->funcs[index];
    tw_reader start = d->reader;
    TW_TRY(tw_read_u32(&d->reader, "function body", &size, d->error));
    if (size > d->limits->function_bytes) {
        d->reader = start;
        return TW_DECODE_FAIL(d, TW_LIMIT, "function body of %u bytes is over the limit of %u", size,
                              d->limits->function_bytes);
    }
    if (size == 0) return TW_DECODE_FAIL(d, TW_MALFORMED, "empty function body");
    func->body_offset = tw_reader_offset(&d->reader);
    return tw_read_bytes(&d->reader, "function body", size, &func->body, d->error);
}

tw_status tw_decode_code(tw_decoder *d)
{
    tw_wasm *m = d->module;
    uint32_t count;
    TW_TRY(tw_read_count(&d->reader, "function bodies", 2, UINT32_MAX, &count, d->error));
    if (count != m->func_count - m->imported_funcs)
        return TW_DECODE_FAIL(d, TW_MALFORMED, "%u functions declared, but %u bodies",
                              m->func_count - m->imported_funcs, count);
    for (uint32_t i = 0; i < count; i++) {
        tw_status status = decode_body(d, m->imported_funcs + i);
        if (status == TW_OK) continue;
        if (d->error) d->error->function = m->imported_funcs + i;
        return status;
    }
    return TW_OK;
}

/* ---- data segments ---- */

static tw_status decode_data(tw_decoder *d, tw_data *out)
{
    uint32_t kind, size;
    tw_reader start = d->reader;
    TW_TRY(tw_read_u32(&d->reader, "data segment", &kind, d->error));
    if (kind > 2) {
        d->reader = start;
        return TW_DECODE_FAIL(d, TW_MALFORMED, "data segment: kind %u", kind);
    }
    out->kind = (uint8_t)kind;
    out->mode = kind == 1 ? TW_SEGMENT_PASSIVE : TW_SEGMENT_ACTIVE;
    if (kind == 2) TW_TRY(tw_read_u32(&d->reader, "memory index", &out->memory, d->error));
    if (out->mode == TW_SEGMENT_ACTIVE) {
        if (out->memory >= d->module->memory_count)
            return TW_DECODE_FAIL(d, TW_INVALID, "data segment: memory %u doesn't exist", out->memory);
        TW_TRY(tw_decode_const(d, TW_I32, &out->offset));
    }
    TW_TRY(tw_read_u32(&d->reader, "data segment", &size, d->error));
    return tw_read_bytes(&d->reader, "data segment", size, &out->bytes, d->error);
}

tw_status tw_decode_datas(tw_decoder *d)
{
    tw_wasm *m = d->module;
    uint32_t count;
    TW_TRY(tw_read_count(&d->reader, "data segments", 2, d->limits->segments, &count, d->error));
    m->datas = TW_NEW_ARRAY(&m->arena, tw_data, count);
    TW_TRY_ALLOC(m->datas, d->error);
    for (; m->data_count < count; m->data_count++) TW_TRY(decode_data(d, &m->datas[m->data_count]));
    return TW_OK;
}

tw_status tw_decode_data_count(tw_decoder *d)
{
    TW_TRY(tw_read_u32(&d->reader, "data count", &d->declared_datas, d->error));
    d->module->has_data_count = true;
    return TW_OK;
}
