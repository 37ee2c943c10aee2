/* SPDX-License-Identifier: Apache-2.0 */
/* A restored instance goes on exactly as the original does: both run on, every result and the memory are compared; in this
 * process and in another. What can't be captured or restored is refused with a reason, and nothing else changes. */
#include <fcntl.h>
#include <sys/wait.h>
#include <unistd.h>

#include "live.h"

static const char *own_path;

static void a_restored_instance_goes_on_as_the_original(void **state)
{
    (void)state;
    use_handlers();
    tw_module *module = module_of(all_text);
    for (uint32_t seed = 1; seed <= 60; seed++) {
        tw_instance *original = spawn(module, NULL);
        warm_up(module, original, (int)(seed * 2), seed);
        file f = capture(original, writer);
        tw_instance *copy = restore(module, f);
        same_memories(original, copy);
        file again = capture(copy, writer); /* nothing is lost, nothing is added */
        assert_int_equal(f.size, again.size);
        assert_memory_equal(f.bytes, again.bytes, f.size);
        run_on(module, original, copy, all_names, ALL, 200, seed * 77);
        file x = capture(original, writer), y = capture(copy, writer);
        assert_int_equal(x.size, y.size);
        assert_memory_equal(x.bytes, y.bytes, x.size);
        tw_instance_free(original);
        tw_instance_free(copy);
        free(f.bytes), free(again.bytes), free(x.bytes), free(y.bytes);
    }
    tw_module_free(module);
}

static void drops_come_back(void **state)
{
    (void)state;
    use_handlers();
    tw_module *module = module_of(all_text);
    tw_instance *original = spawn(module, NULL);
    assert_int_equal(outcome_of(original, module, "init", 8).status, TW_OK);
    outcome_of(original, module, "drop_p", 0);
    file f = capture(original, writer);
    tw_instance *copy = restore(module, f);
    assert_int_equal(outcome_of(copy, module, "init", 8).status, TW_TRAP);
    assert_int_equal(outcome_of(copy, module, "init_q", 8).status, TW_OK);
    assert_int_equal(outcome_of(copy, module, "table_init", 1).status, TW_OK);
    tw_instance_free(original);
    tw_instance_free(copy);
    free(f.bytes);
    tw_module_free(module);
}

static void the_start_function_does_not_run_again(void **state)
{
    (void)state;
    use_handlers();
    tw_module *module = module_of("(module (memory (export \"memory\") 1) (global $n (mut i32) (i32.const 0)) (data (i32.const 0) \"A\")"
                                  "(func $start (global.set $n (i32.add (global.get $n) (i32.const 1)))) (start $start)"
                                  "(func (export \"n\") (result i32) (global.get $n))"
                                  "(func (export \"put\") (param i32) (i32.store8 (i32.const 0) (local.get 0))))");
    tw_instance *original = spawn(module, NULL);
    outcome_of(original, module, "put", 'B');
    file f = capture(original, writer);
    tw_instance *copy = restore(module, f);
    assert_int_equal(outcome_of(copy, module, "n", 0).results[0].of.i32, 1);
    same_memories(original, copy);
    tw_instance_free(original);
    tw_instance_free(copy);
    free(f.bytes);
    tw_module_free(module);
}

/* ---- kernels ---- */

static void kernels_go_on_with_the_same_bits(void **state)
{
    (void)state;
    use_handlers();
    tw_module *module = module_of(streams_text);
    tw_spawn_options plain = usual();
    plain.kernel_cache = NULL;
    tw_instance *original = spawn(module, NULL), *without = NULL;
    outcome_of(original, module, "fill", 3);
    outcome_of(original, module, "mix", 5);
    file f = capture(original, writer);
    tw_instance *copy = restore(module, f);
    OK(try_restore(module, f, &plain, &without)); /* the original code, from the kernels' memory */
    run_on(module, original, copy, stream_names, 2, 12, 1);
    assert_int_not_equal(kernels_run(original), 0);
    assert_int_not_equal(kernels_run(copy), 0);
    tw_instance *third = restore(module, f);
    run_on(module, third, without, stream_names, 2, 12, 5);
    tw_instance_free(third);
    tw_instance_free(original);
    tw_instance_free(copy);
    tw_instance_free(without);
    free(f.bytes);
    tw_module_free(module);
}

