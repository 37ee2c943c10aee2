/* SPDX-License-Identifier: Apache-2.0 */
#ifndef TW_DEVICE_CUDA_INSIDE_H
#define TW_DEVICE_CUDA_INSIDE_H

/* Shared by the files of this folder. */

#include <pthread.h>
#include <stdbool.h>

#include "device/cuda/cuda.h"
#include "device/cuda/driver.h"

typedef struct tw_cuda_device {
    tw_cu_device handle;
    tw_device_info info;
    char name[128], version[48];
    pthread_mutex_t lock;  /* of the two below, until they are there */
    tw_cu_context context; /* NULL: not retained yet */
    tw_cu_stream stream;
} tw_cuda_device;

typedef struct tw_cuda {
    tw_platform platform;
    tw_cuda_calls calls;
    char driver[48];
    uint64_t host_memory; /* that the process may have */
    uint32_t count;
    tw_cuda_device devices[];
} tw_cuda;

/* "cuMemAllocManaged: CUDA_ERROR_OUT_OF_MEMORY, out of memory": TW_NO_MEMORY for that one, else `status`. */
tw_status tw_cuda_fail(const tw_cuda *cuda, tw_status status, tw_cu_result result, const char *call, tw_error *error);

/* The context is current from enter to leave; enter retains it when that hasn't been done. */
tw_status tw_cuda_enter(tw_cuda *cuda, tw_cuda_device *device, tw_error *error);
/* result, call: of what was queued. Waits for the stream if that went well; always pops. */
tw_status tw_cuda_leave(tw_cuda *cuda, tw_cuda_device *device, tw_cu_result result, const char *call, tw_error *error);
void tw_cuda_release(tw_cuda *cuda, tw_cuda_device *device);

/* The functions on blocks. */
extern const tw_platform_table tw_cuda_table;
void tw_cuda_close(tw_platform *platform);
uint32_t tw_cuda_count(const tw_platform *platform);
const tw_device_info *tw_cuda_describe(const tw_platform *platform, uint32_t device);

#endif
