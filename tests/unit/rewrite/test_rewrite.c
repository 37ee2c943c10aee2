/* SPDX-License-Identifier: Apache-2.0 */
/* The rewriter's promises one by one; test_random.c has the crowd. */
#include "run.h"

typedef struct fixture {
    bytes b;
    tw_wasm module;
    tw_rewrite *rewrite;
} fixture;

static void load(fixture *f, const char *text)
{
    *f = (fixture){.b = wat("--enable-tail-call --debug-names", text)};
    decode_ok(f->b, &f->module);
}

static void apply(fixture *f, const tw_rewrite_options *options)
{
    tw_error error;
    if (tw_rewrite_module(&f->module, options, &f->rewrite, &error) != TW_OK) fail_msg("%s", error.message);
    if (f->rewrite->bytes) assert_valid(REWRITTEN, f->rewrite->bytes, f->rewrite->size);
}

static void unload(fixture *f)
{
    tw_rewrite_free(f->rewrite);
    tw_wasm_free(&f->module);
    free(f->b.data);
}

/* Runs the exports with these stubs and compares what they print. */
static void expect_run(const fixture *f, stub_writer stub, const char *expected)
{
    bytes linked = with_stubs(f->rewrite, rewritten_funcs(f->rewrite), stub);
    bytes got = run_exports(linked.data, linked.size);
    assert_string_equal((char *)got.data, expected);
    free(linked.data);
    free(got.data);
}

static uint64_t nth_loop(const fixture *f, uint32_t func, uint32_t n)
{
    uint64_t offsets[20];
    assert_true(loops_of(&f->module, func, offsets, 20) > n);
    return offsets[n];
}

/* sum of 0 … n-1; local 0 n, 1 i, 2 sum. Function 0; function 1 must stay as it is. */
static const char sum_text[] =
    "(module (memory 1) (func $sum (param i32) (result i32) (local i32 i32)"
    " (block (br_if 0 (i32.eqz (local.get 0)))"
    " (loop (local.set 2 (i32.add (local.get 2) (local.get 1)))"
    "  (br_if 0 (i32.lt_u (local.tee 1 (i32.add (local.get 1) (i32.const 1))) (local.get 0)))))"
    " (i32.mul (local.get 2) (i32.const 10)))"
    " (func (export \"run\") (result i32) (call $sum (i32.const 5))))";
static const uint32_t sum_live_ins[] = {0}, sum_headers[] = {1, 2};

static tw_rewrite_region sum_region(const fixture *f)
{
    return (tw_rewrite_region){.func = 0,
                               .loop_offset = nth_loop(f, 0, 0),
                               .live_ins = sum_live_ins,
                               .live_in_count = 1,
                               .headers = sum_headers,
                               .header_count = 2};
}

/* The loop's end state: left through exit 1 (falling through), i = 5, sum = 70. */
static void finished_stub(FILE *out, const tw_rewrite_site *site, uint32_t number)
{
    (void)site;
    (void)number;
    fprintf(out, "i32.const 1 i32.const 5 i32.const 70 i64.const 1");
}

/* Two iterations done: i = 2, sum = 1000. */
static void advanced_stub(FILE *out, const tw_rewrite_site *site, uint32_t number)
{
    (void)site;
    (void)number;
    fprintf(out, "i32.const 0 i32.const 2 i32.const 1000 i64.const 1000");
}

static void the_stub_says_what_becomes_of_the_loop(void **state)
{
    (void)state;
    fixture f;
    for (int nested = 0; nested < 2; nested++) {
        load(&f, sum_text);
        tw_rewrite_region region = sum_region(&f);
        region.nested = nested;
        apply(&f, &(tw_rewrite_options){.regions = &region, .region_count = 1});
        expect_run(&f, echo_stub, "run() => i32:100\n");
        expect_run(&f, finished_stub, "run() => i32:700\n");
        expect_run(&f, advanced_stub, "run() => i32:10090\n"); /* 1000 + 2 + 3 + 4 */
        unload(&f);
    }
}

