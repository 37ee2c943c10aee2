/* SPDX-License-Identifier: Apache-2.0 */
#include "instance/pool.h"

#include <sched.h>
#include <stdatomic.h>
#include <stdlib.h>

/* Resets need pages to compare with: an image of the memory, the snapshot's own where it has one. */
static tw_status need_image(tw_instance_pool *pool, const tw_snapshot *snapshot, tw_error *error)
{
    tw_put_back *from = &pool->restoring.from;
    tw_account *account;
    if (!pool->module->wasm.memory_count) return TW_OK;
    if (from->image) return tw_image_make_readable(from->image, error);
    TW_TRY(tw_image_new(snapshot->wasm_memory.data, snapshot->wasm_memory.size, &from->image, error));
    TW_TRY(tw_account_get(pool->options.tenant, &account, error));
    tw_status status = tw_image_charge(from->image, account, error);
    tw_account_drop(account);
    return status;
}

/* The snapshot's value of a mutable one would go into what the host and other instances have, at every take. */
static tw_status check_globals(const tw_wasm *wasm, tw_error *error)
{
    for (uint32_t i = 0; i < wasm->imported_globals; i++)
        if (wasm->globals[i].type.is_mutable)
            return tw_fail(error, TW_UNSUPPORTED, "a pool's instances can't begin with a snapshot of a guest that imports a mutable global "
                           "(number %u): it is the host's, and others'", i);
    return TW_OK;
}

static tw_status begin_with(tw_instance_pool *pool, const tw_snapshot *snapshot, tw_error *error)
{
    TW_TRY(tw_runtime_prepare_restoring(pool->module, snapshot, &pool->options, &pool->arena, &pool->restoring, error));
    TW_TRY(check_globals(&pool->module->wasm, error));
    TW_TRY(need_image(pool, snapshot, error));
    pool->options = pool->restoring.options;
    pool->from = &pool->restoring.from;
    return TW_OK;
}

tw_status tw_runtime_pool_new(tw_module *module, const tw_spawn_options *options, const tw_snapshot *snapshot, uint32_t max_idle,
                              tw_instance_pool **out, tw_error *error)
{
    static atomic_uint_fast64_t pools;
    tw_instance_pool *pool = calloc(1, sizeof *pool);
    TW_TRY_ALLOC(pool, error);
    pool->number = atomic_fetch_add(&pools, 1) + 1;
    pool->module = module;
    tw_runtime_module_retain(module);
    tw_arena_init(&pool->arena, TW_ARENA_NO_LIMIT);
    for (uint32_t i = 0; i < TW_POOL_SHARDS; i++) pthread_mutex_init(&pool->shards[i].lock, NULL);
    pool->shards[0].places = max_idle;
    tw_status status = tw_runtime_pool_keep_options(pool, options, error);
    pool->options.capturable = true;
    if (status == TW_OK && snapshot) status = begin_with(pool, snapshot, error);
    if (status == TW_OK) *out = pool;
    else tw_runtime_pool_free(pool);
    return status;
}

static uint32_t own_shard(void)
{
    int processor = sched_getcpu();
    return processor < 0 ? 0 : (uint32_t)processor % TW_POOL_SHARDS;
}

/* The place stays, free. */
static tw_instance *pop(tw_pool_shard *shard)
{
    pthread_mutex_lock(&shard->lock);
    tw_instance *instance = shard->idle;
    if (instance) {
        shard->idle = instance->next_idle;
        shard->idle_count--;
        shard->places++;
    }
    pthread_mutex_unlock(&shard->lock);
    return instance;
}

static tw_instance *pop_any(tw_instance_pool *pool)
{
    uint32_t own = own_shard();
    tw_instance *instance = NULL;
    for (uint32_t i = 0; i < TW_POOL_SHARDS && !instance; i++) instance = pop(&pool->shards[(own + i) % TW_POOL_SHARDS]);
    return instance;
}

