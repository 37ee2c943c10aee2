/* SPDX-License-Identifier: Apache-2.0 */
#ifndef TW_INSTANCE_MEMORY_H
#define TW_INSTANCE_MEMORY_H

/* Memories that a host makes and modules import. Such a module is rewritten to have it as its own (rewrite.h), and the engine is
 * given the host's slot for it. Instances run on it in turns: the slot is entered by one at a time. */

#include <stdatomic.h>

#include "memory/slot.h"
#include "tensorwasm/tensorwasm.h"

struct tw_memory {
    tw_slot *slot;
    uint64_t most;            /* bytes */
    atomic_size_t references; /* the host's, and one an instance */
    atomic_uint instances;    /* that have it now */
};

tw_status tw_lent_memory_new(uint64_t bytes, uint64_t most, tw_memory **out, tw_error *error);
/* By one reference. */
void tw_lent_memory_release(tw_memory *memory);
/* For an instance that begins, and that ends. */
void tw_lent_memory_take(tw_memory *memory);
void tw_lent_memory_give(tw_memory *memory);

#endif
