/* SPDX-License-Identifier: Apache-2.0 */
/* From a library's name to devices with their abilities. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "device/opencl/inside.h"
#include "os/library.h"

enum { MOST_PLATFORMS = 32, MOST_DEVICES = 64 };

static const tw_library_symbol symbols[] = {
#define SYMBOL(field, symbol, optional, result, parameters) {#symbol, offsetof(tw_opencl_calls, field), optional},
    TW_OPENCL_CALLS(SYMBOL)
#undef SYMBOL
};

tw_status tw_opencl_fail(tw_status status, tw_cl_int result, const char *call, tw_error *error)
{
    if (result == TW_CL_MEM_OBJECT_ALLOCATION_FAILURE || result == TW_CL_OUT_OF_HOST_MEMORY) status = TW_NO_MEMORY;
    return tw_fail(error, status, "%s: OpenCL's error %d", call, (int)result);
}

uint32_t tw_opencl_count(const tw_platform *platform)
{
    return ((const tw_opencl *)platform)->count;
}

const tw_device_info *tw_opencl_describe(const tw_platform *platform, uint32_t device)
{
    return &((const tw_opencl *)platform)->devices[device].info;
}

static void stop(const tw_opencl *cl, tw_opencl_device *device)
{
    if (device->context) {
        cl->calls.queue_release(device->queue);
        cl->calls.context_release(device->context);
    }
    pthread_mutex_destroy(&device->lock);
}

void tw_opencl_close(tw_platform *platform)
{
    tw_opencl *cl = (tw_opencl *)platform;
    for (uint32_t i = 0; i < cl->count; i++) stop(cl, &cl->devices[i]);
    free(cl->devices);
    free(cl);
}

/* ---- contexts ---- */

static tw_status make_queue(const tw_opencl *cl, tw_opencl_device *device, tw_error *error)
{
    const tw_cl_context_property properties[] = {TW_CL_CONTEXT_PLATFORM, (tw_cl_context_property)device->platform, 0};
    tw_cl_int result = TW_CL_SUCCESS;
    tw_cl_context context = cl->calls.context_create(properties, 1, &device->handle, NULL, NULL, &result);
    if (!context || result) return tw_opencl_fail(TW_DEVICE, result, "clCreateContext", error);
    device->queue = cl->calls.queue_create(context, device->handle, NULL, &result);
    if (!device->queue || result) {
        cl->calls.context_release(context);
        return tw_opencl_fail(TW_DEVICE, result, "clCreateCommandQueueWithProperties", error);
    }
    device->context = context;
    return TW_OK;
}

tw_status tw_opencl_start(tw_opencl *cl, tw_opencl_device *device, tw_error *error)
{
    tw_status status = TW_OK;
    pthread_mutex_lock(&device->lock);
    if (!device->context) {
        tw_library_section section;
        tw_library_section_begin(&section);
        status = make_queue(cl, device, error);
        tw_library_section_end(&section);
    }
    pthread_mutex_unlock(&device->lock);
    return status;
}

/* ---- devices ---- */

/* 0 where the device doesn't know it. */
static uint64_t number(const tw_opencl *cl, tw_cl_device device, tw_cl_uint what, size_t size)
{
    uint64_t value = 0; /* the machine is little-endian: smaller ones fit as they are */
    return cl->calls.device_info(device, what, size, &value, NULL) ? 0 : value;
}

static void text(const tw_opencl *cl, tw_cl_device device, tw_cl_uint what, char *out, size_t size)
{
    if (cl->calls.device_info(device, what, size - 1, out, NULL)) snprintf(out, size, "unknown");
    out[size - 1] = 0;
}

/* "OpenCL 3.0 and words" → 30; 0 for anything else. */
static int version_number(const char *version)
{
    int major, minor;
    return sscanf(version, "OpenCL %d.%d", &major, &minor) == 2 ? 10 * major + minor : 0;
}

static const struct {
    tw_cl_flags has;
    unsigned can;
} svm_kinds[] = {
    {TW_CL_DEVICE_SVM_COARSE_GRAIN_BUFFER, TW_CAN_SVM_COARSE},
    {TW_CL_DEVICE_SVM_FINE_GRAIN_BUFFER, TW_CAN_SVM_FINE},
    {TW_CL_DEVICE_SVM_FINE_GRAIN_SYSTEM, TW_CAN_SVM_SYSTEM},
    {TW_CL_DEVICE_SVM_ATOMICS, TW_CAN_SVM_ATOMICS},
};

static bool has_svm_calls(const tw_opencl_calls *calls)
{
    return calls->queue_create && calls->svm_alloc && calls->svm_free && calls->svm_map && calls->svm_unmap &&
           calls->svm_fill && calls->svm_copy;
}

