/* SPDX-License-Identifier: Apache-2.0 */
/* buffers BACKEND [DEVICE]: what holds for a buffer on every backend. What is expected comes from arrays of the test's own. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>
#include <pthread.h>
#include <signal.h>

#include "devices.h"

enum { SIZE = 3 * 65536 + 48, EDGE = 4095 };

static tw_backend backend;
static uint32_t device;
static tw_devices *devices;

static int open_devices(void **state)
{
    (void)state;
    devices = test_devices();
    return 0;
}

/* A stand-in has seen no mistake, and nothing is left. */
static int close_devices(void **state)
{
    (void)state;
    static const char *const variables[] = {"TW_TEST_CUDA", "TW_TEST_OPENCL"};
    int bad = 0;
    tw_devices_close(devices);
    for (int i = 0; i < 2; i++) {
        const standin *driver = test_standin(variables[i]);
        if (!driver || (!driver->wrong() && !driver->alive())) continue;
        bad = printf("%s\n%s: %d wrong, %d alive\n", driver->log(), variables[i], driver->wrong(), driver->alive());
    }
    return bad;
}

static tw_buffer *new_buffer(void)
{
    return test_buffer(devices, backend, device, SIZE);
}

static uint8_t *pattern(uint8_t seed)
{
    uint8_t *bytes = malloc(SIZE);
    assert_non_null(bytes);
    for (size_t i = 0; i < SIZE; i++) bytes[i] = (uint8_t)(i * 31 + i / 251 + seed);
    return bytes;
}

/* Both ways of looking: through the host's address, and through the device. */
static void assert_contents(const tw_buffer *buffer, const uint8_t *expected)
{
    uint8_t *read = malloc(SIZE);
    assert_non_null(read);
    assert_memory_equal(tw_buffer_host(buffer), expected, SIZE);
    assert_int_equal(tw_buffer_read(buffer, 0, read, SIZE, NULL), TW_OK);
    assert_memory_equal(read, expected, SIZE);
    free(read);
}

static tw_buffer *patterned(const uint8_t *bytes)
{
    tw_buffer *buffer = new_buffer();
    assert_int_equal(tw_buffer_write(buffer, 0, bytes, SIZE, NULL), TW_OK);
    return buffer;
}

/* ---- contents ---- */

static void a_new_buffer_is_zero_and_says_what_it_is(void **state)
{
    (void)state;
    uint8_t *zeros = calloc(1, SIZE);
    tw_buffer *buffer = new_buffer();
    assert_contents(buffer, zeros);
    assert_int_equal(tw_buffer_size(buffer), SIZE);
    assert_int_equal(tw_buffer_backend(buffer), backend);
    assert_non_null(tw_buffer_host(buffer));
    assert_true(tw_buffer_device(buffer) != 0);
    tw_buffer_free(buffer);
    tw_buffer_free(NULL);
    free(zeros);
}

static void what_goes_in_comes_out(void **state)
{
    (void)state;
    uint8_t *bytes = pattern(1);
    tw_buffer *buffer = patterned(bytes);
    assert_contents(buffer, bytes);
    memset(bytes + EDGE, 0x5A, 3);
    assert_int_equal(tw_buffer_write(buffer, EDGE, "ZZZ", 3, NULL), TW_OK); /* 0x5A thrice */
    assert_contents(buffer, bytes);
    tw_buffer_free(buffer);
    free(bytes);
}

static void a_part_is_read_alone(void **state)
{
    (void)state;
    uint8_t *bytes = pattern(2), part[7] = {1, 2, 3, 4, 5, 6, 7};
    tw_buffer *buffer = patterned(bytes);
    assert_int_equal(tw_buffer_read(buffer, EDGE, part + 1, 5, NULL), TW_OK);
    assert_memory_equal(part + 1, bytes + EDGE, 5);
    assert_int_equal(part[0], 1);
    assert_int_equal(part[6], 7);
    tw_buffer_free(buffer);
    free(bytes);
}

