/* SPDX-License-Identifier: Apache-2.0 */
/* The host as a platform: pages of its own, and the processor does what a device would. */
#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

#include "device/backend.h"
#include "os/cgroup.h"
#include "os/machine.h"

#ifndef MADV_POPULATE_WRITE
#define MADV_POPULATE_WRITE 23 /* Linux 5.14 */
#endif
enum { PAGE = 4096, COPIED_AT_ONCE = 1 << 18 /* stays in the cache */ };

typedef struct host {
    tw_platform platform;
    tw_machine machine;
    uint64_t most; /* that the process may have */
    tw_device_info info;
} host;

static uint32_t count(const tw_platform *platform)
{
    (void)platform;
    return 1;
}

static const tw_device_info *describe(const tw_platform *platform, uint32_t device)
{
    (void)device;
    return &((const host *)platform)->info;
}

static uint64_t most(const tw_platform *platform, uint32_t device, tw_backend backend)
{
    (void)device;
    (void)backend;
    return ((const host *)platform)->most;
}

static tw_status take(tw_block *block, tw_error *error)
{
    void *pages = mmap(NULL, block->size, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    if (pages == MAP_FAILED)
        return tw_fail(error, TW_NO_MEMORY, "a buffer of %" PRIu64 " bytes: %s", block->size, strerror(errno));
    block->host = pages;
    block->address = (uintptr_t)pages;
    return TW_OK;
}

static void give(tw_block *block)
{
    munmap(block->host, block->size);
}

/* What is there already is copied behind itself, twice as much each time. */
static tw_status fill(tw_block *block, uint64_t offset, uint64_t size, uint32_t pattern, unsigned width,
                      tw_error *error)
{
    (void)error;
    uint8_t *to = block->host + offset;
    memcpy(to, &pattern, width);
    for (uint64_t done = width, more; done < size; done += more) {
        more = done < size - done ? done : size - done;
        if (more > COPIED_AT_ONCE) more = COPIED_AT_ONCE;
        memcpy(to + done, to, more);
    }
    return TW_OK;
}

static tw_status write_in(tw_block *block, uint64_t offset, const void *data, uint64_t size, tw_error *error)
{
    (void)error;
    memcpy(block->host + offset, data, size);
    return TW_OK;
}

static tw_status read_out(const tw_block *block, uint64_t offset, void *data, uint64_t size, tw_error *error)
{
    (void)error;
    memcpy(data, block->host + offset, size);
    return TW_OK;
}

static tw_status copy(tw_block *to, uint64_t to_offset, const tw_block *from, uint64_t from_offset, uint64_t size,
                      tw_error *error)
{
    return write_in(to, to_offset, from->host + from_offset, size, error);
}

/* Has the pages there. An older kernel doesn't know how: then they come at first use. */
static tw_status prefetch(tw_block *block, uint64_t offset, uint64_t size, tw_place place, tw_error *error)
{
    (void)place;
    (void)error;
    uint64_t first = offset & ~(uint64_t)(PAGE - 1);
    madvise(block->host + first, offset + size - first, MADV_POPULATE_WRITE);
    return TW_OK;
}

static void close_host(tw_platform *platform)
{
    free(platform);
}

static const tw_platform_table table = {
    .gives_zeros = true,
    .count = count,
    .describe = describe,
    .most = most,
    .take = take,
    .give = give,
    .fill = fill,
    .write = write_in,
    .read = read_out,
    .copy = copy,
    .prefetch = prefetch,
    .close = close_host,
};

tw_status tw_host_platform_open(const char *library, tw_platform **out, tw_error *error)
{
    (void)library;
    host *h = calloc(1, sizeof *h);
    TW_TRY_ALLOC(h, error);
    h->platform.table = &table;
    tw_machine_describe(&h->machine);
    uint64_t allowed = tw_cgroup_memory();
    h->most = h->machine.memory < allowed ? h->machine.memory : allowed;
    h->info = (tw_device_info){
        .kind = TW_DEVICE_KIND_HOST,
        .name = h->machine.cpu,
        .driver = h->machine.kernel,
        .version = "",
        .memory = h->machine.memory,
        .compute_units = h->machine.processors,
        .backends = 1u << TW_BACKEND_HOST,
        .can = 1u << TW_CAN_PREFETCH,
    };
    *out = &h->platform;
    return TW_OK;
}
