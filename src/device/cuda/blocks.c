/* SPDX-License-Identifier: Apache-2.0 */
/* Memory of CUDA devices, and work on it. */
#include <stdio.h>

#include "device/cuda/inside.h"
#include "os/library.h"

static tw_cuda *cuda_of(const tw_block *block)
{
    return (tw_cuda *)block->platform;
}

static tw_cuda_device *device_of(const tw_block *block)
{
    return &cuda_of(block)->devices[block->device];
}

/* ---- contexts ---- */

static tw_status retain(tw_cuda *cuda, tw_cuda_device *device, tw_error *error)
{
    tw_cu_context context, popped;
    tw_cu_result result = cuda->calls.context_retain(&context, device->handle);
    if (result) return tw_cuda_fail(cuda, TW_DEVICE, result, "cuDevicePrimaryCtxRetain", error);
    const char *call = "cuCtxPushCurrent";
    result = cuda->calls.context_push(context);
    if (!result) {
        call = "cuStreamCreate";
        result = cuda->calls.stream_create(&device->stream, TW_CU_STREAM_NON_BLOCKING);
        cuda->calls.context_pop(&popped);
    }
    if (result) {
        cuda->calls.context_release(device->handle);
        return tw_cuda_fail(cuda, TW_DEVICE, result, call, error);
    }
    device->context = context;
    return TW_OK;
}

/* The driver starts threads for a context. */
static tw_status retain_once(tw_cuda *cuda, tw_cuda_device *device, tw_error *error)
{
    tw_status status = TW_OK;
    pthread_mutex_lock(&device->lock);
    if (!device->context) {
        tw_library_section section;
        tw_library_section_begin(&section);
        status = retain(cuda, device, error);
        tw_library_section_end(&section);
    }
    pthread_mutex_unlock(&device->lock);
    return status;
}

tw_status tw_cuda_enter(tw_cuda *cuda, tw_cuda_device *device, tw_error *error)
{
    TW_TRY(retain_once(cuda, device, error));
    tw_cu_result result = cuda->calls.context_push(device->context);
    return result ? tw_cuda_fail(cuda, TW_DEVICE, result, "cuCtxPushCurrent", error) : TW_OK;
}

tw_status tw_cuda_leave(tw_cuda *cuda, tw_cuda_device *device, tw_cu_result result, const char *call, tw_error *error)
{
    tw_cu_context popped;
    if (!result) {
        result = cuda->calls.stream_synchronize(device->stream);
        call = "cuStreamSynchronize";
    }
    cuda->calls.context_pop(&popped);
    return result ? tw_cuda_fail(cuda, TW_DEVICE, result, call, error) : TW_OK;
}

void tw_cuda_release(tw_cuda *cuda, tw_cuda_device *device)
{
    tw_cu_context popped;
    if (!device->context) return;
    if (!cuda->calls.context_push(device->context)) {
        cuda->calls.stream_destroy(device->stream);
        cuda->calls.context_pop(&popped);
    }
    cuda->calls.context_release(device->handle);
    device->context = NULL;
}

/* ---- blocks ---- */

/* Managed memory may exceed the device's where pages move on their own. */
static uint64_t most(const tw_platform *platform, uint32_t device, tw_backend backend)
{
    const tw_cuda *cuda = (const tw_cuda *)platform;
    const tw_device_info *info = &cuda->devices[device].info;
    if (backend == TW_BACKEND_CUDA_PINNED) return cuda->host_memory;
    return info->can >> TW_CAN_CONCURRENT & 1 ? info->memory + cuda->host_memory : info->memory;
}

static tw_cu_result take_managed(const tw_cuda_calls *calls, tw_block *block, const char **call)
{
    tw_cu_ptr address;
    *call = "cuMemAllocManaged";
    tw_cu_result result = calls->managed_alloc(&address, block->size, TW_CU_MEM_ATTACH_GLOBAL);
    if (result) return result;
    block->address = address;
    block->host = (uint8_t *)(uintptr_t)address;
    return TW_CUDA_SUCCESS;
}

