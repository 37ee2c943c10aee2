/* SPDX-License-Identifier: Apache-2.0 */
#include "wat.h"

#include "samples.h"
#include "wasm/encode.h"

static void decode(bytes b, tw_wasm *module)
{
    tw_error error;
    if (tw_wasm_decode((tw_span){b.data, b.size}, NULL, module, &error) != TW_OK) fail_msg("%s", error.message);
}

static bytes encode(bytes b)
{
    tw_wasm module;
    tw_error error;
    tw_bytes out = {0};
    decode(b, &module);
    if (tw_wasm_encode(&module, &out, &error) != TW_OK) fail_msg("%s", error.message);
    tw_wasm_free(&module);
    bytes result = {(uint8_t *)out.data, out.size};
    return result;
}

static void assert_same(bytes a, bytes b)
{
    assert_int_equal(a.size, b.size);
    assert_memory_equal(a.data, b.data, a.size);
}

static void canonical_input_comes_back_byte_for_byte(void **state)
{
    (void)state;
    for (int i = 0; i < SAMPLES; i++)
        for (int named = 0; named < 2; named++) {
            bytes in = wat(named ? WAT_FEATURES " --debug-names" : WAT_FEATURES, samples[i]), out = encode(in);
            assert_same(in, out);
            free(in.data);
            free(out.data);
        }
}

/* wat2wasm writes all sizes with five bytes: the shortest form is what it writes otherwise. */
static void long_sizes_become_short(void **state)
{
    (void)state;
    for (int i = 0; i < SAMPLES; i++) {
        bytes in = wat(WAT_FEATURES " --no-canonicalize-leb128s", samples[i]), out = encode(in);
        bytes expected = wat(WAT_FEATURES, samples[i]);
        assert_same(expected, out);
        free(in.data);
        free(out.data);
        free(expected.data);
    }
}

/* ---- every integer of the format written long ---- */

static uint8_t padded[4096];
static size_t padded_size;
static void byte(uint8_t value) { padded[padded_size++] = value; }
static void u32(uint32_t value)
{
    for (int i = 0; i < 4; i++) byte((uint8_t)(value >> (7 * i) | 0x80));
    byte((uint8_t)(value >> 28));
}
static void s32(int32_t value)
{
    for (int i = 0; i < 4; i++) byte((uint8_t)((uint32_t)(value >> (7 * i)) | 0x80));
    byte((uint8_t)((uint32_t)(value >> 28) & 0x7F));
}
static void s64(int64_t value)
{
    for (int i = 0; i < 9; i++) byte((uint8_t)((uint64_t)(value >> (7 * i)) | 0x80));
    byte((uint8_t)((uint64_t)(value >> 63) & 0x7F));
}
static void name(const char *text)
{
    u32((uint32_t)strlen(text));
    while (*text) byte((uint8_t)*text++);
}
static size_t hole(void)
{
    u32(0);
    return padded_size;
}
static void fill(size_t start)
{
    size_t end = padded_size;
    padded_size = start - 5;
    u32((uint32_t)(end - start));
    padded_size = end;
}
static void op(uint8_t code) { byte(code); }
static void op_long(uint8_t prefix, uint32_t code) { byte(prefix); u32(code); }

static void long_integers_become_short(void **state)
{
    (void)state;
    bytes expected =
        wat("", "(module (type (func (param i32) (result i64))) (type (func))"
                "(import \"a\" \"b\" (func (type 1)))"
                "(func (type 0) (local i32 i32) i32.const -1 local.set 1 block loop local.get 0 br_table 0 1 0 end end"
                " call 0 i32.const 8 i64.load offset=300 align=2 drop i32.const 0 i32.const 0 i32.const 9 memory.fill"
                " i64.const -2) (memory 1 2) (global (mut i32) (i32.const 64))"
                "(export \"f\" (func 1)) (data (i32.const 5) \"xyz\"))");
    memcpy(padded, "\0asm\1\0\0\0", 8);
    padded_size = 8;
    size_t section, body;
    op(1);
    section = hole();
    u32(2);
    op(0x60);
    u32(1);
    op(TW_I32);
    u32(1);
    op(TW_I64);
    op(0x60);
    u32(0);
    u32(0);
    fill(section);
    op(2); section = hole(); u32(1); name("a"); name("b"); op(0); u32(1); fill(section);
    op(3); section = hole(); u32(1); u32(0); fill(section);
    op(5); section = hole(); u32(1); op(1); u32(1); u32(2); fill(section);
    op(6); section = hole(); u32(1); op(TW_I32); op(1); op(0x41); s32(64); op(0x0B); fill(section);
    op(7); section = hole(); u32(1); name("f"); op(0); u32(1); fill(section);
    op(10); section = hole(); u32(1); body = hole();
    u32(1);
    u32(2);
    op(TW_I32);
    op(0x41);
    s32(-1);
    op(0x21);
    u32(1);
    op(0x02);
    op(0x40);
    op(0x03);
    op(0x40);
    op(0x20);
    u32(0);
    op(0x0E);
    u32(2);
    u32(0);
    u32(1);
    u32(0);
    op(0x0B);
    op(0x0B);
    op(0x10);
    u32(0);
    op(0x41);
    s32(8);
    op(0x29);
    u32(1);
    u32(300);
    op(0x1A);
    op(0x41);
    s32(0);
    op(0x41);
    s32(0);
    op(0x41);
    s32(9);
    op_long(0xFC, 11);
    u32(0);
    op(0x42);
    s64(-2);
    op(0x0B);
    fill(body); fill(section);
    op(11); section = hole(); u32(1); u32(0); op(0x41); s32(5); op(0x0B); name("xyz"); fill(section);
    bytes in = {padded, padded_size}, out = encode(in);
    assert_same(expected, out);
    free(expected.data);
    free(out.data);
}

