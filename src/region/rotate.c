/* SPDX-License-Identifier: Apache-2.0 */
#include "region/rotate.h"

#include <string.h>

/* One loop at a time, with a fresh analysis after each: few nests have such a loop, and what one rotation changes is what the next
 * one would have to know.
 *
 * Needs: the loop has one latch, which only jumps, and one exit, a branch that every iteration comes to. Then a block of
 * the loop is either dominated by the exit's (S) or on every way to it (P). The condition is made of pure operations on what
 * the header carries, so that it can be asked one iteration ahead. P is copied: it must be small and hold no loop.
 * Keeps: the meaning; every value of P that is used after the loop becomes its copy's.
 * Ends: a rotated loop is tested at its latch and isn't looked at again. */

enum { MOST_ROTATIONS = 16, MOST_COPIED = 200, DEEPEST = 32, ANALYSIS_MEMORY = 256 << 20 };

typedef struct rotation {
    tw_ir_func *func;
    const tw_cfg *cfg;
    const tw_loops *loops;
    tw_loop loop;
    const tw_loopdata *data;
    tw_ir_block test, latch; /* the exit's block; the latch's */
    bool leaves_when;        /* the exit is the branch's true side */
    tw_arena *scratch;
    tw_ir_value *copy;       /* value of P → its copy's; 0 */
    tw_ir_block *block_copy; /* block of P → its copy; TW_IR_NO_BLOCK */
    uint32_t value_count;    /* of func, before */
} rotation;

static bool is_before(const rotation *r, tw_ir_block block)
{
    return block == r->test || !tw_cfg_dominates(r->cfg, r->test, block);
}

/* ---- what can be rotated ---- */

static bool fits(rotation *r)
{
    const tw_loopdata *data = r->data;
    if (data->irreducible || data->parent == TW_NO_LOOP || data->latch_count != 1 || data->exit_count != 1) return false;
    r->test = data->exits[0].from;
    r->latch = data->latches[0].from;
    r->leaves_when = data->exits[0].edge == 0;
    if (r->test == r->latch || r->func->blocks[r->latch].term != TW_IR_JUMP || r->func->blocks[r->test].term != TW_IR_BRANCH) return false;
    if (r->loops->innermost[r->test] != r->loop || !tw_cfg_dominates(r->cfg, r->test, r->latch)) return false;
    uint32_t copied = 0;
    for (uint32_t k = 0; k < data->block_count; k++) {
        tw_ir_block block = data->blocks[k];
        if (!is_before(r, block)) continue;
        if (r->loops->innermost[block] != r->loop || block == r->latch) return false;
        copied += r->func->blocks[block].inst_count + 1;
    }
    return copied <= MOST_COPIED;
}

/* A header that does nothing but decide is modelled as it is. */
static bool is_left_in_its_middle(const rotation *r)
{
    if (r->test != r->data->header) return true;
    const tw_ir_blockdata *header = &r->func->blocks[r->test];
    for (uint32_t i = 0; i < header->inst_count; i++)
        if (tw_op_describe(r->func->insts[header->insts[i]].op)->kind != TW_KIND_PURE) return true;
    return false;
}

/* ---- the condition, one iteration ahead ---- */

static bool is_header_param(const rotation *r, tw_ir_value value)
{
    return r->func->values[value].kind == TW_IR_PARAM && r->func->values[value].block == r->data->header;
}

static bool is_outside(const rotation *r, tw_ir_value value)
{
    const tw_ir_valuedata *data = &r->func->values[value];
    return data->kind == TW_IR_CONST || !tw_loop_has_block(r->loops, r->loop, data->block);
}

static bool can_ask(const rotation *r, tw_ir_value value, uint32_t depth)
{
    if (is_outside(r, value) || is_header_param(r, value)) return true;
    const tw_ir_valuedata *data = &r->func->values[value];
    if (data->kind != TW_IR_RESULT || depth > DEEPEST) return false;
    const tw_ir_inst *inst = &r->func->insts[data->inst];
    if (tw_op_describe(inst->op)->kind != TW_KIND_PURE || inst->result_count != 1 || inst->arg_count > 2) return false;
    for (uint32_t a = 0; a < inst->arg_count; a++)
        if (!can_ask(r, inst->args[a], depth + 1)) return false;
    return true;
}

static tw_ir_value fold(rotation *r, const tw_ir_inst *inst, tw_type type, const tw_ir_value *args)
{
    const tw_ir_valuedata *x = &r->func->values[args[0]], *y = &r->func->values[args[inst->arg_count - 1]];
    uint64_t value;
    if (x->kind != TW_IR_CONST || y->kind != TW_IR_CONST || !tw_ir_fold_int(inst->op, x->bits[0], y->bits[0], &value)) return 0;
    return tw_ir_const(r->func, type, value, 0);
}

