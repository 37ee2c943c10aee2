/* SPDX-License-Identifier: Apache-2.0 */
/* The appending encoder. Additions are collected, then each section that has some is written anew from the raw
 * bytes of its old entries plus the new ones; the old entries are never re-encoded. */
#include <stdlib.h>
#include <string.h>

#include "wasm/encode.h"
#include "wasm/offset_map.h"
#include "wasm/read.h"
#include "wasm/section_write.h"

typedef struct edit_func {
    uint32_t type, origin;
    tw_span body; /* data NULL until defined */
} edit_func;

typedef struct edit_global {
    tw_global_type type;
    uint64_t bits;
} edit_global;

struct tw_edit {
    const tw_wasm *module;
    tw_arena arena;
    bool failed; /* out of memory: sticky, told by encode */
    bool edited;
    bool drops_start, passive, owns_memories;
    tw_functype *types;    uint32_t type_count, type_capacity;
    edit_func *funcs;      uint32_t func_count, func_capacity;
    edit_global *globals;  uint32_t global_count, global_capacity;
    tw_limits *tables;     uint32_t table_count, table_capacity;
    tw_limits *memories;   uint32_t memory_count, memory_capacity;
    tw_export *exports;    uint32_t export_count, export_capacity;
    tw_span *replaced;     /* by the module's functions; NULL until one is */
    tw_map_entry *entries; uint32_t entry_count, entry_capacity;
    uint64_t *offsets;     /* of bodies in the written module, by function */
};

tw_edit *tw_edit_new(const tw_wasm *module)
{
    tw_edit *edit = calloc(1, sizeof *edit);
    if (!edit) return NULL;
    edit->module = module;
    tw_arena_init(&edit->arena, TW_ARENA_NO_LIMIT);
    return edit;
}

void tw_edit_free(tw_edit *edit)
{
    if (!edit) return;
    tw_arena_free(&edit->arena);
    free(edit);
}

/* Room for one more of `items`; evaluates to false (and remembers) when there is none. `base` entities of the
 * module come first in the index space. */
#define ROOM(edit, items, count, capacity, base)                                                       \
    ((uint64_t)(base) + (count) < UINT32_MAX - 1 && TW_ARENA_GROW(&(edit)->arena, items, count, capacity) \
         ? ((edit)->edited = true)                                                                     \
         : !((edit)->failed = true))

static tw_span copy_bytes(tw_edit *edit, tw_span bytes)
{
    uint8_t *copy = tw_arena_alloc(&edit->arena, bytes.size);
    if (!copy) {
        edit->failed = true;
        return (tw_span){0};
    }
    if (bytes.size) memcpy(copy, bytes.data, bytes.size);
    return (tw_span){copy, bytes.size};
}

static bool same_list(const uint8_t *a, uint32_t a_count, const uint8_t *b, uint32_t b_count)
{
    return a_count == b_count && (a_count == 0 || memcmp(a, b, a_count) == 0);
}

static bool same_type(const tw_functype *a, const tw_functype *b)
{
    return same_list(a->params, a->param_count, b->params, b->param_count) &&
           same_list(a->results, a->result_count, b->results, b->result_count);
}

uint32_t tw_edit_type(tw_edit *edit, const uint8_t *params, uint32_t param_count, const uint8_t *results,
                      uint32_t result_count)
{
    const tw_wasm *m = edit->module;
    tw_functype wanted = {params, results, param_count, result_count};
    for (uint32_t i = 0; i < m->type_count; i++)
        if (same_type(&m->types[i], &wanted)) return i;
    for (uint32_t i = 0; i < edit->type_count; i++)
        if (same_type(&edit->types[i], &wanted)) return m->type_count + i;
    if (!ROOM(edit, edit->types, edit->type_count, edit->type_capacity, m->type_count)) return UINT32_MAX;
    wanted.params = copy_bytes(edit, (tw_span){params, param_count}).data;
    wanted.results = copy_bytes(edit, (tw_span){results, result_count}).data;
    if (edit->failed) return UINT32_MAX;
    edit->types[edit->type_count] = wanted;
    return m->type_count + edit->type_count++;
}

uint32_t tw_edit_func_declare(tw_edit *edit, uint32_t type, uint32_t origin)
{
    if (!ROOM(edit, edit->funcs, edit->func_count, edit->func_capacity, edit->module->func_count)) return UINT32_MAX;
    edit->funcs[edit->func_count] = (edit_func){type, origin, {0}};
    return edit->module->func_count + edit->func_count++;
}

