/* SPDX-License-Identifier: Apache-2.0 */
#include "region/lanes.h"

#include <stdio.h>
#include <string.h>

typedef enum shape { NO_SHAPE, I8, I16, I32, I64, F32, F64, SHAPES } shape;

static const struct {
    const char *name, *scalar, *load, *store;
    uint8_t count, bits, type;
    uint8_t integer; /* the shape of integers of this width */
} shapes[SHAPES] = {
    [I8] = {"i8x16", "i32", "i32.load8_u", "i32.store8", 16, 8, TW_I32, I8},
    [I16] = {"i16x8", "i32", "i32.load16_u", "i32.store16", 8, 16, TW_I32, I16},
    [I32] = {"i32x4", "i32", "i32.load", "i32.store", 4, 32, TW_I32, I32},
    [I64] = {"i64x2", "i64", "i64.load", "i64.store", 2, 64, TW_I64, I64},
    [F32] = {"f32x4", "f32", "f32.load", "f32.store", 4, 32, TW_F32, I32},
    [F64] = {"f64x2", "f64", "f64.load", "f64.store", 2, 64, TW_F64, I64},
};

enum { MOST_LANES = 16, ROUNDS = 6 };

struct tw_lanes {
    tw_lanes_options o;
    uint8_t *shape;       /* by value */
    tw_ir_value **lane;   /* by value: its lanes in its shape; NULL = not made yet */
    tw_ir_value **truth;  /* by value: lanes that are all ones or all zeros, as 1 or 0; NULL = not known */
    tw_ir_block block;    /* where instructions go */
    uint64_t offset;      /* and what they stand for */
    const char *why;
    uint32_t depth;
};

/* ---- names ---- */

static shape shape_named(const char *name)
{
    for (shape s = I8; s < SHAPES; s++)
        if (!strncmp(name, shapes[s].name, 5)) return s;
    return NO_SHAPE;
}

static const char *rest_of(tw_op op)
{
    const char *dot = strchr(tw_op_describe(op)->name, '.');
    return dot ? dot + 1 : "";
}

static bool begins(const char *name, const char *with)
{
    return !strncmp(name, with, strlen(with));
}

static bool ends(const char *name, const char *with)
{
    size_t n = strlen(name), w = strlen(with);
    return n >= w && !strcmp(name + n - w, with);
}

static bool is_compare(const char *rest)
{
    static const char *const all[] = {"eq", "ne", "lt", "gt", "le", "ge"};
    for (size_t i = 0; i < sizeof all / sizeof *all; i++)
        if (begins(rest, all[i]) && (rest[2] == 0 || rest[2] == '_')) return true;
    return false;
}

/* What the operation makes, and what it takes; NO_SHAPE for what only moves bits. */
static shape result_shape(tw_op op)
{
    shape s = shape_named(tw_op_describe(op)->name);
    if (op == TW_OP_I8X16_SHUFFLE) return NO_SHAPE;
    return is_compare(rest_of(op)) && s != NO_SHAPE ? (shape)shapes[s].integer : s;
}

static shape operand_shape(tw_op op)
{
    const char *from = strchr(rest_of(op), '_');
    if (op == TW_OP_I8X16_SHUFFLE) return NO_SHAPE;
    for (; from; from = strchr(from + 1, '_'))
        if (shape_named(from + 1) != NO_SHAPE) return shape_named(from + 1);
    return shape_named(tw_op_describe(op)->name);
}

/* Bytes that a shuffle moves together. */
static uint8_t grain_of(const tw_ir_inst *inst)
{
    uint8_t grain = 8;
    for (; grain > 1; grain /= 2) {
        bool all = true;
        for (int i = 0; i < 16; i += grain) {
            all &= inst->lanes[i] % grain == 0;
            for (int k = 1; k < grain; k++) all &= inst->lanes[i + k] == inst->lanes[i] + k;
        }
        if (all) break;
    }
    return grain;
}

/* ---- shapes ---- */

static bool is_vector(const tw_ir_func *func, tw_ir_value value)
{
    return func->values[value].type == TW_V128;
}

bool tw_lanes_concern(const tw_ir_func *func, const tw_ir_inst *inst)
{
    for (uint32_t r = 0; r < inst->result_count; r++)
        if (is_vector(func, inst->first_result + r)) return true;
    for (uint32_t a = 0; a < inst->arg_count; a++)
        if (is_vector(func, inst->args[a])) return true;
    return false;
}

static void want(tw_lanes *l, tw_ir_value value, shape s, bool *changed)
{
    if (s == NO_SHAPE || l->shape[value] != NO_SHAPE || !is_vector(l->o.from, value) || l->o.from->values[value].kind == TW_IR_CONST) return;
    l->shape[value] = (uint8_t)s;
    *changed = true;
}

static void share(tw_lanes *l, tw_ir_value x, tw_ir_value y, bool *changed)
{
    want(l, x, (shape)l->shape[y], changed);
    want(l, y, (shape)l->shape[x], changed);
}

static bool moves_bits(tw_op op)
{
    return op == TW_OP_SELECT || op == TW_OP_I8X16_SHUFFLE || begins(tw_op_describe(op)->name, "v128.");
}

