/* SPDX-License-Identifier: Apache-2.0 */
#include "ir/ir.h"

#include "ir/build.h"

#include <string.h>

/* Needs: a function that verifies. Keeps: its meaning, wasm-loop headers, the order of blocks and effects. Breaks: every value
 * number, block number and instruction number.
 *
 * First facts are gathered without touching the function: a replacement for each value that is another's equal, a jump for each
 * decided branch. Rounds over the blocks do that until nothing changes or the rounds are spent: a fact missed costs
 * precision only, and the cost stays linear. Then what is live is marked from the effects backward, and the function is
 * written anew from the facts. */

enum { ROUNDS = 6, PARAM_ROUNDS = 16 };

typedef struct simplifier {
    tw_ir_func *func;
    tw_arena scratch;
    tw_ir_value *replacement; /* 0: itself */
    uint32_t replacements;    /* length of that array */
    tw_ir_block *order;       /* reachable blocks in reverse post-order */
    uint32_t *position;
    uint32_t order_count;
    uint32_t *pred_start;     /* block → first of its incoming edges */
    const tw_ir_edge **preds;
    uint32_t *pred_edges;     /* block → number of incoming edges */
    bool *live;               /* by value */
    bool *live_inst;
    tw_ir_value *work;
    uint32_t work_count;
    tw_ir_block *merged_into; /* block → the block its code goes to; itself when it stays */
    tw_ir_value *new_value;   /* 0: gone */
    uint32_t new_count;       /* new numbers given out, 0 included */
    tw_ir_block *new_block;
} simplifier;

static tw_ir_value resolve(simplifier *s, tw_ir_value value)
{
    tw_ir_value root = value;
    while (root < s->replacements && s->replacement[root]) root = s->replacement[root];
    while (value != root) {
        tw_ir_value next = s->replacement[value];
        s->replacement[value] = root;
        value = next;
    }
    return root;
}

/* Constants made on the way are younger than the array and stand for themselves. */
static void replace(simplifier *s, tw_ir_value value, tw_ir_value by)
{
    by = resolve(s, by);
    if (by && by != value) s->replacement[value] = by;
}

static bool is_const(const simplifier *s, tw_ir_value value, uint64_t *bits)
{
    const tw_ir_valuedata *data = &s->func->values[value];
    if (data->kind != TW_IR_CONST) return false;
    *bits = data->bits[0];
    return true;
}

/* ---- instructions ---- */

/* x op x, x op constant: the value that is the result, 0 when none is known. all: the type's all-ones. */
static tw_ir_value identity(simplifier *s, tw_op op, tw_type type, tw_ir_value a, tw_ir_value b)
{
    uint64_t x = 0, all = type == TW_I32 ? UINT32_MAX : UINT64_MAX;
    bool known = is_const(s, b, &x);
    switch (op) {
    case TW_OP_I32_ADD: case TW_OP_I64_ADD:
    case TW_OP_I32_SHL: case TW_OP_I64_SHL: case TW_OP_I32_SHR_U: case TW_OP_I64_SHR_U:
    case TW_OP_I32_SHR_S: case TW_OP_I64_SHR_S: case TW_OP_I32_ROTL: case TW_OP_I64_ROTL:
        return known && x == 0 ? a : 0;
    case TW_OP_I32_SUB: case TW_OP_I64_SUB: case TW_OP_I32_XOR: case TW_OP_I64_XOR:
        if (a == b) return tw_ir_const(s->func, type, 0, 0);
        return known && x == 0 ? a : 0;
    case TW_OP_I32_MUL: case TW_OP_I64_MUL:
        if (known && x == 0) return b;
        return known && x == 1 ? a : 0;
    case TW_OP_I32_OR: case TW_OP_I64_OR:
        if (known && x == all) return b;
        return a == b || (known && x == 0) ? a : 0;
    case TW_OP_I32_AND: case TW_OP_I64_AND:
        if (known && x == 0) return b;
        return a == b || (known && x == all) ? a : 0;
    default: return 0;
    }
}

static bool commutes(tw_op op)
{
    switch (op) {
    case TW_OP_I32_ADD: case TW_OP_I64_ADD: case TW_OP_I32_MUL: case TW_OP_I64_MUL: case TW_OP_I32_AND: case TW_OP_I64_AND:
    case TW_OP_I32_OR: case TW_OP_I64_OR: case TW_OP_I32_XOR: case TW_OP_I64_XOR: return true;
    default: return false;
    }
}

