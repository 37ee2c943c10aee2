/* SPDX-License-Identifier: Apache-2.0 */
#include "memory/faults.h"

#include <errno.h>
#include <pthread.h>
#include <sched.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>
#include <ucontext.h>

typedef struct range {
    uintptr_t start, end;
    tw_fault_callback callback; /* NULL: code */
    void *context;
} range;

/* Sorted by start. The lock counts readers; WRITER is one of a kind. A spinning lock, because a mutex isn't
 * async-signal-safe; writers hold it for a memmove, at slot and module creation only. */
typedef struct table {
    range *items;
    size_t count, capacity;
    atomic_int lock;
} table;
#define WRITER (-1)

static table memories, codes;
static struct sigaction previous_segv, previous_bus, previous_trap; /* the engine's */
static struct sigaction first_segv, first_bus;                      /* that were there before the engine */

static void read_lock(table *t)
{
    for (;;) {
        int readers = atomic_load_explicit(&t->lock, memory_order_relaxed);
        if (readers != WRITER && atomic_compare_exchange_weak_explicit(&t->lock, &readers, readers + 1,
                                                                       memory_order_acquire, memory_order_relaxed))
            return;
        if (readers == WRITER) sched_yield();
    }
}

static void read_unlock(table *t) { atomic_fetch_sub_explicit(&t->lock, 1, memory_order_release); }

static void write_lock(table *t)
{
    for (int free = 0; !atomic_compare_exchange_weak_explicit(&t->lock, &free, WRITER, memory_order_acquire,
                                                              memory_order_relaxed);
         free = 0)
        sched_yield();
}

static void write_unlock(table *t) { atomic_store_explicit(&t->lock, 0, memory_order_release); }

/* Index of the first range that starts after address. */
static size_t upper(const table *t, uintptr_t address)
{
    size_t low = 0, high = t->count;
    while (low < high) {
        size_t middle = low + (high - low) / 2;
        if (t->items[middle].start <= address) low = middle + 1;
        else high = middle;
    }
    return low;
}

static bool find(table *t, uintptr_t address, range *out)
{
    read_lock(t);
    size_t at = upper(t, address);
    bool found = at > 0 && address < t->items[at - 1].end;
    if (found) *out = t->items[at - 1];
    read_unlock(t);
    return found;
}

static bool grow(table *t)
{
    if (t->count < t->capacity) return true;
    size_t capacity = t->capacity ? t->capacity * 2 : 64;
    range *items = realloc(t->items, capacity * sizeof *items);
    if (!items) return false;
    t->items = items;
    t->capacity = capacity;
    return true;
}

static bool add(table *t, range item)
{
    write_lock(t);
    bool ok = grow(t);
    if (ok) {
        size_t at = upper(t, item.start);
        memmove(t->items + at + 1, t->items + at, (t->count - at) * sizeof *t->items);
        t->items[at] = item;
        t->count++;
    }
    write_unlock(t);
    return ok;
}

static void drop(table *t, uintptr_t start)
{
    write_lock(t);
    size_t at = upper(t, start);
    if (at > 0 && t->items[at - 1].start == start) {
        memmove(t->items + at - 1, t->items + at, (t->count - at) * sizeof *t->items);
        t->count--;
    }
    write_unlock(t);
}

static range range_of(const void *start, size_t size, tw_fault_callback callback, void *context)
{
    return (range){(uintptr_t)start, (uintptr_t)start + size, callback, context};
}

bool tw_faults_add(const void *start, size_t size, tw_fault_callback callback, void *context)
{
    return add(&memories, range_of(start, size, callback, context));
}

void tw_faults_remove(const void *start) { drop(&memories, (uintptr_t)start); }

bool tw_faults_add_code(const void *start, size_t size) { return add(&codes, range_of(start, size, NULL, NULL)); }

void tw_faults_remove_code(const void *start) { drop(&codes, (uintptr_t)start); }

static void forward(const struct sigaction *previous, int signal, siginfo_t *info, void *context)
{
    if (previous->sa_flags & SA_SIGINFO) {
        previous->sa_sigaction(signal, info, context);
    } else if (previous->sa_handler == SIG_DFL || previous->sa_handler == SIG_IGN) {
        sigaction(signal, previous, NULL); /* the instruction faults again and the default action follows */
    } else {
        previous->sa_handler(signal);
    }
}

#if defined __x86_64__
static uintptr_t program_counter(const ucontext_t *c) { return (uintptr_t)c->uc_mcontext.gregs[REG_RIP]; }
static bool was_write(const ucontext_t *c) { return c->uc_mcontext.gregs[REG_ERR] & 2; }
#define STEPS 1
static void set_step(ucontext_t *c) { c->uc_mcontext.gregs[REG_EFL] |= 0x100; }
static void clear_step(ucontext_t *c) { c->uc_mcontext.gregs[REG_EFL] &= ~(greg_t)0x100; }
#elif defined __aarch64__
static uintptr_t program_counter(const ucontext_t *c) { return (uintptr_t)c->uc_mcontext.pc; }
static bool was_write(const ucontext_t *c) { (void)c; return true; }
#define STEPS 0
static void set_step(ucontext_t *c) { (void)c; }
static void clear_step(ucontext_t *c) { (void)c; }
#else
#error "no signal context for this architecture"
#endif

