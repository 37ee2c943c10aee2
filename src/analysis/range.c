/* SPDX-License-Identifier: Apache-2.0 */
#include "analysis/inside.h"

/* Known bits and unsigned ranges, forward, once per value. A loop header's parameter keeps only its low bits: those its entry
 * value has and every step leaves alone (an index that goes 0, 4, 8, …). */

enum { STEP_CHAIN = 16 }; /* additions followed from a latch back to the parameter */

static uint64_t mask_of(uint8_t bits)
{
    return bits >= 64 ? UINT64_MAX : ((uint64_t)1 << bits) - 1;
}

static uint64_t low_mask(unsigned count)
{
    return count >= 64 ? UINT64_MAX : ((uint64_t)1 << count) - 1;
}

static tw_range everything(uint8_t bits)
{
    return (tw_range){.zero = ~mask_of(bits), .max = mask_of(bits)};
}

static tw_range between(uint64_t min, uint64_t max, uint8_t bits)
{
    return (tw_range){.zero = ~mask_of(bits), .min = min, .max = max};
}

/* Lets bits and bounds sharpen each other. What can't be (dead code) becomes everything. */
static tw_range tidy(tw_range r, uint8_t bits)
{
    r.zero |= ~mask_of(bits);
    if (r.min < r.one) r.min = r.one;
    if (r.max > ~r.zero) r.max = ~r.zero;
    if (r.max != UINT64_MAX) r.zero |= ~low_mask(r.max ? 64 - (unsigned)__builtin_clzll(r.max) : 0);
    if (r.min > r.max || (r.zero & r.one)) return everything(bits);
    return r;
}

static tw_range exactly(uint64_t value)
{
    return (tw_range){.zero = ~value, .one = value, .min = value, .max = value};
}

static tw_range either(tw_range a, tw_range b)
{
    return (tw_range){.zero = a.zero & b.zero, .one = a.one & b.one, .min = a.min < b.min ? a.min : b.min,
                      .max = a.max > b.max ? a.max : b.max};
}

/* Of a value that was walked; everything when it's part of a cycle. */
static tw_range of(tw_analysis *a, tw_ir_value value)
{
    const tw_ir_valuedata *data = &a->func->values[value];
    uint8_t bits = tw_value_bits(a, value);
    if (!bits) return everything(64);
    if (data->kind == TW_IR_CONST) return exactly(data->bits[0]);
    return a->range_state[value] == TW_KNOWN ? a->ranges[value] : everything(bits);
}

static unsigned known_low(tw_range r)
{
    uint64_t unknown = ~(r.zero | r.one);
    return unknown ? (unsigned)__builtin_ctzll(unknown) : 64;
}

static unsigned zero_low(tw_range r)
{
    return ~r.zero ? (unsigned)__builtin_ctzll(~r.zero) : 64;
}

/* add, sub, mul: the low bits of the result depend on the low bits of the operands only. */
static void set_low(tw_range *out, tw_range x, tw_range y, uint64_t result)
{
    unsigned known = known_low(x) < known_low(y) ? known_low(x) : known_low(y);
    out->one |= result & low_mask(known);
    out->zero |= ~result & low_mask(known);
}

static tw_range add(tw_range x, tw_range y, uint8_t bits)
{
    tw_range out = everything(bits);
    uint64_t max;
    if (!__builtin_add_overflow(x.max, y.max, &max) && max <= mask_of(bits)) out = between(x.min + y.min, max, bits);
    set_low(&out, x, y, x.one + y.one);
    return out;
}

static tw_range subtract(tw_range x, tw_range y, uint8_t bits)
{
    tw_range out = x.min >= y.max ? between(x.min - y.max, x.max - y.min, bits) : everything(bits);
    set_low(&out, x, y, x.one - y.one);
    return out;
}

static tw_range multiply(tw_range x, tw_range y, uint8_t bits)
{
    tw_range out = everything(bits);
    uint64_t max;
    if (!__builtin_mul_overflow(x.max, y.max, &max) && max <= mask_of(bits)) out = between(x.min * y.min, max, bits);
    set_low(&out, x, y, x.one * y.one);
    out.zero |= low_mask(zero_low(x) + zero_low(y)) & mask_of(bits);
    return out;
}

static tw_range shift_left(tw_range x, unsigned by, uint8_t bits)
{
    tw_range out = everything(bits);
    if (x.max <= mask_of(bits) >> by) out = between(x.min << by, x.max << by, bits);
    out.zero |= x.zero << by | low_mask(by);
    out.one |= x.one << by & mask_of(bits);
    return out;
}

static tw_range shift_right(tw_range x, unsigned by, uint8_t bits)
{
    tw_range out = between(x.min >> by, x.max >> by, bits);
    out.zero |= (x.zero & mask_of(bits)) >> by | ~(mask_of(bits) >> by);
    out.one |= x.one >> by;
    return out;
}

