/* SPDX-License-Identifier: Apache-2.0 */
#ifndef TW_COMPILE_PROTOCOL_H
#define TW_COMPILE_PROTOCOL_H

/* What runtime and worker say to each other: frames over a stream socket that is the worker's standard input and output.
 * Both run on one machine, so numbers are in its own byte order. The worker answers each request before it reads the next.
 *
 *   question   magic, kind, size         then `size` bytes: a model's text followed by its facts'
 *   answer     magic, status, size       then `size` bytes: TW_OK: a tw_kernel_info and its code, or a dump's text;
 *                                        anything else: why, as text */

#include <stdint.h>

enum {
    TW_QUESTION_MAGIC = 0x51315754,
    TW_ANSWER_MAGIC = 0x52315754,
    TW_QUESTION_MAX = 8 << 20,  /* bytes of a question */
    TW_ANSWER_MAX = 64 << 20,   /* bytes of an answer */
    TW_REASON_MAX = 1000,       /* bytes of a reason */
    TW_WORKER_IDLE_MS = 60 * 1000,
};

typedef enum tw_question {
    TW_QUESTION_COMPILE = 1,
    TW_QUESTION_SCHEDULE,
    TW_QUESTION_LLVM,
    TW_QUESTION_ASM,
} tw_question;

typedef struct tw_frame {
    uint32_t magic;
    uint32_t kind; /* tw_question, or tw_status */
    uint32_t size;
} tw_frame;

#endif
