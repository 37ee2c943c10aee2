/* SPDX-License-Identifier: Apache-2.0 */
/* Which loops and functions get a probe. Every shape of loop that was seen to run on with its memory taken away must have
 * one; loops that walk through memory must not. */
#include "run.h"

static uint32_t probes_of(const char *text, tw_rewrite *counts)
{
    bytes b = wat(WAT_FEATURES, text);
    tw_wasm module;
    tw_rewrite *rewrite;
    tw_error error;
    decode_ok(b, &module);
    tw_rewrite_options options = {.stoppable = true};
    if (tw_rewrite_module(&module, &options, &rewrite, &error) != TW_OK) fail_msg("%s", error.message);
    if (rewrite->bytes) assert_valid(REWRITTEN, rewrite->bytes, rewrite->size);
    assert_int_equal(rewrite->bytes != NULL, rewrite->probed_loops || rewrite->probed_functions);
    uint32_t loops = rewrite->probed_loops;
    if (counts) *counts = *rewrite;
    tw_rewrite_free(rewrite);
    tw_wasm_free(&module);
    free(b.data);
    return loops;
}

/* The body of a function (param $n i32) (local $i i32 $j i32 $k i32 $t i32 $x i64), in a module with a memory. */
static uint32_t loops_probed(const char *body)
{
    char text[4000];
    snprintf(text, sizeof text,
             "(module (memory 1) (global $g (mut i32) (i32.const 0)) (func $f (param $n i32) (param $s i32)"
             " (local $i i32) (local $j i32) (local $k i32) (local $t i32) (local $x i64)\n%s))",
             body);
    return probes_of(text, NULL);
}

#define STEP(local, by) "(local.set " local " (i32.add (local.get " local ") (i32.const " by ")))"
#define WHILE "(br_if 0 (i32.lt_u (local.get $i) (local.get $n)))"

static void loops_that_may_never_touch_memory_get_one(void **state)
{
    (void)state;
    static const struct { const char *body; uint32_t probes;
    } cases[] = {
        {"(loop (br 0))", 1},
        {"(loop " STEP("$i", "1") WHILE ")", 1},
        /* a load before the loop at the same address */
        {"(drop (i32.load (i32.const 64))) (loop (drop (i32.load (i32.const 64)))" STEP("$i", "1") WHILE ")", 1},
        /* spinning on a flag */
        {"(loop (br_if 0 (i32.eqz (i32.load (i32.const 64)))))", 1},
        {"(loop (br_if 0 (i32.eqz (i32.load (local.get $n)))))", 1},
        /* nested headers that load one address */
        {"(loop (drop (i32.load (local.get $n))) (loop (drop (i32.load (local.get $n)))" STEP("$i", "1") WHILE
         ") (br_if 0 (local.get $j)))",
         2},
        /* two loops in a row */
        {"(loop (drop (i32.load (local.get $n)))" STEP("$i", "1") WHILE
         ") (loop (drop (i32.load (local.get $n)))" STEP("$i", "1") WHILE ")",
         2},
        /* store, then load */
        {"(loop (i32.store (i32.const 8) (local.get $i)) (drop (i32.load (i32.const 8)))" STEP("$i", "1") WHILE ")", 1},
        /* a load only in an arm */
        {"(loop (if (local.get $s) (then (drop (i32.load (local.get $i)))))" STEP("$i", "4") WHILE ")", 1},
        {"(loop (block (br_if 0 (local.get $s)) (drop (i32.load (local.get $i))))" STEP("$i", "4") WHILE ")", 1},
        /* back before the access */
        {"(loop " STEP("$i", "4") "(br_if 0 (local.get $s)) (drop (i32.load (local.get $i)))" WHILE ")", 1},
        /* an outer loop whose inner one may not run */
        {"(loop (block (br_if 0 (local.get $s)) (loop (drop (i32.load (local.get $i)))" STEP("$i", "4") WHILE
         "))" STEP("$j", "1") "(br_if 0 (local.get $j)))",
         1},
        /* the address doesn't really vary */
        {"(loop (local.set $i (local.get $i)) (drop (i32.load (local.get $i))) (br_if 0 (local.get $s)))", 1},
        {"(loop (local.set $i (i32.add (local.get $i) (i32.const 0))) (drop (i32.load (local.get $i))) (br_if 0 (local.get $s)))",
         1},
        {"(loop (drop (i32.load (i32.sub (local.get $i) (local.get $i))))" STEP("$i", "4") WHILE ")", 1},
        {"(loop (drop (i32.load (i32.mul (local.get $i) (i32.const 0))))" STEP("$i", "4") WHILE ")", 1},
        {"(loop (drop (i32.load (i32.and (local.get $i) (i32.const 0))))" STEP("$i", "4") WHILE ")", 1},
        {"(loop (drop (i32.load (i32.shl (i32.shl (local.get $i) (i32.const 16)) (i32.const 16))))" STEP("$i", "4")
             WHILE ")",
         1},
        {"(loop (drop (i32.load (i32.and (i32.shl (local.get $i) (i32.const 4)) (i32.const 15))))" STEP("$i", "4") WHILE
         ")",
         1},
        {"(loop " STEP("$i", "4") "(block)" STEP("$i",
                                                 "-4") "(drop (i32.load (local.get $i))) (br_if 0 (local.get $s)))",
         1},
        {"(loop " STEP("$i", "0x40000000") "(drop (i32.load (local.get $i))) (br_if 0 (local.get $s)))", 1},
        {"(loop (if (local.get $s) (then (local.set $i (i32.const 7))))" STEP(
             "$i", "4") "(drop (i32.load (local.get $i))) (br_if 0 (local.get $n)))",
         1},
        /* added, then put back */
        {"(loop (local.set $t (local.get $i))" STEP(
             "$i", "4") "(local.set $i (local.get $t)) (drop (i32.load (local.get $i))) (br_if 0 (local.get $s)))",
         1},
        {"(loop (local.get $i) (block " STEP(
             "$i", "4") ") (local.set $i) (drop (i32.load (local.get $i))) (br_if 0 (local.get $s)))",
         1},
        /* the addition is only on the way out */
        {"(block (loop (drop (i32.load (local.get $i))) (if (local.get $s) (then " STEP("$i", "4") " (br 2))) (br 0)))",
         1},
        /* a memory.fill isn't an access that stops */
        {"(loop (memory.fill (local.get $i) (i32.const 0) (i32.const 4))" STEP("$i", "4") WHILE ")", 1},
        /* a parameter that is written is no step */
        {"(loop (local.set $s (i32.const 0)) (drop (i32.load (local.get $i))) (local.set $i (i32.add (local.get $i) (local.get $s))) (br_if 0 (local.get $n)))",
         1},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        uint32_t got = loops_probed(cases[i].body);
        if (got != cases[i].probes) fail_msg("%u probes, not %u: %s", got, cases[i].probes, cases[i].body);
    }
}

