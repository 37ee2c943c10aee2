/* SPDX-License-Identifier: Apache-2.0 */
#include <stdlib.h>
#include <string.h>

#include "engine/inside.h"

_Static_assert(sizeof(wasmtime_func_t) <= sizeof(tw_handle) && sizeof(wasmtime_table_t) <= sizeof(tw_handle) &&
               sizeof(wasmtime_memory_t) <= sizeof(tw_handle) && sizeof(wasmtime_global_t) <= sizeof(tw_handle),
               "a handle holds any of them");
_Static_assert(sizeof(wasmtime_val_raw_t) == sizeof(tw_raw), "raw values are the engine's");

/* Functions of the crate: the C API aborts on funcrefs. */
int32_t tw_table_set_func(wasmtime_context_t *context, const wasmtime_table_t *table, uint64_t index,
                          const wasmtime_func_t *func);
int32_t tw_table_get_func(wasmtime_context_t *context, const wasmtime_table_t *table, uint64_t index, wasmtime_func_t *out);
int32_t tw_table_grow_null(wasmtime_context_t *context, const wasmtime_table_t *table, uint64_t delta, uint64_t *previous);
int32_t tw_global_get_func(wasmtime_context_t *context, const wasmtime_global_t *global, wasmtime_func_t *out);
int32_t tw_global_set_func(wasmtime_context_t *context, const wasmtime_global_t *global, const wasmtime_func_t *func);

#define AS_HANDLE(type, name)                                                                      \
    static type name(const tw_handle *handle)                                                      \
    {                                                                                              \
        type value;                                                                                \
        memcpy(&value, handle, sizeof value);                                                      \
        return value;                                                                              \
    }
AS_HANDLE(wasmtime_func_t, as_func)
AS_HANDLE(wasmtime_table_t, as_table)
AS_HANDLE(wasmtime_memory_t, as_memory)
AS_HANDLE(wasmtime_global_t, as_global)

/* ---- life ---- */

tw_status tw_store_set_wasi(tw_store *store, const tw_wasi_setup *setup, tw_error *error)
{
    tw_error why;
    wasi_config_t *wasi = tw_wasi_config(setup, &why);
    if (!wasi) return tw_fail(error, why.status, "%s", why.message);
    wasmtime_error_t *failure = wasmtime_context_set_wasi(store->context, wasi);
    return failure ? tw_engine_fail(error, TW_IO, failure) : TW_OK;
}

static tw_status prepare(tw_store *store, const tw_store_options *options, tw_error *error)
{
    if (store->link->uses_wasi && !options->wasi)
        return tw_fail(error, TW_LINK, "the module imports WASI and the instance has none");
    uint64_t least = options->max_memory < 65536 ? 65536 : options->max_memory; /* a private memory has a page */
    int64_t memory = least > INT64_MAX ? -1 : (int64_t)least;
    wasmtime_store_limiter(store->store, memory, options->max_table, -1, -1, -1);
    if (options->wasi) TW_TRY(tw_store_set_wasi(store, options->wasi, error));
    return store->link->pre ? TW_OK : tw_imports_make(store, options, error);
}

static tw_status instantiate(tw_store *store, tw_ending *ending)
{
    wasm_trap_t *trap = NULL;
    if (!store->link->pre) return tw_imports_instantiate(store, ending);
    tw_store *before = tw_creator_begin(store);
    wasmtime_error_t *failure =
        wasmtime_instance_pre_instantiate(store->link->pre, store->context, &store->instance, &trap);
    tw_creator_begin(before);
    return tw_ending_take(store, failure, trap, ending);
}

tw_status tw_store_new(tw_link *link, const tw_store_options *options, tw_store **out, tw_ending *ending)
{
    tw_store *store = *out = calloc(1, sizeof *store);
    if (!store) return ending->status = tw_fail_memory(&ending->error);
    *store = (tw_store){.link = link, .bindings = options->bindings, .owner = options->owner,
                        .on_memory = options->on_memory, .max_memory = options->max_memory, .account = options->account,
                        .passes_path_open = options->passes_path_open, .image = options->image, .lent = options->lent};
    store->store = wasmtime_store_new(link->code->core->engine, store, NULL);
    store->context = wasmtime_store_context(store->store);
    atomic_fetch_add(&link->references, 1);
    ending->frame_count = 0;
    ending->from_host = true;
    ending->status = prepare(store, options, &ending->error);
    if (ending->status == TW_OK) instantiate(store, ending);
    return ending->status;
}

void tw_store_free(tw_store *store)
{
    if (!store) return;
    wasmtime_store_delete(store->store);
    free(store->globals);
    free(store->tables);
    while (store->funcs) {
        tw_store_func *next = store->funcs->next;
        free(store->funcs);
        store->funcs = next;
    }
    tw_link_free(store->link);
    free(store);
}

