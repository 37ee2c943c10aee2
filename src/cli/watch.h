/* SPDX-License-Identifier: Apache-2.0 */
#ifndef TW_CLI_WATCH_H
#define TW_CLI_WATCH_H

#include <stdbool.h>
#include <stdint.h>

/* The last resort of --timeout. The library ends a guest that runs at its limit; one that sleeps in the host, in
 * poll_oneoff or on an idle stdin, it can't wake. So a thread waits a grace period longer and then ends the process. */

/* From the limit to the end of the process. Long enough for the library to do it in its own, better way. */
#define CLI_GRACE_NS UINT64_C(50000000)

/* Starts the clock. One watch a process. False when no thread can be had. */
bool cli_watch_start(uint64_t limit_ns);
/* The guest is done: after this returns the process won't be ended by the watch. Harmless without a watch. */
void cli_watch_stop(void);

/* The message of a time-out; buffer of at least 128 bytes. */
void cli_timeout_message(char *buffer, uint64_t limit_ns);

#endif
