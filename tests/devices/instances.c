/* SPDX-License-Identifier: Apache-2.0 */
/* instances BACKEND: buffers that belong to an instance are captured with it and come back with it, on this backend or another. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "devices.h"

#include "../support/embedder.h"

enum { SIZE = 3 * 65536 + 48, SMALL = 5 };

static tw_backend backend;
static tw_devices *devices;
static tw_module *module;
static tw_snapshot_writer *writer;
static tw_snapshot_reader *reader;

static int begin(void **state)
{
    (void)state;
    devices = test_devices();
    tw_devices_missing(devices, backend); /* drivers before the engine: both own signals */
    if (engine_begins(TW_OFFLOAD_OFF, false)) return 1;
    if (tw_snapshot_writer_new(NULL, &writer, &error) || tw_snapshot_reader_new(NULL, &reader, &error)) return 1;
    module = module_of("(module (memory (export \"memory\") 1) (func (export \"f\") (param i32) (result i32)"
                       " (i32.store (i32.const 8) (i32.add (i32.load (i32.const 8)) (local.get 0))) (i32.load (i32.const 8))))");
    return 0;
}

static void assert_nothing_left(void)
{
    static const char *const variables[] = {"TW_TEST_CUDA", "TW_TEST_OPENCL"};
    for (int i = 0; i < 2; i++) {
        const standin *driver = test_standin(variables[i]);
        if (driver && driver->wrong()) fail_msg("%s: %d wrong\n%s", variables[i], driver->wrong(), driver->log());
    }
}

static int end(void **state)
{
    (void)state;
    tw_module_free(module);
    tw_snapshot_writer_free(writer);
    tw_snapshot_reader_free(reader);
    engine_ends();
    tw_devices_close(devices);
    static const char *const variables[] = {"TW_TEST_CUDA", "TW_TEST_OPENCL"};
    int bad = 0;
    for (int i = 0; i < 2; i++) {
        const standin *driver = test_standin(variables[i]);
        if (driver && (driver->wrong() || driver->alive())) bad = printf("%s: %d wrong, %d alive\n%s", variables[i], driver->wrong(), driver->alive(), driver->log());
    }
    return bad;
}

static uint8_t *pattern(uint32_t seed)
{
    uint8_t *bytes = malloc(SIZE);
    assert_non_null(bytes);
    for (size_t i = 0; i < SIZE; i++) bytes[i] = (uint8_t)(next(&seed) >> 24);
    return bytes;
}

/* An instance with "big" on the backend under test and "small" on the host, with bytes that a device wrote. */
static tw_instance *with_buffers(const uint8_t *bytes)
{
    tw_instance *instance = spawn(module, NULL);
    tw_buffer *big = test_buffer(devices, backend, 0, SIZE), *small = test_buffer(devices, TW_BACKEND_HOST, 0, SMALL);
    OK(tw_buffer_write(big, 0, bytes, SIZE, &error));
    OK(tw_buffer_fill(big, 65536, 4096, 0xABCD1234, 4, &error));
    OK(tw_buffer_write(small, 0, "small", SMALL, &error));
    OK(tw_instance_attach_buffer(instance, "big", big, &error));
    OK(tw_instance_attach_buffer(instance, "small", small, &error));
    return instance;
}

static tw_snapshot *read_back(file f)
{
    tw_snapshot *snapshot;
    OK(tw_snapshot_restore(reader, f.bytes, f.size, &snapshot, NULL, &error));
    return snapshot;
}

static tw_status try_restore(file f, const tw_buffer_restoring *how, tw_instance **out)
{
    tw_spawn_options options = usual();
    tw_snapshot *snapshot = read_back(f);
    options.buffers = how;
    tw_status status = tw_instance_restore(module, snapshot, &options, out, &error);
    tw_snapshot_free(snapshot);
    return status;
}

static tw_instance *restore(file f, const tw_buffer_restoring *how)
{
    tw_instance *instance;
    OK(try_restore(f, how, &instance));
    return instance;
}

static tw_buffer_restoring here(void)
{
    tw_buffer_restoring how = TW_BUFFER_RESTORING_INIT;
    how.devices = devices;
    return how;
}

static void expect(const uint8_t *bytes, uint8_t *wanted)
{
    memcpy(wanted, bytes, SIZE);
    for (size_t i = 0; i < 4096; i += 4) memcpy(wanted + 65536 + i, "\x34\x12\xCD\xAB", 4);
    memcpy(wanted + SIZE, "small", SMALL);
}

