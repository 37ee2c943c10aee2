/* SPDX-License-Identifier: Apache-2.0 */
/* Memories that the host makes: modules that import one behave as those with their own, are captured and restored alike, and run on
 * it in turns when they are several. */
#include "live.h"

enum { PAGE = 65536 };

static tw_memory *memory_of(uint64_t pages, uint64_t most)
{
    tw_memory_options options = TW_MEMORY_OPTIONS_INIT;
    tw_memory *memory;
    options.bytes = pages * PAGE;
    options.max_bytes = most * PAGE;
    OK(tw_memory_new(engine, &options, &memory, &error));
    return memory;
}

/* The same module, but that its memory is imported. */
static tw_module *importing(const char *text)
{
    static const char own[] = "(memory (export \"memory\")", imported[] = "(memory (export \"memory\") (import \"env\" \"m\")";
    const char *at = strstr(text, own);
    char *other = malloc(strlen(text) + sizeof imported);
    assert_non_null(at);
    sprintf(other, "%.*s%s%s", (int)(at - text), text, imported, at + sizeof own - 1);
    tw_module *module = module_of(other);
    free(other);
    return module;
}

static tw_spawn_options with(const tw_import_memory *import)
{
    tw_spawn_options options = usual();
    options.memories = import;
    options.memory_count = 1;
    return options;
}

static tw_instance *spawn_on(tw_module *module, tw_memory *memory)
{
    tw_import_memory import = {"env", "m", memory};
    tw_spawn_options options = with(&import);
    return spawn(module, &options);
}

static tw_status try_restore_on(tw_module *module, file f, tw_memory *memory, tw_instance **out)
{
    tw_import_memory import = {"env", "m", memory};
    tw_spawn_options options = with(&import);
    return try_restore(module, f, &options, out);
}

static void imported_and_own_memories_work_alike(void **state)
{
    (void)state;
    use_handlers();
    tw_module *own = module_of(all_text), *module = importing(all_text);
    for (uint32_t seed = 1; seed <= 20; seed++) {
        tw_memory *memory = memory_of(1, 40), *second = memory_of(1, 40);
        tw_instance *a = spawn(own, NULL), *b = spawn_on(module, memory), *copy;
        run_on_both(own, a, module, b, all_names, ALL, 60, seed);
        file f = capture(b, writer);
        OK(try_restore_on(module, f, second, &copy));
        tw_memory_free(memory), tw_memory_free(second); /* instances keep them */
        same_memories(b, copy);
        file again = capture(copy, writer);
        assert_int_equal(f.size, again.size);
        assert_memory_equal(f.bytes, again.bytes, f.size);
        run_on(module, b, copy, all_names, ALL, 100, seed * 77);
        tw_instance_free(a);
        tw_instance_free(b);
        tw_instance_free(copy);
        free(f.bytes), free(again.bytes);
    }
    tw_module_free(module);
    tw_module_free(own);
}

static void kernels_run_on_the_hosts_memory(void **state)
{
    (void)state;
    use_handlers();
    tw_module *own = module_of(streams_text), *module = importing(streams_text);
    tw_memory *memory = memory_of(4, 4);
    tw_spawn_options plain = usual();
    plain.kernel_cache = NULL;
    tw_instance *a = spawn(own, &plain), *b = spawn_on(module, memory);
    run_on_both(own, a, module, b, stream_names, 2, 12, 1);
    assert_int_not_equal(kernels_run(b), 0);
    tw_instance_free(a);
    tw_instance_free(b);
    tw_memory_free(memory);
    tw_module_free(module);
    tw_module_free(own);
}

static const char small_text[] = "(module (memory (export \"memory\") 1 9) (data (i32.const 4) \"data\")"
                                 "(func (export \"size\") (result i32) (memory.size)) (func (export \"grow\") (result i32) (memory.grow (i32.const 1)))"
                                 "(func (export \"get\") (param i32) (result i32) (i32.load8_u (local.get 0)))"
                                 "(func (export \"put\") (param i32) (i32.store8 (local.get 0) (i32.const 77))))";

