/* SPDX-License-Identifier: Apache-2.0 */
#include <stdlib.h>
#include <string.h>

#include "instance/runtime.h"

/* ---- bytes ---- */

static bool is_binary(const uint8_t *bytes, size_t size) { return size == 0 || bytes[0] == 0 || bytes[0] > 0x7E; }

static tw_status take_bytes(tw_module *module, const uint8_t *bytes, size_t size, tw_error *error)
{
    if (size > module->engine->options.max_module)
        return tw_fail(error, TW_LIMIT, "the module has %zu bytes, over the limit of %zu", size,
                       module->engine->options.max_module);
    if (!is_binary(bytes, size)) return tw_core_assemble((const char *)bytes, size, &module->bytes, error);
    tw_bytes_append(&module->bytes, bytes, size);
    return module->bytes.failed ? tw_fail_memory(error) : TW_OK;
}

/* The engine tells the offset of what isn't valid; the function is the one whose body holds it. */
static void name_function(const tw_wasm *wasm, tw_error *error)
{
    if (!error || error->offset == TW_NO_OFFSET || error->function != TW_NO_FUNCTION) return;
    for (uint32_t i = wasm->imported_funcs; i < wasm->func_count; i++) {
        const tw_func *func = &wasm->funcs[i];
        if (error->offset >= func->body_offset && error->offset - func->body_offset < func->body.size)
            error->function = i;
    }
}

/* The names of what rewriting adds. */
static tw_status check_names(const tw_wasm *wasm, tw_error *error)
{
    for (uint32_t i = 0; i < wasm->export_count; i++)
        if (wasm->exports[i].name.size >= 3 && !memcmp(wasm->exports[i].name.data, "tw:", 3))
            return tw_fail(error, TW_UNSUPPORTED, "the module exports a name that begins with \"tw:\": those are TensorWasm's own");
    return TW_OK;
}

/* Our guards first: they name what is off and bound what the engine is asked to chew. */
static tw_status check(tw_module *module, tw_error *error)
{
    tw_span bytes = {(const uint8_t *)module->bytes.data, module->bytes.size};
    TW_TRY(tw_wasm_decode(bytes, &module->engine->limits, &module->wasm, error));
    tw_status status = check_names(&module->wasm, error);
    if (status == TW_OK) status = tw_wasm_check_bodies(&module->wasm, &module->engine->limits, error);
    if (status == TW_OK) {
        status = tw_core_validate(module->engine->core, bytes.data, bytes.size, error);
        if (status != TW_OK) name_function(&module->wasm, error);
    }
    if (status != TW_OK) tw_wasm_free(&module->wasm);
    return status;
}

/* ---- exports and imports in their public form ---- */

static tw_val_kind kind_of(uint8_t type)
{
    switch (type) {
    case TW_I32: return TW_VAL_I32;
    case TW_I64: return TW_VAL_I64;
    case TW_F32: return TW_VAL_F32;
    case TW_F64: return TW_VAL_F64;
    case TW_V128: return TW_VAL_V128;
    default: return TW_VAL_FUNCREF;
    }
}

static const tw_val_kind *kinds_of(tw_arena *arena, const uint8_t *types, uint32_t count)
{
    tw_val_kind *kinds = TW_NEW_ARRAY(arena, tw_val_kind, count);
    for (uint32_t i = 0; kinds && i < count; i++) kinds[i] = kind_of(types[i]);
    return kinds;
}

static bool fill_export(tw_module *module, const tw_export *from, tw_module_export_info *to)
{
    static const tw_extern kinds[] = {[TW_EXTERN_FUNC] = TW_EXPORT_FUNC, [TW_EXTERN_TABLE] = TW_EXPORT_TABLE,
                                      [TW_EXTERN_MEMORY] = TW_EXPORT_MEMORY, [TW_EXTERN_GLOBAL] = TW_EXPORT_GLOBAL};
    *to = (tw_module_export_info){.name = tw_arena_string(&module->arena, from->name.data, from->name.size),
                                  .kind = kinds[from->kind], .index = from->index};
    if (!to->name || from->kind != TW_EXTERN_FUNC) return to->name != NULL;
    const tw_functype *type = tw_wasm_func_type(&module->wasm, from->index);
    to->params = kinds_of(&module->arena, type->params, type->param_count);
    to->results = kinds_of(&module->arena, type->results, type->result_count);
    to->param_count = type->param_count;
    to->result_count = type->result_count;
    return to->params && to->results;
}

static int by_name(const void *a, const void *b, void *exports)
{
    const tw_module_export_info *all = exports;
    return strcmp(all[*(const uint32_t *)a].name, all[*(const uint32_t *)b].name);
}

