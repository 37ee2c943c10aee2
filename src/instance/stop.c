/* SPDX-License-Identifier: Apache-2.0 */
#include "instance/stop.h"

#include "os/clock.h"

#define AGAIN_NS 1000000u /* until the pages are looked at again */
#define SOON_NS 10000u    /* when host code keeps opening them: a loop of fills is in guest code for short moments only */

/* Lock order: watch, stopper, slot. So an alarm is armed and disarmed outside the stopper's lock. */

static bool close_slots(tw_stopper *stopper)
{
    bool again = false;
    for (uint32_t i = 0; i < stopper->slot_count; i++)
        again |= tw_slot_close(stopper->slots[i], stopper->generations[i]) == TW_SLOT_AGAIN;
    return again;
}

/* Under the lock, while a run goes on. When to look again. */
static uint64_t stop(tw_stopper *stopper, tw_stop reason)
{
    if (reason > atomic_load(&stopper->reason)) atomic_store(&stopper->reason, reason);
    bool again = !atomic_load(&stopper->in_host) && close_slots(stopper);
    tw_waker_wake(&stopper->waker);
    return tw_clock_after(again ? SOON_NS : AGAIN_NS);
}

/* The deadline, and from then on again and again until the run ends. */
static uint64_t ring(void *context)
{
    tw_stopper *stopper = context;
    pthread_mutex_lock(&stopper->lock);
    uint64_t again = stopper->running ? stop(stopper, TW_STOP_TIMEOUT) : TW_NEVER;
    pthread_mutex_unlock(&stopper->lock);
    return again;
}

void tw_stopper_init(tw_stopper *stopper, tw_watch *watch)
{
    *stopper = (tw_stopper){.watch = watch, .alarm = {.ring = ring, .context = stopper}};
    pthread_mutex_init(&stopper->lock, NULL);
    tw_waker_init(&stopper->waker);
}

void tw_stopper_destroy(tw_stopper *stopper)
{
    tw_watch_disarm(stopper->watch, &stopper->alarm);
    tw_waker_destroy(&stopper->waker);
    pthread_mutex_destroy(&stopper->lock);
}

void tw_stop_add_slot(tw_stopper *stopper, tw_slot *slot)
{
    pthread_mutex_lock(&stopper->lock);
    if (stopper->slot_count < TW_STOP_SLOTS) {
        stopper->slots[stopper->slot_count] = slot;
        stopper->generations[stopper->slot_count++] = slot->generation;
        if (stopper->running) tw_slot_enter(slot);
        if (atomic_load(&stopper->reason)) close_slots(stopper);
    }
    pthread_mutex_unlock(&stopper->lock);
}

/* These two under the lock. */
static tw_status check_owner(const tw_stopper *stopper, tw_error *error)
{
    if (!stopper->aside) return TW_OK;
    return tw_fail(error, TW_INVALID_ARGUMENT, "the instance has been given back to its pool: it isn't the caller's any more");
}

static tw_status check_idle(const tw_stopper *stopper, tw_error *error)
{
    if (stopper->running) return tw_fail(error, TW_BUSY, "the instance is in the middle of a call");
    return TW_OK;
}

/* A memory that a host lent to several instances comes first. */
static tw_status enter_slots(const tw_stopper *stopper, tw_error *error)
{
    for (uint32_t i = 0; i < stopper->slot_count; i++) {
        if (!stopper->slots[i]->lent) tw_slot_enter(stopper->slots[i]);
        else if (!tw_slot_try_enter(stopper->slots[i]))
            return tw_fail(error, TW_BUSY, "the instance's memory is a host's, and another instance runs on it");
    }
    return TW_OK;
}

static tw_status enter(tw_stopper *stopper, bool timed, tw_error *error)
{
    TW_TRY(check_owner(stopper, error));
    if (stopper->torn)
        return tw_fail(error, TW_TERMINATED, "the instance has been terminated: it was stopped in the middle of a kernel, and "
                                             "its memory is torn");
    if (stopper->terminated) return tw_fail(error, TW_TERMINATED, "the instance has been terminated");
    TW_TRY(check_idle(stopper, error));
    TW_TRY(enter_slots(stopper, error));
    stopper->running = true;
    stopper->timed = timed;
    return TW_OK;
}