/* `value` at the end of `block`, the header's parameters being `params` there. 0 when out of memory. */
static tw_ir_value ask(rotation *r, tw_ir_block block, const tw_ir_value *params, tw_ir_value value)
{
    if (is_outside(r, value)) return value;
    const tw_ir_valuedata data = r->func->values[value];
    if (is_header_param(r, value)) return params[data.position];
    const tw_ir_inst inst = r->func->insts[data.inst];
    tw_ir_value args[2], folded;
    for (uint32_t a = 0; a < inst.arg_count; a++)
        if (!(args[a] = ask(r, block, params, inst.args[a]))) return 0;
    if (inst.arg_count && (folded = fold(r, &inst, (tw_type)data.type, args))) return folded;
    uint32_t made = tw_ir_inst_new(r->func, block, inst.op, args, inst.arg_count, &data.type, 1);
    if (made == UINT32_MAX) return 0;
    r->func->insts[made].offset = inst.offset;
    r->func->insts[made].index = inst.index;
    return r->func->insts[made].first_result;
}

/* ---- the copy of P ---- */

static tw_ir_value copied(const rotation *r, tw_ir_value value)
{
    return value < r->value_count && r->copy[value] ? r->copy[value] : value;
}

static bool copy_args(rotation *r, const tw_ir_value *args, uint32_t count, tw_ir_value **out)
{
    *out = TW_NEW_ARRAY(&r->func->arena, tw_ir_value, count);
    for (uint32_t a = 0; *out && a < count; a++) (*out)[a] = copied(r, args[a]);
    return *out != NULL;
}

static bool copy_params(rotation *r, tw_ir_block from, tw_ir_block to)
{
    for (uint32_t p = 0; p < r->func->blocks[from].param_count; p++) {
        tw_ir_value old = r->func->blocks[from].first_param + p, param = tw_ir_param_new(r->func, to, (tw_type)r->func->values[old].type);
        if (!param) return false;
        r->copy[old] = param;
    }
    return true;
}

static bool copy_inst(rotation *r, uint32_t index, tw_ir_block to)
{
    const tw_ir_inst inst = r->func->insts[index];
    tw_ir_value *args;
    uint8_t types[4];
    if (inst.result_count > 4 || !copy_args(r, inst.args, inst.arg_count, &args)) return false;
    for (uint32_t v = 0; v < inst.result_count; v++) types[v] = r->func->values[inst.first_result + v].type;
    uint32_t made = tw_ir_inst_new(r->func, to, inst.op, args, inst.arg_count, types, inst.result_count);
    if (made == UINT32_MAX) return false;
    tw_ir_inst *copy = &r->func->insts[made];
    copy->offset = inst.offset;
    copy->mem_offset = inst.mem_offset;
    copy->index = inst.index;
    copy->index2 = inst.index2;
    memcpy(copy->lanes, inst.lanes, sizeof copy->lanes);
    for (uint32_t v = 0; v < inst.result_count; v++) r->copy[inst.first_result + v] = copy->first_result + v;
    return true;
}

static bool copy_terminator(rotation *r, tw_ir_block from, tw_ir_block to, const tw_ir_block *block_copy)
{
    const tw_ir_blockdata old = r->func->blocks[from];
    bool leaves = from == r->test;
    uint32_t first = leaves ? r->data->exits[0].edge : 0, count = leaves ? 1 : old.edge_count;
    tw_ir_edge *edges = tw_ir_terminate(r->func, to, leaves ? TW_IR_JUMP : (tw_ir_term)old.term, leaves ? 0 : copied(r, old.value), count);
    if (!edges) return false;
    r->func->blocks[to].term_offset = old.term_offset;
    for (uint32_t e = 0; e < count; e++) {
        const tw_ir_edge *edge = &old.edges[first + e];
        edges[e].to = leaves ? edge->to : block_copy[edge->to];
        edges[e].arg_count = edge->arg_count;
        if (!copy_args(r, edge->args, edge->arg_count, &edges[e].args)) return false;
    }
    return true;
}

