/* SPDX-License-Identifier: Apache-2.0 */
#include "compile/process.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <poll.h>
#include <signal.h>
#include <spawn.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include "os/clock.h"

/* ---- start and end ---- */

static int spawn(const char *path, int socket, pid_t *pid)
{
    posix_spawn_file_actions_t actions;
    posix_spawnattr_t attributes;
    if (posix_spawn_file_actions_init(&actions)) return ENOMEM;
    if (posix_spawnattr_init(&attributes)) {
        posix_spawn_file_actions_destroy(&actions);
        return ENOMEM;
    }
    sigset_t none, all;
    sigemptyset(&none);
    sigfillset(&all);
    posix_spawnattr_setsigmask(&attributes, &none);
    posix_spawnattr_setsigdefault(&attributes, &all);
    posix_spawnattr_setflags(&attributes, POSIX_SPAWN_SETSIGMASK | POSIX_SPAWN_SETSIGDEF | POSIX_SPAWN_SETSID);
    int failed = posix_spawn_file_actions_adddup2(&actions, socket, 0);
    if (!failed) failed = posix_spawn_file_actions_adddup2(&actions, socket, 1);
    if (!failed) failed = posix_spawn_file_actions_addopen(&actions, 2, "/dev/null", O_WRONLY, 0);
    if (!failed) failed = posix_spawn_file_actions_addclosefrom_np(&actions, 3);
    char *const argv[] = {(char *)path, NULL}, *const environment[] = {"LC_ALL=C", NULL};
    if (!failed) failed = posix_spawn(pid, path, &actions, &attributes, argv, environment);
    posix_spawnattr_destroy(&attributes);
    posix_spawn_file_actions_destroy(&actions);
    return failed;
}

tw_status tw_process_start(tw_process *process, const char *path, tw_error *error)
{
    int ends[2];
    if (socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, ends))
        return tw_fail(error, TW_IO, "no socket for the compile worker: %s", strerror(errno));
    int failed = spawn(path, ends[1], &process->pid);
    close(ends[1]);
    if (failed) {
        close(ends[0]);
        process->pid = 0;
        return tw_fail(error, TW_IO, "the compile worker %s can't be started: %s", path, strerror(failed));
    }
    fcntl(ends[0], F_SETFL, O_NONBLOCK);
    process->fd = ends[0];
    return TW_OK;
}

static void forget(tw_process *process)
{
    close(process->fd);
    *process = (tw_process){0};
}

void tw_process_kill(tw_process *process)
{
    if (process->pid) kill(process->pid, SIGKILL);
}

void tw_process_reap(tw_process *process)
{
    if (!process->pid) return;
    while (waitpid(process->pid, NULL, 0) < 0 && errno == EINTR) continue;
    forget(process);
}

void tw_process_end(tw_process *process)
{
    tw_process_kill(process);
    tw_process_reap(process);
}

bool tw_process_is_alive(tw_process *process)
{
    if (!process->pid) return false;
    pid_t gone = waitpid(process->pid, NULL, WNOHANG);
    if (gone == 0) return true;
    forget(process); /* gone, or somebody else has waited for it */
    return false;
}

/* ---- talk ---- */

typedef struct talk {
    tw_process *process;
    uint64_t until;
    int cancel;
    tw_error *error;
    size_t heard; /* bytes of the answer */
} talk;

static int wait_ms(uint64_t now, uint64_t until)
{
    uint64_t left = until > now ? (until - now) / 1000000 + 1 : 0;
    return left < INT_MAX ? (int)left : INT_MAX;
}

/* Until the socket can be written or read, or the time is over. */
static tw_status wait_for(talk *t, short events)
{
    for (;;) {
        uint64_t now = tw_clock_now();
        if (now >= t->until) return tw_fail(t->error, TW_LIMIT, "the compile worker took too long and was killed");
        struct pollfd p[] = {{.fd = t->process->fd, .events = events}, {.fd = t->cancel, .events = POLLIN}};
        int ready = poll(p, 2, wait_ms(now, t->until));
        if (ready > 0 && p[1].revents) return tw_fail(t->error, TW_TERMINATED, "the compiler was closed");
        if (ready > 0) return TW_OK;
        if (ready < 0 && errno != EINTR) return tw_fail(t->error, TW_IO, "waiting for the compile worker: %s", strerror(errno));
    }
}

