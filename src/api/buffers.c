/* SPDX-License-Identifier: Apache-2.0 */
#include "instance/runtime.h"

tw_status tw_instance_attach_buffer(tw_instance *instance, const char *name, tw_buffer *buffer, tw_error *error)
{
    if (!instance || !name || !buffer)
        return tw_fail(error, TW_INVALID_ARGUMENT, "tw_instance_attach_buffer: a required pointer is NULL");
    TW_TRY(tw_stop_check_owner(&instance->stopper, error)); /* the next one to take it would have it */
    TW_TRY(tw_stop_check_owner(&instance->stopper, error));
    return tw_own_buffers_add(&instance->buffers, name, buffer, error);
}

tw_status tw_instance_detach_buffer(tw_instance *instance, const char *name, tw_buffer **out, tw_error *error)
{
    if (!instance || !name || !out)
        return tw_fail(error, TW_INVALID_ARGUMENT, "tw_instance_detach_buffer: a required pointer is NULL");
    TW_TRY(tw_stop_check_owner(&instance->stopper, error));
    return tw_own_buffers_remove(&instance->buffers, name, out, error);
}

tw_buffer *tw_instance_buffer(const tw_instance *instance, const char *name)
{
    const tw_own_buffer *found = instance && name ? tw_own_buffers_find(&instance->buffers, name) : NULL;
    return found ? found->buffer : NULL;
}

size_t tw_instance_buffer_count(const tw_instance *instance) { return instance ? instance->buffers.count : 0; }

tw_status tw_instance_buffer_at(const tw_instance *instance, size_t index, tw_instance_buffer_info *out)
{
    if (!instance || !out) return TW_INVALID_ARGUMENT;
    if (index >= instance->buffers.count) return TW_NOT_FOUND;
    const tw_own_buffer *item = &instance->buffers.items[index];
    *out = (tw_instance_buffer_info){item->name, item->buffer, item->captured, item->note};
    return TW_OK;
}
