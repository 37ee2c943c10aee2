/* SPDX-License-Identifier: Apache-2.0 */
/* Which loops of a function surely touch memory every time round, at an address that varies with something they carry.
 *
 * Two walks over the code. The first notes for every loop and local how the loop writes the local: not at all, only by
 * adding constants of one sign or parameters that stay as they are, or otherwise. A local of the second kind with an
 * addition from which a path leads to a back edge has a phi at the loop's header that nothing can fold away. The second walk carries, forward through the
 * structure, the set of enclosing loops for which every path from the header to here has made such an access; where a
 * back edge finds its loop missing in the set, the loop needs a probe.
 *
 * An address that varies with an inner loop will do for the loops around it too: the inner phi is made anew in each of
 * their iterations. Nothing is followed through joins but the locals themselves, so this errs towards probes. */
#include <string.h>

#include "rewrite/probes.h"
#include "rewrite/variance.h"
#include "wasm/flow.h"

enum {
    MAX_CELLS = 1 << 22, /* loops times locals; beyond that every loop gets a probe */
    MAX_STEP = 2048,     /* times the additions that fit in a body is less than 2^32: they can't add up to nothing */
};
#define TOUCHED (UINT64_C(1) << 63) /* of the state: memory was touched since the function's entry */

/* How a loop writes a local. */
enum { CELL_UP = 1, CELL_DOWN = 2, CELL_PARAM = 4, CELL_OTHER = 8, CELL_EVEN = 16 };

typedef struct loop {
    uint64_t offset;
    bool needs_probe;
} loop;

typedef struct addition {
    uint32_t local, number; /* numbers ascend and are never used again */
} addition;

typedef struct scope { /* beside each label of the flow */
    uint64_t state;    /* met at its end so far */
    uint64_t at_start;
    uint32_t height;   /* of the operand stack without its parameters */
    uint32_t loop;     /* index into loops, UINT32_MAX for other labels */
    uint32_t first;    /* additions from here on were made in it */
    uint32_t settled;  /* of these, the ones up to this number are known to be followed by a back edge to it */
} scope;

typedef struct walk {
    const tw_wasm *module;
    tw_arena *arena; /* scratch */
    tw_error *error;
    tw_flow flow;
    tw_instr instr;
    bool second;
    scope *scopes;            uint32_t scope_count, scope_capacity;
    tw_variance *stack;       uint32_t height, stack_capacity;
    loop *loops;              uint32_t loop_count, loop_capacity;
    /* Locals that were added to on the way here: every one of them is on some path to here. */
    addition *additions;      uint32_t addition_count, addition_capacity, last_number;
    uint32_t *around;         uint32_t depth, around_capacity; /* enclosing loops, outermost first */
    uint32_t next_loop;
    uint8_t *cells;           /* loop * local_count + local */
    uint32_t local_count, param_count;
    tw_variance *local_now;   /* what a local holds, when set since the last boundary */
    uint32_t *local_when;     /* the boundary since which local_now holds */
    bool *written;            /* anywhere in the function */
    uint32_t boundary;
    uint64_t state;
    bool calls_unseen;
    bool too_deep; /* loops nest deeper than can be told apart: given up */
} walk;

/* ---- operand stack ---- */

static tw_status push(walk *w, tw_variance value)
{
    if (!TW_ARENA_GROW(w->arena, w->stack, w->height, w->stack_capacity)) return tw_fail_memory(w->error);
    w->stack[w->height++] = value;
    return TW_OK;
}

static tw_status push_unknown(walk *w, uint32_t count)
{
    while (count--) TW_TRY(push(w, tw_variance_unknown));
    return TW_OK;
}

/* Nothing below the innermost block's base, whatever dead code asks for. */
static tw_variance pop(walk *w)
{
    uint32_t base = w->scope_count ? w->scopes[w->scope_count - 1].height : 0;
    return w->height > base ? w->stack[--w->height] : tw_variance_unknown;
}

