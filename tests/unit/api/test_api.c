/* SPDX-License-Identifier: Apache-2.0 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <time.h>
#include <unistd.h>

#include <cmocka.h>

#include "../../support/embedder.h"

static const tw_spawn_options plain = TW_SPAWN_OPTIONS_INIT;

static tw_status refusal_of(const char *text)
{
    return tw_module_validate(engine, (const uint8_t *)text, strlen(text), &error);
}

static tw_instance *instance_of(const char *text)
{
    tw_module *module = module_of(text);
    tw_instance *instance = spawn(module, &plain);
    tw_module_free(module); /* the instance keeps it */
    return instance;
}

static void there_is_one_engine_a_process(void **state)
{
    (void)state;
    use_handlers();
    tw_engine *second = NULL;
    assert_int_equal(tw_engine_new(NULL, &second, &error), TW_BUSY);
    assert_null(second);
    assert_int_equal(tw_abi_version(), TW_ABI_VERSION);
}

static void options_are_read_as_far_as_the_program_knows_them(void **state)
{
    (void)state;
    use_handlers();
    tw_module *module = module_of("(module)");
    tw_instance *instance;
    tw_spawn_options options = {.size = 0};
    assert_int_equal(tw_instance_spawn(module, &options, &instance, &error), TW_INVALID_ARGUMENT);
    options.size = offsetof(tw_spawn_options, imports); /* an older program: what follows isn't read */
    options.import_count = 99;
    OK(tw_instance_spawn(module, &options, &instance, &error));
    tw_instance_free(instance);
    tw_module_free(module);
}

static void a_module_tells_its_exports_and_their_types(void **state)
{
    (void)state;
    use_handlers();
    tw_module *module = module_of("(module (memory (export \"m\") 1) (table (export \"t\") 1 funcref) (global (export \"g\") i32 (i32.const 1))"
                                  "(func (export \"f\") (param i32 i64 f32 f64 v128 funcref) (result f64 i32) (f64.const 0) (i32.const 0)))");
    static const struct { const char *name; tw_extern kind; } expected[] = {
        {"m", TW_EXPORT_MEMORY}, {"t", TW_EXPORT_TABLE}, {"g", TW_EXPORT_GLOBAL}, {"f", TW_EXPORT_FUNC}};
    assert_int_equal(tw_module_export_count(module), 4);
    for (size_t i = 0; i < 4; i++) {
        const char *name;
        tw_extern kind;
        OK(tw_module_export(module, i, &name, &kind));
        assert_string_equal(name, expected[i].name);
        assert_int_equal(kind, expected[i].kind);
    }
    assert_int_equal(tw_module_export(module, 4, NULL, NULL), TW_NOT_FOUND);
    const tw_val_kind *params, *results;
    size_t param_count, result_count;
    OK(tw_module_func_type(module, "f", &params, &param_count, &results, &result_count, &error));
    assert_int_equal(param_count, 6);
    for (int i = 0; i < 6; i++) assert_int_equal(params[i], i);
    assert_int_equal(result_count, 2);
    assert_int_equal(results[0], TW_VAL_F64);
    assert_int_equal(tw_module_func_type(module, "m", NULL, NULL, NULL, NULL, &error), TW_NOT_FOUND);
    assert_int_equal(tw_module_func_type(module, "x", NULL, NULL, NULL, NULL, &error), TW_NOT_FOUND);
    tw_module_free(module);
}

