/* SPDX-License-Identifier: Apache-2.0 */
/* Embedders and guests that mean no good, or don't know better, and what pools and restores make of them: a typed error, or what the
 * headers say; afterwards everything else works, and nothing has been lost. */
#include <dirent.h>
#include <pthread.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#include <cmocka.h>

#include "../../support/embedder.h"
#include "memory/budget.h"
#include "memory/slot.h"
#include "tensorwasm/buffer.h"

static tw_snapshot_writer *writer;
static tw_snapshot_reader *reader;

#define MILLISECOND UINT64_C(1000000)
#define WASI "\"wasi_snapshot_preview1\""

static const char *const counter_text =
    "(module (memory (export \"memory\") 1 20) (global $n (mut i32) (i32.const 5)) (data (i32.const 3) \"abc\")"
    "(func (export \"n\") (result i32) (global.set $n (i32.add (global.get $n) (i32.const 1))) (global.get $n))"
    "(func (export \"grow\") (param i32) (result i32) (memory.grow (local.get 0)))"
    "(func $deep (export \"deep\") (result i32) (i32.add (i32.const 1) (call $deep)))"
    "(func (export \"spin\") (loop $l (br $l)))"
    "(func (export \"fill\") (loop $l (memory.fill (i32.const 0) (i32.const 1) (i32.const 65536)) (br $l)))"
    "(func (export \"beyond\") (result i32) (i32.load (i32.shl (memory.size) (i32.const 16)))))";

static int32_t number(tw_instance *instance, tw_module *module)
{
    tw_val results[4];
    OK(call(instance, module, "n", 0, results));
    return results[0].of.i32;
}

/* ---- handles ---- */

static void what_was_given_back_is_not_the_callers(void **state)
{
    (void)state;
    use_handlers();
    tw_module *module = module_of(counter_text);
    tw_instance_pool *pool = pool_of(module, NULL), *other = pool_of(module, NULL);
    tw_instance *instance = take(pool);
    uint8_t *base;
    size_t size;
    file f;
    tw_val result;
    tw_devices *devices;
    tw_buffer *buffer;
    OK(tw_devices_open(NULL, &devices, &error));
    OK(tw_buffer_new(devices, NULL, 100, &buffer, &error));
    number(instance, module);
    tw_instance_pool_give(pool, instance);
    assert_int_equal(tw_instance_call(instance, "n", NULL, 0, &result, 1, &error), TW_INVALID_ARGUMENT);
    assert_non_null(strstr(error.message, "given back"));
    assert_int_equal(tw_instance_memory(instance, "memory", &base, &size, &error), TW_INVALID_ARGUMENT);
    assert_int_equal(tw_instance_terminate(instance, &error), TW_INVALID_ARGUMENT);
    assert_int_equal(try_capture(instance, writer, &f), TW_INVALID_ARGUMENT);
    assert_int_equal(tw_instance_attach_buffer(instance, "mine", buffer, &error), TW_INVALID_ARGUMENT);
    tw_buffer_free(buffer);
    tw_devices_close(devices);
    for (int i = 0; i < 3; i++) {
        tw_instance_pool_give(pool, instance);
        tw_instance_pool_give(other, instance);
        tw_instance_free(instance);
    }
    assert_int_equal(tw_instance_pool_idle(pool), 1);
    assert_int_equal(tw_instance_pool_idle(other), 0);
    tw_instance *a = take(pool), *b = take(pool);
    assert_ptr_equal(a, instance);
    assert_ptr_not_equal(a, b);
    assert_int_equal(number(a, module), 6);
    assert_int_equal(number(b, module), 6);
    tw_instance_pool_give(pool, a);
    tw_instance_pool_give(pool, b);
    tw_instance_pool_free(pool);
    tw_instance_pool_free(other);
    tw_module_free(module);
}

