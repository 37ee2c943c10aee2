/* SPDX-License-Identifier: Apache-2.0 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "engine/engine.h"
#include "../../handlers.h"

static tw_core *core;
static const uint8_t i32 = 0x7F, v128 = 0x7B;

static tw_code *code_of(const char *text)
{
    tw_bytes binary = {0};
    tw_error error;
    tw_code *code = NULL;
    if (tw_core_assemble(text, strlen(text), &binary, &error) != TW_OK ||
        tw_code_new(core, (const uint8_t *)binary.data, binary.size, &code, &error) != TW_OK)
        fail_msg("%s", error.message);
    tw_bytes_free(&binary);
    return code;
}

typedef struct fixture {
    tw_store *store;
    tw_ending ending;
} fixture;

static void open_with(fixture *f, const char *text, const tw_link_func *funcs, const tw_binding *bindings, size_t count)
{
    tw_error error;
    tw_code *code = code_of(text);
    tw_link *link = NULL;
    if (tw_link_new(code, &(tw_link_imports){.funcs = funcs, .func_count = count}, &link, &error) != TW_OK) fail_msg("%s", error.message);
    tw_store_options options = {.bindings = bindings, .max_memory = 1 << 24, .max_table = 1000};
    f->store = NULL;
    tw_store_new(link, &options, &f->store, &f->ending);
    tw_link_free(link);
    tw_code_free(code);
}

static void open_plain(fixture *f, const char *text)
{
    open_with(f, text, NULL, NULL, 0);
    if (f->ending.status != TW_OK) fail_msg("%s", f->ending.error.message);
}

static tw_status call(fixture *f, const char *name, tw_raw *values, size_t count)
{
    tw_handle func;
    assert_true(tw_store_export(f->store, name, TW_HANDLE_FUNC, &func));
    return tw_store_call(f->store, &func, values, count, &f->ending);
}

static void the_slot_is_the_guests_memory(void **state)
{
    (void)state;
    use_handlers();
    fixture f;
    open_plain(&f, "(module (memory (export \"m\") 1 100) (data (i32.const 8) \"hello\")"
                   "(func (export \"st\") (param i32 i32) local.get 0 local.get 1 i32.store)"
                   "(func (export \"grow\") (param i32) (result i32) local.get 0 memory.grow))");
    tw_slot *slot = tw_store_slot(f.store, 0);
    assert_non_null(slot);
    assert_null(tw_store_slot(f.store, 1));
    assert_memory_equal(slot->base + 8, "hello", 5);
    tw_raw values[2] = {{.i32 = 65532}, {.i32 = 0x01020304}};
    assert_int_equal(call(&f, "st", values, 2), TW_OK);
    assert_memory_equal(slot->base + 65532, "\4\3\2\1", 4);
    values[0].i32 = 65533;
    assert_int_equal(call(&f, "st", values, 2), TW_TRAP);
    assert_int_equal(f.ending.trap, TW_TRAP_MEMORY_OUT_OF_BOUNDS);
    values[0].i32 = 3;
    assert_int_equal(call(&f, "grow", values, 1), TW_OK);
    assert_int_equal(values[0].i32, 1);
    assert_int_equal(slot->size, 4 * 65536);
    tw_handle memory;
    size_t size;
    assert_true(tw_store_export(f.store, "m", TW_HANDLE_MEMORY, &memory));
    assert_ptr_equal(tw_store_memory(f.store, &memory, &size), slot->base);
    assert_int_equal(size, 4 * 65536);
    values[0].i32 = 97;
    assert_int_equal(call(&f, "grow", values, 1), TW_OK);
    assert_int_equal(values[0].i32, -1);
    tw_store_free(f.store);
}

static void limits_of_memory_and_table_hold(void **state)
{
    (void)state;
    use_handlers();
    fixture f;
    open_plain(&f, "(module (memory 1) (table (export \"t\") 10 funcref) (func (export \"grow\") (param i32) (result i32)"
                   "local.get 0 memory.grow) (func (export \"tgrow\") (param i32) (result i32)"
                   "ref.null func local.get 0 table.grow))");
    tw_raw values[1] = {{.i32 = 255}};
    assert_int_equal(call(&f, "grow", values, 1), TW_OK);
    assert_int_equal(values[0].i32, 1);
    values[0].i32 = 1;
    assert_int_equal(call(&f, "grow", values, 1), TW_OK);
    assert_int_equal(values[0].i32, -1); /* 16 MiB are the limit */
    values[0].i32 = 991;
    assert_int_equal(call(&f, "tgrow", values, 1), TW_OK);
    assert_int_equal(values[0].i32, -1);
    values[0].i32 = 990;
    assert_int_equal(call(&f, "tgrow", values, 1), TW_OK);
    assert_int_equal(values[0].i32, 10);
    tw_store_free(f.store);
    open_with(&f, "(module (memory 300))", NULL, NULL, 0);
    assert_int_equal(f.ending.status, TW_LIMIT);
    tw_store_free(f.store);
}

