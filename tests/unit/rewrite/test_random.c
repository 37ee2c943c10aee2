/* SPDX-License-Identifier: Apache-2.0 */
/* Random structured code, its loops made regions at random, against the original in wabt's interpreter. The stubs say
 * "not now" with countdowns of 1, 2 and 3, so that every way through the twin and L is taken. */
#include "run.h"

#include <time.h>

enum { LOCALS_I32 = 5, FUNCS = 12, MAX_REGIONS = 400, MAX_LOCALS = 10 };

static uint64_t seed;
static uint32_t pick(uint32_t below)
{
    seed = seed * 6364136223846793005u + 1442695040888963407u;
    return (uint32_t)(seed >> 33) % below;
}

/* Locals: 0 fuel, 1-5 i32, 6 i64, 7 f64, 8 v128. */
static void expression(FILE *f, int depth)
{
    static const char *const ops[] = {"add", "sub", "mul", "xor", "and", "lt_s", "shl", "rotl"};
    if (depth == 0 || pick(4) == 0) {
        if (pick(3)) fprintf(f, "(local.get %u)", 1 + pick(LOCALS_I32));
        else fprintf(f, "(i32.const %d)", (int)pick(9) - 4);
        return;
    }
    switch (pick(6)) {
    case 0:
        fprintf(f, "(i32.load offset=%u (i32.and (i32.const 252) ", pick(3) * 4);
        expression(f, depth - 1);
        fprintf(f, "))");
        return;
    case 1: fprintf(f, "(i32.wrap_i64 (local.get 6))"); return;
    case 2:
        fprintf(f, "(select ");
        expression(f, depth - 1);
        expression(f, depth - 1);
        expression(f, depth - 1);
        fprintf(f, ")");
        return;
    default:
        fprintf(f, "(i32.%s ", ops[pick(8)]);
        expression(f, depth - 1);
        expression(f, depth - 1);
        fprintf(f, ")");
    }
}

static void statements(FILE *f, int depth, int labels);

static void branch_somewhere(FILE *f, int labels)
{
    switch (pick(5)) {
    case 0: fprintf(f, "(br %u)", pick((uint32_t)labels)); break;
    case 1:
        fprintf(f, "(br_table %u %u %u %u ", pick((uint32_t)labels), pick((uint32_t)labels), pick((uint32_t)labels),
                pick((uint32_t)labels));
        expression(f, 1);
        fprintf(f, ")");
        break;
    case 2: fprintf(f, pick(3) ? "nop\n" : "return\n"); break;
    default:
        fprintf(f, "(br_if %u ", pick((uint32_t)labels));
        expression(f, 2);
        fprintf(f, ")");
    }
}

static void loop(FILE *f, int depth, int labels)
{
    fprintf(f,
            "(loop (if (i32.lt_s (local.tee 0 (i32.sub (local.get 0) (i32.const 1))) (i32.const 0)) (then return))\n");
    statements(f, depth - 1, labels + 1);
    if (pick(4)) {
        fprintf(f, "(br_if 0 ");
        expression(f, 2);
        fprintf(f, ")");
    } else if (pick(2)) {
        fprintf(f, "(br %u)", pick((uint32_t)labels + 1));
    }
    fprintf(f, ")\n");
}

static void statement(FILE *f, int depth, int labels)
{
    switch (pick(depth > 0 ? 12 : 6)) {
    case 0: case 1: fprintf(f, "(local.set %u ", 1 + pick(LOCALS_I32)); expression(f, 3); fprintf(f, ")\n"); break;
    case 2:
        fprintf(f, "(i32.store (i32.and (i32.const 252) ");
        expression(f, 2);
        fprintf(f, ") ");
        expression(f, 2);
        fprintf(f, ")\n");
        break;
    case 3:
        fprintf(f, "(local.set 6 (i64.add (local.get 6) (i64.extend_i32_s ");
        expression(f, 2);
        fprintf(f, ")))\n");
        break;
    case 4:
        fprintf(f, "(local.set 7 (f64.add (local.get 7) (f64.convert_i32_s ");
        expression(f, 2);
        fprintf(f, ")))\n");
        break;
    case 5:
        fprintf(f, pick(3) ? "(global.set $g (i32.add (global.get $g) (i32x4.extract_lane 1 (local.get 8))))\n"
                           : "(f64.store (i32.const 264) (local.get 7))\n");
        break;
    case 6:
        fprintf(f, "(block\n");
        statements(f, depth - 1, labels + 1);
        branch_somewhere(f, labels + 1);
        fprintf(f, ")\n");
        break;
    case 7:
        fprintf(f, "(if ");
        expression(f, 2);
        fprintf(f, " (then\n");
        statements(f, depth - 1, labels + 1);
        fprintf(f, ")");
        if (pick(2)) { fprintf(f, "(else\n"); statements(f, depth - 1, labels + 1); fprintf(f, ")"); }
        fprintf(f, ")\n");
        break;
    case 8:
        fprintf(f, "(local.set %u (block (result i32) ", 1 + pick(LOCALS_I32));
        statements(f, depth - 1, 0);
        expression(f, 2);
        fprintf(f, "))\n");
        break;
    case 9: if (pick(6) == 0) fprintf(f, "(call $helper)\n"); break;
    default: loop(f, depth, labels);
    }
}

/* labels 0: no branches out (a block that gives a value is around). */
static void statements(FILE *f, int depth, int labels)
{
    for (uint32_t n = 1 + pick(4); n; n--) {
        if (labels) statement(f, depth, labels);
        else if (depth > 0 && pick(2)) fprintf(f, "(local.set 2 (i32.add (local.get 2) (i32.const 3)))\n");
    }
    if (labels && pick(3) == 0) branch_somewhere(f, labels);
}