/* An instance whose pool is gone isn't one of the pool that now lies in its place. */
static void a_pool_in_a_freed_ones_place_is_another(void **state)
{
    (void)state;
    use_handlers();
    enum { TRIES = 50, KEPT = 8 }; /* blocks of one size that the allocator keeps apart from others, for malloc only */
    tw_module *module = module_of(counter_text);
    tw_instance_pool *pools[TRIES], *before[KEPT];
    tw_spawn_options options = usual();
    int same = -1, count = 0;
    options.tenant = 1;
    for (int i = 0; i < KEPT; i++) before[i] = pool_of(module, &options);
    tw_instance_pool *gone = pool_of(module, &options);
    tw_instance *instance = take(gone);
    uintptr_t place = (uintptr_t)gone;
    for (int i = 0; i < KEPT; i++) tw_instance_pool_free(before[i]);
    tw_instance_pool_free(gone);
    options.tenant = 2;
    for (; count < TRIES && same < 0; count++) {
        pools[count] = pool_of(module, &options);
        if ((uintptr_t)pools[count] == place) same = count;
    }
    tw_instance_pool *given = pools[same < 0 ? 0 : same];
    if (same < 0) print_message("no pool came to lie in that place\n");
    tw_instance_pool_give(given, instance);
    assert_int_equal(tw_instance_pool_idle(given), 0);
    while (count--) tw_instance_pool_free(pools[count]);
    tw_module_free(module);
}

typedef struct inside {
    tw_instance_pool *pool;
    tw_instance *instance;
} inside;

static tw_status give_and_free(void *context, tw_host_call *in, const tw_val *args, tw_val *results, tw_error *why)
{
    (void)in, (void)args, (void)results, (void)why;
    inside *i = context;
    tw_instance_pool_give(i->pool, i->instance);
    tw_instance_free(i->instance);
    return TW_OK;
}

static void a_host_function_can_not_free_who_called_it(void **state)
{
    (void)state;
    use_handlers();
    tw_module *module = module_of("(module (import \"h\" \"f\" (func $f)) (memory (export \"memory\") 1)"
                                  "(func (export \"run\") (result i32) (i32.store (i32.const 8) (i32.const 1)) (call $f) (i32.load (i32.const 8))))");
    inside context;
    tw_import_func import = {"h", "f", NULL, 0, NULL, 0, give_and_free, &context};
    tw_spawn_options options = usual();
    options.imports = &import, options.import_count = 1;
    context.pool = pool_of(module, &options);
    context.instance = take(context.pool);
    for (int i = 0; i < 3; i++) {
        tw_val results[4];
        OK(call(context.instance, module, "run", 0, results));
        assert_int_equal(results[0].of.i32, 1);
        assert_int_equal(tw_instance_pool_idle(context.pool), 0);
    }
    tw_instance_pool_give(context.pool, context.instance);
    assert_int_equal(tw_instance_pool_idle(context.pool), 1);
    tw_instance_pool_free(context.pool);
    tw_module_free(module);
}

static void a_pool_may_go_before_what_was_taken_from_it(void **state)
{
    (void)state;
    use_handlers();
    tw_module *module = module_of(counter_text);
    tw_instance_pool *pool = pool_of(module, NULL);
    tw_instance *instance = take(pool), *idle = take(pool);
    tw_instance_pool_give(pool, idle);
    tw_instance_pool_free(pool);
    tw_module_free(module);
    tw_val result;
    OK(tw_instance_call(instance, "n", NULL, 0, &result, 1, &error));
    assert_int_equal(result.of.i32, 6);
    tw_instance_free(instance);
}

static void a_buffer_is_of_one_instance_and_freed_once(void **state)
{
    (void)state;
    use_handlers();
    tw_module *module = module_of(counter_text);
    tw_instance_pool *pool = pool_of(module, NULL);
    tw_instance *a = take(pool), *b = take(pool);
    tw_devices *devices;
    tw_buffer *buffer, *back = NULL;
    OK(tw_devices_open(NULL, &devices, &error));
    OK(tw_buffer_new(devices, NULL, 1000, &buffer, &error));
    tw_devices_close(devices);
    OK(tw_instance_attach_buffer(a, "one", buffer, &error));
    assert_int_equal(tw_instance_attach_buffer(a, "two", buffer, &error), TW_INVALID_ARGUMENT);
    assert_int_equal(tw_instance_attach_buffer(b, "one", buffer, &error), TW_INVALID_ARGUMENT);
    assert_non_null(strstr(error.message, "another instance"));
    tw_buffer_free(buffer);
    memset(tw_buffer_host(buffer), 7, 1000); /* still there */
    OK(tw_instance_detach_buffer(a, "one", &back, &error));
    OK(tw_instance_attach_buffer(b, "one", back, &error));
    tw_instance_pool_give(pool, b); /* frees it */
    tw_instance_free(a);
    b = take(pool);
    assert_int_equal(tw_instance_buffer_count(b), 0);
    tw_instance_free(b);
    tw_instance_pool_free(pool);
    tw_module_free(module);
}

