/* SPDX-License-Identifier: Apache-2.0 */

/* Times calls inside one process and prints the raw samples as JSON; scripts/bench.py pairs processes, does the statistics and
 * prints the tables.
 *
 *   bench kernels GUESTS CACHE PAIRS FILTER MOST   GUESTS: built guests (a folder for each level, and native). Each guest of the table
 *                                       off, auto and native, in turn; kernels are kept in CACHE. FILTER: part of a name, or
 *                                       "". MOST: sizes are cut until a call has at most so many iterations; 0 = as in the table
 *   bench dispatch MODULE PAIRS         a loop in the guest that calls a small kernel, off and forced on one thread
 *   bench time MODULE EXPORT N SAMPLES  calls EXPORT(N) with offload off
 *   bench spawn PAIRS[:MS] COMMAND... -- COMMAND...   wall time of two processes, in turn; {} in a word stands for the pair's number;
 *                                                MS of rest after each, for what it left in the background */

#include <fcntl.h>
#include <inttypes.h>
#include <spawn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "harness.h"

enum { BURSTS = 3, SAMPLE_NS = 2000000, WARM_NS = 100000000, PATIENCE_NS = 2000000000, MAX_REPEATS = 200 };

static uint64_t now(void)
{
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return (uint64_t)t.tv_sec * 1000000000 + (uint64_t)t.tv_nsec;
}

static void fail(const char *what, const char *detail)
{
    fprintf(stderr, "bench: %s: %s\n", what, detail);
    exit(2);
}

/* ---- one guest, three ways ---- */

typedef struct contender {
    tw_instance *instance; /* NULL: native */
    native_guest native;
    uint8_t *memory;
} contender;

typedef struct match {
    const guest *which;
    guest_call call;
    bool has_result;
    uint32_t repeats; /* calls in one sample */
    contender off, on, native;
} match;

static void call_once(const match *m, const contender *c)
{
    tw_val result;
    double native_result;
    tw_error error;
    if (!c->instance) {
        harness_native_call(&c->native, &m->call, c->memory, &native_result);
    } else if (tw_instance_call(c->instance, m->which->export, m->call.args, m->call.arg_count, &result, m->has_result,
                                &error) != TW_OK) {
        fail(m->which->name, error.message);
    }
}

/* Nanoseconds of a call: the best of a few bursts, which keeps out what the machine does beside us. The same data before each
 * burst, so that values neither grow nor vanish over the calls. */
static uint64_t sample(const match *m, const contender *c)
{
    uint64_t best = UINT64_MAX;
    for (int burst = 0; burst < (m->repeats > 1 ? BURSTS : 1); burst++) {
        guest_fill(&m->call, GUEST_PLAIN, 1, c->memory);
        uint64_t start = now();
        for (uint32_t r = 0; r < m->repeats; r++) call_once(m, c);
        uint64_t taken = (now() - start) / m->repeats;
        if (taken < best) best = taken;
    }
    return best;
}

static void choose_repeats(match *m)
{
    m->repeats = 1;
    sample(m, &m->off);
    uint64_t once = sample(m, &m->off) + 1, repeats = SAMPLE_NS / once + 1;
    m->repeats = repeats > MAX_REPEATS ? MAX_REPEATS : (uint32_t)repeats;
}

/* Until the last samples ran in kernels only, or nothing more is to be expected. */
static void warm_up(const match *m)
{
    uint64_t start = now(), originals = UINT64_MAX;
    for (;;) {
        report_totals totals;
        sample(m, &m->on);
        uint64_t spent = now() - start;
        bool known = harness_report(m->on.instance, &totals),
             settled = known && totals.original_iterations == originals;
        if ((spent > WARM_NS && settled) || spent > PATIENCE_NS) return;
        originals = known ? totals.original_iterations : UINT64_MAX;
    }
}

