/* SPDX-License-Identifier: Apache-2.0 */
#include "rewrite/bake.h"

#include <string.h>

#include "base/bytes.h"
#include "rewrite/parts.h"
#include "wasm/encode.h"
#include "wasm/section_write.h"

enum { PAGE = 65536, MOST_SEGMENTS = 10000, MOST_RUNS = 1000, LEAST_GAP = 16 };
enum { SECTION_NAME, SECTION_TABLE = 4, SECTION_MEMORY, SECTION_GLOBAL, SECTION_EXPORT, SECTION_START, SECTION_ELEM,
       SECTION_DATA = 11, SECTION_DATA_COUNT };

typedef struct baker {
    const tw_wasm *module;
    const tw_bake *state;
    tw_drops drops;
    bool names_elems;    /* code names element segments, or functions that they declare: the old ones must stay */
    bool refers_to_funcs;/* code has ref.func */
    tw_section_change changes[TW_SECTION_IDS];
    tw_arena arena;
    tw_error *error;
} baker;

static tw_bytes *replace(baker *b, int section)
{
    b->changes[section].what = TW_SECTION_REPLACED;
    return &b->changes[section].payload;
}

static bool is_dropped(const baker *b, uint32_t bit)
{
    return bit != UINT32_MAX && b->state->drops[bit / 64] >> bit % 64 & 1;
}

static void write_i32_offset(tw_bytes *out, uint32_t at)
{
    tw_instr instr = {.op = TW_OP_I32_CONST, .imm.i32 = (int32_t)at};
    tw_write_instr(out, &instr);
    tw_write_op(out, TW_OP_END);
}

/* ---- checks ---- */

static tw_status doesnt_fit(const baker *b, const char *what)
{
    return tw_fail(b->error, TW_MALFORMED, "the state doesn't fit the module: %s", what);
}

static bool is_func(const baker *b, uint32_t index) { return index == UINT32_MAX || index < b->module->func_count; }

static tw_status check_tables(const baker *b)
{
    for (uint32_t i = 0; i < b->module->table_count; i++) {
        const tw_bake_table *table = &b->state->tables[i];
        const tw_limits *limits = &b->module->tables[i].limits;
        if (table->size < limits->minimum || (limits->has_maximum && table->size > limits->maximum))
            return doesnt_fit(b, "a table of another size");
        for (uint32_t j = 0; j < table->size; j++)
            if (!is_func(b, table->funcs[j])) return doesnt_fit(b, "a function that isn't there");
    }
    return TW_OK;
}

static uint32_t reference_in(const uint8_t *value)
{
    return (uint32_t)value[0] | (uint32_t)value[1] << 8 | (uint32_t)value[2] << 16 | (uint32_t)value[3] << 24;
}

static tw_status check_globals(const baker *b)
{
    uint32_t at = 0;
    for (uint32_t i = 0; i < b->module->global_count; i++) {
        if (!b->module->globals[i].type.is_mutable) continue;
        if (at == b->state->global_count || b->state->globals[at].index != i) return doesnt_fit(b, "other globals");
        const uint8_t *value = b->state->globals[at++].value;
        if (b->module->globals[i].type.type == TW_FUNCREF && !is_func(b, reference_in(value))) return doesnt_fit(b, "a function that isn't there");
    }
    return at == b->state->global_count ? TW_OK : doesnt_fit(b, "other globals");
}

static int shown(tw_name name) { return (int)(name.size < 200 ? name.size : 200); }

/* Who instantiates the new module would give it another one, with other contents. */
static tw_status check_imports(const baker *b)
{
    static const char *const kinds[] = {[TW_EXTERN_TABLE] = "table", [TW_EXTERN_MEMORY] = "memory", [TW_EXTERN_GLOBAL] = "global"};
    for (uint32_t i = 0; i < b->module->import_count; i++) {
        const tw_import *import = &b->module->imports[i];
        if (import->kind == TW_EXTERN_FUNC) continue;
        return tw_fail(b->error, TW_UNSUPPORTED, "the module imports the %s \"%.*s\".\"%.*s\", which its host makes and a module can't hold: restore "
                       "the snapshot instead, or build the module with a %s of its own", kinds[import->kind], shown(import->module), import->module.data,
                       shown(import->name), import->name.data, kinds[import->kind]);
    }
    return TW_OK;
}

static tw_status check(const baker *b)
{
    const tw_wasm *m = b->module;
    uint64_t pages = b->state->memory.size / PAGE;
    TW_TRY(check_imports(b));
    if (b->state->memory.size % PAGE || (m->memory_count ? pages < m->memories[0].minimum : pages)) return doesnt_fit(b, "a memory of another size");
    if (b->state->drop_count != b->drops.count) return doesnt_fit(b, "other segments are dropped");
    TW_TRY(check_globals(b));
    return check_tables(b);
}

