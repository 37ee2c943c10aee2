/* SPDX-License-Identifier: Apache-2.0 */
#ifndef TW_SNAPSHOT_REFUSE_H
#define TW_SNAPSHOT_REFUSE_H

#include "base/error.h"
#include "tensorwasm/snapshot.h"

/* Where a reader puts its answer when it refuses: the class, and the sentence for people. */
typedef struct tw_snap_why {
    tw_snapshot_class refused;
    tw_error *error; /* the caller's; may be NULL */
} tw_snap_why;

/* Writes class and sentence and gives the class's status. */
tw_status tw_snap_refuse(tw_snap_why *why, tw_snapshot_class refused, const char *format, ...)
    __attribute__((format(printf, 3, 4)));

#endif
