/* SPDX-License-Identifier: Apache-2.0 */
/* Arrivals from end to end, with the real plan, legality, cache and CPU; the compiler is a double that hands out kernels
 * written here in C. The guest is played by C functions that count down as rewritten code does. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include <cmocka.h>
#include <pthread.h>

#include "device/device.h"
#include "dispatch/dispatch.h"
#include "kcache/kcache.h"
#include "region/facts.h"

/* ---- the compiler's double ---- */

struct tw_compiler {
    tw_kernel_entry kernel;
    tw_kernel_info info;
    bool later;      /* keep the request; answer() answers */
    tw_status status;/* of the answers */
    atomic_int requests;
    tw_compiled done;
    void *context;
    char last[1 << 14];
};

static void answer_to(const tw_compiler *compiler, tw_compiled done, void *context)
{
    uint8_t code[64] = {0x48, 0xB8, 0, 0, 0, 0, 0, 0, 0, 0, 0xFF, 0xE0}; /* mov rax, kernel; jmp rax */
    tw_kernel_info info = compiler->info;
    tw_error error = {.message = "planted"};
    memcpy(code + 2, &compiler->kernel, sizeof compiler->kernel);
    info.abi = TW_KERNEL_ABI, info.code_size = sizeof code;
    strcpy(info.schedule, "by hand");
    done(context, compiler->status, &info, code, &error);
}

static void answer(tw_compiler *compiler)
{
    answer_to(compiler, compiler->done, compiler->context);
    compiler->done = NULL;
}

tw_status tw_compiler_submit(tw_compiler *compiler, const char *request, size_t size, tw_compiled done, void *context,
                             tw_error *error)
{
    (void)error;
    assert_true(size < sizeof compiler->last);
    memcpy(compiler->last, request, size);
    compiler->last[size] = 0;
    atomic_fetch_add(&compiler->requests, 1);
    compiler->done = done, compiler->context = context;
    if (!compiler->later) answer_to(compiler, done, context);
    return TW_OK;
}

tw_status tw_compiler_identity(tw_compiler *compiler, const char **out, tw_error *error)
{
    (void)compiler, (void)error;
    *out = "a double";
    return TW_OK;
}

/* ---- models ---- */

static const char fill_text[] = /* for (; i < n; i++) for (j = 0; j < m; j++) a[i * m + j] = 7; */
    "region \"fill#0\" func 0 at 0x10 exits-at-end exit 1\n"
    "symbol s0 i32 live-in 0\nsymbol s1 i32 live-in 1\nsymbol s2 i32 live-in 2\nsymbol s3 i32 header 3\n"
    "loop n0 trips e7 at 0x10\nloop n1 in n0 trips e8 at 0x20\n"
    "expr e0 = symbol s0\nexpr e1 = symbol s1\nexpr e2 = symbol s2\nexpr e3 = symbol s3\n"
    "expr e4 = const i32 1\nexpr e5 = const i32 4\nexpr e6 = i32.add e3 e4\n"
    "expr e7 = trips i32.lt_s e6 e4 e0\nexpr e8 = trips i32.lt_s e4 e4 e1\n"
    "expr e9 = i32.mul e1 e5\nexpr e10 = i32.mul e9 e3\nexpr e11 = i32.add e2 e10\n"
    "affine a0 i32 in n1 = e11 + e9 * n0 + e5 * n1\n"
    "access x0 i32.store a0 + 0 in n1 at 0x30\n"
    "value v0 = const i32 7\n"
    "header 3 i32 symbol s3 affine e4\n"
    "n0 {\n  n1 {\n    store x0 v0\n  }\n}\nend\n";

static const char add_text[] =
    "region \"add\" func 1 exits-at-end exit 1\n"
    "symbol s0 i32 live-in 0\nsymbol s1 i32 live-in 1\n"
    "value v0 = symbol s0\nvalue v1 = symbol s1\nvalue v2 = i32.add v0 v1\n"
    "output v2\nend\n";

static tw_model *parse(const char *text, size_t size)
{
    tw_model *model;
    tw_error error;
    if (tw_model_parse(text, tw_model_text_size(text, size), &model, &error)) fail_msg("%s at %llu", error.message, (unsigned long long)error.offset);
    return model;
}

static tw_model *parse_file(const char *name)
{
    char path[512];
    static char text[1 << 14];
    snprintf(path, sizeof path, "%s/models/%s.model", TW_TEST_DATA, name);
    FILE *file = fopen(path, "rb");
    assert_non_null(file);
    size_t size = fread(text, 1, sizeof text, file);
    fclose(file);
    return parse(text, size);
}