/* ---- what the code names ---- */

static tw_status look_at_code(baker *b)
{
    tw_reader reader;
    tw_instr instr;
    uint32_t locals;
    for (uint32_t i = b->module->imported_funcs; i < b->module->func_count; i++) {
        TW_TRY(tw_wasm_code(b->module, i, &reader, &locals, b->error));
        while (reader.at != reader.end) {
            TW_TRY(tw_wasm_next(&reader, &instr, b->error));
            b->refers_to_funcs |= instr.op == TW_OP_REF_FUNC;
            b->names_elems |= instr.op == TW_OP_REF_FUNC || instr.op == TW_OP_TABLE_INIT || instr.op == TW_OP_ELEM_DROP;
        }
    }
    return TW_OK;
}

/* ---- memory ---- */

/* The next run of bytes from *at on, cut where `gap` zeros or more follow; false when there is none. */
static bool next_run(tw_span memory, size_t gap, size_t *at, size_t *end)
{
    while (*at < memory.size && *at % PAGE == 0 && tw_is_zero(memory.data + *at, PAGE)) *at += PAGE;
    while (*at < memory.size && !memory.data[*at]) {
        if (++*at % PAGE) continue;
        while (*at < memory.size && tw_is_zero(memory.data + *at, PAGE)) *at += PAGE;
    }
    size_t last = *at;
    for (size_t i = *at; i < memory.size && i - last <= gap; i++)
        if (memory.data[i]) last = i;
    *end = last + 1;
    return *at < memory.size;
}

static uint32_t count_runs(tw_span memory, size_t gap)
{
    uint32_t count = 0;
    for (size_t at = 0, end; count <= MOST_SEGMENTS && next_run(memory, gap, &at, &end); at = end) count++;
    return count;
}

static void write_runs(tw_span memory, size_t gap, tw_bytes *out)
{
    for (size_t at = 0, end; next_run(memory, gap, &at, &end); at = end) {
        tw_write_u32(out, 0);
        write_i32_offset(out, (uint32_t)at);
        tw_write_u32(out, (uint32_t)(end - at));
        tw_bytes_append(out, memory.data + at, end - at);
    }
}

/* The old ones have a number only where code can name them: then the module has a count of them. Their bytes are gone but for
 * passive ones that weren't dropped. */
static void write_old_datas(const baker *b, tw_bytes *out)
{
    for (uint32_t i = 0; i < b->module->data_count; i++) {
        const tw_data *data = &b->module->datas[i];
        bool alive = data->mode == TW_SEGMENT_PASSIVE && !is_dropped(b, b->drops.datas[i]);
        tw_write_u32(out, 1);
        tw_write_u32(out, alive ? (uint32_t)data->bytes.size : 0);
        if (alive) tw_bytes_append(out, data->bytes.data, data->bytes.size);
    }
}

static void bake_memory(baker *b)
{
    const tw_wasm *m = b->module;
    if (!m->memory_count) return;
    tw_limits limits = m->memories[0];
    size_t gap = LEAST_GAP;
    uint32_t runs, old = m->has_data_count ? m->data_count : 0;
    while ((runs = count_runs(b->state->memory, gap)) > MOST_SEGMENTS) gap *= 2;
    limits.minimum = b->state->memory.size / PAGE;
    tw_bytes *memory = replace(b, SECTION_MEMORY), *data = replace(b, SECTION_DATA);
    tw_write_u32(memory, 1);
    tw_write_limits(memory, &limits);
    tw_write_u32(data, old + runs);
    if (old) write_old_datas(b, data);
    write_runs(b->state->memory, gap, data);
    if (m->has_data_count) tw_write_u32(replace(b, SECTION_DATA_COUNT), old + runs);
}

/* ---- globals ---- */

static void write_value(tw_bytes *out, tw_type type, const uint8_t *value)
{
    tw_instr instr = {0};
    switch (type) {
    case TW_I32: instr.op = TW_OP_I32_CONST; memcpy(&instr.imm.i32, value, 4); break;
    case TW_I64: instr.op = TW_OP_I64_CONST; memcpy(&instr.imm.i64, value, 8); break;
    case TW_F32: instr.op = TW_OP_F32_CONST; memcpy(&instr.imm.f32, value, 4); break;
    case TW_F64: instr.op = TW_OP_F64_CONST; memcpy(&instr.imm.f64, value, 8); break;
    case TW_V128: instr.op = TW_OP_V128_CONST; memcpy(instr.imm.v128, value, 16); break;
    default:
        instr.op = reference_in(value) == UINT32_MAX ? TW_OP_REF_NULL : TW_OP_REF_FUNC;
        if (instr.op == TW_OP_REF_NULL) instr.imm.ref = TW_FUNCREF;
        else instr.imm.index = reference_in(value);
        break;
    }
    tw_write_instr(out, &instr);
}