static void values_of_every_type_go_in_and_come_out(void **state)
{
    (void)state;
    use_handlers();
    tw_instance *instance = instance_of(
        "(module (func (export \"turn\") (param i32 i64 f32 f64 v128) (result v128 f64 f32 i64 i32)"
        "local.get 4 local.get 3 local.get 2 local.get 1 local.get 0)"
        "(func (export \"ref\") (param funcref) (result funcref i32) (ref.func 0) (ref.is_null (local.get 0))))");
    tw_val args[5] = {{TW_VAL_I32, {.i32 = -7}}, {TW_VAL_I64, {.i64 = INT64_MIN}}, {TW_VAL_F32, {.f32 = -0.0f}},
                      {TW_VAL_F64, {.f64 = 1e300}}, {TW_VAL_V128, {.v128 = {1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15, 16}}}};
    tw_val results[5];
    OK(tw_instance_call(instance, "turn", args, 5, results, 5, &error));
    for (int i = 0; i < 5; i++) {
        assert_int_equal(results[i].kind, args[4 - i].kind);
        size_t size = results[i].kind == TW_VAL_V128 ? 16 : results[i].kind == TW_VAL_I64 || results[i].kind == TW_VAL_F64 ? 8 : 4;
        assert_memory_equal(&results[i].of, &args[4 - i].of, size);
    }
    tw_val null = {TW_VAL_FUNCREF, {.i64 = 0}};
    OK(tw_instance_call(instance, "ref", &null, 1, results, 2, &error));
    assert_int_equal(results[0].kind, TW_VAL_FUNCREF);
    assert_int_equal(results[0].of.i64, 1);
    assert_int_equal(results[1].of.i32, 1);
    assert_int_equal(tw_instance_call(instance, "turn", args, 4, results, 5, &error), TW_INVALID_ARGUMENT);
    assert_int_equal(tw_instance_call(instance, "turn", args, 5, results, 4, &error), TW_INVALID_ARGUMENT);
    args[1].kind = TW_VAL_F64;
    assert_int_equal(tw_instance_call(instance, "turn", args, 5, results, 5, &error), TW_INVALID_ARGUMENT);
    assert_int_equal(tw_instance_call(instance, "turned", args, 5, results, 5, &error), TW_NOT_FOUND);
    tw_instance_free(instance);
}

static void many_arguments_and_results_pass(void **state)
{
    (void)state;
    use_handlers();
    enum { N = 100 };
    char text[8192];
    size_t at = (size_t)snprintf(text, sizeof text, "(module (func (export \"f\") (param");
    for (int i = 0; i < N; i++) at += (size_t)snprintf(text + at, sizeof text - at, " i64");
    at += (size_t)snprintf(text + at, sizeof text - at, ") (result");
    for (int i = 0; i < N; i++) at += (size_t)snprintf(text + at, sizeof text - at, " i64");
    at += (size_t)snprintf(text + at, sizeof text - at, ")");
    for (int i = 0; i < N; i++) at += (size_t)snprintf(text + at, sizeof text - at, " local.get %d", N - 1 - i);
    snprintf(text + at, sizeof text - at, "))");
    tw_instance *instance = instance_of(text);
    tw_val args[N], results[N];
    for (int i = 0; i < N; i++) args[i] = (tw_val){TW_VAL_I64, {.i64 = i * INT64_C(1000000007)}};
    OK(tw_instance_call(instance, "f", args, N, results, N, &error));
    for (int i = 0; i < N; i++) assert_int_equal(results[i].of.i64, args[N - 1 - i].of.i64);
    tw_instance_free(instance);
}

static void an_export_with_a_nul_in_its_name_cannot_be_called(void **state)
{
    (void)state;
    use_handlers();
    tw_instance *instance = instance_of("(module (func (export \"f\\00g\")) (func (export \"f\\00\")) (func (export \"ff\")))");
    assert_int_equal(tw_instance_call(instance, "f", NULL, 0, NULL, 0, &error), TW_NOT_FOUND);
    OK(tw_instance_call(instance, "ff", NULL, 0, NULL, 0, &error));
    tw_instance_free(instance);
}

/* ---- host functions ---- */

static tw_status greet(void *context, tw_host_call *call, const tw_val *args, tw_val *results, tw_error *failure)
{
    size_t size;
    uint8_t *memory = tw_host_memory(call, &size);
    assert_int_equal(size, 65536);
    assert_int_equal(args[1].kind, TW_VAL_V128);
    if (args[0].of.i32 < 0) {
        strcpy(failure->message, "nobody is at home");
        return TW_NOT_FOUND;
    }
    memcpy(memory + args[0].of.i32, context, 5);
    results[0].of.f64 = args[1].of.v128[3];
    return TW_OK;
}

#define GREETER                                                                                    \
    "(module (import \"env\" \"greet\" (func $g (param i32 v128) (result f64))) (memory (export \"m\") 1)"  \
    "(func (export \"f\") (param i32) (result f64) (call $g (local.get 0) (v128.const i32x4 0x04030201 0 0 0))))"

