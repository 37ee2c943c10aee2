/* SPDX-License-Identifier: Apache-2.0 */
#include "api/options.h"
#include "api/spawn.h"
#include "instance/state.h"

static tw_status check_imports(const tw_spawn_options *options, tw_error *error)
{
    if (!options->imports && options->import_count)
        return tw_fail(error, TW_INVALID_ARGUMENT, "spawn options: imports is NULL");
    for (size_t i = 0; i < options->import_count; i++) {
        const tw_import_func *func = &options->imports[i];
        if (!func->module || !func->name || !func->call || (!func->params && func->param_count) ||
            (!func->results && func->result_count))
            return tw_fail(error, TW_INVALID_ARGUMENT, "spawn options: import %zu isn't filled in", i);
    }
    return TW_OK;
}

static tw_status check_memories(const tw_spawn_options *options, tw_error *error)
{
    if (!options->memories && options->memory_count)
        return tw_fail(error, TW_INVALID_ARGUMENT, "spawn options: memories is NULL");
    for (size_t i = 0; i < options->memory_count; i++)
        if (!options->memories[i].module || !options->memories[i].name)
            return tw_fail(error, TW_INVALID_ARGUMENT, "spawn options: memory %zu isn't filled in", i);
    return TW_OK;
}

static tw_status check_globals(const tw_spawn_options *options, tw_error *error)
{
    if (!options->globals && options->global_count)
        return tw_fail(error, TW_INVALID_ARGUMENT, "spawn options: globals is NULL");
    for (size_t i = 0; i < options->global_count; i++)
        if (!options->globals[i].module || !options->globals[i].name || !options->globals[i].global)
            return tw_fail(error, TW_INVALID_ARGUMENT, "spawn options: global %zu isn't filled in", i);
    return TW_OK;
}

static tw_status check_tables(const tw_spawn_options *options, tw_error *error)
{
    if (!options->tables && options->table_count)
        return tw_fail(error, TW_INVALID_ARGUMENT, "spawn options: tables is NULL");
    for (size_t i = 0; i < options->table_count; i++)
        if (!options->tables[i].module || !options->tables[i].name)
            return tw_fail(error, TW_INVALID_ARGUMENT, "spawn options: table %zu isn't filled in", i);
    return TW_OK;
}

static tw_status check_wasi(const tw_wasi_options *options, tw_error *error)
{
    if ((!options->args && options->arg_count) || (!options->env && options->env_count) ||
        (!options->dirs && options->dir_count))
        return tw_fail(error, TW_INVALID_ARGUMENT, "WASI options: a list with entries is NULL");
    for (size_t i = 0; i < options->arg_count; i++)
        if (!options->args[i]) return tw_fail(error, TW_INVALID_ARGUMENT, "WASI options: argument %zu is NULL", i);
    for (size_t i = 0; i < options->env_count; i++)
        if (!options->env[i]) return tw_fail(error, TW_INVALID_ARGUMENT, "WASI options: variable %zu is NULL", i);
    for (size_t i = 0; i < options->dir_count; i++)
        if (!options->dirs[i].host || !options->dirs[i].guest)
            return tw_fail(error, TW_INVALID_ARGUMENT, "WASI options: directory %zu isn't filled in", i);
    return TW_OK;
}

tw_status tw_api_read_spawn(const tw_spawn_options *given, tw_spawn_options *own, tw_wasi_options *wasi, tw_error *error)
{
    TW_TRY(tw_options_read(own, sizeof *own, given, "tw_spawn_options", error));
    TW_TRY(tw_options_read(wasi, sizeof *wasi, own->wasi, "tw_wasi_options", error));
    if (own->wasi) own->wasi = wasi;
    TW_TRY(check_imports(own, error));
    TW_TRY(check_memories(own, error));
    TW_TRY(check_globals(own, error));
    TW_TRY(check_tables(own, error));
    return check_wasi(wasi, error);
}

tw_status tw_instance_spawn(tw_module *module, const tw_spawn_options *options, tw_instance **out, tw_error *error)
{
    if (!module || !out) return tw_fail(error, TW_INVALID_ARGUMENT, "tw_instance_spawn: a required pointer is NULL");
    tw_spawn_options own = TW_SPAWN_OPTIONS_INIT;
    tw_wasi_options wasi = TW_WASI_OPTIONS_INIT;
    TW_TRY(tw_api_read_spawn(options, &own, &wasi, error));
    return tw_runtime_spawn(module, &own, NULL, out, error);
}

tw_status tw_api_read_restoring(const tw_buffer_restoring *given, tw_buffer_restoring *own, tw_error *error)
{
    TW_TRY(tw_options_read(own, sizeof *own, given, "tw_buffer_restoring", error));
    if ((unsigned)own->place > TW_BUFFERS_ON_BACKEND || (unsigned)own->backend >= TW_BACKENDS)
        return tw_fail(error, TW_INVALID_ARGUMENT, "tw_buffer_restoring: there is no such place or backend");
    return TW_OK;
}

tw_status tw_instance_restore(tw_module *module, const tw_snapshot *snapshot, const tw_spawn_options *options,
                              tw_instance **out, tw_error *error)
{
    if (!module || !snapshot || !out)
        return tw_fail(error, TW_INVALID_ARGUMENT, "tw_instance_restore: a required pointer is NULL");
    tw_spawn_options own = TW_SPAWN_OPTIONS_INIT;
    tw_wasi_options wasi = TW_WASI_OPTIONS_INIT;
    tw_buffer_restoring buffers = TW_BUFFER_RESTORING_INIT;
    TW_TRY(tw_api_read_spawn(options, &own, &wasi, error));
    TW_TRY(tw_api_read_restoring(own.buffers, &buffers, error));
    own.buffers = &buffers;
    return tw_runtime_restore(module, snapshot, &own, out, error);
}

tw_status tw_instance_call(tw_instance *instance, const char *name, const tw_val *args, size_t arg_count, tw_val *results,
                           size_t result_count, tw_error *error)
{
    if (!instance || !name || (!args && arg_count) || (!results && result_count))
        return tw_fail(error, TW_INVALID_ARGUMENT, "tw_instance_call: a required pointer is NULL");
    return tw_runtime_call(instance, name, args, arg_count, results, result_count, error);
}

tw_status tw_instance_terminate(tw_instance *instance, tw_error *error)
{
    if (!instance) return tw_fail(error, TW_INVALID_ARGUMENT, "tw_instance_terminate: instance is NULL");
    return tw_stop_terminate(&instance->stopper, error);
}

void tw_instance_free(tw_instance *instance)
{
    if (instance && tw_stop_check_idle(&instance->stopper, NULL) == TW_OK) tw_runtime_free(instance);
}

int32_t tw_instance_exit_code(const tw_instance *instance) { return instance ? instance->exit_code : 0; }

tw_status tw_instance_memory(tw_instance *instance, const char *name, uint8_t **base, size_t *size, tw_error *error)
{
    if (!instance || !base || !size)
        return tw_fail(error, TW_INVALID_ARGUMENT, "tw_instance_memory: a required pointer is NULL");
    TW_TRY(tw_stop_check_owner(&instance->stopper, error));
    return tw_runtime_memory(instance, name, base, size, error);
}

uint8_t *tw_host_memory(tw_host_call *call, size_t *size)
{
    const tw_instance *instance = tw_store_owner(call->store);
    const tw_slot *slot = tw_runtime_slot(instance->module, call->store);
    if (size) *size = slot ? atomic_load(&slot->size) : 0;
    return slot ? slot->base : NULL;
}
