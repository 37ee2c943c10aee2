/* SPDX-License-Identifier: Apache-2.0 */
/* A model's text is its other self: print after parse gives the same bytes; what isn't a model is refused, and no bytes
 * whatever make the parser misbehave. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "region/facts.h"

static const char *const files[] = {"saxpy", "gemm", "matvec", "shapes", "jacobi", "guards", "lanes", "transpose", "tables"};
enum { FILES = sizeof files / sizeof *files };

static char *read_model_file(const char *name, size_t *size)
{
    char path[512];
    snprintf(path, sizeof path, "%s/models/%s.model", TW_TEST_DATA, name);
    FILE *file = fopen(path, "rb");
    assert_non_null(file);
    char *text = malloc(1 << 16);
    *size = fread(text, 1, 1 << 16, file);
    fclose(file);
    return text;
}

/* Model and facts printed again; NULL when refused. */
static char *reprint(const char *text, size_t size, tw_error *error)
{
    size_t model_size = tw_model_text_size(text, size);
    tw_model *model;
    if (tw_model_parse(text, model_size, &model, error)) return NULL;
    static tw_facts facts;
    tw_bytes out = {0};
    if (tw_facts_parse(model, text + model_size, size - model_size, &facts, error) == TW_OK) {
        tw_model_print(model, &out);
        tw_facts_print(model, &facts, &out);
    }
    tw_model_free(model);
    return out.data ? tw_bytes_take(&out, NULL) : NULL;
}

static void printing_a_parsed_text_gives_it_back(void **state)
{
    (void)state;
    for (int i = 0; i < FILES; i++) {
        size_t size;
        tw_error error = {.message = ""};
        char *text = read_model_file(files[i], &size), *again = reprint(text, size, &error);
        text[size] = 0;
        if (!again) fail_msg("%s: byte %llu: %s", files[i], (unsigned long long)error.offset, error.message);
        assert_string_equal(again, text);
        free(again);
        free(text);
    }
}

static void no_truncation_is_a_model(void **state)
{
    (void)state;
    for (int i = 0; i < FILES; i++) {
        size_t size;
        tw_error error;
        char *text = read_model_file(files[i], &size);
        size_t model_size = tw_model_text_size(text, size);
        for (size_t cut = 0; cut < model_size - 1; cut++) { /* the last newline may go */
            char *copy = malloc(cut + 1); /* exact, for the address sanitizer */
            memcpy(copy, text, cut);
            tw_model *model;
            assert_int_not_equal(tw_model_parse(copy, cut, &model, &error), TW_OK);
            free(copy);
        }
        free(text);
    }
}

/* Every byte changed in several ways: refused, or a model whose own text is stable. */
static void changed_bytes_are_refused_or_stable(void **state)
{
    (void)state;
    static const char with[] = "0129 \nnevxsac{}=+-\"\\\xFF";
    for (int i = 0; i < FILES; i++) {
        size_t size;
        tw_error error;
        char *text = read_model_file(files[i], &size);
        for (size_t at = 0; at < size; at++) {
            char kept = text[at];
            text[at] = with[(at * 7 + (size_t)i) % sizeof with]; /* NUL included */
            char *once = reprint(text, size, &error);
            if (once) {
                char *twice = reprint(once, strlen(once), &error);
                assert_non_null(twice);
                assert_string_equal(twice, once);
                free(twice);
            }
            free(once);
            text[at] = kept;
        }
        free(text);
    }
}

static char *replace(const char *text, const char *from, const char *to)
{
    const char *at = strstr(text, from);
    if (!at) fail_msg("the text has no \"%s\"", from);
    tw_bytes out = {0};
    tw_bytes_append(&out, text, (size_t)(at - text));
    tw_bytes_append_string(&out, to);
    tw_bytes_append_string(&out, at + strlen(from));
    return tw_bytes_take(&out, NULL);
}