static void shape_inst(tw_lanes *l, const tw_ir_inst *inst, bool *changed)
{
    if (!tw_lanes_concern(l->o.from, inst)) return;
    uint8_t kind = tw_op_describe(inst->op)->kind;
    if (!moves_bits(inst->op)) {
        if (inst->result_count) want(l, inst->first_result, result_shape(inst->op), changed);
        for (uint32_t a = 0; a < inst->arg_count; a++) want(l, inst->args[a], operand_shape(inst->op), changed);
        return;
    }
    if (kind == TW_KIND_LOAD || kind == TW_KIND_STORE) return;
    for (uint32_t a = 0; a < inst->arg_count && inst->result_count; a++)
        if (is_vector(l->o.from, inst->args[a]) && is_vector(l->o.from, inst->first_result)) share(l, inst->first_result, inst->args[a], changed);
}

static void shape_edges(tw_lanes *l, const tw_ir_blockdata *block, bool *changed)
{
    for (uint32_t e = 0; e < block->edge_count; e++)
        for (uint32_t a = 0; a < block->edges[e].arg_count; a++) {
            tw_ir_value param = l->o.from->blocks[block->edges[e].to].first_param + a;
            if (is_vector(l->o.from, param)) share(l, param, block->edges[e].args[a], changed);
        }
}

tw_lanes *tw_lanes_new(const tw_lanes_options *options)
{
    tw_lanes *l = TW_NEW(options->arena, tw_lanes);
    const tw_ir_func *from = options->from;
    if (!l) return NULL;
    *l = (tw_lanes){.o = *options};
    l->shape = TW_NEW_ARRAY(options->arena, uint8_t, from->value_count);
    l->lane = TW_NEW_ARRAY(options->arena, tw_ir_value *, from->value_count);
    l->truth = TW_NEW_ARRAY(options->arena, tw_ir_value *, from->value_count);
    if (!l->shape || !l->lane || !l->truth) return NULL;
    bool changed = true;
    for (int round = 0; changed && round < ROUNDS; round++) {
        changed = false;
        for (uint32_t i = 0; i < from->inst_count; i++) shape_inst(l, &from->insts[i], &changed);
        for (uint32_t b = 0; b < from->block_count; b++) shape_edges(l, &from->blocks[b], &changed);
    }
    for (uint32_t v = 0; v < from->value_count; v++)
        if (is_vector(from, v) && l->shape[v] == NO_SHAPE) l->shape[v] = I32;
    return l;
}

uint32_t tw_lanes_count(const tw_lanes *l, tw_ir_value value, tw_type *type)
{
    *type = (tw_type)shapes[l->shape[value]].type;
    return shapes[l->shape[value]].count;
}

/* ---- making instructions ---- */

static tw_ir_value fail(tw_lanes *l, const char *why)
{
    if (!l->why) l->why = why;
    return 0;
}

static tw_ir_value integer(tw_lanes *l, tw_type type, uint64_t value)
{
    tw_ir_value out = tw_ir_const(l->o.to, type, value, 0);
    return out ? out : fail(l, "out of memory");
}

static tw_ir_value folded(tw_lanes *l, tw_op op, tw_type type, const tw_ir_value *args, uint32_t count)
{
    const tw_ir_valuedata *x = &l->o.to->values[args[0]], *y = &l->o.to->values[args[count - 1]];
    uint64_t value;
    if (count > 2 || x->kind != TW_IR_CONST || y->kind != TW_IR_CONST || !tw_ir_fold_int(op, x->bits[0], y->bits[0], &value)) return 0;
    return tw_ir_const(l->o.to, type, value, 0);
}

static tw_ir_value emit(tw_lanes *l, tw_op op, tw_type type, const tw_ir_value *args, uint32_t count)
{
    uint8_t result = (uint8_t)type;
    for (uint32_t a = 0; a < count; a++)
        if (!args[a]) return 0;
    if (op == TW_OP_INVALID) return fail(l, "a vector operation that isn't taken apart");
    tw_ir_value known = folded(l, op, type, args, count);
    if (known) return known;
    uint32_t index = tw_ir_inst_new(l->o.to, l->block, op, args, count, &result, 1);
    if (index == UINT32_MAX) return fail(l, "out of memory");
    l->o.to->insts[index].offset = l->offset;
    return l->o.to->insts[index].first_result;
}

static tw_ir_value unary(tw_lanes *l, tw_op op, tw_type type, tw_ir_value x)
{
    return emit(l, op, type, &x, 1);
}

static tw_ir_value binary(tw_lanes *l, tw_op op, tw_type type, tw_ir_value x, tw_ir_value y)
{
    tw_ir_value args[] = {x, y};
    return emit(l, op, type, args, 2);
}

static tw_ir_value choose(tw_lanes *l, tw_type type, tw_ir_value yes, tw_ir_value no, tw_ir_value condition)
{
    tw_ir_value args[] = {yes, no, condition};
    return emit(l, TW_OP_SELECT, type, args, 3);
}

static tw_ir_value i32(tw_lanes *l, tw_op op, tw_ir_value x, uint64_t y)
{
    return binary(l, op, TW_I32, x, integer(l, TW_I32, y));
}

/* The scalar operation of the lanes' type with this name. */
static tw_op scalar_op(shape s, const char *name)
{
    char full[32];
    int length = snprintf(full, sizeof full, "%s.%s", shapes[s].scalar, name);
    return length > 0 && (size_t)length < sizeof full ? tw_op_from_name(full, (uint32_t)length) : TW_OP_INVALID;
}

static bool is_narrow(shape s)
{
    return s == I8 || s == I16;
}

/* Upper bits 0. */
static tw_ir_value clip(tw_lanes *l, shape s, tw_ir_value x)
{
    return is_narrow(s) ? i32(l, TW_OP_I32_AND, x, (1u << shapes[s].bits) - 1) : x;
}

