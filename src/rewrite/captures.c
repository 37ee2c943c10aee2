/* SPDX-License-Identifier: Apache-2.0 */
/* What makes a module's instances capturable and restorable: everything of their state is exported, and what the engine
 * keeps to itself, which segments have been dropped, is noted in globals of ours. Only passive segments that the
 * module's code drops have a bit: the others are dropped at the start, or never. */
#include "rewrite/parts.h"

#include <stdio.h>

/* ---- drops ---- */

static uint32_t *no_bits(tw_arena *arena, uint32_t count)
{
    uint32_t *bits = TW_NEW_ARRAY(arena, uint32_t, count);
    for (uint32_t i = 0; bits && i < count; i++) bits[i] = UINT32_MAX;
    return bits;
}

static bool is_noted(const tw_wasm *m, const tw_instr *instr)
{
    if (instr->op == TW_OP_DATA_DROP) return m->datas[instr->imm.index].mode == TW_SEGMENT_PASSIVE;
    if (instr->op == TW_OP_ELEM_DROP) return m->elems[instr->imm.index].mode == TW_SEGMENT_PASSIVE;
    return false;
}

static uint32_t *bit_of(const tw_drops *drops, const tw_instr *instr)
{
    return instr->op == TW_OP_DATA_DROP ? &drops->datas[instr->imm.index] : &drops->elems[instr->imm.index];
}

static tw_status find_in(const tw_wasm *m, uint32_t func, tw_drops *drops, tw_error *error)
{
    tw_reader reader;
    tw_instr instr;
    uint32_t locals;
    TW_TRY(tw_wasm_code(m, func, &reader, &locals, error));
    while (reader.at != reader.end) {
        TW_TRY(tw_wasm_next(&reader, &instr, error));
        if (!is_noted(m, &instr)) continue;
        drops->funcs[func] = true;
        uint32_t *bit = bit_of(drops, &instr);
        if (*bit == UINT32_MAX) *bit = drops->count++;
    }
    return TW_OK;
}

static bool has_passive(const tw_wasm *m)
{
    for (uint32_t i = 0; i < m->elem_count; i++)
        if (m->elems[i].mode == TW_SEGMENT_PASSIVE) return true;
    for (uint32_t i = 0; i < m->data_count; i++)
        if (m->datas[i].mode == TW_SEGMENT_PASSIVE) return true;
    return false;
}

tw_status tw_drops_number(const tw_wasm *m, tw_arena *arena, tw_drops *out, tw_error *error)
{
    out->count = 0;
    out->elems = no_bits(arena, m->elem_count);
    out->datas = no_bits(arena, m->data_count);
    out->funcs = TW_NEW_ARRAY(arena, bool, m->func_count);
    TW_TRY_ALLOC(out->elems && out->datas && out->funcs, error);
    for (uint32_t i = m->imported_funcs; i < m->func_count && has_passive(m); i++) TW_TRY(find_in(m, i, out, error));
    return TW_OK;
}

tw_status tw_drops_find(tw_rewriter *r)
{
    TW_TRY(tw_drops_number(r->module, &r->arena, &r->drops, r->error));
    r->out->drop_count = r->drops.count;
    for (uint32_t i = 0; i < r->drops.count; i += 64) {
        uint32_t global = tw_edit_global(r->edit, TW_I64, true, 0);
        if (i == 0) r->drops.first_global = global;
        tw_export_index(r, "dropped", i / 64, TW_EXTERN_GLOBAL, global);
    }
    return TW_OK;
}

static void emit_note(const tw_rewriter *r, tw_emit *e, uint32_t bit)
{
    uint32_t global = r->drops.first_global + bit / 64;
    tw_emit_index(e, TW_OP_GLOBAL_GET, global);
    tw_emit_i64(e, (int64_t)(UINT64_C(1) << bit % 64));
    tw_emit_op(e, TW_OP_I64_OR);
    tw_emit_index(e, TW_OP_GLOBAL_SET, global);
}

