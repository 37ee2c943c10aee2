/* SPDX-License-Identifier: Apache-2.0 */
#ifndef TW_INSTANCE_GLOBALS_H
#define TW_INSTANCE_GLOBALS_H

/* Globals that a host makes and modules import. Each instance has an engine's store of its own, and so a global of its own for
 * each: values of mutable ones go in when guest code begins to run, and come out when it ends, at host functions too. Meanwhile nobody
 * else has them: `holder` says who. */

#include <pthread.h>
#include <stdatomic.h>
#include <stdint.h>

#include "base/arena.h"
#include "base/error.h"
#include "base/raw.h"
#include "engine/engine.h"
#include "tensorwasm/tensorwasm.h"

struct tw_global {
    uint8_t type; /* the binary format's byte */
    bool is_mutable;
    atomic_size_t references; /* the host's, and one an import of an instance or a pool */
    atomic_uint instances;    /* that have it now */
    pthread_mutex_t lock;     /* of what follows */
    tw_raw value;
    const void *holder;       /* whose guest code runs with it; or NULL */
};

uint8_t tw_val_type(tw_val_kind kind);
tw_val tw_val_of(uint8_t type, const tw_raw *raw);
/* Only the value's bytes; the rest is zero. */
tw_raw tw_val_raw(const tw_val *value);

/* Those of one instance, in the order of its module's imports. */
typedef struct tw_lent_globals {
    tw_global **items;
    tw_store_global *made; /* for the engine */
    uint32_t count;
    bool any_mutable, held;
} tw_lent_globals;

tw_status tw_lent_global_new(uint8_t type, bool is_mutable, const tw_raw *value, tw_global **out, tw_error *error);
void tw_lent_global_release(tw_global *global);
/* Adds one; a reference of it is taken. The arena lives as long as the list; most: how many there will be. */
tw_status tw_lent_globals_add(tw_lent_globals *own, tw_global *global, uint32_t most, tw_arena *arena, tw_error *error);
void tw_lent_globals_free(tw_lent_globals *own);

/* Guest code begins: all mutable ones are this instance's, and have their values. store NULL: it comes to be, and `made` has the values. TW_BUSY:
 * nothing has changed. */
tw_status tw_lent_globals_hold(tw_lent_globals *own, tw_store *store, tw_error *error);
/* It ends: values are the host's again. Nothing happens where they aren't held. store NULL: it never came to be. */
void tw_lent_globals_let_go(tw_lent_globals *own, tw_store *store);
/* How many other instances have a mutable one. */
unsigned tw_lent_globals_shared(const tw_lent_globals *own);

#endif
