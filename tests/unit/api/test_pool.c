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
#include <sys/stat.h>
#include <unistd.h>

#include <cmocka.h>

#include "../../support/embedder.h"
#include "everything.h"
#include "os/clock.h"

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

/* Nothing of a guest runs before somebody takes the instance; then all of it does. */
static void warm_instances_wait_before_their_start(void **state)
{
    (void)state;
    use_handlers();
    tw_module *module = module_of("(module (memory (export \"memory\") 1) (global $n (mut i32) (i32.const 5)) (data (i32.const 3) \"abc\")"
                                  "(func $start (global.set $n (i32.add (global.get $n) (i32.const 1)))) (start $start)"
                                  "(func (export \"n\") (result i32) (global.get $n)))");
    tw_module *bad = module_of("(module (func $start unreachable) (start $start))");
    tw_instance_pool *pool = pool_of(module, NULL), *worse = pool_of(bad, NULL);
    tw_instance *instances[20];
    OK(tw_instance_pool_warm(pool, 3, &error));
    assert_int_equal(tw_instance_pool_idle(pool), 3);
    OK(tw_instance_pool_warm(pool, 2, &error)); /* there are as many */
    assert_int_equal(tw_instance_pool_idle(pool), 3);
    OK(tw_instance_pool_warm(pool, 1000, &error));
    assert_int_equal(tw_instance_pool_idle(pool), 16); /* max_idle */
    for (int i = 0; i < 20; i++) {
        tw_val results[4];
        instances[i] = take(pool);
        is_as_fresh(module, instances[i]);
        OK(call(instances[i], module, "n", 0, results));
        assert_int_equal(results[0].of.i32, 6);
    }
    for (int i = 0; i < 20; i++) tw_instance_pool_give(pool, instances[i]);
    assert_int_equal(tw_instance_pool_idle(pool), 16);
    OK(tw_instance_pool_warm(worse, 1, &error));
    assert_int_equal(tw_instance_pool_take(worse, instances, &error), TW_TRAP);
    assert_int_equal(tw_instance_pool_take(worse, instances, &error), TW_TRAP);
    assert_int_equal(tw_instance_pool_warm(NULL, 1, &error), TW_INVALID_ARGUMENT);
    tw_instance_pool_free(worse);
    tw_instance_pool_free(pool);
    tw_module_free(module);
    tw_module_free(bad);
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

/* Each use of a pooled instance sees what it would see in a new one. */
static tw_module *wasi_module(void)
{
    return module_of(
        "(module (import " WASI " \"path_open\" (func $open (param i32 i32 i32 i32 i32 i64 i64 i32 i32) (result i32)))"
        "(import " WASI " \"fd_close\" (func $close (param i32) (result i32)))"
        "(import " WASI " \"fd_renumber\" (func $renumber (param i32 i32) (result i32)))"
        "(import " WASI " \"fd_read\" (func $read (param i32 i32 i32 i32) (result i32)))"
        "(import " WASI " \"fd_write\" (func $write (param i32 i32 i32 i32) (result i32)))"
        "(import " WASI " \"clock_time_get\" (func $time (param i32 i64 i32) (result i32)))"
        "(memory (export \"memory\") 1) (data (i32.const 8) \"a.txt\") (data (i32.const 64) \"\\08\\00\\00\\00\\05\\00\\00\\00\\80\\00\\00\\00\\02\\00\\00\\00\")"
        "(func (export \"open\") (result i32) (local $number i32) (local.set $number (call $open (i32.const 3) (i32.const 0) (i32.const 8) (i32.const 5) (i32.const 1)"
        " (i64.const 64) (i64.const 0) (i32.const 0) (i32.const 32))) (select (i32.load (i32.const 32)) (i32.sub (i32.const 0) (local.get $number)) (i32.eqz (local.get $number))))"
        "(func (export \"close\") (param i32) (result i32) (call $close (local.get 0)))"
        "(func (export \"renumber\") (param i32) (result i32) (call $renumber (local.get 0) (i32.const 1)))"
        "(func (export \"write\") (param i32) (result i32) (call $write (local.get 0) (i32.const 64) (i32.const 1) (i32.const 32)))"
        "(func (export \"read\") (result i32) (drop (call $read (i32.const 0) (i32.const 72) (i32.const 1) (i32.const 32)))"
        " (i32.or (i32.shl (i32.load (i32.const 32)) (i32.const 16)) (i32.load16_u (i32.const 128))))"
        "(func (export \"time\") (result i64) (drop (call $time (i32.const 1) (i64.const 1) (i32.const 40))) (i64.load (i32.const 40))))");
}

static int64_t answer_of(tw_module *module, tw_instance *instance, const char *name, int32_t argument)
{
    tw_val results[4];
    OK(call(instance, module, name, argument, results));
    return results[0].kind == TW_VAL_I64 ? results[0].of.i64 : results[0].of.i32;
}

typedef struct wasi_world {
    char folder[64], path[96];
    tw_wasi_dir dir;
    tw_wasi_options wasi;
    tw_module *module;
    tw_instance_pool *pool;
} wasi_world;

static void open_world(wasi_world *w)
{
    static const char *const args[] = {"guest"};
    snprintf(w->folder, sizeof w->folder, "/tmp/tw-pool-XXXXXX");
    assert_non_null(mkdtemp(w->folder));
    snprintf(w->path, sizeof w->path, "%s/a.txt", w->folder);
    w->dir = (tw_wasi_dir){w->folder, "d"};
    w->wasi = (tw_wasi_options)TW_WASI_OPTIONS_INIT;
    w->wasi.args = args, w->wasi.arg_count = 1, w->wasi.dirs = &w->dir, w->wasi.dir_count = 1;
    w->wasi.stdin_bytes = (const uint8_t *)"abcd", w->wasi.stdin_size = 4;
    w->module = wasi_module();
    tw_spawn_options options = usual();
    options.wasi = &w->wasi;
    OK(tw_instance_pool_new(w->module, &options, NULL, &w->pool, &error));
}

static void close_world(wasi_world *w)
{
    tw_instance_pool_free(w->pool);
    tw_module_free(w->module);
    unlink(w->path);
    rmdir(w->folder);
}

/* What a guest leaves of its descriptors, in each way that there is. */
static void leave(const wasi_world *w, tw_instance *instance, int how)
{
    switch (how) {
    case 0: break;
    case 1: assert_int_equal(answer_of(w->module, instance, "close", 4), 0); break;
    case 2: assert_int_equal(answer_of(w->module, instance, "close", 3), 0); break; /* its folder */
    case 3: assert_int_equal(answer_of(w->module, instance, "renumber", 4), 0); break;
    case 4: /* two at once, both closed: the engine gives the higher number again first */
        assert_int_equal(answer_of(w->module, instance, "open", 0), 5);
        for (int fd = 4; fd < 6; fd++) assert_int_equal(answer_of(w->module, instance, "close", fd), 0);
        break;
    default: assert_int_equal(answer_of(w->module, instance, "close", 0), 0); break;
    }
}

static void wasi_begins_anew(void **state)
{
    (void)state;
    use_handlers();
    wasi_world w;
    open_world(&w);
    for (int i = 0; i < 24; i++) {
        tw_instance *instance = take(w.pool);
        assert_int_equal(answer_of(w.module, instance, "write", 4), 8); /* no such descriptor */
        assert_int_equal(answer_of(w.module, instance, "write", 1), 0); /* its standard output */
        assert_int_equal(answer_of(w.module, instance, "open", 0), 4);  /* the first that is free in a new instance */
        if (i % 2) assert_int_equal(answer_of(w.module, instance, "read", 0), 2 << 16 | 'b' << 8 | 'a');
        leave(&w, instance, i / 2 % 6);
        tw_instance_pool_give(w.pool, instance);
        assert_int_equal(tw_instance_pool_idle(w.pool), 1);
    }
    close_world(&w);
}

static void the_monotonic_clock_starts_anew(void **state)
{
    (void)state;
    use_handlers();
    wasi_world w;
    open_world(&w);
    for (int i = 0; i < 3; i++) {
        tw_instance *instance = take(w.pool);
        int64_t first = answer_of(w.module, instance, "time", 0);
        assert_true(first >= 0);
        usleep(30000);
        assert_true(answer_of(w.module, instance, "time", 0) >= first + 30000000);
        tw_instance_pool_give(w.pool, instance);
        uint64_t before = tw_clock_now();
        instance = take(w.pool);
        assert_true(answer_of(w.module, instance, "time", 0) <= (int64_t)(tw_clock_now() - before)); /* nothing from before */
        tw_instance_pool_give(w.pool, instance);
    }
    close_world(&w);
}

/* A file for output is there until somebody takes the instance again; what the guest had open is closed at once. */
static void what_a_guest_left_open_is_closed_and_its_output_stays(void **state)
{
    (void)state;
    use_handlers();
    wasi_world w;
    char output[96];
    open_world(&w);
    snprintf(output, sizeof output, "%s/output", w.folder);
    tw_spawn_options options = usual();
    tw_instance_pool *pool;
    w.wasi.stdout_path = output;
    options.wasi = &w.wasi;
    OK(tw_instance_pool_new(w.module, &options, NULL, &pool, &error));
    OK(tw_instance_pool_warm(pool, 1, &error)); /* its output, too, begins when it is taken */
    for (int i = 0; i < 3; i++) {
        struct stat found;
        tw_instance *instance = take(pool);
        assert_int_equal(stat(output, &found), 0);
        assert_int_equal(found.st_size, 0); /* begun anew */
        int lowest = dup(0);
        assert_int_equal(answer_of(w.module, instance, "open", 0), 4);
        assert_int_equal(answer_of(w.module, instance, "write", 1), 0);
        tw_instance_pool_give(pool, instance);
        assert_int_equal(stat(output, &found), 0);
        assert_int_equal(found.st_size, 5);
        close(lowest);
        int again = dup(0);
        assert_true(again <= lowest);
        close(again);
    }
    tw_instance_pool_free(pool);
    unlink(output);
    close_world(&w);
}

/* A path may lead to another folder than before: a new instance would find that one. */
static void a_folder_that_was_replaced_is_the_new_one(void **state)
{
    (void)state;
    use_handlers();
    wasi_world w;
    char other[96], elsewhere[128];
    open_world(&w);
    snprintf(other, sizeof other, "%s.old", w.folder);
    tw_instance_pool_give(w.pool, take(w.pool));
    assert_int_equal(rename(w.folder, other), 0);
    assert_int_equal(mkdir(w.folder, 0700), 0);
    tw_instance *instance = take(w.pool);
    assert_int_equal(answer_of(w.module, instance, "open", 0), 4);
    assert_int_equal(access(w.path, F_OK), 0);
    snprintf(elsewhere, sizeof elsewhere, "%s/a.txt", other);
    assert_int_equal(access(elsewhere, F_OK), -1);
    tw_instance_pool_give(w.pool, instance);
    rmdir(other);
    close_world(&w);
}

static tw_status twice(void *context, tw_host_call *host, const tw_val *args, tw_val *results, tw_error *why)
{
    (void)host, (void)why;
    ++*(int *)context;
    results[0] = (tw_val){TW_VAL_I32, {.i32 = 2 * args[0].of.i32}};
    return TW_OK;
}

/* Options of which nothing is left when the pool makes its instances. */
static tw_instance_pool *pool_of_options_that_end(tw_module *module, int *calls)
{
    char name[] = "twice", from[] = "host", argument[] = "an argument", variable[] = "A=b", path[] = "/tmp", input[] = "xy";
    const char *args[] = {argument}, *env[] = {variable};
    tw_val_kind kinds[] = {TW_VAL_I32};
    tw_import_func import = {from, name, kinds, 1, kinds, 1, twice, calls};
    tw_wasi_dir dir = {path, path};
    tw_wasi_options wasi = TW_WASI_OPTIONS_INIT;
    tw_spawn_options options = usual();
    tw_instance_pool *pool;
    tw_kernel_cache *own;
    OK(tw_kernel_cache_new(engine, NULL, &own, &error));
    wasi.args = args, wasi.arg_count = 1, wasi.env = env, wasi.env_count = 1, wasi.dirs = &dir, wasi.dir_count = 1;
    wasi.stdin_bytes = (const uint8_t *)input, wasi.stdin_size = 2;
    options.wasi = &wasi, options.imports = &import, options.import_count = 1, options.kernel_cache = own;
    OK(tw_instance_pool_new(module, &options, NULL, &pool, &error));
    tw_kernel_cache_free(own);
    memset(name, 'z', sizeof name), memset(from, 'z', sizeof from), memset(argument, 'z', sizeof argument);
    memset(variable, 'z', sizeof variable), memset(path, 'z', sizeof path), memset(input, 'z', sizeof input);
    memset(args, 0, sizeof args), memset(env, 0, sizeof env), memset(kinds, 0xFF, sizeof kinds), memset(&import, 0, sizeof import);
    return pool;
}

static void a_pool_keeps_its_options(void **state)
{
    (void)state;
    use_handlers();
    tw_module *module = module_of(
        "(module (import \"host\" \"twice\" (func $twice (param i32) (result i32)))"
        "(import " WASI " \"args_get\" (func $args (param i32 i32) (result i32)))"
        "(memory (export \"memory\") 1)"
        "(func (export \"n\") (result i32) (drop (call $args (i32.const 0) (i32.const 64))) (call $twice (i32.load8_u (i32.const 64)))))");
    int calls = 0;
    tw_instance_pool *pool = pool_of_options_that_end(module, &calls);
    for (int i = 0; i < 3; i++) {
        tw_instance *a = take(pool), *b = take(pool);
        assert_int_equal(answer_of(module, a, "n", 0), 2 * 'a');
        assert_int_equal(answer_of(module, b, "n", 0), 2 * 'a');
        tw_instance_pool_give(pool, a);
        tw_instance_free(b);
    }
    assert_int_equal(calls, 6);
    tw_instance_pool_free(pool);
    tw_module_free(module);
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
        cmocka_unit_test(warm_instances_wait_before_their_start),
        cmocka_unit_test(a_large_memory_with_growth_and_kernels_is_fresh),
        cmocka_unit_test(nothing_of_one_tenant_is_seen_by_the_next),
        cmocka_unit_test(wasi_begins_anew),
        cmocka_unit_test(the_monotonic_clock_starts_anew),
        cmocka_unit_test(what_a_guest_left_open_is_closed_and_its_output_stays),
        cmocka_unit_test(a_folder_that_was_replaced_is_the_new_one),
        cmocka_unit_test(a_pool_keeps_its_options),
        cmocka_unit_test(threads_take_and_give),
    };
    return cmocka_run_group_tests(tests, set_up, tear_down);
}
