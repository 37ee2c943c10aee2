/* SPDX-License-Identifier: Apache-2.0 */
/* Instances that begin with a mapped image go on exactly as the original does. What becomes of the file afterwards doesn't matter
 * when it was verified; when it was taken on trust and becomes shorter, it ends that guest's call and nothing else. */
#include <fcntl.h>
#include <pthread.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cmocka.h>

#include "../../handlers.h"
#include "everything.h"
#include "memory/budget.h"
#include "memory/slot.h"
#include "tensorwasm/snapshot.h"

enum { BLOCK = 65536 };
static tw_engine *engine;
static tw_kernel_cache *cache;
static char folder[] = "/tmp/tw-images-XXXXXX", path[64];
static tw_error error;

#define OK(expression)                                                                             \
    do {                                                                                           \
        if ((expression) != TW_OK) fail_msg("%s: %s", #expression, error.message);                 \
    } while (0)

static tw_module *module_of(const char *text)
{
    tw_module *module;
    OK(tw_module_new(engine, (const uint8_t *)text, strlen(text), &module, &error));
    return module;
}

static tw_spawn_options usual(void)
{
    tw_spawn_options options = TW_SPAWN_OPTIONS_INIT;
    options.capturable = true;
    options.kernel_cache = cache;
    return options;
}

static tw_instance *spawn(tw_module *module)
{
    tw_spawn_options options = usual();
    tw_instance *instance;
    OK(tw_instance_spawn(module, &options, &instance, &error));
    return instance;
}

/* What differs from `base` where that isn't NULL. */
static void save_on(const tw_snapshot *base, tw_instance *instance, const char *to)
{
    tw_snapshot_writer_options options = TW_SNAPSHOT_WRITER_OPTIONS_INIT;
    tw_capture_options capture = TW_CAPTURE_OPTIONS_INIT;
    tw_snapshot_writer *writer;
    options.format = TW_SNAPSHOT_IMAGE;
    options.base = base;
    capture.has_created = true;
    OK(tw_snapshot_writer_new(&options, &writer, &error));
    OK(tw_instance_save(instance, writer, &capture, to, &error));
    tw_snapshot_writer_free(writer);
}

static void save(tw_instance *instance) { save_on(NULL, instance, path); }

static tw_snapshot *open_on(const tw_snapshot *base, tw_snapshot_verify verify, const char *from)
{
    tw_snapshot_reader_options options = TW_SNAPSHOT_READER_OPTIONS_INIT;
    tw_snapshot_reader *reader;
    tw_snapshot *snapshot;
    options.verify = verify;
    options.base = base;
    OK(tw_snapshot_reader_new(&options, &reader, &error));
    OK(tw_snapshot_open(reader, from, &snapshot, NULL, &error));
    tw_snapshot_reader_free(reader);
    return snapshot;
}

static tw_snapshot *open_as(tw_snapshot_verify verify) { return open_on(NULL, verify, path); }

static tw_instance *restore(tw_module *module, tw_snapshot *snapshot)
{
    tw_spawn_options options = usual();
    tw_instance *instance;
    OK(tw_instance_restore(module, snapshot, &options, &instance, &error));
    return instance;
}

static tw_status call(tw_instance *instance, tw_module *module, const char *name, int32_t argument, tw_val results[4])
{
    const tw_val_kind *params, *kinds;
    size_t param_count, result_count;
    tw_val arg = {TW_VAL_I32, {.i32 = argument}};
    OK(tw_module_func_type(module, name, &params, &param_count, &kinds, &result_count, &error));
    memset(results, 0, 4 * sizeof *results);
    return tw_instance_call(instance, name, &arg, param_count, results, result_count, &error);
}

static uint32_t next(uint32_t *seed) { return *seed = *seed * 1664525 + 1013904223; }

/* The same calls on both; each may change anything. */
static void run_on(tw_module *module, tw_instance *a, tw_instance *b, int calls, uint32_t seed)
{
    for (int i = 0; i < calls; i++) {
        tw_val x[4], y[4];
        const char *name = all_names[(next(&seed) >> 8) % ALL];
        int32_t argument = (int32_t)(next(&seed) >> 12 & 63);
        assert_int_equal(call(a, module, name, argument, x), call(b, module, name, argument, y));
        assert_memory_equal(x, y, sizeof x);
    }
}

static void same_captures(tw_instance *a, tw_instance *b)
{
    tw_snapshot_writer *writer;
    tw_capture_options capture = TW_CAPTURE_OPTIONS_INIT;
    uint8_t *x, *y;
    size_t size, other;
    capture.has_created = true;
    OK(tw_snapshot_writer_new(NULL, &writer, &error));
    OK(tw_instance_capture(a, writer, &capture, &x, &size, &error));
    OK(tw_instance_capture(b, writer, &capture, &y, &other, &error));
    assert_int_equal(size, other);
    assert_memory_equal(x, y, size);
    free(x);
    free(y);
    tw_snapshot_writer_free(writer);
}

static const tw_snapshot_verify ways[] = {TW_SNAPSHOT_VERIFY_FULL, TW_SNAPSHOT_VERIFY_TRUSTED};

static void a_mapped_instance_goes_on_as_the_original(void **state)
{
    (void)state;
    use_handlers();
    tw_module *module = module_of(all_text);
    for (uint32_t seed = 1; seed <= 30; seed++) {
        tw_instance *original = spawn(module), *copies[2];
        for (uint32_t i = 0, s = seed; i < seed * 2; i++) {
            tw_val results[4];
            const char *name = all_names[(next(&s) >> 8) % ALL];
            call(original, module, name, (int32_t)(next(&s) >> 12 & 63), results);
        }
        save(original);
        for (int w = 0; w < 2; w++) {
            tw_snapshot *snapshot = open_as(ways[w]);
            copies[w] = restore(module, snapshot);
            tw_snapshot_free(snapshot); /* the instance needs it no more */
        }
        same_captures(original, copies[0]);
        same_captures(original, copies[1]);
        tw_instance *again = spawn(module);
        tw_instance_free(again);
        run_on(module, copies[0], copies[1], 200, seed * 77);
        same_captures(copies[0], copies[1]);
        tw_snapshot *untouched = open_as(TW_SNAPSHOT_VERIFY_FULL); /* what they wrote was their own */
        tw_instance *late = restore(module, untouched);
        same_captures(original, late);
        tw_snapshot_free(untouched);
        tw_instance_free(late);
        tw_instance_free(original);
        tw_instance_free(copies[0]);
        tw_instance_free(copies[1]);
    }
    tw_module_free(module);
}

/* ---- what becomes of the file ---- */

static const char *const large_text =
    "(module (memory (export \"memory\") 64 100)"
    "(func (export \"put\") (param i32) (i32.store (i32.shl (local.get 0) (i32.const 16)) (i32.add (local.get 0) (i32.const 1000))))"
    "(func (export \"get\") (param i32) (result i32) (i32.load (i32.shl (local.get 0) (i32.const 16))))"
    "(func (export \"copy\") (param i32) (memory.copy (i32.const 0) (i32.shl (local.get 0) (i32.const 16)) (i32.const 5000)))"
    "(func (export \"grow\") (param i32) (result i32) (memory.grow (local.get 0)))"
    "(func (export \"sum\") (param i32) (result i32) (local $i i32) (local $s i32) (loop $l"
    " (local.set $s (i32.add (local.get $s) (i32.load (i32.shl (local.get $i) (i32.const 2)))))"
    " (br_if $l (i32.lt_u (local.tee $i (i32.add (local.get $i) (i32.const 1))) (i32.const 1048576)))) (local.get $s))"
    "(func (export \"tw_after_restore\") (i32.store offset=4 (i32.const 0) (i32.const 7))))";

static tw_instance *filled(tw_module *module)
{
    tw_val results[4];
    tw_instance *instance = spawn(module);
    for (int32_t i = 0; i < 64; i++) OK(call(instance, module, "put", i, results));
    return instance;
}

static int32_t get(tw_instance *instance, tw_module *module, int32_t block)
{
    tw_val results[4];
    OK(call(instance, module, "get", block, results));
    return results[0].of.i32;
}

static void overwrite_pages(void)
{
    FILE *file = fopen(path, "r+b");
    assert_non_null(file);
    fseek(file, BLOCK, SEEK_SET);
    for (int i = 0; i < 64 * BLOCK; i++) fputc(0xAA, file);
    fclose(file);
}

static void a_verified_file_may_be_changed_or_cut(void **state)
{
    (void)state;
    use_handlers();
    tw_module *module = module_of(large_text);
    tw_instance *original = filled(module);
    for (int cut = 0; cut < 2; cut++) {
        save(original);
        tw_snapshot *snapshot = open_as(TW_SNAPSHOT_VERIFY_FULL);
        tw_instance *early = restore(module, snapshot);
        assert_int_equal(get(early, module, 3), 1003);
        if (cut) assert_int_equal(truncate(path, 100), 0);
        else overwrite_pages();
        tw_instance *late = restore(module, snapshot);
        for (int32_t i = 0; i < 64; i++) {
            assert_int_equal(get(early, module, i), 1000 + i);
            assert_int_equal(get(late, module, i), 1000 + i);
        }
        tw_snapshot_free(snapshot);
        tw_instance_free(early);
        tw_instance_free(late);
    }
    tw_instance_free(original);
    tw_module_free(module);
}

static void a_trusted_file_that_is_cut_ends_the_call_and_not_the_process(void **state)
{
    (void)state;
    use_handlers();
    static const char *const names[] = {"get", "copy", "sum"};
    tw_module *module = module_of(large_text);
    tw_instance *original = filled(module);
    for (size_t i = 0; i < 3; i++) {
        tw_val results[4];
        save(original);
        tw_snapshot *snapshot = open_as(TW_SNAPSHOT_VERIFY_TRUSTED);
        tw_instance *guest = restore(module, snapshot), *other = restore(module, snapshot);
        assert_int_equal(get(guest, module, 1), 1001);
        OK(call(guest, module, "put", 50, results)); /* its own page now; but Linux takes such pages away, too */
        assert_int_equal(truncate(path, 100), 0);
        assert_int_equal(call(guest, module, names[i], 50, results), TW_IO);
        assert_non_null(strstr(error.message, "mapped from"));
        /* nothing is made of what is left: no capture, no call that seems well */
        tw_snapshot_writer *writer;
        uint8_t *bytes;
        size_t size;
        OK(tw_snapshot_writer_new(NULL, &writer, &error));
        assert_int_equal(tw_instance_capture(guest, writer, NULL, &bytes, &size, &error), TW_IO);
        assert_int_equal(tw_instance_capture(other, writer, NULL, &bytes, &size, &error), TW_IO); /* seen only while it is written */
        tw_snapshot_writer_free(writer);
        assert_int_equal(get(original, module, 50), 1050);
        tw_instance_free(guest);
        tw_instance_free(other);
        tw_snapshot_free(snapshot);
        tw_instance *fresh = spawn(module); /* not in their slots */
        assert_int_equal(get(fresh, module, 50), 0);
        tw_instance_free(fresh);
    }
    tw_instance_free(original);
    tw_module_free(module);
}

static void a_mapped_memory_grows(void **state)
{
    (void)state;
    use_handlers();
    tw_module *module = module_of(large_text);
    tw_instance *original = filled(module);
    for (int w = 0; w < 2; w++) {
        tw_val results[4];
        save(original);
        tw_snapshot *snapshot = open_as(ways[w]);
        tw_instance *guest = restore(module, snapshot);
        OK(call(guest, module, "grow", 30, results));
        assert_int_equal(results[0].of.i32, 64);
        assert_int_equal(get(guest, module, 80), 0);
        assert_int_equal(get(guest, module, 63), 1063);
        save(guest);
        tw_snapshot *larger = open_as(ways[w]); /* it begins with more than the module's minimum */
        tw_instance *next_guest = restore(module, larger);
        OK(call(next_guest, module, "grow", 6, results));
        assert_int_equal(results[0].of.i32, 94);
        OK(call(next_guest, module, "grow", 1, results));
        assert_int_equal(results[0].of.i32, -1);
        tw_snapshot_free(snapshot);
        tw_snapshot_free(larger);
        tw_instance_free(guest);
        tw_instance_free(next_guest);
    }
    tw_instance_free(original);
    tw_module_free(module);
}

static void kernels_run_on_mapped_pages(void **state)
{
    (void)state;
    use_handlers();
    tw_module *module = module_of(large_text);
    tw_instance *original = filled(module);
    save(original);
    for (int w = 0; w < 2; w++) {
        tw_val wanted[4], results[4];
        tw_snapshot *snapshot = open_as(ways[w]);
        tw_instance *guest = restore(module, snapshot);
        OK(call(original, module, "sum", 0, wanted));
        for (int i = 0; i < 3; i++) {
            OK(call(guest, module, "sum", 0, results));
            assert_int_equal(results[0].of.i32, wanted[0].of.i32 + 7); /* tw_after_restore put it there */
        }
        tw_snapshot_free(snapshot);
        tw_instance_free(guest);
    }
    tw_instance_free(original);
    tw_module_free(module);
}

static void what_was_only_verified_is_not_restored(void **state)
{
    (void)state;
    use_handlers();
    tw_module *module = module_of(large_text);
    tw_instance *original = filled(module), *copy;
    tw_instance_pool_options pooling = TW_INSTANCE_POOL_OPTIONS_INIT;
    tw_instance_pool *pool;
    tw_spawn_options options = usual();
    save(original);
    tw_snapshot *snapshot = open_as(TW_SNAPSHOT_VERIFY_ONLY);
    assert_int_equal(tw_instance_restore(module, snapshot, &options, &copy, &error), TW_INVALID_ARGUMENT);
    pooling.snapshot = snapshot;
    assert_int_equal(tw_instance_pool_new(module, &options, &pooling, &pool, &error), TW_INVALID_ARGUMENT);
    tw_snapshot_free(snapshot);
    tw_instance_free(original);
    tw_module_free(module);
}

/* ---- on a base ---- */

enum { LEVELS = 4 };
static char levels[LEVELS][80];

static void put_at(tw_instance *instance, int32_t block, int32_t value)
{
    uint8_t *memory;
    size_t size;
    OK(tw_instance_memory(instance, "memory", &memory, &size, &error));
    memcpy(memory + (size_t)block * BLOCK, &value, sizeof value);
}

/* Both ways of reading, a chain of them, and pools. */
static void an_instance_on_a_chain_goes_on_as_the_original(void **state)
{
    (void)state;
    use_handlers();
    tw_module *module = module_of(all_text);
    for (uint32_t seed = 1; seed <= 6; seed++) {
        uint32_t s = seed;
        tw_instance *original = spawn(module);
        tw_snapshot *chains[2][LEVELS];
        for (int level = 0; level < LEVELS; level++) {
            tw_val results[4];
            for (int i = 0; i < 15; i++) call(original, module, all_names[(next(&s) >> 8) % ALL], (int32_t)(next(&s) >> 12 & 63), results);
            save_on(level ? chains[0][level - 1] : NULL, original, levels[level]);
            for (int w = 0; w < 2; w++) {
                chains[w][level] = open_on(level ? chains[w][level - 1] : NULL, ways[w], levels[level]);
                assert_true(chains[w][level]->depth == (uint32_t)level);
                assert_true((chains[w][level]->wasm_memory.data == NULL) == (w == 1)); /* mapped in place: its owner sees no bytes */
            }
        }
        for (int w = 0; w < 2; w++) {
            tw_instance *copy = restore(module, chains[w][LEVELS - 1]), *twin = restore(module, chains[1 - w][LEVELS - 1]);
            same_captures(original, copy);
            run_on(module, copy, twin, 100, seed * 77);
            same_captures(copy, twin);
            tw_instance_free(copy);
            tw_instance_free(twin);
            tw_instance *late = restore(module, chains[w][LEVELS - 1]);
            same_captures(original, late);
            tw_instance_free(late);
        }
        for (int w = 0; w < 2; w++)
            for (int level = 0; level < LEVELS; level++) tw_snapshot_free(chains[w][level]);
        tw_instance_free(original);
    }
    tw_module_free(module);
}

/* A base with 1000 + i in block i, and above it 2050 in block 50. */
static void save_two(tw_module *module)
{
    tw_instance *original = filled(module);
    save_on(NULL, original, levels[0]);
    tw_snapshot *base = open_on(NULL, TW_SNAPSHOT_VERIFY_FULL, levels[0]);
    put_at(original, 50, 2050);
    save_on(base, original, levels[1]);
    tw_snapshot_free(base);
    tw_instance_free(original);
}

static tw_snapshot *open_two(tw_snapshot_verify verify)
{
    tw_snapshot *base = open_on(NULL, verify, levels[0]), *above = open_on(base, verify, levels[1]);
    tw_snapshot_free(base); /* what is mapped stays */
    return above;
}

static void either_file_that_is_cut_ends_the_calls_that_need_it(void **state)
{
    (void)state;
    use_handlers();
    tw_module *module = module_of(large_text);
    for (int cut = 0; cut < 2; cut++) {
        tw_val results[4];
        save_two(module);
        tw_snapshot *trusted = open_two(TW_SNAPSHOT_VERIFY_TRUSTED), *full = open_two(TW_SNAPSHOT_VERIFY_FULL);
        tw_instance *a = restore(module, trusted), *b = restore(module, trusted), *sealed = restore(module, full);
        assert_int_equal(get(a, module, 1), 1001);
        assert_int_equal(get(a, module, 50), 2050);
        assert_int_equal(truncate(levels[cut], 100), 0);
        assert_int_equal(get(b, module, cut ? 1 : 50), cut ? 1001 : 2050); /* the other file's */
        assert_int_equal(call(a, module, "get", cut ? 50 : 1, results), TW_IO);
        assert_non_null(strstr(error.message, "mapped from"));
        for (int32_t i = 1; i < 64; i++) assert_int_equal(get(sealed, module, i), i == 50 ? 2050 : 1000 + i);
        tw_instance_free(a);
        tw_instance_free(b);
        tw_instance *late = restore(module, full);
        assert_int_equal(get(late, module, 7), 1007);
        tw_instance_free(late);
        tw_instance_free(sealed);
        tw_snapshot_free(trusted);
        tw_snapshot_free(full);
        tw_instance *fresh = spawn(module); /* not in their slots */
        for (int32_t i = 0; i < 64; i++) assert_int_equal(get(fresh, module, i), 0);
        tw_instance_free(fresh);
    }
    tw_module_free(module);
}

/* Both files are held open from when they were read on: who puts others in their place, or takes them away, changes nothing. */
static void a_base_that_is_replaced_before_it_is_mapped_changes_nothing(void **state)
{
    (void)state;
    use_handlers();
    tw_module *module = module_of(large_text);
    save_two(module);
    tw_snapshot *trusted = open_two(TW_SNAPSHOT_VERIFY_TRUSTED);
    tw_instance *empty = spawn(module);
    save_on(NULL, empty, levels[0]); /* by rename */
    assert_int_equal(unlink(levels[1]), 0);
    tw_instance *guest = restore(module, trusted);
    for (int32_t i = 1; i < 64; i++) assert_int_equal(get(guest, module, i), i == 50 ? 2050 : 1000 + i);
    tw_instance_free(guest);
    tw_instance_free(empty);
    tw_snapshot_free(trusted);
    tw_module_free(module);
}

static void a_base_on_trust_is_no_base_for_what_is_verified(void **state)
{
    (void)state;
    use_handlers();
    tw_module *module = module_of(large_text);
    tw_snapshot_reader_options options = TW_SNAPSHOT_READER_OPTIONS_INIT;
    tw_snapshot_class why;
    tw_snapshot_reader *reader;
    tw_snapshot *out;
    save_two(module);
    tw_snapshot *base = open_on(NULL, TW_SNAPSHOT_VERIFY_TRUSTED, levels[0]), *other = open_two(TW_SNAPSHOT_VERIFY_TRUSTED);
    options.base = base;
    assert_int_equal(tw_snapshot_reader_new(&options, &reader, &error), TW_INVALID_ARGUMENT);
    options.verify = TW_SNAPSHOT_VERIFY_ONLY;
    assert_int_equal(tw_snapshot_reader_new(&options, &reader, &error), TW_INVALID_ARGUMENT);
    options.verify = TW_SNAPSHOT_VERIFY_TRUSTED;
    options.base = other; /* not what it stands on */
    OK(tw_snapshot_reader_new(&options, &reader, &error));
    assert_int_equal(tw_snapshot_open(reader, levels[1], &out, &why, &error), TW_NOT_FOUND);
    assert_int_equal(why, TW_SNAPSHOT_CLASS_BASE);
    tw_snapshot_reader_free(reader);
    tw_snapshot_free(base);
    tw_snapshot_free(other);
    tw_module_free(module);
}

typedef struct crowd {
    tw_module *module;
    const tw_snapshot *snapshot;
    int wrong;
} crowd;

static void *restore_often(void *context)
{
    crowd *c = context;
    for (int32_t round = 0; round < 40; round++) {
        tw_spawn_options options = usual();
        tw_instance *instance;
        tw_val arg = {TW_VAL_I32, {.i32 = round + 1}}, result = {0};
        if (tw_instance_restore(c->module, c->snapshot, &options, &instance, NULL)) return c->wrong++, NULL;
        c->wrong += tw_instance_call(instance, "get", &arg, 1, &result, 1, NULL) || result.of.i32 != 1001 + round;
        arg.of.i32 = 50;
        c->wrong += tw_instance_call(instance, "get", &arg, 1, &result, 1, NULL) || result.of.i32 != 2050;
        c->wrong += tw_instance_call(instance, "put", &arg, 1, NULL, 0, NULL) != TW_OK;
        tw_instance_free(instance);
    }
    return NULL;
}

static void many_at_once_have_it_each_for_itself(void **state)
{
    (void)state;
    enum { THREADS = 4 };
    use_handlers();
    pthread_t threads[THREADS];
    crowd crowds[THREADS];
    tw_module *module = module_of(large_text);
    save_two(module);
    for (int w = 0; w < 2; w++) {
        tw_snapshot *snapshot = open_two(ways[w]);
        for (int i = 0; i < THREADS; i++) {
            crowds[i] = (crowd){module, snapshot, 0};
            assert_int_equal(pthread_create(&threads[i], NULL, restore_often, &crowds[i]), 0);
        }
        for (int i = 0; i < THREADS; i++) {
            pthread_join(threads[i], NULL);
            assert_int_equal(crowds[i].wrong, 0);
        }
        tw_snapshot_free(snapshot);
    }
    tw_module_free(module);
}

/* Where a mapping is one too many for the process, the pages are read instead. */
static void without_mappings_left_it_is_copied(void **state)
{
    (void)state;
    use_handlers();
    tw_module *module = module_of(large_text);
    save_two(module);
    tw_snapshot *trusted = open_two(TW_SNAPSHOT_VERIFY_TRUSTED);
    tw_slot_trim();
    tw_budget_limit(TW_BUDGET_MAPPINGS, tw_budget_used(TW_BUDGET_MAPPINGS) + 4); /* the slot's, and not the image's */
    tw_instance *guest = restore(module, trusted);
    for (int32_t i = 1; i < 64; i++) assert_int_equal(get(guest, module, i), i == 50 ? 2050 : 1000 + i);
    tw_instance_pool *pool = NULL;
    tw_spawn_options options = usual();
    tw_instance_pool_options pooling = TW_INSTANCE_POOL_OPTIONS_INIT;
    tw_instance_free(guest);
    pooling.snapshot = trusted;
    OK(tw_instance_pool_new(module, &options, &pooling, &pool, &error));
    for (int i = 0; i < 3; i++) {
        OK(tw_instance_pool_take(pool, &guest, &error));
        assert_int_equal(get(guest, module, 50), 2050);
        assert_int_equal(get(guest, module, 3), 1003);
        put_at(guest, 3, 9);
        put_at(guest, 50, 9);
        tw_instance_pool_give(pool, guest);
    }
    tw_instance_pool_free(pool);
    tw_budget_limit(TW_BUDGET_MAPPINGS, 0);
    tw_snapshot_free(trusted);
    tw_module_free(module);
}

/* ---- memories of the host ---- */

static tw_status restore_on(tw_module *module, const tw_snapshot *snapshot, tw_memory *memory, tw_instance **out)
{
    tw_import_memory import = {"env", "m", memory};
    tw_spawn_options options = usual();
    options.memories = &import;
    options.memory_count = 1;
    return tw_instance_restore(module, snapshot, &options, out, &error);
}

/* They aren't mapped over: the host has them. What is there goes; what is taken on trust is read. */
static void a_memory_of_the_host_gets_a_copy(void **state)
{
    (void)state;
    use_handlers();
    tw_module *module = module_of("(module (memory (import \"env\" \"m\") 2 8)"
                                  "(func (export \"put\") (param i32) (i32.store (i32.const 70000) (local.get 0)))"
                                  "(func (export \"get\") (result i32) (i32.load (i32.const 70000))))");
    tw_memory_options options = TW_MEMORY_OPTIONS_INIT;
    tw_memory *first, *second;
    tw_instance *original, *copy;
    tw_val results[4];
    options.bytes = 2 * BLOCK;
    options.max_bytes = 8 * BLOCK;
    OK(tw_memory_new(engine, &options, &first, &error));
    OK(tw_memory_new(engine, &options, &second, &error));
    tw_import_memory import = {"env", "m", first};
    tw_spawn_options spawning = usual();
    spawning.memories = &import;
    spawning.memory_count = 1;
    OK(tw_instance_spawn(module, &spawning, &original, &error));
    OK(call(original, module, "put", 77, results));
    save(original);
    tw_snapshot *full = open_as(TW_SNAPSHOT_VERIFY_FULL), *trusted = open_as(TW_SNAPSHOT_VERIFY_TRUSTED);
    size_t size;
    uint8_t *bytes = tw_memory_data(second, &size);
    assert_int_equal(size, 2 * BLOCK);
    for (int t = 0; t < 2; t++) {
        memset(bytes, 0xEE, size);
        OK(restore_on(module, t ? trusted : full, second, &copy));
        OK(call(copy, module, "get", 0, results));
        assert_int_equal(results[0].of.i32, 77);
        assert_int_equal(bytes[5], 0);
        assert_int_equal(bytes[2 * BLOCK - 1], 0);
        assert_ptr_equal(tw_memory_data(second, &size), bytes);
        tw_instance_free(copy);
    }
    assert_int_equal(truncate(path, BLOCK), 0); /* read, so no fault: an error */
    assert_int_equal(restore_on(module, trusted, second, &copy), TW_IO);
    assert_non_null(strstr(error.message, "shorter"));
    tw_snapshot_free(full);
    tw_snapshot_free(trusted);
    tw_instance_free(original);
    tw_memory_free(first);
    tw_memory_free(second);
    tw_module_free(module);
}

/* ---- pools ---- */

static tw_instance_pool *pool_of(tw_module *module, const tw_snapshot *snapshot)
{
    tw_spawn_options options = usual();
    tw_instance_pool_options pooling = TW_INSTANCE_POOL_OPTIONS_INIT;
    tw_instance_pool *pool;
    pooling.snapshot = snapshot;
    OK(tw_instance_pool_new(module, &options, &pooling, &pool, &error));
    return pool;
}

static tw_instance *take(tw_instance_pool *pool)
{
    tw_instance *instance;
    OK(tw_instance_pool_take(pool, &instance, &error));
    return instance;
}

static tw_snapshot *open_archive_of(tw_instance *instance)
{
    tw_capture_options capture = TW_CAPTURE_OPTIONS_INIT;
    tw_snapshot_writer *writer;
    tw_snapshot_reader *reader;
    tw_snapshot *snapshot;
    uint8_t *bytes;
    size_t size;
    capture.has_created = true;
    OK(tw_snapshot_writer_new(NULL, &writer, &error));
    OK(tw_snapshot_reader_new(NULL, &reader, &error));
    OK(tw_instance_capture(instance, writer, &capture, &bytes, &size, &error));
    OK(tw_snapshot_restore(reader, bytes, size, &snapshot, NULL, &error));
    free(bytes);
    tw_snapshot_writer_free(writer);
    tw_snapshot_reader_free(reader);
    return snapshot;
}

/* Whatever is done to one, what is taken next is as the original was; from an image in both ways, and from an archive. */
static void a_pool_gives_the_snapshots_state_each_time(void **state)
{
    (void)state;
    use_handlers();
    tw_module *module = module_of(all_text);
    int kept = 0;
    for (uint32_t seed = 1; seed <= 24; seed++) {
        uint32_t s = seed;
        tw_instance *original = spawn(module);
        for (uint32_t i = 0; i < seed * 2; i++) {
            tw_val results[4];
            const char *name = all_names[(next(&s) >> 8) % ALL];
            call(original, module, name, (int32_t)(next(&s) >> 12 & 63), results);
        }
        save(original);
        tw_snapshot *snapshot = seed % 3 == 2 ? open_archive_of(original) : open_as(ways[seed % 3]);
        tw_instance_pool *pool = pool_of(module, snapshot);
        for (int round = 0; round < 12; round++) {
            tw_instance *one = take(pool), *two = take(pool);
            same_captures(original, one);
            same_captures(original, two);
            run_on(module, one, two, round, seed * 7 + (uint32_t)round);
            same_captures(one, two);
            tw_instance_pool_give(pool, one);
            kept += tw_instance_pool_idle(pool) > 0;
            tw_instance_free(two);
        }
        tw_instance_pool_free(pool);
        tw_snapshot_free(snapshot);
        tw_instance_free(original);
    }
    assert_true(kept > 50); /* they were used again, not made anew each time */
    tw_module_free(module);
}

static void a_pool_calls_tw_after_restore_each_time(void **state)
{
    (void)state;
    use_handlers();
    tw_module *module = module_of(large_text);
    tw_instance *original = filled(module);
    save(original);
    for (int w = 0; w < 2; w++) {
        tw_snapshot *snapshot = open_as(ways[w]);
        tw_instance_pool *pool = pool_of(module, snapshot);
        for (int i = 0; i < 4; i++) {
            tw_val results[4];
            uint8_t *memory;
            size_t size;
            tw_instance *one = take(pool);
            OK(tw_instance_memory(one, "memory", &memory, &size, &error));
            assert_int_equal(memory[4], 7);
            assert_int_equal(size, 64 * BLOCK);
            assert_int_equal(get(one, module, 9), 1009);
            memory[4] = 1;
            OK(call(one, module, "put", 1, results));
            memset(memory + 9 * BLOCK, 0xCC, BLOCK);
            OK(call(one, module, "grow", 5, results));
            tw_instance_pool_give(pool, one);
            assert_int_equal(tw_instance_pool_idle(pool), 1);
        }
        tw_instance_pool_free(pool);
        tw_snapshot_free(snapshot);
    }
    tw_instance_free(original);
    tw_module_free(module);
}

/* A reset reads the image's pages: some are gone. The instance is freed, and new ones say so when they need a page. */
static void a_pool_whose_file_is_cut_keeps_nothing_of_it(void **state)
{
    (void)state;
    use_handlers();
    tw_module *module = module_of(large_text);
    tw_instance *original = filled(module);
    tw_val results[4];
    save(original);
    tw_snapshot *snapshot = open_as(TW_SNAPSHOT_VERIFY_TRUSTED);
    tw_instance_pool *pool = pool_of(module, snapshot);
    tw_instance *one = take(pool), *two = take(pool);
    OK(call(one, module, "put", 40, results));
    tw_instance_pool_give(pool, two);
    assert_int_equal(truncate(path, 100), 0);
    tw_instance_pool_give(pool, one);
    for (int i = 0; i < 3; i++) {
        tw_status status = tw_instance_pool_take(pool, &one, &error); /* tw_after_restore writes to a page that is gone */
        assert_int_equal(status, TW_IO);
    }
    assert_int_equal(tw_instance_pool_idle(pool), 0);
    tw_instance_pool_free(pool);
    tw_snapshot_free(snapshot);
    tw_instance_free(original);
    tw_module_free(module);
}

static int begin(void **state)
{
    (void)state;
    tw_engine_options options = TW_ENGINE_OPTIONS_INIT;
    options.offload = TW_OFFLOAD_FORCE;
    OK(tw_engine_new(&options, &engine, &error));
    OK(tw_kernel_cache_new(engine, NULL, &cache, &error));
    keep_handlers();
    assert_non_null(mkdtemp(folder));
    snprintf(path, sizeof path, "%s/file", folder);
    for (int i = 0; i < LEVELS; i++) snprintf(levels[i], sizeof levels[i], "%s/%d", folder, i);
    return 0;
}

static int end(void **state)
{
    (void)state;
    tw_kernel_cache_free(cache);
    tw_engine_free(engine);
    for (int i = 0; i < LEVELS; i++) unlink(levels[i]);
    unlink(path);
    rmdir(folder);
    return 0;
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_mapped_instance_goes_on_as_the_original),
        cmocka_unit_test(a_verified_file_may_be_changed_or_cut),
        cmocka_unit_test(a_trusted_file_that_is_cut_ends_the_call_and_not_the_process),
        cmocka_unit_test(a_mapped_memory_grows),
        cmocka_unit_test(kernels_run_on_mapped_pages),
        cmocka_unit_test(what_was_only_verified_is_not_restored),
        cmocka_unit_test(an_instance_on_a_chain_goes_on_as_the_original),
        cmocka_unit_test(either_file_that_is_cut_ends_the_calls_that_need_it),
        cmocka_unit_test(a_base_that_is_replaced_before_it_is_mapped_changes_nothing),
        cmocka_unit_test(a_base_on_trust_is_no_base_for_what_is_verified),
        cmocka_unit_test(many_at_once_have_it_each_for_itself),
        cmocka_unit_test(without_mappings_left_it_is_copied),
        cmocka_unit_test(a_memory_of_the_host_gets_a_copy),
        cmocka_unit_test(a_pool_gives_the_snapshots_state_each_time),
        cmocka_unit_test(a_pool_calls_tw_after_restore_each_time),
        cmocka_unit_test(a_pool_whose_file_is_cut_keeps_nothing_of_it),
    };
    return cmocka_run_group_tests(tests, begin, end);
}