static void host_functions_see_memory_and_fail_with_their_own_status(void **state)
{
    (void)state;
    use_handlers();
    const tw_val_kind params[] = {TW_VAL_I32, TW_VAL_V128}, results[] = {TW_VAL_F64};
    char greeting[] = "hello";
    tw_import_func imports[] = {{"env", "other", NULL, 0, NULL, 0, greet, NULL}, {"env", "greet", params, 2, results, 1, greet, greeting}};
    tw_spawn_options options = TW_SPAWN_OPTIONS_INIT;
    options.imports = imports;
    options.import_count = 2;
    tw_module *module = module_of(GREETER);
    tw_instance *instance = spawn(module, &options), *none;
    memset(imports, 0xEE, sizeof imports); /* need not outlive the spawn */
    tw_val arg = {TW_VAL_I32, {.i32 = 100}}, result;
    OK(tw_instance_call(instance, "f", &arg, 1, &result, 1, &error));
    assert_true(result.of.f64 == 4.0);
    uint8_t *base;
    size_t size;
    OK(tw_instance_memory(instance, "m", &base, &size, &error));
    assert_memory_equal(base + 100, "hello", 5);
    arg.of.i32 = -1;
    assert_int_equal(tw_instance_call(instance, "f", &arg, 1, &result, 1, &error), TW_NOT_FOUND);
    assert_int_equal(error.status, TW_NOT_FOUND);
    assert_string_equal(error.message, "nobody is at home");
    assert_int_equal(error.function, TW_NO_FUNCTION); /* what a host function doesn't say isn't made up */
    assert_true(error.offset == TW_NO_OFFSET);
    tw_instance_free(instance);
    assert_int_equal(tw_instance_spawn(module, NULL, &none, &error), TW_LINK);
    assert_non_null(strstr(error.message, "\"env\".\"greet\" of type (i32 v128) -> (f64)"));
    const tw_import_func wrong = {"env", "greet", params, 1, results, 1, greet, NULL};
    options.imports = &wrong;
    options.import_count = 1;
    assert_int_equal(tw_instance_spawn(module, &options, &none, &error), TW_LINK);
    assert_non_null(strstr(error.message, "another type"));
    tw_module_free(module);
    module = module_of("(module (import \"env\" \"m\" (memory 1)))");
    assert_int_equal(tw_instance_spawn(module, NULL, &none, &error), TW_LINK);
    tw_module_free(module);
}

/* ---- traps ---- */

static void a_trap_names_kind_function_offset_and_frames(void **state)
{
    (void)state;
    use_handlers();
    static const uint8_t bytes[] = { /* (func $inner unreachable) (func $outer (export "f") nop call $inner), by hand */
        0, 'a', 's', 'm', 1, 0, 0, 0,
        1, 4, 1, 0x60, 0, 0,
        3, 3, 2, 0, 0,
        7, 5, 1, 1, 'f', 0, 1,
        10, 11, 2, 3, 0, 0x00, 0x0B, 5, 0, 0x01, 0x10, 0, 0x0B,
        0, 22, 4, 'n', 'a', 'm', 'e', 1, 15, 2, 0, 5, 'i', 'n', 'n', 'e', 'r', 1, 5, 'o', 'u', 't', 'e', 'r',
    };
    tw_module *module;
    OK(tw_module_new(engine, bytes, sizeof bytes, &module, &error));
    tw_instance *instance = spawn(module, &plain);
    assert_int_equal(tw_instance_call(instance, "f", NULL, 0, NULL, 0, &error), TW_TRAP);
    assert_int_equal(error.function, 0);
    assert_int_equal(error.offset, 31); /* the 0x00 */
    assert_int_equal(bytes[error.offset], 0x00);
    assert_string_equal(error.message, "trap: wasm `unreachable` instruction executed in inner (function 0) at 0x1f\n"
                                       "backtrace:\n"
                                       "   0: inner (function 0) at 0x1f\n"
                                       "   1: outer (function 1) at 0x24");
    assert_int_equal(bytes[0x24], 0x10);
    tw_instance_free(instance);
    tw_module_free(module);
}

