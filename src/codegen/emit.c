/* SPDX-License-Identifier: Apache-2.0 */
/* From tree to LLVM function.
 *
 *   entry:   load the environment; range check ── bad ──► return OUT_OF_RANGE
 *   body:    the tree's nodes, outside in
 *   stopped: return STOPPED
 *
 * A loop is guarded and tested at its end:   current ─(no trip)─► after
 *                                               └─► before ─► body … latch ─┬─► body
 *                                                                           └─► after
 * One with lanes or rows is that loop several times in a row: whole vectors, then what is left.
 *
 * A call shared by several threads (no parallel root): all of them run the sequential loops around thread loops, and read;
 * stores outside thread loops, and loops with stores but without a thread loop, are thread 0's, between two meetings; a
 * thread loop ends with a meeting, and begins with one when a thread might still be reading what it stores. */

#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include "codegen/inside.h"

enum { LONG_LOOP = 1 << 20 };

void tw_gen_fail(tw_emitter *e, tw_status status, const char *format, ...)
{
    if (e->status != TW_OK) return;
    char message[256];
    va_list args;
    va_start(args, format);
    vsnprintf(message, sizeof message, format, args);
    va_end(args);
    e->status = tw_fail(e->error, status, "%s", message);
}

static void emit_node(tw_emitter *e, uint32_t index);

/* ---- scopes ---- */

static void push_scope(tw_emitter *e, tw_scope scope)
{
    if (e->depth + 1 >= TW_MAX_SCOPES) {
        tw_gen_fail(e, TW_INTERNAL, "loops are nested more deeply than the emitter can follow");
        return;
    }
    scope.serial = ++e->serials;
    e->scopes[++e->depth] = scope;
}

static void emit_children(tw_emitter *e, const tw_node *node)
{
    for (uint32_t i = 0; i < node->child_count; i++) emit_node(e, node->children[i]);
}

/* ---- threads ---- */

/* Leaves with STOPPED when `bit` is set. */
static void leave_if(tw_emitter *e, LLVMValueRef bit)
{
    LLVMBasicBlockRef go_on = tw_gen_block(e, "on");
    LLVMBuildCondBr(e->builder, bit, e->stopped, go_on);
    LLVMPositionBuilderAtEnd(e->builder, go_on);
}

static void emit_poll(tw_emitter *e)
{
    LLVMValueRef flag = LLVMBuildLoad2(e->builder, e->i32, e->stop, "stop");
    LLVMSetVolatile(flag, 1);
    leave_if(e, LLVMBuildICmp(e->builder, LLVMIntNE, flag, LLVMConstNull(e->i32), ""));
}

static void emit_meeting(tw_emitter *e)
{
    e->meet_pending = false;
    LLVMBasicBlockRef meet = tw_gen_block(e, "meet"), met = tw_gen_block(e, "met");
    LLVMValueRef alone = LLVMBuildICmp(e->builder, LLVMIntEQ, e->threads, LLVMConstInt(e->i32, 1, 0), "");
    LLVMBuildCondBr(e->builder, alone, met, meet);
    LLVMPositionBuilderAtEnd(e->builder, meet);
    LLVMTypeRef type = LLVMFunctionType(e->i32, &e->pointer, 1, 0);
    LLVMValueRef answer = LLVMBuildCall2(e->builder, type, e->meet, &e->meet_context, 1, "");
    LLVMBuildCondBr(e->builder, LLVMBuildICmp(e->builder, LLVMIntNE, answer, LLVMConstNull(e->i32), ""), e->stopped, met);
    LLVMPositionBuilderAtEnd(e->builder, met);
}

static bool has_kind(const tw_emitter *e, const tw_node *node, uint8_t kind)
{
    for (uint32_t i = 0; i < node->child_count; i++) {
        const tw_node *child = &e->tree->nodes[node->children[i]];
        if (child->kind == kind || (child->kind == TW_NODE_LOOP && has_kind(e, child, kind))) return true;
    }
    return false;
}

/* A store outside the thread loops: thread 0's. */
static void emit_lone_store(tw_emitter *e, const tw_node *node)
{
    emit_meeting(e);
    LLVMValueRef first = LLVMBuildICmp(e->builder, LLVMIntEQ, e->thread, LLVMConstNull(e->i32), "");
    tw_gen_store(e, node, first);
    emit_meeting(e);
}

/* ---- loops ---- */

