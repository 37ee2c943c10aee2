/* SPDX-License-Identifier: Apache-2.0 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "cli/suggest.h"
#include "cli/units.h"
#include "cli/value.h"

static uint64_t bits_of(const tw_val *value, unsigned bytes)
{
    uint64_t bits = 0;
    memcpy(&bits, value->of.v128, bytes);
    return bits;
}

static unsigned width(tw_val_kind kind)
{
    return kind == TW_VAL_I32 || kind == TW_VAL_F32 ? 4 : 8;
}

static void assert_parses(tw_val_kind kind, const char *text, uint64_t bits)
{
    tw_val value;
    if (!cli_val_parse(kind, text, &value)) fail_msg("%s '%s' is not taken", cli_val_kind_name(kind), text);
    if (bits_of(&value, width(kind)) != bits)
        fail_msg("%s '%s' is %llx, expected %llx", cli_val_kind_name(kind), text,
                 (unsigned long long)bits_of(&value, width(kind)), (unsigned long long)bits);
}

static void assert_refused(tw_val_kind kind, const char *text)
{
    tw_val value, before;
    memset(&value, 0x5A, sizeof value);
    before = value;
    if (cli_val_parse(kind, text, &value)) fail_msg("%s '%s' is taken", cli_val_kind_name(kind), text);
    assert_memory_equal(&value, &before, sizeof value);
}

static void integers_go_from_the_least_signed_to_the_greatest_unsigned(void **state)
{
    (void)state;
    assert_parses(TW_VAL_I32, "0", 0);
    assert_parses(TW_VAL_I32, "+7", 7);
    assert_parses(TW_VAL_I32, "-1", 0xFFFFFFFF);
    assert_parses(TW_VAL_I32, "-2147483648", 0x80000000);
    assert_parses(TW_VAL_I32, "4294967295", 0xFFFFFFFF);
    assert_parses(TW_VAL_I32, "0xDEADbeef", 0xDEADBEEF);
    assert_parses(TW_VAL_I32, "-0x80000000", 0x80000000);
    assert_parses(TW_VAL_I64, "-9223372036854775808", UINT64_C(1) << 63);
    assert_parses(TW_VAL_I64, "18446744073709551615", UINT64_MAX);
    assert_parses(TW_VAL_I64, "0xffffffffffffffff", UINT64_MAX);
    static const char *const wrong[] = {"", "-", "+", "0x", "-0x", " 1", "1 ", "1.0", "1e3", "4294967296", "-2147483649",
                                        "0x100000000", "ten", "1_000", "--1", "0b1", "018446744073709551616"};
    for (size_t i = 0; i < sizeof wrong / sizeof *wrong; i++) assert_refused(TW_VAL_I32, wrong[i]);
    assert_refused(TW_VAL_I64, "18446744073709551616");
    assert_refused(TW_VAL_I64, "-9223372036854775809");
}

/* The bit patterns are IEEE 754's, worked out by hand. */
static void floats_are_rounded_once_to_their_own_width(void **state)
{
    (void)state;
    assert_parses(TW_VAL_F32, "1", 0x3F800000);
    assert_parses(TW_VAL_F32, "-0", 0x80000000);
    assert_parses(TW_VAL_F32, "0.1", 0x3DCCCCCD);
    assert_parses(TW_VAL_F32, "0x1.8p1", 0x40400000);
    assert_parses(TW_VAL_F32, "1e-45", 1);
    assert_parses(TW_VAL_F32, "16777217", 0x4B800000);
    /* Halfway between two floats but for a bit that a double drops: two roundings would go down. */
    assert_parses(TW_VAL_F32, "1.00000005960464477540", 0x3F800001);
    assert_parses(TW_VAL_F64, "1", 0x3FF0000000000000);
    assert_parses(TW_VAL_F64, "0.1", 0x3FB999999999999A);
    assert_parses(TW_VAL_F64, "-.5", 0xBFE0000000000000);
    assert_parses(TW_VAL_F64, "5e-324", 1);
    assert_parses(TW_VAL_F32, "inf", 0x7F800000);
    assert_parses(TW_VAL_F64, "-inf", 0xFFF0000000000000);
    static const char *const wrong[] = {"", "-", ".", "1e", "e1", "1x", "0x", "infinity", "INF", "1e39", " 1", "1 ", "--1",
                                        "- 1", "+-1", "nan(1)", "0x1p200"};
    for (size_t i = 0; i < sizeof wrong / sizeof *wrong; i++) assert_refused(TW_VAL_F32, wrong[i]);
    assert_refused(TW_VAL_F64, "1e400");
}