static void start_match(match *m, tw_module *module, tw_kernel_cache *cache, const char *folder, uint64_t most)
{
    uint32_t n = m->which->bench_size;
    guest_lay_out(m->which, n, &m->call);
    while (most && m->call.iterations > most) guest_lay_out(m->which, n = n * 7 / 8, &m->call);
    m->has_result = strcmp(m->which->export, "dot") == 0;
    size_t size;
    m->off.instance = harness_spawn(module, NULL, m->call.end);
    m->off.memory = harness_memory(m->off.instance, &size);
    m->on.instance = harness_spawn(module, cache, m->call.end);
    m->on.memory = harness_memory(m->on.instance, &size);
    m->native.native = harness_native_open(folder, m->which);
    m->native.memory = aligned_alloc(4096, (m->call.end + 8191) / 4096 * 4096);
    if (!m->native.memory) fail(m->which->name, "no memory");
}

static void print_match(const match *m, uint32_t pairs, bool first)
{
    printf("%s  {\"guest\": \"%s\", \"serial\": %s, \"repeats\": %u, \"samples\": [", first ? "" : ",\n",
           m->which->name, m->which->refusal ? "true" : "false", m->repeats);
    const contender *turns[] = {&m->off, &m->on, &m->native};
    for (uint32_t p = 0; p < pairs; p++) {
        uint64_t taken[3];
        for (uint32_t t = 0; t < 3; t++) taken[(p + t) % 3] = sample(m, turns[(p + t) % 3]);
        printf("%s[%" PRIu64 ", %" PRIu64 ", %" PRIu64 "]", p ? ", " : "", taken[0], taken[1], taken[2]);
    }
    report_totals totals = {0};
    harness_report(m->on.instance, &totals);
    printf("], \"kernel_iterations\": %" PRIu64 ", \"original_iterations\": %" PRIu64 ", \"refusals\": \"%s\"}",
           totals.kernel_iterations, totals.original_iterations, totals.refusals);
    fflush(stdout);
}

static int bench_kernels(char **args)
{
    const run_mode mode = {"auto", TW_OFFLOAD_AUTO, 0, false};
    uint32_t pairs = (uint32_t)atoi(args[2]);
    uint64_t most = strtoull(args[4], NULL, 10);
    tw_engine *engine = harness_engine(&mode);
    tw_kernel_cache *cache = harness_cache(engine, args[1]);
    bool first = true;
    printf("[\n");
    for (size_t g = 0; g < guest_count; g++) {
        if (!strstr(guests[g].name, args[3])) continue;
        char path[1024];
        snprintf(path, sizeof path, "%s/O2/%s.wasm", args[0], guests[g].program);
        tw_module *module = harness_module(engine, path);
        match m = {.which = &guests[g]};
        start_match(&m, module, cache, args[0], most);
        choose_repeats(&m);
        warm_up(&m);
        print_match(&m, pairs, first);
        first = false;
        free(m.native.memory);
        harness_native_close(&m.native.native);
        tw_instance_free(m.off.instance);
        tw_instance_free(m.on.instance);
        tw_module_free(module);
    }
    printf("\n]\n");
    tw_kernel_cache_free(cache);
    tw_engine_free(engine);
    return 0;
}

/* ---- the cost of a repeated dispatch ---- */

static uint64_t time_call(tw_instance *instance, const char *name, const tw_val *args, size_t count)
{
    tw_val result;
    tw_error error;
    uint64_t start = now();
    if (tw_instance_call(instance, name, args, count, &result, 1, &error) != TW_OK) fail(name, error.message);
    return now() - start;
}

static int bench_dispatch(char **args)
{
    enum { CALLS = 20000, N = 8 };
    const run_mode mode = {"force", TW_OFFLOAD_FORCE, 1, false};
    uint32_t pairs = (uint32_t)atoi(args[1]);
    tw_engine *engine = harness_engine(&mode);
    tw_module *module = harness_module(engine, args[0]);
    tw_kernel_cache *cache = harness_cache(engine, NULL);
    tw_instance *off = harness_spawn(module, NULL, 0), *on = harness_spawn(module, cache, 0);
    const tw_val call[] = {{.kind = TW_VAL_I32, .of.i32 = CALLS}, {.kind = TW_VAL_I32, .of.i32 = N}};
    for (int i = 0; i < 3; i++) time_call(off, "many", call, 2), time_call(on, "many", call, 2);
    printf("{\"calls\": %d, \"samples\": [", CALLS);
    for (uint32_t p = 0; p < pairs; p++) {
        uint64_t a = time_call(off, "many", call, 2), b = time_call(on, "many", call, 2);
        printf("%s[%" PRIu64 ", %" PRIu64 "]", p ? ", " : "", a, b);
    }
    report_totals totals = {0};
    harness_report(on, &totals);
    printf("], \"dispatches\": %" PRIu64 ", \"refusals\": \"%s\"}\n", totals.dispatches, totals.refusals);
    tw_instance_free(off);
    tw_instance_free(on);
    tw_kernel_cache_free(cache);
    tw_module_free(module);
    tw_engine_free(engine);
    return 0;
}