static LLVMValueRef int_min(tw_emitter *e, LLVMValueRef a, LLVMValueRef b)
{
    return LLVMBuildSelect(e->builder, LLVMBuildICmp(e->builder, LLVMIntSLT, a, b, ""), a, b, "");
}

/* t0 + Σ t·counter, where it doesn't change any more. */
static LLVMValueRef emit_trip_count(tw_emitter *e, uint32_t loop)
{
    uint32_t word = e->layout.trips[loop], mask = 0;
    LLVMValueRef sum = tw_gen_arg(e, word), by[TW_MAX_SCOPES] = {0};
    if (!e->facts->varying[loop]) return sum;
    mask = e->model->exprs[e->model->loops[loop].trips].counters;
    for (uint32_t k = 1; k <= e->depth; k++)
        if (!e->scopes[k].sets_off_blocks && (mask >> e->scopes[k].loop & 1))
            by[k] = tw_gen_arg(e, word + 1 + e->model->loops[e->scopes[k].loop].depth);
    LLVMBasicBlockRef back = tw_gen_at(e, tw_gen_depth_of(e, mask));
    for (uint32_t k = 1; k <= e->depth; k++)
        if (by[k]) sum = LLVMBuildAdd(e->builder, sum, LLVMBuildMul(e->builder, by[k], e->scopes[k].counter, ""), "");
    tw_gen_back(e, back);
    return sum;
}

typedef struct bounds {
    LLVMValueRef lower, upper;
} bounds;

/* This thread's share: as many whole steps as the next thread's. */
static bounds share_of(tw_emitter *e, bounds all, uint32_t step)
{
    LLVMBuilderRef b = e->builder;
    LLVMValueRef threads = LLVMBuildZExt(b, e->threads, e->i64, ""), thread = LLVMBuildZExt(b, e->thread, e->i64, "");
    LLVMValueRef trips = LLVMBuildSub(b, all.upper, all.lower, ""), steps_of = tw_gen_const64(e, step);
    LLVMValueRef none = LLVMBuildICmp(b, LLVMIntSLT, trips, tw_gen_const64(e, 0), "");
    trips = LLVMBuildSelect(b, none, tw_gen_const64(e, 0), trips, "");
    LLVMValueRef per = LLVMBuildMul(b, threads, steps_of, "");
    LLVMValueRef steps = LLVMBuildUDiv(b, LLVMBuildAdd(b, trips, LLVMBuildSub(b, per, tw_gen_const64(e, 1), ""), ""), per, "");
    LLVMValueRef each = LLVMBuildMul(b, steps, steps_of, "");
    LLVMValueRef from = int_min(e, LLVMBuildMul(b, thread, each, ""), trips);
    LLVMValueRef to = int_min(e, LLVMBuildAdd(b, from, each, ""), trips);
    return (bounds){LLVMBuildAdd(b, all.lower, from, ""), LLVMBuildAdd(b, all.lower, to, "")};
}

static LLVMValueRef int_max(tw_emitter *e, LLVMValueRef a, LLVMValueRef b)
{
    return LLVMBuildSelect(e->builder, LLVMBuildICmp(e->builder, LLVMIntSGT, a, b, ""), a, b, "");
}

static LLVMValueRef trips_of(tw_emitter *e, uint32_t loop)
{
    return loop == 0 ? e->last : emit_trip_count(e, loop);
}

static LLVMValueRef ceil_div(tw_emitter *e, LLVMValueRef value, uint32_t by) /* value >= 0 */
{
    LLVMValueRef up = LLVMBuildAdd(e->builder, value, tw_gen_const64(e, (int64_t)by - 1), "");
    return LLVMBuildUDiv(e->builder, up, tw_gen_const64(e, by), "");
}

/* From 0 to the sum of the last tile's numbers; none where one of the loops has no trip. */
static bounds bounds_of_diagonals(tw_emitter *e)
{
    LLVMBuilderRef b = e->builder;
    LLVMValueRef none = tw_gen_const64(e, 0), one = tw_gen_const64(e, 1), skew = tw_gen_const64(e, e->tree->pair.skew);
    LLVMValueRef outer = trips_of(e, e->tree->pair.outer), inner = trips_of(e, e->tree->pair.inner);
    LLVMValueRef fronts = LLVMBuildAdd(b, inner, LLVMBuildMul(b, skew, LLVMBuildSub(b, outer, one, ""), ""), "");
    LLVMValueRef tiles = LLVMBuildAdd(b, ceil_div(e, outer, e->tree->pair.rows), ceil_div(e, fronts, e->tree->pair.width), "");
    LLVMValueRef some = LLVMBuildICmp(b, LLVMIntSGT, int_min(e, outer, inner), none, "");
    return (bounds){none, LLVMBuildSelect(b, some, LLVMBuildSub(b, tiles, one, ""), none, "")};
}

