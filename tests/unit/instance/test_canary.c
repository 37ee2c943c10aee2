/* SPDX-License-Identifier: Apache-2.0 */
/* Nothing of one tenant is ever visible to the next. Each tenant leaves its mark in all that it can write: memory up to its limit,
 * globals, table slots, buffers, through its own code, through kernels and by its host. Whoever comes next, in the same slot, is
 * looked at from inside: every byte that its guest, its host or a kernel could read, the part of the slot that isn't live yet
 * included. Kernels have no memory of their own beside the instance's and their stack (base/kernel_abi.h).
 *
 * Under pressure, too: the system calls that take pages back fail, once each or all of them; pages are paged out; memory is short.
 * This program's madvise, mmap, munmap and mprotect are its own. */
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cmocka.h>

#include "../../support/embedder.h"
#include "instance/runtime.h"
#include "memory/budget.h"
#include "memory/reset.h"
#include "tensorwasm/buffer.h"

/* ---- system calls that fail ---- */

enum { CALL_MADVISE, CALL_MMAP, CALL_MUNMAP, CALL_MPROTECT, CALLS };
static _Thread_local int failing = -1; /* which of them */
static _Thread_local long until;       /* calls of it that still work */
static _Thread_local bool for_good;    /* all later ones fail as well */
static _Thread_local long failed;

static bool fails(int call)
{
    if (failing != call || until-- > 0 || (failed && !for_good)) return false;
    failed++;
    errno = ENOMEM;
    return true;
}

int madvise(void *at, size_t size, int advice)
{
    return fails(CALL_MADVISE) ? -1 : (int)syscall(SYS_madvise, at, size, advice);
}

void *mmap(void *at, size_t size, int access, int flags, int fd, off_t offset)
{
    return fails(CALL_MMAP) ? MAP_FAILED : (void *)syscall(SYS_mmap, at, size, access, flags, fd, offset);
}

int munmap(void *at, size_t size) { return fails(CALL_MUNMAP) ? -1 : (int)syscall(SYS_munmap, at, size); }

int mprotect(void *at, size_t size, int access) { return fails(CALL_MPROTECT) ? -1 : (int)syscall(SYS_mprotect, at, size, access); }

static void begin_failing(int call, long after, bool good)
{
    failed = 0;
    until = after;
    for_good = good;
    failing = call;
}

static bool end_failing(void)
{
    failing = -1;
    return failed != 0;
}

/* ---- a tenant ---- */

static uint8_t mark_of(uint64_t tenant) { return (uint8_t)(0x80 | tenant); }

/* `data`: bytes 5000 to 5003 and, in the large one, 200000 of them from 100000 on, which are mapped. */
static const char *const small_text =
    "(module (memory (export \"memory\") %d %d) (global $i (mut i32) (i32.const 1)) (global $l (mut i64) (i64.const 2)) (global $v (mut v128) (v128.const i32x4 3 4 5 6))"
    "(table $t 4 funcref) (elem (i32.const 1) func $one) (elem declare func $two) (type $f (func (result i32)))"
    "(func $one (result i32) (i32.const 1)) (func $two (result i32) (i32.const 2))"
    "(data (i32.const 5000) \"data\") %s"
    "(func (export \"mark\") (param i32) (local $at i32) (global.set $i (local.get 0)) (global.set $l (i64.extend_i32_u (local.get 0))) (global.set $v (i8x16.splat (local.get 0)))"
    " (table.fill $t (i32.const 0) (ref.func $two) (i32.const 4))"
    " (memory.fill (i32.const 0) (local.get 0) (i32.shl (memory.size) (i32.const 16))))"
    "(func (export \"kernel\") (param i32) (local $n i32) (loop $l (i32.store8 offset=1024 (local.get $n) (local.get 0))"
    " (br_if $l (i32.lt_u (local.tee $n (i32.add (local.get $n) (i32.const 1))) (i32.const 60000)))))"
    "(func (export \"sum\") (result i32) (local $n i32) (local $s i32) (loop $l (local.set $s (i32.add (local.get $s) (i32.load8_u (local.get $n))))"
    " (br_if $l (i32.lt_u (local.tee $n (i32.add (local.get $n) (i32.const 1))) (i32.const 65536)))) (local.get $s))"
    "(func (export \"state\") (result i32 i64 i32 i32) (global.get $i) (global.get $l) (i32x4.extract_lane 2 (global.get $v))"
    " (i32.add (i32.add (ref.is_null (table.get $t (i32.const 0))) (call_indirect $t (type $f) (i32.const 1))) (ref.is_null (table.get $t (i32.const 3)))))"
    "(func (export \"grow\") (param i32) (result i32) (memory.grow (local.get 0))))";