static void a_long_backtrace_is_cut_between_lines(void **state)
{
    (void)state;
    use_handlers();
    tw_instance *instance = instance_of("(module (func $a_function_with_quite_a_long_name_that_fills_the_message (export \"f\")"
                                        "(call $a_function_with_quite_a_long_name_that_fills_the_message)))");
    assert_int_equal(tw_instance_call(instance, "f", NULL, 0, NULL, 0, &error), TW_TRAP);
    assert_non_null(strstr(error.message, "trap: call stack exhausted in a_function"));
    assert_non_null(strstr(error.message, " more"));
    assert_true(strlen(error.message) < sizeof error.message - 1);
    tw_instance_free(instance);
}

static void a_failed_start_is_reported(void **state)
{
    (void)state;
    use_handlers();
    tw_module *module = module_of("(module (func $s unreachable) (start $s))");
    tw_instance *none;
    assert_int_equal(tw_instance_spawn(module, NULL, &none, &error), TW_TRAP);
    tw_module_free(module);
    module = module_of("(module (memory 1) (data (i32.const 65535) \"ab\"))");
    assert_int_equal(tw_instance_spawn(module, NULL, &none, &error), TW_TRAP);
    assert_non_null(strstr(error.message, "out of bounds memory access"));
    tw_module_free(module);
    module = module_of("(module (memory 1) (func $s (loop $l (i32.store (i32.const 0) (memory.size)) (br $l))) (start $s))");
    tw_spawn_options options = TW_SPAWN_OPTIONS_INIT;
    options.timeout_ns = 50000000;
    assert_int_equal(tw_instance_spawn(module, &options, &none, &error), TW_TIMEOUT);
    tw_module_free(module);
}

/* ---- what is refused, by name ---- */

static void bad_modules_are_refused_with_a_reason(void **state)
{
    (void)state;
    use_handlers();
    static const struct { const char *text; tw_status status; const char *says; } cases[] = {
        {"(module (func (result i32)))", TW_INVALID, ""},
        {"(modul)", TW_MALFORMED, ""},
        {"(module (memory i64 1))", TW_UNSUPPORTED, "memory64"},
        {"(module (memory 1) (memory 1))", TW_UNSUPPORTED, "multi-memory"},
        {"(module (memory 1 2 shared))", TW_UNSUPPORTED, "threads"},
        {"(module (type $t (func)) (func (param (ref null $t))))", TW_UNSUPPORTED, "typed function references"},
        {"(module (func (param externref)))", TW_UNSUPPORTED, "externref"},
        {"(module (tag))", TW_UNSUPPORTED, "exception"},
        {"(module (table 10000001 funcref))", TW_LIMIT, ""},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        error.message[0] = 0;
        assert_int_equal(refusal_of(cases[i].text), cases[i].status);
        if (!strstr(error.message, cases[i].says)) fail_msg("%s: %s", cases[i].text, error.message);
    }
    static const uint8_t half[] = {0, 'a', 's', 'm', 1, 0};
    assert_int_equal(tw_module_validate(engine, half, sizeof half, &error), TW_MALFORMED);
    assert_int_equal(tw_module_validate(engine, half, 0, &error), TW_MALFORMED);
}

static void limits_hold(void **state)
{
    (void)state;
    use_handlers();
    tw_module *module = module_of("(module (memory 2) (func (export \"grow\") (param i32) (result i32) (memory.grow (local.get 0))))");
    tw_spawn_options options = TW_SPAWN_OPTIONS_INIT;
    tw_instance *instance;
    options.max_memory = 65536;
    assert_int_equal(tw_instance_spawn(module, &options, &instance, &error), TW_LIMIT);
    options.max_memory = 3 * 65536;
    instance = spawn(module, &options);
    tw_val one = {TW_VAL_I32, {.i32 = 1}}, result;
    OK(tw_instance_call(instance, "grow", &one, 1, &result, 1, &error));
    assert_int_equal(result.of.i32, 2);
    OK(tw_instance_call(instance, "grow", &one, 1, &result, 1, &error));
    assert_int_equal(result.of.i32, -1);
    tw_instance_free(instance);
    tw_module_free(module);
}

