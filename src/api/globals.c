/* SPDX-License-Identifier: Apache-2.0 */
#include "instance/globals.h"

#include <string.h>

#include "instance/runtime.h"

static tw_status take_value(const char *who, const tw_val *value, uint8_t *type, tw_raw *out, tw_error *error)
{
    static const struct { uint8_t type, size; } kinds[] = {
        [TW_VAL_I32] = {TW_I32, 4}, [TW_VAL_I64] = {TW_I64, 8}, [TW_VAL_F32] = {TW_F32, 4}, [TW_VAL_F64] = {TW_F64, 8},
        [TW_VAL_V128] = {TW_V128, 16}, [TW_VAL_FUNCREF] = {TW_FUNCREF, 8}};
    if ((unsigned)value->kind > TW_VAL_FUNCREF) return tw_fail(error, TW_INVALID_ARGUMENT, "%s: the value has no kind", who);
    if (value->kind == TW_VAL_FUNCREF && value->of.i64)
        return tw_fail(error, TW_INVALID_ARGUMENT, "%s: of function references only null can be given", who);
    *type = kinds[value->kind].type;
    memset(out, 0, sizeof *out);
    memcpy(out, &value->of, kinds[value->kind].size);
    return TW_OK;
}

tw_status tw_global_new(tw_engine *engine, const tw_val *value, bool is_mutable, tw_global **out, tw_error *error)
{
    uint8_t type = TW_TYPE_NONE;
    tw_raw raw;
    if (!engine || !value || !out) return tw_fail(error, TW_INVALID_ARGUMENT, "tw_global_new: a required pointer is NULL");
    TW_TRY(take_value("tw_global_new", value, &type, &raw, error));
    if (is_mutable && type == TW_FUNCREF)
        return tw_fail(error, TW_INVALID_ARGUMENT, "tw_global_new: a mutable global can't hold function references, which belong to one instance");
    return tw_lent_global_new(type, is_mutable, &raw, out, error);
}

void tw_global_free(tw_global *global)
{
    if (global) tw_lent_global_release(global);
}

static tw_val to_val(uint8_t type, const tw_raw *raw)
{
    tw_val val = {.kind = type == TW_I32 ? TW_VAL_I32 : type == TW_I64 ? TW_VAL_I64 : type == TW_F32 ? TW_VAL_F32 :
                          type == TW_F64 ? TW_VAL_F64 : type == TW_V128 ? TW_VAL_V128 : TW_VAL_FUNCREF};
    memset(&val.of, 0, sizeof val.of);
    memcpy(&val.of, raw, type == TW_V128 ? 16 : type == TW_I32 || type == TW_F32 ? 4 : 8);
    return val;
}

/* Under the lock. */
static tw_status check_idle(const tw_global *global, tw_error *error)
{
    return global->holder ? tw_fail(error, TW_BUSY, "an instance runs with the global") : TW_OK;
}

tw_status tw_global_get(tw_global *global, tw_val *out, tw_error *error)
{
    if (!global || !out) return tw_fail(error, TW_INVALID_ARGUMENT, "tw_global_get: a required pointer is NULL");
    pthread_mutex_lock(&global->lock);
    tw_status status = check_idle(global, error);
    if (status == TW_OK) *out = to_val(global->type, &global->value);
    pthread_mutex_unlock(&global->lock);
    return status;
}

tw_status tw_global_set(tw_global *global, const tw_val *value, tw_error *error)
{
    uint8_t type = TW_TYPE_NONE;
    tw_raw raw;
    if (!global || !value) return tw_fail(error, TW_INVALID_ARGUMENT, "tw_global_set: a required pointer is NULL");
    TW_TRY(take_value("tw_global_set", value, &type, &raw, error));
    if (!global->is_mutable) return tw_fail(error, TW_INVALID_ARGUMENT, "tw_global_set: the global is immutable");
    if (type != global->type) return tw_fail(error, TW_INVALID_ARGUMENT, "tw_global_set: the global has another type");
    pthread_mutex_lock(&global->lock);
    tw_status status = check_idle(global, error);
    if (status == TW_OK) global->value = raw;
    pthread_mutex_unlock(&global->lock);
    return status;
}
