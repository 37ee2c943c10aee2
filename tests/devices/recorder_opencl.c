/* SPDX-License-Identifier: Apache-2.0 */
/* Stands between a program and a real OpenCL, which it is linked with: the functions below are noted as a stand-in notes them and
 * passed on, all others are the real ones, found through this library. */
#include <dlfcn.h>

#include "device/opencl/cl.h"
#include "standin_common.h"

#define EXPORT                                               __attribute__((visibility("default")))
#define DECLARE(field, symbol, optional, result, parameters) EXPORT result symbol parameters;
TW_OPENCL_CALLS(DECLARE)
#undef DECLARE
EXPORT const standin *tw_standin(void);

static int allocations;

/* type: of a member of tw_opencl_calls, which the real function has. */
#define REAL(field, name) (*(__typeof__(((tw_opencl_calls *)0)->field) *)&(void *){dlsym(RTLD_NEXT, name)})

static void note_locked(const char *function, size_t size, const void *at)
{
    pthread_mutex_lock(&standin_lock);
    note("%s of %zu bytes at %p\n", function, size, (void *)(uintptr_t)at);
    pthread_mutex_unlock(&standin_lock);
}

void *clSVMAlloc(tw_cl_context context, tw_cl_flags flags, size_t size, tw_cl_uint alignment)
{
    void *memory = REAL(svm_alloc, __func__)(context, flags, size, alignment);
    note_locked(__func__, size, memory);
    allocations += memory != NULL;
    return memory;
}

void clSVMFree(tw_cl_context context, void *memory)
{
    allocations--;
    REAL(svm_free, __func__)(context, memory);
}

tw_cl_int clEnqueueSVMMemFill(tw_cl_queue queue, void *to, const void *pattern, size_t pattern_size, size_t size,
                              TW_CL_WAIT)
{
    note_locked(__func__, size, to);
    return REAL(svm_fill, __func__)(queue, to, pattern, pattern_size, size, wait_count, wait, event);
}

tw_cl_int clEnqueueSVMMemcpy(tw_cl_queue queue, tw_cl_bool blocking, void *to, const void *from, size_t size,
                             TW_CL_WAIT)
{
    note_locked(__func__, size, to);
    return REAL(svm_copy, __func__)(queue, blocking, to, from, size, wait_count, wait, event);
}

static int alive(void)
{
    return allocations;
}

const standin *tw_standin(void)
{
    static const standin it = {standin_reset, standin_fail, standin_log, standin_wrong, alive};
    return &it;
}
