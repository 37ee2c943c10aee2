/* SPDX-License-Identifier: Apache-2.0 */
#include "wat.h"

#include "samples.h"
#include "wasm/module.h"

/* Decodes and walks the bodies; the error where there is one. */
static tw_status attempt(const void *data, size_t size, const tw_wasm_limits *limits, tw_error *error)
{
    tw_wasm module;
    memset(error, 0, sizeof *error);
    tw_status status = tw_wasm_decode((tw_span){data, size}, limits, &module, error);
    if (status != TW_OK) return status;
    status = tw_wasm_check_bodies(&module, limits, error);
    tw_wasm_free(&module);
    return status;
}

static tw_status attempt_wat(const char *flags, const char *text, const tw_wasm_limits *limits, tw_error *error)
{
    bytes b = wat(flags, text);
    tw_status status = attempt(b.data, b.size, limits, error);
    free(b.data);
    return status;
}

static void every_sample_is_accepted(void **state)
{
    (void)state;
    for (int i = 0; i < SAMPLES; i++) {
        tw_error error;
        if (attempt_wat(WAT_FEATURES, samples[i], NULL, &error) != TW_OK) fail_msg("%s: %s", samples[i], error.message);
    }
}

/* Exact-size copies on the heap, so that a sanitizer sees every byte read too far. */
static void attempt_exact(const uint8_t *data, size_t size)
{
    tw_error error;
    uint8_t *copy = malloc(size ? size : 1);
    memcpy(copy, data, size);
    tw_status status = attempt(copy, size, NULL, &error);
    if (status != TW_OK) {
        assert_int_equal(error.status, status);
        assert_true(error.message[0] != 0);
        assert_true(error.offset == TW_NO_OFFSET || error.offset <= size);
    }
    free(copy);
}

static void no_truncation_and_no_flip_does_harm(void **state)
{
    (void)state;
    for (int i = 0; i < SAMPLES; i++) {
        bytes b = wat(WAT_FEATURES, samples[i]);
        for (size_t cut = 0; cut < b.size; cut++) attempt_exact(b.data, cut);
        for (size_t at = 0; at < b.size; at++) {
            uint8_t old = b.data[at];
            for (int value = 0; value < 256; value++) {
                b.data[at] = (uint8_t)value;
                attempt_exact(b.data, b.size);
            }
            b.data[at] = old;
        }
        free(b.data);
    }
}

/* Every cut of a module but at a section's boundary is malformed, and says so. */
static void a_cut_in_a_section_is_malformed(void **state)
{
    (void)state;
    bytes b = wat(WAT_FEATURES, "(module (func (export \"f\") (result i32) i32.const 300))");
    tw_error error;
    for (size_t cut = 0; cut < b.size; cut++) {
        tw_status status = attempt(b.data, cut, NULL, &error);
        bool boundary = status == TW_OK;
        if (!boundary) assert_int_equal(status, TW_MALFORMED);
    }
    free(b.data);
}

typedef struct refusal {
    const char *flags, *text, *word;
} refusal;

static void proposals_that_are_off_are_refused_by_name(void **state)
{
    (void)state;
    static const refusal cases[] = {
        {"--enable-memory64", "(module (memory i64 1))", "memory64"},
        {"--enable-multi-memory", "(module (memory 1) (memory 1))", "multi-memory"},
        {"--enable-multi-memory", "(module (import \"a\" \"b\" (memory 1)) (memory 1))", "multi-memory"},
        {"--enable-threads", "(module (memory 1 1 shared))", "shared memory and atomics"},
        {"--enable-threads", "(module (memory 1) (func (drop (i32.atomic.load (i32.const 0)))))",
         "shared memory and atomics"},
        {"--enable-exceptions", "(module (tag))", "exception handling"},
        {"--enable-exceptions", "(module (import \"a\" \"b\" (tag)))", "exception handling"},
        {"--enable-exceptions", "(module (func try end))", "exception handling"},
        {"", "(module (func (param externref)))", "externref"},
        {"", "(module (table 1 externref))", "externref"},
        {"", "(module (func (local externref)))", "externref"},
        {"", "(module (func (drop (ref.null extern))))", "externref"},
        {"", "(module (global externref (ref.null extern)))", "externref"},
        {"--enable-all", "(module (type (struct)))", "garbage collection"},
        {"--enable-all", "(module (type (array i32)))", "garbage collection"},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        tw_error error;
        tw_status status = attempt_wat(cases[i].flags, cases[i].text, NULL, &error);
        if (status != TW_UNSUPPORTED || !strstr(error.message, cases[i].word))
            fail_msg("%s: %s: %s", cases[i].text, tw_status_name(status), error.message);
    }
}

