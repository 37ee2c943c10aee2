/* SPDX-License-Identifier: Apache-2.0 */
#include <pthread.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <cmocka.h>

#include "../../handlers.h"
#include "instance/runtime.h"
#include "os/clock.h"

static tw_error error;

#define MS 1000000u

/* ---- alarms ---- */

typedef struct ringing {
    tw_alarm alarm;
    uint64_t rang;
    int times, left;
} ringing;

static int order;

static uint64_t ring(void *context)
{
    ringing *r = context;
    r->rang = tw_clock_now();
    r->times = ++order;
    return r->left-- > 1 ? tw_clock_after(5 * MS) : TW_NEVER;
}

static ringing *alarms(size_t count)
{
    ringing *all = calloc(count, sizeof *all);
    for (size_t i = 0; i < count; i++) all[i] = (ringing){.alarm = {.ring = ring, .context = &all[i]}, .left = 1};
    return all;
}

/* However long that takes on a machine that is busy; and then a little longer, for one ring too many. */
static void await_rings(tw_watch *watch, int count)
{
    for (bool all = false; !all; usleep(10000)) {
        pthread_mutex_lock(&watch->lock);
        all = order >= count;
        pthread_mutex_unlock(&watch->lock);
    }
    usleep(20000);
}

/* Whether all of it was done before the first of the alarms could ring. */
static bool arm_five(tw_watch *watch, ringing *r, uint64_t *at)
{
    static const unsigned after[] = {60, 20, 40, 20, 30};
    uint64_t start = tw_clock_now();
    for (int i = 0; i < 5; i++) assert_int_equal(tw_watch_arm(watch, &r[i].alarm, at[i] = start + after[i] * MS, NULL), TW_OK);
    tw_watch_disarm(watch, &r[4].alarm);
    assert_int_equal(tw_watch_arm(watch, &r[0].alarm, at[0] = start + 50 * MS, NULL), TW_OK); /* a new time */
    return tw_clock_now() < at[1];
}

static void alarms_ring_once_in_order_and_not_early(void **state)
{
    (void)state;
    use_handlers();
    for (bool armed = false; !armed;) {
        uint64_t at[5];
        tw_watch watch;
        ringing *r = alarms(5);
        tw_watch_init(&watch);
        order = 0;
        armed = arm_five(&watch, r, at);
        if (armed) {
            await_rings(&watch, 4);
            pthread_mutex_lock(&watch.lock);
            static const int expected[] = {4, 1, 3, 2, 0};
            for (int i = 0; i < 5; i++) assert_int_equal(r[i].times, expected[i]);
            for (int i = 0; i < 4; i++) assert_true(r[i].rang >= at[i]);
            pthread_mutex_unlock(&watch.lock);
        }
        tw_watch_destroy(&watch);
        free(r);
    }
}

static void an_alarm_may_ring_again(void **state)
{
    (void)state;
    use_handlers();
    tw_watch watch;
    ringing *r = alarms(1);
    tw_watch_init(&watch);
    r->left = 3;
    order = 0;
    assert_int_equal(tw_watch_arm(&watch, &r->alarm, tw_clock_now(), NULL), TW_OK);
    await_rings(&watch, 3);
    tw_watch_disarm(&watch, &r->alarm);
    assert_int_equal(order, 3);
    tw_watch_destroy(&watch);
    free(r);
}

/* ---- instances ---- */

static tw_engine *engine;
static tw_kernel_cache *cache;

static tw_module *module_of(const char *text)
{
    tw_module *module;
    if (tw_module_new(engine, (const uint8_t *)text, strlen(text), &module, &error) != TW_OK) fail_msg("%s", error.message);
    return module;
}

static tw_instance *spawn(tw_module *module, uint64_t timeout_ns)
{
    tw_spawn_options options = TW_SPAWN_OPTIONS_INIT;
    options.kernel_cache = cache;
    options.timeout_ns = timeout_ns;
    tw_instance *instance;
    if (tw_instance_spawn(module, &options, &instance, &error) != TW_OK) fail_msg("%s", error.message);
    return instance;
}