static void the_device_sees_what_the_host_wrote(void **state)
{
    (void)state;
    uint8_t *bytes = pattern(3);
    tw_buffer *buffer = new_buffer(), *other = new_buffer();
    memcpy(tw_buffer_host(buffer), bytes, SIZE);
    assert_int_equal(tw_buffer_copy(other, 0, buffer, 0, SIZE, NULL), TW_OK);
    assert_contents(other, bytes);
    tw_buffer_free(buffer);
    tw_buffer_free(other);
    free(bytes);
}

static void a_fill_repeats_its_pattern_and_touches_nothing_else(void **state)
{
    (void)state;
    uint8_t *bytes = pattern(4);
    tw_buffer *buffer = patterned(bytes);
    for (unsigned width = 1; width <= 4; width *= 2) {
        const uint32_t value = 0xC1B2A394;
        uint64_t offset = EDGE * (uint64_t)width, size = 1003 * (uint64_t)width;
        assert_int_equal(tw_buffer_fill(buffer, offset, size, value, width, NULL), TW_OK);
        for (uint64_t i = 0; i < size; i++) bytes[offset + i] = (uint8_t)(value >> 8 * (i % width));
        assert_contents(buffer, bytes);
    }
    tw_buffer_free(buffer);
    free(bytes);
}

static void zero_leaves_nothing(void **state)
{
    (void)state;
    uint8_t *bytes = pattern(5);
    tw_buffer *buffer = patterned(bytes);
    assert_int_equal(tw_buffer_zero(buffer, NULL), TW_OK);
    memset(bytes, 0, SIZE);
    assert_contents(buffer, bytes);
    tw_buffer_free(buffer);
    free(bytes);
}

static void a_copy_moves_a_part_within_a_buffer(void **state)
{
    (void)state;
    uint8_t *bytes = pattern(6);
    tw_buffer *buffer = patterned(bytes);
    assert_int_equal(tw_buffer_copy(buffer, 100, buffer, 70000, 5000, NULL), TW_OK);
    memcpy(bytes + 100, bytes + 70000, 5000);
    assert_int_equal(tw_buffer_copy(buffer, 5100, buffer, 100, 5000, NULL), TW_OK); /* side by side */
    memcpy(bytes + 5100, bytes + 100, 5000);
    assert_contents(buffer, bytes);
    tw_buffer_free(buffer);
    free(bytes);
}

static void a_copy_goes_to_any_backend_and_back(void **state)
{
    (void)state;
    uint8_t *bytes = pattern(7);
    tw_buffer *buffer = patterned(bytes);
    for (unsigned b = 0; b < TW_BACKENDS; b++) {
        if (tw_devices_missing(devices, (tw_backend)b)) continue;
        tw_buffer *other = test_buffer(devices, (tw_backend)b, 0, SIZE), *back = new_buffer();
        assert_int_equal(tw_buffer_copy(other, 0, buffer, 0, SIZE, NULL), TW_OK);
        assert_contents(other, bytes);
        assert_int_equal(tw_buffer_copy(back, 0, other, 0, SIZE, NULL), TW_OK);
        assert_contents(back, bytes);
        tw_buffer_free(other);
        tw_buffer_free(back);
    }
    tw_buffer_free(buffer);
    free(bytes);
}

static void hints_change_no_byte(void **state)
{
    (void)state;
    uint8_t *bytes = pattern(8);
    tw_buffer *buffer = patterned(bytes);
    for (unsigned advice = 0; advice < TW_ADVICES; advice++) {
        tw_error error = {0};
        if (tw_buffer_advise(buffer, 0, SIZE, (tw_advice)advice, &error)) fail_msg("%u: %s", advice, error.message);
        tw_place place = advice % 2 ? TW_PLACE_HOST : TW_PLACE_DEVICE;
        if (tw_buffer_prefetch(buffer, EDGE, SIZE - EDGE, place, &error)) fail_msg("%s", error.message);
        assert_contents(buffer, bytes);
    }
    tw_buffer_free(buffer);
    free(bytes);
}