/* A module of one function without type, whose body is the given bytes. */
static bytes module_of_body(const uint8_t *body, uint8_t size)
{
    uint8_t head[] = {
        0, 'a', 's', 'm', 1, 0, 0, 0, 1, 4, 1, 0x60, 0, 0, 3, 2, 1, 0, 10, (uint8_t)(size + 4), 1, (uint8_t)(size + 2),
        0};
    bytes b = {malloc(sizeof head + size + 1u), sizeof head + size + 1u};
    memcpy(b.data, head, sizeof head);
    memcpy(b.data + sizeof head, body, size);
    b.data[b.size - 1] = 0x0B;
    return b;
}

typedef struct opcode_refusal {
    uint8_t body[8], size;
    tw_status status;
    const char *word;
} opcode_refusal;

static void unknown_opcodes_say_whose_they_are(void **state)
{
    (void)state;
    static const opcode_refusal cases[] = {
        {{0x14, 0}, 2, TW_UNSUPPORTED, "typed function references"},
        {{0x15, 0}, 2, TW_UNSUPPORTED, "typed function references"},
        {{0xD4}, 1, TW_UNSUPPORTED, "typed function references"},
        {{0xD5, 0}, 2, TW_UNSUPPORTED, "typed function references"},
        {{0xD6, 0}, 2, TW_UNSUPPORTED, "typed function references"},
        {{0xD3}, 1, TW_UNSUPPORTED, "garbage collection"},
        {{0x41, 0, 0x28, 0x42, 0, 0, 0x1A}, 7, TW_UNSUPPORTED, "multi-memory"}, /* i32.load of memory 0, named */
        {{0xFB, 0, 0}, 3, TW_UNSUPPORTED, "garbage collection"},
        {{0xFE, 0x03, 0}, 3, TW_UNSUPPORTED, "shared memory and atomics"},
        {{0x1F, 0x40, 0, 0x0B}, 4, TW_UNSUPPORTED, "exception handling"},
        {{0x0A}, 1, TW_UNSUPPORTED, "exception handling"},
        {{0xE0, 0}, 2, TW_UNSUPPORTED, "stack switching"},
        {{0xFC, 0x13}, 2, TW_UNSUPPORTED, "wide arithmetic"},
        {{0xFC, 0x16}, 2, TW_UNSUPPORTED, "wide arithmetic"},
        {{0xD0, 0x6F}, 2, TW_UNSUPPORTED, "externref"},
        {{0xD0, 0x71}, 2, TW_UNSUPPORTED, "garbage collection"},
        {{0xD0, 0x05}, 2, TW_UNSUPPORTED, "typed function references"},
        {{0x02, 0x64, 0x70, 0x0B}, 4, TW_UNSUPPORTED, "typed function references"},
        {{0x27}, 1, TW_MALFORMED, "unknown instruction"},
        {{0xFF}, 1, TW_MALFORMED, "unknown instruction"},
        {{0xFD, 0x9A, 0x01}, 3, TW_MALFORMED, "unknown instruction"},
        {{0xFD, 0xFF, 0xFF, 0xFF, 0xFF, 0x0F}, 6, TW_MALFORMED, "unknown instruction"},
        {{0xFD, 0xFF, 0xFF, 0xFF, 0xFF, 0x1F}, 6, TW_MALFORMED, "too large"},
        {{0x41, 0x80, 0x80, 0x80, 0x80, 0x80, 0x00}, 7, TW_MALFORMED, "too many bytes"},
        {{0x41, 0xFF, 0xFF, 0xFF, 0xFF, 0x0F}, 6, TW_MALFORMED, "too large"},
        {{0x0C, 0x01}, 2, TW_INVALID, "label"},
        {{0x20, 0x00}, 2, TW_INVALID, "local"},
        {{0x23, 0x00}, 2, TW_INVALID, "global"},
        {{0x10, 0x01}, 2, TW_INVALID, "function"},
        {{0x28, 0x02, 0x00}, 3, TW_INVALID, "memory"},
        {{0x11, 0x00, 0x00}, 3, TW_INVALID, "table"},
        {{0x05}, 1, TW_INVALID, "else"},
        {{0x0B}, 1, TW_MALFORMED, "after the function's end"},
        {{0x02, 0x40}, 2, TW_MALFORMED, "unexpected end"},
        {{0xFC, 0x09, 0x00}, 3, TW_MALFORMED, "data count"},
        {{0xFD, 0x15, 0x10}, 3, TW_INVALID, "lane"},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        tw_error error;
        bytes b = module_of_body(cases[i].body, cases[i].size);
        tw_status status = attempt(b.data, b.size, NULL, &error);
        if (status != cases[i].status || !strstr(error.message, cases[i].word))
            fail_msg("case %zu: %s: %s", i, tw_status_name(status), error.message);
        assert_int_equal(error.function, 0);
        assert_in_range(error.offset, 23, b.size);
        free(b.data);
    }
}