/* The lane as a signed number of its scalar type. */
static tw_ir_value with_sign(tw_lanes *l, shape s, tw_ir_value x)
{
    if (!is_narrow(s)) return x;
    return unary(l, s == I8 ? TW_OP_I32_EXTEND8_S : TW_OP_I32_EXTEND16_S, TW_I32, x);
}

/* ---- changing shape ---- */

/* Halves of each lane, low half first. */
static bool halve(tw_lanes *l, shape *s, tw_ir_value *lanes)
{
    tw_ir_value out[MOST_LANES];
    shape to = *s == I64 ? I32 : *s == I32 ? I16 : I8;
    uint32_t count = shapes[*s].count;
    for (uint32_t i = 0; i < count; i++) {
        tw_ir_value x = lanes[i], up;
        if (*s == I64) {
            up = binary(l, TW_OP_I64_SHR_U, TW_I64, x, integer(l, TW_I64, 32));
            out[2 * i] = unary(l, TW_OP_I32_WRAP_I64, TW_I32, x);
            out[2 * i + 1] = up ? unary(l, TW_OP_I32_WRAP_I64, TW_I32, up) : 0;
        } else {
            out[2 * i] = clip(l, to, x);
            out[2 * i + 1] = i32(l, TW_OP_I32_SHR_U, x, shapes[to].bits);
        }
        if (!out[2 * i] || !out[2 * i + 1]) return false;
    }
    memcpy(lanes, out, 2 * count * sizeof *out);
    *s = to;
    return true;
}

static bool pair_up(tw_lanes *l, shape *s, tw_ir_value *lanes)
{
    shape to = *s == I8 ? I16 : *s == I16 ? I32 : I64;
    for (uint32_t i = 0; i < shapes[to].count; i++) {
        tw_ir_value low = lanes[2 * i], up = lanes[2 * i + 1];
        if (to == I64) {
            low = unary(l, TW_OP_I64_EXTEND_I32_U, TW_I64, low);
            up = binary(l, TW_OP_I64_SHL, TW_I64, unary(l, TW_OP_I64_EXTEND_I32_U, TW_I64, up), integer(l, TW_I64, 32));
            lanes[i] = binary(l, TW_OP_I64_OR, TW_I64, low, up);
        } else {
            lanes[i] = binary(l, TW_OP_I32_OR, TW_I32, low, i32(l, TW_OP_I32_SHL, up, shapes[*s].bits));
        }
        if (!lanes[i]) return false;
    }
    *s = to;
    return true;
}

static bool reinterpret(tw_lanes *l, shape *s, shape to, tw_ir_value *lanes)
{
    static const uint16_t ops[SHAPES] = {[F32] = TW_OP_F32_REINTERPRET_I32, [F64] = TW_OP_F64_REINTERPRET_I64};
    static const uint16_t back[SHAPES] = {[F32] = TW_OP_I32_REINTERPRET_F32, [F64] = TW_OP_I64_REINTERPRET_F64};
    tw_op op = (tw_op)(ops[to] ? ops[to] : back[*s]);
    for (uint32_t i = 0; i < shapes[to].count; i++)
        if (!(lanes[i] = unary(l, op, (tw_type)shapes[to].type, lanes[i]))) return false;
    *s = to;
    return true;
}

static bool convert(tw_lanes *l, shape s, shape to, tw_ir_value *lanes)
{
    if (s == to) return true;
    if (shapes[s].integer != s && !reinterpret(l, &s, (shape)shapes[s].integer, lanes)) return false;
    while (shapes[s].bits > shapes[to].bits)
        if (!halve(l, &s, lanes)) return false;
    while (shapes[s].bits < shapes[to].bits)
        if (!pair_up(l, &s, lanes)) return false;
    return s == to || reinterpret(l, &s, to, lanes);
}

/* ---- values ---- */

static bool keep(tw_lanes *l, tw_ir_value value, const tw_ir_value *lanes)
{
    uint32_t count = shapes[l->shape[value]].count;
    if (!(l->lane[value] = TW_NEW_ARRAY(l->o.arena, tw_ir_value, count))) return fail(l, "out of memory");
    for (uint32_t i = 0; i < count; i++)
        if (!(l->lane[value][i] = lanes[i])) return false;
    return true;
}

void tw_lanes_bind(tw_lanes *l, tw_ir_value value, tw_ir_value first)
{
    tw_ir_value lanes[MOST_LANES];
    for (uint32_t i = 0; i < shapes[l->shape[value]].count; i++) lanes[i] = first + i;
    keep(l, value, lanes);
}

static void const_lanes(tw_lanes *l, tw_ir_value value, shape s, tw_ir_value *out)
{
    const tw_ir_valuedata *data = &l->o.from->values[value];
    uint32_t bits = shapes[s].bits, each = 64 / bits;
    for (uint32_t i = 0; i < shapes[s].count; i++) {
        uint64_t half = data->bits[i / each] >> (i % each * bits);
        out[i] = integer(l, (tw_type)shapes[s].type, bits == 64 ? half : half & ((UINT64_C(1) << bits) - 1));
    }
}

static bool split(tw_lanes *l, const tw_ir_inst *inst, tw_ir_value *result);

/* A vector from outside the nest: computed anew at the entry from scalars that locals hold. */
static bool remake(tw_lanes *l, tw_ir_value value)
{
    const tw_ir_valuedata *data = &l->o.from->values[value];
    const tw_ir_inst *inst = data->kind == TW_IR_RESULT ? &l->o.from->insts[data->inst] : NULL;
    if (!inst || tw_op_describe(inst->op)->kind != TW_KIND_PURE || l->depth > 8) return fail(l, "a vector from outside the loop");
    tw_ir_block block = l->block;
    tw_ir_value none;
    l->block = 0;
    l->depth++;
    bool ok = split(l, inst, &none);
    l->depth--;
    l->block = block;
    return ok;
}

