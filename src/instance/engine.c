/* SPDX-License-Identifier: Apache-2.0 */
#include <stdlib.h>
#include <string.h>

#include "instance/runtime.h"
#include "memory/budget.h"
#include "os/machine.h"

#define MAX_THREADS 256
#define LEAST_IMAGE ((size_t)64 << 10) /* mapping costs about 20 us, copying 64 KiB as much */

/* One engine a process: its signal handlers, like ours, belong to the process. */
static atomic_flag engine_exists = ATOMIC_FLAG_INIT;

static tw_wasm_limits limits_of(const tw_engine_options *options)
{
    tw_wasm_limits limits = tw_wasm_default_limits;
    limits.module_bytes = options->max_module;
    if (options->max_table < limits.table_elements) limits.table_elements = options->max_table;
    return limits;
}

static void limit_budgets(const tw_engine_options *options)
{
    tw_budget_limit(TW_BUDGET_COMMITTED, options->max_committed);
    tw_budget_limit(TW_BUDGET_ADDRESSES, options->max_address_space);
    tw_budget_limit(TW_BUDGET_MAPPINGS, options->max_mappings);
}

static tw_status fill(tw_engine *engine, const tw_engine_options *options, tw_error *error)
{
    engine->options = *options;
    engine->limits = limits_of(options);
    engine->least_image = LEAST_IMAGE;
    limit_budgets(options);
    engine->options.worker_path = NULL;
    if (options->worker_path) {
        engine->options.worker_path = strdup(options->worker_path);
        TW_TRY_ALLOC(engine->options.worker_path, error);
    }
    size_t twins = options->offload == TW_OFFLOAD_OFF ? 0 : TW_REWRITE_STACK; /* so that what runs without them runs with them */
    tw_core_options core = {.canonical_nan = options->canonical_nan, .max_stack = options->max_stack + twins};
    return tw_core_new(&core, &engine->core, error);
}

tw_status tw_runtime_engine_new(const tw_engine_options *options, tw_engine **out, tw_error *error)
{
    if (atomic_flag_test_and_set(&engine_exists))
        return tw_fail(error, TW_BUSY, "this process has an engine already: free it and all of its modules and instances first");
    tw_engine *engine = calloc(1, sizeof *engine);
    tw_status status = engine ? fill(engine, options, error) : tw_fail_memory(error);
    if (status != TW_OK) {
        if (engine) free((char *)engine->options.worker_path);
        free(engine);
        atomic_flag_clear(&engine_exists);
        return status;
    }
    atomic_init(&engine->references, 1);
    tw_watch_init(&engine->watch);
    pthread_mutex_init(&engine->lock, NULL);
    *out = engine;
    return TW_OK;
}

void tw_runtime_engine_retain(tw_engine *engine) { atomic_fetch_add(&engine->references, 1); }

void tw_runtime_engine_release(tw_engine *engine)
{
    if (!engine || atomic_fetch_sub(&engine->references, 1) != 1) return;
    tw_compiler_free(engine->compiler);
    tw_device_close(engine->device);
    pthread_mutex_destroy(&engine->lock);
    tw_watch_destroy(&engine->watch);
    tw_core_free(engine->core);
    tw_slot_trim();
    free((char *)engine->options.worker_path);
    free(engine);
    atomic_flag_clear(&engine_exists);
}

uint32_t tw_runtime_engine_threads(const tw_engine *engine)
{
    uint32_t threads = engine->options.threads;
    if (!threads) threads = tw_machine_processors();
    return threads > MAX_THREADS ? MAX_THREADS : threads;
}

static tw_status make_workers(tw_engine *engine, tw_error *error)
{
    tw_compiler_options options = {engine->options.worker_path, engine->options.worker_limit_ms,
                                   engine->options.offload != TW_OFFLOAD_FORCE};
    if (!engine->compiler) TW_TRY(tw_compiler_new(&options, &engine->compiler, error));
    if (!engine->device) TW_TRY(tw_device_cpu_new(tw_runtime_engine_threads(engine), &engine->device, error));
    return TW_OK;
}

tw_status tw_runtime_engine_workers(tw_engine *engine, tw_compiler **compiler, tw_device **device, tw_error *error)
{
    pthread_mutex_lock(&engine->lock);
    tw_status status = make_workers(engine, error);
    *compiler = engine->compiler;
    *device = engine->device;
    pthread_mutex_unlock(&engine->lock);
    return status;
}