/* ---- another process ---- */

static void put_file(const char *path, file f)
{
    FILE *out = fopen(path, "w");
    assert_non_null(out);
    assert_int_equal(fwrite(f.bytes, 1, f.size, out), f.size);
    fclose(out);
}

static file get_file(const char *path)
{
    file f = {malloc(1 << 24), 0};
    FILE *in = fopen(path, "r");
    assert_non_null(in);
    f.size = fread(f.bytes, 1, 1 << 24, in);
    fclose(in);
    return f;
}

static void go_on(tw_module *module, tw_instance *instance)
{
    warm_up(module, instance, 300, 4711);
}

/* As `test_live --child IN OUT`: restores, goes on, captures. */
static int child(const char *in, const char *out)
{
    file f = get_file(in);
    tw_module *module = module_of(all_text);
    tw_instance *instance = restore(module, f);
    go_on(module, instance);
    file later = capture(instance, writer);
    put_file(out, later);
    free(f.bytes), free(later.bytes);
    tw_instance_free(instance);
    tw_module_free(module);
    return 0;
}

static void another_process_goes_on_as_well(void **state)
{
    (void)state;
    use_handlers();
    char folder[] = "/tmp/tw-live-XXXXXX", in[64], out[64], command[600];
    assert_non_null(mkdtemp(folder));
    snprintf(in, sizeof in, "%s/in", folder);
    snprintf(out, sizeof out, "%s/out", folder);
    tw_module *module = module_of(all_text);
    tw_instance *original = spawn(module, NULL);
    warm_up(module, original, 120, 12);
    file f = capture(original, writer);
    put_file(in, f);
    snprintf(command, sizeof command, "'%s' --child '%s' '%s'", own_path, in, out);
    assert_int_equal(system(command), 0);
    go_on(module, original);
    file here = capture(original, writer), there = get_file(out);
    assert_int_equal(here.size, there.size);
    assert_memory_equal(here.bytes, there.bytes, here.size);
    unlink(in), unlink(out), rmdir(folder);
    free(f.bytes), free(here.bytes), free(there.bytes);
    tw_instance_free(original);
    tw_module_free(module);
}

/* ---- refusals ---- */

static tw_status capture_in_call(void *context, tw_host_call *in, const tw_val *args, tw_val *results, tw_error *why)
{
    (void)in, (void)args, (void)why;
    file f;
    results[0].kind = TW_VAL_I32;
    results[0].of.i32 = (int32_t)try_capture(*(tw_instance **)context, writer, &f);
    return TW_OK;
}

static void a_running_call_is_refused(void **state)
{
    (void)state;
    use_handlers();
    tw_module *module = module_of("(module (import \"h\" \"capture\" (func $c (result i32))) (memory (export \"memory\") 1)"
                                  "(func (export \"run\") (result i32) (call $c)))");
    tw_instance *instance = NULL;
    static const tw_val_kind i32 = TW_VAL_I32;
    tw_import_func import = {"h", "capture", NULL, 0, &i32, 1, capture_in_call, &instance};
    tw_spawn_options options = usual();
    options.imports = &import;
    options.import_count = 1;
    instance = spawn(module, &options);
    assert_int_equal(outcome_of(instance, module, "run", 0).results[0].of.i32, TW_BUSY);
    file f = capture(instance, writer);
    tw_instance *copy;
    OK(try_restore(module, f, &options, &copy));
    tw_instance_free(copy);
    assert_int_equal(try_restore(module, f, NULL, &copy), TW_LINK);
    free(f.bytes);
    OK(tw_instance_terminate(instance, &error));
    assert_int_equal(try_capture(instance, writer, &f), TW_TERMINATED);
    tw_instance_free(instance);
    tw_module_free(module);
}

static void only_who_was_spawned_for_it_is_captured(void **state)
{
    (void)state;
    use_handlers();
    tw_module *module = module_of("(module (memory (export \"memory\") 1))");
    tw_spawn_options options = TW_SPAWN_OPTIONS_INIT;
    tw_instance *instance = spawn(module, &options);
    file f;
    assert_int_equal(try_capture(instance, writer, &f), TW_INVALID_ARGUMENT);
    tw_instance_free(instance);
    tw_module_free(module);
}

