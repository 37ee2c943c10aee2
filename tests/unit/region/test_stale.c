/* SPDX-License-Identifier: Apache-2.0 */
/* Which locals may be read for their SSA values on arrival at a nest: of a function whose parameter 0 counts its loops, at the loop with an
 * i32.store at offset 77. */
#include "../wasm/wat.h"

#include "lift/lift.h"
#include "region/stale.h"

enum { MEMORY = 64 << 20 };

typedef struct fixture {
    bytes wasm;
    tw_wasm module;
    tw_ir_func *func;
    tw_analysis *analysis;
    tw_arena arena;
} fixture;

/* The loop whose own block stores at offset 77. */
static tw_loop marked_loop(const fixture *f)
{
    const tw_loops *loops = tw_analysis_loops(f->analysis);
    for (uint32_t b = 0; b < f->func->block_count; b++)
        for (uint32_t i = 0; i < f->func->blocks[b].inst_count; i++)
            if (f->func->insts[f->func->blocks[b].insts[i]].mem_offset == 77) return loops->innermost[b];
    fail_msg("no loop is marked");
    return TW_NO_LOOP;
}

/* "0100": by local, whether it is stale at the marked loop. */
static void expect_stale(const char *locals, const char *body, const char *expected)
{
    fixture f;
    tw_error error = {0};
    char text[2000];
    snprintf(text, sizeof text, "(module (memory 1) (func (param i32) (local %s) %s))", locals, body);
    f.wasm = wat(WAT_FEATURES, text);
    tw_arena_init(&f.arena, MEMORY);
    assert_int_equal(tw_wasm_decode((tw_span){f.wasm.data, f.wasm.size}, NULL, &f.module, &error), TW_OK);
    assert_int_equal(tw_wasm_check_bodies(&f.module, NULL, &error), TW_OK);
    assert_int_equal(tw_lift(&f.module, 0, MEMORY, &f.func, &error), TW_OK);
    assert_int_equal(tw_analysis_new(f.func, MEMORY, &f.analysis, &error), TW_OK);
    const bool *stale = tw_stale_locals(f.analysis, marked_loop(&f), &f.arena);
    assert_non_null(stale);
    char found[16] = {0};
    for (uint32_t x = 0; x < f.func->local_count; x++) found[x] = stale[x] ? '1' : '0';
    assert_string_equal(found, expected);
    tw_analysis_free(f.analysis);
    tw_ir_func_free(f.func);
    tw_arena_free(&f.arena);
    tw_wasm_free(&f.module);
    free(f.wasm.data);
}

#define LOOP(body) "(loop " body "(br_if 0 (local.tee 0 (i32.sub (local.get 0) (i32.const 1)))))"
#define MARKED LOOP("(i32.store offset=77 (local.get 0) (local.get 0))")

static void a_constant_that_another_loop_sets_is_stale(void **state)
{
    (void)state;
    expect_stale("i32", LOOP("(local.set 1 (i32.const 8))") MARKED, "01");
    expect_stale("i32", "(local.set 1 (i32.const 8))" MARKED, "00");
}

static void a_copy_of_what_comes_from_outside_is_stale(void **state)
{
    (void)state;
    const char *copied = "(local.set 2 (i32.load (local.get 0)))" LOOP("(local.set 1 (local.get 2))") MARKED;
    expect_stale("i32 i32", copied, "010");
}

static void a_value_of_the_loops_own_is_not(void **state)
{
    (void)state;
    const char *sum = LOOP("(local.set 1 (i32.add (local.get 1) (i32.load (local.get 0))))") "(i32.store (i32.const 0) (local.get 1))" MARKED;
    expect_stale("i32", sum, "00");
}

/* Put back to what it had at the header: whoever doesn't touch it does the same. */
static void what_a_loop_leaves_as_it_found_it_is_not(void **state)
{
    (void)state;
    const char *put_back = "(local.set 1 (i32.load (local.get 0)))"
                           LOOP("(local.set 2 (local.get 1)) (local.set 1 (i32.load (local.get 0))) (i32.store (i32.const 4) (local.get 1)) (local.set 1 (local.get 2))")
                           LOOP("(i32.store offset=77 (local.get 0) (local.get 1))");
    expect_stale("i32 i32", put_back, "001");
}

/* The value is the outer loop's own, and what the inner one leaves isn't it. */
static void an_inner_loop_counts_for_itself(void **state)
{
    (void)state;
    const char *inner = LOOP("(local.set 2 (i32.load (local.get 0))) (local.set 3 (i32.const 4))"
                             "(loop (local.set 1 (local.get 2)) (br_if 0 (local.tee 3 (i32.sub (local.get 3) (i32.const 1)))))"
                             "(i32.store (i32.const 0) (local.get 2))") MARKED;
    expect_stale("i32 i32 i32", inner, "0101");
}

static void loops_around_dont_count_and_the_loop_itself_does(void **state)
{
    (void)state;
    const char *nested = LOOP("(local.set 1 (i32.const 8)) (local.set 3 (i32.load (i32.const 0)))"
                              "(loop (i32.store offset=77 (local.get 3) (local.get 1)) (local.set 2 (i32.const 9))"
                              " (br_if 0 (local.tee 3 (i32.sub (local.get 3) (i32.const 1)))))");
    expect_stale("i32 i32 i32", nested, "0010");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_constant_that_another_loop_sets_is_stale),
        cmocka_unit_test(a_copy_of_what_comes_from_outside_is_stale),
        cmocka_unit_test(a_value_of_the_loops_own_is_not),
        cmocka_unit_test(what_a_loop_leaves_as_it_found_it_is_not),
        cmocka_unit_test(an_inner_loop_counts_for_itself),
        cmocka_unit_test(loops_around_dont_count_and_the_loop_itself_does),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
