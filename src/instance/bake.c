/* SPDX-License-Identifier: Apache-2.0 */
/* A snapshot's state as a module. What only a host has, a module can't hold: then it is refused. */
#include <string.h>

#include "instance/state.h"
#include "rewrite/bake.h"

/* ---- what WASI told ---- */

/* What the guest was told that it could ask for again, and would get another answer. */
typedef enum told { TOLD_ARGUMENTS, TOLD_ENVIRONMENT, TOLD_FOLDERS, TOLD } told;
static const struct {
    const char *import;
    told what;
} askers[] = {
    {"args_get", TOLD_ARGUMENTS},        {"args_sizes_get", TOLD_ARGUMENTS},        {"environ_get", TOLD_ENVIRONMENT},
    {"environ_sizes_get", TOLD_ENVIRONMENT}, {"fd_prestat_get", TOLD_FOLDERS},      {"fd_prestat_dir_name", TOLD_FOLDERS},
    {"path_open", TOLD_FOLDERS},
};

static bool asks(const tw_module *module, told what)
{
    for (uint32_t i = 0; i < module->import_count; i++)
        for (size_t k = 0; k < sizeof askers / sizeof *askers; k++)
            if (askers[k].what == what && !strcmp(module->imports[i].name, askers[k].import)) return true;
    return false;
}

static tw_status check_wasi(const tw_module *module, const tw_registers *r, tw_error *error)
{
    static const char *const names[] = {"arguments", "environment variables", "folders"};
    const uint32_t counts[] = {r->args.count, r->env.count, r->dirs.count};
    for (int i = 0; i < TOLD; i++)
        if (r->has_wasi && counts[i] && asks(module, (told)i))
            return tw_fail(error, TW_UNSUPPORTED, "the guest's %s are WASI's, and a module can't hold them: wasi-from-host leaves them to the host "
                           "that it runs on", names[i]);
    return TW_OK;
}

/* ---- the state ---- */

static tw_status take_globals(const tw_registers *r, tw_arena *arena, tw_bake *out, tw_error *error)
{
    tw_bake_global *globals = TW_NEW_ARRAY(arena, tw_bake_global, r->global_count);
    TW_TRY_ALLOC(globals, error);
    for (uint32_t i = 0; i < r->global_count; i++) {
        globals[i].index = r->globals[i].index;
        memcpy(globals[i].value, r->globals[i].value, sizeof globals[i].value);
    }
    out->globals = globals;
    out->global_count = r->global_count;
    return TW_OK;
}

static tw_status take_tables(const tw_registers *r, tw_arena *arena, tw_bake *out, tw_error *error)
{
    tw_bake_table *tables = TW_NEW_ARRAY(arena, tw_bake_table, r->table_count);
    TW_TRY_ALLOC(tables, error);
    for (uint32_t i = 0; i < r->table_count; i++) tables[i] = (tw_bake_table){r->tables[i].size, r->tables[i].funcs};
    out->tables = tables;
    return TW_OK;
}

static uint32_t after_restore(const tw_module *module)
{
    uint32_t export = tw_runtime_find_export(module, TW_AFTER_RESTORE);
    return export == UINT32_MAX || module->exports[export].kind != TW_EXPORT_FUNC ? UINT32_MAX : module->exports[export].index;
}

static tw_status bake(tw_module *module, const tw_snapshot *snapshot, bool wasi_from_host, tw_arena *arena, tw_bytes *out, tw_error *error)
{
    tw_registers r;
    tw_bake state = {.memory = snapshot->wasm_memory, .left_out = "_initialize"};
    TW_TRY(tw_registers_read(snapshot->registers, arena, &r, error));
    if (snapshot->device_memory.size)
        return tw_fail(error, TW_UNSUPPORTED, "the guest has buffers, %zu bytes of them: a module can't hold buffers", snapshot->device_memory.size);
    if (snapshot->wasm_memory.size && !snapshot->wasm_memory.data)
        return tw_fail(error, TW_INVALID_ARGUMENT, "the snapshot was opened without its memory: read it in full");
    TW_TRY(tw_runtime_check_state(module, snapshot, &r, error));
    if (!wasi_from_host) TW_TRY(check_wasi(module, &r, error));
    TW_TRY(take_globals(&r, arena, &state, error));
    TW_TRY(take_tables(&r, arena, &state, error));
    state.drops = r.drops;
    state.drop_count = r.drop_count;
    state.start = after_restore(module);
    TW_TRY(tw_bake_module(&module->wasm, &state, out, error));
    tw_status status = tw_core_validate(module->engine->core, (const uint8_t *)out->data, out->size, error);
    return status == TW_INVALID ? tw_fail(error, TW_INTERNAL, "the module that was made doesn't validate: please report it") : status;
}

tw_status tw_runtime_bake(tw_module *module, const tw_snapshot *snapshot, bool wasi_from_host, tw_bytes *out, tw_error *error)
{
    tw_arena arena;
    tw_arena_init(&arena, TW_ARENA_NO_LIMIT);
    tw_status status = bake(module, snapshot, wasi_from_host, &arena, out, error);
    tw_arena_free(&arena);
    return status;
}
