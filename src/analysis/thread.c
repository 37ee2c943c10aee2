/* SPDX-License-Identifier: Apache-2.0 */
#include <string.h>

#include "analysis/analysis.h"

/* Jump threading.
 *
 * Bypassing a block takes away what it dominated, and with that every use of its parameters further down. Repairing SSA
 * after the fact is the usual way and long. Here every block is first given a parameter for each value that is alive on its
 * entry, so that no use crosses a block's border; then an edge can be pointed anywhere and nothing needs repair; and the
 * simplifier takes the parameters away again that turn out to be always the same. It costs (blocks × values) bits once,
 * and only functions that have something to thread pay it.
 *
 * Needs: a function that verifies. Keeps: its meaning, local_values. Breaks: numbers, local sets (tw_ir_locals_at_end says
 * false afterwards). Ends: an edge is followed through at most MAX_HOPS choosers. */

enum { MAX_HOPS = 64 };
static const size_t MAX_BITS_BYTES = (size_t)256 << 20, MAX_PARAMS = (size_t)8 << 20;

typedef struct threader {
    tw_ir_func *func;
    tw_arena scratch;
    tw_ir_block *order;
    uint32_t *position;
    uint32_t count, words;
    uint64_t *live;       /* by block: the values alive on entry that the block doesn't define */
    tw_ir_value *renamed; /* within the block at hand */
    tw_ir_value *old_first_param;
    uint32_t *old_param_count;
} threader;

/* A block that does nothing but choose a successor by one of its parameters. */
static bool is_chooser(const tw_ir_func *func, tw_ir_block index)
{
    const tw_ir_blockdata *block = &func->blocks[index];
    if (index == 0 || block->inst_count || (block->term != TW_IR_SWITCH && block->term != TW_IR_BRANCH)) return false;
    const tw_ir_valuedata *value = &func->values[block->value];
    return value->kind == TW_IR_PARAM && value->block == index;
}

/* The successor's edge that the chooser takes for what `edge` brings; NULL when that isn't a constant. */
static const tw_ir_edge *chosen(const tw_ir_func *func, const tw_ir_edge *edge)
{
    if (!is_chooser(func, edge->to)) return NULL;
    const tw_ir_blockdata *block = &func->blocks[edge->to];
    const tw_ir_valuedata *arg = &func->values[edge->args[func->values[block->value].position]];
    if (arg->kind != TW_IR_CONST) return NULL;
    uint32_t value = (uint32_t)arg->bits[0];
    if (block->term == TW_IR_BRANCH) return &block->edges[value ? 0 : 1];
    return &block->edges[value < block->edge_count - 1 ? value : block->edge_count - 1];
}

static bool anything_to_thread(const threader *t)
{
    for (uint32_t i = 0; i < t->count; i++) {
        const tw_ir_blockdata *block = &t->func->blocks[t->order[i]];
        for (uint32_t e = 0; e < block->edge_count; e++)
            if (chosen(t->func, &block->edges[e])) return true;
    }
    return false;
}

/* ---- liveness ---- */

static uint64_t *set_of(const threader *t, tw_ir_block block)
{
    return t->live + (size_t)block * t->words;
}

static void add(const threader *t, uint64_t *set, tw_ir_value value, tw_ir_block block)
{
    const tw_ir_valuedata *data = &t->func->values[value];
    if (value && data->kind != TW_IR_CONST && data->block != block) set[value / 64] |= (uint64_t)1 << value % 64;
}

static void add_list(const threader *t, uint64_t *set, const tw_ir_value *values, uint32_t count, tw_ir_block block)
{
    for (uint32_t i = 0; i < count; i++) add(t, set, values[i], block);
}

static void add_own_uses(const threader *t, tw_ir_block index)
{
    const tw_ir_func *func = t->func;
    const tw_ir_blockdata *block = &func->blocks[index];
    uint64_t *set = set_of(t, index);
    for (uint32_t i = 0; i < block->inst_count; i++)
        add_list(t, set, func->insts[block->insts[i]].args, func->insts[block->insts[i]].arg_count, index);
    if (block->term == TW_IR_BRANCH || block->term == TW_IR_SWITCH) add(t, set, block->value, index);
    add_list(t, set, block->args, block->arg_count, index);
    for (uint32_t e = 0; e < block->edge_count; e++) add_list(t, set, block->edges[e].args, block->edges[e].arg_count, index);
    if (block->local_values) add_list(t, set, block->local_values, func->local_count, index);
}

