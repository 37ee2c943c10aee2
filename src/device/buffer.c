/* SPDX-License-Identifier: Apache-2.0 */
/* Buffers: every check that doesn't depend on the backend is made here, once. */
#include <inttypes.h>
#include <stdlib.h>

#include "device/backend.h"
#include "memory/account.h"

struct tw_buffer {
    tw_block block;
    tw_devices *devices; /* held, as is the tenant's account */
    tw_account *account;
    bool owned; /* by an instance, which frees it */
};

/* ---- life ---- */

static tw_status find_platform(tw_devices *devices, tw_backend backend, uint32_t device, tw_platform **out,
                               tw_error *error)
{
    const char *name = tw_backend_name(backend), *why;
    tw_platform *platform;
    tw_status status = tw_devices_find(devices, backend, &platform, &why);
    if (status) return tw_fail(error, status, "%s is not available: %s", name, why);
    uint32_t count = platform->table->count(platform);
    if (device >= count)
        return tw_fail(error, TW_UNAVAILABLE, "%s: there is no device %" PRIu32 ", the last one is %" PRIu32, name,
                       device, count - 1);
    if (!(platform->table->describe(platform, device)->backends >> backend & 1))
        return tw_fail(error, TW_UNAVAILABLE, "device %" PRIu32 " has no %s", device, name);
    *out = platform;
    return TW_OK;
}

static tw_status check_size(tw_devices *devices, const tw_block *block, tw_error *error)
{
    uint64_t most = block->platform->table->most(block->platform, block->device, block->backend);
    uint64_t allowed = tw_devices_max_bytes(devices);
    if (block->size > allowed)
        return tw_fail(error, TW_LIMIT, "a buffer of %" PRIu64 " bytes: %" PRIu64 " are allowed (max_bytes)",
                       block->size, allowed);
    if (block->size > most)
        return tw_fail(error, TW_LIMIT, "a buffer of %" PRIu64 " bytes: %s has %" PRIu64 " at most", block->size,
                       tw_backend_name(block->backend), most);
    return TW_OK;
}

static tw_status take_zeroed(tw_block *block, tw_error *error)
{
    const tw_platform_table *table = block->platform->table;
    TW_TRY(table->take(block, error));
    tw_status status = table->gives_zeros ? TW_OK : table->fill(block, 0, block->size, 0, 1, error);
    if (status) table->give(block);
    return status;
}

/* The account is held where it works. */
static tw_status charge_and_take(tw_block *block, uint64_t tenant, tw_account **account, tw_error *error)
{
    TW_TRY(tw_account_get(tenant, account, error));
    tw_status status = tw_account_take(*account, TW_ACCOUNT_BUFFERS, block->size, error);
    if (status == TW_OK) {
        status = take_zeroed(block, error);
        if (status == TW_OK) return TW_OK;
        tw_account_give(*account, TW_ACCOUNT_BUFFERS, block->size);
    }
    tw_account_drop(*account);
    return status;
}

tw_status tw_buffer_take(tw_devices *devices, const tw_buffer_options *options, uint64_t bytes, tw_buffer **out, tw_error *error)
{
    tw_block block = {.device = options->device, .backend = options->backend, .size = bytes};
    tw_account *account;
    if ((unsigned)block.backend >= TW_BACKENDS)
        return tw_fail(error, TW_INVALID_ARGUMENT, "tw_buffer_new: there is no backend %d", (int)block.backend);
    if (bytes == 0) return tw_fail(error, TW_INVALID_ARGUMENT, "tw_buffer_new: a buffer of 0 bytes");
    TW_TRY(find_platform(devices, block.backend, block.device, &block.platform, error));
    TW_TRY(check_size(devices, &block, error));
    tw_buffer *buffer = malloc(sizeof *buffer);
    TW_TRY_ALLOC(buffer, error);
    tw_status status = charge_and_take(&block, options->tenant, &account, error);
    if (status) {
        free(buffer);
        return status;
    }
    tw_devices_hold(devices);
    *buffer = (tw_buffer){block, devices, account, false};
    *out = buffer;
    return TW_OK;
}

bool tw_buffer_own(tw_buffer *buffer, bool owned)
{
    bool changes = buffer->owned != owned;
    buffer->owned = owned;
    return changes;
}

void tw_buffer_free(tw_buffer *buffer)
{
    if (!buffer || buffer->owned) return;
    buffer->block.platform->table->give(&buffer->block);
    tw_account_give(buffer->account, TW_ACCOUNT_BUFFERS, buffer->block.size);
    tw_account_drop(buffer->account);
    tw_devices_close(buffer->devices);
    free(buffer);
}

void *tw_buffer_host(const tw_buffer *buffer)
{
    return buffer->block.host;
}

uint64_t tw_buffer_device(const tw_buffer *buffer)
{
    return buffer->block.address;
}

uint64_t tw_buffer_size(const tw_buffer *buffer)
{
    return buffer->block.size;
}

tw_backend tw_buffer_backend(const tw_buffer *buffer)
{
    return buffer->block.backend;
}