/* Finished, and then two calls as they came, whatever the countdown says. */
static void resting_stub(FILE *out, const tw_rewrite_site *site, uint32_t number)
{
    (void)number;
    fprintf(out, "i32.const 2 global.set %u i32.const 1 i32.const 5 i32.const 70 i64.const 1000", site->rest);
}

static void a_function_at_rest_runs_its_body_and_then_asks_again(void **state)
{
    (void)state;
    fixture f;
    for (int nested = 0; nested < 2; nested++) {
        char text[1000];
        int size = snprintf(text, sizeof text, "%.*s", (int)(sizeof sum_text - 2), sum_text);
        for (int call = 2; call <= 8; call++)
            size += snprintf(text + size, sizeof text - (size_t)size, "(func (export \"%d\") (result i32) (call $sum (i32.const 5)))", call);
        snprintf(text + size, sizeof text - (size_t)size, ")");
        load(&f, text);
        tw_rewrite_region region = sum_region(&f);
        region.nested = nested;
        apply(&f, &(tw_rewrite_options){.regions = &region, .region_count = 1});
        expect_run(&f, resting_stub, "run() => i32:700\n2() => i32:100\n3() => i32:100\n4() => i32:700\n5() => i32:100\n"
                                     "6() => i32:100\n7() => i32:700\n8() => i32:100\n");
        unload(&f);
    }
}

/* Counts its arrivals in the memory, and lets the loop run. */
static void counting_stub(FILE *out, const tw_rewrite_site *site, uint32_t number)
{
    (void)site;
    (void)number;
    fprintf(out, "i32.const 0 i32.const 0 i32.load i32.const 1 i32.add i32.store i32.const 0 local.get 1 local.get 2 i64.const 1");
}

/* f(n): a loop, then f(n - 1) unless n is 0, in each of the ways in which a function can be left. A thousand deep, 64 of them ask;
 * and again so next time, since what counts them goes down again. */
static void recursion_leaves_for_the_twin_so_many_times_only(void **state)
{
    (void)state;
    static const char *const ways[] = {
        "(if (local.get 0) (then (call $f (i32.sub (local.get 0) (i32.const 1))) (local.set 2) (drop))) (i32.const 7) (local.get 2)",
        "(if (local.get 0) (then (return (call $f (i32.sub (local.get 0) (i32.const 1)))))) (i32.const 7) (local.get 2)",
        "(br_if 0 (i32.const 7) (local.get 2) (i32.eqz (local.get 0))) (drop) (drop) (call $f (i32.sub (local.get 0) (i32.const 1)))",
        "(if (result i32 i32) (local.get 0) (then (call $f (i32.sub (local.get 0) (i32.const 1))) (br 1)) (else (i32.const 7) (local.get 2)))",
    };
    for (size_t w = 0; w < sizeof ways / sizeof *ways; w++) {
        char text[2000];
        fixture f;
        snprintf(text, sizeof text,
                 "(module (memory 1) (func $f (param i32) (result i32 i32) (local i32 i32)"
                 " (loop (local.set 2 (i32.add (local.get 2) (local.get 1)))"
                 "  (br_if 0 (i32.lt_u (local.tee 1 (i32.add (local.get 1) (i32.const 1))) (i32.const 5)))) %s)"
                 " (func (export \"a\") (result i32 i32) (call $f (i32.const 999)))"
                 " (func (export \"b\") (result i32 i32) (call $f (i32.const 999)))"
                 " (func (export \"c\") (result i32) (i32.load (i32.const 0))))", ways[w]);
        load(&f, text);
        tw_rewrite_region region = sum_region(&f);
        apply(&f, &(tw_rewrite_options){.regions = &region, .region_count = 1, .stoppable = true});
        expect_run(&f, counting_stub, "a() => i32:7, i32:10\nb() => i32:7, i32:10\nc() => i32:128\n");
        unload(&f);
    }
}