/* ---- kernels by hand; they find their numbers through the layout ---- */

static tw_layout layout;
static atomic_uint stop;
static double burn; /* seconds that an iteration in a kernel takes on top */

/* The dispatcher's clock is ours, by the linker's --wrap: what it measures, and so what it decides, is the same on any machine, however
 * busy. A look at it takes its time, a cell of a loop too; the rest is said with spend. */
enum { LOOK_NS = 40 };
#define GUEST_CELL 1e-9 /* seconds */
#define KERNEL_CELL 0.25e-9
static atomic_uint_least64_t clock_ps = UINT64_C(1000000000000);

uint64_t __wrap_tw_clock_now(void);
uint64_t __wrap_tw_clock_now(void)
{
    return atomic_fetch_add(&clock_ps, LOOK_NS * 1000) / 1000;
}

static void spend(double time)
{
    atomic_fetch_add(&clock_ps, (uint64_t)(time * 1e12));
}

static double true_seconds(void)
{
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return (double)t.tv_sec + (double)t.tv_nsec * 1e-9;
}

static int32_t saxpy_kernel(const tw_kernel_env *env, int64_t first, int64_t last)
{
    const uint64_t *x = env->args + layout.access[0], *y = env->args + layout.access[2];
    float a;
    spend((burn + KERNEL_CELL) * (double)(last - first));
    memcpy(&a, &env->args[layout.symbol[3]], 4);
    for (int64_t i = first; i < last; i++) {
        float u, v;
        memcpy(&u, env->memory + x[0] + x[1] * (uint64_t)i, 4);
        memcpy(&v, env->memory + y[0] + y[1] * (uint64_t)i, 4);
        v = a * u + v;
        memcpy(env->memory + y[0] + y[1] * (uint64_t)i, &v, 4);
    }
    return TW_KERNEL_DONE;
}

static int32_t fill_kernel(const tw_kernel_env *env, int64_t first, int64_t last)
{
    const int64_t *a = (const int64_t *)env->args + layout.access[0], *trips = (const int64_t *)env->args + layout.trips[1];
    for (int64_t i = first; i < last; i++) {
        spend(burn + KERNEL_CELL * (double)(trips[0] + trips[1] * i));
        for (int64_t j = 0; j < trips[0] + trips[1] * i; j++) memcpy(env->memory + a[0] + a[1] * i + a[2] * j, &(int32_t){7}, 4);
    }
    return TW_KERNEL_DONE;
}

static int32_t add_kernel(const tw_kernel_env *env, int64_t first, int64_t last)
{
    assert_int_equal(first, 0);
    assert_int_equal(last, 1);
    env->outputs[0] = (uint32_t)(env->args[layout.symbol[0]] + env->args[layout.symbol[1]]);
    return TW_KERNEL_DONE;
}

static int32_t refusing_kernel(const tw_kernel_env *env, int64_t first, int64_t last)
{
    return first >= 5 ? TW_KERNEL_OUT_OF_RANGE : fill_kernel(env, first, last < 5 ? last : 5) ? 0 : last <= 5 ? TW_KERNEL_DONE : TW_KERNEL_OUT_OF_RANGE;
}

static int32_t stopped_kernel(const tw_kernel_env *env, int64_t first, int64_t last)
{
    (void)first, (void)last;
    atomic_store((atomic_uint *)(uintptr_t)env->stop, 1);
    return TW_KERNEL_STOPPED;
}

/* ---- a world ---- */

typedef struct world {
    tw_model *model;
    tw_arena arena;
    tw_compiler compiler;
    tw_kcache *cache;
    tw_device *device;
    tw_program *program;
    tw_dispatch *dispatch;
    int64_t countdown; /* the guest's global */
    tw_answer answer;
    uint8_t *memory;
} world;

enum { MEMORY = 1 << 22 };