static void wrong_arguments_are_said(void **state)
{
    (void)state;
    use_handlers();
    tw_module *module = module_of(counter_text);
    tw_instance_pool *pool;
    tw_instance *instance;
    tw_instance_pool_options options = {.size = 0};
    assert_int_equal(tw_instance_pool_new(NULL, NULL, NULL, &pool, &error), TW_INVALID_ARGUMENT);
    assert_int_equal(tw_instance_pool_new(module, NULL, &options, &pool, &error), TW_INVALID_ARGUMENT);
    assert_int_equal(tw_instance_pool_new(module, NULL, NULL, NULL, &error), TW_INVALID_ARGUMENT);
    assert_int_equal(tw_instance_pool_take(NULL, &instance, &error), TW_INVALID_ARGUMENT);
    OK(tw_instance_pool_new(module, NULL, NULL, &pool, &error));
    assert_int_equal(tw_instance_pool_take(pool, NULL, &error), TW_INVALID_ARGUMENT);
    tw_instance_pool_give(pool, NULL);
    tw_instance_pool_give(NULL, NULL);
    assert_int_equal(tw_instance_pool_idle(NULL), 0);
    tw_instance_pool_free(pool);
    tw_instance_pool_free(NULL);
    tw_module_free(module);
}

/* ---- guests ---- */

/* What ends by itself isn't to be ended first on a machine that is busy. */
static uint64_t limit_for(tw_status status) { return (status == TW_TIMEOUT ? 20 : 60000) * MILLISECOND; }

static void a_start_function_that_fails_is_the_takers_error(void **state)
{
    (void)state;
    use_handlers();
    static const struct { const char *start; tw_status status; } starts[] = {
        {"(func $s unreachable)", TW_TRAP},
        {"(func $s (call $s) (call $s))", TW_TRAP},
        {"(func $s (loop $l (br $l)))", TW_TIMEOUT},
        {"(func $s (drop (i32.load (i32.const 65533))))", TW_TRAP},
        {"(func $s (loop $l (memory.fill (i32.const 0) (i32.const 1) (i32.const 65536)) (br $l)))", TW_TIMEOUT},
    };
    for (size_t s = 0; s < sizeof starts / sizeof *starts; s++) {
        char text[400];
        snprintf(text, sizeof text, "(module (memory (export \"memory\") 1) %s (start $s))", starts[s].start);
        tw_module *module = module_of(text);
        tw_spawn_options options = usual();
        options.timeout_ns = limit_for(starts[s].status);
        tw_instance_pool *pool = pool_of(module, &options);
        uint64_t before = tw_budget_used(TW_BUDGET_COMMITTED);
        for (int i = 0; i < 4; i++) {
            tw_instance *instance = NULL;
            assert_int_equal(tw_instance_pool_take(pool, &instance, &error), starts[s].status);
            assert_int_equal(error.status, starts[s].status);
            assert_null(instance);
        }
        assert_int_equal(tw_budget_used(TW_BUDGET_COMMITTED), before);
        tw_instance_pool_free(pool);
        tw_module_free(module);
    }
}

static tw_status fail_when_told(void *context, tw_host_call *in, const tw_val *args, tw_val *results, tw_error *why)
{
    (void)in, (void)args, (void)results;
    if (!*(bool *)context) return TW_OK;
    why->status = TW_NOT_FOUND;
    snprintf(why->message, sizeof why->message, "not today");
    return TW_NOT_FOUND;
}

/* The instance was fine when it was given back; its start function isn't when it is taken. */
static void a_start_function_that_fails_later_costs_only_that_take(void **state)
{
    (void)state;
    use_handlers();
    bool fails = false;
    tw_module *module = module_of("(module (import \"h\" \"f\" (func $f)) (memory (export \"memory\") 1) (func $s (call $f)) (start $s))");
    tw_import_func import = {"h", "f", NULL, 0, NULL, 0, fail_when_told, &fails};
    tw_spawn_options options = usual();
    options.imports = &import, options.import_count = 1;
    tw_instance_pool *pool = pool_of(module, &options);
    for (int i = 0; i < 3; i++) {
        tw_instance *instance = take(pool);
        tw_instance_pool_give(pool, instance);
        assert_int_equal(tw_instance_pool_idle(pool), 1);
        fails = true;
        assert_int_equal(tw_instance_pool_take(pool, &instance, &error), TW_NOT_FOUND);
        assert_string_equal(error.message, "not today");
        assert_int_equal(tw_instance_pool_idle(pool), 0);
        fails = false;
    }
    tw_instance_pool_free(pool);
    tw_module_free(module);
}

