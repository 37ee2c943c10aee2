/* SPDX-License-Identifier: Apache-2.0 */
#include <stdlib.h>
#include <string.h>

#include "instance/state.h"
#include "os/clock.h"

#define FEW 32 /* raw values kept on the stack */

/* ---- spawn and free ---- */

static tw_status allocate(tw_instance *instance, tw_error *error)
{
    size_t imports = instance->module->import_count + 1u, exports = instance->module->export_count + 1u;
    instance->bindings = calloc(imports, sizeof *instance->bindings);
    instance->imports = calloc(imports, sizeof *instance->imports);
    instance->handles = calloc(exports, sizeof *instance->handles);
    instance->has_handle = calloc(exports, sizeof *instance->has_handle);
    TW_TRY_ALLOC(instance->bindings && instance->imports && instance->handles && instance->has_handle, error);
    return TW_OK;
}

/* The host's was there before. */
static void on_memory(void *owner, tw_slot *slot)
{
    tw_instance *instance = owner;
    if (!slot->lent) tw_stop_add_slot(&instance->stopper, slot);
}

static tw_status check_memory(const tw_module *module, uint64_t limit, tw_error *error)
{
    const tw_wasm *wasm = &module->wasm;
    if (wasm->memory_count && wasm->memories[0].minimum > limit / 65536)
        return tw_fail(error, TW_LIMIT, "the module's memory begins with %llu bytes, over the limit of %llu",
                       (unsigned long long)wasm->memories[0].minimum * 65536, (unsigned long long)limit);
    return TW_OK;
}

tw_status tw_runtime_begin_run(tw_instance *instance, uint64_t timeout_ns, tw_error *error)
{
    TW_TRY(tw_stop_begin(&instance->stopper, timeout_ns, error));
    tw_status status = tw_lent_globals_hold(&instance->globals, instance->store, error);
    if (status != TW_OK) tw_stop_end(&instance->stopper);
    return status;
}

tw_stop tw_runtime_end_run(tw_instance *instance)
{
    tw_lent_globals_let_go(&instance->globals, instance->store);
    return tw_stop_end(&instance->stopper);
}

static tw_status call_first(tw_instance *instance, const char *name, tw_ending *ending)
{
    tw_handle func;
    if (!tw_store_export(instance->store, name, TW_HANDLE_FUNC, &func)) return TW_OK;
    return tw_store_call(instance->store, &func, NULL, 0, ending);
}

static tw_status begin_restored(tw_instance *instance, tw_ending *ending)
{
    ending->from_host = true;
    ending->status = tw_runtime_put_back(instance, instance->put_back, &ending->error);
    TW_TRY(ending->status);
    TW_TRY(call_first(instance, "tw:drop", ending));
    if (!instance->pooled) return call_first(instance, TW_AFTER_RESTORE, ending);
    ending->from_host = true;
    return ending->status = tw_runtime_take_baseline(instance, &ending->error);
}

static tw_status initialise(tw_instance *instance, tw_ending *ending)
{
    bool seeded = tw_store_is_seeded(instance->store);
    TW_TRY(call_first(instance, seeded ? "tw:seeded" : "tw:init", ending));
    if (!seeded && !instance->lent) tw_runtime_keep_seed(instance->module, instance->tenant, tw_runtime_slot(instance->module, instance->store));
    ending->from_host = true;
    return ending->status = instance->pooled ? tw_runtime_take_baseline(instance, &ending->error) : TW_OK;
}

/* Stubs come before any guest code; what would have run on instantiation was put off for that, or for a restored state. */
static tw_status begin(tw_instance *instance, tw_ending *ending)
{
    ending->frame_count = 0;
    ending->from_host = true;
    if (instance->stubs) ending->status = tw_stubs_attach(instance->stubs, instance->store, &ending->error);
    TW_TRY(ending->status);
    if (instance->lent && !tw_store_export(instance->store, "tw:linear", TW_HANDLE_MEMORY, &instance->linear))
        return ending->status = tw_fail(&ending->error, TW_INTERNAL, "the rewritten module lacks its memory's export");
    if (instance->put_back) return begin_restored(instance, ending);
    if (tw_runtime_is_capturable(instance)) TW_TRY(initialise(instance, ending));
    if (instance->pooled) return TW_OK;
    return instance->stubs || tw_runtime_is_capturable(instance) ? call_first(instance, "tw:start", ending) : TW_OK;
}