void tw_edit_func_define(tw_edit *edit, uint32_t func, tw_span body)
{
    uint32_t index = func - edit->module->func_count;
    if (func < edit->module->func_count || index >= edit->func_count) return;
    edit->funcs[index].body = copy_bytes(edit, body);
}

uint32_t tw_edit_func(tw_edit *edit, uint32_t type, tw_span body, uint32_t origin)
{
    uint32_t func = tw_edit_func_declare(edit, type, origin);
    if (func != UINT32_MAX) tw_edit_func_define(edit, func, body);
    return edit->failed ? UINT32_MAX : func;
}

uint32_t tw_edit_global(tw_edit *edit, tw_type type, bool is_mutable, uint64_t init_bits)
{
    if (!ROOM(edit, edit->globals, edit->global_count, edit->global_capacity, edit->module->global_count))
        return UINT32_MAX;
    edit->globals[edit->global_count] = (edit_global){{type, is_mutable}, init_bits};
    return edit->module->global_count + edit->global_count++;
}

uint32_t tw_edit_table(tw_edit *edit, uint32_t minimum, uint32_t maximum)
{
    if (!ROOM(edit, edit->tables, edit->table_count, edit->table_capacity, edit->module->table_count))
        return UINT32_MAX;
    edit->tables[edit->table_count] = (tw_limits){minimum, maximum, true};
    return edit->module->table_count + edit->table_count++;
}

uint32_t tw_edit_memory(tw_edit *edit, uint32_t minimum, uint32_t maximum)
{
    if (!ROOM(edit, edit->memories, edit->memory_count, edit->memory_capacity, edit->module->memory_count))
        return UINT32_MAX;
    edit->memories[edit->memory_count] = (tw_limits){minimum, maximum, true};
    return edit->module->memory_count + edit->memory_count++;
}

void tw_edit_export(tw_edit *edit, const char *name, tw_extern_kind kind, uint32_t index)
{
    if (!ROOM(edit, edit->exports, edit->export_count, edit->export_capacity, edit->module->export_count)) return;
    size_t size = strlen(name);
    char *copy = tw_arena_string(&edit->arena, name, size);
    if (!copy) edit->failed = true;
    else edit->exports[edit->export_count++] = (tw_export){{copy, (uint32_t)size}, kind, index};
}

void tw_edit_replace_body(tw_edit *edit, uint32_t func, tw_span body)
{
    if (func >= edit->module->func_count || edit->module->funcs[func].imported) return;
    if (!edit->replaced) edit->replaced = TW_NEW_ARRAY(&edit->arena, tw_span, edit->module->func_count);
    if (!edit->replaced) edit->failed = true;
    else edit->replaced[func] = copy_bytes(edit, body);
    edit->edited = true;
}

void tw_edit_map(tw_edit *edit, uint32_t func, uint32_t at, uint64_t original)
{
    if (!TW_ARENA_GROW(&edit->arena, edit->entries, edit->entry_count, edit->entry_capacity)) edit->failed = true;
    else edit->entries[edit->entry_count++] = (tw_map_entry){func, at, original};
}

/* ---- writing ---- */

static const tw_section *find_section(const tw_wasm *module, uint8_t id)
{
    for (uint32_t i = 0; i < module->section_count; i++)
        if (module->sections[i].id == id) return &module->sections[i];
    return NULL;
}

/* The new count, then the raw old entries. */
static void copy_entries(const tw_edit *edit, uint8_t id, uint32_t added, tw_bytes *out)
{
    const tw_section *old = find_section(edit->module, id);
    uint32_t count = 0;
    const uint8_t *at = old ? old->payload.data : NULL, *end = old ? at + old->payload.size : NULL;
    if (old) (void)tw_wasm_read_u32(&at, end, &count); /* the decoder has read it before */
    tw_write_u32(out, count + added);
    tw_bytes_append(out, at, (size_t)(end - at));
}

static void write_types(const tw_edit *edit, tw_bytes *out)
{
    copy_entries(edit, 1, edit->type_count, out);
    for (uint32_t i = 0; i < edit->type_count; i++) tw_write_functype(out, &edit->types[i]);
}

