/* SPDX-License-Identifier: Apache-2.0 */
/* Each of our own allocations fails once, from a module's bytes to a restored instance: the answer is no-memory, or it can be done
 * without; nothing is lost and nothing kept, and the next try goes through. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>

#include <cmocka.h>

/* The first function of the engine's library: all of our own lies in front. */
int32_t tw_global_set_func(void *context, const void *global, const void *func);
#define NO_MEMORY_BELOW ((uintptr_t)tw_global_set_func)

#include "../../support/embedder.h"
#include "../../support/no_memory.h"
#include "everything.h"
#include "memory/budget.h"
#include "memory/slot.h"
#include "tensorwasm/buffer.h"

static tw_snapshot_writer *writer;
static tw_snapshot_reader *reader;
static tw_module *module;
static tw_instance *instance;
static tw_snapshot *snapshot;
static tw_error why;

#define TRY(expression)                                                                            \
    do {                                                                                           \
        tw_status tried = (expression);                                                            \
        if (tried != TW_OK) return tried;                                                          \
    } while (0)

/* ---- what may fail ---- */

static tw_status make_module(void)
{
    tw_module *made;
    TRY(tw_module_new(engine, (const uint8_t *)all_text, strlen(all_text), &made, &why));
    tw_module_free(made);
    return TW_OK;
}

static tw_status spawn_new_module(const tw_spawn_options *options)
{
    tw_module *made;
    tw_instance *begun = NULL;
    TRY(tw_module_new(engine, (const uint8_t *)all_text, strlen(all_text), &made, &why));
    tw_status status = tw_instance_spawn(made, options, &begun, &why);
    if (status == TW_OK) tw_instance_free(begun);
    tw_module_free(made);
    return status;
}

static tw_status spawn_plain(void)
{
    tw_spawn_options options = TW_SPAWN_OPTIONS_INIT;
    return spawn_new_module(&options);
}

static tw_status spawn_capturable(void)
{
    tw_spawn_options options = usual();
    options.kernel_cache = NULL;
    return spawn_new_module(&options);
}

static tw_status spawn_offloading(void)
{
    tw_spawn_options options = usual();
    return spawn_new_module(&options);
}

static tw_status spawn_with_wasi(void)
{
    static const char *const args[] = {"guest", "one"}, *const env[] = {"A=1", "B=2"};
    static const tw_wasi_dir dir = {"/tmp", "d"};
    tw_wasi_options wasi = TW_WASI_OPTIONS_INIT;
    wasi.args = args, wasi.arg_count = 2, wasi.env = env, wasi.env_count = 2, wasi.dirs = &dir, wasi.dir_count = 1;
    tw_spawn_options options = usual();
    options.wasi = &wasi;
    tw_instance *begun;
    TRY(tw_instance_spawn(module, &options, &begun, &why));
    tw_instance_free(begun);
    return TW_OK;
}

static tw_status capture_it(void)
{
    file f;
    tw_capture_options options = TW_CAPTURE_OPTIONS_INIT;
    TRY(tw_instance_capture(instance, writer, &options, &f.bytes, &f.size, &why));
    free(f.bytes);
    return TW_OK;
}

static tw_status restore_it(void)
{
    tw_spawn_options options = usual();
    tw_instance *copy;
    TRY(tw_instance_restore(module, snapshot, &options, &copy, &why));
    tw_instance_free(copy);
    return TW_OK;
}

static tw_status use_pool(void)
{
    tw_spawn_options options = usual();
    tw_instance_pool *pool;
    tw_instance *one = NULL;
    TRY(tw_instance_pool_new(module, &options, NULL, &pool, &why));
    tw_status status = TW_OK;
    for (int i = 0; i < 3 && status == TW_OK; i++) {
        status = tw_instance_pool_take(pool, &one, &why);
        if (status == TW_OK) tw_instance_pool_give(pool, one);
    }
    tw_instance_pool_free(pool);
    return status;
}

/* ---- what the host makes ---- */

typedef struct lent {
    tw_global *place, *shared;
    tw_table *table;
} lent;

static tw_status answer(void *context, tw_host_call *host, const tw_val *args, tw_val *results, tw_error *failure)
{
    (void)context, (void)host, (void)args, (void)results, (void)failure;
    return TW_OK;
}

static tw_status make_lent(lent *l)
{
    tw_val three = {TW_VAL_I32, {.i32 = 3}};
    tw_table_options options = TW_TABLE_OPTIONS_INIT;
    tw_import_func func = {.module = "h", .name = "f", .call = answer};
    options.elements = 8;
    TRY(tw_global_new(engine, &three, false, &l->place, &why));
    TRY(tw_global_new(engine, &three, true, &l->shared, &why));
    TRY(tw_table_new(engine, &options, &l->table, &why));
    return tw_table_set(l->table, 0, &func, &why);
}

static tw_status spawn_pool_with(tw_module *made, tw_spawn_options *options)
{
    tw_instance_pool *pool;
    tw_instance *one;
    TRY(tw_instance_pool_new(made, options, NULL, &pool, &why));
    tw_status status = tw_instance_pool_take(pool, &one, &why);
    if (status == TW_OK) tw_instance_pool_give(pool, one);
    tw_instance_pool_free(pool);
    return status;
}

static tw_status spawn_with_lent(const lent *l, tw_module *made)
{
    const tw_import_global globals[] = {{"h", "place", l->place}, {"h", "shared", l->shared}};
    tw_import_table table = {"h", "t", l->table};
    tw_import_memory memory = {"h", "m", NULL};
    tw_import_func func = {.module = "h", .name = "f", .call = answer};
    tw_spawn_options options = TW_SPAWN_OPTIONS_INIT;
    options.globals = globals, options.global_count = 2, options.tables = &table, options.table_count = 1;
    options.memories = &memory, options.memory_count = 1, options.imports = &func, options.import_count = 1;
    tw_instance *begun;
    TRY(tw_instance_spawn(made, &options, &begun, &why));
    tw_instance_free(begun);
    table.table = NULL;
    return spawn_pool_with(made, &options);
}