static tw_ir_value simplify_select(simplifier *s, const tw_ir_inst *inst)
{
    tw_ir_value a = resolve(s, inst->args[0]), b = resolve(s, inst->args[1]);
    uint64_t condition;
    if (a == b) return a;
    if (!is_const(s, resolve(s, inst->args[2]), &condition)) return 0;
    return condition ? a : b;
}

/* i32.wrap_i64(i64.extend_i32_*(x)) is x. */
static tw_ir_value unwrap(simplifier *s, tw_ir_value arg)
{
    const tw_ir_valuedata *data = &s->func->values[arg];
    if (data->kind != TW_IR_RESULT) return 0;
    const tw_ir_inst *inner = &s->func->insts[data->inst];
    bool extends = inner->op == TW_OP_I64_EXTEND_I32_U || inner->op == TW_OP_I64_EXTEND_I32_S;
    return extends ? resolve(s, inner->args[0]) : 0;
}

static tw_ir_value simplify_inst(simplifier *s, const tw_ir_inst *inst)
{
    if (inst->op == TW_OP_SELECT) return simplify_select(s, inst);
    uint8_t kind = tw_op_describe(inst->op)->kind;
    if ((kind != TW_KIND_PURE && kind != TW_KIND_TRAPPING) || inst->result_count != 1 || inst->arg_count > 2) return 0;
    tw_type type = s->func->values[inst->first_result].type;
    if (type != TW_I32 && type != TW_I64) return 0;
    tw_ir_value a = resolve(s, inst->args[0]), b = inst->arg_count == 2 ? resolve(s, inst->args[1]) : 0;
    uint64_t x = 0, y = 0, result;
    bool known_a = is_const(s, a, &x), known_b = !b || is_const(s, b, &y);
    if (known_a && known_b && tw_ir_fold_int(inst->op, x, y, &result)) return tw_ir_const(s->func, type, result, 0);
    if (inst->op == TW_OP_I32_WRAP_I64) return unwrap(s, a);
    if (!b) return 0;
    tw_ir_value same = identity(s, inst->op, type, a, b);
    return same || !commutes(inst->op) ? same : identity(s, inst->op, type, b, a);
}

static bool fold_insts(simplifier *s)
{
    bool changed = false;
    for (uint32_t i = 0; i < s->order_count; i++) {
        const tw_ir_blockdata *block = &s->func->blocks[s->order[i]];
        for (uint32_t k = 0; k < block->inst_count; k++) {
            const tw_ir_inst *inst = &s->func->insts[block->insts[k]];
            if (inst->result_count != 1 || s->replacement[inst->first_result]) continue;
            tw_ir_value value = simplify_inst(s, inst);
            if (!value) continue;
            replace(s, inst->first_result, value);
            changed = true;
        }
    }
    return changed;
}

/* ---- terminators ---- */

static bool same_edge(simplifier *s, const tw_ir_edge *a, const tw_ir_edge *b)
{
    if (a->to != b->to || a->arg_count != b->arg_count) return false;
    for (uint32_t i = 0; i < a->arg_count; i++)
        if (resolve(s, a->args[i]) != resolve(s, b->args[i])) return false;
    return true;
}

/* The edge that is always taken; edge_count when that isn't known. */
static uint32_t decided_edge(simplifier *s, const tw_ir_blockdata *block)
{
    uint64_t value;
    if (block->term != TW_IR_BRANCH && block->term != TW_IR_SWITCH) return block->edge_count;
    if (is_const(s, resolve(s, block->value), &value)) {
        if (block->term == TW_IR_BRANCH) return value ? 0 : 1;
        return value < block->edge_count - 1 ? (uint32_t)value : block->edge_count - 1;
    }
    for (uint32_t e = 1; e < block->edge_count; e++)
        if (!same_edge(s, &block->edges[0], &block->edges[e])) return block->edge_count;
    return 0;
}