/* The fault that this thread is stepping over: its range, while it lasts. Reached from signal handlers: no allocation. A string
 * instruction (rep movsb) is one step for each of its rounds: they stay in one fault until it moves on to other pages. */
static _Thread_local struct {
    bool on;
    uintptr_t pc;
    range memory;
    tw_fault fault;
} step __attribute__((tls_model("initial-exec")));

static void begin_step(const range *memory, const tw_fault *fault, ucontext_t *context)
{
    step.memory = *memory;
    step.fault = *fault;
    step.pc = program_counter(context);
    step.on = true;
    set_step(context);
}

static void end_step(ucontext_t *context)
{
    if (!step.on) return;
    step.on = false;
    step.fault.after = true;
    clear_step(context);
    step.memory.callback(step.memory.context, &step.fault);
}

/* *trap: the engine shall make a trap of it, whatever signal it was. */
static bool serve(int signal, const siginfo_t *info, ucontext_t *context, bool *trap)
{
    range memory, code;
    *trap = false;
    end_step(context);
    if (!find(&memories, (uintptr_t)info->si_addr, &memory)) return false;
    tw_fault fault = {.address = info->si_addr, .is_write = was_write(context), .is_bus = signal == SIGBUS,
                      .in_guest = find(&codes, program_counter(context), &code),
                      .can_step = STEPS && !sigismember(&context->uc_sigmask, SIGTRAP)};
    tw_fault_verdict verdict = memory.callback(memory.context, &fault);
    if (verdict == TW_FAULT_SERVED_ONCE) begin_step(&memory, &fault, context);
    *trap = fault.is_bus && fault.in_guest;
    return verdict != TW_FAULT_PASS;
}

static void on_fault(int signal, siginfo_t *info, void *context)
{
    int saved = errno;
    bool trap;
    if (!serve(signal, info, context, &trap)) {
        if (trap) signal = SIGSEGV;
        forward(signal == SIGSEGV ? &previous_segv : &previous_bus, signal, info, context);
    }
    errno = saved;
}

/* The engine makes no trap of this one. Who was asked as a guest, and passed, is asked as a host. */
static bool serve_unclaimed(const siginfo_t *info, ucontext_t *context)
{
    range memory;
    if (!find(&memories, (uintptr_t)info->si_addr, &memory)) return false;
    tw_fault fault = {.address = info->si_addr, .is_write = was_write(context), .is_bus = info->si_signo == SIGBUS,
                      .can_step = STEPS && !sigismember(&context->uc_sigmask, SIGTRAP)};
    tw_fault_verdict verdict = memory.callback(memory.context, &fault);
    if (verdict == TW_FAULT_SERVED_ONCE) begin_step(&memory, &fault, context);
    return verdict != TW_FAULT_PASS;
}

static void on_unclaimed(int signal, siginfo_t *info, void *context)
{
    int saved = errno;
    if (!serve_unclaimed(info, context)) forward(signal == SIGSEGV ? &first_segv : &first_bus, signal, info, context);
    errno = saved;
}

static void on_step(int signal, siginfo_t *info, void *context)
{
    int saved = errno;
    if (!step.on) forward(&previous_trap, signal, info, context);
    else if (program_counter(context) != step.pc) end_step(context);
    errno = saved;
}

static bool own(int signal, void (*handler)(int, siginfo_t *, void *), struct sigaction *previous)
{
    struct sigaction action = {.sa_sigaction = handler, .sa_flags = SA_SIGINFO | SA_NODEFER | SA_ONSTACK};
    sigemptyset(&action.sa_mask);
    return sigaction(signal, &action, previous) == 0;
}

static int install_error;
static void install(void)
{
    if (!own(SIGSEGV, on_fault, &previous_segv) || !own(SIGBUS, on_fault, &previous_bus) ||
        !own(SIGTRAP, on_step, &previous_trap))
        install_error = errno;
}

static void install_last(void)
{
    if (!own(SIGSEGV, on_unclaimed, &first_segv) || !own(SIGBUS, on_unclaimed, &first_bus)) install_error = errno;
}

static tw_status install_once(pthread_once_t *once, void (*how)(void), tw_error *error)
{
    pthread_once(once, how);
    if (install_error) return tw_fail(error, TW_IO, "can't install signal handlers: %s", strerror(install_error));
    return TW_OK;
}

tw_status tw_faults_install_last(tw_error *error)
{
    static pthread_once_t once = PTHREAD_ONCE_INIT;
    return install_once(&once, install_last, error);
}

tw_status tw_faults_install(tw_error *error)
{
    static pthread_once_t once = PTHREAD_ONCE_INIT;
    return install_once(&once, install, error);
}
