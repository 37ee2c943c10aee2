/* SPDX-License-Identifier: Apache-2.0 */
#ifndef TW_COMPILE_PROCESS_H
#define TW_COMPILE_PROCESS_H

/* One worker process and the talk with it. One thread at a time. */

#include <stdbool.h>
#include <sys/types.h>

#include "base/bytes.h"
#include "base/error.h"
#include "base/kernel_abi.h"
#include "compile/protocol.h"

typedef struct tw_process {
    pid_t pid; /* 0: none is running */
    int fd;    /* our end of its standard input and output */
} tw_process;

/* Starts `path`: nothing inherited but its socket, no environment to speak of. */
tw_status tw_process_start(tw_process *process, const char *path, tw_error *error);
/* Kills it, if there is one, and waits until it is gone, which takes the system some milliseconds: = kill, reap. */
void tw_process_end(tw_process *process);
void tw_process_kill(tw_process *process);
void tw_process_reap(tw_process *process);
/* Notices one that has left by itself. */
bool tw_process_is_alive(tw_process *process);

/* Asks and waits for the answer, until the clock says `until` or the descriptor `cancel` can be read. TW_OK:
 * `answer` holds the payload. A failure that the worker reported has its status and reason. *broken is set for anything
 * else: the process must be ended; *silent as well when it went without having answered a byte. */
tw_status tw_process_ask(tw_process *process, tw_question question, const char *request, size_t size, uint64_t until,
                         int cancel, tw_bytes *answer, bool *broken, bool *silent, tw_error *error);

/* Is the payload of an answer a kernel that can be looked at further? Its code is what follows the information. */
tw_status tw_answer_kernel(const tw_bytes *answer, tw_kernel_info *info, tw_error *error);

#endif
