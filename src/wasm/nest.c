/* SPDX-License-Identifier: Apache-2.0 */
/* One walk over the function. A label opened inside the loop is the loop's own affair; a live branch to one that was open
 * when the loop began is an exit. */
#include "wasm/nest.h"

#include "wasm/dead_end.h"
#include "wasm/flow.h"
#include "wasm/read.h"

typedef struct walk {
    tw_nest *nest;
    tw_arena *arena;
    tw_error *error;
    tw_flow flow;
    tw_instr instr;
    uint32_t base;       /* labels open when the loop begins */
    uint32_t *exit_of;   /* by these: number of the exit that goes there, 0 = none */
    bool inside, found;
    bool at_start;       /* a block of instructions that control enters at its start only begins here */
    uint64_t dead_until; /* inside a dead end, which ends there */
    uint32_t on_their_way; /* exits of which it isn't known yet where they go on */
} walk;

static tw_status add_exit(walk *w, tw_nest_exit exit)
{
    tw_nest *nest = w->nest;
    if (!TW_ARENA_GROW(w->arena, nest->exits, nest->exit_count, nest->exit_capacity)) return tw_fail_memory(w->error);
    nest->exits[nest->exit_count++] = exit;
    if (!exit.continues && !exit.dead_end) w->on_their_way++;
    return TW_OK;
}

/* Before the walk takes the branch into account. */
static tw_status note_branches(walk *w)
{
    const uint8_t *at = NULL;
    uint32_t depth;
    while (tw_flow_next_branch(&w->instr, w->flow.depth, &at, &depth) && depth < w->flow.depth) {
        uint32_t index = w->flow.depth - 1 - depth;
        if (index >= w->base || w->exit_of[index]) continue;
        const tw_flow_label *label = &w->flow.labels[index];
        bool back = label->op == TW_OP_LOOP;
        tw_nest_exit exit = {.depth = w->base - 1 - index, .arity = back ? label->params : label->results,
                             .branch = w->instr.offset};
        if (back) exit.target = exit.continues = label->offset;
        TW_TRY(add_exit(w, exit));
        w->exit_of[index] = w->nest->exit_count;
    }
    return TW_OK;
}

static void note_first(uint64_t *place, uint64_t offset)
{
    if (*place == 0) *place = offset;
}

/* What the instruction does, of the things a refusal or the outliner asks about. */
static void note(walk *w)
{
    tw_nest *nest = w->nest;
    switch (w->instr.op) {
    case TW_OP_LOCAL_GET: nest->touched[w->instr.imm.index] |= TW_NEST_READ; break;
    case TW_OP_LOCAL_SET: case TW_OP_LOCAL_TEE: nest->touched[w->instr.imm.index] |= TW_NEST_WRITTEN; break;
    case TW_OP_CALL: case TW_OP_CALL_INDIRECT: case TW_OP_RETURN_CALL: case TW_OP_RETURN_CALL_INDIRECT:
        note_first(&nest->call, w->instr.offset);
        break;
    case TW_OP_MEMORY_GROW: note_first(&nest->grow, w->instr.offset); break;
    case TW_OP_LOOP: nest->nested = true; break;
    default:
        if (tw_op_describe(w->instr.op)->kind == TW_KIND_TABLE) note_first(&nest->table, w->instr.offset);
    }
}

static tw_status enter(walk *w)
{
    tw_functype type;
    tw_wasm_block_type(w->flow.module, &w->instr, &type);
    w->nest->has_type = type.param_count || type.result_count;
    w->nest->first_offset = w->instr.offset + w->instr.size;
    w->base = w->flow.depth;
    w->exit_of = TW_NEW_ARRAY(w->arena, uint32_t, w->base);
    TW_TRY_ALLOC(w->exit_of, w->error);
    w->inside = w->found = true;
    return TW_OK;
}

static tw_status leave(walk *w)
{
    w->inside = false;
    w->nest->end_offset = w->instr.offset;
    if (!w->flow.live) return TW_OK;
    return add_exit(w, (tw_nest_exit){.falls_through = true, .target = w->instr.offset + w->instr.size});
}

/* ---- where exits go on ---- */

/* Exits that have reached their target but no instruction yet have `continues` 0. At an `else` they go on after the
 * if's end, so they wait for its label. */
#define PARKED(label) (TW_NO_OFFSET - 1 - (label))

static void set_continues(walk *w, uint64_t from, uint64_t to)
{
    for (uint32_t i = 0; w->on_their_way && i < w->nest->exit_count; i++) {
        tw_nest_exit *exit = &w->nest->exits[i];
        if (exit->target && exit->continues == from) exit->continues = to;
    }
}

static void settle(walk *w)
{
    for (uint32_t i = 0; w->on_their_way && i < w->nest->exit_count; i++) {
        tw_nest_exit *exit = &w->nest->exits[i];
        if (!exit->target || exit->continues) continue;
        exit->continues = w->instr.offset;
        w->on_their_way--;
    }
}