static void guests_that_end_badly_are_not_used_again(void **state)
{
    (void)state;
    use_handlers();
    static const struct { const char *name; tw_status status; } ends[] = {
        {"deep", TW_TRAP}, {"spin", TW_TIMEOUT}, {"fill", TW_TIMEOUT}, {"beyond", TW_TRAP}};
    tw_module *module = module_of(counter_text);
    tw_spawn_options options = usual();
    options.timeout_ns = 400 * MILLISECOND; /* of the short calls, too, which must be over by then */
    tw_instance_pool *pool = pool_of(module, &options);
    for (int i = 0; i < 8; i++) {
        tw_val results[4];
        tw_instance *instance = take(pool);
        assert_int_equal(number(instance, module), 6);
        assert_int_equal(call(instance, module, ends[i % 4].name, 0, results), ends[i % 4].status);
        assert_int_equal(number(instance, module), 7); /* its owner may go on with it */
        tw_instance_pool_give(pool, instance);
        assert_int_equal(tw_instance_pool_idle(pool), 0);
    }
    tw_instance_pool_free(pool);
    tw_module_free(module);
}

static void a_guest_grown_to_its_limit_is_small_again(void **state)
{
    (void)state;
    use_handlers();
    tw_module *module = module_of(counter_text);
    tw_instance_pool *pool = pool_of(module, NULL);
    for (int i = 0; i < 30; i++) {
        tw_val results[4];
        tw_instance *instance = take(pool);
        uint64_t one = tw_budget_used(TW_BUDGET_COMMITTED);
        OK(call(instance, module, "grow", 0, results));
        assert_int_equal(results[0].of.i32, 1);
        assert_int_equal(call(instance, module, "beyond", 0, results), TW_TRAP);
        assert_non_null(strstr(error.message, "out of bounds"));
        tw_instance_free(instance);
        instance = take(pool);
        OK(call(instance, module, "grow", 19, results));
        assert_int_equal(results[0].of.i32, 1);
        OK(call(instance, module, "grow", 1, results));
        assert_int_equal(results[0].of.i32, -1);
        assert_int_equal(tw_budget_used(TW_BUDGET_COMMITTED), one + 19 * 65536);
        tw_instance_pool_give(pool, instance);
        assert_int_equal(tw_instance_pool_idle(pool), 1);
        assert_int_equal(tw_budget_used(TW_BUDGET_COMMITTED), one);
    }
    tw_instance_pool_free(pool);
    tw_module_free(module);
}

/* ---- restores ---- */

static tw_snapshot *snapshot_of(tw_instance *instance)
{
    tw_snapshot *snapshot;
    tw_snapshot_class why;
    file f = capture(instance, writer);
    OK(tw_snapshot_restore(reader, f.bytes, f.size, &snapshot, &why, &error));
    free(f.bytes);
    return snapshot;
}

static void an_after_restore_that_fails_leaves_nothing(void **state)
{
    (void)state;
    use_handlers();
    static const struct { const char *body; tw_status status; } afters[] = {
        {"unreachable", TW_TRAP}, {"(call $a) (call $a)", TW_TRAP}, {"(loop $l (br $l))", TW_TIMEOUT},
        {"(drop (memory.grow (i32.const 70000))) (drop (i32.load (i32.const 65536)))", TW_TRAP}};
    for (size_t a = 0; a < sizeof afters / sizeof *afters; a++) {
        char text[400];
        snprintf(text, sizeof text, "(module (memory (export \"memory\") 1) (func $a (export \"tw_after_restore\") %s))", afters[a].body);
        tw_module *module = module_of(text);
        tw_spawn_options options = usual();
        tw_instance *original = spawn(module, NULL), *copy = NULL;
        tw_snapshot *snapshot = snapshot_of(original);
        uint64_t before = tw_budget_used(TW_BUDGET_COMMITTED);
        options.timeout_ns = limit_for(afters[a].status);
        for (int i = 0; i < 4; i++) {
            assert_int_equal(tw_instance_restore(module, snapshot, &options, &copy, &error), afters[a].status);
            assert_null(copy);
            assert_int_equal(tw_budget_used(TW_BUDGET_COMMITTED), before);
        }
        tw_snapshot_free(snapshot);
        tw_instance_free(original);
        tw_module_free(module);
    }
}

