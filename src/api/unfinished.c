/* SPDX-License-Identifier: Apache-2.0 */
/* Kernels that one process asks for and another one compiles: a short program is over before its kernels are there, and its
 * next run should find them. The bytes between the two are requests only: what is compiled from them is stored, under the
 * requests' own names, by a process that has the directory's key. */
#include <stdlib.h>
#include <string.h>

#include "instance/runtime.h"
#include "os/clock.h"

static const char magic[8] = "TWUNFIN1";

tw_status tw_kernel_cache_unfinished(tw_kernel_cache *cache, void **bytes, size_t *size, tw_error *error)
{
    if (!cache || !bytes || !size)
        return tw_fail(error, TW_INVALID_ARGUMENT, "tw_kernel_cache_unfinished: a required pointer is NULL");
    tw_bytes out = {0};
    *bytes = NULL, *size = 0;
    tw_bytes_append(&out, magic, sizeof magic);
    tw_kcache_unfinished(cache->cache, &out);
    if (!out.failed && out.size == sizeof magic) {
        tw_bytes_free(&out);
        return TW_OK;
    }
    *bytes = tw_bytes_take(&out, size);
    return *bytes ? TW_OK : tw_fail_memory(error);
}

/* ---- the other process ---- */

typedef struct one {
    uint64_t tenant, size;
    const char *request;
} one;

/* The next request; false at the end and, with *broken, at what isn't one. */
static bool next(const uint8_t **at, size_t *left, one *out, bool *broken)
{
    if (!*left) return false;
    *broken = true;
    if (*left < 2 * sizeof(uint64_t)) return false;
    memcpy(&out->tenant, *at, sizeof out->tenant);
    memcpy(&out->size, *at + sizeof out->tenant, sizeof out->size);
    *at += 2 * sizeof(uint64_t), *left -= 2 * sizeof(uint64_t);
    if (out->size > *left) return false;
    out->request = (const char *)*at;
    *at += out->size, *left -= out->size;
    return !(*broken = false);
}

static const atomic_uint never;

static tw_status compile(tw_kernel_cache *cache, tw_compiler *compiler, const one *it, uint64_t until, tw_error *error)
{
    tw_kernel *kernel;
    bool claimed;
    const char *identity;
    TW_TRY(tw_compiler_identity(compiler, &identity, error));
    tw_kcache_key key = {it->tenant, identity, it->request, it->size};
    TW_TRY(tw_kcache_get(cache->cache, &key, true, &kernel, &claimed, error));
    tw_status status = claimed ? tw_compiler_submit(compiler, it->request, it->size, tw_dispatch_compiled, kernel, error) : TW_OK;
    if (status != TW_OK) tw_kernel_fail(kernel, status, error->message);
    uint64_t now = tw_clock_now();
    if (status == TW_OK) tw_kernel_wait(kernel, &never, until > now ? until - now : 0);
    tw_kernel_unref(kernel);
    return status;
}

tw_status tw_kernel_cache_compile(tw_kernel_cache *cache, const void *bytes, size_t size, uint64_t timeout_ns,
                                  tw_error *error)
{
    tw_error own;
    tw_compiler *compiler;
    struct tw_device *device;
    if (!error) error = &own;
    if (!cache || !bytes || size < sizeof magic || memcmp(bytes, magic, sizeof magic))
        return tw_fail(error, TW_INVALID_ARGUMENT, "tw_kernel_cache_compile: these aren't unfinished kernels");
    TW_TRY(tw_runtime_engine_workers(cache->engine, &compiler, &device, error));
    const uint8_t *at = (const uint8_t *)bytes + sizeof magic;
    size_t left = size - sizeof magic;
    uint64_t until = tw_clock_after(timeout_ns);
    bool broken = false;
    for (one it; next(&at, &left, &it, &broken);) TW_TRY(compile(cache, compiler, &it, until, error));
    return broken ? tw_fail(error, TW_INVALID_ARGUMENT, "tw_kernel_cache_compile: the bytes end in the middle") : TW_OK;
}
