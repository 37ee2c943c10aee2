/* SPDX-License-Identifier: Apache-2.0 */
/* A capturable module's instances start as the engine starts those of the same module that isn't: segments, drops, traps and
 * the start function. The engine's own instantiation says what is right. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "../../handlers.h"
#include "instance/runtime.h"

static tw_engine *engine;
static tw_error error;

/* What can be seen of an instance: its start, then each export without parameters called, then its memory. */
typedef struct sight {
    char text[4096];
    size_t used;
} sight;

static void see(sight *s, const char *format, ...)
{
    va_list args;
    va_start(args, format);
    s->used += (size_t)vsnprintf(s->text + s->used, sizeof s->text - s->used, format, args);
    va_end(args);
    assert_true(s->used < sizeof s->text);
}

static void see_trap(sight *s)
{
    see(s, "%s: %.*s\n", tw_status_name(error.status), (int)strcspn(error.message, "\n"), error.message);
}

static void see_calls(sight *s, tw_module *module, tw_instance *instance)
{
    for (size_t i = 0; i < tw_module_export_count(module); i++) {
        const char *name;
        tw_extern kind;
        const tw_val_kind *params, *results;
        size_t param_count, result_count;
        tw_val result = {0};
        tw_module_export(module, i, &name, &kind);
        if (kind != TW_EXPORT_FUNC) continue;
        tw_module_func_type(module, name, &params, &param_count, &results, &result_count, &error);
        if (param_count || result_count > 1) continue;
        tw_status status = tw_instance_call(instance, name, NULL, 0, &result, result_count, &error);
        see(s, "%s ", name);
        if (status) see_trap(s);
        else see(s, "%lld\n", result_count ? (long long)result.of.i32 : 0LL);
    }
}

static void see_memory(sight *s, tw_instance *instance)
{
    uint8_t *base;
    size_t size;
    uint64_t sum = 0;
    if (tw_instance_memory(instance, "memory", &base, &size, &error)) return;
    for (size_t i = 0; i < size; i++) sum = sum * 31 + base[i];
    see(s, "memory %zu %llx\n", size, (unsigned long long)sum);
}

static tw_status log_call(void *context, tw_host_call *call, const tw_val *args, tw_val *results, tw_error *why)
{
    (void)results, (void)why;
    size_t size;
    const uint8_t *memory = tw_host_memory(call, &size);
    see(context, "log %d, memory begins with %d\n", args[0].of.i32, memory && size ? memory[0] : -1);
    return TW_OK;
}

/* FROM_IMAGE looks at the third instance: the first one's memory has become the image. */
typedef enum way { PLAIN, CAPTURABLE, FROM_IMAGE } way;

static void look(const char *text, way how, sight *s)
{
    tw_module *module;
    tw_instance *instance = NULL;
    static const tw_val_kind i32 = TW_VAL_I32;
    tw_import_func log = {"host", "log", &i32, 1, NULL, 0, log_call, s};
    tw_spawn_options options = TW_SPAWN_OPTIONS_INIT;
    options.capturable = how != PLAIN;
    options.imports = &log;
    options.import_count = 1;
    s->used = 0;
    s->text[0] = 0;
    if (tw_module_new(engine, (const uint8_t *)text, strlen(text), &module, &error)) fail_msg("%s", error.message);
    engine->least_image = how == FROM_IMAGE ? 0 : SIZE_MAX;
    for (int i = 0; how == FROM_IMAGE && i < 2; i++)
        if (tw_instance_spawn(module, &options, &instance, &error) == TW_OK) {
            uint8_t *base;
            size_t size;
            if (!tw_instance_memory(instance, "memory", &base, &size, &error)) memset(base, 0xEE, size);
            tw_instance_free(instance);
            instance = NULL;
        }
    s->used = 0;
    if (tw_instance_spawn(module, &options, &instance, &error)) see_trap(s);
    else see_calls(s, module, instance), see_memory(s, instance);
    tw_instance_free(instance);
    tw_module_free(module);
}

