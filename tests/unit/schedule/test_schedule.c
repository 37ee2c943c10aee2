/* SPDX-License-Identifier: Apache-2.0 */
/* What becomes of known models, and what is left alone and why. That schedules keep the meaning is tested with kernels. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "schedule/tree.h"

static const tw_target avx2 = {.vector_bytes = 32, .vector_registers = 16};

static char *read_text(const char *name)
{
    char path[512];
    snprintf(path, sizeof path, "%s/models/%s.model", TW_TEST_DATA, name);
    FILE *file = fopen(path, "rb");
    if (!file) fail_msg("no %s", path);
    char *text = calloc(1, 1 << 16);
    if (fread(text, 1, (1 << 16) - 1, file) == 0) fail_msg("%s is empty", path);
    fclose(file);
    return text;
}

/* `from` becomes `to` in the text, if not NULL. */
static char *schedule(const char *name, const char *from, const char *to, const tw_target *target)
{
    char *text = read_text(name);
    if (from) {
        char *at = strstr(text, from), *changed = calloc(1, 1 << 16);
        if (!at) fail_msg("no \"%s\" in %s", from, name);
        snprintf(changed, 1 << 16, "%.*s%s%s", (int)(at - text), text, to, at + strlen(from));
        free(text);
        text = changed;
    }
    static tw_facts facts;
    tw_model *model;
    tw_error error = {.message = ""};
    size_t size = strlen(text), model_size = tw_model_text_size(text, size);
    if (tw_model_parse(text, model_size, &model, &error)) fail_msg("%s", error.message);
    if (tw_facts_parse(model, text + model_size, size - model_size, &facts, &error)) fail_msg("%s", error.message);
    tw_arena arena;
    tw_arena_init(&arena, TW_ARENA_NO_LIMIT);
    tw_tree *tree;
    tw_bytes out = {0};
    assert_int_equal(tw_schedule_make(model, &facts, target, &arena, &tree, &error), TW_OK);
    tw_tree_print(tree, &out);
    tw_arena_free(&arena);
    tw_model_free(model);
    free(text);
    return tw_bytes_take(&out, NULL);
}

static void check(const char *name, const char *from, const char *to, const tw_target *target, const char *expected)
{
    char *got = schedule(name, from, to, target);
    assert_string_equal(got, expected);
    free(got);
}

static void one_loop_is_threads_and_lanes(void **state)
{
    (void)state;
    check("saxpy", NULL, NULL, &avx2,
          "loop n0 threads lanes 8 vectors 4 {\n  read v1 x0\n  read v3 x1\n  store x2 v4\n}\n");
}

static void a_serial_loop_stays(void **state)
{
    (void)state;
    check("saxpy", "fact parallel n0\n", "", &avx2, "loop n0 {\n  read v1 x0\n  read v3 x1\n  store x2 v4\n}\n");
}

static void without_vectors_there_are_threads(void **state)
{
    (void)state;
    check("saxpy", NULL, NULL, &(tw_target){0, 0}, "loop n0 threads {\n  read v1 x0\n  read v3 x1\n  store x2 v4\n}\n");
}

static void a_dead_loop_goes(void **state)
{
    (void)state;
    check("matvec", "fact trips n1 1024\n", "fact dead n1\n", &avx2, "loop n0 threads lanes 4 vectors 4 {\n  store x2 v6\n}\n");
}

static const char product[] = "loop n0 threads rows 3 {\n"
                              "  loop n1 lanes 4 vectors 3 {\n    read v0 x0\n    store x1 v2\n  }\n"
                              "}\n"
                              "loop n2 blocks 128 {\n"
                              "  loop n3 lanes 4 vectors 3 {\n"
                              "    loop n0 threads rows 3 {\n"
                              "      loop n2 in-block {\n"
                              "        read v4 x2\n        read v6 x3\n        read v8 x4\n        store x5 v9\n"
                              "      }\n    }\n  }\n}\n";

static void a_matrix_product_is_tiled(void **state)
{
    (void)state;
    check("gemm", NULL, NULL, &avx2, product);
}

/* j isn't known to be independent over l: l stays outside. */
static void without_freedom_there_is_no_interchange(void **state)
{
    (void)state;
    char *got = schedule("gemm", "fact free n3 1\n", "", &avx2);
    assert_non_null(strstr(got, "  loop n2 {\n    loop n3 lanes"));
    assert_null(strstr(got, "blocks"));
    free(got);
}

/* Rows of different lengths can't be jammed. */
static void a_triangle_has_no_rows(void **state)
{
    (void)state;
    char *text = schedule("guards", NULL, NULL, &avx2);
    assert_null(strstr(text, "rows"));
    assert_null(strstr(text, "lanes"));
    free(text);
}

static void independent_sums_are_lanes(void **state)
{
    (void)state;
    check("matvec", NULL, NULL, &avx2,
          "loop n0 threads lanes 4 vectors 4 {\n  loop n1 {\n    read v2 x0\n    read v3 x1\n  }\n  store x2 v6\n}\n");
}

static void a_transpose_is_done_in_squares(void **state)
{
    (void)state;
    check("transpose", NULL, NULL, &avx2, "loop n0 threads rows 8 {\n  loop n1 lanes 8 {\n    read v0 x0\n    store x1 v0\n  }\n}\n");
}

static void threads_go_inside_a_serial_loop(void **state)
{
    (void)state;
    char *got = schedule("jacobi", NULL, NULL, &avx2);
    assert_int_equal(strncmp(got, "loop n0 {\n  loop n1 threads {\n    loop n2 lanes 4 vectors 4 {\n", 60), 0);
    assert_non_null(strstr(got, "  loop n3 threads {\n    loop n4 lanes 4 vectors 4 {\n"));
    free(got);
}

/* A meeting of threads costs more than this loop. */
static void small_loops_inside_have_no_threads(void **state)
{
    (void)state;
    char *got = schedule("jacobi", "fact parallel n1\nfact trips n1 1024\n", "fact parallel n1\nfact trips n1 1\n", &avx2);
    assert_null(strstr(got, "loop n1 threads"));
    assert_non_null(strstr(got, "loop n3 threads"));
    free(got);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(one_loop_is_threads_and_lanes),
        cmocka_unit_test(a_serial_loop_stays),
        cmocka_unit_test(without_vectors_there_are_threads),
        cmocka_unit_test(a_dead_loop_goes),
        cmocka_unit_test(a_matrix_product_is_tiled),
        cmocka_unit_test(without_freedom_there_is_no_interchange),
        cmocka_unit_test(a_triangle_has_no_rows),
        cmocka_unit_test(independent_sums_are_lanes),
        cmocka_unit_test(a_transpose_is_done_in_squares),
        cmocka_unit_test(threads_go_inside_a_serial_loop),
        cmocka_unit_test(small_loops_inside_have_no_threads),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
