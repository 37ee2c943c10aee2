/* SPDX-License-Identifier: Apache-2.0 */
#ifndef TW_OS_LIBRARY_H
#define TW_OS_LIBRARY_H

/* Shared libraries that may or may not be here.
 *
 * Some of them change the process that loads or starts them: LLVM, inside of OpenCL drivers, takes over a dozen signals, SIGSEGV
 * among them, and drivers start threads that would receive the process's signals. So loading and starting is done between
 * tw_library_section_begin and tw_library_section_end: these give every signal the handler back that it had, and threads started
 * in between block all signals but those that an instruction of their own raises.
 *
 * Other threads run on meanwhile: a fault of theirs may meet a foreign handler. One such section at a time in the process. */

#include <signal.h>
#include <stdbool.h>
#include <stddef.h>

#include "base/error.h"

typedef struct tw_library_section {
    struct sigaction handlers[NSIG];
    bool known[NSIG];
    sigset_t mask;
} tw_library_section;

void tw_library_section_begin(tw_library_section *out);
void tw_library_section_end(const tw_library_section *section);

/* Loaded for good: drivers have threads and exit handlers, so there is no close. TW_UNAVAILABLE with the loader's words. */
tw_status tw_library_load(const char *name, void **out, tw_error *error);

/* Where the address of a function goes. */
typedef struct tw_library_symbol {
    const char *name;
    size_t offset; /* of the function pointer in the table */
    bool optional; /* NULL when it isn't there */
} tw_library_symbol;

/* Fills a table of function pointers. TW_UNAVAILABLE names the first missing one. */
tw_status tw_library_find(void *library, const char *name, const tw_library_symbol *symbols, size_t count, void *table,
                          tw_error *error);

#endif