static void compiled_c_keeps_its_meaning(void **state)
{
    (void)state;
    static const char source[] =
        "static double a[4096]; static int n;\n"
        "__attribute__((noinline)) int f(int x) { return x < 2 ? x : f(x - 1) + f(x - 2); }\n"
        "void fill(double v, int m) { for (int i = 0; i < m; i++) a[i & 4095] = v * i; n = f(m & 15); }\n"
        "double sum(unsigned long long k) { double s = 0; for (int i = 0; i < n; i++) s += a[i] * (double)k; return s; }\n"
        "static int (*table[2])(int) = {f, f}; int call(int i) { return table[i & 1](i); }\n";
    char c[64], wasm[64], command[400];
    temp_name(c, ".c");
    temp_name(wasm, ".wasm");
    write_whole(c, source, strlen(source));
    static const char *const flags[] = {"-O0", "-O2", "-O2 -msimd128", "-O3 -mbulk-memory -g"};
    for (size_t i = 0; i < sizeof flags / sizeof *flags; i++) {
        snprintf(command, sizeof command,
                 "clang-19 --target=wasm32 %s -nostdlib -Wl,--no-entry -Wl,--export-all %s -o %s", flags[i], c, wasm);
        assert_int_equal(system(command), 0);
        bytes in = read_whole(wasm), out = encode(in), again = encode(out);
        assert_same(out, again);
        assert_valid("", out.data, out.size);
        bytes before = tool("wasm2wat", "", in.data, in.size, NULL),
              after = tool("wasm2wat", "", out.data, out.size, NULL);
        assert_same(before, after);
        free(in.data); free(out.data); free(again.data); free(before.data); free(after.data);
    }
    unlink(c);
    unlink(wasm);
}

/* ---- edits ---- */

static void no_edit_gives_the_input(void **state)
{
    (void)state;
    for (int i = 0; i < SAMPLES; i++) {
        bytes in = wat(WAT_FEATURES " --no-canonicalize-leb128s --debug-names", samples[i]);
        tw_wasm module;
        tw_error error;
        tw_bytes out = {0};
        decode(in, &module);
        tw_edit *edit = tw_edit_new(&module);
        assert_int_equal(tw_edit_encode(edit, &out, &error), TW_OK);
        assert_same(in, (bytes){(uint8_t *)out.data, out.size});
        tw_bytes_free(&out);
        tw_edit_free(edit);
        tw_wasm_free(&module);
        free(in.data);
    }
}

static const uint8_t nop_body[] = {0, 0x01, 0x0B}; /* no locals, nop, end */

/* Into every sample, also the ones that lack the sections. */
static void appended_entities_are_valid_and_shift_nothing(void **state)
{
    (void)state;
    for (int i = 0; i < SAMPLES; i++) {
        bytes in = wat(WAT_FEATURES " --debug-names", samples[i]);
        tw_wasm module, again;
        tw_error error;
        tw_bytes out = {0};
        decode(in, &module);
        tw_edit *edit = tw_edit_new(&module);
        uint8_t params[] = {TW_I32, TW_V128};
        uint32_t type = tw_edit_type(edit, params, 2, NULL, 0);
        assert_int_equal(tw_edit_type(edit, params, 2, NULL, 0), type);
        uint32_t func = tw_edit_func(edit, type, (tw_span){nop_body, 3}, TW_NO_FUNCTION);
        uint32_t global = tw_edit_global(edit, TW_I64, true, (uint64_t)-5);
        uint32_t table = tw_edit_table(edit, 3, 3), memory = tw_edit_memory(edit, 1, 1);
        tw_edit_export(edit, "tw:f", TW_EXTERN_FUNC, func);
        tw_edit_export(edit, "tw:g", TW_EXTERN_GLOBAL, global);
        tw_edit_export(edit, "tw:t", TW_EXTERN_TABLE, table);
        tw_edit_export(edit, "tw:m", TW_EXTERN_MEMORY, memory);
        assert_int_equal(tw_edit_encode(edit, &out, &error), TW_OK);
        assert_valid(WAT_FEATURES " --enable-multi-memory", out.data, out.size);
        tw_wasm_limits limits = tw_wasm_default_limits;
        limits.memories = 2;
        assert_int_equal(tw_wasm_decode((tw_span){(uint8_t *)out.data, out.size}, &limits, &again, &error), TW_OK);
        assert_int_equal(again.func_count, module.func_count + 1);
        for (uint32_t f = module.imported_funcs; f < module.func_count; f++) {
            assert_int_equal(again.funcs[f].body.size, module.funcs[f].body.size);
            assert_memory_equal(again.funcs[f].body.data, module.funcs[f].body.data, module.funcs[f].body.size);
        }
        assert_int_equal(again.func_names != NULL, module.func_names != NULL);
        tw_wasm_free(&again);
        tw_bytes_free(&out);
        tw_edit_free(edit);
        tw_wasm_free(&module);
        free(in.data);
    }
}

