/* SPDX-License-Identifier: Apache-2.0 */
/* L: the loop as a function of its own, without calls.
 *
 *   block $exit1 … block $exitN  block $again          one for each label that the loop leaves to
 *     loop  [countdown over: br $again; --countdown]  …the loop, locals renumbered, branches out of it led to $exitK…  end
 *     [K of falling through] headers return
 *   end  AGAIN headers return   end  N headers return  …  end  1 headers return
 *
 * A dead end that calls has a $exit of its own. Code that can't be reached is left out: it may call, or branch to labels that aren't exits. Where it begins behind an
 * `end` that only structure makes look reachable, `unreachable` takes its place, so that types fit. */
#include "rewrite/parts.h"

#include "wasm/flow.h"
#include "wasm/read.h"

typedef struct outline {
    tw_rewriter *r;
    const tw_part *part;
    tw_emit e;
    tw_flow flow;
    tw_reader reader;
    tw_instr instr;
    uint32_t *local_of;    /* the user's local → L's */
    uint32_t countdown;    /* local, when nested */
    uint32_t counter;      /* local for probes */
    int32_t *leaves;       /* the blocks around the loop, outermost first: what L returns there */
    uint32_t leave_count;
    uint32_t base;         /* labels open where the loop begins */
} outline;

typedef struct new_locals {
    uint8_t *types;
    uint32_t count, params;
} new_locals;

static uint32_t add_local(new_locals *locals, uint8_t type)
{
    locals->types[locals->count++] = type;
    return locals->params + locals->count - 1;
}

static tw_status make_locals(outline *o)
{
    const tw_part *part = o->part;
    new_locals fresh = {.params = part->passed_count + part->extra_count};
    fresh.types = tw_arena_alloc(&o->r->arena, (size_t)part->nest.local_count + 2);
    o->local_of = TW_NEW_ARRAY(&o->r->arena, uint32_t, part->nest.local_count);
    if (!fresh.types || !o->local_of) return tw_fail_memory(o->r->error);
    for (uint32_t i = 0; i < part->nest.local_count; i++) o->local_of[i] = UINT32_MAX;
    for (uint32_t i = 0; i < part->passed_count; i++) o->local_of[part->passed[i]] = i;
    for (uint32_t i = 0; i < part->extra_count; i++) o->local_of[part->extras[i]] = part->passed_count + i;
    for (uint32_t i = 0; i < part->nest.local_count; i++)
        if (part->nest.touched[i] & TW_NEST_TOUCHED && o->local_of[i] == UINT32_MAX)
            o->local_of[i] = add_local(&fresh, part->nest.local_types[i]);
    if (part->region->nested) o->countdown = add_local(&fresh, TW_I64);
    if (tw_has_loop_probes(o->r, part->region->func)) o->counter = add_local(&fresh, TW_I32);
    tw_emit_new_locals(&o->e, fresh.types, fresh.count);
    return TW_OK;
}

static tw_status make_leaves(outline *o)
{
    const tw_nest *nest = &o->part->nest;
    o->leaves = TW_NEW_ARRAY(&o->r->arena, int32_t, (size_t)nest->exit_count + 1);
    TW_TRY_ALLOC(o->leaves, o->r->error);
    for (uint32_t i = 0; i < nest->exit_count; i++)
        if (!nest->exits[i].falls_through) o->leaves[o->leave_count++] = (int32_t)i + 1;
    if (o->part->region->nested) o->leaves[o->leave_count++] = TW_REWRITE_AGAIN;
    return TW_OK;
}

static void emit_return(outline *o, int32_t code)
{
    tw_emit_i32(&o->e, code);
    for (uint32_t i = 0; i < o->part->region->header_count; i++)
        tw_emit_index(&o->e, TW_OP_LOCAL_GET, o->part->region->live_in_count + i);
    uint32_t params = o->part->passed_count + o->part->extra_count;
    for (uint32_t i = params - o->part->private_count; i < params; i++) tw_emit_index(&o->e, TW_OP_LOCAL_GET, i);
    tw_emit_op(&o->e, TW_OP_RETURN);
}

