/* SPDX-License-Identifier: Apache-2.0 */
#ifndef TW_MEMORY_BUDGET_H
#define TW_MEMORY_BUDGET_H

/* What all linear memories of the process together may take. Each kind has a limit, the embedder's or the machine's:
 *
 *   address space   reserved by slots, those that wait for reuse included. The machine's own limit (ulimit -v) shows itself
 *                   when a reservation fails
 *   mappings        a slot may be cut into so many; the system ends a process's mappings at vm.max_map_count, and the
 *                   allocator wants some, too
 *   committed       live bytes of memories in use. The machine's limit is the control groups': beyond it the system
 *                   would kill the process as soon as they are touched
 *
 * The machine is asked when the numbers have become large: small programs shouldn't pay for reading files. Any thread. */

#include <stdint.h>

#include "base/error.h"

typedef enum tw_budget {
    TW_BUDGET_ADDRESSES,
    TW_BUDGET_MAPPINGS,
    TW_BUDGET_COMMITTED,
    TW_BUDGETS
} tw_budget;

/* 0 = the machine's. What is taken already stays taken. */
void tw_budget_limit(tw_budget kind, uint64_t limit);
/* UINT64_MAX = none. Asks the machine. */
uint64_t tw_budget_get_limit(tw_budget kind);
/* TW_LIMIT, and nothing taken, when it would go over the limit. */
tw_status tw_budget_take(tw_budget kind, uint64_t amount, tw_error *error);
void tw_budget_give(tw_budget kind, uint64_t amount);
uint64_t tw_budget_used(tw_budget kind);

#endif
