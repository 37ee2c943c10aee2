/* SPDX-License-Identifier: Apache-2.0 */
#include "cli/starts.h"

#include <errno.h>
#include <pthread.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>
#include <unistd.h>

#include "cli/command.h"

enum { PROGRESS_NS = 250000000, GRACE_NS = 500000000 };

/* What all threads share. */
typedef struct field {
    const cli_starts_options *o;
    atomic_bool over;         /* no more starts */
    atomic_uint_fast64_t taken, done;
    pthread_mutex_t lock;     /* of what follows */
    pthread_cond_t changed, go;
    uint32_t running, ready;  /* threads that haven't ended; of these, that have warmed up */
    bool counts;              /* all have: now it counts */
    uint64_t began, deadline, cpu; /* when it did, when it is to end (0 = never), CPU time of the process then */
    cli_starts *out;          /* status, exit_code, error: of the first that fails */
} field;

typedef struct worker {
    field *f;
    pthread_t thread;
    pthread_mutex_t lock;     /* instance is terminated, or taken away, under it */
    tw_instance *instance;    /* while the guest may run */
    cli_invocation invocation;
    bool counts;              /* warmed up */
    uint64_t starts, calls, exits;
    cli_latency parts[CLI_PARTS];
} worker;

static uint64_t clock_of(clockid_t clock)
{
    struct timespec t;
    clock_gettime(clock, &t);
    return (uint64_t)t.tv_sec * 1000000000u + (uint64_t)t.tv_nsec;
}

static uint64_t now(void) { return clock_of(CLOCK_MONOTONIC); }

/* ---- one start ---- */

static void lend(worker *w, tw_instance *instance)
{
    pthread_mutex_lock(&w->lock);
    w->instance = instance;
    pthread_mutex_unlock(&w->lock);
}

static uint64_t note(worker *w, cli_part part, uint64_t since)
{
    uint64_t at = now();
    if (w->counts) cli_latency_add(&w->parts[part], at - since);
    return at;
}

static tw_status start(worker *w, tw_instance **out, int32_t *exit_code, tw_error *error)
{
    const cli_starts_options *o = w->f->o;
    if (o->pool) return tw_instance_pool_take(o->pool, out, error);
    tw_spawn_options spawn = *o->spawn;
    spawn.exit_code = exit_code;
    return tw_instance_spawn(o->module, &spawn, out, error);
}

static tw_status call_all(worker *w, tw_instance *instance, uint64_t since, tw_error *error)
{
    const cli_invocation *v = &w->invocation;
    tw_status status = TW_OK;
    for (uint32_t i = 0; v->name && i < w->f->o->calls && !status; i++) {
        status = tw_instance_call(instance, v->name, v->args, v->arg_count, v->results, v->result_count, error);
        since = note(w, CLI_PART_CALL, since);
        w->calls += w->counts;
    }
    return status;
}

static tw_status use(worker *w, tw_instance *instance, uint64_t since, tw_error *error)
{
    tw_status status = w->invocation.initialize ? tw_instance_call(instance, "_initialize", NULL, 0, NULL, 0, error) : TW_OK;
    since = note(w, CLI_PART_START, since);
    return status ? status : call_all(w, instance, since, error);
}

static void end(const worker *w, tw_instance *instance)
{
    if (w->f->o->pool) tw_instance_pool_give(w->f->o->pool, instance);
    else tw_instance_free(instance);
}

static void fail(worker *w, tw_status status, int32_t exit_code, const tw_error *error)
{
    field *f = w->f;
    pthread_mutex_lock(&f->lock);
    bool ours = atomic_load(&f->over) && f->out->interrupted; /* we terminated it */
    if (!f->out->status && !ours) {
        f->out->status = status;
        f->out->exit_code = exit_code;
        f->out->error = *error;
    }
    atomic_store(&f->over, true);
    pthread_mutex_unlock(&f->lock);
}

/* False when the guest failed. Exit code 0 is no failure. */
static bool one_start(worker *w)
{
    tw_instance *instance;
    tw_error error;
    int32_t exit_code = 0;
    uint64_t since = now();
    tw_status status = start(w, &instance, &exit_code, &error);
    if (!status) {
        lend(w, instance);
        status = use(w, instance, since, &error);
        lend(w, NULL);
        exit_code = tw_instance_exit_code(instance);
        since = now();
        end(w, instance);
        if (!status || status == TW_EXIT) note(w, CLI_PART_END, since);
    }
    bool left = status == TW_EXIT && exit_code == 0;
    if (status && !left) fail(w, status, exit_code, &error);
    if (status && !left) return false;
    w->exits += w->counts && left;
    w->starts += w->counts;
    return true;
}