static void loops_that_walk_through_memory_get_none(void **state)
{
    (void)state;
    static const char *const cases[] = {
        "(loop (drop (i32.load (local.get $i)))" STEP("$i", "4") WHILE ")",
        "(loop (i32.store (i32.shl (local.get $i) (i32.const 2)) (i32.const 1))" STEP("$i", "1") WHILE ")",
        "(loop (drop (f64.load offset=8 (i32.add (local.get $s) (i32.mul (local.get $i) (i32.const 24)))))" STEP(
            "$i", "1") WHILE ")",
        "(loop (i32.store (i32.add (local.get $s) (i32.shl (local.get $i) (i32.const 2))) (i32.load (i32.add (local.get $n) (local.get $j))))" STEP(
            "$j", "4") STEP("$i", "1") WHILE ")",
        /* counted by a tee, as strlen is */
        "(loop (local.set $i (i32.add (local.tee $t (local.get $i)) (i32.const 1))) (br_if 0 (i32.load8_u (local.get $t))))",
        "(loop (br_if 0 (i32.load8_u (local.tee $i (i32.add (local.get $i) (i32.const 1))))))",
        /* a copy onto itself */
        "(loop (drop (i32.load (local.tee $i (local.get $i))))" STEP("$i", "4") WHILE ")",
        /* down */
        "(loop (i32.store (local.get $i) (i32.const 1)) (br_if 0 (local.tee $i (i32.sub (local.get $i) (i32.const 4)))))",
        /* by a parameter */
        "(loop (drop (i32.load (local.get $i))) (local.set $i (i32.add (local.get $i) (local.get $s))) (br_if 0 (local.get $n)))",
        "(loop (drop (i32.load (local.get $i))) (local.set $i (i32.add (local.get $s) (local.get $i))) (br_if 0 (local.get $n)))",
        /* in a block inside the loop */
        "(loop (block (drop (i32.load (local.get $i)))" STEP("$i", "4") "(br_if 0 (local.get $s)) (br 1)))",
        "(block (loop (br_if 1 (i32.ge_u (local.get $i) (local.get $n))) (i32.store8 (local.get $i) (i32.const 0))" STEP(
            "$i", "1") "(br 0)))",
        /* a continue after the addition, and one after the access */
        "(loop (drop (i32.load (local.get $i)))" STEP("$i", "4") "(br_if 0 (local.get $s)) " WHILE ")",
        /* both arms */
        "(loop (if (local.get $s) (then (drop (i32.load (local.get $i)))) (else (i32.store (local.get $i) (i32.const 0))))" STEP(
            "$i", "4") WHILE ")",
        /* the inner loop runs at least once and walks */
        "(loop (local.set $i (i32.const 0)) (loop (drop (i32.load (local.get $i)))" STEP("$i", "4") WHILE
        ")" STEP("$j", "1") "(br_if 0 (local.get $j)))",
        /* no way back */
        "(loop (drop (local.get $i)))",
        "(i32.store (i32.and (local.get $n) (i32.const 63)) (i32.const 0))",
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        uint32_t got = loops_probed(cases[i]);
        if (got) fail_msg("%u probes: %s", got, cases[i]);
    }
}

