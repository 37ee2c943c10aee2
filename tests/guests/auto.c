/* SPDX-License-Identifier: Apache-2.0 */

/* `auto`, as users run it: kernels come from the background while a guest's loops run, are taken up in the middle of them, are
 * measured against the original and chosen or not. Whatever it decides, after every call the memory is the original's, which runs
 * beside it in an instance of its own.
 *
 *   auto FOLDER     FOLDER holds the programs of one level */

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "harness.h"

enum { CALLS = 30, MOST = 3000000, PATIENCE = 4 /* seconds that a kernel may take to come */ };

static unsigned failures;

static double now(void)
{
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return (double)t.tv_sec + (double)t.tv_nsec * 1e-9;
}

static void call_both(const guest *which, const guest_call *call, tw_instance *off, tw_instance *on, int number)
{
    bool has_result = strcmp(which->export, "dot") == 0;
    run_outcome a, b;
    char difference[2200];
    harness_call(off, which->export, call, has_result, &a);
    harness_call(on, which->export, call, has_result, &b);
    if (a.status != TW_OK || !harness_equal(&a, &b, call, false, difference, sizeof difference)) {
        failures++;
        printf("not ok: %s, call %d: %s\n", which->name, number, a.status == TW_OK ? difference : a.error.message);
    }
    run_outcome_free(&a);
    run_outcome_free(&b);
}

static void run_guest(tw_engine *engine, tw_kernel_cache *cache, const char *folder, const guest *which)
{
    char path[1024];
    uint32_t n = which->bench_size;
    guest_call call;
    guest_lay_out(which, n, &call);
    while (call.iterations > MOST) guest_lay_out(which, n = n * 7 / 8, &call);
    snprintf(path, sizeof path, "%s/%s.wasm", folder, which->program);
    tw_module *module = harness_module(engine, path);
    tw_instance *off = harness_spawn(module, NULL, call.end), *on = harness_spawn(module, cache, call.end);
    size_t size;
    guest_fill(&call, GUEST_CORNERS, 5, harness_memory(off, &size));
    guest_fill(&call, GUEST_CORNERS, 5, harness_memory(on, &size));
    report_totals totals = {0};
    double end = now() + PATIENCE;
    for (int c = 0, left = CALLS; left; c++) { /* so many calls after the first with a kernel in it */
        call_both(which, &call, off, on, c);
        if (!harness_report(on, &totals)) failures++;
        if (totals.kernel_iterations || totals.arrivals == 0 || which->refusal || now() > end) left--;
    }
    printf("%s: %" PRIu64 " of %" PRIu64 " iterations in kernels%s%s\n", which->name, totals.kernel_iterations,
           totals.kernel_iterations + totals.original_iterations, totals.refusals[0] ? "; " : "", totals.refusals);
    tw_instance_free(off);
    tw_instance_free(on);
    tw_module_free(module);
}

int main(int argc, char **argv)
{
    if (argc < 2) return 2;
    const run_mode mode = {"auto", TW_OFFLOAD_AUTO, 2, false};
    tw_engine *engine = harness_engine(&mode);
    tw_kernel_cache *cache = harness_cache(engine, NULL);
    for (size_t g = 0; g < guest_count; g++) run_guest(engine, cache, argv[1], &guests[g]);
    tw_kernel_cache_free(cache);
    tw_engine_free(engine);
    printf("%u failures\n", failures);
    return failures != 0;
}
