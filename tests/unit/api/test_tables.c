/* SPDX-License-Identifier: Apache-2.0 */
/* Tables that the host makes: instances find the host's functions in them, put in their own as their segments and code say, and leave
 * nothing behind. What is expected follows from the specification's order of instantiation, by hand. */
#include "live.h"

static const tw_val_kind an_i32 = TW_VAL_I32;

static tw_status answer(void *context, tw_host_call *host, const tw_val *args, tw_val *results, tw_error *why)
{
    (void)host, (void)args, (void)why;
    results[0].of.i32 = *(const int32_t *)context;
    return TW_OK;
}

static tw_status twice(void *context, tw_host_call *host, const tw_val *args, tw_val *results, tw_error *why)
{
    (void)host, (void)why, (void)context;
    results[0].of.i32 = 2 * args[0].of.i32;
    return TW_OK;
}

static int32_t seventy = 70, eighty = 80;

static tw_import_func answering(int32_t *value)
{
    return (tw_import_func){.results = &an_i32, .result_count = 1, .call = answer, .context = value};
}

static tw_table *table_of(uint32_t elements, uint32_t most)
{
    tw_table_options options = TW_TABLE_OPTIONS_INIT;
    options.elements = elements, options.max_elements = most;
    tw_table *table;
    OK(tw_table_new(engine, &options, &table, &error));
    return table;
}

/* 0: 70, 1: 80, 2: twice its argument, and null. */
static tw_table *filled(uint32_t elements, uint32_t most)
{
    tw_table *table = table_of(elements, most);
    tw_import_func first = answering(&seventy), second = answering(&eighty);
    tw_import_func third = {.params = &an_i32, .param_count = 1, .results = &an_i32, .result_count = 1, .call = twice};
    OK(tw_table_set(table, 0, &first, &error));
    OK(tw_table_set(table, 1, &second, &error));
    OK(tw_table_set(table, 2, &third, &error));
    return table;
}

static tw_spawn_options offering(const tw_import_table *tables, size_t count)
{
    tw_spawn_options options = usual();
    options.tables = tables;
    options.table_count = count;
    return options;
}

static tw_status try_spawn_with(tw_module *module, tw_table *table, bool capturable, tw_instance **out)
{
    tw_import_table import = {"env", "t", table};
    tw_spawn_options options = offering(&import, 1);
    options.capturable = capturable;
    return tw_instance_spawn(module, &options, out, &error);
}

static tw_instance *spawn_with(tw_module *module, tw_table *table, bool capturable)
{
    tw_instance *instance;
    OK(try_spawn_with(module, table, capturable, &instance));
    return instance;
}

static int32_t result(tw_instance *instance, tw_module *module, const char *name, int32_t argument)
{
    outcome o = outcome_of(instance, module, name, argument);
    if (o.status) fail_msg("%s(%d): %s", name, argument, o.message);
    return o.results[0].of.i32;
}

static void traps(tw_instance *instance, tw_module *module, const char *name, int32_t argument, const char *why)
{
    outcome o = outcome_of(instance, module, name, argument);
    if (o.status != TW_TRAP || !strstr(o.message, why)) fail_msg("%s(%d): %s, not %s", name, argument, o.status ? o.message : "no trap", why);
}

#define CALLS "(type $f (func (result i32))) (type $g (func (param i32) (result i32))) (memory (export \"memory\") 1)" \
    "(func (export \"call\") (param i32) (result i32) (call_indirect (type $f) (local.get 0)))" \
    "(func (export \"pass\") (param i32) (result i32) (call_indirect (type $g) (i32.const 21) (local.get 0)))" \
    "(func (export \"size\") (result i32) (table.size)) (func (export \"grow\") (result i32) (table.grow (ref.null func) (i32.const 1)))" \
    "(func (export \"clear\") (param i32) (table.set (local.get 0) (ref.null func)))"

static const char over_text[] =
    "(module (import \"env\" \"t\" (table 4 funcref)) " CALLS "(elem (i32.const 1) $one) (elem (i32.const 4) $two $three)"
    "(func $one (result i32) (i32.const 1)) (func $two (result i32) (i32.const 2)) (func $three (result i32) (i32.const 3)))";

