/* SPDX-License-Identifier: Apache-2.0 */
#ifndef TW_OS_WAKE_H
#define TW_OS_WAKE_H

/* Sleeping so that another thread can end it. One thread sleeps; any may wake it, before or while it does. */

#include <pthread.h>
#include <stdbool.h>
#include <stdint.h>

typedef struct tw_waker {
    pthread_mutex_t lock;
    int fd;     /* an eventfd; -1 until somebody sleeps */
    bool woken; /* sticky until tw_waker_reset */
} tw_waker;

typedef enum tw_wake { TW_WAKE_TIME, TW_WAKE_READY, TW_WAKE_WOKEN, TW_WAKE_FAILED } tw_wake;

void tw_waker_init(tw_waker *waker);
void tw_waker_destroy(tw_waker *waker);
/* Every sleep ends with WOKEN from now on. */
void tw_waker_wake(tw_waker *waker);
void tw_waker_reset(tw_waker *waker);
/* Sleeps until `until` (tw_clock_now's time; TW_NEVER), or until fd (-1 = none) can be read or has an error, or until
 * woken, which wins over the others. FAILED: out of file descriptors. */
tw_wake tw_waker_sleep(tw_waker *waker, int fd, uint64_t until);

#endif
