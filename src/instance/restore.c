/* SPDX-License-Identifier: Apache-2.0 */
#include <inttypes.h>
#include <string.h>

#include "instance/state.h"
#include "snapshot/snapshot.h"

#define PAGE 65536u

/* ---- does it fit the module? Everything is looked at before an instance is made ---- */

static tw_status doesnt_fit(tw_error *error, const char *what)
{
    return tw_fail(error, TW_MALFORMED, "the snapshot's registers don't fit the module: %s", what);
}

static uint32_t reference_in(const uint8_t *value)
{
    return (uint32_t)value[0] | (uint32_t)value[1] << 8 | (uint32_t)value[2] << 16 | (uint32_t)value[3] << 24;
}

static tw_status check_globals(const tw_wasm *wasm, const tw_registers *r, tw_error *error)
{
    uint32_t at = 0;
    for (uint32_t i = 0; i < wasm->global_count; i++) {
        if (!wasm->globals[i].type.is_mutable && i >= wasm->imported_globals) continue;
        if (at == r->global_count || r->globals[at].index != i || r->globals[at].type != wasm->globals[i].type.type)
            return doesnt_fit(error, "other globals");
        at++;
    }
    return at == r->global_count ? TW_OK : doesnt_fit(error, "other globals");
}

static tw_status check_tables(const tw_wasm *wasm, const tw_registers *r, tw_error *error)
{
    if (r->table_count != wasm->table_count) return doesnt_fit(error, "other tables");
    for (uint32_t i = 0; i < r->table_count; i++) {
        const tw_limits *limits = &wasm->tables[i].limits;
        if (r->tables[i].index != i || r->tables[i].size < limits->minimum ||
            (limits->has_maximum && r->tables[i].size > limits->maximum))
            return doesnt_fit(error, "a table of another size");
    }
    return TW_OK;
}

static tw_status check_memory(const tw_wasm *wasm, const tw_registers *r, tw_span memory, tw_error *error)
{
    if (r->memory_size != memory.size || memory.size % PAGE) return doesnt_fit(error, "a memory of another size");
    if (!wasm->memory_count) return memory.size ? doesnt_fit(error, "a memory") : TW_OK;
    const tw_limits *limits = &wasm->memories[0];
    uint64_t pages = memory.size / PAGE;
    if (pages < limits->minimum || pages > PAGE || (limits->has_maximum && pages > limits->maximum))
        return doesnt_fit(error, "a memory outside of the module's limits");
    return TW_OK;
}

static tw_status check_hash(tw_module *module, const tw_registers *r, tw_error *error)
{
    uint8_t hash[TW_REGISTERS_HASH];
    tw_runtime_module_hash(module, hash);
    if (!memcmp(hash, r->module_hash, sizeof hash)) return TW_OK;
    return tw_fail(error, TW_INVALID_ARGUMENT, "the snapshot is of another module: its BLAKE3 begins with %02x%02x%02x%02x, this one's "
                   "with %02x%02x%02x%02x", r->module_hash[0], r->module_hash[1], r->module_hash[2], r->module_hash[3], hash[0],
                   hash[1], hash[2], hash[3]);
}

static tw_status check_after(const tw_module *module, tw_error *error)
{
    uint32_t index = tw_runtime_find_export(module, TW_AFTER_RESTORE);
    if (index == UINT32_MAX || module->exports[index].kind != TW_EXPORT_FUNC) return TW_OK;
    if (!module->exports[index].param_count && !module->exports[index].result_count) return TW_OK;
    return tw_fail(error, TW_INVALID, "the module's " TW_AFTER_RESTORE " must have neither parameters nor results");
}

tw_status tw_runtime_check_state(tw_module *module, const tw_snapshot *snapshot, const tw_registers *r, tw_error *error)
{
    TW_TRY(check_hash(module, r, error));
    TW_TRY(tw_own_buffers_check(r, snapshot->device_memory, error));
    TW_TRY(check_globals(&module->wasm, r, error));
    TW_TRY(check_tables(&module->wasm, r, error));
    TW_TRY(check_memory(&module->wasm, r, snapshot->wasm_memory, error));
    return check_after(module, error);
}

/* ---- WASI: the guest is told what it was told; the world outside is the host's ---- */

static const tw_wasi_dir *find_dir(const tw_wasi_options *options, const char *guest)
{
    for (size_t i = 0; i < options->dir_count; i++)
        if (!strcmp(options->dirs[i].guest, guest)) return &options->dirs[i];
    return NULL;
}