/* ---- WASI ---- */

#define WASI "\"wasi_snapshot_preview1\""

/* The test puts a file's pages into the guest's memory, where an image would lie, and takes the file away. */
static void a_file_that_is_gone_ends_the_call_and_not_the_process(void **state)
{
    (void)state;
    use_handlers();
    tw_module *module = module_of("(module (memory (export \"memory\") 4)"
                                  "(func (export \"load\") (result i32) (i32.load (i32.const 70000)))"
                                  "(func (export \"copy\") (result i32) (memory.copy (i32.const 0) (i32.const 70000) (i32.const 1000)) (i32.const 1))"
                                  "(func (export \"few\") (result i32) (memory.copy (i32.const 0) (i32.const 70000) (i32.const 8)) (i32.const 1))" /* no trap of the engine's */
                                  "(func (export \"elsewhere\") (result i32) (i32.load (i32.const 140000))))");
    static const char *const names[] = {"load", "copy", "few"};
    char path[] = "/tmp/tensorwasm-gone-XXXXXX";
    int image = mkstemp(path);
    for (int i = 0; i < 3; i++) {
        uint8_t *memory;
        size_t size;
        tw_val result;
        tw_instance *instance = spawn(module, &plain);
        OK(tw_instance_memory(instance, "memory", &memory, &size, &error));
        assert_int_equal(ftruncate(image, 65536), 0);
        assert_true(mmap(memory + 65536, 65536, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_FIXED, image, 0) != MAP_FAILED);
        OK(tw_instance_call(instance, names[i], NULL, 0, &result, 1, &error));
        assert_int_equal(madvise(memory + 65536, 65536, MADV_DONTNEED), 0);
        assert_int_equal(ftruncate(image, 0), 0);
        OK(tw_instance_call(instance, "elsewhere", NULL, 0, &result, 1, &error));
        assert_int_equal(tw_instance_call(instance, names[i], NULL, 0, &result, 1, &error), TW_IO);
        assert_non_null(strstr(error.message, "mapped from"));
        tw_instance_free(instance);
    }
    tw_instance *next = spawn(module, &plain); /* not in that slot's mapping */
    tw_val result;
    OK(tw_instance_call(next, "load", NULL, 0, &result, 1, &error));
    assert_int_equal(result.of.i32, 0);
    tw_instance_free(next);
    close(image);
    unlink(path);
    tw_module_free(module);
}

/* Engines count all memories together: one engine a process, so the usual one makes room for it. */
static void all_memories_together_are_limited(void **state)
{
    (void)state;
    use_handlers();
    tw_engine_options options = TW_ENGINE_OPTIONS_INIT;
    options.max_committed = 10 << 16;
    tw_engine_free(engine);
    OK(tw_engine_new(&options, &engine, &error));
    tw_module *module = module_of("(module (memory 4) (func (export \"grow\") (param i32) (result i32) (memory.grow (local.get 0))))");
    tw_instance *a = spawn(module, &plain), *b = spawn(module, &plain), *none;
    assert_int_equal(tw_instance_spawn(module, NULL, &none, &error), TW_LIMIT);
    assert_non_null(strstr(error.message, "over the limit of 655360"));
    tw_val pages = {.kind = TW_VAL_I32, .of.i32 = 3}, was;
    OK(tw_instance_call(a, "grow", &pages, 1, &was, 1, &error));
    assert_int_equal(was.of.i32, -1);
    tw_instance_free(b);
    OK(tw_instance_call(a, "grow", &pages, 1, &was, 1, &error));
    assert_int_equal(was.of.i32, 4);
    tw_instance_free(a);
    tw_module_free(module);
    tw_engine_free(engine);
    OK(tw_engine_new(NULL, &engine, &error));
}

