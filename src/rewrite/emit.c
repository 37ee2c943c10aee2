/* SPDX-License-Identifier: Apache-2.0 */
#include "rewrite/emit.h"

#include "wasm/read.h"

void tw_emit_place(tw_emit *e, uint64_t original)
{
    tw_edit_map(e->edit, e->func, (uint32_t)e->code.size, original);
}

void tw_emit_op(tw_emit *e, tw_op op) { tw_write_op(&e->code, op); }
void tw_emit_index(tw_emit *e, tw_op op, uint32_t index) { tw_write_index(&e->code, op, index); }
void tw_emit_instr(tw_emit *e, const tw_instr *instr) { tw_write_instr(&e->code, instr); }

void tw_emit_i32(tw_emit *e, int32_t value)
{
    tw_write_op(&e->code, TW_OP_I32_CONST);
    tw_write_s32(&e->code, value);
}

void tw_emit_i64(tw_emit *e, int64_t value)
{
    tw_write_op(&e->code, TW_OP_I64_CONST);
    tw_write_s64(&e->code, value);
}

void tw_emit_block(tw_emit *e, tw_op op)
{
    tw_write_op(&e->code, op);
    tw_bytes_append_byte(&e->code, 0x40);
}

void tw_emit_result_block(tw_emit *e, const uint8_t *results, uint32_t count)
{
    tw_write_op(&e->code, TW_OP_BLOCK);
    if (count > 1) tw_write_s64(&e->code, tw_edit_type(e->edit, NULL, 0, results, count));
    else tw_bytes_append_byte(&e->code, count ? results[0] : 0x40);
}

void tw_emit_add_to(tw_emit *e, uint32_t global, int32_t value)
{
    tw_emit_index(e, TW_OP_GLOBAL_GET, global);
    tw_emit_i32(e, value);
    tw_emit_op(e, TW_OP_I32_ADD);
    tw_emit_index(e, TW_OP_GLOBAL_SET, global);
}

void tw_emit_call_indirect(tw_emit *e, uint32_t type, uint32_t table)
{
    tw_instr instr = {.op = TW_OP_CALL_INDIRECT};
    instr.imm.call_indirect.type = type;
    instr.imm.call_indirect.table = table;
    tw_write_instr(&e->code, &instr);
}

void tw_emit_copy(tw_emit *e, const tw_wasm *module, const tw_instr *instr)
{
    tw_emit_place(e, instr->offset);
    tw_bytes_append(&e->code, module->bytes.data + instr->offset, instr->size);
}

void tw_emit_gets(tw_emit *e, const uint32_t *locals, uint32_t count)
{
    for (uint32_t i = 0; i < count; i++) tw_emit_index(e, TW_OP_LOCAL_GET, locals[i]);
}

void tw_emit_sets(tw_emit *e, const uint32_t *locals, uint32_t count)
{
    for (uint32_t i = count; i-- > 0;) tw_emit_index(e, TW_OP_LOCAL_SET, locals[i]);
}

static void emit_touch(tw_emit *e, uint32_t memory)
{
    tw_instr load = {.op = TW_OP_I32_LOAD8_U};
    load.imm.mem.memory = memory;
    tw_write_instr(&e->code, &load);
    tw_emit_op(e, TW_OP_DROP);
}

void tw_emit_loop_probe(tw_emit *e, uint32_t counter, uint32_t memory)
{
    tw_emit_index(e, TW_OP_LOCAL_GET, counter);
    tw_emit_i32(e, 1);
    tw_emit_op(e, TW_OP_I32_ADD);
    tw_emit_index(e, TW_OP_LOCAL_TEE, counter);
    tw_emit_i32(e, 63);
    tw_emit_op(e, TW_OP_I32_AND);
    emit_touch(e, memory);
}

void tw_emit_entry_probe(tw_emit *e, uint32_t memory)
{
    tw_emit_i32(e, 0);
    emit_touch(e, memory);
}

/* Groups of equal types. */
static uint32_t group_end(const uint8_t *types, uint32_t count, uint32_t start)
{
    uint32_t end = start;
    while (end < count && types[end] == types[start]) end++;
    return end;
}

static uint32_t count_groups(const uint8_t *types, uint32_t count)
{
    uint32_t groups = 0;
    for (uint32_t i = 0; i < count; i = group_end(types, count, i)) groups++;
    return groups;
}

static void emit_groups(tw_emit *e, const uint8_t *types, uint32_t count)
{
    for (uint32_t i = 0, end; i < count; i = end) {
        end = group_end(types, count, i);
        tw_write_u32(&e->code, end - i);
        tw_bytes_append_byte(&e->code, types[i]);
    }
}

void tw_emit_new_locals(tw_emit *e, const uint8_t *types, uint32_t count)
{
    tw_write_u32(&e->code, count_groups(types, count));
    emit_groups(e, types, count);
}

tw_status tw_emit_locals(tw_emit *e, const tw_wasm *module, uint32_t func, const uint8_t *extra, uint32_t extra_count,
                         tw_error *error)
{
    const tw_func *f = &module->funcs[func];
    tw_reader reader = {f->body.data, f->body.data, f->body.data + f->body.size, f->body_offset};
    uint32_t groups, count;
    TW_TRY(tw_read_u32(&reader, "local declarations", &groups, error));
    const uint8_t *first = reader.at;
    for (uint32_t i = 0; i < groups; i++) {
        tw_type type;
        TW_TRY(tw_read_u32(&reader, "local count", &count, error));
        TW_TRY(tw_read_type(&reader, "local", &type, error));
    }
    tw_write_u32(&e->code, groups + count_groups(extra, extra_count));
    tw_bytes_append(&e->code, first, (size_t)(reader.at - first));
    emit_groups(e, extra, extra_count);
    return TW_OK;
}

tw_status tw_emit_finish(tw_emit *e, bool replaces, tw_error *error)
{
    bool failed = e->code.failed;
    tw_span body = {(const uint8_t *)e->code.data, e->code.size};
    if (!failed && replaces) tw_edit_replace_body(e->edit, e->func, body);
    else if (!failed) tw_edit_func_define(e->edit, e->func, body);
    tw_bytes_free(&e->code);
    return failed ? tw_fail_memory(error) : TW_OK;
}
