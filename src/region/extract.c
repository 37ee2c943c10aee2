/* SPDX-License-Identifier: Apache-2.0 */
#include "region/extract.h"

#include <inttypes.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include "region/doomed.h"
#include "region/lanes.h"
#include "wasm/exposed.h"

bool tw_refuse(tw_reason *reason, tw_refusal refusal, const char *format, ...)
{
    va_list args;
    va_start(args, format);
    vsnprintf(reason->detail, sizeof reason->detail, format, args);
    va_end(args);
    reason->refusal = refusal;
    return false;
}

static bool out_of_memory(tw_reason *reason)
{
    return tw_refuse(reason, TW_REFUSAL_TOO_BIG, "out of memory while cutting the loop out");
}

/* ---- the copy ---- */

typedef struct cutter {
    const tw_ir_func *from;
    tw_ir_func *to;
    const tw_cfg *cfg;
    const tw_loops *loops;
    tw_loop loop;
    tw_ir_value *value; /* of `from` → of `to`; 0 = not copied yet */
    tw_ir_block *block; /* likewise; TW_IR_NO_BLOCK */
    tw_reason *reason;
    tw_arena *arena;
    tw_lanes *lanes;    /* when there are vectors */
    uint32_t depth;
} cutter;

static tw_ir_value copy_value(cutter *c, tw_ir_value value);

/* A value from outside that no local holds: computed again at the entry, if it is made of those that are. */
static tw_ir_value rematerialise(cutter *c, tw_ir_value value)
{
    const tw_ir_valuedata *data = &c->from->values[value];
    if (data->kind != TW_IR_RESULT || c->depth > 32) return 0;
    const tw_ir_inst *inst = &c->from->insts[data->inst];
    if (tw_op_describe(inst->op)->kind != TW_KIND_PURE || inst->result_count != 1 || inst->arg_count > 3) return 0;
    tw_ir_value args[3];
    c->depth++;
    for (uint32_t a = 0; a < inst->arg_count; a++)
        if (!(args[a] = copy_value(c, inst->args[a]))) return c->depth--, 0;
    c->depth--;
    uint8_t type = data->type;
    uint32_t copy = tw_ir_inst_new(c->to, 0, inst->op, args, inst->arg_count, &type, 1);
    return copy == UINT32_MAX ? 0 : c->to->insts[copy].first_result;
}

static tw_ir_value copy_value(cutter *c, tw_ir_value value)
{
    if (c->value[value]) return c->value[value];
    const tw_ir_valuedata *data = &c->from->values[value];
    if (data->type == TW_V128) return 0;
    if (data->kind == TW_IR_CONST)
        return c->value[value] = tw_ir_const(c->to, (tw_type)data->type, data->bits[0], data->bits[1]);
    if (data->block != TW_IR_NO_BLOCK && tw_loop_has_block(c->loops, c->loop, data->block)) return 0;
    return c->value[value] = rematerialise(c, value);
}

/* ---- vectors: see lanes.h ---- */

static tw_ir_value scalar_for_lanes(void *context, tw_ir_value value)
{
    return copy_value(context, value);
}

static bool need_lanes(cutter *c)
{
    const tw_lanes_options options = {.from = c->from, .to = c->to, .arena = c->arena, .scalar = scalar_for_lanes, .context = c};
    if (!c->lanes) c->lanes = tw_lanes_new(&options);
    return c->lanes || out_of_memory(c->reason);
}

static bool is_vector(const cutter *c, tw_ir_value value)
{
    return c->from->values[value].type == TW_V128;
}

static bool split_inst(cutter *c, tw_ir_block to, const tw_ir_inst *inst)
{
    const char *why;
    tw_ir_value result;
    if (!need_lanes(c)) return false;
    if (!tw_lanes_split(c->lanes, to, inst, &result, &why))
        return tw_refuse(c->reason, TW_REFUSAL_UNMODELLED_OP, "%s: %s at 0x%" PRIx64, why, tw_op_describe(inst->op)->name, inst->offset);
    if (result) c->value[inst->first_result] = result;
    return true;
}