/* A tail call takes the place of its caller: then there is never more than one. */
static void tail_calls_do_not_count_as_recursion(void **state)
{
    (void)state;
    fixture f;
    load(&f, "(module (memory 1) (table funcref (elem $f)) (func $f (param i32) (result i32) (local i32 i32)"
             " (loop (local.set 2 (i32.add (local.get 2) (local.get 1)))"
             "  (br_if 0 (i32.lt_u (local.tee 1 (i32.add (local.get 1) (i32.const 1))) (i32.const 5))))"
             " (if (i32.and (local.get 0) (i32.const 1)) (then (return_call $f (i32.sub (local.get 0) (i32.const 1)))))"
             " (if (local.get 0) (then (return_call_indirect (param i32) (result i32) (i32.sub (local.get 0) (i32.const 1)) (i32.const 0))))"
             " (local.get 2))"
             " (func (export \"a\") (result i32) (call $f (i32.const 999)))"
             " (func (export \"c\") (result i32) (i32.load (i32.const 0))))");
    tw_rewrite_region region = sum_region(&f);
    apply(&f, &(tw_rewrite_options){.regions = &region, .region_count = 1, .stoppable = true});
    expect_run(&f, counting_stub, "a() => i32:10\nc() => i32:1000\n");
    unload(&f);
}

static void the_site_describes_the_stub(void **state)
{
    (void)state;
    fixture f;
    load(&f, sum_text);
    tw_rewrite_region region = sum_region(&f);
    apply(&f, &(tw_rewrite_options){.regions = &region, .region_count = 1});
    const tw_rewrite_site *site = &f.rewrite->sites[0];
    static const uint8_t three[] = {TW_I32, TW_I32, TW_I32}, results[] = {TW_I32, TW_I32, TW_I32, TW_I64};
    assert_int_equal(f.rewrite->site_count, 1);
    assert_int_equal(site->status, TW_OK);
    assert_int_equal(site->slot, 1);
    assert_int_equal(site->exit_count, 1);
    assert_int_equal(site->param_count, 3);
    assert_memory_equal(site->params, three, 3);
    assert_int_equal(site->result_count, 4);
    assert_memory_equal(site->results, results, 4);
    assert_int_equal(f.rewrite->private_memory, UINT32_MAX);
    tw_wasm again;
    tw_error error;
    assert_int_equal(tw_wasm_decode((tw_span){f.rewrite->bytes, f.rewrite->size}, NULL, &again, &error), TW_OK);
    static const struct { const char *name; size_t offset;
    } names[] = {{"tw:countdown:0", offsetof(tw_rewrite_site, countdown)},
                 {"tw:installed:0", offsetof(tw_rewrite_site, installed)},
                 {"tw:rest:0", offsetof(tw_rewrite_site, rest)}};
    for (size_t n = 0; n < 3; n++) {
        uint32_t found = UINT32_MAX;
        for (uint32_t i = 0; i < again.export_count; i++)
            if (again.exports[i].name.size == strlen(names[n].name) &&
                !memcmp(again.exports[i].name.data, names[n].name, strlen(names[n].name)))
                found = again.exports[i].index;
        assert_int_equal(found, *(const uint32_t *)((const char *)site + names[n].offset));
    }
    assert_int_equal(again.table_count, 1);
    assert_int_equal(again.tables[0].limits.minimum, 2);
    tw_wasm_free(&again);
    unload(&f);
}

