/* SPDX-License-Identifier: Apache-2.0 */
#include "instance/pool.h"

#include <stdatomic.h>
#include <stdlib.h>

tw_status tw_runtime_pool_new(tw_module *module, const tw_spawn_options *options, uint32_t max_idle, tw_instance_pool **out,
                              tw_error *error)
{
    static atomic_uint_fast64_t pools;
    tw_instance_pool *pool = calloc(1, sizeof *pool);
    TW_TRY_ALLOC(pool, error);
    pool->number = atomic_fetch_add(&pools, 1) + 1;
    pool->module = module;
    pool->options = *options;
    pool->options.capturable = true;
    if (options->wasi) {
        pool->wasi = *options->wasi;
        pool->options.wasi = &pool->wasi;
    }
    pool->max_idle = max_idle;
    pthread_mutex_init(&pool->lock, NULL);
    tw_runtime_module_retain(module);
    *out = pool;
    return TW_OK;
}

static tw_instance *pop(tw_instance_pool *pool)
{
    pthread_mutex_lock(&pool->lock);
    tw_instance *instance = pool->idle;
    if (instance) {
        pool->idle = instance->next_idle;
        pool->idle_count--;
    }
    pthread_mutex_unlock(&pool->lock);
    return instance;
}

static tw_status make(tw_instance_pool *pool, tw_instance **out, tw_error *error)
{
    TW_TRY(tw_runtime_spawn_pooled(pool->module, &pool->options, out, error));
    (*out)->pool = pool->number;
    return TW_OK;
}

tw_status tw_runtime_pool_take(tw_instance_pool *pool, tw_instance **out, tw_error *error)
{
    tw_instance *instance = pop(pool);
    if (!instance) return make(pool, out, error);
    tw_stop_take_up(&instance->stopper);
    tw_status status = tw_runtime_start_again(instance, pool->options.wasi, error);
    if (status == TW_OK) {
        instance->pool = pool->number;
        *out = instance;
        return TW_OK;
    }
    if (status == TW_EXIT && pool->options.exit_code) *pool->options.exit_code = instance->exit_code;
    tw_runtime_free(instance);
    return status;
}

static bool put_aside(tw_instance_pool *pool, tw_instance *instance)
{
    pthread_mutex_lock(&pool->lock);
    bool kept = pool->idle_count < pool->max_idle && tw_stop_put_aside(&instance->stopper);
    if (kept) {
        instance->next_idle = pool->idle;
        pool->idle = instance;
        pool->idle_count++;
    }
    pthread_mutex_unlock(&pool->lock);
    return kept;
}

void tw_runtime_pool_give(tw_instance_pool *pool, tw_instance *instance)
{
    if (tw_stop_check_idle(&instance->stopper, NULL) != TW_OK) return; /* a pool has it, or its own call goes on */
    bool ours = instance->pool == pool->number; /* another pool's could be another tenant's */
    instance->pool = 0;
    if (!ours || !tw_runtime_reset(instance) || !put_aside(pool, instance)) tw_runtime_free(instance);
}

void tw_runtime_pool_free(tw_instance_pool *pool)
{
    for (tw_instance *instance; (instance = pop(pool));) tw_runtime_free(instance);
    pthread_mutex_destroy(&pool->lock);
    tw_runtime_module_release(pool->module);
    free(pool);
}
