/* SPDX-License-Identifier: Apache-2.0 */
/* An instance made fresh again. Its baseline, what globals and tables hold between tw:init and the start function, is taken with
 * handles, so that a reset looks nothing up. Tables are put back only where the module's code can change one. */
#include <stdlib.h>
#include <string.h>

#include "instance/state.h"

/* ---- can the code change a table? ---- */

static bool changes_table(tw_op op)
{
    return op == TW_OP_TABLE_SET || op == TW_OP_TABLE_GROW || op == TW_OP_TABLE_FILL || op == TW_OP_TABLE_COPY ||
           op == TW_OP_TABLE_INIT;
}

static bool body_changes_tables(const tw_wasm *wasm, uint32_t func)
{
    tw_reader reader;
    tw_instr instr;
    uint32_t locals;
    if (tw_wasm_code(wasm, func, &reader, &locals, NULL) != TW_OK) return true;
    while (reader.at != reader.end)
        if (tw_wasm_next(&reader, &instr, NULL) != TW_OK || changes_table(instr.op)) return true;
    return false;
}

bool tw_runtime_changes_tables(const tw_module *module)
{
    const tw_wasm *wasm = &module->wasm;
    for (uint32_t i = wasm->imported_funcs; i < wasm->func_count && wasm->table_count; i++)
        if (body_changes_tables(wasm, i)) return true;
    return false;
}

/* ---- the baseline ---- */

static bool find(tw_instance *instance, const char *what, uint32_t number, tw_handle_kind kind, tw_handle *out)
{
    return tw_own_export(instance->store, what, number, kind, out);
}

static tw_status lacks(tw_error *error) { return tw_fail(error, TW_INTERNAL, "the rewritten module lacks an export of its state"); }

static tw_status take_globals(tw_instance *instance, tw_baseline *b, tw_error *error)
{
    const tw_wasm *wasm = &instance->module->wasm;
    b->globals = TW_NEW_ARRAY(&instance->kept.arena, tw_baseline_global, wasm->global_count);
    TW_TRY_ALLOC(b->globals, error);
    for (uint32_t i = wasm->imported_globals; i < wasm->global_count; i++) { /* imported ones are the host's */
        if (!wasm->globals[i].type.is_mutable) continue;
        tw_baseline_global *g = &b->globals[b->global_count++];
        g->type = (uint8_t)wasm->globals[i].type.type;
        if (!find(instance, "global", i, TW_HANDLE_GLOBAL, &g->handle)) return lacks(error);
        if (g->type != TW_FUNCREF) tw_store_global_get(instance->store, &g->handle, &g->value);
        else g->has_func = tw_store_global_get_func(instance->store, &g->handle, &g->func) == TW_REFERENCE_FUNC;
    }
    return TW_OK;
}

static tw_status take_table(tw_instance *instance, uint32_t index, tw_baseline_table *t, tw_error *error)
{
    if (!find(instance, "table", index, TW_HANDLE_TABLE, &t->handle)) return lacks(error);
    t->size = (uint32_t)tw_store_table_size(instance->store, &t->handle);
    t->funcs = TW_NEW_ARRAY(&instance->kept.arena, tw_handle, t->size);
    t->has_func = TW_NEW_ARRAY(&instance->kept.arena, bool, t->size);
    TW_TRY_ALLOC(t->funcs && t->has_func, error);
    for (uint32_t i = 0; i < t->size; i++)
        t->has_func[i] = tw_store_table_get(instance->store, &t->handle, i, &t->funcs[i]) == TW_REFERENCE_FUNC;
    return TW_OK;
}

static tw_status take_tables(tw_instance *instance, tw_baseline *b, tw_error *error)
{
    const tw_wasm *wasm = &instance->module->wasm;
    if (!b->changes_tables) return TW_OK;
    b->tables = TW_NEW_ARRAY(&instance->kept.arena, tw_baseline_table, wasm->table_count);
    TW_TRY_ALLOC(b->tables, error);
    for (; b->table_count < wasm->table_count; b->table_count++)
        TW_TRY(take_table(instance, b->table_count, &b->tables[b->table_count], error));
    return TW_OK;
}