static bool copy_params(cutter *c, tw_ir_block from, tw_ir_block to)
{
    for (uint32_t p = 0; p < c->from->blocks[from].param_count; p++) {
        tw_ir_value old = c->from->blocks[from].first_param + p, param;
        tw_type type = (tw_type)c->from->values[old].type;
        uint32_t count = 1;
        if (is_vector(c, old)) {
            if (!need_lanes(c)) return false;
            count = tw_lanes_count(c->lanes, old, &type);
        }
        if (!(param = tw_ir_param_new(c->to, to, type))) return out_of_memory(c->reason);
        for (uint32_t k = 1; k < count; k++)
            if (!tw_ir_param_new(c->to, to, type)) return out_of_memory(c->reason);
        if (is_vector(c, old)) tw_lanes_bind(c->lanes, old, param);
        else c->value[old] = param;
    }
    return true;
}

/* The edge's arguments, vectors as lanes; conversions go to the end of `block`. */
static bool copy_edge_args(cutter *c, tw_ir_block block, const tw_ir_edge *edge, tw_ir_edge *out)
{
    enum { MOST_LANES = 16 };
    out->args = TW_NEW_ARRAY(&c->to->arena, tw_ir_value, (size_t)edge->arg_count * MOST_LANES);
    out->arg_count = 0;
    if (!out->args) return out_of_memory(c->reason);
    for (uint32_t a = 0; a < edge->arg_count; a++) {
        tw_ir_value param = c->from->blocks[edge->to].first_param + a, arg = edge->args[a];
        tw_type type;
        bool ok;
        if (!is_vector(c, arg)) {
            ok = (out->args[out->arg_count++] = copy_value(c, arg)) != 0;
        } else {
            if (!need_lanes(c)) return false;
            ok = tw_lanes_get(c->lanes, block, arg, param, out->args + out->arg_count);
            out->arg_count += tw_lanes_count(c->lanes, param, &type);
        }
        if (!ok) return tw_refuse(c->reason, TW_REFUSAL_LIVE_IN, "a value used in the loop (v%u) is in no local at its header", arg);
    }
    return true;
}

static bool copy_args(cutter *c, const tw_ir_value *args, uint32_t count, tw_ir_value **out)
{
    *out = TW_NEW_ARRAY(&c->to->arena, tw_ir_value, count);
    if (!*out) return out_of_memory(c->reason);
    for (uint32_t a = 0; a < count; a++) {
        (*out)[a] = copy_value(c, args[a]);
        if (!(*out)[a]) return tw_refuse(c->reason, TW_REFUSAL_LIVE_IN, "a value used in the loop (v%u) is in no local at its header", args[a]);
    }
    return true;
}

static bool copy_inst(cutter *c, tw_ir_block to, const tw_ir_inst *inst)
{
    tw_ir_value *args;
    uint8_t types[4];
    if (tw_lanes_concern(c->from, inst)) return split_inst(c, to, inst);
    if (!copy_args(c, inst->args, inst->arg_count, &args)) return false;
    if (inst->result_count > 4) return tw_refuse(c->reason, TW_REFUSAL_UNMODELLED_OP, "an instruction with many results");
    for (uint32_t r = 0; r < inst->result_count; r++) types[r] = c->from->values[inst->first_result + r].type;
    uint32_t index = tw_ir_inst_new(c->to, to, inst->op, args, inst->arg_count, types, inst->result_count);
    if (index == UINT32_MAX) return out_of_memory(c->reason);
    tw_ir_inst *copy = &c->to->insts[index];
    copy->offset = inst->offset;
    copy->mem_offset = inst->mem_offset;
    copy->index = inst->index;
    copy->index2 = inst->index2;
    memcpy(copy->lanes, inst->lanes, sizeof copy->lanes);
    for (uint32_t r = 0; r < inst->result_count; r++) c->value[inst->first_result + r] = copy->first_result + r;
    return true;
}