void tw_emit_user(const tw_rewriter *r, tw_emit *e, const tw_instr *instr)
{
    tw_emit_copy(e, r->module, instr);
    if (r->drops.count && is_noted(r->module, instr)) emit_note(r, e, *bit_of(&r->drops, instr));
}

/* ---- the initialiser ---- */

static uint64_t place_of(const tw_wasm *m, tw_span span) { return (uint64_t)(span.data - m->bytes.data); }

/* offset, 0, size: what both kinds of segments are copied with. */
static void emit_extent(const tw_rewriter *r, tw_emit *e, tw_span offset, uint32_t size)
{
    tw_emit_place(e, place_of(r->module, offset));
    tw_bytes_append(&e->code, offset.data, offset.size);
    tw_emit_i32(e, 0);
    tw_emit_i32(e, (int32_t)size);
}

static void emit_pair(tw_emit *e, tw_op op, uint32_t first, uint32_t second)
{
    tw_instr instr = {.op = op};
    instr.imm.pair.first = first;
    instr.imm.pair.second = second;
    tw_emit_instr(e, &instr);
}

static void emit_elems(const tw_rewriter *r, tw_emit *e)
{
    for (uint32_t i = 0; i < r->module->elem_count; i++) {
        const tw_elem *elem = &r->module->elems[i];
        if (elem->mode == TW_SEGMENT_ACTIVE) {
            emit_extent(r, e, elem->offset, elem->count);
            emit_pair(e, TW_OP_TABLE_INIT, i, elem->table);
        }
        if (elem->mode != TW_SEGMENT_PASSIVE) tw_emit_index(e, TW_OP_ELEM_DROP, i);
    }
}

static void emit_datas(const tw_rewriter *r, tw_emit *e, bool copies)
{
    for (uint32_t i = 0; i < r->module->data_count; i++) {
        const tw_data *data = &r->module->datas[i];
        if (data->mode != TW_SEGMENT_ACTIVE) continue;
        if (copies) emit_extent(r, e, data->offset, (uint32_t)data->bytes.size);
        if (copies) emit_pair(e, TW_OP_MEMORY_INIT, i, data->memory);
        tw_emit_index(e, TW_OP_DATA_DROP, i);
    }
}

static tw_status define(tw_rewriter *r, tw_emit *e, const char *name)
{
    tw_emit_op(e, TW_OP_END);
    tw_edit_export(r->edit, name, TW_EXTERN_FUNC, e->func);
    return tw_emit_finish(e, false, r->error);
}

static tw_emit begin(tw_rewriter *r)
{
    uint32_t type = tw_edit_type(r->edit, NULL, 0, NULL, 0);
    tw_emit e = {.edit = r->edit, .func = tw_edit_func_declare(r->edit, type, TW_NO_FUNCTION)};
    tw_emit_new_locals(&e, NULL, 0);
    return e;
}

/* The order is the specification's. The start function comes after it, called by the host: its frames are as they always
 * were, and what the memory holds before it runs can be kept. */
static tw_status make_initialiser(tw_rewriter *r)
{
    tw_emit e = begin(r);
    r->out->initialiser = e.func;
    emit_elems(r, &e);
    emit_datas(r, &e, true);
    return define(r, &e, "tw:init");
}

static tw_status make_seeded(tw_rewriter *r)
{
    tw_emit e = begin(r);
    emit_elems(r, &e);
    emit_datas(r, &e, false);
    return define(r, &e, "tw:seeded");
}

/* ---- a restored instance's drops ---- */

static void emit_drop(const tw_rewriter *r, tw_emit *e, tw_op op, uint32_t segment, tw_segment_mode mode, uint32_t bit)
{
    if (mode == TW_SEGMENT_PASSIVE && bit == UINT32_MAX) return;
    if (mode == TW_SEGMENT_PASSIVE) {
        tw_emit_index(e, TW_OP_GLOBAL_GET, r->drops.first_global + bit / 64);
        tw_emit_i64(e, (int64_t)(UINT64_C(1) << bit % 64));
        tw_emit_op(e, TW_OP_I64_AND);
        tw_emit_i64(e, 0);
        tw_emit_op(e, TW_OP_I64_NE);
        tw_emit_block(e, TW_OP_IF);
    }
    tw_emit_index(e, op, segment);
    if (mode == TW_SEGMENT_PASSIVE) tw_emit_op(e, TW_OP_END);
}