static void begin(world *w, tw_model *model, tw_kernel_entry kernel, tw_dispatch_mode mode, uint32_t threads, bool nested)
{
    memset(w, 0, sizeof *w);
    atomic_store(&stop, 0);
    burn = 0;
    w->model = model;
    tw_arena_init(&w->arena, 1 << 20);
    assert_true(tw_layout_make(model, &w->arena, &layout));
    w->compiler.kernel = kernel;
    w->compiler.info.outer_parallel = 1;
    w->memory = calloc(1, MEMORY);
    tw_kcache_options cache_options = {0};
    assert_int_equal(tw_kcache_new(&cache_options, &w->cache, NULL), TW_OK);
    assert_int_equal(tw_device_cpu_new(threads, &w->device, NULL), TW_OK);
    tw_dispatch_region region = {.model = model, .nested = nested, .whole_function = !model->loop_count};
    assert_int_equal(tw_program_new(&region, 1, &w->program, NULL), TW_OK);
    assert_true(tw_kcache_is_empty(w->cache));
    tw_dispatch_options options = {.mode = mode, .threads = threads, .tenant = 5, .cache = w->cache, .compiler = &w->compiler,
                                   .device = w->device, .stop = &stop};
    assert_int_equal(tw_dispatch_new(w->program, &options, &w->dispatch, NULL), TW_OK);
    assert_int_equal(tw_kcache_size(w->cache, 5), 1); /* before anything was compiled */
}

static void end(world *w)
{
    tw_dispatch_free(w->dispatch);
    tw_program_free(w->program);
    tw_device_close(w->device);
    tw_kcache_unref(w->cache);
    tw_arena_free(&w->arena);
    tw_model_free(w->model);
    free(w->memory);
}

static tw_region_stats stats_of(const world *w)
{
    tw_region_stats stats;
    tw_dispatch_stats(w->dispatch, 0, 0, &stats);
    return stats;
}

static void arrive(world *w, tw_raw *values)
{
    tw_dispatch_arrive(w->dispatch, 0, values, w->memory, MEMORY, &w->answer);
    assert_true(w->answer.countdown >= 1);
    w->countdown = (int64_t)w->answer.countdown;
}

/* The guest's fill: i32 upper halves are garbage, as the engine leaves them. */
static tw_raw garbled(uint32_t value)
{
    return (tw_raw){.bits = value | UINT64_C(0xDEAD) << 48};
}

static uint64_t guest_fill(world *w, uint32_t n, uint32_t m, uint32_t base, double per_row)
{
    uint32_t i = 0;
    uint64_t rows_by_guest = 0;
    bool ask = --w->countdown <= 0;
    for (;;) {
        if (ask) {
            tw_raw values[5] = {garbled(n), garbled(m), garbled(base), garbled(i)};
            arrive(w, values);
            if (w->answer.outcome == TW_OUTCOME_STOPPED) return rows_by_guest;
            i = (uint32_t)values[1].bits;
            if (w->answer.outcome == TW_OUTCOME_LEFT) {
                assert_int_equal(w->answer.exit, 1);
                return rows_by_guest;
            }
            assert_int_equal(w->answer.outcome, TW_OUTCOME_GO_ON);
        }
        for (ask = false; !ask;) {
            if (w->countdown <= 0) {
                ask = true;
                break;
            }
            w->countdown--;
            for (uint32_t j = 0; j < m; j++) memcpy(w->memory + base + 4 * (i * m + j), &(int32_t){7}, 4);
            spend(per_row + GUEST_CELL * m);
            rows_by_guest++;
            if (++i >= n) return rows_by_guest;
        }
    }
}

static void assert_filled(world *w, uint32_t cells, uint32_t base)
{
    for (uint32_t k = 0; k < cells; k++) {
        int32_t cell;
        memcpy(&cell, w->memory + base + 4 * k, 4);
        assert_int_equal(cell, 7);
    }
    for (uint32_t k = 0; k < 64; k++) assert_int_equal(w->memory[base + 4 * cells + k], 0);
    memset(w->memory, 0, MEMORY);
}

/* ---- tests ---- */

static void a_forced_nest_is_done_by_the_kernel(void **state)
{
    (void)state;
    for (uint32_t threads = 1; threads <= 2; threads++) {
        world w;
        begin(&w, parse(fill_text, sizeof fill_text - 1), fill_kernel, TW_DISPATCH_FORCE, threads, true);
        for (int k = 0; k < 100; k++) {
            assert_int_equal(guest_fill(&w, 100, 33, 1024, 0), 0);
            assert_filled(&w, 3300, 1024);
        }
        tw_region_stats stats = stats_of(&w);
        assert_int_equal(stats.arrivals, 100);
        assert_int_equal(stats.dispatches, 100);
        assert_int_equal(stats.kernel_iterations, 330000);
        assert_int_equal(stats.original_iterations, 0);
        assert_string_equal(stats.schedule, "by hand");
        assert_int_equal(w.compiler.requests, 1);
        assert_non_null(strstr(w.compiler.last, "fact parallel n0"));
        assert_non_null(strstr(w.compiler.last, "fact stride x0 n1 unit"));
        end(&w);
    }
}