static void what_the_host_put_there_is_found(void **state)
{
    (void)state;
    use_handlers();
    tw_module *module = importing(small_text);
    tw_memory *memory = memory_of(3, 5);
    size_t size;
    uint8_t *data = tw_memory_data(memory, &size);
    memset(data, 'h', size);
    assert_int_equal(size, 3 * PAGE);
    tw_instance *instance = spawn_on(module, memory);
    assert_int_equal(outcome_of(instance, module, "size", 0).results[0].of.i32, 3);
    assert_int_equal(outcome_of(instance, module, "get", 3).results[0].of.i32, 'h');
    assert_int_equal(outcome_of(instance, module, "get", 4).results[0].of.i32, 'd');
    assert_int_equal(outcome_of(instance, module, "get", 8).results[0].of.i32, 'h');
    assert_int_equal(outcome_of(instance, module, "get", 3 * PAGE - 1).results[0].of.i32, 'h');
    assert_int_equal(outcome_of(instance, module, "get", 3 * PAGE).status, TW_TRAP);
    assert_int_equal(outcome_of(instance, module, "grow", 0).results[0].of.i32, 3);
    assert_int_equal(outcome_of(instance, module, "grow", 0).results[0].of.i32, 4);
    assert_int_equal(outcome_of(instance, module, "grow", 0).results[0].of.i32, -1); /* the host's maximum */
    outcome_of(instance, module, "put", 5 * PAGE - 1);
    tw_instance_free(instance);
    assert_ptr_equal(tw_memory_data(memory, &size), data);
    assert_int_equal(size, 5 * PAGE);
    assert_int_equal(data[5 * PAGE - 1], 77);
    tw_memory_free(memory);
    tw_module_free(module);
}

static void two_run_on_it_in_turns_and_arent_captured(void **state)
{
    (void)state;
    use_handlers();
    tw_module *module = importing(small_text);
    tw_memory *memory = memory_of(1, 9);
    tw_instance *a = spawn_on(module, memory), *b = spawn_on(module, memory);
    outcome_of(a, module, "put", 100);
    assert_int_equal(outcome_of(b, module, "get", 100).results[0].of.i32, 77);
    assert_int_equal(outcome_of(b, module, "grow", 0).results[0].of.i32, 1);
    assert_int_equal(outcome_of(a, module, "size", 0).results[0].of.i32, 2);
    assert_int_equal(outcome_of(a, module, "put", 2 * PAGE - 1).status, TW_OK);
    assert_int_equal(outcome_of(b, module, "get", 2 * PAGE - 1).results[0].of.i32, 77);
    file f;
    assert_int_equal(try_capture(a, writer, &f), TW_UNSUPPORTED);
    assert_non_null(strstr(error.message, "its memory is shared with 1 other instance"));
    assert_int_equal(outcome_of(a, module, "size", 0).status, TW_OK); /* nothing else changed */
    tw_instance_free(b);
    f = capture(a, writer);
    free(f.bytes);
    tw_instance_free(a);
    tw_memory_free(memory);
    tw_module_free(module);
}

typedef struct nested {
    tw_instance *other;
    tw_module *module;
    tw_status seen;
} nested;

static tw_status call_other(void *context, tw_host_call *host, const tw_val *args, tw_val *results, tw_error *why)
{
    nested *n = context;
    (void)host, (void)args, (void)results, (void)why;
    n->seen = outcome_of(n->other, n->module, "put", 1).status;
    return TW_OK;
}

static void a_call_while_another_runs_on_it_is_busy(void **state)
{
    (void)state;
    use_handlers();
    tw_module *outer = module_of("(module (import \"env\" \"f\" (func $f)) (memory (export \"memory\") (import \"env\" \"m\") 1 9) (func (export \"go\") (call $f)))");
    tw_module *module = importing(small_text);
    tw_memory *memory = memory_of(1, 9);
    nested n = {spawn_on(module, memory), module, TW_OK};
    tw_import_memory import = {"env", "m", memory};
    tw_import_func func = {.module = "env", .name = "f", .call = call_other, .context = &n};
    tw_spawn_options options = with(&import);
    options.imports = &func, options.import_count = 1;
    tw_instance *instance = spawn(outer, &options);
    assert_int_equal(outcome_of(instance, outer, "go", 0).status, TW_OK);
    assert_int_equal(n.seen, TW_BUSY);
    assert_int_equal(outcome_of(n.other, module, "put", 1).status, TW_OK);
    tw_instance_free(instance);
    tw_instance_free(n.other);
    tw_memory_free(memory);
    tw_module_free(module);
    tw_module_free(outer);
}

static void a_guest_that_is_stopped_leaves_the_memory_to_others(void **state)
{
    (void)state;
    use_handlers();
    tw_module *module = importing("(module (memory (export \"memory\") 1 9) (func (export \"spin\") (loop $l (i32.store (i32.const 0) (i32.const 5)) (br $l)))"
                                  "(func (export \"get\") (result i32) (i32.load (i32.const 0))))");
    tw_memory *memory = memory_of(1, 9);
    tw_import_memory import = {"env", "m", memory};
    tw_spawn_options options = with(&import);
    tw_instance *other = spawn(module, &options);
    options.timeout_ns = 20000000;
    tw_instance *spinning = spawn(module, &options);
    for (int i = 0, seen = 0; i < 3 || seen != 5; i++) { /* a limit may be over before the first store, on a machine that is busy */
        assert_int_equal(outcome_of(spinning, module, "spin", 0).status, TW_TIMEOUT);
        outcome stored = outcome_of(other, module, "get", 0);
        assert_int_equal(stored.status, TW_OK);
        seen = stored.results[0].of.i32;
    }
    tw_instance_free(spinning);
    tw_instance_free(other);
    tw_memory_free(memory);
    tw_module_free(module);
}

