/* SPDX-License-Identifier: Apache-2.0 */
#include "instance/buffers.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "device/backend.h"

enum { MOST_NAME = 255 };

/* ---- the list ---- */

tw_own_buffer *tw_own_buffers_find(const tw_own_buffers *own, const char *name)
{
    for (uint32_t i = 0; i < own->count; i++)
        if (!strcmp(own->items[i].name, name)) return &own->items[i];
    return NULL;
}

static tw_status check_name(const tw_own_buffers *own, const char *name, tw_error *error)
{
    size_t size = strlen(name);
    if (!size || size > MOST_NAME) return tw_fail(error, TW_INVALID_ARGUMENT, "a buffer's name has 1 to %d bytes, not %zu", MOST_NAME, size);
    if (tw_own_buffers_find(own, name)) return tw_fail(error, TW_INVALID_ARGUMENT, "the instance has a buffer \"%s\"", name);
    if (own->count == TW_REGISTERS_MAX_BUFFERS)
        return tw_fail(error, TW_LIMIT, "the instance has %d buffers, as many as it may", TW_REGISTERS_MAX_BUFFERS);
    return TW_OK;
}

static bool make_room(tw_own_buffers *own)
{
    if (own->count < own->capacity) return true;
    uint32_t capacity = own->capacity ? own->capacity * 2 : 4;
    tw_own_buffer *grown = realloc(own->items, capacity * sizeof *grown);
    if (!grown) return false;
    own->items = grown;
    own->capacity = capacity;
    return true;
}

tw_status tw_own_buffers_add(tw_own_buffers *own, const char *name, tw_buffer *buffer, tw_error *error)
{
    TW_TRY(check_name(own, name, error));
    for (uint32_t i = 0; i < own->count; i++)
        if (own->items[i].buffer == buffer) return tw_fail(error, TW_INVALID_ARGUMENT, "the buffer is the instance's already, as \"%s\"", own->items[i].name);
    TW_TRY_ALLOC(make_room(own), error);
    char *copy = strdup(name);
    TW_TRY_ALLOC(copy, error);
    if (!tw_buffer_own(buffer, true)) {
        free(copy);
        return tw_fail(error, TW_INVALID_ARGUMENT, "the buffer is another instance's already");
    }
    own->items[own->count++] = (tw_own_buffer){copy, buffer, tw_buffer_backend(buffer), NULL};
    return TW_OK;
}

static void forget(tw_own_buffer *item)
{
    free(item->name);
    free(item->note);
}

tw_status tw_own_buffers_remove(tw_own_buffers *own, const char *name, tw_buffer **out, tw_error *error)
{
    tw_own_buffer *item = tw_own_buffers_find(own, name);
    if (!item) return tw_fail(error, TW_NOT_FOUND, "the instance has no buffer \"%.200s\"", name);
    *out = item->buffer;
    tw_buffer_own(item->buffer, false);
    forget(item);
    size_t behind = (size_t)(own->items + own->count - item) - 1;
    memmove(item, item + 1, behind * sizeof *item);
    own->count--;
    return TW_OK;
}

void tw_own_buffers_free(tw_own_buffers *own)
{
    for (uint32_t i = 0; i < own->count; i++) {
        tw_buffer_own(own->items[i].buffer, false);
        tw_buffer_free(own->items[i].buffer);
        forget(&own->items[i]);
    }
    free(own->items);
    *own = (tw_own_buffers){0};
}

/* ---- capture ---- */

static tw_status sum_sizes(const tw_own_buffers *own, uint64_t *out, tw_error *error)
{
    *out = 0;
    for (uint32_t i = 0; i < own->count; i++)
        if (__builtin_add_overflow(*out, tw_buffer_size(own->items[i].buffer), out) || *out > SIZE_MAX)
            return tw_fail(error, TW_LIMIT, "the instance's buffers are too large together");
    return TW_OK;
}

static tw_status read_all(const tw_own_buffers *own, uint8_t *to, tw_error *error)
{
    for (uint32_t i = 0; i < own->count; i++) {
        uint64_t size = tw_buffer_size(own->items[i].buffer);
        TW_TRY(tw_buffer_read(own->items[i].buffer, 0, to, size, error));
        to += size;
    }
    return TW_OK;
}

static tw_status take_bytes(const tw_own_buffers *own, uint8_t **storage, tw_span *bytes, tw_error *error)
{
    uint64_t size = 0;
    TW_TRY(sum_sizes(own, &size, error));
    if (own->count == 1) {
        *bytes = (tw_span){tw_buffer_host(own->items[0].buffer), (size_t)size};
        return TW_OK;
    }
    *storage = malloc((size_t)size);
    if (!*storage) return tw_fail(error, TW_NO_MEMORY, "there is no memory for a copy of the instance's buffers, %" PRIu64 " bytes", size);
    *bytes = (tw_span){*storage, (size_t)size};
    return read_all(own, *storage, error);
}

tw_status tw_own_buffers_take(const tw_own_buffers *own, tw_arena *arena, tw_registers *out, uint8_t **storage, tw_span *bytes,
                              tw_error *error)
{
    *storage = NULL;
    *bytes = (tw_span){0};
    if (!own->count) return TW_OK;
    tw_registers_buffer *list = TW_NEW_ARRAY(arena, tw_registers_buffer, own->count);
    TW_TRY_ALLOC(list, error);
    for (uint32_t i = 0; i < own->count; i++) {
        const tw_own_buffer *item = &own->items[i];
        list[i] = (tw_registers_buffer){item->name, tw_backend_name(tw_buffer_backend(item->buffer)), tw_buffer_size(item->buffer)};
    }
    out->buffers = list;
    out->buffer_count = own->count;
    return take_bytes(own, storage, bytes, error);
}

