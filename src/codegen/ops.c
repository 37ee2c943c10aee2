/* SPDX-License-Identifier: Apache-2.0 */
/* WebAssembly's scalar operations in LLVM IR. Each builder works on scalars and on vectors of them alike.
 *
 * Where the two differ: shift counts are masked; compares give 0 or 1 as i32; saturating conversions and the zero-respecting,
 * NaN-propagating minimum and maximum are intrinsics made for just that; nearest rounds half to even. Division comes only
 * with constant divisors that can't trap (the model's verifier sees to it). */

#include <string.h>

#include "codegen/inside.h"

LLVMTypeRef tw_gen_type(const tw_emitter *e, uint8_t type)
{
    switch (type) {
    case TW_I32: return e->i32;
    case TW_I64: return e->i64;
    case TW_F32: return e->f32;
    default: return e->f64;
    }
}

LLVMTypeRef tw_gen_lanes_of(LLVMTypeRef scalar, uint32_t lanes)
{
    return lanes > 1 ? LLVMVectorType(scalar, lanes) : scalar;
}

static bool is_vector(LLVMValueRef value)
{
    return LLVMGetTypeKind(LLVMTypeOf(value)) == LLVMVectorTypeKind;
}

LLVMValueRef tw_gen_splat(tw_emitter *e, LLVMValueRef value, uint32_t lanes)
{
    if (lanes == 1 || is_vector(value)) return value;
    LLVMTypeRef type = LLVMVectorType(LLVMTypeOf(value), lanes);
    if (LLVMIsConstant(value)) {
        LLVMValueRef all[64];
        for (uint32_t i = 0; i < lanes; i++) all[i] = value;
        return LLVMConstVector(all, lanes);
    }
    LLVMValueRef one = LLVMBuildInsertElement(e->builder, LLVMGetPoison(type), value, LLVMConstInt(e->i32, 0, 0), "");
    return LLVMBuildShuffleVector(e->builder, one, LLVMGetPoison(type), LLVMConstNull(LLVMVectorType(e->i32, lanes)), "");
}

LLVMValueRef tw_gen_intrinsic(tw_emitter *e, const char *name, LLVMTypeRef overload, LLVMValueRef *args, unsigned count)
{
    unsigned id = LLVMLookupIntrinsicID(name, strlen(name));
    LLVMValueRef callee = LLVMGetIntrinsicDeclaration(e->module, id, &overload, 1);
    return LLVMBuildCall2(e->builder, LLVMIntrinsicGetType(e->context, id, &overload, 1), callee, args, count, "");
}

/* Of a constant as many as `like` has lanes. */
static LLVMValueRef const_like(LLVMValueRef like, LLVMValueRef one)
{
    LLVMValueRef all[64];
    if (!is_vector(like)) return one;
    unsigned lanes = LLVMGetVectorSize(LLVMTypeOf(like));
    for (unsigned i = 0; i < lanes; i++) all[i] = one;
    return LLVMConstVector(all, lanes);
}

static LLVMTypeRef lane_type(LLVMValueRef value)
{
    return is_vector(value) ? LLVMGetElementType(LLVMTypeOf(value)) : LLVMTypeOf(value);
}

static LLVMValueRef int_const_like(LLVMValueRef value, uint64_t bits)
{
    return const_like(value, LLVMConstInt(lane_type(value), bits, 0));
}

static LLVMValueRef float_const_like(LLVMValueRef value, double number)
{
    return const_like(value, LLVMConstReal(lane_type(value), number));
}

/* fptosi.sat and its like are named by result and operand. */
static LLVMValueRef convert_by_intrinsic(tw_emitter *e, bool is_signed, LLVMTypeRef to, LLVMValueRef value)
{
    const char *name = is_signed ? "llvm.fptosi.sat" : "llvm.fptoui.sat";
    unsigned id = LLVMLookupIntrinsicID(name, strlen(name));
    LLVMTypeRef types[] = {to, LLVMTypeOf(value)};
    LLVMValueRef callee = LLVMGetIntrinsicDeclaration(e->module, id, types, 2);
    return LLVMBuildCall2(e->builder, LLVMIntrinsicGetType(e->context, id, types, 2), callee, &value, 1, "");
}

