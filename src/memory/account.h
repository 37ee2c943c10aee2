/* SPDX-License-Identifier: Apache-2.0 */
#ifndef TW_MEMORY_ACCOUNT_H
#define TW_MEMORY_ACCOUNT_H

/* What each tenant has taken of this process: live bytes of its linear memories, images that they begin with, buffers. A tenant's limit
 * is on all of it together, and holds beside the process's (memory/budget.h).
 *
 * An account is there as long as somebody holds it or it has a limit. Those who charge it hold it: a memory that outlives its
 * instance's module, say, is still its tenant's. Any thread. */

#include <stdint.h>

#include "base/error.h"

typedef enum tw_account_kind {
    TW_ACCOUNT_MEMORIES,
    TW_ACCOUNT_IMAGES,
    TW_ACCOUNT_BUFFERS,
    TW_ACCOUNT_KINDS
} tw_account_kind;

typedef struct tw_account tw_account;

/* The tenant's, held; made on first use. */
tw_status tw_account_get(uint64_t tenant, tw_account **out, tw_error *error);
tw_account *tw_account_hold(tw_account *account); /* NULL, nobody's, is fine in all of these */
void tw_account_drop(tw_account *account);

/* TW_LIMIT, and nothing taken, when it would go over the tenant's limit. */
tw_status tw_account_take(tw_account *account, tw_account_kind kind, uint64_t bytes, tw_error *error);
void tw_account_give(tw_account *account, tw_account_kind kind, uint64_t bytes);

/* 0 = none. What is taken already stays taken. */
tw_status tw_account_limit(uint64_t tenant, uint64_t bytes, tw_error *error);
/* Both 0 where there is no account. */
void tw_account_read(uint64_t tenant, uint64_t used[TW_ACCOUNT_KINDS], uint64_t *limit);

#endif