#define HEADER "\0asm\1\0\0\0"
typedef struct raw_refusal {
    const char *bytes;
    size_t size;
    tw_status status;
    const char *word;
} raw_refusal;
#define RAW(text) text, sizeof(text) - 1

static void bad_files_are_told_apart(void **state)
{
    (void)state;
    static const raw_refusal cases[] = {
        {RAW(""), TW_MALFORMED, "\\0asm"},
        {RAW("\177ELF\2\1\1\0"), TW_MALFORMED, "\\0asm"},
        {RAW("\0asm\2\0\0\0"), TW_MALFORMED, "version"},
        {RAW("\0asm\x0d\0\1\0"), TW_UNSUPPORTED, "component model"},
        {RAW("\0asm\1"), TW_MALFORMED, "unexpected end"},
        {RAW(HEADER "\1\xff\xff\xff\xff\x0f"), TW_MALFORMED, "unexpected end"},
        {RAW(HEADER "\1\5\xff\xff\xff\xff\x0f"), TW_MALFORMED, "types"},
        {RAW(HEADER "\2\5\xff\xff\xff\xff\x0f"), TW_MALFORMED, "imports"},
        {RAW(HEADER "\3\5\xff\xff\xff\xff\x0f"), TW_MALFORMED, "functions"},
        {RAW(HEADER "\6\5\xff\xff\xff\xff\x0f"), TW_MALFORMED, "globals"},
        {RAW(HEADER "\7\5\xff\xff\xff\xff\x0f"), TW_MALFORMED, "exports"},
        {RAW(HEADER "\11\5\xff\xff\xff\xff\x0f"), TW_MALFORMED, "element segments"},
        {RAW(HEADER "\13\5\xff\xff\xff\xff\x0f"), TW_MALFORMED, "data segments"},
        {RAW(HEADER "\15\0"), TW_UNSUPPORTED, "exception handling"},
        {RAW(HEADER "\17\0"), TW_MALFORMED, "unknown section"},
        {RAW(HEADER "\0\2\1\xff"), TW_MALFORMED, "UTF-8"},
        {RAW(HEADER "\0\0"), TW_MALFORMED, "unexpected end"},
        {RAW(HEADER "\1\1\0\1\1\0"), TW_MALFORMED, "second"},
        {RAW(HEADER "\3\1\0\1\1\0"), TW_MALFORMED, "out of order"},
        {RAW(HEADER "\1\2\0\0"), TW_MALFORMED, "after its end"},
        {RAW(HEADER "\1\4\1\x60\0\0\3\2\1\0"), TW_MALFORMED, "no code section"},
        {RAW(HEADER "\3\2\1\0"), TW_INVALID, "type 0"},
        {RAW(HEADER "\14\1\1"), TW_MALFORMED, "data count"},
        {RAW(HEADER "\5\4\1\1\2\1"), TW_INVALID, "maximum"},
        {RAW(HEADER "\5\5\1\0\x81\x80\4"), TW_INVALID, "65536"},
        {RAW(HEADER "\5\4\1\x08\1\x10"), TW_UNSUPPORTED, "custom page sizes"},
        {RAW(HEADER "\4\4\1\x7f\0\0"), TW_MALFORMED, "table"},
        {RAW(HEADER "\4\7\1\x70\0\x81\xad\xe2\4"), TW_LIMIT, "table"},
        {RAW(HEADER "\4\5\1\x40\0\x70\0"), TW_UNSUPPORTED, "typed function references"},
        {RAW(HEADER "\6\6\1\x7f\0\x42\0\x0b"), TW_INVALID, "i32"},
        {RAW(HEADER "\6\6\1\x7f\0\x23\0\x0b"), TW_INVALID, "imported"},
        {RAW(HEADER "\6\5\1\x7f\0\x6a\x0b"), TW_INVALID, "operands"},
        {RAW(HEADER "\7\5\1\1a\0\0"), TW_INVALID, "doesn't exist"},
        {RAW(HEADER "\5\3\1\0\1\7\11\2\1a\2\0\1a\2\0"), TW_INVALID, "two exports"},
        {RAW(HEADER "\10\1\0"), TW_INVALID, "start"},
        {RAW(HEADER "\1\3\1\x5e\x7f"), TW_UNSUPPORTED, "garbage collection"},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        tw_error error;
        tw_status status = attempt(cases[i].bytes, cases[i].size, NULL, &error);
        if (status != cases[i].status || !strstr(error.message, cases[i].word))
            fail_msg("case %zu: %s: %s", i, tw_status_name(status), error.message);
    }
}

