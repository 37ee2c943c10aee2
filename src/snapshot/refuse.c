/* SPDX-License-Identifier: Apache-2.0 */
#include "snapshot/refuse.h"

#include <stdarg.h>
#include <stdio.h>

static const struct {
    const char *name, *meaning;
    tw_status status;
} classes[] = {
#define CLASS_ROW(id, text, of, what) {text, what, TW_##of},
    TW_SNAPSHOT_CLASS_MAP(CLASS_ROW)
#undef CLASS_ROW
};
_Static_assert(sizeof classes / sizeof *classes == TW_SNAPSHOT_CLASS_COUNT, "a row a class");

const char *tw_snapshot_class_name(tw_snapshot_class refused)
{
    return (unsigned)refused < TW_SNAPSHOT_CLASS_COUNT ? classes[refused].name : "unknown";
}

const char *tw_snapshot_class_meaning(tw_snapshot_class refused)
{
    return (unsigned)refused < TW_SNAPSHOT_CLASS_COUNT ? classes[refused].meaning : "unknown class";
}

tw_status tw_snap_refuse(tw_snap_why *why, tw_snapshot_class refused, const char *format, ...)
{
    char message[512];
    va_list args;
    va_start(args, format);
    vsnprintf(message, sizeof message, format, args);
    va_end(args);
    why->refused = refused;
    return tw_fail(why->error, classes[refused].status, "%s", message);
}
