/* SPDX-License-Identifier: Apache-2.0 */
/* From bytes to a decoded module. Counts are held against the bytes that are left before anything is allocated
 * for them, so memory is bounded by a small multiple of the input; nothing recurses. */
#include "wasm/decode.h"

#include <string.h>

#include "wasm/limits.h"

const tw_wasm_limits tw_wasm_default_limits = TW_WASM_DEFAULT_LIMITS;

/* Sections in the order they must come in. */
static const struct section_kind {
    uint8_t id;
    const char *name;
    tw_status (*decode)(tw_decoder *d);
} section_kinds[] = {
    {1, "type section", tw_decode_types},       {2, "import section", tw_decode_imports},
    {3, "function section", tw_decode_functions}, {4, "table section", tw_decode_tables},
    {5, "memory section", tw_decode_memories},  {6, "global section", tw_decode_globals},
    {7, "export section", tw_decode_exports},   {8, "start section", tw_decode_start},
    {9, "element section", tw_decode_elems},    {12, "data count section", tw_decode_data_count},
    {10, "code section", tw_decode_code},       {11, "data section", tw_decode_datas},
};
enum { SECTION_KINDS = sizeof section_kinds / sizeof *section_kinds };

static tw_status decode_header(tw_decoder *d)
{
    tw_reader *r = &d->reader;
    if (tw_reader_left(r) > d->limits->module_bytes)
        return TW_DECODE_FAIL(d, TW_LIMIT, "module of %zu bytes is over the limit of %zu", tw_reader_left(r),
                              d->limits->module_bytes);
    if (tw_reader_left(r) < 4 || memcmp(r->at, "\0asm", 4) != 0)
        return TW_DECODE_FAIL(d, TW_MALFORMED, "not a WebAssembly module: it doesn't begin with \\0asm");
    r->at += 4;
    if (tw_reader_left(r) < 4) return TW_DECODE_FAIL(d, TW_MALFORMED, "unexpected end in the version");
    if (r->at[2] != 0 || r->at[3] != 0)
        return TW_DECODE_FAIL(
            d, TW_UNSUPPORTED,
            "this is a component (the component model), which isn't supported: a core module is wanted");
    if (memcmp(r->at, "\1\0\0", 4) != 0)
        return TW_DECODE_FAIL(d, TW_MALFORMED, "binary version %u, expected 1", r->at[0] | (unsigned)r->at[1] << 8);
    r->at += 4;
    return TW_OK;
}

static tw_status unknown_section(tw_decoder *d, uint8_t id)
{
    if (id == 13)
        return TW_DECODE_FAIL(d, TW_UNSUPPORTED,
                              "section 13 (tags) belongs to the proposal exception handling, which isn't supported");
    if (id == 14)
        return TW_DECODE_FAIL(
            d, TW_UNSUPPORTED,
            "section 14 (strings) belongs to the proposal reference-typed strings, which isn't supported");
    return TW_DECODE_FAIL(d, TW_MALFORMED, "unknown section %u", id);
}

static tw_status decode_known(tw_decoder *d, const tw_section *section, int *reached)
{
    int rank = 0;
    while (rank < SECTION_KINDS && section_kinds[rank].id != section->id) rank++;
    const struct section_kind *kind = &section_kinds[rank];
    if (rank <= *reached)
        return TW_DECODE_FAIL(d, TW_MALFORMED, rank == *reached ? "a second %s" : "%s out of order", kind->name);
    *reached = rank;
    tw_reader outer = d->reader;
    d->reader = (tw_reader){section->payload.data, section->payload.data, section->payload.data + section->payload.size,
                            section->offset};
    TW_TRY(kind->decode(d));
    if (tw_reader_left(&d->reader))
        return TW_DECODE_FAIL(d, TW_MALFORMED, "%s: %zu bytes after its end", kind->name, tw_reader_left(&d->reader));
    d->reader = outer;
    return TW_OK;
}

