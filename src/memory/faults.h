/* SPDX-License-Identifier: Apache-2.0 */
#ifndef TW_MEMORY_FAULTS_H
#define TW_MEMORY_FAULTS_H

/* The owner of SIGSEGV and SIGBUS, and of the SIGTRAPs that it causes itself.
 *
 * An absent page of a guest's memory has a reason that somebody knows: the instance is being stopped, the page lies
 * on a device, the address is beyond the live size. Who knows it registers the address range with a callback. A fault
 * goes one of two ways:
 *
 *   address in a registered range   → its callback decides: SERVED (the page is there now, the instruction runs
 *                                     again) or PASS
 *   anything else, or PASS          → the handler that was there before ours: the engine's, which makes a trap of it
 *                                     when the instruction is one that may trap, and passes on what isn't its own
 *
 * Not every access of guest code may trap: a memory.copy or memory.init of a few bytes is compiled to a check and moves that the
 * engine takes for sure. So behind the engine stands a second handler of ours, which asks the callback again, as for host code.
 *
 * The engine knows nothing of SIGBUS: one of guest code in a registered range is handed to it as an access out of bounds.
 *
 * So a real bug in host code still kills the process with the signal. Guest code is told from host code by the
 * registered code ranges: memory.fill faults in the C library, and to hand *that* to the engine would end the process.
 *
 * The handler takes the table's lock as a reader. Who holds it as a writer, or runs inside a callback, must not touch
 * memory that may fault. */

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/error.h"

typedef enum tw_fault_verdict {
    TW_FAULT_SERVED,
    TW_FAULT_SERVED_ONCE, /* served, and the callback is called again, with `after`, when the instruction has run */
    TW_FAULT_PASS,
} tw_fault_verdict;

typedef struct tw_fault {
    uint8_t *address;
    bool is_write;
    bool is_bus;   /* SIGBUS: the file behind a mapping is shorter than it was, or can't be read */
    bool in_guest; /* the program counter lies in a registered code range */
    bool can_step; /* SERVED_ONCE is possible: on x86-64, where the thread doesn't block SIGTRAP */
    bool after;    /* no fault: the one that was served once is over; the verdict doesn't matter */
} tw_fault;

/* Runs in a signal handler, on the faulting thread: only async-signal-safe things, errno is kept for it. */
typedef tw_fault_verdict (*tw_fault_callback)(void *context, const tw_fault *fault);

/* The handler behind the engine's, before that installs its own; and then the one in front of it. Only the first calls act. */
tw_status tw_faults_install_last(tw_error *error);
tw_status tw_faults_install(tw_error *error);

/* Ranges must not overlap. False when out of memory. Any thread, not from a callback. */
bool tw_faults_add(const void *start, size_t size, tw_fault_callback callback, void *context);
void tw_faults_remove(const void *start);
/* Compiled guest code. */
bool tw_faults_add_code(const void *start, size_t size);
void tw_faults_remove_code(const void *start);

#endif