static uint32_t abilities(const tw_opencl *cl, const tw_opencl_device *device)
{
    uint32_t can = 0;
    if (number(cl, device->handle, TW_CL_DEVICE_HOST_UNIFIED_MEMORY, sizeof(tw_cl_bool)))
        can |= 1u << TW_CAN_INTEGRATED;
    if (version_number(device->version) < 20 || !has_svm_calls(&cl->calls)) return can;
    tw_cl_flags svm = number(cl, device->handle, TW_CL_DEVICE_SVM_CAPABILITIES, sizeof svm);
    for (size_t i = 0; i < sizeof svm_kinds / sizeof *svm_kinds; i++)
        if (svm & svm_kinds[i].has) can |= 1u << svm_kinds[i].can;
    if (svm && version_number(device->version) >= 21 && cl->calls.svm_migrate) can |= 1u << TW_CAN_PREFETCH;
    return can;
}

static void look_at(const tw_opencl *cl, const char *platform, tw_opencl_device *device)
{
    const uint32_t svm = 1u << TW_CAN_SVM_COARSE | 1u << TW_CAN_SVM_FINE;
    char driver[64];
    text(cl, device->handle, TW_CL_DEVICE_NAME, device->name, sizeof device->name);
    text(cl, device->handle, TW_CL_DEVICE_VERSION, device->version, sizeof device->version);
    text(cl, device->handle, TW_CL_DRIVER_VERSION, driver, sizeof driver);
    snprintf(device->driver, sizeof device->driver, "%.100s %s", platform, driver);
    device->most = number(cl, device->handle, TW_CL_DEVICE_MAX_MEM_ALLOC_SIZE, sizeof(uint64_t));
    device->info = (tw_device_info){
        .kind = TW_DEVICE_KIND_OPENCL,
        .name = device->name,
        .driver = device->driver,
        .version = device->version,
        .memory = number(cl, device->handle, TW_CL_DEVICE_GLOBAL_MEM_SIZE, sizeof(uint64_t)),
        .compute_units = (uint32_t)number(cl, device->handle, TW_CL_DEVICE_MAX_COMPUTE_UNITS, sizeof(tw_cl_uint)),
        .can = abilities(cl, device),
    };
    if (device->info.can & svm) device->info.backends = 1u << TW_BACKEND_OPENCL_SVM;
}

/* ---- opening ---- */

/* A platform that fails, or has no devices, is left out. */
static tw_status add_devices(tw_opencl *cl, tw_cl_platform platform, tw_error *error)
{
    tw_cl_device handles[MOST_DEVICES];
    tw_cl_uint count = 0;
    char name[128] = "";
    if (cl->calls.devices(platform, TW_CL_DEVICE_TYPE_ALL, MOST_DEVICES, handles, &count)) return TW_OK;
    if (count > MOST_DEVICES) count = MOST_DEVICES;
    if (cl->calls.platform_info(platform, TW_CL_PLATFORM_NAME, sizeof name - 1, name, NULL)) strcpy(name, "unknown");
    tw_opencl_device *grown = realloc(cl->devices, (cl->count + count) * sizeof *grown);
    if (count) TW_TRY_ALLOC(grown, error);
    if (grown) cl->devices = grown;
    for (tw_cl_uint i = 0; i < count; i++) {
        tw_opencl_device *device = &cl->devices[cl->count++];
        *device = (tw_opencl_device){.platform = platform, .handle = handles[i]};
        pthread_mutex_init(&device->lock, NULL);
    }
    for (tw_cl_uint i = 0; i < count; i++) look_at(cl, name, &cl->devices[cl->count - count + i]);
    return TW_OK;
}

static tw_status add_platforms(tw_opencl *cl, tw_error *error)
{
    tw_cl_platform platforms[MOST_PLATFORMS];
    tw_cl_uint count = 0;
    tw_cl_int result = cl->calls.platforms(MOST_PLATFORMS, platforms, &count);
    if (result || count == 0)
        return tw_fail(error, TW_UNAVAILABLE, "OpenCL's loader is here, and no platform of its (clGetPlatformIDs: %d)",
                       (int)result);
    for (tw_cl_uint i = 0; i < count && i < MOST_PLATFORMS; i++) TW_TRY(add_devices(cl, platforms[i], error));
    if (cl->count == 0) return tw_fail(error, TW_UNAVAILABLE, "OpenCL's platforms have no device");
    for (uint32_t i = 0; i < cl->count; i++) cl->devices[i].info.index = i;
    return TW_OK;
}

static tw_status open_platform(const char *name, tw_platform **out, tw_error *error)
{
    tw_opencl_calls calls;
    void *library;
    TW_TRY(tw_library_load(name, &library, error));
    TW_TRY(tw_library_find(library, name, symbols, sizeof symbols / sizeof *symbols, &calls, error));
    tw_opencl *cl = calloc(1, sizeof *cl);
    TW_TRY_ALLOC(cl, error);
    cl->platform.table = &tw_opencl_table;
    cl->calls = calls;
    tw_status status = add_platforms(cl, error);
    if (status) tw_opencl_close(&cl->platform);
    else *out = &cl->platform;
    return status;
}

tw_status tw_opencl_platform_open(const char *library, tw_platform **out, tw_error *error)
{
    tw_library_section section;
    tw_library_section_begin(&section);
    tw_status status = open_platform(library ? library : "libOpenCL.so.1", out, error);
    tw_library_section_end(&section);
    return status;
}
