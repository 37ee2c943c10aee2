/* SPDX-License-Identifier: Apache-2.0 */
#include "ir/build.h"

#include <stdlib.h>
#include <string.h>

tw_status tw_ir_func_new(const char *name, size_t memory_limit, tw_ir_func **out, tw_error *error)
{
    tw_ir_func *func = calloc(1, sizeof *func);
    TW_TRY_ALLOC(func, error);
    tw_arena_init(&func->arena, memory_limit);
    func->index = TW_NO_FUNCTION;
    func->name = tw_arena_string(&func->arena, name, strlen(name));
    func->values = TW_NEW_ARRAY(&func->arena, tw_ir_valuedata, 16);
    if (!func->name || !func->values) {
        tw_ir_func_free(func);
        return tw_fail_memory(error);
    }
    func->value_capacity = 16;
    func->value_count = 1;
    *out = func;
    return TW_OK;
}

void tw_ir_func_free(tw_ir_func *func)
{
    if (!func) return;
    tw_arena_free(&func->arena);
    free(func);
}

tw_ir_block tw_ir_block_new(tw_ir_func *func)
{
    if (!TW_ARENA_GROW(&func->arena, func->blocks, func->block_count, func->block_capacity)) {
        func->failed = true;
        return TW_IR_NO_BLOCK;
    }
    func->blocks[func->block_count] = (tw_ir_blockdata){
        .term = TW_IR_UNREACHABLE, .offset = TW_NO_OFFSET, .term_offset = TW_NO_OFFSET, .loop_offset = TW_NO_OFFSET,
        .state_base = TW_IR_NO_BLOCK};
    return func->block_count++;
}

/* 0 when out of memory. */
static tw_ir_value value_new(tw_ir_func *func, tw_ir_valuedata data)
{
    if (!TW_ARENA_GROW(&func->arena, func->values, func->value_count, func->value_capacity)) {
        func->failed = true;
        return 0;
    }
    func->values[func->value_count] = data;
    return func->value_count++;
}

tw_ir_value tw_ir_param_new(tw_ir_func *func, tw_ir_block block, tw_type type)
{
    if (block >= func->block_count) return 0;
    tw_ir_blockdata *data = &func->blocks[block];
    if (data->param_count && data->first_param + data->param_count != func->value_count) {
        func->failed = true;
        return 0;
    }
    tw_ir_value value = value_new(func, (tw_ir_valuedata){.kind = TW_IR_PARAM, .type = (uint8_t)type,
                                                          .position = data->param_count, .block = block});
    if (!value) return 0;
    if (!data->param_count) data->first_param = value;
    data->param_count++;
    return value;
}

static uint32_t constant_hash(tw_type type, uint64_t low, uint64_t high)
{
    uint64_t h = (low ^ (high * 0x9E3779B97F4A7C15u) ^ (uint64_t)type << 56) * 0xD6E8FEB86659FD93u;
    return (uint32_t)(h >> 32) ^ (uint32_t)h;
}

/* The slot where the constant is or belongs. */
static uint32_t *constant_slot(const tw_ir_func *func, tw_type type, uint64_t low, uint64_t high)
{
    uint32_t mask = func->constant_slots - 1;
    for (uint32_t i = constant_hash(type, low, high) & mask;; i = (i + 1) & mask) {
        uint32_t *slot = &func->constants[i];
        const tw_ir_valuedata *value = &func->values[*slot];
        if (!*slot || (value->type == type && value->bits[0] == low && value->bits[1] == high)) return slot;
    }
}

/* Keeps the table at most half full. */
static bool constants_grow(tw_ir_func *func)
{
    if (func->constant_count * 2 < func->constant_slots) return true;
    uint32_t old_slots = func->constant_slots, slots = old_slots ? old_slots * 2 : 32;
    uint32_t *old = func->constants, *grown = slots ? TW_NEW_ARRAY(&func->arena, uint32_t, slots) : NULL;
    if (!grown) return false;
    func->constants = grown;
    func->constant_slots = slots;
    for (uint32_t i = 0; i < old_slots; i++) {
        if (!old[i]) continue;
        const tw_ir_valuedata *value = &func->values[old[i]];
        *constant_slot(func, value->type, value->bits[0], value->bits[1]) = old[i];
    }
    return true;
}

bool tw_ir_rehash_constants(tw_ir_func *func)
{
    func->constant_count = 0;
    for (uint32_t v = 1; v < func->value_count; v++) func->constant_count += func->values[v].kind == TW_IR_CONST;
    uint32_t slots = 32;
    while (slots / 2 <= func->constant_count) slots *= 2;
    func->constants = TW_NEW_ARRAY(&func->arena, uint32_t, slots);
    if (!func->constants) return false;
    func->constant_slots = slots;
    for (uint32_t v = 1; v < func->value_count; v++) {
        const tw_ir_valuedata *value = &func->values[v];
        if (value->kind == TW_IR_CONST) *constant_slot(func, value->type, value->bits[0], value->bits[1]) = v;
    }
    return true;
}