/* Active segments and the start function run under the time limit, too. */
static tw_status instantiate(tw_instance *instance, tw_link *link, tw_store_options *options, tw_error *error)
{
    tw_ending ending;
    TW_TRY(tw_runtime_begin_run(instance, instance->timeout_ns, error));
    options->globals = instance->globals.made;
    options->global_count = instance->globals.count;
    options->tables = instance->tables.made;
    options->table_count = instance->tables.count;
    options->on_imports = tw_runtime_on_imports;
    tw_status status = tw_store_new(link, options, &instance->store, &ending);
    if (status == TW_OK) status = begin(instance, &ending);
    tw_stop reason = tw_runtime_end_run(instance);
    TW_TRY(tw_runtime_check_lost(instance, error));
    return status == TW_OK ? TW_OK : tw_runtime_ending(instance, &ending, reason, error);
}

static tw_status prepare_offload(tw_instance *instance, const tw_spawn_options *options, const tw_form *form,
                                 tw_error *error)
{
    tw_engine *engine = instance->module->engine;
    tw_dispatch_options dispatch = {
        .mode = engine->options.offload == TW_OFFLOAD_FORCE ? TW_DISPATCH_FORCE : TW_DISPATCH_AUTO,
        .kind = engine->options.dispatcher == TW_DISPATCHER_ECHO   ? TW_DISPATCH_ECHO
                : engine->options.dispatcher == TW_DISPATCHER_TRAP ? TW_DISPATCH_TRAP : TW_DISPATCH_REAL,
        .threads = tw_runtime_engine_threads(engine), .canonical_nan = engine->options.canonical_nan,
        .tenant = options->tenant, .cache = options->kernel_cache->cache, .stop = &instance->stopper.reason};
    TW_TRY(tw_runtime_engine_workers(engine, &dispatch.compiler, &dispatch.device, error));
    return tw_stubs_new(form->plan, &dispatch, &instance->stopper, &instance->stubs, error);
}

/* Without a compile worker the guest runs as it came. */
static tw_status choose_form(tw_instance *instance, const tw_spawn_options *options, tw_form **out, tw_error *error)
{
    tw_error why;
    instance->offloads = options->kernel_cache && instance->module->engine->options.offload != TW_OFFLOAD_OFF;
    unsigned kind = (instance->offloads ? TW_FORM_OFFLOADS : 0) | (options->capturable || instance->module->wasm.imported_memories ? TW_FORM_CAPTURABLE : 0);
    TW_TRY(tw_runtime_form(instance->module, kind, out, error));
    tw_status status = (*out)->plan ? prepare_offload(instance, options, *out, &why) : TW_OK;
    if (status == TW_NO_MEMORY) return tw_fail_memory(error);
    if (status != TW_OK) TW_TRY(tw_runtime_form_without_offload(instance->module, kind, why.message, out, error));
    instance->form = *out;
    return TW_OK;
}

static tw_status set_up_and_instantiate(tw_instance *instance, tw_link *link, const tw_wasi_options *wasi,
                                        tw_store_options *store, tw_error *error)
{
    tw_wasi_setup setup;
    if (!wasi) return instantiate(instance, link, store, error);
    tw_status status = tw_runtime_wasi_setup(wasi, &setup, error);
    store->wasi = &setup;
    if (status == TW_OK) status = instantiate(instance, link, store, error);
    tw_runtime_wasi_free(&setup);
    return status;
}

static tw_status link_and_instantiate(tw_instance *instance, const tw_spawn_options *options, bool *is_wasi,
                                      tw_error *error)
{
    const tw_engine_options *engine = &instance->module->engine->options;
    tw_store_options store = {.bindings = instance->bindings, .owner = instance, .on_memory = on_memory,
                              .max_memory = options->max_memory && options->max_memory < engine->max_memory
                                                ? options->max_memory : engine->max_memory,
                              .max_table = engine->max_table, .account = instance->account, .passes_path_open = options->capturable};
    TW_TRY(check_memory(instance->module, store.max_memory, error));
    instance->kept.max_memory = store.max_memory;
    if (options->capturable && options->wasi) TW_TRY(tw_runtime_keep_wasi(instance, options->wasi, error));
    TW_TRY(tw_runtime_resolve(instance, options, is_wasi, error));
    tw_form *form;
    tw_link *link;
    TW_TRY(choose_form(instance, options, &form, error));
    TW_TRY(tw_runtime_link(instance->module, form, is_wasi, &link, error));
    bool fresh = options->capturable && !instance->put_back && instance->module->wasm.memory_count && !instance->lent;
    store.lent = instance->lent ? instance->lent->slot : NULL;
    store.image = fresh ? tw_runtime_seed(instance->module, options->tenant) : NULL;
    tw_status status = set_up_and_instantiate(instance, link, options->wasi, &store, error);
    tw_image_release(store.image);
    return status;
}