void *tw_store_owner(const tw_store *store) { return store->owner; }

tw_slot *tw_store_slot(const tw_store *store, uint32_t index)
{
    return index < store->slot_count ? store->slots[index] : NULL;
}

bool tw_store_is_seeded(const tw_store *store) { return store->seeded; }

/* ---- calls ---- */

tw_status tw_store_call(tw_store *store, const tw_handle *func, tw_raw *values, size_t count, tw_ending *ending)
{
    wasm_trap_t *trap = NULL;
    wasmtime_func_t callee = as_func(func);
    store->host_error.status = TW_OK;
    wasmtime_error_t *failure =
        wasmtime_func_call_unchecked(store->context, &callee, (wasmtime_val_raw_t *)values, count, &trap);
    return tw_ending_take(store, failure, trap, ending);
}

/* Calls may nest: a host function may pass on to WASI, whose adapter is a guest, too. */
static wasm_trap_t *call_binding(tw_store *store, const tw_binding *binding, wasmtime_caller_t *caller,
                                 wasmtime_val_raw_t *values, size_t count)
{
    wasmtime_caller_t *before = store->caller;
    store->caller = caller;
    tw_error error; /* all of it but the text, which is long */
    error.status = TW_OK, error.function = TW_NO_FUNCTION, error.offset = TW_NO_OFFSET;
    error.message[0] = 0;
    tw_status status = binding->call(binding->context, store, (tw_raw *)values, count, &error);
    store->caller = before;
    if (status == TW_OK) return NULL;
    if (status == TW_TRAP && !error.message[0]) return wasmtime_trap_new_code(WASMTIME_TRAP_CODE_UNREACHABLE_CODE_REACHED);
    error.status = status;
    if (!error.message[0]) tw_fail(&error, status, "a host function failed: %s", tw_status_meaning(status));
    store->host_error = error;
    return wasmtime_trap_new("host", 4);
}

static tw_store *store_of(wasmtime_caller_t *caller)
{
    return wasmtime_context_get_data(wasmtime_caller_context(caller));
}

wasm_trap_t *tw_store_on_binding(void *data, wasmtime_caller_t *caller, wasmtime_val_raw_t *values, size_t count)
{
    tw_store *store = store_of(caller);
    return call_binding(store, &store->bindings[(size_t)data], caller, values, count);
}

static wasm_trap_t *on_func(void *data, wasmtime_caller_t *caller, wasmtime_val_raw_t *values, size_t count)
{
    return call_binding(store_of(caller), data, caller, values, count);
}

tw_status tw_store_func_new(tw_store *store, const uint8_t *params, uint32_t param_count, const uint8_t *results,
                            uint32_t result_count, tw_raw_func call, void *context, tw_handle *out, tw_error *error)
{
    tw_store_func *func = calloc(1, sizeof *func);
    TW_TRY_ALLOC(func, error);
    wasm_functype_t *type = tw_engine_functype(params, param_count, results, result_count);
    if (!type) {
        free(func);
        return tw_fail(error, TW_INVALID_ARGUMENT, "a host function's type can't be built");
    }
    *func = (tw_store_func){{call, context}, store->funcs};
    store->funcs = func;
    wasmtime_func_t made;
    wasmtime_func_new_unchecked(store->context, type, on_func, &func->binding, NULL, &made);
    wasm_functype_delete(type);
    memcpy(out, &made, sizeof made);
    return TW_OK;
}

/* ---- what an instance holds ---- */

static const void *payload(const wasmtime_extern_t *item, tw_handle_kind kind, size_t *size)
{
    static const struct { wasmtime_extern_kind_t kind; size_t size; } kinds[] = {
        [TW_HANDLE_FUNC] = {WASMTIME_EXTERN_FUNC, sizeof(wasmtime_func_t)},
        [TW_HANDLE_GLOBAL] = {WASMTIME_EXTERN_GLOBAL, sizeof(wasmtime_global_t)},
        [TW_HANDLE_TABLE] = {WASMTIME_EXTERN_TABLE, sizeof(wasmtime_table_t)},
        [TW_HANDLE_MEMORY] = {WASMTIME_EXTERN_MEMORY, sizeof(wasmtime_memory_t)},
    };
    *size = kinds[kind].size;
    return item->kind == kinds[kind].kind ? &item->of : NULL;
}

bool tw_store_export(tw_store *store, const char *name, tw_handle_kind kind, tw_handle *out)
{
    wasmtime_extern_t item;
    if (!wasmtime_instance_export_get(store->context, &store->instance, name, strlen(name), &item)) return false;
    size_t size;
    const void *from = payload(&item, kind, &size);
    if (from) memcpy(out, from, size);
    return from != NULL;
}