/* ---- work ---- */

static tw_status check_range(const tw_buffer *buffer, uint64_t offset, uint64_t size, const char *call, tw_error *error)
{
    if (!buffer) return tw_fail(error, TW_INVALID_ARGUMENT, "%s: a required pointer is NULL", call);
    if (offset > buffer->block.size || size > buffer->block.size - offset)
        return tw_fail(error, TW_INVALID_ARGUMENT, "%s: %" PRIu64 " bytes at %" PRIu64 " of a buffer of %" PRIu64, call,
                       size, offset, buffer->block.size);
    return TW_OK;
}

tw_status tw_buffer_fill(tw_buffer *buffer, uint64_t offset, uint64_t size, uint32_t pattern, unsigned width,
                         tw_error *error)
{
    TW_TRY(check_range(buffer, offset, size, "tw_buffer_fill", error));
    if (width != 1 && width != 2 && width != 4)
        return tw_fail(error, TW_INVALID_ARGUMENT, "tw_buffer_fill: a pattern of %u bytes; it may have 1, 2 or 4",
                       width);
    if (offset % width || size % width)
        return tw_fail(error, TW_INVALID_ARGUMENT,
                       "tw_buffer_fill: offset or size isn't a multiple of the pattern's %u", width);
    return size ? buffer->block.platform->table->fill(&buffer->block, offset, size, pattern, width, error) : TW_OK;
}

tw_status tw_buffer_zero(tw_buffer *buffer, tw_error *error)
{
    return tw_buffer_fill(buffer, 0, buffer ? buffer->block.size : 0, 0, 1, error);
}

static tw_status check_data(const tw_buffer *buffer, uint64_t offset, const void *data, uint64_t size, const char *call,
                            tw_error *error)
{
    TW_TRY(check_range(buffer, offset, size, call, error));
    if (!data && size) return tw_fail(error, TW_INVALID_ARGUMENT, "%s: data is NULL", call);
    uintptr_t first = (uintptr_t)data, own = (uintptr_t)buffer->block.host;
    if (size && first < own + buffer->block.size && own < first + size)
        return tw_fail(error, TW_INVALID_ARGUMENT, "%s: data lies in the buffer itself", call);
    return TW_OK;
}

tw_status tw_buffer_write(tw_buffer *buffer, uint64_t offset, const void *data, uint64_t size, tw_error *error)
{
    TW_TRY(check_data(buffer, offset, data, size, "tw_buffer_write", error));
    return size ? buffer->block.platform->table->write(&buffer->block, offset, data, size, error) : TW_OK;
}

tw_status tw_buffer_read(const tw_buffer *buffer, uint64_t offset, void *data, uint64_t size, tw_error *error)
{
    TW_TRY(check_data(buffer, offset, data, size, "tw_buffer_read", error));
    return size ? buffer->block.platform->table->read(&buffer->block, offset, data, size, error) : TW_OK;
}

tw_status tw_buffer_copy(tw_buffer *to, uint64_t to_offset, const tw_buffer *from, uint64_t from_offset, uint64_t size,
                         tw_error *error)
{
    TW_TRY(check_range(to, to_offset, size, "tw_buffer_copy", error));
    TW_TRY(check_range(from, from_offset, size, "tw_buffer_copy", error));
    if (to == from && to_offset < from_offset + size && from_offset < to_offset + size)
        return tw_fail(error, TW_INVALID_ARGUMENT, "tw_buffer_copy: the two ranges overlap");
    if (size == 0) return TW_OK;
    const tw_platform_table *table = to->block.platform->table;
    if (to->block.platform == from->block.platform && to->block.device == from->block.device)
        return table->copy(&to->block, to_offset, &from->block, from_offset, size, error);
    return table->write(&to->block, to_offset, from->block.host + from_offset, size, error);
}

tw_status tw_buffer_prefetch(tw_buffer *buffer, uint64_t offset, uint64_t size, tw_place place, tw_error *error)
{
    TW_TRY(check_range(buffer, offset, size, "tw_buffer_prefetch", error));
    if (place != TW_PLACE_HOST && place != TW_PLACE_DEVICE)
        return tw_fail(error, TW_INVALID_ARGUMENT, "tw_buffer_prefetch: there is no place %d", (int)place);
    const tw_platform_table *table = buffer->block.platform->table;
    return size && table->prefetch ? table->prefetch(&buffer->block, offset, size, place, error) : TW_OK;
}

tw_status tw_buffer_advise(tw_buffer *buffer, uint64_t offset, uint64_t size, tw_advice advice, tw_error *error)
{
    TW_TRY(check_range(buffer, offset, size, "tw_buffer_advise", error));
    if ((unsigned)advice >= TW_ADVICES)
        return tw_fail(error, TW_INVALID_ARGUMENT, "tw_buffer_advise: there is no advice %d", (int)advice);
    const tw_platform_table *table = buffer->block.platform->table;
    return size && table->advise ? table->advise(&buffer->block, offset, size, advice, error) : TW_OK;
}
