/* SPDX-License-Identifier: Apache-2.0 */
#include <stdlib.h>
#include <string.h>

#include "instance/state.h"
#include "snapshot/snapshot.h"

/* ---- what is kept for it ---- */

static tw_status keep(tw_arena *arena, const char *const *from, size_t count, tw_registers_strings *out, tw_error *error)
{
    const char **items = TW_NEW_ARRAY(arena, const char *, count);
    TW_TRY_ALLOC(items, error);
    for (size_t i = 0; i < count; i++) {
        items[i] = tw_arena_string(arena, from[i], strlen(from[i]));
        TW_TRY_ALLOC(items[i], error);
    }
    *out = (tw_registers_strings){items, (uint32_t)count};
    return TW_OK;
}

tw_status tw_runtime_keep_wasi(tw_instance *instance, const tw_wasi_options *options, tw_error *error)
{
    tw_kept *kept = &instance->kept;
    if (options->arg_count > UINT32_MAX || options->env_count > UINT32_MAX || options->dir_count > UINT32_MAX)
        return tw_fail(error, TW_LIMIT, "too many arguments, variables or directories for the guest");
    const char **dirs = TW_NEW_ARRAY(&kept->arena, const char *, options->dir_count);
    TW_TRY_ALLOC(dirs, error);
    for (size_t i = 0; i < options->dir_count; i++) dirs[i] = options->dirs[i].guest;
    kept->folders = TW_NEW_ARRAY(&kept->arena, tw_folder, options->dir_count);
    TW_TRY_ALLOC(kept->folders, error);
    for (size_t i = 0; i < options->dir_count; i++) kept->folders[i] = tw_folder_at(options->dirs[i].host);
    kept->writes_files = options->stdout_path || options->stderr_path;
    kept->has_wasi = true;
    TW_TRY(keep(&kept->arena, options->args, options->arg_count, &kept->args, error));
    TW_TRY(keep(&kept->arena, options->env, options->env_count, &kept->env, error));
    return keep(&kept->arena, dirs, options->dir_count, &kept->dirs, error);
}

void tw_runtime_module_hash(tw_module *module, uint8_t hash[TW_REGISTERS_HASH])
{
    pthread_mutex_lock(&module->lock);
    if (!module->has_hash) tw_registers_hash((tw_span){(const uint8_t *)module->bytes.data, module->bytes.size}, module->hash);
    module->has_hash = true;
    memcpy(hash, module->hash, TW_REGISTERS_HASH);
    pthread_mutex_unlock(&module->lock);
}

/* ---- references ---- */

typedef struct known_func {
    uintptr_t identity;
    uint32_t index;
} known_func;

typedef struct capture {
    tw_instance *instance;
    tw_arena *arena;
    known_func *funcs; /* by identity */
    uint32_t func_count;
    tw_registers registers;
    tw_error *error;
} capture;

static int by_identity(const void *a, const void *b)
{
    const known_func *x = a, *y = b;
    if (x->identity != y->identity) return x->identity < y->identity ? -1 : 1;
    return x->index < y->index ? -1 : x->index > y->index;
}

static bool find_export(capture *c, const char *what, uint32_t number, tw_handle_kind kind, tw_handle *out)
{
    return tw_own_export(c->instance->store, what, number, kind, out);
}

static tw_status lacks(const capture *c, const char *what, uint32_t number)
{
    return tw_fail(c->error, TW_INTERNAL, "the rewritten module lacks its export of %s %u", what, number);
}

static tw_status learn_funcs(capture *c)
{
    const tw_rewrite *rewrite = c->instance->form->rewrite;
    c->funcs = TW_NEW_ARRAY(c->arena, known_func, rewrite->referred_count);
    TW_TRY_ALLOC(c->funcs, c->error);
    for (; c->func_count < rewrite->referred_count; c->func_count++) {
        uint32_t index = rewrite->referred[c->func_count];
        tw_handle func;
        if (!find_export(c, "func", index, TW_HANDLE_FUNC, &func)) return lacks(c, "function", index);
        c->funcs[c->func_count] = (known_func){tw_store_func_identity(c->instance->store, &func), index};
    }
    qsort(c->funcs, c->func_count, sizeof *c->funcs, by_identity);
    return TW_OK;
}

/* The function's index; of two imports that are the same function, either's. TW_REGISTERS_NULL: not the module's. */
static uint32_t index_of(const capture *c, const tw_handle *func)
{
    uintptr_t wanted = tw_store_func_identity(c->instance->store, func);
    uint32_t low = 0, high = c->func_count;
    while (low < high) {
        uint32_t middle = low + (high - low) / 2;
        if (c->funcs[middle].identity < wanted) low = middle + 1;
        else high = middle;
    }
    return low < c->func_count && c->funcs[low].identity == wanted ? c->funcs[low].index : TW_REGISTERS_NULL;
}

