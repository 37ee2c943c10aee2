/* SPDX-License-Identifier: Apache-2.0 */
#ifndef TW_INSTANCE_WATCH_H
#define TW_INSTANCE_WATCH_H

/* Alarms by the clock: one thread that sleeps until the earliest of them. No ticks: a thread that was off the processor
 * for a while would make them up in a burst. The thread is made by the first alarm. */

#include <pthread.h>
#include <stdbool.h>
#include <stdint.h>

#include "base/error.h"

typedef struct tw_alarm {
    uint64_t at; /* tw_clock_now's time */
    bool armed;
    uint64_t (*ring)(void *context); /* returns when to ring again, or TW_NEVER. Under the watch's lock: don't arm */
    void *context;
    struct tw_alarm *before, *after;
} tw_alarm;

typedef struct tw_watch {
    pthread_mutex_t lock;
    pthread_cond_t changed;
    tw_alarm *first, *last; /* by time */
    pthread_t thread;
    bool has_thread, ending;
} tw_watch;

void tw_watch_init(tw_watch *watch);
/* No alarm may be armed. */
void tw_watch_destroy(tw_watch *watch);

/* Any thread. An alarm that is armed already gets the new time. */
tw_status tw_watch_arm(tw_watch *watch, tw_alarm *alarm, uint64_t at, tw_error *error);
/* Afterwards it doesn't ring any more, and isn't ringing. */
void tw_watch_disarm(tw_watch *watch, tw_alarm *alarm);

#endif
