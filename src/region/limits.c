/* SPDX-License-Identifier: Apache-2.0 */
#include "region/builder.h"

#include <inttypes.h>
#include <string.h>

/* An assumption is a condition that must have one outcome whenever its block runs. Taken apart into compares, each becomes a
 * limit: a value that moves evenly with the counters against one that doesn't, or against another. It is asked of all values of the counters, also
 * of those for which the block isn't reached: at worst a plan refuses what would have been right. */

enum { DEEPEST = 16 };

static bool refuse(tw_builder *b, const tw_ir_assume *assume, const char *why)
{
    return tw_refuse(b->reason, TW_REFUSAL_EXIT, "the way out at 0x%" PRIx64 " %s", assume->offset, why);
}

static bool add_limit(tw_builder *b, const tw_ir_assume *assume, tw_limit limit)
{
    tw_model *model = b->model;
    if (limit.affine == TW_NONE) return false;
    for (uint32_t l = 0; l < model->limit_count; l++) {
        const tw_limit *have = &model->limits[l];
        if (have->affine == limit.affine && have->op == limit.op && have->bound == limit.bound && have->other == limit.other) return true;
    }
    if (model->limit_count >= TW_MODEL_MAX_LIMITS || !TW_ARENA_GROW(&model->arena, model->limits, model->limit_count, model->limit_capacity))
        return tw_refuse(b->reason, TW_REFUSAL_TOO_BIG, "the model grows too large");
    limit.place = assume->offset;
    model->limits[model->limit_count++] = limit;
    return true;
}

/* ---- compares ---- */

/* An expr that no counter changes, or TW_NONE. */
static uint32_t steady(tw_builder *b, const tw_poly *poly)
{
    uint32_t expr = tw_build_expr(b, poly);
    return expr != TW_NONE && !b->model->exprs[expr].counters ? expr : TW_NONE;
}

static bool limit_polys(tw_builder *b, const tw_ir_assume *assume, tw_compare compare, const tw_poly *left, const tw_poly *right)
{
    uint32_t loop = b->loop_of[b->loops->innermost[assume->block]], bound, other = TW_NONE;
    if (!left || !right || loop == TW_NONE) return refuse(b, assume, "is taken on a condition that isn't a number's");
    if ((bound = steady(b, right)) == TW_NONE) {
        if ((bound = steady(b, left)) != TW_NONE) {
            left = right;
            compare = tw_compare_swap(compare);
        } else if (compare == TW_COMPARE_EQ || compare == TW_COMPARE_NE) { /* a difference modulo 2^bits */
            left = tw_poly_sub(b->arena, left, right);
            bound = left ? tw_expr_const(b->model, left->bits, 0) : TW_NONE;
        } else {
            other = tw_build_affine(b, right, loop);
        }
    }
    if (!left || (bound == TW_NONE && other == TW_NONE)) return tw_refuse(b->reason, TW_REFUSAL_TOO_BIG, "the model grows too large");
    return add_limit(b, assume, (tw_limit){.affine = tw_build_affine(b, left, loop), .op = (uint16_t)tw_expr_compare_op(compare, left->bits),
                                           .bound = bound, .other = other});
}

/* A side that data move within bounds: what is left of it with the least, and with the greatest of them. Where the compare holds at both ends,
 * and neither they nor anything between goes round (the lower one is the lower one), it holds between them. */
typedef struct side {
    const tw_poly *poly[2];
    uint32_t count;
} side;

static bool side_of(tw_builder *b, const tw_poly *poly, tw_compare compare, tw_loop scope, side *out)
{
    uint32_t index;
    tw_bounds bounds;
    *out = (side){{poly}, 1};
    if (!poly || compare <= TW_COMPARE_NE) return true;
    const tw_poly *rest = poly;
    if (!tw_build_index(b, &rest, scope, &index, &bounds)) return false;
    if (index == TW_NONE) return true;
    out->poly[0] = tw_poly_add(b->arena, rest, tw_poly_const(b->arena, 32, (uint32_t)bounds.least));
    out->poly[1] = tw_poly_add(b->arena, rest, tw_poly_const(b->arena, 32, (uint32_t)bounds.most));
    out->count = 2;
    return true;
}

static bool limit_ends(tw_builder *b, const tw_ir_assume *assume, tw_compare compare, const side *s)
{
    return s->count == 1 || limit_polys(b, assume, tw_compare_is_signed(compare) ? TW_COMPARE_LE_S : TW_COMPARE_LE_U, s->poly[0], s->poly[1]);
}

static bool limit_values(tw_builder *b, const tw_ir_assume *assume, tw_compare compare, tw_ir_value left, tw_ir_value right)
{
    tw_loop scope = b->loops->innermost[assume->block];
    const tw_poly *first = tw_build_evolve(b, left, scope);
    const tw_poly *second = !first ? NULL : right ? tw_build_evolve(b, right, scope) : tw_poly_const(b->arena, first->bits, 0);
    side lefts, rights;
    if (!side_of(b, first, compare, scope, &lefts) || !side_of(b, second, compare, scope, &rights)) return false;
    if (!limit_ends(b, assume, compare, &lefts) || !limit_ends(b, assume, compare, &rights)) return false;
    for (uint32_t l = 0; l < lefts.count; l++)
        for (uint32_t r = 0; r < rights.count; r++)
            if (!limit_polys(b, assume, compare, lefts.poly[l], rights.poly[r])) return false;
    return true;
}

