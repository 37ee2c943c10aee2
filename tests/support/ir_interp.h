/* SPDX-License-Identifier: Apache-2.0 */
#ifndef TW_TEST_IR_INTERP_H
#define TW_TEST_IR_INTERP_H

/* Runs IR directly: the meaning of a lifted function, to be compared with what an engine makes of the same bytes. Scalar
 * operations, memory, globals, calls. Integer arithmetic is written here a second time, apart from tw_ir_fold_int. Anything it
 * doesn't know is INTERP_UNKNOWN, never a guess. */

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "ir/ir.h"

typedef enum interp_end {
    INTERP_OK,
    INTERP_UNREACHABLE,
    INTERP_BOUNDS,
    INTERP_DIVIDE,
    INTERP_OVERFLOW,
    INTERP_CONVERSION,
    INTERP_INDIRECT,
    INTERP_EXHAUSTED, /* calls too deep */
    INTERP_FUEL,      /* more than max_blocks */
    INTERP_UNKNOWN,
} interp_end;

/* Looks over an activation's shoulder: optional. */
struct interp;
typedef struct interp_watch {
    struct interp_watcher *(*begin)(struct interp *in, uint32_t func, const uint64_t *values);
    void (*block)(struct interp_watcher *watcher, tw_ir_block block);                  /* executed, before its terminator */
    void (*edge)(struct interp_watcher *watcher, tw_ir_block from, tw_ir_block to);    /* taken, parameters set */
    void (*end)(struct interp_watcher *watcher);
} interp_watch;

typedef struct interp {
    const tw_wasm *module;
    tw_ir_func **funcs;  /* by function index; NULL for imports */
    uint8_t *memory;
    uint64_t memory_size;
    uint64_t *globals;
    uint32_t *table;     /* function + 1; 0 = null */
    uint32_t table_size;
    uint32_t depth;
    uint64_t blocks, max_blocks;
    const char *unknown; /* what wasn't known */
    const interp_watch *watch; /* or NULL */
    void *watch_context;
} interp;

static inline float interp_f32(uint64_t bits) { float x; uint32_t b = (uint32_t)bits; memcpy(&x, &b, 4); return x; }
static inline double interp_f64(uint64_t bits) { double x; memcpy(&x, &bits, 8); return x; }
static inline uint64_t interp_b32(float x) { uint32_t b; memcpy(&b, &x, 4); return b; }
static inline uint64_t interp_b64(double x) { uint64_t b; memcpy(&b, &x, 8); return b; }

static inline double interp_min(double a, double b)
{
    if (isnan(a) || isnan(b)) return NAN;
    if (a == 0 && b == 0) return signbit(a) ? a : b;
    return a < b ? a : b;
}

static inline double interp_max(double a, double b)
{
    if (isnan(a) || isnan(b)) return NAN;
    if (a == 0 && b == 0) return signbit(a) ? b : a;
    return a > b ? a : b;
}

/* Truncation to `bits` bits; saturating or trapping. */
static inline interp_end interp_trunc(double x, int bits, bool is_signed, bool saturate, uint64_t *out)
{
    double low = is_signed ? -ldexp(1, bits - 1) : 0, high = ldexp(1, is_signed ? bits - 1 : bits), t = trunc(x);
    uint64_t mask = bits == 64 ? UINT64_MAX : UINT32_MAX;
    if (isnan(x)) {
        *out = 0;
        return saturate ? INTERP_OK : INTERP_CONVERSION;
    }
    if (t < low || t >= high) {
        *out = (t < low ? (is_signed ? (uint64_t)1 << (bits - 1) : 0)
                        : (is_signed ? ((uint64_t)1 << (bits - 1)) - 1 : UINT64_MAX)) & mask;
        return saturate ? INTERP_OK : INTERP_OVERFLOW;
    }
    *out = (is_signed ? (uint64_t)(int64_t)t : (uint64_t)t) & mask;
    return INTERP_OK;
}

/* Bitwise, so that it shares nothing with the code under test. */
static inline uint64_t interp_count(uint64_t x, int bits, char what)
{
    int n = 0;
    if (what == 'p') for (int i = 0; i < bits; i++) n += (int)(x >> i & 1);
    if (what == 'c') while (n < bits && !(x >> (bits - 1 - n) & 1)) n++;
    if (what == 't') while (n < bits && !(x >> n & 1)) n++;
    return (uint64_t)n;
}

