/* SPDX-License-Identifier: Apache-2.0 */
/* Exits of loops: their numbers, targets, and what the nest does with locals. */
#include "wat.h"

#include "wasm/nest.h"

typedef struct fixture {
    bytes b;
    tw_wasm module;
    tw_arena arena;
    tw_nest nest;
    uint64_t at[64]; /* offsets of the instructions of function 0, in order */
    uint32_t count;
} fixture;

/* Reads `which` loop of function 0. */
static void load(fixture *f, const char *text, int which)
{
    tw_error error;
    uint32_t locals;
    tw_reader reader;
    tw_instr instr;
    *f = (fixture){.b = wat(WAT_FEATURES, text)};
    tw_arena_init(&f->arena, TW_ARENA_NO_LIMIT);
    assert_int_equal(tw_wasm_decode((tw_span){f->b.data, f->b.size}, NULL, &f->module, &error), TW_OK);
    assert_int_equal(tw_wasm_check_bodies(&f->module, NULL, &error), TW_OK);
    assert_int_equal(tw_wasm_code(&f->module, f->module.imported_funcs, &reader, &locals, &error), TW_OK);
    uint64_t loop = 0;
    while (reader.at != reader.end) {
        assert_int_equal(tw_wasm_next(&reader, &instr, &error), TW_OK);
        f->at[f->count++] = instr.offset;
        if (instr.op == TW_OP_LOOP && which-- == 0) loop = instr.offset;
    }
    if (tw_wasm_nest(&f->module, f->module.imported_funcs, loop, &f->arena, &f->nest, &error) != TW_OK)
        fail_msg("%s", error.message);
}

static void unload(fixture *f)
{
    tw_arena_free(&f->arena);
    tw_wasm_free(&f->module);
    free(f->b.data);
}

static void exits_are_numbered_by_first_branch_and_falling_through_is_last(void **state)
{
    (void)state;
    fixture f;
    /* 0 block 1 block 2 loop 3 get 4 br_if 2(outer) 5 get 6 br_if 1(inner) 7 get 8 br_if 2(again) 9 get 10 br_if 0 11 end
     * 12 end 13 nop 14 end 15 end(function) */
    load(&f, "(module (func (param i32) block block loop local.get 0 br_if 2 local.get 0 br_if 1 local.get 0 br_if 2"
             " local.get 0 br_if 0 end end nop end))", 0);
    assert_int_equal(f.nest.exit_count, 3);
    assert_int_equal(f.nest.exits[0].depth, 1);
    assert_int_equal(f.nest.exits[0].target, f.at[15]);
    assert_int_equal(f.nest.exits[0].continues, f.at[15]);
    assert_int_equal(f.nest.exits[1].depth, 0);
    assert_int_equal(f.nest.exits[1].target, f.at[13]);
    assert_int_equal(f.nest.exits[1].continues, f.at[13]);
    assert_true(f.nest.exits[2].falls_through);
    assert_int_equal(f.nest.exits[2].target, f.at[12]);
    assert_int_equal(f.nest.exits[2].continues, f.at[13]); /* past the inner block's end */
    assert_int_equal(tw_nest_exit_number(&f.nest, 1), 1);
    assert_int_equal(tw_nest_exit_number(&f.nest, 0), 2);
    assert_int_equal(tw_nest_exit_number(&f.nest, 7), 0);
    assert_int_equal(tw_nest_fall_through(&f.nest), 3);
    assert_int_equal(tw_nest_exit_to(&f.nest, f.at[13]), 2);
    assert_int_equal(f.nest.loop_offset, f.at[2]);
    assert_int_equal(f.nest.first_offset, f.at[3]);
    assert_int_equal(f.nest.end_offset, f.at[11]);
    assert_false(f.nest.nested);
    unload(&f);
}

static void a_dead_end_that_calls_is_an_exit_of_its_own(void **state)
{
    (void)state;
    fixture f;
    /* 0 loop 1 get 2 if 3 get 4 call 5 unreachable 6 end 7 get 8 br_if 9 end 10 end */
    load(&f, "(module (func (param i32 i32) loop local.get 0 if local.get 1 call 1 unreachable end local.get 0 br_if 0 end)"
             " (func (param i32)))", 0);
    assert_int_equal(f.nest.call, 0);
    assert_int_equal(f.nest.exit_count, 2);
    assert_int_equal(f.nest.exits[0].dead_end, f.at[3]);
    assert_int_equal(f.nest.exits[0].dead_end_end, f.at[6]);
    assert_true(f.nest.exits[1].falls_through);
    assert_int_equal(f.nest.touched[0], TW_NEST_READ);
    assert_int_equal(f.nest.touched[1], TW_NEST_AT_DEAD_END);
    assert_ptr_equal(tw_nest_dead_end(&f.nest, f.at[3]), &f.nest.exits[0]);
    assert_null(tw_nest_dead_end(&f.nest, f.at[4]));
    assert_int_equal(tw_nest_exit_number(&f.nest, 0), 0);
    unload(&f);
}

