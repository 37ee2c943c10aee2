/* SPDX-License-Identifier: Apache-2.0 */
/* A program that runs WebAssembly through TensorWasm's C API.
 *
 *     cc embed.c $(pkg-config --cflags --libs tensorwasm) -o embed && ./embed
 *
 * It makes an engine, gives a module a host function, fills the guest's memory, calls exports with typed arguments, and shows
 * the three ways a call can end early: a trap, a host function's own failure, and being stopped, by a time limit and by
 * another thread. */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <threads.h>

#include "tensorwasm/tensorwasm.h"

/* Text is accepted as well as binary. */
static const char guest[] =
    "(module"
    "  (import \"host\" \"note\" (func $note (param i32 f64) (result i32)))"
    "  (memory (export \"memory\") 1)"
    "  (func (export \"add\") (param i64 i64) (result i64) (i64.add (local.get 0) (local.get 1)))"
    "  (func (export \"sum\") (param $at i32) (param $count i32) (result f64) (local $total f64)" /* of an array of f64 */
    "    (block $done (loop $next"
    "      (br_if $done (i32.eqz (local.get $count)))"
    "      (local.set $total (f64.add (local.get $total) (f64.load (local.get $at))))"
    "      (local.set $at (i32.add (local.get $at) (i32.const 8)))"
    "      (local.set $count (i32.sub (local.get $count) (i32.const 1)))"
    "      (br $next)))"
    "    (local.get $total))"
    "  (func (export \"report\") (param i32 f64) (result i32) (call $note (local.get 0) (local.get 1)))"
    "  (func $divide (export \"divide\") (param i32 i32) (result i32) (i32.div_s (local.get 0) (local.get 1)))"
    "  (func (export \"wait_for_ever\") (loop $again (br_if $again (i32.eqz (i32.load8_u (i32.const 0)))))))";

static tw_error error;

static void must(tw_status status, const char *what)
{
    if (status == TW_OK) return;
    fprintf(stderr, "%s: %s: %s\n", what, tw_status_name(status), error.message);
    exit(1);
}

/* A function that the guest imports. What it returns, other than TW_OK, ends the guest's call. */
static tw_status note(void *context, tw_host_call *call, const tw_val *args, tw_val *results, tw_error *failure)
{
    size_t size;
    if (args[0].of.i32 < 0) {
        snprintf(failure->message, sizeof failure->message, "note: there is no slot %" PRId32, args[0].of.i32);
        return TW_INVALID_ARGUMENT;
    }
    printf("%s: slot %" PRId32 " is %g, the guest has %s memory\n", (const char *)context, args[0].of.i32, args[1].of.f64,
           tw_host_memory(call, &size) ? "a" : "no");
    results[0].of.i32 = 2 * args[0].of.i32;
    return TW_OK;
}

static tw_instance *spawn(tw_module *module, uint64_t timeout_ns)
{
    static const tw_val_kind params[] = {TW_VAL_I32, TW_VAL_F64}, results[] = {TW_VAL_I32};
    static const tw_import_func imports[] = {{.module = "host", .name = "note", .params = params, .param_count = 2,
                                              .results = results, .result_count = 1, .call = note, .context = "note"}};
    tw_spawn_options options = TW_SPAWN_OPTIONS_INIT;
    options.imports = imports;
    options.import_count = 1;
    options.max_memory = 16 << 20;
    options.timeout_ns = timeout_ns;
    tw_instance *instance;
    must(tw_instance_spawn(module, &options, &instance, &error), "spawn");
    return instance;
}

static void call_with_values(tw_instance *instance)
{
    tw_val args[2] = {{TW_VAL_I64, {.i64 = 7}}, {TW_VAL_I64, {.i64 = 5}}}, result;
    must(tw_instance_call(instance, "add", args, 2, &result, 1, &error), "add");
    printf("add(7, 5) = %" PRId64 "\n", result.of.i64);
}

static void share_memory(tw_instance *instance)
{
    uint8_t *base;
    size_t size;
    const double numbers[] = {1.5, 2.25, 4};
    must(tw_instance_memory(instance, "memory", &base, &size, &error), "memory");
    memcpy(base + 64, numbers, sizeof numbers);
    tw_val args[2] = {{TW_VAL_I32, {.i32 = 64}}, {TW_VAL_I32, {.i32 = 3}}}, result;
    must(tw_instance_call(instance, "sum", args, 2, &result, 1, &error), "sum");
    printf("sum of three in %zu bytes of memory = %g\n", size, result.of.f64);
}

static void call_back(tw_instance *instance)
{
    tw_val args[2] = {{TW_VAL_I32, {.i32 = 4}}, {TW_VAL_F64, {.f64 = 0.5}}}, result;
    must(tw_instance_call(instance, "report", args, 2, &result, 1, &error), "report");
    printf("report gave %" PRId32 "\n", result.of.i32);
    args[0].of.i32 = -1;
    tw_status status = tw_instance_call(instance, "report", args, 2, &result, 1, &error);
    printf("%s: %s\n", tw_status_name(status), error.message);
}

static void trap(tw_instance *instance)
{
    tw_val args[2] = {{TW_VAL_I32, {.i32 = 1}}, {TW_VAL_I32, {.i32 = 0}}}, result;
    tw_status status = tw_instance_call(instance, "divide", args, 2, &result, 1, &error);
    printf("%s: function %" PRIu32 ": %.*s\n", tw_status_name(status), error.function, (int)strcspn(error.message, "\n"),
           error.message);
}

static int terminate_soon(void *instance)
{
    tw_error own;
    thrd_sleep(&(struct timespec){.tv_nsec = 20000000}, NULL);
    return tw_instance_terminate(instance, &own);
}

static void stop(tw_module *module)
{
    tw_instance *instance = spawn(module, 50 * 1000 * 1000); /* nanoseconds, for every call */
    printf("%s\n", tw_status_name(tw_instance_call(instance, "wait_for_ever", NULL, 0, NULL, 0, &error)));
    call_with_values(instance); /* a time limit ends the call, not the instance */
    tw_instance_free(instance);

    instance = spawn(module, 0);
    thrd_t thread;
    if (thrd_create(&thread, terminate_soon, instance) != thrd_success) exit(1);
    printf("%s\n", tw_status_name(tw_instance_call(instance, "wait_for_ever", NULL, 0, NULL, 0, &error)));
    thrd_join(thread, NULL);
    printf("%s\n", tw_status_name(tw_instance_terminate(instance, &error)));
    tw_instance_free(instance);
}

int main(void)
{
    if (tw_abi_version() != TW_ABI_VERSION) return fprintf(stderr, "header and library don't match\n"), 1;
    tw_engine *engine;
    tw_module *module;
    must(tw_engine_new(NULL, &engine, &error), "engine");
    must(tw_module_new(engine, (const uint8_t *)guest, sizeof guest - 1, &module, &error), "module");
    tw_instance *instance = spawn(module, 0);
    call_with_values(instance);
    share_memory(instance);
    call_back(instance);
    trap(instance);
    stop(module);
    tw_instance_free(instance);
    tw_module_free(module);
    tw_engine_free(engine);
    return 0;
}