/* LLVM takes vectors apart for it. What is just outside the range on its lower side gives the same by truncation and by saturation. */
static LLVMValueRef convert_saturating(tw_emitter *e, bool is_signed, LLVMTypeRef to, LLVMValueRef value)
{
    LLVMBuilderRef b = e->builder;
    if (!is_vector(value)) return convert_by_intrinsic(e, is_signed, to, value);
    bool is_long = LLVMGetIntTypeWidth(LLVMGetElementType(to)) == 64;
    LLVMValueRef least = float_const_like(value, !is_signed ? 0 : is_long ? -0x1p63 : -0x1p31);
    LLVMValueRef end = float_const_like(value, is_signed ? (is_long ? 0x1p63 : 0x1p31) : is_long ? 0x1p64 : 0x1p32);
    LLVMValueRef too_much = LLVMBuildFCmp(b, LLVMRealOGE, value, end, "");
    LLVMValueRef fits = LLVMBuildAnd(b, LLVMBuildFCmp(b, LLVMRealOGE, value, least, ""), LLVMBuildFCmp(b, LLVMRealOLT, value, end, ""), "");
    LLVMValueRef inside = LLVMBuildSelect(b, fits, value, LLVMConstNull(LLVMTypeOf(value)), "");
    LLVMValueRef number = is_signed ? LLVMBuildFPToSI(b, inside, to, "") : LLVMBuildFPToUI(b, inside, to, "");
    LLVMValueRef none = LLVMConstNull(to), most = int_const_like(none, (is_long ? UINT64_MAX : UINT32_MAX) >> is_signed), low = none;
    if (is_signed) { /* NaN is 0 */
        LLVMValueRef is_nan = LLVMBuildFCmp(b, LLVMRealUNO, value, value, "");
        low = LLVMBuildSelect(b, is_nan, none, int_const_like(none, UINT64_C(1) << (is_long ? 63 : 31)), "");
    }
    return LLVMBuildSelect(b, fits, number, LLVMBuildSelect(b, too_much, most, low, ""), "");
}

static LLVMValueRef masked_count(tw_emitter *e, LLVMValueRef count, uint8_t type)
{
    return LLVMBuildAnd(e->builder, count, int_const_like(count, type == TW_I32 ? 31 : 63), "");
}

static LLVMValueRef zero_or_one(tw_emitter *e, LLVMValueRef bit, uint32_t lanes)
{
    return LLVMBuildZExt(e->builder, bit, tw_gen_lanes_of(e->i32, lanes), "");
}

static LLVMValueRef compare_int(tw_emitter *e, LLVMIntPredicate how, LLVMValueRef *a, uint32_t lanes)
{
    return zero_or_one(e, LLVMBuildICmp(e->builder, how, a[0], a[1], ""), lanes);
}

static LLVMValueRef compare_float(tw_emitter *e, LLVMRealPredicate how, LLVMValueRef *a, uint32_t lanes)
{
    return zero_or_one(e, LLVMBuildFCmp(e->builder, how, a[0], a[1], ""), lanes);
}

static LLVMValueRef with_flag(tw_emitter *e, const char *name, LLVMValueRef value)
{
    LLVMValueRef args[] = {value, LLVMConstInt(e->i1, 0, 0)}; /* zero is no poison */
    return tw_gen_intrinsic(e, name, LLVMTypeOf(value), args, 2);
}

static LLVMValueRef funnel(tw_emitter *e, const char *name, LLVMValueRef *a)
{
    LLVMValueRef args[] = {a[0], a[0], a[1]};
    return tw_gen_intrinsic(e, name, LLVMTypeOf(a[0]), args, 3);
}

