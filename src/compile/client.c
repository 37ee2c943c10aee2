/* SPDX-License-Identifier: Apache-2.0 */
/* The compiler's thread: takes questions in order, asks the worker, answers. It starts the worker when there is none, once
 * more when one had gone to sleep just as it was asked, and kills it when it breaks a promise or takes too long. */

#include <errno.h>
#include <limits.h>
#include <pthread.h>
#include <stdlib.h>
#include <stdatomic.h>
#include <string.h>
#include <sys/eventfd.h>
#include <sys/resource.h>
#include <time.h>
#include <unistd.h>

#include "compile/compile.h"
#include "compile/installation.h"
#include "compile/process.h"
#include "os/clock.h"

enum { DEFAULT_LIMIT_MS = 20 * 1000, REAP_SECONDS = 5, QUEUE_MAX = 4096, LOW_PRIORITY = 5 };

typedef struct question {
    struct question *next;
    tw_question kind;
    tw_compiled done; /* COMPILE */
    void *context;
    struct dump *dump; /* the others */
    size_t size;
    char request[];
} question;

/* Somebody waits for it. */
typedef struct dump {
    pthread_cond_t ready;
    bool answered;
    tw_status status;
    tw_bytes text;
    tw_error *error;
} dump;

struct tw_compiler {
    pthread_mutex_t lock;
    pthread_cond_t wake, parted;
    question *first, **last;
    uint32_t waiting;
    atomic_bool closing;
    int closed; /* can be read from then on */
    bool polite;
    bool has_thread, has_parted; /* the thread has answered everything and frees the rest */
    tw_process process; /* the thread's */
    uint64_t limit_ns;
    char path[PATH_MAX];
    char identity[PATH_MAX + 256];
};

/* ---- answering ---- */

tw_status tw_answer_kernel(const tw_bytes *answer, tw_kernel_info *info, tw_error *error)
{
    if (answer->size < sizeof *info) return tw_fail(error, TW_INTERNAL, "the compile worker sent no whole kernel");
    memcpy(info, answer->data, sizeof *info);
    if (info->abi != TW_KERNEL_ABI)
        return tw_fail(error, TW_INTERNAL, "the compile worker makes kernels of ABI %u, not %d: it belongs to another installation",
                       info->abi, TW_KERNEL_ABI);
    if (info->code_size != answer->size - sizeof *info || info->entry >= info->code_size ||
        memchr(info->schedule, 0, sizeof info->schedule) == NULL)
        return tw_fail(error, TW_INTERNAL, "the compile worker sent a kernel that doesn't fit together");
    return TW_OK;
}

static void deliver_kernel(question *q, tw_status status, const tw_bytes *answer, tw_error *error)
{
    tw_kernel_info info;
    if (status == TW_OK) status = tw_answer_kernel(answer, &info, error);
    if (status == TW_OK) q->done(q->context, TW_OK, &info, (const uint8_t *)answer->data + sizeof info, NULL);
    else q->done(q->context, status, NULL, NULL, error);
}

static void deliver(tw_compiler *compiler, question *q, tw_status status, tw_bytes *answer, tw_error *error)
{
    if (!q->dump) {
        deliver_kernel(q, status, answer, error);
        return;
    }
    pthread_mutex_lock(&compiler->lock);
    q->dump->status = status;
    if (status == TW_OK) {
        q->dump->text = *answer;
        *answer = (tw_bytes){0};
    } else if (q->dump->error) {
        *q->dump->error = *error;
    }
    q->dump->answered = true;
    pthread_cond_signal(&q->dump->ready);
    pthread_mutex_unlock(&compiler->lock);
}

/* ---- asking ---- */

static tw_status start_worker(tw_compiler *compiler, tw_error *error)
{
    TW_TRY(tw_process_start(&compiler->process, compiler->path, error));
    if (compiler->polite) setpriority(PRIO_PROCESS, (id_t)compiler->process.pid, LOW_PRIORITY);
    return TW_OK;
}

static tw_status ask_once(tw_compiler *compiler, const question *q, uint64_t until, tw_bytes *answer, bool *silent,
                          tw_error *error)
{
    bool broken = false;
    *silent = false;
    if (!tw_process_is_alive(&compiler->process)) TW_TRY(start_worker(compiler, error));
    tw_status status = tw_process_ask(&compiler->process, q->kind, q->request, q->size, until, compiler->closed, answer,
                                      &broken, silent, error);
    if (broken && !atomic_load(&compiler->closing)) tw_process_end(&compiler->process);
    return status;
}