static const struct {
    const char *file, *rule, *from, *to;
} wrong[] = {
    {"saxpy", "an operation's argument has its type", "f32.mul v0 v1", "f64.mul v0 v1"},
    {"saxpy", "arguments come first", "f32.mul v0 v1", "f32.mul v0 v4"},
    {"saxpy", "a stored value has the access's type", "access x2 f32.store", "access x2 i32.store"},
    {"saxpy", "a value isn't used before it is read", "  read v3\n  store x2 v4\n", "  store x2 v4\n  read v3\n"},
    {"saxpy", "an access has one item", "  read v3\n", "  read v3\n  read v3\n"},
    {"saxpy", "a read reads", "read v1\n", "read v2\n"},
    {"saxpy", "an address has 32 bits", "affine a0 i32", "affine a0 i64"},
    {"saxpy", "kinds are numbered without gaps", "expr e1 =", "expr e2 ="},
    {"saxpy", "a trip count is an i64", "loop n0 trips e5", "loop n0 trips e4"},
    {"saxpy", "only compares test trips", "trips i32.ne", "trips i32.add"},
    {"saxpy", "a header's symbol is its local's", "header 4 i32", "header 5 i32"},
    {"saxpy", "facts name what exists", "fact parallel n0", "fact parallel n1"},
    {"gemm", "a loop is free only over loops around it", "fact free n3 1", "fact free n3 3"},
    {"saxpy", "nothing follows the end", "end\n", "end\nend\n"},
    {"saxpy", "names are closed", "\"saxpy#0\"", "\"saxpy#0"},
    {"saxpy", "32-bit constants fit", "const i32 4", "const i32 4294967296"},
    {"saxpy", "no vectors", "f32.load a0", "v128.load a0"},
    {"saxpy", "divisors are constants", "f32.mul v0 v1\n", "i32.div_s v0 v1\n"},
    {"gemm", "coefficients are of enclosing loops", "affine a2 i32 in n2 = e4 + e9 * n0 + e6 * n2",
     "affine a2 i32 in n2 = e4 + e9 * n0 + e6 * n3"},
    {"gemm", "an address varies only with loops around its access", "access x0 f64.load a0 + 0 in n1",
     "access x0 f64.load a1 + 0 in n1"},
    {"gemm", "a value of an inner loop isn't used outside it", "store x1 v2", "store x1 v7"},
    {"gemm", "an access belongs to its item's loop", "access x4 f64.load a1 + 0 in n3", "access x4 f64.load a0 + 0 in n1"},
    {"gemm", "each loop is in the body once", "    n3 {\n", "    n1 {\n"},
    {"matvec", "an inner loop's read ends with it", "store x2 v6", "store x2 v5"},
    {"matvec", "a final value comes after its loop", "carried c0 f64 in n1 init v0", "carried c0 f64 in n1 init v6"},
    {"matvec", "a next value is at hand in its loop", "init v0 next v5", "init v0 next v6"},
    {"shapes", "a trip count varies only with loops around", "if n1 in n0 trips e9", "if n1 trips e9"},
    {"shapes", "ifs don't count", "counter i32 n0", "counter i32 n1"},
    {"shapes", "unsigned division by zero is no operation", "value v1 = const i64 -1", "value v1 = const i64 0"},
    {"shapes", "signed division by -1 is no operation", "i64.div_u v9 v1", "i64.div_s v9 v1"},
    {"shapes", "a guard is an i32", "if v11", "if v10"},
    {"shapes", "stores aren't inspected", "access x2 i64.store16 a1 + 0 in n2", "access x2 i64.store16 a1 + 0 in n2 inspected"},
    {"shapes", "a name has no NUL", "\\07", "\\00"},
    {"tables", "an index stays in its bounds: below", "indirect -100 to 100", "indirect -99 to 100"},
    {"tables", "an index stays in its bounds: above", "indirect 0 to 510", "indirect 0 to 509"},
    {"tables", "a clamp is one by the value that it picks", "i32.gt_s v5 v6", "i32.gt_s v2 v6"},
    {"tables", "an index is an i32", "affine a1 i32 in n1 = e5\n", "affine a1 i64 in n1 = e2\n"},
    {"tables", "an indirect read has an index", "read x1 by v8", "read x1"},
    {"tables", "only an indirect read has an index", "value v0 = read x0", "value v0 = read x0 by v0"},
    {"tables", "an index comes first", "read x1 by v8", "read x1 by v10"},
    {"tables", "an index is at hand where it is used", "    read v0\n    read v9\n", "    read v9\n    read v0\n"},
    {"tables", "stores aren't indirect", "i32.store a3 + 0 in n1", "i32.store a3 + 0 in n1 indirect 0 to 0"},
    {"tables", "bounds are in order", "indirect 0 to 510", "indirect 511 to 510"},
    {"tables", "bounds have 32 bits", "indirect 0 to 510", "indirect 0 to 2147483648"},
    {"shapes", "a static offset has 32 bits", "4294967295", "4294967296"},
};

static void what_is_no_model_is_refused(void **state)
{
    (void)state;
    for (size_t i = 0; i < sizeof wrong / sizeof *wrong; i++) {
        size_t size;
        tw_error error = {0};
        char *text = read_model_file(wrong[i].file, &size);
        text[size] = 0;
        char *changed = replace(text, wrong[i].from, wrong[i].to), *again = reprint(changed, strlen(changed), &error);
        if (again) fail_msg("accepted, though %s", wrong[i].rule);
        assert_true(error.status == TW_MALFORMED || error.status == TW_INVALID);
        assert_true(error.message[0]);
        free(changed);
        free(text);
    }
}

static void errors_say_where(void **state)
{
    (void)state;
    size_t size;
    tw_error error;
    char *text = read_model_file("saxpy", &size);
    text[size] = 0;
    char *changed = replace(text, "f32.mul v0 v1", "f64.mul v0 v1");
    assert_null(reprint(changed, strlen(changed), &error));
    assert_int_equal(error.offset, strstr(changed, "value v2") - changed);
    free(changed);
    free(text);
}

static void the_layout_has_a_word_for_each_number(void **state)
{
    (void)state;
    size_t size;
    tw_error error;
    char *text = read_model_file("matvec", &size);
    tw_model *model;
    assert_int_equal(tw_model_parse(text, tw_model_text_size(text, size), &model, &error), TW_OK);
    tw_arena arena;
    tw_arena_init(&arena, TW_ARENA_NO_LIMIT);
    tw_layout layout;
    assert_true(tw_layout_make(model, &arena, &layout));
    /* trips: 1 + 2; accesses: 3 + 3 + 2; affines: 3 + 3 + 2; symbols: 5 */
    assert_int_equal(layout.trips[1], 1);
    assert_int_equal(layout.access[0], 3);
    assert_int_equal(layout.access[2], 9);
    assert_int_equal(layout.affine[0], 11);
    assert_int_equal(layout.symbol[0], 19);
    assert_int_equal(layout.count, 24);
    tw_arena_free(&arena);
    tw_model_free(model);
    free(text);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(printing_a_parsed_text_gives_it_back),
        cmocka_unit_test(no_truncation_is_a_model),
        cmocka_unit_test(changed_bytes_are_refused_or_stable),
        cmocka_unit_test(what_is_no_model_is_refused),
        cmocka_unit_test(errors_say_where),
        cmocka_unit_test(the_layout_has_a_word_for_each_number),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
