/* SPDX-License-Identifier: Apache-2.0 */
#include "../wasm/wat.h"

#include "lift/lift.h"

enum { MEMORY = 64 << 20 };

typedef struct lifted {
    bytes wasm;
    tw_wasm module;
    tw_ir_func *func;
} lifted;

static lifted lift_wat(const char *text, uint32_t func)
{
    lifted l = {.wasm = wat(WAT_FEATURES, text)};
    tw_error error = {0};
    assert_int_equal(tw_wasm_decode((tw_span){l.wasm.data, l.wasm.size}, NULL, &l.module, &error), TW_OK);
    assert_int_equal(tw_wasm_check_bodies(&l.module, NULL, &error), TW_OK);
    if (tw_lift(&l.module, func, MEMORY, &l.func, &error) != TW_OK) fail_msg("%s", error.message);
    if (tw_ir_verify(l.func, &l.module, &error) != TW_OK) fail_msg("%s", error.message);
    return l;
}

static void drop(lifted *l)
{
    tw_ir_func_free(l->func);
    tw_wasm_free(&l->module);
    free(l->wasm.data);
}

static void expect_text(const tw_ir_func *func, const char *text)
{
    tw_bytes out = {0};
    tw_ir_print(func, &out);
    if (strcmp(out.data, text) != 0) fail_msg("%s", out.data);
    tw_bytes_free(&out);
}

/* Code that stores every local at a fixed place says which values the locals have there: the n-th store from the block's
 * end (or beginning) has local n. */
#define SHOW(address) \
    "(i32.store (i32.const " address ") (local.get 0)) (i32.store (i32.const " address ") (local.get 1))" \
    "(i32.store (i32.const " address ") (local.get 2)) (i32.store (i32.const " address ") (local.get 3))"

static const char shown[] =
    "(module (memory 1) (func (export \"f\") (param i32 i32) (local i32 i32)"
    " (local.set 2 (i32.const 5))"
    " (loop $outer " SHOW("64")
    "  (local.set 3 (i32.add (local.get 0) (local.get 3)))"
    "  (if (local.get 1) (then (local.set 2 (i32.load (local.get 3))) " SHOW("128") ") (else (local.set 1 (local.get 3))" SHOW("128") "))"
    "  (loop $inner " SHOW("64")
    "   (local.set 0 (i32.sub (local.get 0) (i32.const 1)))"
    "   " SHOW("128")
    "   (br_if $inner (local.get 0)))"
    "  (block (local.set 3 (i32.mul (local.get 3) (local.get 2))) (br_if 0 (local.get 3)) (local.set 1 (i32.load (i32.const 8))))"
    "  " SHOW("128")
    "  (br_if $outer (local.get 1)))"
    " (i32.store (i32.const 0) (i32.add (local.get 0) (i32.add (local.get 1) (i32.add (local.get 2) (local.get 3)))))))";

static bool stores_at(const tw_ir_func *func, const tw_ir_blockdata *block, uint32_t place, uint32_t address)
{
    const tw_ir_inst *inst = &func->insts[block->insts[place]];
    return inst->op == TW_OP_I32_STORE && func->values[inst->args[0]].kind == TW_IR_CONST &&
           func->values[inst->args[0]].bits[0] == address;
}

static void headers_know_which_value_each_local_has(void **state)
{
    (void)state;
    lifted l = lift_wat(shown, 0);
    unsigned headers = 0;
    for (uint32_t b = 0; b < l.func->block_count; b++) {
        const tw_ir_blockdata *block = &l.func->blocks[b];
        if (block->loop_offset == TW_NO_OFFSET) {
            assert_null(block->local_values);
            continue;
        }
        headers++;
        assert_int_equal(l.wasm.data[block->loop_offset], 0x03); /* the opcode of loop */
        for (uint32_t i = 0; i < 4; i++) {
            assert_true(stores_at(l.func, block, i, 64));
            assert_int_equal(block->local_values[i], l.func->insts[block->insts[i]].args[1]);
        }
    }
    assert_int_equal(headers, 2);
    drop(&l);
}

static void ends_of_blocks_know_which_value_each_local_has(void **state)
{
    (void)state;
    lifted l = lift_wat(shown, 0);
    unsigned shows = 0;
    for (uint32_t b = 0; b < l.func->block_count; b++) {
        const tw_ir_blockdata *block = &l.func->blocks[b];
        uint32_t n = block->inst_count;
        if (n < 4 || !stores_at(l.func, block, n - 1, 128)) continue;
        shows++;
        tw_ir_value values[4];
        assert_true(tw_ir_locals_at_end(l.func, b, values));
        for (uint32_t i = 0; i < 4; i++) assert_int_equal(values[i], l.func->insts[block->insts[n - 4 + i]].args[1]);
    }
    assert_int_equal(shows, 4);
    drop(&l);
}