/* *first: the copy of the header, whose parameters are the header's. */
static bool copy_before(rotation *r, tw_ir_block *first)
{
    uint32_t count = r->func->block_count;
    tw_ir_block *block_copy = r->block_copy = TW_NEW_ARRAY(r->scratch, tw_ir_block, count);
    if (!block_copy) return false;
    memset(block_copy, 0xFF, count * sizeof *block_copy);
    for (uint32_t k = 0; k < r->data->block_count; k++) {
        tw_ir_block from = r->data->blocks[k];
        if (!is_before(r, from)) continue;
        if ((block_copy[from] = tw_ir_block_new(r->func)) == TW_IR_NO_BLOCK || !copy_params(r, from, block_copy[from])) return false;
        r->func->blocks[block_copy[from]].offset = r->func->blocks[from].offset;
    }
    for (uint32_t k = 0; k < r->data->block_count; k++) {
        tw_ir_block from = r->data->blocks[k];
        if (!is_before(r, from)) continue;
        for (uint32_t i = 0; i < r->func->blocks[from].inst_count; i++)
            if (!copy_inst(r, r->func->blocks[from].insts[i], block_copy[from])) return false;
        if (!copy_terminator(r, from, block_copy[from], block_copy)) return false;
    }
    *first = block_copy[r->data->header];
    return true;
}

/* ---- uses after the loop ---- */

static void follow(const rotation *r, tw_ir_value *values, uint32_t count)
{
    for (uint32_t i = 0; i < count; i++) values[i] = copied(r, values[i]);
}

/* Of the blocks that there were before: the new ones speak of copies already. */
static void follow_outside(rotation *r, uint32_t block_count)
{
    for (tw_ir_block b = 0; b < block_count; b++) {
        tw_ir_blockdata *block = &r->func->blocks[b];
        if (tw_loop_has_block(r->loops, r->loop, b)) continue;
        for (uint32_t i = 0; i < block->inst_count; i++) follow(r, r->func->insts[block->insts[i]].args, r->func->insts[block->insts[i]].arg_count);
        if (block->term == TW_IR_BRANCH || block->term == TW_IR_SWITCH) block->value = copied(r, block->value);
        follow(r, block->args, block->arg_count);
        for (uint32_t e = 0; e < block->edge_count; e++) follow(r, block->edges[e].args, block->edges[e].arg_count);
    }
}

/* What was taken for granted where P is, or speaks of P's values behind the loop, is so of the copy. */
static bool copy_marks(rotation *r)
{
    tw_ir_func *func = r->func;
    for (uint32_t a = 0, count = func->assume_count; a < count; a++) {
        tw_ir_assume mark = func->assumes[a];
        bool within = tw_loop_has_block(r->loops, r->loop, mark.block);
        if (within && r->block_copy[mark.block] == TW_IR_NO_BLOCK) continue;
        mark.value = copied(r, mark.value);
        if (!within) func->assumes[a] = mark;
        else if (!TW_ARENA_GROW(&func->arena, func->assumes, func->assume_count, func->assume_capacity)) return false;
        else mark.block = r->block_copy[mark.block], func->assumes[func->assume_count++] = mark;
    }
    for (uint32_t u = 0, count = func->doomed_use_count; u < count; u++) {
        tw_ir_doomed_use mark = func->doomed_uses[u];
        bool within = tw_loop_has_block(r->loops, r->loop, mark.block);
        if (within && r->block_copy[mark.block] == TW_IR_NO_BLOCK) continue;
        mark.value = copied(r, mark.value);
        if (!within) func->doomed_uses[u] = mark;
        else if (!TW_ARENA_GROW(&func->arena, func->doomed_uses, func->doomed_use_count, func->doomed_use_capacity)) return false;
        else mark.block = r->block_copy[mark.block], func->doomed_uses[func->doomed_use_count++] = mark;
    }
    return true;
}

/* ---- the new ways ---- */

/* Ends `block` by going to the header when the loop goes on, else to the copy; both with `args`. */
static bool decide(rotation *r, tw_ir_block block, tw_ir_value condition, tw_ir_block tail, const tw_ir_value *args)
{
    uint32_t count = r->func->blocks[r->data->header].param_count;
    const tw_ir_valuedata *known = &r->func->values[condition];
    bool always = known->kind == TW_IR_CONST && (known->bits[0] != 0) != r->leaves_when;
    tw_ir_edge *edges = tw_ir_terminate(r->func, block, always ? TW_IR_JUMP : TW_IR_BRANCH, always ? 0 : condition, always ? 1 : 2);
    if (!edges) return false;
    tw_ir_block on_true = r->leaves_when && !always ? tail : r->data->header;
    if (!tw_ir_edge_set(r->func, &edges[0], on_true, args, count)) return false;
    return always || tw_ir_edge_set(r->func, &edges[1], on_true == tail ? r->data->header : tail, args, count);
}

