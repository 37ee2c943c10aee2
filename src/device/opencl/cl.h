/* SPDX-License-Identifier: Apache-2.0 */
#ifndef TW_DEVICE_OPENCL_CL_H
#define TW_DEVICE_OPENCL_CL_H

/* What we use of OpenCL, in our own words, so that no headers are needed to build. tests/devices/opencl_header.c holds every line
 * of it to Khronos's CL/cl.h. */

#include <stddef.h>
#include <stdint.h>

typedef int32_t tw_cl_int; /* 0: success */
typedef uint32_t tw_cl_uint, tw_cl_bool;
typedef uint64_t tw_cl_flags; /* bit fields of every kind */
typedef intptr_t tw_cl_context_property;
typedef uint64_t tw_cl_queue_property;
typedef struct _cl_platform_id *tw_cl_platform;
typedef struct _cl_device_id *tw_cl_device;
typedef struct _cl_context *tw_cl_context;
typedef struct _cl_command_queue *tw_cl_queue;
typedef struct _cl_event *tw_cl_event;
typedef void (*tw_cl_notify)(const char *message, const void *data, size_t size, void *context);

/* X(NAME in CL/cl.h, value) */
#define TW_OPENCL_CONSTANTS(X)                                                                                         \
    X(CL_SUCCESS, 0)                                                                                                   \
    X(CL_MEM_OBJECT_ALLOCATION_FAILURE, -4)                                                                            \
    X(CL_OUT_OF_RESOURCES, -5)                                                                                         \
    X(CL_OUT_OF_HOST_MEMORY, -6)                                                                                       \
    X(CL_FALSE, 0)                                                                                                     \
    X(CL_TRUE, 1)                                                                                                      \
    X(CL_PLATFORM_NAME, 0x0902)                                                                                        \
    X(CL_DEVICE_TYPE_ALL, 0xFFFFFFFF)                                                                                  \
    X(CL_DEVICE_MAX_COMPUTE_UNITS, 0x1002)                                                                             \
    X(CL_DEVICE_MAX_MEM_ALLOC_SIZE, 0x1010)                                                                            \
    X(CL_DEVICE_GLOBAL_MEM_SIZE, 0x101F)                                                                               \
    X(CL_DEVICE_NAME, 0x102B)                                                                                          \
    X(CL_DRIVER_VERSION, 0x102D)                                                                                       \
    X(CL_DEVICE_VERSION, 0x102F)                                                                                       \
    X(CL_DEVICE_HOST_UNIFIED_MEMORY, 0x1035)                                                                           \
    X(CL_DEVICE_SVM_CAPABILITIES, 0x1053)                                                                              \
    X(CL_CONTEXT_PLATFORM, 0x1084)                                                                                     \
    X(CL_DEVICE_SVM_COARSE_GRAIN_BUFFER, 1)                                                                            \
    X(CL_DEVICE_SVM_FINE_GRAIN_BUFFER, 2)                                                                              \
    X(CL_DEVICE_SVM_FINE_GRAIN_SYSTEM, 4)                                                                              \
    X(CL_DEVICE_SVM_ATOMICS, 8)                                                                                        \
    X(CL_MEM_READ_WRITE, 1)                                                                                            \
    X(CL_MEM_SVM_FINE_GRAIN_BUFFER, 1 << 10)                                                                           \
    X(CL_MAP_READ, 1)                                                                                                  \
    X(CL_MAP_WRITE, 2)                                                                                                 \
    X(CL_MIGRATE_MEM_OBJECT_HOST, 1)

enum {
#define TW_OPENCL_CONSTANT_ENUM(name, value) TW_##name = value,
    TW_OPENCL_CONSTANTS(TW_OPENCL_CONSTANT_ENUM)
#undef TW_OPENCL_CONSTANT_ENUM
};

/* What every queued command ends with. */
#define TW_CL_WAIT tw_cl_uint wait_count, const tw_cl_event *wait, tw_cl_event *event

/* X(field, symbol in the library, optional, result, parameters) */
#define TW_OPENCL_CALLS(X)                                                                                             \
    X(platforms, clGetPlatformIDs, 0, tw_cl_int, (tw_cl_uint most, tw_cl_platform * out, tw_cl_uint *count))           \
    X(platform_info, clGetPlatformInfo, 0, tw_cl_int,                                                                  \
      (tw_cl_platform platform, tw_cl_uint what, size_t size, void *value, size_t *needed))                            \
    X(devices, clGetDeviceIDs, 0, tw_cl_int,                                                                           \
      (tw_cl_platform platform, tw_cl_flags type, tw_cl_uint most, tw_cl_device * out, tw_cl_uint *count))             \
    X(device_info, clGetDeviceInfo, 0, tw_cl_int,                                                                      \
      (tw_cl_device device, tw_cl_uint what, size_t size, void *value, size_t *needed))                                \
    X(context_create, clCreateContext, 0, tw_cl_context,                                                               \
      (const tw_cl_context_property *properties, tw_cl_uint count, const tw_cl_device *devices, tw_cl_notify notify,   \
       void *context, tw_cl_int *result))                                                                              \
    X(context_release, clReleaseContext, 0, tw_cl_int, (tw_cl_context context))                                        \
    X(queue_create, clCreateCommandQueueWithProperties, 1, tw_cl_queue,                                                \
      (tw_cl_context context, tw_cl_device device, const tw_cl_queue_property *properties, tw_cl_int *result))         \
    X(queue_release, clReleaseCommandQueue, 0, tw_cl_int, (tw_cl_queue queue))                                         \
    X(finish, clFinish, 0, tw_cl_int, (tw_cl_queue queue))                                                             \
    X(svm_alloc, clSVMAlloc, 1, void *, (tw_cl_context context, tw_cl_flags flags, size_t size, tw_cl_uint alignment)) \
    X(svm_free, clSVMFree, 1, void, (tw_cl_context context, void *memory))                                             \
    X(svm_map, clEnqueueSVMMap, 1, tw_cl_int,                                                                          \
      (tw_cl_queue queue, tw_cl_bool blocking, tw_cl_flags flags, void *memory, size_t size, TW_CL_WAIT))              \
    X(svm_unmap, clEnqueueSVMUnmap, 1, tw_cl_int, (tw_cl_queue queue, void *memory, TW_CL_WAIT))                       \
    X(svm_fill, clEnqueueSVMMemFill, 1, tw_cl_int,                                                                     \
      (tw_cl_queue queue, void *to, const void *pattern, size_t pattern_size, size_t size, TW_CL_WAIT))                \
    X(svm_copy, clEnqueueSVMMemcpy, 1, tw_cl_int,                                                                      \
      (tw_cl_queue queue, tw_cl_bool blocking, void *to, const void *from, size_t size, TW_CL_WAIT))                   \
    X(svm_migrate, clEnqueueSVMMigrateMem, 1, tw_cl_int,                                                               \
      (tw_cl_queue queue, tw_cl_uint count, const void **memory, const size_t *sizes, tw_cl_flags flags, TW_CL_WAIT))

typedef struct tw_opencl_calls {
#define TW_OPENCL_CALL_FIELD(field, symbol, optional, result, parameters) result(*field) parameters;
    TW_OPENCL_CALLS(TW_OPENCL_CALL_FIELD)
#undef TW_OPENCL_CALL_FIELD
} tw_opencl_calls;

#endif