static void functions_in_cycles_that_call_before_they_touch_get_one(void **state)
{
    (void)state;
    static const struct { const char *text; uint32_t probes;
    } cases[] = {
        {"(module (memory 1) (func $fib (param i32) (result i32) (if (result i32) (i32.lt_s (local.get 0) (i32.const 2)) (then (local.get 0))"
         " (else (i32.add (call $fib (i32.sub (local.get 0) (i32.const 1))) (call $fib (i32.sub (local.get 0) (i32.const 2))))))))",
         1},
        {"(module (memory 1) (func $f (return_call $g)) (func $g (return_call $f)) (func $h (call $f)))", 2},
        {"(module (memory 1) (func $f (return_call $f)))", 1},
        {"(module (memory 1) (func $f (call $g)) (func $g (call $h)) (func $h))", 0},
        {"(module (memory 1) (func $f (param i32) (i32.store (local.get 0) (i32.const 1)) (call $f (local.get 0))))",
         0},
        {"(module (memory 1) (func $f (param i32) (if (local.get 0) (then (i32.store (local.get 0) (i32.const 1)))) (call $f (local.get 0))))",
         1},
        {"(module (memory 1) (table 2 funcref) (elem (i32.const 0) $f) (type $t (func)) (func $f (call_indirect (type $t) (i32.const 0))) (func $g))",
         1},
        {"(module (memory 1) (table 2 funcref) (elem (i32.const 0) $g) (type $t (func)) (func $f (call_indirect (type $t) (i32.const 0))) (func $g))",
         0},
        {"(module (memory 1) (table 2 funcref) (elem (i32.const 0) $f $g) (func $f (call_indirect (param i32) (i32.const 0) (i32.const 0))) (func $g (param i32) (call $f)))",
         2},
        {"(module (memory 1) (table 2 funcref) (func (export \"f\") (call_indirect (i32.const 0))))", 1},
        {"(module (memory 1) (table 2 funcref) (elem declare func $f) (func $f (table.set 0 (i32.const 0) (ref.func $f)) (return_call_indirect (i32.const 0))))",
         1},
        {"(module (memory 1) (table 2 funcref) (global funcref (ref.func $f)) (func $f (call_indirect (i32.const 0))))",
         1},
        {"(module (memory 1) (table 2 funcref) (elem funcref (ref.func $f)) (func $f (call_indirect (i32.const 0))))",
         1},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        tw_rewrite counts;
        probes_of(cases[i].text, &counts);
        if (counts.probed_functions != cases[i].probes)
            fail_msg("%u probes, not %u: %s", counts.probed_functions, cases[i].probes, cases[i].text);
    }
}

static void a_module_without_memory_gets_a_private_one(void **state)
{
    (void)state;
    static const struct { const char *text; uint32_t memory; } cases[] = {
        {"(module (func (loop br 0)))", 0},
        {"(module (memory 0) (func (loop br 0)))", 1},
        {"(module (import \"a\" \"b\" (memory 0 5)) (func (loop br 0)))", 1},
        {"(module (import \"a\" \"b\" (memory 1)) (func (loop br 0)))", UINT32_MAX},
        {"(module (memory 1) (func (loop br 0)))", UINT32_MAX},
        {"(module (func))", UINT32_MAX},
        {"(module (func $f (call $f)))", 0},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        tw_rewrite counts;
        probes_of(cases[i].text, &counts);
        assert_int_equal(counts.private_memory, cases[i].memory);
    }
}