static void the_last_iteration_is_the_guests_where_a_live_out_is_unknown(void **state)
{
    (void)state;
    world w;
    begin(&w, parse_file("saxpy"), saxpy_kernel, TW_DISPATCH_FORCE, 2, false);
    const uint32_t n = 1000, x = 4096, y = 65536;
    float *xs = (float *)(w.memory + x), *ys = (float *)(w.memory + y);
    for (uint32_t i = 0; i < n; i++) xs[i] = (float)i, ys[i] = 1;
    float a = 2;
    uint32_t bits;
    memcpy(&bits, &a, 4);
    tw_raw values[6] = {garbled(n), garbled(x), garbled(y), garbled(bits), garbled(0)};
    arrive(&w, values);
    assert_int_equal(w.answer.outcome, TW_OUTCOME_GO_ON);
    assert_int_equal((uint32_t)values[1].bits, n - 1);
    for (uint32_t i = 0; i < n; i++) assert_true(ys[i] == (i < n - 1 ? 2 * (float)i + 1 : 1));
    tw_region_stats stats = stats_of(&w);
    assert_int_equal(stats.kernel_iterations, n - 1);
    assert_int_equal(stats.original_iterations, 1);
    end(&w);
}

static void overlapping_arrays_are_refused_with_both_places(void **state)
{
    (void)state;
    world w;
    begin(&w, parse_file("saxpy"), saxpy_kernel, TW_DISPATCH_FORCE, 1, false);
    tw_raw values[6] = {garbled(100), garbled(4096), garbled(4100), garbled(0), garbled(3)};
    arrive(&w, values);
    assert_int_equal(w.answer.outcome, TW_OUTCOME_GO_ON);
    assert_int_equal(w.answer.countdown, 1);
    assert_int_equal((uint32_t)values[1].bits, 3);
    tw_region_stats stats = stats_of(&w);
    assert_int_equal(stats.refusals[TW_REFUSAL_DEPENDENCE], 1);
    assert_int_equal(stats.dispatches, 0);
    assert_int_equal(stats.original_iterations, 96); /* 97, the last of which a kernel couldn't have done */
    assert_non_null(strstr(stats.last_detail, "0x110"));
    assert_non_null(strstr(stats.last_detail, "0x118"));
    assert_non_null(strstr(stats.last_detail, "1 iteration apart"));
    tw_raw outside[6] = {garbled(100), garbled(MEMORY - 8), garbled(4096), garbled(0), garbled(0)};
    arrive(&w, outside);
    assert_int_equal(stats_of(&w).refusals[TW_REFUSAL_BOUNDS], 1);
    end(&w);
}

/* On-stack replacement: what the guest did and what the kernel did add up to the whole, exactly. */
static void a_kernel_that_becomes_ready_takes_over_in_mid_loop(void **state)
{
    (void)state;
    world w;
    begin(&w, parse(fill_text, sizeof fill_text - 1), fill_kernel, TW_DISPATCH_AUTO, 2, true);
    w.compiler.later = true;
    const uint32_t n = 1000, m = 1000;
    uint32_t i = 0;
    for (;;) { /* guest_fill, with a compiler that takes 300 rows */
        tw_raw values[5] = {garbled(n), garbled(m), garbled(64), garbled(i)};
        arrive(&w, values);
        assert_int_equal((uint32_t)values[1].bits, w.answer.outcome == TW_OUTCOME_LEFT ? n : i);
        if (w.answer.outcome == TW_OUTCOME_LEFT) break;
        for (uint32_t k = 0; k < w.answer.countdown && i < n; k++, i++) {
            for (uint32_t j = 0; j < m; j++) memcpy(w.memory + 64 + 4 * (i * m + j), &(int32_t){7}, 4);
            spend(GUEST_CELL * m);
        }
        assert_true(i < n);
        if (i > 300 && w.compiler.done) answer(&w.compiler);
    }
    assert_filled(&w, n * m, 64);
    tw_region_stats stats = stats_of(&w);
    assert_int_equal(stats.kernel_iterations + stats.original_iterations, n * m);
    assert_int_equal(stats.original_iterations, i * m);
    assert_in_range(i, 301, 900);
    assert_true(stats.refusals[TW_REFUSAL_NOT_YET] > 1);
    assert_int_equal(w.compiler.requests, 1);
    end(&w);
}