static void pop_many(walk *w, uint32_t count)
{
    while (count--) (void)pop(w);
}

/* ---- locals ---- */

static uint8_t *cell(walk *w, uint32_t loop_index, uint32_t local)
{
    return &w->cells[(size_t)loop_index * w->local_count + local];
}

static bool carried_evenly(uint8_t how)
{
    return (how & CELL_EVEN) && !(how & CELL_OTHER) && (how & (CELL_UP | CELL_DOWN)) != (CELL_UP | CELL_DOWN);
}

static tw_variance read_local(walk *w, uint32_t local)
{
    if (w->local_when[local] == w->boundary) return w->local_now[local];
    tw_variance value = {.roots = UINT64_C(1) << local % 64, .local = local, .since = w->boundary};
    if (!w->second) return value;
    value.clean = ~UINT64_C(0) << w->depth; /* loops further in can't have written it yet */
    for (uint32_t k = 0; k < w->depth; k++) {
        uint8_t how = *cell(w, w->around[k], local);
        bool even = carried_evenly(how);
        if (how == 0 || even) value.clean |= UINT64_C(1) << k;
        if (even) value.vary |= UINT64_C(1) << k;
    }
    return value;
}

static uint8_t kind_of_write(uint32_t local, const tw_variance *value)
{
    if (value->local != local || value->add < -MAX_STEP || value->add > MAX_STEP) return CELL_OTHER;
    uint8_t how = value->plus_param ? CELL_PARAM : 0;
    if (value->add > 0) how |= CELL_UP;
    if (value->add < 0) how |= CELL_DOWN;
    return how ? how : CELL_OTHER;
}

/* The local holds this already. */
static bool changes_nothing(walk *w, uint32_t local, const tw_variance *value)
{
    tw_variance now = read_local(w, local);
    return now.local != UINT32_MAX && now.local == value->local && now.since == value->since && now.add == value->add &&
           !now.plus_param && !value->plus_param;
}

static tw_status note_write(walk *w, uint32_t local, const tw_variance *value)
{
    if (changes_nothing(w, local, value)) return TW_OK;
    uint8_t how = kind_of_write(local, value);
    for (uint32_t k = 0; k < w->depth; k++) *cell(w, w->around[k], local) |= how;
    if (how == CELL_OTHER || !w->depth) return TW_OK;
    if (!TW_ARENA_GROW(w->arena, w->additions, w->addition_count, w->addition_capacity))
        return tw_fail_memory(w->error);
    w->additions[w->addition_count++] = (addition){local, ++w->last_number};
    return TW_OK;
}

static tw_status write_local(walk *w, uint32_t local, tw_variance value)
{
    if (!w->second) TW_TRY(note_write(w, local, &value));
    w->local_now[local] = value;
    w->local_when[local] = w->boundary;
    return TW_OK;
}

/* ---- accesses, calls, branches ---- */

static void touch(walk *w, const tw_variance *address)
{
    w->state |= TOUCHED;
    uint64_t sure = address->vary & address->clean;
    if (!sure) return;
    unsigned innermost = 63u - (unsigned)__builtin_clzll(sure);
    w->state |= (UINT64_C(2) << innermost) - 1;
}

static tw_status access_memory(walk *w, const tw_op_info *info)
{
    if (strlen(info->operands) == 2) (void)pop(w);
    tw_variance address = pop(w);
    touch(w, &address);
    return push_unknown(w, (uint32_t)strlen(info->results));
}

static tw_status call(walk *w)
{
    bool indirect = w->instr.op == TW_OP_CALL_INDIRECT || w->instr.op == TW_OP_RETURN_CALL_INDIRECT;
    const tw_functype *type = indirect ? &w->module->types[w->instr.imm.call_indirect.type]
                                       : tw_wasm_func_type(w->module, w->instr.imm.index);
    if (!(w->state & TOUCHED)) w->calls_unseen = true;
    pop_many(w, type->param_count + indirect);
    return push_unknown(w, type->result_count);
}