static void same_bytes(tw_instance *instance, const uint8_t *bytes)
{
    uint8_t wanted[SIZE + SMALL], *got = malloc(SIZE);
    expect(bytes, wanted);
    assert_non_null(tw_instance_buffer(instance, "big"));
    assert_int_equal(tw_buffer_size(tw_instance_buffer(instance, "big")), SIZE);
    OK(tw_buffer_read(tw_instance_buffer(instance, "big"), 0, got, SIZE, &error));
    assert_memory_equal(got, wanted, SIZE);
    assert_memory_equal(tw_buffer_host(tw_instance_buffer(instance, "small")), "small", SMALL);
    free(got);
}

static void they_are_captured_one_behind_the_other(void **state)
{
    (void)state;
    uint8_t *bytes = pattern(1), wanted[SIZE + SMALL];
    tw_instance *instance = with_buffers(bytes);
    file f = capture(instance, writer);
    tw_snapshot *snapshot = read_back(f);
    expect(bytes, wanted);
    assert_int_equal(snapshot->device_memory.size, SIZE + SMALL);
    assert_memory_equal(snapshot->device_memory.data, wanted, SIZE + SMALL);
    assert_memory_equal(snapshot->registers.data, "TWRG\2\0\0\0", 8);
    tw_snapshot_free(snapshot);
    tw_instance_free(instance);
    free(f.bytes);
    free(bytes);
}

static void they_come_back_on_their_backend(void **state)
{
    (void)state;
    uint8_t *bytes = pattern(2);
    tw_instance *original = with_buffers(bytes);
    tw_val results[4];
    call(original, module, "f", 5, results);
    file f = capture(original, writer);
    tw_buffer_restoring how = here();
    how.place = TW_BUFFERS_AS_CAPTURED;
    tw_instance *copy = restore(f, &how);
    tw_instance_buffer_info info;
    assert_int_equal(tw_instance_buffer_count(copy), 2);
    assert_int_equal(tw_instance_buffer_at(copy, 0, &info), TW_OK);
    assert_string_equal(info.name, "big");
    assert_int_equal(tw_buffer_backend(info.buffer), backend);
    assert_int_equal(info.captured, backend);
    assert_null(info.note);
    assert_int_equal(tw_instance_buffer_at(copy, 2, &info), TW_NOT_FOUND);
    same_bytes(copy, bytes);
    file again = capture(copy, writer);
    assert_int_equal(f.size, again.size);
    assert_memory_equal(f.bytes, again.bytes, f.size);
    call(copy, module, "f", 7, results);
    assert_int_equal(results[0].of.i32, 12);
    tw_instance_free(original);
    same_bytes(copy, bytes);
    tw_instance_free(copy);
    free(f.bytes), free(again.bytes);
    free(bytes);
}

static void without_the_backend_they_come_back_on_the_host(void **state)
{
    (void)state;
    uint8_t *bytes = pattern(3);
    tw_instance *original = with_buffers(bytes), *copy, *never = NULL;
    file f = capture(original, writer);
    tw_buffer_restoring strict = TW_BUFFER_RESTORING_INIT;
    tw_instance_buffer_info info;
    copy = restore(f, NULL);
    assert_int_equal(tw_instance_buffer_at(copy, 0, &info), TW_OK);
    assert_int_equal(tw_buffer_backend(info.buffer), TW_BACKEND_HOST);
    assert_int_equal(info.captured, backend);
    if (backend != TW_BACKEND_HOST) assert_non_null(strstr(info.note, tw_backend_name(backend)));
    else assert_null(info.note);
    same_bytes(copy, bytes);
    strict.place = TW_BUFFERS_AS_CAPTURED;
    tw_status status = try_restore(f, &strict, &never);
    assert_int_equal(status, backend == TW_BACKEND_HOST ? TW_OK : TW_UNAVAILABLE);
    if (status) assert_non_null(strstr(error.message, "\"big\""));
    tw_instance_free(never);
    tw_instance_free(copy);
    tw_instance_free(original);
    free(f.bytes);
    free(bytes);
}

