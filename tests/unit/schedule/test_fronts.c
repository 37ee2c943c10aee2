/* SPDX-License-Identifier: Apache-2.0 */
/* Wavefronts: the skew for known and random dependences, and that in the order which a tree stands for (tree.h) no iteration comes
 * before one that it depends on. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "schedule/scheduler.h"

static const tw_target avx2 = {.vector_bytes = 32, .vector_registers = 16};

static uint64_t seed = 2463534242;
static int pick(int below)
{
    seed ^= seed << 13, seed ^= seed >> 7, seed ^= seed << 17;
    return (int)((seed >> 16) % (uint64_t)below);
}

static void expect_skew(const tw_distance *distances, uint32_t count, uint32_t expected)
{
    uint32_t skew = 99;
    tw_error error = {.message = ""};
    if (tw_find_skew(distances, count, &skew, &error) != TW_OK) fail_msg("%s", error.message);
    assert_int_equal(skew, expected);
}

static void known_stencils_have_known_skews(void **state)
{
    (void)state;
    expect_skew((tw_distance[]){{0, 1}, {1, 0}}, 2, 1);          /* five points, tables of strings */
    expect_skew((tw_distance[]){{0, 1}, {1, -1}}, 2, 2);         /* nine points */
    expect_skew((tw_distance[]){{0, 1}, {1, -3}}, 2, 4);
    expect_skew((tw_distance[]){{0, 1}, {1, 1}}, 2, 0);          /* an interchange is enough */
    expect_skew((tw_distance[]){{0, 1}, {1, 0}, {3, -8}}, 3, 3);
    expect_skew((tw_distance[]){{0, 1}, {2, -1}}, 2, 1);
    expect_skew((tw_distance[]){{1, -8}}, 1, 9);
}

/* (outer, inner) runs before (outer + d, inner + e): on an earlier diagonal, or in the same tile on an earlier front. */
static bool comes_before(int outer, int inner, int d, int e, const tw_tree *tree)
{
    int skew = (int)tree->pair.skew, rows = (int)tree->pair.rows, width = (int)tree->pair.width;
    int front = inner + skew * outer, later = inner + e + skew * (outer + d);
    int diagonal = outer / rows + front / width, later_diagonal = (outer + d) / rows + later / width;
    if (diagonal != later_diagonal) return diagonal < later_diagonal;
    return outer / rows == (outer + d) / rows && front < later;
}

static const char form[] =
    "region \"pair\" exits-at-end exit 1\nsymbol s0 i32 live-in 0\nloop n0 trips e0\nloop n1 in n0 trips e1\nloop n2 in n1 trips e1\n"
    "expr e0 = const i64 5\nexpr e1 = const i64 300\nexpr e2 = symbol s0\nexpr e3 = const i32 8\n"
    "affine a0 i32 in n1 = e3\naffine a1 i32 in n2 = e2 + e2 * n1 + e3 * n2\n"
    "access x0 f64.load a0 + 0 in n1\naccess x1 f64.load a1 + 0 in n2\naccess x2 f64.store a1 + 8 in n2\n"
    "value v0 = read x0\nvalue v1 = read x1\nvalue v2 = f64.add v0 v1\n"
    "n0 {\n  n1 {\n    read v0\n    n2 {\n      read v1\n      store x2 v2\n    }\n  }\n}\nend\n"
    "fact group x1 1\nfact group x2 1\nfact stride x1 n2 unit\nfact stride x2 n2 unit\n"
    "fact trips n0 4\nfact trips n1 1024\nfact trips n2 1024\n";

typedef struct case_ {
    tw_model *model;
    tw_facts facts;
    tw_arena arena;
    tw_tree *tree;
} case_;