static char *program(void)
{
    char *text;
    size_t size;
    FILE *f = open_memstream(&text, &size);
    fprintf(
        f,
        "(module (memory 1) (global $g (mut i32) (i32.const 5)) (data (i32.const 3) \"the quick brown fox jumps over\")\n"
        "(func $helper (global.set $g (i32.mul (global.get $g) (i32.const 3))))\n");
    for (int i = 0; i < FUNCS; i++) {
        fprintf(f, "(func $f%d (local i32 i32 i32 i32 i32 i32 i64 f64 v128) (local.set 0 (i32.const 60))"
                   "(local.set 8 (v128.const i32x4 1 7 3 4))\n", i);
        loop(f, 3, 1);
        statements(f, 3, 1);
        fprintf(f, ")\n(func (export \"run%d\") (result i64) (local i32 i64) call $f%d\n"
                   "(loop (local.set 1 (i64.add (i64.mul (local.get 1) (i64.const 31)) (i64.load8_u (local.get 0))))"
                   " (br_if 0 (i32.lt_u (local.tee 0 (i32.add (local.get 0) (i32.const 1))) (i32.const 280))))\n"
                   "(i64.add (local.get 1) (i64.extend_i32_u (global.get $g))))\n", i, i);
    }
    fprintf(f, ")\n");
    fclose(f);
    return text;
}

typedef struct choice {
    tw_rewrite_region regions[MAX_REGIONS];
    uint32_t lists[MAX_REGIONS][2][MAX_LOCALS];
    uint32_t count;
} choice;

/* Every loop with probability 3/4; loops inside chosen ones too, now and then: they must be refused. */
static void choose(const tw_wasm *module, choice *c, tw_arena *arena)
{
    uint64_t offsets[200];
    c->count = 0;
    for (uint32_t func = 1; func < module->func_count; func++) {
        uint32_t loops = loops_of(module, func, offsets, 200);
        for (uint32_t i = 0; i < loops && c->count < MAX_REGIONS; i++) {
            tw_nest nest;
            if (pick(4) == 0 || tw_wasm_nest(module, func, offsets[i], arena, &nest, NULL) != TW_OK) continue;
            tw_rewrite_region *r = &c->regions[c->count];
            uint32_t *live_ins = c->lists[c->count][0], *headers = c->lists[c->count][1];
            *r = (tw_rewrite_region){.func = func,
                                     .loop_offset = offsets[i],
                                     .nested = nest.nested || pick(2),
                                     .live_ins = live_ins,
                                     .headers = headers};
            for (uint32_t local = 0; local < nest.local_count; local++) {
                bool written = nest.touched[local] & TW_NEST_WRITTEN, crosses = nest.local_types[local] != TW_V128;
                if (written && crosses && pick(2)) headers[r->header_count++] = local; /* the rest only L passes */
                else if (!written && crosses && pick(2)) live_ins[r->live_in_count++] = local;
            }
            c->count++;
        }
    }
}

typedef struct totals {
    uint32_t accepted, refused;
} totals;

static void one_program(totals *t, bool stoppable)
{
    static choice c;
    char *text = program();
    bytes original = wat("", text);
    tw_wasm module;
    tw_arena arena;
    tw_error error;
    tw_arena_init(&arena, TW_ARENA_NO_LIMIT);
    decode_ok(original, &module);
    choose(&module, &c, &arena);
    tw_rewrite_options options = {.regions = c.regions, .region_count = c.count, .stoppable = stoppable};
    tw_rewrite *rewrite;
    if (tw_rewrite_module(&module, &options, &rewrite, &error) != TW_OK) fail_msg("%s", error.message);
    for (uint32_t i = 0; i < rewrite->site_count; i++) {
        t->accepted += rewrite->sites[i].status == TW_OK;
        t->refused += rewrite->sites[i].status != TW_OK;
    }
    if (rewrite->bytes) {
        assert_valid(REWRITTEN, rewrite->bytes, rewrite->size);
        bytes linked = rewrite->stub_table == UINT32_MAX ? (bytes){NULL, 0}
                                                         : with_stubs(rewrite, rewritten_funcs(rewrite), echo_stub);
        bytes expected = run_exports(original.data, original.size);
        bytes got = linked.data ? run_exports(linked.data, linked.size) : run_exports(rewrite->bytes, rewrite->size);
        if (strcmp((char *)expected.data, (char *)got.data) != 0) {
            write_whole("/tmp/tw-random-failed.wat", text, strlen(text));
            fail_msg("%s\nbut\n%s", (char *)expected.data, (char *)got.data);
        }
        free(linked.data);
        free(expected.data);
        free(got.data);
    }
    tw_rewrite_free(rewrite);
    tw_wasm_free(&module);
    tw_arena_free(&arena);
    free(original.data);
    free(text);
}

static void random_code_runs_the_same_in_twins(void **state)
{
    (void)state;
    const char *given = getenv("TW_SEED"), *cases = getenv("TW_CASES");
    uint64_t first = given ? strtoull(given, NULL, 0) : (uint64_t)time(NULL);
    int count = cases ? atoi(cases) : 25;
    totals t = {0};
    print_message("seed %llu\n", (unsigned long long)first);
    for (int i = 0; i < count; i++) {
        seed = first + (uint64_t)i;
        one_program(&t, i % 2);
    }
    print_message("%u regions rewritten, %u refused\n", t.accepted, t.refused);
    assert_true(t.accepted > 100);
    assert_true(t.refused > 10);
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(random_code_runs_the_same_in_twins)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