/* ---- refusals ---- */

#define assert_refused(call)                                                                                           \
    do {                                                                                                               \
        tw_error error = {0};                                                                                          \
        assert_int_equal(call, TW_INVALID_ARGUMENT);                                                                   \
        assert_int_equal(error.status, TW_INVALID_ARGUMENT);                                                           \
        assert_true(strlen(error.message) > 10);                                                                       \
    } while (0)

static void a_range_outside_is_refused_by_every_call(void **state)
{
    (void)state;
    static const struct {
        uint64_t offset, size;
    } outside[] = {{0, SIZE + 1},   {SIZE, 1},       {SIZE - 1, 2},      {SIZE + 1, 0},
                   {UINT64_MAX, 1}, {1, UINT64_MAX}, {8, UINT64_MAX - 7}};
    uint8_t *bytes = pattern(9), *data = malloc(SIZE + 8);
    tw_buffer *buffer = patterned(bytes), *other = new_buffer();
    for (size_t i = 0; i < sizeof outside / sizeof *outside; i++) {
        uint64_t offset = outside[i].offset, size = outside[i].size;
        assert_refused(tw_buffer_fill(buffer, offset, size, 0, 1, &error));
        assert_refused(tw_buffer_write(buffer, offset, data, size, &error));
        assert_refused(tw_buffer_read(buffer, offset, data, size, &error));
        assert_refused(tw_buffer_copy(buffer, offset, other, 0, size ? size : SIZE + 1, &error));
        assert_refused(tw_buffer_copy(buffer, 0, other, offset, size, &error));
        assert_refused(tw_buffer_prefetch(buffer, offset, size, TW_PLACE_DEVICE, &error));
        assert_refused(tw_buffer_advise(buffer, offset, size, TW_ADVICE_READ_MOSTLY, &error));
    }
    assert_contents(buffer, bytes);
    tw_buffer_free(buffer);
    tw_buffer_free(other);
    free(bytes);
    free(data);
}

static void nothing_may_be_done_to_nothing(void **state)
{
    (void)state;
    tw_buffer *buffer = new_buffer(), *other = new_buffer();
    const uint64_t places[] = {0, EDGE, SIZE};
    for (size_t i = 0; i < 3; i++) {
        uint64_t at = places[i];
        assert_int_equal(tw_buffer_fill(buffer, at, 0, 7, 1, NULL), TW_OK);
        assert_int_equal(tw_buffer_write(buffer, at, NULL, 0, NULL), TW_OK);
        assert_int_equal(tw_buffer_read(buffer, at, NULL, 0, NULL), TW_OK);
        assert_int_equal(tw_buffer_copy(buffer, at, other, SIZE, 0, NULL), TW_OK);
        assert_int_equal(tw_buffer_prefetch(buffer, at, 0, TW_PLACE_HOST, NULL), TW_OK);
        assert_int_equal(tw_buffer_advise(buffer, at, 0, TW_ADVICE_PREFER_HOST, NULL), TW_OK);
    }
    tw_buffer_free(buffer);
    tw_buffer_free(other);
}