static bool get(tw_lanes *l, tw_ir_value value, shape s, tw_ir_value *out)
{
    if (l->o.from->values[value].kind == TW_IR_CONST) {
        const_lanes(l, value, s, out);
        return !l->why;
    }
    if (!l->lane[value] && !remake(l, value)) return false;
    memcpy(out, l->lane[value], shapes[l->shape[value]].count * sizeof *out);
    return convert(l, (shape)l->shape[value], s, out);
}

bool tw_lanes_get(tw_lanes *l, tw_ir_block to, tw_ir_value value, tw_ir_value like, tw_ir_value *out)
{
    l->block = to;
    return get(l, value, (shape)l->shape[like], out);
}

static tw_ir_value scalar(tw_lanes *l, tw_ir_value value)
{
    tw_ir_value out = l->o.scalar(l->o.context, value);
    return out ? out : fail(l, "a value used in a vector operation is in no local");
}

/* ---- memory ---- */

static tw_ir_value load_lane(tw_lanes *l, const tw_ir_inst *inst, const char *name, tw_type type, uint64_t by)
{
    tw_ir_value address = scalar(l, inst->args[0]), out = address ? emit(l, tw_op_from_name(name, (uint32_t)strlen(name)), type, &address, 1) : 0;
    if (inst->mem_offset + by > UINT32_MAX) return fail(l, "a vector that reaches past 2^32");
    if (out) l->o.to->insts[l->o.to->values[out].inst].mem_offset = inst->mem_offset + by;
    return out;
}

/* Lanes beyond `bytes` are 0. */
static bool load_plain(tw_lanes *l, const tw_ir_inst *inst, uint32_t bytes, shape s, tw_ir_value *out)
{
    uint32_t width = shapes[s].bits / 8;
    if (width > bytes) {
        tw_ir_value small[MOST_LANES] = {0};
        shape half = width == 8 ? I32 : I16;
        return load_plain(l, inst, bytes, half, small) && convert(l, half, s, small) && (memcpy(out, small, sizeof small), true);
    }
    for (uint32_t i = 0; i < shapes[s].count; i++)
        out[i] = i * width < bytes ? load_lane(l, inst, shapes[s].load, (tw_type)shapes[s].type, i * width) : integer(l, (tw_type)shapes[s].type, 0);
    return !l->why;
}

static shape shape_of_bits(uint32_t bits)
{
    return bits == 8 ? I8 : bits == 16 ? I16 : bits == 32 ? I32 : I64;
}

static bool load_wider(tw_lanes *l, const tw_ir_inst *inst, tw_ir_value *out, shape *s)
{
    static const struct { uint16_t op; uint8_t shape, step; const char *load; } rows[] = {
        {TW_OP_V128_LOAD8X8_S, I16, 1, "i32.load8_s"},  {TW_OP_V128_LOAD8X8_U, I16, 1, "i32.load8_u"},
        {TW_OP_V128_LOAD16X4_S, I32, 2, "i32.load16_s"}, {TW_OP_V128_LOAD16X4_U, I32, 2, "i32.load16_u"},
        {TW_OP_V128_LOAD32X2_S, I64, 4, "i64.load32_s"}, {TW_OP_V128_LOAD32X2_U, I64, 4, "i64.load32_u"}};
    for (size_t r = 0; r < sizeof rows / sizeof *rows; r++) {
        if (rows[r].op != inst->op) continue;
        *s = (shape)rows[r].shape;
        for (uint32_t i = 0; i < shapes[*s].count; i++)
            out[i] = clip(l, *s, load_lane(l, inst, rows[r].load, (tw_type)shapes[*s].type, (uint64_t)i * rows[r].step));
        return !l->why;
    }
    return false;
}

static bool split_load(tw_lanes *l, const tw_ir_inst *inst)
{
    tw_ir_value value = inst->first_result, out[MOST_LANES];
    shape have, s = (shape)l->shape[value];
    uint32_t bytes = tw_op_describe(inst->op)->access;
    const char *rest = rest_of(inst->op);
    if (load_wider(l, inst, out, &have)) return convert(l, have, s, out) && keep(l, value, out);
    if (l->why) return false;
    if (ends(rest, "_lane")) {
        have = shapes[s].bits == 8 * bytes ? s : shape_of_bits(8 * bytes);
        if (!get(l, inst->args[1], have, out)) return false;
        out[inst->index] = load_lane(l, inst, shapes[have].load, (tw_type)shapes[have].type, 0);
        return !l->why && convert(l, have, s, out) && keep(l, value, out);
    }
    if (ends(rest, "_splat")) {
        have = shapes[s].bits == 8 * bytes ? s : shape_of_bits(8 * bytes);
        out[0] = load_lane(l, inst, shapes[have].load, (tw_type)shapes[have].type, 0);
        for (uint32_t i = 1; i < shapes[have].count; i++) out[i] = out[0];
        return !l->why && convert(l, have, s, out) && keep(l, value, out);
    }
    return load_plain(l, inst, bytes, s, out) && keep(l, value, out);
}