static tw_range logic(tw_op op, tw_range x, tw_range y, uint8_t bits)
{
    tw_range out = everything(bits);
    switch (op) {
    case TW_OP_I32_AND: case TW_OP_I64_AND:
        out.zero = x.zero | y.zero;
        out.one = x.one & y.one;
        out.max = x.max < y.max ? x.max : y.max;
        return out;
    case TW_OP_I32_OR: case TW_OP_I64_OR:
        out.zero = x.zero & y.zero;
        out.one = x.one | y.one;
        out.min = x.min > y.min ? x.min : y.min;
        return out;
    default:
        out.zero = (x.zero & y.zero) | (x.one & y.one);
        out.one = (x.zero & y.one) | (x.one & y.zero);
        return out;
    }
}

/* Sign extension from `from` bits of something that has no sign there. */
static tw_range extend(tw_range x, uint8_t from, uint8_t bits)
{
    return x.max <= mask_of(from) >> 1 ? x : everything(bits);
}

static tw_range divide(tw_op op, tw_range x, uint64_t by, uint8_t bits)
{
    if (by == 0) return everything(bits);
    if (op == TW_OP_I32_DIV_U || op == TW_OP_I64_DIV_U) return between(x.min / by, x.max / by, bits);
    return x.max < by ? x : between(0, by - 1, bits);
}

static tw_range of_binary(tw_analysis *a, const tw_ir_inst *inst, uint8_t bits)
{
    tw_range x = of(a, inst->args[0]), y = of(a, inst->args[1]);
    bool fixed = y.min == y.max;
    unsigned by = (unsigned)(y.min & (bits - 1u));
    switch (inst->op) {
    case TW_OP_I32_ADD: case TW_OP_I64_ADD: return add(x, y, bits);
    case TW_OP_I32_SUB: case TW_OP_I64_SUB: return subtract(x, y, bits);
    case TW_OP_I32_MUL: case TW_OP_I64_MUL: return multiply(x, y, bits);
    case TW_OP_I32_AND: case TW_OP_I64_AND: case TW_OP_I32_OR: case TW_OP_I64_OR: case TW_OP_I32_XOR: case TW_OP_I64_XOR:
        return logic(inst->op, x, y, bits);
    case TW_OP_I32_SHL: case TW_OP_I64_SHL: return fixed ? shift_left(x, by, bits) : everything(bits);
    case TW_OP_I32_SHR_U: case TW_OP_I64_SHR_U: return fixed ? shift_right(x, by, bits) : between(0, x.max, bits);
    case TW_OP_I32_SHR_S: case TW_OP_I64_SHR_S:
        return fixed && x.max <= mask_of(bits) >> 1 ? shift_right(x, by, bits) : everything(bits);
    case TW_OP_I32_DIV_U: case TW_OP_I64_DIV_U: case TW_OP_I32_REM_U: case TW_OP_I64_REM_U:
        return fixed ? divide(inst->op, x, y.min, bits) : between(0, x.max, bits);
    default: return everything(bits);
    }
}

static tw_range of_unary(tw_analysis *a, const tw_ir_inst *inst, uint8_t bits)
{
    tw_range x = of(a, inst->args[0]);
    switch (inst->op) {
    case TW_OP_I64_EXTEND_I32_U: return x;
    case TW_OP_I64_EXTEND_I32_S: case TW_OP_I64_EXTEND32_S: return extend(x, 32, bits);
    case TW_OP_I32_EXTEND8_S: case TW_OP_I64_EXTEND8_S: return extend(x, 8, bits);
    case TW_OP_I32_EXTEND16_S: case TW_OP_I64_EXTEND16_S: return extend(x, 16, bits);
    case TW_OP_I32_WRAP_I64:
        if (x.max <= UINT32_MAX) return x;
        return (tw_range){.zero = x.zero | ~mask_of(32), .one = x.one & mask_of(32), .max = UINT32_MAX};
    case TW_OP_I32_CLZ: case TW_OP_I32_CTZ: case TW_OP_I32_POPCNT: return between(0, 32, bits);
    case TW_OP_I64_CLZ: case TW_OP_I64_CTZ: case TW_OP_I64_POPCNT: return between(0, 64, bits);
    default: return everything(bits);
    }
}

static tw_range of_load(tw_op op, uint8_t bits)
{
    switch (op) {
    case TW_OP_I32_LOAD8_U: case TW_OP_I64_LOAD8_U: return between(0, 0xFF, bits);
    case TW_OP_I32_LOAD16_U: case TW_OP_I64_LOAD16_U: return between(0, 0xFFFF, bits);
    case TW_OP_I64_LOAD32_U: return between(0, UINT32_MAX, bits);
    default: return everything(bits);
    }
}

/* Comparisons, also of floats and vectors' any_true: names end where the table says i32 from something that isn't. */
static bool is_truth(tw_op op)
{
    return (op >= TW_OP_I32_EQZ && op <= TW_OP_F64_GE) || op == TW_OP_V128_ANY_TRUE || op == TW_OP_I8X16_ALL_TRUE ||
           op == TW_OP_I16X8_ALL_TRUE || op == TW_OP_I32X4_ALL_TRUE || op == TW_OP_I64X2_ALL_TRUE || op == TW_OP_REF_IS_NULL;
}

