/* SPDX-License-Identifier: Apache-2.0 */
/* Modules that import globals and tables. Those live in a store, so that a link can't have them resolved once for all instances: each
 * instance is made with a list of its own, in the order of the module's imports.
 *
 * The C API makes numeric globals. It aborts on references, so tables and null globals come out of tiny modules that
 * export one (a maker): the engine compiles such a module once, as long as there are few kinds. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "engine/inside.h"

#define WASI "wasi_snapshot_preview1"
enum { MOST_MAKERS = 16 };

struct tw_maker {
    char text[120];
    wasmtime_module_t *module;
};

/* ---- links ---- */

static tw_status take_func(const tw_link_func *from, tw_link_import *to, tw_error *error)
{
    to->is_wasi = from->is_wasi;
    if (from->is_wasi) {
        to->name = strdup(from->name);
        TW_TRY_ALLOC(to->name, error);
        return TW_OK;
    }
    to->type = tw_engine_functype(from->params, from->param_count, from->results, from->result_count);
    return to->type ? TW_OK : tw_fail(error, TW_LINK, "import %s.%s has a type that can't cross", from->module, from->name);
}

tw_status tw_imports_link(tw_link *link, const tw_link_imports *imports, tw_error *error)
{
    uint32_t counts[TW_HANDLE_MEMORY] = {0};
    wasmtime_linker_t *wasi = NULL;
    if (link->uses_wasi) TW_TRY(tw_core_wasi(link->code->core, &wasi, error));
    link->linker = wasi ? wasmtime_linker_clone(wasi) : NULL;
    link->imports = calloc(imports->count + 1, sizeof *link->imports);
    TW_TRY_ALLOC(link->imports, error);
    for (size_t i = 0; i < imports->count; i++) {
        tw_link_import *to = &link->imports[link->import_count++];
        to->kind = imports->kinds[i];
        if (to->kind >= TW_HANDLE_MEMORY) return tw_fail(error, TW_LINK, "import %zu can't be given to an instance", i);
        to->index = counts[to->kind]++;
        if (to->kind != TW_HANDLE_FUNC) continue;
        if (to->index >= imports->func_count) return tw_fail(error, TW_LINK, "import %zu is a function that isn't listed", i);
        TW_TRY(take_func(&imports->funcs[to->index], to, error));
    }
    return TW_OK;
}

void tw_imports_unlink(tw_link *link)
{
    if (link->linker) wasmtime_linker_delete(link->linker);
    for (size_t i = 0; i < link->import_count; i++) {
        free(link->imports[i].name);
        if (link->imports[i].type) wasm_functype_delete(link->imports[i].type);
    }
    free(link->imports);
}

/* ---- what only a module can make ---- */

static tw_status compile(tw_core *core, const char *text, wasmtime_module_t **out, tw_error *error)
{
    tw_bytes binary = {0};
    tw_status status = tw_core_assemble(text, strlen(text), &binary, error);
    if (status == TW_OK) {
        wasmtime_error_t *failure = wasmtime_module_new(core->engine, (const uint8_t *)binary.data, binary.size, out);
        if (failure) status = tw_engine_fail(error, TW_LINK, failure);
    }
    tw_bytes_free(&binary);
    return status;
}

/* Under the lock. NULL: it isn't there, and may be when there is room. */
static tw_maker *find_maker(tw_core *core, const char *text)
{
    for (uint32_t i = 0; i < core->maker_count; i++)
        if (!strcmp(core->makers[i].text, text)) return &core->makers[i];
    return NULL;
}

/* *own: to be deleted by the caller. */
static tw_status need_maker(tw_core *core, const char *text, wasmtime_module_t **out, bool *own, tw_error *error)
{
    pthread_mutex_lock(&core->lock);
    tw_maker *found = find_maker(core, text);
    tw_status status = TW_OK;
    *own = false;
    if (found) *out = found->module;
    else status = compile(core, text, out, error);
    if (status == TW_OK && !found) {
        if (!core->makers) core->makers = calloc(MOST_MAKERS, sizeof *core->makers);
        *own = !core->makers || core->maker_count == MOST_MAKERS;
        if (!*own) {
            tw_maker *made = &core->makers[core->maker_count++];
            snprintf(made->text, sizeof made->text, "%s", text);
            made->module = *out;
        }
    }
    pthread_mutex_unlock(&core->lock);
    return status;
}

void tw_imports_forget(tw_core *core)
{
    for (uint32_t i = 0; i < core->maker_count; i++) wasmtime_module_delete(core->makers[i].module);
    free(core->makers);
}

static tw_status make_by_module(tw_store *store, const char *text, wasmtime_extern_t *out, tw_error *error)
{
    wasmtime_module_t *module;
    bool own;
    TW_TRY(need_maker(store->link->code->core, text, &module, &own, error));
    wasm_trap_t *trap = NULL;
    wasmtime_instance_t instance;
    wasmtime_error_t *failure = wasmtime_instance_new(store->context, module, NULL, 0, &instance, &trap);
    if (own) wasmtime_module_delete(module);
    if (trap) wasm_trap_delete(trap);
    if (failure) return tw_engine_fail(error, TW_LIMIT, failure);
    if (!trap && wasmtime_instance_export_get(store->context, &instance, "", 0, out)) return TW_OK;
    return tw_fail(error, TW_INTERNAL, "what an instance imports can't be made");
}

/* ---- a store's own ---- */

