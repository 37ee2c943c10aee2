/* SPDX-License-Identifier: Apache-2.0
 * The gate is one 64-bit word, so that joining is a single compare-and-swap which can't mistake one job for the next:
 *
 *   63 … 32  generation: the value of `word` that announced the job
 *   31       closed
 *   30 … 16  how many may join
 *   15 …  0  how many have joined
 *
 * A job's fields are written while the gate is closed and read only by those who joined: the bringer can't return, and hence
 * no next job can begin, before they have left. */
#include "device/pool.h"

#include <linux/futex.h>
#include <pthread.h>
#include <sched.h>
#include <signal.h>
#include <stdlib.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "os/clock.h"

enum { SPIN_NS = 30000, STACK_BYTES = 512 << 10 };

#define GATE_CLOSED (UINT64_C(1) << 31)

struct tw_pool {
    atomic_uint word, word_sleepers; /* bumped for every job */
    atomic_ullong gate;
    atomic_uint left, left_sleepers; /* of the job's helpers */
    atomic_uint team, team_sleepers; /* 0 until the size of a gathered team is known */
    atomic_uint busy, quit;
    tw_pool_body body;
    void *context;
    bool gathered;
    uint32_t width, started;
    pthread_t *threads;
};

static inline void pause_cpu(void)
{
#if defined(__x86_64__)
    __builtin_ia32_pause();
#endif
}

static bool spin_until_not(atomic_uint *word, unsigned value, uint64_t limit_ns)
{
    uint64_t end = 0;
    for (;;) {
        for (int i = 0; i < 32; i++) {
            if (atomic_load_explicit(word, memory_order_acquire) != value) return true;
            pause_cpu();
        }
        uint64_t now = tw_clock_now();
        if (!end) end = now + limit_ns;
        if (now >= end) return false;
    }
}

void tw_pool_await(atomic_uint *word, unsigned value, atomic_uint *sleepers)
{
    if (spin_until_not(word, value, SPIN_NS)) return;
    atomic_fetch_add(sleepers, 1);
    while (atomic_load(word) == value) syscall(SYS_futex, word, FUTEX_WAIT_PRIVATE, value, NULL, NULL, 0);
    atomic_fetch_sub(sleepers, 1);
}

void tw_pool_wake(atomic_uint *word, unsigned count, atomic_uint *sleepers)
{
    if (atomic_load(sleepers)) syscall(SYS_futex, word, FUTEX_WAKE_PRIVATE, count, NULL, NULL, 0);
}

/* ---- helpers ---- */

/* 0 when the gate is closed, full, or another job's; else the number of this worker. */
static uint32_t join(tw_pool *pool, unsigned generation)
{
    unsigned long long gate = atomic_load(&pool->gate);
    do {
        if (gate >> 32 != generation || (gate & GATE_CLOSED)) return 0;
        if ((gate & 0xFFFF) >= (gate >> 16 & 0x7FFF)) return 0;
    } while (!atomic_compare_exchange_weak(&pool->gate, &gate, gate + 1));
    return (uint32_t)(gate & 0xFFFF) + 1;
}

static void serve(tw_pool *pool, uint32_t worker)
{
    unsigned team = 0;
    if (pool->gathered) {
        tw_pool_await(&pool->team, 0, &pool->team_sleepers);
        team = atomic_load(&pool->team);
    }
    pool->body(pool->context, worker, team);
    atomic_fetch_add(&pool->left, 1);
    tw_pool_wake(&pool->left, 1, &pool->left_sleepers);
}

static void *helper(void *context)
{
    tw_pool *pool = context;
    unsigned seen = 0;
    for (;;) {
        tw_pool_await(&pool->word, seen, &pool->word_sleepers);
        if (atomic_load(&pool->quit)) return NULL;
        seen = atomic_load(&pool->word);
        uint32_t worker = join(pool, seen);
        if (worker) serve(pool, worker);
    }
}

/* Threads take no signals but those that their own instructions raise. */
static void start_helpers(tw_pool *pool, uint32_t count)
{
    if (pool->started >= count) return;
    sigset_t all, old;
    sigfillset(&all);
    sigdelset(&all, SIGSEGV), sigdelset(&all, SIGBUS), sigdelset(&all, SIGFPE), sigdelset(&all, SIGILL);
    pthread_sigmask(SIG_SETMASK, &all, &old);
    pthread_attr_t attributes;
    pthread_attr_init(&attributes);
    pthread_attr_setstacksize(&attributes, STACK_BYTES);
    while (pool->started < count &&
           !pthread_create(&pool->threads[pool->started], &attributes, helper, pool)) pool->started++;
    pthread_attr_destroy(&attributes);
    pthread_sigmask(SIG_SETMASK, &old, NULL);
}

