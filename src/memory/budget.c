/* SPDX-License-Identifier: Apache-2.0 */
#include "memory/budget.h"

#include <inttypes.h>
#include <pthread.h>
#include <stdatomic.h>

#include "os/cgroup.h"
#include "os/machine.h"

static const struct {
    const char *what, *limit_of_machine;
    uint64_t small; /* up to here the machine isn't asked */
} kinds[TW_BUDGETS] = {
    [TW_BUDGET_ADDRESSES] = {"bytes of address space", "", UINT64_MAX},
    [TW_BUDGET_MAPPINGS] = {"mappings", " that vm.max_map_count leaves", 1024},
    [TW_BUDGET_COMMITTED] = {"bytes", " of this process's control groups", UINT64_C(64) << 20},
};

static atomic_uint_fast64_t used[TW_BUDGETS], limits[TW_BUDGETS];

static uint64_t machine[TW_BUDGETS];
static void ask_machine(void)
{
    uint64_t mappings = tw_machine_max_mappings();
    machine[TW_BUDGET_ADDRESSES] = UINT64_MAX;
    machine[TW_BUDGET_MAPPINGS] = mappings ? mappings - mappings / 8 : UINT64_MAX;
    machine[TW_BUDGET_COMMITTED] = tw_cgroup_memory();
}

static uint64_t of_machine(tw_budget kind)
{
    static pthread_once_t once = PTHREAD_ONCE_INIT;
    pthread_once(&once, ask_machine);
    return machine[kind];
}

void tw_budget_limit(tw_budget kind, uint64_t limit) { atomic_store(&limits[kind], limit); }

uint64_t tw_budget_get_limit(tw_budget kind)
{
    uint64_t own = atomic_load(&limits[kind]);
    return own ? own : of_machine(kind);
}

uint64_t tw_budget_used(tw_budget kind) { return atomic_load(&used[kind]); }

void tw_budget_give(tw_budget kind, uint64_t amount) { atomic_fetch_sub(&used[kind], amount); }

/* What is over for a moment is so for others, too: they may be refused, as if they had come a moment later. */
tw_status tw_budget_take(tw_budget kind, uint64_t amount, tw_error *error)
{
    uint64_t own = atomic_load(&limits[kind]), total = atomic_fetch_add(&used[kind], amount) + amount;
    uint64_t limit = own ? own : total <= kinds[kind].small ? UINT64_MAX : of_machine(kind);
    if (total <= limit) return TW_OK;
    tw_budget_give(kind, amount);
    return tw_fail(error, TW_LIMIT, "the linear memories of this process would take %" PRIu64 " %s together, over the limit of %" PRIu64 "%s",
                   total, kinds[kind].what, limit, own ? "" : kinds[kind].limit_of_machine);
}
