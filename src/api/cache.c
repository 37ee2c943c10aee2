/* SPDX-License-Identifier: Apache-2.0 */
#include <stdlib.h>

#include "api/options.h"
#include "instance/runtime.h"

tw_status tw_kernel_cache_new(tw_engine *engine, const tw_kernel_cache_options *options, tw_kernel_cache **out,
                              tw_error *error)
{
    if (!engine || !out) return tw_fail(error, TW_INVALID_ARGUMENT, "tw_kernel_cache_new: a required pointer is NULL");
    tw_kernel_cache_options own = TW_KERNEL_CACHE_OPTIONS_INIT;
    TW_TRY(tw_options_read(&own, sizeof own, options, "tw_kernel_cache_options", error));
    tw_kernel_cache *cache = calloc(1, sizeof *cache);
    TW_TRY_ALLOC(cache, error);
    tw_kcache_options inner = {.directory = own.directory, .max_bytes = own.max_bytes};
    tw_status status = tw_kcache_new(&inner, &cache->cache, error);
    if (status != TW_OK) {
        free(cache);
        return status;
    }
    cache->engine = engine;
    tw_runtime_engine_retain(engine);
    *out = cache;
    return TW_OK;
}

void tw_kernel_cache_free(tw_kernel_cache *cache)
{
    if (!cache) return;
    tw_kcache_unref(cache->cache);
    tw_runtime_engine_release(cache->engine);
    free(cache);
}

const char *tw_kernel_cache_refusal(const tw_kernel_cache *cache)
{
    return cache ? tw_kcache_disk_refusal(cache->cache) : NULL;
}

uint64_t tw_kernel_cache_size(const tw_kernel_cache *cache, tw_tenant_id tenant)
{
    return cache ? tw_kcache_size(cache->cache, tenant) : 0;
}

bool tw_kernel_cache_is_empty(const tw_kernel_cache *cache) { return !cache || tw_kcache_is_empty(cache->cache); }

void tw_kernel_cache_get_stats(const tw_kernel_cache *cache, tw_kernel_cache_stats *out)
{
    tw_kcache_stats stats = {0};
    if (cache) tw_kcache_get_stats(cache->cache, &stats);
    *out = (tw_kernel_cache_stats){.entries = stats.entries, .kernels = stats.kernels, .bytes = stats.bytes,
                                   .hits = stats.hits, .misses = stats.misses, .disk_hits = stats.disk_hits,
                                   .disk_rejected = stats.disk_rejected};
}