static void other_functions_are_untouched_and_l_is_call_free(void **state)
{
    (void)state;
    fixture f;
    load(&f, sum_text);
    tw_rewrite_region region = sum_region(&f);
    apply(&f, &(tw_rewrite_options){.regions = &region, .region_count = 1});
    tw_wasm again;
    tw_error error;
    assert_int_equal(tw_wasm_decode((tw_span){f.rewrite->bytes, f.rewrite->size}, NULL, &again, &error), TW_OK);
    const tw_func *old = f.module.funcs, *new = again.funcs;
    assert_int_equal(old[1].body.size, new[1].body.size);
    assert_memory_equal(old[1].body.data, new[1].body.data, old[1].body.size);
    /* F: its own code is still its tail, byte for byte. */
    tw_reader code;
    uint32_t locals;
    assert_int_equal(tw_wasm_code(&f.module, 0, &code, &locals, &error), TW_OK);
    size_t size = (size_t)(code.end - code.at);
    assert_memory_equal(new[0].body.data + new[0].body.size - size, code.at, size);
    tw_reader reader;
    tw_instr instr;
    assert_int_equal(tw_wasm_code(&again, f.rewrite->sites[0].outlined, &reader, &locals, &error), TW_OK);
    while (reader.at != reader.end) {
        assert_int_equal(tw_wasm_next(&reader, &instr, &error), TW_OK);
        assert_int_not_equal(instr.op, TW_OP_CALL);
        assert_int_not_equal(instr.op, TW_OP_CALL_INDIRECT);
    }
    assert_non_null(again.func_names);
    tw_wasm_free(&again);
    unload(&f);
}

static void nothing_to_do_changes_nothing(void **state)
{
    (void)state;
    fixture f;
    load(&f, sum_text);
    apply(&f, NULL);
    assert_null(f.rewrite->bytes);
    assert_null(f.rewrite->map);
    unload(&f);
    load(&f, sum_text);
    tw_rewrite_region region = sum_region(&f);
    region.loop_offset++;
    apply(&f, &(tw_rewrite_options){.regions = &region, .region_count = 1});
    assert_int_equal(f.rewrite->sites[0].status, TW_REFUSED);
    assert_null(f.rewrite->bytes);
    unload(&f);
}

/* Another engine's validator says whether the segments, their count and the two functions fit; wabt's interpreter, that nothing
 * was copied before tw:init, which is called later. */
static void a_capturable_module_starts_by_its_initialiser(void **state)
{
    (void)state;
    fixture f;
    load(&f, "(module (memory 1) (table 2 funcref) (data (i32.const 4) \"\\07\") (elem (i32.const 1) 0)"
             "(func (export \"early\") (result i32) (i32.load8_u (i32.const 4))) (func $start (i32.store8 (i32.const 4) (i32.const 9))) (start $start))");
    apply(&f, &(tw_rewrite_options){.capturable = true});
    bytes ran = run_exports(f.rewrite->bytes, f.rewrite->size);
    assert_string_equal((char *)ran.data, "early() => i32:0\n");
    free(ran.data);
    unload(&f);
    load(&f, "(module (import \"e\" \"g\" (global $g i32)) (memory 1) (data (global.get $g) \"a\") (table 3 funcref)"
             "(elem (global.get $g) 0) (data $p \"p\") (elem $q func 0) (global (mut f64) (f64.const 1)) (global (mut funcref) (ref.func 0))"
             "(func $f (export \"drop\") (data.drop $p) (elem.drop $q) (data.drop 0)))");
    apply(&f, &(tw_rewrite_options){.capturable = true, .stoppable = true});
    assert_int_equal(f.rewrite->drop_count, 2);
    unload(&f);
    load(&f, "(module (data \"nothing here has code\"))");
    apply(&f, &(tw_rewrite_options){.capturable = true});
    assert_non_null(f.rewrite->bytes);
    unload(&f);
}

static void names_of_ours_refuse_the_module(void **state)
{
    (void)state;
    fixture f;
    tw_error error;
    load(&f, "(module (memory (export \"tw:x\") 1))");
    assert_int_equal(tw_rewrite_module(&f.module, NULL, &f.rewrite, &error), TW_REFUSED);
    f.rewrite = NULL;
    unload(&f);
}

typedef struct refusal {
    const char *text, *word;
    uint32_t loop, live_in, header; /* UINT32_MAX: none */
} refusal;
#define NONE UINT32_MAX

