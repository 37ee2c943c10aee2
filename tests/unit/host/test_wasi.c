/* SPDX-License-Identifier: Apache-2.0 */
/* Sleeping guests: poll_oneoff and reads of the host's standard input answer as WASI preview 1 says, and end at a time
 * limit or a termination. The guest only passes calls on; the test writes its memory. */
#include <fcntl.h>
#include <pthread.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include <cmocka.h>

#include "../../handlers.h"
#include "tensorwasm/tensorwasm.h"

#define P "\"wasi_snapshot_preview1\""
static const char *const guest =
    "(module (import " P " \"fd_read\" (func $read (param i32 i32 i32 i32) (result i32)))"
    "(import " P " \"poll_oneoff\" (func $poll (param i32 i32 i32 i32) (result i32)))"
    "(import " P " \"fd_close\" (func $close (param i32) (result i32)))"
    "(import " P " \"fd_renumber\" (func $renumber (param i32 i32) (result i32)))"
    "(import " P " \"clock_time_get\" (func $time (param i32 i64 i32) (result i32)))"
    "(memory (export \"memory\") 1)"
    "(func (export \"read\") (param i32 i32 i32 i32) (result i32) (call $read (local.get 0) (local.get 1) (local.get 2) (local.get 3)))"
    "(func (export \"poll\") (param i32 i32 i32 i32) (result i32) (call $poll (local.get 0) (local.get 1) (local.get 2) (local.get 3)))"
    "(func (export \"close\") (param i32) (result i32) (call $close (local.get 0)))"
    "(func (export \"renumber\") (param i32 i32) (result i32) (call $renumber (local.get 0) (local.get 1)))"
    "(func (export \"time\") (param i32 i32) (result i32) (call $time (local.get 0) (i64.const 1) (local.get 1))))";

enum { SUBS = 1024, EVENTS = 4096, COUNT = 8192, IOVS = 512, BUFFER = 16384 };
enum { BADF = 8, FAULT = 21, INVAL = 28 };

static tw_engine *engine;
static tw_module *module;
static tw_instance *instance;
static uint8_t *memory;
static tw_error error;
static int feed = -1; /* the writing end of standard input */

static void new_stdin(void)
{
    int ends[2];
    assert_int_equal(pipe(ends), 0);
    dup2(ends[0], 0);
    close(ends[0]);
    if (feed >= 0) close(feed);
    feed = ends[1];
    fcntl(feed, F_SETFD, FD_CLOEXEC);
}

static void new_instance(uint64_t timeout_ms)
{
    tw_wasi_options wasi = TW_WASI_OPTIONS_INIT;
    wasi.inherit_stdin = wasi.inherit_stdout = wasi.inherit_stderr = true;
    tw_spawn_options options = TW_SPAWN_OPTIONS_INIT;
    options.wasi = &wasi;
    options.timeout_ns = timeout_ms * 1000000;
    tw_instance_free(instance);
    size_t size;
    assert_int_equal(tw_instance_spawn(module, &options, &instance, &error), TW_OK);
    assert_int_equal(tw_instance_memory(instance, "memory", &memory, &size, &error), TW_OK);
}

static tw_status call(const char *name, const int32_t *args, size_t count, int32_t *result)
{
    tw_val in[4], out = {0};
    for (size_t i = 0; i < count; i++) in[i] = (tw_val){TW_VAL_I32, {.i32 = args[i]}};
    tw_status status = tw_instance_call(instance, name, in, count, &out, 1, &error);
    *result = out.of.i32;
    return status;
}

static int32_t expect(const char *name, int32_t a, int32_t b, int32_t c, int32_t d, size_t count)
{
    int32_t result, args[4] = {a, b, c, d};
    assert_int_equal(call(name, args, count, &result), TW_OK);
    return result;
}

static void put32(uint32_t at, uint32_t v) { memcpy(memory + at, &v, 4); }
static void put64(uint32_t at, uint64_t v) { memcpy(memory + at, &v, 8); }
static uint32_t get32(uint32_t at) { uint32_t v; memcpy(&v, memory + at, 4); return v; }
static uint64_t get64(uint32_t at) { uint64_t v; memcpy(&v, memory + at, 8); return v; }

static void clock_sub(uint32_t i, uint64_t user, uint32_t id, uint64_t ns, bool absolute)
{
    memset(memory + SUBS + i * 48, 0, 48);
    put64(SUBS + i * 48, user);
    put32(SUBS + i * 48 + 16, id);
    put64(SUBS + i * 48 + 24, ns);
    put32(SUBS + i * 48 + 40, absolute);
}

static void fd_sub(uint32_t i, uint64_t user, uint8_t type, uint32_t fd)
{
    memset(memory + SUBS + i * 48, 0, 48);
    put64(SUBS + i * 48, user);
    memory[SUBS + i * 48 + 8] = type;
    put32(SUBS + i * 48 + 16, fd);
}