static bool store_lane(tw_lanes *l, const tw_ir_inst *inst, shape s, tw_ir_value lane, uint64_t by)
{
    tw_ir_value args[] = {scalar(l, inst->args[0]), lane};
    tw_op op = tw_op_from_name(shapes[s].store, (uint32_t)strlen(shapes[s].store));
    if (!args[0] || !lane) return false;
    if (inst->mem_offset + by > UINT32_MAX) return fail(l, "a vector that reaches past 2^32");
    uint32_t index = tw_ir_inst_new(l->o.to, l->block, op, args, 2, NULL, 0);
    if (index == UINT32_MAX) return fail(l, "out of memory");
    l->o.to->insts[index].offset = l->offset;
    l->o.to->insts[index].mem_offset = inst->mem_offset + by;
    return true;
}

static bool split_store(tw_lanes *l, const tw_ir_inst *inst)
{
    tw_ir_value lanes[MOST_LANES], value = inst->args[1];
    uint32_t bytes = tw_op_describe(inst->op)->access;
    shape s = l->o.from->values[value].kind == TW_IR_CONST ? I32 : (shape)l->shape[value];
    if (bytes < 16) { /* a lane of it */
        if (shapes[s].bits != 8 * bytes) s = shape_of_bits(8 * bytes);
        return get(l, value, s, lanes) && store_lane(l, inst, s, lanes[inst->index], 0);
    }
    if (!get(l, value, s, lanes)) return false;
    for (uint32_t i = 0; i < shapes[s].count; i++)
        if (!store_lane(l, inst, s, lanes[i], (uint64_t)i * shapes[s].bits / 8)) return false;
    return true;
}

/* ---- lanes ---- */

typedef struct work { /* one instruction */
    tw_lanes *l;
    const tw_ir_inst *inst;
    const char *rest;
    shape s, from;       /* of the result, and of the operands */
    tw_ir_value x[MOST_LANES], y[MOST_LANES], out[MOST_LANES];
    bool takes_y;
} work;

static tw_ir_value compare(tw_lanes *l, shape s, const char *name, tw_ir_value x, tw_ir_value y)
{
    if (ends(name, "_s")) x = with_sign(l, s, x), y = with_sign(l, s, y);
    return binary(l, scalar_op(s, name), TW_I32, x, y);
}

static bool split_compare(work *w)
{
    tw_lanes *l = w->l;
    tw_ir_value value = w->inst->first_result;
    uint32_t count = shapes[w->s].count;
    if (!(l->truth[value] = TW_NEW_ARRAY(l->o.arena, tw_ir_value, count))) return fail(l, "out of memory");
    for (uint32_t i = 0; i < count; i++) {
        tw_ir_value holds = l->truth[value][i] = compare(l, w->from, w->rest, w->x[i], w->y[i]);
        if (w->s == I64) w->out[i] = binary(l, TW_OP_I64_SUB, TW_I64, integer(l, TW_I64, 0), unary(l, TW_OP_I64_EXTEND_I32_U, TW_I64, holds));
        else w->out[i] = clip(l, w->s, binary(l, TW_OP_I32_SUB, TW_I32, integer(l, TW_I32, 0), holds));
    }
    return !l->why;
}

static tw_ir_value clamp(tw_lanes *l, tw_ir_value x, int32_t low, int32_t high)
{
    tw_ir_value least = integer(l, TW_I32, (uint32_t)low), most = integer(l, TW_I32, (uint32_t)high);
    x = choose(l, TW_I32, least, x, binary(l, TW_OP_I32_LT_S, TW_I32, x, least));
    return choose(l, TW_I32, most, x, binary(l, TW_OP_I32_GT_S, TW_I32, x, most));
}

static tw_ir_value saturate(tw_lanes *l, shape s, tw_ir_value x, bool is_signed)
{
    int32_t most = (int32_t)(1u << (shapes[s].bits - is_signed)) - 1;
    return clip(l, s, clamp(l, x, is_signed ? -most - 1 : 0, most));
}

/* x OP y on one lane each; 0 with l->why unset: not of this kind. */
static tw_ir_value arithmetic(work *w, tw_ir_value x, tw_ir_value y)
{
    tw_lanes *l = w->l;
    shape s = w->s;
    tw_type type = (tw_type)shapes[s].type;
    const char *name = w->rest;
    bool is_signed = ends(name, "_s"), floats = s == F32 || s == F64;
    if (!strcmp(name, "pmin")) return choose(l, type, y, x, binary(l, scalar_op(s, "lt"), TW_I32, y, x));
    if (!strcmp(name, "pmax")) return choose(l, type, y, x, binary(l, scalar_op(s, "lt"), TW_I32, x, y));
    if (!floats && (begins(name, "min_") || begins(name, "max_"))) {
        const char *test = begins(name, "min_") ? is_signed ? "lt_s" : "lt_u" : is_signed ? "gt_s" : "gt_u";
        return choose(l, type, x, y, compare(l, s, test, x, y));
    }
    if (begins(name, "add_sat") || begins(name, "sub_sat")) {
        if (is_signed) x = with_sign(l, s, x), y = with_sign(l, s, y);
        return saturate(l, s, binary(l, begins(name, "add") ? TW_OP_I32_ADD : TW_OP_I32_SUB, TW_I32, x, y), is_signed);
    }
    if (!strcmp(name, "avgr_u")) return i32(l, TW_OP_I32_SHR_U, i32(l, TW_OP_I32_ADD, binary(l, TW_OP_I32_ADD, TW_I32, x, y), 1), 1);
    if (!strcmp(name, "add") || !strcmp(name, "sub") || !strcmp(name, "mul") ||
        (floats && (!strcmp(name, "div") || !strcmp(name, "min") || !strcmp(name, "max"))))
        return clip(l, s, binary(l, scalar_op(s, name), type, x, y));
    return 0;
}