static inline interp_end interp_int(const char *name, int bits, uint64_t a, uint64_t b, uint64_t *out)
{
    uint64_t mask = bits == 64 ? UINT64_MAX : UINT32_MAX;
    a &= mask;
    b &= mask;
    int64_t sa = bits == 64 ? (int64_t)a : (int32_t)a, sb = bits == 64 ? (int64_t)b : (int32_t)b;
    unsigned n = (unsigned)(b % (unsigned)bits);
#define IS(text) (strcmp(name, text) == 0)
    uint64_t r;
    if (IS("eqz")) r = !a;
    else if (IS("eq")) r = a == b;
    else if (IS("ne")) r = a != b;
    else if (IS("lt_s")) r = sa < sb;
    else if (IS("lt_u")) r = a < b;
    else if (IS("gt_s")) r = sa > sb;
    else if (IS("gt_u")) r = a > b;
    else if (IS("le_s")) r = sa <= sb;
    else if (IS("le_u")) r = a <= b;
    else if (IS("ge_s")) r = sa >= sb;
    else if (IS("ge_u")) r = a >= b;
    else if (IS("clz")) r = interp_count(a, bits, 'c');
    else if (IS("ctz")) r = interp_count(a, bits, 't');
    else if (IS("popcnt")) r = interp_count(a, bits, 'p');
    else if (IS("add")) r = a + b;
    else if (IS("sub")) r = a - b;
    else if (IS("mul")) r = a * b;
    else if (IS("and")) r = a & b;
    else if (IS("or")) r = a | b;
    else if (IS("xor")) r = a ^ b;
    else if (IS("shl")) r = a << n;
    else if (IS("shr_u")) r = a >> n;
    else if (IS("shr_s")) r = (uint64_t)(sa >> n);
    else if (IS("rotl")) r = n ? a << n | a >> ((unsigned)bits - n) : a;
    else if (IS("rotr")) r = n ? a >> n | a << ((unsigned)bits - n) : a;
    else if (IS("extend8_s")) r = (uint64_t)(int64_t)(int8_t)a;
    else if (IS("extend16_s")) r = (uint64_t)(int64_t)(int16_t)a;
    else if (IS("extend32_s")) r = (uint64_t)(int64_t)(int32_t)a;
    else if (IS("div_u") || IS("rem_u") || IS("div_s") || IS("rem_s")) {
        if (!b) return INTERP_DIVIDE;
        bool minus_one = b == mask, least = a == (uint64_t)1 << (bits - 1);
        if (IS("div_u")) r = a / b;
        else if (IS("rem_u")) r = a % b;
        else if (IS("div_s") && minus_one) {
            if (least) return INTERP_OVERFLOW;
            r = 0 - a;
        } else if (IS("div_s")) r = (uint64_t)(sa / sb);
        else r = minus_one ? 0 : (uint64_t)(sa % sb);
    } else return INTERP_UNKNOWN;
    *out = r & mask;
    return INTERP_OK;
}

/* f32 arithmetic through double is exact where used (one rounding after sqrt, add, sub, mul, div of f32), but we take the
 * f32 operation anyway. */
