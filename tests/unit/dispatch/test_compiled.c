/* SPDX-License-Identifier: Apache-2.0 */
/* Dispatch with the real compile worker: kernels on one and on two threads leave the same bytes as plain C loops; a second
 * instance with the same cache folder needs no worker. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include <cmocka.h>

#include "device/device.h"
#include "dispatch/dispatch.h"
#include "kcache/kcache.h"

#define WORKER TW_TEST_BIN "/libexec/tensorwasm/tensor-wasm-compile"
enum { MEMORY = 16 << 20 };

static char folder[64];
static atomic_uint stop;

static double seconds(void)
{
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return (double)t.tv_sec + (double)t.tv_nsec * 1e-9;
}

typedef struct world {
    tw_model *model;
    tw_compiler *compiler;
    tw_kcache *cache;
    tw_device *device;
    tw_program *program;
    tw_dispatch *dispatch;
    tw_answer answer;
    uint8_t *memory, *expected;
} world;

static tw_model *parse_file(const char *name)
{
    char path[512];
    static char text[1 << 14];
    tw_model *model;
    tw_error error;
    snprintf(path, sizeof path, "%s/models/%s.model", TW_TEST_DATA, name);
    FILE *file = fopen(path, "rb");
    assert_non_null(file);
    size_t size = fread(text, 1, sizeof text, file);
    fclose(file);
    if (tw_model_parse(text, tw_model_text_size(text, size), &model, &error)) fail_msg("%s", error.message);
    return model;
}

static void begin(world *w, const char *model, const char *worker, const char *directory, uint32_t threads, bool nested)
{
    memset(w, 0, sizeof *w);
    w->model = parse_file(model);
    tw_compiler_options compiler = {.worker_path = worker};
    tw_kcache_options cache = {.directory = directory};
    tw_dispatch_region region = {.model = w->model, .nested = nested};
    assert_int_equal(tw_compiler_new(&compiler, &w->compiler, NULL), TW_OK);
    assert_int_equal(tw_kcache_new(&cache, &w->cache, NULL), TW_OK);
    assert_int_equal(tw_device_cpu_new(threads, &w->device, NULL), TW_OK);
    assert_int_equal(tw_program_new(&region, 1, &w->program, NULL), TW_OK);
    tw_dispatch_options options = {.mode = TW_DISPATCH_FORCE, .threads = threads, .cache = w->cache, .compiler = w->compiler,
                                   .device = w->device, .stop = &stop};
    assert_int_equal(tw_dispatch_new(w->program, &options, &w->dispatch, NULL), TW_OK);
    w->memory = malloc(MEMORY), w->expected = malloc(MEMORY);
    for (size_t i = 0; i < MEMORY; i++) w->memory[i] = (uint8_t)(i * 2654435761u >> 13);
    /* Numbers of moderate size: the exponent's top byte of every double. */
    for (size_t i = 7; i < MEMORY; i += 8) w->memory[i] = 0x3F;
    memcpy(w->expected, w->memory, MEMORY);
}

static void end(world *w)
{
    tw_dispatch_free(w->dispatch);
    tw_program_free(w->program);
    tw_device_close(w->device);
    tw_compiler_free(w->compiler);
    tw_kcache_unref(w->cache);
    tw_model_free(w->model);
    free(w->memory);
    free(w->expected);
}

static void arrive(world *w, tw_raw *values)
{
    double start = seconds();
    tw_dispatch_arrive(w->dispatch, 0, values, w->memory, MEMORY, &w->answer);
    tw_region_stats stats;
    tw_dispatch_stats(w->dispatch, 0, 0, &stats);
    if (!stats.dispatches) fail_msg("%s", stats.last_detail);
    print_message("%s, %u threads: %.2f ms in all, %.2f ms in the kernel (%s)\n", w->model->name, stats.threads, (seconds() - start) * 1e3,
                  stats.kernel_seconds * 1e3, stats.schedule);
}

static tw_raw raw_f64(double value)
{
    tw_raw raw = {0};
    memcpy(&raw.bits, &value, 8);
    return raw;
}

static void check_gemm(world *w, uint32_t n, uint32_t m, uint32_t k)
{
    const uint32_t C = 64, A = 4 << 20, B = 8 << 20;
    double alpha = 1.5, beta = 0.75, *c = (double *)(w->expected + C), *a = (double *)(w->expected + A), *b = (double *)(w->expected + B);
    tw_raw values[9] = {{.bits = n}, {.bits = m}, {.bits = k}, raw_f64(alpha), raw_f64(beta), {.bits = C}, {.bits = A}, {.bits = B}};
    arrive(w, values);
    assert_int_equal(w->answer.outcome, TW_OUTCOME_LEFT);
    for (uint32_t i = 0; i < n; i++) {
        for (uint32_t j = 0; j < m; j++) c[i * m + j] *= beta;
        for (uint32_t l = 0; l < k; l++)
            for (uint32_t j = 0; j < m; j++) c[i * m + j] += alpha * a[i * k + l] * b[l * m + j];
    }
    assert_memory_equal(w->memory, w->expected, MEMORY);
}

