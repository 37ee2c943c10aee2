/* SPDX-License-Identifier: Apache-2.0 */
/* Cells held in registers. An innermost loop that reads a cell, computes, and writes it back in every trip (C[i][j] in the
 * inner product once l is innermost) reads it once before and writes it once after. Asked for: one unguarded read and, after
 * it, one unguarded store of the same bytes as whole values, at an address that the loop doesn't change, and no other
 * access of their group in the loop: others can't touch the cell. */

#include "codegen/inside.h"

/* Loads and stores of whole values; the store of the same type as the load. */
static bool same_type(const tw_model_access *load, const tw_model_access *store)
{
    switch (load->op) {
    case TW_OP_I32_LOAD: return store->op == TW_OP_I32_STORE;
    case TW_OP_I64_LOAD: return store->op == TW_OP_I64_STORE;
    case TW_OP_F32_LOAD: return store->op == TW_OP_F32_STORE;
    case TW_OP_F64_LOAD: return store->op == TW_OP_F64_STORE;
    default: return false;
    }
}

static bool same_cell(const tw_emitter *e, uint32_t x, uint32_t y)
{
    return e->representative[x] == e->representative[y] && e->delta[x] == e->delta[y] && !e->model->accesses[x].is_indirect &&
           same_type(&e->model->accesses[x], &e->model->accesses[y]);
}

static const tw_node *child_of(const tw_emitter *e, const tw_node *node, uint32_t i)
{
    return &e->tree->nodes[node->children[i]];
}

/* The read of the same cell before child `at`, if those two are the only ones of their group. */
static const tw_node *partner(const tw_emitter *e, const tw_node *node, uint32_t at)
{
    const tw_node *store = child_of(e, node, at), *found = NULL;
    uint8_t group = e->facts->group[store->access];
    for (uint32_t i = 0; i < node->child_count; i++) {
        const tw_node *child = child_of(e, node, i);
        if (i == at || e->facts->group[child->access] != group) continue;
        if (found || i > at || child->kind != TW_NODE_READ || child->guard != TW_NONE ||
            !same_cell(e, child->access, store->access))
            return NULL;
        found = child;
    }
    return found;
}

uint32_t tw_gen_find_held(tw_emitter *e, const tw_node *node, tw_held held[TW_MAX_HELD])
{
    const tw_scope inside = {.loop = node->loop};
    uint32_t count = 0;
    bool alone = e->tree->shares_work && !e->in_threads; /* stores are thread 0's then */
    if (e->facts->checked || node->block || alone) return 0;
    for (uint32_t i = 0; i < node->child_count; i++)
        if (child_of(e, node, i)->kind == TW_NODE_LOOP) return 0;
    for (uint32_t i = 0; i < node->child_count && count < TW_MAX_HELD; i++) {
        const tw_node *store = child_of(e, node, i);
        if (store->kind != TW_NODE_STORE || store->guard != TW_NONE || tw_gen_contributes(e, store->access, &inside)) continue;
        const tw_node *read = partner(e, node, i);
        if (!read || tw_gen_contributes(e, read->access, &inside)) continue;
        held[count++] = (tw_held){.read = read, .store = store, .place = tw_gen_place(e, store->access)};
    }
    return count;
}

static uint32_t instance_count(const tw_instances *instances)
{
    return (uint32_t)instances->rows * instances->vectors;
}

void tw_gen_held_load(tw_emitter *e, tw_held *h)
{
    tw_place p = h->place;
    p.access = h->read->access;
    tw_gen_instances(e, &h->first, e->depth, e->varies[h->read->value]);
    for (uint32_t r = 0; r < h->first.rows; r++)
        for (uint32_t v = 0; v < h->first.vectors; v++) h->first.of[r * h->first.vectors + v] = tw_gen_load(e, &p, r, v);
}

void tw_gen_held_begin(tw_emitter *e, tw_held *h, LLVMBasicBlockRef before)
{
    tw_gen_instances(e, &h->now, e->depth, e->varies[h->read->value]);
    for (uint32_t i = 0; i < instance_count(&h->now); i++) {
        h->now.of[i] = LLVMBuildPhi(e->builder, LLVMTypeOf(h->first.of[i]), "");
        LLVMAddIncoming(h->now.of[i], &h->first.of[i], &before, 1);
    }
    e->values[h->read->value] = h->now;
}

static void take_store(tw_emitter *e, tw_held *h)
{
    const tw_instances *values = tw_gen_value(e, h->store->value);
    tw_gen_instances(e, &h->after, e->depth, e->varies[h->read->value]);
    for (uint32_t r = 0; r < h->after.rows; r++)
        for (uint32_t v = 0; v < h->after.vectors; v++)
            h->after.of[r * h->after.vectors + v] =
                tw_gen_splat(e, tw_gen_instance(values, r, v), h->place.has_lanes ? e->lanes : 1);
}

bool tw_gen_held_node(tw_emitter *e, const tw_node *node)
{
    for (uint32_t i = 0; i < e->held_count; i++) {
        if (node == e->held[i].store) take_store(e, &e->held[i]);
        if (node == e->held[i].store || node == e->held[i].read) return true;
    }
    return false;
}

void tw_gen_held_next(tw_held *h, LLVMBasicBlockRef latch)
{
    for (uint32_t i = 0; i < instance_count(&h->now); i++) LLVMAddIncoming(h->now.of[i], &h->after.of[i], &latch, 1);
}

void tw_gen_held_store(tw_emitter *e, tw_held *h)
{
    for (uint32_t r = 0; r < h->after.rows; r++)
        for (uint32_t v = 0; v < h->after.vectors; v++)
            tw_gen_store_value(e, &h->place, tw_gen_instance(&h->after, r, v), NULL, r, v);
}
