/* SPDX-License-Identifier: Apache-2.0 */
#include "instance/memory.h"

#include <stdlib.h>

static tw_status take_slot(uint64_t bytes, uint64_t most, tw_slot **out, tw_error *error)
{
    tw_slot_layout layout = tw_slot_probe();
    size_t reserved = most > layout.reserved ? (size_t)most : layout.reserved;
    TW_TRY(tw_slot_take((size_t)bytes, reserved, layout.guard, out, error));
    (*out)->most = (size_t)most;
    (*out)->lent = true;
    return TW_OK;
}

tw_status tw_lent_memory_new(uint64_t bytes, uint64_t most, tw_memory **out, tw_error *error)
{
    tw_memory *memory = calloc(1, sizeof *memory);
    TW_TRY_ALLOC(memory, error);
    tw_status status = take_slot(bytes, most, &memory->slot, error);
    if (status != TW_OK) {
        free(memory);
        return status;
    }
    memory->most = most;
    atomic_store(&memory->references, 1);
    *out = memory;
    return TW_OK;
}

void tw_lent_memory_release(tw_memory *memory)
{
    if (atomic_fetch_sub(&memory->references, 1) != 1) return;
    tw_slot_give(memory->slot);
    free(memory);
}

void tw_lent_memory_take(tw_memory *memory)
{
    atomic_fetch_add(&memory->references, 1);
    atomic_fetch_add(&memory->instances, 1);
}

void tw_lent_memory_give(tw_memory *memory)
{
    if (!memory) return;
    atomic_fetch_sub(&memory->instances, 1);
    tw_lent_memory_release(memory);
}