/* Why a process that has hung up did so. */
static tw_status explain_end(talk *t)
{
    int state = 0;
    pid_t pid = t->process->pid;
    kill(pid, SIGKILL);
    bool known = waitpid(pid, &state, 0) == pid;
    forget(t->process);
    if (known && WIFSIGNALED(state) && WTERMSIG(state) != SIGKILL)
        return tw_fail(t->error, TW_IO, "the compile worker died of signal %d (%s)", WTERMSIG(state), strsignal(WTERMSIG(state)));
    if (known && WIFEXITED(state)) return tw_fail(t->error, TW_IO, "the compile worker left with code %d", WEXITSTATUS(state));
    return tw_fail(t->error, TW_IO, "the compile worker was killed or hung up");
}

static tw_status send_bytes(talk *t, const void *data, size_t size)
{
    for (const char *at = data; size;) {
        ssize_t sent = send(t->process->fd, at, size, MSG_NOSIGNAL);
        if (sent > 0) {
            at += sent;
            size -= (size_t)sent;
        } else if (sent < 0 && errno == EAGAIN) {
            TW_TRY(wait_for(t, POLLOUT));
        } else if (sent == 0 || errno != EINTR) {
            return explain_end(t);
        }
    }
    return TW_OK;
}

static tw_status receive_bytes(talk *t, void *out, size_t size)
{
    for (char *at = out; size;) {
        ssize_t got = recv(t->process->fd, at, size, 0);
        if (got > 0) {
            at += got;
            size -= (size_t)got;
            t->heard += (size_t)got;
        } else if (got < 0 && errno == EAGAIN) {
            TW_TRY(wait_for(t, POLLIN));
        } else if (got == 0 || errno != EINTR) {
            return explain_end(t);
        }
    }
    return TW_OK;
}

static tw_status receive_answer(talk *t, tw_frame *frame, tw_bytes *answer)
{
    TW_TRY(receive_bytes(t, frame, sizeof *frame));
    bool failed = frame->kind != TW_OK;
    if (frame->magic != TW_ANSWER_MAGIC || frame->kind >= TW_STATUS_COUNT)
        return tw_fail(t->error, TW_INTERNAL, "the compile worker's answer makes no sense");
    if (frame->size > (failed ? TW_REASON_MAX : TW_ANSWER_MAX))
        return tw_fail(t->error, TW_INTERNAL, "the compile worker's answer of %u bytes is too long", frame->size);
    for (size_t left = frame->size; left;) {
        char piece[4096];
        size_t size = left < sizeof piece ? left : sizeof piece;
        TW_TRY(receive_bytes(t, piece, size));
        tw_bytes_append(answer, piece, size);
        left -= size;
    }
    return answer->failed ? tw_fail_memory(t->error) : TW_OK;
}

tw_status tw_process_ask(tw_process *process, tw_question question, const char *request, size_t size, uint64_t until,
                         int cancel, tw_bytes *answer, bool *broken, bool *silent, tw_error *error)
{
    talk t = {.process = process, .until = until, .cancel = cancel, .error = error};
    tw_frame frame = {TW_QUESTION_MAGIC, question, (uint32_t)size};
    tw_status status = send_bytes(&t, &frame, sizeof frame);
    if (status == TW_OK) status = send_bytes(&t, request, size);
    if (status == TW_OK) status = receive_answer(&t, &frame, answer);
    *broken = status != TW_OK;
    *silent = *broken && !process->pid && t.heard == 0;
    if (*broken || frame.kind == TW_OK) return status;
    return tw_fail(error, (tw_status)frame.kind, "%.*s", (int)answer->size, answer->data ? answer->data : "");
}
