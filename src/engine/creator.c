/* SPDX-License-Identifier: Apache-2.0 */
/* Linear memories of the engine are our slots. The engine says neither which instance a new memory is for nor lets us
 * pass anything along, so the store under construction stands in a thread-local variable; memories come in order of
 * their index. */
#include "engine/inside.h"

static _Thread_local tw_store *current;

tw_store *tw_creator_begin(tw_store *store)
{
    tw_store *before = current;
    current = store;
    return before;
}

static uint8_t *get(void *env, size_t *size, size_t *capacity)
{
    tw_slot *slot = env;
    *size = atomic_load_explicit(&slot->size, memory_order_relaxed);
    *capacity = slot->reserved;
    return slot->base;
}

static wasmtime_error_t *grow(void *env, size_t new_size)
{
    tw_error why;
    return tw_slot_grow(env, new_size, &why) == TW_OK ? NULL : wasmtime_error_new(why.message);
}

static void finalize(void *env)
{
    tw_slot *slot = env;
    if (!slot->lent) tw_slot_give(slot);
}

/* What the module asks for is there already, and may be more by now. */
static tw_slot *borrow(tw_store *store, size_t minimum, size_t reserved, size_t guard)
{
    tw_slot *slot = store->lent;
    bool fits = atomic_load(&slot->size) >= minimum && slot->reserved >= reserved && slot->guard >= guard;
    if (!fits) tw_fail(&store->host_error, TW_LIMIT, "the memory that is offered is too small, or has too little address space");
    return fits ? slot : NULL;
}

static tw_slot *take(tw_store *store, size_t minimum, size_t reserved, size_t guard)
{
    tw_slot *slot;
    if (store->lent && !store->slot_count) return borrow(store, minimum, reserved, guard);
    tw_status status = tw_slot_take_for(store->account, minimum, reserved > minimum ? reserved : minimum, guard, &slot, &store->host_error);
    return status == TW_OK ? slot : NULL;
}

/* The reservation may be above what the module's maximum asks for: the compiled code relies on all of it. */
static wasmtime_error_t *create(void *env, const wasm_memorytype_t *type, size_t minimum, size_t maximum,
                                size_t reserved, size_t guard, wasmtime_linear_memory_t *out)
{
    (void)env, (void)type, (void)maximum;
    tw_store *store = current;
    if (!store || store->slot_count == TW_MAX_SLOTS) return wasmtime_error_new("a memory that nobody asked for");
    tw_slot *slot = take(store, minimum, reserved, guard);
    if (!slot) return wasmtime_error_new("no address space or memory");
    if (store->image && !store->slot_count) store->seeded = tw_slot_put_image(slot, store->image, NULL) == TW_OK;
    store->slots[store->slot_count++] = slot;
    if (store->on_memory) store->on_memory(store->owner, slot);
    *out = (wasmtime_linear_memory_t){slot, get, grow, finalize};
    return NULL;
}

void tw_creator_set(wasm_config_t *config)
{
    wasmtime_memory_creator_t creator = {.new_memory = create};
    wasmtime_config_host_memory_creator_set(config, &creator);
}