static void host_and_guest_fill_it(void **state)
{
    (void)state;
    use_handlers();
    tw_module *module = module_of(over_text);
    tw_table *table = filled(6, 8);
    for (int round = 0; round < 4; round++) { /* each finds it as the host made it */
        tw_instance *instance = spawn_with(module, table, round % 2);
        assert_int_equal(result(instance, module, "size", 0), 6);
        assert_int_equal(result(instance, module, "call", 0), 70);
        assert_int_equal(result(instance, module, "call", 1), 1); /* over the host's */
        traps(instance, module, "call", 2, "indirect call type mismatch");
        assert_int_equal(result(instance, module, "pass", 2), 42);
        traps(instance, module, "call", 3, "uninitialized table element");
        assert_int_equal(result(instance, module, "call", 4), 2);
        assert_int_equal(result(instance, module, "call", 5), 3);
        traps(instance, module, "call", 6, "out of bounds table access");
        assert_int_equal(result(instance, module, "grow", 0), 6);
        assert_int_equal(result(instance, module, "grow", 0), 7);
        assert_int_equal(result(instance, module, "grow", 0), -1); /* the host's maximum; the import has none */
        outcome_of(instance, module, "clear", 0);
        traps(instance, module, "call", 0, "uninitialized table element");
        tw_instance_free(instance);
    }
    tw_table_free(table);
    tw_module_free(module);
}

static void it_is_one_instances_at_a_time(void **state)
{
    (void)state;
    use_handlers();
    tw_module *module = module_of(over_text), *large = module_of("(module (import \"env\" \"t\" (table 4 funcref)) (elem (i32.const 5) $f $f) (func $f))");
    tw_table *table = filled(6, 6);
    tw_instance *instance, *other = NULL;
    assert_int_equal(try_spawn_with(large, table, false, &instance), TW_TRAP);
    assert_int_equal(try_spawn_with(large, table, true, &instance), TW_TRAP);
    instance = spawn_with(module, table, true);
    assert_int_equal(try_spawn_with(module, table, true, &other), TW_BUSY);
    assert_non_null(strstr(error.message, "belongs to another instance"));
    assert_int_equal(tw_table_set(table, 0, NULL, &error), TW_BUSY);
    tw_instance_free(instance);
    OK(tw_table_set(table, 0, NULL, &error));
    instance = spawn_with(module, table, true);
    tw_table_free(table); /* the instance keeps it */
    traps(instance, module, "call", 0, "uninitialized table element");
    tw_instance_free(instance);
    tw_module_free(module), tw_module_free(large);
}

static void what_doesnt_fit_is_refused(void **state)
{
    (void)state;
    use_handlers();
    tw_module *module = module_of("(module (import \"env\" \"t\" (table 2 5 funcref)))");
    tw_instance *instance;
    tw_spawn_options options = usual();
    assert_int_equal(tw_instance_spawn(module, &options, &instance, &error), TW_LINK);
    assert_non_null(strstr(error.message, "\"env\".\"t\" is a table that isn't offered by anyone: its host makes it (tw_table_new)"));
    static const struct { uint32_t size, most; tw_status status; } cases[] = {{1, 5, TW_LINK}, {2, 6, TW_LINK}, {6, 6, TW_LINK}, {2, 2, TW_OK}, {2, 5, TW_OK}, {5, 5, TW_OK}};
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        tw_table *table = table_of(cases[i].size, cases[i].most);
        assert_int_equal(try_spawn_with(module, table, i % 2, &instance), cases[i].status);
        if (cases[i].status) assert_non_null(strstr(error.message, "other limits"));
        else tw_instance_free(instance);
        tw_table_free(table);
    }
    tw_table *table = table_of(2, 5);
    tw_import_table import = {"env", "t", table};
    tw_instance_pool *pool;
    options = offering(&import, 1);
    OK(tw_instance_pool_new(module, &options, NULL, &pool, &error));
    assert_int_equal(tw_instance_pool_take(pool, &instance, &error), TW_LINK);
    assert_non_null(strstr(error.message, "give NULL, and each instance has a new one"));
    tw_instance_pool_free(pool);
    static const tw_val_kind reference = TW_VAL_FUNCREF;
    tw_import_func empty = {.module = "m"}, crossing = answering(&seventy), fine = answering(&seventy);
    crossing.params = &reference, crossing.param_count = 1;
    assert_int_equal(tw_table_set(table, 0, &empty, &error), TW_INVALID_ARGUMENT);
    assert_int_equal(tw_table_set(table, 0, &crossing, &error), TW_INVALID_ARGUMENT);
    assert_int_equal(tw_table_set(table, 2, &fine, &error), TW_INVALID_ARGUMENT);
    assert_int_equal(tw_table_set(table, 2, NULL, &error), TW_INVALID_ARGUMENT);
    assert_int_equal(tw_table_set(NULL, 0, &fine, &error), TW_INVALID_ARGUMENT);
    tw_table_free(table);
    tw_table_free(NULL);
    tw_table_options bad = TW_TABLE_OPTIONS_INIT;
    bad.elements = 5, bad.max_elements = 4;
    assert_int_equal(tw_table_new(engine, &bad, &table, &error), TW_INVALID_ARGUMENT);
    bad.max_elements = 10000001;
    assert_int_equal(tw_table_new(engine, &bad, &table, &error), TW_LIMIT);
    assert_int_equal(tw_table_new(engine, NULL, &table, &error), TW_INVALID_ARGUMENT);
    tw_module_free(module);
}