static void module_tenant_and_limits_must_fit(void **state)
{
    (void)state;
    use_handlers();
    tw_module *module = module_of(all_text), *other = module_of("(module (memory (export \"memory\") 1))");
    tw_spawn_options options = usual();
    options.tenant = 5;
    tw_instance *original = spawn(module, &options), *copy;
    for (int i = 0; i < 3; i++) outcome_of(original, module, "grow", 2);
    file f = capture(original, writer);
    assert_int_equal(try_restore(other, f, &options, &copy), TW_INVALID_ARGUMENT);
    assert_non_null(strstr(error.message, "another module"));
    options.tenant = 6;
    assert_int_equal(try_restore(module, f, &options, &copy), TW_UNTRUSTED);
    options.tenant = 5;
    options.max_memory = 4 << 16;
    assert_int_equal(try_restore(module, f, &options, &copy), TW_LIMIT);
    assert_non_null(strstr(error.message, "458752"));
    options.max_memory = 8 << 16;
    OK(try_restore(module, f, &options, &copy));
    assert_int_equal(outcome_of(copy, module, "grow", 2).results[0].of.i32, -1);
    assert_int_equal(outcome_of(copy, module, "grow", 1).results[0].of.i32, 7);
    tw_instance_free(original);
    tw_instance_free(copy);
    free(f.bytes);
    tw_module_free(module);
    tw_module_free(other);
}

static void the_captured_limit_goes_on(void **state)
{
    (void)state;
    use_handlers();
    tw_module *module = module_of(all_text);
    tw_spawn_options options = usual();
    options.max_memory = 2 << 16;
    tw_instance *original = spawn(module, &options);
    file f = capture(original, writer);
    tw_instance *copy = restore(module, f);
    assert_int_equal(outcome_of(copy, module, "grow", 2).results[0].of.i32, -1);
    assert_int_equal(outcome_of(copy, module, "grow", 1).results[0].of.i32, 1);
    tw_instance_free(original);
    tw_instance_free(copy);
    free(f.bytes);
    tw_module_free(module);
}

static void after_restore_is_called_once(void **state)
{
    (void)state;
    use_handlers();
    tw_module *module = module_of("(module (memory (export \"memory\") 1) (global $n (mut i32) (i32.const 0))"
                                  "(func (export \"tw_after_restore\") (global.set $n (i32.add (global.get $n) (i32.const 10))))"
                                  "(func (export \"n\") (result i32) (global.get $n)))");
    tw_instance *original = spawn(module, NULL);
    assert_int_equal(outcome_of(original, module, "n", 0).results[0].of.i32, 0);
    file f = capture(original, writer);
    tw_instance *copy = restore(module, f);
    assert_int_equal(outcome_of(copy, module, "n", 0).results[0].of.i32, 10);
    tw_instance_free(original);
    tw_instance_free(copy);
    free(f.bytes);
    tw_module_free(module);
    module = module_of("(module (memory (export \"memory\") 1) (func (export \"tw_after_restore\") unreachable))");
    original = spawn(module, NULL);
    f = capture(original, writer);
    assert_int_equal(try_restore(module, f, NULL, &copy), TW_TRAP);
    tw_instance_free(original);
    free(f.bytes);
    tw_module_free(module);
}

/* ---- WASI ---- */