static void what_can_not_be_outlined_is_refused_with_a_reason(void **state)
{
    (void)state;
    static const refusal cases[] = {
        {"(module (func (result i32) (loop (result i32) i32.const 1)))", "takes or gives values", 0, NONE, NONE},
        {"(module (func (param i32) (local.get 0) (loop (param i32) drop)))", "takes or gives values", 0, NONE, NONE},
        {"(module (func (param i32) (result i32) (block (result i32) (loop i32.const 1 local.get 0 br_if 1 br 0) unreachable)))",
         "carries values", 0, NONE, NONE},
        {"(module (func (param i32) (result i32) (loop (if (local.get 0) (then (return (i32.const 1)))) (br_if 0 (local.get 0))) i32.const 0))",
         "carries values", 0, NONE, NONE},
        {"(module (func (param i32) (loop (call 0 (local.get 0)) (br_if 0 (local.get 0)))))", "a call", 0, NONE, NONE},
        {"(module (memory 1) (func (loop (br_if 0 (memory.grow (i32.const 1))))))", "memory.grow", 0, NONE, NONE},
        {"(module (table 1 funcref) (func (loop (br_if 0 (table.size 0)))))", "table", 0, NONE, NONE},
        {"(module (func (loop (br 0))))", "no exit", 0, NONE, NONE},
        {"(module (func (param v128) (loop (br_if 0 (v128.any_true (local.get 0))))))", "v128", 0, 0, NONE},
        {"(module (func (param v128) (loop (local.set 0 (local.get 0)) (br_if 0 (v128.any_true (local.get 0))))))",
         "v128", 0, NONE, 0},
        {"(module (func (param i32) (loop (local.set 0 (i32.const 0)))))", "writes", 0, 0, NONE},
        {"(module (func (param i32) (loop (local.set 0 (i32.const 0)))))", "isn't a local", 0, NONE, 1},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        fixture f;
        load(&f, cases[i].text);
        tw_rewrite_region region = {.func = 0,
                                    .loop_offset = nth_loop(&f, 0, cases[i].loop),
                                    .live_ins = &cases[i].live_in,
                                    .live_in_count = cases[i].live_in != NONE,
                                    .headers = &cases[i].header,
                                    .header_count = cases[i].header != NONE};
        apply(&f, &(tw_rewrite_options){.regions = &region, .region_count = 1});
        const tw_rewrite_site *site = &f.rewrite->sites[0];
        if (site->status != TW_REFUSED || !strstr(site->why, cases[i].word))
            fail_msg("case %zu: %s", i, site->why ? site->why : "accepted");
        assert_null(f.rewrite->bytes);
        unload(&f);
    }
}

static void regions_that_overlap_keep_the_outer_one(void **state)
{
    (void)state;
    fixture f;
    load(&f, "(module (func (param i32) (loop (loop (br_if 0 (local.get 0))) (br_if 0 (local.get 0)))))");
    tw_rewrite_region regions[] = {{.func = 0, .loop_offset = nth_loop(&f, 0, 1)},
                                   {.func = 0, .loop_offset = nth_loop(&f, 0, 0), .nested = true}};
    apply(&f, &(tw_rewrite_options){.regions = regions, .region_count = 2});
    assert_int_equal(f.rewrite->sites[0].status, TW_REFUSED);
    assert_int_equal(f.rewrite->sites[1].status, TW_OK);
    unload(&f);
}

/* v128 values that only L reads don't go through the stub. */
static void values_that_the_stub_does_not_need_reach_l_all_the_same(void **state)
{
    (void)state;
    fixture f;
    load(&f, "(module (func $f (param v128 i32) (result i32) (local i32)"
             " (loop (local.set 2 (i32.add (local.get 2) (i32x4.extract_lane 2 (local.get 0))))"
             " (br_if 0 (local.tee 1 (i32.sub (local.get 1) (i32.const 1))))) (local.get 2))"
             " (func (export \"run\") (result i32) (call $f (v128.const i32x4 1 2 7 4) (i32.const 6))))");
    static const uint32_t headers[] = {1, 2};
    tw_rewrite_region region = {.func = 0, .loop_offset = nth_loop(&f, 0, 0), .headers = headers, .header_count = 2};
    apply(&f, &(tw_rewrite_options){.regions = &region, .region_count = 1});
    expect_run(&f, echo_stub, "run() => i32:42\n");
    unload(&f);
}