static void what_the_compiler_refuses_runs_on_in_the_original(void **state)
{
    (void)state;
    for (int auto_mode = 0; auto_mode < 2; auto_mode++) {
        world w;
        begin(&w, parse(fill_text, sizeof fill_text - 1), fill_kernel, auto_mode ? TW_DISPATCH_AUTO : TW_DISPATCH_FORCE, 1, true);
        w.compiler.status = TW_REFUSED;
        assert_int_equal(guest_fill(&w, 1000, 1000, 64, 0), 1000);
        assert_filled(&w, 1000 * 1000, 64);
        tw_region_stats stats = stats_of(&w);
        assert_true(stats.refusals[TW_REFUSAL_COMPILE] >= 1);
        assert_non_null(strstr(stats.last_detail, "planted"));
        assert_int_equal(w.compiler.requests, 1);
        assert_int_equal(stats.original_iterations, 1000 * 1000);
        if (auto_mode) assert_true(stats.arrivals < 200);
        end(&w);
    }
}

/* A kernel whose own check fails: what it did stands, the rest is the guest's, and it is never asked again. */
static void a_kernel_out_of_range_switches_the_region_off(void **state)
{
    (void)state;
    world w;
    begin(&w, parse(fill_text, sizeof fill_text - 1), refusing_kernel, TW_DISPATCH_FORCE, 1, true);
    assert_int_equal(guest_fill(&w, 100, 50, 64, 0), 100);
    assert_filled(&w, 5000, 64);
    assert_true(w.answer.rest == UINT64_MAX);
    assert_int_equal(stats_of(&w).refusals[TW_REFUSAL_INTERNAL], 1);
    assert_int_equal(guest_fill(&w, 100, 50, 64, 0), 100);
    assert_int_equal(stats_of(&w).arrivals, 1);
    end(&w);
}

static void a_stop_in_mid_kernel_tears_the_instance(void **state)
{
    (void)state;
    world w;
    begin(&w, parse(fill_text, sizeof fill_text - 1), stopped_kernel, TW_DISPATCH_FORCE, 2, true);
    guest_fill(&w, 100, 50, 64, 0);
    assert_int_equal(w.answer.outcome, TW_OUTCOME_STOPPED);
    end(&w);
}

static void a_whole_function_is_answered_by_its_kernel(void **state)
{
    (void)state;
    world w;
    begin(&w, parse(add_text, sizeof add_text - 1), add_kernel, TW_DISPATCH_AUTO, 2, false);
    for (int k = 0; k < 50; k++) {
        tw_raw values[3] = {garbled(7), garbled(5)};
        arrive(&w, values);
        assert_int_equal(w.answer.outcome, TW_OUTCOME_LEFT);
        assert_int_equal((uint32_t)values[1].bits, 12);
    }
    assert_int_equal(stats_of(&w).dispatches, 50);
    w.compiler.status = TW_REFUSED; /* known kernels stay */
    tw_raw values[3] = {garbled(1), garbled(2)};
    arrive(&w, values);
    assert_int_equal((uint32_t)values[1].bits, 3);
    end(&w);
    begin(&w, parse(add_text, sizeof add_text - 1), add_kernel, TW_DISPATCH_AUTO, 2, false);
    w.compiler.status = TW_REFUSED;
    arrive(&w, values);
    assert_int_equal(w.answer.outcome, TW_OUTCOME_TRAP);
    end(&w);
}

static void echo_and_trap_compile_nothing(void **state)
{
    (void)state;
    for (int kind = TW_DISPATCH_ECHO; kind <= TW_DISPATCH_TRAP; kind++)
        for (int loops = 0; loops < 2; loops++) {
            world w;
            tw_model *model = loops ? parse(fill_text, sizeof fill_text - 1) : parse(add_text, sizeof add_text - 1);
            begin(&w, model, add_kernel, TW_DISPATCH_AUTO, 1, loops);
            tw_dispatch_options options = {.kind = (tw_dispatch_kind)kind, .threads = 1, .cache = w.cache, .compiler = &w.compiler, .stop = &stop};
            tw_dispatch_free(w.dispatch);
            assert_int_equal(tw_dispatch_new(w.program, &options, &w.dispatch, NULL), TW_OK);
            tw_raw values[5] = {garbled(7), garbled(5), garbled(0), garbled(9)};
            arrive(&w, values);
            assert_int_equal(w.answer.outcome, kind == TW_DISPATCH_TRAP ? TW_OUTCOME_TRAP : loops ? TW_OUTCOME_GO_ON : TW_OUTCOME_LEFT);
            if (kind == TW_DISPATCH_ECHO) assert_int_equal((uint32_t)values[1].bits, loops ? 9 : 7);
            assert_int_equal(w.compiler.requests, 0);
            end(&w);
        }
}

