/* SPDX-License-Identifier: Apache-2.0 */
/* test_shapes NAME: every guest of shapes.def is ended by its time limit and by tw_instance_terminate, soon, with the
 * right status, and the instance and the process are well afterwards; with offload off and forced. Without NAME prints the
 * names. */
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "tensorwasm/tensorwasm.h"

#define LIMIT_MS 100
#define SOON_MS 1000 /* after the request, at the best of TRIES: machines do other things, too */
#define TRIES 10
#define WELL " (func (export \"ok\") (result i32) (i32.const 42))"

static const struct { const char *name, *why, *text; } shapes[] = {
#define SHAPE(name, why, text) {#name, why, "(module " text WELL ")"},
#include "shapes.def"
#undef SHAPE
};

static tw_error error;
static tw_kernel_cache *cache; /* NULL: offload is off */

static void check(int good, const char *what)
{
    if (good) return;
    fprintf(stderr, "FAILED: %s: %s\n", what, error.message);
    exit(1);
}

static double now_ms(void)
{
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return (double)t.tv_sec * 1e3 + (double)t.tv_nsec * 1e-6;
}

static tw_status call_f(tw_instance *instance, tw_module *module)
{
    size_t results;
    tw_val value;
    check(tw_module_func_type(module, "f", NULL, NULL, NULL, &results, &error) == TW_OK, "type of f");
    return tw_instance_call(instance, "f", NULL, 0, &value, results, &error);
}

/* Short as it is, a call may meet a limit where it got no time to run. */
static void check_well(tw_instance *instance)
{
    tw_val value;
    tw_status status = TW_TIMEOUT;
    for (int i = 0; i < TRIES && status == TW_TIMEOUT; i++) status = tw_instance_call(instance, "ok", NULL, 0, &value, 1, &error);
    check(status == TW_OK && value.of.i32 == 42, "well afterwards");
}

static tw_instance *spawn(tw_module *module, uint64_t timeout_ns)
{
    tw_spawn_options options = TW_SPAWN_OPTIONS_INIT;
    tw_instance *instance;
    options.timeout_ns = timeout_ns;
    options.max_memory = 128 << 20;
    options.kernel_cache = cache;
    check(tw_instance_spawn(module, &options, &instance, &error) == TW_OK, "spawn");
    return instance;
}

/* Stopped in the middle of a kernel: that instance is done with. */
static int is_torn(tw_instance *instance)
{
    tw_val value;
    return cache && tw_instance_call(instance, "ok", NULL, 0, &value, 1, &error) == TW_TERMINATED &&
           strstr(error.message, "torn");
}

static void ends_at_its_time_limit(tw_module *module)
{
    tw_instance *instance = spawn(module, LIMIT_MS * 1000000ull);
    double soonest = SOON_MS;
    for (int i = 0; i < 3 || (i < TRIES && soonest >= SOON_MS); i++) {
        double start = now_ms();
        tw_status status = call_f(instance, module);
        double took = now_ms() - start;
        check(status == TW_TIMEOUT, "status of the time limit");
        printf("ended %.1f ms after the limit\n", took - LIMIT_MS);
        check(took >= LIMIT_MS, "doesn't end before the limit");
        if (took - LIMIT_MS < soonest) soonest = took - LIMIT_MS;
        if (!is_torn(instance)) {
            check_well(instance);
            continue;
        }
        tw_instance_free(instance);
        instance = spawn(module, LIMIT_MS * 1000000ull);
        check_well(instance);
    }
    check(soonest < SOON_MS, "ends soon after the limit");
    tw_instance_free(instance);
}

static double requested;
static void *terminate(void *instance)
{
    usleep(50000);
    requested = now_ms();
    check(tw_instance_terminate(instance, &error) == TW_OK, "terminate");
    return NULL;
}

/* How long after the request it ended. */
static double end_by_request(tw_module *module)
{
    tw_instance *instance = spawn(module, 0);
    pthread_t thread;
    pthread_create(&thread, NULL, terminate, instance);
    tw_status status = call_f(instance, module);
    double took = now_ms() - requested;
    pthread_join(thread, NULL);
    printf("ended %.1f ms after the request\n", took);
    check(status == TW_TERMINATED, "status of a termination");
    check(call_f(instance, module) == TW_TERMINATED, "no call after a termination");
    check(tw_instance_terminate(instance, &error) == TW_TERMINATED, "terminate twice");
    tw_instance_free(instance);
    return took;
}

static void ends_when_terminated(tw_module *module)
{
    double took = SOON_MS;
    for (int i = 0; i < TRIES && took >= SOON_MS; i++) took = end_by_request(module);
    check(took < SOON_MS, "ends soon after the request");
    tw_instance *instance = spawn(module, 0);
    check_well(instance);
    tw_instance_free(instance);
}

static void run(const char *text, tw_offload offload)
{
    tw_engine *engine;
    tw_module *module;
    tw_engine_options options = TW_ENGINE_OPTIONS_INIT;
    options.offload = offload;
    check(tw_engine_new(&options, &engine, &error) == TW_OK, "engine");
    if (offload) check(tw_kernel_cache_new(engine, NULL, &cache, &error) == TW_OK, "cache");
    check(tw_module_new(engine, (const uint8_t *)text, strlen(text), &module, &error) == TW_OK, "module");
    ends_at_its_time_limit(module);
    ends_when_terminated(module);
    tw_module_free(module);
    tw_kernel_cache_free(cache);
    tw_engine_free(engine);
}

int main(int argc, char **argv)
{
    size_t at = 0;
    for (; at < sizeof shapes / sizeof *shapes; at++) {
        if (argc < 2) puts(shapes[at].name);
        else if (!strcmp(argv[1], shapes[at].name)) break;
    }
    if (argc < 2) return 0;
    if (at == sizeof shapes / sizeof *shapes) return fprintf(stderr, "no such shape\n"), 2;
    printf("%s: %s\n", shapes[at].name, shapes[at].why);
    alarm(120);
    run(shapes[at].text, TW_OFFLOAD_OFF);
    run(shapes[at].text, TW_OFFLOAD_FORCE);
    return 0;
}