static void what_cannot_be_meant_is_refused(void **state)
{
    (void)state;
    uint8_t byte = 0;
    tw_buffer *buffer = new_buffer();
    uint8_t *host = tw_buffer_host(buffer);
    assert_refused(tw_buffer_fill(buffer, 0, 12, 0, 3, &error));
    assert_refused(tw_buffer_fill(buffer, 0, 12, 0, 0, &error));
    assert_refused(tw_buffer_fill(buffer, 0, 16, 0, 8, &error));
    assert_refused(tw_buffer_fill(buffer, 1, 4, 0, 2, &error));
    assert_refused(tw_buffer_fill(buffer, 4, 6, 0, 4, &error));
    assert_refused(tw_buffer_write(buffer, 0, NULL, 1, &error));
    assert_refused(tw_buffer_read(buffer, 0, NULL, 1, &error));
    assert_refused(tw_buffer_write(buffer, 0, host + 8, 8, &error));
    assert_refused(tw_buffer_read(buffer, 0, host + SIZE - 1, 1, &error));
    assert_refused(tw_buffer_copy(buffer, 0, buffer, 7, 8, &error));
    assert_refused(tw_buffer_copy(buffer, 7, buffer, 0, 8, &error));
    assert_refused(tw_buffer_copy(buffer, 5, buffer, 5, 1, &error));
    assert_refused(tw_buffer_prefetch(buffer, 0, 1, (tw_place)2, &error));
    assert_refused(tw_buffer_advise(buffer, 0, 1, TW_ADVICES, &error));
    assert_refused(tw_buffer_advise(buffer, 0, 1, (tw_advice)-1, &error));
    assert_refused(tw_buffer_fill(NULL, 0, 0, 0, 1, &error));
    assert_refused(tw_buffer_zero(NULL, &error));
    assert_refused(tw_buffer_write(NULL, 0, &byte, 1, &error));
    assert_refused(tw_buffer_read(NULL, 0, &byte, 1, &error));
    assert_refused(tw_buffer_copy(NULL, 0, buffer, 0, 1, &error));
    assert_refused(tw_buffer_copy(buffer, 0, NULL, 0, 1, &error));
    assert_refused(tw_buffer_new(NULL, NULL, 1, &buffer, &error));
    assert_refused(tw_buffer_new(devices, NULL, 1, NULL, &error));
    assert_refused(tw_devices_open(NULL, NULL, &error));
    tw_buffer_free(buffer);
}

static tw_status refusal_of(tw_devices *of, tw_backend on, uint32_t which, uint64_t bytes)
{
    tw_buffer *const untouched = (tw_buffer *)&devices;
    tw_buffer *buffer = untouched;
    tw_error error = {0};
    tw_status status = test_try(of, on, which, bytes, &buffer, &error);
    assert_int_equal(error.status, status);
    assert_ptr_equal(buffer, untouched);
    assert_true(status == TW_OK || strlen(error.message) > 10);
    return status;
}

static void each_way_of_not_getting_a_buffer_has_its_own_status(void **state)
{
    (void)state;
    tw_devices *small = test_devices_limited(SIZE);
    assert_int_equal(refusal_of(devices, backend, device, 0), TW_INVALID_ARGUMENT);
    assert_int_equal(refusal_of(devices, TW_BACKENDS, 0, 1), TW_INVALID_ARGUMENT);
    assert_int_equal(refusal_of(devices, (tw_backend)-1, 0, 1), TW_INVALID_ARGUMENT);
    assert_int_equal(refusal_of(devices, backend, device, UINT64_MAX), TW_LIMIT);
    assert_int_equal(refusal_of(devices, backend, device, UINT64_C(1) << 50), TW_LIMIT);
    assert_int_equal(refusal_of(small, backend, device, SIZE + 1), TW_LIMIT);
    assert_int_equal(refusal_of(devices, backend, 1000, 1), TW_UNAVAILABLE);
    tw_buffer_free(test_buffer(small, backend, device, SIZE));
    tw_devices_close(small);
}

/* ---- life ---- */

static void a_buffer_outlives_its_set(void **state)
{
    (void)state;
    tw_devices *set = test_devices();
    uint8_t *bytes = pattern(10);
    tw_buffer *buffer = test_buffer(set, backend, device, SIZE);
    tw_devices_close(set);
    assert_int_equal(tw_buffer_write(buffer, 0, bytes, SIZE, NULL), TW_OK);
    assert_contents(buffer, bytes);
    tw_buffer_free(buffer);
    free(bytes);
}

static void *fill_own(void *context)
{
    uint8_t value = (uint8_t)(uintptr_t)context;
    for (int round = 0; round < 20; round++) {
        tw_buffer *buffer = NULL;
        if (test_try(devices, backend, device, 5000, &buffer, NULL)) return "no buffer";
        tw_status status = tw_buffer_fill(buffer, 0, 5000, value, 1, NULL);
        const uint8_t *host = tw_buffer_host(buffer);
        for (int i = 0; i < 5000 && !status; i++)
            if (host[i] != value) status = TW_INTERNAL;
        tw_buffer_free(buffer);
        if (status) return "other bytes";
    }
    return NULL;
}

