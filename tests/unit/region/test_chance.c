/* SPDX-License-Identifier: Apache-2.0 */
/* What can never pay is known without numbers, and nothing else is. (The random nests see to it, too: no region without a
 * chance may run a kernel that is worth anything.) */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

#include "region/chance.h"

/* for (i…) { v = load [A]; store [B] = v }, f32, so many bytes a step: s0 and s1 are pointers, s2 the count. */
#define ONE(read, read_step, write, write_step)                                                                        \
    "region \"one\" exits-at-end exit 1\n"                                                                             \
    "symbol s0 i32 live-in 0\nsymbol s1 i32 live-in 1\nsymbol s2 i32 live-in 2\n"                                      \
    "loop n0 trips e5\n"                                                                                               \
    "expr e0 = symbol s0\nexpr e1 = symbol s1\nexpr e2 = symbol s2\nexpr e3 = const i32 1\n"                           \
    "expr e4 = const i32 4\nexpr e5 = trips i32.ne e3 e3 e2\n"                                                         \
    "expr e6 = const i32 8\nexpr e7 = const i32 800\nexpr e8 = i32.mul e2 e4\n"                                        \
    "expr e9 = i32.add e0 e4\nexpr e10 = i32.add e9 e4\nexpr e11 = i32.add e0 e7\nexpr e12 = i32.add e0 e8\n"          \
    "affine a0 i32 in n0 = " read " + " read_step " * n0\n"                                                            \
    "affine a1 i32 in n0 = " write " + " write_step " * n0\n"                                                          \
    "access x0 f32.load a0 + 0 in n0\naccess x1 f32.store a1 + 0 in n0\n"                                              \
    "value v0 = read x0\n"                                                                                             \
    "n0 {\n  read v0\n  store x1 v0\n}\nend\n"

/* for (i…) for (j…) a[i][j] = a[i + di][j + dj], rows of s1 floats, the distances as exprs. */
#define TWO(base, trips)                                                                                               \
    "region \"two\" exits-at-end exit 1\n"                                                                             \
    "symbol s0 i32 live-in 0\nsymbol s1 i32 live-in 1\nsymbol s2 i32 live-in 2\n"                                      \
    "loop n0 trips e5\nloop n1 in n0 trips " trips "\n"                                                                \
    "expr e0 = symbol s0\nexpr e1 = symbol s1\nexpr e2 = symbol s2\nexpr e3 = const i32 1\n"                           \
    "expr e4 = const i32 4\nexpr e5 = trips i32.ne e3 e3 e2\nexpr e6 = const i32 8\nexpr e7 = const i32 2\n"           \
    "expr e8 = i32.mul e1 e4\nexpr e9 = i32.add e0 e4\nexpr e10 = i32.add e0 e8\nexpr e11 = i32.add e8 e9\n"           \
    "expr e12 = i32.shl e1 e7\nexpr e13 = trips i32.ne e3 e3 e6\nexpr e14 = trips i32.ne e3 e3 e1\n"                   \
    "affine a0 i32 in n1 = e0 + e12 * n0 + e4 * n1\n"                                                                  \
    "affine a1 i32 in n1 = " base " + e8 * n0 + e4 * n1\n"                                                             \
    "access x0 f32.load a0 + 0 in n1\naccess x1 f32.store a1 + 0 in n1\n"                                              \
    "value v0 = read x0\n"                                                                                             \
    "n0 {\n  n1 {\n    read v0\n    store x1 v0\n  }\n}\nend\n"

typedef struct example {
    const char *what, *text;
    uint64_t most;
    tw_refusal expected;
} example;

