/* SPDX-License-Identifier: Apache-2.0 */
/* Captures at the same time: of one instance, each is either the same bytes or told that another one goes on; of several, none disturbs
 * another; beside restores of the same file. */
#include <pthread.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdatomic.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>

#include <cmocka.h>

#include "../../support/embedder.h"
#include "everything.h"

enum { THREADS = 4, CAPTURES = 60 };

static tw_snapshot_writer *writer;
static tw_snapshot_reader *reader;

typedef struct worker {
    tw_module *module;
    tw_instance *instance;
    file expected;
    atomic_int *captured, *busy;
    const char *wrong;
} worker;

static tw_status capture_quietly(tw_instance *instance, file *out, tw_error *why)
{
    tw_capture_options options = TW_CAPTURE_OPTIONS_INIT;
    options.has_created = true;
    options.instance = (tw_instance_id){7, 9};
    return tw_instance_capture(instance, writer, &options, &out->bytes, &out->size, why);
}

static void *capture_often(void *context)
{
    worker *w = context;
    for (int i = 0; i < CAPTURES && !w->wrong; i++) {
        file f;
        tw_error why;
        tw_status status = capture_quietly(w->instance, &f, &why);
        if (status == TW_BUSY && why.status == TW_BUSY) atomic_fetch_add(w->busy, 1);
        else if (status != TW_OK) w->wrong = "another status";
        else {
            atomic_fetch_add(w->captured, 1);
            if (f.size != w->expected.size || memcmp(f.bytes, w->expected.bytes, f.size)) w->wrong = "other bytes";
            free(f.bytes);
        }
    }
    return NULL;
}

static void run_all(worker *workers, void *(*work)(void *))
{
    pthread_t threads[THREADS];
    for (int i = 0; i < THREADS; i++) pthread_create(&threads[i], NULL, work, &workers[i]);
    for (int i = 0; i < THREADS; i++) pthread_join(threads[i], NULL);
    for (int i = 0; i < THREADS; i++)
        if (workers[i].wrong) fail_msg("thread %d: %s", i, workers[i].wrong);
}

static tw_instance *used_instance(tw_module *module, uint32_t seed)
{
    tw_instance *instance = spawn(module, NULL);
    for (int i = 0; i < 40; i++) {
        tw_val results[4];
        call(instance, module, all_names[(next(&seed) >> 8) % ALL], (int32_t)(next(&seed) >> 12 & 31), results);
    }
    return instance;
}

static void of_one_instance_each_is_whole_or_told_to_wait(void **state)
{
    (void)state;
    use_handlers();
    tw_module *module = module_of(all_text);
    tw_instance *instance = used_instance(module, 5);
    file expected = capture(instance, writer);
    atomic_int captured = 0, busy = 0;
    worker workers[THREADS];
    for (int i = 0; i < THREADS; i++) workers[i] = (worker){module, instance, expected, &captured, &busy, NULL};
    run_all(workers, capture_often);
    assert_int_equal(captured + busy, THREADS * CAPTURES);
    assert_true(captured > 0);
    file after = capture(instance, writer);
    assert_int_equal(after.size, expected.size);
    assert_memory_equal(after.bytes, expected.bytes, after.size);
    free(after.bytes), free(expected.bytes);
    tw_instance_free(instance);
    tw_module_free(module);
}

static void of_several_instances_none_disturbs_another(void **state)
{
    (void)state;
    use_handlers();
    tw_module *module = module_of(all_text);
    atomic_int captured = 0, busy = 0;
    worker workers[THREADS];
    for (uint32_t i = 0; i < THREADS; i++) {
        tw_instance *instance = used_instance(module, i + 1);
        workers[i] = (worker){module, instance, capture(instance, writer), &captured, &busy, NULL};
    }
    run_all(workers, capture_often);
    assert_int_equal(captured, THREADS * CAPTURES);
    assert_int_equal(busy, 0);
    for (int i = 0; i < THREADS; i++) {
        free(workers[i].expected.bytes);
        tw_instance_free(workers[i].instance);
    }
    tw_module_free(module);
}

/* Reads the file, restores, captures again: the same bytes. */
static void *restore_often(void *context)
{
    worker *w = context;
    for (int i = 0; i < CAPTURES / 3 && !w->wrong; i++) {
        tw_snapshot *snapshot;
        tw_snapshot_class class;
        tw_instance *copy;
        tw_error why;
        file f;
        tw_spawn_options options = usual();
        if (tw_snapshot_restore(reader, w->expected.bytes, w->expected.size, &snapshot, &class, &why)) w->wrong = "not read";
        else if (tw_instance_restore(w->module, snapshot, &options, &copy, &why)) w->wrong = "not restored";
        else {
            if (capture_quietly(copy, &f, &why)) w->wrong = "not captured";
            else {
                if (f.size != w->expected.size || memcmp(f.bytes, w->expected.bytes, f.size)) w->wrong = "other bytes";
                free(f.bytes);
            }
            tw_instance_free(copy);
            tw_snapshot_free(snapshot);
        }
    }
    return NULL;
}

static void restores_of_one_file_on_threads_are_alike(void **state)
{
    (void)state;
    use_handlers();
    tw_module *module = module_of(all_text);
    tw_instance *instance = used_instance(module, 9);
    file expected = capture(instance, writer);
    atomic_int captured = 0, busy = 0;
    worker workers[THREADS];
    for (int i = 0; i < THREADS; i++) workers[i] = (worker){module, instance, expected, &captured, &busy, NULL};
    run_all(workers, restore_often);
    free(expected.bytes);
    tw_instance_free(instance);
    tw_module_free(module);
}

static int set_up(void **state)
{
    (void)state;
    return engine_begins(TW_OFFLOAD_FORCE, true) || tw_snapshot_writer_new(NULL, &writer, &error) ||
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
        cmocka_unit_test(of_one_instance_each_is_whole_or_told_to_wait),
        cmocka_unit_test(of_several_instances_none_disturbs_another),
        cmocka_unit_test(restores_of_one_file_on_threads_are_alike),
    };
    return cmocka_run_group_tests(tests, set_up, tear_down);
}