static tw_ir_value unary_lane(work *w, tw_ir_value x)
{
    static const char *const floats[] = {"abs", "neg", "sqrt", "ceil", "floor", "trunc", "nearest"};
    tw_lanes *l = w->l;
    shape s = w->s;
    tw_type type = (tw_type)shapes[s].type;
    if (s == F32 || s == F64) {
        for (size_t i = 0; i < sizeof floats / sizeof *floats; i++)
            if (!strcmp(w->rest, floats[i])) return unary(l, scalar_op(s, floats[i]), type, x);
        return 0;
    }
    tw_ir_value none = integer(l, type, 0), minus = clip(l, s, binary(l, scalar_op(s, "sub"), type, none, x));
    if (!strcmp(w->rest, "neg")) return minus;
    if (!strcmp(w->rest, "abs")) return choose(l, type, minus, x, compare(l, s, "lt_s", x, none));
    return 0;
}

static bool split_shift(work *w)
{
    tw_lanes *l = w->l;
    shape s = w->s;
    tw_type type = (tw_type)shapes[s].type;
    tw_ir_value by = scalar(l, w->inst->args[1]);
    by = by ? i32(l, TW_OP_I32_AND, by, shapes[s].bits - 1u) : 0;
    if (by && s == I64) by = unary(l, TW_OP_I64_EXTEND_I32_U, TW_I64, by);
    for (uint32_t i = 0; i < shapes[s].count; i++) {
        tw_ir_value x = ends(w->rest, "shr_s") ? with_sign(l, s, w->x[i]) : w->x[i];
        w->out[i] = clip(l, s, binary(l, scalar_op(s, w->rest), type, x, by));
    }
    return !l->why;
}

/* A lane of shape `from` as one of twice its width. */
static tw_ir_value widen(tw_lanes *l, shape from, tw_ir_value x, bool is_signed)
{
    if (from == I32) return unary(l, is_signed ? TW_OP_I64_EXTEND_I32_S : TW_OP_I64_EXTEND_I32_U, TW_I64, x);
    return is_signed ? with_sign(l, from, x) : x;
}

static bool split_extend(work *w)
{
    tw_lanes *l = w->l;
    bool is_signed = ends(w->rest, "_s"), multiplies = begins(w->rest, "extmul"), pairs = begins(w->rest, "extadd");
    uint32_t count = shapes[w->s].count, first = strstr(w->rest, "_high_") ? count : 0;
    tw_type type = (tw_type)shapes[w->s].type;
    for (uint32_t i = 0; i < count; i++) {
        tw_ir_value x = widen(l, w->from, pairs ? w->x[2 * i] : w->x[first + i], is_signed), y = 0;
        if (multiplies) y = widen(l, w->from, w->y[first + i], is_signed);
        if (pairs) y = widen(l, w->from, w->x[2 * i + 1], is_signed);
        w->out[i] = clip(l, w->s, multiplies ? binary(l, scalar_op(w->s, "mul"), type, x, y) : pairs ? binary(l, scalar_op(w->s, "add"), type, x, y) : x);
    }
    return !l->why;
}

static bool split_narrow(work *w)
{
    uint32_t half = shapes[w->from].count;
    for (uint32_t i = 0; i < 2 * half; i++) {
        tw_ir_value x = with_sign(w->l, w->from, i < half ? w->x[i] : w->y[i - half]);
        w->out[i] = x ? saturate(w->l, w->s, x, ends(w->rest, "_s")) : 0;
    }
    return !w->l->why;
}

static bool split_dot(work *w)
{
    tw_lanes *l = w->l;
    for (uint32_t i = 0; i < 4; i++) {
        tw_ir_value part[2];
        for (uint32_t k = 0; k < 2; k++)
            part[k] = binary(l, TW_OP_I32_MUL, TW_I32, with_sign(l, I16, w->x[2 * i + k]), with_sign(l, I16, w->y[2 * i + k]));
        w->out[i] = binary(l, TW_OP_I32_ADD, TW_I32, part[0], part[1]);
    }
    return !l->why;
}

/* Conversions, lane by lane; lanes beyond those of the operand are 0. */
static bool split_convert(work *w)
{
    static const struct { uint16_t op, scalar; } rows[] = {
        {TW_OP_F32X4_CONVERT_I32X4_S, TW_OP_F32_CONVERT_I32_S},       {TW_OP_F32X4_CONVERT_I32X4_U, TW_OP_F32_CONVERT_I32_U},
        {TW_OP_F64X2_CONVERT_LOW_I32X4_S, TW_OP_F64_CONVERT_I32_S},   {TW_OP_F64X2_CONVERT_LOW_I32X4_U, TW_OP_F64_CONVERT_I32_U},
        {TW_OP_I32X4_TRUNC_SAT_F32X4_S, TW_OP_I32_TRUNC_SAT_F32_S},   {TW_OP_I32X4_TRUNC_SAT_F32X4_U, TW_OP_I32_TRUNC_SAT_F32_U},
        {TW_OP_I32X4_TRUNC_SAT_F64X2_S_ZERO, TW_OP_I32_TRUNC_SAT_F64_S}, {TW_OP_I32X4_TRUNC_SAT_F64X2_U_ZERO, TW_OP_I32_TRUNC_SAT_F64_U},
        {TW_OP_F64X2_PROMOTE_LOW_F32X4, TW_OP_F64_PROMOTE_F32},       {TW_OP_F32X4_DEMOTE_F64X2_ZERO, TW_OP_F32_DEMOTE_F64}};
    tw_type type = (tw_type)shapes[w->s].type;
    for (size_t r = 0; r < sizeof rows / sizeof *rows; r++) {
        if (rows[r].op != w->inst->op) continue;
        for (uint32_t i = 0; i < shapes[w->s].count; i++)
            w->out[i] = i < shapes[w->from].count ? unary(w->l, (tw_op)rows[r].scalar, type, w->x[i]) : integer(w->l, type, 0);
        return !w->l->why;
    }
    return fail(w->l, "a vector operation that isn't taken apart");
}