/* The label that has just been closed is where some exit goes. */
static tw_status closed(walk *w)
{
    uint32_t index = w->flow.depth;
    if (w->inside) return index == w->base ? leave(w) : TW_OK;
    if (!w->found) return TW_OK;
    set_continues(w, PARKED(index), 0);
    if (index < w->base && w->exit_of[index]) {
        tw_nest_exit *exit = &w->nest->exits[w->exit_of[index] - 1];
        if (!exit->target) exit->target = w->instr.offset + w->instr.size;
    }
    return TW_OK;
}

/* ---- dead ends ---- */

static tw_status begin_dead_end(walk *w, const tw_reader *reader)
{
    tw_dead_end found;
    w->dead_until = 0;
    if (!w->inside || !w->flow.live || !w->at_start || !tw_dead_end_at(w->flow.module, *reader, &found) || !found.needs_function) return TW_OK;
    w->dead_until = found.end;
    return add_exit(w, (tw_nest_exit){.dead_end = found.offset, .dead_end_end = found.end});
}

static void note_dead_end(walk *w)
{
    if (w->instr.op == TW_OP_LOCAL_GET) w->nest->touched[w->instr.imm.index] |= TW_NEST_AT_DEAD_END;
}

static bool starts_block(tw_op op)
{
    return op == TW_OP_BLOCK || op == TW_OP_IF || op == TW_OP_ELSE || op == TW_OP_END || op == TW_OP_BR_IF;
}

static tw_status step(walk *w)
{
    tw_op op = w->instr.op;
    bool dead_end = w->instr.offset < w->dead_until;
    bool outside = w->found && !w->inside;
    if (outside && op != TW_OP_END && op != TW_OP_ELSE && op != TW_OP_BLOCK) settle(w);
    if (outside && op == TW_OP_ELSE) set_continues(w, 0, PARKED(w->flow.depth - 1));
    if (dead_end) note_dead_end(w);
    else if (w->inside && w->flow.live) {
        note(w);
        TW_TRY(note_branches(w));
    }
    bool here = op == TW_OP_LOOP && w->instr.offset == w->nest->loop_offset && w->flow.live;
    if (here && !w->found) TW_TRY(enter(w));
    w->at_start = starts_block(op);
    TW_TRY(tw_flow_step(&w->flow, &w->instr, w->error));
    return op == TW_OP_END ? closed(w) : TW_OK;
}

static tw_status walk_body(walk *w, tw_reader *reader)
{
    while (w->flow.depth && !(w->found && !w->inside && !w->on_their_way)) {
        if (!w->dead_until || tw_reader_offset(reader) >= w->dead_until) TW_TRY(begin_dead_end(w, reader));
        TW_TRY(tw_wasm_next(reader, &w->instr, w->error));
        TW_TRY(step(w));
    }
    settle(w); /* at the function's end */
    return TW_OK;
}

tw_status tw_wasm_nest(const tw_wasm *module, uint32_t func, uint64_t loop_offset, tw_arena *arena, tw_nest *out,
                       tw_error *error)
{
    *out = (tw_nest){.func = func, .loop_offset = loop_offset};
    tw_reader reader;
    walk w = {.nest = out, .arena = arena, .error = error};
    TW_TRY(tw_wasm_body(module, func, arena, &reader, &out->local_types, &out->local_count, error));
    out->touched = tw_arena_alloc(arena, out->local_count);
    TW_TRY_ALLOC(out->touched, error);
    TW_TRY(tw_flow_begin(&w.flow, module, func, arena, error));
    TW_TRY(walk_body(&w, &reader));
    if (w.found) return TW_OK;
    return tw_fail_at(error, TW_NOT_FOUND, func, loop_offset, "no reachable loop begins here");
}

uint32_t tw_nest_exit_number(const tw_nest *nest, uint32_t depth)
{
    for (uint32_t i = 0; i < nest->exit_count; i++)
        if (!nest->exits[i].falls_through && !nest->exits[i].dead_end && nest->exits[i].depth == depth) return i + 1;
    return 0;
}

const tw_nest_exit *tw_nest_dead_end(const tw_nest *nest, uint64_t offset)
{
    for (uint32_t i = 0; i < nest->exit_count; i++)
        if (nest->exits[i].dead_end && nest->exits[i].dead_end == offset) return &nest->exits[i];
    return NULL;
}

uint32_t tw_nest_fall_through(const tw_nest *nest)
{
    for (uint32_t i = 0; i < nest->exit_count; i++)
        if (nest->exits[i].falls_through) return i + 1;
    return 0;
}

uint32_t tw_nest_exit_to(const tw_nest *nest, uint64_t continues)
{
    for (uint32_t i = 0; i < nest->exit_count; i++)
        if (!nest->exits[i].dead_end && nest->exits[i].continues == continues) return i + 1;
    return 0;
}
