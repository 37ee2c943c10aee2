/* SPDX-License-Identifier: Apache-2.0 */

/* Real programs, end to end: each guest at several sizes and with several kinds of data, in its original form, in kernels
 * on one thread and on several, with canonical NaNs and without.
 *
 *   equal        results, traps and the whole memory are the original's
 *   native       where no NaN is about, the original's are what the same source does when it is compiled for this machine
 *   in kernels   guests that are parallel run at least 99 % of their iterations in kernels, by the report
 *   refused      guests that must stay serial name the reason in the inspection or the report, and run nothing in kernels
 *
 *   suite FOLDER LEVEL [NAME]     FOLDER/LEVEL holds the programs, FOLDER/native their native form; NAME: only guests whose name
 *                                 contains it */

#include <inttypes.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "harness.h"

static const run_mode modes[] = {
    {"original", TW_OFFLOAD_OFF, 1, false},
    {"kernels, 1 thread", TW_OFFLOAD_FORCE, 1, false},
    {"kernels, 3 threads", TW_OFFLOAD_FORCE, 3, false},
    {"original, canonical NaN", TW_OFFLOAD_OFF, 1, true},
    {"kernels, canonical NaN, 1 thread", TW_OFFLOAD_FORCE, 1, true},
    {"kernels, canonical NaN, 3 threads", TW_OFFLOAD_FORCE, 3, true},
};
enum { MODES = sizeof modes / sizeof *modes };

static const uint32_t sizes[] = {0, 1, 2, 3, 63, 64, 65, 1000};
enum { SIZES = sizeof sizes / sizeof *sizes, DATAS = 3, MATRIX_LIMIT = 130 };

/* Below ENOUGH iterations a loop may well be over before a kernel could start. LEFTOVER: a remainder loop of one iteration
 * depends on nothing, whatever the loop before it did; and a loop's last iteration may be left to the guest. */
enum { ENOUGH = 60, LEFTOVER = 3 };

typedef struct suite {
    const char *folder, *level, *only;
    run_outcome *originals; /* of the last mode without offload: [guest][size][data] */
    unsigned checks, failures;
} suite;

static void check(suite *s, bool holds, const char *format, ...) __attribute__((format(printf, 3, 4)));
static void check(suite *s, bool holds, const char *format, ...)
{
    s->checks++;
    if (holds) return;
    s->failures++;
    va_list args;
    va_start(args, format);
    printf("not ok: ");
    vprintf(format, args);
    printf("\n");
    va_end(args);
}

/* Programs on matrices take the side from n: a thousand would be minutes of work. */
static uint32_t size_for(const guest *which, uint32_t n)
{
    bool linear = which->bench_size > 10000 || strcmp(which->name, "box blur") == 0;
    return linear || n <= MATRIX_LIMIT ? n : MATRIX_LIMIT;
}

static void check_report(suite *s, const guest *which, uint32_t n, const guest_call *call, const tw_module *module,
                         const tw_instance *instance, const char *what)
{
    report_totals totals;
    check(s, harness_report(instance, &totals), "%s: the report can't be read", what);
    if (which->refusal) {
        check(s, totals.kernel_iterations <= LEFTOVER, "%s: %" PRIu64 " iterations ran in kernels", what,
              totals.kernel_iterations);
        if (call->iterations >= ENOUGH)
            check(s, harness_refused(module, &totals, which->export, which->refusal),
                  "%s: expected refusal %s, have %s", what, which->refusal, totals.refusals);
        return;
    }
    if (call->iterations < ENOUGH) return;
    uint64_t all = totals.kernel_iterations + totals.original_iterations;
    unsigned least = call->iterations >= 1000 && n >= 100 ? 99 : 95; /* percent; of few iterations one is much */
    check(s, totals.kernel_iterations * 100 >= all * least || totals.original_iterations <= LEFTOVER,
          "%s: %" PRIu64 " of %" PRIu64 " iterations in kernels (%s)", what, totals.kernel_iterations, all,
          totals.refusals);
    /* Counted independently from the source; the guest's compiler unrolls by eight at most. */
    check(s, totals.kernel_iterations * 8 >= call->iterations, "%s: %" PRIu64 " iterations in kernels for %" PRIu64,
          what, totals.kernel_iterations, call->iterations);
}