/* Locals that the region's owner thinks are worth nothing, in the three places where the bytecode reads them. */
static void values_that_the_bytecode_reads_come_through(void **state)
{
    (void)state;
    static const char *const cases[] = {
        /* after an exit, written on every way there */
        "(block (loop (local.set 1 (i32.add (local.get 0) (i32.const 5))) (br_if 1 (local.get 0)) (br 0)))",
        /* after falling through */
        "(loop (local.set 1 (i32.add (local.get 0) (i32.const 5))) (br_if 0 (i32.eqz (local.get 0))))",
        /* at the header, from before the loop */
        "(local.set 1 (i32.const 7)) (loop (i32.store (i32.const 0) (local.get 1)) (local.set 1 (i32.const 7)) (br_if 0 (i32.eqz (local.get 0))))"
        " (local.set 1 (i32.add (i32.load (i32.const 0)) (i32.const 1)))",
        /* in the next round of an outer loop */
        "(local.set 1 (i32.const 100)) (loop (local.set 2 (i32.add (local.get 2) (i32.const 1)))"
        " (local.set 3 (i32.add (local.get 3) (local.get 1)))"
        " (loop (local.set 1 (i32.const -92)) (br_if 0 (i32.eqz (local.get 0)))) (br_if 0 (i32.lt_u (local.get 2) (i32.const 2))))"
        " (local.set 1 (local.get 3))",
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        char text[1000];
        fixture f;
        snprintf(text, sizeof text,
                 "(module (memory 1) (func $f (param i32) (result i32) (local i32 i32 i32) %s (local.get 1))"
                 " (func (export \"run\") (result i32) (call $f (i32.const 3))))",
                 cases[i]);
        load(&f, text);
        tw_rewrite_region region = {.func = 0, .loop_offset = nth_loop(&f, 0, i == 3)};
        apply(&f, &(tw_rewrite_options){.regions = &region, .region_count = 1});
        expect_run(&f, echo_stub, "run() => i32:8\n");
        unload(&f);
    }
}

static void sum_stub(FILE *out, const tw_rewrite_site *site, uint32_t number)
{
    (void)site;
    (void)number;
    fprintf(out, "i32.const 0 local.get 0 local.get 1 i32.add local.get 0 f64.convert_i32_s");
}

static void a_whole_function_asks_its_stub_and_its_body_is_gone(void **state)
{
    (void)state;
    fixture f;
    load(&f, "(module (func $f (param i32 i32) (result i32 f64) unreachable) (func $none (result) unreachable)"
             " (func (export \"run\") (result i32 f64) (call $f (i32.const 7) (i32.const 5))))");
    tw_rewrite_function function = {.func = 0};
    apply(&f, &(tw_rewrite_options){.functions = &function, .function_count = 1});
    assert_true(f.rewrite->sites[0].whole_function);
    assert_int_equal(f.rewrite->sites[0].param_count, 2);
    assert_int_equal(f.rewrite->sites[0].result_count, 3);
    expect_run(&f, sum_stub, "run() => i32:12, f64:7.000000\n");
    unload(&f);
}

static void a_v128_function_can_not_be_a_region(void **state)
{
    (void)state;
    fixture f;
    load(&f, "(module (func (param v128)))");
    tw_rewrite_function function = {.func = 0};
    apply(&f, &(tw_rewrite_options){.functions = &function, .function_count = 1});
    assert_int_equal(f.rewrite->sites[0].status, TW_REFUSED);
    assert_null(f.rewrite->bytes);
    unload(&f);
}

