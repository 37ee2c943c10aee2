/* SPDX-License-Identifier: Apache-2.0 */
#include "host/wasi.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "os/clock.h"

/* WASI preview 1's own numbers. */
enum { OK = 0, AGAIN = 6, BADF = 8, FAULT = 21, INVAL = 28, IO = 29, ISDIR = 31, NOMEM = 48, OVERFLOW_ = 61 };
enum { CLOCK_REAL = 0, CLOCK_MONO = 1 };
enum { TYPE_CLOCK = 0, TYPE_READ = 1, TYPE_WRITE = 2 };
enum { FLAG_ABSOLUTE = 1 };
enum { SUBSCRIPTION_BYTES = 48, EVENT_BYTES = 32, IOVEC_BYTES = 8 };
#define MAX_READ ((size_t)64 << 10)

/* ---- the guest's memory: every access is checked against the live size ---- */

static uint8_t *guest(tw_store *store, uint64_t at, uint64_t size)
{
    const tw_slot *slot = tw_store_slot(store, 0);
    if (!slot || size > slot->size || at > slot->size - size) return NULL;
    return slot->base + at;
}

static uint32_t get32(const uint8_t *at) { uint32_t v; memcpy(&v, at, 4); return v; }
static uint64_t get64(const uint8_t *at) { uint64_t v; memcpy(&v, at, 8); return v; }
static void put32(uint8_t *at, uint32_t v) { memcpy(at, &v, 4); }
static void put64(uint8_t *at, uint64_t v) { memcpy(at, &v, 8); }

static tw_status answer(tw_raw *values, int32_t number)
{
    values[0].i32 = number;
    return TW_OK;
}

static tw_status woken(tw_error *error)
{
    return tw_fail(error, TW_TERMINATED, "the instance was stopped while it slept");
}

/* ---- fd_read, fd_close, fd_renumber, path_open ---- */

static int32_t wasi_errno(int number)
{
    switch (number) {
    case EBADF: return BADF;
    case EISDIR: return ISDIR;
    case EAGAIN: return AGAIN;
    case EINVAL: return INVAL;
    default: return IO;
    }
}

/* Bytes that the guest's buffers can take, at most MAX_READ; -1 when one lies outside its memory. */
static int64_t capacity_of(tw_store *store, uint32_t iovs, uint32_t count)
{
    const uint8_t *at = guest(store, iovs, (uint64_t)count * IOVEC_BYTES);
    if (!at) return -1;
    uint64_t total = 0;
    for (uint32_t i = 0; i < count && total < MAX_READ; i++, at += IOVEC_BYTES) {
        uint32_t size = get32(at + 4);
        if (!guest(store, get32(at), size)) return -1;
        total += size;
    }
    return (int64_t)(total < MAX_READ ? total : MAX_READ);
}

/* Buffers may lie over the list that names them, so every entry is checked again. */
static void scatter(tw_store *store, uint32_t iovs, uint32_t count, const uint8_t *from, size_t size)
{
    for (uint32_t i = 0; i < count && size; i++) {
        const uint8_t *at = guest(store, iovs + (uint64_t)i * IOVEC_BYTES, IOVEC_BYTES);
        size_t part = get32(at + 4) < size ? get32(at + 4) : size;
        uint8_t *to = guest(store, get32(at), part);
        if (!to) return;
        memcpy(to, from, part);
        from += part;
        size -= part;
    }
}

/* A buffer of our own in between: the kernel gives up on the pages of an instance that is being stopped, half-way. */
static tw_status read_stdin(tw_wasi *wasi, uint8_t *buffer, size_t size, ssize_t *out, tw_error *error)
{
    do {
        tw_wake wake = tw_waker_sleep(wasi->waker, STDIN_FILENO, TW_NEVER);
        if (wake == TW_WAKE_WOKEN) return woken(error);
        *out = read(STDIN_FILENO, buffer, size);
    } while (*out < 0 && (errno == EINTR || errno == EAGAIN));
    return TW_OK;
}

