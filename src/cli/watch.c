/* SPDX-License-Identifier: Apache-2.0 */
#include "cli/watch.h"

#include <inttypes.h>
#include <pthread.h>
#include <stdio.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "cli/command.h"

static struct {
    pthread_mutex_t lock;
    pthread_cond_t changed;
    pthread_t thread;
    bool running, done;
    uint64_t limit_ns;
    struct timespec end;
} watch = {.lock = PTHREAD_MUTEX_INITIALIZER};

void cli_timeout_message(char *buffer, uint64_t limit_ns)
{
    static const struct {
        uint64_t worth;
        const char *unit;
    } units[] = {{1000000000, "s"}, {1000000, "ms"}, {1000, "us"}, {1, "ns"}};
    size_t i = 0;
    while (limit_ns % units[i].worth) i++;
    snprintf(buffer, 128, "the time limit of %" PRIu64 "%s ended the guest; --timeout sets it",
             limit_ns / units[i].worth, units[i].unit);
}

/* The lock is kept to the end: the main thread can't come back between the look at `done` and _exit. Written with
 * write(2), since a thread that sleeps in the guest may hold stdio's lock. */
static void end_process(void)
{
    char message[128], line[192];
    cli_timeout_message(message, watch.limit_ns);
    int size = snprintf(line, sizeof line, "%s: %s\n", CLI_PROGRAM, message);
    if (write(STDERR_FILENO, line, (size_t)size) < 0) { /* nowhere to tell it */
    }
    _exit(CLI_EXIT_TIMEOUT);
}

static void *wait_for_end(void *unused)
{
    (void)unused;
    pthread_mutex_lock(&watch.lock);
    int late = 0;
    while (!watch.done && !late) late = pthread_cond_timedwait(&watch.changed, &watch.lock, &watch.end);
    if (!watch.done) end_process();
    pthread_mutex_unlock(&watch.lock);
    return NULL;
}

/* Saturates: a limit of centuries is none. */
static struct timespec later(uint64_t ns)
{
    struct timespec end;
    clock_gettime(CLOCK_MONOTONIC, &end);
    uint64_t total = (uint64_t)end.tv_nsec + ns % 1000000000;
    end.tv_sec += (time_t)(ns / 1000000000 + total / 1000000000);
    end.tv_nsec = (long)(total % 1000000000);
    return end;
}

bool cli_watch_start(uint64_t limit_ns)
{
    uint64_t until;
    if (__builtin_add_overflow(limit_ns, CLI_GRACE_NS, &until)) until = UINT64_MAX;
    watch.limit_ns = limit_ns;
    watch.end = later(until);
    watch.done = false;
    pthread_condattr_t monotonic;
    pthread_condattr_init(&monotonic);
    pthread_condattr_setclock(&monotonic, CLOCK_MONOTONIC);
    pthread_cond_init(&watch.changed, &monotonic);
    pthread_condattr_destroy(&monotonic);
    watch.running = !pthread_create(&watch.thread, NULL, wait_for_end, NULL);
    return watch.running;
}

void cli_watch_stop(void)
{
    if (!watch.running) return;
    pthread_mutex_lock(&watch.lock);
    watch.done = true;
    pthread_cond_signal(&watch.changed);
    pthread_mutex_unlock(&watch.lock);
    pthread_join(watch.thread, NULL);
    watch.running = false;
}
