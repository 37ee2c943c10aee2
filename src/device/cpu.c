/* SPDX-License-Identifier: Apache-2.0
 * The CPU as a device. A kernel whose outermost loop is parallel is cut into chunks: every worker has a range of chunks of its
 * own, so that a repeated launch finds its data in the same core's cache, and helps the others out when it is through (it
 * takes from the far end of the largest remainder). Other kernels are called once by a team whose members meet at barriers. */
#include "device/device.h"

#include <stdlib.h>
#include <string.h>

#include "device/pool.h"

enum { MAX_WORKERS = 256, CHUNKS_PER_WORKER = 8, CHUNK_ALIGN = 16 };
static const double CHUNK_NS = 1e6, LEAST_CHUNK_NS = 4e3;

typedef struct cpu_device {
    tw_device device;
    tw_pool *pool;
} cpu_device;

/* ---- floating-point state ---- */

/* Round to nearest, no flushing, all exceptions masked; the sticky flags don't matter. */
static inline uint32_t enter_kernel_state(void)
{
#if defined(__x86_64__)
    uint32_t old = __builtin_ia32_stmxcsr();
    if ((old & ~0x3Fu) != 0x1F80) __builtin_ia32_ldmxcsr(0x1F80);
    return old;
#else
    return 0;
#endif
}

static inline void leave_kernel_state(uint32_t old)
{
#if defined(__x86_64__)
    if ((old & ~0x3Fu) != 0x1F80) __builtin_ia32_ldmxcsr(old);
#else
    (void)old;
#endif
}

static tw_kernel_result call_kernel(const tw_launch *launch, const tw_kernel_env *env, int64_t first, int64_t last)
{
    uint32_t state = enter_kernel_state();
    int32_t result = launch->entry(env, first, last);
    leave_kernel_state(state);
    return result == TW_KERNEL_DONE || result == TW_KERNEL_STOPPED ? (tw_kernel_result)result : TW_KERNEL_OUT_OF_RANGE;
}

static tw_kernel_env env_of(const tw_launch *launch)
{
    return (tw_kernel_env){
        .memory = launch->memory, .memory_size = launch->memory_size, .args = launch->args,
        .outputs = launch->outputs, .stop = (const uint32_t *)launch->stop, .threads = 1,
    };
}

static bool stopping(const tw_launch *launch)
{
    return atomic_load_explicit(launch->stop, memory_order_relaxed) != 0;
}

/* ---- chunks ---- */

static int64_t align_chunk(double wanted, int64_t iterations, int64_t grain)
{
    if (wanted >= (double)iterations) return iterations;
    int64_t chunk = wanted < 1 ? 1 : (int64_t)wanted, align = grain > 1 ? grain : CHUNK_ALIGN;
    if (chunk >= align || grain > 1) chunk = (chunk + align - 1) / align * align;
    int64_t fewest = iterations / INT32_MAX + 1;
    return chunk > fewest ? chunk : fewest;
}

/* At most about a millisecond; with several workers small enough to share evenly, if that is worth claiming a chunk. */
static int64_t chunk_size(const tw_launch *launch, uint32_t workers)
{
    double iterations = (double)launch->iterations, each = launch->nanoseconds / iterations;
    double wanted = each > 0 ? CHUNK_NS / each : iterations;
    if (workers > 1) {
        double even = iterations / (workers * CHUNKS_PER_WORKER), least = each > 0 ? LEAST_CHUNK_NS / each : 1;
        if (even < least) even = least;
        if (even < wanted) wanted = even;
    }
    return align_chunk(wanted, launch->iterations, launch->info->grain);
}

static void run_alone(const tw_launch *launch, tw_launched *out)
{
    tw_kernel_env env = env_of(launch);
    bool whole = !launch->info->outer_parallel || launch->nanoseconds <= CHUNK_NS;
    int64_t chunk = whole ? launch->iterations : chunk_size(launch, 1);
    int64_t done = 0;
    tw_kernel_result result = TW_KERNEL_DONE;
    while (done < launch->iterations && result == TW_KERNEL_DONE) {
        if (stopping(launch)) {
            result = TW_KERNEL_STOPPED;
            break;
        }
        int64_t last = launch->iterations - done > chunk ? done + chunk : launch->iterations;
        result = call_kernel(launch, &env, done, last);
        if (result == TW_KERNEL_DONE) done = last;
        else if (result == TW_KERNEL_STOPPED) out->torn = true;
    }
    out->result = result, out->threads = 1, out->done = done;
}