#define WASI "\"wasi_snapshot_preview1\""
static const char *const wasi_text =
    "(module (import " WASI " \"args_sizes_get\" (func $args (param i32 i32) (result i32)))"
    "(import " WASI " \"environ_get\" (func $env (param i32 i32) (result i32)))"
    "(import " WASI " \"fd_prestat_dir_name\" (func $dir (param i32 i32 i32) (result i32)))"
    "(import " WASI " \"path_open\" (func $open (param i32 i32 i32 i32 i32 i64 i64 i32 i32) (result i32)))"
    "(import " WASI " \"fd_close\" (func $close (param i32) (result i32)))"
    "(memory (export \"memory\") 1) (data (i32.const 8) \"a.txt\")"
    "(func (export \"arg_bytes\") (result i32) (drop (call $args (i32.const 64) (i32.const 68))) (i32.load (i32.const 68)))"
    "(func (export \"env\") (result i32) (drop (call $env (i32.const 128) (i32.const 256))) (i32.load (i32.const 256)))"
    "(func (export \"dir\") (param i32) (result i32) (drop (call $dir (local.get 0) (i32.const 512) (i32.const 8))) (i32.load8_u (i32.const 512)))"
    "(func (export \"open\") (result i32) (call $open (i32.const 4) (i32.const 0) (i32.const 8) (i32.const 5) (i32.const 1)"
    " (i64.const 64) (i64.const 0) (i32.const 0) (i32.const 32)))"
    "(func (export \"close\") (param i32) (result i32) (call $close (local.get 0))))";

static void the_guest_is_told_what_it_was_told_and_open_files_are_named(void **state)
{
    (void)state;
    use_handlers();
    char folder[] = "/tmp/tw-live-XXXXXX", path[64];
    assert_non_null(mkdtemp(folder));
    static const char *const args[] = {"guest", "one"}, *const env[] = {"K=V"};
    tw_wasi_dir dirs[] = {{"/", "/r"}, {folder, "d"}, {folder, "e"}};
    tw_wasi_options wasi = TW_WASI_OPTIONS_INIT;
    wasi.args = args, wasi.arg_count = 2, wasi.env = env, wasi.env_count = 1, wasi.dirs = dirs, wasi.dir_count = 2;
    tw_spawn_options options = usual();
    options.wasi = &wasi;
    tw_module *module = module_of(wasi_text);
    tw_instance *original = spawn(module, &options), *copy;
    file f;
    assert_int_equal(outcome_of(original, module, "open", 0).results[0].of.i32, 0);
    assert_int_equal(try_capture(original, writer, &f), TW_UNSUPPORTED);
    assert_non_null(strstr(error.message, "open files: a.txt (descriptor 5)"));
    assert_int_equal(outcome_of(original, module, "close", 5).results[0].of.i32, 0);
    f = capture(original, writer);

    assert_int_equal(try_restore(module, f, NULL, &copy), TW_INVALID_ARGUMENT); /* no WASI */
    assert_int_equal(try_restore(module, f, &options, &copy), TW_INVALID_ARGUMENT); /* arguments of its own */
    wasi.arg_count = wasi.env_count = 0;
    wasi.dir_count = 1;
    assert_int_equal(try_restore(module, f, &options, &copy), TW_INVALID_ARGUMENT);
    assert_non_null(strstr(error.message, "the directory \"d\""));
    wasi.dir_count = 3;
    assert_int_equal(try_restore(module, f, &options, &copy), TW_INVALID_ARGUMENT);
    assert_non_null(strstr(error.message, "no directory \"e\""));
    tw_wasi_dir swapped[] = {{folder, "d"}, {folder, "/r"}}; /* other folders, in another order: descriptors stay the guest's */
    wasi.dirs = swapped, wasi.dir_count = 2;
    OK(try_restore(module, f, &options, &copy));
    assert_int_equal(outcome_of(copy, module, "arg_bytes", 0).results[0].of.i32, 10);
    assert_int_equal(outcome_of(copy, module, "env", 0).results[0].of.i32, 0x563D4B);
    assert_int_equal(outcome_of(copy, module, "dir", 3).results[0].of.i32, '/');
    assert_int_equal(outcome_of(copy, module, "dir", 4).results[0].of.i32, 'd');
    assert_int_equal(outcome_of(copy, module, "open", 0).results[0].of.i32, 0);
    assert_int_equal(try_capture(copy, writer, &f), TW_UNSUPPORTED);
    tw_instance_free(copy);
    assert_int_equal(outcome_of(original, module, "close", 4).results[0].of.i32, 0);
    file none;
    assert_int_equal(try_capture(original, writer, &none), TW_UNSUPPORTED);
    assert_non_null(strstr(error.message, "descriptor 4, which it began with"));
    tw_instance_free(original);
    free(f.bytes);
    tw_module_free(module);
    snprintf(path, sizeof path, "%s/a.txt", folder);
    unlink(path);
    rmdir(folder);
}