/* Its start function is a loop that a kernel can take over: nobody may arrive at a stub before it is there. */
static const char *const starts_with_a_loop =
    "(module (memory (export \"m\") 1) (func $s (local i32)"
    " (loop $l (i32.store (i32.shl (local.get 0) (i32.const 2)) (i32.mul (local.get 0) (i32.const 3)))"
    "  (br_if $l (i32.ne (local.tee 0 (i32.add (local.get 0) (i32.const 1))) (i32.const 5000))))) (start $s))";

static void a_start_function_may_reach_a_stub(void **state)
{
    (void)state;
    use_handlers();
    tw_module *module = module_of(starts_with_a_loop);
    tw_instance *instance = spawn(module, 0);
    uint8_t *base;
    size_t size;
    assert_int_equal(tw_instance_memory(instance, "m", &base, &size, &error), TW_OK);
    for (uint32_t i = 0; i < 5000; i++) {
        uint32_t value;
        memcpy(&value, base + 4 * i, 4);
        assert_int_equal(value, 3 * i);
    }
    char *text;
    assert_int_equal(tw_instance_report(instance, TW_FORMAT_JSON, &text, &error), TW_OK);
    assert_non_null(strstr(text, "\"arrivals\":"));
    assert_null(strstr(text, "\"arrivals\":0,"));
    assert_null(strstr(text, "\"arrivals\": 0,"));
    free(text);
    tw_instance_free(instance);
    tw_module_free(module);
}

/* A trap in an outlined loop is told as one frame of the user's function, with the user's offsets. */
static void traps_in_outlined_loops_speak_of_the_users_module(void **state)
{
    (void)state;
    use_handlers();
    static const char text[] =
        "(module (memory 1) (func $inner (export \"f\") (param i32) (local i32)"
        " (loop $l (i32.store (i32.shl (local.get 1) (i32.const 2)) (local.get 1))"
        "  (br_if $l (i32.ne (local.tee 1 (i32.add (local.get 1) (i32.const 1))) (local.get 0)))))"
        " (func $outer (export \"g\") (param i32) (call $inner (local.get 0))))";
    tw_module *module = module_of(text);
    tw_val arg = {TW_VAL_I32, {.i32 = 20000}};
    tw_error with, without;
    tw_instance *instance = spawn(module, 0);
    assert_int_equal(tw_instance_call(instance, "g", &arg, 1, NULL, 0, &with), TW_TRAP);
    tw_instance_free(instance);
    tw_kernel_cache *kept = cache;
    cache = NULL; /* no stubs */
    instance = spawn(module, 0);
    cache = kept;
    assert_int_equal(tw_instance_call(instance, "g", &arg, 1, NULL, 0, &without), TW_TRAP);
    tw_instance_free(instance);
    assert_string_equal(with.message, without.message);
    assert_int_equal(with.offset, without.offset);
    assert_int_equal(with.function, 0);
    tw_module_free(module);
}

static void reasons_for_no_offload_are_told(void **state)
{
    (void)state;
    use_handlers();
    char *text;
    tw_module *module = module_of("(module (func))");
    tw_instance *instance = spawn(module, 0);
    assert_int_equal(tw_instance_report(instance, TW_FORMAT_TEXT, &text, &error), TW_OK);
    assert_non_null(strstr(text, "no region"));
    free(text);
    tw_instance_free(instance);
    tw_kernel_cache *kept = cache;
    cache = NULL;
    instance = spawn(module, 0);
    cache = kept;
    assert_int_equal(tw_instance_report(instance, TW_FORMAT_JSON, &text, &error), TW_OK);
    assert_non_null(strstr(text, "no kernel cache is attached"));
    free(text);
    tw_instance_free(instance);
    tw_module_free(module);
}

/* ---- threads ---- */

#define THREADS 4
#define ROUNDS 30

