/* SPDX-License-Identifier: Apache-2.0 */
/* A module with a state baked in goes on as the instance that the state was captured from: every result and the memory are
 * compared. What a module can't hold is refused. */
#include "live.h"

static tw_module *bake(tw_module *module, file f)
{
    tw_snapshot *snapshot = read_file(f);
    tw_module *made;
    uint8_t *bytes;
    size_t size;
    OK(tw_module_bake(module, snapshot, NULL, &bytes, &size, &error));
    OK(tw_module_new(engine, bytes, size, &made, &error));
    free(bytes);
    tw_snapshot_free(snapshot);
    return made;
}

static void a_baked_module_goes_on_as_the_original(void **state)
{
    (void)state;
    use_handlers();
    tw_module *module = module_of(all_text);
    for (uint32_t seed = 1; seed <= 60; seed++) {
        tw_instance *original = spawn(module, NULL);
        warm_up(module, original, (int)(seed * 2), seed);
        file f = capture(original, writer);
        tw_module *made = bake(module, f);
        tw_instance *copy = spawn(made, NULL);
        same_memories(original, copy);
        run_on_both(module, original, made, copy, all_names, ALL, 200, seed * 77);
        tw_instance_free(original);
        tw_instance_free(copy);
        tw_module_free(made);
        free(f.bytes);
    }
    tw_module_free(module);
}

/* A baked module's state is captured and baked again, many times over. */
static void it_can_be_baked_again(void **state)
{
    (void)state;
    use_handlers();
    tw_module *first = module_of(all_text), *module = first;
    tw_instance *original = spawn(first, NULL);
    for (uint32_t seed = 1; seed <= 8; seed++) {
        tw_instance *copy = spawn(module, NULL);
        run_on_both(first, original, module, copy, all_names, ALL, 25, seed);
        file f = capture(copy, writer);
        tw_module *made = bake(module, f);
        tw_instance_free(copy);
        if (module != first) tw_module_free(module);
        module = made;
        free(f.bytes);
    }
    tw_instance_free(original);
    tw_module_free(module);
    tw_module_free(first);
}

/* Bytes all over a memory: more runs than a module may have segments. */
static void scattered_bytes_are_all_there(void **state)
{
    (void)state;
    use_handlers();
    tw_module *module = module_of("(module (memory (export \"memory\") 200)"
                                  "(func (export \"scatter\") (param i32) (local $i i32) (loop $l"
                                  " (i32.store8 (local.get $i) (i32.const 7)) (br_if $l (i32.lt_u (local.tee $i (i32.add (local.get $i)"
                                  " (local.get 0))) (i32.const 13107200))))))");
    static const int32_t strides[] = {40, 1, 700, 17, 65535, 65536, 131072, 4194304};
    for (size_t i = 0; i < sizeof strides / sizeof *strides; i++) {
        tw_instance *original = spawn(module, NULL);
        outcome_of(original, module, "scatter", strides[i]);
        file f = capture(original, writer);
        tw_module *made = bake(module, f);
        tw_instance *copy = spawn(made, NULL);
        same_memories(original, copy);
        tw_instance_free(original);
        tw_instance_free(copy);
        tw_module_free(made);
        free(f.bytes);
    }
    tw_module_free(module);
}

static void a_table_with_many_gaps_is_whole(void **state)
{
    (void)state;
    use_handlers();
    tw_module *module = module_of("(module (memory (export \"memory\") 1) (type $f (func (result i32))) (table $a 1 funcref) (table $t 9000 funcref)"
                                  "(elem declare func $one) (func $one (result i32) (i32.const 1))"
                                  "(func (export \"fill\") (param i32) (local $i i32) (loop $l (table.set $t (local.get $i) (ref.func $one))"
                                  " (br_if $l (i32.lt_u (local.tee $i (i32.add (local.get $i) (local.get 0))) (i32.const 9000)))))"
                                  "(func (export \"at\") (param i32) (result i32) (call_indirect $t (type $f) (local.get 0))))");
    tw_instance *original = spawn(module, NULL);
    outcome_of(original, module, "fill", 2);
    file f = capture(original, writer);
    tw_module *made = bake(module, f);
    tw_instance *copy = spawn(made, NULL);
    for (int32_t i = 0; i < 9000; i += 37) {
        outcome x = outcome_of(original, module, "at", i), y = outcome_of(copy, made, "at", i);
        assert_int_equal(x.status, y.status);
        assert_int_equal(x.status == TW_OK, i % 2 == 0);
    }
    tw_instance_free(original);
    tw_instance_free(copy);
    tw_module_free(made);
    tw_module_free(module);
    free(f.bytes);
}

static void start_and_initialize_are_gone_and_after_restore_starts(void **state)
{
    (void)state;
    use_handlers();
    tw_module *module = module_of("(module (memory (export \"memory\") 1) (global $n (mut i32) (i32.const 0)) (global $i (mut i32) (i32.const 0))"
                                  "(func $start (global.set $n (i32.add (global.get $n) (i32.const 100)))) (start $start)"
                                  "(func (export \"_initialize\") (global.set $i (i32.add (global.get $i) (i32.const 1))))"
                                  "(func (export \"tw_after_restore\") (global.set $n (i32.add (global.get $n) (i32.const 1))))"
                                  "(func (export \"n\") (result i32 i32) (global.get $n) (global.get $i)))");
    tw_instance *original = spawn(module, NULL);
    outcome_of(original, module, "_initialize", 0);
    file f = capture(original, writer);
    tw_module *made = bake(module, f);
    tw_instance *copy = spawn(made, NULL);
    outcome o = outcome_of(copy, made, "n", 0);
    assert_int_equal(o.results[0].of.i32, 101);
    assert_int_equal(o.results[1].of.i32, 1);
    assert_int_equal(tw_instance_call(copy, "_initialize", NULL, 0, NULL, 0, &error), TW_NOT_FOUND);
    tw_instance_free(original);
    tw_instance_free(copy);
    tw_module_free(made);
    tw_module_free(module);
    free(f.bytes);
}