static void the_host_may_say_where(void **state)
{
    (void)state;
    uint8_t *bytes = pattern(4);
    tw_instance *original = with_buffers(bytes), *copy;
    file f = capture(original, writer);
    tw_buffer_restoring how = here();
    how.place = TW_BUFFERS_ON_BACKEND;
    how.backend = backend;
    copy = restore(f, &how); /* both on the backend under test */
    assert_int_equal(tw_buffer_backend(tw_instance_buffer(copy, "small")), backend);
    same_bytes(copy, bytes);
    tw_instance_free(copy);
    how.backend = TW_BACKEND_HOST;
    copy = restore(f, &how);
    assert_int_equal(tw_buffer_backend(tw_instance_buffer(copy, "big")), TW_BACKEND_HOST);
    same_bytes(copy, bytes);
    tw_instance_free(copy);
    how.device = 99, how.backend = backend == TW_BACKEND_HOST ? TW_BACKEND_CUDA_MANAGED : backend;
    assert_int_equal(try_restore(f, &how, &copy), TW_UNAVAILABLE);
    how.place = 77;
    assert_int_equal(try_restore(f, &how, &copy), TW_INVALID_ARGUMENT);
    tw_instance_free(original);
    free(f.bytes);
    free(bytes);
}

static void limits_of_the_host_win(void **state)
{
    (void)state;
    uint8_t *bytes = pattern(5);
    tw_instance *original = with_buffers(bytes), *copy;
    file f = capture(original, writer);
    tw_buffer_restoring how = here();
    how.max_bytes = SIZE + SMALL - 1;
    assert_int_equal(try_restore(f, &how, &copy), TW_LIMIT);
    how.max_bytes++;
    tw_instance_free(restore(f, &how));
    how.devices = test_devices_limited(SIZE - 1);
    assert_int_equal(try_restore(f, &how, &copy), TW_LIMIT);
    tw_devices_close(how.devices);
    tw_instance_free(original);
    free(f.bytes);
    free(bytes);
}

static void a_failing_driver_leaves_nothing(void **state)
{
    (void)state;
    const standin *cuda = test_standin("TW_TEST_CUDA"), *opencl = test_standin("TW_TEST_OPENCL");
    static const char *const takes[] = {[TW_BACKEND_CUDA_MANAGED] = "cuMemAllocManaged", [TW_BACKEND_CUDA_PINNED] = "cuMemHostAlloc",
                                        [TW_BACKEND_OPENCL_SVM] = "clSVMAlloc"};
    const standin *driver = backend == TW_BACKEND_OPENCL_SVM ? opencl : cuda;
    if (backend == TW_BACKEND_HOST || !driver) return;
    uint8_t *bytes = pattern(6);
    tw_instance *original = with_buffers(bytes), *copy;
    file f = capture(original, writer);
    tw_buffer_restoring how = here();
    how.place = TW_BUFFERS_ON_BACKEND, how.backend = backend;
    int alive = driver->alive();
    for (int nth = 1; nth <= 2; nth++) {
        driver->fail_next(takes[backend], nth, 2);
        tw_status status = try_restore(f, &how, &copy);
        assert_true(status == TW_NO_MEMORY || status == TW_DEVICE);
        assert_int_equal(driver->alive(), alive);
        driver->reset();
    }
    tw_instance_free(restore(f, &how));
    tw_instance_free(original);
    free(f.bytes);
    free(bytes);
    assert_nothing_left();
}

static void names_are_checked_and_what_is_detached_is_the_callers(void **state)
{
    (void)state;
    uint8_t *bytes = pattern(7);
    tw_instance *instance = with_buffers(bytes);
    tw_buffer *other = test_buffer(devices, backend, 0, 64), *big;
    char *longest = calloc(257, 1);
    memset(longest, 'n', 256);
    assert_int_equal(tw_instance_attach_buffer(instance, "big", other, &error), TW_INVALID_ARGUMENT);
    assert_int_equal(tw_instance_attach_buffer(instance, "", other, &error), TW_INVALID_ARGUMENT);
    assert_int_equal(tw_instance_attach_buffer(instance, longest, other, &error), TW_INVALID_ARGUMENT);
    longest[255] = 0;
    OK(tw_instance_attach_buffer(instance, longest, other, &error));
    assert_int_equal(tw_instance_attach_buffer(instance, "twice", other, &error), TW_INVALID_ARGUMENT);
    assert_int_equal(tw_instance_attach_buffer(instance, "none", NULL, &error), TW_INVALID_ARGUMENT);
    assert_int_equal(tw_instance_detach_buffer(instance, "none", &big, &error), TW_NOT_FOUND);
    OK(tw_instance_detach_buffer(instance, "big", &big, &error));
    assert_null(tw_instance_buffer(instance, "big"));
    assert_non_null(tw_instance_buffer(instance, "small"));
    assert_int_equal(tw_instance_buffer_count(instance), 2);
    OK(tw_instance_attach_buffer(instance, "big", big, &error));
    OK(tw_instance_detach_buffer(instance, "big", &big, &error));
    tw_instance_free(instance);
    assert_memory_equal(tw_buffer_host(big), bytes, 4096);
    tw_buffer_free(big);
    free(longest);
    free(bytes);
}

