/* SPDX-License-Identifier: Apache-2.0 */
#ifndef TW_TEST_DEVICES_H
#define TW_TEST_DEVICES_H

/* Which drivers a test of devices works with; include behind cmocka.h.
 *
 *   TW_TEST_CUDA, TW_TEST_OPENCL   paths of stand-ins or recorders (standin.h); not set: this machine's own drivers
 *   TW_TEST_MAY_SKIP               set: a backend that isn't here skips the test with its reason */

#include <dlfcn.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "standin.h"
#include "tensorwasm/buffer.h"

enum { TEST_SKIPPED = 77 };

static inline tw_devices *test_devices_limited(uint64_t max_bytes)
{
    tw_devices_options options = TW_DEVICES_OPTIONS_INIT;
    tw_devices *devices;
    options.cuda_library = getenv("TW_TEST_CUDA");
    options.opencl_library = getenv("TW_TEST_OPENCL");
    options.max_bytes = max_bytes;
    assert_int_equal(tw_devices_open(&options, &devices, NULL), TW_OK);
    return devices;
}

static inline tw_devices *test_devices(void)
{
    return test_devices_limited(INT64_MAX);
}

/* Takes and frees a buffer of the backend. Ends the program when the backend isn't here. For main, before cmocka starts. */
static inline void test_need(tw_backend backend)
{
    tw_devices_options options = TW_DEVICES_OPTIONS_INIT;
    tw_devices *devices;
    options.cuda_library = getenv("TW_TEST_CUDA");
    options.opencl_library = getenv("TW_TEST_OPENCL");
    if (tw_devices_open(&options, &devices, NULL)) exit(1);
    const char *why = tw_devices_missing(devices, backend);
    if (why) {
        printf("skipped: %s is not available: %s\n", tw_backend_name(backend), why);
        exit(getenv("TW_TEST_MAY_SKIP") && !strstr(why, "lacks ") ? TEST_SKIPPED
                                                                  : 1); /* a damaged one is no missing one */
    }
    tw_buffer_options buffer_options = TW_BUFFER_OPTIONS_INIT;
    tw_buffer *buffer = NULL;
    tw_error error;
    buffer_options.backend = backend;
    if (tw_buffer_new(devices, &buffer_options, 4096, &buffer, &error)) {
        printf("%s gives no buffer: %s\n", tw_backend_name(backend), error.message);
        exit(1);
    }
    tw_buffer_free(buffer);
    tw_devices_close(devices);
}

/* The stand-in that a variable names; NULL where it is this machine's own driver. */
static inline const standin *test_standin(const char *variable)
{
    const char *path = getenv(variable);
    void *library = path ? dlopen(path, RTLD_NOW | RTLD_LOCAL) : NULL;
    standin_entry entry;
    if (!library) return NULL;
    *(void **)&entry = dlsym(library, "tw_standin");
    return entry ? entry() : NULL;
}

static inline tw_status test_try(tw_devices *devices, tw_backend backend, uint32_t device, uint64_t bytes,
                                 tw_buffer **out, tw_error *error)
{
    tw_buffer_options options = TW_BUFFER_OPTIONS_INIT;
    options.backend = backend;
    options.device = device;
    return tw_buffer_new(devices, &options, bytes, out, error);
}

static inline tw_buffer *test_buffer(tw_devices *devices, tw_backend backend, uint32_t device, uint64_t bytes)
{
    tw_buffer *buffer = NULL;
    tw_error error = {0};
    if (test_try(devices, backend, device, bytes, &buffer, &error)) fail_msg("no buffer: %s", error.message);
    return buffer;
}

#endif