static tw_status list_exports(tw_module *module, tw_error *error)
{
    uint32_t count = module->wasm.export_count;
    module->exports = TW_NEW_ARRAY(&module->arena, tw_module_export_info, count);
    module->by_name = TW_NEW_ARRAY(&module->arena, uint32_t, count);
    TW_TRY_ALLOC(module->exports && module->by_name, error);
    for (uint32_t i = 0; i < count; i++) {
        TW_TRY_ALLOC(fill_export(module, &module->wasm.exports[i], &module->exports[i]), error);
        if (strlen(module->exports[i].name) == module->wasm.exports[i].name.size) module->by_name[module->named_count++] = i;
    }
    module->export_count = count;
    qsort_r(module->by_name, module->named_count, sizeof *module->by_name, by_name, module->exports);
    return TW_OK;
}

uint32_t tw_runtime_find_export(const tw_module *module, const char *name)
{
    uint32_t low = 0, high = module->named_count;
    while (low < high) {
        uint32_t middle = low + (high - low) / 2;
        int order = strcmp(name, module->exports[module->by_name[middle]].name);
        if (order == 0) return module->by_name[middle];
        if (order < 0) high = middle;
        else low = middle + 1;
    }
    return UINT32_MAX;
}

/* Memories are the module's own in what is compiled. */
static tw_status list_kinds(tw_module *module, tw_error *error)
{
    static const uint8_t kinds[] = {[TW_EXTERN_FUNC] = TW_HANDLE_FUNC, [TW_EXTERN_TABLE] = TW_HANDLE_TABLE, [TW_EXTERN_GLOBAL] = TW_HANDLE_GLOBAL};
    const tw_wasm *wasm = &module->wasm;
    if (!wasm->imported_globals && !wasm->imported_tables) return TW_OK;
    module->kinds = TW_NEW_ARRAY(&module->arena, uint8_t, wasm->import_count);
    TW_TRY_ALLOC(module->kinds, error);
    for (uint32_t i = 0; i < wasm->import_count; i++)
        if (wasm->imports[i].kind != TW_EXTERN_MEMORY) module->kinds[module->kind_count++] = kinds[wasm->imports[i].kind];
    return TW_OK;
}

static tw_status list_imports(tw_module *module, tw_error *error)
{
    const tw_wasm *wasm = &module->wasm;
    TW_TRY(list_kinds(module, error));
    module->imports = TW_NEW_ARRAY(&module->arena, tw_link_func, wasm->imported_funcs);
    TW_TRY_ALLOC(module->imports, error);
    for (uint32_t i = 0; i < wasm->import_count; i++) {
        const tw_import *import = &wasm->imports[i];
        if (import->kind != TW_EXTERN_FUNC) continue;
        const tw_functype *type = tw_wasm_func_type(wasm, import->index);
        tw_link_func *to = &module->imports[module->import_count++];
        *to = (tw_link_func){.module = tw_arena_string(&module->arena, import->module.data, import->module.size),
                             .name = tw_arena_string(&module->arena, import->name.data, import->name.size),
                             .params = type->params, .param_count = type->param_count,
                             .results = type->results, .result_count = type->result_count};
        TW_TRY_ALLOC(to->module && to->name, error);
    }
    return TW_OK;
}

/* ---- life ---- */

static tw_status fill(tw_module *module, const uint8_t *bytes, size_t size, tw_error *error)
{
    TW_TRY(take_bytes(module, bytes, size, error));
    TW_TRY(check(module, error));
    TW_TRY(list_exports(module, error));
    return list_imports(module, error);
}

tw_status tw_runtime_module_new(tw_engine *engine, const uint8_t *bytes, size_t size, tw_module **out, tw_error *error)
{
    tw_module *module = calloc(1, sizeof *module);
    TW_TRY_ALLOC(module, error);
    module->engine = engine;
    tw_runtime_engine_retain(engine);
    atomic_init(&module->references, 1);
    tw_arena_init(&module->arena, TW_ARENA_NO_LIMIT);
    pthread_mutex_init(&module->lock, NULL);
    tw_status status = fill(module, bytes, size, error);
    if (status == TW_OK) *out = module;
    else tw_runtime_module_release(module);
    return status;
}

void tw_runtime_module_retain(tw_module *module) { atomic_fetch_add(&module->references, 1); }

void tw_runtime_module_release(tw_module *module)
{
    if (!module || atomic_fetch_sub(&module->references, 1) != 1) return;
    for (unsigned i = 0; i < TW_FORMS; i++) tw_runtime_form_free(&module->forms[i]);
    tw_runtime_free_seeds(module);
    if (module->survey) tw_survey_free(module->survey);
    tw_wasm_free(&module->wasm);
    tw_bytes_free(&module->bytes);
    tw_arena_free(&module->arena);
    pthread_mutex_destroy(&module->lock);
    tw_runtime_engine_release(module->engine);
    free(module);
}