enum { LARGE_AT = 100000, LARGE_BYTES = 200000, DATA_SUM = 'd' + 'a' + 't' + 'a' };

static tw_module *module_with(int pages, bool large)
{
    char *data = malloc(LARGE_BYTES + 100), *text = malloc(LARGE_BYTES + 5000);
    size_t used = (size_t)sprintf(data, "(data (i32.const %d) \"", LARGE_AT);
    memset(data + used, 'x', LARGE_BYTES);
    strcpy(data + used + LARGE_BYTES, "\")");
    sprintf(text, small_text, pages, pages + 20, large ? data : "");
    tw_module *module = module_of(text);
    free(text), free(data);
    return module;
}

static bool is_expected(const uint8_t *memory, size_t at, bool large)
{
    if (at >= 5000 && at < 5004) return memory[at] == (uint8_t)"data"[at - 5000];
    return memory[at] == (large && at >= LARGE_AT && at < LARGE_AT + LARGE_BYTES ? 'x' : 0);
}

/* Pages without data, at once. */
static bool is_zero_page(const uint8_t *memory, size_t at, size_t end)
{
    static const uint8_t zero[4096];
    return at % 4096 == 0 && end - at >= 4096 && at != 4096 && !memcmp(memory + at, zero, 4096);
}

/* From inside: all of the slot that could ever be read, live or not. */
static void sees_nothing(tw_instance *instance, tw_module *module, int pages, bool large)
{
    const tw_slot *slot = tw_runtime_slot(module, instance->store);
    tw_val state[4], sum[4];
    assert_int_equal(slot->size, (size_t)pages * 65536);
    for (size_t at = 0; at < slot->opened; at++)
        if (is_zero_page(slot->base, at, slot->opened) && (!large || at < LARGE_AT - 4096 || at > LARGE_AT + LARGE_BYTES)) at += 4095;
        else if (!is_expected(slot->base, at, large)) fail_msg("byte 0x%zx, of 0x%zx live ones, is %02x", at, slot->size, slot->base[at]);
    OK(call(instance, module, "state", 0, state));
    assert_int_equal(state[0].of.i32, 1);
    assert_int_equal(state[1].of.i64, 2);
    assert_int_equal(state[2].of.i32, 5);
    assert_int_equal(state[3].of.i32, 3); /* null, one, null */
    OK(call(instance, module, "sum", 0, sum));
    assert_int_equal(sum[0].of.i32, DATA_SUM);
}

/* What memory.grow lets in is zero, too. */
static void grown_is_zero(tw_instance *instance, tw_module *module, int pages)
{
    const tw_slot *slot = tw_runtime_slot(module, instance->store);
    size_t before = slot->size;
    tw_val results[4];
    OK(call(instance, module, "grow", pages, results));
    if (results[0].of.i32 == -1) return;
    for (size_t at = before; at < slot->size; at++)
        if (is_zero_page(slot->base, at, slot->size)) at += 4095;
        else if (slot->base[at]) fail_msg("byte 0x%zx, just grown, is %02x", at, slot->base[at]);
}

static void leave_marks(tw_instance *instance, tw_module *module, uint64_t tenant, uint32_t *seed)
{
    uint8_t *memory;
    size_t size;
    tw_val results[4];
    if (next(seed) >> 16 & 1) grown_is_zero(instance, module, (int)(next(seed) >> 16) % 20);
    OK(call(instance, module, "kernel", mark_of(tenant), results));
    OK(call(instance, module, "mark", mark_of(tenant), results));
    OK(tw_instance_memory(instance, "memory", &memory, &size, &error));
    memset(memory, mark_of(tenant), size);
    switch (next(seed) >> 16 & 7) {
    case 0: madvise(memory, size, MADV_PAGEOUT); break;
    case 1: madvise(memory, size, MADV_COLD); break;
    case 2: memset(memory + size / 2, 0, size - size / 2); break; /* zeros that aren't the system's */
    default: break;
    }
}

/* ---- rounds ---- */

typedef struct house {
    tw_module *module;
    int pages;
    bool large;
    tw_instance_pool *pools[4];
    tw_snapshot *images[4]; /* of a fresh instance of each tenant; two are copies in memory, two files of ours */
} house;