/* Depth of a leave's block as seen from under `open` labels of the loop. */
static uint32_t leave_depth(const outline *o, uint32_t open, int32_t code)
{
    uint32_t position = 0;
    while (o->leaves[position] != code) position++;
    return open + o->leave_count - 1 - position;
}

/* A branch of the user's to `depth`. */
static uint32_t branch_depth(const outline *o, uint32_t depth)
{
    uint32_t open = o->flow.depth - o->base;
    if (depth < open) return depth;
    return leave_depth(o, open, (int32_t)tw_nest_exit_number(&o->part->nest, depth - open));
}

static void emit_br_table(outline *o)
{
    const uint8_t *at = NULL;
    uint32_t depth;
    tw_emit_op(&o->e, TW_OP_BR_TABLE);
    tw_write_u32(&o->e.code, o->instr.imm.labels.count);
    while (tw_flow_next_branch(&o->instr, o->flow.depth, &at, &depth)) tw_write_u32(&o->e.code, branch_depth(o, depth));
}

static void emit_countdown(outline *o)
{
    uint32_t global = o->part->site->countdown;
    tw_emit_index(&o->e, TW_OP_GLOBAL_GET, global);
    tw_emit_index(&o->e, TW_OP_LOCAL_TEE, o->countdown);
    tw_emit_i64(&o->e, 0);
    tw_emit_op(&o->e, TW_OP_I64_LE_S);
    tw_emit_index(&o->e, TW_OP_BR_IF, leave_depth(o, 1, TW_REWRITE_AGAIN));
    tw_emit_index(&o->e, TW_OP_LOCAL_GET, o->countdown);
    tw_emit_i64(&o->e, 1);
    tw_emit_op(&o->e, TW_OP_I64_SUB);
    tw_emit_index(&o->e, TW_OP_GLOBAL_SET, global);
}

static void emit_loop(outline *o)
{
    tw_emit_user(o->r, &o->e, &o->instr);
    bool outermost = o->instr.offset == o->part->nest.loop_offset;
    if (outermost && o->part->region->nested) emit_countdown(o);
    if (tw_wants_loop_probe(o->r, o->part->region->func, o->instr.offset))
        tw_emit_loop_probe(&o->e, o->counter, o->r->probe_memory);
}

static void emit_live(outline *o)
{
    tw_emit_place(&o->e, o->instr.offset);
    switch (o->instr.op) {
    case TW_OP_LOCAL_GET: case TW_OP_LOCAL_SET: case TW_OP_LOCAL_TEE:
        tw_emit_index(&o->e, o->instr.op, o->local_of[o->instr.imm.index]);
        break;
    case TW_OP_BR: case TW_OP_BR_IF: tw_emit_index(&o->e, o->instr.op, branch_depth(o, o->instr.imm.index)); break;
    case TW_OP_BR_TABLE: emit_br_table(o); break;
    case TW_OP_RETURN: tw_emit_index(&o->e, TW_OP_BR, branch_depth(o, o->flow.depth - 1)); break;
    case TW_OP_LOOP: emit_loop(o); break;
    default: tw_emit_user(o->r, &o->e, &o->instr); break;
    }
}

/* Brackets of blocks that began live stay, whether what they close is live or not. */
static bool is_bracket(const outline *o)
{
    bool closes = o->instr.op == TW_OP_END || o->instr.op == TW_OP_ELSE;
    return closes && o->flow.labels[o->flow.depth - 1].live_before;
}

/* The dead end is left to the twin, which has the function's labels and may call. */
static tw_status leave_at_dead_end(outline *o, const tw_nest_exit *exit)
{
    tw_emit_place(&o->e, o->instr.offset);
    tw_emit_index(&o->e, TW_OP_BR, leave_depth(o, o->flow.depth - o->base, (int32_t)(exit - o->part->nest.exits) + 1));
    while (o->instr.op != TW_OP_UNREACHABLE) TW_TRY(tw_wasm_next(&o->reader, &o->instr, o->r->error));
    return tw_flow_step(&o->flow, &o->instr, o->r->error);
}

