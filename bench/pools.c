/* SPDX-License-Identifier: Apache-2.0 */

/* Pooled instances beside those of the engine's own pool: the same module, the same engine, the same process, in turn. One cycle is
 * take (or instantiate), set up WASI where the module has it, a call that stores, sets a global and a table entry, and give back (or
 * delete), after which everything is as new. Prints samples as JSON; scripts/bench.py does the statistics.
 *
 *   pools cycles KIND SAMPLES     nanoseconds of a cycle, CPU time of the thread and wall time, for each contender of a kind:
 *                                   small          64 KiB of memory, 8 KiB of data, a table of 8
 *                                   wasi           the same with WASI: two arguments, a variable
 *                                   folder         and a folder
 *                                   large          16 MiB, 1 MiB of data, 8 dirty pages, the same ones each time
 *                                   scattered      8 others each time
 *   pools threads KIND SAMPLES    wall time of a cycle, one thread's and that of two at once, which share the pool; and of a loop that
 *                                 shares nothing
 *   pools idle COUNT              bytes that an instance takes that waits between two calls
 *
 * The engine's pool is given its best settings: copy-on-write images, resident memory and tables kept, PAGEMAP_SCAN where the
 * system has it, imports resolved once, exports by number, unchecked calls. Which of them is best is for the statistics to say. */

#include <inttypes.h>
#include <pthread.h>
#include <sched.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include <wasm.h>
#include <wasmtime.h>

#include "tensorwasm/tensorwasm.h"

enum { SAMPLE_NS = 3000000, WARM_UP = 300, THREADS = 2 };

/* The crate's: what the C API lacks. */
bool tw_bench_pooling(wasm_config_t *config, uint32_t count, size_t memory_keep_resident, size_t table_keep_resident, bool pagemap_scan);

static void need(bool holds, const char *what)
{
    if (holds) return;
    fprintf(stderr, "pools: %s\n", what);
    exit(2);
}

static uint64_t clock_of(clockid_t clock)
{
    struct timespec t;
    clock_gettime(clock, &t);
    return (uint64_t)t.tv_sec * 1000000000 + (uint64_t)t.tv_nsec;
}

/* ---- the guests ---- */

typedef struct kind {
    const char *name;
    uint32_t pages, data_at, data;
    bool wasi, folder, scattered;
} kind;

static const kind kinds[] = {
    {"small", 1, 1024, 8 << 10, false, false, false},
    {"wasi", 1, 1024, 8 << 10, true, false, false},
    {"folder", 1, 1024, 8 << 10, true, true, false},
    {"large", 256, 1 << 20, 1 << 20, false, false, false},
    {"scattered", 256, 1 << 20, 1 << 20, false, false, true},
};

static const kind *find_kind(const char *name)
{
    for (size_t i = 0; i < sizeof kinds / sizeof *kinds; i++)
        if (!strcmp(kinds[i].name, name)) return &kinds[i];
    need(false, "no such kind");
    return NULL;
}

static const char *const small_go = "(i32.store (i32.sub (global.get $sp) (i32.const 16)) (local.get 0))";
/* One page of each 2 MiB; a scattered guest's differ from call to call. */
static const char *const large_go =
    "(local $i i32) (loop $l (i32.store (i32.add (i32.shl (local.get $i) (i32.const 21)) (i32.shl (i32.and (local.get 0) (i32.const %d)) (i32.const 12)))"
    " (i32.const 7)) (br_if $l (i32.lt_u (local.tee $i (i32.add (local.get $i) (i32.const 1))) (i32.const 8))))";

