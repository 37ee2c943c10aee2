/* SPDX-License-Identifier: Apache-2.0 */
/* Forward through the structure goes the set of candidates that have surely been written since the region was entered or
 * left; where neither can have happened the set is full. It empties at the region's exits, and at its header if that counts. A candidate
 * read while it isn't in the set is exposed. Back edges only shrink the sets at loop headers, so walks are repeated until
 * none does; there are few, and if not, the candidates stay. 64 candidates a time. */
#include "wasm/exposed.h"

#include <string.h>

#include "wasm/flow.h"

enum { MOST_WALKS = 12, NOT_ONE = 64 };

typedef struct scope { /* beside each label of the flow */
    uint64_t at_start;
    uint64_t at_end; /* met there so far */
    uint32_t loop;   /* its number in code order */
} scope;

typedef struct walk {
    const tw_wasm *module;
    const tw_nest *nest;
    tw_arena *arena;
    tw_error *error;
    tw_flow flow;
    tw_instr instr;
    uint8_t *bit_of;     /* by local: its bit, or NOT_ONE */
    uint64_t written, exposed;
    scope *scopes;       uint32_t scope_count, scope_capacity;
    uint64_t *at_header; /* by loop: met on back edges so far, in all walks */
    uint32_t header_count, header_capacity, next_loop;
    uint32_t base;       /* labels open where the region begins */
    bool inside, changed;
    tw_exposure where;
} walk;

static void meet(walk *w, uint32_t label, uint64_t state)
{
    scope *target = &w->scopes[label];
    bool back = w->flow.labels[label].op == TW_OP_LOOP;
    uint64_t *met = back ? &w->at_header[target->loop] : &target->at_end;
    if (back && (*met & state) != *met) w->changed = true;
    *met &= state;
}

/* Before the flow takes the branch into account. */
static void branches(walk *w)
{
    const uint8_t *at = NULL;
    uint32_t depth;
    while (tw_flow_next_branch(&w->instr, w->flow.depth, &at, &depth) && depth < w->flow.depth) {
        uint32_t label = w->flow.depth - 1 - depth;
        meet(w, label, w->inside && label < w->base ? 0 : w->written);
    }
}

static tw_status enter_loop(walk *w)
{
    if (w->next_loop == w->header_count) {
        if (!TW_ARENA_GROW(w->arena, w->at_header, w->header_count, w->header_capacity))
            return tw_fail_memory(w->error);
        w->at_header[w->header_count++] = UINT64_MAX;
    }
    w->written &= w->at_header[w->next_loop];
    if (w->instr.offset != w->nest->loop_offset) return TW_OK;
    if (w->where == TW_EXPOSED_ANYWHERE) w->written = 0;
    w->inside = true;
    w->base = w->scope_count;
    return TW_OK;
}

static tw_status open_scope(walk *w)
{
    uint32_t loop = w->next_loop;
    if (w->instr.op == TW_OP_LOOP) {
        TW_TRY(enter_loop(w));
        w->next_loop++;
    }
    if (!TW_ARENA_GROW(w->arena, w->scopes, w->scope_count, w->scope_capacity)) return tw_fail_memory(w->error);
    w->scopes[w->scope_count++] = (scope){w->written, UINT64_MAX, loop};
    return TW_OK;
}

static void second_arm(walk *w, bool live)
{
    scope *top = &w->scopes[w->scope_count - 1];
    if (live) top->at_end &= w->written;
    w->written = top->at_start;
}

static void close_scope(walk *w, tw_op op, bool live)
{
    scope top = w->scopes[--w->scope_count];
    if (op != TW_OP_LOOP) {
        if (live) top.at_end &= w->written;
        if (op == TW_OP_IF) top.at_end &= top.at_start;
        w->written = top.at_end;
    }
    if (!w->inside || w->scope_count != w->base) return;
    w->inside = false;
    w->written = 0;
}

static void use_local(walk *w)
{
    uint8_t bit = w->bit_of[w->instr.imm.index];
    if (bit == NOT_ONE) return;
    if (w->instr.op != TW_OP_LOCAL_GET) w->written |= UINT64_C(1) << bit;
    else if (!(w->written >> bit & 1)) w->exposed |= UINT64_C(1) << bit;
}

static tw_status step(walk *w)
{
    bool live = w->flow.live;
    tw_op op = w->instr.op, top = w->flow.labels[w->flow.depth - 1].op;
    if (live) branches(w);
    TW_TRY(tw_flow_step(&w->flow, &w->instr, w->error));
    switch (op) {
    case TW_OP_BLOCK: case TW_OP_LOOP: case TW_OP_IF: return open_scope(w);
    case TW_OP_ELSE: second_arm(w, live); return TW_OK;
    case TW_OP_END: close_scope(w, top, live); return TW_OK;
    case TW_OP_LOCAL_GET: case TW_OP_LOCAL_SET: case TW_OP_LOCAL_TEE:
        if (live) use_local(w);
        return TW_OK;
    default: return TW_OK;
    }
}

static tw_status walk_code(walk *w)
{
    tw_reader reader;
    uint32_t count;
    TW_TRY(tw_wasm_code(w->module, w->nest->func, &reader, &count, w->error));
    TW_TRY(tw_flow_begin(&w->flow, w->module, w->nest->func, w->arena, w->error));
    w->scope_count = w->next_loop = 0;
    w->written = UINT64_MAX;
    w->changed = w->inside = false;
    TW_TRY(open_scope(w));
    while (w->flow.depth) {
        TW_TRY(tw_wasm_next(&reader, &w->instr, w->error));
        TW_TRY(step(w));
    }
    return TW_OK;
}

/* One round with the candidates that have bits. */
static tw_status find_exposed(walk *w)
{
    w->exposed = w->header_count = 0;
    for (int i = 0; i < MOST_WALKS; i++) {
        TW_TRY(walk_code(w));
        if (!w->changed) return TW_OK;
    }
    w->exposed = UINT64_MAX;
    return TW_OK;
}

tw_status tw_exposed_locals(const tw_wasm *module, const tw_nest *nest, tw_exposure where, tw_arena *arena,
                            bool *candidate, tw_error *error)
{
    walk w = {.module = module, .nest = nest, .arena = arena, .error = error, .where = where};
    w.bit_of = tw_arena_alloc(arena, nest->local_count);
    TW_TRY_ALLOC(w.bit_of, error);
    for (uint32_t next = 0; next < nest->local_count;) {
        uint32_t first = next;
        uint8_t bits = 0;
        memset(w.bit_of, NOT_ONE, nest->local_count);
        for (; next < nest->local_count && bits < 64; next++)
            if (candidate[next]) w.bit_of[next] = bits++;
        if (bits) TW_TRY(find_exposed(&w));
        for (uint32_t i = first; i < next; i++)
            if (w.bit_of[i] != NOT_ONE) candidate[i] = w.exposed >> w.bit_of[i] & 1;
    }
    return TW_OK;
}