static tw_status fd_read_stdin(tw_wasi *wasi, tw_store *store, tw_raw *values, tw_error *error)
{
    uint32_t iovs = (uint32_t)values[1].i32, count = (uint32_t)values[2].i32;
    uint8_t *result = guest(store, (uint32_t)values[3].i32, 4);
    int64_t capacity = capacity_of(store, iovs, count);
    if (!result || capacity < 0) return answer(values, FAULT);
    uint8_t *buffer = malloc(capacity ? (size_t)capacity : 1);
    if (!buffer) return answer(values, NOMEM);
    ssize_t got = 0;
    tw_status status = capacity ? read_stdin(wasi, buffer, (size_t)capacity, &got, error) : TW_OK;
    int failure = errno;
    if (status == TW_OK && got >= 0) {
        scatter(store, iovs, count, buffer, (size_t)got);
        put32(result, (uint32_t)got);
    }
    free(buffer);
    return status == TW_OK ? answer(values, got < 0 ? wasi_errno(failure) : OK) : status;
}

static tw_status on_fd_read(void *context, tw_store *store, tw_raw *values, size_t count, tw_error *error)
{
    tw_wasi *wasi = context;
    if ((uint32_t)values[0].i32 == wasi->stdin_fd) return fd_read_stdin(wasi, store, values, error);
    if (wasi->files && wasi->files->given_input && values[0].i32 == 0) wasi->files->took_input = true;
    return tw_store_wasi(store, TW_WASI_fd_read, values, count, error);
}

static tw_status on_fd_close(void *context, tw_store *store, tw_raw *values, size_t count, tw_error *error)
{
    tw_wasi *wasi = context;
    uint32_t fd = (uint32_t)values[0].i32;
    TW_TRY(tw_store_wasi(store, TW_WASI_fd_close, values, count, error));
    if (values[0].i32 == OK && fd == wasi->stdin_fd) wasi->stdin_fd = -1;
    if (values[0].i32 == OK && wasi->files) tw_files_closed(wasi->files, fd);
    return TW_OK;
}

static tw_status on_fd_renumber(void *context, tw_store *store, tw_raw *values, size_t count, tw_error *error)
{
    tw_wasi *wasi = context;
    uint32_t from = (uint32_t)values[0].i32, to = (uint32_t)values[1].i32;
    TW_TRY(tw_store_wasi(store, TW_WASI_fd_renumber, values, count, error));
    if (values[0].i32 != OK) return TW_OK;
    if (from == wasi->stdin_fd) wasi->stdin_fd = to;
    else if (to == wasi->stdin_fd) wasi->stdin_fd = -1;
    if (wasi->files) tw_files_renumbered(wasi->files, from, to);
    return TW_OK;
}

/* Where the guest put its path and wants the descriptor is looked at before: the call may write over either. */
static tw_status on_path_open(void *context, tw_store *store, tw_raw *values, size_t count, tw_error *error)
{
    enum { SHOWN = 100 };
    tw_wasi *wasi = context;
    uint32_t path = (uint32_t)values[2].i32, size = (uint32_t)values[3].i32, result = (uint32_t)values[8].i32;
    uint8_t name[SHOWN];
    size_t shown = size < SHOWN ? size : SHOWN;
    const uint8_t *from = guest(store, path, shown);
    if (from) memcpy(name, from, shown);
    TW_TRY(tw_store_wasi(store, TW_WASI_path_open, values, count, error));
    const uint8_t *opened = guest(store, result, 4);
    if (values[0].i32 == OK && opened) tw_files_opened(wasi->files, get32(opened), name, from ? shown : 0);
    return TW_OK;
}

/* ---- clocks ---- */

/* By a clock of the guest's. Its monotonic one starts with the instance. */
static uint64_t guest_now(const tw_wasi *wasi, uint32_t id)
{
    struct timespec now;
    if (id == CLOCK_MONO) return tw_clock_now() - wasi->began;
    clock_gettime(CLOCK_REALTIME, &now);
    return (uint64_t)now.tv_sec * 1000000000u + (uint64_t)now.tv_nsec;
}

/* What is wrong with a call, the engine says. */
static tw_status on_clock_time_get(void *context, tw_store *store, tw_raw *values, size_t count, tw_error *error)
{
    uint32_t id = (uint32_t)values[0].i32, at = (uint32_t)values[2].i32;
    uint8_t *result = guest(store, at, 8);
    if (!result || at % 8 || (id != CLOCK_REAL && id != CLOCK_MONO))
        return tw_store_wasi(store, TW_WASI_clock_time_get, values, count, error);
    put64(result, guest_now(context, id));
    return answer(values, OK);
}