/* Where an exit leads: nowhere. */
static tw_ir_block leave_block(cutter *c)
{
    tw_ir_block leave = tw_ir_block_new(c->to);
    if (leave != TW_IR_NO_BLOCK) c->to->blocks[leave].term = TW_IR_RETURN;
    return leave;
}

static bool is_marked(const cutter *c, tw_ir_block block)
{
    for (uint32_t a = 0; a < c->from->assume_count; a++)
        if (c->from->assumes[a].block == block) return true;
    return false;
}

/* A way back to its loop's header that does nothing is part of the branch that leads there: `br_if out; br loop` is `br_if loop`. */
static const tw_ir_edge *past_latch(const cutter *c, const tw_ir_edge *edge)
{
    const tw_ir_blockdata *block = &c->from->blocks[edge->to];
    tw_loop loop = c->loops->innermost[edge->to];
    if (block->term != TW_IR_JUMP || block->inst_count || block->param_count || block->edges[0].to != c->loops->items[loop].header) return edge;
    if (block->edges[0].to == edge->to || c->cfg->pred_start[edge->to + 1] - c->cfg->pred_start[edge->to] != 1) return edge;
    return is_marked(c, edge->to) ? edge : &block->edges[0];
}

static bool copy_edges(cutter *c, tw_ir_block from, tw_ir_block to)
{
    const tw_ir_blockdata *old = &c->from->blocks[from];
    tw_ir_edge *edges = TW_NEW_ARRAY(&c->to->arena, tw_ir_edge, old->edge_count);
    if (!edges) return out_of_memory(c->reason);
    for (uint32_t e = 0; e < old->edge_count; e++) {
        const tw_ir_edge *edge = &old->edges[e];
        if (!tw_loop_has_block(c->loops, c->loop, edge->to)) {
            edges[e].to = leave_block(c);
            if (edges[e].to == TW_IR_NO_BLOCK) return out_of_memory(c->reason);
            continue;
        }
        edge = past_latch(c, edge);
        edges[e].to = c->block[edge->to];
        if (!copy_edge_args(c, to, edge, &edges[e])) return false;
    }
    tw_ir_blockdata *block = &c->to->blocks[to];
    block->edges = edges;
    block->edge_count = old->edge_count;
    return true;
}

static bool copy_terminator(cutter *c, tw_ir_block from, tw_ir_block to)
{
    uint8_t term = c->from->blocks[from].term;
    if (!copy_edges(c, from, to)) return false;
    tw_ir_value value = 0;
    if (term == TW_IR_BRANCH || term == TW_IR_SWITCH) {
        value = copy_value(c, c->from->blocks[from].value);
        if (!value) return tw_refuse(c->reason, TW_REFUSAL_LIVE_IN, "a condition in the loop is in no local at its header");
    }
    tw_ir_blockdata *block = &c->to->blocks[to];
    block->term = term;
    block->value = value;
    block->term_offset = c->from->blocks[from].term_offset;
    return true;
}

/* Blocks and their parameters first, so that edges and uses find them. */
static bool copy_blocks(cutter *c)
{
    const tw_loopdata *loop = &c->loops->items[c->loop];
    for (uint32_t b = 0; b < loop->block_count; b++) {
        tw_ir_block from = loop->blocks[b], to = tw_ir_block_new(c->to);
        if (to == TW_IR_NO_BLOCK) return out_of_memory(c->reason);
        c->block[from] = to;
        c->to->blocks[to].offset = c->from->blocks[from].offset;
        c->to->blocks[to].loop_offset = c->from->blocks[from].loop_offset;
        if (!copy_params(c, from, to)) return false;
    }
    for (uint32_t b = 0; b < loop->block_count; b++) {
        tw_ir_block from = loop->blocks[b];
        for (uint32_t i = 0; i < c->from->blocks[from].inst_count; i++)
            if (!copy_inst(c, c->block[from], &c->from->insts[c->from->blocks[from].insts[i]])) return false;
        if (!copy_terminator(c, from, c->block[from])) return false;
    }
    return true;
}