static tw_status fill(tw_instance *instance, const tw_spawn_options *options, tw_error *error)
{
    TW_TRY(allocate(instance, error));
    TW_TRY(tw_account_get(options->tenant, &instance->account, error));
    bool *is_wasi = calloc(instance->module->import_count + 1u, sizeof *is_wasi);
    TW_TRY_ALLOC(is_wasi, error);
    tw_status status = link_and_instantiate(instance, options, is_wasi, error);
    free(is_wasi);
    return status;
}

void tw_runtime_begin_wasi(tw_instance *instance, const tw_wasi_options *options)
{
    tw_files_init(&instance->kept.files, options && !options->inherit_stdin && options->stdin_size);
    instance->wasi = (tw_wasi){.waker = &instance->stopper.waker, .stdin_fd = options && options->inherit_stdin ? 0 : -1, .began = tw_clock_now(),
                               .files = instance->watches_files ? &instance->kept.files : NULL};
}

static tw_status spawn(tw_module *module, const tw_spawn_options *options, const tw_put_back *from, bool pooled,
                       tw_instance **out, tw_error *error)
{
    tw_instance *instance = calloc(1, sizeof *instance);
    TW_TRY_ALLOC(instance, error);
    instance->module = module;
    instance->tenant = options->tenant;
    instance->timeout_ns = options->timeout_ns;
    tw_runtime_module_retain(module);
    tw_stopper_init(&instance->stopper, &module->engine->watch);
    tw_arena_init(&instance->kept.arena, TW_ARENA_NO_LIMIT);
    instance->watches_files = options->capturable;
    tw_runtime_begin_wasi(instance, options->wasi);
    instance->put_back = from;
    instance->pooled = pooled;
    tw_status status = fill(instance, options, error);
    instance->put_back = NULL;
    if (status == TW_EXIT && options->exit_code) *options->exit_code = instance->exit_code;
    if (status == TW_OK) *out = instance;
    else tw_runtime_free(instance);
    return status;
}

tw_status tw_runtime_spawn(tw_module *module, const tw_spawn_options *options, const tw_put_back *from, tw_instance **out,
                           tw_error *error)
{
    return spawn(module, options, from, false, out, error);
}

tw_status tw_runtime_spawn_pooled(tw_module *module, const tw_spawn_options *options, const tw_put_back *from, tw_instance **out,
                                  tw_error *error)
{
    return spawn(module, options, from, true, out, error);
}

void tw_runtime_free(tw_instance *instance)
{
    tw_stopper_destroy(&instance->stopper);
    tw_store_free(instance->store);
    tw_stubs_free(instance->stubs);
    free(instance->bindings);
    free(instance->imports);
    free(instance->handles);
    free(instance->has_handle);
    tw_own_buffers_free(&instance->buffers);
    tw_lent_memory_give(instance->lent);
    tw_lent_globals_free(&instance->globals);
    tw_lent_tables_free(&instance->tables);
    tw_files_free(&instance->kept.files);
    tw_arena_free(&instance->kept.arena);
    tw_account_drop(instance->account);
    tw_runtime_module_release(instance->module);
    free(instance);
}

/* ---- calls ---- */

static tw_status find_func(tw_instance *instance, const char *name, uint32_t *out, tw_error *error)
{
    uint32_t index = tw_runtime_find_export(instance->module, name);
    if (index == UINT32_MAX || instance->module->exports[index].kind != TW_EXPORT_FUNC)
        return tw_fail(error, TW_NOT_FOUND, "the module exports no function \"%.200s\"", name);
    if (!instance->has_handle[index])
        instance->has_handle[index] = tw_store_export(instance->store, name, TW_HANDLE_FUNC, &instance->handles[index]);
    if (!instance->has_handle[index])
        return tw_fail(error, TW_INTERNAL, "the engine doesn't know the export \"%.200s\"", name);
    *out = index;
    return TW_OK;
}

static tw_status check_args(const tw_module_export_info *func, const tw_val *args, size_t arg_count, size_t result_count,
                            tw_error *error)
{
    if (arg_count != func->param_count || result_count != func->result_count)
        return tw_fail(error, TW_INVALID_ARGUMENT, "\"%.200s\" takes %u arguments and has %u results, not %zu and %zu",
                       func->name, func->param_count, func->result_count, arg_count, result_count);
    for (size_t i = 0; i < arg_count; i++)
        if (args[i].kind != func->params[i])
            return tw_fail(error, TW_INVALID_ARGUMENT, "argument %zu of \"%.200s\" has another type", i + 1, func->name);
    return TW_OK;
}