static const char *const busy =
    "(module (memory 1) (func (export \"spin\") (loop $l (br $l)))"
    " (func (export \"count\") (param i32) (result i32) (local i32)"
    "  (loop $l (i32.store (i32.const 0) (local.tee 1 (i32.add (local.get 1) (i32.const 1))))"
    "   (br_if $l (i32.ne (local.get 1) (local.get 0)))) (i32.load (i32.const 0))))";

static void *terminate(void *instance)
{
    usleep(2000);
    assert_int_equal(tw_instance_terminate(instance, NULL), TW_OK);
    return NULL;
}

static void one_round(tw_module *module, int round)
{
    tw_error own;
    pthread_t thread;
    bool ends = round % 3 == 0;
    tw_spawn_options options = TW_SPAWN_OPTIONS_INIT;
    options.timeout_ns = ends ? 0 : 3 * MS;
    tw_instance *instance;
    tw_val arg = {TW_VAL_I32, {.i32 = 1000 + round}}, result;
    assert_int_equal(tw_instance_spawn(module, &options, &instance, &own), TW_OK);
    if (ends) pthread_create(&thread, NULL, terminate, instance);
    tw_status status = tw_instance_call(instance, "spin", NULL, 0, NULL, 0, &own);
    assert_int_equal(status, ends ? TW_TERMINATED : TW_TIMEOUT);
    if (ends) {
        pthread_join(thread, NULL);
    } else {
        status = tw_instance_call(instance, "count", &arg, 1, &result, 1, &own);
        assert_true(status == TW_TIMEOUT || (status == TW_OK && result.of.i32 == 1000 + round));
    }
    tw_instance_free(instance);
}

static void *many_rounds(void *module)
{
    for (int i = 0; i < ROUNDS; i++) one_round(module, i);
    return NULL;
}

static void threads_spawn_stop_and_free_at_once(void **state)
{
    (void)state;
    use_handlers();
    tw_module *module = module_of(busy);
    pthread_t threads[THREADS];
    for (int i = 0; i < THREADS; i++) pthread_create(&threads[i], NULL, many_rounds, module);
    for (int i = 0; i < THREADS; i++) pthread_join(threads[i], NULL);
    tw_module_free(module);
}

static void a_call_inside_a_call_is_refused(void **state)
{
    (void)state;
    use_handlers();
    tw_module *module = module_of(busy);
    tw_instance *instance = spawn(module, 0);
    assert_int_equal(tw_stop_begin(&instance->stopper, 0, &error), TW_OK);
    tw_val arg = {TW_VAL_I32, {.i32 = 1}}, result;
    assert_int_equal(tw_instance_call(instance, "count", &arg, 1, &result, 1, &error), TW_BUSY);
    tw_stop_end(&instance->stopper);
    assert_int_equal(tw_instance_call(instance, "count", &arg, 1, &result, 1, &error), TW_OK);
    tw_instance_free(instance);
    tw_module_free(module);
}

static int set_up(void **state)
{
    (void)state;
    tw_engine_options options = TW_ENGINE_OPTIONS_INIT;
    options.offload = TW_OFFLOAD_FORCE;
    if (tw_engine_new(&options, &engine, &error) != TW_OK) return 1;
    keep_handlers();
    return tw_kernel_cache_new(engine, NULL, &cache, &error) != TW_OK;
}

static int tear_down(void **state)
{
    (void)state;
    tw_kernel_cache_free(cache);
    tw_engine_free(engine);
    return 0;
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(alarms_ring_once_in_order_and_not_early),
        cmocka_unit_test(an_alarm_may_ring_again),
        cmocka_unit_test(a_start_function_may_reach_a_stub),
        cmocka_unit_test(traps_in_outlined_loops_speak_of_the_users_module),
        cmocka_unit_test(reasons_for_no_offload_are_told),
        cmocka_unit_test(threads_spawn_stop_and_free_at_once),
        cmocka_unit_test(a_call_inside_a_call_is_refused),
    };
    return cmocka_run_group_tests(tests, set_up, tear_down);
}