static void bake_globals(baker *b)
{
    const tw_wasm *m = b->module;
    if (!m->global_count) return;
    tw_bytes *out = replace(b, SECTION_GLOBAL);
    const tw_bake_global *baked = b->state->globals;
    tw_write_u32(out, m->global_count);
    for (uint32_t i = 0; i < m->global_count; i++) {
        tw_write_global_type(out, &m->globals[i].type);
        if (m->globals[i].type.is_mutable) write_value(out, m->globals[i].type.type, baked++->value);
        else tw_bytes_append(out, m->globals[i].init.data, m->globals[i].init.size);
        tw_write_op(out, TW_OP_END);
    }
}

/* ---- tables ---- */

static uint32_t run_end(const tw_bake_table *table, uint32_t at)
{
    while (at < table->size && table->funcs[at] != UINT32_MAX) at++;
    return at;
}

static uint32_t run_begin(const tw_bake_table *table, uint32_t at)
{
    while (at < table->size && table->funcs[at] == UINT32_MAX) at++;
    return at;
}

static uint32_t count_table_runs(const tw_bake_table *table)
{
    uint32_t count = 0;
    for (uint32_t at = run_begin(table, 0); at < table->size; at = run_begin(table, run_end(table, at))) count++;
    return count;
}

/* Kinds by number: bit 1 explicit table, bit 2 expressions. The first table's need no newer kind than functions do. */
static void write_elem_head(tw_bytes *out, uint32_t table, bool expressions, uint32_t at, uint32_t count)
{
    tw_write_u32(out, (table ? 2 : 0) | (expressions ? 4 : 0));
    if (table) tw_write_u32(out, table);
    write_i32_offset(out, at);
    if (table) tw_bytes_append_byte(out, expressions ? TW_FUNCREF : 0);
    tw_write_u32(out, count);
}

static void write_table_runs(tw_bytes *out, uint32_t index, const tw_bake_table *table)
{
    for (uint32_t at = run_begin(table, 0), end; at < table->size; at = run_begin(table, end)) {
        end = run_end(table, at);
        write_elem_head(out, index, false, at, end - at);
        for (uint32_t i = at; i < end; i++) tw_write_u32(out, table->funcs[i]);
    }
}

/* With many gaps: nulls are written, too. */
static void write_whole_table(tw_bytes *out, uint32_t index, const tw_bake_table *table)
{
    write_elem_head(out, index, true, 0, table->size);
    for (uint32_t i = 0; i < table->size; i++) {
        uint8_t value[16] = {0};
        memcpy(value, &table->funcs[i], 4);
        write_value(out, TW_FUNCREF, value);
        tw_write_op(out, TW_OP_END);
    }
}

static uint32_t bake_contents(const baker *b, tw_bytes *out)
{
    uint32_t count = 0;
    for (uint32_t i = 0; i < b->module->table_count; i++) {
        uint32_t runs = count_table_runs(&b->state->tables[i]);
        bool whole = runs > MOST_RUNS;
        if (whole) write_whole_table(out, i, &b->state->tables[i]);
        else write_table_runs(out, i, &b->state->tables[i]);
        count += whole ? 1 : runs;
    }
    return count;
}

/* What was copied or dropped is declared now: as empty for code, and its functions can still be referred to. */
static uint32_t write_old_elems(const baker *b, tw_bytes *out)
{
    for (uint32_t i = 0; i < b->module->elem_count; i++) {
        const tw_elem *elem = &b->module->elems[i];
        bool alive = elem->mode == TW_SEGMENT_PASSIVE && !is_dropped(b, b->drops.elems[i]), expressions = elem->kind & 4;
        tw_write_u32(out, (alive ? 1u : 3u) | (expressions ? 4u : 0));
        tw_bytes_append_byte(out, expressions ? (uint8_t)elem->type : 0);
        tw_write_u32(out, elem->count);
        tw_bytes_append(out, elem->payload.data, elem->payload.size);
    }
    return b->module->elem_count;
}