/* ---- a thread ---- */

static void warm_up(worker *w)
{
    uint64_t until = now() + w->f->o->warm_up_ns;
    while (!atomic_load(&w->f->over) && one_start(w) && now() < until) {}
}

static bool goes_on(const worker *w)
{
    field *f = w->f;
    if (atomic_load_explicit(&f->over, memory_order_relaxed) || (f->deadline && now() >= f->deadline)) return false;
    return !f->o->most || atomic_fetch_add(&f->taken, 1) < f->o->most;
}

static void wait_for_others(worker *w)
{
    field *f = w->f;
    pthread_mutex_lock(&f->lock);
    f->ready++;
    pthread_cond_signal(&f->changed);
    while (!f->counts) pthread_cond_wait(&f->go, &f->lock);
    pthread_mutex_unlock(&f->lock);
    w->counts = true;
}

static void *work(void *given)
{
    worker *w = given;
    field *f = w->f;
    if (f->o->warm_up_ns) warm_up(w);
    wait_for_others(w);
    while (goes_on(w) && one_start(w)) atomic_fetch_add_explicit(&f->done, 1, memory_order_relaxed);
    pthread_mutex_lock(&f->lock);
    f->running--;
    pthread_cond_signal(&f->changed);
    pthread_mutex_unlock(&f->lock);
    return NULL;
}

/* ---- who waits for them ---- */

/* When the first one came; it is for us. One that comes later ends the process as if we weren't here. (A launcher may send the same
 * one twice at once, to us and to our group.) */
static atomic_uint_fast64_t signalled;
static void on_signal(int number)
{
    uint64_t first = 0, at = now();
    if (atomic_compare_exchange_strong(&signalled, &first, at) || at - first < GRACE_NS) return;
    signal(number, SIG_DFL);
    raise(number);
}

static void terminate_all(worker *workers, uint32_t count)
{
    for (uint32_t i = 0; i < count; i++) {
        pthread_mutex_lock(&workers[i].lock);
        if (workers[i].instance) tw_instance_terminate(workers[i].instance, NULL);
        pthread_mutex_unlock(&workers[i].lock);
    }
}

/* All of these under the lock. */

static void begin_to_count(field *f)
{
    f->began = now();
    f->cpu = clock_of(CLOCK_PROCESS_CPUTIME_ID);
    f->deadline = f->o->duration_ns ? f->began + f->o->duration_ns : 0;
    f->counts = true;
    pthread_cond_broadcast(&f->go);
}

/* Until something has changed, or then. */
static void wait_until(field *f, uint64_t until)
{
    struct timespec at = {(time_t)(until / 1000000000u), (long)(until % 1000000000u)};
    pthread_cond_timedwait(&f->changed, &f->lock, &at);
    if (!f->counts && f->ready == f->running) begin_to_count(f);
}

static bool all_end_until(field *f, uint64_t until)
{
    while (f->running && now() < until) wait_until(f, until);
    return !f->running;
}

/* A call that doesn't come back in time is ended; a start that doesn't is left behind. */
static void stop(field *f, worker *workers)
{
    f->out->interrupted = true;
    atomic_store(&f->over, true);
    if (all_end_until(f, now() + GRACE_NS)) return;
    pthread_mutex_unlock(&f->lock);
    terminate_all(workers, f->o->threads);
    pthread_mutex_lock(&f->lock);
    f->out->given_up = !all_end_until(f, now() + GRACE_NS);
}

static void tell(field *f, uint64_t *next)
{
    if (!f->o->progress || !f->counts || now() < *next) return;
    *next = now() + PROGRESS_NS;
    uint64_t taken = now() - f->began;
    pthread_mutex_unlock(&f->lock);
    f->o->progress(f->o->context, atomic_load(&f->done), taken);
    pthread_mutex_lock(&f->lock);
}

/* ---- all ---- */

static void watch(field *f, worker *workers)
{
    enum { LOOK_NS = 50000000 };
    uint64_t next = now() + PROGRESS_NS;
    pthread_mutex_lock(&f->lock);
    while (f->running && !f->out->interrupted) {
        wait_until(f, now() + LOOK_NS);
        if (atomic_load(&signalled)) stop(f, workers);
        else tell(f, &next);
    }
    pthread_mutex_unlock(&f->lock);
}

