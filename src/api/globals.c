/* SPDX-License-Identifier: Apache-2.0 */
#include "instance/globals.h"

#include "instance/runtime.h"

static tw_status check_value(const char *who, const tw_val *value, tw_error *error)
{
    if (tw_val_type(value->kind) == TW_TYPE_NONE) return tw_fail(error, TW_INVALID_ARGUMENT, "%s: the value has no kind", who);
    if (value->kind == TW_VAL_FUNCREF && value->of.i64)
        return tw_fail(error, TW_INVALID_ARGUMENT, "%s: of function references only null can be given", who);
    return TW_OK;
}

tw_status tw_global_new(tw_engine *engine, const tw_val *value, bool is_mutable, tw_global **out, tw_error *error)
{
    if (!engine || !value || !out) return tw_fail(error, TW_INVALID_ARGUMENT, "tw_global_new: a required pointer is NULL");
    TW_TRY(check_value("tw_global_new", value, error));
    if (is_mutable && value->kind == TW_VAL_FUNCREF)
        return tw_fail(error, TW_INVALID_ARGUMENT, "tw_global_new: a mutable global can't hold function references, which belong to one instance");
    tw_raw raw = tw_val_raw(value);
    return tw_lent_global_new(tw_val_type(value->kind), is_mutable, &raw, out, error);
}

void tw_global_free(tw_global *global)
{
    if (global) tw_lent_global_release(global);
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
    if (status == TW_OK) *out = tw_val_of(global->type, &global->value);
    pthread_mutex_unlock(&global->lock);
    return status;
}

tw_status tw_global_set(tw_global *global, const tw_val *value, tw_error *error)
{
    if (!global || !value) return tw_fail(error, TW_INVALID_ARGUMENT, "tw_global_set: a required pointer is NULL");
    TW_TRY(check_value("tw_global_set", value, error));
    if (!global->is_mutable) return tw_fail(error, TW_INVALID_ARGUMENT, "tw_global_set: the global is immutable");
    if (tw_val_type(value->kind) != global->type) return tw_fail(error, TW_INVALID_ARGUMENT, "tw_global_set: the global has another type");
    pthread_mutex_lock(&global->lock);
    tw_status status = check_idle(global, error);
    if (status == TW_OK) global->value = tw_val_raw(value);
    pthread_mutex_unlock(&global->lock);
    return status;
}

tw_status tw_instance_global_get(tw_instance *instance, const char *name, tw_val *out, tw_error *error)
{
    if (!instance || !name || !out) return tw_fail(error, TW_INVALID_ARGUMENT, "tw_instance_global_get: a required pointer is NULL");
    return tw_runtime_global_get(instance, name, out, error);
}

tw_status tw_instance_global_set(tw_instance *instance, const char *name, const tw_val *value, tw_error *error)
{
    if (!instance || !name || !value) return tw_fail(error, TW_INVALID_ARGUMENT, "tw_instance_global_set: a required pointer is NULL");
    TW_TRY(check_value("tw_instance_global_set", value, error));
    return tw_runtime_global_set(instance, name, value, error);
}