static bool fold_terms(simplifier *s)
{
    bool changed = false;
    for (uint32_t i = 0; i < s->order_count; i++) {
        tw_ir_blockdata *block = &s->func->blocks[s->order[i]];
        uint32_t edge = decided_edge(s, block);
        if (edge >= block->edge_count) continue;
        block->edges[0] = block->edges[edge];
        block->edge_count = 1;
        block->value = 0;
        block->term = TW_IR_JUMP;
        changed = true;
    }
    return changed;
}

/* ---- parameters ---- */

/* The one value other than the parameter itself that it can have; 0 when there are several. */
static tw_ir_value only_value(simplifier *s, tw_ir_block block, uint32_t param)
{
    tw_ir_value self = s->func->blocks[block].first_param + param, only = 0;
    for (uint32_t i = s->pred_start[block]; i < s->pred_start[block + 1]; i++) {
        tw_ir_value value = resolve(s, s->preds[i]->args[param]);
        if (value == self || value == only) continue;
        if (only) return 0;
        only = value;
    }
    return only;
}

static bool fold_params_of(simplifier *s, tw_ir_block block)
{
    bool changed = false;
    const tw_ir_blockdata *data = &s->func->blocks[block];
    for (uint32_t p = 0; block && p < data->param_count; p++) {
        if (s->replacement[data->first_param + p]) continue;
        tw_ir_value value = only_value(s, block, p);
        if (!value) continue;
        replace(s, data->first_param + p, value);
        changed = true;
    }
    return changed;
}

/* Joins settle fastest in program order, nested headers from the inside out: the direction alternates. */
static bool fold_params(simplifier *s)
{
    bool any = false, changed = true;
    for (uint32_t round = 0; changed && round < PARAM_ROUNDS; round++) {
        changed = false;
        for (uint32_t i = 0; i < s->order_count; i++)
            changed |= fold_params_of(s, s->order[round % 2 ? i : s->order_count - 1 - i]);
        any |= changed;
    }
    return any;
}

/* ---- facts ---- */

/* Reachable blocks and their incoming edges, for the function as its terminators are now. */
static bool survey(simplifier *s)
{
    const tw_ir_func *func = s->func;
    s->order_count = tw_ir_order(func, &s->scratch, s->order, s->position);
    if (s->order_count == UINT32_MAX) return false;
    memset(s->pred_start, 0, ((size_t)func->block_count + 2) * sizeof *s->pred_start);
    for (uint32_t pass = 0; pass < 2; pass++) {
        for (uint32_t i = s->order_count; i-- > 0;) {
            const tw_ir_blockdata *block = &func->blocks[s->order[i]];
            for (uint32_t e = block->edge_count; e-- > 0;) {
                const tw_ir_edge *edge = &block->edges[e];
                if (pass == 0) s->pred_start[edge->to + 1]++;
                else s->preds[--s->pred_start[edge->to + 1]] = edge;
            }
        }
        if (pass == 0)
            for (uint32_t i = 1; i <= func->block_count + 1; i++) s->pred_start[i] += s->pred_start[i - 1];
    }
    /* The edges of block b begin at pred_start[b + 1] now: shift. */
    memmove(s->pred_start, s->pred_start + 1, ((size_t)func->block_count + 1) * sizeof *s->pred_start);
    return true;
}

static bool prepare(simplifier *s)
{
    const tw_ir_func *func = s->func;
    size_t edges = 0, n = func->block_count;
    for (uint32_t i = 0; i < n; i++) edges += func->blocks[i].edge_count;
    s->replacements = func->value_count;
    s->replacement = TW_NEW_ARRAY(&s->scratch, tw_ir_value, func->value_count);
    s->order = TW_NEW_ARRAY(&s->scratch, tw_ir_block, n);
    s->position = TW_NEW_ARRAY(&s->scratch, uint32_t, n);
    s->pred_start = TW_NEW_ARRAY(&s->scratch, uint32_t, n + 2);
    s->preds = TW_NEW_ARRAY(&s->scratch, const tw_ir_edge *, edges);
    s->live_inst = TW_NEW_ARRAY(&s->scratch, bool, func->inst_count);
    s->merged_into = TW_NEW_ARRAY(&s->scratch, tw_ir_block, n);
    s->new_block = TW_NEW_ARRAY(&s->scratch, tw_ir_block, n);
    return s->replacement && s->order && s->position && s->pred_start && s->preds && s->live_inst && s->merged_into &&
           s->new_block;
}

