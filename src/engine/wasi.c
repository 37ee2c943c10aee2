/* SPDX-License-Identifier: Apache-2.0 */
/* The engine's own WASI preview 1, and the way for our host functions to pass a call on to it.
 *
 * WASI finds the guest's memory as the export "memory" of the instance that *calls*. A call made from a host function
 * has no such instance. So it goes through an adapter, a small guest that imports the user's memory, exports it again,
 * and forwards; each store that needs it makes one on first use. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "engine/inside.h"

#define WASI "wasi_snapshot_preview1"

/* ---- set-up ---- */

static bool set_dirs(wasi_config_t *config, const tw_wasi_setup *setup, tw_error *error)
{
    for (size_t i = 0; i < setup->dir_count; i++) {
        if (wasi_config_preopen_dir(config, setup->dirs[i].host, setup->dirs[i].guest, true)) continue;
        tw_fail(error, TW_IO, "can't open directory %s for the guest", setup->dirs[i].host);
        return false;
    }
    return true;
}

static bool set_stdin(wasi_config_t *config, const tw_wasi_setup *setup)
{
    if (setup->inherit_stdin) {
        wasi_config_inherit_stdin(config);
    } else if (setup->stdin_bytes) {
        wasm_byte_vec_t bytes;
        wasm_byte_vec_new(&bytes, setup->stdin_size, (const char *)setup->stdin_bytes);
        wasi_config_set_stdin_bytes(config, &bytes);
    }
    return true;
}

static bool set_output(wasi_config_t *config, bool inherit, const char *path, void (*inherit_it)(wasi_config_t *),
                       bool (*set_file)(wasi_config_t *, const char *), tw_error *error)
{
    if (inherit) inherit_it(config);
    else if (path && !set_file(config, path)) return tw_fail(error, TW_IO, "can't write %s", path), false;
    return true;
}

static bool set_all(wasi_config_t *config, const tw_wasi_setup *setup, tw_error *error)
{
    if (!wasi_config_set_argv(config, setup->arg_count, setup->args))
        return tw_fail(error, TW_INVALID_ARGUMENT, "an argument for the guest isn't UTF-8"), false;
    if (!wasi_config_set_env(config, setup->env_count, setup->env_names, setup->env_values))
        return tw_fail(error, TW_INVALID_ARGUMENT, "an environment variable for the guest isn't UTF-8"), false;
    return set_stdin(config, setup) &&
           set_output(config, setup->inherit_stdout, setup->stdout_path, wasi_config_inherit_stdout,
                      wasi_config_set_stdout_file, error) &&
           set_output(config, setup->inherit_stderr, setup->stderr_path, wasi_config_inherit_stderr,
                      wasi_config_set_stderr_file, error) &&
           set_dirs(config, setup, error);
}

wasi_config_t *tw_wasi_config(const tw_wasi_setup *setup, tw_error *error)
{
    wasi_config_t *config = wasi_config_new();
    if (set_all(config, setup, error)) return config;
    wasi_config_delete(config);
    return NULL;
}

/* ---- the linker with WASI in it ---- */

tw_status tw_core_wasi(tw_core *core, wasmtime_linker_t **out, tw_error *error)
{
    wasmtime_error_t *failure = NULL;
    pthread_mutex_lock(&core->lock);
    if (!core->wasi) {
        wasmtime_linker_t *linker = wasmtime_linker_new(core->engine);
        failure = wasmtime_linker_define_wasi(linker);
        if (failure) wasmtime_linker_delete(linker);
        else core->wasi = linker;
    }
    *out = core->wasi;
    pthread_mutex_unlock(&core->lock);
    return failure ? tw_engine_fail(error, TW_INTERNAL, failure) : TW_OK;
}

bool tw_wasi_knows(const char *name)
{
    static const char *const names[] = {
        "args_get", "args_sizes_get", "clock_res_get", "clock_time_get", "environ_get", "environ_sizes_get",
        "fd_advise", "fd_allocate", "fd_close", "fd_datasync", "fd_fdstat_get", "fd_fdstat_set_flags",
        "fd_fdstat_set_rights", "fd_filestat_get", "fd_filestat_set_size", "fd_filestat_set_times", "fd_pread",
        "fd_prestat_dir_name", "fd_prestat_get", "fd_pwrite", "fd_read", "fd_readdir", "fd_renumber", "fd_seek",
        "fd_sync", "fd_tell", "fd_write", "path_create_directory", "path_filestat_get", "path_filestat_set_times",
        "path_link", "path_open", "path_readlink", "path_remove_directory", "path_rename", "path_symlink",
        "path_unlink_file", "poll_oneoff", "proc_exit", "proc_raise", "random_get", "sched_yield", "sock_accept",
        "sock_recv", "sock_send", "sock_shutdown",
    };
    for (size_t i = 0; i < sizeof names / sizeof *names; i++)
        if (!strcmp(name, names[i])) return true;
    return false;
}

/* ---- the adapter ---- */

static const struct { const char *name, *params; } passes[] = {
#define TW_WASI_PASS_ROW(name, params) {#name, params},
    TW_WASI_PASS_MAP(TW_WASI_PASS_ROW)
#undef TW_WASI_PASS_ROW
};