static inline interp_end interp_float(const char *name, bool wide, uint64_t a, uint64_t b, uint64_t *out)
{
    double x = wide ? interp_f64(a) : interp_f32(a), y = wide ? interp_f64(b) : interp_f32(b), r;
    uint64_t sign = wide ? (uint64_t)1 << 63 : (uint64_t)1 << 31;
    float fx = (float)x, fy = (float)y;
    if (IS("eq")) return *out = x == y, INTERP_OK;
    if (IS("ne")) return *out = x != y, INTERP_OK;
    if (IS("lt")) return *out = x < y, INTERP_OK;
    if (IS("gt")) return *out = x > y, INTERP_OK;
    if (IS("le")) return *out = x <= y, INTERP_OK;
    if (IS("ge")) return *out = x >= y, INTERP_OK;
    if (IS("abs")) return *out = a & ~sign, INTERP_OK;
    if (IS("neg")) return *out = a ^ sign, INTERP_OK;
    if (IS("copysign")) return *out = (a & ~sign) | (b & sign), INTERP_OK;
    if (IS("add")) r = wide ? x + y : fx + fy;
    else if (IS("sub")) r = wide ? x - y : fx - fy;
    else if (IS("mul")) r = wide ? x * y : fx * fy;
    else if (IS("div")) r = wide ? x / y : fx / fy;
    else if (IS("sqrt")) r = wide ? sqrt(x) : sqrtf(fx);
    else if (IS("min")) r = interp_min(x, y);
    else if (IS("max")) r = interp_max(x, y);
    else if (IS("ceil")) r = ceil(x);
    else if (IS("floor")) r = floor(x);
    else if (IS("trunc")) r = trunc(x);
    else if (IS("nearest")) r = nearbyint(x);
    else return INTERP_UNKNOWN;
    *out = wide ? interp_b64(r) : interp_b32((float)r);
    return INTERP_OK;
}

static inline interp_end interp_convert(const char *name, uint64_t a, uint64_t *out)
{
    double d = interp_f64(a), f = interp_f32(a);
    const char *trunc_name = strstr(name, "trunc_");
    if (IS("i32.wrap_i64")) return *out = (uint32_t)a, INTERP_OK;
    if (IS("i64.extend_i32_s")) return *out = (uint64_t)(int64_t)(int32_t)a, INTERP_OK;
    if (IS("i64.extend_i32_u")) return *out = (uint32_t)a, INTERP_OK;
    if (IS("f64.promote_f32")) return *out = interp_b64(f), INTERP_OK;
    if (IS("f32.demote_f64")) return *out = interp_b32((float)d), INTERP_OK;
    if (strstr(name, "reinterpret")) return *out = a, INTERP_OK;
    if (IS("f32.convert_i32_s")) return *out = interp_b32((float)(int32_t)a), INTERP_OK;
    if (IS("f32.convert_i32_u")) return *out = interp_b32((float)(uint32_t)a), INTERP_OK;
    if (IS("f32.convert_i64_s")) return *out = interp_b32((float)(int64_t)a), INTERP_OK;
    if (IS("f32.convert_i64_u")) return *out = interp_b32((float)a), INTERP_OK;
    if (IS("f64.convert_i32_s")) return *out = interp_b64((int32_t)a), INTERP_OK;
    if (IS("f64.convert_i32_u")) return *out = interp_b64((uint32_t)a), INTERP_OK;
    if (IS("f64.convert_i64_s")) return *out = interp_b64((double)(int64_t)a), INTERP_OK;
    if (IS("f64.convert_i64_u")) return *out = interp_b64((double)a), INTERP_OK;
    if (trunc_name) {
        double x = strstr(trunc_name, "f32") ? f : d;
        return interp_trunc(x, name[1] == '6' ? 64 : 32, name[strlen(name) - 1] == 's', strstr(name, "sat") != NULL, out);
    }
    return INTERP_UNKNOWN;
}
#undef IS

static inline interp_end interp_pure(interp *in, tw_op op, const uint64_t *args, uint32_t count, uint64_t *out)
{
    const char *name = tw_op_describe(op)->name;
    interp_end end = interp_convert(name, args[0], out);
    uint64_t b = count > 1 ? args[1] : 0;
    if (end == INTERP_UNKNOWN && count <= 2 && name[3] == '.') {
        if (name[0] == 'i') end = interp_int(name + 4, name[1] == '6' ? 64 : 32, args[0], b, out);
        else if (name[0] == 'f') end = interp_float(name + 4, name[1] == '6', args[0], b, out);
    }
    if (end == INTERP_UNKNOWN) in->unknown = name;
    return end;
}