static void a_matrix_product_has_the_same_bytes(void **state)
{
    (void)state;
    for (uint32_t threads = 1; threads <= 2; threads++) {
        world w;
        begin(&w, "gemm", WORKER, NULL, threads, true);
        check_gemm(&w, 200, 210, 190);
        check_gemm(&w, 65, 67, 63);
        check_gemm(&w, 200, 210, 190);
        end(&w);
    }
}

static void a_matrix_times_a_vector_has_the_same_bytes(void **state)
{
    (void)state;
    for (uint32_t threads = 1; threads <= 2; threads++) {
        world w;
        begin(&w, "matvec", WORKER, NULL, threads, true);
        const uint32_t n = 500, m = 700, A = 64, x = 8 << 20, y = 9 << 20;
        double *a = (double *)(w.expected + A), *v = (double *)(w.expected + x), *r = (double *)(w.expected + y);
        tw_raw values[6] = {{.bits = n}, {.bits = m}, {.bits = A}, {.bits = x}, {.bits = y}};
        arrive(&w, values);
        assert_int_equal(w.answer.outcome, TW_OUTCOME_LEFT);
        for (uint32_t i = 0; i < n; i++) {
            double sum = 0;
            for (uint32_t j = 0; j < m; j++) sum += a[i * m + j] * v[j];
            r[i] = sum;
        }
        assert_memory_equal(w.memory, w.expected, MEMORY);
        end(&w);
    }
}

static void check_saxpy(world *w)
{
    const uint32_t n = 100000, x = 64, y = 1 << 20;
    float scale = 1.25f, *xs = (float *)(w->expected + x), *ys = (float *)(w->expected + y);
    uint32_t bits;
    memcpy(&bits, &scale, 4);
    tw_raw values[6] = {{.bits = n}, {.bits = x}, {.bits = y}, {.bits = bits}, {.bits = 0}};
    arrive(w, values);
    assert_int_equal(w->answer.outcome, TW_OUTCOME_GO_ON);
    assert_int_equal(values[1].bits, n - 1);
    for (uint32_t i = 0; i < n - 1; i++) {
        float product = scale * xs[i];
        ys[i] = ys[i] + product;
    }
    for (uint32_t i = 0; i < MEMORY; i += 4) { /* NaNs are equal whatever their payload */
        float a, b;
        memcpy(&a, w->memory + i, 4);
        memcpy(&b, w->expected + i, 4);
        if (a == a || b == b) assert_memory_equal(w->memory + i, w->expected + i, 4);
    }
}

static void the_second_instance_finds_the_kernel_on_disk(void **state)
{
    (void)state;
    for (int round = 0; round < 2; round++) {
        world w;
        begin(&w, "saxpy", WORKER, folder, 2, false);
        check_saxpy(&w);
        tw_kcache_stats stats;
        tw_kcache_get_stats(w.cache, &stats);
        assert_int_equal(stats.disk_hits, round);
        assert_int_equal(stats.misses, !round);
        end(&w);
    }
}

static void without_a_worker_the_original_runs_and_the_report_says_why(void **state)
{
    (void)state;
    world w;
    begin(&w, "saxpy", "/nonexistent/worker", NULL, 1, false);
    tw_raw values[6] = {{.bits = 1000}, {.bits = 64}, {.bits = 1 << 20}, {.bits = 0}, {.bits = 3}};
    tw_dispatch_arrive(w.dispatch, 0, values, w.memory, MEMORY, &w.answer);
    assert_int_equal(w.answer.outcome, TW_OUTCOME_GO_ON);
    assert_int_equal((uint32_t)values[1].bits, 3);
    tw_region_stats stats;
    tw_dispatch_stats(w.dispatch, 0, 0, &stats);
    assert_int_equal(stats.refusals[TW_REFUSAL_COMPILE], 1);
    assert_true(strlen(stats.last_detail) > 10);
    assert_memory_equal(w.memory, w.expected, MEMORY);
    end(&w);
}

static int make_folder(void **state)
{
    (void)state;
    strcpy(folder, "/tmp/tw-dispatch-XXXXXX");
    return mkdtemp(folder) ? 0 : -1;
}

static int remove_folder(void **state)
{
    (void)state;
    char command[128];
    snprintf(command, sizeof command, "rm -rf %s", folder);
    return system(command);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_matrix_product_has_the_same_bytes),
        cmocka_unit_test(a_matrix_times_a_vector_has_the_same_bytes),
        cmocka_unit_test_setup_teardown(the_second_instance_finds_the_kernel_on_disk, make_folder, remove_folder),
        cmocka_unit_test(without_a_worker_the_original_runs_and_the_report_says_why),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
