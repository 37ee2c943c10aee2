/* SPDX-License-Identifier: Apache-2.0 */
#ifndef TW_COMPILE_WORKER_ANSWER_H
#define TW_COMPILE_WORKER_ANSWER_H

#include "base/bytes.h"
#include "base/error.h"
#include "compile/protocol.h"

/* request → model and facts → schedule → kernel or dump, appended to `out` as protocol.h says. LLVM is started by the first
 * call. One thread. */
tw_status tw_worker_answer(tw_question question, const char *request, size_t size, tw_bytes *out, tw_error *error);

/* What makes the code: LLVM's version and this host. Static. */
const char *tw_worker_identity(void);

#endif
