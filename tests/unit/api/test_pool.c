/* SPDX-License-Identifier: Apache-2.0 */
/* What a pool gives is as fresh: it is compared with an instance that has just been spawned, by what a capture of either says (memory,
 * globals, tables, drops, byte for byte) and by running both on. */
#include <pthread.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <cmocka.h>

#include "../../support/embedder.h"
#include "everything.h"

static tw_snapshot_writer *writer;

static void is_as_fresh(tw_module *module, tw_instance *used)
{
    tw_instance *fresh = spawn(module, NULL);
    file a = capture(fresh, writer), b = capture(used, writer);
    assert_int_equal(a.size, b.size);
    assert_memory_equal(a.bytes, b.bytes, a.size);
    free(a.bytes), free(b.bytes);
    tw_instance_free(fresh);
}

static bool spoils(const char *name)
{
    return !strcmp(name, "table_grow") || !strcmp(name, "drop_p") || !strcmp(name, "drop_later");
}

/* Only calls that leave the instance usable, unless one trapped. */
static bool use(tw_module *module, tw_instance *instance, uint32_t seed, int calls)
{
    bool well = true;
    for (int i = 0; i < calls; i++) {
        tw_val results[4];
        const char *name = all_names[(next(&seed) >> 8) % ALL];
        if (!spoils(name)) well &= call(instance, module, name, (int32_t)(next(&seed) >> 12 & 31), results) == TW_OK;
    }
    return well;
}

static void reset_equals_fresh(void **state)
{
    (void)state;
    use_handlers();
    tw_module *module = module_of(all_text);
    tw_instance_pool *pool = pool_of(module, NULL);
    int reused = 0;
    for (uint32_t seed = 1; seed <= 300; seed++) {
        tw_instance *instance = take(pool);
        is_as_fresh(module, instance);
        bool well = use(module, instance, seed, (int)(seed % 7));
        size_t before = tw_instance_pool_idle(pool);
        tw_instance_pool_give(pool, instance);
        assert_int_equal(tw_instance_pool_idle(pool), before + well); /* one that trapped isn't kept */
        reused += well;
    }
    assert_true(reused > 60);
    tw_instance_pool_free(pool);
    tw_module_free(module);
}

static void what_can_not_be_made_fresh_is_freed(void **state)
{
    (void)state;
    use_handlers();
    tw_module *module = module_of(all_text);
    tw_instance_pool *pool = pool_of(module, NULL);
    static const char *const names[] = {"table_grow", "drop_p", "drop_later"};
    tw_val results[4];
    for (size_t i = 0; i < 3; i++) {
        tw_instance *instance = take(pool);
        OK(call(instance, module, names[i], 1, results));
        tw_instance_pool_give(pool, instance);
        assert_int_equal(tw_instance_pool_idle(pool), 0);
    }
    tw_instance *instance = take(pool);
    OK(tw_instance_terminate(instance, &error));
    tw_instance_pool_give(pool, instance);
    assert_int_equal(tw_instance_pool_idle(pool), 0);
    tw_instance_pool_free(pool);
    tw_module_free(module);
}

static void what_came_from_elsewhere_is_freed(void **state)
{
    (void)state;
    use_handlers();
    tw_module *module = module_of(all_text);
    tw_instance_pool *pool = pool_of(module, NULL), *other = pool_of(module, NULL);
    tw_instance_pool_give(pool, take(other));
    tw_instance_pool_give(pool, spawn(module, NULL));
    assert_int_equal(tw_instance_pool_idle(pool), 0);
    tw_instance_pool_free(pool);
    tw_instance_pool_free(other);
    tw_module_free(module);
}