static void nans_keep_their_sign_and_payload(void **state)
{
    (void)state;
    assert_parses(TW_VAL_F32, "nan", 0x7FC00000);
    assert_parses(TW_VAL_F32, "-nan", 0xFFC00000);
    assert_parses(TW_VAL_F32, "nan:0x1", 0x7F800001);
    assert_parses(TW_VAL_F32, "nan:0x7fffff", 0x7FFFFFFF);
    assert_parses(TW_VAL_F64, "nan", 0x7FF8000000000000);
    assert_parses(TW_VAL_F64, "-nan:0x4", 0xFFF0000000000004);
    assert_refused(TW_VAL_F32, "nan:0x0");
    assert_refused(TW_VAL_F32, "nan:0x800000");
    assert_refused(TW_VAL_F32, "nan:1");
    assert_refused(TW_VAL_F32, "nan:");
    assert_refused(TW_VAL_F64, "nanx");
}

static void vectors_are_written_by_lanes_or_as_one_number(void **state)
{
    (void)state;
    static const struct {
        const char *text;
        uint8_t bytes[16];
    } good[] = {
        {"i32x4:1,2,-1,0x10", {1, 0, 0, 0, 2, 0, 0, 0, 255, 255, 255, 255, 16, 0, 0, 0}},
        {"i64x2:-2,3", {254, 255, 255, 255, 255, 255, 255, 255, 3, 0, 0, 0, 0, 0, 0, 0}},
        {"i16x8:1,2,3,4,5,6,7,-1", {1, 0, 2, 0, 3, 0, 4, 0, 5, 0, 6, 0, 7, 0, 255, 255}},
        {"i8x16:0,1,2,3,4,5,6,7,8,9,10,11,12,13,14,255", {0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 255}},
        {"f32x4:1,-0,inf,nan", {0, 0, 0x80, 0x3F, 0, 0, 0, 0x80, 0, 0, 0x80, 0x7F, 0, 0, 0xC0, 0x7F}},
        {"f64x2:1,nan:0x1", {0, 0, 0, 0, 0, 0, 0xF0, 0x3F, 1, 0, 0, 0, 0, 0, 0xF0, 0x7F}},
        {"0x0f0e0d0c0b0a09080706050403020100", {0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15}},
    };
    for (size_t i = 0; i < sizeof good / sizeof *good; i++) {
        tw_val value;
        assert_true(cli_val_parse(TW_VAL_V128, good[i].text, &value));
        assert_memory_equal(value.of.v128, good[i].bytes, 16);
    }
    static const char *const wrong[] = {"", "1", "i32x4:", "i32x4:1,2,3", "i32x4:1,2,3,4,5", "i32x4:1,2,3,", "i32x4:1,,3,4",
                                        "i8x16:0,1,2,3,4,5,6,7,8,9,10,11,12,13,14,256", "i31x4:1,2,3,4", "f64x2:1,x",
                                        "0x00", "0x0f0e0d0c0b0a0908070605040302010g", "i32x4 1,2,3,4"};
    for (size_t i = 0; i < sizeof wrong / sizeof *wrong; i++) assert_refused(TW_VAL_V128, wrong[i]);
}

static char *printed(const tw_val *value)
{
    char *text;
    size_t size;
    FILE *out = open_memstream(&text, &size);
    assert_non_null(out);
    cli_val_print(out, value);
    fclose(out);
    return text;
}

static void assert_prints(tw_val_kind kind, const char *given, const char *expected)
{
    tw_val value;
    assert_true(cli_val_parse(kind, given, &value));
    char *text = printed(&value);
    assert_string_equal(text, expected);
    free(text);
}

static void values_print_as_people_write_them(void **state)
{
    (void)state;
    assert_prints(TW_VAL_I32, "0xffffffff", "-1");
    assert_prints(TW_VAL_I64, "0x8000000000000000", "-9223372036854775808");
    assert_prints(TW_VAL_F64, "100", "100");
    assert_prints(TW_VAL_F64, "0.1", "0.1");
    assert_prints(TW_VAL_F32, "0.1", "0.1");
    assert_prints(TW_VAL_F64, "-0", "-0");
    assert_prints(TW_VAL_F64, "1e300", "1e+300");
    assert_prints(TW_VAL_F64, "1234567.5", "1234567.5");
    assert_prints(TW_VAL_F64, "0.00001", "0.00001");
    assert_prints(TW_VAL_F64, "0.3333333333333333", "0.3333333333333333");
    assert_prints(TW_VAL_F32, "nan:0x1", "nan:0x1");
    assert_prints(TW_VAL_F32, "-nan", "-nan");
    assert_prints(TW_VAL_V128, "f32x4:1,0,0,0", "i32x4:1065353216,0,0,0");
}