/* What takes operands from before it, branches, or goes on isn't one; and one that doesn't call may stay where it is. */
static void what_only_looks_like_a_dead_end_stays(void **state)
{
    (void)state;
    static const char *const texts[] = {
        "(module (func (param i32) (local i32) loop local.get 0 local.get 0 br_if 0 call 1 unreachable end) (func (param i32)))",
        "(module (func (param i32) loop local.get 0 if local.get 0 call 1 local.get 0 br_if 1 unreachable end local.get 0 br_if 0 end)"
        " (func (param i32)))",
        "(module (func (param i32) loop local.get 0 if local.get 0 call 1 end local.get 0 br_if 0 end) (func (param i32)))"};
    for (size_t i = 0; i < sizeof texts / sizeof *texts; i++) {
        fixture f;
        load(&f, texts[i], 0);
        assert_int_not_equal(f.nest.call, 0);
        for (uint32_t e = 0; e < f.nest.exit_count; e++) assert_int_equal(f.nest.exits[e].dead_end, 0);
        unload(&f);
    }
    fixture f;
    load(&f, "(module (func (param i32) loop local.get 0 if unreachable end local.get 0 br_if 0 end))", 0);
    assert_int_equal(f.nest.exit_count, 1);
    assert_true(f.nest.exits[0].falls_through);
    unload(&f);
}

static void dead_code_gives_no_exits(void **state)
{
    (void)state;
    fixture f;
    load(&f, "(module (func (param i32) block loop br 0 br 1 call 0 end end))", 0);
    assert_int_equal(f.nest.exit_count, 0);
    assert_int_equal(f.nest.call, 0);
    unload(&f);
    load(&f, "(module (func (param i32) block loop local.get 0 if br 1 else br 2 end local.get 0 br_if 2 end end))", 0);
    assert_int_equal(f.nest.exit_count, 1);
    assert_int_equal(f.nest.exits[0].depth, 0);
    unload(&f);
}

static void return_is_a_branch_to_the_function(void **state)
{
    (void)state;
    fixture f;
    load(
        &f,
        "(module (func (param i32) (result i32) block loop local.get 0 if i32.const 1 return end br 0 end end i32.const 0))",
        0);
    assert_int_equal(f.nest.exit_count, 1);
    assert_int_equal(f.nest.exits[0].depth, 1);
    assert_int_equal(f.nest.exits[0].arity, 1);
    unload(&f);
}

static void an_exit_may_be_the_next_round_of_an_outer_loop(void **state)
{
    (void)state;
    fixture f;
    load(&f, "(module (func (param i32) loop loop local.get 0 br_if 0 local.get 0 br_if 1 end nop end))", 1);
    assert_int_equal(f.nest.exit_count, 2);
    assert_int_equal(f.nest.exits[0].depth, 0);
    assert_int_equal(f.nest.exits[0].target, f.at[0]);
    assert_int_equal(f.nest.exits[0].continues, f.at[0]);
    unload(&f);
}

static void going_on_from_a_first_arm_is_after_the_if(void **state)
{
    (void)state;
    fixture f;
    /* 0 get 1 if 2 loop 3 get 4 br_if 5 end 6 else 7 nop 8 end 9 nop 10 end */
    load(&f, "(module (func (param i32) local.get 0 if loop local.get 0 br_if 0 end else nop end nop))", 0);
    assert_int_equal(f.nest.exit_count, 1);
    assert_true(f.nest.exits[0].falls_through);
    assert_int_equal(f.nest.exits[0].continues, f.at[9]);
    unload(&f);
}

static void locals_and_offending_instructions_are_noted(void **state)
{
    (void)state;
    fixture f;
    load(
        &f,
        "(module (memory 1) (table 1 funcref) (func (param i32 i32 i32) (local f64) loop (param) local.get 0 local.tee 1 drop"
        " loop (br_if 1 (memory.grow (i32.const 0))) end (drop (table.size 0)) call 1 end) (func))",
        0);
    assert_int_equal(f.nest.touched[0], TW_NEST_READ);
    assert_int_equal(f.nest.touched[1], TW_NEST_WRITTEN);
    assert_int_equal(f.nest.touched[2], 0);
    assert_true(f.nest.nested);
    assert_true(f.nest.grow && f.nest.table && f.nest.call);
    assert_int_equal(f.b.data[f.nest.grow], 0x40);
    assert_int_equal(f.b.data[f.nest.call], 0x10);
    unload(&f);
}

static void a_place_without_a_loop_is_not_found(void **state)
{
    (void)state;
    fixture f;
    tw_error error;
    tw_nest nest;
    load(&f, "(module (func (param i32) loop end unreachable loop end))", 0);
    assert_int_equal(tw_wasm_nest(&f.module, 0, f.at[3], &f.arena, &nest, &error), TW_NOT_FOUND);
    assert_int_equal(tw_wasm_nest(&f.module, 0, 3, &f.arena, &nest, &error), TW_NOT_FOUND);
    unload(&f);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(exits_are_numbered_by_first_branch_and_falling_through_is_last),
        cmocka_unit_test(a_dead_end_that_calls_is_an_exit_of_its_own),
        cmocka_unit_test(what_only_looks_like_a_dead_end_stays),
        cmocka_unit_test(dead_code_gives_no_exits),
        cmocka_unit_test(return_is_a_branch_to_the_function),
        cmocka_unit_test(an_exit_may_be_the_next_round_of_an_outer_loop),
        cmocka_unit_test(going_on_from_a_first_arm_is_after_the_if),
        cmocka_unit_test(locals_and_offending_instructions_are_noted),
        cmocka_unit_test(a_place_without_a_loop_is_not_found),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