void tw_launch_here(const tw_launch *launch, tw_launched *out)
{
    *out = (tw_launched){.threads = 1};
    if (launch->iterations > 0) run_alone(launch, out);
}

/* ---- many workers, one range each ---- */

typedef struct share {
    _Alignas(64) atomic_ullong range; /* chunks not yet claimed: first in the high half, end in the low */
} share;

typedef struct spread {
    const tw_launch *launch;
    int64_t chunk;
    uint32_t workers;
    atomic_int result; /* tw_kernel_result: the first that isn't DONE */
    atomic_uint touched;
    share shares[];
} spread;

static bool claim_front(share *from, uint32_t *out)
{
    unsigned long long range = atomic_load(&from->range);
    do {
        if (range >> 32 >= (range & UINT32_MAX)) return false;
    } while (!atomic_compare_exchange_weak(&from->range, &range, range + (UINT64_C(1) << 32)));
    *out = (uint32_t)(range >> 32);
    return true;
}

static bool claim_back(share *from, uint32_t *out)
{
    unsigned long long range = atomic_load(&from->range);
    do {
        if (range >> 32 >= (range & UINT32_MAX)) return false;
    } while (!atomic_compare_exchange_weak(&from->range, &range, range - 1));
    *out = (uint32_t)(range & UINT32_MAX) - 1;
    return true;
}

static share *largest(spread *job)
{
    share *best = &job->shares[0];
    uint64_t most = 0;
    for (uint32_t i = 0; i < job->workers; i++) {
        uint64_t range = atomic_load_explicit(&job->shares[i].range, memory_order_relaxed);
        uint64_t first = range >> 32, end = range & UINT32_MAX;
        if (first < end && end - first > most) most = end - first, best = &job->shares[i];
    }
    return most ? best : NULL;
}

/* Ends because the chunks not yet claimed only get fewer. */
static bool claim(spread *job, uint32_t worker, uint32_t *out)
{
    if (worker < job->workers && claim_front(&job->shares[worker], out)) return true;
    for (share *from; (from = largest(job));)
        if (claim_back(from, out)) return true;
    return false;
}

static void work_chunks(void *context, uint32_t worker, uint32_t none)
{
    (void)none;
    spread *job = context;
    const tw_launch *launch = job->launch;
    tw_kernel_env env = env_of(launch);
    uint32_t chunk;
    while (atomic_load_explicit(&job->result, memory_order_relaxed) == TW_KERNEL_DONE && claim(job, worker, &chunk)) {
        int64_t first = chunk * job->chunk, rest = launch->iterations - first;
        int64_t last = first + (rest < job->chunk ? rest : job->chunk);
        bool stop = stopping(launch);
        tw_kernel_result result = stop ? TW_KERNEL_STOPPED : call_kernel(launch, &env, first, last);
        if (!stop && result != TW_KERNEL_OUT_OF_RANGE) atomic_store(&job->touched, 1);
        int expected = TW_KERNEL_DONE;
        if (result != TW_KERNEL_DONE) atomic_compare_exchange_strong(&job->result, &expected, (int)result);
    }
}

static void deal(spread *job, uint64_t chunks)
{
    for (uint32_t i = 0; i < job->workers; i++) {
        uint64_t first = chunks * i / job->workers, end = chunks * (i + 1) / job->workers;
        atomic_init(&job->shares[i].range, first << 32 | end);
    }
}

static void run_spread(cpu_device *cpu, const tw_launch *launch, uint32_t workers, tw_launched *out)
{
    int64_t chunk = chunk_size(launch, workers), chunks = (launch->iterations - 1) / chunk + 1;
    if (chunks < workers) workers = (uint32_t)chunks;
    spread *job = workers < 2 ? NULL : aligned_alloc(64, sizeof *job + workers * sizeof(share));
    if (!job) {
        run_alone(launch, out);
        return;
    }
    job->launch = launch, job->chunk = chunk, job->workers = workers;
    atomic_init(&job->result, TW_KERNEL_DONE);
    atomic_init(&job->touched, 0);
    deal(job, (uint64_t)chunks);
    out->threads = tw_pool_share(cpu->pool, workers, work_chunks, job);
    out->result = (tw_kernel_result)atomic_load(&job->result);
    out->torn = out->result != TW_KERNEL_DONE && atomic_load(&job->touched);
    out->done = out->result == TW_KERNEL_DONE ? launch->iterations : 0;
    free(job);
}

/* ---- one call by a team ---- */