/* The rows of the tiles on diagonal d: a tile's number by w, d less that by rows, is one of the fronts'. */
static bounds bounds_of_tiles(tw_emitter *e)
{
    LLVMBuilderRef b = e->builder;
    LLVMValueRef d = e->scopes[e->depth].counter, none = tw_gen_const64(e, 0), one = tw_gen_const64(e, 1);
    LLVMValueRef rows = tw_gen_const64(e, e->tree->pair.rows), skew = tw_gen_const64(e, e->tree->pair.skew);
    LLVMValueRef outer = trips_of(e, e->tree->pair.outer), inner = trips_of(e, e->tree->pair.inner);
    LLVMValueRef fronts = LLVMBuildAdd(b, inner, LLVMBuildMul(b, skew, LLVMBuildSub(b, outer, one, ""), ""), "");
    LLVMValueRef across = ceil_div(e, fronts, e->tree->pair.width);
    LLVMValueRef first = int_max(e, LLVMBuildAdd(b, LLVMBuildSub(b, d, across, ""), one, ""), none);
    LLVMValueRef upper = int_min(e, LLVMBuildMul(b, LLVMBuildAdd(b, d, one, ""), rows, ""), outer);
    return (bounds){LLVMBuildMul(b, first, rows, ""), upper};
}

/* w in the tile, as far as its rows get there. The tile's scope is the innermost one, its diagonal's the next. */
static bounds bounds_of_fronts(tw_emitter *e)
{
    LLVMBuilderRef b = e->builder;
    const tw_scope *tile = &e->scopes[e->depth], *diagonal = &e->scopes[e->depth - 1];
    LLVMValueRef one = tw_gen_const64(e, 1), skew = tw_gen_const64(e, e->tree->pair.skew);
    LLVMValueRef row = LLVMBuildUDiv(b, tile->counter, tw_gen_const64(e, e->tree->pair.rows), "");
    LLVMValueRef width = tw_gen_const64(e, e->tree->pair.width);
    LLVMValueRef begin = LLVMBuildMul(b, LLVMBuildSub(b, diagonal->counter, row, ""), width, "");
    LLVMValueRef last = LLVMBuildMul(b, skew, LLVMBuildSub(b, tile->upper, one, ""), "");
    LLVMValueRef end = LLVMBuildAdd(b, trips_of(e, e->tree->pair.inner), last, "");
    return (bounds){int_max(e, begin, LLVMBuildMul(b, skew, tile->counter, "")), int_min(e, LLVMBuildAdd(b, begin, width, ""), end)};
}

/* The tile's trips of the outer loop for which 0 <= w - skew·outer < the inner one's trips. */
static bounds bounds_in_front(tw_emitter *e)
{
    LLVMBuilderRef b = e->builder;
    const tw_scope *front = &e->scopes[e->depth], *tile = &e->scopes[e->depth - 1];
    LLVMValueRef none = tw_gen_const64(e, 0), one = tw_gen_const64(e, 1), skew = tw_gen_const64(e, e->tree->pair.skew);
    if (!e->tree->pair.skew) return (bounds){tile->counter, tile->upper};
    LLVMValueRef inner_last = LLVMBuildSub(b, trips_of(e, e->tree->pair.inner), one, "");
    LLVMValueRef beyond = int_max(e, LLVMBuildSub(b, front->counter, inner_last, ""), none);
    LLVMValueRef upper = LLVMBuildAdd(b, LLVMBuildUDiv(b, front->counter, skew, ""), one, "");
    return (bounds){int_max(e, ceil_div(e, beyond, e->tree->pair.skew), tile->counter), int_min(e, upper, tile->upper)};
}

static bounds bounds_of(tw_emitter *e, const tw_node *node)
{
    if (node->diagonals) return bounds_of_diagonals(e);
    if (node->fronts) return bounds_of_fronts(e);
    if (node->in_block)
        for (uint32_t k = e->depth; k > 0; k--)
            if (e->scopes[k].sets_off_blocks && e->scopes[k].loop == node->loop)
                return (bounds){e->scopes[k].counter, e->scopes[k].upper};
    bounds all = {tw_gen_const64(e, 0), NULL};
    if (node->in_front) all = bounds_in_front(e);
    else if (node->tiles) all = bounds_of_tiles(e);
    else if (node->loop == 0) all = (bounds){e->first, e->last};
    else all.upper = emit_trip_count(e, node->loop);
    bool shared = node->threads && !e->tree->outer_parallel;
    uint32_t step = node->lanes * node->vectors * node->rows;
    return shared ? share_of(e, all, node->block > step ? node->block : step) : all;
}