static tw_status take_drops(tw_instance *instance, tw_baseline *b, tw_error *error)
{
    uint32_t words = (instance->form->rewrite->drop_count + 63) / 64;
    b->drops = TW_NEW_ARRAY(&instance->kept.arena, tw_handle, words);
    b->dropped = TW_NEW_ARRAY(&instance->kept.arena, uint64_t, words);
    TW_TRY_ALLOC(b->drops && b->dropped, error);
    for (; b->drop_words < words; b->drop_words++) {
        tw_raw value;
        if (!find(instance, "dropped", b->drop_words, TW_HANDLE_GLOBAL, &b->drops[b->drop_words])) return lacks(error);
        tw_store_global_get(instance->store, &b->drops[b->drop_words], &value);
        b->dropped[b->drop_words] = value.bits;
    }
    return TW_OK;
}

static tw_status take_memory(tw_instance *instance, tw_baseline *b, tw_error *error)
{
    b->memory = tw_runtime_slot(instance->module, instance->store);
    if (!b->memory) return TW_OK;
    if (!tw_store_export(instance->store, "tw:linear", TW_HANDLE_MEMORY, &b->linear)) return lacks(error);
    if (b->memory->image) return TW_OK;
    tw_image *image;
    TW_TRY(tw_runtime_need_seed(instance->module, instance->tenant, b->memory, &image, error));
    tw_slot_adopt_image(b->memory, image);
    if (image->bytes >= instance->module->engine->least_image)
        tw_slot_map_image(b->memory); /* so that its data isn't private from the start. If it can't be, nothing is lost */
    tw_image_release(image);
    return TW_OK;
}

tw_status tw_runtime_take_baseline(tw_instance *instance, tw_error *error)
{
    tw_baseline *b = &instance->baseline;
    b->changes_tables = tw_runtime_changes_tables(instance->module);
    b->has_start = tw_store_export(instance->store, instance->put_back ? TW_AFTER_RESTORE : "tw:start", TW_HANDLE_FUNC, &b->start);
    TW_TRY(take_globals(instance, b, error));
    TW_TRY(take_tables(instance, b, error));
    TW_TRY(take_drops(instance, b, error));
    return take_memory(instance, b, error);
}

/* ---- back to it ---- */

static bool has_dropped(const tw_instance *instance)
{
    for (uint32_t i = 0; i < instance->baseline.drop_words; i++) {
        tw_raw value;
        tw_store_global_get(instance->store, &instance->baseline.drops[i], &value);
        if (value.bits != instance->baseline.dropped[i]) return true;
    }
    return false;
}

static bool put_globals(const tw_instance *instance)
{
    bool ok = true;
    for (uint32_t i = 0; i < instance->baseline.global_count; i++) {
        const tw_baseline_global *g = &instance->baseline.globals[i];
        if (g->type != TW_FUNCREF) ok &= tw_store_global_set(instance->store, &g->handle, g->type, &g->value);
        else ok &= tw_store_global_set_func(instance->store, &g->handle, g->has_func ? &g->func : NULL);
    }
    return ok;
}

/* A table can't be made smaller. */
static bool put_tables(const tw_instance *instance)
{
    for (uint32_t t = 0; t < instance->baseline.table_count; t++) {
        const tw_baseline_table *table = &instance->baseline.tables[t];
        if (tw_store_table_size(instance->store, &table->handle) != table->size) return false;
        for (uint32_t i = 0; i < table->size; i++)
            if (!tw_store_table_set(instance->store, &table->handle, i, table->has_func[i] ? &table->funcs[i] : NULL)) return false;
    }
    return true;
}

