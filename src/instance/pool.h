/* SPDX-License-Identifier: Apache-2.0 */
#ifndef TW_INSTANCE_POOL_H
#define TW_INSTANCE_POOL_H

/* Instances of one module for one tenant that are used again. What is given back is reset at once, and waits until somebody takes
 * it; then its start function runs, as a new one's would. What can't be made fresh is freed: an instance whose last call didn't
 * come back well, one that was terminated, has grown a table or dropped a segment. */

#include "instance/runtime.h"

struct tw_instance_pool {
    uint64_t number;          /* in this process, from 1: another pool may come to lie where one lay */
    tw_module *module;
    tw_spawn_options options; /* what they point to is the embedder's */
    tw_wasi_options wasi;
    uint32_t max_idle;
    pthread_mutex_t lock; /* of what follows */
    tw_instance *idle;
    uint32_t idle_count;
};

tw_status tw_runtime_pool_new(tw_module *module, const tw_spawn_options *options, uint32_t max_idle, tw_instance_pool **out,
                              tw_error *error);
tw_status tw_runtime_pool_take(tw_instance_pool *pool, tw_instance **out, tw_error *error);
void tw_runtime_pool_give(tw_instance_pool *pool, tw_instance *instance);
void tw_runtime_pool_free(tw_instance_pool *pool);

#endif