/* A back edge after an addition: some path round the loop makes the addition. */
static void settle(walk *w, scope *target)
{
    for (uint32_t i = w->addition_count; i-- > target->first && w->additions[i].number > target->settled;)
        *cell(w, target->loop, w->additions[i].local) |= CELL_EVEN;
    target->settled = w->last_number;
}

static void branch_to(walk *w, uint32_t depth)
{
    scope *target = &w->scopes[w->scope_count - 1 - depth];
    if (target->loop == UINT32_MAX) {
        target->state &= w->state;
        return;
    }
    if (!w->second) settle(w, target);
    uint32_t k = 0;
    while (w->around[k] != target->loop) k++;
    if (w->second && !(w->state >> k & 1)) w->loops[target->loop].needs_probe = true;
}

static void branches(walk *w)
{
    const uint8_t *at = NULL;
    uint32_t depth;
    while (tw_flow_next_branch(&w->instr, w->flow.depth, &at, &depth) && depth < w->scope_count) branch_to(w, depth);
}

/* ---- blocks ---- */

static tw_status enter_loop(walk *w, uint32_t *index)
{
    if (!w->second) {
        if (!TW_ARENA_GROW(w->arena, w->loops, w->loop_count, w->loop_capacity)) return tw_fail_memory(w->error);
        w->loops[w->loop_count++] = (loop){.offset = w->instr.offset};
    }
    *index = w->next_loop++;
    if (!TW_ARENA_GROW(w->arena, w->around, w->depth, w->around_capacity)) return tw_fail_memory(w->error);
    w->state &= ~(UINT64_C(1) << w->depth);
    w->around[w->depth++] = *index;
    w->too_deep |= w->depth > TW_VARIANCE_LOOPS;
    w->boundary++;
    return TW_OK;
}

static tw_status open_scope(walk *w)
{
    tw_functype type;
    uint32_t index = UINT32_MAX;
    tw_wasm_block_type(w->module, &w->instr, &type);
    if (w->instr.op == TW_OP_IF) (void)pop(w);
    if (w->instr.op == TW_OP_LOOP) TW_TRY(enter_loop(w, &index));
    pop_many(w, type.param_count);
    if (!TW_ARENA_GROW(w->arena, w->scopes, w->scope_count, w->scope_capacity)) return tw_fail_memory(w->error);
    w->scopes[w->scope_count++] = (scope){UINT64_MAX, w->state, w->height, index, w->addition_count, 0};
    return push_unknown(w, type.param_count);
}

static tw_status second_arm(walk *w, bool live)
{
    scope *top = &w->scopes[w->scope_count - 1];
    w->addition_count = top->first; /* the code doesn't come here from there */
    if (live) top->state &= w->state;
    w->state = top->at_start;
    w->boundary++;
    w->height = top->height;
    return push_unknown(w, w->flow.labels[w->flow.depth - 1].params);
}

static tw_status close_scope(walk *w, const tw_flow_label *label, bool live)
{
    scope top = w->scopes[--w->scope_count];
    if (!live) w->addition_count = top.first;
    if (top.loop == UINT32_MAX) {
        if (live) top.state &= w->state;
        if (label->op == TW_OP_IF) top.state &= top.at_start;
        w->state = top.state;
    } else {
        w->depth--;
    }
    w->boundary++;
    w->height = top.height;
    return push_unknown(w, label->results);
}

/* ---- instructions ---- */

/* A parameter that the function never writes. */
static bool is_kept_param(const walk *w, const tw_variance *value)
{
    return value->local < w->param_count && !w->written[value->local] && value->add == 0 && !value->plus_param;
}

