/* SPDX-License-Identifier: Apache-2.0 */
#include <pthread.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "device/backend.h"

typedef struct entry {
    char *library; /* or NULL */
    bool asked;
    tw_platform *platform; /* NULL: not asked, or not here */
    char why[512];
} entry;

struct tw_devices {
    atomic_uint holders;
    pthread_mutex_t lock; /* of entries, until they are asked */
    entry entries[TW_DEVICE_KINDS];
    tw_platform_open open[TW_DEVICE_KINDS];
    uint64_t max_bytes;
};

/* Opening a driver changes the process for a moment (os/handlers.h): one at a time, whatever the set. */
static pthread_mutex_t opening = PTHREAD_MUTEX_INITIALIZER;

/* ---- names ---- */

static const char *const kind_names[] = {
#define ROW(name, text) text,
    TW_DEVICE_KIND_MAP(ROW)
#undef ROW
};

static const struct {
    const char *name, *meaning, *lacks; /* when the platform is here, and none of its devices has it */
    tw_device_kind kind;
} backends[] = {
#define ROW(name, text, kind, meaning) {text, meaning, "no " #kind " device has " text, TW_DEVICE_KIND_##kind},
    TW_BACKEND_MAP(ROW)
#undef ROW
};

static const struct {
    const char *name, *meaning;
} abilities[] = {
#define ROW(name, text, meaning) {text, meaning},
    TW_CAN_MAP(ROW)
#undef ROW
};

const char *tw_device_kind_name(tw_device_kind kind)
{
    return (unsigned)kind < TW_DEVICE_KINDS ? kind_names[kind] : "unknown";
}

const char *tw_backend_name(tw_backend backend)
{
    return (unsigned)backend < TW_BACKENDS ? backends[backend].name : "unknown";
}

const char *tw_backend_meaning(tw_backend backend)
{
    return (unsigned)backend < TW_BACKENDS ? backends[backend].meaning : "unknown";
}

const char *tw_can_name(unsigned can)
{
    return can < TW_CAN_COUNT ? abilities[can].name : "unknown";
}

const char *tw_can_meaning(unsigned can)
{
    return can < TW_CAN_COUNT ? abilities[can].meaning : "unknown";
}

/* ---- sets ---- */

static void drop(tw_devices *devices)
{
    for (int kind = 0; kind < TW_DEVICE_KINDS; kind++) {
        entry *e = &devices->entries[kind];
        if (e->platform) e->platform->table->close(e->platform);
        free(e->library);
    }
    pthread_mutex_destroy(&devices->lock);
    free(devices);
}

tw_status tw_devices_new(const tw_devices_setup *setup, tw_devices **out, tw_error *error)
{
    tw_devices *devices = calloc(1, sizeof *devices);
    TW_TRY_ALLOC(devices, error);
    devices->holders = 1;
    devices->max_bytes = setup->max_bytes;
    pthread_mutex_init(&devices->lock, NULL);
    bool copied = true;
    for (int kind = 0; kind < TW_DEVICE_KINDS; kind++) {
        devices->open[kind] = setup->open[kind];
        if (!setup->library[kind]) continue;
        devices->entries[kind].library = strdup(setup->library[kind]);
        copied = copied && devices->entries[kind].library;
    }
    if (!copied) {
        drop(devices);
        return tw_fail_memory(error);
    }
    *out = devices;
    return TW_OK;
}

void tw_devices_hold(tw_devices *devices)
{
    atomic_fetch_add(&devices->holders, 1);
}

void tw_devices_close(tw_devices *devices)
{
    if (devices && atomic_fetch_sub(&devices->holders, 1) == 1) drop(devices);
}

uint64_t tw_devices_max_bytes(const tw_devices *devices)
{
    return devices->max_bytes;
}

static tw_status ask(entry *e, tw_platform_open open)
{
    tw_error error = {0};
    pthread_mutex_lock(&opening);
    tw_status status = open(e->library, &e->platform, &error);
    pthread_mutex_unlock(&opening);
    if (status == TW_NO_MEMORY) return status;
    if (status) snprintf(e->why, sizeof e->why, "%.*s", (int)sizeof e->why - 1, error.message);
    e->asked = true;
    return status;
}

static tw_status find_kind(tw_devices *devices, tw_device_kind kind, tw_platform **out, const char **why)
{
    entry *e = &devices->entries[kind];
    pthread_mutex_lock(&devices->lock);
    tw_status status = e->asked ? TW_OK : ask(e, devices->open[kind]);
    pthread_mutex_unlock(&devices->lock);
    *out = e->platform;
    *why = status == TW_NO_MEMORY ? "out of memory" : e->why;
    return status == TW_NO_MEMORY || e->platform ? status : TW_UNAVAILABLE;
}

const tw_device_info *tw_devices_at(tw_devices *devices, size_t index)
{
    tw_platform *platform;
    const char *why;
    for (int kind = 0; devices && kind < TW_DEVICE_KINDS; kind++) {
        tw_status status = find_kind(devices, (tw_device_kind)kind, &platform, &why);
        uint32_t count = status ? 0 : platform->table->count(platform);
        if (index < count) return platform->table->describe(platform, (uint32_t)index);
        index -= count;
    }
    return NULL;
}

static bool has_backend(const tw_platform *platform, tw_backend backend)
{
    for (uint32_t i = 0; i < platform->table->count(platform); i++)
        if (platform->table->describe(platform, i)->backends >> backend & 1) return true;
    return false;
}

tw_status tw_devices_find(tw_devices *devices, tw_backend backend, tw_platform **out, const char **why)
{
    TW_TRY(find_kind(devices, backends[backend].kind, out, why));
    if (has_backend(*out, backend)) return TW_OK;
    *why = backends[backend].lacks;
    return TW_UNAVAILABLE;
}

const char *tw_devices_missing(tw_devices *devices, tw_backend backend)
{
    tw_platform *platform;
    const char *why;
    if (!devices || (unsigned)backend >= TW_BACKENDS) return "there is no such backend";
    return tw_devices_find(devices, backend, &platform, &why) ? why : NULL;
}