static void traps_have_kind_and_frames(void **state)
{
    (void)state;
    use_handlers();
    static const struct { const char *body; tw_trap trap; } cases[] = {
        {"unreachable", TW_TRAP_UNREACHABLE},
        {"(drop (i32.div_s (i32.const 1) (i32.const 0)))", TW_TRAP_INTEGER_DIVISION_BY_ZERO},
        {"(drop (i32.div_s (i32.const 0x80000000) (i32.const -1)))", TW_TRAP_INTEGER_OVERFLOW},
        {"(drop (i32.trunc_f64_s (f64.const nan)))", TW_TRAP_BAD_CONVERSION_TO_INTEGER},
        {"(drop (i32.load (i32.const -1)))", TW_TRAP_MEMORY_OUT_OF_BOUNDS},
        {"(call_indirect (i32.const 0))", TW_TRAP_INDIRECT_CALL_TO_NULL},
        {"(call_indirect (i32.const 1))", TW_TRAP_BAD_SIGNATURE},
        {"(call_indirect (i32.const 9))", TW_TRAP_TABLE_OUT_OF_BOUNDS},
        {"(call 1)", TW_TRAP_STACK_OVERFLOW},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        tw_bytes text = {0};
        tw_bytes_printf(&text, "(module (memory 1) (table 2 funcref) (elem (i32.const 1) $g) (func $g (param i64))"
                               "(func %s) (func (export \"f\") (call 1)))", cases[i].body);
        fixture f;
        open_plain(&f, text.data);
        assert_int_equal(call(&f, "f", NULL, 0), TW_TRAP);
        assert_int_equal(f.ending.trap, cases[i].trap);
        assert_true(f.ending.frame_count >= 2);
        assert_int_equal(f.ending.frames[0].function, 1);
        uint32_t at = cases[i].trap == TW_TRAP_STACK_OVERFLOW; /* its first frame was never entered: no offset */
        if (at) assert_true(f.ending.frames[0].offset == TW_NO_OFFSET);
        assert_true(f.ending.frames[at].offset > 8 && f.ending.frames[at].offset < 200);
        if (cases[i].trap != TW_TRAP_STACK_OVERFLOW) assert_int_equal(f.ending.frames[1].function, 2);
        tw_store_free(f.store);
        tw_bytes_free(&text);
    }
}

static tw_status add(void *context, tw_store *store, tw_raw *values, size_t count, tw_error *error)
{
    (void)store, (void)error;
    assert_true(count >= 2);
    values[0].i32 += values[1].i32 + *(int *)context;
    return TW_OK;
}

static tw_status refuse(void *context, tw_store *store, tw_raw *values, size_t count, tw_error *error)
{
    (void)context, (void)store, (void)values, (void)count;
    return tw_fail(error, TW_BUSY, "not today");
}