static tw_status map_dirs(const tw_registers *r, const tw_wasi_options *given, tw_arena *arena, tw_wasi_options *out,
                          tw_error *error)
{
    tw_wasi_dir *dirs = TW_NEW_ARRAY(arena, tw_wasi_dir, r->dirs.count);
    TW_TRY_ALLOC(dirs, error);
    for (uint32_t i = 0; i < r->dirs.count; i++) {
        const tw_wasi_dir *dir = find_dir(given, r->dirs.items[i]);
        if (!dir)
            return tw_fail(error, TW_INVALID_ARGUMENT, "the snapshot's guest has the directory \"%.200s\": map one to that name",
                           r->dirs.items[i]);
        dirs[i] = *dir;
    }
    for (size_t i = 0; i < given->dir_count; i++) {
        uint32_t j = 0;
        while (j < r->dirs.count && strcmp(given->dirs[i].guest, r->dirs.items[j])) j++;
        if (j == r->dirs.count)
            return tw_fail(error, TW_INVALID_ARGUMENT, "the snapshot's guest has no directory \"%.200s\", and can't be given one now",
                           given->dirs[i].guest);
    }
    out->dirs = dirs;
    out->dir_count = r->dirs.count;
    return TW_OK;
}

static bool imports_wasi(const tw_module *module)
{
    for (uint32_t i = 0; i < module->import_count; i++)
        if (!strcmp(module->imports[i].module, "wasi_snapshot_preview1")) return true;
    return false;
}

static tw_status set_up_wasi(const tw_registers *r, const tw_wasi_options *given, tw_arena *arena, tw_wasi_options *out,
                             tw_error *error)
{
    if (!given)
        return tw_fail(error, TW_INVALID_ARGUMENT, "the snapshot's guest has WASI: give options for its streams and directories");
    if (given->arg_count || given->env_count)
        return tw_fail(error, TW_INVALID_ARGUMENT, "a restored guest has the arguments and the environment of the snapshot");
    *out = *given;
    out->args = r->args.items, out->arg_count = r->args.count;
    out->env = r->env.items, out->env_count = r->env.count;
    return map_dirs(r, given, arena, out, error);
}

/* ---- the spawn ---- */

/* An image of files: its pages are mapped, not copied. */
static tw_status find_image(const tw_snapshot *snapshot, tw_arena *arena, tw_image **out, tw_error *error)
{
    const tw_snap_backing *backing = tw_snap_backing_of(snapshot);
    if (!backing || !snapshot->wasm_memory.size) return TW_OK;
    tw_extent *extents = TW_NEW_ARRAY(arena, tw_extent, (size_t)backing->run_count + 1);
    TW_TRY_ALLOC(extents, error);
    for (uint32_t i = 0; i < backing->run_count; i++) {
        const tw_snap_run *run = &backing->runs[i];
        extents[i] = (tw_extent){(size_t)run->at, (size_t)run->size, (size_t)run->in_file, run->file};
    }
    return tw_image_of_files(backing->files, backing->file_count, snapshot->wasm_memory.size, extents, backing->run_count, out, error);
}

tw_status tw_runtime_prepare_restoring(tw_module *module, const tw_snapshot *snapshot, const tw_spawn_options *given, tw_arena *arena,
                                       tw_restoring *out, tw_error *error)
{
    tw_registers *r = &out->registers;
    *out = (tw_restoring){.options = *given};
    if (given->tenant != snapshot->tenant)
        return tw_fail(error, TW_UNTRUSTED, "the snapshot is of tenant 0x%" PRIx64 ", not of 0x%" PRIx64, snapshot->tenant, given->tenant);
    TW_TRY(tw_registers_read(snapshot->registers, arena, r, error));
    TW_TRY(tw_runtime_check_state(module, snapshot, r, error));
    bool has_wasi = r->has_wasi && (given->wasi || imports_wasi(module)); /* who doesn't import it can do without */
    if (has_wasi) TW_TRY(set_up_wasi(r, given->wasi, arena, &out->wasi, error));
    out->options.wasi = has_wasi ? &out->wasi : NULL;
    out->options.capturable = true;
    if (r->max_memory && (!out->options.max_memory || out->options.max_memory > r->max_memory)) out->options.max_memory = r->max_memory;
    out->from = (tw_put_back){r, snapshot->wasm_memory, NULL, tw_snap_present_of(snapshot), snapshot->device_memory, given->buffers};
    TW_TRY(find_image(snapshot, arena, &out->from.image, error));
    bool has_memory = out->from.image || snapshot->wasm_memory.data || !snapshot->wasm_memory.size;
    if (has_memory && (snapshot->device_memory.data || !snapshot->device_memory.size)) return TW_OK;
    return tw_fail(error, TW_INVALID_ARGUMENT, "a memory of the snapshot has a size and no data: it was only verified");
}