static char *text_of(const kind *k)
{
    size_t size = 3 * (size_t)k->data + 4096;
    char *text = malloc(size), *at = text, *end = text + size;
    need(text != NULL, "no memory");
    at += snprintf(at, (size_t)(end - at), "(module %s (memory (export \"memory\") %u) (global $sp (mut i32) (i32.const 65536))"
                   " (global $g (mut i64) (i64.const 1)) (table 8 funcref) (elem (i32.const 1) $go $other) (func $other)"
                   " (func $go (export \"go\") (param i32) ",
                   k->wasi ? "(import \"wasi_snapshot_preview1\" \"fd_write\" (func (param i32 i32 i32 i32) (result i32)))" : "", k->pages);
    if (k->pages == 1) at += snprintf(at, (size_t)(end - at), "%s", small_go);
    else at += snprintf(at, (size_t)(end - at), large_go, k->scattered ? 511 : 0);
    at += snprintf(at, (size_t)(end - at), " (global.set $g (i64.const 2)) (table.set (i32.const 3) (ref.func $go))) (data (i32.const %u) \"", k->data_at);
    for (uint32_t i = 0; i < k->data; i++) at += snprintf(at, (size_t)(end - at), "\\%02x", 1 + i % 255);
    snprintf(at, (size_t)(end - at), "\"))");
    return text;
}

static const char *const wasi_args[] = {"guest", "argument"}, *const wasi_env[] = {"NAME=value"};

/* ---- contenders ---- */

typedef struct contender {
    const char *name;
    size_t keep;
    uint32_t count;
    bool pagemap, ours, alone;
    const kind *kind;
    tw_instance_pool *pool;
    wasm_engine_t *engine;
    wasmtime_instance_pre_t *pre;
    size_t go; /* which export */
    uint32_t calls;
} contender;

static void our_cycle(contender *c)
{
    tw_instance *instance;
    tw_error error;
    const tw_val argument = {.kind = TW_VAL_I32, .of.i32 = (int32_t)c->calls++};
    need(tw_instance_pool_take(c->pool, &instance, &error) == TW_OK, error.message);
    need(tw_instance_call(instance, "go", &argument, 1, NULL, 0, &error) == TW_OK, error.message);
    tw_instance_pool_give(c->pool, instance);
}

static void set_wasi(const contender *c, wasmtime_context_t *context)
{
    static const char *names[] = {"NAME"}, *values[] = {"value"};
    wasi_config_t *wasi = wasi_config_new();
    need(wasi_config_set_argv(wasi, 2, (const char **)wasi_args) && wasi_config_set_env(wasi, 1, names, values), "WASI set-up");
    if (c->kind->folder) need(wasi_config_preopen_dir(wasi, "/tmp", "/tmp", true), "no /tmp");
    need(!wasmtime_context_set_wasi(context, wasi), "WASI refused");
}

static void their_cycle(contender *c)
{
    wasmtime_store_t *store = wasmtime_store_new(c->engine, NULL, NULL);
    wasmtime_context_t *context = wasmtime_store_context(store);
    wasmtime_instance_t instance;
    wasm_trap_t *trap = NULL;
    char *name;
    size_t length;
    wasmtime_extern_t go;
    wasmtime_val_raw_t raw = {.i32 = (int32_t)c->calls++};
    if (c->kind->wasi) set_wasi(c, context);
    need(!wasmtime_instance_pre_instantiate(c->pre, context, &instance, &trap) && !trap, "not instantiated");
    need(wasmtime_instance_export_nth(context, &instance, c->go, &name, &length, &go), "no export");
    need(!wasmtime_func_call_unchecked(context, &go.of.func, &raw, 1, &trap) && !trap, "the call failed");
    wasmtime_store_delete(store);
}

static void lone_cycle(void)
{
    static _Thread_local uint8_t bytes[64 << 10];
    memset(bytes, 1, sizeof bytes);
    __asm__ volatile("" ::"r"(bytes) : "memory");
}

static void cycle(contender *c)
{
    if (c->alone) lone_cycle();
    else if (c->ours) our_cycle(c);
    else their_cycle(c);
}

