/* SPDX-License-Identifier: Apache-2.0 */
#include "analysis/inside.h"

#include <string.h>

/* Natural loops from back edges, inner before outer: the walk backward from a loop's latches skips over the loops already
 * found by jumping to their headers, so each block is visited once. Deep nests with many exits make long lists; the
 * arena's limit and a budget of steps bound them. */

enum { MAX_STEPS = 1 << 22 }; /* entries in all lists together; a large program has tens of thousands */

typedef struct forest {
    tw_analysis *a;
    const tw_cfg *cfg;
    tw_arena scratch;
    uint32_t count;
    tw_loopdata *items;
    tw_loop *innermost;      /* by block */
    tw_loop *header_of;      /* by block: the loop it heads */
    tw_loop *top;            /* by loop: an ancestor; its outermost one so far after find_top */
    tw_ir_block *work;
    uint32_t work_count;
    uint64_t steps;
    bool irreducible;
} forest;

bool tw_loop_contains(const tw_loops *loops, tw_loop outer, tw_loop inner)
{
    if (outer == TW_NO_LOOP) return true;
    while (inner != TW_NO_LOOP && loops->items[inner].depth > loops->items[outer].depth) inner = loops->items[inner].parent;
    return inner == outer;
}

bool tw_loop_has_block(const tw_loops *loops, tw_loop loop, tw_ir_block block)
{
    return tw_loop_contains(loops, loop, loops->innermost[block]);
}

static bool is_back_edge(const forest *f, tw_ir_block from, tw_ir_block to)
{
    return tw_cfg_dominates(f->cfg, to, from);
}

/* A loop for each block with a back edge to it, numbered in reverse post-order. */
static bool find_headers(forest *f)
{
    const tw_cfg *cfg = f->cfg;
    for (uint32_t b = 0; b < cfg->block_count; b++) f->innermost[b] = f->header_of[b] = TW_NO_LOOP;
    for (uint32_t i = 0; i < cfg->order_count; i++) {
        tw_ir_block block = cfg->order[i];
        for (uint32_t p = cfg->pred_start[block]; p < cfg->pred_start[block + 1]; p++)
            if (is_back_edge(f, cfg->preds[p].from, block)) {
                f->header_of[block] = f->count++;
                break;
            }
    }
    f->items = TW_NEW_ARRAY(&f->a->arena, tw_loopdata, f->count);
    f->top = TW_NEW_ARRAY(&f->scratch, tw_loop, f->count);
    if (!f->items || !f->top) return false;
    for (uint32_t b = 0; b < cfg->block_count; b++)
        if (f->header_of[b] != TW_NO_LOOP)
            f->items[f->header_of[b]] = (tw_loopdata){.header = b, .parent = TW_NO_LOOP};
    for (tw_loop l = 0; l < f->count; l++) f->top[l] = l;
    return true;
}

static tw_loop find_top(forest *f, tw_loop loop)
{
    while (f->top[loop] != loop) {
        f->top[loop] = f->top[f->top[loop]];
        loop = f->top[loop];
    }
    return loop;
}

/* Takes a block, or the outermost loop found around it, into the loop, and then its predecessors. */
static void take(forest *f, tw_loop loop, tw_ir_block block)
{
    tw_ir_block door = block;
    if (f->innermost[block] == TW_NO_LOOP) f->innermost[block] = loop;
    else {
        tw_loop inner = find_top(f, f->innermost[block]);
        if (inner == loop) return;
        f->top[inner] = loop;
        f->items[inner].parent = loop;
        door = f->items[inner].header;
    }
    if (door == f->items[loop].header) return;
    for (uint32_t p = f->cfg->pred_start[door]; p < f->cfg->pred_start[door + 1]; p++)
        if (!is_back_edge(f, f->cfg->preds[p].from, door)) f->work[f->work_count++] = f->cfg->preds[p].from;
}