/* What was taken for granted in the loop's blocks, and what the ways that were left out read. */
static bool copy_marks(cutter *c)
{
    tw_ir_func *to = c->to;
    for (uint32_t a = 0; a < c->from->assume_count; a++) {
        tw_ir_assume copy = c->from->assumes[a];
        if (!tw_loop_has_block(c->loops, c->loop, copy.block)) continue;
        copy.block = c->block[copy.block];
        if (!(copy.value = copy_value(c, copy.value)))
            return tw_refuse(c->reason, TW_REFUSAL_LIVE_IN, "the condition of a trap at 0x%" PRIx64 " is in no local at the loop's header", copy.offset);
        if (!TW_ARENA_GROW(&to->arena, to->assumes, to->assume_count, to->assume_capacity)) return out_of_memory(c->reason);
        to->assumes[to->assume_count++] = copy;
    }
    for (uint32_t u = 0; u < c->from->doomed_use_count; u++) {
        tw_ir_doomed_use copy = c->from->doomed_uses[u];
        if (!tw_loop_has_block(c->loops, c->loop, copy.block) || !c->value[copy.value]) continue;
        copy = (tw_ir_doomed_use){c->block[copy.block], c->value[copy.value]};
        if (!TW_ARENA_GROW(&to->arena, to->doomed_uses, to->doomed_use_count, to->doomed_use_capacity)) return out_of_memory(c->reason);
        to->doomed_uses[to->doomed_use_count++] = copy;
    }
    return true;
}

/* ---- the entry ---- */

static bool is_passable(uint8_t type)
{
    return type == TW_I32 || type == TW_I64 || type == TW_F32 || type == TW_F64;
}

static bool has_uses(tw_analysis *analysis, tw_loop loop, tw_ir_value param)
{
    const tw_ir_func *func = tw_analysis_func(analysis);
    const tw_loopdata *data = &tw_analysis_loops(analysis)->items[loop];
    for (uint32_t b = 0; b < data->block_count; b++) {
        const tw_ir_blockdata *block = &func->blocks[data->blocks[b]];
        if (block->value == param) return true;
        for (uint32_t i = 0; i < block->inst_count; i++)
            for (uint32_t a = 0; a < func->insts[block->insts[i]].arg_count; a++)
                if (func->insts[block->insts[i]].args[a] == param) return true;
        for (uint32_t e = 0; e < block->edge_count; e++)
            for (uint32_t a = 0; a < block->edges[e].arg_count; a++)
                if (block->edges[e].args[a] == param) return true;
    }
    for (uint32_t u = 0; u < func->doomed_use_count; u++)
        if (func->doomed_uses[u].value == param && tw_loop_has_block(tw_analysis_loops(analysis), loop, func->doomed_uses[u].block)) return true;
    return false;
}

typedef struct choice {
    uint32_t *locals;
    uint32_t count, live_ins, headers;
    bool keeps_vectors; /* vectors that the nest writes aren't passed */
} choice;

static void choose(choice *c, uint32_t local)
{
    for (uint32_t k = 0; k < c->count; k++)
        if (c->locals[k] == local) return;
    c->locals[c->count++] = local;
}

/* Handed from iteration to iteration. */
static bool is_own(const tw_ir_func *func, tw_ir_block header, tw_ir_value value)
{
    return func->values[value].kind == TW_IR_PARAM && func->values[value].block == header;
}

static bool is_only_read(const tw_nest *nest, uint32_t local)
{
    return (nest->touched[local] & TW_NEST_TOUCHED) == TW_NEST_READ;
}

