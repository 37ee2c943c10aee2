/* SPDX-License-Identifier: Apache-2.0 */
#include "os/wake.h"

#include <errno.h>
#include <poll.h>
#include <sys/eventfd.h>
#include <time.h>
#include <unistd.h>

#include "os/clock.h"

void tw_waker_init(tw_waker *waker)
{
    pthread_mutex_init(&waker->lock, NULL);
    waker->fd = -1;
    waker->woken = false;
}

void tw_waker_destroy(tw_waker *waker)
{
    if (waker->fd >= 0) close(waker->fd);
    pthread_mutex_destroy(&waker->lock);
}

void tw_waker_wake(tw_waker *waker)
{
    pthread_mutex_lock(&waker->lock);
    if (!waker->woken && waker->fd >= 0) eventfd_write(waker->fd, 1);
    waker->woken = true;
    pthread_mutex_unlock(&waker->lock);
}

void tw_waker_reset(tw_waker *waker)
{
    eventfd_t count;
    pthread_mutex_lock(&waker->lock);
    if (waker->woken && waker->fd >= 0) eventfd_read(waker->fd, &count);
    waker->woken = false;
    pthread_mutex_unlock(&waker->lock);
}

static bool open_fd(tw_waker *waker)
{
    pthread_mutex_lock(&waker->lock);
    if (waker->fd < 0) {
        waker->fd = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
        if (waker->fd >= 0 && waker->woken) eventfd_write(waker->fd, 1);
    }
    bool ok = waker->fd >= 0;
    pthread_mutex_unlock(&waker->lock);
    return ok;
}

/* One wait. The kernel's timeouts are relative: what is left is computed anew each time. */
static int wait_once(struct pollfd *fds, nfds_t count, uint64_t until)
{
    if (until == TW_NEVER) return ppoll(fds, count, NULL, NULL);
    uint64_t now = tw_clock_now(), left = until > now ? until - now : 0;
    struct timespec time = {(time_t)(left / 1000000000u), (long)(left % 1000000000u)};
    return ppoll(fds, count, &time, NULL);
}

tw_wake tw_waker_sleep(tw_waker *waker, int fd, uint64_t until)
{
    if (!open_fd(waker)) return TW_WAKE_FAILED;
    struct pollfd fds[2] = {{.fd = waker->fd, .events = POLLIN}, {.fd = fd, .events = POLLIN}};
    for (;;) {
        int ready = wait_once(fds, fd >= 0 ? 2 : 1, until);
        if (ready < 0 && errno != EINTR) return TW_WAKE_FAILED;
        if (ready > 0) return fds[0].revents ? TW_WAKE_WOKEN : TW_WAKE_READY;
        if (ready == 0 && tw_clock_now() >= until) return TW_WAKE_TIME;
    }
}
