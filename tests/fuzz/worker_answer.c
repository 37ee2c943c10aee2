/* SPDX-License-Identifier: Apache-2.0 */
/* Any bytes as what a compile worker says before it leaves: a kernel that can be mapped, a reason, or a broken worker, told with a
 * sentence. Its code isn't run. */
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include "compile/process.h"
#include "kcache/code.h"
#include "os/clock.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

enum { QUESTION = 8 };

static void require(bool condition)
{
    if (!condition) abort();
}

/* When it has heard the question, as a worker does. */
static void speak(int fd, const uint8_t *data, size_t size)
{
    char question[sizeof(tw_frame) + QUESTION];
    if (recv(fd, question, sizeof question, MSG_WAITALL) != (ssize_t)sizeof question) _exit(1);
    while (size) {
        ssize_t put = send(fd, data, size, MSG_NOSIGNAL);
        if (put <= 0) break;
        data += put, size -= (size_t)put;
    }
    _exit(0);
}

static tw_process begin(const uint8_t *data, size_t size)
{
    int ends[2];
    require(socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, ends) == 0);
    pid_t child = fork();
    require(child >= 0);
    if (child == 0) {
        close(ends[0]);
        speak(ends[1], data, size);
    }
    close(ends[1]);
    fcntl(ends[0], F_SETFL, O_NONBLOCK);
    return (tw_process){child, ends[0]};
}

static void look_at(const tw_bytes *answer)
{
    tw_kernel_info info;
    tw_error error = {.message = ""};
    tw_code code;
    if (tw_answer_kernel(answer, &info, &error) != TW_OK) {
        require(error.status == TW_INTERNAL && error.message[0]);
        return;
    }
    require(info.entry < info.code_size && info.code_size == answer->size - sizeof info && strlen(info.schedule) < sizeof info.schedule);
    if (tw_code_map(&info, (const uint8_t *)answer->data + sizeof info, &code, &error) == TW_OK) tw_code_unmap(&code);
    else require(error.message[0]);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    tw_bytes answer = {0};
    tw_error error = {.message = ""};
    bool broken = false, silent = false;
    int never[2];
    require(pipe2(never, O_CLOEXEC) == 0);
    tw_process process = begin(data, size);
    tw_status status = tw_process_ask(&process, TW_QUESTION_COMPILE, "question", QUESTION, tw_clock_after(UINT64_C(10000000000)), never[0], &answer,
                                      &broken, &silent, &error);
    require(!silent || (broken && size == 0));
    if (status == TW_OK) look_at(&answer);
    else require(error.status == status && status < TW_STATUS_COUNT);
    tw_process_end(&process);
    tw_bytes_free(&answer);
    close(never[0]), close(never[1]);
    return 0;
}