static LLVMValueRef extend_low(tw_emitter *e, LLVMValueRef value, LLVMTypeRef low, uint32_t lanes)
{
    LLVMValueRef cut = LLVMBuildTrunc(e->builder, value, tw_gen_lanes_of(low, lanes), "");
    return LLVMBuildSExt(e->builder, cut, LLVMTypeOf(value), "");
}

/* What the engine does to results of arithmetic under NaN canonicalisation. */
static LLVMValueRef canonical(tw_emitter *e, LLVMValueRef value, uint8_t type, uint32_t lanes)
{
    if (!e->facts->canonical_nan) return value;
    LLVMTypeRef bits_type = type == TW_F32 ? e->i32 : e->i64;
    uint64_t bits = type == TW_F32 ? 0x7fc00000u : 0x7ff8000000000000u;
    LLVMValueRef nan = LLVMConstBitCast(LLVMConstInt(bits_type, bits, 0), tw_gen_type(e, type));
    LLVMValueRef is_nan = LLVMBuildFCmp(e->builder, LLVMRealUNO, value, value, "");
    return LLVMBuildSelect(e->builder, is_nan, tw_gen_splat(e, nan, lanes), value, "");
}

/* Float arithmetic: results that canonicalisation looks at. NULL for other operations. */
static LLVMValueRef arithmetic_float(tw_emitter *e, tw_op op, LLVMTypeRef type, LLVMValueRef *a)
{
    LLVMBuilderRef b = e->builder;
    LLVMTypeRef of = LLVMTypeOf(a[0]);
    switch (op) {
    case TW_OP_F32_ADD: case TW_OP_F64_ADD: return LLVMBuildFAdd(b, a[0], a[1], "");
    case TW_OP_F32_SUB: case TW_OP_F64_SUB: return LLVMBuildFSub(b, a[0], a[1], "");
    case TW_OP_F32_MUL: case TW_OP_F64_MUL: return LLVMBuildFMul(b, a[0], a[1], "");
    case TW_OP_F32_DIV: case TW_OP_F64_DIV: return LLVMBuildFDiv(b, a[0], a[1], "");
    case TW_OP_F32_SQRT: case TW_OP_F64_SQRT: return tw_gen_intrinsic(e, "llvm.sqrt", of, a, 1);
    case TW_OP_F32_MIN: case TW_OP_F64_MIN: return tw_gen_intrinsic(e, "llvm.minimum", of, a, 2);
    case TW_OP_F32_MAX: case TW_OP_F64_MAX: return tw_gen_intrinsic(e, "llvm.maximum", of, a, 2);
    case TW_OP_F32_CEIL: case TW_OP_F64_CEIL: return tw_gen_intrinsic(e, "llvm.ceil", of, a, 1);
    case TW_OP_F32_FLOOR: case TW_OP_F64_FLOOR: return tw_gen_intrinsic(e, "llvm.floor", of, a, 1);
    case TW_OP_F32_TRUNC: case TW_OP_F64_TRUNC: return tw_gen_intrinsic(e, "llvm.trunc", of, a, 1);
    case TW_OP_F32_NEAREST: case TW_OP_F64_NEAREST: return tw_gen_intrinsic(e, "llvm.roundeven", of, a, 1);
    case TW_OP_F32_DEMOTE_F64: return LLVMBuildFPTrunc(b, a[0], type, "");
    case TW_OP_F64_PROMOTE_F32: return LLVMBuildFPExt(b, a[0], type, "");
    default: return NULL;
    }
}