/* The scalars that a vector from outside is made of: each must be in a local that the nest doesn't write. */
static bool choose_makings(choice *c, const tw_nest *nest, const bool *stale, const tw_ir_func *func, const tw_ir_blockdata *header, tw_ir_value value,
                           uint32_t depth)
{
    const tw_ir_valuedata *data = &func->values[value];
    if (data->kind == TW_IR_CONST) return true;
    for (uint32_t x = 0; x < func->local_count; x++) {
        if (header->local_values[x] != value || !is_passable(func->local_types[x]) || nest->touched[x] & TW_NEST_WRITTEN) continue;
        if (!stale[x] || is_only_read(nest, x)) return choose(c, x), true;
    }
    if (data->kind != TW_IR_RESULT || depth > 8 || tw_op_describe(func->insts[data->inst].op)->kind != TW_KIND_PURE) return false;
    const tw_ir_inst *inst = &func->insts[data->inst];
    for (uint32_t a = 0; a < inst->arg_count; a++)
        if (!choose_makings(c, nest, stale, func, header, inst->args[a], depth + 1)) return false;
    return true;
}

/* Vectors aren't passed: those that matter on arrival must be constants, or made of scalars that are. */
static bool choose_for_vectors(const tw_nest *nest, const bool *stale, tw_analysis *analysis, tw_loop loop, choice *out, tw_reason *reason)
{
    const tw_ir_func *func = tw_analysis_func(analysis);
    tw_ir_block header = tw_analysis_loops(analysis)->items[loop].header;
    const tw_ir_blockdata *block = &func->blocks[header];
    for (uint32_t x = 0; x < func->local_count; x++) {
        tw_ir_value at = block->local_values[x];
        if (func->local_types[x] != TW_V128 || !(nest->touched[x] & TW_NEST_TOUCHED)) continue;
        out->keeps_vectors |= (nest->touched[x] & TW_NEST_WRITTEN) != 0;
        if (!at || !has_uses(analysis, loop, at)) continue;
        if (is_own(func, header, at) || !choose_makings(out, nest, stale, func, block, at, 0)) return tw_refuse(reason, TW_REFUSAL_SIGNATURE, "local %u of type v128", x);
    }
    return true;
}

/* Whether the local is where its value is read from on arrival. Constants need no local. */
static bool tells(const tw_nest *nest, const bool *stale, const tw_ir_func *func, tw_ir_block header, uint32_t local)
{
    tw_ir_value at = func->blocks[header].local_values[local];
    if (!at || func->values[at].kind == TW_IR_CONST) return false;
    return is_own(func, header, at) || is_only_read(nest, local) || !stale[local];
}

/* The locals that the stub passes: those the loop only reads, then those it writes that matter on arrival (or, when `all`, all that
 * it writes). */
static bool choose_locals(const tw_nest *nest, const bool *stale, tw_analysis *analysis, tw_loop loop, bool all, tw_arena *arena,
                          choice *out, tw_reason *reason)
{
    const tw_ir_func *func = tw_analysis_func(analysis);
    tw_ir_block header = tw_analysis_loops(analysis)->items[loop].header;
    out->locals = TW_NEW_ARRAY(arena, uint32_t, func->local_count);
    if (!out->locals) return out_of_memory(reason);
    if (!choose_for_vectors(nest, stale, analysis, loop, out, reason)) return false;
    for (int pass = 0; pass < 2; pass++) {
        for (uint32_t x = 0; x < func->local_count; x++) {
            bool written = nest->touched[x] & TW_NEST_WRITTEN;
            if (written != (pass == 1) || func->local_types[x] == TW_V128) continue;
            bool told = tells(nest, stale, func, header, x);
            bool matters = pass == 0 ? told && is_only_read(nest, x) : all || (told && has_uses(analysis, loop, func->blocks[header].local_values[x]));
            if (!matters) continue;
            if (!is_passable(func->local_types[x]))
                return tw_refuse(reason, TW_REFUSAL_SIGNATURE, "local %u of type %s", x, tw_type_name((tw_type)func->local_types[x]));
            choose(out, x);
        }
        if (pass == 0) out->live_ins = out->count;
    }
    out->headers = out->count - out->live_ins;
    return true;
}

enum { MOST_VALUES = 56 }; /* that a stub passes; each costs about 1.5 ns */