/* ---- restore ---- */

static tw_status doesnt_fit(tw_error *error, const char *what)
{
    return tw_fail(error, TW_MALFORMED, "the snapshot's registers don't fit its device memory: %s", what);
}

tw_status tw_own_buffers_check(const tw_registers *from, tw_span bytes, tw_error *error)
{
    uint64_t left = bytes.size;
    for (uint32_t i = 0; i < from->buffer_count; i++) {
        if (from->buffers[i].size > left) return doesnt_fit(error, "buffers are larger than that");
        left -= from->buffers[i].size;
    }
    if (left) return doesnt_fit(error, "some of it belongs to no buffer");
    return bytes.size && !bytes.data ? tw_fail(error, TW_UNSUPPORTED, "the snapshot was opened without its device memory") : TW_OK;
}

static bool find_backend(const char *name, tw_backend *out)
{
    for (int i = 0; i < TW_BACKENDS; i++) {
        *out = (tw_backend)i;
        if (!strcmp(name, tw_backend_name(*out))) return true;
    }
    return false;
}

/* Why a backend can't be had; NULL when it can. The devices may be missing, too. */
static const char *missing(const tw_buffer_restoring *how, bool known, tw_backend backend)
{
    if (!known) return "this version doesn't know it";
    if (backend == TW_BACKEND_HOST) return NULL;
    if (!how->devices) return "the host that restores offers no devices";
    return tw_devices_missing(how->devices, backend);
}

typedef struct choice {
    tw_backend backend, captured;
    uint32_t device;
    char note[300]; /* "" = none */
} choice;

static tw_status choose(const tw_buffer_restoring *how, const tw_registers_buffer *from, choice *out, tw_error *error)
{
    bool known = find_backend(from->backend, &out->captured);
    if (!known) out->captured = TW_BACKEND_HOST;
    out->note[0] = 0;
    out->device = how->device;
    out->backend = how->place == TW_BUFFERS_ON_BACKEND ? how->backend : out->captured;
    const char *why = how->place == TW_BUFFERS_ON_BACKEND ? missing(how, true, how->backend) : missing(how, known, out->captured);
    if (!why) return TW_OK;
    if (how->place != TW_BUFFERS_OR_HOST)
        return tw_fail(error, TW_UNAVAILABLE, "the snapshot's buffer \"%s\" is to be %s memory, which isn't available: %.200s", from->name,
                       how->place == TW_BUFFERS_ON_BACKEND ? tw_backend_name(how->backend) : from->backend, why);
    out->backend = TW_BACKEND_HOST;
    out->device = 0;
    snprintf(out->note, sizeof out->note, "%.40s is not available: %.200s", from->backend, why);
    return TW_OK;
}

static tw_status put_one(tw_own_buffers *own, tw_devices *devices, const tw_buffer_restoring *how, tw_tenant_id tenant,
                         const tw_registers_buffer *from, const uint8_t *bytes, tw_error *error)
{
    choice c;
    tw_buffer *buffer;
    TW_TRY(choose(how, from, &c, error));
    tw_buffer_options options = {.size = sizeof options, .backend = c.backend, .device = c.backend == TW_BACKEND_HOST ? 0 : c.device,
                                 .tenant = tenant};
    TW_TRY(tw_buffer_take(devices, &options, from->size, &buffer, error));
    tw_status status = tw_buffer_write(buffer, 0, bytes, from->size, error);
    if (status == TW_OK) status = tw_own_buffers_add(own, from->name, buffer, error);
    if (status != TW_OK) {
        tw_buffer_free(buffer);
        return status;
    }
    tw_own_buffer *item = &own->items[own->count - 1];
    item->captured = c.captured;
    item->note = c.note[0] ? strdup(c.note) : NULL;
    return TW_OK;
}

static tw_status put_all(tw_own_buffers *own, tw_devices *devices, const tw_buffer_restoring *how, tw_tenant_id tenant,
                         const tw_registers *from, const uint8_t *at, tw_error *error)
{
    for (uint32_t i = 0; i < from->buffer_count; i++) {
        TW_TRY(put_one(own, devices, how, tenant, &from->buffers[i], at, error));
        at += from->buffers[i].size;
    }
    return TW_OK;
}

tw_status tw_own_buffers_put(tw_own_buffers *own, const tw_buffer_restoring *how, tw_tenant_id tenant, const tw_registers *from,
                             tw_span bytes, tw_error *error)
{
    static const tw_devices_setup only_host = {.open = {[TW_DEVICE_KIND_HOST] = tw_host_platform_open}, .max_bytes = INT64_MAX};
    tw_devices *devices = how->devices;
    if (!from->buffer_count) return TW_OK;
    if (how->max_bytes && bytes.size > how->max_bytes)
        return tw_fail(error, TW_LIMIT, "the snapshot's buffers have %zu bytes together, over the limit of %" PRIu64, bytes.size, how->max_bytes);
    if (devices) tw_devices_hold(devices);
    else TW_TRY(tw_devices_new(&only_host, &devices, error));
    tw_status status = put_all(own, devices, how, tenant, from, bytes.data, error);
    tw_devices_close(devices);
    return status;
}