static void limits_hold(void **state)
{
    (void)state;
    static const struct limit_case {
        const char *text;
        size_t field;
        uint32_t at_limit;
        const char *word;
    } cases[] = {
        {"(module (func) (func) (func))", offsetof(tw_wasm_limits, functions), 3, "functions"},
        {"(module (import \"\" \"\" (func)) (func) (func))", offsetof(tw_wasm_limits, functions), 3, "functions"},
        {"(module (type (func)) (type (func (param i32))))", offsetof(tw_wasm_limits, types), 2, "types"},
        {"(module (import \"\" \"\" (func)) (import \"\" \"\" (func)))", offsetof(tw_wasm_limits, imports), 2,
         "imports"},
        {"(module (memory 1) (export \"a\" (memory 0)) (export \"b\" (memory 0)))", offsetof(tw_wasm_limits, exports),
         2, "exports"},
        {"(module (global i32 (i32.const 0)) (global i32 (i32.const 0)))", offsetof(tw_wasm_limits, globals), 2,
         "globals"},
        {"(module (table 0 funcref) (table 0 funcref))", offsetof(tw_wasm_limits, tables), 2, "tables"},
        {"(module (memory 1) (data \"\") (data \"\"))", offsetof(tw_wasm_limits, segments), 2, "data segments"},
        {"(module (func (param i32) (local i64 i64 f32)))", offsetof(tw_wasm_limits, locals), 4, "locals"},
        {"(module (func block loop block end end end))", offsetof(tw_wasm_limits, nesting), 3, "nest"},
        {"(module (func (param i32 i32)))", offsetof(tw_wasm_limits, parameters), 2, "parameters"},
        {"(module (table 5 funcref))", offsetof(tw_wasm_limits, table_elements), 5, "table"},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        tw_error error;
        tw_wasm_limits limits = tw_wasm_default_limits;
        memcpy((char *)&limits + cases[i].field, &cases[i].at_limit, 4);
        if (attempt_wat("", cases[i].text, &limits, &error) != TW_OK) fail_msg("case %zu: %s", i, error.message);
        uint32_t below = cases[i].at_limit - 1;
        memcpy((char *)&limits + cases[i].field, &below, 4);
        tw_status status = attempt_wat("", cases[i].text, &limits, &error);
        if (status != TW_LIMIT || !strstr(error.message, cases[i].word))
            fail_msg("case %zu: %s: %s", i, tw_status_name(status), error.message);
    }
}

static void many_locals_in_few_bytes_fail_quickly(void **state)
{
    (void)state;
    tw_error error;
    static const uint8_t module[] = {0, 'a', 's', 'm', 1, 0, 0, 0, 1, 4, 1, 0x60, 0, 0, 3, 2, 1, 0, 10, 16, 1, 14, 2,
                                     0xFF, 0xFF, 0xFF, 0xFF, 0x0F, 0x7F, 0xFF, 0xFF, 0xFF, 0xFF, 0x0F, 0x7F, 0x0B};
    assert_int_equal(attempt(module, sizeof module, NULL, &error), TW_LIMIT);
    assert_int_equal(error.function, 0);
}

