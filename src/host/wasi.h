/* SPDX-License-Identifier: Apache-2.0 */
#ifndef TW_HOST_WASI_H
#define TW_HOST_WASI_H

/* WASI preview 1 is the engine's, but for clocks, the calls that sleep and proc_exit. The engine sleeps where nobody can wake it, so a
 * terminated guest would go on sleeping. Ours:
 *
 *   poll_oneoff                clocks and the host's standard input are waited for here; other descriptors never make
 *                              a guest wait, and the engine answers for them
 *   fd_read                    of the host's standard input, here; of anything else, passed on
 *   fd_close, fd_renumber      passed on, and watched: which descriptor is standard input?
 *   proc_exit                  here, for every code: the engine takes 0 to 125 only
 *   path_open                  passed on and watched, too, where somebody wants to know of open files
 *   clock_time_get             here: an instance that is used again has a monotonic clock that starts again
 *
 * Standard input is read directly, never through the engine, which would read ahead into a buffer of its own. A guest
 * that writes to a full pipe can't be woken. */

#include <stdbool.h>

#include "engine/engine.h"
#include "host/files.h"
#include "os/wake.h"

typedef struct tw_wasi {
    tw_waker *waker;
    int64_t stdin_fd; /* the guest's descriptor that is the host's standard input; -1 = none */
    bool exited;      /* through proc_exit, with: */
    int32_t exit_code;
    uint64_t began;   /* tw_clock_now then: the guest's monotonic clock counts from there */
    tw_files *files;  /* NULL: nobody wants to know */
} tw_wasi;

/* *out is our function for a name of WASI preview 1; false: the engine's own will do. The context is wasi. */
bool tw_wasi_binding(const char *name, tw_wasi *wasi, tw_binding *out);

#endif
