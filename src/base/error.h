/* SPDX-License-Identifier: Apache-2.0 */
#ifndef TW_BASE_ERROR_H
#define TW_BASE_ERROR_H

#include "tensorwasm/status.h"

/* Writes *error (if not NULL) and returns status, so that a failure is one line:
 * return tw_fail(error, TW_LIMIT, "memory of %u pages exceeds …", pages); */
tw_status tw_fail(tw_error *error, tw_status status, const char *format, ...)
    __attribute__((format(printf, 3, 4)));

/* The same with a place in the user's module. */
tw_status tw_fail_at(tw_error *error, tw_status status, uint32_t function, uint64_t offset,
                     const char *format, ...) __attribute__((format(printf, 5, 6)));

/* The allocation-failure line. */
tw_status tw_fail_memory(tw_error *error);

/* Forward a failure. */
#define TW_TRY(expression)                                                                         \
    do {                                                                                           \
        tw_status tw_try_status_ = (expression);                                                   \
        if (tw_try_status_ != TW_OK) return tw_try_status_;                                        \
    } while (0)

/* An allocation that came back NULL ends the function. */
#define TW_TRY_ALLOC(pointer, error)                                                               \
    do {                                                                                           \
        if (!(pointer)) return tw_fail_memory(error);                                              \
    } while (0)

#endif
