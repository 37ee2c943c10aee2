/* SPDX-License-Identifier: Apache-2.0 */
/* Every scalar operation that models have means in kernels, one by one and in lanes, what it means in the interpreter, for
 * all pairs of values at the edges of its types. */
#include "support.h"

static tw_codegen *codegen;

static int set_up(void **state)
{
    (void)state;
    tw_error error;
    return tw_codegen_new(&codegen, &error);
}

static int tear_down(void **state)
{
    (void)state;
    tw_codegen_free(codegen);
    return 0;
}

/* ---- values at the edges ---- */

static const uint32_t edges_i32[] = {0, 1, 2, 3, 7, 31, 32, 33, 127, 128, 255, 256, 32767, 32768, 65535, 65536, 0x12345678,
                                     0x7ffffffe, 0x7fffffff, 0x80000000, 0x80000001, 0xdeadbeef, 0xfffffffe, 0xffffffff};
static const uint64_t edges_i64[] = {0, 1, 2, 7, 31, 32, 63, 64, 65, 255, 65535, 0x7fffffff, 0x80000000, 0xffffffff,
                                     0x100000000, 0x123456789abcdef0, 0x7fffffffffffffff, 0x8000000000000000,
                                     0x8000000000000001, 0xdeadbeefcafebabe, 0xfffffffffffffffe, 0xffffffffffffffff,
                                     0x0020000000000001, 0xffdfffffffffffff};
static const uint32_t edges_f32[] = {0, 0x80000000, 1, 0x807fffff, 0x3f000000, 0xbf000000, 0x3f800000, 0xbf800000, 0x3fc00000,
                                     0x40200000, 0xc0200000, 0x4effffff, 0x4f000000, 0xcf000000, 0xcf000001, 0x4f7fffff,
                                     0x5f000000, 0xdf000000, 0x5f800000, 0x7f7fffff, 0x7f800000, 0xff800000, 0x7fc00000,
                                     0xffc12345};
static const uint64_t edges_f64[] = {0, 0x8000000000000000, 1, 0x800fffffffffffff, 0x3fe0000000000000, 0xbfe0000000000000,
                                     0x3ff0000000000000, 0xbff0000000000000, 0x3ff8000000000000, 0x4004000000000000,
                                     0xc004000000000000, 0x41dfffffffc00000, 0x41e0000000000000, 0xc1e0000000200000,
                                     0x41efffffffe00000, 0x43e0000000000000, 0xc3e0000000000000, 0x43f0000000000000,
                                     0x36a0000000000001, 0x47efffffe0000000, 0x7fefffffffffffff, 0x7ff0000000000000,
                                     0xfff0000000000000, 0x7ff8000000000000};
enum { EDGES = 24, PAIRS = EDGES * EDGES };
_Static_assert(sizeof edges_i32 / 4 == EDGES && sizeof edges_f32 / 4 == EDGES, "as many of each");
_Static_assert(sizeof edges_i64 / 8 == EDGES && sizeof edges_f64 / 8 == EDGES, "as many of each");

static uint64_t edge(char letter, int i)
{
    switch (letter) {
    case 'i': return edges_i32[i];
    case 'l': return edges_i64[i];
    case 'f': return edges_f32[i];
    default: return edges_f64[i];
    }
}

static unsigned width_of(char letter)
{
    return letter == 'i' || letter == 'f' ? 4 : 8;
}

/* ---- a model for one operation ---- */

enum { A_AT = 4096, B_AT = 65536, C_AT = 131072, OUT_AT = 262144 };

static const char *type_of(char letter)
{
    return tw_type_name(tw_type_from_letter(letter));
}

/* out[i] = op(a[i], b[i] …) over PAIRS elements. `divisor`: the second argument is that constant instead. */
static void make_model(tw_bytes *out, const char *name, const char *operands, char result, const uint64_t *divisor, bool canonical)
{
    static const unsigned at[] = {A_AT, B_AT, C_AT};
    size_t count = strlen(operands);
    tw_bytes_printf(out, "region \"op\" exits-at-end exit 1\nloop n0 trips e0\nexpr e0 = const i64 %d\n", PAIRS);
    for (size_t i = 0; i <= count; i++) {
        tw_bytes_printf(out, "expr e%zu = const i32 %u\n", 2 * i + 1, i < count ? at[i] : (unsigned)OUT_AT);
        tw_bytes_printf(out, "expr e%zu = const i32 %u\n", 2 * i + 2, width_of(i < count ? operands[i] : result));
    }
    for (size_t i = 0; i <= count; i++) tw_bytes_printf(out, "affine a%zu i32 in n0 = e%zu + e%zu * n0\n", i, 2 * i + 1, 2 * i + 2);
    for (size_t i = 0; i <= count; i++)
        tw_bytes_printf(out, "access x%zu %s.%s a%zu + 0 in n0\n", i, type_of(i < count ? operands[i] : result),
                        i < count ? "load" : "store", i);
    for (size_t i = 0; i < count; i++) {
        if (divisor && i == 1) tw_bytes_printf(out, "value v1 = const %s %lld\n", type_of(operands[1]),
                                               operands[1] == 'i' ? (long long)(int32_t)*divisor : (long long)*divisor);
        else tw_bytes_printf(out, "value v%zu = read x%zu\n", i, i);
    }
    tw_bytes_printf(out, "value v%zu = %s", count, name);
    for (size_t i = 0; i < count; i++) tw_bytes_printf(out, " v%zu", i);
    tw_bytes_printf(out, "\nn0 {\n");
    for (size_t i = 0; i < count; i++)
        if (!(divisor && i == 1)) tw_bytes_printf(out, "  read v%zu\n", i);
    tw_bytes_printf(out, "  store x%zu v%zu\n}\nend\nfact parallel n0\nfact trips n0 512\n", count, count);
    for (size_t i = 0; i <= count; i++) tw_bytes_printf(out, "fact stride x%zu n0 unit\n", i);
    tw_bytes_printf(out, "fact group x%zu 1\n", count);
    if (canonical) tw_bytes_append_string(out, "fact canonical-nan\n");
}