/* `differs`: the capturable one's trap tells more. */
static void expect_alike(const char *text, const char *differs)
{
    static sight plain, other;
    use_handlers();
    look(text, PLAIN, &plain);
    for (int how = CAPTURABLE; how <= FROM_IMAGE; how++) {
        look(text, (way)how, &other);
        if (!differs) assert_string_equal(plain.text, other.text);
        else assert_non_null(strstr(other.text, differs));
    }
}

static void what_is_expected(const char *text, const char *expected)
{
    static sight s;
    look(text, CAPTURABLE, &s);
    assert_string_equal(s.text, expected);
}

#define MEMORY "(memory (export \"memory\") 1) "
#define READ(at) "(func (export \"read" #at "\") (result i32) (i32.load8_u (i32.const " #at "))) "

static void active_segments_are_copied_in_order(void **state)
{
    (void)state;
    const char *text = "(module " MEMORY READ(10) READ(11) READ(65535)
                       "(data (i32.const 10) \"abc\") (data (i32.const 11) \"x\") (data (i32.const 65535) \"z\") (data (i32.const 65536) \"\"))";
    expect_alike(text, NULL);
    what_is_expected(text, "read10 97\nread11 120\nread65535 122\nmemory 65536 ea7b61a73df781ee\n");
}

static void offsets_are_expressions(void **state)
{
    (void)state;
    expect_alike("(module " MEMORY READ(40) "(data (offset (i32.add (i32.const 30) (i32.const 10))) \"q\")"
                 "(data (offset (i32.sub (i32.mul (i32.const 4) (i32.const 10)) (i32.const 1))) \"pr\"))", NULL);
}

static void segments_out_of_bounds_trap_and_are_named(void **state)
{
    (void)state;
    expect_alike("(module " MEMORY "(data (i32.const 0) \"a\") (data (i32.const 65535) \"ab\"))", "out of bounds memory access in data segment 1 at 0x");
    expect_alike("(module " MEMORY "(data (i32.const -1) \"\"))", "out of bounds memory access in data segment 0 at 0x");
    expect_alike("(module (memory 0) (data (i32.const 0) \"a\"))", "in data segment 0 at 0x");
    expect_alike("(module (table 1 funcref) (func) (elem (i32.const 0) 0) (elem (i32.const 1) 0))", "out of bounds table access in element segment 1 at 0x");
    expect_alike("(module (table 1 funcref) (elem (i32.const 2) func))", "out of bounds table access in element segment 0 at 0x");
}

/* The place of the offset in the user's bytes: 8 header, types none, memory section 5 bytes, data section id and size, count,
 * then kind: by hand. */
static void the_place_is_the_users(void **state)
{
    (void)state;
    use_handlers();
    static const uint8_t module_bytes[] = {0, 'a', 's', 'm', 1, 0, 0, 0, 5, 3, 1, 0, 1, 11, 9, 1, 0, 0x41, 0xFF, 0xFF, 0x03, 0x0B, 1, 'a'};
    uint8_t bytes[sizeof module_bytes + 1];
    memcpy(bytes, module_bytes, sizeof module_bytes);
    bytes[14] = 9; /* 1 segment: kind, i32.const 65535, end, 2 bytes */
    bytes[22] = 2;
    bytes[23] = bytes[24] = 'a';
    bytes[14] = 10;
    tw_module *module;
    tw_instance *instance;
    if (tw_module_new(engine, bytes, sizeof bytes, &module, &error)) fail_msg("%s", error.message);
    tw_spawn_options options = TW_SPAWN_OPTIONS_INIT;
    options.capturable = true;
    assert_int_equal(tw_instance_spawn(module, &options, &instance, &error), TW_TRAP);
    assert_int_equal(error.offset, 17);
    assert_non_null(strstr(error.message, "data segment 0 at 0x11"));
    tw_module_free(module);
}

