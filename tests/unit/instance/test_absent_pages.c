/* SPDX-License-Identifier: Apache-2.0 */
/* System calls don't fault on pages that were taken away to stop a guest: they fail with EFAULT. No host function ever gets to see
 * that, whenever the deadline comes: an embedder's finds the memory whole until it returns, WASI's touch what they pass on. */
#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#include <cmocka.h>

#include "../../support/embedder.h"

#define MILLISECOND UINT64_C(1000000)

typedef struct host {
    int pipe[2];
    unsigned sleep_us;
    int calls, failures, number; /* number: errno of the last failure */
    tw_instance *ends;           /* ended by the function itself, or NULL */
} host;

static void count(host *h, ssize_t done, size_t wanted)
{
    if (done == (ssize_t)wanted) return;
    h->failures++;
    h->number = errno;
}

/* Lets the kernel read and write the guest's memory, first thing after a pause in which the deadline may come. */
static tw_status pass_to_kernel(void *context, tw_host_call *in, const tw_val *args, tw_val *results, tw_error *why)
{
    (void)args, (void)results, (void)why;
    host *h = context;
    size_t size;
    uint8_t *memory = tw_host_memory(in, &size);
    h->calls++;
    if (h->ends) tw_instance_terminate(h->ends, NULL);
    if (h->sleep_us) usleep(h->sleep_us);
    for (size_t at = 0; at < size; at += 4096) {
        count(h, write(h->pipe[1], memory + at, 4096), 4096);
        count(h, read(h->pipe[0], memory + at, 4096), 4096);
    }
    return TW_OK;
}

static const char *const text =
    "(module (import \"h\" \"f\" (func $f)) (memory (export \"memory\") 2)"
    "(func (export \"once\") (result i32) (call $f) (i32.load (i32.const 100)))"
    "(func (export \"loop\") (loop $l (call $f) (br $l))))";

static tw_instance *begin(tw_module *module, host *h, uint64_t timeout_ns)
{
    tw_import_func import = {"h", "f", NULL, 0, NULL, 0, pass_to_kernel, h};
    tw_spawn_options options = usual();
    options.imports = &import, options.import_count = 1;
    options.timeout_ns = timeout_ns;
    assert_int_equal(pipe2(h->pipe, O_NONBLOCK), 0); /* what wasn't written is not waited for */
    return spawn(module, &options);
}

static void end(tw_instance *instance, host *h)
{
    tw_instance_free(instance);
    close(h->pipe[0]), close(h->pipe[1]);
    if (h->failures) fail_msg("%d of %d calls' system calls failed: %s", h->failures, h->calls, strerror(h->number));
}

static void a_host_function_past_the_deadline_has_all_pages(void **state)
{
    (void)state;
    use_handlers();
    tw_module *module = module_of(text);
    host h = {.sleep_us = 40000};
    tw_instance *instance = begin(module, &h, 10 * MILLISECOND);
    for (int late = 0; late < 4 || !h.calls;) { /* on a machine that is busy the deadline may be over before the call, or rung after it */
        tw_val results[4];
        tw_status status = call(instance, module, "once", 0, results);
        assert_true(status == TW_TIMEOUT || status == TW_OK);
        late += status == TW_TIMEOUT;
    }
    end(instance, &h);
    tw_module_free(module);
}

static void a_loop_of_host_functions_ends_and_none_of_them_fails(void **state)
{
    (void)state;
    use_handlers();
    tw_module *module = module_of(text);
    int calls = 0; /* the first deadlines may be over before there is one, on a machine that is busy */
    for (uint64_t ms = 1; ms < 12 || !calls; ms++) {
        host h = {.sleep_us = ms & 1 ? 0 : 200};
        tw_val results[4];
        tw_instance *instance = begin(module, &h, ms * MILLISECOND);
        assert_int_equal(call(instance, module, "loop", 0, results), TW_TIMEOUT);
        calls += h.calls;
        end(instance, &h);
    }
    tw_module_free(module);
}

