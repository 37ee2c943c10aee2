/* SPDX-License-Identifier: Apache-2.0 */
#include "region/exprs.h"

#include "ir/ir.h"

static bool same(const tw_expr_node *a, const tw_expr_node *b)
{
    return a->kind == b->kind && a->bits == b->bits && a->op == b->op && a->index == b->index && a->a == b->a &&
           a->b == b->b && a->c == b->c && a->imm == b->imm;
}

/* Linear search: a model has a few dozen exprs, and at most TW_MODEL_MAX_EXPRS. */
static uint32_t intern(tw_model *model, tw_expr_node node)
{
    for (uint32_t i = 0; i < model->expr_count; i++)
        if (same(&model->exprs[i], &node)) return i;
    if (model->expr_count >= TW_MODEL_MAX_EXPRS) return TW_NONE;
    if (!TW_ARENA_GROW(&model->arena, model->exprs, model->expr_count, model->expr_capacity)) return TW_NONE;
    uint32_t args[] = {node.a, node.b, node.c};
    for (int i = 0; i < 3; i++)
        if (args[i] != TW_NONE) node.counters |= model->exprs[args[i]].counters, node.loads |= model->exprs[args[i]].loads;
    model->exprs[model->expr_count] = node;
    return model->expr_count++;
}

static tw_expr_node make(tw_expr_kind kind, uint8_t bits)
{
    return (tw_expr_node){.kind = (uint8_t)kind, .bits = bits, .a = TW_NONE, .b = TW_NONE, .c = TW_NONE};
}

uint32_t tw_expr_const(tw_model *model, uint8_t bits, uint64_t value)
{
    tw_expr_node node = make(TW_EXPR_CONST, bits);
    node.imm = bits == 32 ? (uint32_t)value : value;
    return intern(model, node);
}

uint32_t tw_expr_symbol(tw_model *model, uint32_t symbol)
{
    uint8_t type = model->symbols[symbol].type;
    if (type != TW_I32 && type != TW_I64) return TW_NONE;
    tw_expr_node node = make(TW_EXPR_SYMBOL, type == TW_I64 ? 64 : 32);
    node.index = symbol;
    return intern(model, node);
}

uint32_t tw_expr_counter(tw_model *model, uint8_t bits, uint32_t loop)
{
    tw_expr_node node = make(TW_EXPR_COUNTER, bits);
    node.index = loop;
    node.counters = UINT32_C(1) << loop;
    return intern(model, node);
}

bool tw_expr_is_const(const tw_model *model, uint32_t expr, uint64_t *value)
{
    if (expr == TW_NONE || model->exprs[expr].kind != TW_EXPR_CONST) return false;
    *value = model->exprs[expr].imm;
    return true;
}

uint32_t tw_expr_op(tw_model *model, tw_op op, uint8_t bits, uint32_t a, uint32_t b)
{
    uint64_t x, y = 0, folded;
    if (a == TW_NONE) return TW_NONE;
    if (tw_expr_is_const(model, a, &x) && (b == TW_NONE || tw_expr_is_const(model, b, &y)) &&
        tw_ir_fold_int(op, x, y, &folded))
        return tw_expr_const(model, bits, folded);
    tw_expr_node node = make(TW_EXPR_OP, bits);
    node.op = (uint16_t)op;
    node.a = a;
    node.b = b;
    return intern(model, node);
}

uint32_t tw_expr_select(tw_model *model, uint32_t condition, uint32_t yes, uint32_t no)
{
    uint64_t value;
    if (condition == TW_NONE || yes == TW_NONE || no == TW_NONE) return TW_NONE;
    if (yes == no) return yes;
    if (tw_expr_is_const(model, condition, &value)) return value ? yes : no;
    tw_expr_node node = make(TW_EXPR_SELECT, model->exprs[yes].kind == TW_EXPR_TRIPS ? 64 : model->exprs[yes].bits);
    node.a = condition;
    node.b = yes;
    node.c = no;
    return intern(model, node);
}

uint32_t tw_expr_load(tw_model *model, tw_op op, uint8_t bits, uint32_t address, uint64_t offset, uint32_t access)
{
    if (address == TW_NONE) return TW_NONE;
    tw_expr_node node = make(TW_EXPR_LOAD, bits);
    node.op = (uint16_t)op;
    node.loads = true;
    node.a = address;
    node.imm = offset;
    node.index = access;
    return intern(model, node);
}

