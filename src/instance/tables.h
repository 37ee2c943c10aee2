/* SPDX-License-Identifier: Apache-2.0 */
#ifndef TW_INSTANCE_TABLES_H
#define TW_INSTANCE_TABLES_H

/* Tables that a host makes and modules import. What guests put into one belongs to their instance's store, so that a table is one
 * instance's at a time: it begins with the host's functions, and what else came into it ends with the instance. */

#include <stdatomic.h>

#include "base/arena.h"
#include "engine/engine.h"
#include "tensorwasm/tensorwasm.h"
#include "wasm/module.h"

typedef struct tw_instance_import { /* an embedder's function as an instance or a table keeps it */
    tw_host_func call;
    void *context;
    const tw_functype *type;
} tw_instance_import;

typedef struct tw_table_entry { /* one piece of memory, types included */
    tw_instance_import import;
    tw_functype type;
    uint8_t types[];
} tw_table_entry;

struct tw_table {
    uint32_t elements, most;
    atomic_size_t references; /* the host's, and one an instance */
    atomic_bool taken;        /* an instance has it; entries don't change meanwhile */
    tw_table_entry **entries; /* per element; NULL: all are null */
};

/* Those of one instance, in the order of its module's imports. */
typedef struct tw_lent_tables {
    tw_table **items;     /* NULL: the instance's own */
    tw_store_table *made; /* for the engine */
    uint32_t count;
} tw_lent_tables;

tw_status tw_lent_table_new(uint32_t elements, uint32_t most, tw_table **out, tw_error *error);
void tw_lent_table_release(tw_table *table);
/* Its types are checked. import NULL: null. TW_BUSY. */
tw_status tw_lent_table_set(tw_table *table, uint32_t index, const tw_instance_import *import, tw_error *error);
/* Adds the next one; table NULL: a new one of these limits. TW_BUSY while another instance has it. The arena lives as long as the list;
 * most: how many there will be. */
tw_status tw_lent_tables_add(tw_lent_tables *own, tw_table *table, const tw_limits *limits, uint32_t most, tw_arena *arena, tw_error *error);
void tw_lent_tables_free(tw_lent_tables *own);
/* Puts the host's functions, answered by `call` with the tw_instance_import, into the tables of a store that has nothing else yet. */
tw_status tw_lent_tables_fill(const tw_lent_tables *own, tw_store *store, tw_raw_func call, tw_error *error);

#endif