/* Functions that only a global's first value, or the export that goes, declared: code refers to them still. */
static void what_code_refers_to_stays_declared(void **state)
{
    (void)state;
    use_handlers();
    tw_module *module = module_of("(module (memory (export \"memory\") 1) (type $f (func (result i32))) (table 2 funcref)"
                                  "(func $a (result i32) (i32.const 41)) (global $g (mut funcref) (ref.func $a))"
                                  "(func $init (export \"_initialize\"))"
                                  "(func (export \"clear\") (global.set $g (ref.null func)))"
                                  "(func (export \"set\") (table.set (i32.const 0) (ref.func $a)) (table.set (i32.const 1) (ref.func $init)))"
                                  "(func (export \"call\") (result i32) (call_indirect (type $f) (i32.const 0))))");
    tw_instance *original = spawn(module, NULL);
    outcome_of(original, module, "clear", 0);
    file f = capture(original, writer);
    tw_module *made = bake(module, f);
    tw_instance *copy = spawn(made, NULL);
    assert_int_equal(outcome_of(copy, made, "call", 0).status, TW_TRAP);
    assert_int_equal(outcome_of(copy, made, "set", 0).status, TW_OK);
    assert_int_equal(outcome_of(copy, made, "call", 0).results[0].of.i32, 41);
    tw_instance_free(original);
    tw_instance_free(copy);
    tw_module_free(made);
    tw_module_free(module);
    free(f.bytes);
}

static tw_status try_bake(tw_module *module, file f, bool wasi_from_host)
{
    tw_bake_options options = TW_BAKE_OPTIONS_INIT;
    tw_snapshot *snapshot = read_file(f);
    uint8_t *bytes = NULL;
    size_t size = 0;
    options.wasi_from_host = wasi_from_host;
    tw_status status = tw_module_bake(module, snapshot, &options, &bytes, &size, &error);
    assert_int_equal(status == TW_OK, bytes != NULL);
    free(bytes);
    tw_snapshot_free(snapshot);
    return status;
}

static void what_a_module_cant_hold_is_refused(void **state)
{
    (void)state;
    use_handlers();
    tw_module *module = module_of("(module (import \"wasi_snapshot_preview1\" \"args_get\" (func (param i32 i32) (result i32)))"
                                  "(memory (export \"memory\") 1))"), *other = module_of("(module (memory (export \"memory\") 1))");
    tw_spawn_options options = usual();
    tw_wasi_options wasi = TW_WASI_OPTIONS_INIT;
    const char *args[] = {"name"}, *env[] = {"A=b"};
    wasi.env = env, wasi.env_count = 1;
    options.wasi = &wasi;
    tw_instance *without = spawn(module, &options);
    wasi.args = args, wasi.arg_count = 1;
    tw_instance *with = spawn(module, &options);
    file f = capture(without, writer), g = capture(with, writer);
    assert_int_equal(try_bake(module, f, false), TW_OK); /* it can't ask for its environment */
    assert_int_equal(try_bake(module, g, false), TW_UNSUPPORTED);
    assert_non_null(strstr(error.message, "arguments"));
    assert_int_equal(try_bake(module, g, true), TW_OK);
    assert_int_equal(try_bake(other, g, true), TW_INVALID_ARGUMENT);
    assert_non_null(strstr(error.message, "another module"));
    free(f.bytes), free(g.bytes);
    tw_instance_free(with);
    tw_instance_free(without);
    tw_module_free(module);
    tw_module_free(other);
}

/* Damaged registers are refused, or another state: never a module that isn't valid. */
static void damaged_registers_make_no_invalid_module(void **state)
{
    (void)state;
    use_handlers();
    tw_module *module = module_of(all_text);
    tw_instance *original = spawn(module, NULL);
    warm_up(module, original, 50, 3);
    file f = capture(original, writer);
    tw_snapshot *snapshot = read_file(f);
    uint8_t *copy = malloc(snapshot->registers.size), *bytes;
    size_t size, refused = 0;
    assert_non_null(copy);
    for (size_t bit = 0; bit < snapshot->registers.size * 8; bit++) {
        tw_snapshot damaged = *snapshot;
        memcpy(copy, snapshot->registers.data, snapshot->registers.size);
        copy[bit / 8] ^= (uint8_t)(1 << bit % 8);
        damaged.registers.data = copy;
        tw_status status = tw_module_bake(module, &damaged, NULL, &bytes, &size, &error);
        assert_true(status == TW_OK || status == TW_MALFORMED || status == TW_UNSUPPORTED || status == TW_INVALID_ARGUMENT);
        if (status == TW_OK) free(bytes);
        else refused++;
    }
    assert_true(refused > 100);
    free(copy);
    free(f.bytes);
    tw_snapshot_free(snapshot);
    tw_instance_free(original);
    tw_module_free(module);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_baked_module_goes_on_as_the_original),
        cmocka_unit_test(it_can_be_baked_again),
        cmocka_unit_test(scattered_bytes_are_all_there),
        cmocka_unit_test(a_table_with_many_gaps_is_whole),
        cmocka_unit_test(start_and_initialize_are_gone_and_after_restore_starts),
        cmocka_unit_test(what_code_refers_to_stays_declared),
        cmocka_unit_test(what_a_module_cant_hold_is_refused),
        cmocka_unit_test(damaged_registers_make_no_invalid_module),
    };
    return cmocka_run_group_tests(tests, set_up, tear_down);
}
