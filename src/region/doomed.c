/* SPDX-License-Identifier: Apache-2.0 */
#include "region/doomed.h"

#include <string.h>

enum { MOST_STEPS = 1 << 20 }; /* over the blocks of ways that are left out; a function with more keeps them all */

typedef struct way_uses { /* by block: of `found` */
    bool known;
    uint32_t first, count;
} way_uses;

typedef struct pruner {
    tw_ir_func *func;
    const tw_cfg *cfg;
    const tw_loops *loops;
    tw_arena *scratch;
    uint8_t *saved;      /* by block: some way leads back to the caller or into a loop */
    uint8_t *ends_well;  /* by loop: it has a way out that is saved */
    uint32_t *block_seen, *value_seen; /* by block, by value: the last way that met it */
    tw_ir_block *stack;
    way_uses *uses;
    tw_ir_value *found;
    uint32_t found_count, found_capacity;
    uint32_t way;
    uint64_t steps;
    bool failed;
} pruner;

/* ---- what is doomed ---- */

static bool saves(const pruner *p, tw_ir_block block)
{
    uint8_t term = p->func->blocks[block].term;
    return term == TW_IR_RETURN || term == TW_IR_TAIL_CALL || p->loops->innermost[block] != TW_NO_LOOP;
}

static void find_saved(pruner *p)
{
    uint32_t count = 0;
    for (uint32_t i = 0; i < p->cfg->order_count; i++) {
        tw_ir_block block = p->cfg->order[i];
        if (!saves(p, block)) continue;
        p->saved[block] = 1;
        p->stack[count++] = block;
    }
    while (count) {
        tw_ir_block block = p->stack[--count];
        for (uint32_t k = p->cfg->pred_start[block]; k < p->cfg->pred_start[block + 1]; k++) {
            tw_ir_block from = p->cfg->preds[k].from;
            if (p->saved[from]) continue;
            p->saved[from] = 1;
            p->stack[count++] = from;
        }
    }
}

static void find_good_ends(pruner *p)
{
    for (tw_loop l = 0; l < p->loops->count; l++)
        for (uint32_t e = 0; e < p->loops->items[l].exit_count; e++) {
            const tw_cfg_edge *exit = &p->loops->items[l].exits[e];
            if (p->saved[p->func->blocks[exit->from].edges[exit->edge].to]) p->ends_well[l] = 1;
        }
}

/* The edge of the block's branch that can be left out; UINT32_MAX when there is none. */
static uint32_t doomed_edge(const pruner *p, tw_ir_block block)
{
    const tw_ir_blockdata *data = &p->func->blocks[block];
    tw_loop loop = p->loops->innermost[block];
    if (loop == TW_NO_LOOP || !p->ends_well[loop] || data->term != TW_IR_BRANCH) return UINT32_MAX;
    bool first = p->saved[data->edges[0].to], second = p->saved[data->edges[1].to];
    return first == second ? UINT32_MAX : first ? 1 : 0;
}

/* ---- leaving it out ---- */

/* Read on the way that is being looked at. */
static void note_use(pruner *p, tw_ir_value value)
{
    const tw_ir_valuedata *data = &p->func->values[value];
    if (!value || data->kind == TW_IR_CONST || !p->saved[data->block] || p->value_seen[value] == p->way) return;
    p->value_seen[value] = p->way;
    if (!TW_ARENA_GROW(p->scratch, p->found, p->found_count, p->found_capacity)) p->failed = true;
    else p->found[p->found_count++] = value;
}

static void note_uses(pruner *p, const tw_ir_value *values, uint32_t count)
{
    for (uint32_t i = 0; i < count && !p->failed; i++) note_use(p, values[i]);
}

static void note_block(pruner *p, tw_ir_block doomed)
{
    const tw_ir_blockdata *data = &p->func->blocks[doomed];
    for (uint32_t i = 0; i < data->inst_count; i++)
        note_uses(p, p->func->insts[data->insts[i]].args, p->func->insts[data->insts[i]].arg_count);
    if (data->term == TW_IR_BRANCH || data->term == TW_IR_SWITCH) note_use(p, data->value);
    p->steps += data->inst_count + 1;
}