static void probes_change_no_result(void **state)
{
    (void)state;
    static const char text[] =
        "(module (func $fib (param i32) (result i32) (if (result i32) (i32.lt_s (local.get 0) (i32.const 2)) (then (local.get 0))"
        " (else (i32.add (call $fib (i32.sub (local.get 0) (i32.const 1))) (call $fib (i32.sub (local.get 0) (i32.const 2)))))))"
        " (func (export \"fib\") (result i32) (call $fib (i32.const 15)))"
        " (func (export \"count\") (result i64) (local i64) (loop (local.set 0 (i64.add (local.get 0) (i64.const 3)))"
        " (br_if 0 (i64.lt_u (local.get 0) (i64.const 1000)))) (local.get 0))"
        " (func (export \"typed\") (result i32) (i32.const 10) (loop (param i32) (result i32) (i32.sub (i32.const 1)) (br_if 0 (i32.const 0)))))";
    bytes b = wat("", text);
    tw_wasm module;
    tw_rewrite *rewrite;
    tw_error error;
    decode_ok(b, &module);
    tw_rewrite_options options = {.stoppable = true};
    assert_int_equal(tw_rewrite_module(&module, &options, &rewrite, &error), TW_OK);
    assert_int_equal(rewrite->probed_loops, 2);
    assert_int_equal(rewrite->probed_functions, 1);
    bytes got = run_exports(rewrite->bytes, rewrite->size);
    assert_string_equal((char *)got.data, "fib() => i32:610\ncount() => i64:1002\ntyped() => i32:9\n");
    free(got.data);
    tw_rewrite_free(rewrite);
    tw_wasm_free(&module);
    free(b.data);
}

static void compiled_inner_loops_need_none(void **state)
{
    (void)state;
    static const char source[] =
        "typedef unsigned long size_t;\n"
        "void saxpy(int n, float a, float *x, float *y) { for (int i = 0; i < n; i++) y[i] += a * x[i]; }\n"
        "size_t length(const char *s) { size_t n = 0; while (s[n]) n++; return n; }\n"
        "int sum(int n, int *x) { int s = 0; for (int i = 0; i < n; i++) s += x[i]; return s; }\n"
        "void blur(int n, unsigned char *a, unsigned char *b) { for (int i = 1; i < n - 1; i++) b[i] = (a[i-1] + 2 * a[i] + a[i+1]) / 4; }\n"
        "void histogram(int n, unsigned char *a, int *h) { for (int i = 0; i < n; i++) h[a[i]]++; }\n";
    char c[64], wasm[64], command[400];
    temp_name(c, ".c");
    temp_name(wasm, ".wasm");
    write_whole(c, source, strlen(source));
    static const char *const flags[] = {"-O1", "-O2", "-O3", "-Os", "-O2 -msimd128"};
    for (size_t i = 0; i < sizeof flags / sizeof *flags; i++) {
        snprintf(command, sizeof command,
                 "clang-19 --target=wasm32 %s -ffreestanding -nostdlib -Wl,--no-entry -Wl,--export-all %s -o %s",
                 flags[i], c, wasm);
        assert_int_equal(system(command), 0);
        bytes b = read_whole(wasm);
        tw_wasm module;
        tw_rewrite *rewrite;
        tw_error error;
        decode_ok(b, &module);
        tw_rewrite_options options = {.stoppable = true};
        assert_int_equal(tw_rewrite_module(&module, &options, &rewrite, &error), TW_OK);
        if (rewrite->probed_loops) fail_msg("%s: %u probes", flags[i], rewrite->probed_loops);
        tw_rewrite_free(rewrite);
        tw_wasm_free(&module);
        free(b.data);
    }
    unlink(c);
    unlink(wasm);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(loops_that_may_never_touch_memory_get_one),
        cmocka_unit_test(loops_that_walk_through_memory_get_none),
        cmocka_unit_test(functions_in_cycles_that_call_before_they_touch_get_one),
        cmocka_unit_test(a_module_without_memory_gets_a_private_one),
        cmocka_unit_test(probes_change_no_result),
        cmocka_unit_test(compiled_inner_loops_need_none),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