static void write_functions(const tw_edit *edit, tw_bytes *out)
{
    copy_entries(edit, 3, edit->func_count, out);
    for (uint32_t i = 0; i < edit->func_count; i++) tw_write_u32(out, edit->funcs[i].type);
}

static void write_tables(const tw_edit *edit, tw_bytes *out)
{
    copy_entries(edit, 4, edit->table_count, out);
    for (uint32_t i = 0; i < edit->table_count; i++)
        tw_write_table_type(out, &(tw_table_type){TW_FUNCREF, edit->tables[i]});
}

void tw_edit_own_memories(tw_edit *edit)
{
    edit->owns_memories = edit->module->imported_memories > 0;
    edit->edited |= edit->owns_memories;
}

static void write_import(const tw_wasm *m, const tw_import *import, tw_bytes *out)
{
    tw_write_name(out, import->module);
    tw_write_name(out, import->name);
    tw_bytes_append_byte(out, (uint8_t)import->kind);
    switch (import->kind) {
    case TW_EXTERN_FUNC: tw_write_u32(out, m->funcs[import->index].type); break;
    case TW_EXTERN_TABLE: tw_write_table_type(out, &m->tables[import->index]); break;
    case TW_EXTERN_MEMORY: tw_write_limits(out, &m->memories[import->index]); break;
    case TW_EXTERN_GLOBAL: tw_write_global_type(out, &m->globals[import->index].type); break;
    }
}

static void write_imports_but_memories(const tw_edit *edit, tw_bytes *out)
{
    const tw_wasm *m = edit->module;
    tw_write_u32(out, m->import_count - m->imported_memories);
    for (uint32_t i = 0; i < m->import_count; i++)
        if (m->imports[i].kind != TW_EXTERN_MEMORY) write_import(m, &m->imports[i], out);
}

/* Owned ones come first. */
static void write_all_memories(const tw_edit *edit, tw_bytes *out)
{
    const tw_wasm *m = edit->module;
    tw_write_u32(out, m->memory_count + edit->memory_count);
    for (uint32_t i = 0; i < m->memory_count; i++) tw_write_limits(out, &m->memories[i]);
    for (uint32_t i = 0; i < edit->memory_count; i++) tw_write_limits(out, &edit->memories[i]);
}

static void write_memories(const tw_edit *edit, tw_bytes *out)
{
    if (edit->owns_memories) {
        write_all_memories(edit, out);
        return;
    }
    copy_entries(edit, 5, edit->memory_count, out);
    for (uint32_t i = 0; i < edit->memory_count; i++) tw_write_limits(out, &edit->memories[i]);
}

static void write_init(tw_bytes *out, const edit_global *global)
{
    tw_instr instr = {0};
    switch (global->type.type) {
    case TW_I32: instr.op = TW_OP_I32_CONST; instr.imm.i32 = (int32_t)(uint32_t)global->bits; break;
    case TW_I64: instr.op = TW_OP_I64_CONST; instr.imm.i64 = (int64_t)global->bits; break;
    case TW_F32: instr.op = TW_OP_F32_CONST; instr.imm.f32 = (uint32_t)global->bits; break;
    case TW_F64: instr.op = TW_OP_F64_CONST; instr.imm.f64 = global->bits; break;
    case TW_V128: instr.op = TW_OP_V128_CONST; memcpy(instr.imm.v128, &global->bits, 8); break;
    default: instr.op = TW_OP_REF_NULL; instr.imm.ref = TW_FUNCREF; break;
    }
    tw_write_instr(out, &instr);
    tw_write_op(out, TW_OP_END);
}

static void write_globals(const tw_edit *edit, tw_bytes *out)
{
    copy_entries(edit, 6, edit->global_count, out);
    for (uint32_t i = 0; i < edit->global_count; i++) {
        tw_write_global_type(out, &edit->globals[i].type);
        write_init(out, &edit->globals[i]);
    }
}

static void write_exports(const tw_edit *edit, tw_bytes *out)
{
    copy_entries(edit, 7, edit->export_count, out);
    for (uint32_t i = 0; i < edit->export_count; i++) tw_write_export(out, &edit->exports[i]);
}

static void write_body(tw_edit *edit, uint32_t func, tw_span body, tw_bytes *out)
{
    tw_write_u32(out, (uint32_t)body.size);
    edit->offsets[func] = out->size; /* the section's own place is added later */
    tw_bytes_append(out, body.data, body.size);
}