static int32_t poll_of(uint32_t count) { return expect("poll", SUBS, EVENTS, (int32_t)count, COUNT, 4); }

static void check_event(uint32_t i, uint64_t user, uint8_t type)
{
    assert_int_equal(get64(EVENTS + i * 32), user);
    assert_int_equal(get32(EVENTS + i * 32 + 8) & 0xFFFF, 0);
    assert_int_equal(memory[EVENTS + i * 32 + 10], type);
}

static double now_ms(void)
{
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return (double)t.tv_sec * 1e3 + (double)t.tv_nsec * 1e-6;
}

/* What ends at a time ends then, and not long after it: a machine that is busy makes single tries late, but never all of them. */
static void check_in_time(double (*late_ms)(int), int argument, double most_ms)
{
    double late = 0;
    for (int i = 0; i < 20; i++) {
        late = late_ms(argument);
        assert_true(late >= 0);
        if (late < most_ms) return;
    }
    fail_msg("%.0f ms late at the last of 20 tries", late);
}

static double wait_from_now(int unused)
{
    (void)unused;
    clock_sub(0, 7, 1, 30000000, false);
    clock_sub(1, 8, 0, UINT64_MAX, false);
    double start = now_ms();
    assert_int_equal(poll_of(2), 0);
    double late = now_ms() - start - 30;
    assert_int_equal(get32(COUNT), 1);
    check_event(0, 7, 0);
    return late;
}

static double wait_until(int unused)
{
    (void)unused;
    double start = now_ms();
    assert_int_equal(expect("time", 1, COUNT, 0, 0, 2), 0); /* absolute, by the guest's own clock */
    clock_sub(0, 9, 1, get64(COUNT) + 30000000, true);
    assert_int_equal(poll_of(1), 0);
    double late = now_ms() - start - 30;
    check_event(0, 9, 0);
    return late;
}

static void clocks_ring_when_they_should(void **state)
{
    (void)state;
    new_instance(0);
    check_in_time(wait_from_now, 0, 370);
    check_in_time(wait_until, 0, 370);
    assert_int_equal(expect("time", 0, COUNT, 0, 0, 2), 0);
    clock_sub(0, 9, 0, get64(COUNT) - 1000, true); /* over already */
    clock_sub(1, 10, 1, 0, false);
    assert_int_equal(poll_of(2), 0);
    assert_int_equal(get32(COUNT), 2);
    check_event(1, 10, 0);
}

static void bad_subscriptions_are_refused(void **state)
{
    (void)state;
    new_instance(0);
    assert_int_equal(poll_of(0), INVAL);
    clock_sub(0, 1, 5, 1, false);
    assert_int_equal(poll_of(1), INVAL);
    fd_sub(0, 1, 1, 77);
    assert_int_equal(poll_of(1), BADF);
    fd_sub(0, 1, 3, 0);
    assert_int_equal(poll_of(1), INVAL);
    assert_int_equal(expect("poll", 65536 - 47, EVENTS, 1, COUNT, 4), FAULT);
    assert_int_equal(expect("poll", SUBS, 65536 - 31, 1, COUNT, 4), FAULT);
    assert_int_equal(expect("poll", SUBS, EVENTS, INT32_MAX, COUNT, 4), FAULT);
    assert_int_equal(expect("poll", SUBS, EVENTS, 1, -1, 4), FAULT);
}

static void standard_input_is_read_and_waited_for(void **state)
{
    (void)state;
    new_stdin();
    new_instance(0);
    fd_sub(0, 5, 1, 0);
    clock_sub(1, 6, 1, 20000000, false);
    assert_int_equal(poll_of(2), 0);
    assert_int_equal(get32(COUNT), 1);
    check_event(0, 6, 0);
    assert_int_equal(write(feed, "abcdefgh", 8), 8);
    clock_sub(1, 6, 1, UINT64_C(3600000000000), false);
    assert_int_equal(poll_of(2), 0);
    check_event(0, 5, 1);
    put32(IOVS, BUFFER), put32(IOVS + 4, 3), put32(IOVS + 8, 0), put32(IOVS + 12, 0), put32(IOVS + 16, BUFFER + 100), put32(IOVS + 20, 2);
    assert_int_equal(expect("read", 0, IOVS, 3, COUNT, 4), 0);
    assert_int_equal(get32(COUNT), 5);
    assert_memory_equal(memory + BUFFER, "abc", 3);
    assert_memory_equal(memory + BUFFER + 100, "de", 2);
    fd_sub(1, 6, 2, 1); /* and standard output, which is always ready */
    assert_int_equal(poll_of(2), 0);
    assert_int_equal(get32(COUNT), 2);
    check_event(0, 5, 1);
    check_event(1, 6, 2);
    put32(IOVS + 4, 100);
    assert_int_equal(expect("read", 0, IOVS, 1, COUNT, 4), 0);
    assert_int_equal(get32(COUNT), 3);
    close(feed);
    feed = -1;
    assert_int_equal(expect("read", 0, IOVS, 1, COUNT, 4), 0);
    assert_int_equal(get32(COUNT), 0);
    put32(IOVS, 65536 - 50);
    assert_int_equal(expect("read", 0, IOVS, 1, COUNT, 4), FAULT);
    assert_int_equal(expect("read", 0, 65536 - 7, 1, COUNT, 4), FAULT);
}