static void a_pool_gives_none_of_the_last_ones(void **state)
{
    (void)state;
    const standin *driver = test_standin(backend == TW_BACKEND_OPENCL_SVM ? "TW_TEST_OPENCL" : "TW_TEST_CUDA");
    tw_instance_pool *pool = pool_of(module, NULL);
    tw_instance *first = take(pool);
    int before = driver ? driver->alive() : 0;
    OK(tw_instance_attach_buffer(first, "secret", test_buffer(devices, backend, 0, 4096), &error));
    tw_instance_pool_give(pool, first);
    assert_int_equal(tw_instance_pool_idle(pool), 1);
    tw_buffer *late = test_buffer(devices, backend, 0, 64);
    assert_int_equal(tw_instance_attach_buffer(first, "late", late, &error), TW_INVALID_ARGUMENT); /* it is the pool's */
    tw_buffer_free(late);
    if (driver) assert_int_equal(driver->alive(), before);
    tw_instance *second = take(pool);
    assert_ptr_equal(first, second);
    assert_int_equal(tw_instance_buffer_count(second), 0);
    assert_null(tw_instance_buffer(second, "secret"));
    file f = capture(second, writer);
    tw_snapshot *snapshot = read_back(f);
    assert_int_equal(snapshot->device_memory.size, 0);
    assert_memory_equal(snapshot->registers.data, "TWRG\1\0\0\0", 8);
    tw_snapshot_free(snapshot);
    free(f.bytes);
    tw_instance_free(second);
    tw_instance_pool_free(pool);
}

static void a_list_that_doesnt_fit_is_refused(void **state)
{
    (void)state;
    uint8_t *bytes = pattern(8);
    tw_instance *original = with_buffers(bytes), *copy;
    tw_spawn_options options = usual();
    file f = capture(original, writer);
    tw_snapshot *snapshot = read_back(f), other = *snapshot;
    other.device_memory.size--;
    assert_int_equal(tw_instance_restore(module, &other, &options, &copy, &error), TW_MALFORMED);
    other.device_memory.size = 0;
    assert_int_equal(tw_instance_restore(module, &other, &options, &copy, &error), TW_MALFORMED);
    tw_instance *without = spawn(module, NULL);
    file g = capture(without, writer);
    tw_snapshot *plain = read_back(g), more = *plain;
    more.device_memory = snapshot->device_memory;
    assert_int_equal(tw_instance_restore(module, &more, &options, &copy, &error), TW_MALFORMED);
    assert_non_null(strstr(error.message, "belongs to no buffer"));
    uint8_t *baked;
    size_t size;
    assert_int_equal(tw_module_bake(module, snapshot, NULL, &baked, &size, &error), TW_UNSUPPORTED);
    assert_non_null(strstr(error.message, "buffers"));
    tw_snapshot_free(snapshot);
    tw_snapshot_free(plain);
    tw_instance_free(without);
    tw_instance_free(original);
    free(f.bytes), free(g.bytes);
    free(bytes);
}

/* Files of instances that were written by the first version to have them: they stay, and must be read for ever. */
static void golden_instances_are_read(void **state)
{
    (void)state;
    static const char *const files[] = {"v1_plain.snap", "v2_buffers.snap"};
    tw_val results[4];
    for (int i = 0; i < 2; i++) {
        char path[512];
        static uint8_t bytes[1 << 16];
        snprintf(path, sizeof path, "%s/%s", TW_TEST_DATA "/live", files[i]);
        FILE *in = fopen(path, "r");
        assert_non_null(in);
        file f = {bytes, fread(bytes, 1, sizeof bytes, in)};
        fclose(in);
        tw_instance *copy = restore(f, NULL);
        OK(call(copy, module, "f", 2, results));
        assert_int_equal(results[0].of.i32, 42);
        assert_int_equal(tw_instance_buffer_count(copy), (size_t)i * 2);
        if (i) assert_memory_equal(tw_buffer_host(tw_instance_buffer(copy, "a")), "golden", 6);
        if (i) assert_memory_equal(tw_buffer_host(tw_instance_buffer(copy, "b")), "\1\2\3\4\1\2\3\4", 8);
        tw_instance_free(copy);
    }
}