/* ---- poll_oneoff ---- */

/* The same moment by a clock of the guest's and by ours. */
typedef struct moment {
    bool known;
    uint64_t theirs, ours;
} moment;

/* What a set of subscriptions waits for. Times are tw_clock_now's. */
typedef struct poll_set {
    tw_wasi *wasi;
    tw_store *store;
    uint32_t subscriptions, events, count; /* the guest's addresses */
    uint64_t started, until;
    moment moments[2]; /* of CLOCK_REAL and CLOCK_MONO */
    bool has_stdin, has_other;
    bool stdin_ready;
} poll_set;

static const uint8_t *subscription(const poll_set *set, uint32_t i)
{
    return guest(set->store, set->subscriptions + (uint64_t)i * SUBSCRIPTION_BYTES, SUBSCRIPTION_BYTES);
}

/* Asks the engine something whose answer goes to guest memory: the first event's place is lent for it. */
static tw_status ask(const poll_set *set, tw_wasi_pass function, tw_raw *values, size_t count, uint8_t *out, size_t size,
                     tw_error *error)
{
    uint8_t saved[EVENT_BYTES], *place = guest(set->store, set->events, EVENT_BYTES);
    memcpy(saved, place, sizeof saved);
    tw_status status = tw_store_wasi(set->store, function, values, count, error);
    memcpy(out, place, size);
    memcpy(place, saved, sizeof saved);
    return status;
}

static uint64_t later(uint64_t start, uint64_t ns)
{
    uint64_t at;
    return __builtin_add_overflow(start, ns, &at) ? TW_NEVER : at;
}

/* The moment that one of the guest's clocks and ours are compared; once for a set, so that a time is always the same. */
static const moment *compare_clocks(poll_set *set, uint32_t id)
{
    moment *m = &set->moments[id];
    if (m->known) return m;
    *m = (moment){true, guest_now(set->wasi, id), tw_clock_now()};
    return m;
}

/* When a clock subscription is over. */
static void clock_end(poll_set *set, const uint8_t *at, uint64_t *end, int32_t *number)
{
    uint32_t id = get32(at + 16);
    uint64_t timeout = get64(at + 24);
    if (id != CLOCK_REAL && id != CLOCK_MONO) {
        *number = INVAL;
    } else if (!(get32(at + 40) & FLAG_ABSOLUTE)) {
        *end = later(set->started, timeout);
    } else {
        const moment *m = compare_clocks(set, id);
        *end = timeout > m->theirs ? later(m->ours, timeout - m->theirs) : m->ours;
    }
}

/* Whether the guest has such a descriptor: the engine says. */
static tw_status check_fd(const poll_set *set, uint32_t fd, int32_t *number, tw_error *error)
{
    uint8_t ignored[24];
    tw_raw values[2] = {{.i32 = (int32_t)fd}, {.i32 = (int32_t)set->events}};
    TW_TRY(ask(set, TW_WASI_fd_fdstat_get, values, 2, ignored, sizeof ignored, error));
    *number = values[0].i32;
    return TW_OK;
}

static void survey(poll_set *set, int32_t *number)
{
    for (uint32_t i = 0; i < set->count && *number == OK; i++) {
        const uint8_t *at = subscription(set, i);
        uint64_t end = TW_NEVER;
        uint32_t fd = get32(at + 16);
        if (at[8] == TYPE_CLOCK) clock_end(set, at, &end, number);
        else if (at[8] == TYPE_READ && fd == set->wasi->stdin_fd) set->has_stdin = true;
        else if (at[8] == TYPE_READ || at[8] == TYPE_WRITE) set->has_other = true;
        else *number = INVAL;
        if (end < set->until) set->until = end;
    }
}

static tw_status check_others(poll_set *set, int32_t *number, tw_error *error)
{
    for (uint32_t i = 0; i < set->count && *number == OK; i++) {
        const uint8_t *at = subscription(set, i);
        uint32_t fd = get32(at + 16);
        if (at[8] != TYPE_CLOCK && !(at[8] == TYPE_READ && fd == set->wasi->stdin_fd))
            TW_TRY(check_fd(set, fd, number, error));
    }
    return TW_OK;
}