/* ---- not worth it ---- */

static void a_losing_region_is_asked_less_and_less(void **state)
{
    (void)state;
    world w;
    begin(&w, parse_file("saxpy"), saxpy_kernel, TW_DISPATCH_AUTO, 2, false);
    uint64_t entries = 0;
    w.countdown = 0;
    for (; entries < 1000000; entries++) { /* tiny loops, each on other data */
        if (--w.countdown > 0) continue;
        tw_raw values[6] = {garbled(4), garbled(4096 + 4 * ((uint32_t)entries % 1000)), garbled(65536), garbled(0), garbled(0)};
        arrive(&w, values);
        assert_int_equal(w.answer.outcome, TW_OUTCOME_GO_ON);
    }
    tw_region_stats stats = stats_of(&w);
    print_message("a million entries asked %llu times\n", (unsigned long long)stats.arrivals);
    assert_true(stats.arrivals < 2000);
    assert_int_equal(stats.refusals[TW_REFUSAL_FEW], stats.arrivals);
    assert_int_equal(w.compiler.requests, 0);
    end(&w);
}

/* Thousands of small matrices: what is measured between two questions of one is mostly the questions themselves. */
static void a_nest_shorter_than_a_question_stays_in_the_original(void **state)
{
    (void)state;
    world w;
    begin(&w, parse(fill_text, sizeof fill_text - 1), fill_kernel, TW_DISPATCH_AUTO, 1, true);
    for (int k = 0; k < 200000; k++) guest_fill(&w, 4, 4, 64, 0);
    assert_filled(&w, 16, 64);
    tw_region_stats stats = stats_of(&w);
    print_message("brief nest: %llu arrivals, %llu runs\n", (unsigned long long)stats.arrivals, (unsigned long long)stats.dispatches);
    assert_true(stats.arrivals < 2000);
    assert_true(stats.dispatches < 20);
    end(&w);
}

/* The same numbers each time, longer than a question by far but shorter than what the first one cost. */
static void numbers_that_come_again_are_no_strangers(void **state)
{
    (void)state;
    world w;
    begin(&w, parse(fill_text, sizeof fill_text - 1), fill_kernel, TW_DISPATCH_AUTO, 1, true);
    for (int k = 0; k < 10000; k++) guest_fill(&w, 20, 50, 64, 300e-9);
    assert_filled(&w, 1000, 64);
    tw_region_stats stats = stats_of(&w);
    print_message("same numbers: %llu arrivals, %llu runs, %llu times refused as slower, %llu as few (%s)\n", (unsigned long long)stats.arrivals,
                  (unsigned long long)stats.dispatches, (unsigned long long)stats.refusals[TW_REFUSAL_SLOWER],
                  (unsigned long long)stats.refusals[TW_REFUSAL_FEW], stats.last_detail);
    assert_true(stats.dispatches > 5000);
    end(&w);
}

/* Rows that leave the memory, again and again; then good ones. */
static void a_function_rests_once_its_region_loses_for_long(void **state)
{
    (void)state;
    for (int forced = 0; forced < 2; forced++) {
        world w;
        begin(&w, parse(fill_text, sizeof fill_text - 1), fill_kernel, forced ? TW_DISPATCH_FORCE : TW_DISPATCH_AUTO, 1, true);
        tw_raw bad[5] = {garbled(4000), garbled(4000), garbled(64), garbled(0)};
        int asked = 0;
        do {
            tw_raw values[5];
            memcpy(values, bad, sizeof values);
            arrive(&w, values);
        } while (!w.answer.rest && ++asked < 1000);
        assert_int_equal(stats_of(&w).dispatches, 0);
        if (forced) {
            assert_int_equal(asked, 1000);
        } else {
            assert_in_range(asked, 5, 50);
            assert_in_range(w.answer.rest, 1000000, 100000000);
            uint64_t before = stats_of(&w).original_iterations;
            tw_dispatch_rests(w.dispatch, 0, 100);
            arrive(&w, memcpy((tw_raw[5]){{0}}, bad, sizeof bad));
            assert_true(stats_of(&w).original_iterations >= before + 99 * 4000ull * 4000);
            assert_true(w.answer.rest > 0);
        }
        w.countdown = 0;
        for (int k = 0; k < 300 && !stats_of(&w).dispatches; k++) guest_fill(&w, 300, 100, 64, 2e-6);
        assert_true(stats_of(&w).dispatches > 0);
        assert_int_equal(w.answer.rest, 0);
        end(&w);
    }
}

