/* SPDX-License-Identifier: Apache-2.0 */
/* Sections that declare: types, imports, functions, tables, memories. */
#include "wasm/decode.h"
#include "wasm/limits.h"

static tw_status decode_type_list(tw_decoder *d, const char *what, uint32_t limit, const uint8_t **out, uint32_t *count)
{
    TW_TRY(tw_read_count(&d->reader, what, 1, limit, count, d->error));
    *out = d->reader.at; /* a byte a type, so the input itself is the list */
    for (uint32_t i = 0; i < *count; i++) {
        tw_type type;
        TW_TRY(tw_read_type(&d->reader, what, &type, d->error));
    }
    return TW_OK;
}

static tw_status decode_type(tw_decoder *d, tw_functype *out)
{
    tw_reader start = d->reader;
    uint8_t form;
    TW_TRY(tw_read_byte(&d->reader, "type", &form, d->error));
    if (form == 0x60) {
        TW_TRY(decode_type_list(d, "parameters", d->limits->parameters, &out->params, &out->param_count));
        return decode_type_list(d, "results", d->limits->results, &out->results, &out->result_count);
    }
    d->reader = start;
    if (form == 0x5D)
        return TW_DECODE_FAIL(d, TW_UNSUPPORTED,
                              "a continuation type belongs to the proposal stack switching, which isn't supported");
    if (form >= 0x4C && form <= 0x5F)
        return TW_DECODE_FAIL(d, TW_UNSUPPORTED,
                              "type form 0x%02x belongs to the proposal garbage collection (GC), which isn't supported",
                              form);
    return TW_DECODE_FAIL(d, TW_MALFORMED, "0x%02x isn't a function type", form);
}

tw_status tw_decode_types(tw_decoder *d)
{
    tw_wasm *m = d->module;
    uint32_t count;
    TW_TRY(tw_read_count(&d->reader, "types", 2, d->limits->types, &count, d->error));
    m->types = TW_NEW_ARRAY(&m->arena, tw_functype, count);
    TW_TRY_ALLOC(m->types, d->error);
    for (; m->type_count < count; m->type_count++) TW_TRY(decode_type(d, &m->types[m->type_count]));
    return TW_OK;
}

/* Flags: bit 0 a maximum follows, 1 shared, 2 64-bit, 3 custom page size. */
static tw_status decode_limits(tw_decoder *d, const char *what, tw_limits *out)
{
    tw_reader start = d->reader;
    uint32_t flags, minimum, maximum = 0;
    const char *proposal = NULL;
    TW_TRY(tw_read_u32(&d->reader, what, &flags, d->error));
    if (flags & 8) proposal = "custom page sizes";
    if (flags & 4) proposal = "memory64";
    if (flags & 2) proposal = "shared memory and atomics (threads)";
    if (flags > 15) d->reader = start;
    if (flags > 15) return TW_DECODE_FAIL(d, TW_MALFORMED, "%s: limits flags 0x%02x", what, flags);
    if (proposal) {
        d->reader = start;
        return TW_DECODE_FAIL(d, TW_UNSUPPORTED,
                              "%s: limits flags 0x%02x belong to the proposal %s, which isn't supported", what, flags,
                              proposal);
    }
    TW_TRY(tw_read_u32(&d->reader, what, &minimum, d->error));
    if (flags & 1) TW_TRY(tw_read_u32(&d->reader, what, &maximum, d->error));
    *out = (tw_limits){minimum, maximum, flags & 1};
    if (out->has_maximum && maximum < minimum) {
        d->reader = start;
        return TW_DECODE_FAIL(d, TW_INVALID, "%s: minimum %u is over the maximum %u", what, minimum, maximum);
    }
    return TW_OK;
}

tw_status tw_decode_table_type(tw_decoder *d, tw_table_type *out)
{
    TW_TRY(tw_read_type(&d->reader, "table", &out->element, d->error));
    if (out->element != TW_FUNCREF)
        return TW_DECODE_FAIL(d, TW_MALFORMED, "table of %s: only references can be in a table",
                              tw_type_name(out->element));
    TW_TRY(decode_limits(d, "table", &out->limits));
    if (out->limits.minimum > d->limits->table_elements)
        return TW_DECODE_FAIL(d, TW_LIMIT, "table of %llu elements is over the limit of %u",
                              (unsigned long long)out->limits.minimum, d->limits->table_elements);
    return TW_OK;
}