static void exit_codes_and_files_of_wasi(void **state)
{
    (void)state;
    use_handlers();
    char path[] = "/tmp/tensorwasm-test-XXXXXX";
    int fd = mkstemp(path);
    assert_true(fd >= 0);
    tw_module *module = module_of(
        "(module (import " WASI " \"proc_exit\" (func $exit (param i32))) (import " WASI " \"fd_read\" (func $read (param i32 i32 i32 i32) (result i32)))"
        "(import " WASI " \"fd_write\" (func $write (param i32 i32 i32 i32) (result i32))) (memory (export \"memory\") 1)"
        "(data (i32.const 0) \"\\20\\00\\00\\00\\40\\00\\00\\00\")"
        "(func (export \"_start\") (drop (call $read (i32.const 0) (i32.const 0) (i32.const 1) (i32.const 4)))"
        "(drop (call $write (i32.const 1) (i32.const 0) (i32.const 1) (i32.const 16))) (call $exit (i32.load (i32.const 16)))))");
    tw_wasi_options wasi = TW_WASI_OPTIONS_INIT;
    wasi.stdin_bytes = (const uint8_t *)"seven..";
    wasi.stdin_size = 7;
    wasi.stdout_path = path;
    tw_spawn_options options = TW_SPAWN_OPTIONS_INIT;
    options.wasi = &wasi;
    tw_instance *instance = spawn(module, &options), *none;
    assert_int_equal(tw_instance_call(instance, "_start", NULL, 0, NULL, 0, &error), TW_EXIT);
    assert_int_equal(tw_instance_exit_code(instance), 7);
    tw_instance_free(instance);
    char out[8] = {0};
    assert_int_equal(read(fd, out, sizeof out), 7);
    assert_string_equal(out, "seven..");
    close(fd);
    unlink(path);
    assert_int_equal(tw_instance_spawn(module, NULL, &none, &error), TW_LINK);
    const char *env[] = {"NOVALUE"};
    wasi.env = env;
    wasi.env_count = 1;
    assert_int_equal(tw_instance_spawn(module, &options, &none, &error), TW_INVALID_ARGUMENT);
    tw_module_free(module);
}

static void the_doctor_speaks_both_formats(void **state)
{
    (void)state;
    use_handlers();
    char *text;
    OK(tw_doctor(TW_FORMAT_TEXT, &text, &error));
    assert_non_null(strstr(text, "linear memory"));
    free(text);
    OK(tw_doctor(TW_FORMAT_JSON, &text, &error));
    assert_non_null(strstr(text, "\"reservation\": \""));
    free(text);
}

static void refusals_are_explained(void **state)
{
    (void)state;
    use_handlers();
    size_t count = 0;
    for (const char *name; (name = tw_refusal_listed(count)); count++) assert_non_null(tw_refusal_explain(name));
    assert_true(count > 10);
    assert_null(tw_refusal_explain("no such thing"));
    assert_null(tw_refusal_explain(NULL));
}

static int set_up(void **state)
{
    (void)state;
    if (tw_engine_new(NULL, &engine, &error) != TW_OK) return 1;
    keep_handlers();
    return 0;
}

static int tear_down(void **state)
{
    (void)state;
    tw_engine_free(engine);
    return tw_engine_new(NULL, &engine, &error) == TW_OK ? tw_engine_free(engine), 0 : 1;
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(there_is_one_engine_a_process),
        cmocka_unit_test(options_are_read_as_far_as_the_program_knows_them),
        cmocka_unit_test(a_module_tells_its_exports_and_their_types),
        cmocka_unit_test(values_of_every_type_go_in_and_come_out),
        cmocka_unit_test(many_arguments_and_results_pass),
        cmocka_unit_test(an_export_with_a_nul_in_its_name_cannot_be_called),
        cmocka_unit_test(host_functions_see_memory_and_fail_with_their_own_status),
        cmocka_unit_test(a_trap_names_kind_function_offset_and_frames),
        cmocka_unit_test(a_long_backtrace_is_cut_between_lines),
        cmocka_unit_test(a_failed_start_is_reported),
        cmocka_unit_test(bad_modules_are_refused_with_a_reason),
        cmocka_unit_test(limits_hold),
        cmocka_unit_test(all_memories_together_are_limited),
        cmocka_unit_test(a_file_that_is_gone_ends_the_call_and_not_the_process),
        cmocka_unit_test(exit_codes_and_files_of_wasi),
        cmocka_unit_test(the_doctor_speaks_both_formats),
        cmocka_unit_test(refusals_are_explained),
    };
    return cmocka_run_group_tests(tests, set_up, tear_down);
}