static void host_functions_answer_and_their_failures_come_back(void **state)
{
    (void)state;
    use_handlers();
    const uint8_t two[] = {i32, i32};
    int offset = 100;
    const tw_link_func funcs[] = {
        {.module = "h", .name = "add", .params = two, .param_count = 2, .results = two, .result_count = 1},
        {.module = "h", .name = "refuse"},
    };
    const tw_binding bindings[] = {{add, &offset}, {refuse, NULL}};
    fixture f;
    open_with(&f, "(module (import \"h\" \"add\" (func $a (param i32 i32) (result i32))) (import \"h\" \"refuse\" (func $r))"
                  "(func (export \"f\") (result i32) (call $a (i32.const 3) (i32.const 4))) (func (export \"g\") call $r))",
              funcs, bindings, 2);
    tw_raw values[1];
    assert_int_equal(call(&f, "f", values, 1), TW_OK);
    assert_int_equal(values[0].i32, 107);
    assert_int_equal(call(&f, "g", values, 0), TW_BUSY);
    assert_int_equal(f.ending.error.status, TW_BUSY);
    assert_string_equal(f.ending.error.message, "not today");
    assert_int_equal(f.ending.frame_count, 1);
    assert_int_equal(call(&f, "f", values, 1), TW_OK);
    tw_store_free(f.store);
}

static void unknown_imports_are_refused(void **state)
{
    (void)state;
    use_handlers();
    tw_error error;
    tw_link *link = NULL;
    tw_code *code = code_of("(module (import \"h\" \"x\" (func)))");
    assert_int_equal(tw_link_new(code, &(tw_link_imports){0}, &link, &error), TW_LINK);
    tw_code_free(code);
    code = code_of("(module (import \"h\" \"x\" (func (param i64))))");
    const tw_link_func func = {.module = "h", .name = "x", .params = &i32, .param_count = 1};
    assert_int_equal(tw_link_new(code, &(tw_link_imports){.funcs = &func, .func_count = 1}, &link, &error), TW_LINK);
    tw_code_free(code);
}

static void a_stub_is_put_into_a_table_and_called_through_it(void **state)
{
    (void)state;
    use_handlers();
    fixture f;
    open_plain(&f, "(module (type $t (func (param i32 i32) (result i32))) (table (export \"tw:stubs\") 2 funcref)"
                   "(global (export \"g\") (mut i32) (i32.const 5)) (global (export \"h\") (mut i64) (i64.const 6))"
                   "(global (export \"c\") i32 (i32.const 7))"
                   "(func (export \"f\") (result i32) (call_indirect (type $t) (i32.const 1) (i32.const 2) (i32.const 1))))");
    tw_handle table, stub, global;
    tw_raw values[1];
    assert_true(tw_store_export(f.store, "tw:stubs", TW_HANDLE_TABLE, &table));
    assert_false(tw_store_export(f.store, "tw:stubs", TW_HANDLE_FUNC, &stub));
    assert_int_equal(tw_store_table_size(f.store, &table), 2);
    assert_int_equal(call(&f, "f", values, 1), TW_TRAP);
    int offset = 10;
    const uint8_t two[] = {i32, i32};
    assert_int_equal(tw_store_func_new(f.store, two, 2, two, 1, add, &offset, &stub, NULL), TW_OK);
    assert_true(tw_store_table_set(f.store, &table, 1, &stub));
    assert_false(tw_store_table_set(f.store, &table, 2, &stub));
    assert_int_equal(call(&f, "f", values, 1), TW_OK);
    assert_int_equal(values[0].i32, 13);
    assert_true(tw_store_table_set(f.store, &table, 1, NULL));
    assert_int_equal(call(&f, "f", values, 1), TW_TRAP);
    assert_true(tw_store_export(f.store, "g", TW_HANDLE_GLOBAL, &global));
    assert_true(tw_store_global_set_i32(f.store, &global, 77));
    assert_false(tw_store_global_set_i64(f.store, &global, 77));
    tw_store_global_get(f.store, &global, values);
    assert_int_equal(values[0].i32, 77);
    assert_true(tw_store_export(f.store, "h", TW_HANDLE_GLOBAL, &global));
    assert_true(tw_store_global_set_i64(f.store, &global, INT64_C(1) << 40));
    tw_store_global_get(f.store, &global, values);
    assert_int_equal(values[0].i64, INT64_C(1) << 40);
    assert_true(tw_store_export(f.store, "c", TW_HANDLE_GLOBAL, &global));
    assert_false(tw_store_global_set_i32(f.store, &global, 1));
    tw_store_free(f.store);
}

