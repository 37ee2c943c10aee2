/* SPDX-License-Identifier: Apache-2.0 */
#ifndef TW_DEVICE_CUDA_DRIVER_H
#define TW_DEVICE_CUDA_DRIVER_H

/* What we use of CUDA's driver API, in our own words, so that no toolkit is needed to build. tests/devices/cuda_header.c holds
 * every line of it to NVIDIA's cuda.h.
 *
 * Two calls changed their parameters with CUDA 12.2 and kept their old names for old programs: newer drivers have both forms, older
 * ones the first alone. We take the second where it is. */

#include <stddef.h>
#include <stdint.h>

typedef int tw_cu_result; /* 0: success */
typedef int tw_cu_device;
typedef unsigned long long tw_cu_ptr;
typedef struct tw_cu_context_ *tw_cu_context;
typedef struct tw_cu_stream_ *tw_cu_stream;
typedef int tw_cu_attribute;
typedef int tw_cu_advice;
typedef struct tw_cu_location {
    int type, id;
} tw_cu_location;

/* X(NAME in cuda.h, value) */
#define TW_CUDA_CONSTANTS(X)                                                                                           \
    X(CUDA_SUCCESS, 0)                                                                                                 \
    X(CUDA_ERROR_OUT_OF_MEMORY, 2)                                                                                     \
    X(CU_DEVICE_ATTRIBUTE_MULTIPROCESSOR_COUNT, 16)                                                                    \
    X(CU_DEVICE_ATTRIBUTE_INTEGRATED, 18)                                                                              \
    X(CU_DEVICE_ATTRIBUTE_CAN_MAP_HOST_MEMORY, 19)                                                                     \
    X(CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MAJOR, 75)                                                                \
    X(CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MINOR, 76)                                                                \
    X(CU_DEVICE_ATTRIBUTE_MANAGED_MEMORY, 83)                                                                          \
    X(CU_DEVICE_ATTRIBUTE_PAGEABLE_MEMORY_ACCESS, 88)                                                                  \
    X(CU_DEVICE_ATTRIBUTE_CONCURRENT_MANAGED_ACCESS, 89)                                                               \
    X(CU_MEM_ATTACH_GLOBAL, 1)                                                                                         \
    X(CU_MEMHOSTALLOC_PORTABLE, 1)                                                                                     \
    X(CU_MEMHOSTALLOC_DEVICEMAP, 2)                                                                                    \
    X(CU_STREAM_NON_BLOCKING, 1)                                                                                       \
    X(CU_MEM_ADVISE_SET_READ_MOSTLY, 1)                                                                                \
    X(CU_MEM_ADVISE_UNSET_READ_MOSTLY, 2)                                                                              \
    X(CU_MEM_ADVISE_SET_PREFERRED_LOCATION, 3)                                                                         \
    X(CU_MEM_ADVISE_UNSET_PREFERRED_LOCATION, 4)                                                                       \
    X(CU_MEM_ADVISE_SET_ACCESSED_BY, 5)                                                                                \
    X(CU_MEM_ADVISE_UNSET_ACCESSED_BY, 6)                                                                              \
    X(CU_MEM_LOCATION_TYPE_DEVICE, 1)                                                                                  \
    X(CU_MEM_LOCATION_TYPE_HOST, 2)                                                                                    \
    X(CU_DEVICE_CPU, -1)

enum {
#define TW_CUDA_CONSTANT_ENUM(name, value) TW_##name = value,
    TW_CUDA_CONSTANTS(TW_CUDA_CONSTANT_ENUM)
#undef TW_CUDA_CONSTANT_ENUM
};

/* X(field, symbol in the library, optional, parameters) */
#define TW_CUDA_CALLS(X)                                                                                               \
    X(init, cuInit, 0, (unsigned flags))                                                                               \
    X(driver_version, cuDriverGetVersion, 0, (int *version))                                                           \
    X(device_count, cuDeviceGetCount, 0, (int *count))                                                                 \
    X(device_get, cuDeviceGet, 0, (tw_cu_device * device, int ordinal))                                                \
    X(device_name, cuDeviceGetName, 0, (char *name, int length, tw_cu_device device))                                  \
    X(device_memory, cuDeviceTotalMem_v2, 0, (size_t *bytes, tw_cu_device device))                                     \
    X(device_attribute, cuDeviceGetAttribute, 0, (int *value, tw_cu_attribute attribute, tw_cu_device device))         \
    X(context_retain, cuDevicePrimaryCtxRetain, 0, (tw_cu_context * context, tw_cu_device device))                     \
    X(context_release, cuDevicePrimaryCtxRelease_v2, 0, (tw_cu_device device))                                         \
    X(context_push, cuCtxPushCurrent_v2, 0, (tw_cu_context context))                                                   \
    X(context_pop, cuCtxPopCurrent_v2, 0, (tw_cu_context * context))                                                   \
    X(stream_create, cuStreamCreate, 0, (tw_cu_stream * stream, unsigned flags))                                       \
    X(stream_destroy, cuStreamDestroy_v2, 0, (tw_cu_stream stream))                                                    \
    X(stream_synchronize, cuStreamSynchronize, 0, (tw_cu_stream stream))                                               \
    X(managed_alloc, cuMemAllocManaged, 0, (tw_cu_ptr * address, size_t size, unsigned flags))                         \
    X(managed_free, cuMemFree_v2, 0, (tw_cu_ptr address))                                                              \
    X(host_alloc, cuMemHostAlloc, 0, (void **host, size_t size, unsigned flags))                                       \
    X(host_free, cuMemFreeHost, 0, (void *host))                                                                       \
    X(host_address, cuMemHostGetDevicePointer_v2, 0, (tw_cu_ptr * address, void *host, unsigned flags))                \
    X(fill_1, cuMemsetD8Async, 0, (tw_cu_ptr to, unsigned char value, size_t count, tw_cu_stream stream))              \
    X(fill_2, cuMemsetD16Async, 0, (tw_cu_ptr to, unsigned short value, size_t count, tw_cu_stream stream))            \
    X(fill_4, cuMemsetD32Async, 0, (tw_cu_ptr to, unsigned value, size_t count, tw_cu_stream stream))                  \
    X(copy, cuMemcpyAsync, 0, (tw_cu_ptr to, tw_cu_ptr from, size_t size, tw_cu_stream stream))                        \
    X(prefetch_1, cuMemPrefetchAsync, 0, (tw_cu_ptr at, size_t size, tw_cu_device to, tw_cu_stream stream))            \
    X(prefetch_2, cuMemPrefetchAsync_v2, 1,                                                                            \
      (tw_cu_ptr at, size_t size, tw_cu_location to, unsigned flags, tw_cu_stream stream))                             \
    X(advise_1, cuMemAdvise, 0, (tw_cu_ptr at, size_t size, tw_cu_advice advice, tw_cu_device device))                 \
    X(advise_2, cuMemAdvise_v2, 1, (tw_cu_ptr at, size_t size, tw_cu_advice advice, tw_cu_location location))          \
    X(error_name, cuGetErrorName, 0, (tw_cu_result result, const char **name))                                         \
    X(error_text, cuGetErrorString, 0, (tw_cu_result result, const char **text))

typedef struct tw_cuda_calls {
#define TW_CUDA_CALL_FIELD(field, symbol, optional, parameters) tw_cu_result(*field) parameters;
    TW_CUDA_CALLS(TW_CUDA_CALL_FIELD)
#undef TW_CUDA_CALL_FIELD
} tw_cuda_calls;

#endif
