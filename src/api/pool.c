/* SPDX-License-Identifier: Apache-2.0 */
#include "instance/pool.h"

#include "api/options.h"
#include "api/spawn.h"

tw_status tw_instance_pool_new(tw_module *module, const tw_spawn_options *spawn, const tw_instance_pool_options *options, tw_instance_pool **out,
                      tw_error *error)
{
    if (!module || !out) return tw_fail(error, TW_INVALID_ARGUMENT, "tw_instance_pool_new: a required pointer is NULL");
    tw_spawn_options own = TW_SPAWN_OPTIONS_INIT;
    tw_wasi_options wasi = TW_WASI_OPTIONS_INIT;
    tw_instance_pool_options pool = TW_INSTANCE_POOL_OPTIONS_INIT;
    tw_buffer_restoring buffers = TW_BUFFER_RESTORING_INIT;
    TW_TRY(tw_api_read_spawn(spawn, &own, &wasi, error));
    TW_TRY(tw_api_read_restoring(own.buffers, &buffers, error));
    own.buffers = &buffers;
    TW_TRY(tw_options_read(&pool, sizeof pool, options, "tw_instance_pool_options", error));
    return tw_runtime_pool_new(module, &own, pool.snapshot, pool.max_idle, out, error);
}

tw_status tw_instance_pool_take(tw_instance_pool *pool, tw_instance **out, tw_error *error)
{
    if (!pool || !out) return tw_fail(error, TW_INVALID_ARGUMENT, "tw_instance_pool_take: a required pointer is NULL");
    return tw_runtime_pool_take(pool, out, error);
}

tw_status tw_instance_pool_warm(tw_instance_pool *pool, uint32_t count, tw_error *error)
{
    if (!pool) return tw_fail(error, TW_INVALID_ARGUMENT, "tw_instance_pool_warm: pool is NULL");
    return tw_runtime_pool_warm(pool, count, error);
}

void tw_instance_pool_give(tw_instance_pool *pool, tw_instance *instance)
{
    if (pool && instance) tw_runtime_pool_give(pool, instance);
}

size_t tw_instance_pool_idle(tw_instance_pool *pool)
{
    return pool ? tw_runtime_pool_idle(pool) : 0;
}

void tw_instance_pool_free(tw_instance_pool *pool)
{
    if (pool) tw_runtime_pool_free(pool);
}