static bool make_entry(cutter *c, const tw_nest *nest, const bool *stale, const choice *chosen)
{
    tw_ir_block header = c->loops->items[c->loop].header;
    const tw_ir_blockdata *old = &c->from->blocks[header];
    uint32_t count = chosen->live_ins + chosen->headers;
    if (tw_ir_block_new(c->to) != 0) return out_of_memory(c->reason);
    uint8_t *types = TW_NEW_ARRAY(&c->to->arena, uint8_t, count);
    if (!types) return out_of_memory(c->reason);
    c->to->params = types;
    c->to->param_count = count;
    for (uint32_t k = 0; k < count; k++) {
        types[k] = c->from->local_types[chosen->locals[k]];
        tw_ir_value param = tw_ir_param_new(c->to, 0, (tw_type)types[k]);
        if (!param) return out_of_memory(c->reason);
        if (!tells(nest, stale, c->from, header, chosen->locals[k])) continue;
        tw_ir_value at = old->local_values[chosen->locals[k]];
        if (!is_own(c->from, header, at) && !c->value[at]) c->value[at] = param;
    }
    return true;
}

/* The entry's jump: each header parameter's value is in some local. */
static bool enter(cutter *c, const choice *chosen)
{
    tw_ir_block header = c->loops->items[c->loop].header;
    const tw_ir_blockdata *old = &c->from->blocks[header];
    tw_ir_edge *edge = TW_NEW(&c->to->arena, tw_ir_edge);
    if (!edge) return out_of_memory(c->reason);
    edge->to = c->block[header];
    edge->arg_count = c->to->blocks[edge->to].param_count;
    edge->args = TW_NEW_ARRAY(&c->to->arena, tw_ir_value, edge->arg_count);
    if (!edge->args) return out_of_memory(c->reason);
    for (uint32_t p = 0, at = 0; p < old->param_count; p++, at++) {
        tw_ir_value param = old->first_param + p;
        for (uint32_t k = 0; k < c->to->param_count; k++)
            if (old->local_values[chosen->locals[k]] == param) edge->args[at] = c->to->blocks[0].first_param + k;
        if (edge->args[at]) continue;
        tw_type type = (tw_type)c->from->values[param].type;
        bool dead = true;
        for (uint32_t x = 0; x < c->from->local_count; x++) dead &= old->local_values[x] != param;
        if (dead) return tw_refuse(c->reason, TW_REFUSAL_SIGNATURE, "the loop carries a value on the operand stack");
        uint32_t lanes = is_vector(c, param) ? tw_lanes_count(c->lanes, param, &type) : 1;
        for (uint32_t k = 0; k < lanes; k++) edge->args[at + k] = tw_ir_const(c->to, type, 0, 0); /* not read on arrival */
        at += lanes - 1;
    }
    c->to->blocks[0].term = TW_IR_JUMP;
    c->to->blocks[0].edges = edge;
    c->to->blocks[0].edge_count = 1;
    return true;
}

/* ---- what is live after it ---- */

/* A local that leaves with a value which isn't the loop's own, but that it doesn't surely have on arrival either: none of the loop's
 * values is live then, and still the loop must have run for what is read after it. */
static bool leaves_with_another(const tw_ir_func *func, const tw_loops *loops, tw_loop loop, const bool *stale, uint32_t local, const tw_ir_value *at_end)
{
    tw_ir_value value = at_end[local];
    if (!value) return true;
    if (value == func->blocks[loops->items[loop].header].local_values[local]) return stale[local];
    const tw_ir_valuedata *data = &func->values[value];
    return data->kind == TW_IR_CONST || !tw_loop_has_block(loops, loop, data->block);
}

static bool holds(const bool *foreign, uint32_t count)
{
    for (uint32_t x = 0; x < count; x++)
        if (foreign[x]) return true;
    return false;
}