static bool split_typed(work *w)
{
    if (is_compare(w->rest)) return split_compare(w);
    if (begins(w->rest, "sh") && (w->rest[2] == 'l' || w->rest[2] == 'r')) return split_shift(w);
    if (begins(w->rest, "ext")) return split_extend(w);
    if (begins(w->rest, "narrow")) return split_narrow(w);
    if (begins(w->rest, "dot_")) return split_dot(w);
    if (begins(w->rest, "convert") || begins(w->rest, "trunc_sat") || begins(w->rest, "promote") || begins(w->rest, "demote")) return split_convert(w);
    for (uint32_t i = 0; i < shapes[w->s].count; i++) {
        w->out[i] = w->takes_y ? arithmetic(w, w->x[i], w->y[i]) : unary_lane(w, w->x[i]);
        if (!w->out[i]) return fail(w->l, "a vector operation that isn't taken apart");
    }
    return true;
}

/* ---- bits ---- */

static tw_ir_value bitwise(tw_lanes *l, shape s, tw_op op, tw_ir_value x, tw_ir_value y)
{
    tw_type type = (tw_type)shapes[s].type;
    tw_ir_value ones = integer(l, type, shapes[s].bits == 64 ? UINT64_MAX : (UINT64_C(1) << shapes[s].bits) - 1);
    switch (op) {
    case TW_OP_V128_AND: return binary(l, scalar_op(s, "and"), type, x, y);
    case TW_OP_V128_OR: return binary(l, scalar_op(s, "or"), type, x, y);
    case TW_OP_V128_XOR: return binary(l, scalar_op(s, "xor"), type, x, y);
    case TW_OP_V128_NOT: return binary(l, scalar_op(s, "xor"), type, x, ones);
    case TW_OP_V128_ANDNOT: return binary(l, scalar_op(s, "and"), type, x, binary(l, scalar_op(s, "xor"), type, y, ones));
    default: return fail(l, "a vector operation that isn't taken apart");
    }
}

static tw_ir_value *truth_of(const tw_lanes *l, tw_ir_value mask, shape s)
{
    return l->o.from->values[mask].kind != TW_IR_CONST && shapes[l->shape[mask]].bits == shapes[s].bits ? l->truth[mask] : NULL;
}

static bool split_bitselect(work *w, tw_ir_value x, tw_ir_value y, tw_ir_value mask)
{
    tw_lanes *l = w->l;
    shape s = w->s, ints = (shape)shapes[s].integer;
    tw_ir_value m[MOST_LANES];
    tw_ir_value *truth = truth_of(l, mask, s);
    if (truth) {
        if (!get(l, x, s, w->x) || !get(l, y, s, w->y)) return false;
        for (uint32_t i = 0; i < shapes[s].count; i++) w->out[i] = choose(l, (tw_type)shapes[s].type, w->x[i], w->y[i], truth[i]);
        return !l->why;
    }
    if (!get(l, x, ints, w->x) || !get(l, y, ints, w->y) || !get(l, mask, ints, m)) return false;
    for (uint32_t i = 0; i < shapes[s].count; i++)
        w->out[i] = bitwise(l, ints, TW_OP_V128_OR, bitwise(l, ints, TW_OP_V128_AND, w->x[i], m[i]), bitwise(l, ints, TW_OP_V128_ANDNOT, w->y[i], m[i]));
    return !l->why && convert(l, ints, s, w->out);
}

/* x where the mask is set, else 0. */
static bool split_masked(work *w, tw_ir_value x, const tw_ir_value *truth)
{
    tw_lanes *l = w->l;
    tw_type type = (tw_type)shapes[w->s].type;
    if (!get(l, x, w->s, w->x)) return false;
    for (uint32_t i = 0; i < shapes[w->s].count; i++) w->out[i] = choose(l, type, w->x[i], integer(l, type, 0), truth[i]);
    return !l->why;
}

static bool split_bits(work *w)
{
    tw_lanes *l = w->l;
    const tw_ir_inst *inst = w->inst;
    shape ints = (shape)shapes[w->s].integer;
    if (inst->op == TW_OP_V128_BITSELECT) return split_bitselect(w, inst->args[0], inst->args[1], inst->args[2]);
    if (inst->op == TW_OP_V128_AND) {
        tw_ir_value *x = truth_of(l, inst->args[0], w->s), *y = truth_of(l, inst->args[1], w->s);
        if (y && !x) return split_masked(w, inst->args[0], y);
        if (x && !y) return split_masked(w, inst->args[1], x);
    }
    if (!get(l, inst->args[0], ints, w->x) || (inst->arg_count > 1 && !get(l, inst->args[1], ints, w->y))) return false;
    for (uint32_t i = 0; i < shapes[ints].count; i++) w->out[i] = bitwise(l, ints, inst->op, w->x[i], w->y[i]);
    return !l->why && convert(l, ints, w->s, w->out);
}