static bool known_section(uint8_t id)
{
    for (int i = 0; i < SECTION_KINDS; i++)
        if (section_kinds[i].id == id) return true;
    return false;
}

/* The frame of the next section; the reader moves past it. */
static tw_status read_section(tw_decoder *d, tw_section *out)
{
    tw_reader start = d->reader;
    uint32_t size;
    TW_TRY(tw_read_byte(&d->reader, "section", &out->id, d->error));
    if (out->id != 0 && !known_section(out->id)) {
        d->reader = start;
        return unknown_section(d, out->id);
    }
    TW_TRY(tw_read_u32(&d->reader, "section size", &size, d->error));
    out->offset = tw_reader_offset(&d->reader);
    TW_TRY(tw_read_bytes(&d->reader, "section", size, &out->payload, d->error));
    out->whole = (tw_span){start.at, (size_t)(d->reader.at - start.at)};
    return TW_OK;
}

static tw_status read_custom_name(tw_decoder *d, tw_section *section)
{
    tw_reader inner = {section->payload.data, section->payload.data, section->payload.data + section->payload.size,
                       section->offset};
    TW_TRY(tw_read_name(&inner, "custom section's name", &section->name, d->error));
    section->offset = tw_reader_offset(&inner);
    section->payload = (tw_span){inner.at, tw_reader_left(&inner)};
    return TW_OK;
}

static tw_status decode_sections(tw_decoder *d)
{
    tw_wasm *m = d->module;
    int reached = -1;
    while (tw_reader_left(&d->reader)) {
        tw_section section = {0};
        TW_TRY(read_section(d, &section));
        if (section.id == 0) TW_TRY(read_custom_name(d, &section));
        else TW_TRY(decode_known(d, &section, &reached));
        if (!TW_ARENA_GROW(&m->arena, m->sections, m->section_count, d->section_capacity))
            return tw_fail_memory(d->error);
        m->sections[m->section_count++] = section;
    }
    return TW_OK;
}

/* What only shows when every section has been seen. */
static tw_status check_whole(tw_decoder *d)
{
    tw_wasm *m = d->module;
    uint32_t bodies = 0;
    for (uint32_t i = m->imported_funcs; i < m->func_count; i++) bodies += m->funcs[i].body.data != NULL;
    if (bodies != m->func_count - m->imported_funcs)
        return TW_DECODE_FAIL(d, TW_MALFORMED, "%u functions declared, but no code section",
                              m->func_count - m->imported_funcs);
    if (m->has_data_count && d->declared_datas != m->data_count)
        return TW_DECODE_FAIL(d, TW_MALFORMED, "the data count section says %u, but there are %u data segments",
                              d->declared_datas, m->data_count);
    return TW_OK;
}

static tw_status decode_name_sections(tw_decoder *d)
{
    for (uint32_t i = 0; i < d->module->section_count; i++) {
        const tw_section *section = &d->module->sections[i];
        if (section->id == 0 && section->name.size == 4 && memcmp(section->name.data, "name", 4) == 0)
            return tw_decode_names(d, section);
    }
    return TW_OK;
}

static tw_status decode(tw_decoder *d)
{
    TW_TRY(decode_header(d));
    TW_TRY(decode_sections(d));
    TW_TRY(check_whole(d));
    return decode_name_sections(d);
}

tw_status tw_wasm_decode(tw_span bytes, const tw_wasm_limits *limits, tw_wasm *out, tw_error *error)
{
    *out = (tw_wasm){.bytes = bytes};
    tw_arena_init(&out->arena, TW_ARENA_NO_LIMIT);
    tw_decoder d = {.module = out, .limits = limits ? limits : &tw_wasm_default_limits, .error = error};
    d.reader = (tw_reader){bytes.data, bytes.data, bytes.data + bytes.size, 0};
    tw_status status = decode(&d);
    if (status != TW_OK) tw_wasm_free(out);
    return status;
}

void tw_wasm_free(tw_wasm *module)
{
    tw_arena_free(&module->arena);
    *module = (tw_wasm){0};
}
