/* SPDX-License-Identifier: Apache-2.0 */
#include "base/error.h"

#include <stdarg.h>
#include <stdio.h>

static const struct {
    const char *name, *meaning;
} status_table[] = {
#define STATUS_ROW(id, text, what) {text, what},
    TW_STATUS_MAP(STATUS_ROW)
#undef STATUS_ROW
};
_Static_assert(sizeof status_table / sizeof *status_table == TW_STATUS_COUNT, "a row a status");

const char *tw_status_name(tw_status status)
{
    return (unsigned)status < TW_STATUS_COUNT ? status_table[status].name : "unknown";
}

const char *tw_status_meaning(tw_status status)
{
    return (unsigned)status < TW_STATUS_COUNT ? status_table[status].meaning : "unknown status";
}

static tw_status fail(tw_error *error, tw_status status, uint32_t function, uint64_t offset,
                      const char *format, va_list args)
{
    if (error) {
        error->status = status;
        error->function = function;
        error->offset = offset;
        vsnprintf(error->message, sizeof error->message, format, args);
    }
    return status;
}

tw_status tw_fail(tw_error *error, tw_status status, const char *format, ...)
{
    va_list args;
    va_start(args, format);
    fail(error, status, TW_NO_FUNCTION, TW_NO_OFFSET, format, args);
    va_end(args);
    return status;
}

tw_status tw_fail_at(tw_error *error, tw_status status, uint32_t function, uint64_t offset,
                     const char *format, ...)
{
    va_list args;
    va_start(args, format);
    fail(error, status, function, offset, format, args);
    va_end(args);
    return status;
}

tw_status tw_fail_memory(tw_error *error)
{
    return tw_fail(error, TW_NO_MEMORY, "out of memory");
}
