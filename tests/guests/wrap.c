/* SPDX-License-Identifier: Apache-2.0 */

/* The top of a memory of 4 GiB. An array that ends with the memory runs in kernels; one whose addresses go on at 0 runs as the
 * original, and the report names the reason, which is `wrap` and not an access out of bounds: there is none.
 *
 *   wrap FOLDER     FOLDER holds the programs of one level */

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "harness.h"
#include "random.h"

enum { N = 200, WINDOW = 65536, X = 8192 };
static const uint64_t WHOLE = UINT64_C(1) << 32;

static unsigned failures;

static void check(bool holds, const char *what, const report_totals *totals)
{
    if (holds) return;
    failures++;
    printf("not ok: %s (%" PRIu64 " of %" PRIu64 " iterations in kernels; %s)\n", what, totals->kernel_iterations,
           totals->kernel_iterations + totals->original_iterations, totals->refusals);
}

/* y = a x + y with y at `address`; the first and the last bytes of the memory afterwards are copied to out. */
static void run(tw_offload offload, const char *path, uint32_t address, uint8_t *out, report_totals *totals)
{
    const run_mode mode = {"wrap", offload, 2, false};
    tw_engine *engine = harness_engine(&mode);
    tw_kernel_cache *cache = harness_cache(engine, NULL);
    tw_module *module = harness_module(engine, path);
    tw_instance *instance = harness_spawn(module, cache, WHOLE);
    size_t size;
    uint8_t *memory = harness_memory(instance, &size);
    random_state random = random_seeded(address);
    for (uint32_t i = 0; i < 2 * N; i++) {
        float x = (float)random_below(&random, 1000) / 8;
        uint64_t at = i < N ? X + 4 * i : (uint32_t)(address + 4 * (i - N));
        memcpy(memory + at, &x, 4);
    }
    guest_call call = {.args = {{TW_VAL_I32, {.i32 = N}},
                                {TW_VAL_F32, {.f32 = 1.5f}},
                                {TW_VAL_I32, {.i32 = X}},
                                {TW_VAL_I32, {.i32 = (int32_t)address}}},
                       .arg_count = 4};
    tw_error error = {.message = ""};
    tw_status status = tw_instance_call(instance, "saxpy", call.args, call.arg_count, NULL, 0, &error);
    if (status != TW_OK || size != WHOLE) {
        printf("not ok: %s (memory of %zu bytes)\n", error.message, size);
        failures++;
    }
    memcpy(out, memory, WINDOW);
    memcpy(out + WINDOW, memory + size - WINDOW, WINDOW);
    *totals = (report_totals){0};
    if (offload != TW_OFFLOAD_OFF && cache && !harness_report(instance, totals)) failures++;
    tw_instance_free(instance);
    tw_module_free(module);
    tw_kernel_cache_free(cache);
    tw_engine_free(engine);
    if (offload != TW_OFFLOAD_OFF && !cache) exit(failures != 0); /* a build without kernels: nothing to compare */
}

static void compare(const char *path, uint32_t address, bool wraps)
{
    static uint8_t original[2 * WINDOW], offloaded[2 * WINDOW];
    report_totals none, totals;
    run(TW_OFFLOAD_OFF, path, address, original, &none);
    run(TW_OFFLOAD_FORCE, path, address, offloaded, &totals);
    check(memcmp(original, offloaded, sizeof original) == 0, "memory differs", &totals);
    if (wraps) {
        check(totals.kernel_iterations == 0, "addresses that wrap round ran in kernels", &totals);
        check(strstr(totals.refusals, "wrap ") != NULL, "wrapping isn't named", &totals);
    } else {
        check(totals.kernel_iterations >= N - 4 && totals.original_iterations <= 1,
              "the end of the memory isn't offloaded", &totals);
    }
}

int main(int argc, char **argv)
{
    if (argc < 2) return 2;
    char path[1024];
    snprintf(path, sizeof path, "%s/saxpy.wasm", argv[1]);
    compare(path, (uint32_t)-(4 * N), false);
    compare(path, (uint32_t)-(4 * N / 2), true);
    compare(path, (uint32_t)-4, true);
    printf("%u failures\n", failures);
    return failures != 0;
}
