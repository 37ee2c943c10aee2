/* SPDX-License-Identifier: Apache-2.0 */
/* The bytes of registers, put together by hand from docs/snapshot-format.md in tests/fuzz/corpus/registers. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "snapshot/registers.h"

#define CORPUS TW_TEST_SOURCE "/fuzz/corpus/registers/"

typedef struct bytes {
    uint8_t data[65536];
    size_t size;
} bytes;

static bytes read_file(const char *name)
{
    char path[512];
    bytes b;
    snprintf(path, sizeof path, "%s%s", CORPUS, name);
    FILE *file = fopen(path, "r");
    assert_non_null(file);
    b.size = fread(b.data, 1, sizeof b.data, file);
    fclose(file);
    return b;
}

static const char *const args[] = {"guest", "one"}, *const env[] = {"K=V"}, *const dirs[] = {"/", "d"};
static const uint32_t entries[] = {1, TW_REGISTERS_NULL, 2};
static const uint64_t drops[] = {5, 33};

static void writes(const char *name, const tw_registers_buffer *buffers, uint32_t buffer_count)
{
    tw_registers_global globals[] = {{0, 0x7F, {7}}, {2, 0x7E, {9}}, {3, 0x7B, {0}}, {9, 0x70, {255, 255, 255, 255}}};
    tw_registers_table tables[] = {{0, 3, entries}, {1, 0, NULL}};
    tw_registers r = {.memory_size = 131072, .max_memory = UINT64_C(1) << 32, .globals = globals, .global_count = 4,
                      .tables = tables, .table_count = 2, .drops = drops, .drop_count = 70, .has_wasi = true,
                      .args = {args, 2}, .env = {env, 1}, .dirs = {dirs, 2}, .buffers = buffers, .buffer_count = buffer_count};
    for (int i = 0; i < 16; i++) globals[2].value[i] = (uint8_t)i;
    for (int i = 0; i < 32; i++) r.module_hash[i] = (uint8_t)i;
    bytes wanted = read_file(name);
    tw_bytes out = {0};
    tw_registers_write(&r, &out);
    assert_int_equal(out.size, wanted.size);
    assert_memory_equal(out.data, wanted.data, wanted.size);
    tw_bytes_free(&out);
}

/* Version 2 is written only where there are buffers. */
static void the_bytes_are_those_of_the_document(void **state)
{
    (void)state;
    static const tw_registers_buffer buffers[] = {{"weights", "cuda-managed", 4096}, {"b", "host", 3}};
    writes("full", NULL, 0);
    writes("buffers", buffers, 2);
}

static void buffers_are_read(void **state)
{
    (void)state;
    bytes b = read_file("buffers");
    tw_arena arena;
    tw_registers r;
    tw_arena_init(&arena, TW_ARENA_NO_LIMIT);
    assert_int_equal(tw_registers_read((tw_span){b.data, b.size}, &arena, &r, NULL), TW_OK);
    assert_int_equal(r.buffer_count, 2);
    assert_string_equal(r.buffers[0].name, "weights");
    assert_string_equal(r.buffers[0].backend, "cuda-managed");
    assert_int_equal(r.buffers[0].size, 4096);
    assert_int_equal(r.buffers[1].size, 3);
    assert_string_equal(r.dirs.items[1], "d");
    tw_arena_free(&arena);
}

static void what_was_written_is_read(void **state)
{
    (void)state;
    bytes b = read_file("full");
    tw_arena arena;
    tw_registers r;
    tw_arena_init(&arena, TW_ARENA_NO_LIMIT);
    assert_int_equal(tw_registers_read((tw_span){b.data, b.size}, &arena, &r, NULL), TW_OK);
    assert_int_equal(r.memory_size, 131072);
    assert_int_equal(r.global_count, 4);
    assert_int_equal(r.globals[1].index, 2);
    assert_int_equal(r.globals[1].value[0], 9);
    assert_int_equal(r.table_count, 2);
    assert_memory_equal(r.tables[0].funcs, entries, sizeof entries);
    assert_memory_equal(r.drops, drops, sizeof drops);
    assert_int_equal(r.args.count, 2);
    assert_string_equal(r.args.items[1], "one");
    assert_string_equal(r.env.items[0], "K=V");
    assert_string_equal(r.dirs.items[1], "d");
    tw_arena_free(&arena);
}

static void what_is_off_is_refused(void **state)
{
    (void)state;
    static const struct { const char *name; tw_status status; const char *says; } cases[] = {
        {"cut", TW_MALFORMED, "longer than they are"}, {"more", TW_MALFORMED, "more behind"}, {"version", TW_UNSUPPORTED, "version 3"},
        {"no_buffers", TW_MALFORMED, "without buffers"}, {"same_names", TW_MALFORMED, "two buffers of one name"},
        {"empty_buffer", TW_MALFORMED, "without a name, a backend or bytes"}, {"many_buffers", TW_LIMIT, "1025 buffers"},
        {"drops_beyond", TW_MALFORMED, "drops of segments that aren't there"}, {"long_list", TW_MALFORMED, "longer than they are"},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        bytes b = read_file(cases[i].name);
        tw_arena arena;
        tw_registers r;
        tw_error error;
        tw_arena_init(&arena, 1 << 20);
        assert_int_equal(tw_registers_read((tw_span){b.data, b.size}, &arena, &r, &error), cases[i].status);
        assert_non_null(strstr(error.message, cases[i].says));
        tw_arena_free(&arena);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(the_bytes_are_those_of_the_document),
        cmocka_unit_test(buffers_are_read),
        cmocka_unit_test(what_was_written_is_read),
        cmocka_unit_test(what_is_off_is_refused),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