static void a_local_nothing_depends_on_is_dead(void **state)
{
    (void)state;
    lifted l = lift_wat("(module (func (export \"f\") (param i32 i32) (result i32) (local i32)"
                        " (loop (local.set 2 (i32.mul (local.get 2) (local.get 1)))"
                        "  (br_if 0 (local.tee 0 (i32.sub (local.get 0) (i32.const 1))))) (local.get 0)))", 0);
    const tw_ir_blockdata *header = &l.func->blocks[1];
    assert_int_not_equal(header->loop_offset, TW_NO_OFFSET);
    assert_int_equal(header->param_count, 1);
    assert_int_equal(header->local_values[0], header->first_param);
    assert_int_equal(header->local_values[1], 2); /* the function's second parameter: alive or not, it has its value */
    assert_int_equal(header->local_values[2], 0);
    drop(&l);
}

static void dead_code_leaves_nothing(void **state)
{
    (void)state;
    lifted l = lift_wat("(module (func (export \"f\") (param i32) (result i32)"
                        " (block (result i32) (br 0 (local.get 0)) (loop (br 0)) (if (result i32) (then (i32.const 1)) (else (i32.const 2)))"
                        "  (block unreachable) (drop) (i32.const 9))))", 0);
    l.func->blocks[0].offset = l.func->blocks[0].term_offset = TW_NO_OFFSET;
    expect_text(l.func, "func 0 \"f\" (i32) -> (i32) {\nb0(v1: i32):\n  return v1\n}\n");
    drop(&l);
}

static void constructs_with_parameters_and_several_results(void **state)
{
    (void)state;
    lifted l = lift_wat("(module (func (export \"f\") (param i32) (result i32 i64)"
                        " (i32.const 3) (i64.const 4)"
                        " (loop (param i32 i64) (result i32 i64)"
                        "  (block (param i32 i64) (result i32 i64) (local.set 0 (i32.add (local.get 0) (i32.const 1))) (i64.const 2) (i64.mul))"
                        "  (if (param i64) (result i64) (i32.lt_s (local.get 0) (i32.const 10)) (then (i64.add (i64.const 1))))"
                        "  (br_if 0 (local.get 0)))))", 0);
    /* the i32 goes round unchanged and is a constant; the i64 and the local are the header's */
    const tw_ir_blockdata *header = &l.func->blocks[1];
    assert_int_equal(header->param_count, 2);
    assert_int_equal(l.func->values[header->first_param].type, TW_I64);
    assert_int_equal(header->local_values[0], header->first_param + 1);
    drop(&l);
}

/* Nesting times locals is what costs: it ends at the limit, not in a long wait. */
static void hostile_nesting_meets_the_limit(void **state)
{
    (void)state;
    tw_bytes text = {0};
    tw_bytes_append_string(&text, "(module (func (export \"f\") (param i32) (local");
    for (int i = 0; i < 2000; i++) tw_bytes_append_string(&text, " i32");
    tw_bytes_append_string(&text, ")\n");
    for (int i = 0; i < 2000; i++) tw_bytes_append_string(&text, "block ");
    for (int i = 1; i < 2000; i++) tw_bytes_printf(&text, "local.get 0 br_if %d local.get 0 local.set %d\n", i, i);
    for (int i = 0; i < 2000; i++) tw_bytes_append_string(&text, "end ");
    tw_bytes_append_string(&text, "))");
    bytes wasm = wat(WAT_FEATURES, text.data);
    tw_wasm module;
    tw_error error;
    tw_ir_func *func;
    assert_int_equal(tw_wasm_decode((tw_span){wasm.data, wasm.size}, NULL, &module, &error), TW_OK);
    assert_int_equal(tw_lift(&module, 0, 4 << 20, &func, &error), TW_LIMIT);
    assert_int_equal(error.function, 0);
    assert_int_equal(tw_lift(&module, 0, (size_t)1 << 30, &func, &error), TW_OK);
    assert_int_equal(tw_ir_verify(func, &module, &error), TW_OK);
    tw_ir_func_free(func);
    tw_wasm_free(&module);
    free(wasm.data);
    tw_bytes_free(&text);
}

static void imports_have_no_body_to_lift(void **state)
{
    (void)state;
    bytes wasm = wat(WAT_FEATURES, "(module (import \"a\" \"b\" (func)))");
    tw_wasm module;
    tw_error error;
    tw_ir_func *func;
    assert_int_equal(tw_wasm_decode((tw_span){wasm.data, wasm.size}, NULL, &module, &error), TW_OK);
    assert_int_equal(tw_lift(&module, 0, MEMORY, &func, &error), TW_INVALID_ARGUMENT);
    assert_int_equal(tw_lift(&module, 7, MEMORY, &func, &error), TW_INVALID_ARGUMENT);
    tw_wasm_free(&module);
    free(wasm.data);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(headers_know_which_value_each_local_has),
        cmocka_unit_test(ends_of_blocks_know_which_value_each_local_has),
        cmocka_unit_test(a_local_nothing_depends_on_is_dead),
        cmocka_unit_test(dead_code_leaves_nothing),
        cmocka_unit_test(constructs_with_parameters_and_several_results),
        cmocka_unit_test(hostile_nesting_meets_the_limit),
        cmocka_unit_test(imports_have_no_body_to_lift),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