static bool to_val(const tw_store_global *global, wasmtime_val_t *val, wasm_valtype_t **type)
{
    static const wasmtime_valkind_t kinds[] = {WASMTIME_V128, WASMTIME_F64, WASMTIME_F32, WASMTIME_I64, WASMTIME_I32};
    if (global->type < 0x7B || global->type > 0x7F) return false;
    val->kind = kinds[global->type - 0x7B];
    memcpy(&val->of, &global->value, sizeof global->value);
    *type = val->kind == WASMTIME_V128 ? wasmtime_wasm_valtype_v128() : wasm_valtype_new((wasm_valkind_t)(0x7F - global->type));
    return *type != NULL;
}

static tw_status make_numeric(tw_store *store, const tw_store_global *from, wasmtime_global_t *out, tw_error *error)
{
    wasmtime_val_t val = {0};
    wasm_valtype_t *value_type;
    if (!to_val(from, &val, &value_type)) return tw_fail(error, TW_LINK, "a global of a type that can't be given to an instance");
    wasm_globaltype_t *type = wasm_globaltype_new(value_type, from->is_mutable ? WASM_VAR : WASM_CONST);
    wasmtime_error_t *failure = wasmtime_global_new(store->context, type, &val, out);
    wasm_globaltype_delete(type);
    return failure ? tw_engine_fail(error, TW_LINK, failure) : TW_OK;
}

static tw_status make_global(tw_store *store, const tw_store_global *from, wasmtime_global_t *out, tw_error *error)
{
    wasmtime_extern_t item;
    if (from->type != 0x70) return make_numeric(store, from, out, error);
    TW_TRY(make_by_module(store, "(module (global (export \"\") funcref (ref.null func)))", &item, error));
    *out = item.of.global;
    return TW_OK;
}

static tw_status make_table(tw_store *store, const tw_store_table *from, wasmtime_table_t *out, tw_error *error)
{
    char text[120], most[24] = "";
    wasmtime_extern_t item;
    if (from->has_most) snprintf(most, sizeof most, "%llu", (unsigned long long)from->most);
    snprintf(text, sizeof text, "(module (table (export \"\") %llu %s funcref))", (unsigned long long)from->size, most);
    TW_TRY(make_by_module(store, text, &item, error));
    *out = item.of.table;
    return TW_OK;
}

tw_status tw_imports_make(tw_store *store, const tw_store_options *options, tw_error *error)
{
    store->globals = calloc(options->global_count + 1u, sizeof *store->globals);
    store->tables = calloc(options->table_count + 1u, sizeof *store->tables);
    TW_TRY_ALLOC(store->globals && store->tables, error);
    for (uint32_t i = 0; i < options->global_count; i++, store->global_count++) {
        const tw_store_global *from = &options->globals[i];
        if (from->same_as < i) store->globals[i] = store->globals[from->same_as];
        else TW_TRY(make_global(store, from, &store->globals[i], error));
    }
    for (uint32_t i = 0; i < options->table_count; i++, store->table_count++) {
        const tw_store_table *from = &options->tables[i];
        if (from->same_as < i) store->tables[i] = store->tables[from->same_as];
        else TW_TRY(make_table(store, from, &store->tables[i], error));
    }
    return options->on_imports ? options->on_imports(options->owner, store, error) : TW_OK;
}

bool tw_store_imported(const tw_store *store, tw_handle_kind kind, uint32_t index, tw_handle *out)
{
    if (kind == TW_HANDLE_GLOBAL && index < store->global_count) memcpy(out, &store->globals[index], sizeof *store->globals);
    else if (kind == TW_HANDLE_TABLE && index < store->table_count) memcpy(out, &store->tables[index], sizeof *store->tables);
    else return false;
    return true;
}

/* ---- instances ---- */

static tw_status answer(tw_store *store, const tw_link_import *import, wasmtime_extern_t *out, tw_error *error)
{
    if (import->kind == TW_HANDLE_GLOBAL && import->index < store->global_count) {
        *out = (wasmtime_extern_t){.kind = WASMTIME_EXTERN_GLOBAL, .of.global = store->globals[import->index]};
        return TW_OK;
    }
    if (import->kind == TW_HANDLE_TABLE && import->index < store->table_count) {
        *out = (wasmtime_extern_t){.kind = WASMTIME_EXTERN_TABLE, .of.table = store->tables[import->index]};
        return TW_OK;
    }
    if (import->kind != TW_HANDLE_FUNC) return tw_fail(error, TW_LINK, "a global or a table that is imported isn't there");
    if (!import->is_wasi) {
        out->kind = WASMTIME_EXTERN_FUNC;
        wasmtime_func_new_unchecked(store->context, import->type, tw_store_on_binding, (void *)(size_t)import->index, NULL, &out->of.func);
        return TW_OK;
    }
    bool known = wasmtime_linker_get(store->link->linker, store->context, WASI, strlen(WASI), import->name, strlen(import->name), out);
    return known ? TW_OK : tw_fail(error, TW_LINK, "WASI has no \"%s\"", import->name);
}

static tw_status answer_all(tw_store *store, wasmtime_extern_t *items, tw_error *error)
{
    for (size_t i = 0; i < store->link->import_count; i++) TW_TRY(answer(store, &store->link->imports[i], &items[i], error));
    return TW_OK;
}

tw_status tw_imports_instantiate(tw_store *store, tw_ending *ending)
{
    const tw_link *link = store->link;
    wasm_trap_t *trap = NULL;
    wasmtime_extern_t *items = calloc(link->import_count + 1, sizeof *items);
    if (!items) return ending->status = tw_fail_memory(&ending->error);
    ending->status = answer_all(store, items, &ending->error);
    if (ending->status != TW_OK) {
        free(items);
        return ending->status;
    }
    tw_store *before = tw_creator_begin(store);
    wasmtime_error_t *failure =
        wasmtime_instance_new(store->context, link->code->module, items, link->import_count, &store->instance, &trap);
    tw_creator_begin(before);
    free(items);
    return tw_ending_take(store, failure, trap, ending);
}
