/* SPDX-License-Identifier: Apache-2.0 */
/* Indirect reads (tables by byte, masked or clamped indices): an address that is a linear one plus constant multiples of values
 * that follow from what the loop loads, or fold a counter. Those become the read's index, if the values have bounds (bounds.h). A check of such an index
 * against a length is taken apart in the same way. */
#include "region/builder.h"

enum { UNKNOWN, STILL, MOVES, DEEPEST = 64, MOST_PARTS = 4 };

typedef struct part { /* coef times value, modulo 2^32 */
    tw_ir_value value;
    uint32_t coef;
} part;

static bool moves(tw_builder *b, tw_ir_value value, uint32_t depth);

static bool poly_moves(tw_builder *b, const tw_poly *poly, uint32_t depth)
{
    for (uint32_t t = 0; poly && t < poly->term_count; t++)
        for (uint32_t k = 0; k < TW_POLY_DEGREE && poly->terms[t].atoms[k]; k++) {
            tw_atom atom = poly->terms[t].atoms[k];
            if (tw_atom_kind_of(atom) == TW_ATOM_COUNTER) return true;
            if (tw_atom_kind_of(atom) == TW_ATOM_VALUE && moves(b, tw_atom_index(atom), depth)) return true;
        }
    return !poly;
}

/* Made of a counter, or of a load whose address changes in the region: the plan can't make that one on arrival. */
static bool moves(tw_builder *b, tw_ir_value value, uint32_t depth)
{
    const tw_ir_valuedata *data = &b->func->values[value];
    if (data->kind != TW_IR_RESULT) return data->kind == TW_IR_PARAM && data->block != 0;
    if (b->moves[value] != UNKNOWN) return b->moves[value] == MOVES;
    const tw_ir_inst *inst = &b->func->insts[data->inst];
    bool yes = depth > DEEPEST;
    b->moves[value] = MOVES; /* until known better: cycles */
    if (!yes && tw_op_describe(inst->op)->kind == TW_KIND_LOAD)
        yes = poly_moves(b, tw_build_evolve(b, inst->args[0], b->loops->innermost[inst->block]), depth + 1);
    else
        for (uint32_t a = 0; a < inst->arg_count && !yes; a++) yes = moves(b, inst->args[a], depth + 1);
    b->moves[value] = yes ? MOVES : STILL;
    return yes;
}

/* `i & 3`, `i % 10`: of a counter no polynomial. */
static bool folds(const tw_builder *b, tw_ir_value value)
{
    switch (b->func->insts[b->func->values[value].inst].op) {
    case TW_OP_I32_AND: case TW_OP_I64_AND: case TW_OP_I32_REM_U: case TW_OP_I64_REM_U: case TW_OP_I32_REM_S: case TW_OP_I64_REM_S: return true;
    default: return false;
    }
}

static bool is_part(tw_builder *b, const tw_poly *poly, uint32_t term)
{
    const tw_atom *atoms = poly->terms[term].atoms;
    if (!atoms[0] || atoms[1] || tw_atom_kind_of(atoms[0]) != TW_ATOM_VALUE) return false;
    tw_ir_value value = tw_atom_index(atoms[0]);
    if (b->func->values[value].kind != TW_IR_RESULT) return false;
    return (tw_build_made_of_loads(b, value) || folds(b, value)) && moves(b, value, 0);
}

/* Takes the parts out of *poly. */
static uint32_t take_parts(tw_builder *b, const tw_poly **poly, part *parts)
{
    uint32_t count = 0;
    for (uint32_t t = 0; t < (*poly)->term_count && count < MOST_PARTS; t++)
        if (is_part(b, *poly, t)) parts[count++] = (part){tw_atom_index((*poly)->terms[t].atoms[0]), (uint32_t)(*poly)->terms[t].coef};
    for (uint32_t p = 0; p < count && *poly; p++)
        *poly = tw_poly_substitute(b->arena, *poly, tw_atom_make(TW_ATOM_VALUE, parts[p].value), tw_poly_const(b->arena, 32, 0));
    return *poly ? count : 0;
}

/* TW_NONE: can't. */
static uint32_t value_of(tw_builder *b, const part *p, tw_loop scope)
{
    uint32_t value = tw_build_use(b, p->value, scope);
    if (value != TW_NONE && b->model->values[value].type == TW_I64)
        value = tw_build_op(b, TW_OP_I32_WRAP_I64, TW_I32, value, TW_NONE);
    if (value == TW_NONE || p->coef == 1) return value;
    uint32_t coef = tw_build_const(b, TW_I32, p->coef);
    return coef == TW_NONE ? TW_NONE : tw_build_op(b, TW_OP_I32_MUL, TW_I32, value, coef);
}

static bool find_bounds(const tw_builder *b, uint32_t index, tw_bounds *out)
{
    tw_bounds *bounds = TW_NEW_ARRAY(b->arena, tw_bounds, b->model->value_count);
    if (!bounds) return false;
    tw_bounds_find(b->model, bounds);
    *out = bounds[index];
    return out->least > INT32_MIN || out->most < INT32_MAX;
}

bool tw_build_index(tw_builder *b, const tw_poly **poly, tw_loop scope, uint32_t *index, tw_bounds *bounds)
{
    part parts[MOST_PARTS];
    const tw_poly *rest = *poly;
    uint32_t count = rest->bits == 32 ? take_parts(b, &rest, parts) : 0;
    *index = TW_NONE;
    for (uint32_t p = 0; p < count; p++) {
        uint32_t value = value_of(b, &parts[p], scope);
        if (value != TW_NONE && *index != TW_NONE) value = tw_build_op(b, TW_OP_I32_ADD, TW_I32, *index, value);
        if (value == TW_NONE) return false;
        *index = value;
    }
    if (*index == TW_NONE) return true;
    if (find_bounds(b, *index, bounds)) *poly = rest;
    else *index = TW_NONE; /* refused later, as what isn't linear */
    return true;
}