static void a_kernel_slower_than_the_original_is_dropped(void **state)
{
    (void)state;
    world w;
    begin(&w, parse(fill_text, sizeof fill_text - 1), fill_kernel, TW_DISPATCH_AUTO, 1, true);
    burn = 50e-6;
    for (int k = 0; k < 300; k++) {
        guest_fill(&w, 64, 100, 64, 2e-6);
        assert_filled(&w, 6400, 64);
    }
    tw_region_stats stats = stats_of(&w);
    print_message("slow kernel: %llu runs, %llu times refused as slower, %llu arrivals\n", (unsigned long long)stats.dispatches,
                  (unsigned long long)stats.refusals[TW_REFUSAL_SLOWER], (unsigned long long)stats.arrivals);
    assert_true(stats.refusals[TW_REFUSAL_SLOWER] > 0);
    assert_true(stats.dispatches < 60);
    end(&w);
}

static void a_faster_one_is_kept_and_remembered(void **state)
{
    (void)state;
    world w;
    begin(&w, parse(fill_text, sizeof fill_text - 1), fill_kernel, TW_DISPATCH_AUTO, 1, true);
    uint64_t by_guest = 0;
    for (int k = 0; k < 300; k++) {
        by_guest += guest_fill(&w, 64, 100, 64, 20e-6);
        assert_filled(&w, 6400, 64);
    }
    tw_region_stats stats = stats_of(&w);
    print_message("fast kernel: %llu runs, %llu of %u rows by the guest\n", (unsigned long long)stats.dispatches,
                  (unsigned long long)by_guest, 64 * 300);
    assert_int_equal(stats.refusals[TW_REFUSAL_SLOWER], 0);
    assert_true(by_guest < 64 * 300 / 10);
    tw_region_id id;
    tw_bytes text = {0};
    tw_model_print(w.model, &text);
    tw_region_identify(text.data, text.size, &id);
    tw_bytes_free(&text);
    tw_dispatch_free(w.dispatch);
    bool learned = false;
    tw_learned row;
    for (uint32_t c = 0; c < 64; c++) learned |= tw_kcache_recall(w.cache, 5, &id, c, &row) && row.original > row.one && row.one > 0;
    assert_true(learned);
    tw_dispatch_options options = {.threads = 1, .tenant = 5, .cache = w.cache, .compiler = &w.compiler, .device = w.device, .stop = &stop};
    assert_int_equal(tw_dispatch_new(w.program, &options, &w.dispatch, NULL), TW_OK);
    end(&w);
}

/* A one-level loop in surroundings that take 30 us: only turn and gap tell what the loop itself takes. */
static void a_one_level_loop_is_judged_without_its_surroundings(void **state)
{
    (void)state;
    for (int slow = 0; slow < 2; slow++) {
        world w;
        begin(&w, parse_file("saxpy"), saxpy_kernel, TW_DISPATCH_AUTO, 1, false);
        burn = slow ? 120e-9 : 0;
        int by_guest = 0;
        for (int k = 0; k < 1500; k++) {
            spend(30e-6);
            bool mine = true;
            if (--w.countdown <= 0) {
                tw_raw values[6] = {garbled(1000), garbled(4096), garbled(65536), garbled(0), garbled(0)};
                arrive(&w, values);
                mine = (uint32_t)values[1].bits == 0;
            }
            if (mine) spend(60e-6), by_guest++;
        }
        tw_region_stats stats = stats_of(&w);
        print_message("one level, kernel %s: %llu runs, %d entries by the guest, refused as slower %llu times\n", slow ? "slow" : "fast",
                      (unsigned long long)stats.dispatches, by_guest, (unsigned long long)stats.refusals[TW_REFUSAL_SLOWER]);
        if (slow) assert_true(stats.refusals[TW_REFUSAL_SLOWER] > 0 && by_guest > 1000);
        else assert_true(stats.refusals[TW_REFUSAL_SLOWER] == 0 && by_guest < 300);
        end(&w);
    }
}

/* ---- variants ---- */

static void one_kernel_serves_many_sizes(void **state)
{
    (void)state;
    world w;
    begin(&w, parse(fill_text, sizeof fill_text - 1), fill_kernel, TW_DISPATCH_FORCE, 1, true);
    for (uint32_t n = 70; n < 170; n++) {
        assert_int_equal(guest_fill(&w, n, n + 1, 64, 0), 0);
        assert_filled(&w, n * (n + 1), 64);
    }
    assert_int_equal(w.compiler.requests, 1);
    end(&w);
}