/* All that ways from `doomed` on read: once for each such block, however many branches lead there. */
static const way_uses *uses_from(pruner *p, tw_ir_block doomed)
{
    way_uses *uses = &p->uses[doomed];
    uint32_t count = 0, first = p->found_count;
    if (uses->known) return uses;
    p->way++;
    p->stack[count++] = doomed;
    p->block_seen[doomed] = p->way;
    while (count && !p->failed) {
        tw_ir_block at = p->stack[--count];
        const tw_ir_blockdata *data = &p->func->blocks[at];
        note_block(p, at);
        for (uint32_t e = 0; e < data->edge_count; e++) {
            note_uses(p, data->edges[e].args, data->edges[e].arg_count);
            if (p->block_seen[data->edges[e].to] == p->way) continue;
            p->block_seen[data->edges[e].to] = p->way;
            p->stack[count++] = data->edges[e].to;
        }
    }
    p->failed |= p->steps > MOST_STEPS;
    *uses = (way_uses){true, first, p->found_count - first};
    return uses;
}

static void keep_uses(pruner *p, tw_ir_block block, const tw_ir_value *values, uint32_t count)
{
    tw_ir_func *func = p->func;
    for (uint32_t i = 0; i < count && !p->failed; i++) {
        if (!values[i] || func->values[values[i]].kind == TW_IR_CONST) continue;
        if (func->doomed_use_count >= MOST_STEPS || !TW_ARENA_GROW(&func->arena, func->doomed_uses, func->doomed_use_count, func->doomed_use_capacity))
            p->failed = true;
        else func->doomed_uses[func->doomed_use_count++] = (tw_ir_doomed_use){block, values[i]};
    }
}

static void note_way(pruner *p, tw_ir_block block, const tw_ir_edge *edge)
{
    const way_uses *uses = uses_from(p, edge->to);
    keep_uses(p, block, edge->args, edge->arg_count);
    if (uses->count) keep_uses(p, block, p->found + uses->first, uses->count);
}

static void assume(pruner *p, tw_ir_block block, uint32_t edge)
{
    tw_ir_func *func = p->func;
    const tw_ir_blockdata *data = &func->blocks[block];
    note_way(p, block, &data->edges[edge]);
    if (p->failed || !TW_ARENA_GROW(&func->arena, func->assumes, func->assume_count, func->assume_capacity)) {
        p->failed = true;
        return;
    }
    func->assumes[func->assume_count++] = (tw_ir_assume){block, data->value, edge != 0, data->term_offset};
}

static void leave_out(pruner *p)
{
    for (uint32_t a = 0; a < p->func->assume_count; a++) {
        tw_ir_blockdata *block = &p->func->blocks[p->func->assumes[a].block];
        block->edges += p->func->assumes[a].holds ? 0 : 1;
        block->edge_count = 1;
        block->term = TW_IR_JUMP;
        block->value = 0;
    }
}

static bool prune(pruner *p)
{
    uint32_t blocks = p->func->block_count;
    p->saved = TW_NEW_ARRAY(p->scratch, uint8_t, blocks);
    p->ends_well = TW_NEW_ARRAY(p->scratch, uint8_t, p->loops->count);
    p->block_seen = TW_NEW_ARRAY(p->scratch, uint32_t, blocks);
    p->value_seen = TW_NEW_ARRAY(p->scratch, uint32_t, p->func->value_count);
    p->stack = TW_NEW_ARRAY(p->scratch, tw_ir_block, blocks);
    p->uses = TW_NEW_ARRAY(p->scratch, way_uses, blocks);
    if (!p->saved || !p->ends_well || !p->block_seen || !p->value_seen || !p->stack || !p->uses) return false;
    find_saved(p);
    find_good_ends(p);
    for (uint32_t i = 0; i < p->cfg->order_count && !p->failed; i++) {
        uint32_t edge = doomed_edge(p, p->cfg->order[i]);
        if (edge != UINT32_MAX) assume(p, p->cfg->order[i], edge);
    }
    if (p->failed) p->func->assume_count = p->func->doomed_use_count = 0; /* the function as it is will do */
    leave_out(p);
    return true;
}

bool tw_prune_doomed(tw_ir_func *func, size_t memory_limit, tw_analysis **analysis)
{
    tw_arena scratch;
    pruner p = {.func = func, .cfg = tw_analysis_cfg(*analysis), .loops = tw_analysis_loops(*analysis), .scratch = &scratch};
    if (!p.cfg || !p.loops || !p.loops->count || p.loops->irreducible) return true;
    tw_arena_init(&scratch, memory_limit);
    bool ok = prune(&p);
    tw_arena_free(&scratch);
    if (!ok || !func->assume_count) return ok;
    tw_analysis_free(*analysis);
    *analysis = NULL;
    return tw_analysis_new(func, memory_limit, analysis, NULL) == TW_OK;
}

bool tw_branches_to_doom(const tw_ir_func *func, uint64_t offset)
{
    for (uint32_t a = 0; a < func->assume_count; a++)
        if (func->assumes[a].offset == offset && !func->assumes[a].holds) return true;
    return false;
}
