/* SPDX-License-Identifier: Apache-2.0 */
/* Who answers a module's imports: the embedder's functions first, then WASI where the instance has one. */
#include <stdlib.h>
#include <string.h>

#include "instance/runtime.h"

#define WASI "wasi_snapshot_preview1"
#define FEW 16 /* values kept on the stack */

/* ---- values ---- */

static tw_val_kind kind_of(uint8_t type)
{
    return type == TW_I32 ? TW_VAL_I32 : type == TW_I64 ? TW_VAL_I64 : type == TW_F32 ? TW_VAL_F32 :
           type == TW_F64 ? TW_VAL_F64 : TW_VAL_V128;
}

/* ---- an embedder's function ---- */

static tw_status call_with(const tw_instance_import *import, tw_store *store, tw_raw *values, tw_val *vals, tw_error *error)
{
    const tw_functype *type = import->type;
    tw_val *results = vals + type->param_count;
    for (uint32_t i = 0; i < type->param_count; i++) {
        vals[i].kind = kind_of(type->params[i]);
        memcpy(&vals[i].of, &values[i], sizeof vals[i].of);
    }
    memset(results, 0, type->result_count * sizeof *results);
    struct tw_host_call call = {store};
    TW_TRY(import->call(import->context, &call, vals, results, error));
    for (uint32_t i = 0; i < type->result_count; i++) memcpy(&values[i], &results[i].of, sizeof results[i].of);
    return TW_OK;
}

static tw_status call_import(const tw_instance_import *import, tw_store *store, tw_raw *values, tw_error *error)
{
    tw_val few[FEW], *vals = few;
    size_t needed = (size_t)import->type->param_count + import->type->result_count;
    if (needed > FEW) vals = malloc(needed * sizeof *vals);
    TW_TRY_ALLOC(vals, error);
    tw_status status = call_with(import, store, values, vals, error);
    if (vals != few) free(vals);
    return status;
}

/* Meanwhile the globals are the host's; another instance may have run with them, and mustn't any more. */
static tw_status call_outside(tw_instance *instance, const tw_instance_import *import, tw_store *store, tw_raw *values, tw_error *error)
{
    if (!instance->globals.any_mutable) return call_import(import, store, values, error);
    tw_error why;
    tw_lent_globals_let_go(&instance->globals, store);
    tw_status status = call_import(import, store, values, error);
    tw_status held = tw_lent_globals_hold(&instance->globals, store, &why);
    return status != TW_OK || held == TW_OK ? status : tw_fail(error, held, "%s", why.message);
}

/* With the guest's memory whole: it isn't called once the guest is being stopped. */
static tw_status on_import(void *context, tw_store *store, tw_raw *values, size_t count, tw_error *error)
{
    (void)count;
    tw_instance *instance = tw_store_owner(store);
    bool may = tw_stop_enter_host(&instance->stopper);
    tw_status status = may ? call_outside(instance, context, store, values, error) : TW_OK;
    bool go_on = tw_stop_leave_host(&instance->stopper) && may;
    if (status != TW_OK || go_on) return status;
    return tw_fail(error, TW_TERMINATED, "the instance was stopped at a host function");
}

tw_status tw_runtime_on_imports(void *instance, tw_store *store, tw_error *error)
{
    return tw_lent_tables_fill(&((tw_instance *)instance)->tables, store, on_import, error);
}

/* ---- resolving ---- */

static void write_types(tw_bytes *out, const uint8_t *types, uint32_t count)
{
    tw_bytes_append_string(out, "(");
    for (uint32_t i = 0; i < count; i++)
        tw_bytes_printf(out, "%s%s", i ? " " : "", tw_type_name((tw_type)types[i]));
    tw_bytes_append_string(out, ")");
}

static tw_status fail_import(const tw_link_func *import, const char *why, tw_error *error)
{
    tw_bytes type = {0};
    write_types(&type, import->params, import->param_count);
    tw_bytes_append_string(&type, " -> ");
    write_types(&type, import->results, import->result_count);
    tw_fail(error, TW_LINK, "the import \"%s\".\"%s\" of type %.300s %s", import->module, import->name,
            type.failed ? "?" : type.data, why);
    tw_bytes_free(&type);
    return TW_LINK;
}

static bool same_types(const uint8_t *types, uint32_t count, const tw_val_kind *kinds, size_t kind_count)
{
    if (count != kind_count) return false;
    for (uint32_t i = 0; i < count; i++)
        if (types[i] == TW_FUNCREF || types[i] != tw_val_type(kinds[i])) return false;
    return true;
}

