/* SPDX-License-Identifier: Apache-2.0 */
#include "region/bounds.h"

#include "region/exprs.h"

typedef __int128 wide;

static uint32_t bits_of(uint8_t type)
{
    return type == TW_I32 ? 32 : 64;
}

static tw_bounds anything(uint32_t bits)
{
    return bits == 32 ? (tw_bounds){INT32_MIN, INT32_MAX} : (tw_bounds){INT64_MIN, INT64_MAX};
}

static tw_bounds fitted(wide least, wide most, uint32_t bits)
{
    tw_bounds all = anything(bits);
    return least < all.least || most > all.most ? all : (tw_bounds){(int64_t)least, (int64_t)most};
}

static tw_bounds either(tw_bounds a, tw_bounds b)
{
    return (tw_bounds){a.least < b.least ? a.least : b.least, a.most > b.most ? a.most : b.most};
}

static bool is_exact(tw_bounds s)
{
    return s.least == s.most;
}

static tw_bounds of_load(tw_op op, uint32_t bits)
{
    switch (op) {
    case TW_OP_I32_LOAD8_U: case TW_OP_I64_LOAD8_U: return (tw_bounds){0, UINT8_MAX};
    case TW_OP_I32_LOAD8_S: case TW_OP_I64_LOAD8_S: return (tw_bounds){INT8_MIN, INT8_MAX};
    case TW_OP_I32_LOAD16_U: case TW_OP_I64_LOAD16_U: return (tw_bounds){0, UINT16_MAX};
    case TW_OP_I32_LOAD16_S: case TW_OP_I64_LOAD16_S: return (tw_bounds){INT16_MIN, INT16_MAX};
    case TW_OP_I64_LOAD32_U: return (tw_bounds){0, UINT32_MAX};
    case TW_OP_I64_LOAD32_S: return (tw_bounds){INT32_MIN, INT32_MAX};
    default: return anything(bits);
    }
}

static tw_bounds multiply(tw_bounds a, tw_bounds b, uint32_t bits)
{
    wide ends[] = {(wide)a.least * b.least, (wide)a.least * b.most, (wide)a.most * b.least, (wide)a.most * b.most};
    wide least = ends[0], most = ends[0];
    for (int i = 1; i < 4; i++) {
        if (ends[i] < least) least = ends[i];
        if (ends[i] > most) most = ends[i];
    }
    return fitted(least, most, bits);
}

static tw_bounds and_of(tw_bounds a, tw_bounds b, uint32_t bits)
{
    if (a.least < 0 && b.least < 0) return anything(bits);
    if (a.least < 0) return (tw_bounds){0, b.most};
    if (b.least < 0) return (tw_bounds){0, a.most};
    return (tw_bounds){0, a.most < b.most ? a.most : b.most};
}

/* or, xor: no bit above the highest of either. */
static tw_bounds or_of(tw_bounds a, tw_bounds b, uint32_t bits)
{
    if (a.least < 0 || b.least < 0) return anything(bits);
    uint64_t high = (uint64_t)a.most | (uint64_t)b.most;
    return (tw_bounds){0, high ? (int64_t)(UINT64_MAX >> __builtin_clzll(high)) : 0};
}

static tw_bounds shift(tw_op op, tw_bounds a, uint32_t by, uint32_t bits)
{
    if (op == TW_OP_I32_SHL || op == TW_OP_I64_SHL) return fitted((wide)a.least * ((wide)1 << by), (wide)a.most * ((wide)1 << by), bits);
    if (op == TW_OP_I32_SHR_S || op == TW_OP_I64_SHR_S || a.least >= 0) return (tw_bounds){a.least >> by, a.most >> by};
    return by ? (tw_bounds){0, (int64_t)((bits == 32 ? UINT32_MAX : UINT64_MAX) >> by)} : anything(bits);
}

/* By a constant above 0. */
static tw_bounds divide(tw_op op, tw_bounds a, int64_t by, uint32_t bits)
{
    switch (op) {
    case TW_OP_I32_DIV_U: case TW_OP_I64_DIV_U:
        if (a.least >= 0) return (tw_bounds){a.least / by, a.most / by};
        return fitted(0, (bits == 32 ? UINT32_MAX : UINT64_MAX) / (uint64_t)by, bits);
    case TW_OP_I32_DIV_S: case TW_OP_I64_DIV_S: return (tw_bounds){a.least / by, a.most / by};
    case TW_OP_I32_REM_S: case TW_OP_I64_REM_S:
        return (tw_bounds){a.least < 0 ? 1 - by : 0, a.most > by - 1 ? by - 1 : a.most < 0 ? 0 : a.most};
    default: return (tw_bounds){0, a.least >= 0 && a.most < by - 1 ? a.most : by - 1};
    }
}

static tw_bounds of_binary(tw_op op, tw_bounds a, tw_bounds b, uint32_t bits)
{
    switch (op) {
    case TW_OP_I32_ADD: case TW_OP_I64_ADD: return fitted((wide)a.least + b.least, (wide)a.most + b.most, bits);
    case TW_OP_I32_SUB: case TW_OP_I64_SUB: return fitted((wide)a.least - b.most, (wide)a.most - b.least, bits);
    case TW_OP_I32_MUL: case TW_OP_I64_MUL: return multiply(a, b, bits);
    case TW_OP_I32_AND: case TW_OP_I64_AND: return and_of(a, b, bits);
    case TW_OP_I32_OR: case TW_OP_I64_OR: case TW_OP_I32_XOR: case TW_OP_I64_XOR: return or_of(a, b, bits);
    case TW_OP_I32_SHL: case TW_OP_I64_SHL: case TW_OP_I32_SHR_S: case TW_OP_I64_SHR_S: case TW_OP_I32_SHR_U: case TW_OP_I64_SHR_U:
        return is_exact(b) ? shift(op, a, (uint32_t)b.least & (bits - 1), bits) : anything(bits);
    case TW_OP_I32_DIV_U: case TW_OP_I64_DIV_U: case TW_OP_I32_DIV_S: case TW_OP_I64_DIV_S:
    case TW_OP_I32_REM_U: case TW_OP_I64_REM_U: case TW_OP_I32_REM_S: case TW_OP_I64_REM_S:
        return is_exact(b) && b.least > 0 ? divide(op, a, b.least, bits) : anything(bits);
    default: return anything(bits);
    }
}