static void start_ours(contender *c, tw_engine *engine, const char *text, uint32_t max_idle)
{
    tw_module *module;
    tw_error error;
    const tw_wasi_dir dir = {"/tmp", "/tmp"};
    tw_spawn_options spawn = TW_SPAWN_OPTIONS_INIT;
    tw_wasi_options wasi = TW_WASI_OPTIONS_INIT;
    tw_instance_pool_options pool = TW_INSTANCE_POOL_OPTIONS_INIT;
    wasi.args = wasi_args, wasi.arg_count = 2, wasi.env = wasi_env, wasi.env_count = 1;
    wasi.dirs = &dir, wasi.dir_count = c->kind->folder;
    if (c->kind->wasi) spawn.wasi = &wasi;
    pool.max_idle = max_idle;
    need(tw_module_new(engine, (const uint8_t *)text, strlen(text), &module, &error) == TW_OK, error.message);
    need(tw_instance_pool_new(module, &spawn, &pool, &c->pool, &error) == TW_OK, error.message);
    for (int i = 0; i < 3; i++) our_cycle(c);
}

static void start_theirs(contender *c, const wasm_byte_vec_t *binary)
{
    wasm_config_t *config = wasm_config_new();
    need(tw_bench_pooling(config, c->count, c->keep, c->keep ? 1 << 20 : 0, c->pagemap), "no PAGEMAP_SCAN");
    c->engine = wasm_engine_new_with_config(config);
    wasmtime_module_t *module;
    need(!wasmtime_module_new(c->engine, (const uint8_t *)binary->data, binary->size, &module), "module refused");
    wasmtime_linker_t *linker = wasmtime_linker_new(c->engine);
    if (c->kind->wasi) need(!wasmtime_linker_define_wasi(linker), "no WASI");
    need(!wasmtime_linker_instantiate_pre(linker, module, &c->pre), "not linked");
    c->go = 1;
}

static bool can_scan(void)
{
    wasm_config_t *config = wasm_config_new();
    bool can = tw_bench_pooling(config, 0, 0, 0, true);
    wasm_config_delete(config);
    return can;
}

enum { CONTENDERS = 5 };
/* Ours first. How many there are. */
static size_t start_all(contender *all, const kind *k, uint32_t max_idle)
{
    static const contender settings[CONTENDERS] = {
        {.name = "ours", .ours = true},
        {.name = "engine, defaults"},
        {.name = "engine, keeps 64 KiB", .keep = 64 << 10},
        {.name = "engine, keeps 64 KiB, scans", .keep = 64 << 10, .pagemap = true},
        {.name = "engine, keeps 16 MiB, scans", .keep = 16 << 20, .pagemap = true},
    };
    size_t count = 0;
    tw_engine *engine;
    tw_error error;
    char *text = text_of(k);
    wasm_byte_vec_t binary;
    need(tw_engine_new(NULL, &engine, &error) == TW_OK, error.message);
    need(!wasmtime_wat2wasm(text, strlen(text), &binary), "the text is refused");
    for (size_t i = 0; i < CONTENDERS; i++) {
        if (settings[i].pagemap && !can_scan()) continue;
        contender *c = &all[count++];
        *c = settings[i];
        c->kind = k;
        if (c->ours) start_ours(c, engine, text, max_idle);
        else start_theirs(c, &binary);
        for (int w = 0; w < WARM_UP; w++) cycle(c);
    }
    free(text);
    wasm_byte_vec_delete(&binary);
    return count;
}

/* ---- one thread ---- */

typedef struct sample { uint64_t cpu, wall; } sample;

static sample measure(contender *c, uint32_t cycles)
{
    uint64_t wall = clock_of(CLOCK_MONOTONIC), cpu = clock_of(CLOCK_THREAD_CPUTIME_ID);
    for (uint32_t i = 0; i < cycles; i++) cycle(c);
    cpu = clock_of(CLOCK_THREAD_CPUTIME_ID) - cpu;
    return (sample){cpu, clock_of(CLOCK_MONOTONIC) - wall};
}

static uint32_t cycles_for(contender *c, uint64_t ns)
{
    uint64_t taken = measure(c, WARM_UP).wall / WARM_UP + 1;
    return (uint32_t)(ns / taken + 1);
}