static bool gather(simplifier *s)
{
    for (uint32_t round = 0; round < ROUNDS; round++) {
        if (!survey(s)) return false;
        bool changed = fold_params(s);
        changed |= fold_insts(s);
        changed |= fold_terms(s);
        if (s->func->failed) return false;
        if (!changed) return true;
    }
    return survey(s);
}

/* ---- liveness ---- */

static void mark(simplifier *s, tw_ir_value value)
{
    value = resolve(s, value);
    if (s->live[value]) return;
    s->live[value] = true;
    s->work[s->work_count++] = value;
}

static void mark_list(simplifier *s, const tw_ir_value *values, uint32_t count)
{
    for (uint32_t i = 0; i < count; i++) mark(s, values[i]);
}

static bool is_removable(tw_op op)
{
    uint8_t kind = tw_op_describe(op)->kind;
    return kind == TW_KIND_PURE || kind == TW_KIND_REF || op == TW_OP_SELECT || op == TW_OP_GLOBAL_GET ||
           op == TW_OP_MEMORY_SIZE || op == TW_OP_TABLE_SIZE;
}

static void mark_roots(simplifier *s, const tw_ir_blockdata *block)
{
    for (uint32_t i = 0; i < block->inst_count; i++) {
        const tw_ir_inst *inst = &s->func->insts[block->insts[i]];
        bool folded = inst->result_count == 1 && s->replacement[inst->first_result];
        if (folded || is_removable(inst->op)) continue;
        s->live_inst[block->insts[i]] = true;
        mark_list(s, inst->args, inst->arg_count);
    }
    if (block->term == TW_IR_BRANCH || block->term == TW_IR_SWITCH) mark(s, block->value);
    mark_list(s, block->args, block->arg_count);
}

static void mark_value(simplifier *s, tw_ir_value value)
{
    const tw_ir_valuedata *data = &s->func->values[value];
    if (data->kind == TW_IR_RESULT && !s->live_inst[data->inst]) {
        s->live_inst[data->inst] = true;
        mark_list(s, s->func->insts[data->inst].args, s->func->insts[data->inst].arg_count);
    }
    if (data->kind == TW_IR_PARAM)
        for (uint32_t i = s->pred_start[data->block]; i < s->pred_start[data->block + 1]; i++)
            mark(s, s->preds[i]->args[data->position]);
}

static bool mark_all(simplifier *s)
{
    s->live = TW_NEW_ARRAY(&s->scratch, bool, s->func->value_count);
    s->work = TW_NEW_ARRAY(&s->scratch, tw_ir_value, s->func->value_count);
    if (!s->live || !s->work) return false;
    for (uint32_t i = 0; i < s->order_count; i++) mark_roots(s, &s->func->blocks[s->order[i]]);
    while (s->work_count) mark_value(s, s->work[--s->work_count]);
    return true;
}

/* ---- the new function ---- */

static void find_merges(simplifier *s)
{
    for (uint32_t b = 0; b < s->func->block_count; b++) s->merged_into[b] = b;
    for (uint32_t i = 0; i < s->order_count; i++) {
        const tw_ir_blockdata *block = &s->func->blocks[s->order[i]];
        if (block->term != TW_IR_JUMP) continue;
        tw_ir_block to = block->edges[0].to;
        bool joins = s->pred_start[to + 1] - s->pred_start[to] == 1 && s->func->blocks[to].loop_offset == TW_NO_OFFSET &&
                     to != s->order[i];
        if (joins) s->merged_into[to] = s->merged_into[s->order[i]];
    }
}

static tw_ir_value mapped(simplifier *s, tw_ir_value value)
{
    value = resolve(s, value);
    if (s->func->values[value].kind == TW_IR_CONST && !s->new_value[value]) s->new_value[value] = s->new_count++;
    return s->new_value[value];
}

static void map_list(simplifier *s, tw_ir_value *values, uint32_t count)
{
    for (uint32_t i = 0; i < count; i++) values[i] = mapped(s, values[i]);
}

/* Keeps only the arguments of parameters that stay. */
static void map_edge(simplifier *s, tw_ir_edge *edge)
{
    const tw_ir_blockdata *to = &s->func->blocks[edge->to];
    uint32_t kept = 0;
    for (uint32_t i = 0; i < edge->arg_count; i++)
        if (s->new_value[to->first_param + i]) edge->args[kept++] = mapped(s, edge->args[i]);
    edge->arg_count = kept;
}

