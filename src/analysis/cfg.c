/* SPDX-License-Identifier: Apache-2.0 */
#include "analysis/inside.h"

bool tw_cfg_dominates(const tw_cfg *cfg, tw_ir_block a, tw_ir_block b)
{
    if (cfg->position[a] == UINT32_MAX || cfg->position[b] == UINT32_MAX) return false;
    return cfg->dom_in[a] <= cfg->dom_in[b] && cfg->dom_out[b] <= cfg->dom_out[a];
}

/* Incoming edges in reverse post-order of where they come from. */
static bool find_preds(tw_analysis *a, tw_cfg *cfg)
{
    const tw_ir_func *func = a->func;
    size_t edges = 0;
    for (uint32_t i = 0; i < cfg->order_count; i++) edges += func->blocks[cfg->order[i]].edge_count;
    uint32_t *start = TW_NEW_ARRAY(&a->arena, uint32_t, (size_t)func->block_count + 2);
    tw_cfg_edge *preds = TW_NEW_ARRAY(&a->arena, tw_cfg_edge, edges);
    if (!start || !preds || edges >= UINT32_MAX) return false;
    for (uint32_t i = 0; i < cfg->order_count; i++) {
        const tw_ir_blockdata *block = &func->blocks[cfg->order[i]];
        for (uint32_t e = 0; e < block->edge_count; e++) start[block->edges[e].to + 2]++;
    }
    for (uint32_t i = 2; i <= func->block_count + 1; i++) start[i] += start[i - 1];
    /* start[b + 1] is where b's next one goes; afterwards that is where b + 1 begins. */
    for (uint32_t i = 0; i < cfg->order_count; i++) {
        const tw_ir_blockdata *block = &func->blocks[cfg->order[i]];
        for (uint32_t e = 0; e < block->edge_count; e++)
            preds[start[block->edges[e].to + 1]++] = (tw_cfg_edge){cfg->order[i], e};
    }
    cfg->pred_start = start;
    cfg->preds = preds;
    return true;
}

/* Dominators of the graph turned round, from one way out that follows every return, tail call and trap. */
static bool find_postdominators(tw_analysis *a, tw_cfg *cfg, tw_arena *scratch)
{
    uint32_t n = a->func->block_count, exits = 0;
    for (uint32_t i = 0; i < cfg->order_count; i++) exits += a->func->blocks[cfg->order[i]].edge_count == 0;
    size_t edges = (size_t)cfg->pred_start[n] + exits;
    uint32_t *start = TW_NEW_ARRAY(scratch, uint32_t, (size_t)n + 2), *to = TW_NEW_ARRAY(scratch, uint32_t, edges);
    tw_ir_block *ipdom = TW_NEW_ARRAY(&a->arena, tw_ir_block, (size_t)n + 1);
    if (!start || !to || !ipdom) return false;
    uint32_t at = 0;
    for (uint32_t b = 0; b < n; b++) {
        for (uint32_t i = cfg->pred_start[b]; i < cfg->pred_start[b + 1]; i++) to[at++] = cfg->preds[i].from;
        start[b + 1] = at;
    }
    for (uint32_t i = 0; i < cfg->order_count; i++)
        if (a->func->blocks[cfg->order[i]].edge_count == 0) to[at++] = cfg->order[i];
    start[n + 1] = at;
    if (!tw_graph_dominators(scratch, n + 1, start, to, n, ipdom)) return false;
    for (uint32_t b = 0; b < n; b++)
        if (ipdom[b] == n) ipdom[b] = TW_IR_NO_BLOCK;
    cfg->ipdom = ipdom;
    return true;
}

static bool build(tw_analysis *a, tw_cfg *cfg, tw_arena *scratch)
{
    const tw_ir_func *func = a->func;
    uint32_t n = func->block_count;
    tw_ir_block *order = TW_NEW_ARRAY(&a->arena, tw_ir_block, n), *idom = TW_NEW_ARRAY(&a->arena, tw_ir_block, n);
    uint32_t *position = TW_NEW_ARRAY(&a->arena, uint32_t, n);
    uint32_t *in = TW_NEW_ARRAY(&a->arena, uint32_t, n), *out = TW_NEW_ARRAY(&a->arena, uint32_t, n);
    if (!order || !idom || !position || !in || !out) return false;
    uint32_t count = tw_ir_order(func, scratch, order, position);
    if (count == UINT32_MAX || !tw_ir_dominators(func, scratch, idom) ||
        !tw_ir_dominance(func, scratch, order, count, idom, in, out))
        return false;
    *cfg = (tw_cfg){.block_count = n, .order_count = count, .order = order, .position = position, .idom = idom,
                    .dom_in = in, .dom_out = out};
    return find_preds(a, cfg) && find_postdominators(a, cfg, scratch);
}

const tw_cfg *tw_analysis_cfg(tw_analysis *a)
{
    if (a->cfg || a->shapeless) return a->cfg;
    tw_arena scratch;
    tw_arena_init(&scratch, a->arena.limit);
    tw_cfg *cfg = TW_NEW(&a->arena, tw_cfg);
    bool good = cfg && build(a, cfg, &scratch);
    tw_arena_free(&scratch);
    a->shapeless = !good;
    if (!good) return tw_analysis_fail(a);
    return a->cfg = cfg;
}
