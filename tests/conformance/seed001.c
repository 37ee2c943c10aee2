/* SPDX-License-Identifier: Apache-2.0 */

/* What the earlier Rust project's test of its automatic offload promised, kept by our API. docs/conformance.md has a row for
 * each of its symbols and assertions. In short: a function that is mostly vector arithmetic in a loop is taken over when the
 * embedder asks for it and has attached a cache, and then only; who answers the call decides what comes out. */

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "hot.h"
#include "tensorwasm/tensorwasm.h"

static const char plain_add[] = "(module (memory (export \"memory\") 1)\n"
                                " (func (export \"add\") (param i32 i32) (result i32)\n"
                                "  local.get 0 local.get 1 i32.add))\n";

/* The document's thresholds: its hot module is nominated from a twentieth on, far below the usual 0.8. */
static const tw_detector eager = {.v128_ratio_threshold = 0.05, .min_trip_count = 64};

typedef struct world {
    tw_engine *engine;
    tw_kernel_cache *cache;
    tw_module *module;
    tw_instance *instance;
    tw_tenant_id tenant;
    tw_error error;
} world;

static void must(const world *w, tw_status status)
{
    if (status != TW_OK) fail_msg("%s: %s", tw_status_name(status), w->error.message);
}

static void start(world *w, const tw_engine_options *options)
{
    *w = (world){.tenant = 11};
    must(w, tw_engine_new(options, &w->engine, &w->error));
}

static void attach_cache(world *w)
{
    tw_status status = tw_kernel_cache_new(w->engine, NULL, &w->cache, &w->error);
    if (status == TW_UNSUPPORTED) {
        tw_engine_free(w->engine);
        skip(); /* a build without kernel caches */
    }
    must(w, status);
    assert_true(tw_kernel_cache_is_empty(w->cache));
}

static void spawn(world *w, const char *text)
{
    must(w, tw_module_new(w->engine, (const uint8_t *)text, strlen(text), &w->module, &w->error));
    tw_spawn_options options = TW_SPAWN_OPTIONS_INIT;
    options.tenant = w->tenant;
    options.kernel_cache = w->cache;
    must(w, tw_instance_spawn(w->module, &options, &w->instance, &w->error));
}

static tw_status add(world *w, int32_t *sum)
{
    const tw_val args[] = {{.kind = TW_VAL_I32, .of.i32 = 7}, {.kind = TW_VAL_I32, .of.i32 = 5}};
    tw_val result = {.kind = TW_VAL_I32};
    tw_status status = tw_instance_call(w->instance, "add", args, 2, &result, 1, &w->error);
    *sum = result.of.i32;
    return status;
}

static void expect_sum(world *w, int32_t expected)
{
    int32_t sum;
    must(w, add(w, &sum));
    assert_int_equal(sum, expected);
}

static void expect_report(world *w, const char *part)
{
    char *text;
    must(w, tw_instance_report(w->instance, TW_FORMAT_JSON, &text, &w->error));
    if (!strstr(text, part)) fail_msg("no %s in %s", part, text);
    free(text);
}

/* Once is success; a second time, and a call afterwards, say clearly what is wrong. */
static void terminate(world *w)
{
    int32_t sum;
    must(w, tw_instance_terminate(w->instance, &w->error));
    assert_int_equal(tw_instance_terminate(w->instance, &w->error), TW_TERMINATED);
    assert_non_null(strstr(w->error.message, "terminated"));
    assert_int_equal(add(w, &sum), TW_TERMINATED);
    assert_non_null(strstr(w->error.message, "terminated"));
    tw_instance_free(w->instance);
    tw_module_free(w->module);
    tw_kernel_cache_free(w->cache);
    tw_engine_free(w->engine);
}

static void start_eager(world *w, tw_dispatcher dispatcher)
{
    tw_engine_options options = TW_ENGINE_OPTIONS_INIT;
    options.offload = TW_OFFLOAD_AUTO;
    options.dispatcher = dispatcher;
    options.detector = eager;
    start(w, &options);
}

static void spawn_hot(world *w)
{
    spawn(w, hot_add());
    assert_false(tw_kernel_cache_is_empty(w->cache));
    assert_true(tw_kernel_cache_size(w->cache, w->tenant) > 0);
    assert_int_equal(tw_kernel_cache_size(w->cache, w->tenant + 1), 0);
}

static void the_hot_function_is_answered_by_echo_with_its_first_argument(void **state)
{
    (void)state;
    world w;
    start_eager(&w, TW_DISPATCHER_ECHO);
    attach_cache(&w);
    spawn_hot(&w);
    expect_sum(&w, 7);
    terminate(&w);
}

static void the_hot_function_is_answered_by_trap_with_unreachable(void **state)
{
    (void)state;
    world w;
    int32_t sum;
    start_eager(&w, TW_DISPATCHER_TRAP);
    attach_cache(&w);
    spawn_hot(&w);
    assert_int_equal(add(&w, &sum), TW_TRAP);
    assert_non_null(strstr(w.error.message, "unreachable"));
    terminate(&w);
}

static void the_hot_function_is_answered_by_real_with_its_own_meaning(void **state)
{
    (void)state;
    world w;
    start_eager(&w, TW_DISPATCHER_REAL);
    attach_cache(&w);
    spawn_hot(&w);
    expect_sum(&w, 12);
    expect_sum(&w, 12);
    expect_report(&w, "\"whole_function\":true");
    expect_report(&w, "\"dispatches\":2"); /* both sums are a kernel's */
    terminate(&w);
}

static void at_the_usual_thresholds_the_hot_function_is_left_alone(void **state)
{
    (void)state;
    world w;
    tw_engine_options options = TW_ENGINE_OPTIONS_INIT;
    options.offload = TW_OFFLOAD_AUTO;
    options.dispatcher = TW_DISPATCHER_ECHO; /* would give itself away */
    start(&w, &options);
    attach_cache(&w);
    spawn(&w, hot_add());
    assert_true(tw_kernel_cache_is_empty(w.cache));
    expect_sum(&w, 12);
    terminate(&w);
}

static void a_plain_function_is_left_alone(void **state)
{
    (void)state;
    world w;
    start_eager(&w, TW_DISPATCHER_ECHO);
    attach_cache(&w);
    spawn(&w, plain_add);
    assert_true(tw_kernel_cache_is_empty(w.cache));
    expect_sum(&w, 12);
    terminate(&w);
}

static void without_offload_the_original_runs(void **state)
{
    (void)state;
    world w;
    start(&w, NULL); /* the library's default */
    attach_cache(&w);
    spawn(&w, hot_add());
    assert_true(tw_kernel_cache_is_empty(w.cache));
    expect_sum(&w, 12);
    terminate(&w);
}

static void without_a_cache_the_original_runs(void **state)
{
    (void)state;
    world w;
    start_eager(&w, TW_DISPATCHER_ECHO);
    spawn(&w, hot_add());
    expect_sum(&w, 12);
    terminate(&w);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(the_hot_function_is_answered_by_echo_with_its_first_argument),
        cmocka_unit_test(the_hot_function_is_answered_by_trap_with_unreachable),
        cmocka_unit_test(the_hot_function_is_answered_by_real_with_its_own_meaning),
        cmocka_unit_test(at_the_usual_thresholds_the_hot_function_is_left_alone),
        cmocka_unit_test(a_plain_function_is_left_alone),
        cmocka_unit_test(without_offload_the_original_runs),
        cmocka_unit_test(without_a_cache_the_original_runs),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