static inline interp_end interp_load(interp *in, const tw_ir_inst *inst, uint64_t address, uint64_t *out)
{
    const tw_op_info *info = tw_op_describe(inst->op);
    uint64_t at = (uint32_t)address + inst->mem_offset, value = 0;
    unsigned width = info->access;
    if (info->results[0] == 'v') return in->unknown = info->name, INTERP_UNKNOWN;
    if (at + width > in->memory_size) return INTERP_BOUNDS;
    for (unsigned i = 0; i < width; i++) value |= (uint64_t)in->memory[at + i] << 8 * i;
    if (info->name[strlen(info->name) - 1] == 's') {
        unsigned shift = 64 - 8 * width;
        value = (uint64_t)((int64_t)(value << shift) >> shift);
        if (info->results[0] == 'i') value = (uint32_t)value;
    }
    *out = value;
    return INTERP_OK;
}

static inline interp_end interp_store(interp *in, const tw_ir_inst *inst, uint64_t address, uint64_t value)
{
    const tw_op_info *info = tw_op_describe(inst->op);
    uint64_t at = (uint32_t)address + inst->mem_offset;
    if (info->operands[1] == 'v') return in->unknown = info->name, INTERP_UNKNOWN;
    if (at + info->access > in->memory_size) return INTERP_BOUNDS;
    for (unsigned i = 0; i < info->access; i++) in->memory[at + i] = (uint8_t)(value >> 8 * i);
    return INTERP_OK;
}

static inline interp_end interp_memory(interp *in, tw_op op, const uint64_t *args, uint64_t *out)
{
    uint64_t a = (uint32_t)args[0], b = (uint32_t)args[1], n = (uint32_t)args[2];
    switch (op) {
    case TW_OP_MEMORY_SIZE: *out = in->memory_size >> 16; return INTERP_OK;
    case TW_OP_MEMORY_FILL:
        if (a + n > in->memory_size) return INTERP_BOUNDS;
        memset(in->memory + a, (int)(uint8_t)b, n);
        return INTERP_OK;
    case TW_OP_MEMORY_COPY:
        if (a + n > in->memory_size || b + n > in->memory_size) return INTERP_BOUNDS;
        memmove(in->memory + a, in->memory + b, n);
        return INTERP_OK;
    default: in->unknown = tw_op_describe(op)->name; return INTERP_UNKNOWN;
    }
}

static interp_end interp_run(interp *in, uint32_t func, const uint64_t *args, uint64_t *results);

static inline interp_end interp_indirect(interp *in, uint32_t type, uint64_t selector, uint32_t *func)
{
    if ((uint32_t)selector >= in->table_size || !in->table[(uint32_t)selector]) return INTERP_INDIRECT;
    *func = in->table[(uint32_t)selector] - 1;
    const tw_functype *want = &in->module->types[type], *have = tw_wasm_func_type(in->module, *func);
    bool same = want->param_count == have->param_count && want->result_count == have->result_count &&
                !memcmp(want->params, have->params, want->param_count) &&
                !memcmp(want->results, have->results, want->result_count);
    return same ? INTERP_OK : INTERP_INDIRECT;
}

static inline interp_end interp_inst(interp *in, const tw_ir_inst *inst, const uint64_t *args, uint64_t *out)
{
    uint32_t func = inst->index;
    interp_end end;
    switch ((tw_opkind)tw_op_describe(inst->op)->kind) {
    case TW_KIND_PURE: case TW_KIND_TRAPPING: return interp_pure(in, inst->op, args, inst->arg_count, out);
    case TW_KIND_LOAD: return interp_load(in, inst, args[0], out);
    case TW_KIND_STORE: return interp_store(in, inst, args[0], args[1]);
    case TW_KIND_MEMORY: return interp_memory(in, inst->op, args, out);
    case TW_KIND_STACK: return *out = (uint32_t)args[2] ? args[0] : args[1], INTERP_OK;
    case TW_KIND_VARIABLE:
        if (inst->op == TW_OP_GLOBAL_GET) *out = in->globals[inst->index];
        else in->globals[inst->index] = args[0];
        return INTERP_OK;
    case TW_KIND_CONTROL:
        if (inst->op == TW_OP_CALL_INDIRECT) {
            end = interp_indirect(in, inst->index, args[inst->arg_count - 1], &func);
            if (end != INTERP_OK) return end;
        }
        return interp_run(in, func, args, out);
    default: in->unknown = tw_op_describe(inst->op)->name; return INTERP_UNKNOWN;
    }
}

