/* SPDX-License-Identifier: Apache-2.0 */
#include "instance/watch.h"

#include <signal.h>
#include <string.h>
#include <sys/prctl.h>
#include <time.h>

#include "os/clock.h"

void tw_watch_init(tw_watch *watch)
{
    *watch = (tw_watch){0};
    pthread_condattr_t attributes;
    pthread_condattr_init(&attributes);
    pthread_condattr_setclock(&attributes, CLOCK_MONOTONIC);
    pthread_mutex_init(&watch->lock, NULL);
    pthread_cond_init(&watch->changed, &attributes);
    pthread_condattr_destroy(&attributes);
}

void tw_watch_destroy(tw_watch *watch)
{
    pthread_mutex_lock(&watch->lock);
    watch->ending = true;
    pthread_cond_signal(&watch->changed);
    pthread_mutex_unlock(&watch->lock);
    if (watch->has_thread) pthread_join(watch->thread, NULL);
    pthread_cond_destroy(&watch->changed);
    pthread_mutex_destroy(&watch->lock);
}

static void unlink_alarm(tw_watch *watch, tw_alarm *alarm)
{
    if (!alarm->armed) return;
    *(alarm->before ? &alarm->before->after : &watch->first) = alarm->after;
    *(alarm->after ? &alarm->after->before : &watch->last) = alarm->before;
    alarm->armed = false;
}

/* From the end: most alarms are later than all others. */
static void link_alarm(tw_watch *watch, tw_alarm *alarm, uint64_t at)
{
    tw_alarm *before = watch->last;
    while (before && before->at > at) before = before->before;
    alarm->at = at;
    alarm->before = before;
    alarm->after = before ? before->after : watch->first;
    *(before ? &before->after : &watch->first) = alarm;
    *(alarm->after ? &alarm->after->before : &watch->last) = alarm;
    alarm->armed = true;
}

static void ring_due(tw_watch *watch)
{
    uint64_t now = tw_clock_now();
    while (watch->first && watch->first->at <= now) {
        tw_alarm *alarm = watch->first;
        unlink_alarm(watch, alarm);
        uint64_t again = alarm->ring(alarm->context);
        if (again != TW_NEVER) link_alarm(watch, alarm, again);
    }
}

static void wait_for_first(tw_watch *watch)
{
    if (!watch->first) {
        pthread_cond_wait(&watch->changed, &watch->lock);
        return;
    }
    struct timespec at = {(time_t)(watch->first->at / 1000000000u), (long)(watch->first->at % 1000000000u)};
    pthread_cond_timedwait(&watch->changed, &watch->lock, &at);
}

static void *run(void *argument)
{
    tw_watch *watch = argument;
    prctl(PR_SET_TIMERSLACK, 1); /* the default lets every sleep last 50 us longer */
    pthread_mutex_lock(&watch->lock);
    while (!watch->ending) {
        ring_due(watch);
        if (!watch->ending) wait_for_first(watch);
    }
    pthread_mutex_unlock(&watch->lock);
    return NULL;
}

/* The thread takes no signals: they are for the program's own threads. */
static int start(tw_watch *watch)
{
    sigset_t all, before;
    sigfillset(&all);
    pthread_sigmask(SIG_SETMASK, &all, &before);
    int failure = pthread_create(&watch->thread, NULL, run, watch);
    pthread_sigmask(SIG_SETMASK, &before, NULL);
    watch->has_thread = !failure;
    return failure;
}

tw_status tw_watch_arm(tw_watch *watch, tw_alarm *alarm, uint64_t at, tw_error *error)
{
    pthread_mutex_lock(&watch->lock);
    int failure = watch->has_thread ? 0 : start(watch);
    if (!failure) {
        unlink_alarm(watch, alarm);
        link_alarm(watch, alarm, at);
        if (watch->first == alarm) pthread_cond_signal(&watch->changed);
    }
    pthread_mutex_unlock(&watch->lock);
    return failure ? tw_fail(error, TW_IO, "no thread for time limits: %s", strerror(failure)) : TW_OK;
}

void tw_watch_disarm(tw_watch *watch, tw_alarm *alarm)
{
    pthread_mutex_lock(&watch->lock);
    unlink_alarm(watch, alarm);
    pthread_mutex_unlock(&watch->lock);
}