static void a_host_function_that_ends_its_own_instance_has_all_pages(void **state)
{
    (void)state;
    use_handlers();
    tw_module *module = module_of(text);
    host h = {.sleep_us = 5000};
    tw_val results[4];
    tw_instance *instance = h.ends = begin(module, &h, 0);
    assert_int_equal(call(instance, module, "loop", 0, results), TW_TERMINATED);
    assert_int_equal(h.calls, 1);
    end(instance, &h);
    tw_module_free(module);
}

#define WASI "\"wasi_snapshot_preview1\""

/* The guest traps when a call of WASI gives any number but 0: only the deadline may end it. */
static const char *const wasi_text =
    "(module (import " WASI " \"fd_write\" (func $write (param i32 i32 i32 i32) (result i32)))"
    "(import " WASI " \"fd_read\" (func $read (param i32 i32 i32 i32) (result i32)))"
    "(import " WASI " \"random_get\" (func $random (param i32 i32) (result i32)))"
    "(import " WASI " \"clock_time_get\" (func $time (param i32 i64 i32) (result i32)))"
    "(import " WASI " \"poll_oneoff\" (func $poll (param i32 i32 i32 i32) (result i32)))"
    "(import " WASI " \"path_filestat_get\" (func $stat (param i32 i32 i32 i32 i32) (result i32)))"
    "(import " WASI " \"args_get\" (func $args (param i32 i32) (result i32)))"
    "(memory (export \"memory\") 4)"
    "(data (i32.const 16) \"\\00\\00\\01\\00\\00\\20\\00\\00\") (data (i32.const 512) \".\")" /* 8192 bytes at 65536 */
    "(func $no (param i32) (if (local.get 0) (then unreachable)))"
    "(func (export \"loop\") (loop $l"
    " (call $no (call $write (i32.const 1) (i32.const 16) (i32.const 1) (i32.const 131072)))"
    " (call $no (call $read (i32.const 0) (i32.const 16) (i32.const 1) (i32.const 135168)))"
    " (call $no (call $random (i32.const 70000) (i32.const 9000)))"
    " (call $no (call $time (i32.const 0) (i64.const 1) (i32.const 140000)))"
    " (call $no (call $poll (i32.const 1024) (i32.const 150000) (i32.const 1) (i32.const 160000)))"
    " (call $no (call $stat (i32.const 3) (i32.const 0) (i32.const 512) (i32.const 1) (i32.const 200000)))"
    " (call $no (call $args (i32.const 210000) (i32.const 220000)))"
    " (br $l))))";

static void no_call_of_wasi_fails_when_the_deadline_comes(void **state)
{
    (void)state;
    use_handlers();
    static const char *const args[] = {"guest", "argument"};
    tw_wasi_dir dir = {"/", "d"};
    tw_wasi_options wasi = TW_WASI_OPTIONS_INIT;
    tw_spawn_options options = usual();
    static uint8_t input[1 << 20];
    wasi.args = args, wasi.arg_count = 2;
    wasi.dirs = &dir, wasi.dir_count = 1;
    wasi.stdin_bytes = input, wasi.stdin_size = sizeof input;
    wasi.stdout_path = "/dev/null";
    options.wasi = &wasi;
    tw_module *module = module_of(wasi_text);
    for (uint64_t run = 0; run < 60; run++) {
        tw_val results[4];
        options.timeout_ns = MILLISECOND / 2 + run * 50000;
        options.capturable = run & 1;
        tw_instance *instance = spawn(module, &options);
        tw_status status = call(instance, module, "loop", 0, results);
        if (status != TW_TIMEOUT) fail_msg("run %d: %s", (int)run, error.message);
        tw_instance_free(instance);
    }
    tw_module_free(module);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_host_function_past_the_deadline_has_all_pages),
        cmocka_unit_test(a_loop_of_host_functions_ends_and_none_of_them_fails),
        cmocka_unit_test(a_host_function_that_ends_its_own_instance_has_all_pages),
        cmocka_unit_test(no_call_of_wasi_fails_when_the_deadline_comes),
    };
    return cmocka_run_group_tests(tests, plain_set_up, plain_tear_down);
}