static void bench_cycles(const kind *k, int samples)
{
    contender all[CONTENDERS];
    uint32_t cycles[CONTENDERS];
    size_t count = start_all(all, k, 16);
    sample *taken = calloc((size_t)samples * count, sizeof *taken);
    need(taken != NULL, "no memory");
    for (size_t i = 0; i < count; i++) cycles[i] = cycles_for(&all[i], SAMPLE_NS);
    for (int s = 0; s < samples; s++)
        for (size_t t = 0; t < count; t++) {
            size_t i = (t + (size_t)s) % count;
            taken[(size_t)s * count + i] = measure(&all[i], cycles[i]);
        }
    printf("{");
    for (size_t i = 0; i < count; i++) {
        printf("%s\"%s\": [", i ? ", " : "", all[i].name);
        for (int s = 0; s < samples; s++) {
            sample one = taken[(size_t)s * count + i];
            printf("%s[%.1f, %.1f]", s ? ", " : "", (double)one.cpu / cycles[i], (double)one.wall / cycles[i]);
        }
        printf("]");
    }
    printf("}\n");
    free(taken);
}

/* ---- two threads ---- */

/* Threads keep to a processor each, since processors of a shared machine differ in speed from moment to moment. */
typedef struct worker {
    contender c;
    int processor;
    pthread_barrier_t *start;
    double rate; /* cycles a nanosecond */
} worker;

static void keep_to(int processor)
{
    cpu_set_t allowed, one;
    CPU_ZERO(&one);
    need(!pthread_getaffinity_np(pthread_self(), sizeof allowed, &allowed), "no affinity");
    for (int i = 0, seen = 0; i < CPU_SETSIZE; i++)
        if (CPU_ISSET(i, &allowed) && seen++ == processor) CPU_SET(i, &one);
    need(CPU_COUNT(&one) == 1, "two processors are needed");
    need(!pthread_setaffinity_np(pthread_self(), sizeof one, &one), "no affinity");
}

static void *work(void *given)
{
    enum { BURST = 16 };
    worker *w = given;
    uint64_t cycles = 0, taken;
    keep_to(w->processor);
    for (int i = 0; i < WARM_UP; i++) cycle(&w->c);
    pthread_barrier_wait(w->start);
    uint64_t start = clock_of(CLOCK_MONOTONIC);
    do {
        for (int i = 0; i < BURST; i++) cycle(&w->c);
        cycles += BURST;
        taken = clock_of(CLOCK_MONOTONIC) - start;
    } while (taken < 4 * SAMPLE_NS);
    w->rate = (double)cycles / (double)taken;
    return NULL;
}

/* Cycles a nanosecond of all of them. */
static double rate_of(const contender *c, int first, int threads)
{
    pthread_t ids[THREADS];
    worker workers[THREADS];
    pthread_barrier_t start;
    double rate = 0;
    pthread_barrier_init(&start, NULL, (unsigned)threads);
    for (int i = 0; i < threads; i++) {
        workers[i] = (worker){*c, first + i, &start, 0};
        need(!pthread_create(&ids[i], NULL, work, &workers[i]), "no thread");
    }
    for (int i = 0; i < threads; i++) {
        pthread_join(ids[i], NULL);
        rate += workers[i].rate;
    }
    pthread_barrier_destroy(&start);
    return rate;
}

/* Nanoseconds of a cycle, of one thread, the mean of both processors, and of both at once. */
static void sample_threads(const contender *c, bool together_first, double out[2])
{
    double both = together_first ? rate_of(c, 0, 2) : 0, alone = (rate_of(c, 0, 1) + rate_of(c, 1, 1)) / 2;
    if (!together_first) both = rate_of(c, 0, 2);
    out[0] = 1 / alone;
    out[1] = 1 / both;
}