/* Carried scalars of a loop while it is emitted. */
typedef struct carrier {
    uint32_t index; /* of the model's carried */
    tw_instances now, init, after;
} carrier;

static void set_values_of(tw_emitter *e, uint8_t kind, uint32_t carried, const tw_instances *instances)
{
    for (uint32_t v = 0; v < e->model->value_count; v++) {
        const tw_value_node *n = &e->model->values[v];
        if (n->kind == kind && n->index == carried) e->values[v] = *instances;
    }
}

static uint32_t carried_mask(const tw_emitter *e, uint32_t carried)
{
    const tw_carried *c = &e->model->carried[carried];
    return e->varies[c->init] | e->varies[c->next] | 1u << c->loop;
}

/* Lanes that a carried scalar has: those of its loop's enclosing lane loop, if it varies with it. */
static uint32_t lanes_by(const tw_emitter *e, uint32_t mask)
{
    return e->lane_loop != TW_NONE && (mask >> e->lane_loop & 1) ? e->lanes : 1;
}

/* Inits, in the scope around, with as many lanes and instances as the scalar has. */
static uint32_t begin_carriers(tw_emitter *e, uint32_t loop, carrier **out)
{
    uint32_t count = 0;
    carrier *carriers = TW_NEW_ARRAY(e->arena, carrier, e->model->carried_count);
    if (!carriers) return tw_gen_fail(e, TW_NO_MEMORY, "out of memory"), 0;
    for (uint32_t c = 0; c < e->model->carried_count; c++) {
        if (e->model->carried[c].loop != loop) continue;
        carrier *k = &carriers[count++];
        k->index = c;
        uint32_t mask = carried_mask(e, c);
        const tw_instances *init = tw_gen_value(e, e->model->carried[c].init);
        tw_gen_instances(e, &k->init, e->depth, mask);
        for (uint32_t r = 0; r < k->init.rows; r++)
            for (uint32_t v = 0; v < k->init.vectors; v++)
                k->init.of[r * k->init.vectors + v] = tw_gen_splat(e, tw_gen_instance(init, r, v), lanes_by(e, mask));
    }
    *out = carriers;
    return count;
}

static uint32_t instance_count(const tw_instances *instances)
{
    return (uint32_t)instances->rows * instances->vectors;
}

/* Phis at the begin of the loop's body, whose scope has been entered. */
static void make_phis(tw_emitter *e, carrier *k, LLVMBasicBlockRef before)
{
    tw_gen_instances(e, &k->now, e->depth, carried_mask(e, k->index));
    for (uint32_t i = 0; i < instance_count(&k->now); i++) {
        k->now.of[i] = LLVMBuildPhi(e->builder, LLVMTypeOf(k->init.of[i]), "");
        LLVMAddIncoming(k->now.of[i], &k->init.of[i], &before, 1);
    }
    set_values_of(e, TW_VALUE_CARRIED, k->index, &k->now);
}

/* What the next trip gets; computed at the end of this one. */
static void make_next(tw_emitter *e, carrier *k)
{
    uint32_t mask = carried_mask(e, k->index);
    const tw_instances *next = tw_gen_value(e, e->model->carried[k->index].next);
    tw_gen_instances(e, &k->after, e->depth, mask);
    for (uint32_t r = 0; r < k->after.rows; r++)
        for (uint32_t v = 0; v < k->after.vectors; v++)
            k->after.of[r * k->after.vectors + v] = tw_gen_splat(e, tw_gen_instance(next, r, v), lanes_by(e, mask));
}

static LLVMValueRef merge(tw_emitter *e, LLVMValueRef a, LLVMBasicBlockRef from_a, LLVMValueRef b, LLVMBasicBlockRef from_b)
{
    LLVMValueRef phi = LLVMBuildPhi(e->builder, LLVMTypeOf(a), "");
    LLVMAddIncoming(phi, (LLVMValueRef[]){a, b}, (LLVMBasicBlockRef[]){from_a, from_b}, 2);
    return phi;
}

