/* SPDX-License-Identifier: Apache-2.0 */
#include "instance/runtime.h"

tw_status tw_module_new(tw_engine *engine, const uint8_t *bytes, size_t size, tw_module **out, tw_error *error)
{
    if (!engine || !out || (!bytes && size))
        return tw_fail(error, TW_INVALID_ARGUMENT, "tw_module_new: a required pointer is NULL");
    return tw_runtime_module_new(engine, bytes, size, out, error);
}

tw_status tw_module_validate(tw_engine *engine, const uint8_t *bytes, size_t size, tw_error *error)
{
    tw_module *module;
    TW_TRY(tw_module_new(engine, bytes, size, &module, error));
    tw_runtime_module_release(module);
    return TW_OK;
}

void tw_module_free(tw_module *module) { tw_runtime_module_release(module); }

size_t tw_module_export_count(const tw_module *module) { return module ? module->export_count : 0; }

tw_status tw_module_export(const tw_module *module, size_t index, const char **name, tw_extern *kind)
{
    if (!module) return TW_INVALID_ARGUMENT;
    if (index >= module->export_count) return TW_NOT_FOUND;
    if (name) *name = module->exports[index].name;
    if (kind) *kind = module->exports[index].kind;
    return TW_OK;
}

tw_status tw_module_func_type(const tw_module *module, const char *name, const tw_val_kind **params, size_t *param_count,
                              const tw_val_kind **results, size_t *result_count, tw_error *error)
{
    if (!module || !name) return tw_fail(error, TW_INVALID_ARGUMENT, "tw_module_func_type: a required pointer is NULL");
    uint32_t index = tw_runtime_find_export(module, name);
    if (index == UINT32_MAX || module->exports[index].kind != TW_EXPORT_FUNC)
        return tw_fail(error, TW_NOT_FOUND, "the module exports no function \"%.200s\"", name);
    const tw_module_export_info *func = &module->exports[index];
    if (params) *params = func->params;
    if (param_count) *param_count = func->param_count;
    if (results) *results = func->results;
    if (result_count) *result_count = func->result_count;
    return TW_OK;
}
