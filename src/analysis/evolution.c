/* SPDX-License-Identifier: Apache-2.0 */
#include "analysis/inside.h"

/* Values as polynomials, in two steps.
 *
 * The raw form of a value has VALUE atoms only: what the header of a loop carries is such an atom, sums and products are
 * worked out. It doesn't depend on a scope and needs no recursion. An atom always means the latest value; SSA makes that
 * the right one wherever the polynomial's own value may be used.
 *
 * Recurrences then say what a header's parameter is: next = parameter + step, with a step that no iteration changes,
 * makes it init + step*COUNTER. Seeing a value from a scope substitutes these, with COUNTER of loops that are over at the scope
 * being ARRIVALS - 1: a value used after its loop was computed in the last iteration (if it weren't in every
 * iteration that can be the last, its definition wouldn't dominate the use).
 *
 * A recurrence may ask for others: the step of an outer pointer is what an inner loop adds up, and that needs the inner
 * loop's count to be the same every time. A parameter that is being solved stands for itself meanwhile. What is found then is
 * true, but may be weaker than it could be, so only recurrences are kept from it.
 *
 * All substitutions of one analysis are counted; after MAX_WORK of them, which no sane function comes near, atoms stay as they
 * are. */

enum { MAX_SUBSTITUTIONS = 64, MAX_SOLVING = 100, MAX_MEMO = 1 << 20, SCRATCH_BYTES = 1 << 18, MAX_WORK = 1 << 19 };

static const tw_poly *opaque(tw_analysis *a, tw_ir_value value, uint8_t bits)
{
    const tw_poly *poly = tw_poly_atom(&a->arena, bits, tw_atom_make(TW_ATOM_VALUE, value));
    return poly ? poly : tw_analysis_fail(a);
}

/* ---- raw ---- */

static const tw_poly *raw_operand(tw_analysis *a, tw_ir_value value)
{
    const tw_ir_valuedata *data = &a->func->values[value];
    uint8_t bits = tw_value_bits(a, value);
    if (!bits) return NULL;
    if (data->kind == TW_IR_CONST) return tw_poly_const(&a->arena, bits, data->bits[0]);
    return a->raw_state[value] == TW_KNOWN ? a->raw[value] : opaque(a, value, bits);
}

/* No bit can be 1 in both. */
static bool disjoint(tw_analysis *a, tw_ir_value x, tw_ir_value y)
{
    return (~tw_range_of(a, x).zero & ~tw_range_of(a, y).zero) == 0;
}

/* x & constant, where the constant only clears bits that are 0 anyway. */
static const tw_poly *raw_and(tw_analysis *a, const tw_ir_inst *inst)
{
    for (int i = 0; i < 2; i++) {
        const tw_ir_valuedata *mask = &a->func->values[inst->args[i]];
        tw_ir_value other = inst->args[1 - i];
        if (mask->kind == TW_IR_CONST && (~tw_range_of(a, other).zero & ~mask->bits[0]) == 0) return raw_operand(a, other);
    }
    return NULL;
}

/* x ^ -1 is -x - 1. */
static const tw_poly *raw_xor(tw_analysis *a, const tw_ir_inst *inst, uint8_t bits)
{
    const tw_poly *x = raw_operand(a, inst->args[0]), *y = raw_operand(a, inst->args[1]);
    uint64_t all = bits == 32 ? UINT32_MAX : UINT64_MAX, value;
    if (tw_poly_is_const(y, &value) && value == all)
        return tw_poly_sub(&a->arena, tw_poly_neg(&a->arena, x), tw_poly_const(&a->arena, bits, 1));
    return disjoint(a, inst->args[0], inst->args[1]) ? tw_poly_add(&a->arena, x, y) : NULL;
}

static const tw_poly *raw_shift(tw_analysis *a, const tw_ir_inst *inst, uint8_t bits)
{
    uint64_t by;
    if (!tw_poly_is_const(raw_operand(a, inst->args[1]), &by)) return NULL;
    return tw_poly_scale(&a->arena, raw_operand(a, inst->args[0]), (uint64_t)1 << (by & (bits - 1u)));
}