/* Functions that code refers to must be declared somewhere; the old values of globals and the export that is left out did so. */
static uint32_t write_declared(const baker *b, tw_bytes *out)
{
    const tw_wasm *m = b->module;
    tw_bytes list = {0};
    uint32_t count = 0;
    tw_instr instr;
    for (uint32_t i = 0; i < m->global_count; i++) {
        tw_reader reader = {m->globals[i].init.data, m->globals[i].init.data, m->globals[i].init.data + m->globals[i].init.size, 0};
        while (reader.at != reader.end && tw_wasm_next(&reader, &instr, NULL) == TW_OK) {
            if (instr.op != TW_OP_REF_FUNC) continue;
            tw_write_u32(&list, instr.imm.index);
            count++;
        }
    }
    for (uint32_t i = 0; i < m->export_count; i++) {
        if (m->exports[i].kind != TW_EXTERN_FUNC) continue;
        tw_write_u32(&list, m->exports[i].index);
        count++;
    }
    if (count) tw_bytes_append(out, "\3", 2); /* declared functions */
    if (count) tw_write_u32(out, count);
    tw_bytes_append(out, list.data, list.size);
    if (list.failed) out->failed = 1;
    tw_bytes_free(&list);
    return count ? 1 : 0;
}

static void bake_tables(baker *b)
{
    const tw_wasm *m = b->module;
    tw_bytes segments = {0};
    uint32_t count = 0;
    if (b->names_elems) count += write_old_elems(b, &segments);
    count += bake_contents(b, &segments);
    if (b->refers_to_funcs) count += write_declared(b, &segments);
    tw_bytes *out = replace(b, SECTION_ELEM);
    if (count) tw_write_u32(out, count);
    else b->changes[SECTION_ELEM].what = TW_SECTION_LEFT_OUT;
    tw_bytes_append(out, segments.data, segments.size);
    if (segments.failed) out->failed = 1;
    tw_bytes_free(&segments);
    if (!m->table_count) return;
    tw_write_u32(replace(b, SECTION_TABLE), m->table_count);
    for (uint32_t i = 0; i < m->table_count; i++) {
        tw_table_type type = m->tables[i];
        type.limits.minimum = b->state->tables[i].size;
        tw_write_table_type(&b->changes[SECTION_TABLE].payload, &type);
    }
}

/* ---- the rest ---- */

static bool is_left_out(const baker *b, const tw_export *export)
{
    const char *name = b->state->left_out;
    return name && export->name.size == strlen(name) && !memcmp(export->name.data, name, export->name.size);
}

static void bake_exports(baker *b)
{
    uint32_t count = 0;
    for (uint32_t i = 0; i < b->module->export_count; i++) count += !is_left_out(b, &b->module->exports[i]);
    if (count == b->module->export_count) return;
    tw_bytes *out = replace(b, SECTION_EXPORT);
    tw_write_u32(out, count);
    for (uint32_t i = 0; i < b->module->export_count; i++)
        if (!is_left_out(b, &b->module->exports[i])) tw_write_export(out, &b->module->exports[i]);
}

/* Without the parts that name segments, 8 and 9: others have taken their place. A section that isn't well-formed stays. */
static void bake_names(baker *b)
{
    const tw_section *names = NULL;
    for (uint32_t i = 0; i < b->module->section_count; i++) {
        const tw_section *s = &b->module->sections[i];
        if (s->id == 0 && s->name.size == 4 && !memcmp(s->name.data, "name", 4)) names = s;
    }
    if (!names) return;
    tw_bytes *out = replace(b, SECTION_NAME);
    tw_write_name(out, names->name);
    const uint8_t *at = names->payload.data, *end = at + names->payload.size;
    while (at != end) {
        const uint8_t *whole = at;
        uint8_t part = *at++;
        uint32_t size;
        if (!tw_wasm_read_u32(&at, end, &size) || size > (size_t)(end - at)) {
            b->changes[SECTION_NAME].what = TW_SECTION_AS_IT_IS;
            return;
        }
        at += size;
        if (part != 8 && part != 9) tw_bytes_append(out, whole, (size_t)(at - whole));
    }
}

static void bake_start(baker *b)
{
    b->changes[SECTION_START].what = TW_SECTION_LEFT_OUT;
    if (b->state->start != UINT32_MAX) tw_write_u32(replace(b, SECTION_START), b->state->start);
}

static tw_status bake(baker *b, tw_bytes *out)
{
    TW_TRY(tw_drops_number(b->module, &b->arena, &b->drops, b->error));
    TW_TRY(check(b));
    TW_TRY(look_at_code(b));
    bake_memory(b);
    bake_globals(b);
    bake_tables(b);
    bake_exports(b);
    bake_start(b);
    bake_names(b);
    return tw_wasm_replace_sections(b->module, b->changes, out, b->error);
}

tw_status tw_bake_module(const tw_wasm *module, const tw_bake *state, tw_bytes *out, tw_error *error)
{
    baker b = {.module = module, .state = state, .error = error};
    tw_arena_init(&b.arena, TW_ARENA_NO_LIMIT);
    tw_status status = bake(&b, out);
    for (int i = 0; i < TW_SECTION_IDS; i++) tw_bytes_free(&b.changes[i].payload);
    tw_arena_free(&b.arena);
    return status;
}
