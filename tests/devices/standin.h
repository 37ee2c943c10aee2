/* SPDX-License-Identifier: Apache-2.0 */
#ifndef TW_TEST_STANDIN_H
#define TW_TEST_STANDIN_H

/* What the stand-ins for drivers (standin_cuda.c, standin_opencl.c) offer to tests besides the driver's own functions. They are
 * shared libraries with host memory behind them, made for finding mistakes of the caller:
 *
 *   - work is queued and done no earlier than it must be: who doesn't wait for the stream or queue sees the old bytes;
 *   - arguments, lifetimes, and who may touch memory when, are checked; what is wrong is counted and logged;
 *   - every call can be made to fail;
 *   - the log shows each call with its addresses, and each piece of work when it is done. */

#include <stddef.h>

typedef struct standin {
    /* Forgets log and injected failures. Live things stay. */
    void (*reset)(void);
    /* The nth next call of this function (1: the very next) fails with this code, and does nothing. */
    void (*fail_next)(const char *function, int nth, int code);
    /* Lines, valid until the next call of anything. */
    const char *(*log)(void);
    /* Calls so far that a driver could not have been meant to get. */
    int (*wrong)(void);
    /* Allocations, streams or queues, contexts that are alive. */
    int (*alive)(void);
} standin;

/* Exported by each: const standin *tw_standin(void). */
typedef const standin *(*standin_entry)(void);

#endif