static void the_start_function_runs_at_each_take(void **state)
{
    (void)state;
    use_handlers();
    tw_module *module = module_of("(module (memory (export \"memory\") 1) (global $n (mut i32) (i32.const 5)) (data (i32.const 3) \"abc\")"
                                  "(func $start (global.set $n (i32.add (global.get $n) (i32.const 1))) (i32.store8 (i32.const 0) (global.get $n))) (start $start)"
                                  "(func (export \"n\") (result i32) (global.set $n (i32.add (global.get $n) (i32.const 1))) (i32.add (global.get $n) (i32.load8_u (i32.const 0)))))");
    tw_instance_pool *pool = pool_of(module, NULL);
    for (int i = 0; i < 5; i++) {
        tw_val results[4];
        tw_instance *instance = take(pool);
        OK(call(instance, module, "n", 0, results));
        assert_int_equal(results[0].of.i32, 13);
        tw_instance_pool_give(pool, instance);
        assert_int_equal(tw_instance_pool_idle(pool), 1);
    }
    tw_instance_pool_free(pool);
    tw_module_free(module);
}

static void a_large_memory_with_growth_and_kernels_is_fresh(void **state)
{
    (void)state;
    use_handlers();
    tw_module *module = module_of(
        "(module (memory (export \"memory\") 80) (data (i32.const 4000000) \"some data\")"
        "(func (export \"grow\") (result i32) (memory.grow (i32.const 3)))"
        "(func (export \"size\") (result i32) (memory.size))"
        "(func (export \"last\") (i32.store8 (i32.sub (i32.shl (memory.size) (i32.const 16)) (i32.const 1)) (i32.const 1)))"
        "(func (export \"fill\") (param i32) (local $i i32) (loop $l"
        " (i32.store offset=70000 (i32.shl (local.get $i) (i32.const 2)) (i32.mul (local.get $i) (local.get 0)))"
        " (br_if $l (i32.lt_u (local.tee $i (i32.add (local.get $i) (i32.const 1))) (i32.const 30000))))))");
    tw_instance_pool *pool = pool_of(module, NULL);
    for (int i = 0; i < 6; i++) {
        tw_val results[4];
        tw_instance *instance = take(pool);
        is_as_fresh(module, instance);
        OK(call(instance, module, "size", 0, results));
        assert_int_equal(results[0].of.i32, 80);
        OK(call(instance, module, "fill", i + 3, results));
        if (i & 1) OK(call(instance, module, "grow", 0, results));
        OK(call(instance, module, "last", 0, results));
        tw_instance_pool_give(pool, instance);
        assert_int_equal(tw_instance_pool_idle(pool), 1);
    }
    tw_instance_pool_free(pool);
    tw_module_free(module);
}

/* One tenant's bytes are never seen by another, who gets the same slots. */
static void nothing_of_one_tenant_is_seen_by_the_next(void **state)
{
    (void)state;
    use_handlers();
    tw_module *module = module_of(all_text);
    for (uint64_t tenant = 1; tenant < 12; tenant++) {
        tw_spawn_options options = usual();
        options.tenant = tenant;
        tw_instance_pool *pool = pool_of(module, &options);
        for (int i = 0; i < 3; i++) {
            uint8_t *memory;
            size_t size;
            tw_val results[4];
            tw_instance *instance = take(pool);
            if (i & 1) OK(call(instance, module, "grow", 1, results));
            OK(tw_instance_memory(instance, "memory", &memory, &size, &error));
            for (size_t at = 0; at < size; at++) assert_true(memory[at] != 0xC7 && (memory[at] == 0 || (at >= 100 && at < 105)));
            memset(memory, 0xC7, size);
            if (i == 2) tw_instance_free(instance);
            else tw_instance_pool_give(pool, instance);
        }
        tw_instance_pool_free(pool);
    }
    tw_module_free(module);
}

#define WASI "\"wasi_snapshot_preview1\""