static bool append_insts(simplifier *s, tw_ir_blockdata *to, const tw_ir_blockdata *from)
{
    for (uint32_t i = 0; i < from->inst_count; i++) {
        if (!TW_ARENA_GROW(&s->func->arena, to->insts, to->inst_count, to->inst_capacity)) return false;
        to->insts[to->inst_count++] = from->insts[i];
    }
    for (uint32_t i = 0; i < from->set_count; i++) {
        if (!TW_ARENA_GROW(&s->func->arena, to->sets, to->set_count, to->set_capacity)) return false;
        to->sets[to->set_count++] = from->sets[i];
    }
    return true;
}

/* Follows jumps into merged blocks, in order. */
static bool merge(simplifier *s, tw_ir_block head)
{
    tw_ir_func *func = s->func;
    tw_ir_blockdata *block = &func->blocks[head];
    while (block->term == TW_IR_JUMP && s->merged_into[block->edges[0].to] == head && block->edges[0].to != head) {
        const tw_ir_blockdata next = func->blocks[block->edges[0].to];
        if (!append_insts(s, block, &next)) return false;
        block->term = next.term;
        block->value = next.value;
        block->edges = next.edges;
        block->edge_count = next.edge_count;
        block->args = next.args;
        block->arg_count = next.arg_count;
        block->tail_op = next.tail_op;
        block->index = next.index;
        block->index2 = next.index2;
        block->term_offset = next.term_offset;
    }
    return true;
}

static bool stays(const simplifier *s, tw_ir_block block)
{
    return s->position[block] != UINT32_MAX && s->merged_into[block] == block;
}

/* Drops dead instructions and gives what is left its new numbers. */
static uint32_t number_block(simplifier *s, tw_ir_blockdata *block, uint32_t next)
{
    tw_ir_func *func = s->func;
    for (uint32_t p = 0; p < block->param_count; p++) {
        tw_ir_value value = block->first_param + p;
        bool entry = block == &func->blocks[0];
        if (entry || (!s->replacement[value] && s->live[value])) s->new_value[value] = next++;
    }
    uint32_t kept = 0;
    for (uint32_t i = 0; i < block->inst_count; i++) {
        const tw_ir_inst *inst = &func->insts[block->insts[i]];
        if (!s->live_inst[block->insts[i]]) continue;
        block->insts[kept++] = block->insts[i];
        for (uint32_t r = 0; r < inst->result_count; r++) s->new_value[inst->first_result + r] = next++;
    }
    block->inst_count = kept;
    return next;
}

static tw_ir_value live_value(simplifier *s, tw_ir_value value)
{
    return value ? mapped(s, value) : 0;
}

static void map_block(simplifier *s, tw_ir_blockdata *block)
{
    tw_ir_func *func = s->func;
    for (uint32_t i = 0; i < block->inst_count; i++)
        map_list(s, func->insts[block->insts[i]].args, func->insts[block->insts[i]].arg_count);
    if (block->term == TW_IR_BRANCH || block->term == TW_IR_SWITCH) block->value = mapped(s, block->value);
    map_list(s, block->args, block->arg_count);
    for (uint32_t e = 0; e < block->edge_count; e++) map_edge(s, &block->edges[e]);
    for (uint32_t i = 0; block->local_values && i < func->local_count; i++)
        block->local_values[i] = live_value(s, block->local_values[i]);
    for (uint32_t i = 0; i < block->set_count; i++) block->sets[i].value = live_value(s, block->sets[i].value);
}

/* Parameters and results first, in the order of the text; constants as they are met in operands. */
static bool renumber(simplifier *s)
{
    tw_ir_func *func = s->func;
    s->new_value = TW_NEW_ARRAY(&s->scratch, tw_ir_value, func->value_count);
    if (!s->new_value) return false;
    s->new_count = 1;
    for (tw_ir_block b = 0; b < func->block_count; b++)
        if (stays(s, b)) {
            if (!merge(s, b)) return false;
            s->new_count = number_block(s, &func->blocks[b], s->new_count);
        }
    for (tw_ir_block b = 0; b < func->block_count; b++)
        if (stays(s, b)) map_block(s, &func->blocks[b]);
    return true;
}

