/* SPDX-License-Identifier: Apache-2.0 */
#include "rewrite/parts.h"

static bool can_cross(const uint8_t *types, uint32_t count)
{
    for (uint32_t i = 0; i < count; i++)
        if (types[i] == TW_V128 || types[i] == TW_FUNCREF) return false;
    return count < TW_REWRITE_MAX_VALUES;
}

static const char *refusal(const tw_rewriter *r, uint32_t func)
{
    if (func >= r->module->func_count || r->module->funcs[func].imported) return "not a function with a body";
    const tw_functype *type = tw_wasm_func_type(r->module, func);
    if (!can_cross(type->params, type->param_count) || !can_cross(type->results, type->result_count))
        return "a v128, a reference, or too many values in the function's type";
    return NULL;
}

void tw_trampoline_check(const tw_rewriter *r, tw_rewrite_site *site)
{
    site->why = refusal(r, site->func);
    site->why_offset = TW_NO_OFFSET;
    if (site->why) site->status = TW_REFUSED;
}

static tw_status copy_types(tw_rewriter *r, const uint8_t *types, uint32_t count, uint8_t first, const uint8_t **out)
{
    uint8_t *copy = tw_arena_alloc(&r->out->arena, (size_t)count + 1);
    TW_TRY_ALLOC(copy, r->error);
    uint32_t at = 0;
    if (first) copy[at++] = first;
    for (uint32_t i = 0; i < count; i++) copy[at++] = types[i];
    *out = copy;
    return TW_OK;
}

/* params…  call_indirect stub: (exit, results…); the exit lies under the results, so they go through locals. */
static void emit_body(tw_rewriter *r, tw_emit *e, const tw_rewrite_site *site, uint32_t number)
{
    uint32_t results = site->result_count - 1;
    tw_emit_new_locals(e, site->results + 1, results);
    tw_emit_place(e, r->module->funcs[site->func].body_offset);
    tw_emit_install(r, e, site, number);
    for (uint32_t i = 0; i < site->param_count; i++) tw_emit_index(e, TW_OP_LOCAL_GET, i);
    tw_emit_i32(e, (int32_t)site->slot);
    uint32_t type = tw_edit_type(r->edit, site->params, site->param_count, site->results, site->result_count);
    tw_emit_call_indirect(e, type, r->out->stub_table);
    for (uint32_t i = results; i-- > 0;) tw_emit_index(e, TW_OP_LOCAL_SET, site->param_count + i);
    tw_emit_op(e, TW_OP_DROP);
    for (uint32_t i = 0; i < results; i++) tw_emit_index(e, TW_OP_LOCAL_GET, site->param_count + i);
    tw_emit_op(e, TW_OP_END);
}

tw_status tw_trampoline(tw_rewriter *r, tw_rewrite_site *site, uint32_t number)
{
    const tw_functype *type = tw_wasm_func_type(r->module, site->func);
    TW_TRY(copy_types(r, type->params, type->param_count, 0, &site->params));
    TW_TRY(copy_types(r, type->results, type->result_count, TW_I32, &site->results));
    site->param_count = type->param_count;
    site->result_count = type->result_count + 1;
    tw_emit e = {.edit = r->edit, .func = site->func};
    emit_body(r, &e, site, number);
    return tw_emit_finish(&e, true, r->error);
}
