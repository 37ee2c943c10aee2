/* SPDX-License-Identifier: Apache-2.0 */
#ifndef TW_INSTANCE_POOL_H
#define TW_INSTANCE_POOL_H

/* Instances of one module for one tenant that are used again. What is given back is reset at once, and waits until somebody takes
 * it; then its start function runs, as a new one's would, or tw_after_restore where a pool's instances begin with a snapshot. What can't be made fresh is freed: an instance whose last call didn't
 * come back well, one that was terminated, has grown a table or dropped a segment.
 *
 * A pool has a shard for each processor, up to a few; one that finds nothing in its own looks at the others, one lock at a time. */

#include "instance/state.h"

enum { TW_POOL_SHARDS = 8 };

/* What the threads of one processor give and take: they don't wait for others'. Each instance that is kept takes a place; when it
 * is taken, its place stays free in the shard. */
typedef struct tw_pool_shard {
    pthread_mutex_t lock; /* of what follows */
    tw_instance *idle;
    uint32_t idle_count, places;
    char apart[72];       /* from the next one's cache line */
} tw_pool_shard;
_Static_assert(sizeof(tw_pool_shard) >= 128, "two cache lines, wherever the first begins");

struct tw_instance_pool {
    tw_pool_shard shards[TW_POOL_SHARDS];
    uint64_t number;          /* in this process, from 1: another pool may come to lie where one lay */
    tw_module *module;
    tw_arena arena;           /* what the options point to */
    tw_spawn_options options;
    tw_wasi_options wasi;
    tw_kernel_cache cache;    /* cache NULL: none */
    tw_buffer_restoring buffers; /* devices held */
    tw_import_global *globals; /* of the options, held */
    size_t global_count;
    const tw_put_back *from;  /* NULL: fresh instances */
    tw_restoring restoring;   /* whose `from` it is */
};

/* snapshot: what instances begin with; NULL: fresh ones. options->buffers isn't NULL. */
tw_status tw_runtime_pool_new(tw_module *module, const tw_spawn_options *options, const tw_snapshot *snapshot, uint32_t max_idle,
                              tw_instance_pool **out, tw_error *error);
/* Copies them (spawn_options.c). What a failure leaves, the pool's end frees. */
tw_status tw_runtime_pool_keep_options(tw_instance_pool *pool, const tw_spawn_options *options, tw_error *error);
void tw_runtime_pool_drop_options(tw_instance_pool *pool);
tw_status tw_runtime_pool_take(tw_instance_pool *pool, tw_instance **out, tw_error *error);
tw_status tw_runtime_pool_warm(tw_instance_pool *pool, uint32_t count, tw_error *error);
void tw_runtime_pool_give(tw_instance_pool *pool, tw_instance *instance);
size_t tw_runtime_pool_idle(tw_instance_pool *pool);
void tw_runtime_pool_free(tw_instance_pool *pool);

#endif
