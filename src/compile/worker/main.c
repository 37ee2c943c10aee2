/* SPDX-License-Identifier: Apache-2.0 */
/* The compile worker: reads questions from standard input, answers on standard output, and leaves when the input ends or
 * nobody has asked for a while. It holds no guest memory, may open nothing, and is killed by its parent when it takes too
 * long; whatever happens to it costs its parent one kernel. */

#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "base/bytes.h"
#include "base/error.h"
#include "compile/protocol.h"
#include "compile/worker/answer.h"
#include "compile/worker/confine.h"
#include "os/whole.h"

static int send_answer(tw_status status, const void *data, size_t size)
{
    tw_frame frame = {TW_ANSWER_MAGIC, (uint32_t)status, (uint32_t)size};
    return tw_write_whole(STDOUT_FILENO, &frame, sizeof frame) && tw_write_whole(STDOUT_FILENO, data, size);
}

static int answer(tw_question question, const char *request, size_t size)
{
    tw_bytes out = {0};
    tw_error error = {.message = ""};
    tw_status status = tw_worker_answer(question, request, size, &out, &error);
    if (status == TW_OK && (out.failed || out.size > TW_ANSWER_MAX)) status = tw_fail_memory(&error);
    int sent = status == TW_OK ? send_answer(status, out.data, out.size)
                               : send_answer(status, error.message, strnlen(error.message, TW_REASON_MAX));
    tw_bytes_free(&out);
    return sent;
}

/* One question and its answer; 0 when it's time to leave. */
static int serve_one(void)
{
    struct pollfd input = {.fd = STDIN_FILENO, .events = POLLIN};
    if (poll(&input, 1, TW_WORKER_IDLE_MS) <= 0) return 0;
    tw_frame frame;
    if (!tw_read_whole(STDIN_FILENO, &frame, sizeof frame) || frame.magic != TW_QUESTION_MAGIC || frame.size > TW_QUESTION_MAX) return 0;
    char *request = malloc(frame.size ? frame.size : 1);
    int go_on = request && tw_read_whole(STDIN_FILENO, request, frame.size) && answer((tw_question)frame.kind, request, frame.size);
    free(request);
    return go_on;
}

/* For tests: 0 when the worker can't do what it must not. */
static int check_confinement(void)
{
    tw_worker_identity(); /* LLVM is started before, as it is in earnest by the first question at the latest */
    tw_worker_confine();
    const char *escape = tw_worker_escape();
    if (escape) printf("the confinement doesn't hold: %s\n", escape);
    return escape != NULL;
}

int main(int argc, char **argv)
{
    if (argc > 1 && strcmp(argv[1], "--version") == 0) {
        printf("tensor-wasm-compile %s\n", tw_worker_identity());
        return 0;
    }
    if (argc > 1 && strcmp(argv[1], "--check-confinement") == 0) return check_confinement();
    if (isatty(STDIN_FILENO)) {
        fprintf(stderr, "tensor-wasm-compile makes kernels for the TensorWasm runtime, which starts it when it needs one.\n");
        return 2;
    }
    tw_worker_confine();
    while (serve_one())
        if (clock() / CLOCKS_PER_SEC > TW_WORKER_CPU_SECONDS / 2) break;
    return 0;
}