bool tw_store_table_set(tw_store *store, const tw_handle *table, uint32_t index, const tw_handle *func)
{
    wasmtime_table_t target = as_table(table);
    if (!func) return tw_table_set_func(store->context, &target, index, NULL) == 0;
    wasmtime_func_t value = as_func(func);
    return tw_table_set_func(store->context, &target, index, &value) == 0;
}

uint64_t tw_store_table_size(tw_store *store, const tw_handle *table)
{
    wasmtime_table_t target = as_table(table);
    return wasmtime_table_size(store->context, &target);
}

bool tw_store_table_grow(tw_store *store, const tw_handle *table, uint64_t delta)
{
    wasmtime_table_t target = as_table(table);
    uint64_t previous;
    return tw_table_grow_null(store->context, &target, delta, &previous) == 0;
}

static tw_reference take_reference(int32_t answer, const wasmtime_func_t *func, tw_handle *out)
{
    if (answer == 0) memcpy(out, func, sizeof *func);
    return answer == 0 ? TW_REFERENCE_FUNC : answer == 1 ? TW_REFERENCE_NULL : TW_REFERENCE_NONE;
}

tw_reference tw_store_table_get(tw_store *store, const tw_handle *table, uint32_t index, tw_handle *out)
{
    wasmtime_table_t source = as_table(table);
    wasmtime_func_t func;
    return take_reference(tw_table_get_func(store->context, &source, index, &func), &func, out);
}

tw_reference tw_store_global_get_func(tw_store *store, const tw_handle *global, tw_handle *out)
{
    wasmtime_global_t source = as_global(global);
    wasmtime_func_t func;
    return take_reference(tw_global_get_func(store->context, &source, &func), &func, out);
}

bool tw_store_global_set_func(tw_store *store, const tw_handle *global, const tw_handle *func)
{
    wasmtime_global_t target = as_global(global);
    if (!func) return tw_global_set_func(store->context, &target, NULL) == 0;
    wasmtime_func_t value = as_func(func);
    return tw_global_set_func(store->context, &target, &value) == 0;
}

uintptr_t tw_store_func_identity(tw_store *store, const tw_handle *func)
{
    wasmtime_func_t value = as_func(func);
    return (uintptr_t)wasmtime_func_to_raw(store->context, &value);
}

void tw_store_global_get(tw_store *store, const tw_handle *global, tw_raw *out)
{
    wasmtime_global_t source = as_global(global);
    wasmtime_val_t value;
    wasmtime_global_get(store->context, &source, &value);
    memset(out, 0, sizeof *out);
    if (value.kind <= WASMTIME_V128) memcpy(out, &value.of, sizeof *out);
}

static bool global_set(tw_store *store, const tw_handle *global, wasmtime_val_t value)
{
    wasmtime_global_t target = as_global(global);
    wasmtime_error_t *failure = wasmtime_global_set(store->context, &target, &value);
    if (failure) wasmtime_error_delete(failure);
    return !failure;
}

bool tw_store_global_set_i32(tw_store *store, const tw_handle *global, int32_t value)
{
    return global_set(store, global, (wasmtime_val_t){.kind = WASMTIME_I32, .of.i32 = value});
}

bool tw_store_global_set_i64(tw_store *store, const tw_handle *global, int64_t value)
{
    return global_set(store, global, (wasmtime_val_t){.kind = WASMTIME_I64, .of.i64 = value});
}

bool tw_store_global_set(tw_store *store, const tw_handle *global, uint8_t type, const tw_raw *value)
{
    wasmtime_val_t val = {0};
    switch (type) {
    case 0x7F: val.kind = WASMTIME_I32; break;
    case 0x7E: val.kind = WASMTIME_I64; break;
    case 0x7D: val.kind = WASMTIME_F32; break;
    case 0x7C: val.kind = WASMTIME_F64; break;
    case 0x7B: val.kind = WASMTIME_V128; break;
    default: return false;
    }
    memcpy(&val.of, value, sizeof *value);
    return global_set(store, global, val);
}

bool tw_store_memory_grow(tw_store *store, const tw_handle *memory, uint64_t pages)
{
    wasmtime_memory_t target = as_memory(memory);
    uint64_t previous;
    wasmtime_error_t *failure = wasmtime_memory_grow(store->context, &target, pages, &previous);
    if (failure) wasmtime_error_delete(failure);
    return !failure;
}

uint8_t *tw_store_memory(tw_store *store, const tw_handle *memory, size_t *size)
{
    wasmtime_memory_t source = as_memory(memory);
    *size = wasmtime_memory_data_size(store->context, &source);
    return wasmtime_memory_data(store->context, &source);
}
