/* SPDX-License-Identifier: Apache-2.0 */
#include "memory/account.h"

#include <inttypes.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdlib.h>

struct tw_account {
    uint64_t tenant, holders; /* holders: under the lock, as is the list */
    atomic_uint_fast64_t total, limit, used[TW_ACCOUNT_KINDS];
    struct tw_account *next;
};

enum { LISTS = 256 };
static struct {
    pthread_mutex_t lock;
    tw_account *lists[LISTS];
} accounts = {.lock = PTHREAD_MUTEX_INITIALIZER};

/* ---- which there are; under the lock ---- */

static tw_account **place_of(uint64_t tenant)
{
    tw_account **at = &accounts.lists[(tenant * 0x9E3779B97F4A7C15u) >> 56];
    while (*at && (*at)->tenant != tenant) at = &(*at)->next;
    return at;
}

static tw_account *find_or_make(uint64_t tenant)
{
    tw_account **at = place_of(tenant);
    if (*at) return *at;
    *at = calloc(1, sizeof **at);
    if (*at) (*at)->tenant = tenant;
    return *at;
}

static void forget_unused(tw_account *account)
{
    if (account->holders || atomic_load(&account->limit)) return;
    *place_of(account->tenant) = account->next;
    free(account);
}

/* ---- holders ---- */

tw_status tw_account_get(uint64_t tenant, tw_account **out, tw_error *error)
{
    pthread_mutex_lock(&accounts.lock);
    tw_account *account = find_or_make(tenant);
    if (account) account->holders++;
    pthread_mutex_unlock(&accounts.lock);
    TW_TRY_ALLOC(account, error);
    *out = account;
    return TW_OK;
}

tw_account *tw_account_hold(tw_account *account)
{
    if (!account) return NULL;
    pthread_mutex_lock(&accounts.lock);
    account->holders++;
    pthread_mutex_unlock(&accounts.lock);
    return account;
}

void tw_account_drop(tw_account *account)
{
    if (!account) return;
    pthread_mutex_lock(&accounts.lock);
    account->holders--;
    forget_unused(account);
    pthread_mutex_unlock(&accounts.lock);
}

/* ---- bytes ---- */

static tw_status over(const tw_account *account, uint64_t total, uint64_t limit, tw_error *error)
{
    return tw_fail(error, TW_LIMIT, "tenant %" PRIu64 " would have %" PRIu64 " bytes of memories, images of their data and buffers, over its "
                                    "limit of %" PRIu64, account->tenant, total, limit);
}

/* What is over for a moment is so for others, too: they may be refused, as if they had come a moment later. */
tw_status tw_account_take(tw_account *account, tw_account_kind kind, uint64_t bytes, tw_error *error)
{
    if (!account) return TW_OK;
    uint64_t before = atomic_fetch_add(&account->total, bytes), limit = atomic_load(&account->limit);
    if (limit && (before > limit || bytes > limit - before)) {
        atomic_fetch_sub(&account->total, bytes);
        return over(account, before + bytes < before ? UINT64_MAX : before + bytes, limit, error);
    }
    atomic_fetch_add(&account->used[kind], bytes);
    return TW_OK;
}

void tw_account_give(tw_account *account, tw_account_kind kind, uint64_t bytes)
{
    if (!account) return;
    atomic_fetch_sub(&account->used[kind], bytes);
    atomic_fetch_sub(&account->total, bytes);
}

tw_status tw_account_limit(uint64_t tenant, uint64_t bytes, tw_error *error)
{
    pthread_mutex_lock(&accounts.lock);
    tw_account *account = bytes ? find_or_make(tenant) : *place_of(tenant);
    if (account) {
        atomic_store(&account->limit, bytes);
        forget_unused(account);
    }
    pthread_mutex_unlock(&accounts.lock);
    return account || !bytes ? TW_OK : tw_fail_memory(error);
}

void tw_account_read(uint64_t tenant, uint64_t used[TW_ACCOUNT_KINDS], uint64_t *limit)
{
    pthread_mutex_lock(&accounts.lock);
    const tw_account *account = *place_of(tenant);
    for (int i = 0; i < TW_ACCOUNT_KINDS; i++) used[i] = account ? atomic_load(&account->used[i]) : 0;
    *limit = account ? atomic_load(&account->limit) : 0;
    pthread_mutex_unlock(&accounts.lock);
}