tw_ir_value tw_ir_const(tw_ir_func *func, tw_type type, uint64_t low, uint64_t high)
{
    if (type == TW_I32 || type == TW_F32) low &= UINT32_MAX;
    if (type != TW_V128) high = 0;
    if (!constants_grow(func)) {
        func->failed = true;
        return 0;
    }
    uint32_t *slot = constant_slot(func, type, low, high);
    if (*slot) return *slot;
    tw_ir_value value = value_new(func, (tw_ir_valuedata){.kind = TW_IR_CONST, .type = (uint8_t)type,
                                                          .block = TW_IR_NO_BLOCK, .bits = {low, high}});
    if (!value) return 0;
    *slot = value;
    func->constant_count++;
    return value;
}

static tw_ir_value *copy_values(tw_ir_func *func, const tw_ir_value *values, uint32_t count)
{
    tw_ir_value *copy = TW_NEW_ARRAY(&func->arena, tw_ir_value, count);
    if (!copy) func->failed = true;
    else if (count) memcpy(copy, values, count * sizeof *copy);
    return copy;
}

uint32_t tw_ir_inst_new(tw_ir_func *func, tw_ir_block block, tw_op op, const tw_ir_value *args, uint32_t arg_count,
                        const uint8_t *result_types, uint32_t result_count)
{
    if (block >= func->block_count) return UINT32_MAX;
    tw_ir_blockdata *data = &func->blocks[block];
    uint32_t inst = func->inst_count;
    tw_ir_value *copy = copy_values(func, args, arg_count);
    if (!copy || !TW_ARENA_GROW(&func->arena, func->insts, func->inst_count, func->inst_capacity) ||
        !TW_ARENA_GROW(&func->arena, data->insts, data->inst_count, data->inst_capacity)) {
        func->failed = true;
        return UINT32_MAX;
    }
    tw_ir_value first = 0;
    for (uint32_t i = 0; i < result_count; i++) {
        tw_ir_value value = value_new(func, (tw_ir_valuedata){.kind = TW_IR_RESULT, .type = result_types[i],
                                                              .position = i, .block = block, .inst = inst});
        if (!value) return UINT32_MAX;
        if (i == 0) first = value;
    }
    func->insts[inst] = (tw_ir_inst){.op = op, .block = block, .offset = TW_NO_OFFSET, .args = copy,
                                     .arg_count = arg_count, .result_count = result_count, .first_result = first};
    func->inst_count++;
    data->insts[data->inst_count++] = inst;
    return inst;
}

tw_ir_edge *tw_ir_terminate(tw_ir_func *func, tw_ir_block block, tw_ir_term term, tw_ir_value value, uint32_t edge_count)
{
    if (block >= func->block_count) return NULL;
    tw_ir_edge *edges = TW_NEW_ARRAY(&func->arena, tw_ir_edge, edge_count);
    if (!edges) {
        func->failed = true;
        return NULL;
    }
    tw_ir_blockdata *data = &func->blocks[block];
    data->term = (uint8_t)term;
    data->value = value;
    data->edges = edges;
    data->edge_count = edge_count;
    return edges;
}

bool tw_ir_edge_set(tw_ir_func *func, tw_ir_edge *edge, tw_ir_block to, const tw_ir_value *args, uint32_t arg_count)
{
    tw_ir_value *copy = copy_values(func, args, arg_count);
    if (!copy) return false;
    *edge = (tw_ir_edge){.to = to, .arg_count = arg_count, .args = copy};
    return true;
}

bool tw_ir_terminate_args(tw_ir_func *func, tw_ir_block block, const tw_ir_value *args, uint32_t arg_count)
{
    if (block >= func->block_count) return false;
    tw_ir_value *copy = copy_values(func, args, arg_count);
    if (!copy) return false;
    func->blocks[block].args = copy;
    func->blocks[block].arg_count = arg_count;
    return true;
}

bool tw_ir_locals_at_end(const tw_ir_func *func, tw_ir_block block, tw_ir_value *values)
{
    if (block >= func->block_count || !func->local_count) return false;
    /* UINT32_MAX marks a local not met yet; the writes nearest to the end count. */
    for (uint32_t i = 0; i < func->local_count; i++) values[i] = UINT32_MAX;
    bool reached_entry = false;
    for (uint32_t steps = 0; block < func->block_count && steps <= func->block_count; steps++) {
        const tw_ir_blockdata *data = &func->blocks[block];
        for (uint32_t i = data->set_count; i-- > 0;)
            if (data->sets[i].local < func->local_count && values[data->sets[i].local] == UINT32_MAX)
                values[data->sets[i].local] = data->sets[i].value;
        reached_entry = block == 0 && data->set_count;
        block = data->state_base;
    }
    for (uint32_t i = 0; i < func->local_count; i++)
        if (values[i] == UINT32_MAX) values[i] = 0;
    return reached_entry;
}
