/* SPDX-License-Identifier: Apache-2.0 */
/* From a library's name to devices with their abilities. */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "device/cuda/inside.h"
#include "os/cgroup.h"
#include "os/library.h"
#include "os/machine.h"

enum { MOST_DEVICES = 64 };

static const tw_library_symbol symbols[] = {
#define SYMBOL(field, symbol, optional, parameters) {#symbol, offsetof(tw_cuda_calls, field), optional},
    TW_CUDA_CALLS(SYMBOL)
#undef SYMBOL
};

tw_status tw_cuda_fail(const tw_cuda *cuda, tw_status status, tw_cu_result result, const char *call, tw_error *error)
{
    const char *name = NULL, *text = NULL;
    if (cuda->calls.error_name(result, &name)) name = NULL;
    if (cuda->calls.error_text(result, &text)) text = NULL;
    if (result == TW_CUDA_ERROR_OUT_OF_MEMORY) status = TW_NO_MEMORY;
    return tw_fail(error, status, "%s: error %d, %s (%s)", call, result, name ? name : "which has no name",
                   text ? text : "the driver doesn't say what it means");
}

uint32_t tw_cuda_count(const tw_platform *platform)
{
    return ((const tw_cuda *)platform)->count;
}

const tw_device_info *tw_cuda_describe(const tw_platform *platform, uint32_t device)
{
    return &((const tw_cuda *)platform)->devices[device].info;
}

void tw_cuda_close(tw_platform *platform)
{
    tw_cuda *cuda = (tw_cuda *)platform;
    for (uint32_t i = 0; i < cuda->count; i++) {
        tw_cuda_release(cuda, &cuda->devices[i]);
        pthread_mutex_destroy(&cuda->devices[i].lock);
    }
    free(cuda);
}

/* 0 where the driver doesn't know it. */
static int attribute(const tw_cuda *cuda, const tw_cuda_device *device, tw_cu_attribute which)
{
    int value = 0;
    return cuda->calls.device_attribute(&value, which, device->handle) ? 0 : value;
}

static uint32_t abilities(const tw_cuda *cuda, const tw_cuda_device *device)
{
    uint32_t can = 0;
    if (attribute(cuda, device, TW_CU_DEVICE_ATTRIBUTE_CONCURRENT_MANAGED_ACCESS))
        can |= 1u << TW_CAN_CONCURRENT | 1u << TW_CAN_PREFETCH | 1u << TW_CAN_ADVISE;
    if (attribute(cuda, device, TW_CU_DEVICE_ATTRIBUTE_PAGEABLE_MEMORY_ACCESS)) can |= 1u << TW_CAN_PAGEABLE;
    if (attribute(cuda, device, TW_CU_DEVICE_ATTRIBUTE_INTEGRATED)) can |= 1u << TW_CAN_INTEGRATED;
    return can;
}

static uint32_t backends(const tw_cuda *cuda, const tw_cuda_device *device)
{
    uint32_t has = 0;
    if (attribute(cuda, device, TW_CU_DEVICE_ATTRIBUTE_MANAGED_MEMORY)) has |= 1u << TW_BACKEND_CUDA_MANAGED;
    if (attribute(cuda, device, TW_CU_DEVICE_ATTRIBUTE_CAN_MAP_HOST_MEMORY)) has |= 1u << TW_BACKEND_CUDA_PINNED;
    return has;
}

static tw_status look_at(tw_cuda *cuda, uint32_t index, tw_error *error)
{
    tw_cuda_device *device = &cuda->devices[index];
    size_t memory = 0;
    tw_cu_result result = cuda->calls.device_get(&device->handle, (int)index);
    if (result) return tw_cuda_fail(cuda, TW_UNAVAILABLE, result, "cuDeviceGet", error);
    if (cuda->calls.device_name(device->name, sizeof device->name, device->handle)) device->name[0] = 0;
    if (cuda->calls.device_memory(&memory, device->handle)) memory = 0;
    device->name[sizeof device->name - 1] = 0;
    snprintf(device->version, sizeof device->version, "compute capability %d.%d",
             attribute(cuda, device, TW_CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MAJOR),
             attribute(cuda, device, TW_CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MINOR));
    int units = attribute(cuda, device, TW_CU_DEVICE_ATTRIBUTE_MULTIPROCESSOR_COUNT);
    device->info = (tw_device_info){
        .kind = TW_DEVICE_KIND_CUDA,
        .index = index,
        .name = device->name,
        .driver = cuda->driver,
        .version = device->version,
        .memory = memory,
        .compute_units = units > 0 ? (uint32_t)units : 0,
        .backends = backends(cuda, device),
        .can = abilities(cuda, device),
    };
    return TW_OK;
}

/* A driver without devices is no platform. */
static tw_status start(const tw_cuda_calls *calls, int *version, int *count, tw_error *error)
{
    const tw_cuda only_calls = {.calls = *calls};
    tw_cu_result result = calls->init(0);
    if (result) return tw_cuda_fail(&only_calls, TW_UNAVAILABLE, result, "cuInit", error);
    result = calls->driver_version(version);
    if (result) return tw_cuda_fail(&only_calls, TW_UNAVAILABLE, result, "cuDriverGetVersion", error);
    result = calls->device_count(count);
    if (result) return tw_cuda_fail(&only_calls, TW_UNAVAILABLE, result, "cuDeviceGetCount", error);
    if (*count < 1) return tw_fail(error, TW_UNAVAILABLE, "CUDA's driver is here, and no device of its");
    if (*count > MOST_DEVICES) *count = MOST_DEVICES;
    return TW_OK;
}

static tw_status describe_all(tw_cuda *cuda, int version, int count, tw_error *error)
{
    tw_machine machine;
    tw_machine_describe(&machine);
    cuda->platform.table = &tw_cuda_table;
    uint64_t allowed = tw_cgroup_memory();
    cuda->host_memory = machine.memory < allowed ? machine.memory : allowed;
    cuda->count = (uint32_t)count;
    snprintf(cuda->driver, sizeof cuda->driver, "CUDA driver %d.%d", version / 1000, version % 1000 / 10);
    for (uint32_t i = 0; i < cuda->count; i++) pthread_mutex_init(&cuda->devices[i].lock, NULL);
    for (uint32_t i = 0; i < cuda->count; i++) TW_TRY(look_at(cuda, i, error));
    return TW_OK;
}

static tw_status open_platform(const char *name, tw_platform **out, tw_error *error)
{
    tw_cuda_calls calls;
    void *library;
    int version = 0, count = 0;
    TW_TRY(tw_library_load(name, &library, error));
    TW_TRY(tw_library_find(library, name, symbols, sizeof symbols / sizeof *symbols, &calls, error));
    TW_TRY(start(&calls, &version, &count, error));
    tw_cuda *cuda = calloc(1, sizeof *cuda + (size_t)count * sizeof *cuda->devices);
    TW_TRY_ALLOC(cuda, error);
    cuda->calls = calls;
    tw_status status = describe_all(cuda, version, count, error);
    if (status) tw_cuda_close(&cuda->platform);
    else *out = &cuda->platform;
    return status;
}

tw_status tw_cuda_platform_open(const char *library, tw_platform **out, tw_error *error)
{
    tw_library_section section;
    tw_library_section_begin(&section);
    tw_status status = open_platform(library ? library : "libcuda.so.1", out, error);
    tw_library_section_end(&section);
    return status;
}