/* xorshift: the same numbers every time. */
static uint64_t next(uint64_t *seed)
{
    *seed ^= *seed << 13;
    *seed ^= *seed >> 7;
    *seed ^= *seed << 17;
    return *seed;
}

static void what_is_printed_reads_back_as_the_same_bits(void **state)
{
    (void)state;
    uint64_t seed = 88172645463325252u;
    for (int i = 0; i < 200000; i++) {
        tw_val value = {.kind = (tw_val_kind)(i % 5)}, again;
        uint64_t low = next(&seed), high = next(&seed);
        if (value.kind == TW_VAL_F64 && i % 3 == 0) low |= UINT64_C(0x7FF) << 52;
        memcpy(value.of.v128, &low, 8);
        if (value.kind == TW_VAL_V128) memcpy(value.of.v128 + 8, &high, 8);
        char *text = printed(&value);
        assert_true(cli_val_parse(value.kind, text, &again));
        assert_memory_equal(again.of.v128, value.of.v128, value.kind == TW_VAL_V128 ? 16 : width(value.kind));
        free(text);
    }
}

static void sizes_and_times_need_their_units(void **state)
{
    (void)state;
    uint64_t value = 1;
    assert_true(cli_parse_size("0", &value) && value == 0);
    assert_true(cli_parse_size("64KiB", &value) && value == 65536);
    assert_true(cli_parse_size("256MiB", &value) && value == 268435456);
    assert_true(cli_parse_size("4GiB", &value) && value == 4294967296);
    assert_true(cli_parse_size("2MB", &value) && value == 2000000);
    assert_true(cli_parse_duration("500ms", &value) && value == 500000000);
    assert_true(cli_parse_duration("2s", &value) && value == 2000000000);
    assert_true(cli_parse_duration("1h", &value) && value == 3600000000000);
    value = 77;
    static const char *const no_size[] = {"", "KiB", "-1", "1 KiB", "1kib", "1.5GiB", "18446744073709551616", "16777216TiB"};
    for (size_t i = 0; i < sizeof no_size / sizeof *no_size; i++) assert_false(cli_parse_size(no_size[i], &value));
    static const char *const no_time[] = {"", "5", "s", "1.5s", "-1s", "5 s", "18446744073709551615s"};
    for (size_t i = 0; i < sizeof no_time / sizeof *no_time; i++) assert_false(cli_parse_duration(no_time[i], &value));
    assert_int_equal(value, 77);
    uint32_t count = 5;
    assert_false(cli_parse_count("4294967296", &count) || cli_parse_count("4x", &count) || cli_parse_count("", &count));
    assert_int_equal(count, 5);
    assert_true(cli_parse_count("4294967295", &count) && count == UINT32_MAX);
}

static const char *nearest(const char *wanted)
{
    static const char *const words[] = {"run", "validate", "inspect", "doctor", "max-memory", "max-stack", "no-cache"};
    cli_suggestion near;
    cli_suggestion_init(&near, wanted);
    for (size_t i = 0; i < sizeof words / sizeof *words; i++) cli_suggestion_offer(&near, words[i]);
    return near.best;
}

static void only_a_near_word_is_suggested(void **state)
{
    (void)state;
    assert_string_equal(nearest("rnu"), "run");
    assert_string_equal(nearest("valdate"), "validate");
    assert_string_equal(nearest("val"), "validate");
    assert_string_equal(nearest("max-memroy"), "max-memory");
    assert_string_equal(nearest("nocache"), "no-cache");
    assert_null(nearest("zebra"));
    assert_null(nearest(""));
    assert_null(nearest("a-word-that-is-far-longer-than-any-word-which-could-be-meant"));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(integers_go_from_the_least_signed_to_the_greatest_unsigned),
        cmocka_unit_test(floats_are_rounded_once_to_their_own_width),
        cmocka_unit_test(nans_keep_their_sign_and_payload),
        cmocka_unit_test(vectors_are_written_by_lanes_or_as_one_number),
        cmocka_unit_test(values_print_as_people_write_them),
        cmocka_unit_test(what_is_printed_reads_back_as_the_same_bits),
        cmocka_unit_test(sizes_and_times_need_their_units),
        cmocka_unit_test(only_a_near_word_is_suggested),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