static void write_params(tw_bytes *text, const char *params)
{
    tw_bytes_append_string(text, " (param");
    for (; *params; params++) tw_bytes_append_string(text, *params == 'l' ? " i64" : " i32");
    tw_bytes_append_string(text, ") (result i32)");
}

static size_t pass_count(bool with_path_open) { return TW_WASI_PASS_COUNT - !with_path_open; }

static void write_adapter(tw_bytes *text, size_t count)
{
    tw_bytes_append_string(text, "(module (import \"\" \"memory\" (memory 0))");
    for (size_t i = 0; i < count; i++) {
        tw_bytes_printf(text, "(import \"\" \"%s\" (func $%s", passes[i].name, passes[i].name);
        write_params(text, passes[i].params);
        tw_bytes_append_string(text, "))");
    }
    tw_bytes_append_string(text, "(export \"memory\" (memory 0))");
    for (size_t i = 0; i < count; i++) {
        tw_bytes_printf(text, "(func (export \"%s\")", passes[i].name);
        write_params(text, passes[i].params);
        for (size_t p = 0; passes[i].params[p]; p++) tw_bytes_printf(text, " local.get %zu", p);
        tw_bytes_printf(text, " call $%s)", passes[i].name);
    }
    tw_bytes_append_string(text, ")");
}

static tw_status compile_adapter(tw_core *core, bool with_path_open, tw_error *error)
{
    tw_bytes text = {0}, binary = {0};
    write_adapter(&text, pass_count(with_path_open));
    tw_status status = text.failed ? tw_fail_memory(error) : tw_core_assemble(text.data, text.size, &binary, error);
    if (status == TW_OK) {
        wasmtime_error_t *failure =
            wasmtime_module_new(core->engine, (const uint8_t *)binary.data, binary.size, &core->wasi_pass[with_path_open]);
        if (failure) status = tw_engine_fail(error, TW_INTERNAL, failure);
    }
    tw_bytes_free(&text);
    tw_bytes_free(&binary);
    return status;
}

static tw_status adapter_module(tw_core *core, bool with_path_open, wasmtime_module_t **out, tw_error *error)
{
    pthread_mutex_lock(&core->lock);
    tw_status status = core->wasi_pass[with_path_open] ? TW_OK : compile_adapter(core, with_path_open, error);
    *out = core->wasi_pass[with_path_open];
    pthread_mutex_unlock(&core->lock);
    return status;
}

static bool collect_imports(tw_store *store, wasmtime_linker_t *wasi, wasmtime_extern_t *imports)
{
    bool ok = wasmtime_caller_export_get(store->caller, "memory", 6, &imports[0]) &&
              imports[0].kind == WASMTIME_EXTERN_MEMORY;
    wasmtime_context_t *context = wasmtime_caller_context(store->caller);
    for (size_t i = 0; ok && i < pass_count(store->passes_path_open); i++)
        ok = wasmtime_linker_get(wasi, context, WASI, strlen(WASI), passes[i].name, strlen(passes[i].name),
                                 &imports[i + 1]);
    return ok;
}

static tw_status make_adapter(tw_store *store, tw_error *error)
{
    tw_core *core = store->link->code->core;
    wasmtime_module_t *module;
    wasmtime_linker_t *wasi;
    wasmtime_extern_t imports[TW_WASI_PASS_COUNT + 1];
    size_t count = pass_count(store->passes_path_open);
    TW_TRY(adapter_module(core, store->passes_path_open, &module, error));
    TW_TRY(tw_core_wasi(core, &wasi, error));
    if (!collect_imports(store, wasi, imports))
        return tw_fail(error, TW_LINK, "WASI needs the guest's memory exported as \"memory\"");
    wasmtime_context_t *context = wasmtime_caller_context(store->caller);
    wasmtime_instance_t instance;
    wasm_trap_t *trap = NULL;
    wasmtime_error_t *failure =
        wasmtime_instance_new(context, module, imports, count + 1, &instance, &trap);
    if (trap) wasm_trap_delete(trap);
    if (failure) return tw_engine_fail(error, TW_INTERNAL, failure);
    for (size_t i = 0; i < count; i++) {
        wasmtime_extern_t item;
        if (!wasmtime_instance_export_get(context, &instance, passes[i].name, strlen(passes[i].name), &item))
            return tw_fail(error, TW_INTERNAL, "the WASI adapter lacks %s", passes[i].name);
        store->wasi_pass[i] = item.of.func;
    }
    store->has_wasi_pass = true;
    return TW_OK;
}

tw_status tw_store_wasi(tw_store *store, tw_wasi_pass function, tw_raw *values, size_t count, tw_error *error)
{
    if (!store->has_wasi_pass) TW_TRY(make_adapter(store, error));
    wasm_trap_t *trap = NULL;
    wasmtime_error_t *failure =
        wasmtime_func_call_unchecked(wasmtime_caller_context(store->caller), &store->wasi_pass[function],
                                     (wasmtime_val_raw_t *)values, count, &trap);
    if (trap) wasm_trap_delete(trap);
    if (trap) return tw_fail(error, TW_IO, "WASI %s trapped", passes[function].name);
    return failure ? tw_engine_fail(error, TW_IO, failure) : TW_OK;
}