static void a_buffer_over_its_own_list_does_no_harm(void **state)
{
    (void)state;
    new_stdin();
    new_instance(0);
    put32(IOVS, IOVS), put32(IOVS + 4, 16), put32(IOVS + 8, BUFFER), put32(IOVS + 12, 16);
    uint8_t bytes[32];
    memset(bytes, 0xFF, sizeof bytes);
    assert_int_equal(write(feed, bytes, sizeof bytes), sizeof bytes);
    assert_int_equal(expect("read", 0, IOVS, 2, COUNT, 4), 0);
}

static void descriptors_are_followed(void **state)
{
    (void)state;
    new_stdin();
    new_instance(60000);
    assert_int_equal(expect("renumber", 0, 2, 0, 0, 2), 0); /* standard input is 2 now, and 0 is nothing */
    put32(IOVS, BUFFER), put32(IOVS + 4, 10);
    assert_int_equal(expect("read", 0, IOVS, 1, COUNT, 4), BADF);
    assert_int_equal(write(feed, "xyz", 3), 3);
    assert_int_equal(expect("read", 2, IOVS, 1, COUNT, 4), 0);
    assert_memory_equal(memory + BUFFER, "xyz", 3);
    assert_int_equal(expect("close", 2, 0, 0, 0, 1), 0);
    assert_int_equal(expect("read", 2, IOVS, 1, COUNT, 4), BADF);
    assert_int_equal(expect("close", 2, 0, 0, 0, 1), BADF);
}

static double asked;
static void *terminate(void *unused)
{
    (void)unused;
    usleep(50000);
    asked = now_ms();
    tw_instance_terminate(instance, NULL);
    return NULL;
}

static const char *sleeper;
static double sleep_and_end(int terminated)
{
    static const int32_t poll[4] = {SUBS, EVENTS, 1, COUNT}, read[4] = {0, IOVS, 1, COUNT};
    int32_t result;
    new_instance(terminated ? 0 : 100);
    clock_sub(0, 1, 1, UINT64_C(3600000000000), false);
    put32(IOVS, BUFFER), put32(IOVS + 4, 10);
    pthread_t thread;
    double limit = now_ms() + 100;
    if (terminated) pthread_create(&thread, NULL, terminate, NULL);
    tw_status status = call(sleeper, sleeper[0] == 'p' ? poll : read, 4, &result);
    double ended = now_ms();
    if (terminated) pthread_join(thread, NULL);
    assert_int_equal(status, terminated ? TW_TERMINATED : TW_TIMEOUT);
    return ended - (terminated ? asked : limit);
}

static void sleeps(const char *name)
{
    sleeper = name;
    new_stdin();
    for (int terminated = 0; terminated < 2; terminated++) check_in_time(sleep_and_end, terminated, 100);
    new_instance(60000);
    assert_int_equal(write(feed, "still here", 10), 10);
    put32(IOVS, BUFFER), put32(IOVS + 4, 10);
    assert_int_equal(expect("read", 0, IOVS, 1, COUNT, 4), 0);
    assert_memory_equal(memory + BUFFER, "still here", 10);
}

static void a_guest_asleep_in_poll_is_ended(void **state)
{
    (void)state;
    sleeps("poll");
}

static void a_guest_reading_an_idle_input_is_ended(void **state)
{
    (void)state;
    sleeps("read");
}

static int set_up(void **state)
{
    (void)state;
    if (tw_engine_new(NULL, &engine, &error) != TW_OK) return 1;
    keep_handlers();
    return tw_module_new(engine, (const uint8_t *)guest, strlen(guest), &module, &error) != TW_OK;
}

static int tear_down(void **state)
{
    (void)state;
    tw_instance_free(instance);
    tw_module_free(module);
    tw_engine_free(engine);
    return 0;
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(clocks_ring_when_they_should),
        cmocka_unit_test(bad_subscriptions_are_refused),
        cmocka_unit_test(standard_input_is_read_and_waited_for),
        cmocka_unit_test(a_buffer_over_its_own_list_does_no_harm),
        cmocka_unit_test(descriptors_are_followed),
        cmocka_unit_test(a_guest_asleep_in_poll_is_ended),
        cmocka_unit_test(a_guest_reading_an_idle_input_is_ended),
    };
    return cmocka_run_group_tests(tests, set_up, tear_down);
}
