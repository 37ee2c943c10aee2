/* SPDX-License-Identifier: Apache-2.0 */
#include "base/crew.h"

#include <pthread.h>
#include <signal.h>

enum { MAX_THREADS = 64 };

static void *start(void *crew)
{
    ((tw_crew *)crew)->work(crew);
    return NULL;
}

/* They aren't the ones that the process's signals are for. Faults are their own: they may touch a guest's memory (memory/faults.h), and
 * a fault whose signal is blocked kills the process. */
static size_t start_threads(tw_crew *crew, pthread_t *threads, size_t wanted)
{
    sigset_t all, before;
    size_t started = 0;
    sigfillset(&all);
    sigdelset(&all, SIGSEGV), sigdelset(&all, SIGBUS), sigdelset(&all, SIGFPE), sigdelset(&all, SIGILL);
    pthread_sigmask(SIG_SETMASK, &all, &before);
    while (started < wanted && pthread_create(&threads[started], NULL, start, crew) == 0) started++;
    pthread_sigmask(SIG_SETMASK, &before, NULL);
    return started;
}

void tw_crew_run(tw_crew *crew, uint32_t threads)
{
    pthread_t others[MAX_THREADS - 1];
    size_t wanted = threads;
    if (wanted > crew->count) wanted = crew->count;
    if (wanted > MAX_THREADS) wanted = MAX_THREADS;
    size_t started = wanted > 1 ? start_threads(crew, others, wanted - 1) : 0;
    crew->work(crew);
    for (size_t i = 0; i < started; i++) pthread_join(others[i], NULL);
}