/* ---- globals ---- */

static tw_status take_reference(capture *c, const tw_handle *global, tw_registers_global *out)
{
    tw_handle func;
    uint32_t index = TW_REGISTERS_NULL;
    if (tw_store_global_get_func(c->instance->store, global, &func) == TW_REFERENCE_FUNC) {
        index = index_of(c, &func);
        if (index == TW_REGISTERS_NULL)
            return tw_fail(c->error, TW_UNSUPPORTED, "global %u holds a function from outside the module", out->index);
    }
    for (int i = 0; i < 4; i++) out->value[i] = (uint8_t)(index >> 8 * i);
    return TW_OK;
}

static unsigned bytes_of(uint8_t type) { return type == TW_V128 ? 16 : type == TW_I32 || type == TW_F32 ? 4 : 8; }

/* Of function references there are nulls only. */
static tw_status take_lent_global(const capture *c, tw_registers_global *out)
{
    const tw_lent_globals *lent = &c->instance->globals;
    const tw_raw *value = &lent->made[lent->made[out->index].same_as].value;
    if (out->type == TW_FUNCREF) memset(out->value, 0xFF, 4);
    else memcpy(out->value, value, bytes_of(out->type));
    return TW_OK;
}

static tw_status take_global(capture *c, uint32_t index, tw_registers_global *out)
{
    tw_handle global;
    tw_raw value;
    *out = (tw_registers_global){.index = index, .type = (uint8_t)c->instance->module->wasm.globals[index].type.type};
    if (index < c->instance->globals.count) return take_lent_global(c, out);
    if (!find_export(c, "global", index, TW_HANDLE_GLOBAL, &global)) return lacks(c, "global", index);
    if (out->type == TW_FUNCREF) return take_reference(c, &global, out);
    tw_store_global_get(c->instance->store, &global, &value);
    memcpy(out->value, &value, bytes_of(out->type));
    return TW_OK;
}

static tw_status take_globals(capture *c)
{
    const tw_wasm *wasm = &c->instance->module->wasm;
    tw_registers_global *globals = TW_NEW_ARRAY(c->arena, tw_registers_global, wasm->global_count);
    TW_TRY_ALLOC(globals, c->error);
    for (uint32_t i = 0; i < wasm->global_count; i++)
        if (wasm->globals[i].type.is_mutable || i < wasm->imported_globals) TW_TRY(take_global(c, i, &globals[c->registers.global_count++]));
    c->registers.globals = globals;
    return TW_OK;
}

static tw_status take_drops(capture *c)
{
    uint32_t count = c->instance->form->rewrite->drop_count;
    uint64_t *drops = TW_NEW_ARRAY(c->arena, uint64_t, count / 64 + 1);
    TW_TRY_ALLOC(drops, c->error);
    for (uint32_t i = 0; i * 64 < count; i++) {
        tw_handle global;
        tw_raw value;
        if (!find_export(c, "dropped", i, TW_HANDLE_GLOBAL, &global)) return lacks(c, "drops", i);
        tw_store_global_get(c->instance->store, &global, &value);
        drops[i] = value.bits;
    }
    c->registers.drops = drops;
    c->registers.drop_count = count;
    return TW_OK;
}

/* ---- tables ---- */

static tw_status take_table(capture *c, uint32_t index, tw_registers_table *out)
{
    tw_handle table, func;
    tw_store *store = c->instance->store;
    if (!find_export(c, "table", index, TW_HANDLE_TABLE, &table)) return lacks(c, "table", index);
    uint32_t size = (uint32_t)tw_store_table_size(store, &table), *funcs = TW_NEW_ARRAY(c->arena, uint32_t, size);
    TW_TRY_ALLOC(funcs, c->error);
    for (uint32_t i = 0; i < size; i++) {
        funcs[i] = TW_REGISTERS_NULL;
        if (tw_store_table_get(store, &table, i, &func) != TW_REFERENCE_FUNC) continue;
        funcs[i] = index_of(c, &func);
        if (funcs[i] == TW_REGISTERS_NULL)
            return tw_fail(c->error, TW_UNSUPPORTED, "slot %u of table %u holds a function from outside the module", i, index);
    }
    *out = (tw_registers_table){index, size, funcs};
    return TW_OK;
}

static tw_status take_tables(capture *c)
{
    const tw_wasm *wasm = &c->instance->module->wasm;
    tw_registers_table *tables = TW_NEW_ARRAY(c->arena, tw_registers_table, wasm->table_count);
    TW_TRY_ALLOC(tables, c->error);
    for (uint32_t i = 0; i < wasm->table_count; i++) TW_TRY(take_table(c, i, &tables[i]));
    c->registers.tables = tables;
    c->registers.table_count = wasm->table_count;
    return TW_OK;
}