static bool has_result(const guest *which)
{
    return strcmp(which->export, "dot") == 0;
}

/* An oracle that shares neither the engine nor its compiler. */
static void check_native(suite *s, const guest *which, const guest_call *call, guest_data data, uint64_t seed,
                         const run_outcome *original, const char *what)
{
    run_outcome native = {.result = original->result, .memory = calloc(1, call->end), .size = call->end};
    if (!native.memory) exit(2);
    guest_fill(call, data, seed, native.memory);
    native_guest code = harness_native_open(s->folder, which);
    double result;
    harness_native_call(&code, call, native.memory, &result);
    if (has_result(which)) native.result.of.f64 = result;
    harness_native_close(&code);
    size_t from = GUEST_FIRST_ADDRESS; /* below are the program's own stack and data */
    check(s, memcmp(native.memory + from, original->memory + from, call->end - from) == 0,
          "%s: memory isn't the native one's", what);
    check(s, memcmp(&native.result.of, &original->result.of, 8) == 0, "%s: the result isn't the native one's", what);
    run_outcome_free(&native);
}

static void run_case(suite *s, const run_mode *mode, const guest *which, tw_module *module, tw_kernel_cache *cache,
                     uint32_t n, guest_data data, run_outcome *original)
{
    char what[200], difference[2200];
    snprintf(what, sizeof what, "%s, n = %u, data %d, %s", which->name, n, data, mode->name);
    guest_call call;
    guest_lay_out(which, n, &call);
    tw_instance *instance = harness_spawn(module, cache, call.end);
    size_t size;
    uint64_t seed = n * 3 + data;
    guest_fill(&call, data, seed, harness_memory(instance, &size));
    run_outcome outcome;
    harness_call(instance, which->export, &call, has_result(which), &outcome);
    check(s, outcome.status == TW_OK, "%s: %s", what, outcome.error.message);
    if (mode->offload == TW_OFFLOAD_OFF) {
        run_outcome_free(original);
        *original = outcome;
        if (data == GUEST_PLAIN) check_native(s, which, &call, data, seed, original, what);
    } else {
        check(s, harness_equal(original, &outcome, &call, mode->canonical_nan, difference, sizeof difference), "%s: %s",
              what, difference);
        if (cache) check_report(s, which, n, &call, module, instance, what);
        run_outcome_free(&outcome);
    }
    tw_instance_free(instance);
}

static void run_guest(suite *s, tw_engine *engine, const run_mode *mode, const guest *which, run_outcome *originals)
{
    char path[1024];
    snprintf(path, sizeof path, "%s/%s/%s.wasm", s->folder, s->level, which->program);
    tw_module *module = harness_module(engine, path);
    tw_kernel_cache *cache = harness_cache(engine, NULL);
    for (size_t i = 0; i < SIZES; i++)
        for (size_t data = 0; data < DATAS; data++)
            run_case(s, mode, which, module, cache, size_for(which, sizes[i]), (guest_data)data,
                     &originals[i * DATAS + data]);
    tw_kernel_cache_free(cache);
    tw_module_free(module);
}

static void run_mode_of(suite *s, const run_mode *mode)
{
    unsigned failures = s->failures;
    tw_engine *engine = harness_engine(mode);
    for (size_t g = 0; g < guest_count; g++)
        if (strstr(guests[g].name, s->only)) run_guest(s, engine, mode, &guests[g], &s->originals[g * SIZES * DATAS]);
    tw_engine_free(engine);
    printf("%s: %s\n", mode->name, s->failures == failures ? "ok" : "FAILED");
}

int main(int argc, char **argv)
{
    if (argc < 3) {
        fprintf(stderr, "usage: suite FOLDER LEVEL [NAME]\n");
        return 2;
    }
    suite s = {.folder = argv[1], .level = argv[2], .only = argc > 3 ? argv[3] : ""};
    size_t outcomes = guest_count * SIZES * DATAS;
    s.originals = calloc(outcomes, sizeof *s.originals);
    if (!s.originals) return 2;
    for (size_t m = 0; m < MODES; m++) run_mode_of(&s, &modes[m]);
    for (size_t i = 0; i < outcomes; i++) run_outcome_free(&s.originals[i]);
    free(s.originals);
    printf("%u checks, %u failures\n", s.checks, s.failures);
    return s.failures || !s.checks;
}