static void write_event(uint8_t *event, uint64_t user_data, uint8_t type)
{
    memset(event, 0, EVENT_BYTES);
    put64(event, user_data);
    event[10] = type;
    if (type != TYPE_CLOCK) put64(event + 16, 1); /* bytes that can be had: at least one */
}

/* Ends of clocks are looked at again: more than one may be over. */
static void write_events(poll_set *set, uint32_t *ready, int32_t *number)
{
    uint8_t *events = guest(set->store, set->events, (uint64_t)set->count * EVENT_BYTES);
    uint64_t now = tw_clock_now();
    for (uint32_t i = 0; i < set->count; i++) {
        const uint8_t *at = subscription(set, i);
        uint64_t end = TW_NEVER, user_data = get64(at);
        uint8_t type = at[8];
        bool is_ready = type == TYPE_READ && get32(at + 16) == set->wasi->stdin_fd ? set->stdin_ready : true;
        if (type == TYPE_CLOCK) {
            clock_end(set, at, &end, number);
            is_ready = end <= now;
        }
        if (is_ready) write_event(events + (size_t)(*ready)++ * EVENT_BYTES, user_data, type);
    }
}

static tw_status sleep_for(poll_set *set, tw_error *error)
{
    uint64_t until = set->has_other ? set->started : set->until;
    tw_wake wake = tw_waker_sleep(set->wasi->waker, set->has_stdin ? STDIN_FILENO : -1, until);
    if (wake == TW_WAKE_WOKEN) return woken(error);
    set->stdin_ready = wake == TW_WAKE_READY || wake == TW_WAKE_FAILED;
    return TW_OK;
}

static tw_status on_poll_oneoff(void *context, tw_store *store, tw_raw *values, size_t count, tw_error *error)
{
    poll_set set = {.wasi = context, .store = store, .subscriptions = (uint32_t)values[0].i32,
                    .events = (uint32_t)values[1].i32, .count = (uint32_t)values[2].i32,
                    .started = tw_clock_now(), .until = TW_NEVER};
    uint32_t result = (uint32_t)values[3].i32, ready = 0;
    int32_t number = OK;
    if (set.count == 0) return answer(values, INVAL);
    if (!guest(store, set.subscriptions, (uint64_t)set.count * SUBSCRIPTION_BYTES) || !guest(store, result, 4) ||
        !guest(store, set.events, (uint64_t)set.count * EVENT_BYTES))
        return answer(values, FAULT);
    survey(&set, &number);
    if (number == OK && set.has_other && !set.has_stdin) /* nothing to wait for */
        return tw_store_wasi(store, TW_WASI_poll_oneoff, values, count, error);
    if (number == OK && set.has_other) TW_TRY(check_others(&set, &number, error));
    if (number != OK) return answer(values, number);
    TW_TRY(sleep_for(&set, error));
    write_events(&set, &ready, &number);
    put32(guest(store, result, 4), ready);
    return answer(values, number);
}

/* ---- proc_exit ---- */

static tw_status on_proc_exit(void *context, tw_store *store, tw_raw *values, size_t count, tw_error *error)
{
    (void)store;
    (void)count;
    tw_wasi *wasi = context;
    wasi->exited = true;
    wasi->exit_code = values[0].i32;
    return tw_fail(error, TW_EXIT, "the guest exited with code %d", wasi->exit_code);
}

/* ---- names ---- */

bool tw_wasi_binding(const char *name, tw_wasi *wasi, tw_binding *out)
{
    static const struct { const char *name; tw_raw_func call; } ours[] = {
        {"fd_read", on_fd_read}, {"fd_close", on_fd_close}, {"fd_renumber", on_fd_renumber},
        {"poll_oneoff", on_poll_oneoff}, {"proc_exit", on_proc_exit}, {"path_open", on_path_open},
        {"clock_time_get", on_clock_time_get},
    };
    for (size_t i = 0; i < sizeof ours / sizeof *ours; i++) {
        if (strcmp(name, ours[i].name) || (ours[i].call == on_path_open && !wasi->files)) continue;
        *out = (tw_binding){ours[i].call, wasi};
        return true;
    }
    return false;
}