static int32_t nothing_kernel(const tw_kernel_env *env, int64_t first, int64_t last)
{
    (void)env, (void)first, (void)last;
    return TW_KERNEL_DONE;
}

/* Each instance on a thread of its own, with memory of its own; program, cache, compiler and CPU are shared. */
typedef struct shared_guest {
    world w;
    pthread_t thread;
} shared_guest;

static void *fill_often(void *context)
{
    shared_guest *g = context;
    for (int k = 0; k < 100; k++) guest_fill(&g->w, 64, 200, 64, 0);
    return NULL;
}

static void instances_share_what_is_a_modules(void **state)
{
    (void)state;
    static shared_guest guests[4];
    world w;
    begin(&w, parse(fill_text, sizeof fill_text - 1), fill_kernel, TW_DISPATCH_FORCE, 3, true);
    tw_dispatch_options options = {.mode = TW_DISPATCH_FORCE, .threads = 3, .tenant = 5, .cache = w.cache, .compiler = &w.compiler,
                                   .device = w.device, .stop = &stop};
    for (int i = 0; i < 4; i++) {
        guests[i].w = (world){.memory = calloc(1, MEMORY)};
        assert_int_equal(tw_dispatch_new(w.program, &options, &guests[i].w.dispatch, NULL), TW_OK);
        assert_int_equal(pthread_create(&guests[i].thread, NULL, fill_often, &guests[i]), 0);
    }
    for (int i = 0; i < 4; i++) {
        pthread_join(guests[i].thread, NULL);
        assert_int_equal(stats_of(&guests[i].w).kernel_iterations, 100 * 64 * 200);
        assert_filled(&guests[i].w, 64 * 200, 64);
        tw_dispatch_free(guests[i].w.dispatch);
        free(guests[i].w.memory);
    }
    assert_int_equal(w.compiler.requests, 1);
    assert_int_equal(tw_kcache_size(w.cache, 5), 1);
    end(&w);
}

/* For the figures; the bound is loose, and the best of many short rounds must keep it. */
static void a_repeated_dispatch_is_cheap(void **state)
{
    (void)state;
    world w;
    begin(&w, parse(fill_text, sizeof fill_text - 1), nothing_kernel, TW_DISPATCH_FORCE, 1, true);
    enum { TIMES = 2000, ROUNDS = 50 };
    for (int fresh = 0; fresh < 2; fresh++) {
        double best = 1;
        for (int round = 0; round < ROUNDS; round++) {
            double start = true_seconds();
            for (uint32_t k = 0; k < TIMES; k++) {
                tw_raw values[5] = {garbled(8), garbled(8), garbled(fresh ? 4 * k : 64), garbled(0)};
                arrive(&w, values);
            }
            double each = (true_seconds() - start) / TIMES;
            if (each < best) best = each;
        }
        print_message("dispatch of nothing, numbers %s: %.0f ns\n", fresh ? "new each time" : "unchanged", best * 1e9);
        assert_true(best < (fresh ? 50e-6 : 2e-6));
    }
    end(&w);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_forced_nest_is_done_by_the_kernel),
        cmocka_unit_test(the_last_iteration_is_the_guests_where_a_live_out_is_unknown),
        cmocka_unit_test(overlapping_arrays_are_refused_with_both_places),
        cmocka_unit_test(a_kernel_that_becomes_ready_takes_over_in_mid_loop),
        cmocka_unit_test(what_the_compiler_refuses_runs_on_in_the_original),
        cmocka_unit_test(a_kernel_out_of_range_switches_the_region_off),
        cmocka_unit_test(a_stop_in_mid_kernel_tears_the_instance),
        cmocka_unit_test(a_whole_function_is_answered_by_its_kernel),
        cmocka_unit_test(echo_and_trap_compile_nothing),
        cmocka_unit_test(a_losing_region_is_asked_less_and_less),
        cmocka_unit_test(a_nest_shorter_than_a_question_stays_in_the_original),
        cmocka_unit_test(numbers_that_come_again_are_no_strangers),
        cmocka_unit_test(a_function_rests_once_its_region_loses_for_long),
        cmocka_unit_test(a_kernel_slower_than_the_original_is_dropped),
        cmocka_unit_test(a_faster_one_is_kept_and_remembered),
        cmocka_unit_test(a_one_level_loop_is_judged_without_its_surroundings),
        cmocka_unit_test(one_kernel_serves_many_sizes),
        cmocka_unit_test(instances_share_what_is_a_modules),
        cmocka_unit_test(a_repeated_dispatch_is_cheap),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
