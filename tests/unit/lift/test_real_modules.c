/* SPDX-License-Identifier: Apache-2.0 */
/* Whole programs with their C library, as clang makes them at every level: each function lifts, verifies, prints to a text
 * that reads back the same, and can be analysed. */
#include "../wasm/wat.h"

#include "analysis/analysis.h"
#include "lift/lift.h"

enum { MEMORY = 256 << 20 };

static const char program[] =
    "#include <stdio.h>\n#include <stdlib.h>\n#include <string.h>\n#include <math.h>\n"
    "static double m[64][64], v[64]; static unsigned char picture[64 * 64];\n"
    "static int by_value(const void *a, const void *b) { double x = *(const double *)a, y = *(const double *)b; return x < y ? -1 : x > y; }\n"
    "static unsigned hash(const char *s) { unsigned h = 5381; while (*s) h = h * 33 ^ (unsigned char)*s++; return h; }\n"
    "static void blur(unsigned char *to, const unsigned char *from, int n) { for (int y = 1; y < n - 1; y++) for (int x = 1; x < n - 1; x++) {\n"
    "  int sum = 0; for (int a = -1; a < 2; a++) for (int b = -1; b < 2; b++) sum += from[(y + a) * n + x + b]; to[y * n + x] = sum / 9; } }\n"
    "static long interpret(const char *code) { long a = 0, b = 1; for (;;) switch (*code++) { case '+': a += b; break; case '-': a -= b; break;\n"
    "  case '*': a *= b; break; case '<': a <<= b & 31; break; case 'x': { long t = a; a = b; b = t; break; } case '0': a = 0; break;\n"
    "  case 'n': b++; break; case 0: return a; default: return -1; } }\n"
    "int main(int argc, char **argv) { char line[256];\n"
    "  for (int i = 0; i < 64; i++) for (int j = 0; j < 64; j++) m[i][j] = sin(i) * exp(-j / 9.0), picture[i * 64 + j] = i ^ j;\n"
    "  for (int i = 0; i < 64; i++) { double s = 0; for (int j = 0; j < 64; j++) s += m[i][j] * m[j][i]; v[i] = s; }\n"
    "  blur(picture, picture + 7, 63); qsort(v, 64, sizeof *v, by_value);\n"
    "  while (fgets(line, sizeof line, stdin)) printf(\"%u %ld %.3f\\n\", hash(line), interpret(line), strtod(line, NULL));\n"
    "  char *copy = malloc(argc * 100 + 1); for (int i = 0; i < argc; i++) strncat(copy, argv[i], 99); puts(copy); free(copy);\n"
    "  return (int)(v[7] + picture[99]); }\n";

static bytes build(const char *flags)
{
    char source[64], wasm[64], command[300];
    temp_name(source, ".c");
    temp_name(wasm, ".wasm");
    write_whole(source, program, sizeof program - 1);
    snprintf(command, sizeof command, "clang-19 --target=wasm32-wasi %s -w -o %s %s", flags, wasm, source);
    assert_int_equal(system(command), 0);
    bytes result = read_whole(wasm);
    unlink(source);
    unlink(wasm);
    return result;
}

static void check_text(const tw_ir_func *func, const tw_wasm *module)
{
    tw_bytes first = {0}, second = {0};
    tw_error error;
    tw_ir_func *again;
    tw_ir_print(func, &first);
    if (tw_ir_parse(first.data, first.size, &again, &error) != TW_OK) fail_msg("%s: %s", func->name, error.message);
    assert_int_equal(tw_ir_verify(again, module, &error), TW_OK);
    tw_ir_print(again, &second);
    assert_int_equal(first.size, second.size);
    assert_memory_equal(first.data, second.data, first.size);
    tw_ir_func_free(again);
    tw_bytes_free(&first);
    tw_bytes_free(&second);
}

static uint32_t check_analysis(const tw_ir_func *func)
{
    tw_analysis *analysis;
    tw_bytes text = {0};
    assert_int_equal(tw_analysis_new(func, MEMORY, &analysis, NULL), TW_OK);
    tw_analysis_print(analysis, &text);
    assert_false(tw_analysis_failed(analysis));
    uint32_t loops = tw_analysis_loops(analysis)->count;
    tw_analysis_free(analysis);
    tw_bytes_free(&text);
    return loops;
}

static void check_module(const char *flags)
{
    bytes wasm = build(flags);
    tw_wasm module;
    tw_error error = {0};
    uint32_t loops = 0;
    assert_int_equal(tw_wasm_decode((tw_span){wasm.data, wasm.size}, NULL, &module, &error), TW_OK);
    for (uint32_t i = module.imported_funcs; i < module.func_count; i++) {
        tw_ir_func *func;
        bool changed;
        tw_status status = tw_lift(&module, i, MEMORY, &func, &error);
        if (status == TW_OK) status = tw_ir_verify(func, &module, &error);
        if (status != TW_OK) fail_msg("%s, function %u: %s", flags, i, error.message);
        check_text(func, &module);
        loops += check_analysis(func);
        assert_int_equal(tw_thread_jumps(func, &changed, &error), TW_OK);
        if (tw_ir_verify(func, &module, &error) != TW_OK) fail_msg("%s, function %u, threaded: %s", flags, i, error.message);
        check_analysis(func);
        tw_ir_func_free(func);
    }
    print_message("%s: %u functions, %u loops\n", flags, module.func_count - module.imported_funcs, loops);
    assert_true(loops > 50);
    tw_wasm_free(&module);
    free(wasm.data);
}

static void every_function_of_whole_programs_lifts(void **state)
{
    (void)state;
    static const char *const flags[] = {"-O0", "-O1", "-O2", "-O3", "-Os", "-O3 -msimd128 -mtail-call", "-O2 -msimd128 -mrelaxed-simd -mbulk-memory"};
    for (size_t i = 0; i < sizeof flags / sizeof *flags; i++) check_module(flags[i]);
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(every_function_of_whole_programs_lifts)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
