/* SPDX-License-Identifier: Apache-2.0 */
/* Models go to the real worker and come back as kernels that run; whatever a worker does wrong is a failure with a reason,
 * and the next question is answered all the same. The wrong ones are stand-ins: see fake_worker.c. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include <cmocka.h>

#include <semaphore.h>

#include "compile/compile.h"
#include "os/clock.h"
#include "region/facts.h"

#define WORKER TW_TEST_BIN "/libexec/tensorwasm/tensor-wasm-compile"

typedef struct outcome {
    sem_t ready;
    tw_status status;
    tw_kernel_info info;
    uint8_t *code;
    char reason[1024];
} outcome;

static void take(void *context, tw_status status, const tw_kernel_info *info, const uint8_t *code, const tw_error *error)
{
    outcome *o = context;
    o->status = status;
    if (status == TW_OK) {
        o->info = *info;
        o->code = malloc(info->code_size);
        memcpy(o->code, code, info->code_size);
    } else {
        snprintf(o->reason, sizeof o->reason, "%s", error->message);
    }
    sem_post(&o->ready);
}

static char *read_request(const char *name, size_t *size)
{
    char path[512];
    snprintf(path, sizeof path, "%s/models/%s.model", TW_TEST_DATA, name);
    FILE *file = fopen(path, "rb");
    assert_non_null(file);
    char *text = malloc(1 << 17);
    *size = fread(text, 1, 1 << 17, file);
    fclose(file);
    return text;
}

static void ask(tw_compiler *compiler, const char *name, outcome *o)
{
    size_t size;
    char *text = read_request(name, &size);
    tw_error error = {.message = ""};
    memset(o, 0, sizeof *o);
    sem_init(&o->ready, 0, 0);
    if (tw_compiler_submit(compiler, text, size, take, o, &error)) fail_msg("%s", error.message);
    sem_wait(&o->ready);
    free(text);
}

static tw_compiler *compiler_at(const char *path, uint32_t limit_ms)
{
    tw_compiler *compiler;
    tw_error error = {.message = ""};
    if (tw_compiler_new(&(tw_compiler_options){.worker_path = path, .limit_ms = limit_ms}, &compiler, &error))
        fail_msg("%s", error.message);
    return compiler;
}

/* y[i] += a·x[i] for 100 floats: x = i, y = 1, a = 2 */
static void check_saxpy(const outcome *o)
{
    void *code = mmap(NULL, o->info.code_size, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    memcpy(code, o->code, o->info.code_size);
    assert_int_equal(mprotect(code, o->info.code_size, PROT_READ | PROT_EXEC), 0);
    float memory[200];
    for (int i = 0; i < 100; i++) memory[i] = (float)i, memory[100 + i] = 1;
    /* trips, accesses (x, y, y), affines (x, y), symbols (n, x, y, a, i) */
    float a = 2;
    uint64_t args[] = {100, 0, 4, 400, 4, 400, 4, 0, 4, 400, 4, 100, 0, 400, 0, 0};
    memcpy(&args[14], &a, 4);
    assert_int_equal(o->info.arg_count, sizeof args / sizeof *args);
    uint32_t stop = 0;
    tw_kernel_env env = {.memory = (uint8_t *)memory, .memory_size = sizeof memory, .args = args, .stop = &stop, .threads = 1};
    tw_kernel_entry entry;
    void *at = (uint8_t *)code + o->info.entry;
    memcpy(&entry, &at, sizeof at);
    assert_int_equal(entry(&env, 0, 100), TW_KERNEL_DONE);
    for (int i = 0; i < 100; i++) assert_true(memory[100 + i] == 1 + 2 * (float)i);
    env.memory_size -= 4;
    assert_int_equal(entry(&env, 0, 100), TW_KERNEL_OUT_OF_RANGE);
    munmap(code, o->info.code_size);
}

static void a_model_becomes_a_kernel(void **state)
{
    (void)state;
    tw_compiler *compiler = compiler_at(WORKER, 0);
    static const char *const names[] = {"saxpy", "gemm", "matvec", "saxpy"};
    for (int i = 0; i < 4; i++) {
        outcome o;
        uint64_t start = tw_clock_now();
        ask(compiler, names[i], &o);
        if (o.status) fail_msg("%s: %s", names[i], o.reason);
        print_message("%s: %.1f ms, %u bytes, %s\n", names[i], (double)(tw_clock_now() - start) / 1e6, o.info.code_size,
                      o.info.schedule);
        if (strcmp(names[i], "saxpy") == 0) check_saxpy(&o);
        free(o.code);
    }
    tw_compiler_free(compiler);
}

static void what_is_no_model_is_refused(void **state)
{
    (void)state;
    tw_compiler *compiler = compiler_at(WORKER, 0);
    tw_error error = {.message = ""};
    outcome o = {0};
    sem_init(&o.ready, 0, 0);
    assert_int_equal(tw_compiler_submit(compiler, "region", 6, take, &o, &error), TW_OK);
    sem_wait(&o.ready);
    assert_int_equal(o.status, TW_MALFORMED);
    assert_non_null(strstr(o.reason, "name"));
    ask(compiler, "saxpy", &o);
    assert_int_equal(o.status, TW_OK);
    free(o.code);
    tw_compiler_free(compiler);
}

static void dumps_are_text(void **state)
{
    (void)state;
    tw_compiler *compiler = compiler_at(WORKER, 0);
    size_t size;
    char *text = read_request("gemm", &size), *dump;
    static const char *const expected[][2] = {{"schedule", "loop n0"}, {"llvm", "define i32 @tw_kernel"}, {"asm", "tw_kernel:"}};
    for (int i = 0; i < 3; i++) {
        tw_error error = {.message = ""};
        if (tw_compiler_dump(compiler, expected[i][0], text, size, &dump, &error)) fail_msg("%s", error.message);
        assert_non_null(strstr(dump, expected[i][1]));
        free(dump);
    }
    tw_error error;
    assert_int_equal(tw_compiler_dump(compiler, "soup", text, size, &dump, &error), TW_INVALID);
    free(text);
    tw_compiler_free(compiler);
}

/* ---- workers that do wrong ---- */

/* A folder with a link to the stand-in, whose name tells it what to do. */
static tw_compiler *fake(const char *what, uint32_t limit_ms)
{
    static char path[300];
    snprintf(path, sizeof path, "/tmp/tw-fake-%d-%s", (int)getpid(), what);
    unlink(path);
    assert_int_equal(symlink(TW_TEST_BIN "/tests/fake_worker", path), 0);
    return compiler_at(path, limit_ms);
}

static void unlink_fake(const char *what)
{
    char path[300];
    snprintf(path, sizeof path, "/tmp/tw-fake-%d-%s", (int)getpid(), what);
    unlink(path);
}

static const struct {
    const char *what;
    tw_status status;
    const char *reason;
} wrongs[] = {
    {"crash", TW_IO, "died of signal 11"},
    {"abort", TW_IO, "died of signal 6"},
    {"leave", TW_IO, "left with code 3"},
    {"silent", TW_LIMIT, "too long"},
    {"slow", TW_LIMIT, "too long"},
    {"deaf", TW_LIMIT, "too long"},
    {"garbage", TW_INTERNAL, "makes no sense"},
    {"status", TW_INTERNAL, "makes no sense"},
    {"huge", TW_INTERNAL, "too long"},
    {"hugereason", TW_INTERNAL, "too long"},
    {"cut", TW_IO, "left with code 0"},
    {"tiny", TW_INTERNAL, "no whole kernel"},
    {"abi", TW_INTERNAL, "another installation"},
    {"size", TW_INTERNAL, "doesn't fit together"},
    {"entry", TW_INTERNAL, "doesn't fit together"},
    {"unterminated", TW_INTERNAL, "doesn't fit together"},
    {"memory", TW_NO_MEMORY, "out of memory"},
};

static void whatever_a_worker_does_wrong_is_a_reason(void **state)
{
    (void)state;
    for (size_t i = 0; i < sizeof wrongs / sizeof *wrongs; i++) {
        /* The machine may be busy: only those that wait for the limit get a short one. */
        tw_compiler *compiler = fake(wrongs[i].what, wrongs[i].status == TW_LIMIT ? 400 : 20000);
        for (int twice = 0; twice < 2; twice++) {
            outcome o;
            uint64_t start = tw_clock_now();
            ask(compiler, "saxpy", &o);
            if (o.status != wrongs[i].status || !strstr(o.reason, wrongs[i].reason))
                fail_msg("%s: status %d, %s", wrongs[i].what, o.status, o.reason);
            assert_true(tw_clock_now() - start < 15000000000u);
        }
        tw_compiler_free(compiler);
        unlink_fake(wrongs[i].what);
    }
}

/* An idle worker that has gone is started again, and nobody notices. */
static void a_worker_that_left_when_idle_is_started_again(void **state)
{
    (void)state;
    tw_compiler *compiler = fake("once", 20000);
    for (int i = 0; i < 3; i++) {
        outcome o;
        ask(compiler, "saxpy", &o);
        assert_int_equal(o.status, TW_OK);
        free(o.code);
        if (i == 1) usleep(50000);
    }
    tw_compiler_free(compiler);
    unlink_fake("once");
}

static void closing_answers_what_waits(void **state)
{
    (void)state;
    tw_compiler *compiler = fake("silent", 60000);
    size_t size;
    char *text = read_request("saxpy", &size);
    outcome o[3];
    tw_error error;
    for (int i = 0; i < 3; i++) {
        memset(&o[i], 0, sizeof o[i]);
        sem_init(&o[i].ready, 0, 0);
        assert_int_equal(tw_compiler_submit(compiler, text, size, take, &o[i], &error), TW_OK);
    }
    usleep(30000);
    uint64_t start = tw_clock_now();
    tw_compiler_free(compiler);
    assert_true(tw_clock_now() - start < 10000000000u);
    for (int i = 0; i < 3; i++) {
        assert_int_equal(sem_trywait(&o[i].ready), 0);
        assert_int_equal(o[i].status, TW_TERMINATED);
    }
    free(text);
    unlink_fake("silent");
}

static void a_missing_worker_is_a_reason(void **state)
{
    (void)state;
    tw_compiler *compiler = compiler_at("/nowhere/tensor-wasm-compile", 0);
    outcome o;
    ask(compiler, "saxpy", &o);
    assert_int_equal(o.status, TW_IO);
    assert_non_null(strstr(o.reason, "can't be started"));
    const char *identity;
    tw_error error;
    assert_int_equal(tw_compiler_identity(compiler, &identity, &error), TW_IO);
    tw_compiler_free(compiler);
}

static void the_worker_is_found_and_has_an_identity(void **state)
{
    (void)state;
    tw_compiler *compiler;
    tw_error error = {.message = ""};
    const char *identity, *again;
    if (tw_compiler_new(NULL, &compiler, &error)) fail_msg("%s", error.message);
    assert_int_equal(tw_compiler_identity(compiler, &identity, &error), TW_OK);
    assert_int_equal(tw_compiler_identity(compiler, &again, &error), TW_OK);
    assert_string_equal(identity, again);
    assert_non_null(strstr(identity, "kernel abi"));
    outcome o;
    ask(compiler, "saxpy", &o);
    assert_int_equal(o.status, TW_OK);
    free(o.code);
    tw_compiler_free(compiler);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_model_becomes_a_kernel),
        cmocka_unit_test(what_is_no_model_is_refused),
        cmocka_unit_test(dumps_are_text),
        cmocka_unit_test(whatever_a_worker_does_wrong_is_a_reason),
        cmocka_unit_test(a_worker_that_left_when_idle_is_started_again),
        cmocka_unit_test(closing_answers_what_waits),
        cmocka_unit_test(a_missing_worker_is_a_reason),
        cmocka_unit_test(the_worker_is_found_and_has_an_identity),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