/* NULL: no polynomial is known. */
static const tw_poly *raw_inst(tw_analysis *a, const tw_ir_inst *inst, uint8_t bits)
{
    tw_arena *arena = &a->arena;
    switch (inst->op) {
    case TW_OP_I32_ADD: case TW_OP_I64_ADD:
        return tw_poly_add(arena, raw_operand(a, inst->args[0]), raw_operand(a, inst->args[1]));
    case TW_OP_I32_SUB: case TW_OP_I64_SUB:
        return tw_poly_sub(arena, raw_operand(a, inst->args[0]), raw_operand(a, inst->args[1]));
    case TW_OP_I32_MUL: case TW_OP_I64_MUL:
        return tw_poly_mul(arena, raw_operand(a, inst->args[0]), raw_operand(a, inst->args[1]));
    case TW_OP_I32_SHL: case TW_OP_I64_SHL: return raw_shift(a, inst, bits);
    case TW_OP_I32_WRAP_I64: return tw_poly_wrap(arena, raw_operand(a, inst->args[0]), 32);
    case TW_OP_I32_AND: case TW_OP_I64_AND: return raw_and(a, inst);
    case TW_OP_I32_XOR: case TW_OP_I64_XOR: return raw_xor(a, inst, bits);
    case TW_OP_I32_OR: case TW_OP_I64_OR:
        if (!disjoint(a, inst->args[0], inst->args[1])) return NULL;
        return tw_poly_add(arena, raw_operand(a, inst->args[0]), raw_operand(a, inst->args[1]));
    default: return NULL;
    }
}

static tw_ir_value edge_arg(const tw_analysis *a, tw_cfg_edge edge, uint32_t position)
{
    return a->func->blocks[edge.from].edges[edge.edge].args[position];
}

/* A join whose ways in all bring the same. */
static const tw_poly *raw_join(tw_analysis *a, tw_ir_value value)
{
    const tw_ir_valuedata *data = &a->func->values[value];
    uint32_t first = a->cfg->pred_start[data->block], end = a->cfg->pred_start[data->block + 1];
    if (data->block == 0 || first == end || tw_header_loop(a, value) != TW_NO_LOOP) return NULL;
    const tw_poly *same = raw_operand(a, edge_arg(a, a->cfg->preds[first], data->position));
    for (uint32_t i = first + 1; i < end; i++)
        if (!tw_poly_equal(same, raw_operand(a, edge_arg(a, a->cfg->preds[i], data->position)))) return NULL;
    return same;
}

static void settle_raw(tw_analysis *a, tw_ir_value value)
{
    const tw_ir_valuedata *data = &a->func->values[value];
    uint8_t bits = tw_value_bits(a, value);
    if (!bits || data->kind == TW_IR_CONST) return;
    const tw_poly *poly = NULL;
    if (data->kind == TW_IR_RESULT) poly = raw_inst(a, &a->func->insts[data->inst], bits);
    if (data->kind == TW_IR_PARAM) poly = raw_join(a, value);
    a->raw[value] = poly ? poly : opaque(a, value, bits);
}

static bool prepare(tw_analysis *a)
{
    if (a->raw_state) return true;
    uint32_t n = a->func->value_count;
    if (!tw_analysis_loops(a)) return false;
    a->raw = TW_NEW_ARRAY(&a->arena, const tw_poly *, n);
    a->closed = TW_NEW_ARRAY(&a->arena, const tw_poly *, n);
    a->recurrences = TW_NEW_ARRAY(&a->arena, tw_recurrence, n);
    a->recurrence_state = TW_NEW_ARRAY(&a->arena, uint8_t, n);
    if (a->raw && a->closed && a->recurrences && a->recurrence_state) a->raw_state = TW_NEW_ARRAY(&a->arena, uint8_t, n);
    return a->raw_state || tw_analysis_fail(a);
}

static const tw_poly *raw_of(tw_analysis *a, tw_ir_value value)
{
    if (!prepare(a)) return NULL;
    tw_analysis_walk(a, value, a->raw_state, settle_raw);
    return raw_operand(a, value);
}

/* ---- seen from a scope ---- */

static void solve(tw_analysis *a, tw_ir_value param, tw_loop loop);