typedef struct team {
    const tw_launch *launch;
    atomic_uint phase, phase_sleepers; /* 2 · meetings held; odd once the team has broken up */
    atomic_uint arrived, gone;         /* at the current meeting; for good */
    atomic_uint results[3];            /* how many ended with each tw_kernel_result */
} team;

typedef struct member {
    team *of;
    uint32_t size;
} member;

static void break_up(team *job, uint32_t size)
{
    atomic_fetch_or(&job->phase, 1);
    tw_pool_wake(&job->phase, size, &job->phase_sleepers);
}

/* A meeting that somebody has left for good before it was held can't be held any more: whoever notices breaks the team up, so
 * that nobody waits for ever. Arriving is announced before `gone` is looked at, going before `arrived` is: one of the two sees
 * the other. */
static int32_t meet(void *context)
{
    member *self = context;
    team *job = self->of;
    unsigned phase = atomic_load(&job->phase);
    if (phase & 1) return 1;
    if (atomic_fetch_add(&job->arrived, 1) + 1 == self->size) {
        atomic_store(&job->arrived, 0);
        atomic_fetch_add(&job->phase, 2);
        tw_pool_wake(&job->phase, self->size, &job->phase_sleepers);
        return 0;
    }
    if (atomic_load(&job->gone) && atomic_load(&job->phase) == phase) break_up(job, self->size);
    tw_pool_await(&job->phase, phase, &job->phase_sleepers);
    return (int32_t)(atomic_load(&job->phase) & 1);
}

static void work_together(void *context, uint32_t worker, uint32_t size)
{
    team *job = context;
    member self = {job, size};
    tw_kernel_env env = env_of(job->launch);
    env.thread = worker, env.threads = size;
    if (size > 1) env.meet = meet, env.context = &self;
    tw_kernel_result result = call_kernel(job->launch, &env, 0, job->launch->iterations);
    atomic_fetch_add(&job->results[result], 1);
    atomic_fetch_add(&job->gone, 1);
    if (result != TW_KERNEL_DONE || atomic_load(&job->arrived)) break_up(job, size);
}

static uint64_t patience(const tw_launch *launch)
{
    double wanted = launch->nanoseconds / 16;
    return wanted < 4e4 ? 40000 : wanted > 5e6 ? 5000000 : (uint64_t)wanted;
}

static void run_together(cpu_device *cpu, const tw_launch *launch, uint32_t workers, tw_launched *out)
{
    team job = {.launch = launch};
    out->threads = tw_pool_gather(cpu->pool, workers, patience(launch), work_together, &job);
    uint32_t stopped = atomic_load(&job.results[TW_KERNEL_STOPPED]);
    uint32_t refused = atomic_load(&job.results[TW_KERNEL_OUT_OF_RANGE]);
    out->result = refused ? TW_KERNEL_OUT_OF_RANGE : stopped ? TW_KERNEL_STOPPED : TW_KERNEL_DONE;
    out->torn = stopped || (refused && refused != out->threads);
    out->done = out->result == TW_KERNEL_DONE ? launch->iterations : 0;
}

/* ---- the table ---- */

static void cpu_launch(tw_device *device, const tw_launch *launch, tw_launched *out)
{
    cpu_device *cpu = (cpu_device *)device;
    *out = (tw_launched){.threads = 1};
    uint32_t width = tw_pool_width(cpu->pool), workers = launch->threads < width ? launch->threads : width;
    if (workers < 2 || launch->iterations < 1) tw_launch_here(launch, out);
    else if (launch->info->outer_parallel) run_spread(cpu, launch, workers, out);
    else if (launch->info->shares_work) run_together(cpu, launch, workers, out);
    else run_alone(launch, out);
}

static uint32_t cpu_width(const tw_device *device)
{
    return tw_pool_width(((const cpu_device *)device)->pool);
}

static void cpu_close(tw_device *device)
{
    cpu_device *cpu = (cpu_device *)device;
    tw_pool_free(cpu->pool);
    free(cpu);
}

static const tw_device_table cpu_table = {.name = "cpu", .width = cpu_width, .launch = cpu_launch, .close = cpu_close};

tw_status tw_device_cpu_new(uint32_t threads, tw_device **out, tw_error *error)
{
    cpu_device *cpu = calloc(1, sizeof *cpu);
    TW_TRY_ALLOC(cpu, error);
    tw_status status = tw_pool_new(threads, &cpu->pool, error);
    if (status != TW_OK) {
        free(cpu);
        return status;
    }
    cpu->device.table = &cpu_table;
    *out = &cpu->device;
    return TW_OK;
}