/* Each budget in turn has no room for a restore: which one is said, nothing is taken, and with room it goes through. */
static void a_restore_over_a_quota_is_refused_by_name(void **state)
{
    (void)state;
    use_handlers();
    static const struct { tw_budget budget; const char *words; } quotas[] = {
        {TW_BUDGET_ADDRESSES, "address space"}, {TW_BUDGET_MAPPINGS, "mappings"}, {TW_BUDGET_COMMITTED, "bytes"}};
    tw_module *module = module_of(counter_text);
    tw_instance *original = spawn(module, NULL), *copy = NULL;
    tw_val results[4];
    OK(call(original, module, "grow", 9, results));
    tw_snapshot *snapshot = snapshot_of(original);
    tw_spawn_options options = usual();
    tw_slot_trim(); /* a slot that waits has its addresses and mappings */
    for (size_t q = 0; q < sizeof quotas / sizeof *quotas; q++) {
        uint64_t before[TW_BUDGETS];
        for (int b = 0; b < TW_BUDGETS; b++) before[b] = tw_budget_used((tw_budget)b);
        for (uint64_t room = 0; room < 3; room++) { /* none, and too little: for growth, too */
            tw_budget_limit(quotas[q].budget, before[quotas[q].budget] + room * (quotas[q].budget == TW_BUDGET_COMMITTED ? 65536 : 1));
            assert_int_equal(tw_instance_restore(module, snapshot, &options, &copy, &error), TW_LIMIT);
            tw_budget_limit(quotas[q].budget, 0);
            if (!strstr(error.message, quotas[q].words)) fail_msg("%s: %s", quotas[q].words, error.message);
            assert_null(copy);
            tw_slot_trim();
            for (int b = 0; b < TW_BUDGETS; b++) assert_int_equal(tw_budget_used((tw_budget)b), before[b]);
        }
    }
    assert_int_equal(number(original, module), 6);
    OK(tw_instance_restore(module, snapshot, &options, &copy, &error));
    assert_int_equal(number(copy, module), 6);
    tw_instance_free(copy);
    tw_snapshot_free(snapshot);
    tw_instance_free(original);
    tw_module_free(module);
}

static void a_take_over_a_quota_is_refused_and_works_later(void **state)
{
    (void)state;
    use_handlers();
    tw_module *module = module_of(counter_text);
    tw_instance_pool *pool = pool_of(module, NULL);
    tw_instance *first = take(pool), *second = NULL;
    for (int b = 0; b < TW_BUDGETS; b++) {
        tw_slot_trim();
        tw_budget_limit((tw_budget)b, tw_budget_used((tw_budget)b));
        assert_int_equal(tw_instance_pool_take(pool, &second, &error), TW_LIMIT);
        assert_null(second);
        tw_budget_limit((tw_budget)b, 0);
    }
    assert_int_equal(number(first, module), 6);
    tw_instance_pool_give(pool, first);
    tw_budget_limit(TW_BUDGET_COMMITTED, tw_budget_used(TW_BUDGET_COMMITTED));
    for (int i = 0; i < 1000; i++) { /* what is there already goes round */
        first = take(pool);
        assert_int_equal(number(first, module), 6);
        tw_instance_pool_give(pool, first);
    }
    tw_budget_limit(TW_BUDGET_COMMITTED, 0);
    tw_instance_pool_free(pool);
    tw_module_free(module);
}

/* ---- many ---- */