static bool take_place(tw_pool_shard *shard)
{
    pthread_mutex_lock(&shard->lock);
    bool had = shard->places > 0;
    shard->places -= had;
    pthread_mutex_unlock(&shard->lock);
    return had;
}

/* brings_place: one that was free elsewhere moves here. */
static bool push(tw_pool_shard *shard, tw_instance *instance, bool brings_place)
{
    pthread_mutex_lock(&shard->lock);
    shard->places += brings_place;
    bool kept = shard->places && tw_stop_put_aside(&instance->stopper);
    if (kept) {
        shard->places--;
        shard->idle_count++;
        instance->next_idle = shard->idle;
        shard->idle = instance;
    }
    pthread_mutex_unlock(&shard->lock);
    return kept;
}

static bool put_aside(tw_instance_pool *pool, tw_instance *instance)
{
    uint32_t own = own_shard();
    if (push(&pool->shards[own], instance, false)) return true;
    for (uint32_t i = 1; i < TW_POOL_SHARDS; i++)
        if (take_place(&pool->shards[(own + i) % TW_POOL_SHARDS])) return push(&pool->shards[own], instance, true);
    return false;
}

/* The start function runs on the taker's thread, at its time. */
static tw_status start(tw_instance_pool *pool, tw_instance *instance, tw_error *error)
{
    tw_status status = tw_runtime_start_again(instance, pool->options.wasi, error);
    if (status == TW_EXIT && pool->options.exit_code) *pool->options.exit_code = instance->exit_code;
    return status;
}

tw_status tw_runtime_pool_take(tw_instance_pool *pool, tw_instance **out, tw_error *error)
{
    tw_instance *instance = pop_any(pool);
    if (instance) tw_stop_take_up(&instance->stopper);
    else TW_TRY(tw_runtime_spawn_pooled(pool->module, &pool->options, pool->from, &instance, error));
    tw_status status = start(pool, instance, error);
    if (status != TW_OK) {
        tw_runtime_free(instance);
        return status;
    }
    instance->pool = pool->number;
    *out = instance;
    return TW_OK;
}

tw_status tw_runtime_pool_warm(tw_instance_pool *pool, uint32_t count, tw_error *error)
{
    bool kept = true;
    while (kept && tw_runtime_pool_idle(pool) < count) {
        tw_instance *instance;
        TW_TRY(tw_runtime_spawn_pooled(pool->module, &pool->options, pool->from, &instance, error));
        kept = tw_runtime_close_wasi(instance) && put_aside(pool, instance);
        if (!kept) tw_runtime_free(instance);
    }
    return TW_OK;
}

void tw_runtime_pool_give(tw_instance_pool *pool, tw_instance *instance)
{
    if (tw_stop_check_idle(&instance->stopper, NULL) != TW_OK) return; /* a pool has it, or its own call goes on */
    bool ours = instance->pool == pool->number; /* another pool's could be another tenant's */
    instance->pool = 0;
    if (!ours || !tw_runtime_reset(instance, pool->from) || !put_aside(pool, instance)) tw_runtime_free(instance);
}

size_t tw_runtime_pool_idle(tw_instance_pool *pool)
{
    size_t count = 0;
    for (uint32_t i = 0; i < TW_POOL_SHARDS; i++) {
        pthread_mutex_lock(&pool->shards[i].lock);
        count += pool->shards[i].idle_count;
        pthread_mutex_unlock(&pool->shards[i].lock);
    }
    return count;
}

void tw_runtime_pool_free(tw_instance_pool *pool)
{
    for (tw_instance *instance; (instance = pop_any(pool));) tw_runtime_free(instance);
    for (uint32_t i = 0; i < TW_POOL_SHARDS; i++) pthread_mutex_destroy(&pool->shards[i].lock);
    tw_runtime_stop_restoring(&pool->restoring);
    tw_runtime_pool_drop_options(pool);
    tw_arena_free(&pool->arena);
    tw_runtime_module_release(pool->module);
    free(pool);
}