static void find_body(forest *f, tw_loop loop)
{
    tw_ir_block header = f->items[loop].header;
    f->innermost[header] = loop;
    for (uint32_t p = f->cfg->pred_start[header]; p < f->cfg->pred_start[header + 1]; p++)
        if (is_back_edge(f, f->cfg->preds[p].from, header)) f->work[f->work_count++] = f->cfg->preds[p].from;
    while (f->work_count) take(f, loop, f->work[--f->work_count]);
}

static void find_depths(forest *f)
{
    for (tw_loop l = 0; l < f->count; l++) {
        tw_loopdata *data = &f->items[l];
        data->depth = data->parent == TW_NO_LOOP ? 1 : f->items[data->parent].depth + 1;
        if (data->parent != TW_NO_LOOP) f->items[data->parent].child_count++;
    }
}

static bool spend(forest *f, uint64_t steps)
{
    f->steps += steps;
    return f->steps <= MAX_STEPS;
}

/* Blocks of each loop, in order: counted from the inside out, then filled. */
static bool list_blocks(forest *f)
{
    uint32_t *own = TW_NEW_ARRAY(&f->scratch, uint32_t, f->count);
    tw_ir_block **lists = TW_NEW_ARRAY(&f->scratch, tw_ir_block *, f->count);
    tw_loop **children = TW_NEW_ARRAY(&f->scratch, tw_loop *, f->count);
    if (!own || !lists || !children) return false;
    for (uint32_t i = 0; i < f->cfg->order_count; i++)
        if (f->innermost[f->cfg->order[i]] != TW_NO_LOOP) own[f->innermost[f->cfg->order[i]]]++;
    for (tw_loop l = f->count; l-- > 0;) {
        if (f->items[l].parent != TW_NO_LOOP) own[f->items[l].parent] += own[l];
        lists[l] = TW_NEW_ARRAY(&f->a->arena, tw_ir_block, own[l]);
        children[l] = TW_NEW_ARRAY(&f->a->arena, tw_loop, f->items[l].child_count);
        if (!lists[l] || !children[l] || !spend(f, own[l])) return false;
        f->items[l].blocks = lists[l];
        f->items[l].children = children[l];
        f->items[l].child_count = 0;
    }
    for (uint32_t i = 0; i < f->cfg->order_count; i++)
        for (tw_loop l = f->innermost[f->cfg->order[i]]; l != TW_NO_LOOP; l = f->items[l].parent)
            lists[l][f->items[l].block_count++] = f->cfg->order[i];
    for (tw_loop l = 0; l < f->count; l++)
        if (f->items[l].parent != TW_NO_LOOP) {
            tw_loopdata *parent = &f->items[f->items[l].parent];
            children[f->items[l].parent][parent->child_count++] = l;
        }
    return true;
}

/* The innermost loop around both. */
static tw_loop common(const forest *f, tw_loop a, tw_loop b)
{
    while (a != b) {
        if (a == TW_NO_LOOP || b == TW_NO_LOOP) return TW_NO_LOOP;
        if (f->items[a].depth >= f->items[b].depth) a = f->items[a].parent;
        else b = f->items[b].parent;
    }
    return a;
}

typedef enum edge_pass { COUNT, FILL } edge_pass;

static void put(tw_cfg_edge *list, uint32_t *count, tw_cfg_edge edge, edge_pass pass)
{
    if (pass == FILL) list[*count] = edge;
    (*count)++;
}