static LLVMValueRef other_float(tw_emitter *e, tw_op op, LLVMTypeRef type, LLVMValueRef *a)
{
    LLVMBuilderRef b = e->builder;
    LLVMTypeRef of = LLVMTypeOf(a[0]);
    switch (op) {
    case TW_OP_F32_ABS: case TW_OP_F64_ABS: return tw_gen_intrinsic(e, "llvm.fabs", of, a, 1);
    case TW_OP_F32_NEG: case TW_OP_F64_NEG: return LLVMBuildFNeg(b, a[0], "");
    case TW_OP_F32_COPYSIGN: case TW_OP_F64_COPYSIGN: return tw_gen_intrinsic(e, "llvm.copysign", of, a, 2);
    case TW_OP_F32_CONVERT_I32_S: case TW_OP_F32_CONVERT_I64_S:
    case TW_OP_F64_CONVERT_I32_S: case TW_OP_F64_CONVERT_I64_S: return LLVMBuildSIToFP(b, a[0], type, "");
    case TW_OP_F32_CONVERT_I32_U: case TW_OP_F32_CONVERT_I64_U:
    case TW_OP_F64_CONVERT_I32_U: case TW_OP_F64_CONVERT_I64_U: return LLVMBuildUIToFP(b, a[0], type, "");
    case TW_OP_I32_TRUNC_SAT_F32_S: case TW_OP_I32_TRUNC_SAT_F64_S:
    case TW_OP_I64_TRUNC_SAT_F32_S: case TW_OP_I64_TRUNC_SAT_F64_S: return convert_saturating(e, true, type, a[0]);
    case TW_OP_I32_TRUNC_SAT_F32_U: case TW_OP_I32_TRUNC_SAT_F64_U:
    case TW_OP_I64_TRUNC_SAT_F32_U: case TW_OP_I64_TRUNC_SAT_F64_U: return convert_saturating(e, false, type, a[0]);
    case TW_OP_I32_REINTERPRET_F32: case TW_OP_I64_REINTERPRET_F64:
    case TW_OP_F32_REINTERPRET_I32: case TW_OP_F64_REINTERPRET_I64: return LLVMBuildBitCast(b, a[0], type, "");
    default: return NULL;
    }
}

#define BOTH(name) case TW_OP_I32_##name: case TW_OP_I64_##name
#define FLOATS(name) case TW_OP_F32_##name: case TW_OP_F64_##name

static LLVMValueRef compare(tw_emitter *e, tw_op op, LLVMValueRef *a, uint32_t lanes)
{
    switch (op) {
    BOTH(EQZ): return zero_or_one(e, LLVMBuildICmp(e->builder, LLVMIntEQ, a[0], LLVMConstNull(LLVMTypeOf(a[0])), ""), lanes);
    BOTH(EQ): return compare_int(e, LLVMIntEQ, a, lanes);
    BOTH(NE): return compare_int(e, LLVMIntNE, a, lanes);
    BOTH(LT_S): return compare_int(e, LLVMIntSLT, a, lanes);
    BOTH(LT_U): return compare_int(e, LLVMIntULT, a, lanes);
    BOTH(GT_S): return compare_int(e, LLVMIntSGT, a, lanes);
    BOTH(GT_U): return compare_int(e, LLVMIntUGT, a, lanes);
    BOTH(LE_S): return compare_int(e, LLVMIntSLE, a, lanes);
    BOTH(LE_U): return compare_int(e, LLVMIntULE, a, lanes);
    BOTH(GE_S): return compare_int(e, LLVMIntSGE, a, lanes);
    BOTH(GE_U): return compare_int(e, LLVMIntUGE, a, lanes);
    FLOATS(EQ): return compare_float(e, LLVMRealOEQ, a, lanes);
    FLOATS(NE): return compare_float(e, LLVMRealUNE, a, lanes);
    FLOATS(LT): return compare_float(e, LLVMRealOLT, a, lanes);
    FLOATS(GT): return compare_float(e, LLVMRealOGT, a, lanes);
    FLOATS(LE): return compare_float(e, LLVMRealOLE, a, lanes);
    FLOATS(GE): return compare_float(e, LLVMRealOGE, a, lanes);
    default: return NULL;
    }
}