static const example examples[] = {
    {"b[i] = a[i]", ONE("e0", "e4", "e1", "e4"), 0, TW_REFUSAL_NONE},
    {"a[i] = a[i]", ONE("e0", "e4", "e0", "e4"), 0, TW_REFUSAL_NONE},
    {"a[i + 1] = a[i]", ONE("e0", "e4", "e9", "e4"), 0, TW_REFUSAL_DEPENDENCE},
    {"a[i] = a[i + 1]", ONE("e9", "e4", "e0", "e4"), 0, TW_REFUSAL_DEPENDENCE},
    {"a[i + 2] = a[i]", ONE("e0", "e4", "e10", "e4"), 0, TW_REFUSAL_DEPENDENCE},
    {"a[2 i + 1] = a[2 i]", ONE("e0", "e6", "e9", "e6"), 0, TW_REFUSAL_NONE},
    {"a[i + 1] = a[2 i]: dependent, but not seen", ONE("e0", "e6", "e9", "e4"), 0, TW_REFUSAL_NONE},
    {"a[i + 200] = a[i]: up to 200 iterations are parallel", ONE("e0", "e4", "e11", "e4"), 0, TW_REFUSAL_NONE},
    {"a[i + n] = a[i]: depends on n", ONE("e0", "e4", "e12", "e4"), 0, TW_REFUSAL_NONE},
    {"a[0] = b[i]", ONE("e1", "e4", "e0", "e8"), 0, TW_REFUSAL_NONE},
    {"every store in the bytes of the one before", ONE("e1", "e4", "e0", "e3"), 0, TW_REFUSAL_DEPENDENCE},
    {"7 iterations of b[i] = a[i]", ONE("e0", "e4", "e1", "e4"), 7, TW_REFUSAL_FEW},
    {"1000 iterations of b[i] = a[i]", ONE("e0", "e4", "e1", "e4"), 1000, TW_REFUSAL_NONE},
    {"a[i][j] = a[i][j]", TWO("e0", "e14"), 0, TW_REFUSAL_NONE},
    {"a[i + 1][j] = a[i][j]: j is parallel", TWO("e10", "e14"), 0, TW_REFUSAL_NONE},
    {"a[i][j + 1] = a[i][j]: i is parallel", TWO("e9", "e14"), 0, TW_REFUSAL_NONE},
    {"a[i + 1][j + 1] = a[i][j]: j is parallel", TWO("e11", "e14"), 0, TW_REFUSAL_NONE},
    {"8 × 8 of a[i][j] = a[i][j]", TWO("e0", "e13"), 8, TW_REFUSAL_FEW},
    {"8 × 100 of it", TWO("e0", "e13"), 100, TW_REFUSAL_NONE},
};

static void judged(const example *it)
{
    tw_model *model;
    tw_error error;
    char why[200] = "";
    if (tw_model_parse(it->text, strlen(it->text), &model, &error) != TW_OK) fail_msg("%s: %s (byte %d)", it->what, error.message, (int)error.offset);
    tw_refusal got = tw_model_chance(model, it->most, why);
    tw_model_free(model);
    if (got != it->expected) fail_msg("%s: %s (%s)", it->what, tw_refusal_name(got), why);
    assert_int_equal(got == TW_REFUSAL_NONE, !why[0]);
}

static void what_can_never_pay_is_known_at_load_time(void **state)
{
    (void)state;
    for (size_t i = 0; i < sizeof examples / sizeof *examples; i++) judged(&examples[i]);
}

/* Gauss-Seidel: both loops serial, but diagonals aren't. The left neighbour by memory, or handed on. */
static void nests_serial_in_every_loop_are_not_given_up(void **state)
{
    (void)state;
    static const char head[] =
        "region \"seidel\" exits-at-end exit 1\n"
        "symbol s0 i32 live-in 0\nsymbol s1 i32 live-in 1\nsymbol s2 i32 live-in 2\n"
        "loop n0 trips e5\nloop n1 in n0 trips e5\n"
        "expr e0 = symbol s0\nexpr e1 = symbol s1\nexpr e2 = symbol s2\nexpr e3 = const i32 1\n"
        "expr e4 = const i32 4\nexpr e5 = trips i32.ne e3 e3 e2\nexpr e6 = i32.mul e1 e4\nexpr e7 = i32.add e0 e6\nexpr e8 = i32.add e7 e4\n";
    static const char by_memory[] =
        "affine a0 i32 in n1 = e7 + e6 * n0 + e4 * n1\naffine a1 i32 in n1 = e0 + e6 * n0 + e4 * n1\n"
        "affine a2 i32 in n1 = e8 + e6 * n0 + e4 * n1\n"
        "access x0 i32.load a0 + 0 in n1\naccess x1 i32.load a1 + 4 in n1\naccess x2 i32.store a2 + 0 in n1\n"
        "value v0 = read x0\nvalue v1 = read x1\nvalue v2 = i32.add v0 v1\n"
        "n0 {\n  n1 {\n    read v0\n    read v1\n    store x2 v2\n  }\n}\nend\n";
    static const char handed_on[] =
        "affine a0 i32 in n1 = e0 + e6 * n0 + e4 * n1\naffine a1 i32 in n1 = e8 + e6 * n0 + e4 * n1\n"
        "access x0 i32.load a0 + 4 in n1\naccess x1 i32.store a1 + 0 in n1\n"
        "carried c0 i32 in n1 init v0 next v3\n"
        "value v0 = const i32 1\nvalue v1 = read x0\nvalue v2 = carried c0\nvalue v3 = i32.add v1 v2\n"
        "n0 {\n  n1 {\n    read v1\n    store x1 v3\n  }\n}\nend\n";
    char text[2000];
    snprintf(text, sizeof text, "%s%s", head, by_memory);
    judged(&(example){"by memory", text, 0, TW_REFUSAL_NONE});
    snprintf(text, sizeof text, "%s%s", head, handed_on);
    judged(&(example){"handed on", text, 0, TW_REFUSAL_NONE});
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(what_can_never_pay_is_known_at_load_time),
        cmocka_unit_test(nests_serial_in_every_loop_are_not_given_up),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
