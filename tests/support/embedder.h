/* SPDX-License-Identifier: Apache-2.0 */
#ifndef TW_TEST_EMBEDDER_H
#define TW_TEST_EMBEDDER_H

/* What tests begin with that use the public API as an embedder does: an engine, a kernel cache, short words for the usual. cmocka.h
 * and what it wants come before this. */

#include <string.h>

#include "../handlers.h"
#include "tensorwasm/snapshot.h"

#define MAYBE_UNUSED __attribute__((unused))

static tw_engine *engine;
static MAYBE_UNUSED tw_kernel_cache *cache;
static MAYBE_UNUSED tw_error error;

#define OK(expression)                                                                             \
    do {                                                                                           \
        if ((expression) != TW_OK) fail_msg("%s: %s", #expression, error.message);                 \
    } while (0)

/* For a group's set-up. With a cache; offload as given. */
static inline tw_status engine_begins(tw_offload offload, bool canonical_nan)
{
    tw_engine_options options = TW_ENGINE_OPTIONS_INIT;
    options.offload = offload;
    options.canonical_nan = canonical_nan;
    tw_status status = tw_engine_new(&options, &engine, &error);
    if (status == TW_OK) status = tw_kernel_cache_new(engine, NULL, &cache, &error);
    keep_handlers();
    return status;
}

static inline void engine_ends(void)
{
    tw_kernel_cache_free(cache);
    tw_engine_free(engine);
}

/* Set-up and tear-down of a group that wants nothing else: offload off. */
static inline int plain_set_up(void **state)
{
    (void)state;
    return (int)engine_begins(TW_OFFLOAD_OFF, false);
}

static inline int plain_tear_down(void **state)
{
    (void)state;
    engine_ends();
    return 0;
}

static inline tw_module *module_of(const char *text)
{
    tw_module *module;
    OK(tw_module_new(engine, (const uint8_t *)text, strlen(text), &module, &error));
    return module;
}

/* Capturable, and with kernels where the engine offloads. */
static inline tw_spawn_options usual(void)
{
    tw_spawn_options options = TW_SPAWN_OPTIONS_INIT;
    options.capturable = true;
    options.kernel_cache = cache;
    return options;
}

/* options NULL = usual. */
static inline tw_instance *spawn(tw_module *module, const tw_spawn_options *options)
{
    tw_spawn_options own = options ? *options : usual();
    tw_instance *instance;
    OK(tw_instance_spawn(module, &own, &instance, &error));
    return instance;
}

/* spawn NULL = usual. */
static inline tw_instance_pool *pool_of(tw_module *module, const tw_spawn_options *options)
{
    tw_spawn_options own = options ? *options : usual();
    tw_instance_pool *pool;
    OK(tw_instance_pool_new(module, &own, NULL, &pool, &error));
    return pool;
}

static inline tw_instance *take(tw_instance_pool *pool)
{
    tw_instance *instance;
    OK(tw_instance_pool_take(pool, &instance, &error));
    return instance;
}

/* An export with at most one parameter, which is an i32, and four results. */
static inline tw_status call(tw_instance *instance, tw_module *module, const char *name, int32_t argument, tw_val results[4])
{
    const tw_val_kind *params, *kinds;
    size_t param_count, result_count;
    tw_val arg = {TW_VAL_I32, {.i32 = argument}};
    OK(tw_module_func_type(module, name, &params, &param_count, &kinds, &result_count, &error));
    assert_true(param_count <= 1 && result_count <= 4);
    memset(results, 0, 4 * sizeof *results);
    return tw_instance_call(instance, name, &arg, param_count, results, result_count, &error);
}

static inline uint32_t next(uint32_t *seed) { return *seed = *seed * 1664525 + 1013904223; }

/* The state of an instance as bytes: what a capture says that takes no notice of time. free() them. */
typedef struct file {
    uint8_t *bytes;
    size_t size;
} file;

static inline tw_status try_capture(tw_instance *instance, const tw_snapshot_writer *writer, file *out)
{
    tw_capture_options options = TW_CAPTURE_OPTIONS_INIT;
    options.has_created = true;
    options.instance = (tw_instance_id){7, 9};
    return tw_instance_capture(instance, writer, &options, &out->bytes, &out->size, &error);
}

static inline file capture(tw_instance *instance, const tw_snapshot_writer *writer)
{
    file f;
    OK(try_capture(instance, writer, &f));
    return f;
}

#endif