/* ---- one export, by the clock ---- */

static int bench_time(char **args)
{
    const run_mode mode = {"off", TW_OFFLOAD_OFF, 1, false};
    tw_engine *engine = harness_engine(&mode);
    tw_module *module = harness_module(engine, args[0]);
    tw_instance *instance = harness_spawn(module, NULL, 0);
    const tw_val n = {.kind = TW_VAL_I32, .of.i32 = atoi(args[2])};
    for (int i = 0; i < 2; i++) time_call(instance, args[1], &n, 1);
    for (int i = 0; i < atoi(args[3]); i++) printf("%" PRIu64 "\n", time_call(instance, args[1], &n, 1));
    tw_instance_free(instance);
    tw_module_free(module);
    tw_engine_free(engine);
    return 0;
}

/* ---- whole processes ---- */

/* argv is ended by NULL; "{}" in it becomes the pair's number. Output goes nowhere. */
static uint64_t time_process(char **argv, uint32_t pair)
{
    static char words[64][512];
    char *args[65];
    int count = 0;
    for (; argv[count] && count < 64; count++) {
        const char *hole = strstr(argv[count], "{}");
        if (hole) snprintf(words[count], 512, "%.*s%u%s", (int)(hole - argv[count]), argv[count], pair, hole + 2);
        args[count] = hole ? words[count] : argv[count];
    }
    args[count] = NULL;
    posix_spawn_file_actions_t quiet;
    posix_spawn_file_actions_init(&quiet);
    posix_spawn_file_actions_addopen(&quiet, 1, "/dev/null", O_WRONLY, 0);
    pid_t child;
    int state;
    uint64_t start = now();
    if (posix_spawn(&child, args[0], &quiet, NULL, args, environ)) fail(args[0], "can't be started");
    if (waitpid(child, &state, 0) != child || !WIFEXITED(state) || WEXITSTATUS(state)) fail(args[0], "failed");
    uint64_t taken = now() - start;
    posix_spawn_file_actions_destroy(&quiet);
    return taken;
}

static int bench_spawn(char **args)
{
    uint32_t pairs = (uint32_t)atoi(args[0]);
    const char *colon = strchr(args[0], ':');
    useconds_t rest = colon ? 1000 * (useconds_t)atoi(colon + 1) : 0;
    char **a = args + 1, **b = a;
    while (*b && strcmp(*b, "--") != 0) b++;
    if (!*b) fail("spawn", "no -- between the commands");
    *b++ = NULL;
    printf("[");
    for (uint32_t p = 0; p < pairs; p++) {
        uint64_t first = time_process(p & 1 ? b : a, p);
        usleep(rest);
        uint64_t second = time_process(p & 1 ? a : b, p);
        usleep(rest);
        printf("%s[%" PRIu64 ", %" PRIu64 "]", p ? ", " : "", p & 1 ? second : first, p & 1 ? first : second);
        fflush(stdout);
    }
    printf("]\n");
    return 0;
}

int main(int argc, char **argv)
{
    if (argc == 7 && strcmp(argv[1], "kernels") == 0) return bench_kernels(argv + 2);
    if (argc == 4 && strcmp(argv[1], "dispatch") == 0) return bench_dispatch(argv + 2);
    if (argc == 6 && strcmp(argv[1], "time") == 0) return bench_time(argv + 2);
    if (argc > 5 && strcmp(argv[1], "spawn") == 0) return bench_spawn(argv + 2);
    fprintf(stderr, "usage: see the top of bench/bench.c\n");
    return 2;
}