/* ---- damage: the file around the registers is sound, they aren't ---- */

static tw_status restore_with(tw_module *module, const tw_snapshot *snapshot, const uint8_t *registers, size_t size)
{
    tw_snapshot changed = *snapshot;
    changed.registers = (tw_span){registers, size};
    tw_spawn_options options = usual();
    options.kernel_cache = NULL;
    tw_instance *instance;
    tw_status status = tw_instance_restore(module, &changed, &options, &instance, &error);
    if (status == TW_OK) tw_instance_free(instance);
    return status;
}

/* The command gives every guest WASI; what an embedder restores without is a guest that can't ask for it. */
static void a_guest_that_imports_nothing_of_wasi_needs_none(void **state)
{
    (void)state;
    use_handlers();
    const char *args[] = {"guest"};
    tw_wasi_options wasi = TW_WASI_OPTIONS_INIT;
    wasi.args = args, wasi.arg_count = 1;
    tw_spawn_options options = usual();
    options.wasi = &wasi;
    tw_module *module = module_of(all_text);
    tw_instance *original = spawn(module, &options), *copy = NULL;
    warm_up(module, original, 20, 5);
    file f = capture(original, writer);
    assert_int_equal(try_restore(module, f, NULL, &copy), TW_OK);
    same_memories(original, copy);
    run_on(module, original, copy, all_names, ALL, 50, 6);
    tw_instance_free(original);
    tw_instance_free(copy);
    free(f.bytes);
    tw_module_free(module);
}

static void damaged_registers_are_refused_or_another_state(void **state)
{
    (void)state;
    use_handlers();
    tw_module *module = module_of(all_text);
    tw_instance *original = spawn(module, NULL);
    file f = capture(original, writer);
    tw_snapshot *snapshot = read_file(f);
    size_t size = snapshot->registers.size;
    uint8_t *copy = malloc(size + 1);
    int accepted = 0;
    memcpy(copy, snapshot->registers.data, size);
    for (size_t cut = 0; cut < size; cut++) assert_int_equal(restore_with(module, snapshot, copy, cut), TW_MALFORMED);
    copy[size] = 0;
    assert_int_equal(restore_with(module, snapshot, copy, size + 1), TW_MALFORMED);
    for (size_t bit = 0; bit < size * 8; bit++) {
        copy[bit / 8] ^= (uint8_t)(1 << bit % 8);
        accepted += restore_with(module, snapshot, copy, size) == TW_OK;
        copy[bit / 8] ^= (uint8_t)(1 << bit % 8);
    }
    /* A bit of a number is another number; everything else has one right value. Five numeric globals have 32 + 64 + 32 + 64 + 128
     * bits; unused ones of values may be anything; the lowest bits of the maximum are above or below. */
    assert_true(accepted >= 320 && accepted < (int)size * 8 - 256);
    free(copy);
    tw_snapshot_free(snapshot);
    tw_instance_free(original);
    free(f.bytes);
    tw_module_free(module);
}

int main(int argc, char **argv)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_restored_instance_goes_on_as_the_original),
        cmocka_unit_test(drops_come_back),
        cmocka_unit_test(the_start_function_does_not_run_again),
        cmocka_unit_test(kernels_go_on_with_the_same_bits),
        cmocka_unit_test(another_process_goes_on_as_well),
        cmocka_unit_test(a_running_call_is_refused),
        cmocka_unit_test(only_who_was_spawned_for_it_is_captured),
        cmocka_unit_test(module_tenant_and_limits_must_fit),
        cmocka_unit_test(the_captured_limit_goes_on),
        cmocka_unit_test(after_restore_is_called_once),
        cmocka_unit_test(the_guest_is_told_what_it_was_told_and_open_files_are_named),
        cmocka_unit_test(a_guest_that_imports_nothing_of_wasi_needs_none),
        cmocka_unit_test(damaged_registers_are_refused_or_another_state),
    };
    own_path = argv[0];
    if (argc == 4 && !strcmp(argv[1], "--child")) {
        int failed = set_up(NULL) || child(argv[2], argv[3]);
        return tear_down(NULL) || failed;
    }
    return cmocka_run_group_tests(tests, set_up, tear_down);
}