typedef struct interp_frame {
    uint64_t *values;
    struct interp_watcher *watcher;
    uint64_t scratch[1024];
} interp_frame;

static inline uint64_t interp_value(const tw_ir_func *func, const interp_frame *f, tw_ir_value value)
{
    return func->values[value].kind == TW_IR_CONST ? func->values[value].bits[0] : f->values[value];
}

static inline bool interp_collect(const tw_ir_func *func, interp_frame *f, const tw_ir_value *args, uint32_t count)
{
    for (uint32_t i = 0; i < count && i < 1024; i++) f->scratch[i] = interp_value(func, f, args[i]);
    return count <= 1024;
}

static inline interp_end interp_block(interp *in, const tw_ir_func *func, interp_frame *f, tw_ir_block *at, bool *done,
                                      uint64_t *results)
{
    const tw_ir_blockdata *block = &func->blocks[*at];
    if (in->blocks++ >= in->max_blocks) return INTERP_FUEL;
    for (uint32_t i = 0; i < block->inst_count; i++) {
        const tw_ir_inst *inst = &func->insts[block->insts[i]];
        uint64_t out[64] = {0};
        if (!interp_collect(func, f, inst->args, inst->arg_count) || inst->result_count > 64) return INTERP_UNKNOWN;
        interp_end end = interp_inst(in, inst, f->scratch, out);
        if (end != INTERP_OK) return end;
        for (uint32_t r = 0; r < inst->result_count; r++) f->values[inst->first_result + r] = out[r];
    }
    if (in->watch) in->watch->block(f->watcher, *at);
    uint32_t taken = 0, callee = block->index;
    uint64_t selector = block->value ? (uint32_t)interp_value(func, f, block->value) : 0;
    switch ((tw_ir_term)block->term) {
    case TW_IR_JUMP: break;
    case TW_IR_BRANCH: taken = selector ? 0 : 1; break;
    case TW_IR_SWITCH: taken = selector < block->edge_count - 1 ? (uint32_t)selector : block->edge_count - 1; break;
    case TW_IR_UNREACHABLE: return INTERP_UNREACHABLE;
    case TW_IR_RETURN:
        for (uint32_t i = 0; i < block->arg_count; i++) results[i] = interp_value(func, f, block->args[i]);
        *done = true;
        return INTERP_OK;
    case TW_IR_TAIL_CALL:
        if (!interp_collect(func, f, block->args, block->arg_count)) return INTERP_UNKNOWN;
        *done = true;
        if (block->tail_op == TW_OP_RETURN_CALL_INDIRECT) {
            interp_end end = interp_indirect(in, block->index, f->scratch[block->arg_count - 1], &callee);
            if (end != INTERP_OK) return end;
        }
        return interp_run(in, callee, f->scratch, results);
    }
    const tw_ir_edge *edge = &block->edges[taken];
    if (!interp_collect(func, f, edge->args, edge->arg_count)) return INTERP_UNKNOWN;
    for (uint32_t i = 0; i < edge->arg_count; i++) f->values[func->blocks[edge->to].first_param + i] = f->scratch[i];
    if (in->watch) in->watch->edge(f->watcher, *at, edge->to);
    *at = edge->to;
    return INTERP_OK;
}

/* args and results: raw bits, one word a value. */
static interp_end interp_run(interp *in, uint32_t index, const uint64_t *args, uint64_t *results)
{
    const tw_ir_func *func = in->funcs[index];
    if (!func) return in->unknown = "import", INTERP_UNKNOWN;
    if (in->depth >= 200) return INTERP_EXHAUSTED;
    interp_frame *f = malloc(sizeof *f);
    f->values = calloc(func->value_count + 1, sizeof *f->values);
    for (uint32_t i = 0; i < func->param_count; i++) f->values[func->blocks[0].first_param + i] = args[i];
    f->watcher = in->watch ? in->watch->begin(in, index, f->values) : NULL;
    tw_ir_block at = 0;
    bool done = false;
    interp_end end = INTERP_OK;
    in->depth++;
    while (!done && end == INTERP_OK) end = interp_block(in, func, f, &at, &done, results);
    in->depth--;
    if (in->watch) in->watch->end(f->watcher);
    free(f->values);
    free(f);
    return end;
}

#endif