/* i64.extend_i32_*(x), of which a 32-bit polynomial sees only x. */
static const tw_poly *without_extension(tw_analysis *a, tw_ir_value value, uint8_t bits)
{
    const tw_ir_valuedata *data = &a->func->values[value];
    if (bits != 32 || data->kind != TW_IR_RESULT) return NULL;
    const tw_ir_inst *inst = &a->func->insts[data->inst];
    bool extends = inst->op == TW_OP_I64_EXTEND_I32_U || inst->op == TW_OP_I64_EXTEND_I32_S;
    return extends ? raw_of(a, inst->args[0]) : NULL;
}

/* In scratch, or older. */
static const tw_poly *closed_form(tw_analysis *a, tw_ir_value value, uint8_t bits, tw_loop scope)
{
    tw_loop loop = tw_header_loop(a, value);
    if (loop == TW_NO_LOOP) return NULL;
    solve(a, value, loop);
    const tw_poly *closed = a->recurrence_state[value] == TW_KNOWN ? a->closed[value] : NULL;
    if (!closed) return NULL;
    if (closed->bits != bits) closed = tw_poly_wrap(&a->scratch, closed, bits);
    if (tw_loop_contains(a->loops, loop, scope)) return closed;
    tw_atom counter = tw_atom_make(TW_ATOM_COUNTER, loop);
    const tw_poly *last = tw_poly_sub(&a->scratch, tw_poly_atom(&a->scratch, bits, tw_atom_make(TW_ATOM_ARRIVALS, loop)),
                                      tw_poly_const(&a->scratch, bits, 1));
    return tw_poly_substitute(&a->scratch, closed, counter, last);
}

/* What to put for an atom of poly; NULL when no atom can be resolved further. running: only parameters of loops around the
 * scope and extensions; the others come after these, in case the caps don't allow for all. */
static const tw_poly *resolvable(tw_analysis *a, const tw_poly *poly, tw_loop scope, bool running, tw_atom *atom)
{
    for (uint32_t i = 0; i < poly->term_count; i++)
        for (int k = 0; k < TW_POLY_DEGREE && poly->terms[i].atoms[k]; k++) {
            *atom = poly->terms[i].atoms[k];
            if (tw_atom_kind_of(*atom) != TW_ATOM_VALUE) continue;
            tw_ir_value value = tw_atom_index(*atom);
            const tw_poly *by = without_extension(a, value, poly->bits);
            tw_loop loop = tw_header_loop(a, value);
            if (!by && loop != TW_NO_LOOP && tw_loop_contains(a->loops, loop, scope) == running)
                by = closed_form(a, value, poly->bits, scope);
            if (by) return by;
        }
    return NULL;
}

/* As far as the caps allow: an atom left as it was is true too. NULL only when out of memory. */
static const tw_poly *resolve(tw_analysis *a, const tw_poly *poly, tw_loop scope)
{
    a->resolving++;
    a->substitutions++;
    for (uint32_t i = 0; poly && i < MAX_SUBSTITUTIONS && a->substitutions < MAX_WORK; i++, a->substitutions++) {
        tw_atom atom;
        const tw_poly *by = resolvable(a, poly, scope, true, &atom);
        if (!by) by = resolvable(a, poly, scope, false, &atom);
        const tw_poly *next = by ? tw_poly_substitute(&a->scratch, poly, atom, by) : NULL;
        if (!next) break;
        poly = next;
    }
    /* A chain of loops makes polynomials that grow by substitution: only the last one is kept. */
    const tw_poly *kept = tw_poly_copy(&a->arena, poly);
    if (poly && !kept) tw_analysis_fail(a);
    if (--a->resolving == 0 && a->scratch.used > SCRATCH_BYTES) tw_arena_free(&a->scratch);
    return kept;
}

/* ---- invariance ---- */

/* The loop's count depends on nothing that an iteration of `outer` changes. */
static bool same_count(tw_analysis *a, tw_loop inner, tw_loop outer)
{
    const tw_loopdata *data = &a->loops->items[inner];
    const tw_trip *trips = data->exit_count == 1 ? tw_trips_find(a, inner) : NULL;
    if (!trips || !trips->known || !tw_poly_invariant(a, trips->step, outer)) return false;
    /* where only the difference of start and bound counts, they may move together */
    if (trips->compare == TW_COMPARE_EQ || trips->compare == TW_COMPARE_NE)
        return tw_poly_invariant(a, tw_poly_sub(&a->arena, trips->bound, trips->start), outer);
    return tw_poly_invariant(a, trips->start, outer) && tw_poly_invariant(a, trips->bound, outer);
}