/* ---- conditions ---- */

static const tw_ir_inst *inst_of(const tw_builder *b, tw_ir_value value)
{
    const tw_ir_valuedata *data = &b->func->values[value];
    return data->kind == TW_IR_RESULT ? &b->func->insts[data->inst] : NULL;
}

static bool is_truth(const tw_builder *b, tw_ir_value value)
{
    tw_compare compare;
    const tw_ir_inst *inst = inst_of(b, value);
    return inst && (inst->op == TW_OP_I32_EQZ || inst->op == TW_OP_I64_EQZ || tw_expr_compare(inst->op, &compare));
}

/* `value` is ≠ 0 (holds), or 0. */
static bool limit_condition(tw_builder *b, const tw_ir_assume *assume, tw_ir_value value, bool holds, uint32_t depth)
{
    tw_compare compare;
    const tw_ir_inst *inst = inst_of(b, value);
    if (inst && depth < DEEPEST) {
        if (inst->op == TW_OP_I32_EQZ) return limit_condition(b, assume, inst->args[0], !holds, depth + 1);
        if (inst->op == TW_OP_I64_EQZ) return limit_values(b, assume, holds ? TW_COMPARE_EQ : TW_COMPARE_NE, inst->args[0], 0);
        if (tw_expr_compare(inst->op, &compare))
            return limit_values(b, assume, holds ? compare : tw_compare_negate(compare), inst->args[0], inst->args[1]);
        bool both = (inst->op == TW_OP_I32_OR && !holds) ||
                    (inst->op == TW_OP_I32_AND && holds && is_truth(b, inst->args[0]) && is_truth(b, inst->args[1]));
        if (both)
            return limit_condition(b, assume, inst->args[0], holds, depth + 1) && limit_condition(b, assume, inst->args[1], holds, depth + 1);
    }
    return limit_values(b, assume, holds ? TW_COMPARE_NE : TW_COMPARE_EQ, value, 0);
}

bool tw_build_limits(tw_builder *b)
{
    for (uint32_t a = 0; a < b->func->assume_count; a++) {
        const tw_ir_assume *assume = &b->func->assumes[a];
        if (b->cfg->position[assume->block] == UINT32_MAX) continue;
        if (!limit_condition(b, assume, assume->value, assume->holds, 0)) return false;
    }
    return true;
}

/* ---- loops that change ---- */

static bool moves_with(const tw_builder *b, uint32_t affine, tw_atom counter)
{
    return affine != TW_NONE && tw_poly_has(b->affine[affine], counter);
}

bool tw_build_is_limited(const tw_builder *b, uint32_t loop)
{
    if (b->natural[loop] == TW_NO_LOOP) return false;
    tw_atom counter = tw_atom_make(TW_ATOM_COUNTER, b->natural[loop]);
    for (uint32_t l = 0; l < b->model->limit_count; l++)
        if (moves_with(b, b->model->limits[l].affine, counter) || moves_with(b, b->model->limits[l].other, counter)) return true;
    return false;
}

/* *affine of loop `rest` becomes one of `main`. False: no room. */
static bool hand_on(tw_builder *b, uint32_t *affine, uint32_t rest, uint32_t main, const tw_poly *(*first)(const void *context, uint8_t bits),
                    const void *context)
{
    if (*affine == TW_NONE || b->affine_loop[*affine] != rest) return true;
    const tw_poly *poly = b->affine[*affine], *start = first(context, poly->bits);
    const tw_poly *counter = tw_poly_atom(b->arena, poly->bits, tw_atom_make(TW_ATOM_COUNTER, b->natural[main]));
    if (!start || !counter || !(counter = tw_poly_sub(b->arena, counter, start))) return false;
    poly = tw_poly_substitute(b->arena, poly, tw_atom_make(TW_ATOM_COUNTER, b->natural[rest]), counter);
    return poly && (*affine = tw_build_affine(b, poly, main)) != TW_NONE;
}

bool tw_build_hand_on_limits(tw_builder *b, uint32_t rest, uint32_t main, const tw_poly *(*first)(const void *context, uint8_t bits),
                             const void *context)
{
    tw_model *model = b->model;
    tw_limit *next = TW_NEW_ARRAY(b->arena, tw_limit, model->limit_count);
    if (!next) return false;
    for (uint32_t l = 0; l < model->limit_count; l++) {
        next[l] = model->limits[l];
        if (!hand_on(b, &next[l].affine, rest, main, first, context) || !hand_on(b, &next[l].other, rest, main, first, context)) return false;
    }
    if (model->limit_count) memcpy(model->limits, next, model->limit_count * sizeof *next);
    return true;
}