static void write_code(tw_edit *edit, tw_bytes *out)
{
    const tw_wasm *m = edit->module;
    tw_write_u32(out, m->func_count - m->imported_funcs + edit->func_count);
    for (uint32_t i = m->imported_funcs; i < m->func_count; i++) {
        bool replaced = edit->replaced && edit->replaced[i].data;
        write_body(edit, i, replaced ? edit->replaced[i] : m->funcs[i].body, out);
    }
    for (uint32_t i = 0; i < edit->func_count; i++) write_body(edit, m->func_count + i, edit->funcs[i].body, out);
}

/* ---- segments ---- */

void tw_edit_make_segments_passive(tw_edit *edit) { edit->passive = edit->edited = true; }

/* Kinds by number: bit 0 not active, bit 1 explicit table or declared, bit 2 expressions. */
static void write_elems(const tw_edit *edit, tw_bytes *out)
{
    const tw_wasm *m = edit->module;
    tw_write_u32(out, m->elem_count);
    for (uint32_t i = 0; i < m->elem_count; i++) {
        const tw_elem *elem = &m->elems[i];
        bool expressions = elem->kind & 4;
        tw_write_u32(out, elem->mode == TW_SEGMENT_ACTIVE ? (expressions ? 5 : 1) : elem->kind);
        tw_bytes_append_byte(out, expressions ? (uint8_t)elem->type : 0);
        tw_write_u32(out, elem->count);
        tw_bytes_append(out, elem->payload.data, elem->payload.size);
    }
}

static void write_datas(const tw_edit *edit, tw_bytes *out)
{
    const tw_wasm *m = edit->module;
    tw_write_u32(out, m->data_count);
    for (uint32_t i = 0; i < m->data_count; i++) {
        tw_write_u32(out, 1);
        tw_write_u32(out, (uint32_t)m->datas[i].bytes.size);
        tw_bytes_append(out, m->datas[i].bytes.data, m->datas[i].bytes.size);
    }
}

/* Sections that can change, in the order they must come in. */
enum {
    SECTION_TYPE = 1,
    SECTION_IMPORT,
    SECTION_FUNCTION,
    SECTION_TABLE,
    SECTION_MEMORY,
    SECTION_GLOBAL,
    SECTION_EXPORT,
    SECTION_START,
    SECTION_ELEM,
    SECTION_CODE,
    SECTION_DATA,
    SECTION_DATA_COUNT
};
static const uint8_t section_order[] = {1, 2, 3, 4, 5, 6, 7, 8, 9, 12, 10, 11};

static int rank_of(uint8_t id)
{
    for (int i = 0; i < (int)sizeof section_order; i++)
        if (section_order[i] == id) return i;
    return -1; /* custom */
}

static bool changes(const tw_edit *edit, uint8_t id)
{
    switch (id) {
    case SECTION_TYPE: return edit->type_count;
    case SECTION_FUNCTION: return edit->func_count;
    case SECTION_TABLE: return edit->table_count;
    case SECTION_IMPORT: return edit->owns_memories;
    case SECTION_MEMORY: return edit->memory_count || edit->owns_memories;
    case SECTION_GLOBAL: return edit->global_count;
    case SECTION_EXPORT: return edit->export_count;
    case SECTION_ELEM: return edit->passive && edit->module->elem_count;
    case SECTION_DATA:
    case SECTION_DATA_COUNT: return edit->passive && edit->module->data_count;
    case SECTION_CODE: return edit->func_count || edit->replaced;
    default: return false;
    }
}

static void write_changed(tw_edit *edit, uint8_t id, tw_bytes *out)
{
    tw_bytes payload = {0};
    switch (id) {
    case SECTION_TYPE: write_types(edit, &payload); break;
    case SECTION_FUNCTION: write_functions(edit, &payload); break;
    case SECTION_TABLE: write_tables(edit, &payload); break;
    case SECTION_IMPORT: write_imports_but_memories(edit, &payload); break;
    case SECTION_MEMORY: write_memories(edit, &payload); break;
    case SECTION_GLOBAL: write_globals(edit, &payload); break;
    case SECTION_EXPORT: write_exports(edit, &payload); break;
    case SECTION_ELEM: write_elems(edit, &payload); break;
    case SECTION_DATA: write_datas(edit, &payload); break;
    case SECTION_DATA_COUNT: tw_write_u32(&payload, edit->module->data_count); break;
    case SECTION_CODE: write_code(edit, &payload); break;
    default: break;
    }
    tw_write_section(out, id, &payload);
    uint64_t start = out->size - payload.size;
    tw_bytes_free(&payload);
    if (id != SECTION_CODE) return;
    for (uint32_t i = edit->module->imported_funcs; i < edit->module->func_count + edit->func_count; i++)
        edit->offsets[i] += start;
}

