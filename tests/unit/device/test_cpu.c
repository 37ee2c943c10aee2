/* SPDX-License-Identifier: Apache-2.0 */
#include <sched.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include <cmocka.h>
#include <pthread.h>

#include "device/device.h"

/* Kernels by hand. memory[i] counts how often iteration i ran; args: see each. */

static atomic_uint no_stop;

static double seconds(void)
{
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return (double)t.tv_sec + (double)t.tv_nsec * 1e-9;
}

static int32_t count_each(const tw_kernel_env *env, int64_t first, int64_t last)
{
    assert_true(first < last);
    assert_int_equal(env->threads, 1);
    for (int64_t i = first; i < last; i++) env->memory[i]++;
    return TW_KERNEL_DONE;
}

/* args[0]: this iteration finds itself out of range */
static int32_t refuse_at(const tw_kernel_env *env, int64_t first, int64_t last)
{
    if ((int64_t)env->args[0] >= first && (int64_t)env->args[0] < last) return TW_KERNEL_OUT_OF_RANGE;
    return count_each(env, first, last);
}

/* The first chunk sets the stop flag; whoever has another waits for that, so that none is late on a busy machine. */
static int32_t count_and_stop(const tw_kernel_env *env, int64_t first, int64_t last)
{
    while (first > 0 && !atomic_load((const atomic_uint *)env->stop)) sched_yield();
    if (first > 0) return count_each(env, first, last);
    count_each(env, first, last);
    atomic_store((atomic_uint *)(uintptr_t)env->stop, 1);
    return TW_KERNEL_DONE;
}

static tw_launch launch_of(tw_kernel_entry entry, const tw_kernel_info *info, uint8_t *memory, int64_t iterations,
                           uint32_t threads)
{
    return (tw_launch){.entry = entry, .info = info, .memory = memory, .memory_size = (uint64_t)iterations,
                       .stop = &no_stop, .iterations = iterations, .threads = threads, .nanoseconds = (double)iterations};
}

static const tw_kernel_info parallel = {.abi = TW_KERNEL_ABI, .outer_parallel = 1};
static const tw_kernel_info sharing = {.abi = TW_KERNEL_ABI, .shares_work = 1};
static const tw_kernel_info serial = {.abi = TW_KERNEL_ABI};

static void every_iteration_runs_exactly_once(void **state)
{
    (void)state;
    for (uint32_t threads = 1; threads <= 5; threads++) {
        tw_device *cpu;
        assert_int_equal(tw_device_cpu_new(threads, &cpu, NULL), TW_OK);
        assert_int_equal(cpu->table->width(cpu), threads);
        static uint8_t memory[100000];
        for (int64_t n = 1; n <= 100000; n = n < 40 ? n + 1 : n * 7 / 3) {
            for (double cost = 1; cost < 1e9; cost *= 1000) {
                memset(memory, 0, sizeof memory);
                tw_launch launch = launch_of(count_each, n % 2 ? &parallel : &serial, memory, n, threads);
                launch.nanoseconds = (double)n * cost;
                tw_launched launched;
                cpu->table->launch(cpu, &launch, &launched);
                assert_int_equal(launched.result, TW_KERNEL_DONE);
                assert_int_equal(launched.done, n);
                assert_in_range(launched.threads, 1, threads);
                for (int64_t i = 0; i < n; i++) assert_int_equal(memory[i], 1);
            }
        }
        tw_device_close(cpu);
    }
}

static void no_iterations_call_nothing(void **state)
{
    (void)state;
    tw_device *cpu;
    assert_int_equal(tw_device_cpu_new(2, &cpu, NULL), TW_OK);
    tw_launch launch = launch_of(NULL, &parallel, NULL, 0, 2);
    tw_launched launched;
    cpu->table->launch(cpu, &launch, &launched);
    assert_int_equal(launched.result, TW_KERNEL_DONE);
    tw_device_close(cpu);
    assert_int_equal(tw_device_cpu_new(0, &cpu, NULL), TW_INVALID_ARGUMENT);
    assert_int_equal(tw_device_cpu_new(257, &cpu, NULL), TW_INVALID_ARGUMENT);
}