/* What successors need and this block doesn't define is needed here; true when that was news. */
static bool pull(const threader *t, tw_ir_block index)
{
    const tw_ir_blockdata *block = &t->func->blocks[index];
    uint64_t *set = set_of(t, index);
    bool news = false;
    for (uint32_t e = 0; e < block->edge_count; e++) {
        const uint64_t *from = set_of(t, block->edges[e].to);
        for (uint32_t w = 0; w < t->words; w++)
            for (uint64_t fresh = from[w] & ~set[w]; fresh; fresh &= fresh - 1) {
                tw_ir_value value = w * 64 + (uint32_t)__builtin_ctzll(fresh);
                uint64_t before = set[w];
                add(t, set, value, index);
                news |= set[w] != before;
            }
    }
    return news;
}

/* False when out of memory; *too_large when the function is more than this pass takes on. */
static bool find_live(threader *t, bool *too_large)
{
    t->words = t->func->value_count / 64 + 1;
    size_t bytes;
    if (__builtin_mul_overflow((size_t)t->func->block_count * 8, t->words, &bytes) || bytes > MAX_BITS_BYTES) {
        *too_large = true;
        return true;
    }
    t->live = tw_arena_alloc(&t->scratch, bytes);
    if (!t->live) return false;
    for (uint32_t i = 0; i < t->count; i++) add_own_uses(t, t->order[i]);
    for (bool news = true; news;) {
        news = false;
        for (uint32_t i = t->count; i-- > 0;) news |= pull(t, t->order[i]);
    }
    size_t params = 0;
    for (size_t i = 0; i < bytes / 8; i++) params += (size_t)__builtin_popcountll(t->live[i]);
    *too_large = params > MAX_PARAMS;
    return true;
}

/* ---- a parameter for everything ---- */

static bool new_params(threader *t, tw_ir_block index)
{
    tw_ir_func *func = t->func;
    tw_ir_blockdata *block = &func->blocks[index];
    t->old_first_param[index] = block->first_param;
    t->old_param_count[index] = block->param_count;
    if (index == 0) return true;
    uint32_t old_count = block->param_count;
    tw_ir_value old_first = block->first_param;
    block->param_count = 0;
    for (uint32_t i = 0; i < old_count; i++)
        if (!tw_ir_param_new(func, index, func->values[old_first + i].type)) return false;
    const uint64_t *set = set_of(t, index);
    for (uint32_t w = 0; w < t->words; w++)
        for (uint64_t rest = set[w]; rest; rest &= rest - 1)
            if (!tw_ir_param_new(func, index, func->values[w * 64 + (uint32_t)__builtin_ctzll(rest)].type)) return false;
    return true;
}

static void rename_list(const threader *t, tw_ir_value *values, uint32_t count)
{
    for (uint32_t i = 0; i < count; i++)
        if (t->renamed[values[i]]) values[i] = t->renamed[values[i]];
}

/* Points renamed[] at this block's parameters, or (on = false) clears it. */
static void set_renamed(threader *t, tw_ir_block index, bool on)
{
    tw_ir_value next = t->func->blocks[index].first_param;
    if (index == 0) return;
    for (uint32_t i = 0; i < t->old_param_count[index]; i++) t->renamed[t->old_first_param[index] + i] = on ? next++ : 0;
    const uint64_t *set = set_of(t, index);
    for (uint32_t w = 0; w < t->words; w++)
        for (uint64_t rest = set[w]; rest; rest &= rest - 1) t->renamed[w * 64 + (uint32_t)__builtin_ctzll(rest)] = on ? next++ : 0;
}

/* The edge's arguments in new names, followed by those for what is alive at its target. */
static bool extend_edge(threader *t, tw_ir_edge *edge)
{
    tw_ir_func *func = t->func;
    uint32_t count = func->blocks[edge->to].param_count, filled = edge->arg_count;
    tw_ir_value *args = TW_NEW_ARRAY(&func->arena, tw_ir_value, count);
    if (!args) return false;
    if (filled) memcpy(args, edge->args, filled * sizeof *args);
    const uint64_t *set = set_of(t, edge->to);
    for (uint32_t w = 0; w < t->words; w++)
        for (uint64_t rest = set[w]; rest; rest &= rest - 1) args[filled++] = w * 64 + (uint32_t)__builtin_ctzll(rest);
    edge->args = args;
    edge->arg_count = filled;
    rename_list(t, args, filled);
    return true;
}