static char store[] = "/tmp/tw-canary-XXXXXX";

/* As a file that instances map. */
static tw_snapshot *image_of(tw_module *module, const tw_spawn_options *options, bool trusted)
{
    static unsigned number;
    tw_snapshot_writer_options writing = TW_SNAPSHOT_WRITER_OPTIONS_INIT;
    tw_snapshot_reader_options reading = TW_SNAPSHOT_READER_OPTIONS_INIT;
    tw_snapshot_writer *writer;
    tw_snapshot_reader *reader;
    tw_snapshot *snapshot;
    tw_snapshot_class class;
    char path[64];
    writing.format = TW_SNAPSHOT_IMAGE;
    if (trusted) reading.verify = TW_SNAPSHOT_VERIFY_TRUSTED;
    OK(tw_snapshot_writer_new(&writing, &writer, &error));
    OK(tw_snapshot_reader_new(&reading, &reader, &error));
    tw_instance *instance = spawn(module, options);
    file f = capture(instance, writer);
    snprintf(path, sizeof path, "%s/%u", store, number++);
    int made = open(path, O_WRONLY | O_CREAT | O_EXCL, 0600);
    assert_true(made >= 0 && write(made, f.bytes, f.size) == (ssize_t)f.size);
    close(made);
    OK(tw_snapshot_open(reader, path, &snapshot, &class, &error));
    unlink(path);
    free(f.bytes);
    tw_instance_free(instance);
    tw_snapshot_writer_free(writer);
    tw_snapshot_reader_free(reader);
    return snapshot;
}

static house open_house(int pages, bool large)
{
    house h = {.module = module_with(pages, large), .pages = pages, .large = large};
    for (uint64_t i = 0; i < 4; i++) {
        tw_spawn_options options = usual();
        options.tenant = i + 1;
        h.pools[i] = pool_of(h.module, &options);
        h.images[i] = image_of(h.module, &options, i & 1);
    }
    return h;
}

static void close_house(house *h)
{
    for (int i = 0; i < 4; i++) tw_instance_pool_free(h->pools[i]), tw_snapshot_free(h->images[i]);
    tw_module_free(h->module);
}

/* One tenant's turn: from its pool, spawned or restored, given back or freed. A call that fails for want of something ends it. */
static void turn(house *h, uint32_t *seed)
{
    uint64_t tenant = next(seed) >> 16 & 3;
    bool pooled = next(seed) >> 16 & 1, restored = next(seed) >> 16 & 1;
    tw_spawn_options options = usual();
    tw_instance *instance;
    options.tenant = tenant + 1;
    options.capturable = next(seed) >> 16 & 1;
    tw_status status = pooled ? tw_instance_pool_take(h->pools[tenant], &instance, &error)
                        : restored ? tw_instance_restore(h->module, h->images[tenant], &options, &instance, &error)
                                   : tw_instance_spawn(h->module, &options, &instance, &error);
    if (status == TW_OK) {
        int call = failing;
        failing = -1; /* looking isn't disturbed */
        sees_nothing(instance, h->module, h->pages, h->large);
        leave_marks(instance, h->module, tenant, seed);
        failing = call;
        if (pooled && next(seed) >> 16 & 7) tw_instance_pool_give(h->pools[tenant], instance);
        else tw_instance_free(instance);
    } else if (status != TW_LIMIT && status != TW_IO && status != TW_NO_MEMORY) {
        fail_msg("a lack of something is told as %s: %s", tw_status_name(status), error.message);
    }
}

static const struct { int pages; bool large; size_t least_image; } houses[] = {
    {1, false, SIZE_MAX}, {1, false, 0}, {6, true, 64 << 10}, {6, true, 0}, {70, true, 64 << 10}};
enum { HOUSES = sizeof houses / sizeof *houses };

static void tenants_take_turns_in_every_way_of_resetting(void **state)
{
    (void)state;
    use_handlers();
    uint32_t seed = 1;
    for (int i = 0; i < HOUSES; i++) {
        engine->least_image = houses[i].least_image;
        house h = open_house(houses[i].pages, houses[i].large);
        for (int way = 0; way < TW_RESET_WAYS; way++) {
            engine->reset_way = tw_reset_can((tw_reset_way)way) ? (tw_reset_way)way : TW_RESET_CHEAPEST;
            for (int n = 0; n < 12; n++) turn(&h, &seed);
        }
        close_house(&h);
    }
    engine->reset_way = TW_RESET_CHEAPEST;
}

