/* SPDX-License-Identifier: Apache-2.0 */
/* Exported globals, read and set between calls. */
#include <string.h>

#include "instance/runtime.h"

static const struct { uint8_t type, size; } kinds[] = {
    [TW_VAL_I32] = {TW_I32, 4}, [TW_VAL_I64] = {TW_I64, 8},    [TW_VAL_F32] = {TW_F32, 4},
    [TW_VAL_F64] = {TW_F64, 8}, [TW_VAL_V128] = {TW_V128, 16}, [TW_VAL_FUNCREF] = {TW_FUNCREF, 8}};

/* ---- values ---- */

uint8_t tw_val_type(tw_val_kind kind) { return (unsigned)kind <= TW_VAL_FUNCREF ? kinds[kind].type : TW_TYPE_NONE; }

tw_val tw_val_of(uint8_t type, const tw_raw *raw)
{
    tw_val val;
    memset(&val, 0, sizeof val);
    while (kinds[val.kind].type != type && val.kind < TW_VAL_FUNCREF) val.kind++;
    memcpy(&val.of, raw, kinds[val.kind].size);
    return val;
}

tw_raw tw_val_raw(const tw_val *value)
{
    tw_raw raw;
    memset(&raw, 0, sizeof raw);
    memcpy(&raw, &value->of, kinds[value->kind].size);
    return raw;
}

/* ---- globals ---- */

typedef struct exported {
    tw_handle handle;
    tw_global_type type;
} exported;

static tw_status find(tw_instance *instance, const char *name, exported *out, tw_error *error)
{
    const tw_module *module = instance->module;
    uint32_t index = tw_runtime_find_export(module, name);
    if (index == UINT32_MAX || module->exports[index].kind != TW_EXPORT_GLOBAL)
        return tw_fail(error, TW_NOT_FOUND, "the module exports no global \"%.200s\"", name);
    out->type = module->wasm.globals[module->exports[index].index].type;
    if (tw_store_export(instance->store, name, TW_HANDLE_GLOBAL, &out->handle)) return TW_OK;
    return tw_fail(error, TW_INTERNAL, "the engine doesn't know the export \"%.200s\"", name);
}

static tw_val get(tw_instance *instance, const exported *from)
{
    tw_handle func;
    tw_raw raw;
    memset(&raw, 0, sizeof raw);
    if (from->type.type != TW_FUNCREF) tw_store_global_get(instance->store, &from->handle, &raw);
    else raw.bits = tw_store_global_get_func(instance->store, &from->handle, &func) == TW_REFERENCE_FUNC;
    return tw_val_of((uint8_t)from->type.type, &raw);
}

/* As a run, so that a global of the host's is this instance's meanwhile. */
tw_status tw_runtime_global_get(tw_instance *instance, const char *name, tw_val *out, tw_error *error)
{
    exported from;
    TW_TRY(tw_runtime_begin_run(instance, 0, error));
    tw_status status = find(instance, name, &from, error);
    if (status == TW_OK) *out = get(instance, &from);
    tw_runtime_end_run(instance);
    return status;
}

static tw_status set(tw_instance *instance, const char *name, const tw_val *value, tw_error *error)
{
    exported to;
    TW_TRY(find(instance, name, &to, error));
    if (!to.type.is_mutable) return tw_fail(error, TW_INVALID_ARGUMENT, "the global \"%.200s\" is immutable", name);
    if (tw_val_type(value->kind) != to.type.type) return tw_fail(error, TW_INVALID_ARGUMENT, "the global \"%.200s\" has another type", name);
    tw_raw raw = tw_val_raw(value);
    bool done = to.type.type == TW_FUNCREF ? tw_store_global_set_func(instance->store, &to.handle, NULL)
                                           : tw_store_global_set(instance->store, &to.handle, (uint8_t)to.type.type, &raw);
    return done ? TW_OK : tw_fail(error, TW_INTERNAL, "the engine refuses the value of \"%.200s\"", name);
}

tw_status tw_runtime_global_set(tw_instance *instance, const char *name, const tw_val *value, tw_error *error)
{
    TW_TRY(tw_runtime_begin_run(instance, 0, error));
    tw_status status = set(instance, name, value, error);
    tw_runtime_end_run(instance);
    return status;
}