static const tw_import_func *find(const tw_spawn_options *options, const tw_link_func *import)
{
    for (size_t i = 0; i < options->import_count; i++)
        if (!strcmp(options->imports[i].name, import->name) && !strcmp(options->imports[i].module, import->module))
            return &options->imports[i];
    return NULL;
}

static tw_status bind(tw_instance *instance, uint32_t index, const tw_import_func *func, tw_error *error)
{
    const tw_link_func *import = &instance->module->imports[index];
    if (!same_types(import->params, import->param_count, func->params, func->param_count) ||
        !same_types(import->results, import->result_count, func->results, func->result_count))
        return fail_import(import, "is offered with another type", error);
    instance->imports[index] =
        (tw_instance_import){func->call, func->context, tw_wasm_func_type(&instance->module->wasm, index)};
    instance->bindings[index] = (tw_binding){on_import, &instance->imports[index]};
    return TW_OK;
}

static tw_status resolve(tw_instance *instance, uint32_t index, const tw_spawn_options *options, bool *is_wasi,
                         tw_error *error)
{
    const tw_link_func *import = &instance->module->imports[index];
    const tw_import_func *func = find(options, import);
    if (func) return bind(instance, index, func, error);
    if (strcmp(import->module, WASI)) return fail_import(import, "isn't offered by anyone", error);
    if (!options->wasi) return fail_import(import, "needs WASI, which this instance doesn't have", error);
    if (!tw_wasi_knows(import->name)) return fail_import(import, "isn't part of WASI preview 1", error);
    *is_wasi = !tw_wasi_binding(import->name, &instance->wasi, &instance->bindings[index]);
    return TW_OK;
}

static int shown(tw_name name) { return (int)(name.size < 200 ? name.size : 200); }

static tw_status fail_other(const tw_import *import, const char *what, tw_error *error)
{
    return tw_fail(error, TW_LINK, "the import \"%.*s\".\"%.*s\" is a %s", shown(import->module), import->module.data,
                   shown(import->name), import->name.data, what);
}

static bool is_named(tw_name name, const char *text)
{
    return name.size == strlen(text) && !memcmp(name.data, text, name.size);
}

static tw_status fail_global(const tw_import *import, const char *kind, const char *type, const char *why, tw_error *error)
{
    return tw_fail(error, TW_LINK, "the import \"%.*s\".\"%.*s\" is a global, %s %s, %s", shown(import->module), import->module.data,
                   shown(import->name), import->name.data, kind, type, why);
}

static tw_status bind_memory(tw_instance *instance, const tw_import *import, const tw_spawn_options *options, tw_error *error)
{
    const tw_limits *wanted = &instance->module->wasm.memories[import->index];
    size_t i = 0;
    while (i < options->memory_count &&
           !(is_named(import->module, options->memories[i].module) && is_named(import->name, options->memories[i].name)))
        i++;
    if (i == options->memory_count) return fail_other(import, "memory that isn't offered by anyone: its host makes it (tw_memory_new)", error);
    tw_memory *memory = options->memories[i].memory;
    if (!memory) return TW_OK; /* what is compiled has one of its own */
    if (instance->pooled)
        return fail_other(import, "memory of the host, which a pool can't make as it was: give NULL, and each instance has a new one", error);
    if (atomic_load(&memory->slot->size) / 65536 < wanted->minimum || (wanted->has_maximum && memory->most / 65536 > wanted->maximum))
        return fail_other(import, "memory that is offered with other limits", error);
    tw_lent_memory_take(memory);
    instance->lent = memory;
    tw_stop_add_slot(&instance->stopper, memory->slot);
    return TW_OK;
}

static tw_status bind_global(tw_instance *instance, const tw_import *import, const tw_spawn_options *options, tw_error *error)
{
    const tw_wasm *wasm = &instance->module->wasm;
    const tw_global_type *wanted = &wasm->globals[import->index].type;
    const char *type = tw_type_name(wanted->type), *kind = wanted->is_mutable ? "mutable" : "immutable";
    if (wanted->is_mutable && wanted->type == TW_FUNCREF)
        return fail_global(import, kind, type, "that no host can make: its functions would belong to one instance", error);
    size_t i = 0;
    while (i < options->global_count &&
           !(is_named(import->module, options->globals[i].module) && is_named(import->name, options->globals[i].name)))
        i++;
    if (i == options->global_count)
        return fail_global(import, kind, type, "that isn't offered by anyone: its host makes it (tw_global_new)", error);
    tw_global *global = options->globals[i].global;
    if (global->type != wanted->type || global->is_mutable != wanted->is_mutable)
        return fail_global(import, kind, type, global->type != wanted->type ? "that is offered with another type" :
                                               global->is_mutable ? "that is offered as a mutable one" : "that is offered as an immutable one", error);
    return tw_lent_globals_add(&instance->globals, global, wasm->imported_globals, &instance->kept.arena, error);
}