/* Moves the blocks that stay together and tells edges, in order of the old numbers: a block never moves up. */
static void compact_blocks(simplifier *s)
{
    tw_ir_func *func = s->func;
    uint32_t count = 0;
    for (tw_ir_block b = 0; b < func->block_count; b++)
        if (stays(s, b)) s->new_block[b] = count++;
    for (tw_ir_block b = 0; b < func->block_count; b++)
        if (!stays(s, b)) s->new_block[b] = s->position[b] == UINT32_MAX ? TW_IR_NO_BLOCK : s->new_block[s->merged_into[b]];
    for (tw_ir_block b = 0; b < func->block_count; b++) {
        if (!stays(s, b)) continue;
        tw_ir_blockdata *block = &func->blocks[b];
        for (uint32_t e = 0; e < block->edge_count; e++) block->edges[e].to = s->new_block[block->edges[e].to];
        if (block->state_base != TW_IR_NO_BLOCK) block->state_base = s->new_block[block->state_base];
        uint32_t params = 0;
        tw_ir_value first = 0;
        for (uint32_t p = 0; p < block->param_count; p++) {
            tw_ir_value value = s->new_value[block->first_param + p];
            if (value && !params++) first = value;
        }
        block->first_param = first;
        block->param_count = params;
        if (s->new_block[b] != b) func->blocks[s->new_block[b]] = *block;
    }
    func->block_count = count;
}

static bool compact_insts(simplifier *s)
{
    tw_ir_func *func = s->func;
    tw_ir_inst *insts = TW_NEW_ARRAY(&func->arena, tw_ir_inst, func->inst_count);
    if (!insts) return false;
    uint32_t count = 0;
    for (tw_ir_block b = 0; b < func->block_count; b++)
        for (uint32_t i = 0; i < func->blocks[b].inst_count; i++) {
            insts[count] = func->insts[func->blocks[b].insts[i]];
            insts[count].block = b;
            if (insts[count].result_count) insts[count].first_result = s->new_value[insts[count].first_result];
            func->blocks[b].insts[i] = count++;
        }
    func->insts = insts;
    func->inst_capacity = func->inst_count;
    func->inst_count = count;
    return true;
}

static bool write_values(simplifier *s)
{
    tw_ir_func *func = s->func;
    tw_ir_valuedata *old = func->values, *values = TW_NEW_ARRAY(&func->arena, tw_ir_valuedata, s->new_count);
    if (!values) return false;
    for (uint32_t v = 1; v < func->value_count; v++)
        if (s->new_value[v] && old[v].kind == TW_IR_CONST) values[s->new_value[v]] = old[v];
    for (tw_ir_block b = 0; b < func->block_count; b++) {
        const tw_ir_blockdata *block = &func->blocks[b];
        for (uint32_t i = 0; i < block->param_count; i++)
            values[block->first_param + i] = (tw_ir_valuedata){.kind = TW_IR_PARAM, .position = i, .block = b};
        for (uint32_t i = 0; i < block->inst_count; i++)
            for (uint32_t r = 0; r < func->insts[block->insts[i]].result_count; r++)
                values[func->insts[block->insts[i]].first_result + r] =
                    (tw_ir_valuedata){.kind = TW_IR_RESULT, .position = r, .block = b, .inst = block->insts[i]};
    }
    for (uint32_t v = 1; v < func->value_count; v++)
        if (s->new_value[v]) values[s->new_value[v]].type = old[v].type;
    func->values = values;
    func->value_count = func->value_capacity = s->new_count;
    return true;
}

static bool rewrite(simplifier *s)
{
    find_merges(s);
    if (!renumber(s)) return false;
    compact_blocks(s);
    return compact_insts(s) && write_values(s) && tw_ir_rehash_constants(s->func);
}

tw_status tw_ir_simplify(tw_ir_func *func, tw_error *error)
{
    simplifier s = {.func = func};
    tw_arena_init(&s.scratch, TW_ARENA_NO_LIMIT);
    bool good = func->block_count && prepare(&s) && gather(&s) && mark_all(&s) && rewrite(&s);
    tw_arena_free(&s.scratch);
    return good ? TW_OK : tw_fail_memory(error);
}