bool tw_cut_foreign(const tw_wasm *module, tw_analysis *analysis, tw_loop loop, const tw_nest *nest, const bool *stale, tw_arena *arena,
                    bool **out, tw_reason *reason)
{
    const tw_ir_func *func = tw_analysis_func(analysis);
    const tw_loops *loops = tw_analysis_loops(analysis);
    const tw_loopdata *data = &loops->items[loop];
    *out = NULL;
    tw_ir_value *at_end = TW_NEW_ARRAY(arena, tw_ir_value, nest->local_count);
    bool *foreign = TW_NEW_ARRAY(arena, bool, nest->local_count), any = false;
    if (!at_end || !foreign) return out_of_memory(reason);
    for (uint32_t e = 0; e < data->exit_count; e++) {
        bool known = tw_ir_locals_at_end(func, data->exits[e].from, at_end);
        for (uint32_t x = 0; x < nest->local_count; x++)
            if (nest->touched[x] & TW_NEST_WRITTEN && (!known || leaves_with_another(func, loops, loop, stale, x, at_end)))
                any = foreign[x] = true;
    }
    if (!any) return true;
    if (tw_exposed_locals(module, nest, TW_EXPOSED_AFTER, arena, foreign, NULL) != TW_OK) return out_of_memory(reason);
    if (holds(foreign, nest->local_count)) *out = foreign;
    return true;
}

/* The loop's own values, by the locals that hold them. */
static void find_own(const cutter *c, tw_values live, const tw_ir_value *locals, tw_cut *out)
{
    for (uint32_t v = 0; v < live.count; v++) {
        bool found = false;
        for (uint32_t k = 0; k < c->to->param_count; k++) {
            if (locals[out->locals[k]] != live.items[v]) continue;
            out->at_exit[k] = c->value[live.items[v]];
            found = true;
        }
        out->exit_known &= found;
    }
}

/* What is live after the exit, local by local. Only asked of a loop with one exit, which all locals leave as they are at the
 * end of its block. */
static bool find_live_outs(cutter *c, tw_values live, const bool *foreign, tw_arena *arena, tw_cut *out)
{
    const tw_loopdata *loop = &c->loops->items[c->loop];
    tw_ir_value *locals = TW_NEW_ARRAY(arena, tw_ir_value, c->from->local_count);
    out->at_exit = TW_NEW_ARRAY(arena, tw_ir_value, c->to->param_count);
    if (!locals || !out->at_exit) return out_of_memory(c->reason);
    if (!out->live_outs || loop->exit_count != 1 || !tw_ir_locals_at_end(c->from, loop->exits[0].from, locals)) return true;
    out->exit_known = true;
    find_own(c, live, locals, out);
    for (uint32_t k = out->live_in_count; k < c->to->param_count; k++) {
        tw_ir_value value = locals[out->locals[k]];
        if (!foreign || !foreign[out->locals[k]] || out->at_exit[k]) continue;
        out->at_exit[k] = value ? copy_value(c, value) : 0;
        out->exit_known &= out->at_exit[k] != 0;
    }
    return true;
}

static bool is_within(const tw_nest *nest, uint64_t offset)
{
    return offset > nest->loop_offset && offset < nest->end_offset;
}

/* Code between the wasm loop's brackets that isn't in the loop: its compiler put what comes after the loop there. The way out
 * of the loop then isn't yet the way out of the bytecode. */
static bool holds_other_code(const tw_ir_func *func, const tw_cfg *cfg, const tw_loops *loops, tw_loop loop, const tw_nest *nest)
{
    for (uint32_t k = 0; k < cfg->order_count; k++) {
        tw_ir_block b = cfg->order[k];
        const tw_ir_blockdata *block = &func->blocks[b];
        if (tw_loop_has_block(loops, loop, b)) continue;
        if (block->set_count && is_within(nest, block->offset)) return true;
        if (block->term != TW_IR_JUMP && block->term != TW_IR_RETURN && is_within(nest, block->term_offset)) return true;
        for (uint32_t i = 0; i < block->inst_count; i++)
            if (is_within(nest, func->insts[block->insts[i]].offset)) return true;
    }
    return false;
}