/* Final values, at the begin of the block after the loop, whose scope has been left. */
static void end_carriers(tw_emitter *e, carrier *carriers, uint32_t count, LLVMBasicBlockRef around, LLVMBasicBlockRef latch)
{
    for (uint32_t c = 0; c < count; c++) {
        carrier *k = &carriers[c];
        tw_instances final = {0};
        uint32_t mask = carried_mask(e, k->index);
        tw_gen_instances(e, &final, e->depth, mask);
        for (uint32_t i = 0; i < instance_count(&k->init); i++)
            final.of[i] = merge(e, k->init.of[i], around, k->after.of[i], latch);
        set_values_of(e, TW_VALUE_FINAL, k->index, &final);
    }
}

static void emit_if(tw_emitter *e, const tw_node *node)
{
    carrier *carriers = NULL;
    uint32_t count = begin_carriers(e, node->loop, &carriers);
    LLVMValueRef trips = emit_trip_count(e, node->loop);
    LLVMBasicBlockRef then = tw_gen_block(e, "then"), after = tw_gen_block(e, "endif");
    LLVMBasicBlockRef around = LLVMGetInsertBlock(e->builder);
    LLVMBuildCondBr(e->builder, LLVMBuildICmp(e->builder, LLVMIntSGT, trips, tw_gen_const64(e, 0), ""), then, after);
    LLVMPositionBuilderAtEnd(e->builder, then);
    push_scope(e, (tw_scope){.loop = node->loop, .node = node, .around = around, .counter = tw_gen_const64(e, 0)});
    for (uint32_t c = 0; c < count; c++) {
        carriers[c].now = carriers[c].init; /* at most one trip: what it starts with is what it began with */
        set_values_of(e, TW_VALUE_CARRIED, carriers[c].index, &carriers[c].now);
    }
    emit_children(e, node);
    for (uint32_t c = 0; c < count; c++) make_next(e, &carriers[c]);
    LLVMBasicBlockRef end = LLVMGetInsertBlock(e->builder);
    LLVMBuildBr(e->builder, after);
    e->depth--;
    LLVMPositionBuilderAtEnd(e->builder, after);
    end_carriers(e, carriers, count, around, end);
}

/* What one emission of a loop's body does at a time. */
typedef struct shape {
    uint32_t lanes, vectors, rows;
} shape;

static uint64_t step_of(const tw_node *node, shape s)
{
    return node->block ? node->block : (uint64_t)s.lanes * s.vectors * s.rows;
}

/* Everything that goes round a loop, from before it to after it. */
typedef struct round_trip {
    carrier *carriers;
    uint32_t carrier_count, held_count;
    tw_held held[TW_MAX_HELD];
} round_trip;

static void begin_body(tw_emitter *e, round_trip *t, LLVMBasicBlockRef before)
{
    for (uint32_t c = 0; c < t->carrier_count; c++) make_phis(e, &t->carriers[c], before);
    for (uint32_t h = 0; h < t->held_count; h++) tw_gen_held_begin(e, &t->held[h], before);
}

static void emit_held_children(tw_emitter *e, const tw_node *node, round_trip *t)
{
    tw_held *outer = e->held;
    uint32_t outer_count = e->held_count;
    e->held = t->held, e->held_count = t->held_count;
    emit_children(e, node);
    e->held = outer, e->held_count = outer_count;
    for (uint32_t c = 0; c < t->carrier_count; c++) make_next(e, &t->carriers[c]);
}

static void close_body(round_trip *t, LLVMBasicBlockRef latch)
{
    for (uint32_t c = 0; c < t->carrier_count; c++)
        for (uint32_t i = 0; i < instance_count(&t->carriers[c].now); i++)
            LLVMAddIncoming(t->carriers[c].now.of[i], &t->carriers[c].after.of[i], &latch, 1);
    for (uint32_t h = 0; h < t->held_count; h++) tw_gen_held_next(&t->held[h], latch);
}

/* Loops around loops look at the stop flag in every trip; innermost ones that may take milliseconds do, too. The root of
 * a parallel region is called in chunks. */
static bool wants_poll(const tw_emitter *e, const tw_node *node)
{
    if (has_kind(e, node, TW_NODE_LOOP)) return true;
    return e->facts->trips[node->loop] >= LONG_LOOP && !(node->loop == 0 && e->tree->outer_parallel);
}