static void the_next_tenant_gets_the_same_slot(void **state)
{
    (void)state;
    use_handlers();
    engine->least_image = 0;
    house h = open_house(6, true);
    uint8_t *before = NULL;
    int same = 0;
    uint32_t seed = 3;
    for (uint64_t tenant = 1; tenant < 40; tenant++) {
        tw_spawn_options options = usual();
        options.tenant = tenant;
        tw_instance *instance = spawn(h.module, &options);
        const tw_slot *slot = tw_runtime_slot(h.module, instance->store);
        sees_nothing(instance, h.module, h.pages, h.large);
        leave_marks(instance, h.module, tenant, &seed);
        same += slot->base == before;
        before = slot->base;
        tw_instance_free(instance);
    }
    assert_true(same > 30); /* else this would test nothing */
    close_house(&h);
}

/* Each call that takes pages back or opens them fails once, then all of them do: who comes next sees nothing all the same. */
static void system_calls_that_fail_let_nothing_through(void **state)
{
    (void)state;
    use_handlers();
    uint32_t seed = 7;
    int hit[CALLS] = {0};
    for (int i = 0; i < HOUSES; i++) {
        engine->least_image = houses[i].least_image;
        house h = open_house(houses[i].pages, houses[i].large);
        for (int n = 0; n < 240; n++) {
            int which = n % CALLS;
            engine->reset_way = (tw_reset_way)(n / 8 % TW_RESET_WAYS);
            begin_failing(which, n / 40, n & 4);
            for (int k = 0; k < 3; k++) turn(&h, &seed);
            hit[which] += end_failing();
            turn(&h, &seed);
        }
        close_house(&h);
    }
    engine->reset_way = TW_RESET_CHEAPEST;
    assert_true(hit[CALL_MADVISE] > 5 && hit[CALL_MMAP] > 5 && hit[CALL_MPROTECT] > 5);
    tw_slot_trim();
}

static void budgets_that_are_spent_let_nothing_through(void **state)
{
    (void)state;
    use_handlers();
    uint32_t seed = 11;
    for (int i = 0; i < HOUSES; i++) {
        engine->least_image = houses[i].least_image;
        house h = open_house(houses[i].pages, houses[i].large);
        for (int n = 0; n < 60; n++) {
            tw_budget budget = (tw_budget)(n % TW_BUDGETS);
            tw_budget_limit(budget, tw_budget_used(budget) + (uint64_t)(n % 7) * (budget == TW_BUDGET_COMMITTED ? 100000 : 2));
            turn(&h, &seed);
            turn(&h, &seed);
            tw_budget_limit(budget, 0);
        }
        close_house(&h);
    }
}

/* ---- several threads at once ---- */

typedef struct resident {
    house *h;
    uint32_t seed;
} resident;

static void *live(void *context)
{
    resident *r = context;
    for (int n = 0; n < 60; n++) {
        tw_error why;
        tw_instance *instance;
        uint64_t tenant = next(&r->seed) >> 16 & 3;
        tw_val mark = {TW_VAL_I32, {.i32 = mark_of(tenant)}}, sum;
        if (tw_instance_pool_take(r->h->pools[tenant], &instance, &why)) return "no instance";
        if (tw_instance_call(instance, "sum", NULL, 0, &sum, 1, &why) || sum.of.i32 != DATA_SUM) return "bytes of another tenant";
        if (tw_instance_call(instance, "mark", &mark, 1, NULL, 0, &why)) return "no mark";
        if (next(&r->seed) >> 16 & 1) tw_instance_pool_give(r->h->pools[tenant], instance);
        else tw_instance_free(instance);
    }
    return NULL;
}

static void tenants_on_threads_see_nothing_of_each_other(void **state)
{
    (void)state;
    use_handlers();
    enum { THREADS = 3 };
    pthread_t threads[THREADS];
    resident residents[THREADS];
    engine->least_image = 0;
    house h = open_house(6, true);
    for (uint32_t i = 0; i < THREADS; i++) {
        residents[i] = (resident){&h, i + 1};
        pthread_create(&threads[i], NULL, live, &residents[i]);
    }
    for (int i = 0; i < THREADS; i++) {
        void *what;
        pthread_join(threads[i], &what);
        if (what) fail_msg("%s", (const char *)what);
    }
    close_house(&h);
}

/* ---- buffers ---- */