static void passive_segments_wait_and_active_ones_are_dropped(void **state)
{
    (void)state;
    expect_alike("(module " MEMORY
                 "(data $active (i32.const 0) \"abc\") (data $passive \"xyz\") (data $other \"12\")"
                 "(func (export \"a_active_again\") (memory.init $active (i32.const 8) (i32.const 0) (i32.const 1)))"
                 "(func (export \"b_active_nothing\") (memory.init $active (i32.const 8) (i32.const 0) (i32.const 0)))"
                 "(func (export \"c_passive\") (memory.init $passive (i32.const 16) (i32.const 1) (i32.const 2)))"
                 "(func (export \"d_drop\") (data.drop $passive))"
                 "(func (export \"e_passive_again\") (memory.init $passive (i32.const 32) (i32.const 0) (i32.const 1)))"
                 "(func (export \"f_drop_again\") (data.drop $passive) (data.drop $active))"
                 "(func (export \"g_other\") (memory.init $other (i32.const 40) (i32.const 0) (i32.const 2))))", NULL);
}

static void elements_of_every_form_are_placed(void **state)
{
    (void)state;
    const char *text =
        "(module (table $t 10 funcref) (table $u 3 10 funcref) (type $f (func (result i32)))"
        "(func $one (result i32) (i32.const 1)) (func $two (result i32) (i32.const 2)) (func $three (result i32) (i32.const 3))"
        "(elem (i32.const 0) $one $two) (elem (table $u) (i32.const 1) func $three)"
        "(elem (i32.const 2) funcref (ref.func $three) (ref.null func)) (elem (table $u) (i32.const 0) funcref (ref.func $two))"
        "(elem $passive func $three $two) (elem $exprs funcref (ref.func $one) (ref.null func)) (elem declare func $one)"
        "(func (export \"t0\") (result i32) (call_indirect $t (type $f) (i32.const 0)))"
        "(func (export \"t1\") (result i32) (call_indirect $t (type $f) (i32.const 1)))"
        "(func (export \"t2\") (result i32) (call_indirect $t (type $f) (i32.const 2)))"
        "(func (export \"t3\") (result i32) (call_indirect $t (type $f) (i32.const 3)))"
        "(func (export \"u0\") (result i32) (call_indirect $u (type $f) (i32.const 0)))"
        "(func (export \"u1\") (result i32) (call_indirect $u (type $f) (i32.const 1)))"
        "(func (export \"v\") (table.init $t $passive (i32.const 5) (i32.const 0) (i32.const 2)))"
        "(func (export \"v5\") (result i32) (call_indirect $t (type $f) (i32.const 5)))"
        "(func (export \"w\") (elem.drop $passive))"
        "(func (export \"x\") (table.init $t $passive (i32.const 5) (i32.const 0) (i32.const 2)))"
        "(func (export \"y\") (table.init $t $exprs (i32.const 8) (i32.const 0) (i32.const 2)))"
        "(func (export \"y8\") (result i32) (call_indirect $t (type $f) (i32.const 8)))"
        "(func (export \"z\") (table.init $t 0 (i32.const 8) (i32.const 0) (i32.const 1))))";
    expect_alike(text, NULL);
    sight s;
    look(text, CAPTURABLE, &s);
    assert_non_null(strstr(s.text, "t0 1\nt1 2\nt2 3\nt3 trap: trap: uninitialized table element"));
    assert_non_null(strstr(s.text, "u0 2\nu1 3\nv 0\nv5 3\nw 0\nx trap: trap: out of bounds table access"));
}

#define LOG "(import \"host\" \"log\" (func $log (param i32))) "

static void the_start_function_sees_segments_and_traps_as_ever(void **state)
{
    (void)state;
    const char *text = "(module " LOG MEMORY "(data (i32.const 0) \"\\07\") (func $start (call $log (i32.const 5))"
                       "(i32.store8 (i32.const 0) (i32.const 9))) (start $start)" READ(0) ")";
    expect_alike(text, NULL);
    sight s;
    look(text, CAPTURABLE, &s);
    assert_non_null(strstr(s.text, "log 5, memory begins with 7\nread0 9\n"));
    expect_alike("(module " LOG MEMORY "(func $start (call $log (i32.const 1)) (call $inner)) (func $inner unreachable) (start $start))", NULL);
    expect_alike("(module " LOG MEMORY "(func $start (call $log (i32.const 1))) (start $start) (data (i32.const 65536) \"x\"))",
                 "trap: trap: out of bounds memory access in data segment 0");
    expect_alike("(module (import \"host\" \"log\" (func $log (param i32))) (func $start) (start $start))", NULL);
}

