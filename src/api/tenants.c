/* SPDX-License-Identifier: Apache-2.0 */
#include <string.h>

#include "memory/account.h"
#include "tensorwasm/tensorwasm.h"

tw_status tw_tenant_limit(tw_tenant_id tenant, uint64_t max_bytes, tw_error *error) { return tw_account_limit(tenant, max_bytes, error); }

tw_status tw_tenant_get_usage(tw_tenant_id tenant, tw_tenant_usage *out, tw_error *error)
{
    if (!out || out->size < sizeof out->size)
        return tw_fail(error, TW_INVALID_ARGUMENT, "tw_tenant_get_usage: out is NULL, or its size isn't set");
    uint64_t used[TW_ACCOUNT_KINDS];
    tw_tenant_usage own = {.size = out->size};
    tw_account_read(tenant, used, &own.limit);
    own.memories = used[TW_ACCOUNT_MEMORIES];
    own.images = used[TW_ACCOUNT_IMAGES];
    own.buffers = used[TW_ACCOUNT_BUFFERS];
    memcpy(out, &own, out->size < sizeof own ? out->size : sizeof own);
    return TW_OK;
}