/* Trips from `range.lower` in steps while whole ones fit; returns where it stopped. */
static LLVMValueRef emit_trips(tw_emitter *e, const tw_node *node, bounds range, shape s)
{
    LLVMBuilderRef b = e->builder;
    uint64_t step = step_of(node, s);
    bool whole = step > 1 && !node->block; /* blocks may be cut short */
    round_trip t = {0};
    t.carrier_count = begin_carriers(e, node->loop, &t.carriers);
    if (step == 1) t.held_count = tw_gen_find_held(e, node, t.held);
    int64_t left = (int64_t)step - 1 + (s.lanes > 1 && e->spared == node);
    LLVMValueRef limit = whole ? LLVMBuildSub(b, range.upper, tw_gen_const64(e, left), "") : range.upper;
    LLVMBasicBlockRef before = tw_gen_block(e, "before"), body = tw_gen_block(e, "body");
    LLVMBasicBlockRef leave = tw_gen_block(e, "leave"), after = tw_gen_block(e, "after"), around = LLVMGetInsertBlock(b);
    LLVMBuildCondBr(b, LLVMBuildICmp(b, LLVMIntSLT, range.lower, limit, ""), before, after);
    LLVMPositionBuilderAtEnd(b, before);
    for (uint32_t h = 0; h < t.held_count; h++) tw_gen_held_load(e, &t.held[h]);
    LLVMBuildBr(b, body);
    LLVMPositionBuilderAtEnd(b, body);
    LLVMValueRef counter = LLVMBuildPhi(b, e->i64, "n");
    LLVMAddIncoming(counter, &range.lower, &before, 1);
    push_scope(e, (tw_scope){.loop = node->loop, .node = node, .around = around, .before = before, .counter = counter,
                             .sets_off_blocks = node->block != 0 || node->diagonals});
    begin_body(e, &t, before);
    LLVMValueRef next = LLVMBuildAdd(b, counter, tw_gen_const64(e, (int64_t)step), "");
    if (node->block) e->scopes[e->depth].upper = int_min(e, next, range.upper);
    emit_held_children(e, node, &t);
    if (wants_poll(e, node)) emit_poll(e);
    LLVMBasicBlockRef latch = LLVMGetInsertBlock(b);
    LLVMBuildCondBr(b, LLVMBuildICmp(b, LLVMIntSLT, next, limit, ""), body, leave);
    LLVMAddIncoming(counter, &next, &latch, 1);
    close_body(&t, latch);
    e->depth--;
    LLVMPositionBuilderAtEnd(b, leave);
    for (uint32_t h = 0; h < t.held_count; h++) tw_gen_held_store(e, &t.held[h]);
    LLVMBuildBr(b, after);
    LLVMPositionBuilderAtEnd(b, after);
    LLVMValueRef reached = merge(e, range.lower, around, next, leave);
    end_carriers(e, t.carriers, t.carrier_count, around, leave);
    return reached;
}

/* The same trips with the emitter told which loop has lanes or rows. */
static LLVMValueRef emit_shaped(tw_emitter *e, const tw_node *node, bounds range, shape s)
{
    uint32_t lane_loop = e->lane_loop, row_loop = e->row_loop, lanes = e->lanes, vectors = e->vectors, rows = e->rows;
    const tw_node *spared = e->spared;
    if (s.lanes > 1) e->lane_loop = node->loop, e->lanes = s.lanes, e->vectors = s.vectors;
    if (s.lanes > 1) e->spared = tw_gen_needs_spare(e, node, node->loop) ? node : NULL;
    if (s.rows > 1) e->row_loop = node->loop, e->rows = s.rows;
    LLVMValueRef reached = emit_trips(e, node, range, s);
    e->lane_loop = lane_loop, e->row_loop = row_loop, e->lanes = lanes, e->vectors = vectors, e->rows = rows;
    e->spared = spared;
    return reached;
}

/* Reads that no meeting follows: those in a thread loop are over when it is. */
static bool reads_alone(const tw_emitter *e, const tw_node *node)
{
    if (node->threads && e->tree->shares_work) return false;
    for (uint32_t i = 0; i < node->child_count; i++) {
        const tw_node *child = &e->tree->nodes[node->children[i]];
        if (child->kind == TW_NODE_READ || (child->kind == TW_NODE_LOOP && reads_alone(e, child))) return true;
    }
    return false;
}

static void emit_loop(tw_emitter *e, const tw_node *node)
{
    bool shared = node->threads && e->tree->shares_work, pending = e->meet_pending;
    if (shared && pending) emit_meeting(e);
    if (reads_alone(e, node)) e->meet_pending = true; /* a later trip's stores, an earlier one's reads */
    bounds range = bounds_of(e, node);
    bool was_in = e->in_threads;
    e->in_threads |= node->threads;
    if (node->vectors > 1) range.lower = emit_shaped(e, node, range, (shape){node->lanes, node->vectors, 1});
    if (node->lanes > 1) range.lower = emit_shaped(e, node, range, (shape){node->lanes, 1, 1});
    else if (node->rows > 1) range.lower = emit_shaped(e, node, range, (shape){1, 1, node->rows});
    emit_shaped(e, node, range, (shape){1, 1, 1});
    e->in_threads = was_in;
    if (shared) emit_meeting(e);
    else e->meet_pending |= pending;
}