static tw_bounds narrowed(tw_bounds a, int64_t least, int64_t most, uint32_t bits)
{
    if (a.least >= least && a.most <= most) return a;
    return fitted(least, most, bits);
}

static tw_bounds of_unary(tw_op op, tw_bounds a, uint32_t bits)
{
    switch (op) {
    case TW_OP_I64_EXTEND_I32_U: return a.least >= 0 ? a : (tw_bounds){0, UINT32_MAX};
    case TW_OP_I64_EXTEND_I32_S: return a;
    case TW_OP_I32_WRAP_I64: case TW_OP_I64_EXTEND32_S: return narrowed(a, INT32_MIN, INT32_MAX, bits);
    case TW_OP_I32_EXTEND8_S: case TW_OP_I64_EXTEND8_S: return narrowed(a, INT8_MIN, INT8_MAX, bits);
    case TW_OP_I32_EXTEND16_S: case TW_OP_I64_EXTEND16_S: return narrowed(a, INT16_MIN, INT16_MAX, bits);
    case TW_OP_I32_CLZ: case TW_OP_I32_CTZ: case TW_OP_I32_POPCNT: return (tw_bounds){0, 32};
    case TW_OP_I64_CLZ: case TW_OP_I64_CTZ: case TW_OP_I64_POPCNT: return (tw_bounds){0, 64};
    default: return anything(bits);
    }
}

/* ---- selects ---- */

/* What is left of s where `s compare bound` holds; s itself when that says nothing that an interval can say. */
static tw_bounds where(tw_bounds s, tw_compare compare, int64_t bound)
{
    tw_bounds out = s;
    if (compare >= TW_COMPARE_LT_U && bound < 0) return s;
    switch (compare) {
    case TW_COMPARE_LT_U: if (bound > 0 && out.least < 0) out.least = 0; /* fall through */
    case TW_COMPARE_LT_S: if (bound > INT64_MIN && out.most > bound - 1) out.most = bound - 1; break;
    case TW_COMPARE_LE_U: if (out.least < 0) out.least = 0; /* fall through */
    case TW_COMPARE_LE_S: if (out.most > bound) out.most = bound; break;
    case TW_COMPARE_GT_S: if (bound < INT64_MAX && out.least < bound + 1) out.least = bound + 1; break;
    case TW_COMPARE_GE_S: if (out.least < bound) out.least = bound; break;
    default: break;
    }
    return out.least <= out.most ? out : s;
}

/* Of an arm that is picked where the condition is `yes`. */
static tw_bounds arm(const tw_model *model, const tw_bounds *bounds, uint32_t value, const tw_value_node *condition, bool yes)
{
    tw_compare compare;
    tw_bounds s = bounds[value];
    if (condition->kind != TW_VALUE_OP || !tw_expr_compare((tw_op)condition->op, &compare)) return s;
    uint32_t x = condition->args[0], y = condition->args[1];
    if (y == value) compare = tw_compare_swap(compare), y = x;
    else if (x != value) return s;
    if (!is_exact(bounds[y]) || model->values[y].type != model->values[value].type) return s;
    return where(s, yes ? compare : tw_compare_negate(compare), bounds[y].least);
}

static tw_bounds of_select(const tw_model *model, const tw_bounds *bounds, const tw_value_node *n)
{
    const tw_value_node *condition = &model->values[n->args[2]];
    return either(arm(model, bounds, n->args[0], condition, true), arm(model, bounds, n->args[1], condition, false));
}

/* ---- all ---- */

static tw_bounds of_op(const tw_model *model, const tw_bounds *bounds, const tw_value_node *n)
{
    const tw_op_info *info = tw_op_describe((tw_op)n->op);
    uint32_t bits = bits_of(n->type);
    if (n->op == TW_OP_SELECT) return of_select(model, bounds, n);
    if (n->op >= TW_OP_I32_EQZ && n->op <= TW_OP_F64_GE) return (tw_bounds){0, 1};
    tw_type from = tw_type_from_letter(info->operands[0]);
    if (from != TW_I32 && from != TW_I64) return anything(bits);
    if (n->args[1] != TW_NONE) return of_binary((tw_op)n->op, bounds[n->args[0]], bounds[n->args[1]], bits);
    return of_unary((tw_op)n->op, bounds[n->args[0]], bits);
}

void tw_bounds_find(const tw_model *model, tw_bounds *bounds)
{
    for (uint32_t i = 0; i < model->value_count; i++) {
        const tw_value_node *n = &model->values[i];
        uint32_t bits = bits_of(n->type);
        bounds[i] = anything(bits);
        if (n->type != TW_I32 && n->type != TW_I64) continue;
        if (n->kind == TW_VALUE_CONST) bounds[i].least = bounds[i].most = bits == 32 ? (int32_t)(uint32_t)n->bits : (int64_t)n->bits;
        if (n->kind == TW_VALUE_READ) bounds[i] = of_load((tw_op)model->accesses[n->index].op, bits);
        if (n->kind == TW_VALUE_OP) bounds[i] = of_op(model, bounds, n);
    }
}