static void what_doesnt_fit_is_refused(void **state)
{
    (void)state;
    use_handlers();
    tw_module *module = importing(small_text);
    tw_memory *memory;
    tw_instance *instance;
    tw_instance_pool *pool;
    tw_spawn_options options = usual();
    assert_int_equal(tw_instance_spawn(module, &options, &instance, &error), TW_LINK);
    assert_non_null(strstr(error.message, "\"env\".\"m\" is a memory that isn't offered by anyone"));
    static const struct { uint64_t pages, most; } cases[] = {{0, 5}, {1, 10}, {9, 10}};
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        memory = memory_of(cases[i].pages, cases[i].most);
        tw_import_memory import = {"env", "m", memory};
        options = with(&import);
        assert_int_equal(tw_instance_spawn(module, &options, &instance, &error), TW_LINK);
        assert_non_null(strstr(error.message, "other limits"));
        tw_memory_free(memory);
    }
    memory = memory_of(1, 9);
    tw_import_memory import = {"env", "m", memory}, unfilled = {"env", "m", NULL};
    options = with(&import);
    OK(tw_instance_pool_new(module, &options, NULL, &pool, &error));
    assert_int_equal(tw_instance_pool_take(pool, &instance, &error), TW_LINK);
    assert_non_null(strstr(error.message, "give NULL, and each instance has a new one"));
    tw_instance_pool_free(pool);
    options = with(&unfilled);
    OK(tw_instance_spawn(module, &options, &instance, &error)); /* of its own */
    tw_instance_free(instance);
    tw_memory_free(memory);
    tw_memory_options bad = TW_MEMORY_OPTIONS_INIT;
    bad.bytes = 5;
    assert_int_equal(tw_memory_new(engine, &bad, &memory, &error), TW_INVALID_ARGUMENT);
    bad.bytes = 2 * PAGE, bad.max_bytes = PAGE;
    assert_int_equal(tw_memory_new(engine, &bad, &memory, &error), TW_INVALID_ARGUMENT);
    bad.max_bytes = UINT64_C(5) << 32;
    assert_int_equal(tw_memory_new(engine, &bad, &memory, &error), TW_LIMIT);
    tw_module_free(module);
}

static tw_spawn_options with_new_ones(tw_import_memory *import)
{
    *import = (tw_import_memory){"env", "m", NULL};
    return with(import);
}

/* Without a name: the module may export none. */
static void new_memories_are_found(void **state)
{
    (void)state;
    use_handlers();
    tw_module *module = module_of("(module (import \"env\" \"m\" (memory 2 3)) (func (export \"put\") (param i32) (i32.store8 (local.get 0) (i32.const 77)))"
                                  "(func (export \"grow\") (result i32) (memory.grow (i32.const 1))))"), *none = module_of("(module)");
    tw_import_memory import;
    tw_spawn_options options = with_new_ones(&import);
    for (int capturable = 0; capturable < 2; capturable++) {
        options.capturable = capturable;
        tw_instance *a = spawn(module, &options), *b = spawn(module, &options);
        uint8_t *x, *y;
        size_t size;
        OK(tw_instance_memory(a, NULL, &x, &size, &error));
        OK(tw_instance_memory(b, NULL, &y, &size, &error));
        assert_int_equal(size, 2 * PAGE);
        outcome_of(a, module, "put", 2 * PAGE - 1);
        assert_int_equal(x[2 * PAGE - 1], 77);
        assert_int_equal(y[2 * PAGE - 1], 0);
        assert_int_equal(outcome_of(a, module, "grow", 0).results[0].of.i32, 2);
        assert_int_equal(outcome_of(a, module, "grow", 0).results[0].of.i32, -1); /* the import's maximum */
        tw_instance_free(a), tw_instance_free(b);
    }
    tw_instance *instance = spawn(none, NULL);
    uint8_t *base;
    size_t size;
    assert_int_equal(tw_instance_memory(instance, NULL, &base, &size, &error), TW_NOT_FOUND);
    tw_instance_free(instance);
    tw_module_free(module), tw_module_free(none);
}

static void same_captures(tw_instance *a, tw_instance *b)
{
    file x = capture(a, writer), y = capture(b, writer);
    assert_int_equal(x.size, y.size);
    assert_memory_equal(x.bytes, y.bytes, x.size);
    free(x.bytes), free(y.bytes);
}

