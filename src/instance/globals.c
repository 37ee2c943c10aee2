/* SPDX-License-Identifier: Apache-2.0 */
#include "instance/globals.h"

#include <stdlib.h>

/* ---- one ---- */

tw_status tw_lent_global_new(uint8_t type, bool is_mutable, const tw_raw *value, tw_global **out, tw_error *error)
{
    tw_global *global = calloc(1, sizeof *global);
    TW_TRY_ALLOC(global, error);
    global->type = type;
    global->is_mutable = is_mutable;
    global->value = *value;
    atomic_init(&global->references, 1);
    pthread_mutex_init(&global->lock, NULL);
    *out = global;
    return TW_OK;
}

void tw_lent_global_release(tw_global *global)
{
    if (atomic_fetch_sub(&global->references, 1) != 1) return;
    pthread_mutex_destroy(&global->lock);
    free(global);
}

static bool hold(tw_global *global, const void *holder, tw_raw *value)
{
    pthread_mutex_lock(&global->lock);
    bool free_now = !global->holder;
    if (free_now) global->holder = holder;
    *value = global->value;
    pthread_mutex_unlock(&global->lock);
    return free_now;
}

/* value NULL: unchanged. */
static void let_go(tw_global *global, const tw_raw *value)
{
    pthread_mutex_lock(&global->lock);
    if (value) global->value = *value;
    global->holder = NULL;
    pthread_mutex_unlock(&global->lock);
}

/* ---- an instance's ---- */

static bool is_first(const tw_lent_globals *own, uint32_t i) { return own->made[i].same_as == i; }
static bool is_held(const tw_lent_globals *own, uint32_t i) { return own->items[i]->is_mutable && is_first(own, i); }

tw_status tw_lent_globals_add(tw_lent_globals *own, tw_global *global, uint32_t most, tw_arena *arena, tw_error *error)
{
    if (!own->items) {
        own->items = TW_NEW_ARRAY(arena, tw_global *, most);
        own->made = TW_NEW_ARRAY(arena, tw_store_global, most);
    }
    TW_TRY_ALLOC(own->items && own->made, error);
    uint32_t same_as = 0;
    while (same_as < own->count && own->items[same_as] != global) same_as++;
    own->made[own->count] = (tw_store_global){.same_as = same_as, .type = global->type, .is_mutable = global->is_mutable};
    if (!global->is_mutable) own->made[own->count].value = global->value; /* others' come when they are held */
    own->items[own->count++] = global;
    own->any_mutable |= global->is_mutable;
    atomic_fetch_add(&global->references, 1);
    if (same_as == own->count - 1) atomic_fetch_add(&global->instances, 1);
    return TW_OK;
}

void tw_lent_globals_free(tw_lent_globals *own)
{
    for (uint32_t i = 0; i < own->count; i++) {
        if (is_first(own, i)) atomic_fetch_sub(&own->items[i]->instances, 1);
        tw_lent_global_release(own->items[i]);
    }
    own->count = 0;
}

static void let_go_of_first(tw_lent_globals *own, uint32_t count)
{
    for (uint32_t i = 0; i < count; i++)
        if (is_held(own, i)) let_go(own->items[i], NULL);
}

static void put_in(const tw_lent_globals *own, tw_store *store)
{
    for (uint32_t i = 0; i < own->count; i++) {
        tw_handle handle;
        if (is_held(own, i) && tw_store_imported(store, TW_HANDLE_GLOBAL, i, &handle))
            tw_store_global_set(store, &handle, own->made[i].type, &own->made[i].value);
    }
}

tw_status tw_lent_globals_hold(tw_lent_globals *own, tw_store *store, tw_error *error)
{
    if (!own->any_mutable) return TW_OK;
    for (uint32_t i = 0; i < own->count; i++) {
        if (!is_held(own, i) || hold(own->items[i], own, &own->made[i].value)) continue;
        let_go_of_first(own, i);
        return tw_fail(error, TW_BUSY, "another instance runs with a global that this one imports, too");
    }
    own->held = true;
    if (store) put_in(own, store);
    return TW_OK;
}

void tw_lent_globals_let_go(tw_lent_globals *own, tw_store *store)
{
    if (!own->held) return;
    for (uint32_t i = 0; i < own->count; i++) {
        tw_handle handle;
        tw_raw value;
        if (!is_held(own, i)) continue;
        bool has = store && tw_store_imported(store, TW_HANDLE_GLOBAL, i, &handle);
        if (has) tw_store_global_get(store, &handle, &value);
        let_go(own->items[i], has ? &value : NULL);
    }
    own->held = false;
}

unsigned tw_lent_globals_shared(const tw_lent_globals *own)
{
    unsigned most = 0;
    for (uint32_t i = 0; i < own->count; i++) {
        unsigned others = is_held(own, i) ? atomic_load(&own->items[i]->instances) - 1 : 0;
        if (others > most) most = others;
    }
    return most;
}
