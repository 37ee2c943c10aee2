/* SPDX-License-Identifier: Apache-2.0 */
/* Shared virtual memory of OpenCL devices, and work on it. */
#include <inttypes.h>
#include <string.h>

#include "device/opencl/inside.h"

#define NO_EVENTS 0, NULL, NULL

static tw_opencl *cl_of(const tw_block *block)
{
    return (tw_opencl *)block->platform;
}

static tw_opencl_device *device_of(const tw_block *block)
{
    return &cl_of(block)->devices[block->device];
}

static bool is_fine(const tw_block *block)
{
    return device_of(block)->info.can >> TW_CAN_SVM_FINE & 1;
}

static uint64_t most(const tw_platform *platform, uint32_t device, tw_backend backend)
{
    (void)backend;
    return ((const tw_opencl *)platform)->devices[device].most;
}

/* ---- whose the memory is ---- */

static tw_status to_host(const tw_block *block, tw_error *error)
{
    if (is_fine(block)) return TW_OK;
    tw_cl_int result = cl_of(block)->calls.svm_map(
        device_of(block)->queue, TW_CL_TRUE, TW_CL_MAP_READ | TW_CL_MAP_WRITE, block->host, block->size, NO_EVENTS);
    return result ? tw_opencl_fail(TW_DEVICE, result, "clEnqueueSVMMap", error) : TW_OK;
}

static tw_status to_device(const tw_block *block, tw_error *error)
{
    if (is_fine(block)) return TW_OK;
    tw_cl_int result = cl_of(block)->calls.svm_unmap(device_of(block)->queue, block->host, NO_EVENTS);
    return result ? tw_opencl_fail(TW_DEVICE, result, "clEnqueueSVMUnmap", error) : TW_OK;
}

/* result, call: of what was queued. Waits, and gives the memory back to the host whatever happened. */
static tw_status finish(const tw_block *block, tw_cl_int result, const char *call, tw_error *error)
{
    if (!result) {
        result = cl_of(block)->calls.finish(device_of(block)->queue);
        call = "clFinish";
    }
    tw_status mapped = to_host(block, error);
    return result ? tw_opencl_fail(TW_DEVICE, result, call, error) : mapped;
}

/* ---- blocks ---- */

static tw_status take(tw_block *block, tw_error *error)
{
    tw_opencl *cl = cl_of(block);
    tw_opencl_device *device = device_of(block);
    tw_cl_flags flags = TW_CL_MEM_READ_WRITE | (is_fine(block) ? TW_CL_MEM_SVM_FINE_GRAIN_BUFFER : 0);
    TW_TRY(tw_opencl_start(cl, device, error));
    void *memory = cl->calls.svm_alloc(device->context, flags, block->size, 0);
    if (!memory)
        return tw_fail(error, TW_NO_MEMORY, "clSVMAlloc: the device has no %" PRIu64 " bytes left", block->size);
    block->host = memory;
    block->address = (uintptr_t)memory;
    tw_status status = to_host(block, error);
    if (status) cl->calls.svm_free(device->context, memory);
    return status;
}

static void give(tw_block *block)
{
    tw_opencl_device *device = device_of(block);
    if (!to_device(block, NULL)) cl_of(block)->calls.finish(device->queue);
    cl_of(block)->calls.svm_free(device->context, block->host);
}

/* ---- work ---- */

static tw_status fill(tw_block *block, uint64_t offset, uint64_t size, uint32_t pattern, unsigned width,
                      tw_error *error)
{
    uint8_t bytes[4];
    memcpy(bytes, &pattern, sizeof bytes);
    TW_TRY(to_device(block, error));
    tw_cl_int result =
        cl_of(block)->calls.svm_fill(device_of(block)->queue, block->host + offset, bytes, width, size, NO_EVENTS);
    return finish(block, result, "clEnqueueSVMMemFill", error);
}

static tw_cl_int queue_copy(const tw_block *block, void *to, const void *from, uint64_t size)
{
    return cl_of(block)->calls.svm_copy(device_of(block)->queue, TW_CL_FALSE, to, from, size, NO_EVENTS);
}

static tw_status write_in(tw_block *block, uint64_t offset, const void *data, uint64_t size, tw_error *error)
{
    TW_TRY(to_device(block, error));
    return finish(block, queue_copy(block, block->host + offset, data, size), "clEnqueueSVMMemcpy", error);
}

static tw_status read_out(const tw_block *block, uint64_t offset, void *data, uint64_t size, tw_error *error)
{
    TW_TRY(to_device(block, error));
    return finish(block, queue_copy(block, data, block->host + offset, size), "clEnqueueSVMMemcpy", error);
}

static tw_status copy(tw_block *to, uint64_t to_offset, const tw_block *from, uint64_t from_offset, uint64_t size,
                      tw_error *error)
{
    bool one = to->host == from->host;
    TW_TRY(to_device(to, error));
    tw_status status = one ? TW_OK : to_device(from, error);
    if (status) {
        to_host(to, NULL);
        return status;
    }
    tw_cl_int result = queue_copy(to, to->host + to_offset, from->host + from_offset, size);
    status = finish(to, result, "clEnqueueSVMMemcpy", error);
    tw_status back = one ? TW_OK : to_host(from, status ? NULL : error);
    return status ? status : back;
}

static tw_status prefetch(tw_block *block, uint64_t offset, uint64_t size, tw_place place, tw_error *error)
{
    const void *at = block->host + offset;
    size_t bytes = size;
    if (!(device_of(block)->info.can >> TW_CAN_PREFETCH & 1)) return TW_OK;
    TW_TRY(to_device(block, error));
    tw_cl_int result = cl_of(block)->calls.svm_migrate(
        device_of(block)->queue, 1, &at, &bytes, place == TW_PLACE_HOST ? TW_CL_MIGRATE_MEM_OBJECT_HOST : 0, NO_EVENTS);
    return finish(block, result, "clEnqueueSVMMigrateMem", error);
}

const tw_platform_table tw_opencl_table = {
    .count = tw_opencl_count,
    .describe = tw_opencl_describe,
    .most = most,
    .take = take,
    .give = give,
    .fill = fill,
    .write = write_in,
    .read = read_out,
    .copy = copy,
    .prefetch = prefetch,
    .close = tw_opencl_close,
};