static void answer_question(tw_compiler *compiler, question *q)
{
    tw_error error = {.message = ""};
    tw_bytes answer = {0};
    bool silent, was_running = compiler->process.pid != 0;
    uint64_t until = tw_clock_after(compiler->limit_ns);
    tw_status status = ask_once(compiler, q, until, &answer, &silent, &error);
    if (silent && was_running) { /* it left, as idle workers do, between our look and our question */
        tw_bytes_free(&answer);
        status = ask_once(compiler, q, until, &answer, &silent, &error);
    }
    deliver(compiler, q, status, &answer, &error);
    tw_bytes_free(&answer);
}

/* The next question; NULL when the compiler closes. Sees to a worker that has left meanwhile. */
static question *next_question(tw_compiler *compiler)
{
    pthread_mutex_lock(&compiler->lock);
    while (!compiler->first && !atomic_load(&compiler->closing)) {
        if (!compiler->process.pid) {
            pthread_cond_wait(&compiler->wake, &compiler->lock);
            continue;
        }
        struct timespec until;
        clock_gettime(CLOCK_MONOTONIC, &until);
        until.tv_sec += REAP_SECONDS;
        pthread_cond_timedwait(&compiler->wake, &compiler->lock, &until);
        tw_process_is_alive(&compiler->process);
    }
    question *q = atomic_load(&compiler->closing) ? NULL : compiler->first;
    if (q) {
        compiler->first = q->next;
        if (!compiler->first) compiler->last = &compiler->first;
        compiler->waiting--;
    }
    pthread_mutex_unlock(&compiler->lock);
    return q;
}

static void free_compiler(tw_compiler *compiler)
{
    pthread_cond_destroy(&compiler->wake);
    pthread_cond_destroy(&compiler->parted);
    pthread_mutex_destroy(&compiler->lock);
    close(compiler->closed);
    free(compiler);
}

/* Whoever closes the compiler needn't wait for the system to clear the worker away. */
static void part(tw_compiler *compiler)
{
    tw_process process = compiler->process;
    pthread_mutex_lock(&compiler->lock);
    compiler->has_parted = true;
    pthread_cond_signal(&compiler->parted);
    pthread_mutex_unlock(&compiler->lock);
    tw_process_reap(&process);
}

static void *work(void *context)
{
    tw_compiler *compiler = context;
    for (question *q; (q = next_question(compiler));) {
        answer_question(compiler, q);
        free(q);
    }
    tw_process_kill(&compiler->process);
    for (question *q; (q = compiler->first);) {
        tw_error error;
        tw_bytes none = {0};
        tw_fail(&error, TW_TERMINATED, "the compiler was closed");
        compiler->first = q->next;
        deliver(compiler, q, TW_TERMINATED, &none, &error);
        free(q);
    }
    part(compiler);
    return NULL;
}

/* ---- the interface ---- */

static const char *chosen_path(const tw_compiler_options *options)
{
    if (options && options->worker_path) return options->worker_path;
#ifdef TW_CHECKED
    return getenv("TW_WORKER");
#else
    return NULL;
#endif
}

static void init_locks(tw_compiler *compiler)
{
    pthread_condattr_t monotonic;
    pthread_condattr_init(&monotonic);
    pthread_condattr_setclock(&monotonic, CLOCK_MONOTONIC);
    pthread_mutex_init(&compiler->lock, NULL);
    pthread_cond_init(&compiler->wake, &monotonic);
    pthread_cond_init(&compiler->parted, &monotonic);
    pthread_condattr_destroy(&monotonic);
}

tw_status tw_compiler_new(const tw_compiler_options *options, tw_compiler **out, tw_error *error)
{
    tw_compiler *compiler = calloc(1, sizeof *compiler);
    TW_TRY_ALLOC(compiler, error);
    const char *path = chosen_path(options);
    if (path && strlen(path) < sizeof compiler->path) strcpy(compiler->path, path);
    if (path ? !compiler->path[0] : !tw_worker_find(compiler->path, sizeof compiler->path)) {
        free(compiler);
        return tw_fail(error, TW_IO, "the compile worker (tensor-wasm-compile) isn't installed: without it no loop is offloaded");
    }
    compiler->closed = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
    if (compiler->closed < 0) {
        free(compiler);
        return tw_fail(error, TW_IO, "no descriptor for the compiler: %s", strerror(errno));
    }
    uint32_t limit_ms = options && options->limit_ms ? options->limit_ms : DEFAULT_LIMIT_MS;
    compiler->limit_ns = (uint64_t)limit_ms * 1000000;
    compiler->polite = options && options->polite;
    compiler->last = &compiler->first;
    init_locks(compiler);
    *out = compiler;
    return TW_OK;
}