static tw_status bind_table(tw_instance *instance, const tw_import *import, const tw_spawn_options *options, tw_error *error)
{
    const tw_wasm *wasm = &instance->module->wasm;
    const tw_limits *wanted = &wasm->tables[import->index].limits;
    size_t i = 0;
    while (i < options->table_count &&
           !(is_named(import->module, options->tables[i].module) && is_named(import->name, options->tables[i].name)))
        i++;
    if (i == options->table_count) return fail_other(import, "table that isn't offered by anyone: its host makes it (tw_table_new)", error);
    tw_table *table = options->tables[i].table;
    if (table && instance->pooled)
        return fail_other(import, "table of the host, which a pool can't make as it was: give NULL, and each instance has a new one", error);
    if (table && (table->elements < wanted->minimum || (wanted->has_maximum && table->most > wanted->maximum)))
        return fail_other(import, "table that is offered with other limits", error);
    return tw_lent_tables_add(&instance->tables, table, wanted, wasm->imported_tables, &instance->kept.arena, error);
}

static tw_status resolve_others(tw_instance *instance, const tw_spawn_options *options, tw_error *error)
{
    const tw_wasm *wasm = &instance->module->wasm;
    for (uint32_t i = 0; i < wasm->import_count; i++) {
        const tw_import *import = &wasm->imports[i];
        if (import->kind == TW_EXTERN_MEMORY) TW_TRY(bind_memory(instance, import, options, error));
        else if (import->kind == TW_EXTERN_GLOBAL) TW_TRY(bind_global(instance, import, options, error));
        else if (import->kind == TW_EXTERN_TABLE) TW_TRY(bind_table(instance, import, options, error));
    }
    return TW_OK;
}

tw_status tw_runtime_resolve(tw_instance *instance, const tw_spawn_options *options, bool *is_wasi, tw_error *error)
{
    TW_TRY(resolve_others(instance, options, error));
    for (uint32_t i = 0; i < instance->module->import_count; i++)
        TW_TRY(resolve(instance, i, options, &is_wasi[i], error));
    return TW_OK;
}

/* ---- WASI ---- */

static tw_status split_env(const tw_wasi_options *options, tw_wasi_setup *out, tw_error *error)
{
    for (size_t i = 0; i < options->env_count; i++) {
        const char *equals = strchr(options->env[i], '=');
        if (!equals || equals == options->env[i])
            return tw_fail(error, TW_INVALID_ARGUMENT, "\"%.100s\" isn't of the form KEY=VALUE", options->env[i]);
        out->env_names[i] = strndup(options->env[i], (size_t)(equals - options->env[i]));
        TW_TRY_ALLOC(out->env_names[i], error);
        out->env_values[i] = equals + 1;
        out->env_count++;
    }
    return TW_OK;
}

tw_status tw_runtime_wasi_setup(const tw_wasi_options *options, tw_wasi_setup *out, tw_error *error)
{
    *out = (tw_wasi_setup){.args = (const char **)options->args, .arg_count = options->arg_count,
                           .inherit_stdin = options->inherit_stdin, .inherit_stdout = options->inherit_stdout,
                           .inherit_stderr = options->inherit_stderr, .stdin_bytes = options->stdin_bytes,
                           .stdin_size = options->stdin_size, .stdout_path = options->stdout_path,
                           .stderr_path = options->stderr_path, .dir_count = options->dir_count};
    out->env_names = calloc(options->env_count + 1, sizeof *out->env_names);
    out->env_values = calloc(options->env_count + 1, sizeof *out->env_values);
    tw_wasi_dir_setup *dirs = calloc(options->dir_count + 1, sizeof *dirs);
    out->dirs = dirs;
    TW_TRY_ALLOC(out->env_names && out->env_values && dirs, error);
    for (size_t i = 0; i < options->dir_count; i++)
        dirs[i] = (tw_wasi_dir_setup){options->dirs[i].host, options->dirs[i].guest};
    return split_env(options, out, error);
}

void tw_runtime_wasi_free(tw_wasi_setup *setup)
{
    for (size_t i = 0; setup->env_names && setup->env_names[i]; i++) free((char *)setup->env_names[i]);
    free(setup->env_names);
    free(setup->env_values);
    free((void *)setup->dirs);
}