static void a_pools_instances_have_new_ones(void **state)
{
    (void)state;
    use_handlers();
    tw_module *module = importing(all_text);
    tw_import_memory import;
    tw_spawn_options options = with_new_ones(&import);
    tw_instance_pool *pool = pool_of(module, &options);
    for (uint32_t seed = 1; seed <= 40; seed++) {
        tw_instance *pooled = take(pool), *second = take(pool), *fresh;
        with_new_ones(&import);
        fresh = spawn(module, &options);
        memset(&import, 0, sizeof import); /* the pool has a copy */
        same_captures(pooled, fresh);
        warm_up(module, second, 20, seed + 1000); /* none of it shows in the other */
        same_memories(pooled, fresh);
        run_on(module, pooled, fresh, all_names, ALL, 40, seed);
        tw_instance_free(fresh);
        tw_instance_pool_give(pool, pooled);
        tw_instance_pool_give(pool, second);
    }
    tw_instance_pool_free(pool);
    tw_module_free(module);
}

static void a_pool_begins_with_a_snapshot_of_such_a_guest(void **state)
{
    (void)state;
    use_handlers();
    tw_module *module = importing(all_text);
    tw_memory *memory = memory_of(1, 40);
    tw_instance *original = spawn_on(module, memory);
    warm_up(module, original, 30, 5);
    file f = capture(original, writer);
    tw_import_memory import;
    tw_spawn_options options = with_new_ones(&import);
    tw_instance_pool_options begin = TW_INSTANCE_POOL_OPTIONS_INIT;
    tw_snapshot *snapshot = read_file(f);
    begin.snapshot = snapshot;
    tw_instance_pool *pool;
    OK(tw_instance_pool_new(module, &options, &begin, &pool, &error));
    for (uint32_t seed = 1; seed <= 20; seed++) {
        tw_instance *pooled = take(pool);
        same_captures(pooled, original);
        warm_up(module, pooled, 30, seed);
        tw_instance_pool_give(pool, pooled);
    }
    tw_instance_pool_free(pool);
    tw_snapshot_free(snapshot);
    free(f.bytes);
    tw_instance_free(original);
    tw_memory_free(memory);
    tw_module_free(module);
}

static void a_restore_overwrites_no_others_memory(void **state)
{
    (void)state;
    use_handlers();
    tw_module *module = importing(small_text);
    tw_memory *memory = memory_of(1, 9), *large = memory_of(4, 9), *used = memory_of(2, 9);
    tw_instance *original = spawn_on(module, memory), *copy;
    outcome_of(original, module, "grow", 0);
    outcome_of(original, module, "put", PAGE + 1);
    file f = capture(original, writer);
    assert_int_equal(try_restore_on(module, f, memory, &copy), TW_INVALID_ARGUMENT);
    assert_non_null(strstr(error.message, "another instance"));
    assert_int_equal(try_restore_on(module, f, large, &copy), TW_INVALID_ARGUMENT);
    assert_non_null(strstr(error.message, "can't be made smaller"));
    assert_int_equal(try_restore(module, f, NULL, &copy), TW_LINK);
    tw_snapshot *snapshot = read_file(f);
    uint8_t *baked;
    size_t size;
    assert_int_equal(tw_module_bake(module, snapshot, NULL, &baked, &size, &error), TW_UNSUPPORTED); /* its host makes it */
    assert_non_null(strstr(error.message, "imports the memory \"env\".\"m\", which its host makes and a module can't hold: restore the snapshot instead"));
    tw_snapshot_free(snapshot);
    memset(tw_memory_data(used, &size), 0xEE, 2 * PAGE); /* nothing of it is left */
    OK(try_restore_on(module, f, used, &copy));
    same_memories(original, copy);
    tw_instance_free(copy);
    tw_instance_free(original);
    tw_memory_free(memory), tw_memory_free(large), tw_memory_free(used);
    free(f.bytes);
    tw_module_free(module);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(imported_and_own_memories_work_alike),
        cmocka_unit_test(kernels_run_on_the_hosts_memory),
        cmocka_unit_test(what_the_host_put_there_is_found),
        cmocka_unit_test(two_run_on_it_in_turns_and_arent_captured),
        cmocka_unit_test(a_call_while_another_runs_on_it_is_busy),
        cmocka_unit_test(a_guest_that_is_stopped_leaves_the_memory_to_others),
        cmocka_unit_test(what_doesnt_fit_is_refused),
        cmocka_unit_test(new_memories_are_found),
        cmocka_unit_test(a_pools_instances_have_new_ones),
        cmocka_unit_test(a_pool_begins_with_a_snapshot_of_such_a_guest),
        cmocka_unit_test(a_restore_overwrites_no_others_memory),
    };
    return cmocka_run_group_tests(tests, set_up, tear_down);
}