/* A module for dynamic linking: all that it has lies where its host says. Imports of every kind, in no order. */
static void imports_of_all_kinds_are_told_apart(void **state)
{
    (void)state;
    use_handlers();
    static const char text[] =
        "(module (import \"env\" \"seventy\" (func $a (result i32))) (import \"env\" \"t\" (table $t 1 funcref)) (import \"wasi_snapshot_preview1\" \"sched_yield\" (func $y (result i32)))"
        "(import \"env\" \"table_base\" (global $tb i32)) (import \"env\" \"memory\" (memory 1)) (import \"env\" \"eighty\" (func $b (result i32)))"
        "(import \"env\" \"memory_base\" (global $mb i32)) (import \"env\" \"u\" (table $u 1 funcref)) (import \"wasi_snapshot_preview1\" \"args_sizes_get\" (func $w (param i32 i32) (result i32)))"
        "(import \"env\" \"count\" (global $c (mut i64))) (type $f (func (result i32))) (export \"memory\" (memory 0))"
        "(elem (table $t) (global.get $tb) func $b $a $x) (elem (table $u) (i32.add (global.get $tb) (i32.const 1)) func $x) (data (global.get $mb) \"\\09\\00\\00\\00\")"
        "(func $x (result i32) (global.set $c (i64.add (global.get $c) (i64.const 1))) (i32.load (global.get $mb)))"
        "(func (export \"a\") (result i32) (call $a)) (func (export \"b\") (result i32) (call $b)) (func (export \"y\") (result i32) (call $y))"
        "(func (export \"w\") (result i32) (drop (call $w (i32.const 64) (i32.const 68))) (i32.load (i32.const 64)))"
        "(func (export \"t\") (param i32) (result i32) (call_indirect $t (type $f) (local.get 0))) (func (export \"u\") (param i32) (result i32) (call_indirect $u (type $f) (local.get 0))))";
    tw_module *module = module_of(text);
    tw_val base = {TW_VAL_I32, {.i32 = 3}}, memory_base = {TW_VAL_I32, {.i32 = 1024}}, count = {TW_VAL_I64, {.i64 = 0}};
    tw_global *tb, *mb, *c;
    OK(tw_global_new(engine, &base, false, &tb, &error));
    OK(tw_global_new(engine, &memory_base, false, &mb, &error));
    OK(tw_global_new(engine, &count, true, &c, &error));
    tw_table *table = filled(6, 6);
    tw_import_func funcs[] = {answering(&seventy), answering(&eighty)};
    funcs[0].module = funcs[1].module = "env", funcs[0].name = "seventy", funcs[1].name = "eighty";
    const tw_import_table tables[] = {{"env", "t", table}, {"env", "u", table}};
    const tw_import_global globals[] = {{"env", "count", c}, {"env", "memory_base", mb}, {"env", "table_base", tb}};
    const tw_import_memory memories[] = {{"env", "memory", NULL}};
    static const char *const args[] = {"guest", "one"};
    tw_wasi_options wasi = TW_WASI_OPTIONS_INIT;
    wasi.args = args, wasi.arg_count = 2;
    for (int capturable = 0; capturable < 2; capturable++) {
        tw_spawn_options options = offering(tables, 2);
        options.capturable = capturable;
        options.imports = funcs, options.import_count = 2;
        options.globals = globals, options.global_count = 3;
        options.memories = memories, options.memory_count = 1;
        options.wasi = &wasi;
        tw_instance *instance = spawn(module, &options);
        assert_int_equal(result(instance, module, "a", 0), 70);
        assert_int_equal(result(instance, module, "b", 0), 80);
        assert_int_equal(result(instance, module, "y", 0), 0);
        assert_int_equal(result(instance, module, "w", 0), 2);
        assert_int_equal(result(instance, module, "t", 0), 70); /* the host's */
        assert_int_equal(result(instance, module, "t", 3), 80);
        assert_int_equal(result(instance, module, "t", 4), 9);  /* the second segment came over the first: it is one table */
        assert_int_equal(result(instance, module, "u", 5), 9);
        assert_int_equal(result(instance, module, "u", 1), 80);
        OK(tw_global_get(c, &count, &error));
        assert_int_equal(count.of.i64, 2 * (capturable + 1));
        tw_instance_free(instance);
    }
    tw_table_free(table);
    tw_global_free(tb), tw_global_free(mb), tw_global_free(c);
    tw_module_free(module);
}