/* Every instruction of L and the twin that stands for one of the user's leads back to one of the same kind. */
static void places_lead_back_to_the_users_module(void **state)
{
    (void)state;
    fixture f;
    load(&f, sum_text);
    tw_rewrite_region region = sum_region(&f);
    apply(&f, &(tw_rewrite_options){.regions = &region, .region_count = 1});
    tw_wasm again;
    tw_error error;
    assert_int_equal(tw_wasm_decode((tw_span){f.rewrite->bytes, f.rewrite->size}, NULL, &again, &error), TW_OK);
    uint32_t funcs[] = {0, f.rewrite->sites[0].twin, f.rewrite->sites[0].outlined}, muls = 0, compares = 0;
    for (size_t i = 0; i < 3; i++) {
        tw_reader reader;
        tw_instr instr;
        uint32_t locals, func;
        uint64_t offset;
        assert_int_equal(tw_wasm_code(&again, funcs[i], &reader, &locals, &error), TW_OK);
        while (reader.at != reader.end) {
            assert_int_equal(tw_wasm_next(&reader, &instr, &error), TW_OK);
            if (instr.op != TW_OP_I32_MUL && instr.op != TW_OP_I32_LT_U) continue;
            assert_true(tw_offset_map_original(f.rewrite->map, funcs[i], instr.offset, &func, &offset));
            assert_int_equal(func, 0);
            assert_int_equal(f.b.data[offset], tw_op_describe(instr.op)->code);
            muls += instr.op == TW_OP_I32_MUL;
            compares += instr.op == TW_OP_I32_LT_U;
        }
    }
    assert_int_equal(muls, 2);     /* F and twin */
    assert_int_equal(compares, 2); /* F and L */
    uint32_t func;
    uint64_t offset;
    assert_true(tw_offset_map_original(f.rewrite->map, 1, again.funcs[1].body_offset + 1, &func, &offset));
    assert_int_equal(offset, f.module.funcs[1].body_offset + 1);
    tw_wasm_free(&again);
    unload(&f);
}

static void the_result_does_not_need_the_module(void **state)
{
    (void)state;
    fixture f;
    load(&f, sum_text);
    tw_rewrite_region region = sum_region(&f);
    apply(&f, &(tw_rewrite_options){.regions = &region, .region_count = 1});
    tw_wasm_free(&f.module);
    memset(f.b.data, 0xEE, f.b.size);
    assert_valid(REWRITTEN, f.rewrite->bytes, f.rewrite->size);
    assert_int_equal(f.rewrite->sites[0].params[0], TW_I32);
    tw_rewrite_free(f.rewrite);
    free(f.b.data);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(the_stub_says_what_becomes_of_the_loop),
        cmocka_unit_test(a_function_at_rest_runs_its_body_and_then_asks_again),
        cmocka_unit_test(recursion_leaves_for_the_twin_so_many_times_only),
        cmocka_unit_test(tail_calls_do_not_count_as_recursion),
        cmocka_unit_test(the_site_describes_the_stub),
        cmocka_unit_test(other_functions_are_untouched_and_l_is_call_free),
        cmocka_unit_test(nothing_to_do_changes_nothing),
        cmocka_unit_test(a_capturable_module_starts_by_its_initialiser),
        cmocka_unit_test(names_of_ours_refuse_the_module),
        cmocka_unit_test(what_can_not_be_outlined_is_refused_with_a_reason),
        cmocka_unit_test(regions_that_overlap_keep_the_outer_one),
        cmocka_unit_test(values_that_the_stub_does_not_need_reach_l_all_the_same),
        cmocka_unit_test(values_that_the_bytecode_reads_come_through),
        cmocka_unit_test(a_whole_function_asks_its_stub_and_its_body_is_gone),
        cmocka_unit_test(a_v128_function_can_not_be_a_region),
        cmocka_unit_test(places_lead_back_to_the_users_module),
        cmocka_unit_test(the_result_does_not_need_the_module),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