/* One edge of the function: a latch, an entry, an exit of some loops, or the sign of a cycle with two entries. */
static bool place_edge(forest *f, tw_cfg_edge edge, tw_ir_block to, edge_pass pass)
{
    tw_loop from = f->innermost[edge.from], shared = common(f, from, f->innermost[to]);
    for (tw_loop l = from; l != shared; l = f->items[l].parent) {
        put((tw_cfg_edge *)f->items[l].exits, &f->items[l].exit_count, edge, pass);
        if (!spend(f, 1)) return false;
    }
    tw_loop headed = f->header_of[to];
    if (headed != TW_NO_LOOP) {
        tw_loopdata *data = &f->items[headed];
        if (is_back_edge(f, edge.from, to)) put((tw_cfg_edge *)data->latches, &data->latch_count, edge, pass);
        else put((tw_cfg_edge *)data->entries, &data->entry_count, edge, pass);
    }
    bool retreats = f->cfg->position[to] <= f->cfg->position[edge.from];
    if (retreats && !is_back_edge(f, edge.from, to)) {
        f->irreducible = true;
        for (tw_loop l = shared; l != TW_NO_LOOP && !f->items[l].irreducible; l = f->items[l].parent)
            f->items[l].irreducible = true;
    }
    return true;
}

static bool place_edges(forest *f, edge_pass pass)
{
    for (uint32_t i = 0; i < f->cfg->order_count; i++) {
        const tw_ir_blockdata *block = &f->a->func->blocks[f->cfg->order[i]];
        for (uint32_t e = 0; e < block->edge_count; e++)
            if (!place_edge(f, (tw_cfg_edge){f->cfg->order[i], e}, block->edges[e].to, pass)) return false;
    }
    return true;
}

static bool list_edges(forest *f)
{
    if (!place_edges(f, COUNT)) return false;
    for (tw_loop l = 0; l < f->count; l++) {
        tw_loopdata *data = &f->items[l];
        data->latches = TW_NEW_ARRAY(&f->a->arena, tw_cfg_edge, data->latch_count);
        data->entries = TW_NEW_ARRAY(&f->a->arena, tw_cfg_edge, data->entry_count);
        data->exits = TW_NEW_ARRAY(&f->a->arena, tw_cfg_edge, data->exit_count);
        if (!data->latches || !data->entries || !data->exits) return false;
        data->latch_count = data->entry_count = data->exit_count = 0;
    }
    return place_edges(f, FILL);
}

static bool build(forest *f)
{
    const tw_cfg *cfg = f->cfg;
    f->innermost = TW_NEW_ARRAY(&f->a->arena, tw_loop, cfg->block_count);
    f->header_of = TW_NEW_ARRAY(&f->scratch, tw_loop, cfg->block_count);
    /* each block's predecessors are pushed once by itself and once for each loop it heads */
    f->work = TW_NEW_ARRAY(&f->scratch, tw_ir_block, 2 * (size_t)cfg->pred_start[cfg->block_count] + 1);
    if (!f->innermost || !f->header_of || !f->work || !find_headers(f)) return false;
    for (tw_loop l = f->count; l-- > 0;) find_body(f, l);
    find_depths(f);
    return list_blocks(f) && list_edges(f);
}

const tw_loops *tw_analysis_loops(tw_analysis *a)
{
    if (a->loops || a->shapeless) return a->loops;
    forest f = {.a = a, .cfg = tw_analysis_cfg(a)};
    if (!f.cfg) return NULL;
    tw_arena_init(&f.scratch, a->arena.limit);
    tw_loops *loops = TW_NEW(&a->arena, tw_loops);
    bool good = loops && build(&f);
    tw_arena_free(&f.scratch);
    a->shapeless = !good;
    if (!good) return tw_analysis_fail(a);
    *loops = (tw_loops){.count = f.count, .items = f.items, .innermost = f.innermost, .irreducible = f.irreducible};
    return a->loops = loops;
}

tw_loop tw_header_loop(tw_analysis *a, tw_ir_value value)
{
    const tw_ir_valuedata *data = &a->func->values[value];
    const tw_loops *loops = tw_analysis_loops(a);
    if (!loops || data->kind != TW_IR_PARAM) return TW_NO_LOOP;
    tw_loop loop = loops->innermost[data->block];
    return loop != TW_NO_LOOP && loops->items[loop].header == data->block ? loop : TW_NO_LOOP;
}