static void add_param(tw_variance *sum, const tw_variance *value, const tw_variance *param)
{
    if (value->local == UINT32_MAX || value->local == param->local) return;
    sum->local = value->local;
    sum->since = value->since;
    sum->add = value->add;
    sum->plus_param = true;
}

static tw_status binary(walk *w)
{
    tw_variance b = pop(w), a = pop(w), r = tw_variance_binary(w->instr.op, a, b);
    if (w->instr.op == TW_OP_I32_ADD && is_kept_param(w, &b)) add_param(&r, &a, &b);
    else if (w->instr.op == TW_OP_I32_ADD && is_kept_param(w, &a)) add_param(&r, &b, &a);
    return push(w, r);
}

static tw_status local_instr(walk *w)
{
    uint32_t local = w->instr.imm.index;
    if (w->instr.op == TW_OP_LOCAL_GET) return push(w, read_local(w, local));
    tw_variance value = pop(w);
    TW_TRY(write_local(w, local, value));
    return w->instr.op == TW_OP_LOCAL_TEE ? push(w, value) : TW_OK;
}

static tw_status plain(walk *w, const tw_op_info *info)
{
    if (info->kind == TW_KIND_LOAD || info->kind == TW_KIND_STORE) return access_memory(w, info);
    if (info->operands[0] == 'i' && info->operands[1] == 'i' && !info->operands[2] && info->results[0] == 'i')
        return binary(w);
    pop_many(w, (uint32_t)strlen(info->operands));
    return push_unknown(w, (uint32_t)strlen(info->results));
}

static tw_status instruction(walk *w)
{
    switch (w->instr.op) {
    case TW_OP_LOCAL_GET: case TW_OP_LOCAL_SET: case TW_OP_LOCAL_TEE: return local_instr(w);
    case TW_OP_I32_CONST: return push(w, tw_variance_const(w->instr.imm.i32));
    case TW_OP_CALL: case TW_OP_CALL_INDIRECT: case TW_OP_RETURN_CALL: case TW_OP_RETURN_CALL_INDIRECT: return call(w);
    case TW_OP_BR_IF: (void)pop(w); branches(w); return TW_OK;
    case TW_OP_BR: case TW_OP_BR_TABLE: case TW_OP_RETURN: branches(w); return TW_OK;
    case TW_OP_DROP: case TW_OP_GLOBAL_SET: (void)pop(w); return TW_OK;
    case TW_OP_SELECT: case TW_OP_SELECT_T: pop_many(w, 3); return push_unknown(w, 1);
    case TW_OP_GLOBAL_GET: return push_unknown(w, 1);
    case TW_OP_UNREACHABLE: case TW_OP_NOP: return TW_OK;
    default: return plain(w, tw_op_describe(w->instr.op));
    }
}

static tw_status step(walk *w)
{
    bool live = w->flow.live;
    tw_flow_label label = w->flow.labels[w->flow.depth - 1];
    TW_TRY(tw_flow_step(&w->flow, &w->instr, w->error));
    switch (w->instr.op) {
    case TW_OP_BLOCK: case TW_OP_LOOP: case TW_OP_IF: return open_scope(w);
    case TW_OP_ELSE: return second_arm(w, live);
    case TW_OP_END: return close_scope(w, &label, live);
    default: return live ? instruction(w) : TW_OK;
    }
}

static tw_status walk_code(walk *w, uint32_t func)
{
    tw_reader reader;
    uint32_t count;
    TW_TRY(tw_wasm_code(w->module, func, &reader, &count, w->error));
    TW_TRY(tw_flow_begin(&w->flow, w->module, func, w->arena, w->error));
    w->height = w->scope_count = w->depth = w->next_loop = w->addition_count = 0;
    w->state = 0;
    w->boundary++;
    w->calls_unseen = false;
    if (!TW_ARENA_GROW(w->arena, w->scopes, w->scope_count, w->scope_capacity)) return tw_fail_memory(w->error);
    w->scopes[w->scope_count++] = (scope){UINT64_MAX, 0, 0, UINT32_MAX, 0, 0};
    while (w->flow.depth && !w->too_deep) {
        TW_TRY(tw_wasm_next(&reader, &w->instr, w->error));
        TW_TRY(step(w));
    }
    return TW_OK;
}

