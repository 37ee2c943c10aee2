/* SPDX-License-Identifier: Apache-2.0 */
#include "instance/tables.h"

#include <stdlib.h>

#include "api/options.h"
#include "instance/runtime.h"

tw_status tw_table_new(tw_engine *engine, const tw_table_options *options, tw_table **out, tw_error *error)
{
    if (!engine || !options || !out) return tw_fail(error, TW_INVALID_ARGUMENT, "tw_table_new: a required pointer is NULL");
    tw_table_options own = TW_TABLE_OPTIONS_INIT;
    TW_TRY(tw_options_read(&own, sizeof own, options, "tw_table_options", error));
    if (!own.max_elements) own.max_elements = own.elements;
    if (own.elements > own.max_elements)
        return tw_fail(error, TW_INVALID_ARGUMENT, "tw_table_new: the table begins larger than it may become");
    if (own.max_elements > engine->options.max_table)
        return tw_fail(error, TW_LIMIT, "tw_table_new: %u elements are over the engine's limit of %u", own.max_elements, engine->options.max_table);
    return tw_lent_table_new(own.elements, own.max_elements, out, error);
}

void tw_table_free(tw_table *table)
{
    if (table) tw_lent_table_release(table);
}

static tw_status take_types(const tw_val_kind *kinds, size_t count, uint8_t *to, tw_error *error)
{
    for (size_t i = 0; i < count; i++) {
        if ((unsigned)kinds[i] > TW_VAL_V128)
            return tw_fail(error, TW_INVALID_ARGUMENT, "tw_table_set: the function has a parameter or result that can't cross");
        to[i] = tw_val_type(kinds[i]);
    }
    return TW_OK;
}

static tw_status put(tw_table *table, uint32_t index, const tw_import_func *func, uint8_t *types, tw_error *error)
{
    TW_TRY(take_types(func->params, func->param_count, types, error));
    TW_TRY(take_types(func->results, func->result_count, types + func->param_count, error));
    const tw_functype type = {types, types + func->param_count, (uint32_t)func->param_count, (uint32_t)func->result_count};
    const tw_instance_import import = {func->call, func->context, &type};
    return tw_lent_table_set(table, index, &import, error);
}

tw_status tw_table_set(tw_table *table, uint32_t index, const tw_import_func *func, tw_error *error)
{
    enum { MOST = 1000 }; /* as the decoder allows */
    if (!table) return tw_fail(error, TW_INVALID_ARGUMENT, "tw_table_set: table is NULL");
    if (!func) return tw_lent_table_set(table, index, NULL, error);
    if (!func->call || (!func->params && func->param_count) || (!func->results && func->result_count))
        return tw_fail(error, TW_INVALID_ARGUMENT, "tw_table_set: the function isn't filled in");
    if (func->param_count > MOST || func->result_count > MOST)
        return tw_fail(error, TW_LIMIT, "tw_table_set: a function has at most %d parameters and as many results", MOST);
    uint8_t *types = malloc(func->param_count + func->result_count + 1);
    TW_TRY_ALLOC(types, error);
    tw_status status = put(table, index, func, types, error);
    free(types);
    return status;
}
