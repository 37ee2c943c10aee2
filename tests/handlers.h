/* SPDX-License-Identifier: Apache-2.0 */
#ifndef TW_TESTS_HANDLERS_H
#define TW_TESTS_HANDLERS_H

/* cmocka puts signal handlers of its own in place around every test, and so takes away those that make traps of a
 * guest's faults. Keep the right ones once the engine exists; use them first thing in a test. */

#include <signal.h>
#include <stddef.h>

static const int tw_test_signals[] = {SIGSEGV, SIGBUS, SIGILL, SIGFPE, SIGTRAP};
static struct sigaction tw_test_handlers[sizeof tw_test_signals / sizeof *tw_test_signals];

static inline void keep_handlers(void)
{
    for (size_t i = 0; i < sizeof tw_test_signals / sizeof *tw_test_signals; i++)
        sigaction(tw_test_signals[i], NULL, &tw_test_handlers[i]);
}

static inline void use_handlers(void)
{
    for (size_t i = 0; i < sizeof tw_test_signals / sizeof *tw_test_signals; i++)
        sigaction(tw_test_signals[i], &tw_test_handlers[i], NULL);
}

#endif