static tw_cu_result take_pinned(const tw_cuda_calls *calls, tw_block *block, const char **call)
{
    void *host;
    tw_cu_ptr address;
    *call = "cuMemHostAlloc";
    tw_cu_result result =
        calls->host_alloc(&host, block->size, TW_CU_MEMHOSTALLOC_PORTABLE | TW_CU_MEMHOSTALLOC_DEVICEMAP);
    if (result) return result;
    *call = "cuMemHostGetDevicePointer";
    result = calls->host_address(&address, host, 0);
    if (result) {
        calls->host_free(host);
        return result;
    }
    block->address = address;
    block->host = host;
    return TW_CUDA_SUCCESS;
}

static tw_status take(tw_block *block, tw_error *error)
{
    tw_cuda *cuda = cuda_of(block);
    const char *call;
    TW_TRY(tw_cuda_enter(cuda, device_of(block), error));
    bool managed = block->backend == TW_BACKEND_CUDA_MANAGED;
    tw_cu_result result = (managed ? take_managed : take_pinned)(&cuda->calls, block, &call);
    tw_cu_context popped;
    cuda->calls.context_pop(&popped);
    return result ? tw_cuda_fail(cuda, TW_DEVICE, result, call, error) : TW_OK;
}

static void give(tw_block *block)
{
    tw_cuda *cuda = cuda_of(block);
    tw_cu_context popped;
    if (tw_cuda_enter(cuda, device_of(block), NULL)) return;
    if (block->backend == TW_BACKEND_CUDA_MANAGED) cuda->calls.managed_free(block->address);
    else cuda->calls.host_free(block->host);
    cuda->calls.context_pop(&popped);
}

/* ---- work ---- */

static tw_status fill(tw_block *block, uint64_t offset, uint64_t size, uint32_t pattern, unsigned width,
                      tw_error *error)
{
    tw_cuda *cuda = cuda_of(block);
    tw_cuda_device *device = device_of(block);
    tw_cu_ptr to = block->address + offset;
    TW_TRY(tw_cuda_enter(cuda, device, error));
    tw_cu_result result = width == 1   ? cuda->calls.fill_1(to, (unsigned char)pattern, size, device->stream)
                          : width == 2 ? cuda->calls.fill_2(to, (unsigned short)pattern, size / 2, device->stream)
                                       : cuda->calls.fill_4(to, pattern, size / 4, device->stream);
    return tw_cuda_leave(cuda, device, result, "cuMemsetAsync", error);
}

/* The driver tells by its addresses where memory lies: its own, managed or pinned, or anybody's. */
static tw_status copy_bytes(const tw_block *block, tw_cu_ptr to, tw_cu_ptr from, uint64_t size, tw_error *error)
{
    tw_cuda *cuda = cuda_of(block);
    tw_cuda_device *device = device_of(block);
    TW_TRY(tw_cuda_enter(cuda, device, error));
    tw_cu_result result = cuda->calls.copy(to, from, size, device->stream);
    return tw_cuda_leave(cuda, device, result, "cuMemcpyAsync", error);
}

static tw_status write_in(tw_block *block, uint64_t offset, const void *data, uint64_t size, tw_error *error)
{
    return copy_bytes(block, block->address + offset, (uintptr_t)data, size, error);
}

static tw_status read_out(const tw_block *block, uint64_t offset, void *data, uint64_t size, tw_error *error)
{
    return copy_bytes(block, (uintptr_t)data, block->address + offset, size, error);
}

static tw_status copy(tw_block *to, uint64_t to_offset, const tw_block *from, uint64_t from_offset, uint64_t size,
                      tw_error *error)
{
    return copy_bytes(to, to->address + to_offset, from->address + from_offset, size, error);
}

/* ---- hints ---- */

/* Pinned pages stay where they are; managed ones move as a whole where host and device can't use them at once. */
static bool takes_hints(const tw_block *block, unsigned can)
{
    return block->backend == TW_BACKEND_CUDA_MANAGED && device_of(block)->info.can >> can & 1;
}