static tw_status make(case_ *c, const char *facts, tw_error *error)
{
    char text[4096];
    snprintf(text, sizeof text, "%s%s", form, facts);
    size_t size = strlen(text), model_size = tw_model_text_size(text, size);
    tw_arena_init(&c->arena, TW_ARENA_NO_LIMIT);
    if (tw_model_parse(text, model_size, &c->model, error)) fail_msg("%s", error->message);
    if (tw_facts_parse(c->model, text + model_size, size - model_size, &c->facts, error)) fail_msg("%s", error->message);
    return tw_schedule_make(c->model, &c->facts, &avx2, &c->arena, &c->tree, error);
}

static void drop(case_ *c)
{
    tw_arena_free(&c->arena);
    tw_model_free(c->model);
}

static void dependences_are_kept_in_the_trees_order(void **state)
{
    (void)state;
    int refused = 0;
    for (int round = 0; round < 150; round++) {
        tw_distance all[3] = {{0, 1}, {(int8_t)(1 + pick(3)), (int8_t)(pick(9) - 6)}, {(int8_t)(1 + pick(4)), (int8_t)(pick(17) - 8)}};
        uint32_t count = 1 + (uint32_t)pick(3);
        char facts[256] = "";
        for (uint32_t i = 0; i < count; i++)
            snprintf(facts + strlen(facts), sizeof facts - strlen(facts), "fact distance n2 %d %d\n", all[i].outer, all[i].inner);
        static case_ c;
        tw_error error;
        if (make(&c, facts, &error) != TW_OK) {
            refused++;
            drop(&c);
            continue;
        }
        assert_true(c.tree->has_fronts);
        for (int outer = 0; outer < 40; outer++)
            for (int inner = 0; inner < 300; inner += 1 + inner % 3)
                for (uint32_t i = 0; i < count; i++)
                    for (int more = 0; more < 9; more++) { /* a distance is a lower bound in both counters */
                        int d = all[i].outer + more / 3, e = all[i].inner + more % 3;
                        if (inner + e < 0 || inner + e >= 300) continue;
                        if (!comes_before(outer, inner, d, e, c.tree))
                            fail_msg("skew %u, (%d, %d) to (%d, %d)", c.tree->pair.skew, outer, inner, d, e);
                    }
        drop(&c);
    }
    assert_true(refused < 15);
}

static void a_pair_in_place_becomes_tiles_and_fronts(void **state)
{
    (void)state;
    static case_ c;
    tw_error error;
    tw_bytes out = {0};
    char summary[128];
    assert_int_equal(make(&c, "fact distance n2 0 1\nfact distance n2 1 -1\n", &error), TW_OK);
    tw_tree_print(c.tree, &out);
    assert_string_equal(out.data, "loop n0 {\n"
                                  "  loop n1 diagonals of 16 x 256 {\n"
                                  "    loop n1 tiles blocks 16 threads {\n"
                                  "      loop n2 + 2 n1 fronts {\n"
                                  "        loop n1 in-front {\n"
                                  "          read v0 x0\n          read v1 x1\n          store x2 v2\n"
                                  "        }\n      }\n    }\n  }\n}\n");
    tw_tree_summary(c.tree, summary, sizeof summary);
    assert_string_equal(summary, "threads n1, wavefronts n2 + 2 n1");
    tw_bytes_free(&out);
    drop(&c);
}

/* What the loops around carry, or trips that vary, or distances of another form: the facts can't be used. */
static void what_cant_be_is_refused(void **state)
{
    (void)state;
    static case_ c;
    tw_error error;
    assert_int_equal(make(&c, "fact distance n1 0 1\nfact distance n1 1 0\n", &error), TW_REFUSED); /* n1 isn't innermost */
    drop(&c);
    uint32_t skew;
    assert_int_equal(tw_find_skew((tw_distance[]){{0, -1}}, 1, &skew, &error), TW_REFUSED); /* backwards */
    assert_int_equal(tw_find_skew((tw_distance[]){{0, 1}, {0, -1}}, 2, &skew, &error), TW_REFUSED);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(known_stencils_have_known_skews),
        cmocka_unit_test(dependences_are_kept_in_the_trees_order),
        cmocka_unit_test(a_pair_in_place_becomes_tiles_and_fronts),
        cmocka_unit_test(what_cant_be_is_refused),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
