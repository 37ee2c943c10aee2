/* SPDX-License-Identifier: Apache-2.0 */
#ifndef TW_INSTANCE_STOP_H
#define TW_INSTANCE_STOP_H

/* Ends what an instance does, at a deadline or because another thread says so.
 *
 *   guest code        its memory's pages go away; the next access traps (memory/slot.h). Every loop makes one: the
 *                     rewrite sees to that
 *   host code         its faults are served, after which the pages go away again, again and again until the call ends
 *   asleep            woken (os/wake.h)
 *   a kernel          sees the reason, which is also the flag that it polls; the pages go when it has returned
 *   an import         of the embedder's: likewise the pages stay until it has returned. Its accesses would be served, but
 *                     system calls fail on absent pages, with EFAULT. WASI is the engine's, which copies, or ours
 *
 * A run is what lies between begin and end, on one thread. Requests come from any. */

#include <pthread.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>

#include "base/error.h"
#include "instance/watch.h"
#include "memory/slot.h"
#include "os/wake.h"

typedef enum tw_stop { TW_STOP_NONE, TW_STOP_TIMEOUT, TW_STOP_TERMINATED } tw_stop;

#define TW_STOP_SLOTS 2

typedef struct tw_stopper {
    pthread_mutex_t lock;
    tw_watch *watch;
    tw_alarm alarm;
    tw_waker waker;
    atomic_uint reason;  /* tw_stop; of the current run */
    bool running, terminated;
    bool aside;          /* its pool has it: nobody may call it */
    bool torn;           /* terminated because a kernel was left half-way */
    atomic_bool in_host; /* a kernel or an embedder's function runs: the pages stay */
    bool timed;          /* the current run has a deadline */
    tw_slot *slots[TW_STOP_SLOTS];
    uint64_t generations[TW_STOP_SLOTS];
    uint32_t slot_count;
} tw_stopper;

void tw_stopper_init(tw_stopper *stopper, tw_watch *watch);
/* No run, and nobody else calls any more. Before the slots go. */
void tw_stopper_destroy(tw_stopper *stopper);

/* A memory came to be; during a run, on its thread. */
void tw_stop_add_slot(tw_stopper *stopper, tw_slot *slot);

/* timeout_ns 0 = none. TW_TERMINATED after a termination, TW_BUSY inside another run. */
tw_status tw_stop_begin(tw_stopper *stopper, uint64_t timeout_ns, tw_error *error);
/* Ends the run: the pages are back. What was asked for meanwhile. */
tw_stop tw_stop_end(tw_stopper *stopper);

/* Kernels and embedders' functions run with the pages in place. Both say whether to go on. A kernel may begin all the same and
 * sees the flag; when a function may not, some pages may be away already. Leave follows in either case. The run's thread. */
static inline bool tw_stop_enter_host(tw_stopper *stopper)
{
    atomic_store(&stopper->in_host, true);
    return atomic_load(&stopper->reason) == TW_STOP_NONE;
}
bool tw_stop_leave_host(tw_stopper *stopper);
/* A kernel was left half-way: the memory is torn, and this run is the last. Its thread. */
void tw_stop_tear(tw_stopper *stopper);

/* An instance that waits in its pool: no run begins and nobody ends it until it is taken up again. False after a termination and
 * during a run. */
bool tw_stop_put_aside(tw_stopper *stopper);
void tw_stop_take_up(tw_stopper *stopper);
/* Whether the instance is its embedder's: TW_INVALID_ARGUMENT while its pool has it; TW_BUSY during a run, where that matters. */
tw_status tw_stop_check_owner(tw_stopper *stopper, tw_error *error);
tw_status tw_stop_check_idle(tw_stopper *stopper, tw_error *error);

/* For good. TW_TERMINATED the second time. Any thread. */
tw_status tw_stop_terminate(tw_stopper *stopper, tw_error *error);

#endif