static bool close_block(threader *t, tw_ir_block index)
{
    tw_ir_func *func = t->func;
    tw_ir_blockdata *block = &func->blocks[index];
    set_renamed(t, index, true);
    for (uint32_t i = 0; i < block->inst_count; i++)
        rename_list(t, func->insts[block->insts[i]].args, func->insts[block->insts[i]].arg_count);
    if (block->term == TW_IR_BRANCH || block->term == TW_IR_SWITCH) rename_list(t, &block->value, 1);
    rename_list(t, block->args, block->arg_count);
    for (uint32_t e = 0; e < block->edge_count; e++)
        if (!extend_edge(t, &block->edges[e])) return false;
    if (block->local_values) rename_list(t, block->local_values, func->local_count);
    block->set_count = 0;
    set_renamed(t, index, false);
    return true;
}

static bool close_blocks(threader *t)
{
    uint32_t n = t->func->block_count;
    t->old_first_param = TW_NEW_ARRAY(&t->scratch, tw_ir_value, n);
    t->old_param_count = TW_NEW_ARRAY(&t->scratch, uint32_t, n);
    t->renamed = TW_NEW_ARRAY(&t->scratch, tw_ir_value, t->func->value_count);
    if (!t->old_first_param || !t->old_param_count || !t->renamed) return false;
    for (uint32_t i = 0; i < t->count; i++)
        if (!new_params(t, t->order[i])) return false;
    for (uint32_t i = 0; i < t->count; i++)
        if (!close_block(t, t->order[i])) return false;
    return true;
}

/* ---- threading ---- */

/* edge goes where the chooser would send it. All that the chooser passes on are its own parameters and constants. */
static bool take_shortcut(threader *t, tw_ir_edge *edge, const tw_ir_edge *next)
{
    tw_ir_value *args = TW_NEW_ARRAY(&t->func->arena, tw_ir_value, next->arg_count);
    if (!args) return false;
    for (uint32_t i = 0; i < next->arg_count; i++) {
        const tw_ir_valuedata *data = &t->func->values[next->args[i]];
        args[i] = data->kind == TW_IR_PARAM ? edge->args[data->position] : next->args[i];
    }
    *edge = (tw_ir_edge){.to = next->to, .arg_count = next->arg_count, .args = args};
    return true;
}

static bool thread_edges(threader *t)
{
    for (uint32_t i = 0; i < t->count; i++) {
        const tw_ir_blockdata *block = &t->func->blocks[t->order[i]];
        for (uint32_t e = 0; e < block->edge_count; e++) {
            const tw_ir_edge *next;
            for (int hops = 0; hops < MAX_HOPS && (next = chosen(t->func, &block->edges[e])); hops++)
                if (!take_shortcut(t, &block->edges[e], next)) return false;
        }
    }
    return true;
}

static bool run(threader *t, bool *changed)
{
    uint32_t n = t->func->block_count;
    t->order = TW_NEW_ARRAY(&t->scratch, tw_ir_block, n);
    t->position = TW_NEW_ARRAY(&t->scratch, uint32_t, n);
    if (!t->order || !t->position) return false;
    t->count = tw_ir_order(t->func, &t->scratch, t->order, t->position);
    if (t->count == UINT32_MAX) return false;
    bool too_large = false;
    if (!anything_to_thread(t)) return true;
    if (!find_live(t, &too_large)) return false;
    if (too_large) return true;
    *changed = true;
    return close_blocks(t) && thread_edges(t);
}

tw_status tw_thread_jumps(tw_ir_func *func, bool *changed, tw_error *error)
{
    threader t = {.func = func};
    tw_arena_init(&t.scratch, TW_ARENA_NO_LIMIT);
    *changed = false;
    bool good = run(&t, changed);
    tw_arena_free(&t.scratch);
    if (!good) return tw_fail_memory(error);
    return *changed ? tw_ir_simplify(func, error) : TW_OK;
}