/* ---- captures ---- */

static void hosts_functions_cant_be_captured(void **state)
{
    (void)state;
    use_handlers();
    tw_module *module = module_of(over_text);
    tw_table *table = filled(6, 8), *other = filled(5, 9), *large = filled(9, 9), *small = table_of(4, 6);
    tw_instance *instance = spawn_with(module, table, true), *copy;
    file f;
    assert_int_equal(try_capture(instance, writer, &f), TW_UNSUPPORTED);
    assert_non_null(strstr(error.message, "slot 0 of table 0 holds a function from outside"));
    outcome_of(instance, module, "clear", 0);
    assert_int_equal(try_capture(instance, writer, &f), TW_UNSUPPORTED);
    assert_non_null(strstr(error.message, "slot 2 of table 0 holds a function from outside"));
    outcome_of(instance, module, "clear", 2);
    outcome_of(instance, module, "grow", 0);
    f = capture(instance, writer);
    tw_import_table import = {"env", "t", large};
    tw_spawn_options options = offering(&import, 1);
    assert_int_equal(try_restore(module, f, &options, &copy), TW_INVALID_ARGUMENT);
    assert_non_null(strstr(error.message, "more than the snapshot's 7 elements"));
    import.table = small;
    assert_int_equal(try_restore(module, f, &options, &copy), TW_LIMIT);
    import.table = table;
    assert_int_equal(try_restore(module, f, &options, &copy), TW_BUSY);
    import.table = other; /* what the host has put there goes */
    OK(try_restore(module, f, &options, &copy));
    file again = capture(copy, writer);
    assert_int_equal(f.size, again.size);
    assert_memory_equal(f.bytes, again.bytes, f.size);
    traps(copy, module, "call", 0, "uninitialized table element");
    assert_int_equal(result(copy, module, "call", 5), 3);
    tw_snapshot *snapshot = read_file(f);
    uint8_t *baked;
    size_t size;
    assert_int_equal(tw_module_bake(module, snapshot, NULL, &baked, &size, &error), TW_UNSUPPORTED);
    assert_non_null(strstr(error.message, "imports the table \"env\".\"t\""));
    tw_snapshot_free(snapshot);
    tw_instance_free(instance), tw_instance_free(copy);
    tw_table_free(table), tw_table_free(other), tw_table_free(large), tw_table_free(small);
    free(f.bytes), free(again.bytes);
    tw_module_free(module);
}

/* ---- new ones ---- */