static void a_bad_element_segment_keeps_later_data_from_being_copied(void **state)
{
    (void)state; /* elements come before data, whatever their order in memory is */
    expect_alike("(module " LOG MEMORY "(table 1 funcref) (elem (i32.const 9) func $start) (data (i32.const 65536) \"x\")"
                 "(func $start (call $log (i32.const 1))) (start $start))", "out of bounds table access in element segment 0");
}

/* ---- into a memory of the host's, which shows how far an instantiation that failed had come ---- */

/* The bytes after a spawn of `text` in which all were 0x2E, of those at the start: "" = it went well. */
static const char *spawn_into(const char *text, bool capturable, tw_status expected)
{
    static char seen[25];
    static const tw_val_kind i32 = TW_VAL_I32;
    static sight ignored;
    tw_module *module = NULL;
    tw_instance *instance = NULL;
    tw_memory *memory = NULL;
    tw_memory_options size = TW_MEMORY_OPTIONS_INIT;
    size.bytes = 65536;
    size_t live;
    if (tw_memory_new(engine, &size, &memory, &error) || tw_module_new(engine, (const uint8_t *)text, strlen(text), &module, &error))
        fail_msg("%s", error.message);
    uint8_t *bytes = tw_memory_data(memory, &live);
    memset(bytes, '.', live);
    tw_import_memory given = {"host", "memory", memory};
    tw_import_func log = {"host", "log", &i32, 1, NULL, 0, log_call, &ignored};
    tw_spawn_options options = TW_SPAWN_OPTIONS_INIT;
    options.capturable = capturable;
    options.memories = &given, options.memory_count = 1;
    options.imports = &log, options.import_count = 1;
    ignored.used = 0;
    tw_status status = tw_instance_spawn(module, &options, &instance, &error);
    if (status != expected) fail_msg("%s: %s", tw_status_name(status), status ? error.message : "");
    memcpy(seen, bytes, 24);
    assert_int_equal(bytes[65535], '.');
    if (expected == TW_OK) tw_instance_free(instance);
    tw_memory_free(memory);
    tw_module_free(module);
    return seen;
}

#define LENT "(import \"host\" \"memory\" (memory 1)) "

/* By the specification: tables' segments come first, then those of data, in order, each whole or not at all; what an earlier one
 * wrote stays when a later one traps. */
static void what_came_before_a_trap_stays(void **state)
{
    (void)state;
    use_handlers();
    static const struct { const char *text, *seen; tw_status status; } cases[] = {
        {"(module " LENT "(data (i32.const 2) \"ab\") (data (i32.const 3) \"cd\"))", "..acd...................", TW_OK},
        {"(module " LENT "(data (i32.const 2) \"ab\") (data (i32.const 65535) \"xy\") (data (i32.const 8) \"cd\"))", "..ab....................", TW_TRAP},
        {"(module " LENT "(data (i32.const 65535) \"xy\") (data (i32.const 8) \"cd\"))", "........................", TW_TRAP},
        {"(module " LENT "(table 1 funcref) (data (i32.const 2) \"ab\") (func) (elem (i32.const 1) func 0))", "........................", TW_TRAP},
        {"(module " LENT "(data (i32.const 2) \"ab\") (func $s (memory.init $p (i32.const 6) (i32.const 0) (i32.const 3)) (data.drop $p) (memory.init $p (i32.const 9) (i32.const 0) (i32.const 1)))"
         " (start $s) (data $p \"pqr\"))", "..ab..pqr...............", TW_TRAP},
        {"(module " LENT "(data $a (i32.const 2) \"ab\") (func $s (memory.init $a (i32.const 9) (i32.const 0) (i32.const 0)) (memory.init $a (i32.const 9) (i32.const 0) (i32.const 1)))"
         " (start $s))", "..ab....................", TW_TRAP},
        {"(module " LENT "(data (i32.const 2) \"ab\") (func $s (i32.store8 (i32.const 5) (i32.const 65)) (unreachable)) (start $s))", "..ab.A..................", TW_TRAP},
        {"(module " LENT "(data (offset (i32.sub (i32.const 9) (i32.const 3))) \"g\") (data (offset (i32.add (i32.const 6) (i32.const 2))) \"h\"))", "......g.h...............", TW_OK},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++)
        for (int capturable = 0; capturable < 2; capturable++) {
            const char *seen = spawn_into(cases[i].text, capturable, cases[i].status);
            if (strcmp(seen, cases[i].seen)) fail_msg("case %zu, %s: %s", i, capturable ? "capturable" : "plain", seen);
        }
}

