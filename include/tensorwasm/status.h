/* SPDX-License-Identifier: Apache-2.0 */
#ifndef TENSORWASM_STATUS_H
#define TENSORWASM_STATUS_H

/* What a call came to, and the caller-owned detail that goes with a failure. */

#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

/* One line a status: X(NAME, "name in output", "meaning"). Append only: the order is ABI. */
#define TW_STATUS_MAP(X)                                                                           \
    X(OK, "ok", "done")                                                                            \
    X(INVALID_ARGUMENT, "invalid-argument", "the caller passed something that can't be meant")     \
    X(NO_MEMORY, "no-memory", "an allocation failed")                                              \
    X(MALFORMED, "malformed", "the bytes are not what they should be: a WebAssembly module, a snapshot") \
    X(INVALID, "invalid", "the module doesn't validate")                                           \
    X(UNSUPPORTED, "unsupported", "a proposal or feature that is off, or absent here")             \
    X(LIMIT, "limit", "a configured or built-in limit was met")                                    \
    X(LINK, "link", "an import is missing or has another type")                                    \
    X(NOT_FOUND, "not-found", "no such export, file, region or instance")                          \
    X(TRAP, "trap", "the guest trapped")                                                           \
    X(EXIT, "exit", "the guest left through proc_exit")                                            \
    X(TIMEOUT, "timeout", "the time limit ended the guest")                                        \
    X(TERMINATED, "terminated", "the instance was terminated")                                     \
    X(BUSY, "busy", "the object is in use by another call")                                        \
    X(IO, "io", "the operating system refused a file, a pipe or a mapping")                        \
    X(REFUSED, "refused", "a region was refused: the detail names the refusal")                    \
    X(INTERNAL, "internal", "a promise inside TensorWasm was broken: please report it")            \
    X(UNTRUSTED, "untrusted", "a snapshot doesn't authenticate, or is one that its reader was told not to take") \
    X(UNAVAILABLE, "unavailable", "a device, its driver or a kind of memory isn't here")           \
    X(DEVICE, "device", "a device or its driver failed")

typedef enum tw_status {
#define TW_STATUS_ENUM(name, text, meaning) TW_##name,
    TW_STATUS_MAP(TW_STATUS_ENUM)
#undef TW_STATUS_ENUM
        TW_STATUS_COUNT
} tw_status;

#define TW_NO_FUNCTION UINT32_MAX
#define TW_NO_OFFSET UINT64_MAX

/* The detail of a failure. Owned by the caller, who may pass NULL wherever one is asked for.
 * Written only by calls that fail. Plain data: copy it, keep it, no need to free it. */
typedef struct tw_error {
    tw_status status;
    uint32_t function; /* index in the user's module, or TW_NO_FUNCTION */
    uint64_t offset;   /* byte offset in the user's module, or TW_NO_OFFSET */
    char message[1024];/* NUL-terminated UTF-8, one sentence or more; what, where, what to do */
} tw_error;

#pragma GCC visibility push(default)
/* "ok", "malformed", … ; static. */
const char *tw_status_name(tw_status status);
/* The sentence beside it in the table; static. */
const char *tw_status_meaning(tw_status status);
#pragma GCC visibility pop

#ifdef __cplusplus
}
#endif
#endif