void tw_edit_drop_start(tw_edit *edit) { edit->drops_start = edit->edited = true; }

/* Sections that the module lacks and that come before rank `until`. */
static void write_missing(tw_edit *edit, int *next, int until, tw_bytes *out)
{
    for (; *next < until; ++*next) {
        uint8_t id = section_order[*next];
        if (changes(edit, id) && !find_section(edit->module, id)) write_changed(edit, id, out);
    }
}

/* A copied code section moves its bodies all by the same distance. */
static void move_offsets(tw_edit *edit, const tw_section *section, uint64_t whole_start)
{
    const tw_wasm *m = edit->module;
    uint64_t old_start = (uint64_t)(section->whole.data - m->bytes.data);
    for (uint32_t i = m->imported_funcs; i < m->func_count; i++)
        edit->offsets[i] = m->funcs[i].body_offset - old_start + whole_start;
}

static void write_one(tw_edit *edit, const tw_section *section, tw_bytes *out)
{
    if (edit->drops_start && section->id == SECTION_START) return;
    if (changes(edit, section->id)) {
        write_changed(edit, section->id, out);
        return;
    }
    if (section->id == SECTION_CODE) move_offsets(edit, section, out->size);
    tw_bytes_append(out, section->whole.data, section->whole.size);
}

/* What is missing goes before the first later section, or else behind the last known one, or else first: custom
 * sections that lead or trail (names) stay where they are. */
static void write_sections(tw_edit *edit, tw_bytes *out)
{
    const tw_wasm *m = edit->module;
    int next = 0;
    uint32_t last_known = 0;
    for (uint32_t i = 0; i < m->section_count; i++)
        if (m->sections[i].id) last_known = i + 1;
    if (last_known == 0) write_missing(edit, &next, sizeof section_order, out);
    for (uint32_t i = 0; i < m->section_count; i++) {
        int rank = rank_of(m->sections[i].id);
        if (rank >= 0) write_missing(edit, &next, rank, out);
        write_one(edit, &m->sections[i], out);
        if (i + 1 == last_known) write_missing(edit, &next, sizeof section_order, out);
    }
}

static tw_status check_defined(const tw_edit *edit, tw_error *error)
{
    for (uint32_t i = 0; i < edit->func_count; i++)
        if (!edit->funcs[i].body.data)
            return tw_fail(error, TW_INTERNAL, "appended function %u has no body", edit->module->func_count + i);
    return TW_OK;
}

tw_status tw_edit_encode(tw_edit *edit, tw_bytes *out, tw_error *error)
{
    uint32_t funcs = edit->module->func_count + edit->func_count;
    edit->offsets = TW_NEW_ARRAY(&edit->arena, uint64_t, funcs);
    if (edit->failed || !edit->offsets) return tw_fail_memory(error);
    TW_TRY(check_defined(edit, error));
    size_t start = out->size;
    tw_bytes_append(out, edit->module->bytes.data, 8);
    write_sections(edit, out);
    if (out->failed) return tw_fail_memory(error);
    if (out->size - start > UINT32_MAX) return tw_fail(error, TW_LIMIT, "the rewritten module is over 4 GiB");
    return TW_OK;
}

tw_offset_map *tw_edit_take_map(tw_edit *edit)
{
    const tw_wasm *m = edit->module;
    if (edit->failed || !edit->offsets) return NULL;
    uint32_t count = m->func_count + edit->func_count;
    tw_map_func *funcs = TW_NEW_ARRAY(&edit->arena, tw_map_func, count);
    if (!funcs) return NULL;
    for (uint32_t i = 0; i < count; i++) {
        bool ours = i >= m->func_count;
        funcs[i].start = edit->offsets[i];
        funcs[i].origin = ours ? edit->funcs[i - m->func_count].origin : i;
        funcs[i].original = ours ? TW_NO_OFFSET : m->funcs[i].body_offset;
        funcs[i].edited = ours || (edit->replaced && edit->replaced[i].data);
    }
    return tw_offset_map_new(funcs, count, edit->entries, edit->entry_count);
}