static bool has_thread_loop(const tw_emitter *e, const tw_node *node)
{
    if (node->threads) return true;
    for (uint32_t i = 0; i < node->child_count; i++)
        if (has_thread_loop(e, &e->tree->nodes[node->children[i]])) return true;
    return false;
}

/* A loop with stores that no other thread has a part in. What is computed inside is thread 0's alone, so the branch is a
 * scope; the schedule sees to it that nothing inside is wanted outside. */
static void emit_lone_loop(tw_emitter *e, const tw_node *node)
{
    emit_meeting(e);
    LLVMBasicBlockRef mine = tw_gen_block(e, "mine"), done = tw_gen_block(e, "done"), around = LLVMGetInsertBlock(e->builder);
    LLVMValueRef first = LLVMBuildICmp(e->builder, LLVMIntEQ, e->thread, LLVMConstNull(e->i32), "");
    LLVMBuildCondBr(e->builder, first, mine, done);
    LLVMPositionBuilderAtEnd(e->builder, mine);
    push_scope(e, (tw_scope){.loop = TW_NONE, .sets_off_blocks = true, .around = around});
    e->in_threads = true;
    if (e->model->loops[node->loop].is_if) emit_if(e, node);
    else emit_loop(e, node);
    e->in_threads = false;
    e->depth--;
    LLVMBuildBr(e->builder, done);
    LLVMPositionBuilderAtEnd(e->builder, done);
    emit_meeting(e);
}

static void emit_node(tw_emitter *e, uint32_t index)
{
    const tw_node *node = &e->tree->nodes[index];
    bool alone = e->tree->shares_work && !e->in_threads;
    if (tw_gen_held_node(e, node)) return;
    if (node->kind == TW_NODE_READ) {
        if (alone) e->meet_pending = true;
        tw_gen_read(e, node);
    } else if (node->kind == TW_NODE_STORE) {
        if (alone) emit_lone_store(e, node);
        else tw_gen_store(e, node, NULL);
    } else if (alone && !has_thread_loop(e, node) && has_kind(e, node, TW_NODE_STORE)) {
        emit_lone_loop(e, node);
    } else if (e->model->loops[node->loop].is_if) {
        bool pending = e->meet_pending;
        emit_if(e, node);
        e->meet_pending |= pending;
    } else {
        emit_loop(e, node);
    }
}

/* ---- the function ---- */

static LLVMValueRef load_field(tw_emitter *e, LLVMTypeRef type, size_t offset, const char *name)
{
    LLVMValueRef index = tw_gen_const64(e, (int64_t)offset);
    LLVMValueRef at = LLVMBuildInBoundsGEP2(e->builder, e->i8, e->env, &index, 1, "");
    return LLVMBuildLoad2(e->builder, type, at, name);
}

static void load_environment(tw_emitter *e)
{
    e->env = LLVMGetParam(e->function, 0);
    e->first = LLVMGetParam(e->function, 1);
    e->last = LLVMGetParam(e->function, 2);
    e->memory = load_field(e, e->pointer, offsetof(tw_kernel_env, memory), "memory");
    e->memory_size = load_field(e, e->i64, offsetof(tw_kernel_env, memory_size), "size");
    e->args = load_field(e, e->pointer, offsetof(tw_kernel_env, args), "args");
    e->stop = load_field(e, e->pointer, offsetof(tw_kernel_env, stop), "stop");
    e->thread = load_field(e, e->i32, offsetof(tw_kernel_env, thread), "thread");
    e->threads = load_field(e, e->i32, offsetof(tw_kernel_env, threads), "threads");
    e->meet = load_field(e, e->pointer, offsetof(tw_kernel_env, meet), "meet");
    e->meet_context = load_field(e, e->pointer, offsetof(tw_kernel_env, context), "context");
}

static void emit_return(tw_emitter *e, tw_kernel_result result)
{
    LLVMBuildRet(e->builder, LLVMConstInt(e->i32, result, 0));
}