/* A block before the loop that all its entries lead to. *args: what the header's parameters are there. */
static bool new_entry(rotation *r, tw_ir_block *out, tw_ir_value **args)
{
    const tw_loopdata *data = r->data;
    uint32_t count = r->func->blocks[data->header].param_count;
    if ((*out = tw_ir_block_new(r->func)) == TW_IR_NO_BLOCK || !(*args = TW_NEW_ARRAY(r->scratch, tw_ir_value, count))) return false;
    bool alone = data->entry_count == 1;
    for (uint32_t e = 0; e < data->entry_count; e++) {
        tw_ir_edge *edge = &r->func->blocks[data->entries[e].from].edges[data->entries[e].edge];
        edge->to = *out;
        if (!alone) continue;
        if (count) memcpy(*args, edge->args, count * sizeof **args);
        edge->arg_count = 0;
    }
    for (uint32_t p = 0; p < count && !alone; p++)
        if (!((*args)[p] = tw_ir_param_new(r->func, *out, (tw_type)r->func->values[r->func->blocks[data->header].first_param + p].type))) return false;
    r->func->blocks[*out].offset = r->func->blocks[data->header].offset;
    return true;
}

static bool redirect(rotation *r, tw_ir_block tail)
{
    tw_ir_func *func = r->func;
    tw_ir_value condition = func->blocks[r->test].value, *args, now, next;
    tw_ir_block entry;
    const tw_ir_value *latch_args = func->blocks[r->latch].edges[0].args;
    const tw_ir_edge stays = func->blocks[r->test].edges[!r->data->exits[0].edge];
    tw_ir_edge *edge = tw_ir_terminate(func, r->test, TW_IR_JUMP, 0, 1);
    if (!edge || !tw_ir_edge_set(func, edge, stays.to, stays.args, stays.arg_count)) return false;
    if (!(next = ask(r, r->latch, latch_args, condition)) || !decide(r, r->latch, next, tail, latch_args)) return false;
    return new_entry(r, &entry, &args) && (now = ask(r, entry, args, condition)) && decide(r, entry, now, tail, args);
}

/* Not a loop when its first test leaves for sure. */
static bool is_entered(rotation *r)
{
    if (r->data->entry_count != 1) return true;
    const tw_cfg_edge *entry = &r->data->entries[0];
    tw_ir_block scrap = tw_ir_block_new(r->func);
    if (scrap == TW_IR_NO_BLOCK) return false;
    tw_ir_value now = ask(r, scrap, r->func->blocks[entry->from].edges[entry->edge].args, r->func->blocks[r->test].value);
    return now && (r->func->values[now].kind != TW_IR_CONST || (r->func->values[now].bits[0] != 0) != r->leaves_when);
}

/* block_count: those that the loops know; more may have come by asking questions. */
static bool rotate(rotation *r, uint32_t block_count, tw_cut *cut)
{
    tw_ir_block tail;
    r->value_count = r->func->value_count;
    if (!(r->copy = TW_NEW_ARRAY(r->scratch, tw_ir_value, r->value_count)) || !copy_before(r, &tail)) return false;
    follow_outside(r, block_count);
    if (!copy_marks(r)) return false;
    for (uint32_t k = 0; cut->at_exit && k < r->func->param_count; k++) cut->at_exit[k] = copied(r, cut->at_exit[k]);
    return redirect(r, tail);
}

static bool find(rotation *r)
{
    for (r->loop = 0; r->loop < r->loops->count; r->loop++) {
        r->data = &r->loops->items[r->loop];
        if (fits(r) && is_left_in_its_middle(r) && can_ask(r, r->func->blocks[r->test].value, 0) && is_entered(r)) return true;
    }
    return false;
}

/* The function has changed, be it by blocks that only a question was asked in: no array of the old analysis fits any more. */
static bool look_again(tw_cut *cut, tw_analysis **analysis)
{
    tw_analysis_free(*analysis);
    *analysis = NULL;
    return tw_analysis_new(cut->func, ANALYSIS_MEMORY, analysis, NULL) == TW_OK;
}

bool tw_rotate(tw_cut *cut, tw_analysis **analysis, tw_arena *arena, tw_reason *reason)
{
    bool ok = true;
    for (uint32_t n = 0; ok && n < MOST_ROTATIONS; n++) {
        uint32_t block_count = cut->func->block_count;
        rotation r = {.func = cut->func, .cfg = tw_analysis_cfg(*analysis), .loops = tw_analysis_loops(*analysis), .scratch = arena};
        if (!r.cfg || !r.loops) break;
        bool found = find(&r);
        if (found) ok = rotate(&r, block_count, cut);
        if (ok && cut->func->block_count != block_count) ok = look_again(cut, analysis);
        if (!found) break;
    }
    return ok || tw_refuse(reason, TW_REFUSAL_TOO_BIG, "out of memory while rotating a loop");
}