void tw_compiler_free(tw_compiler *compiler)
{
    if (!compiler) return;
    pthread_mutex_lock(&compiler->lock);
    atomic_store(&compiler->closing, true);
    eventfd_write(compiler->closed, 1);
    pthread_cond_signal(&compiler->wake);
    while (compiler->has_thread && !compiler->has_parted) pthread_cond_wait(&compiler->parted, &compiler->lock);
    pthread_mutex_unlock(&compiler->lock);
    free_compiler(compiler);
}

static bool start_thread(tw_compiler *compiler)
{
    pthread_t thread;
    if (pthread_create(&thread, NULL, work, compiler)) return false;
    pthread_detach(thread);
    return true;
}

/* The thread is started by the first question. Under the lock. */
static tw_status enqueue(tw_compiler *compiler, question *q, tw_error *error)
{
    if (compiler->waiting >= QUEUE_MAX) return tw_fail(error, TW_LIMIT, "%u kernels wait to be compiled", compiler->waiting);
    if (!compiler->has_thread && !start_thread(compiler))
        return tw_fail(error, TW_NO_MEMORY, "no thread for the compiler");
    compiler->has_thread = true;
    *compiler->last = q;
    compiler->last = &q->next;
    compiler->waiting++;
    pthread_cond_signal(&compiler->wake);
    return TW_OK;
}

static tw_status make_question(tw_question kind, const char *request, size_t size, question **out, tw_error *error)
{
    if (size > TW_QUESTION_MAX) return tw_fail(error, TW_LIMIT, "a model of %zu bytes is too long to compile", size);
    question *q = calloc(1, sizeof *q + size);
    TW_TRY_ALLOC(q, error);
    q->kind = kind;
    q->size = size;
    memcpy(q->request, request, size);
    *out = q;
    return TW_OK;
}

tw_status tw_compiler_submit(tw_compiler *compiler, const char *request, size_t size, tw_compiled done, void *context,
                             tw_error *error)
{
    question *q = NULL;
    TW_TRY(make_question(TW_QUESTION_COMPILE, request, size, &q, error));
    q->done = done;
    q->context = context;
    pthread_mutex_lock(&compiler->lock);
    tw_status status = enqueue(compiler, q, error);
    pthread_mutex_unlock(&compiler->lock);
    if (status != TW_OK) free(q);
    return status;
}

static const struct {
    const char *what;
    tw_question question;
} dumps[] = {{"schedule", TW_QUESTION_SCHEDULE}, {"llvm", TW_QUESTION_LLVM}, {"asm", TW_QUESTION_ASM}};

static tw_status wait_for_dump(tw_compiler *compiler, question *q, dump *d, tw_error *error)
{
    pthread_cond_init(&d->ready, NULL);
    pthread_mutex_lock(&compiler->lock);
    tw_status status = enqueue(compiler, q, error);
    if (status != TW_OK) free(q);
    while (status == TW_OK && !d->answered) pthread_cond_wait(&d->ready, &compiler->lock);
    pthread_mutex_unlock(&compiler->lock);
    pthread_cond_destroy(&d->ready);
    return status == TW_OK ? d->status : status;
}

tw_status tw_compiler_dump(tw_compiler *compiler, const char *what, const char *request, size_t size, char **text,
                           tw_error *error)
{
    size_t i = 0, count = sizeof dumps / sizeof *dumps;
    while (i < count && strcmp(dumps[i].what, what)) i++;
    if (i == count) return tw_fail(error, TW_INVALID, "there is no dump called %s; there are schedule, llvm and asm", what);
    question *q = NULL;
    TW_TRY(make_question(dumps[i].question, request, size, &q, error));
    dump d = {.error = error};
    q->dump = &d;
    TW_TRY(wait_for_dump(compiler, q, &d, error));
    *text = tw_bytes_take(&d.text, NULL);
    return *text ? TW_OK : tw_fail_memory(error);
}

tw_status tw_compiler_identity(tw_compiler *compiler, const char **out, tw_error *error)
{
    pthread_mutex_lock(&compiler->lock);
    bool known = compiler->identity[0] ||
                 tw_worker_describe(compiler->path, compiler->identity, sizeof compiler->identity);
    if (!known) compiler->identity[0] = 0;
    pthread_mutex_unlock(&compiler->lock);
    if (!known) return tw_fail(error, TW_IO, "the compile worker %s can't be looked at", compiler->path);
    *out = compiler->identity;
    return TW_OK;
}