static void sum_up(cli_starts *out, const worker *workers, uint32_t count)
{
    for (uint32_t i = 0; i < count; i++) {
        out->starts += workers[i].starts;
        out->calls += workers[i].calls;
        out->exits += workers[i].exits;
        for (int p = 0; p < CLI_PARTS; p++) cli_latency_merge(&out->parts[p], &workers[i].parts[p]);
    }
}

static tw_status no_thread(tw_error *error)
{
    *error = (tw_error){TW_IO, TW_NO_FUNCTION, TW_NO_OFFSET, "no thread can be started: is a limit on processes met?"};
    return TW_IO;
}

static bool prepare(worker *w, field *f)
{
    w->f = f;
    pthread_mutex_init(&w->lock, NULL);
    w->invocation = *f->o->invocation;
    w->invocation.results = calloc(w->invocation.result_count + 1, sizeof *w->invocation.results);
    return w->invocation.results != NULL;
}

/* Those that were started before one couldn't be have nothing to do. */
static tw_status start_threads(field *f, worker *workers, tw_error *error)
{
    pthread_attr_t attributes;
    pthread_attr_init(&attributes);
    pthread_attr_setstacksize(&attributes, f->o->stack);
    bool well = true;
    for (uint32_t i = 0; i < f->o->threads && well; i++) {
        well = prepare(&workers[i], f) && !pthread_create(&workers[i].thread, &attributes, work, &workers[i]);
        pthread_mutex_lock(&f->lock);
        f->running += well;
        pthread_mutex_unlock(&f->lock);
    }
    pthread_attr_destroy(&attributes);
    if (!well) atomic_store(&f->over, true);
    return well ? TW_OK : no_thread(error);
}

static void finish(field *f, worker *workers)
{
    f->out->wall_ns = f->began ? now() - f->began : 0;
    f->out->cpu_ns = f->began ? clock_of(CLOCK_PROCESS_CPUTIME_ID) - f->cpu : 0;
    for (uint32_t i = 0; i < f->o->threads && !f->out->given_up; i++)
        if (workers[i].thread) pthread_join(workers[i].thread, NULL);
    sum_up(f->out, workers, f->o->threads);
}

static void init(field *f, const cli_starts_options *options, cli_starts *out)
{
    pthread_condattr_t attributes;
    *f = (field){.o = options, .out = out};
    pthread_mutex_init(&f->lock, NULL);
    pthread_condattr_init(&attributes);
    pthread_condattr_setclock(&attributes, CLOCK_MONOTONIC);
    pthread_cond_init(&f->changed, &attributes);
    pthread_cond_init(&f->go, NULL);
    pthread_condattr_destroy(&attributes);
}

static void destroy(field *f, worker *workers)
{
    for (uint32_t i = 0; i < f->o->threads; i++) free(workers[i].invocation.results);
    free(workers);
    pthread_cond_destroy(&f->go);
    pthread_cond_destroy(&f->changed);
    pthread_mutex_destroy(&f->lock);
}

/* Whichever thread gets the signal: on the engine's own stack for signals, where it has one. */
static void listen(struct sigaction before[2])
{
    struct sigaction ours = {.sa_handler = on_signal, .sa_flags = SA_ONSTACK | SA_RESTART};
    atomic_store(&signalled, 0);
    sigaction(SIGINT, &ours, &before[0]);
    sigaction(SIGTERM, &ours, &before[1]);
}

tw_status cli_starts_run(const cli_starts_options *options, cli_starts *out, tw_error *error)
{
    field *f = malloc(sizeof *f); /* not on the stack: a thread that doesn't end may outlive this call */
    worker *workers = calloc(options->threads, sizeof *workers);
    if (!f || !workers) {
        free(f);
        free(workers);
        *error = (tw_error){TW_NO_MEMORY, TW_NO_FUNCTION, TW_NO_OFFSET, "out of memory"};
        return TW_NO_MEMORY;
    }
    struct sigaction before[2];
    *out = (cli_starts){.status = TW_OK};
    init(f, options, out);
    listen(before);
    tw_status status = start_threads(f, workers, error);
    watch(f, workers);
    finish(f, workers);
    sigaction(SIGINT, &before[0], NULL);
    sigaction(SIGTERM, &before[1], NULL);
    if (out->given_up) return status;
    destroy(f, workers);
    free(f);
    return status;
}