/* The same module, but that its tables are imported. */
static tw_module *importing_tables(void)
{
    static const char own[] = "(table $t 4 30 funcref) (table $u 2 funcref)", head[] = "(module ";
    static const char imports[] = "(import \"env\" \"t\" (table $t 4 30 funcref)) (import \"env\" \"u\" (table $u 2 funcref)) ";
    char *other = malloc(strlen(all_text) + sizeof imports);
    const char *at = strstr(all_text, own);
    assert_non_null(at);
    sprintf(other, "%s%s%.*s%s", head, imports, (int)(at - all_text - (long)strlen(head)), all_text + strlen(head), at + strlen(own));
    tw_module *module = module_of(other);
    free(other);
    return module;
}

static const tw_import_table new_ones[] = {{"env", "t", NULL}, {"env", "u", NULL}};

static void same_captures(tw_instance *a, tw_instance *b)
{
    file x = capture(a, writer), y = capture(b, writer);
    assert_int_equal(x.size, y.size);
    assert_memory_equal(x.bytes, y.bytes, x.size);
    free(x.bytes), free(y.bytes);
}

static void new_and_own_tables_work_alike(void **state)
{
    (void)state;
    use_handlers();
    tw_module *own = module_of(all_text), *module = importing_tables();
    tw_spawn_options options = offering(new_ones, 2);
    for (uint32_t seed = 1; seed <= 20; seed++) {
        tw_instance *a = spawn(own, NULL), *b = spawn(module, &options), *copy;
        uint32_t at = seed;
        for (int i = 0; i < 60; i++) { /* messages name places, which are others */
            const char *name = all_names[(next(&at) >> 8) % ALL];
            int32_t argument = (int32_t)(next(&at) >> 12 & 63);
            outcome x = outcome_of(a, own, name, argument), y = outcome_of(b, module, name, argument);
            assert_int_equal(x.status, y.status);
            assert_memory_equal(x.results, y.results, sizeof x.results);
        }
        same_memories(a, b);
        file f = capture(b, writer);
        OK(try_restore(module, f, &options, &copy));
        same_captures(b, copy);
        run_on(module, b, copy, all_names, ALL, 60, seed * 77);
        same_captures(b, copy);
        tw_instance_free(a), tw_instance_free(b), tw_instance_free(copy);
        free(f.bytes);
    }
    tw_module_free(own), tw_module_free(module);
}

static void a_pools_instances_have_new_ones(void **state)
{
    (void)state;
    use_handlers();
    tw_module *module = importing_tables();
    tw_spawn_options options = offering(new_ones, 2);
    tw_instance_pool *pool = pool_of(module, &options);
    static const char *const names[] = {"table_null", "ref", "change", "store", "grow", "globals"};
    int reused = 0;
    for (uint32_t seed = 1; seed <= 40; seed++) {
        reused += tw_instance_pool_idle(pool) > 0;
        tw_instance *pooled = take(pool), *fresh = spawn(module, &options);
        same_captures(pooled, fresh);
        run_on(module, pooled, fresh, names, sizeof names / sizeof *names, 10, seed);
        for (int i = 0; i < 4; i++) /* none traps: what trapped isn't used again */
            assert_int_equal(outcome_of(pooled, module, "table_set", (int32_t)(seed + 3 * (uint32_t)i) % 4).status, TW_OK);
        if (seed % 3 == 0) outcome_of(pooled, module, "table_init", 1);
        if (seed % 10 == 0) outcome_of(pooled, module, "table_grow", 1);
        tw_instance_free(fresh);
        tw_instance_pool_give(pool, pooled);
    }
    assert_int_equal(reused, 39 - 3); /* a table that has grown can't be made smaller */
    tw_instance_pool_free(pool);
    tw_module_free(module);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(host_and_guest_fill_it),
        cmocka_unit_test(it_is_one_instances_at_a_time),
        cmocka_unit_test(what_doesnt_fit_is_refused),
        cmocka_unit_test(imports_of_all_kinds_are_told_apart),
        cmocka_unit_test(hosts_functions_cant_be_captured),
        cmocka_unit_test(new_and_own_tables_work_alike),
        cmocka_unit_test(a_pools_instances_have_new_ones),
    };
    return cmocka_run_group_tests(tests, set_up, tear_down);
}