void tw_runtime_stop_restoring(tw_restoring *restoring)
{
    tw_image_release(restoring->from.image);
    restoring->from.image = NULL;
}

tw_status tw_runtime_restore(tw_module *module, const tw_snapshot *snapshot, const tw_spawn_options *options,
                             tw_instance **out, tw_error *error)
{
    tw_arena arena;
    tw_restoring restoring;
    tw_arena_init(&arena, TW_ARENA_NO_LIMIT);
    tw_status status = tw_runtime_prepare_restoring(module, snapshot, options, &arena, &restoring, error);
    if (!status) status = tw_runtime_spawn(module, &restoring.options, &restoring.from, out, error);
    tw_runtime_stop_restoring(&restoring);
    tw_arena_free(&arena);
    return status;
}

/* ---- in the new instance ---- */

static tw_status find(tw_instance *instance, const char *what, uint32_t number, tw_handle_kind kind, tw_handle *out,
                      tw_error *error)
{
    if (tw_own_export(instance->store, what, number, kind, out)) return TW_OK;
    return doesnt_fit(error, kind == TW_HANDLE_FUNC ? "a reference to a function that none can be had of" : "something is missing");
}

/* Pages that are all zero aren't touched: they stay free. Nor are blocks read that are known to be: that alone would be most of the
 * time of a large memory that is almost empty. */
static void copy_pages(uint8_t *to, tw_span from, const uint8_t *present)
{
    static const uint8_t zero[4096];
    for (size_t at = 0, block = 0; at < from.size; at += PAGE, block++) {
        if (present && !(present[block / 8] >> block % 8 & 1)) continue;
        for (size_t page = at; page < at + PAGE; page += sizeof zero)
            if (memcmp(from.data + page, zero, sizeof zero)) memcpy(to + page, from.data + page, sizeof zero);
    }
}

/* The host's memory may hold anything, and can't be made smaller. */
static tw_status check_lent(const tw_instance *instance, tw_span from, tw_error *error)
{
    if (!instance->lent) return TW_OK;
    if (atomic_load(&instance->lent->instances) > 1)
        return tw_fail(error, TW_INVALID_ARGUMENT, "the memory that is offered belongs to another instance, too: a restore would overwrite it");
    if (atomic_load(&instance->lent->slot->size) > from.size)
        return tw_fail(error, TW_INVALID_ARGUMENT, "the memory that is offered has more than the snapshot's %zu bytes, and can't be made "
                       "smaller", from.size);
    return TW_OK;
}

/* What it held before has to go, and its pages stay the host's: nothing is mapped over them. */
static tw_status fill_lent(const tw_slot *slot, const tw_put_back *from, tw_error *error)
{
    if (!from->memory.data && from->memory.size) return tw_image_copy(from->image, slot->base, error);
    if (from->memory.size) memcpy(slot->base, from->memory.data, from->memory.size);
    return TW_OK;
}

/* Where the process has no mappings left for it, it is copied. */
static tw_status put_image(tw_slot *slot, tw_image *image, tw_error *error)
{
    tw_status status = tw_slot_put_image(slot, image, error);
    if (status != TW_LIMIT || slot->image) return status;
    TW_TRY(tw_image_copy(image, slot->base, error));
    tw_slot_adopt_image(slot, image);
    return TW_OK;
}

static tw_status put_memory(tw_instance *instance, const tw_put_back *from, tw_error *error)
{
    tw_handle memory;
    tw_slot *slot = tw_runtime_slot(instance->module, instance->store);
    if (!slot) return TW_OK;
    TW_TRY(check_lent(instance, from->memory, error));
    uint64_t more = (from->memory.size - atomic_load(&slot->size)) / PAGE;
    if (!tw_store_export(instance->store, "tw:linear", TW_HANDLE_MEMORY, &memory)) return doesnt_fit(error, "no memory");
    if (more && !tw_store_memory_grow(instance->store, &memory, more))
        return tw_fail(error, TW_LIMIT, "the snapshot's memory of %zu bytes is over a limit of the instance, of its tenant or of the process", from->memory.size);
    if (instance->lent) return fill_lent(slot, from, error);
    if (from->image) return put_image(slot, from->image, error);
    copy_pages(slot->base, from->memory, from->present);
    return TW_OK;
}