tw_status tw_stop_begin(tw_stopper *stopper, uint64_t timeout_ns, tw_error *error)
{
    pthread_mutex_lock(&stopper->lock);
    tw_status status = enter(stopper, timeout_ns != 0, error);
    pthread_mutex_unlock(&stopper->lock);
    if (status != TW_OK || !timeout_ns) return status;
    status = tw_watch_arm(stopper->watch, &stopper->alarm, tw_clock_after(timeout_ns), error);
    if (status != TW_OK) tw_stop_end(stopper);
    return status;
}

tw_stop tw_stop_end(tw_stopper *stopper)
{
    pthread_mutex_lock(&stopper->lock);
    for (uint32_t i = 0; i < stopper->slot_count; i++) tw_slot_leave(stopper->slots[i]);
    stopper->running = false;
    tw_stop reason = atomic_exchange(&stopper->reason, TW_STOP_NONE);
    bool armed = stopper->timed || reason != TW_STOP_NONE;
    if (reason != TW_STOP_NONE) tw_waker_reset(&stopper->waker);
    pthread_mutex_unlock(&stopper->lock);
    if (armed) tw_watch_disarm(stopper->watch, &stopper->alarm);
    return reason;
}

/* Without a lock: we take the flag away and then look at the reason, stop() sets the reason and then looks at the flag; so
 * one of the two at least closes the slots. */
bool tw_stop_leave_host(tw_stopper *stopper)
{
    atomic_store(&stopper->in_host, false);
    if (atomic_load(&stopper->reason) == TW_STOP_NONE) return true;
    pthread_mutex_lock(&stopper->lock);
    close_slots(stopper);
    pthread_mutex_unlock(&stopper->lock);
    return false;
}

void tw_stop_tear(tw_stopper *stopper)
{
    pthread_mutex_lock(&stopper->lock);
    stopper->terminated = stopper->torn = true;
    pthread_mutex_unlock(&stopper->lock);
}

bool tw_stop_put_aside(tw_stopper *stopper)
{
    pthread_mutex_lock(&stopper->lock);
    bool done = !stopper->terminated && !stopper->running;
    stopper->aside = done;
    pthread_mutex_unlock(&stopper->lock);
    return done;
}

void tw_stop_take_up(tw_stopper *stopper)
{
    pthread_mutex_lock(&stopper->lock);
    stopper->aside = false;
    pthread_mutex_unlock(&stopper->lock);
}

tw_status tw_stop_check_owner(tw_stopper *stopper, tw_error *error)
{
    pthread_mutex_lock(&stopper->lock);
    tw_status status = check_owner(stopper, error);
    pthread_mutex_unlock(&stopper->lock);
    return status;
}

tw_status tw_stop_check_idle(tw_stopper *stopper, tw_error *error)
{
    pthread_mutex_lock(&stopper->lock);
    tw_status status = check_owner(stopper, error);
    if (status == TW_OK) status = check_idle(stopper, error);
    pthread_mutex_unlock(&stopper->lock);
    return status;
}

tw_status tw_stop_terminate(tw_stopper *stopper, tw_error *error)
{
    pthread_mutex_lock(&stopper->lock);
    tw_status owner = check_owner(stopper, error);
    bool before = stopper->terminated, running = stopper->running;
    if (owner == TW_OK) stopper->terminated = true;
    if (owner == TW_OK && !before && running) stop(stopper, TW_STOP_TERMINATED);
    pthread_mutex_unlock(&stopper->lock);
    TW_TRY(owner);
    if (before) return tw_fail(error, TW_TERMINATED, "the instance has been terminated already");
    if (running) return tw_watch_arm(stopper->watch, &stopper->alarm, tw_clock_after(SOON_NS), error);
    return TW_OK;
}