static void modules_without_anything_start(void **state)
{
    (void)state;
    expect_alike("(module)", NULL);
    expect_alike("(module " MEMORY ")", NULL);
    expect_alike("(module (func (export \"spin\") (result i32) (local i32) (loop $l (br_if $l (i32.lt_s (local.tee 0 (i32.add (local.get 0) (i32.const 1))) (i32.const 10)))) (local.get 0)))", NULL);
    expect_alike("(module " MEMORY "(data \"only passive\"))", NULL);
}

/* A large one: mapped without being told to. */
static void a_large_module_begins_from_an_image_and_nobody_sees_anothers_writes(void **state)
{
    (void)state;
    use_handlers();
    enum { BYTES = 200000, INSTANCES = 6 };
    char *text = malloc(3 * BYTES + 500);
    size_t used = (size_t)sprintf(text, "(module (memory (export \"memory\") 8) (data (i32.const 1000) \"");
    for (int i = 0; i < BYTES; i++) used += (size_t)sprintf(text + used, "%c", 'a' + i % 26);
    sprintf(text + used, "\") (func $start (i32.store8 (i32.const 0) (i32.add (i32.load8_u (i32.const 0)) (i32.const 1)))) (start $start)"
                         "(func (export \"grow\") (result i32) (memory.grow (i32.const 2))))");
    tw_module *module;
    tw_instance *instances[INSTANCES];
    tw_spawn_options options = TW_SPAWN_OPTIONS_INIT;
    options.capturable = true;
    engine->least_image = 64 << 10;
    if (tw_module_new(engine, (const uint8_t *)text, strlen(text), &module, &error)) fail_msg("%s", error.message);
    for (int i = 0; i < INSTANCES; i++) {
        uint8_t *base;
        size_t size;
        tw_val result;
        options.tenant = (uint64_t)i & 1;
        assert_int_equal(tw_instance_spawn(module, &options, &instances[i], &error), TW_OK);
        assert_int_equal(tw_store_is_seeded(instances[i]->store), i > 1); /* the first of each tenant isn't */
        assert_int_equal(tw_instance_memory(instances[i], "memory", &base, &size, &error), TW_OK);
        assert_int_equal(base[0], 1);
        for (int j = 0; j < BYTES; j++) assert_int_equal(base[1000 + j], 'a' + j % 26);
        for (size_t j = 1000 + BYTES; j < size; j++) assert_int_equal(base[j], 0);
        memset(base, 0x11 * i, size);
        assert_int_equal(tw_instance_call(instances[i], "grow", NULL, 0, &result, 1, &error), TW_OK);
        assert_int_equal(result.of.i32, 8);
        if (i > 2) tw_instance_free(instances[i]);
    }
    for (int i = 0; i < 3; i++) tw_instance_free(instances[i]);
    tw_module_free(module);
    free(text);
}

static int set_up(void **state)
{
    (void)state;
    if (tw_engine_new(NULL, &engine, &error)) return 1;
    keep_handlers();
    return 0;
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(active_segments_are_copied_in_order),
        cmocka_unit_test(offsets_are_expressions),
        cmocka_unit_test(segments_out_of_bounds_trap_and_are_named),
        cmocka_unit_test(the_place_is_the_users),
        cmocka_unit_test(passive_segments_wait_and_active_ones_are_dropped),
        cmocka_unit_test(elements_of_every_form_are_placed),
        cmocka_unit_test(the_start_function_sees_segments_and_traps_as_ever),
        cmocka_unit_test(a_bad_element_segment_keeps_later_data_from_being_copied),
        cmocka_unit_test(what_came_before_a_trap_stays),
        cmocka_unit_test(modules_without_anything_start),
        cmocka_unit_test(a_large_module_begins_from_an_image_and_nobody_sees_anothers_writes),
    };
    return cmocka_run_group_tests(tests, set_up, NULL);
}