static bool atom_invariant(tw_analysis *a, tw_atom atom, tw_loop loop)
{
    uint32_t index = tw_atom_index(atom);
    const tw_ir_valuedata *data;
    switch (tw_atom_kind_of(atom)) {
    case TW_ATOM_VALUE:
        data = &a->func->values[index];
        return data->kind == TW_IR_CONST || !tw_loop_has_block(a->loops, loop, data->block);
    case TW_ATOM_COUNTER: return !tw_loop_contains(a->loops, loop, index);
    case TW_ATOM_ARRIVALS: return !tw_loop_contains(a->loops, loop, index) || (index != loop && same_count(a, index, loop));
    case TW_ATOM_NONE: return true;
    }
    return false;
}

bool tw_poly_invariant(tw_analysis *a, const tw_poly *poly, tw_loop loop)
{
    if (!poly || !prepare(a)) return false;
    if (loop == TW_NO_LOOP) return true;
    for (uint32_t i = 0; i < poly->term_count; i++)
        for (int k = 0; k < TW_POLY_DEGREE && poly->terms[i].atoms[k]; k++)
            if (!atom_invariant(a, poly->terms[i].atoms[k], loop)) return false;
    return true;
}

/* ---- recurrences ---- */

/* The same raw form on every edge, or NULL. */
static const tw_poly *same_on_edges(tw_analysis *a, const tw_cfg_edge *edges, uint32_t count, uint32_t position)
{
    tw_ir_value first = count ? edge_arg(a, edges[0], position) : 0;
    const tw_poly *same = first ? raw_of(a, first) : NULL;
    for (uint32_t i = 1; same && i < count; i++) {
        tw_ir_value arg = edge_arg(a, edges[i], position);
        if (arg != first && !tw_poly_equal(same, raw_of(a, arg))) return NULL;
    }
    return same;
}

/* What an iteration adds; NULL when that isn't the same in all. */
static const tw_poly *find_step(tw_analysis *a, tw_ir_value param, tw_loop loop)
{
    const tw_loopdata *data = &a->loops->items[loop];
    const tw_poly *step = NULL, *coef, *rest;
    tw_ir_value last = 0;
    for (uint32_t i = 0; i < data->latch_count; i++) {
        tw_ir_value arg = edge_arg(a, data->latches[i], a->func->values[param].position);
        if (arg == last) continue;
        last = arg;
        const tw_poly *next = resolve(a, raw_of(a, arg), loop);
        uint64_t one;
        if (!tw_poly_linear(&a->arena, next, tw_atom_make(TW_ATOM_VALUE, param), &coef, &rest)) return NULL;
        if (!tw_poly_is_const(coef, &one) || one != 1 || (step && !tw_poly_equal(step, rest))) return NULL;
        step = rest;
    }
    return tw_poly_invariant(a, step, loop) ? step : NULL;
}

/* A parameter that lags behind: what it gets is init' + step·COUNTER, computed without it. It is that of the iteration before, so
 * evenly moving itself if its first value is one step before init', which symbols may leave open: *given. */
static const tw_poly *find_lag(tw_analysis *a, tw_ir_value param, tw_loop loop, const tw_poly *init, const tw_poly **given)
{
    const tw_loopdata *data = &a->loops->items[loop];
    const tw_poly *step, *first, *next = same_on_edges(a, data->latches, data->latch_count, a->func->values[param].position);
    uint64_t gap;
    next = next ? resolve(a, next, loop) : NULL;
    if (!next || !tw_poly_linear(&a->arena, next, tw_atom_make(TW_ATOM_COUNTER, loop), &step, &first)) return NULL;
    if (!tw_poly_invariant(a, step, loop) || !tw_poly_invariant(a, first, loop)) return NULL;
    *given = tw_poly_sub(&a->arena, init, tw_poly_sub(&a->arena, first, step));
    if (!*given) return NULL;
    if (tw_poly_is_const(*given, &gap)) return *given = NULL, gap == 0 ? step : NULL;
    return data->parent == TW_NO_LOOP ? step : NULL;
}