static tw_status emit_one(outline *o)
{
    const tw_nest_exit *exit = tw_nest_dead_end(&o->part->nest, o->instr.offset);
    if (exit) return leave_at_dead_end(o, exit);

    bool live = o->flow.live, bracket = is_bracket(o);
    if (live || bracket) emit_live(o);
    TW_TRY(tw_flow_step(&o->flow, &o->instr, o->r->error));
    if (bracket && !o->flow.live) tw_emit_op(&o->e, TW_OP_UNREACHABLE);
    return TW_OK;
}

/* To the loop's opcode, emitting nothing. */
static tw_status find_loop(outline *o)
{
    uint32_t count, func = o->part->region->func;
    TW_TRY(tw_wasm_code(o->r->module, func, &o->reader, &count, o->r->error));
    TW_TRY(tw_flow_begin(&o->flow, o->r->module, func, &o->r->arena, o->r->error));
    for (;;) {
        TW_TRY(tw_wasm_next(&o->reader, &o->instr, o->r->error));
        if (o->instr.offset == o->part->nest.loop_offset) break;
        TW_TRY(tw_flow_step(&o->flow, &o->instr, o->r->error));
    }
    o->base = o->flow.depth;
    return TW_OK;
}

static tw_status emit_nest(outline *o)
{
    TW_TRY(emit_one(o));
    while (o->flow.depth > o->base) {
        TW_TRY(tw_wasm_next(&o->reader, &o->instr, o->r->error));
        TW_TRY(emit_one(o));
    }
    return TW_OK;
}

/* An exit that leads straight to an `unreachable` traps in L. The engine's compiler makes such a branch and its trap one instruction,
 * with the branch's place: so it does here as in the original. Where another block's end lies between, it doesn't. */
static bool leads_to_trap(const outline *o, int32_t code)
{
    const tw_nest_exit *exit = code == TW_REWRITE_AGAIN ? NULL : &o->part->nest.exits[code - 1];
    tw_reader reader = o->reader; /* behind the loop, as what an exit but a loop's header leads to is */
    tw_instr instr;
    uint64_t here = tw_reader_offset(&reader);
    if (!exit || exit->dead_end || exit->target != exit->continues || exit->continues < here || exit->continues - here >= (uint64_t)(reader.end - reader.at)) return false;
    reader.at += exit->continues - here;
    return tw_wasm_next(&reader, &instr, NULL) == TW_OK && instr.op == TW_OP_UNREACHABLE;
}

static void emit_leave(outline *o, int32_t code)
{
    if (!leads_to_trap(o, code)) {
        emit_return(o, code);
        return;
    }
    tw_emit_place(&o->e, o->part->nest.exits[code - 1].continues);
    tw_emit_op(&o->e, TW_OP_UNREACHABLE);
    tw_emit_place(&o->e, o->part->nest.end_offset);
}

static tw_status emit_function(outline *o)
{
    TW_TRY(make_locals(o));
    TW_TRY(make_leaves(o));
    TW_TRY(find_loop(o));
    tw_emit_place(&o->e, o->part->nest.loop_offset);
    for (uint32_t i = 0; i < o->leave_count; i++) tw_emit_block(&o->e, TW_OP_BLOCK);
    TW_TRY(emit_nest(o));
    uint32_t fall_through = tw_nest_fall_through(&o->part->nest);
    tw_emit_place(&o->e, o->part->nest.end_offset);
    if (fall_through) emit_return(o, (int32_t)fall_through);
    for (uint32_t i = o->leave_count; i-- > 0;) {
        tw_emit_op(&o->e, TW_OP_END);
        emit_leave(o, o->leaves[i]);
    }
    tw_emit_op(&o->e, TW_OP_END);
    return TW_OK;
}

tw_status tw_outline(tw_rewriter *r, const tw_part *part)
{
    outline o = {.r = r, .part = part, .e = {.edit = r->edit, .func = part->site->outlined}};
    tw_status status = emit_function(&o);
    if (status == TW_OK) return tw_emit_finish(&o.e, false, r->error);
    tw_bytes_free(&o.e.code);
    return status;
}