static void wasi_begins_anew(void **state)
{
    (void)state;
    use_handlers();
    char folder[] = "/tmp/tw-pool-XXXXXX", path[64];
    assert_non_null(mkdtemp(folder));
    static const char *const args[] = {"guest"};
    tw_wasi_dir dir = {folder, "d"};
    tw_wasi_options wasi = TW_WASI_OPTIONS_INIT;
    wasi.args = args, wasi.arg_count = 1, wasi.dirs = &dir, wasi.dir_count = 1;
    tw_spawn_options options = usual();
    options.wasi = &wasi;
    tw_module *module = module_of(
        "(module (import " WASI " \"path_open\" (func $open (param i32 i32 i32 i32 i32 i64 i64 i32 i32) (result i32)))"
        "(import " WASI " \"fd_close\" (func $close (param i32) (result i32)))"
        "(memory (export \"memory\") 1) (data (i32.const 8) \"a.txt\")"
        "(func (export \"open\") (result i32) (drop (call $open (i32.const 3) (i32.const 0) (i32.const 8) (i32.const 5) (i32.const 1)"
        " (i64.const 64) (i64.const 0) (i32.const 0) (i32.const 32))) (i32.load (i32.const 32)))"
        "(func (export \"close\") (result i32) (call $close (i32.const 3))))");
    tw_instance_pool *pool = pool_of(module, &options);
    for (int i = 0; i < 4; i++) {
        tw_val results[4];
        tw_instance *instance = take(pool);
        OK(call(instance, module, "open", 0, results));
        assert_int_equal(results[0].of.i32, 4); /* the first descriptor that is free in a new instance */
        OK(call(instance, module, "close", 0, results));
        assert_int_equal(results[0].of.i32, 0); /* its folder: the next one has it again */
        tw_instance_pool_give(pool, instance);
        assert_int_equal(tw_instance_pool_idle(pool), 1);
    }
    tw_instance_pool_free(pool);
    tw_module_free(module);
    snprintf(path, sizeof path, "%s/a.txt", folder);
    unlink(path);
    rmdir(folder);
}

typedef struct crowd {
    tw_instance_pool *pool;
    tw_module *module;
    uint32_t seed;
    bool failed;
} crowd;

static void *take_and_give(void *given)
{
    crowd *c = given;
    for (int i = 0; i < 300 && !c->failed; i++) {
        tw_instance *instance;
        tw_error why;
        tw_val result = {0};
        if (tw_instance_pool_take(c->pool, &instance, &why)) c->failed = true;
        else if (tw_instance_call(instance, "call_r", NULL, 0, &result, 1, &why) || result.of.i32 != 2) c->failed = true;
        else if (next(&c->seed) >> 16 & 1) tw_instance_pool_give(c->pool, instance);
        else tw_instance_free(instance);
    }
    return NULL;
}

static void threads_take_and_give(void **state)
{
    (void)state;
    use_handlers();
    enum { THREADS = 3 };
    pthread_t threads[THREADS];
    crowd crowds[THREADS];
    tw_module *module = module_of(all_text);
    tw_instance_pool *pool = pool_of(module, NULL);
    for (uint32_t i = 0; i < THREADS; i++) {
        crowds[i] = (crowd){pool, module, i + 1, false};
        pthread_create(&threads[i], NULL, take_and_give, &crowds[i]);
    }
    for (int i = 0; i < THREADS; i++) pthread_join(threads[i], NULL);
    for (int i = 0; i < THREADS; i++) assert_false(crowds[i].failed);
    tw_instance_pool_free(pool);
    tw_module_free(module);
}

static int set_up(void **state)
{
    (void)state;
    return engine_begins(TW_OFFLOAD_FORCE, false) || tw_snapshot_writer_new(NULL, &writer, &error);
}

static int tear_down(void **state)
{
    (void)state;
    tw_snapshot_writer_free(writer);
    engine_ends();
    return 0;
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(reset_equals_fresh),
        cmocka_unit_test(what_can_not_be_made_fresh_is_freed),
        cmocka_unit_test(what_came_from_elsewhere_is_freed),
        cmocka_unit_test(the_start_function_runs_at_each_take),
        cmocka_unit_test(a_large_memory_with_growth_and_kernels_is_fresh),
        cmocka_unit_test(nothing_of_one_tenant_is_seen_by_the_next),
        cmocka_unit_test(wasi_begins_anew),
        cmocka_unit_test(threads_take_and_give),
    };
    return cmocka_run_group_tests(tests, set_up, tear_down);
}