static LLVMValueRef integer(tw_emitter *e, tw_op op, uint8_t type, LLVMValueRef *a, uint32_t lanes)
{
    LLVMBuilderRef b = e->builder;
    switch (op) {
    BOTH(ADD): return LLVMBuildAdd(b, a[0], a[1], "");
    BOTH(SUB): return LLVMBuildSub(b, a[0], a[1], "");
    BOTH(MUL): return LLVMBuildMul(b, a[0], a[1], "");
    BOTH(DIV_S): return LLVMBuildSDiv(b, a[0], a[1], "");
    BOTH(DIV_U): return LLVMBuildUDiv(b, a[0], a[1], "");
    BOTH(REM_S): return LLVMBuildSRem(b, a[0], a[1], "");
    BOTH(REM_U): return LLVMBuildURem(b, a[0], a[1], "");
    BOTH(AND): return LLVMBuildAnd(b, a[0], a[1], "");
    BOTH(OR): return LLVMBuildOr(b, a[0], a[1], "");
    BOTH(XOR): return LLVMBuildXor(b, a[0], a[1], "");
    BOTH(SHL): return LLVMBuildShl(b, a[0], masked_count(e, a[1], type), "");
    BOTH(SHR_S): return LLVMBuildAShr(b, a[0], masked_count(e, a[1], type), "");
    BOTH(SHR_U): return LLVMBuildLShr(b, a[0], masked_count(e, a[1], type), "");
    BOTH(ROTL): return funnel(e, "llvm.fshl", a);
    BOTH(ROTR): return funnel(e, "llvm.fshr", a);
    BOTH(CLZ): return with_flag(e, "llvm.ctlz", a[0]);
    BOTH(CTZ): return with_flag(e, "llvm.cttz", a[0]);
    BOTH(POPCNT): return tw_gen_intrinsic(e, "llvm.ctpop", LLVMTypeOf(a[0]), a, 1);
    BOTH(EXTEND8_S): return extend_low(e, a[0], e->i8, lanes);
    BOTH(EXTEND16_S): return extend_low(e, a[0], e->i16, lanes);
    case TW_OP_I64_EXTEND32_S: return extend_low(e, a[0], e->i32, lanes);
    case TW_OP_I32_WRAP_I64: return LLVMBuildTrunc(b, a[0], tw_gen_lanes_of(e->i32, lanes), "");
    case TW_OP_I64_EXTEND_I32_S: return LLVMBuildSExt(b, a[0], tw_gen_lanes_of(e->i64, lanes), "");
    case TW_OP_I64_EXTEND_I32_U: return LLVMBuildZExt(b, a[0], tw_gen_lanes_of(e->i64, lanes), "");
    default: return NULL;
    }
}

LLVMValueRef tw_gen_op(tw_emitter *e, tw_op op, uint8_t type, LLVMValueRef *args, uint32_t lanes)
{
    bool select = op == TW_OP_SELECT;
    size_t count = select ? 3 : strlen(tw_op_describe(op)->operands);
    LLVMValueRef a[3];
    for (size_t i = 0; i < count; i++) a[i] = tw_gen_splat(e, args[i], lanes);
    if (select) {
        LLVMValueRef bit = LLVMBuildICmp(e->builder, LLVMIntNE, a[2], LLVMConstNull(LLVMTypeOf(a[2])), "");
        return LLVMBuildSelect(e->builder, bit, a[0], a[1], "");
    }
    LLVMTypeRef result = tw_gen_lanes_of(tw_gen_type(e, type), lanes);
    LLVMValueRef value = arithmetic_float(e, op, result, a);
    if (value) return canonical(e, value, type, lanes);
    value = other_float(e, op, result, a);
    if (!value) value = compare(e, op, a, lanes);
    if (!value) value = integer(e, op, type, a, lanes);
    if (value) return value;
    tw_gen_fail(e, TW_UNSUPPORTED, "kernels don't have the operation %s", tw_op_describe(op)->name);
    return LLVMGetPoison(result);
}