/* The exit of the bytecode that leads to no trap, if there is one. */
static uint32_t find_exit(tw_analysis *analysis, const tw_nest *nest)
{
    const tw_ir_func *func = tw_analysis_func(analysis);
    uint32_t found = 0, count = 0;
    for (uint32_t n = 1; n <= nest->exit_count; n++)
        if (!nest->exits[n - 1].dead_end && (nest->exits[n - 1].falls_through || !tw_branches_to_doom(func, nest->exits[n - 1].branch))) found = n, count++;
    return count == 1 ? found : 0;
}

bool tw_cut_nest(const tw_wasm *module, tw_analysis *analysis, tw_loop loop, tw_arena *arena, tw_nest *out, tw_reason *reason)
{
    const tw_ir_func *func = tw_analysis_func(analysis);
    const tw_loops *loops = tw_analysis_loops(analysis);
    tw_ir_block header = loops->items[loop].header;
    if (loops->items[loop].irreducible)
        return tw_refuse(reason, TW_REFUSAL_IRREDUCIBLE, "a cycle inside has more than one entry");
    if (func->blocks[header].loop_offset == TW_NO_OFFSET || !func->blocks[header].local_values)
        return tw_refuse(reason, TW_REFUSAL_CONTROL, "the loop's header isn't the start of a wasm loop");
    if (tw_wasm_nest(module, func->index, func->blocks[header].loop_offset, arena, out, NULL) != TW_OK || out->local_count != func->local_count)
        return tw_refuse(reason, TW_REFUSAL_CONTROL, "the loop's bytecode isn't one wasm loop");
    if (out->call)
        return tw_refuse(reason, TW_REFUSAL_CALL, "what follows the loop stands between its brackets and calls at 0x%" PRIx64, out->call);
    for (uint32_t e = 0; e < out->exit_count; e++)
        if (out->has_type || out->exits[e].arity) return tw_refuse(reason, TW_REFUSAL_SIGNATURE, "the loop takes or leaves values on the operand stack");
    return true;
}

bool tw_cut_new(tw_analysis *analysis, tw_loop loop, const tw_nest *nest, const bool *stale, const bool *foreign, tw_arena *arena,
                tw_cut *out, tw_reason *reason)
{
    const tw_ir_func *func = tw_analysis_func(analysis);
    const tw_loops *loops = tw_analysis_loops(analysis);
    cutter c = {.from = func, .cfg = tw_analysis_cfg(analysis), .loops = loops, .loop = loop, .reason = reason, .arena = arena};
    tw_values live = tw_live_outs_of(analysis, loop);
    bool other_code = holds_other_code(func, c.cfg, loops, loop, nest); /* what it sets, the outlined nest hands back */
    *out = (tw_cut){.size = nest->end_offset - nest->loop_offset, .exit = other_code ? 0 : find_exit(analysis, nest), .live_outs = live.count > 0 || foreign};
    choice chosen = {0};
    if (!choose_locals(nest, stale, analysis, loop, out->live_outs || other_code, arena, &chosen, reason)) return false;
    out->locals = chosen.locals;
    out->live_in_count = chosen.live_ins;
    out->header_count = chosen.headers;
    if (chosen.live_ins + chosen.headers > MOST_VALUES)
        return tw_refuse(reason, TW_REFUSAL_SIGNATURE, "%u values would have to be passed", chosen.live_ins + chosen.headers);
    c.value = TW_NEW_ARRAY(arena, tw_ir_value, func->value_count);
    c.block = TW_NEW_ARRAY(arena, tw_ir_block, func->block_count);
    if (!c.value || !c.block) return out_of_memory(reason);
    memset(c.block, 0xFF, func->block_count * sizeof *c.block);
    if (tw_ir_func_new(func->name, 64 << 20, &c.to, NULL) != TW_OK) return out_of_memory(reason);
    c.to->index = func->index;
    if (!make_entry(&c, nest, stale, &chosen) || !copy_blocks(&c) || !copy_marks(&c) || !enter(&c, &chosen) || !find_live_outs(&c, live, foreign, arena, out)) {
        tw_ir_func_free(c.to);
        return false;
    }
    out->exit_known &= !chosen.keeps_vectors;
    out->func = c.to;
    return true;
}