static tw_status swap_halves(void *context, tw_store *store, tw_raw *values, size_t count, tw_error *error)
{
    (void)context, (void)store, (void)error;
    assert_int_equal(count, 1);
    tw_raw in = values[0];
    memcpy(values[0].v128, in.v128 + 8, 8);
    memcpy(values[0].v128 + 8, in.v128, 8);
    return TW_OK;
}

static void v128_crosses_in_every_direction(void **state)
{
    (void)state;
    use_handlers();
    const tw_link_func func = {
        .module = "h", .name = "swap", .params = &v128, .param_count = 1, .results = &v128, .result_count = 1};
    const tw_binding binding = {swap_halves, NULL};
    fixture f;
    open_with(&f, "(module (import \"h\" \"swap\" (func $s (param v128) (result v128)))"
                  "(func (export \"f\") (param v128 v128) (result v128 i64)"
                  "(call $s (i64x2.add (local.get 0) (local.get 1))) (i64.const 9)))",
              &func, &binding, 1);
    tw_raw values[2];
    uint64_t a[2] = {1, 2}, b[2] = {10, 20}, sum[2];
    memcpy(values[0].v128, a, 16);
    memcpy(values[1].v128, b, 16);
    assert_int_equal(call(&f, "f", values, 2), TW_OK);
    memcpy(sum, values[0].v128, 16);
    assert_int_equal(sum[0], 22);
    assert_int_equal(sum[1], 11);
    assert_int_equal(values[1].i64, 9);
    tw_store_free(f.store);
}

static void text_and_validation_errors_name_the_place(void **state)
{
    (void)state;
    use_handlers();
    tw_bytes binary = {0};
    tw_error error;
    assert_int_equal(tw_core_assemble("(module (func", 13, &binary, &error), TW_MALFORMED);
    assert_int_equal(binary.size, 0);
    const char *text = "(module (func (result i32)))";
    assert_int_equal(tw_core_assemble(text, strlen(text), &binary, &error), TW_OK);
    assert_int_equal(tw_core_validate(core, (const uint8_t *)binary.data, binary.size, &error), TW_INVALID);
    assert_non_null(strstr(error.message, "offset 0x"));
    tw_bytes_free(&binary);
}

static int set_up(void **state)
{
    (void)state;
    tw_core_options options = {.max_stack = 1 << 19};
    if (tw_core_new(&options, &core, NULL) != TW_OK) return 1;
    keep_handlers();
    return 0;
}

static int tear_down(void **state)
{
    (void)state;
    tw_core_free(core);
    tw_slot_trim();
    return 0;
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(the_slot_is_the_guests_memory),
        cmocka_unit_test(limits_of_memory_and_table_hold),
        cmocka_unit_test(traps_have_kind_and_frames),
        cmocka_unit_test(host_functions_answer_and_their_failures_come_back),
        cmocka_unit_test(unknown_imports_are_refused),
        cmocka_unit_test(a_stub_is_put_into_a_table_and_called_through_it),
        cmocka_unit_test(v128_crosses_in_every_direction),
        cmocka_unit_test(text_and_validation_errors_name_the_place),
    };
    return cmocka_run_group_tests(tests, set_up, tear_down);
}