static void emit_outputs(tw_emitter *e)
{
    if (!e->model->output_count) return;
    LLVMValueRef block = load_field(e, e->pointer, offsetof(tw_kernel_env, outputs), "outputs");
    for (uint32_t i = 0; i < e->model->output_count; i++) {
        uint32_t value = e->model->outputs[i];
        uint8_t type = e->model->values[value].type;
        LLVMValueRef bits = tw_gen_value(e, value)->of[0], index = tw_gen_const64(e, (int64_t)i * 8);
        LLVMTypeRef raw = type == TW_I32 || type == TW_F32 ? e->i32 : e->i64;
        if (type == TW_F32 || type == TW_F64) bits = LLVMBuildBitCast(e->builder, bits, raw, "");
        if (raw == e->i32) bits = LLVMBuildZExt(e->builder, bits, e->i64, "");
        LLVMBuildStore(e->builder, bits, LLVMBuildInBoundsGEP2(e->builder, e->i8, block, &index, 1, ""));
    }
}

static void make_groups(tw_emitter *e)
{
    LLVMMetadataRef name = LLVMMDStringInContext2(e->context, "memory", 6);
    LLVMMetadataRef domain = LLVMMDNodeInContext2(e->context, &name, 1);
    for (uint32_t x = 0; x < e->model->access_count; x++) {
        uint8_t g = e->facts->group[x];
        char text[16];
        int length = snprintf(text, sizeof text, "group %u", g);
        LLVMMetadataRef parts[] = {LLVMMDStringInContext2(e->context, text, (size_t)length), domain};
        if (!e->group_scope[g]) e->group_scope[g] = LLVMMDNodeInContext2(e->context, parts, 2);
    }
    e->kind_alias_scope = LLVMGetMDKindIDInContext(e->context, "alias.scope", 11);
    e->kind_noalias = LLVMGetMDKindIDInContext(e->context, "noalias", 7);
}

static void emit_body(tw_emitter *e)
{
    e->lane_loop = e->row_loop = TW_NONE;
    e->lanes = e->vectors = e->rows = 1;
    e->scopes[0] = (tw_scope){.loop = TW_NONE, .serial = ++e->serials};
    if (e->tree->root_count == 0 || e->model->loop_count == 0) e->in_threads = true; /* nothing to share */
    emit_poll(e);
    for (uint32_t i = 0; i < e->tree->root_count; i++) emit_node(e, e->tree->roots[i]);
    emit_outputs(e);
    emit_return(e, TW_KERNEL_DONE);
}

/* Carried scalars of the root start anew in every call, and wavefronts begin at the corner: such a region runs in one. */
static LLVMValueRef starts_at_zero(tw_emitter *e, LLVMValueRef good)
{
    bool must = e->tree->has_fronts && e->tree->pair.outer == 0;
    for (uint32_t c = 0; c < e->model->carried_count; c++) must |= e->model->carried[c].loop == 0;
    if (!must) return good;
    LLVMValueRef zero = LLVMBuildICmp(e->builder, LLVMIntEQ, e->first, tw_gen_const64(e, 0), "");
    return LLVMBuildAnd(e->builder, good, zero, "");
}

tw_status tw_gen_kernel(tw_emitter *e)
{
    LLVMTypeRef params[] = {e->pointer, e->i64, e->i64};
    e->function = LLVMAddFunction(e->module, "tw_kernel", LLVMFunctionType(e->i32, params, 3, 0));
    LLVMBasicBlockRef entry = tw_gen_block(e, "entry"), body = tw_gen_block(e, "inside");
    LLVMBasicBlockRef outside = tw_gen_block(e, "outside");
    e->stopped = tw_gen_block(e, "stopped");
    LLVMPositionBuilderAtEnd(e->builder, entry);
    load_environment(e);
    make_groups(e);
    for (uint32_t i = 0; i < e->tree->node_count; i++)
        if (e->tree->nodes[i].kind != TW_NODE_LOOP) e->in_tree[e->tree->nodes[i].access] = true;
    tw_gen_find_representatives(e);
    LLVMValueRef good = starts_at_zero(e, tw_gen_range_check(e));
    LLVMBuildCondBr(e->builder, good, body, outside);
    LLVMPositionBuilderAtEnd(e->builder, outside);
    emit_return(e, TW_KERNEL_OUT_OF_RANGE);
    LLVMPositionBuilderAtEnd(e->builder, e->stopped);
    emit_return(e, TW_KERNEL_STOPPED);
    LLVMPositionBuilderAtEnd(e->builder, body);
    emit_body(e);
    return e->status;
}