/* ---- all ---- */

static tw_status check_files(const capture *c)
{
    char why[1000];
    if (tw_files_are_as_new(&c->instance->kept.files, why, sizeof why)) return TW_OK;
    return tw_fail(c->error, TW_UNSUPPORTED, "the instance can't be captured now: %s", why);
}

/* What another one writes there would be neither in the file nor out of it. */
static tw_status check_shared(const capture *c)
{
    unsigned memory = c->instance->lent ? atomic_load(&c->instance->lent->instances) - 1 : 0;
    unsigned others = memory ? memory : tw_lent_globals_shared(&c->instance->globals);
    if (!others) return TW_OK;
    return tw_fail(c->error, TW_UNSUPPORTED, "the instance can't be captured now: %s is shared with %u other instance%s",
                   memory ? "its memory" : "a global that it imports", others, others == 1 ? "" : "s");
}

static tw_status take(capture *c, tw_span memory)
{
    const tw_kept *kept = &c->instance->kept;
    TW_TRY(check_shared(c));
    TW_TRY(check_files(c));
    TW_TRY(learn_funcs(c));
    TW_TRY(take_globals(c));
    TW_TRY(take_tables(c));
    TW_TRY(take_drops(c));
    tw_runtime_module_hash(c->instance->module, c->registers.module_hash);
    c->registers.memory_size = memory.size;
    c->registers.max_memory = kept->max_memory;
    c->registers.has_wasi = kept->has_wasi;
    c->registers.args = kept->args, c->registers.env = kept->env, c->registers.dirs = kept->dirs;
    return TW_OK;
}

/* Where what is captured goes. */
typedef struct target {
    const tw_snapshot_writer_options *writer;
    tw_bytes *out;
    const char *path; /* instead */
} target;

static tw_status put(capture *c, const tw_snapshot_state *state, const target *to)
{
    tw_snap_draft draft = {0};
    TW_TRY(tw_runtime_check_lost(c->instance, c->error));
    if (!to->path) {
        TW_TRY(tw_snap_write(to->writer, state, to->out, c->error));
        return tw_runtime_check_lost(c->instance, c->error);
    }
    tw_status status = tw_snap_draft_make(to->writer, state, &draft, c->error);
    if (!status) status = tw_runtime_check_lost(c->instance, c->error);
    if (!status) status = tw_snap_draft_publish(&draft, to->path, c->error);
    tw_snap_draft_free(&draft);
    return status;
}

static tw_status write(capture *c, const target *to, const tw_capture_options *options)
{
    const tw_slot *slot = tw_runtime_slot(c->instance->module, c->instance->store);
    tw_span memory = slot ? (tw_span){slot->base, atomic_load(&slot->size)} : (tw_span){0};
    uint8_t *storage;
    tw_span buffers;
    TW_TRY(take(c, memory));
    TW_TRY(tw_own_buffers_take(&c->instance->buffers, c->arena, &c->registers, &storage, &buffers, c->error));
    tw_bytes blob = {0};
    tw_registers_write(&c->registers, &blob);
    tw_snapshot_state state = TW_SNAPSHOT_STATE_INIT;
    state.tenant = c->instance->tenant;
    state.instance = options->instance;
    state.sequence = options->sequence;
    state.has_created = options->has_created, state.created_unix_ms = options->created_unix_ms;
    state.has_nonce = options->has_nonce;
    memcpy(state.nonce, options->nonce, sizeof state.nonce);
    state.wasm_memory = memory;
    state.device_memory = buffers;
    state.registers = (tw_span){(const uint8_t *)blob.data, blob.size};
    tw_status status = blob.failed ? tw_fail_memory(c->error) : put(c, &state, to);
    tw_bytes_free(&blob);
    free(storage);
    return status;
}

/* As a run of its own: no call may begin meanwhile, and one that goes on says so. */
tw_status tw_runtime_capture(tw_instance *instance, const tw_snapshot_writer_options *writer, const tw_capture_options *options,
                             tw_bytes *out, const char *path, tw_error *error)
{
    if (!tw_runtime_is_capturable(instance))
        return tw_fail(error, TW_INVALID_ARGUMENT, "the instance wasn't spawned to be captured: set `capturable` in its options");
    TW_TRY(tw_runtime_begin_run(instance, 0, error));
    tw_arena arena;
    tw_arena_init(&arena, TW_ARENA_NO_LIMIT);
    capture c = {.instance = instance, .arena = &arena, .error = error};
    const target to = {writer, out, path};
    tw_status status = write(&c, &to, options);
    tw_arena_free(&arena);
    tw_runtime_end_run(instance);
    return status;
}
