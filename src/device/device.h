/* SPDX-License-Identifier: Apache-2.0 */
#ifndef TW_DEVICE_DEVICE_H
#define TW_DEVICE_DEVICE_H

/* Where kernels run. A device is a table of functions, found at run time; slots marked optional may be NULL. Nothing that
 * goes wrong on a device is worse than a status: the loop then goes on in the original code. The CPU is the reference
 * device: it always works. */

#include <stdatomic.h>
#include <stdbool.h>

#include "base/error.h"
#include "base/kernel_abi.h"

typedef struct tw_device tw_device;

typedef struct tw_launch {
    tw_kernel_entry entry;
    const tw_kernel_info *info;
    uint8_t *memory;
    uint64_t memory_size;
    const uint64_t *args;
    uint64_t *outputs;       /* info->output_count words, or NULL when that is 0 */
    const atomic_uint *stop; /* never NULL */
    int64_t iterations;      /* of the outermost loop; 1 for a region without loops */
    uint32_t threads;        /* at most that many; 1: the caller's own, nobody is woken */
    double nanoseconds;      /* estimate of the whole on one thread: sizes the chunks; 0: none, split finely */
} tw_launch;

typedef struct tw_launched {
    tw_kernel_result result;
    uint32_t threads; /* that took part */
    bool torn;        /* not DONE, and which iterations ran isn't known; else just 0 … done-1 did */
    int64_t done;
} tw_launched;

typedef struct tw_device_table {
    const char *name;
    /* Threads that can work at one launch, the caller's included. Starts nothing. */
    uint32_t (*width)(const tw_device *device);
    /* Any thread; several at once are fine (they then get fewer threads). Returns when all is done or given up. */
    void (*launch)(tw_device *device, const tw_launch *launch, tw_launched *out);
    void (*close)(tw_device *device);
    /* Optional: a device that runs code of its own. Turns a compiled kernel into something to launch; NULL: host code, which
     * the kernel cache loads. */
    tw_status (*load)(tw_device *device, const tw_kernel_info *info, const uint8_t *code, void **loaded, tw_error *error);
    void (*unload)(tw_device *device, void *loaded);
} tw_device_table;

struct tw_device {
    const tw_device_table *table;
};

/* The CPU: a pool of threads - 1 kernel threads (1 … 256 in all), started at the first launch that wants them; the launching
 * thread is worker 0. Free with table->close when no launch runs. */
tw_status tw_device_cpu_new(uint32_t threads, tw_device **out, tw_error *error);

/* Runs host code on the calling thread, without any device: launch->threads counts as 1. */
void tw_launch_here(const tw_launch *launch, tw_launched *out);

static inline void tw_device_close(tw_device *device)
{
    if (device) device->table->close(device);
}

#endif