static void threads_do_not_disturb_each_other(void **state)
{
    (void)state;
    if (device == 1 && backend == TW_BACKEND_CUDA_MANAGED)
        skip(); /* the host may not look while another's work is queued */
    pthread_t threads[4];
    for (uintptr_t i = 0; i < 4; i++)
        assert_int_equal(pthread_create(&threads[i], NULL, fill_own, (void *)(i + 17)), 0);
    for (int i = 0; i < 4; i++) {
        void *problem;
        pthread_join(threads[i], &problem);
        assert_ptr_equal(problem, NULL);
    }
}

/* ---- signals: a driver sets them when it is opened, once ---- */

static void stay(int signal)
{
    (void)signal;
}

/* OpenCL drivers with LLVM in them take over SIGSEGV, SIGFPE and more, which a runtime of guests needs for itself. */
static bool signals_stay_ours(void)
{
    struct sigaction before[NSIG], after;
    sigset_t mask, mask_after;
    bool same = true;
    signal(SIGSEGV, stay);
    signal(SIGFPE, stay);
    for (int i = 1; i < NSIG; i++) sigaction(i, NULL, &before[i]);
    pthread_sigmask(SIG_SETMASK, NULL, &mask);
    test_need(backend);
    for (int i = 1; i < NSIG; i++)
        if (sigaction(i, NULL, &after) == 0 && after.sa_sigaction != before[i].sa_sigaction) {
            printf("signal %d has another handler\n", i);
            same = false;
        }
    pthread_sigmask(SIG_SETMASK, NULL, &mask_after);
    for (int i = 1; i < NSIG; i++) same = same && sigismember(&mask, i) == sigismember(&mask_after, i);
    signal(SIGSEGV, SIG_DFL);
    signal(SIGFPE, SIG_DFL);
    return same;
}

static bool signals_stayed;

static void opening_devices_leaves_signals_alone(void **state)
{
    (void)state;
    assert_true(signals_stayed);
}

static bool parse(int count, char **args)
{
    for (unsigned b = 0; count > 1 && b < TW_BACKENDS; b++)
        if (!strcmp(args[1], tw_backend_name((tw_backend)b))) {
            backend = (tw_backend)b;
            device = count > 2 ? (uint32_t)atoi(args[2]) : 0;
            return true;
        }
    fprintf(stderr, "usage: buffers BACKEND [DEVICE]\n");
    return false;
}

int main(int count, char **args)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(opening_devices_leaves_signals_alone),
        cmocka_unit_test(a_new_buffer_is_zero_and_says_what_it_is),
        cmocka_unit_test(what_goes_in_comes_out),
        cmocka_unit_test(a_part_is_read_alone),
        cmocka_unit_test(the_device_sees_what_the_host_wrote),
        cmocka_unit_test(a_fill_repeats_its_pattern_and_touches_nothing_else),
        cmocka_unit_test(zero_leaves_nothing),
        cmocka_unit_test(a_copy_moves_a_part_within_a_buffer),
        cmocka_unit_test(a_copy_goes_to_any_backend_and_back),
        cmocka_unit_test(hints_change_no_byte),
        cmocka_unit_test(a_range_outside_is_refused_by_every_call),
        cmocka_unit_test(nothing_may_be_done_to_nothing),
        cmocka_unit_test(what_cannot_be_meant_is_refused),
        cmocka_unit_test(each_way_of_not_getting_a_buffer_has_its_own_status),
        cmocka_unit_test(a_buffer_outlives_its_set),
        cmocka_unit_test(threads_do_not_disturb_each_other),
    };
    if (!parse(count, args)) return 2;
    signals_stayed = signals_stay_ours();
    return cmocka_run_group_tests(tests, open_devices, close_devices);
}
