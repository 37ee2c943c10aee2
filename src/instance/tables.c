/* SPDX-License-Identifier: Apache-2.0 */
#include "instance/tables.h"

#include <stdlib.h>
#include <string.h>

/* ---- one ---- */

tw_status tw_lent_table_new(uint32_t elements, uint32_t most, tw_table **out, tw_error *error)
{
    tw_table *table = calloc(1, sizeof *table);
    TW_TRY_ALLOC(table, error);
    table->elements = elements;
    table->most = most;
    atomic_init(&table->references, 1);
    *out = table;
    return TW_OK;
}

void tw_lent_table_release(tw_table *table)
{
    if (atomic_fetch_sub(&table->references, 1) != 1) return;
    for (uint32_t i = 0; table->entries && i < table->elements; i++) free(table->entries[i]);
    free(table->entries);
    free(table);
}

static tw_table_entry *copy(const tw_instance_import *import)
{
    const tw_functype *type = import->type;
    tw_table_entry *entry = malloc(sizeof *entry + (size_t)type->param_count + type->result_count);
    if (!entry) return NULL;
    if (type->param_count) memcpy(entry->types, type->params, type->param_count);
    if (type->result_count) memcpy(entry->types + type->param_count, type->results, type->result_count);
    entry->type = (tw_functype){entry->types, entry->types + type->param_count, type->param_count, type->result_count};
    entry->import = (tw_instance_import){import->call, import->context, &entry->type};
    return entry;
}

static tw_status set(tw_table *table, uint32_t index, const tw_instance_import *import, tw_error *error)
{
    if (!table->entries && !import) return TW_OK;
    if (!table->entries) table->entries = calloc(table->elements, sizeof *table->entries);
    tw_table_entry *entry = import ? copy(import) : NULL;
    if (!table->entries || (import && !entry)) {
        free(entry);
        return tw_fail_memory(error);
    }
    free(table->entries[index]);
    table->entries[index] = entry;
    return TW_OK;
}

tw_status tw_lent_table_set(tw_table *table, uint32_t index, const tw_instance_import *import, tw_error *error)
{
    if (index >= table->elements)
        return tw_fail(error, TW_INVALID_ARGUMENT, "the table has %u elements, none of number %u", table->elements, index);
    if (atomic_exchange(&table->taken, true)) return tw_fail(error, TW_BUSY, "an instance has the table");
    tw_status status = set(table, index, import, error);
    atomic_store(&table->taken, false);
    return status;
}

/* ---- an instance's ---- */

static uint32_t find(const tw_lent_tables *own, const tw_table *table)
{
    uint32_t i = 0;
    while (i < own->count && (!table || own->items[i] != table)) i++;
    return i;
}

tw_status tw_lent_tables_add(tw_lent_tables *own, tw_table *table, const tw_limits *limits, uint32_t most, tw_arena *arena, tw_error *error)
{
    if (!own->items) {
        own->items = TW_NEW_ARRAY(arena, tw_table *, most);
        own->made = TW_NEW_ARRAY(arena, tw_store_table, most);
    }
    TW_TRY_ALLOC(own->items && own->made, error);
    uint32_t same_as = find(own, table);
    if (table && same_as == own->count && atomic_exchange(&table->taken, true))
        return tw_fail(error, TW_BUSY, "a table that is offered belongs to another instance: functions can't be shared");
    if (table) atomic_fetch_add(&table->references, 1);
    own->made[own->count] = table ? (tw_store_table){same_as, table->elements, table->most, true}
                                  : (tw_store_table){same_as, limits->minimum, limits->maximum, limits->has_maximum};
    own->items[own->count++] = table;
    return TW_OK;
}

void tw_lent_tables_free(tw_lent_tables *own)
{
    for (uint32_t i = 0; i < own->count; i++) {
        if (!own->items[i]) continue;
        if (own->made[i].same_as == i) atomic_store(&own->items[i]->taken, false);
        tw_lent_table_release(own->items[i]);
    }
    own->count = 0;
}

static tw_status fill(const tw_table *table, const tw_handle *handle, tw_store *store, tw_raw_func call, tw_error *error)
{
    for (uint32_t i = 0; table->entries && i < table->elements; i++) {
        tw_table_entry *entry = table->entries[i];
        const tw_functype *type = entry ? &entry->type : NULL;
        tw_handle func;
        if (!entry) continue;
        TW_TRY(tw_store_func_new(store, type->params, type->param_count, type->results, type->result_count, call, &entry->import, &func, error));
        if (!tw_store_table_set(store, handle, i, &func)) return tw_fail(error, TW_INTERNAL, "a table's element can't be set");
    }
    return TW_OK;
}

tw_status tw_lent_tables_fill(const tw_lent_tables *own, tw_store *store, tw_raw_func call, tw_error *error)
{
    for (uint32_t i = 0; i < own->count; i++) {
        tw_handle handle;
        if (!own->items[i] || own->made[i].same_as != i || !tw_store_imported(store, TW_HANDLE_TABLE, i, &handle)) continue;
        TW_TRY(fill(own->items[i], &handle, store, call, error));
    }
    return TW_OK;
}