static void to_raw(const tw_val *vals, size_t count, tw_raw *raw)
{
    for (size_t i = 0; i < count; i++) {
        memcpy(&raw[i], &vals[i].of, sizeof vals[i].of);
        if (vals[i].kind == TW_VAL_FUNCREF) raw[i].funcref = NULL; /* only null can be passed */
    }
}

static void from_raw(const tw_raw *raw, const tw_val_kind *kinds, size_t count, tw_val *vals)
{
    for (size_t i = 0; i < count; i++) {
        vals[i].kind = kinds[i];
        memset(&vals[i].of, 0, sizeof vals[i].of);
        switch (kinds[i]) {
        case TW_VAL_I32: case TW_VAL_F32: memcpy(&vals[i].of, &raw[i], 4); break;
        case TW_VAL_I64: case TW_VAL_F64: memcpy(&vals[i].of, &raw[i], 8); break;
        case TW_VAL_V128: memcpy(&vals[i].of, &raw[i], 16); break;
        case TW_VAL_FUNCREF: vals[i].of.i64 = raw[i].funcref != NULL; break;
        }
    }
}

tw_status tw_runtime_check_lost(const tw_instance *instance, tw_error *error)
{
    const tw_slot *slot = instance->store ? tw_runtime_slot(instance->module, instance->store) : NULL;
    if (!slot || !atomic_load_explicit(&slot->lost, memory_order_relaxed)) return TW_OK;
    return tw_fail(error, TW_IO, "a file that the guest's memory is mapped from has become shorter or can't be read: what the memory "
                                 "holds isn't known any more");
}

static tw_status run(tw_instance *instance, uint32_t index, tw_raw *raw, size_t count, tw_error *error)
{
    tw_ending ending;
    TW_TRY(tw_runtime_begin_run(instance, instance->timeout_ns, error));
    if (instance->lent) tw_store_memory_grow(instance->store, &instance->linear, 0); /* another one may have: the engine looks again */
    if (instance->stubs) tw_stubs_call(instance->stubs, instance->store);
    tw_status status = tw_store_call(instance->store, &instance->handles[index], raw, count, &ending);
    if (instance->stubs && status != TW_OK) tw_stubs_broken_off(instance->store);
    tw_stop reason = tw_runtime_end_run(instance);
    if (status != TW_OK) instance->spoiled = true;
    TW_TRY(tw_runtime_check_lost(instance, error));
    return status == TW_OK ? TW_OK : tw_runtime_ending(instance, &ending, reason, error);
}

tw_status tw_runtime_call(tw_instance *instance, const char *name, const tw_val *args, size_t arg_count,
                          tw_val *results, size_t result_count, tw_error *error)
{
    uint32_t index = 0;
    TW_TRY(find_func(instance, name, &index, error));
    const tw_module_export_info *func = &instance->module->exports[index];
    TW_TRY(check_args(func, args, arg_count, result_count, error));
    size_t count = arg_count > result_count ? arg_count : result_count;
    tw_raw few[FEW], *raw = count > FEW ? malloc(count * sizeof *raw) : few;
    TW_TRY_ALLOC(raw, error);
    to_raw(args, arg_count, raw);
    tw_status status = run(instance, index, raw, count, error);
    if (status == TW_OK) from_raw(raw, func->results, result_count, results);
    if (raw != few) free(raw);
    return status;
}

tw_slot *tw_runtime_slot(const tw_module *module, const tw_store *store)
{
    return module->wasm.memory_count ? tw_store_slot(store, 0) : NULL;
}

tw_status tw_runtime_memory(tw_instance *instance, const char *name, uint8_t **base, size_t *size, tw_error *error)
{
    uint32_t index = name ? tw_runtime_find_export(instance->module, name) : UINT32_MAX;
    if (name && (index == UINT32_MAX || instance->module->exports[index].kind != TW_EXPORT_MEMORY))
        return tw_fail(error, TW_NOT_FOUND, "the module exports no memory \"%.200s\"", name);
    const tw_slot *slot = tw_runtime_slot(instance->module, instance->store);
    if (!slot) return tw_fail(error, TW_NOT_FOUND, "the module has no memory");
    *base = slot->base;
    *size = atomic_load(&slot->size);
    return TW_OK;
}
