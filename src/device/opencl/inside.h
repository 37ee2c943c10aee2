/* SPDX-License-Identifier: Apache-2.0 */
#ifndef TW_DEVICE_OPENCL_INSIDE_H
#define TW_DEVICE_OPENCL_INSIDE_H

/* Shared by the files of this folder. */

#include <pthread.h>
#include <stdbool.h>

#include "device/opencl/cl.h"
#include "device/opencl/opencl.h"

typedef struct tw_opencl_device {
    tw_cl_platform platform;
    tw_cl_device handle;
    tw_device_info info;
    char name[128], driver[192], version[128];
    uint64_t most;         /* bytes of one allocation */
    pthread_mutex_t lock;  /* of the two below, until they are there */
    tw_cl_context context; /* NULL: not made yet */
    tw_cl_queue queue;
} tw_opencl_device;

typedef struct tw_opencl {
    tw_platform platform;
    tw_opencl_calls calls;
    uint32_t count;
    tw_opencl_device *devices;
} tw_opencl;

/* "clEnqueueSVMMap: error -5": TW_NO_MEMORY where that is what it means, else `status`. */
tw_status tw_opencl_fail(tw_status status, tw_cl_int result, const char *call, tw_error *error);
/* Makes context and queue when that hasn't been done. */
tw_status tw_opencl_start(tw_opencl *cl, tw_opencl_device *device, tw_error *error);

extern const tw_platform_table tw_opencl_table;
uint32_t tw_opencl_count(const tw_platform *platform);
const tw_device_info *tw_opencl_describe(const tw_platform *platform, uint32_t device);
void tw_opencl_close(tw_platform *platform);

#endif
