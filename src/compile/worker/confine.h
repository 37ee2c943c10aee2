/* SPDX-License-Identifier: Apache-2.0 */
#ifndef TW_COMPILE_WORKER_CONFINE_H
#define TW_COMPILE_WORKER_CONFINE_H

#include <stdbool.h>

enum { TW_WORKER_CPU_SECONDS = 300 /* in all; a worker that has used half of it leaves between two questions */ };

/* From here on this process can read and write what it has open, allocate, and end; it can't open files or sockets, start
 * processes or programs, signal others, or make memory executable. Bounded: address space, processor time, descriptors, no
 * core file. What the system doesn't offer is left out: the limits always hold, the filter of system calls where there
 * is seccomp and no sanitizer. */
void tw_worker_confine(void);

/* Tries what must fail after tw_worker_confine. NULL when all of it does, else what didn't. */
const char *tw_worker_escape(void);

#endif