static void small_pools_go_round_thousands_of_times(void **state)
{
    (void)state;
    use_handlers();
    tw_module *module = module_of(counter_text);
    for (uint32_t idle = 0; idle < 2; idle++) {
        tw_spawn_options spawn_options = usual();
        tw_instance_pool_options options = TW_INSTANCE_POOL_OPTIONS_INIT;
        tw_instance_pool *pool;
        options.max_idle = idle;
        OK(tw_instance_pool_new(module, &spawn_options, &options, &pool, &error));
        for (int i = 0; i < 3000; i++) {
            tw_instance *a = take(pool), *b = i % 10 ? NULL : take(pool);
            if (number(a, module) != 6) fail_msg("round %d isn't fresh", i);
            tw_instance_pool_give(pool, a);
            if (b) tw_instance_pool_give(pool, b);
            assert_int_equal(tw_instance_pool_idle(pool), idle);
        }
        tw_instance_pool_free(pool);
    }
    tw_module_free(module);
}

static void a_thousand_pools_live_side_by_side(void **state)
{
    (void)state;
    use_handlers();
    enum { POOLS = 1000 };
    static tw_instance_pool *pools[POOLS];
    tw_module *module = module_of(counter_text);
    uint64_t before = tw_budget_used(TW_BUDGET_COMMITTED);
    for (uint64_t i = 0; i < POOLS; i++) {
        tw_spawn_options options = usual();
        options.tenant = i % 50;
        pools[i] = pool_of(module, &options);
        tw_instance *instance = take(pools[i]);
        assert_int_equal(number(instance, module), 6);
        tw_instance_pool_give(pools[i], instance);
    }
    for (int i = 0; i < POOLS; i++) {
        assert_int_equal(tw_instance_pool_idle(pools[i]), 1);
        tw_instance *instance = take(pools[i]);
        assert_int_equal(number(instance, module), 6);
        tw_instance_free(instance);
        tw_instance_pool_free(pools[i]);
    }
    tw_module_free(module);
    assert_int_equal(tw_budget_used(TW_BUDGET_COMMITTED), before);
}

typedef struct crowd {
    tw_instance_pool *pool;
    pthread_mutex_t lock;
    tw_instance *shown; /* by its owner, for others to end; NULL while there is none */
    atomic_bool over;
    atomic_int wrong;
} crowd;

static void show(crowd *c, tw_instance *instance)
{
    pthread_mutex_lock(&c->lock);
    c->shown = instance;
    pthread_mutex_unlock(&c->lock);
}

static void *end_who_is_shown(void *context)
{
    crowd *c = context;
    while (!atomic_load(&c->over)) {
        pthread_mutex_lock(&c->lock);
        if (c->shown) tw_instance_terminate(c->shown, NULL);
        pthread_mutex_unlock(&c->lock);
        usleep(300);
    }
    return NULL;
}

/* One thread uses a pool, another ends its instances at any moment: what is taken is always fresh and alive. */
static void terminations_never_reach_who_comes_next(void **state)
{
    (void)state;
    use_handlers();
    tw_module *module = module_of(counter_text);
    crowd c = {.pool = pool_of(module, NULL), .lock = PTHREAD_MUTEX_INITIALIZER};
    pthread_t thread;
    int ended = 0;
    pthread_create(&thread, NULL, end_who_is_shown, &c);
    for (int i = 0; i < 3000 || !ended; i++) {
        tw_instance *instance = take(c.pool);
        tw_val result;
        if (number(instance, module) != 6) fail_msg("not fresh");
        show(&c, instance);
        for (int j = 0; j < i % 30 * 20; j++) tw_instance_call(instance, "n", NULL, 0, &result, 1, NULL);
        ended += tw_instance_call(instance, "n", NULL, 0, &result, 1, NULL) == TW_TERMINATED;
        show(&c, NULL);
        tw_instance_pool_give(c.pool, instance);
    }
    atomic_store(&c.over, true);
    pthread_join(thread, NULL);
    tw_instance_pool_free(c.pool);
    tw_module_free(module);
}

/* ---- WASI ---- */

static int open_files(void)
{
    DIR *dir = opendir("/proc/self/fd");
    int count = 0;
    while (readdir(dir)) count++;
    closedir(dir);
    return count;
}

static size_t size_of(const char *path)
{
    FILE *in = fopen(path, "r");
    assert_non_null(in);
    fseek(in, 0, SEEK_END);
    size_t size = (size_t)ftell(in);
    fclose(in);
    return size;
}