/* After its size has become smaller the engine has to look again. */
static bool put_memory(const tw_instance *instance)
{
    tw_slot *memory = instance->baseline.memory;
    if (!memory) return true;
    bool grown = atomic_load(&memory->size) != memory->image->size;
    return tw_reset(memory, instance->module->engine->reset_way) &&
           (!grown || tw_store_memory_grow(instance->store, &instance->baseline.linear, 0));
}

/* A new instance's folders would be others where a path leads elsewhere by now. */
static bool look_at_folders(const tw_instance *instance, const tw_wasi_options *options)
{
    bool same = true;
    for (size_t i = 0; i < options->dir_count; i++) {
        tw_folder *seen = &instance->kept.folders[i], now = tw_folder_at(options->dirs[i].host);
        same &= now.inode && now.inode == seen->inode && now.device == seen->device;
        *seen = now;
    }
    return same;
}

/* What a guest may have changed of the engine's WASI are its descriptors, and those are watched. Otherwise what it had open is closed,
 * and the embedder's files for its output: nobody else may want to wait for them. */
bool tw_runtime_close_wasi(tw_instance *instance)
{
    static const tw_wasi_setup none;
    if (!instance->kept.has_wasi || (!instance->kept.writes_files && tw_files_go_on_as_new(&instance->kept.files))) return true;
    instance->kept.is_closed = true;
    return tw_store_set_wasi(instance->store, &none, NULL) == TW_OK;
}

static tw_status set_up_wasi(tw_instance *instance, const tw_wasi_options *options, tw_error *error)
{
    tw_wasi_setup setup;
    tw_status status = tw_runtime_wasi_setup(options, &setup, error);
    if (status == TW_OK) status = tw_store_set_wasi(instance->store, &setup, error);
    tw_runtime_wasi_free(&setup);
    instance->kept.is_closed = status != TW_OK;
    return status;
}

static tw_status open_wasi(tw_instance *instance, const tw_wasi_options *options, tw_error *error)
{
    bool same = look_at_folders(instance, options);
    if (!same || instance->kept.is_closed) TW_TRY(set_up_wasi(instance, options, error));
    tw_files_free(&instance->kept.files);
    tw_runtime_begin_wasi(instance, options);
    return TW_OK;
}

/* Who had the instance may have freed, changed or moved them: new ones are made. */
static bool put_buffers(tw_instance *instance, const tw_put_back *from)
{
    tw_own_buffers_free(&instance->buffers);
    return !from || tw_own_buffers_put(&instance->buffers, from->where, instance->tenant, from->registers, from->buffers, NULL) == TW_OK;
}

bool tw_runtime_reset(tw_instance *instance, const tw_put_back *from)
{
    const tw_slot *memory = instance->baseline.memory;
    if (instance->spoiled || has_dropped(instance) || (memory && atomic_load(&memory->lost))) return false;
    if (tw_stop_begin(&instance->stopper, 0, NULL) != TW_OK) return false; /* terminated, or in a call */
    bool ok = put_tables(instance) && put_globals(instance) && put_memory(instance) && tw_runtime_close_wasi(instance) && put_buffers(instance, from);
    instance->exit_code = 0;
    return tw_stop_end(&instance->stopper) == TW_STOP_NONE && ok;
}

tw_status tw_runtime_start_again(tw_instance *instance, const tw_wasi_options *wasi, tw_error *error)
{
    tw_ending ending;
    if (wasi) TW_TRY(open_wasi(instance, wasi, error));
    if (!instance->baseline.has_start) return TW_OK;
    TW_TRY(tw_runtime_begin_run(instance, instance->timeout_ns, error));
    tw_status status = tw_store_call(instance->store, &instance->baseline.start, NULL, 0, &ending);
    tw_stop reason = tw_runtime_end_run(instance);
    TW_TRY(tw_runtime_check_lost(instance, error));
    return status == TW_OK ? TW_OK : tw_runtime_ending(instance, &ending, reason, error);
}