/* The last one shares nothing: what the machine's processors do for each other. */
static void bench_threads(const kind *k, int samples)
{
    contender all[CONTENDERS + 1];
    size_t count = start_all(all, k, 16);
    all[count++] = (contender){.name = "nothing shared", .alone = true};
    double *taken = calloc(2 * count * (size_t)samples, sizeof *taken);
    need(taken != NULL, "no memory");
    for (int s = 0; s < samples; s++)
        for (size_t i = 0; i < count; i++) sample_threads(&all[i], s % 2, taken + 2 * ((size_t)s * count + i));
    printf("{");
    for (size_t i = 0; i < count; i++) {
        printf("%s\"%s\": [", i ? ", " : "", all[i].name);
        for (int s = 0; s < samples; s++) {
            const double *pair = taken + 2 * ((size_t)s * count + i);
            printf("%s[%.1f, %.1f]", s ? ", " : "", pair[0], pair[1]);
        }
        printf("]");
    }
    printf("}\n");
    free(taken);
}

/* ---- idle instances ---- */

/* A number of KiB behind a word in a file of /proc, in bytes. */
static uint64_t kib_of(const char *path, const char *word)
{
    char line[256];
    uint64_t value = 0;
    FILE *file = fopen(path, "r");
    need(file != NULL, path);
    while (fgets(line, sizeof line, file))
        if (!strncmp(line, word, strlen(word))) value += strtoull(line + strlen(word), NULL, 10) * 1024;
    fclose(file);
    return value;
}

static uint64_t count_mappings(void)
{
    uint64_t lines = 0;
    FILE *file = fopen("/proc/self/maps", "r");
    need(file != NULL, "/proc/self/maps");
    for (int c; (c = getc(file)) != EOF;) lines += c == '\n';
    fclose(file);
    return lines;
}

typedef struct usage { uint64_t shared, tables, mappings; } usage;

static usage take_usage(void)
{
    return (usage){kib_of("/proc/self/smaps_rollup", "Pss:"), kib_of("/proc/self/status", "VmPTE:"), count_mappings()};
}

static void print_usage(const char *name, usage before, usage after, uint32_t count, const char *end)
{
    printf("\"%s\": {\"pss\": %.0f, \"page tables\": %.0f, \"mappings\": %.2f}%s", name, (double)(after.shared - before.shared) / count,
           (double)(after.tables - before.tables) / count, (double)(after.mappings - before.mappings) / count, end);
}

static void bench_idle(uint32_t count)
{
    contender c = {.name = "ours", .ours = true, .kind = find_kind("wasi")};
    tw_engine *engine;
    tw_error error;
    need(tw_engine_new(NULL, &engine, &error) == TW_OK, error.message);
    char *text = text_of(c.kind);
    start_ours(&c, engine, text, count);
    tw_instance **held = calloc(count, sizeof *held);
    const tw_val argument = {.kind = TW_VAL_I32};
    need(held != NULL, "no memory");
    memset(held, 1, count * sizeof *held); /* its own pages count before */
    usage before = take_usage();
    for (uint32_t i = 0; i < count; i++) {
        need(tw_instance_pool_take(c.pool, &held[i], &error) == TW_OK, error.message);
        need(tw_instance_call(held[i], "go", &argument, 1, NULL, 0, &error) == TW_OK, error.message);
    }
    usage called = take_usage();
    for (uint32_t i = 0; i < count; i++) tw_instance_pool_give(c.pool, held[i]);
    usage given = take_usage();
    need(tw_instance_pool_idle(c.pool) >= count, "not all were kept");
    printf("{\"count\": %u, ", count);
    print_usage("after a call", before, called, count, ", ");
    print_usage("in the pool", before, given, count, "}\n");
    free(held);
    free(text);
}

int main(int argc, char **argv)
{
    if (argc == 4 && !strcmp(argv[1], "cycles")) bench_cycles(find_kind(argv[2]), atoi(argv[3]));
    else if (argc == 4 && !strcmp(argv[1], "threads")) bench_threads(find_kind(argv[2]), atoi(argv[3]));
    else if (argc == 3 && !strcmp(argv[1], "idle")) bench_idle((uint32_t)strtoul(argv[2], NULL, 10));
    else need(false, "usage: see the top of bench/pools.c");
    return 0;
}