bool tw_expr_compare(tw_op op, tw_compare *out)
{
    static const struct { uint16_t op; uint8_t compare; } table[] = {
        {TW_OP_I32_EQ, TW_COMPARE_EQ},     {TW_OP_I64_EQ, TW_COMPARE_EQ},
        {TW_OP_I32_NE, TW_COMPARE_NE},     {TW_OP_I64_NE, TW_COMPARE_NE},
        {TW_OP_I32_LT_S, TW_COMPARE_LT_S}, {TW_OP_I64_LT_S, TW_COMPARE_LT_S},
        {TW_OP_I32_LE_S, TW_COMPARE_LE_S}, {TW_OP_I64_LE_S, TW_COMPARE_LE_S},
        {TW_OP_I32_GT_S, TW_COMPARE_GT_S}, {TW_OP_I64_GT_S, TW_COMPARE_GT_S},
        {TW_OP_I32_GE_S, TW_COMPARE_GE_S}, {TW_OP_I64_GE_S, TW_COMPARE_GE_S},
        {TW_OP_I32_LT_U, TW_COMPARE_LT_U}, {TW_OP_I64_LT_U, TW_COMPARE_LT_U},
        {TW_OP_I32_LE_U, TW_COMPARE_LE_U}, {TW_OP_I64_LE_U, TW_COMPARE_LE_U},
        {TW_OP_I32_GT_U, TW_COMPARE_GT_U}, {TW_OP_I64_GT_U, TW_COMPARE_GT_U},
        {TW_OP_I32_GE_U, TW_COMPARE_GE_U}, {TW_OP_I64_GE_U, TW_COMPARE_GE_U},
    };
    for (size_t i = 0; i < sizeof table / sizeof *table; i++)
        if (table[i].op == op) return *out = (tw_compare)table[i].compare, true;
    return false;
}

tw_op tw_expr_compare_op(tw_compare compare, uint8_t bits)
{
    static const uint16_t ops[][2] = {
        [TW_COMPARE_EQ] = {TW_OP_I32_EQ, TW_OP_I64_EQ},       [TW_COMPARE_NE] = {TW_OP_I32_NE, TW_OP_I64_NE},
        [TW_COMPARE_LT_S] = {TW_OP_I32_LT_S, TW_OP_I64_LT_S}, [TW_COMPARE_LE_S] = {TW_OP_I32_LE_S, TW_OP_I64_LE_S},
        [TW_COMPARE_GT_S] = {TW_OP_I32_GT_S, TW_OP_I64_GT_S}, [TW_COMPARE_GE_S] = {TW_OP_I32_GE_S, TW_OP_I64_GE_S},
        [TW_COMPARE_LT_U] = {TW_OP_I32_LT_U, TW_OP_I64_LT_U}, [TW_COMPARE_LE_U] = {TW_OP_I32_LE_U, TW_OP_I64_LE_U},
        [TW_COMPARE_GT_U] = {TW_OP_I32_GT_U, TW_OP_I64_GT_U}, [TW_COMPARE_GE_U] = {TW_OP_I32_GE_U, TW_OP_I64_GE_U},
    };
    return (tw_op)ops[compare][bits == 64];
}

uint32_t tw_expr_trips(tw_model *model, tw_op compare, uint8_t bits, uint32_t start, uint32_t step, uint32_t bound)
{
    uint64_t from, by, to, trips;
    tw_compare form;
    if (start == TW_NONE || step == TW_NONE || bound == TW_NONE) return TW_NONE;
    if (tw_expr_is_const(model, start, &from) && tw_expr_is_const(model, step, &by) && tw_expr_is_const(model, bound, &to) &&
        tw_expr_compare(compare, &form) && tw_trip_count(form, bits, from, by, to, &trips))
        return tw_expr_const(model, 64, trips);
    tw_expr_node node = make(TW_EXPR_TRIPS, bits);
    node.op = (uint16_t)compare;
    node.a = start;
    node.b = step;
    node.c = bound;
    return intern(model, node);
}

uint32_t tw_expr_add(tw_model *model, uint8_t bits, uint32_t a, uint32_t b)
{
    uint64_t value;
    if (a == TW_NONE || b == TW_NONE) return TW_NONE;
    if (tw_expr_is_const(model, a, &value) && !value) return b;
    if (tw_expr_is_const(model, b, &value) && !value) return a;
    return tw_expr_op(model, bits == 64 ? TW_OP_I64_ADD : TW_OP_I32_ADD, bits, a, b);
}

uint32_t tw_expr_mul(tw_model *model, uint8_t bits, uint32_t a, uint32_t b)
{
    uint64_t value;
    if (a == TW_NONE || b == TW_NONE) return TW_NONE;
    if (tw_expr_is_const(model, a, &value) && value == 1) return b;
    if (tw_expr_is_const(model, b, &value) && value == 1) return a;
    return tw_expr_op(model, bits == 64 ? TW_OP_I64_MUL : TW_OP_I32_MUL, bits, a, b);
}

uint32_t tw_expr_equal(tw_model *model, uint8_t bits, uint32_t a, uint32_t b)
{
    if (a == TW_NONE || b == TW_NONE) return TW_NONE;
    if (a == b) return tw_expr_const(model, 32, 1);
    return tw_expr_op(model, bits == 64 ? TW_OP_I64_EQ : TW_OP_I32_EQ, 32, a, b);
}