/* ---- jobs ---- */

static void open_gate(tw_pool *pool, uint32_t helpers)
{
    unsigned generation = atomic_load(&pool->word) + 1;
    if (!generation) generation = 1; /* 0 is what a new thread has seen */
    atomic_store(&pool->left, 0);
    atomic_store(&pool->team, 0);
    atomic_store(&pool->gate, (uint64_t)generation << 32 | (uint64_t)helpers << 16);
    atomic_store(&pool->word, generation);
    tw_pool_wake(&pool->word, helpers, &pool->word_sleepers);
}

/* Returns how many joined. */
static uint32_t close_gate(tw_pool *pool)
{
    return (uint32_t)(atomic_fetch_or(&pool->gate, GATE_CLOSED) & 0xFFFF);
}

static void wait_for_helpers(tw_pool *pool, uint32_t joined)
{
    for (unsigned left; (left = atomic_load(&pool->left)) != joined;)
        tw_pool_await(&pool->left, left, &pool->left_sleepers);
}

static void gather(tw_pool *pool, uint32_t helpers, uint64_t patience_ns)
{
    uint64_t start = tw_clock_now(), passed = 0;
    while ((atomic_load(&pool->gate) & 0xFFFF) < helpers && passed < patience_ns) {
        if (passed < SPIN_NS) pause_cpu();
        else sched_yield();
        passed = tw_clock_now() - start;
    }
}

/* The helpers that may be had for a job, with the pool taken when there are any. */
static uint32_t take(tw_pool *pool, uint32_t threads)
{
    if (threads > pool->width) threads = pool->width;
    if (threads < 2 || atomic_exchange(&pool->busy, 1)) return 0;
    start_helpers(pool, threads - 1);
    uint32_t helpers = pool->started < threads - 1 ? pool->started : threads - 1;
    if (!helpers) atomic_store(&pool->busy, 0);
    return helpers;
}

/* patience_ns 0: nobody is waited for, and the team's size stays open. */
static uint32_t run(tw_pool *pool, uint32_t threads, uint64_t patience_ns, tw_pool_body body, void *context)
{
    bool gathered = patience_ns > 0;
    uint32_t helpers = take(pool, threads), joined = 0;
    if (!helpers) {
        body(context, 0, gathered);
        return 1;
    }
    pool->body = body, pool->context = context, pool->gathered = gathered;
    open_gate(pool, helpers);
    if (gathered) {
        gather(pool, helpers, patience_ns);
        joined = close_gate(pool);
        atomic_store(&pool->team, joined + 1);
        tw_pool_wake(&pool->team, joined, &pool->team_sleepers);
    }
    body(context, 0, gathered ? joined + 1 : 0);
    if (!gathered) joined = close_gate(pool);
    wait_for_helpers(pool, joined);
    atomic_store(&pool->busy, 0);
    return joined + 1;
}

uint32_t tw_pool_share(tw_pool *pool, uint32_t threads, tw_pool_body body, void *context)
{
    return run(pool, threads, 0, body, context);
}

uint32_t tw_pool_gather(tw_pool *pool, uint32_t threads, uint64_t patience_ns, tw_pool_body body, void *context)
{
    return run(pool, threads, patience_ns ? patience_ns : 1, body, context);
}

/* ---- life ---- */

tw_status tw_pool_new(uint32_t threads, tw_pool **out, tw_error *error)
{
    if (threads < 1 || threads > 256) return tw_fail(error, TW_INVALID_ARGUMENT, "%u threads: 1 to 256 can be had", threads);
    tw_pool *pool = calloc(1, sizeof *pool);
    TW_TRY_ALLOC(pool, error);
    pool->threads = calloc(threads, sizeof *pool->threads);
    if (!pool->threads) {
        free(pool);
        return tw_fail_memory(error);
    }
    pool->width = threads;
    pool->gate = GATE_CLOSED;
    *out = pool;
    return TW_OK;
}

void tw_pool_free(tw_pool *pool)
{
    if (!pool) return;
    atomic_store(&pool->quit, 1);
    atomic_fetch_add(&pool->word, 1);
    tw_pool_wake(&pool->word, INT32_MAX, &pool->word_sleepers);
    for (uint32_t i = 0; i < pool->started; i++) pthread_join(pool->threads[i], NULL);
    free(pool->threads);
    free(pool);
}

uint32_t tw_pool_width(const tw_pool *pool)
{
    return pool->width;
}