/* What a guest wrote can be read when its instance has been given back; the next one begins the file anew, as a spawn does. */
static void output_outlives_its_instance(void **state)
{
    (void)state;
    use_handlers();
    char folder[] = "/tmp/tw-misuse-XXXXXX", path[64];
    assert_non_null(mkdtemp(folder));
    snprintf(path, sizeof path, "%s/out", folder);
    tw_wasi_dir dir = {folder, "d"};
    tw_wasi_options wasi = TW_WASI_OPTIONS_INIT;
    wasi.stdout_path = path;
    wasi.dirs = &dir, wasi.dir_count = 1;
    tw_spawn_options options = usual();
    options.wasi = &wasi;
    tw_module *module = module_of(
        "(module (import " WASI " \"fd_write\" (func $write (param i32 i32 i32 i32) (result i32)))"
        "(import " WASI " \"path_open\" (func $open (param i32 i32 i32 i32 i32 i64 i64 i32 i32) (result i32)))"
        "(memory (export \"memory\") 1) (data (i32.const 8) \"hello\") (data (i32.const 16) \"\\08\\00\\00\\00\\05\\00\\00\\00\")"
        "(func (export \"say\") (result i32) (call $write (i32.const 1) (i32.const 16) (i32.const 1) (i32.const 24)))"
        "(func (export \"open\") (result i32) (call $open (i32.const 3) (i32.const 0) (i32.const 8) (i32.const 5) (i32.const 1)"
        " (i64.const 64) (i64.const 0) (i32.const 0) (i32.const 32))))");
    tw_instance_pool *pool = pool_of(module, &options);
    int files = 0;
    for (int i = 0; i < 20; i++) {
        tw_val results[4];
        tw_instance *instance = take(pool);
        assert_int_equal(size_of(path), 0);
        for (int j = 0; j < 3; j++) {
            OK(call(instance, module, "say", 0, results));
            assert_int_equal(results[0].of.i32, 0);
            OK(call(instance, module, "open", 0, results));
            assert_int_equal(results[0].of.i32, 0);
        }
        tw_instance_pool_give(pool, instance);
        assert_int_equal(tw_instance_pool_idle(pool), 1);
        assert_int_equal(size_of(path), 15);
        if (i == 3) files = open_files();
        if (i > 3) assert_int_equal(open_files(), files); /* what guests leave open is closed */
    }
    char hello[64];
    snprintf(hello, sizeof hello, "%s/hello", folder);
    unlink(hello), unlink(path), rmdir(folder);
    tw_instance *instance;
    assert_int_equal(tw_instance_pool_take(pool, &instance, &error), TW_IO); /* the folder is gone: as a spawn says */
    assert_non_null(strstr(error.message, folder));
    tw_instance_pool_free(pool);
    tw_module_free(module);
}

static int set_up(void **state)
{
    (void)state;
    return engine_begins(TW_OFFLOAD_FORCE, false) || tw_snapshot_writer_new(NULL, &writer, &error) ||
           tw_snapshot_reader_new(NULL, &reader, &error);
}

static int tear_down(void **state)
{
    (void)state;
    tw_snapshot_writer_free(writer);
    tw_snapshot_reader_free(reader);
    engine_ends();
    return 0;
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(what_was_given_back_is_not_the_callers),
        cmocka_unit_test(a_pool_in_a_freed_ones_place_is_another),
        cmocka_unit_test(a_host_function_can_not_free_who_called_it),
        cmocka_unit_test(a_pool_may_go_before_what_was_taken_from_it),
        cmocka_unit_test(a_buffer_is_of_one_instance_and_freed_once),
        cmocka_unit_test(wrong_arguments_are_said),
        cmocka_unit_test(a_start_function_that_fails_is_the_takers_error),
        cmocka_unit_test(a_start_function_that_fails_later_costs_only_that_take),
        cmocka_unit_test(guests_that_end_badly_are_not_used_again),
        cmocka_unit_test(a_guest_grown_to_its_limit_is_small_again),
        cmocka_unit_test(an_after_restore_that_fails_leaves_nothing),
        cmocka_unit_test(a_restore_over_a_quota_is_refused_by_name),
        cmocka_unit_test(a_take_over_a_quota_is_refused_and_works_later),
        cmocka_unit_test(small_pools_go_round_thousands_of_times),
        cmocka_unit_test(a_thousand_pools_live_side_by_side),
        cmocka_unit_test(terminations_never_reach_who_comes_next),
        cmocka_unit_test(output_outlives_its_instance),
    };
    return cmocka_run_group_tests(tests, set_up, tear_down);
}
