/* SPDX-License-Identifier: Apache-2.0 */
#include <stdlib.h>
#include <string.h>

#include "engine/inside.h"
#include "memory/faults.h"

tw_status tw_code_new(tw_core *core, const uint8_t *bytes, size_t size, tw_code **out, tw_error *error)
{
    tw_code *code = calloc(1, sizeof *code);
    TW_TRY_ALLOC(code, error);
    wasmtime_error_t *failure = wasmtime_module_new(core->engine, bytes, size, &code->module);
    if (failure) {
        free(code);
        return tw_engine_fail(error, TW_INVALID, failure);
    }
    void *end;
    wasmtime_module_image_range(code->module, &code->image, &end);
    if (!tw_faults_add_code(code->image, (size_t)((uint8_t *)end - (uint8_t *)code->image))) {
        wasmtime_module_delete(code->module);
        free(code);
        return tw_fail_memory(error);
    }
    atomic_init(&code->references, 1);
    tw_core_retain(core);
    code->core = core;
    *out = code;
    return TW_OK;
}

void tw_code_free(tw_code *code)
{
    if (!code || atomic_fetch_sub(&code->references, 1) != 1) return;
    tw_faults_remove_code(code->image);
    wasmtime_module_delete(code->module);
    tw_core_free(code->core);
    free(code);
}

static wasm_valtype_t *valtype(uint8_t byte)
{
    switch (byte) {
    case 0x7F: return wasm_valtype_new(WASM_I32);
    case 0x7E: return wasm_valtype_new(WASM_I64);
    case 0x7D: return wasm_valtype_new(WASM_F32);
    case 0x7C: return wasm_valtype_new(WASM_F64);
    case 0x7B: return wasmtime_wasm_valtype_v128();
    case 0x70: return wasm_valtype_new(WASM_FUNCREF);
    default: return NULL;
    }
}

static bool valtypes(const uint8_t *bytes, uint32_t count, wasm_valtype_vec_t *out)
{
    wasm_valtype_vec_new_uninitialized(out, count);
    bool ok = true;
    for (uint32_t i = 0; i < count; i++) {
        out->data[i] = valtype(bytes[i]);
        ok = ok && out->data[i];
    }
    if (!ok) wasm_valtype_vec_delete(out);
    return ok;
}

wasm_functype_t *tw_engine_functype(const uint8_t *params, uint32_t param_count, const uint8_t *results,
                                    uint32_t result_count)
{
    wasm_valtype_vec_t in, out;
    if (!valtypes(params, param_count, &in)) return NULL;
    if (!valtypes(results, result_count, &out)) {
        wasm_valtype_vec_delete(&in);
        return NULL;
    }
    return wasm_functype_new(&in, &out);
}

static tw_status define(wasmtime_linker_t *linker, const tw_link_func *func, size_t index, tw_error *error)
{
    wasm_functype_t *type = tw_engine_functype(func->params, func->param_count, func->results, func->result_count);
    if (!type) return tw_fail(error, TW_LINK, "import %s.%s has a type that can't cross", func->module, func->name);
    wasmtime_error_t *failure =
        wasmtime_linker_define_func_unchecked(linker, func->module, strlen(func->module), func->name,
                                              strlen(func->name), type, tw_store_on_binding, (void *)index, NULL);
    wasm_functype_delete(type);
    return failure ? tw_engine_fail(error, TW_LINK, failure) : TW_OK;
}

static tw_status fill(tw_core *core, const tw_link_func *funcs, size_t count, wasmtime_linker_t **out, tw_error *error)
{
    bool wasi = false;
    for (size_t i = 0; i < count; i++) wasi = wasi || funcs[i].is_wasi;
    wasmtime_linker_t *base = NULL;
    if (wasi) TW_TRY(tw_core_wasi(core, &base, error));
    wasmtime_linker_t *linker = base ? wasmtime_linker_clone(base) : wasmtime_linker_new(core->engine);
    wasmtime_linker_allow_shadowing(linker, true); /* a module may import one name twice; ours go before WASI's */
    for (size_t i = 0; i < count; i++) {
        tw_status status = funcs[i].is_wasi ? TW_OK : define(linker, &funcs[i], i, error);
        if (status != TW_OK) {
            wasmtime_linker_delete(linker);
            return status;
        }
    }
    *out = linker;
    return TW_OK;
}

static tw_status link_functions(tw_link *link, const tw_link_imports *imports, tw_error *error)
{
    wasmtime_linker_t *linker;
    TW_TRY(fill(link->code->core, imports->funcs, imports->func_count, &linker, error));
    wasmtime_error_t *failure = wasmtime_linker_instantiate_pre(linker, link->code->module, &link->pre);
    wasmtime_linker_delete(linker);
    return failure ? tw_engine_fail(error, TW_LINK, failure) : TW_OK;
}

tw_status tw_link_new(tw_code *code, const tw_link_imports *imports, tw_link **out, tw_error *error)
{
    tw_link *link = calloc(1, sizeof *link);
    TW_TRY_ALLOC(link, error);
    atomic_init(&link->references, 1);
    atomic_fetch_add(&code->references, 1);
    link->code = code;
    for (size_t i = 0; i < imports->func_count; i++) link->uses_wasi = link->uses_wasi || imports->funcs[i].is_wasi;
    tw_status status = imports->kinds ? tw_imports_link(link, imports, error) : link_functions(link, imports, error);
    if (status == TW_OK) *out = link;
    else tw_link_free(link);
    return status;
}

void tw_link_free(tw_link *link)
{
    if (!link || atomic_fetch_sub(&link->references, 1) != 1) return;
    if (link->pre) wasmtime_instance_pre_delete(link->pre);
    tw_imports_unlink(link);
    tw_code_free(link->code);
    free(link);
}