static void a_new_buffer_is_zero(void **state)
{
    (void)state;
    tw_devices *devices;
    OK(tw_devices_open(NULL, &devices, &error));
    for (uint32_t n = 0; n < 300; n++) {
        tw_buffer *buffer;
        uint64_t bytes = 64 + n % 9 * 5000;
        OK(tw_buffer_new(devices, NULL, bytes, &buffer, &error));
        uint8_t *at = tw_buffer_host(buffer);
        for (uint64_t i = 0; i < bytes; i++) assert_int_equal(at[i], 0);
        memset(at, mark_of(n), bytes);
        tw_buffer_free(buffer);
    }
    tw_devices_close(devices);
}

/* ---- a small control group ---- */

static bool put_number(const char *folder, const char *name, long number)
{
    char path[300];
    snprintf(path, sizeof path, "%s/%s", folder, name);
    FILE *out = fopen(path, "w");
    if (!out) return false;
    bool done = fprintf(out, "%ld", number) > 0;
    return fclose(out) == 0 && done;
}

/* A group of our own below the mounted hierarchy, version 1 or 2; false with the reason where that isn't allowed. */
static bool enter_small_group(char *folder, size_t size, long bytes, const char **why)
{
    static const struct { const char *root, *limit; } versions[] = {{"/sys/fs/cgroup/memory", "memory.limit_in_bytes"}, {"/sys/fs/cgroup", "memory.max"}};
    *why = "no memory controller can be used here";
    for (int i = 0; i < 2; i++) {
        snprintf(folder, size, "%s/tensorwasm-test-%d", versions[i].root, (int)getpid());
        if (mkdir(folder, 0755)) continue;
        if (put_number(folder, versions[i].limit, bytes) && put_number(folder, "cgroup.procs", (long)getpid())) return true;
        rmdir(folder);
    }
    return false;
}

/* In a process of its own, since what is over the limit may be killed: it isn't, as long as the budget knows of the group. */
static int live_in_a_small_group(void)
{
    uint32_t seed = 5;
    engine->least_image = 0;
    house h = open_house(70, true);
    for (int n = 0; n < 60; n++) turn(&h, &seed);
    close_house(&h);
    return 0;
}

static const char *own_path;

static void a_small_control_group_lets_nothing_through(void **state)
{
    (void)state;
    char folder[200], command[300];
    const char *why;
    pid_t child = fork();
    if (child == 0) {
        if (!enter_small_group(folder, sizeof folder, 96L << 20, &why)) {
            fprintf(stderr, "%s\n", why);
            _exit(77);
        }
        snprintf(command, sizeof command, "%s", own_path);
        execl(command, command, "--group", NULL);
        _exit(99);
    }
    int status;
    waitpid(child, &status, 0);
    snprintf(folder, sizeof folder, "/sys/fs/cgroup/memory/tensorwasm-test-%d", (int)child);
    rmdir(folder);
    snprintf(folder, sizeof folder, "/sys/fs/cgroup/tensorwasm-test-%d", (int)child);
    rmdir(folder);
    if (WIFEXITED(status) && WEXITSTATUS(status) == 77) skip();
    assert_true(WIFEXITED(status));
    assert_int_equal(WEXITSTATUS(status), 0);
}

static int set_up(void **state)
{
    (void)state;
    return !mkdtemp(store) || engine_begins(TW_OFFLOAD_FORCE, false);
}

static int tear_down(void **state)
{
    (void)state;
    engine_ends();
    rmdir(store);
    return 0;
}

static void in_the_group(void **state)
{
    (void)state;
    use_handlers();
    assert_int_equal(live_in_a_small_group(), 0);
}

int main(int count, char **args)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(tenants_take_turns_in_every_way_of_resetting),
        cmocka_unit_test(the_next_tenant_gets_the_same_slot),
        cmocka_unit_test(system_calls_that_fail_let_nothing_through),
        cmocka_unit_test(budgets_that_are_spent_let_nothing_through),
        cmocka_unit_test(tenants_on_threads_see_nothing_of_each_other),
        cmocka_unit_test(a_new_buffer_is_zero),
        cmocka_unit_test(a_small_control_group_lets_nothing_through),
    };
    const struct CMUnitTest group[] = {cmocka_unit_test(in_the_group)};
    own_path = args[0];
    if (count > 1 && !strcmp(args[1], "--group")) return cmocka_run_group_tests(group, set_up, tear_down);
    return cmocka_run_group_tests(tests, set_up, tear_down);
}