/* What was made of them, segments' places and other globals, is in the state. */
static tw_status check_lent_globals(const tw_instance *instance, const tw_registers *r, tw_error *error)
{
    const tw_lent_globals *lent = &instance->globals;
    if (tw_lent_globals_shared(lent))
        return tw_fail(error, TW_INVALID_ARGUMENT, "a global that is offered belongs to another instance, too: a restore would overwrite it");
    for (uint32_t i = 0; i < lent->count; i++) {
        const tw_store_global *offered = &lent->made[i];
        uint8_t value[sizeof(tw_raw)];
        memcpy(value, &offered->value, sizeof value);
        if (offered->is_mutable || (offered->type == TW_FUNCREF ? reference_in(r->globals[i].value) == TW_REGISTERS_NULL
                                                                : !memcmp(value, r->globals[i].value, sizeof value))) continue;
        return tw_fail(error, TW_INVALID_ARGUMENT, "the snapshot's guest imported global %u with another value than is offered, and it is immutable", i);
    }
    return TW_OK;
}

static tw_status put_global(tw_instance *instance, const tw_registers_global *from, tw_error *error)
{
    tw_handle global, func;
    tw_raw value;
    TW_TRY(find(instance, "global", from->index, TW_HANDLE_GLOBAL, &global, error));
    memcpy(&value, from->value, sizeof value);
    bool done;
    if (from->type == TW_FUNCREF) {
        uint32_t index = reference_in(from->value);
        if (index != TW_REGISTERS_NULL) TW_TRY(find(instance, "func", index, TW_HANDLE_FUNC, &func, error));
        done = tw_store_global_set_func(instance->store, &global, index == TW_REGISTERS_NULL ? NULL : &func);
    } else {
        done = tw_store_global_set(instance->store, &global, from->type, &value);
    }
    return done ? TW_OK : doesnt_fit(error, "a global that can't be set");
}

/* Neighbours that are the same function are found once. */
static tw_status put_table(tw_instance *instance, const tw_registers_table *from, tw_error *error)
{
    tw_handle table, func;
    uint32_t known = TW_REGISTERS_NULL;
    TW_TRY(find(instance, "table", from->index, TW_HANDLE_TABLE, &table, error));
    uint64_t size = tw_store_table_size(instance->store, &table);
    if (size > from->size)
        return tw_fail(error, TW_INVALID_ARGUMENT, "the table that is offered has more than the snapshot's %u elements, and can't be made smaller", from->size);
    if (from->size > size && !tw_store_table_grow(instance->store, &table, from->size - size))
        return tw_fail(error, TW_LIMIT, "table %u of the snapshot, of %u elements, is over a limit here", from->index, from->size);
    for (uint32_t i = 0; i < from->size; i++) {
        if (from->funcs[i] == TW_REGISTERS_NULL) {
            if (from->index < instance->tables.count) tw_store_table_set(instance->store, &table, i, NULL); /* new tables are */
            continue;
        }
        if (from->funcs[i] != known) TW_TRY(find(instance, "func", from->funcs[i], TW_HANDLE_FUNC, &func, error));
        known = from->funcs[i];
        if (!tw_store_table_set(instance->store, &table, i, &func)) return doesnt_fit(error, "a table entry that can't be set");
    }
    return TW_OK;
}

static tw_status put_drops(tw_instance *instance, const tw_registers *r, tw_error *error)
{
    if (r->drop_count != instance->form->rewrite->drop_count) return doesnt_fit(error, "other segments are dropped");
    for (uint32_t i = 0; i * 64 < r->drop_count; i++) {
        tw_handle global;
        TW_TRY(find(instance, "dropped", i, TW_HANDLE_GLOBAL, &global, error));
        if (!tw_store_global_set_i64(instance->store, &global, (int64_t)r->drops[i])) return doesnt_fit(error, "drops");
    }
    return TW_OK;
}

tw_status tw_runtime_put_back(tw_instance *instance, const tw_put_back *from, tw_error *error)
{
    const tw_registers *r = from->registers;
    TW_TRY(tw_own_buffers_put(&instance->buffers, from->where, instance->tenant, r, from->buffers, error));
    TW_TRY(check_lent_globals(instance, r, error));
    TW_TRY(put_memory(instance, from, error));
    for (uint32_t i = 0; i < r->global_count; i++)
        if (instance->module->wasm.globals[r->globals[i].index].type.is_mutable) TW_TRY(put_global(instance, &r->globals[i], error));
    for (uint32_t i = 0; i < r->table_count; i++) TW_TRY(put_table(instance, &r->tables[i], error));
    return put_drops(instance, r, error);
}