static bool parse(int count, char **args)
{
    for (unsigned b = 0; count > 1 && b < TW_BACKENDS; b++)
        if (!strcmp(args[1], tw_backend_name((tw_backend)b))) {
            backend = (tw_backend)b;
            return true;
        }
    fprintf(stderr, "usage: instances BACKEND\n");
    return false;
}

static void spoil(tw_instance *instance, int how)
{
    tw_buffer *taken, *more = test_buffer(devices, backend, 0, 100);
    tw_val results[4];
    call(instance, module, "f", 1000, results);
    if (how & 1) OK(tw_buffer_fill(tw_instance_buffer(instance, "big"), 0, SIZE - SIZE % 4, 0x55555555, 4, &error));
    if (how & 2) {
        OK(tw_instance_detach_buffer(instance, how & 4 ? "big" : "small", &taken, &error));
        tw_buffer_free(taken);
    }
    if (how & 4) OK(tw_instance_attach_buffer(instance, "more", more, &error));
    else tw_buffer_free(more);
}

static void a_pools_instances_have_them_anew(void **state)
{
    (void)state;
    uint8_t *bytes = pattern(9);
    tw_instance *original = with_buffers(bytes), *instance;
    tw_val results[4];
    call(original, module, "f", 5, results);
    file f = capture(original, writer);
    tw_instance_free(original);
    tw_snapshot *snapshot = read_back(f);
    tw_buffer_restoring how = here();
    how.place = TW_BUFFERS_AS_CAPTURED;
    tw_spawn_options options = usual();
    options.buffers = &how;
    tw_instance_pool_options begin_with = TW_INSTANCE_POOL_OPTIONS_INIT;
    begin_with.snapshot = snapshot;
    tw_instance_pool *pool;
    OK(tw_instance_pool_new(module, &options, &begin_with, &pool, &error));
    how.place = TW_BUFFERS_ON_BACKEND, how.devices = NULL; /* the pool has a copy */
    OK(tw_instance_pool_warm(pool, 1, &error));
    for (int i = 0; i < 8; i++) {
        instance = take(pool);
        assert_int_equal(tw_instance_buffer_count(instance), 2);
        same_bytes(instance, bytes);
        file again = capture(instance, writer); /* the same as what it began with, all of it */
        assert_int_equal(f.size, again.size);
        assert_memory_equal(f.bytes, again.bytes, f.size);
        free(again.bytes);
        spoil(instance, i);
        tw_instance_pool_give(pool, instance);
        assert_int_equal(tw_instance_pool_idle(pool), 1);
    }
    tw_tenant_usage usage = TW_TENANT_USAGE_INIT;
    OK(tw_tenant_get_usage(0, &usage, &error));
    assert_int_equal(usage.buffers, SIZE + SMALL); /* the idle one's */
    tw_instance_pool_free(pool);
    how = here();
    how.max_bytes = SIZE;
    OK(tw_instance_pool_new(module, &options, &begin_with, &pool, &error));
    assert_int_equal(tw_instance_pool_take(pool, &instance, &error), TW_LIMIT);
    tw_instance_pool_free(pool);
    tw_snapshot_free(snapshot);
    free(f.bytes);
    free(bytes);
}

int main(int count, char **args)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(they_are_captured_one_behind_the_other),
        cmocka_unit_test(they_come_back_on_their_backend),
        cmocka_unit_test(without_the_backend_they_come_back_on_the_host),
        cmocka_unit_test(the_host_may_say_where),
        cmocka_unit_test(limits_of_the_host_win),
        cmocka_unit_test(a_failing_driver_leaves_nothing),
        cmocka_unit_test(names_are_checked_and_what_is_detached_is_the_callers),
        cmocka_unit_test(a_pool_gives_none_of_the_last_ones),
        cmocka_unit_test(a_list_that_doesnt_fit_is_refused),
        cmocka_unit_test(golden_instances_are_read),
        cmocka_unit_test(a_pools_instances_have_them_anew),
    };
    if (!parse(count, args)) return 2;
    if (getenv("TW_TEST_MAY_SKIP")) test_need(backend);
    return cmocka_run_group_tests(tests, begin, end);
}
