/* SPDX-License-Identifier: Apache-2.0 */
#ifndef TW_DEVICE_BACKEND_H
#define TW_DEVICE_BACKEND_H

/* What stands behind buffers. A *platform* is one driver with its devices, a table of functions that is found at run time; slots
 * marked optional may be NULL. It gives *blocks*: memory with an address on the host and one on a device.
 *
 *     closed ── open ──► platform ── take ──► block ── fill, write, read, copy, prefetch, advise ──► give
 *
 * Every function on a block returns when the device is done, and leaves the block to the host: a platform that needs the host to
 * let go of memory before the device may touch it (coarse-grained shared virtual memory) takes and returns it inside.
 * The callers in device/buffer.c have checked ranges, patterns and limits; sizes are never 0.
 *
 * Threads: several at once, but one at a time for a block. The host's own memory is the reference platform: it always works. */

#include <stdbool.h>

#include "base/error.h"
#include "tensorwasm/buffer.h"

typedef struct tw_platform tw_platform;

typedef struct tw_block {
    tw_platform *platform; /* these four are set by the caller of take */
    uint32_t device;
    tw_backend backend;
    uint64_t size;
    uint8_t *host;
    uint64_t address; /* on the device */
} tw_block;

typedef struct tw_platform_table {
    bool gives_zeros; /* take gives zeros, no bytes of whoever had them before */
    uint32_t (*count)(const tw_platform *platform);
    /* device < count; valid as long as the platform. */
    const tw_device_info *(*describe)(const tw_platform *platform, uint32_t device);
    /* Bytes that a block of this backend could have at most on a machine that does nothing else. */
    uint64_t (*most)(const tw_platform *platform, uint32_t device, tw_backend backend);
    /* The device has the backend. TW_NO_MEMORY, TW_DEVICE. */
    tw_status (*take)(tw_block *block, tw_error *error);
    void (*give)(tw_block *block);
    /* TW_DEVICE, or TW_NO_MEMORY. */
    tw_status (*fill)(tw_block *block, uint64_t offset, uint64_t size, uint32_t pattern, unsigned width,
                      tw_error *error);
    tw_status (*write)(tw_block *block, uint64_t offset, const void *data, uint64_t size, tw_error *error);
    tw_status (*read)(const tw_block *block, uint64_t offset, void *data, uint64_t size, tw_error *error);
    /* Both are of this platform and of one device. */
    tw_status (*copy)(tw_block *to, uint64_t to_offset, const tw_block *from, uint64_t from_offset, uint64_t size,
                      tw_error *error);
    /* Optional, and doing nothing is always right. */
    tw_status (*prefetch)(tw_block *block, uint64_t offset, uint64_t size, tw_place place, tw_error *error);
    tw_status (*advise)(tw_block *block, uint64_t offset, uint64_t size, tw_advice advice, tw_error *error);
    void (*close)(tw_platform *platform); /* all its blocks have been given back */
} tw_platform_table;

struct tw_platform {
    const tw_platform_table *table;
};

/* library: what to load instead of the usual one, or NULL. TW_UNAVAILABLE says what is missing; a platform without devices is
 * unavailable, too. One at a time in the process. */
typedef tw_status (*tw_platform_open)(const char *library, tw_platform **out, tw_error *error);

tw_status tw_host_platform_open(const char *library, tw_platform **out, tw_error *error);

/* ---- sets of platforms: tw_devices ---- */

typedef struct tw_devices_setup {
    tw_platform_open open[TW_DEVICE_KINDS];
    const char *library[TW_DEVICE_KINDS]; /* copied; or NULL */
    uint64_t max_bytes;                   /* of a buffer */
} tw_devices_setup;

tw_status tw_devices_new(const tw_devices_setup *setup, tw_devices **out, tw_error *error);
/* A platform with the backend on at least one device, opened at the first call; valid as long as the set. Else *why, as long
 * valid: TW_UNAVAILABLE, for good; TW_NO_MEMORY, and the next call tries again. */
tw_status tw_devices_find(tw_devices *devices, tw_backend backend, tw_platform **out, const char **why);
uint64_t tw_devices_max_bytes(const tw_devices *devices);
void tw_devices_hold(tw_devices *devices); /* one tw_devices_close more */

/* tw_buffer_new with all options there. */
/* Becomes an instance's, or stops being one's; tw_buffer_free leaves an instance's alone. False: it was so already. */
bool tw_buffer_own(tw_buffer *buffer, bool owned);
tw_status tw_buffer_take(tw_devices *devices, const tw_buffer_options *options, uint64_t bytes, tw_buffer **out, tw_error *error);

#endif
