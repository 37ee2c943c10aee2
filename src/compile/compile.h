/* SPDX-License-Identifier: Apache-2.0 */
#ifndef TW_COMPILE_COMPILE_H
#define TW_COMPILE_COMPILE_H

/* The compile worker as the runtime sees it: text in, kernel out, never here. The worker is a separate process (exec'd
 * from the installation, resource limits, no guest memory); it is killed at a wall-clock limit and started anew when it
 * died. Whatever it does wrong, the answer is a failure with a reason. */

#include <stdbool.h>

#include "base/bytes.h"
#include "base/error.h"
#include "base/kernel_abi.h"

typedef struct tw_compiler tw_compiler;

typedef struct tw_compiler_options {
    const char *worker_path; /* NULL: TW_WORKER in the environment of a checked build, else beside the library */
    uint32_t limit_ms;       /* wall clock of one request, the worker's start included; 0: 20 s */
    bool polite;             /* the guest runs meanwhile: where processors are scarce it goes first */
} tw_compiler_options;

/* One a process is enough. Starts nothing: the worker runs from the first request on and leaves after some idle time. */
tw_status tw_compiler_new(const tw_compiler_options *options, tw_compiler **out, tw_error *error);
/* Kills the worker; requests not yet answered are answered with TW_TERMINATED before this returns. */
void tw_compiler_free(tw_compiler *compiler);

/* On success `code` has info->code_size bytes, valid during the call only. Called on the compiler's thread. */
typedef void (*tw_compiled)(void *context, tw_status status, const tw_kernel_info *info, const uint8_t *code,
                            const tw_error *error);

/* request: a model's text followed by its facts' text. Answers later through `done`, exactly once; returns at once.
 * A failure here means that `done` won't be called. */
tw_status tw_compiler_submit(tw_compiler *compiler, const char *request, size_t size, tw_compiled done, void *context,
                             tw_error *error);

/* For `inspect --dump`: what = "schedule" or "llvm" or "asm"; waits; *text malloc'd. */
tw_status tw_compiler_dump(tw_compiler *compiler, const char *what, const char *request, size_t size, char **text,
                           tw_error *error);
/* What goes into cache keys: kernel ABI, the worker's file (path, size and time of last change stand in for its contents) and
 * this processor. Starts nothing. Static after the first call. */
tw_status tw_compiler_identity(tw_compiler *compiler, const char **out, tw_error *error);

#endif
