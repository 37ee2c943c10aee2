/* SPDX-License-Identifier: Apache-2.0 */
#include "analysis/inside.h"

static bool is_effect(tw_op op)
{
    uint8_t kind = tw_op_describe(op)->kind;
    return kind == TW_KIND_CONTROL || kind == TW_KIND_MEMORY || kind == TW_KIND_TABLE || op == TW_OP_GLOBAL_SET ||
           op == TW_OP_GLOBAL_GET;
}

static bool is_access(tw_op op)
{
    uint8_t kind = tw_op_describe(op)->kind;
    return kind == TW_KIND_LOAD || kind == TW_KIND_STORE;
}

typedef struct lists {
    tw_access *accesses;
    tw_effect *effects;
    uint32_t access_count, access_capacity, effect_count, effect_capacity;
} lists;

static bool add_access(tw_analysis *a, lists *l, uint32_t number, tw_ir_block block)
{
    const tw_ir_inst *inst = &a->func->insts[number];
    const tw_op_info *info = tw_op_describe(inst->op);
    if (!TW_ARENA_GROW(&a->arena, l->accesses, l->access_count, l->access_capacity)) return false;
    tw_loop loop = a->loops->innermost[block];
    l->accesses[l->access_count++] =
        (tw_access){.inst = number, .op = inst->op, .block = block, .loop = loop, .width = info->access,
                    .is_store = info->kind == TW_KIND_STORE, .offset = inst->mem_offset,
                    .address = tw_evolution_of(a, inst->args[0], loop)};
    return l->accesses[l->access_count - 1].address != NULL;
}

static bool add_effect(tw_analysis *a, lists *l, uint32_t number, tw_op op, tw_ir_block block)
{
    if (!TW_ARENA_GROW(&a->arena, l->effects, l->effect_count, l->effect_capacity)) return false;
    l->effects[l->effect_count++] = (tw_effect){number, op, block};
    return true;
}

static bool list_block(tw_analysis *a, lists *l, tw_ir_block index)
{
    const tw_ir_blockdata *block = &a->func->blocks[index];
    for (uint32_t i = 0; i < block->inst_count; i++) {
        tw_op op = a->func->insts[block->insts[i]].op;
        if (is_access(op) && !add_access(a, l, block->insts[i], index)) return false;
        if (is_effect(op) && !add_effect(a, l, block->insts[i], op, index)) return false;
    }
    return block->term != TW_IR_TAIL_CALL || add_effect(a, l, UINT32_MAX, block->tail_op, index);
}

const tw_accesses *tw_accesses_of(tw_analysis *a, tw_loop loop)
{
    if (!tw_analysis_loops(a)) return NULL;
    uint32_t slot = loop == TW_NO_LOOP ? a->loops->count : loop;
    if (!a->accesses) a->accesses = TW_NEW_ARRAY(&a->arena, tw_accesses *, (size_t)a->loops->count + 1);
    if (!a->accesses) return tw_analysis_fail(a);
    if (a->accesses[slot]) return a->accesses[slot];
    const tw_ir_block *blocks = loop == TW_NO_LOOP ? a->cfg->order : a->loops->items[loop].blocks;
    uint32_t count = loop == TW_NO_LOOP ? a->cfg->order_count : a->loops->items[loop].block_count;
    lists l = {0};
    tw_accesses *out = TW_NEW(&a->arena, tw_accesses);
    if (!out) return tw_analysis_fail(a);
    for (uint32_t i = 0; i < count; i++)
        if (!list_block(a, &l, blocks[i])) return tw_analysis_fail(a);
    *out = (tw_accesses){l.access_count, l.effect_count, l.accesses, l.effects};
    return a->accesses[slot] = out;
}