static void utf8_is_checked(void **state)
{
    (void)state;
    static const struct utf8_case { const char *name; size_t size; bool valid; } cases[] = {
        {RAW("\xc3\xa9"), true},          {RAW("\xe2\x82\xac"), true},      {RAW("\xf0\x9f\x98\x80"), true},
        {RAW("\xf4\x8f\xbf\xbf"), true},  {RAW("\0"), true},                {RAW("\xc0\x80"), false},
        {RAW("\xc1\xbf"), false},         {RAW("\xe0\x9f\xbf"), false},     {RAW("\xed\xa0\x80"), false},
        {RAW("\xf0\x8f\xbf\xbf"), false}, {RAW("\xf4\x90\x80\x80"), false}, {RAW("\xf5\x80\x80\x80"), false},
        {RAW("\x80"), false},             {RAW("\xe2\x82"), false},         {RAW("\xfe"), false},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        uint8_t module[32] = HEADER;
        module[8] = 0;
        module[9] = (uint8_t)(cases[i].size + 1);
        module[10] = (uint8_t)cases[i].size;
        memcpy(module + 11, cases[i].name, cases[i].size);
        tw_error error;
        assert_int_equal(attempt(module, 11 + cases[i].size, NULL, &error), cases[i].valid ? TW_OK : TW_MALFORMED);
    }
}

static void names_come_from_name_section_then_export_then_number(void **state)
{
    (void)state;
    bytes b = wat("--debug-names", "(module (func $named) (func (export \"exported\")) (func))");
    tw_wasm module;
    tw_error error;
    char name[64];
    assert_int_equal(tw_wasm_decode((tw_span){b.data, b.size}, NULL, &module, &error), TW_OK);
    tw_wasm_func_name(&module, 0, name, sizeof name);
    assert_string_equal(name, "named");
    tw_wasm_func_name(&module, 1, name, sizeof name);
    assert_string_equal(name, "exported");
    tw_wasm_func_name(&module, 2, name, sizeof name);
    assert_string_equal(name, "func[2]");
    tw_wasm_func_name(&module, 1, name, 4);
    assert_string_equal(name, "exp");
    tw_wasm_free(&module);
    free(b.data);
}

static void locals_are_expanded_and_offsets_are_the_modules(void **state)
{
    (void)state;
    bytes b = wat("", "(module (func (param i32 f64) (local i64 i64 f32) i32.const 1 i32.const 200 i32.add drop))");
    tw_wasm module;
    tw_error error;
    tw_reader reader;
    const uint8_t *locals;
    uint32_t count;
    tw_instr instr;
    assert_int_equal(tw_wasm_decode((tw_span){b.data, b.size}, NULL, &module, &error), TW_OK);
    assert_int_equal(tw_wasm_body(&module, 0, &module.arena, &reader, &locals, &count, &error), TW_OK);
    static const uint8_t expected[] = {TW_I32, TW_F64, TW_I64, TW_I64, TW_F32};
    assert_int_equal(count, 5);
    assert_memory_equal(locals, expected, 5);
    static const uint8_t codes[] = {0x41, 0x41, 0x6A, 0x1A, 0x0B}, sizes[] = {2, 3, 1, 1, 1};
    for (int i = 0; i < 5; i++) {
        assert_int_equal(tw_wasm_next(&reader, &instr, &error), TW_OK);
        assert_int_equal(b.data[instr.offset], codes[i]);
        assert_int_equal(instr.size, sizes[i]);
    }
    tw_wasm_free(&module);
    free(b.data);
}

static void v128_crosses_in_imports(void **state)
{
    (void)state;
    tw_error error;
    assert_int_equal(attempt_wat("", "(module (import \"a\" \"b\" (func (param i32 v128))))", NULL, &error), TW_OK);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(every_sample_is_accepted),
        cmocka_unit_test(no_truncation_and_no_flip_does_harm),
        cmocka_unit_test(a_cut_in_a_section_is_malformed),
        cmocka_unit_test(proposals_that_are_off_are_refused_by_name),
        cmocka_unit_test(unknown_opcodes_say_whose_they_are),
        cmocka_unit_test(bad_files_are_told_apart),
        cmocka_unit_test(limits_hold),
        cmocka_unit_test(many_locals_in_few_bytes_fail_quickly),
        cmocka_unit_test(utf8_is_checked),
        cmocka_unit_test(names_come_from_name_section_then_export_then_number),
        cmocka_unit_test(locals_are_expanded_and_offsets_are_the_modules),
        cmocka_unit_test(v128_crosses_in_imports),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