static bool split_shuffle(work *w)
{
    tw_lanes *l = w->l;
    uint8_t grain = grain_of(w->inst);
    shape s = shapes[w->s].bits <= 8u * grain ? w->s : shape_of_bits(8u * grain);
    uint32_t count = shapes[s].count, width = shapes[s].bits / 8u;
    if (!get(l, w->inst->args[0], s, w->x) || !get(l, w->inst->args[1], s, w->y)) return false;
    for (uint32_t i = 0; i < count; i++) {
        uint32_t from = w->inst->lanes[i * width] / width;
        w->out[i] = from < count ? w->x[from] : w->y[from - count];
    }
    return convert(l, s, w->s, w->out);
}

static bool split_select(work *w)
{
    tw_lanes *l = w->l;
    tw_ir_value condition = scalar(l, w->inst->args[2]);
    if (!condition || !get(l, w->inst->args[0], w->s, w->x) || !get(l, w->inst->args[1], w->s, w->y)) return false;
    for (uint32_t i = 0; i < shapes[w->s].count; i++) w->out[i] = choose(l, (tw_type)shapes[w->s].type, w->x[i], w->y[i], condition);
    return !l->why;
}

/* ---- to and from scalars ---- */

static bool split_splat(work *w)
{
    tw_ir_value x = scalar(w->l, w->inst->args[0]);
    x = x ? clip(w->l, w->from, x) : 0;
    for (uint32_t i = 0; i < shapes[w->from].count; i++) w->out[i] = x;
    return x && convert(w->l, w->from, w->s, w->out);
}

static bool split_replace(work *w)
{
    tw_ir_value x = scalar(w->l, w->inst->args[1]);
    if (!x || !get(w->l, w->inst->args[0], w->from, w->out)) return false;
    return (w->out[w->inst->index] = clip(w->l, w->from, x)) && convert(w->l, w->from, w->s, w->out);
}

static bool to_scalar(tw_lanes *l, const tw_ir_inst *inst, tw_ir_value *result)
{
    const char *rest = rest_of(inst->op);
    tw_ir_value lanes[MOST_LANES], all = 0;
    shape s = operand_shape(inst->op);
    bool any = inst->op == TW_OP_V128_ANY_TRUE;
    if (s == NO_SHAPE) s = I32;
    if (!any && !ends(rest, "all_true") && !begins(rest, "extract_lane")) return fail(l, "a vector operation that isn't taken apart");
    if (!get(l, inst->args[0], s, lanes)) return false;
    if (begins(rest, "extract_lane")) {
        *result = ends(rest, "_s") ? with_sign(l, s, lanes[inst->index]) : lanes[inst->index];
        return *result != 0;
    }
    for (uint32_t i = 0; i < shapes[s].count; i++) {
        tw_ir_value set = binary(l, scalar_op(s, "ne"), TW_I32, lanes[i], integer(l, (tw_type)shapes[s].type, 0));
        all = i == 0 ? set : binary(l, any ? TW_OP_I32_OR : TW_OP_I32_AND, TW_I32, all, set);
    }
    return (*result = all) != 0;
}

/* ---- all ---- */

static bool split_pure(tw_lanes *l, const tw_ir_inst *inst)
{
    tw_ir_value value = inst->first_result;
    work w = {.l = l, .inst = inst, .rest = rest_of(inst->op), .s = (shape)l->shape[value], .from = operand_shape(inst->op)};
    shape natural = result_shape(inst->op);
    bool ok;
    if (strstr(w.rest, "relaxed") || strstr(w.rest, "q15")) return fail(l, "a vector operation that isn't taken apart");
    if (inst->op == TW_OP_SELECT || inst->op == TW_OP_SELECT_T) ok = split_select(&w);
    else if (inst->op == TW_OP_I8X16_SHUFFLE) ok = split_shuffle(&w);
    else if (!strcmp(w.rest, "splat")) ok = split_splat(&w);
    else if (!strcmp(w.rest, "replace_lane")) ok = split_replace(&w);
    else if (natural == NO_SHAPE) ok = split_bits(&w);
    else {
        shape wanted = w.s;
        w.s = natural;
        w.takes_y = inst->arg_count == 2 && is_vector(l->o.from, inst->args[1]);
        ok = get(l, inst->args[0], w.from, w.x) && (!w.takes_y || get(l, inst->args[1], w.from, w.y)) && split_typed(&w) &&
             convert(l, natural, wanted, w.out);
    }
    return ok && keep(l, value, w.out);
}

static bool split(tw_lanes *l, const tw_ir_inst *inst, tw_ir_value *result)
{
    uint8_t kind = tw_op_describe(inst->op)->kind;
    uint64_t offset = l->offset;
    bool ok;
    *result = 0;
    l->offset = inst->offset;
    if (kind == TW_KIND_LOAD) ok = split_load(l, inst);
    else if (kind == TW_KIND_STORE) ok = split_store(l, inst);
    else if (kind != TW_KIND_PURE && inst->op != TW_OP_SELECT && inst->op != TW_OP_SELECT_T) ok = fail(l, "a vector operation that isn't taken apart");
    else if (is_vector(l->o.from, inst->first_result)) ok = split_pure(l, inst);
    else ok = to_scalar(l, inst, result);
    l->offset = offset;
    return ok && !l->why;
}

bool tw_lanes_split(tw_lanes *l, tw_ir_block to, const tw_ir_inst *inst, tw_ir_value *result, const char **why)
{
    l->block = to;
    bool ok = split(l, inst, result);
    *why = l->why ? l->why : "a vector operation that isn't taken apart";
    return ok;
}