static tw_range of_inst(tw_analysis *a, const tw_ir_inst *inst, uint8_t bits)
{
    if (is_truth(inst->op)) return between(0, 1, bits);
    if (inst->op == TW_OP_SELECT) return either(of(a, inst->args[0]), of(a, inst->args[1]));
    uint8_t kind = tw_op_describe(inst->op)->kind;
    if (kind == TW_KIND_LOAD) return of_load(inst->op, bits);
    if (kind != TW_KIND_PURE && kind != TW_KIND_TRAPPING) return everything(bits);
    if (inst->arg_count == 2) return of_binary(a, inst, bits);
    return inst->arg_count == 1 ? of_unary(a, inst, bits) : everything(bits);
}

/* How many low bits every way from param to the latch's argument leaves alone; 0 when it isn't param plus constants. */
static unsigned kept_low(const tw_ir_func *func, tw_ir_value param, tw_ir_value value)
{
    unsigned kept = 64;
    for (int i = 0; i < STEP_CHAIN; i++) {
        if (value == param) return kept;
        const tw_ir_valuedata *data = &func->values[value];
        if (data->kind != TW_IR_RESULT) return 0;
        const tw_ir_inst *inst = &func->insts[data->inst];
        bool adds = inst->op == TW_OP_I32_ADD || inst->op == TW_OP_I64_ADD, subs = inst->op == TW_OP_I32_SUB || inst->op == TW_OP_I64_SUB;
        if (!adds && !subs) return 0;
        bool swapped = adds && func->values[inst->args[0]].kind == TW_IR_CONST;
        const tw_ir_valuedata *step = &func->values[inst->args[!swapped]];
        if (step->kind != TW_IR_CONST) return 0;
        unsigned low = step->bits[0] ? (unsigned)__builtin_ctzll(step->bits[0]) : 64;
        if (low < kept) kept = low;
        value = inst->args[swapped];
    }
    return 0;
}

static tw_ir_value edge_arg(const tw_ir_func *func, tw_cfg_edge edge, uint32_t position)
{
    return func->blocks[edge.from].edges[edge.edge].args[position];
}

static tw_range of_header_param(tw_analysis *a, tw_ir_value param, tw_loop headed, uint8_t bits)
{
    const tw_loopdata *loop = &a->loops->items[headed];
    uint32_t position = a->func->values[param].position;
    unsigned kept = 64;
    for (uint32_t i = 0; i < loop->latch_count; i++) {
        unsigned low = kept_low(a->func, param, edge_arg(a->func, loop->latches[i], position));
        if (low < kept) kept = low;
    }
    tw_range out = everything(bits), entry = everything(bits);
    for (uint32_t i = 0; i < loop->entry_count; i++) {
        tw_range r = of(a, edge_arg(a->func, loop->entries[i], position));
        entry = i ? either(entry, r) : r;
    }
    out.zero |= entry.zero & low_mask(kept);
    out.one |= entry.one & low_mask(kept) & mask_of(bits);
    return out;
}

static tw_range of_join(tw_analysis *a, const tw_ir_valuedata *data, uint8_t bits)
{
    uint32_t first = a->cfg->pred_start[data->block], end = a->cfg->pred_start[data->block + 1];
    if (first == end) return everything(bits);
    tw_range out = of(a, edge_arg(a->func, a->cfg->preds[first], data->position));
    for (uint32_t i = first + 1; i < end; i++) out = either(out, of(a, edge_arg(a->func, a->cfg->preds[i], data->position)));
    return out;
}

static void settle(tw_analysis *a, tw_ir_value value)
{
    const tw_ir_valuedata *data = &a->func->values[value];
    uint8_t bits = tw_value_bits(a, value);
    tw_range range = everything(bits ? bits : 64);
    if (bits && data->kind == TW_IR_CONST) range = exactly(data->bits[0]);
    else if (bits && data->kind == TW_IR_RESULT) range = of_inst(a, &a->func->insts[data->inst], bits);
    else if (bits && data->kind == TW_IR_PARAM) {
        tw_loop headed = tw_header_loop(a, value);
        range = headed != TW_NO_LOOP ? of_header_param(a, value, headed, bits) : of_join(a, data, bits);
    }
    a->ranges[value] = tidy(range, bits ? bits : 64);
}

tw_range tw_range_of(tw_analysis *a, tw_ir_value value)
{
    uint8_t bits = tw_value_bits(a, value);
    if (!a->ranges) {
        a->range_state = TW_NEW_ARRAY(&a->arena, uint8_t, a->func->value_count);
        a->ranges = a->range_state ? TW_NEW_ARRAY(&a->arena, tw_range, a->func->value_count) : NULL;
    }
    if (!a->ranges || !bits) {
        a->failed |= !a->ranges;
        return everything(bits ? bits : 64);
    }
    tw_analysis_walk(a, value, a->range_state, settle);
    return of(a, value);
}
