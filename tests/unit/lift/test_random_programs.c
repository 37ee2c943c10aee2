/* SPDX-License-Identifier: Apache-2.0 */
/* Random modules with every shape of control: their lifted form, run by tests/support/ir_interp.h, against wabt's interpreter. Each
 * module leaves the same results, the same kind of trap, and the same memory, call after call; every other module after jump
 * threading. TW_TEST_SEED and TW_TEST_CASES choose other programs. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <cmocka.h>

#include "../../support/ir_interp.h"
#include "../../support/random_wat.h"
#include "analysis/analysis.h"
#include "lift/lift.h"

/* ---- both interpreters ---- */

typedef struct outcome {
    interp_end end;
    uint64_t values[2];
    int count;
} outcome;

static interp_end end_of_text(const char *text)
{
    static const struct { const char *text; interp_end end; } rows[] = {
        {"unreachable", INTERP_UNREACHABLE}, {"out of bounds memory", INTERP_BOUNDS}, {"divide by zero", INTERP_DIVIDE},
        {"integer overflow", INTERP_OVERFLOW}, {"invalid conversion", INTERP_CONVERSION}, {"indirect call", INTERP_INDIRECT},
        {"undefined table", INTERP_INDIRECT}, {"call stack exhausted", INTERP_EXHAUSTED}};
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++)
        if (strstr(text, rows[i].text)) return rows[i].end;
    return INTERP_UNKNOWN;
}

/* "r0() => i32:5, i64:7" or "r0() => error: …" */
static outcome read_outcome(const char *line)
{
    outcome o = {0};
    const char *at = strstr(line, "=> ");
    if (!at) fail_msg("wasm-interp said: %s", line);
    at += 3;
    if (strncmp(at, "error: ", 7) == 0) {
        o.end = end_of_text(at);
        if (o.end == INTERP_UNKNOWN) fail_msg("wasm-interp said: %s", line);
        return o;
    }
    while (o.count < 2 && (at = strchr(at, ':'))) o.values[o.count++] = strtoull(++at, NULL, 10);
    return o;
}

static FILE *run_wabt(const char *wasm)
{
    char command[300];
    snprintf(command, sizeof command, "wasm-interp --enable-tail-call %s --run-all-exports", wasm);
    FILE *pipe = popen(command, "r");
    assert_non_null(pipe);
    return pipe;
}

typedef struct lifted {
    tw_wasm module;
    tw_ir_func **funcs;
    interp in;
} lifted;

/* threaded: counts functions that jump threading changed; NULL: it isn't applied. */
static void lift_all(lifted *l, const uint8_t *bytes, size_t size, unsigned *threaded)
{
    tw_error error = {0};
    assert_int_equal(tw_wasm_decode((tw_span){bytes, size}, NULL, &l->module, &error), TW_OK);
    l->funcs = calloc(l->module.func_count, sizeof *l->funcs);
    for (uint32_t i = 0; i < l->module.func_count; i++) {
        tw_status status = tw_lift(&l->module, i, (size_t)1 << 28, &l->funcs[i], &error);
        bool changed = false;
        if (status == TW_OK && threaded) status = tw_thread_jumps(l->funcs[i], &changed, &error);
        if (changed) (*threaded)++;
        if (status == TW_OK) status = tw_ir_verify(l->funcs[i], &l->module, &error);
        if (status != TW_OK) fail_msg("function %u: %s", i, error.message);
    }
    l->in = (interp){.module = &l->module, .funcs = l->funcs, .memory = calloc(1, 65536), .memory_size = 65536,
                     .globals = calloc(2, 8), .table = calloc(FUNCS, 4), .table_size = FUNCS, .max_blocks = 10000000};
    l->in.globals[1] = 5;
    for (uint32_t i = 0; i < FUNCS; i++) l->in.table[i] = l->module.elems[0].funcs[i] + 1;
    memcpy(l->in.memory, l->module.datas[0].bytes.data, l->module.datas[0].bytes.size);
}

static void free_all(lifted *l)
{
    for (uint32_t i = 0; i < l->module.func_count; i++) tw_ir_func_free(l->funcs[i]);
    free(l->funcs);
    free(l->in.memory);
    free(l->in.globals);
    free(l->in.table);
    tw_wasm_free(&l->module);
}

static bool same_outcome(const outcome *a, const outcome *b)
{
    if (a->end != b->end) return false;
    return a->end != INTERP_OK || (a->values[0] == b->values[0] && a->values[1] == b->values[1]);
}

static void compare(lifted *l, FILE *theirs, uint64_t seed, unsigned *traps)
{
    char line[512];
    for (uint32_t e = 0; e < l->module.export_count; e++) {
        if (!fgets(line, sizeof line, theirs)) fail_msg("wasm-interp ended early, seed %llu", (unsigned long long)seed);
        outcome want = read_outcome(line), got = {0};
        got.end = interp_run(&l->in, l->module.exports[e].index, NULL, got.values);
        if (got.end == INTERP_UNKNOWN) fail_msg("the IR interpreter doesn't know %s", l->in.unknown);
        if (!same_outcome(&want, &got))
            fail_msg("seed %llu export %u: end %d, %llu %llu; wasm-interp: %s", (unsigned long long)seed, e, got.end,
                     (unsigned long long)got.values[0], (unsigned long long)got.values[1], line);
        *traps += want.end != INTERP_OK;
    }
}

static void one_program(uint64_t seed, unsigned *traps, unsigned *threaded)
{
    generator g = {.state = seed * 0x9E3779B97F4A7C15u + 1};
    generate_module(&g);
    char wat[64], wasm[64], command[200];
    snprintf(wat, sizeof wat, "/tmp/tw-lift-%d.wat", (int)getpid());
    snprintf(wasm, sizeof wasm, "/tmp/tw-lift-%d.wasm", (int)getpid());
    FILE *file = fopen(wat, "wb");
    assert_non_null(file);
    fwrite(g.out.data, 1, g.out.size, file);
    fclose(file);
    snprintf(command, sizeof command, "wat2wasm --enable-tail-call %s -o %s", wat, wasm);
    if (system(command) != 0) fail_msg("wat2wasm refused seed %llu (%s)", (unsigned long long)seed, wat);
    file = fopen(wasm, "rb");
    assert_non_null(file);
    uint8_t *bytes = malloc(1 << 22);
    size_t size = fread(bytes, 1, 1 << 22, file);
    fclose(file);
    lifted l;
    lift_all(&l, bytes, size, seed % 2 ? threaded : NULL);
    FILE *theirs = run_wabt(wasm);
    compare(&l, theirs, seed, traps);
    pclose(theirs);
    free_all(&l);
    free(bytes);
    tw_bytes_free(&g.out);
    unlink(wat);
    unlink(wasm);
}

static uint64_t setting(const char *name, uint64_t otherwise)
{
    const char *text = getenv(name);
    return text ? strtoull(text, NULL, 10) : otherwise;
}

static void lifted_functions_do_what_the_bytes_say(void **state)
{
    (void)state;
    uint64_t seed = setting("TW_TEST_SEED", 1), cases = setting("TW_TEST_CASES", 80);
    unsigned traps = 0, threaded = 0;
    print_message("seed %llu, %llu programs\n", (unsigned long long)seed, (unsigned long long)cases);
    for (uint64_t i = 0; i < cases; i++) one_program(seed + i, &traps, &threaded);
    print_message("%u of %llu calls trapped, %u functions threaded\n", traps, (unsigned long long)(cases * 2 * FUNCS * CALLS), threaded);
    assert_true(cases < 20 || threaded > 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(lifted_functions_do_what_the_bytes_say)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