/* ---- a function ---- */

/* How many loops there are, so that there can be cells, and which locals are ever written. */
static tw_status count_loops(walk *w, uint32_t func, uint32_t *count)
{
    tw_reader reader;
    TW_TRY(tw_wasm_code(w->module, func, &reader, &w->local_count, w->error));
    w->written = TW_NEW_ARRAY(w->arena, bool, w->local_count);
    TW_TRY_ALLOC(w->written, w->error);
    while (reader.at != reader.end) {
        TW_TRY(tw_wasm_next(&reader, &w->instr, w->error));
        *count += w->instr.op == TW_OP_LOOP;
        if (w->instr.op == TW_OP_LOCAL_SET || w->instr.op == TW_OP_LOCAL_TEE) w->written[w->instr.imm.index] = true;
    }
    return TW_OK;
}

static tw_status prepare(walk *w, uint32_t loops)
{
    w->cells = tw_arena_array(w->arena, loops, w->local_count);
    w->local_now = TW_NEW_ARRAY(w->arena, tw_variance, w->local_count);
    w->local_when = TW_NEW_ARRAY(w->arena, uint32_t, w->local_count);
    return w->cells && w->local_now && w->local_when ? TW_OK : tw_fail_memory(w->error);
}

static tw_status report(walk *w, tw_arena *arena, tw_probes *out)
{
    uint32_t count = 0;
    for (uint32_t i = 0; i < w->loop_count; i++) count += w->loops[i].needs_probe;
    if (!count) return TW_OK;
    out->loops = TW_NEW_ARRAY(arena, uint64_t, count);
    TW_TRY_ALLOC(out->loops, w->error);
    for (uint32_t i = 0; i < w->loop_count; i++)
        if (w->loops[i].needs_probe) out->loops[out->loop_count++] = w->loops[i].offset;
    return TW_OK;
}

/* Too much to look at: every loop. */
static tw_status probe_all(walk *w, uint32_t func, uint32_t count, tw_arena *arena, tw_probes *out)
{
    tw_reader reader;
    uint32_t locals;
    out->loops = TW_NEW_ARRAY(arena, uint64_t, count);
    TW_TRY_ALLOC(out->loops, w->error);
    TW_TRY(tw_wasm_code(w->module, func, &reader, &locals, w->error));
    while (reader.at != reader.end) {
        TW_TRY(tw_wasm_next(&reader, &w->instr, w->error));
        if (w->instr.op == TW_OP_LOOP) out->loops[out->loop_count++] = w->instr.offset;
    }
    return TW_OK;
}

static tw_status look(walk *w, uint32_t func, tw_arena *arena, tw_probes *out, bool *calls_unseen)
{
    uint32_t loops = 0;
    TW_TRY(count_loops(w, func, &loops));
    *calls_unseen = true;
    if ((uint64_t)loops * w->local_count > MAX_CELLS) return probe_all(w, func, loops, arena, out);
    TW_TRY(prepare(w, loops));
    TW_TRY(walk_code(w, func));
    if (w->too_deep) return probe_all(w, func, loops, arena, out);
    w->second = true;
    TW_TRY(walk_code(w, func));
    *calls_unseen = w->calls_unseen;
    return report(w, arena, out);
}

tw_status tw_probes_of_loops(const tw_wasm *module, uint32_t func, tw_arena *scratch, tw_arena *arena, tw_probes *out,
                             bool *calls_unseen, tw_error *error)
{
    walk w = {.module = module, .arena = scratch, .error = error};
    w.param_count = tw_wasm_func_type(module, func)->param_count;
    return look(&w, func, arena, out, calls_unseen);
}