tw_status tw_decode_memory_type(tw_decoder *d, tw_limits *out)
{
    TW_TRY(decode_limits(d, "memory", out));
    if (out->minimum > TW_WASM_MAX_PAGES || out->maximum > TW_WASM_MAX_PAGES)
        return TW_DECODE_FAIL(d, TW_INVALID, "memory: more than 65536 pages");
    return TW_OK;
}

tw_status tw_decode_global_type(tw_decoder *d, tw_global_type *out)
{
    uint8_t flags;
    TW_TRY(tw_read_type(&d->reader, "global", &out->type, d->error));
    tw_reader start = d->reader;
    TW_TRY(tw_read_byte(&d->reader, "global", &flags, d->error));
    out->is_mutable = flags & 1;
    if (flags <= 1) return TW_OK;
    d->reader = start;
    if (flags <= 3)
        return TW_DECODE_FAIL(
            d, TW_UNSUPPORTED,
            "a shared global belongs to the proposal shared everything (threads), which isn't supported");
    return TW_DECODE_FAIL(d, TW_MALFORMED, "global: mutability 0x%02x", flags);
}

/* ---- imports ---- */

/* One more entry in an index space that grows while imports are read. */
#define GROW(d, items, count, capacity) \
    TW_TRY(TW_ARENA_GROW(&(d)->module->arena, items, count, capacity) ? TW_OK : tw_fail_memory((d)->error))

static tw_status check_room(tw_decoder *d, const char *what, uint64_t count, uint32_t limit)
{
    if (count <= limit) return TW_OK;
    return TW_DECODE_FAIL(d, TW_LIMIT, "%s: over the limit of %u", what, limit);
}

static tw_status check_memories(tw_decoder *d, uint64_t count)
{
    if (count <= d->limits->memories) return TW_OK;
    if (d->limits->memories <= 1)
        return TW_DECODE_FAIL(d, TW_UNSUPPORTED,
                              "a second memory belongs to the proposal multi-memory, which isn't supported");
    return check_room(d, "memories", count, d->limits->memories);
}

static tw_status read_type_index(tw_decoder *d, uint32_t *out)
{
    tw_reader start = d->reader;
    TW_TRY(tw_read_u32(&d->reader, "type index", out, d->error));
    if (*out < d->module->type_count) return TW_OK;
    d->reader = start;
    return TW_DECODE_FAIL(d, TW_INVALID, "type %u doesn't exist: there are %u", *out, d->module->type_count);
}

static tw_status import_func(tw_decoder *d, uint32_t import)
{
    tw_wasm *m = d->module;
    uint32_t type;
    TW_TRY(read_type_index(d, &type));
    TW_TRY(check_room(d, "functions", m->func_count + 1u, d->limits->functions));
    GROW(d, m->funcs, m->func_count, d->func_capacity);
    m->funcs[m->func_count++] = (tw_func){.type = type, .imported = true, .import = import};
    m->imported_funcs++;
    return TW_OK;
}

static tw_status import_table(tw_decoder *d)
{
    tw_wasm *m = d->module;
    TW_TRY(check_room(d, "tables", m->table_count + 1u, d->limits->tables));
    GROW(d, m->tables, m->table_count, d->table_capacity);
    TW_TRY(tw_decode_table_type(d, &m->tables[m->table_count]));
    m->table_count++;
    m->imported_tables++;
    return TW_OK;
}

static tw_status import_memory(tw_decoder *d)
{
    tw_wasm *m = d->module;
    TW_TRY(check_memories(d, m->memory_count + 1u));
    GROW(d, m->memories, m->memory_count, d->memory_capacity);
    TW_TRY(tw_decode_memory_type(d, &m->memories[m->memory_count]));
    m->memory_count++;
    m->imported_memories++;
    return TW_OK;
}

static tw_status import_global(tw_decoder *d)
{
    tw_wasm *m = d->module;
    tw_global_type type;
    TW_TRY(tw_decode_global_type(d, &type));
    TW_TRY(check_room(d, "globals", m->global_count + 1u, d->limits->globals));
    GROW(d, m->globals, m->global_count, d->global_capacity);
    m->globals[m->global_count++] = (tw_global_def){.type = type};
    m->imported_globals++;
    return TW_OK;
}

