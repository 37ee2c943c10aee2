/* SPDX-License-Identifier: Apache-2.0 */
/* What runs without offload runs with it: as deep as a function can call itself there, it can here. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "instance/runtime.h"

static tw_error error;

/* A loop that may become a kernel, few iterations, not that anyone could know. */
#define COUNT " (global $count (mut i32) (i32.const 5))"
#define LOOP                                                                                                           \
    " (local $i i32) (local $m i32) (local.set $m (global.get $count))"                                                \
    " (loop $l (i32.store (i32.shl (local.get $i) (i32.const 2)) (i32.mul (local.get $i) (i32.const 3)))"              \
    "  (br_if $l (i32.ne (local.tee $i (i32.add (local.get $i) (i32.const 1))) (local.get $m))))"
#define DOWN "(i32.sub (local.get $n) (i32.const 1))"

static const char *const direct = /* f calls itself */
    "(module (memory 1)" COUNT " (func $f (export \"f\") (param $n i32) (result i32)" LOOP
    " (if (result i32) (local.get $n) (then (i32.add (call $f " DOWN ") (i32.const 1))) (else (i32.const 0)))))";

static const char *const mutual = /* f and g call each other, one of them through a table */
    "(module (memory 1)" COUNT " (table funcref (elem $f))"
    " (func $f (export \"f\") (param $n i32) (result i32)" LOOP
    " (if (result i32) (local.get $n) (then (i32.add (call $g " DOWN ") (i32.const 1))) (else (i32.const 0))))"
    " (func $g (param $n i32) (result i32)" LOOP
    " (if (result i32) (local.get $n) (then (i32.add (call_indirect (param i32) (result i32) " DOWN " (i32.const 0)) (i32.const 1)))"
    "  (else (i32.const 0)))))";

/* As many values as go to a stub, all alive across the call. */
static char *wide(void)
{
    enum { VALUES = 54 };
    char *text;
    size_t size;
    FILE *out = open_memstream(&text, &size);
    fprintf(out, "(module (memory 1)" COUNT " (global $x (mut i64) (i64.const 0)) (func $f (export \"f\") (param $n i32) (result i32) (local $i i32) (local $m i32)");
    for (int v = 0; v < VALUES; v++) fprintf(out, " (local $v%d i64)", v);
    for (int v = 0; v < VALUES; v++) fprintf(out, " (local.set $v%d (i64.add (i64.const %d) (i64.extend_i32_s (local.get $n))))", v, v);
    fprintf(out, " (local.set $m (global.get $count)) (loop $l");
    for (int v = 0; v < VALUES; v++)
        fprintf(out, " (i64.store offset=%d (i32.shl (local.get $i) (i32.const 12)) (i64.xor (i64.load offset=4000 (i32.const 0)) (local.get $v%d)))", 8 * v, v);
    fprintf(out, " (br_if $l (i32.ne (local.tee $i (i32.add (local.get $i) (i32.const 1))) (local.get $m))))");
    fprintf(out, " (local.set $i (if (result i32) (local.get $n) (then (i32.add (call $f " DOWN ") (i32.const 1))) (else (i32.const 0))))");
    for (int v = 0; v < VALUES; v++) fprintf(out, " (global.set $x (i64.xor (global.get $x) (local.get $v%d)))", v);
    fprintf(out, " (local.get $i)))");
    fclose(out);
    return text;
}

typedef struct runner {
    tw_engine *engine;
    tw_kernel_cache *cache;
    tw_module *module;
    tw_instance *instance;
} runner;

static runner start(const char *text, tw_offload offload)
{
    runner r;
    tw_engine_options options = TW_ENGINE_OPTIONS_INIT;
    tw_spawn_options spawn = TW_SPAWN_OPTIONS_INIT;
    options.offload = offload;
    if (tw_engine_new(&options, &r.engine, &error) != TW_OK) fail_msg("%s", error.message);
    assert_int_equal(tw_kernel_cache_new(r.engine, NULL, &r.cache, &error), TW_OK);
    spawn.kernel_cache = r.cache;
    if (tw_module_new(r.engine, (const uint8_t *)text, strlen(text), &r.module, &error) != TW_OK) fail_msg("%s", error.message);
    if (tw_instance_spawn(r.module, &spawn, &r.instance, &error) != TW_OK) fail_msg("%s", error.message);
    return r;
}

static void end(runner *r)
{
    tw_instance_free(r->instance);
    tw_module_free(r->module);
    tw_kernel_cache_free(r->cache);
    tw_engine_free(r->engine);
}

static bool goes_as_deep(const runner *r, uint32_t depth)
{
    tw_val arg = {TW_VAL_I32, {.i32 = (int32_t)depth}}, result;
    tw_status status = tw_instance_call(r->instance, "f", &arg, 1, &result, 1, &error);
    if (status == TW_OK) assert_int_equal(result.of.i32, depth);
    else assert_int_equal(status, TW_TRAP);
    return status == TW_OK;
}

static uint32_t deepest(const runner *r)
{
    uint32_t low = 0, high = 1 << 17;
    while (low + 1 < high) {
        uint32_t middle = (low + high) / 2;
        if (goes_as_deep(r, middle)) low = middle;
        else high = middle;
    }
    return low;
}

static uint64_t arrivals(const runner *r)
{
    uint64_t count = 0;
    assert_non_null(r->instance->stubs);
    for (uint32_t i = 0; i < r->instance->stubs->plan->entry_count; i++) {
        tw_region_stats stats;
        tw_dispatch_stats(r->instance->stubs->dispatch, i, 0, &stats);
        count += stats.arrivals;
    }
    return count;
}

static void compare(const char *what, const char *text)
{
    char overflow[sizeof error.message];
    runner r = start(text, TW_OFFLOAD_OFF);
    uint32_t depth = deepest(&r);
    assert_false(goes_as_deep(&r, 1 << 20));
    snprintf(overflow, sizeof overflow, "%.*s", (int)strcspn(error.message, "("), error.message); /* "… call stack exhausted in f " */
    overflow[strlen(overflow) - 2] = 0; /* whichever of the functions it was */
    end(&r);
    for (int forced = 0; forced < 2; forced++) {
        r = start(text, forced ? TW_OFFLOAD_FORCE : TW_OFFLOAD_AUTO);
        for (int times = 0; times < 3; times++)
            if (!goes_as_deep(&r, depth)) fail_msg("%s: %u deep without offload, not so with it", what, depth);
        assert_true(arrivals(&r) > 0);
        assert_false(goes_as_deep(&r, 1 << 20));
        assert_memory_equal(error.message, overflow, strlen(overflow));
        uint64_t before = arrivals(&r);
        for (int times = 0; times < 300; times++) assert_true(goes_as_deep(&r, 1));
        if (forced) assert_true(arrivals(&r) > before); /* an overflow doesn't switch offload off */
        end(&r);
    }
    print_message("%s: %u deep\n", what, depth);
}

static void recursion_goes_as_deep_as_without_offload(void **state)
{
    (void)state;
    char *text = wide(); /* engines come and go within one test: handlers of theirs stay in place */
    compare("direct", direct);
    compare("mutual", mutual);
    compare("wide", text);
    free(text);
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(recursion_goes_as_deep_as_without_offload)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
