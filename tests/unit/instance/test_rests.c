/* SPDX-License-Identifier: Apache-2.0 */
/* A function whose loops don't pay runs as it came, and is asked again when numbers may have changed. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "../../handlers.h"
#include "instance/runtime.h"
#include "os/clock.h"

static tw_error error;
static tw_engine *engine;
static tw_kernel_cache *cache;

/* for (i = 0; i != n; i++) b[i] = 5 * a[i]; serial or not as the caller likes. The second loop is never reached. */
static const char scale[] =
    "(module (memory (export \"m\") 20) (func (export \"scale\") (param $n i32) (param $a i32) (param $b i32) (param $never i32) (local $i i32)"
    " (loop $l (i32.store (i32.add (local.get $b) (i32.shl (local.get $i) (i32.const 2)))"
    "   (i32.mul (i32.const 5) (i32.load (i32.add (local.get $a) (i32.shl (local.get $i) (i32.const 2))))))"
    "  (br_if $l (i32.ne (local.tee $i (i32.add (local.get $i) (i32.const 1))) (local.get $n))))"
    " (if (local.get $never) (then (local.set $i (i32.const 0)) (loop $k (i32.store (i32.shl (local.get $i) (i32.const 2)) (i32.const 1))"
    "  (br_if $k (i32.ne (local.tee $i (i32.add (local.get $i) (i32.const 1))) (local.get $n))))))))";

typedef struct guest {
    tw_module *module;
    tw_instance *instance;
    uint8_t *memory;
    tw_handle rest;
} guest;

static guest begin(void)
{
    guest g;
    size_t size;
    tw_spawn_options options = TW_SPAWN_OPTIONS_INIT;
    options.kernel_cache = cache;
    use_handlers();
    if (tw_module_new(engine, (const uint8_t *)scale, strlen(scale), &g.module, &error) != TW_OK) fail_msg("%s", error.message);
    if (tw_instance_spawn(g.module, &options, &g.instance, &error) != TW_OK) fail_msg("%s", error.message);
    assert_int_equal(tw_instance_memory(g.instance, "m", &g.memory, &size, &error), TW_OK);
    assert_true(tw_store_export(g.instance->store, "tw:rest:0", TW_HANDLE_GLOBAL, &g.rest));
    return g;
}

static void end(guest *g)
{
    tw_instance_free(g->instance);
    tw_module_free(g->module);
}

static bool rests(guest *g)
{
    tw_raw calls;
    tw_store_global_get(g->instance->store, &g->rest, &calls);
    return calls.i32 != 0;
}

/* Calls, and compares with the same in C. */
static void call(guest *g, uint32_t n, uint32_t a, uint32_t b)
{
    uint32_t cells[3] = {3, 7, 0x1234567}, value;
    tw_val args[4];
    for (int i = 0; i < 3; i++) memcpy(g->memory + a + 4 * i, &cells[i], 4);
    for (int i = 0; i < 4; i++) args[i] = (tw_val){TW_VAL_I32, {.i32 = (int32_t)(uint32_t[]){n, a, b, 0}[i]}};
    if (tw_instance_call(g->instance, "scale", args, 4, NULL, 0, &error) != TW_OK) fail_msg("%s", error.message);
    bool chain = b == a + 4; /* each element is five times the one before */
    for (uint32_t i = 0, power = 1; i < 3; i++) {
        memcpy(&value, g->memory + b + 4 * i, 4);
        assert_int_equal(value, chain ? cells[0] * (power *= 5) : cells[i] * 5);
    }
}

static uint64_t dispatches(const guest *g)
{
    tw_region_stats stats;
    tw_stubs_stats(g->instance->stubs, g->instance->store, 0, &stats);
    return stats.dispatches;
}

static uint64_t iterations(const guest *g)
{
    tw_region_stats stats;
    tw_stubs_stats(g->instance->stubs, g->instance->store, 0, &stats);
    return stats.original_iterations;
}

static void a_function_that_does_not_pay_rests(void **state)
{
    (void)state;
    guest g = begin();
    bool rested = false;
    for (int k = 0; k < 2000 && !rested; k++) {
        call(&g, 5000, 4096, 4100);
        rested = rests(&g);
    }
    assert_true(rested);
    int at_rest = 0;
    for (int k = 0; k < 2000; k++) {
        call(&g, 5000, 4096, 4100);
        at_rest += rests(&g);
    }
    print_message("at rest for %d of 2000 calls\n", at_rest);
    assert_true(at_rest > 1800);
    assert_int_equal(dispatches(&g), 0);
    end(&g);
}

/* Whichever way rests end, by themselves or by the host, and when the last one isn't over. */
static void iterations_at_rest_are_counted(void **state)
{
    (void)state;
    guest g = begin();
    uint64_t calls = 0, end_at = tw_clock_after(300000000);
    for (; tw_clock_now() < end_at; calls++) call(&g, 5000, 4096, 4100);
    print_message("%llu of %llu iterations counted\n", (unsigned long long)iterations(&g), (unsigned long long)calls * 5000);
    assert_int_equal(iterations(&g), calls * 5000);
    end(&g);
}

/* The same calls with other numbers get their kernel: after a few calls while the program only makes such calls, and after a
 * while when it makes long ones. */
static void new_numbers_end_a_rest(void **state)
{
    (void)state;
    guest g = begin();
    for (int k = 0; k < 4000; k++) call(&g, 5000, 4096, 4100);
    uint64_t end_at = tw_clock_after(20000000000u);
    int calls = 0;
    for (; !dispatches(&g) && tw_clock_now() < end_at; calls++) call(&g, 100000, 4096, 600000);
    print_message("a kernel after %d calls\n", calls);
    assert_true(dispatches(&g) > 0);
    assert_false(rests(&g));
    end(&g);
}

static int set_up(void **state)
{
    (void)state;
    tw_engine_options options = TW_ENGINE_OPTIONS_INIT;
    options.offload = TW_OFFLOAD_AUTO;
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
        cmocka_unit_test(a_function_that_does_not_pay_rests),
        cmocka_unit_test(iterations_at_rest_are_counted),
        cmocka_unit_test(new_numbers_end_a_rest),
    };
    return cmocka_run_group_tests(tests, set_up, tear_down);
}