static tw_status decode_import(tw_decoder *d, uint32_t index)
{
    tw_wasm *m = d->module;
    tw_import *import = &m->imports[index];
    uint8_t kind;
    TW_TRY(tw_read_name(&d->reader, "import module name", &import->module, d->error));
    TW_TRY(tw_read_name(&d->reader, "import name", &import->name, d->error));
    tw_reader start = d->reader;
    TW_TRY(tw_read_byte(&d->reader, "import kind", &kind, d->error));
    import->kind = (tw_extern_kind)kind;
    switch (kind) {
    case TW_EXTERN_FUNC: import->index = m->func_count; return import_func(d, index);
    case TW_EXTERN_TABLE: import->index = m->table_count; return import_table(d);
    case TW_EXTERN_MEMORY: import->index = m->memory_count; return import_memory(d);
    case TW_EXTERN_GLOBAL: import->index = m->global_count; return import_global(d);
    default: break;
    }
    d->reader = start;
    if (kind == 4)
        return TW_DECODE_FAIL(d, TW_UNSUPPORTED,
                              "importing a tag belongs to the proposal exception handling, which isn't supported");
    return TW_DECODE_FAIL(d, TW_MALFORMED, "import kind 0x%02x", kind);
}

tw_status tw_decode_imports(tw_decoder *d)
{
    tw_wasm *m = d->module;
    uint32_t count;
    TW_TRY(tw_read_count(&d->reader, "imports", 4, d->limits->imports, &count, d->error));
    m->imports = TW_NEW_ARRAY(&m->arena, tw_import, count);
    TW_TRY_ALLOC(m->imports, d->error);
    for (; m->import_count < count; m->import_count++) TW_TRY(decode_import(d, m->import_count));
    return TW_OK;
}

/* ---- functions, tables, memories ---- */

tw_status tw_decode_functions(tw_decoder *d)
{
    tw_wasm *m = d->module;
    uint32_t count;
    TW_TRY(tw_read_count(&d->reader, "functions", 1, d->limits->functions, &count, d->error));
    TW_TRY(check_room(d, "functions", (uint64_t)m->func_count + count, d->limits->functions));
    for (uint32_t i = 0; i < count; i++) {
        GROW(d, m->funcs, m->func_count, d->func_capacity);
        tw_func *func = &m->funcs[m->func_count];
        *func = (tw_func){0};
        TW_TRY(read_type_index(d, &func->type));
        m->func_count++;
    }
    return TW_OK;
}

tw_status tw_decode_tables(tw_decoder *d)
{
    tw_wasm *m = d->module;
    uint32_t count;
    TW_TRY(tw_read_count(&d->reader, "tables", 3, UINT32_MAX, &count, d->error));
    TW_TRY(check_room(d, "tables", (uint64_t)m->table_count + count, d->limits->tables));
    for (uint32_t i = 0; i < count; i++, m->table_count++) {
        GROW(d, m->tables, m->table_count, d->table_capacity);
        if (tw_reader_left(&d->reader) && *d->reader.at == 0x40)
            return TW_DECODE_FAIL(
                d, TW_UNSUPPORTED,
                "a table with an initialiser belongs to the proposal typed function references, which isn't supported");
        TW_TRY(tw_decode_table_type(d, &m->tables[m->table_count]));
    }
    return TW_OK;
}

tw_status tw_decode_memories(tw_decoder *d)
{
    tw_wasm *m = d->module;
    uint32_t count;
    TW_TRY(tw_read_count(&d->reader, "memories", 2, UINT32_MAX, &count, d->error));
    TW_TRY(check_memories(d, (uint64_t)m->memory_count + count));
    for (uint32_t i = 0; i < count; i++, m->memory_count++) {
        GROW(d, m->memories, m->memory_count, d->memory_capacity);
        TW_TRY(tw_decode_memory_type(d, &m->memories[m->memory_count]));
    }
    return TW_OK;
}

tw_status tw_decode_globals(tw_decoder *d)
{
    tw_wasm *m = d->module;
    uint32_t count;
    TW_TRY(tw_read_count(&d->reader, "globals", 4, d->limits->globals, &count, d->error));
    TW_TRY(check_room(d, "globals", (uint64_t)m->global_count + count, d->limits->globals));
    for (uint32_t i = 0; i < count; i++, m->global_count++) {
        GROW(d, m->globals, m->global_count, d->global_capacity);
        tw_global_def *global = &m->globals[m->global_count];
        *global = (tw_global_def){0};
        TW_TRY(tw_decode_global_type(d, &global->type));
        TW_TRY(tw_decode_const(d, global->type.type, &global->init));
    }
    return TW_OK;
}