static tw_status make_dropper(tw_rewriter *r)
{
    tw_emit e = begin(r);
    const tw_wasm *m = r->module;
    for (uint32_t i = 0; i < m->elem_count; i++)
        emit_drop(r, &e, TW_OP_ELEM_DROP, i, m->elems[i].mode, r->drops.elems[i]);
    for (uint32_t i = 0; i < m->data_count; i++)
        emit_drop(r, &e, TW_OP_DATA_DROP, i, m->datas[i].mode, r->drops.datas[i]);
    return define(r, &e, "tw:drop");
}

/* ---- exports ---- */

static void mark_init(const tw_wasm *m, tw_span init, bool *referred)
{
    tw_reader reader = {init.data, init.data, init.data + init.size, 0};
    tw_instr instr;
    while (reader.at != reader.end && tw_wasm_next(&reader, &instr, NULL) == TW_OK)
        if (instr.op == TW_OP_REF_FUNC && instr.imm.index < m->func_count) referred[instr.imm.index] = true;
}

/* Functions that a reference can be had of: WebAssembly wants them to stand in an element segment, an export or a global. */
static void mark_referred(const tw_wasm *m, bool *referred)
{
    for (uint32_t i = 0; i < m->elem_count; i++) {
        for (uint32_t j = 0; m->elems[i].funcs && j < m->elems[i].count; j++) referred[m->elems[i].funcs[j]] = true;
        if (!m->elems[i].funcs) mark_init(m, m->elems[i].payload, referred);
    }
    for (uint32_t i = 0; i < m->export_count; i++)
        if (m->exports[i].kind == TW_EXTERN_FUNC) referred[m->exports[i].index] = true;
    for (uint32_t i = 0; i < m->global_count; i++) mark_init(m, m->globals[i].init, referred);
}

static bool holds_references(const tw_wasm *m)
{
    for (uint32_t i = 0; i < m->global_count; i++)
        if (m->globals[i].type.is_mutable && m->globals[i].type.type == TW_FUNCREF) return true;
    return m->table_count > 0;
}

static tw_status export_functions(tw_rewriter *r)
{
    const tw_wasm *m = r->module;
    if (!holds_references(m)) return TW_OK;
    bool *referred = TW_NEW_ARRAY(&r->arena, bool, m->func_count);
    TW_TRY_ALLOC(referred, r->error);
    mark_referred(m, referred);
    uint32_t *list = TW_NEW_ARRAY(&r->out->arena, uint32_t, m->func_count);
    TW_TRY_ALLOC(list, r->error);
    for (uint32_t i = 0; i < m->func_count; i++) {
        if (!referred[i]) continue;
        tw_export_index(r, "func", i, TW_EXTERN_FUNC, i);
        list[r->out->referred_count++] = i;
    }
    r->out->referred = list;
    return TW_OK;
}

tw_status tw_capture_exports(tw_rewriter *r)
{
    const tw_wasm *m = r->module;
    TW_TRY(make_initialiser(r));
    TW_TRY(make_seeded(r));
    TW_TRY(make_dropper(r));
    tw_edit_make_segments_passive(r->edit);
    if (m->memory_count) tw_edit_export(r->edit, "tw:linear", TW_EXTERN_MEMORY, 0);
    for (uint32_t i = 0; i < m->global_count; i++)
        if (m->globals[i].type.is_mutable) tw_export_index(r, "global", i, TW_EXTERN_GLOBAL, i);
    for (uint32_t i = 0; i < m->table_count; i++) tw_export_index(r, "table", i, TW_EXTERN_TABLE, i);
    return export_functions(r);
}