static void the_map_leads_back(void **state)
{
    (void)state;
    bytes in = wat(
        "",
        "(module (import \"a\" \"b\" (func)) (func i32.const 1 drop) (func nop nop) (func (result i32) i32.const 7))");
    tw_wasm module, again;
    tw_error error;
    tw_bytes out = {0};
    decode(in, &module);
    tw_edit *edit = tw_edit_new(&module);
    uint32_t type = tw_edit_type(edit, NULL, 0, NULL, 0);
    static const uint8_t longer[] = {0, 0x01, 0x01, 0x01, 0x01, 0x0B};
    tw_edit_replace_body(edit, 2, (tw_span){longer, sizeof longer});
    tw_edit_map(edit, 2, 2, module.funcs[2].body_offset + 1);
    tw_edit_map(edit, 2, 4, TW_NO_OFFSET);
    uint32_t ours = tw_edit_func(edit, type, (tw_span){nop_body, 3}, 1);
    tw_edit_map(edit, ours, 1, module.funcs[1].body_offset + 3);
    assert_int_equal(tw_edit_encode(edit, &out, &error), TW_OK);
    tw_offset_map *map = tw_edit_take_map(edit);
    assert_non_null(map);
    tw_edit_free(edit);
    assert_int_equal(tw_wasm_decode((tw_span){(uint8_t *)out.data, out.size}, NULL, &again, &error), TW_OK);
    uint32_t func;
    uint64_t offset;
    assert_true(tw_offset_map_original(map, 3, again.funcs[3].body_offset + 1, &func, &offset));
    assert_int_equal(func, 3);
    assert_int_equal(offset, module.funcs[3].body_offset + 1);
    assert_false(tw_offset_map_original(map, 2, again.funcs[2].body_offset + 1, &func, &offset));
    assert_int_equal(func, 2);
    assert_true(tw_offset_map_original(map, 2, again.funcs[2].body_offset + 3, &func, &offset));
    assert_int_equal(offset, module.funcs[2].body_offset + 1);
    assert_false(tw_offset_map_original(map, 2, again.funcs[2].body_offset + 4, &func, &offset));
    assert_true(tw_offset_map_original(map, ours, again.funcs[ours].body_offset + 1, &func, &offset));
    assert_int_equal(func, 1);
    assert_int_equal(offset, module.funcs[1].body_offset + 3);
    assert_false(tw_offset_map_original(map, 99, 0, &func, &offset));
    tw_offset_map_free(map);
    tw_wasm_free(&again);
    tw_wasm_free(&module);
    tw_bytes_free(&out);
    free(in.data);
}

static void a_declared_function_without_body_is_an_error(void **state)
{
    (void)state;
    bytes in = wat("", "(module)");
    tw_wasm module;
    tw_error error;
    tw_bytes out = {0};
    decode(in, &module);
    tw_edit *edit = tw_edit_new(&module);
    tw_edit_func_declare(edit, tw_edit_type(edit, NULL, 0, NULL, 0), TW_NO_FUNCTION);
    assert_int_equal(tw_edit_encode(edit, &out, &error), TW_INTERNAL);
    tw_edit_free(edit);
    tw_wasm_free(&module);
    tw_bytes_free(&out);
    free(in.data);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(canonical_input_comes_back_byte_for_byte),
        cmocka_unit_test(long_sizes_become_short),
        cmocka_unit_test(long_integers_become_short),
        cmocka_unit_test(compiled_c_keeps_its_meaning),
        cmocka_unit_test(no_edit_gives_the_input),
        cmocka_unit_test(appended_entities_are_valid_and_shift_nothing),
        cmocka_unit_test(the_map_leads_back),
        cmocka_unit_test(a_declared_function_without_body_is_an_error),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