static void a_refused_chunk_says_what_was_done_before_it(void **state)
{
    (void)state;
    tw_device *cpu;
    assert_int_equal(tw_device_cpu_new(2, &cpu, NULL), TW_OK);
    static uint8_t memory[4096];
    for (uint32_t threads = 1; threads <= 2; threads++) {
        memset(memory, 0, sizeof memory);
        uint64_t at = 1000;
        tw_launch launch = launch_of(refuse_at, &parallel, memory, 4096, threads);
        launch.args = &at;
        launch.nanoseconds = 4096 * 1e4; /* chunks of about 100 */
        tw_launched launched;
        cpu->table->launch(cpu, &launch, &launched);
        assert_int_equal(launched.result, TW_KERNEL_OUT_OF_RANGE);
        if (threads == 1) {
            assert_false(launched.torn);
            assert_in_range(launched.done, 850, 1000);
        }
        if (!launched.torn)
            for (int64_t i = 0; i < 4096; i++) assert_int_equal(memory[i], i < launched.done);
    }
    tw_device_close(cpu);
}

static void the_stop_flag_ends_a_launch_between_chunks(void **state)
{
    (void)state;
    tw_device *cpu;
    assert_int_equal(tw_device_cpu_new(2, &cpu, NULL), TW_OK);
    static uint8_t memory[4096];
    for (uint32_t threads = 1; threads <= 2; threads++) {
        atomic_uint stop = 0;
        memset(memory, 0, sizeof memory);
        tw_launch launch = launch_of(count_and_stop, &parallel, memory, 4096, threads);
        launch.stop = &stop;
        launch.nanoseconds = 4096 * 1e5;
        tw_launched launched;
        cpu->table->launch(cpu, &launch, &launched);
        assert_int_equal(launched.result, TW_KERNEL_STOPPED);
        int ran = 0;
        for (int64_t i = 0; i < 4096; i++) ran += memory[i];
        assert_in_range(ran, 1, 4095);
        if (!launched.torn) assert_int_equal(ran, launched.done);
    }
    tw_device_close(cpu);
}

/* ---- teams ---- */

typedef struct ring {
    atomic_uint turn[64];
    atomic_uint calls;
    uint32_t rounds;
    int stop_round; /* the member with the highest number leaves then; -1: nobody */
    bool leaves_done;
} ring;

/* Each round all add 1 to a cell; after the meeting everybody must see the whole team's sum. */
static int32_t meet_often(const tw_kernel_env *env, int64_t first, int64_t last)
{
    ring *r = (ring *)env->memory;
    assert_int_equal(first, 0);
    assert_int_equal(last, 1);
    atomic_fetch_add(&r->calls, 1);
    for (uint32_t i = 0; i < r->rounds; i++) {
        if ((int)i == r->stop_round && env->thread == env->threads - 1)
            return r->leaves_done ? TW_KERNEL_DONE : TW_KERNEL_STOPPED;
        atomic_fetch_add(&r->turn[i % 64], 1);
        if (env->meet && env->meet(env->context)) return TW_KERNEL_STOPPED;
        if (atomic_load(&r->turn[i % 64]) != env->threads * (i / 64 + 1)) return TW_KERNEL_OUT_OF_RANGE;
        if (env->meet && env->meet(env->context)) return TW_KERNEL_STOPPED;
    }
    return TW_KERNEL_DONE;
}

static void a_team_meets(void **state)
{
    (void)state;
    for (uint32_t threads = 2; threads <= 4; threads++) {
        tw_device *cpu;
        assert_int_equal(tw_device_cpu_new(threads, &cpu, NULL), TW_OK);
        for (int k = 0; k < 30; k++) {
            ring r = {.rounds = 100, .stop_round = -1};
            tw_launch launch = launch_of(meet_often, &sharing, (uint8_t *)&r, 1, threads);
            launch.nanoseconds = 1e9; /* patient */
            tw_launched launched;
            cpu->table->launch(cpu, &launch, &launched);
            assert_int_equal(launched.result, TW_KERNEL_DONE);
            assert_int_equal(atomic_load(&r.calls), launched.threads);
        }
        tw_device_close(cpu);
    }
}

static void a_team_that_loses_a_member_breaks_up(void **state)
{
    (void)state;
    tw_device *cpu;
    assert_int_equal(tw_device_cpu_new(3, &cpu, NULL), TW_OK);
    for (int k = 0; k < 100; k++) {
        ring r = {.rounds = 20, .stop_round = k % 20, .leaves_done = k & 1};
        tw_launch launch = launch_of(meet_often, &sharing, (uint8_t *)&r, 1, 3);
        launch.nanoseconds = 1e9;
        tw_launched launched;
        cpu->table->launch(cpu, &launch, &launched);
        if (launched.threads > 1 || !(k & 1)) {
            assert_int_equal(launched.result, TW_KERNEL_STOPPED);
            assert_true(launched.torn);
        }
    }
    tw_device_close(cpu);
}