static tw_cu_location location_of(const tw_cuda_device *device, tw_place place)
{
    if (place == TW_PLACE_HOST) return (tw_cu_location){TW_CU_MEM_LOCATION_TYPE_HOST, 0};
    return (tw_cu_location){TW_CU_MEM_LOCATION_TYPE_DEVICE, device->handle};
}

static tw_cu_device old_location_of(const tw_cuda_device *device, tw_place place)
{
    return place == TW_PLACE_HOST ? TW_CU_DEVICE_CPU : device->handle;
}

static tw_status prefetch(tw_block *block, uint64_t offset, uint64_t size, tw_place place, tw_error *error)
{
    tw_cuda *cuda = cuda_of(block);
    tw_cuda_device *device = device_of(block);
    tw_cu_ptr at = block->address + offset;
    if (!takes_hints(block, TW_CAN_PREFETCH)) return TW_OK;
    TW_TRY(tw_cuda_enter(cuda, device, error));
    tw_cu_result result = cuda->calls.prefetch_2
                              ? cuda->calls.prefetch_2(at, size, location_of(device, place), 0, device->stream)
                              : cuda->calls.prefetch_1(at, size, old_location_of(device, place), device->stream);
    return tw_cuda_leave(cuda, device, result, "cuMemPrefetchAsync", error);
}

static const struct {
    tw_cu_advice advice;
    tw_place place;
} advices[TW_ADVICES] = {
    [TW_ADVICE_READ_MOSTLY] = {TW_CU_MEM_ADVISE_SET_READ_MOSTLY, TW_PLACE_DEVICE},
    [TW_ADVICE_NOT_READ_MOSTLY] = {TW_CU_MEM_ADVISE_UNSET_READ_MOSTLY, TW_PLACE_DEVICE},
    [TW_ADVICE_PREFER_HOST] = {TW_CU_MEM_ADVISE_SET_PREFERRED_LOCATION, TW_PLACE_HOST},
    [TW_ADVICE_PREFER_DEVICE] = {TW_CU_MEM_ADVISE_SET_PREFERRED_LOCATION, TW_PLACE_DEVICE},
    [TW_ADVICE_PREFER_NONE] = {TW_CU_MEM_ADVISE_UNSET_PREFERRED_LOCATION, TW_PLACE_DEVICE},
    [TW_ADVICE_ACCESSED_BY_DEVICE] = {TW_CU_MEM_ADVISE_SET_ACCESSED_BY, TW_PLACE_DEVICE},
    [TW_ADVICE_NOT_ACCESSED_BY_DEVICE] = {TW_CU_MEM_ADVISE_UNSET_ACCESSED_BY, TW_PLACE_DEVICE},
};

static tw_status advise(tw_block *block, uint64_t offset, uint64_t size, tw_advice advice, tw_error *error)
{
    tw_cuda *cuda = cuda_of(block);
    tw_cuda_device *device = device_of(block);
    tw_cu_ptr at = block->address + offset;
    if (!takes_hints(block, TW_CAN_ADVISE)) return TW_OK;
    TW_TRY(tw_cuda_enter(cuda, device, error));
    tw_cu_advice which = advices[advice].advice;
    tw_place place = advices[advice].place;
    tw_cu_result result = cuda->calls.advise_2 ? cuda->calls.advise_2(at, size, which, location_of(device, place))
                                               : cuda->calls.advise_1(at, size, which, old_location_of(device, place));
    return tw_cuda_leave(cuda, device, result, "cuMemAdvise", error);
}

const tw_platform_table tw_cuda_table = {
    .count = tw_cuda_count,
    .describe = tw_cuda_describe,
    .most = most,
    .take = take,
    .give = give,
    .fill = fill,
    .write = write_in,
    .read = read_out,
    .copy = copy,
    .prefetch = prefetch,
    .advise = advise,
    .close = tw_cuda_close,
};
