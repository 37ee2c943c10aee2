/* SPDX-License-Identifier: Apache-2.0 */
/* What a capture can't write down, put there by hand, since the public API lets no foreign function in: it is named. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "../../support/embedder.h"
#include "engine/engine.h"
#include "instance/runtime.h"

static tw_snapshot_writer *writer;

static tw_status nothing(void *context, tw_store *store, tw_raw *values, size_t count, tw_error *why)
{
    (void)context, (void)store, (void)values, (void)count, (void)why;
    return TW_OK;
}

static tw_status host_function(void *context, tw_host_call *host, const tw_val *args, tw_val *results, tw_error *why)
{
    (void)context, (void)host, (void)args, (void)results, (void)why;
    return TW_OK;
}

static tw_handle foreign(tw_instance *instance)
{
    tw_handle func;
    OK(tw_store_func_new(instance->store, NULL, 0, NULL, 0, nothing, NULL, &func, &error));
    return func;
}

static const char text[] = "(module (import \"env\" \"f\" (func $f)) (memory 1) (table $t (export \"t\") 4 funcref) (table $u (export \"u\") 7 funcref)"
                           "(global $g (export \"g\") (mut funcref) (ref.null func)) (elem (table $u) (i32.const 2) func $f $own) (func $own))";

static tw_instance *with_import(tw_module *module)
{
    static const tw_import_func import = {.module = "env", .name = "f", .call = host_function};
    tw_spawn_options options = usual();
    options.imports = &import, options.import_count = 1;
    return spawn(module, &options);
}

static void foreign_functions_are_named_by_table_and_slot(void **state)
{
    (void)state;
    use_handlers();
    tw_module *module = module_of(text);
    tw_instance *instance = with_import(module);
    tw_handle table, func = foreign(instance);
    file f = capture(instance, writer); /* an import is the module's: it is restored by its number */
    free(f.bytes);
    assert_true(tw_store_export(instance->store, "u", TW_HANDLE_TABLE, &table));
    assert_true(tw_store_table_set(instance->store, &table, 5, &func));
    assert_int_equal(try_capture(instance, writer, &f), TW_UNSUPPORTED);
    assert_non_null(strstr(error.message, "slot 5 of table 1 holds a function from outside the module"));
    assert_true(tw_store_table_set(instance->store, &table, 5, NULL));
    f = capture(instance, writer);
    free(f.bytes);
    tw_instance_free(instance);
    tw_module_free(module);
}

static void foreign_functions_in_globals_are_named(void **state)
{
    (void)state;
    use_handlers();
    tw_module *module = module_of(text);
    tw_instance *instance = with_import(module);
    tw_handle global, func = foreign(instance);
    file f;
    assert_true(tw_store_export(instance->store, "g", TW_HANDLE_GLOBAL, &global));
    assert_true(tw_store_global_set_func(instance->store, &global, &func));
    assert_int_equal(try_capture(instance, writer, &f), TW_UNSUPPORTED);
    assert_non_null(strstr(error.message, "global 0 holds a function from outside the module"));
    tw_instance_free(instance);
    tw_module_free(module);
}

/* Our own table, with host functions in it, is never looked at. */
static void the_stub_table_is_no_part_of_it(void **state)
{
    (void)state;
    use_handlers();
    tw_module *module = module_of("(module (memory (export \"memory\") 2) (func (export \"go\") (param i32) (local $i i32) (loop $l"
                                  " (f32.store offset=65536 (i32.shl (local.get $i) (i32.const 2)) (f32.load (i32.shl (local.get $i) (i32.const 2))))"
                                  " (br_if $l (i32.lt_u (local.tee $i (i32.add (local.get $i) (i32.const 1))) (i32.const 8192))))))");
    tw_instance *instance = spawn(module, NULL);
    tw_val results[4];
    OK(call(instance, module, "go", 0, results));
    assert_non_null(instance->stubs);
    file f = capture(instance, writer);
    tw_snapshot_reader *reader;
    tw_snapshot *snapshot;
    OK(tw_snapshot_reader_new(NULL, &reader, &error));
    OK(tw_snapshot_restore(reader, f.bytes, f.size, &snapshot, NULL, &error));
    assert_int_equal(snapshot->registers.size, 4 + 4 + 32 + 8 + 8 + 4 + 4 + 4 + 1); /* no global, no table, no drop, no WASI */
    tw_snapshot_free(snapshot);
    tw_snapshot_reader_free(reader);
    free(f.bytes);
    tw_instance_free(instance);
    tw_module_free(module);
}

static int begin(void **state)
{
    (void)state;
    return engine_begins(TW_OFFLOAD_FORCE, false) || tw_snapshot_writer_new(NULL, &writer, &error);
}

static int end(void **state)
{
    (void)state;
    tw_snapshot_writer_free(writer);
    engine_ends();
    return 0;
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(foreign_functions_are_named_by_table_and_slot),
        cmocka_unit_test(foreign_functions_in_globals_are_named),
        cmocka_unit_test(the_stub_table_is_no_part_of_it),
    };
    return cmocka_run_group_tests(tests, begin, end);
}