static void solve(tw_analysis *a, tw_ir_value param, tw_loop loop)
{
    uint8_t bits = tw_value_bits(a, param);
    if (a->recurrence_state[param] != TW_UNKNOWN || !bits) return;
    a->recurrences[param] = (tw_recurrence){.kind = TW_PARAM_OTHER, .loop = loop};
    const tw_loopdata *data = &a->loops->items[loop];
    if (data->irreducible || a->solving >= MAX_SOLVING) {
        a->recurrence_state[param] = TW_KNOWN;
        return;
    }
    a->recurrence_state[param] = TW_VISITING;
    a->solving++;
    const tw_poly *init = same_on_edges(a, data->entries, data->entry_count, a->func->values[param].position);
    const tw_poly *step = init ? find_step(a, param, loop) : NULL, *given = NULL;
    if (init && !step) step = find_lag(a, param, loop, init, &given);
    a->solving--;
    a->recurrence_state[param] = TW_KNOWN;
    uint64_t none;
    if (!step) return;
    bool still = tw_poly_is_const(step, &none) && none == 0;
    const tw_poly *counter = tw_poly_atom(&a->arena, bits, tw_atom_make(TW_ATOM_COUNTER, loop));
    const tw_poly *closed = tw_poly_add(&a->arena, init, tw_poly_mul(&a->arena, step, counter));
    if (!closed) return;
    a->closed[param] = closed;
    a->recurrences[param] = (tw_recurrence){.kind = still ? TW_PARAM_INVARIANT : TW_PARAM_AFFINE, .loop = loop,
                                            .init = init, .step = step, .given = given};
}

/* ---- asked from outside ---- */

static tw_memo_slot *memo_slot(tw_analysis *a, uint64_t key)
{
    uint32_t mask = a->memo_slots - 1;
    uint32_t i = (uint32_t)((key * 0x9E3779B97F4A7C15u) >> 32) & mask;
    while (a->memo[i].key && a->memo[i].key != key) i = (i + 1) & mask;
    return &a->memo[i];
}

static bool memo_grow(tw_analysis *a)
{
    if (a->memo_count * 2 < a->memo_slots) return true;
    uint32_t old_slots = a->memo_slots, slots = old_slots ? old_slots * 2 : 64;
    if (slots > MAX_MEMO) return false;
    tw_memo_slot *old = a->memo, *grown = TW_NEW_ARRAY(&a->arena, tw_memo_slot, slots);
    if (!grown) return false;
    a->memo = grown;
    a->memo_slots = slots;
    for (uint32_t i = 0; i < old_slots; i++)
        if (old[i].key) *memo_slot(a, old[i].key) = old[i];
    return true;
}

const tw_poly *tw_evolution_of(tw_analysis *a, tw_ir_value value, tw_loop scope)
{
    uint8_t bits = tw_value_bits(a, value);
    if (!bits || !prepare(a)) return NULL;
    uint64_t key = (uint64_t)value << 32 | (scope + 1u);
    if (a->memo_slots && !a->solving && memo_slot(a, key)->key) return memo_slot(a, key)->poly;
    const tw_poly *poly = resolve(a, raw_of(a, value), scope);
    if (!poly) poly = opaque(a, value, bits);
    if (!a->solving && memo_grow(a)) {
        *memo_slot(a, key) = (tw_memo_slot){key, poly};
        a->memo_count++;
    }
    return poly;
}

tw_recurrence tw_recurrence_of(tw_analysis *a, tw_ir_value param)
{
    tw_recurrence none = {.kind = TW_PARAM_OTHER, .loop = TW_NO_LOOP};
    tw_loop loop = tw_header_loop(a, param);
    if (loop == TW_NO_LOOP || !prepare(a)) return none;
    none.loop = loop;
    solve(a, param, loop);
    tw_recurrence found = a->recurrences[param];
    if (found.kind == TW_PARAM_OTHER || a->recurrence_state[param] != TW_KNOWN) return none;
    found.init = resolve(a, found.init, a->loops->items[loop].parent);
    return found.init ? found : none;
}