static tw_status spawn_with_imports(void)
{
    static const char text[] = "(module (import \"h\" \"f\" (func $f)) (import \"h\" \"place\" (global $p i32)) (import \"h\" \"t\" (table 5 funcref))"
                               "(import \"h\" \"shared\" (global (mut i32))) (import \"h\" \"m\" (memory 1)) (elem (global.get $p) $f) (data (global.get $p) \"x\"))";
    lent l = {0};
    tw_module *made = NULL;
    tw_status status = make_lent(&l);
    if (status == TW_OK) status = tw_module_new(engine, (const uint8_t *)text, strlen(text), &made, &why);
    if (status == TW_OK) status = spawn_with_lent(&l, made);
    tw_module_free(made);
    tw_global_free(l.place), tw_global_free(l.shared);
    tw_table_free(l.table);
    return status;
}

static tw_status attach_buffer(void)
{
    tw_devices *devices;
    tw_buffer *buffer, *back;
    TRY(tw_devices_open(NULL, &devices, &why));
    tw_status status = tw_buffer_new(devices, NULL, 5000, &buffer, &why);
    if (status == TW_OK) {
        status = tw_instance_attach_buffer(instance, "b", buffer, &why);
        if (status == TW_OK) status = capture_it();
        if (tw_instance_detach_buffer(instance, "b", &back, NULL) != TW_OK) back = buffer;
        tw_buffer_free(back);
    }
    tw_devices_close(devices);
    return status;
}

static tw_status make_cache(void)
{
    tw_kernel_cache *made;
    TRY(tw_kernel_cache_new(engine, NULL, &made, &why));
    tw_kernel_cache_free(made);
    return TW_OK;
}

static tw_status tell(void)
{
    char *text = NULL;
    TRY(tw_instance_report(instance, TW_FORMAT_JSON, &text, &why));
    free(text);
    TRY(tw_module_inspect(module, TW_FORMAT_TEXT, &text, &why));
    free(text);
    return TW_OK;
}

/* ---- each of its allocations ---- */

static void each_fails_once(const char *what, tw_status (*operation)(void), long fewest)
{
    uint64_t before[TW_BUDGETS];
    long refused = 0, n = 0;
    tw_slot_trim();
    assert_int_equal(operation(), TW_OK); /* what is made once is there */
    tw_slot_trim();
    for (int b = 0; b < TW_BUDGETS; b++) before[b] = tw_budget_used((tw_budget)b);
    for (bool over = false; !over; n++) {
        no_memory_at(-1);
        long blocks = no_memory_blocks;
        no_memory_at(n);
        tw_status status = operation();
        over = !no_memory_ends();
        if (over ? status != TW_OK : status != TW_OK && status != TW_NO_MEMORY)
            fail_msg("%s, allocation %ld: %s: %s", what, n, tw_status_name(status), why.message);
        if (status && why.status != status) fail_msg("%s, allocation %ld: the error says %s", what, n, tw_status_name(why.status));
        refused += status == TW_NO_MEMORY;
        tw_slot_trim();
        if (no_memory_blocks > blocks && !over) fail_msg("%s, allocation %ld: %ld blocks are lost", what, n, no_memory_blocks - blocks);
        for (int b = 0; b < TW_BUDGETS; b++)
            if (tw_budget_used((tw_budget)b) != before[b]) fail_msg("%s, allocation %ld: budget %d isn't given back", what, n, b);
        assert_true(n < 20000);
    }
    if (refused < fewest) fail_msg("%s: %ld of %ld allocations were refused: does this test see them?", what, refused, n);
}

static void every_allocation_may_fail(void **state)
{
    (void)state;
    use_handlers();
    if (!NO_MEMORY_OURS) skip();
    static const struct { const char *what; tw_status (*operation)(void); long fewest; } operations[] = {
        {"a module", make_module, 5}, {"a spawn", spawn_plain, 8}, {"a capturable spawn", spawn_capturable, 10},
        {"a spawn with kernels", spawn_offloading, 20}, {"a spawn with WASI", spawn_with_wasi, 8}, {"a capture", capture_it, 3},
        {"a restore", restore_it, 5}, {"a pool", use_pool, 5}, {"imports", spawn_with_imports, 25}, {"a buffer", attach_buffer, 3}, {"a cache", make_cache, 1}, {"reports", tell, 2}};
    for (size_t i = 0; i < sizeof operations / sizeof *operations; i++) each_fails_once(operations[i].what, operations[i].operation, operations[i].fewest);
}

static int set_up(void **state)
{
    (void)state;
    tw_snapshot_class class;
    if (engine_begins(TW_OFFLOAD_FORCE, false) || tw_snapshot_writer_new(NULL, &writer, &error) ||
        tw_snapshot_reader_new(NULL, &reader, &error))
        return 1;
    module = module_of(all_text);
    instance = spawn(module, NULL);
    file f = capture(instance, writer);
    tw_status status = tw_snapshot_restore(reader, f.bytes, f.size, &snapshot, &class, &error);
    free(f.bytes);
    return status != TW_OK;
}

static int tear_down(void **state)
{
    (void)state;
    tw_snapshot_free(snapshot);
    tw_instance_free(instance);
    tw_module_free(module);
    tw_snapshot_writer_free(writer);
    tw_snapshot_reader_free(reader);
    engine_ends();
    return 0;
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(every_allocation_may_fail)};
    return cmocka_run_group_tests(tests, set_up, tear_down);
}