/* ---- several at once ---- */

typedef struct guest {
    pthread_t thread;
    tw_device *cpu;
    uint8_t memory[20000];
    int wrong;
} guest;

static void *launch_many(void *context)
{
    guest *g = context;
    for (int k = 0; k < 200; k++) {
        memset(g->memory, 0, sizeof g->memory);
        tw_launch launch = launch_of(count_each, &parallel, g->memory, sizeof g->memory, 3);
        launch.nanoseconds = 1e6;
        tw_launched launched;
        g->cpu->table->launch(g->cpu, &launch, &launched);
        for (size_t i = 0; i < sizeof g->memory; i++) g->wrong += g->memory[i] != 1;
    }
    return NULL;
}

static void several_instances_share_a_device(void **state)
{
    (void)state;
    tw_device *cpu;
    assert_int_equal(tw_device_cpu_new(3, &cpu, NULL), TW_OK);
    static guest guests[3];
    for (int i = 0; i < 3; i++) {
        guests[i].cpu = cpu;
        assert_int_equal(pthread_create(&guests[i].thread, NULL, launch_many, &guests[i]), 0);
    }
    for (int i = 0; i < 3; i++) {
        pthread_join(guests[i].thread, NULL);
        assert_int_equal(guests[i].wrong, 0);
    }
    tw_device_close(cpu);
}

#if defined(__x86_64__)
static int32_t look_at_state(const tw_kernel_env *env, int64_t first, int64_t last)
{
    for (int64_t i = first; i < last; i++) env->memory[i] = (__builtin_ia32_stmxcsr() & ~0x3Fu) == 0x1F80;
    return TW_KERNEL_DONE;
}

static void kernels_see_the_guests_floating_point_state(void **state)
{
    (void)state;
    tw_device *cpu;
    assert_int_equal(tw_device_cpu_new(2, &cpu, NULL), TW_OK);
    uint32_t old = __builtin_ia32_stmxcsr(), odd = 0xFFC0; /* flush to zero, toward zero, denormals are zero */
    for (uint32_t threads = 1; threads <= 2; threads++) {
        uint8_t memory[64] = {0};
        tw_launch launch = launch_of(look_at_state, &parallel, memory, 64, threads);
        launch.nanoseconds = 1e7;
        tw_launched launched;
        __builtin_ia32_ldmxcsr(odd);
        cpu->table->launch(cpu, &launch, &launched);
        uint32_t after = __builtin_ia32_stmxcsr();
        __builtin_ia32_ldmxcsr(old);
        assert_int_equal(after & ~0x3Fu, odd);
        for (int i = 0; i < 64; i++) assert_int_equal(memory[i], 1);
    }
    tw_device_close(cpu);
}
#endif

/* Not a test of speed: prints what waking costs, for the figures. */
static int32_t nothing(const tw_kernel_env *env, int64_t first, int64_t last)
{
    (void)env, (void)first, (void)last;
    return TW_KERNEL_DONE;
}

static void waking_costs(void **state)
{
    (void)state;
    tw_device *cpu;
    assert_int_equal(tw_device_cpu_new(2, &cpu, NULL), TW_OK);
    for (int rest = 0; rest < 2; rest++) {
        double sum = 0;
        for (int k = 0; k < 200; k++) {
            tw_launch launch = launch_of(nothing, &parallel, NULL, 2, 2);
            launch.nanoseconds = 1e9;
            tw_launched launched;
            double start = seconds();
            cpu->table->launch(cpu, &launch, &launched);
            sum += seconds() - start;
            if (rest) nanosleep(&(struct timespec){.tv_nsec = 200000}, NULL);
        }
        print_message("launch of nothing on 2 threads, helper %s: %.2f us\n", rest ? "asleep" : "spinning", sum / 200 * 1e6);
    }
    tw_device_close(cpu);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(every_iteration_runs_exactly_once),
        cmocka_unit_test(no_iterations_call_nothing),
        cmocka_unit_test(a_refused_chunk_says_what_was_done_before_it),
        cmocka_unit_test(the_stop_flag_ends_a_launch_between_chunks),
        cmocka_unit_test(a_team_meets),
        cmocka_unit_test(a_team_that_loses_a_member_breaks_up),
        cmocka_unit_test(several_instances_share_a_device),
#if defined(__x86_64__)
        cmocka_unit_test(kernels_see_the_guests_floating_point_state),
#endif
        cmocka_unit_test(waking_costs),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