static uint8_t memory[MEMORY_BYTES], expected[MEMORY_BYTES], got[MEMORY_BYTES];

static void put_operands(const char *operands)
{
    static const unsigned at[] = {A_AT, B_AT, C_AT};
    memset(memory, 0, sizeof memory);
    for (size_t k = 0; operands[k]; k++)
        for (int i = 0; i < PAIRS; i++) {
            int which = k == 0 ? i / EDGES : k == 1 ? i % EDGES : (i / 3 + i) % EDGES;
            uint64_t bits = edge(operands[k], which);
            memcpy(memory + at[k] + (size_t)i * width_of(operands[k]), &bits, width_of(operands[k]));
        }
}

static bool is_nan(char letter, uint64_t bits)
{
    if (letter == 'f') return (bits & 0x7fffffffu) > 0x7f800000u;
    return letter == 'd' && (bits & 0x7fffffffffffffffu) > 0x7ff0000000000000u;
}

static void compare_results(const char *what, char result, bool canonical)
{
    for (int i = 0; i < PAIRS; i++) {
        uint64_t want = 0, have = 0;
        memcpy(&want, expected + OUT_AT + (size_t)i * width_of(result), width_of(result));
        memcpy(&have, got + OUT_AT + (size_t)i * width_of(result), width_of(result));
        if (want == have || (!canonical && is_nan(result, want) && is_nan(result, have))) continue;
        fail_msg("%s: pair %d gives %llx, not %llx", what, i, (unsigned long long)have, (unsigned long long)want);
    }
}

static void check_op(const char *name, const char *operands, char result, const uint64_t *divisor, bool canonical)
{
    tw_bytes text = {0};
    subject s;
    make_model(&text, name, operands, result, divisor, canonical);
    subject_from_text(&s, text.data, text.size);
    put_operands(operands);
    subject_numbers(&s, NULL, memory, MEMORY_BYTES);
    memcpy(expected, memory, sizeof expected);
    subject_interpret(&s, expected, MEMORY_BYTES, 0);
    static const struct { manner how; unsigned level; } ways[] = {{PLAIN, 0}, {PLAIN, 3}, {SCHEDULED, 0}, {SCHEDULED, 3}};
    for (int i = 0; i < 4; i++) {
        kernel k;
        char what[200];
        subject_compile(&s, codegen, ways[i].how, ways[i].level, &k);
        snprintf(what, sizeof what, "%s, %.60s at O%u%s", name, k.info.schedule, ways[i].level, canonical ? ", canonical" : "");
        memcpy(got, memory, sizeof got);
        assert_int_equal(subject_run(&s, &k, got, MEMORY_BYTES, 0, PAIRS), TW_KERNEL_DONE);
        compare_results(what, result, canonical);
        kernel_free(&k);
    }
    subject_free(&s);
    tw_bytes_free(&text);
}

/* ---- which operations ---- */

static bool is_scalar_pure(const tw_op_info *info)
{
    return info->kind == TW_KIND_PURE && *info->results && !info->results[1] && strspn(info->operands, "ilfd") == strlen(info->operands) &&
           strspn(info->results, "ilfd") == 1;
}

static void every_pure_operation(void **state)
{
    (void)state;
    int count = 0;
    for (int op = 1; op < TW_OP_COUNT; op++) {
        const tw_op_info *info = tw_op_describe((tw_op)op);
        if (!is_scalar_pure(info)) continue;
        check_op(info->name, info->operands, info->results[0], NULL, false);
        if (info->results[0] == 'f' || info->results[0] == 'd') check_op(info->name, info->operands, info->results[0], NULL, true);
        count++;
    }
    /* Opcodes 0x45 … 0xBF, less 8 divisions and 8 truncations that trap; 5 sign extensions, 8 saturating truncations. */
    assert_int_equal(count, 123 - 8 - 8 + 5 + 8);
}

static void selects(void **state)
{
    (void)state;
    static const char *const operands[] = {"iii", "lli", "ffi", "ddi"};
    for (int i = 0; i < 4; i++) check_op("select", operands[i], operands[i][0], NULL, false);
}

static void divisions_by_constants(void **state)
{
    (void)state;
    static const uint64_t divisors[] = {1, 2, 3, 9, 255, 256, 0x7fffffff};
    static const char *const names[] = {"div_s", "div_u", "rem_s", "rem_u"};
    for (int i = 0; i < 4; i++)
        for (size_t d = 0; d < sizeof divisors / sizeof *divisors; d++)
            for (int wide = 0; wide < 2; wide++) {
                char name[16];
                snprintf(name, sizeof name, "i%d.%s", wide ? 64 : 32, names[i]);
                check_op(name, wide ? "ll" : "ii", wide ? 'l' : 'i', &divisors[d], false);
            }
    static const uint64_t minus_seven = (uint64_t)-7;
    uint64_t minus_seven_32 = (uint32_t)-7;
    check_op("i64.div_s", "ll", 'l', &minus_seven, false);
    check_op("i32.rem_s", "ii", 'i', &minus_seven_32, false);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(every_pure_operation),
        cmocka_unit_test(selects),
        cmocka_unit_test(divisions_by_constants),
    };
    return cmocka_run_group_tests(tests, set_up, tear_down);
}
