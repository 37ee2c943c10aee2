/* SPDX-License-Identifier: Apache-2.0 */
/* Scalar operations on raw bits, written from the specification of WebAssembly. */

#include <math.h>
#include <string.h>

#include "region/interp.h"

static float f32_of(uint64_t bits)
{
    uint32_t low = (uint32_t)bits;
    float value;
    memcpy(&value, &low, 4);
    return value;
}

static double f64_of(uint64_t bits)
{
    double value;
    memcpy(&value, &bits, 8);
    return value;
}

static uint64_t bits32(float value)
{
    uint32_t bits;
    memcpy(&bits, &value, 4);
    return bits;
}

static uint64_t bits64(double value)
{
    uint64_t bits;
    memcpy(&bits, &value, 8);
    return bits;
}

static uint32_t rotl32(uint32_t a, uint32_t n)
{
    n &= 31;
    return n ? a << n | a >> (32 - n) : a;
}

static uint64_t rotl64(uint64_t a, uint64_t n)
{
    n &= 63;
    return n ? a << n | a >> (64 - n) : a;
}

static bool op_i32(tw_op op, uint32_t a, uint32_t b, uint64_t *out)
{
    int32_t x = (int32_t)a, y = (int32_t)b;
    uint32_t r;
    switch (op) {
    case TW_OP_I32_EQZ: r = a == 0; break;
    case TW_OP_I32_EQ: r = a == b; break;
    case TW_OP_I32_NE: r = a != b; break;
    case TW_OP_I32_LT_S: r = x < y; break;
    case TW_OP_I32_LT_U: r = a < b; break;
    case TW_OP_I32_GT_S: r = x > y; break;
    case TW_OP_I32_GT_U: r = a > b; break;
    case TW_OP_I32_LE_S: r = x <= y; break;
    case TW_OP_I32_LE_U: r = a <= b; break;
    case TW_OP_I32_GE_S: r = x >= y; break;
    case TW_OP_I32_GE_U: r = a >= b; break;
    case TW_OP_I32_CLZ: r = a ? (uint32_t)__builtin_clz(a) : 32; break;
    case TW_OP_I32_CTZ: r = a ? (uint32_t)__builtin_ctz(a) : 32; break;
    case TW_OP_I32_POPCNT: r = (uint32_t)__builtin_popcount(a); break;
    case TW_OP_I32_ADD: r = a + b; break;
    case TW_OP_I32_SUB: r = a - b; break;
    case TW_OP_I32_MUL: r = a * b; break;
    case TW_OP_I32_DIV_S: r = (uint32_t)(x / y); break;
    case TW_OP_I32_DIV_U: r = a / b; break;
    case TW_OP_I32_REM_S: r = (uint32_t)(x % y); break;
    case TW_OP_I32_REM_U: r = a % b; break;
    case TW_OP_I32_AND: r = a & b; break;
    case TW_OP_I32_OR: r = a | b; break;
    case TW_OP_I32_XOR: r = a ^ b; break;
    case TW_OP_I32_SHL: r = a << (b & 31); break;
    case TW_OP_I32_SHR_S: r = (uint32_t)(x >> (b & 31)); break;
    case TW_OP_I32_SHR_U: r = a >> (b & 31); break;
    case TW_OP_I32_ROTL: r = rotl32(a, b); break;
    case TW_OP_I32_ROTR: r = rotl32(a, 0 - b); break;
    case TW_OP_I32_EXTEND8_S: r = (uint32_t)(int8_t)a; break;
    case TW_OP_I32_EXTEND16_S: r = (uint32_t)(int16_t)a; break;
    default: return false;
    }
    *out = r;
    return true;
}

static bool op_i64(tw_op op, uint64_t a, uint64_t b, uint64_t *out)
{
    int64_t x = (int64_t)a, y = (int64_t)b;
    uint64_t r;
    switch (op) {
    case TW_OP_I64_EQZ: r = a == 0; break;
    case TW_OP_I64_EQ: r = a == b; break;
    case TW_OP_I64_NE: r = a != b; break;
    case TW_OP_I64_LT_S: r = x < y; break;
    case TW_OP_I64_LT_U: r = a < b; break;
    case TW_OP_I64_GT_S: r = x > y; break;
    case TW_OP_I64_GT_U: r = a > b; break;
    case TW_OP_I64_LE_S: r = x <= y; break;
    case TW_OP_I64_LE_U: r = a <= b; break;
    case TW_OP_I64_GE_S: r = x >= y; break;
    case TW_OP_I64_GE_U: r = a >= b; break;
    case TW_OP_I64_CLZ: r = a ? (uint64_t)__builtin_clzll(a) : 64; break;
    case TW_OP_I64_CTZ: r = a ? (uint64_t)__builtin_ctzll(a) : 64; break;
    case TW_OP_I64_POPCNT: r = (uint64_t)__builtin_popcountll(a); break;
    case TW_OP_I64_ADD: r = a + b; break;
    case TW_OP_I64_SUB: r = a - b; break;
    case TW_OP_I64_MUL: r = a * b; break;
    case TW_OP_I64_DIV_S: r = (uint64_t)(x / y); break;
    case TW_OP_I64_DIV_U: r = a / b; break;
    case TW_OP_I64_REM_S: r = (uint64_t)(x % y); break;
    case TW_OP_I64_REM_U: r = a % b; break;
    case TW_OP_I64_AND: r = a & b; break;
    case TW_OP_I64_OR: r = a | b; break;
    case TW_OP_I64_XOR: r = a ^ b; break;
    case TW_OP_I64_SHL: r = a << (b & 63); break;
    case TW_OP_I64_SHR_S: r = (uint64_t)(x >> (b & 63)); break;
    case TW_OP_I64_SHR_U: r = a >> (b & 63); break;
    case TW_OP_I64_ROTL: r = rotl64(a, b); break;
    case TW_OP_I64_ROTR: r = rotl64(a, 0 - b); break;
    case TW_OP_I64_EXTEND8_S: r = (uint64_t)(int8_t)a; break;
    case TW_OP_I64_EXTEND16_S: r = (uint64_t)(int16_t)a; break;
    case TW_OP_I64_EXTEND32_S: r = (uint64_t)(int32_t)a; break;
    default: return false;
    }
    *out = r;
    return true;
}

/* min and max: a NaN wins, and -0 is less than 0. */
#define FLOAT_MIN(a, b) ((a) != (a) || (b) != (b) ? (a) + (b) : (a) < (b) || ((a) == (b) && signbit(a)) ? (a) : (b))
#define FLOAT_MAX(a, b) ((a) != (a) || (b) != (b) ? (a) + (b) : (a) > (b) || ((a) == (b) && !signbit(a)) ? (a) : (b))

static bool op_f32(tw_op op, uint64_t ra, uint64_t rb, uint64_t *out)
{
    float a = f32_of(ra), b = f32_of(rb);
    switch (op) {
    case TW_OP_F32_EQ: *out = a == b; break;
    case TW_OP_F32_NE: *out = a != b; break;
    case TW_OP_F32_LT: *out = a < b; break;
    case TW_OP_F32_GT: *out = a > b; break;
    case TW_OP_F32_LE: *out = a <= b; break;
    case TW_OP_F32_GE: *out = a >= b; break;
    case TW_OP_F32_ABS: *out = ra & 0x7fffffffu; break;
    case TW_OP_F32_NEG: *out = (ra ^ 0x80000000u) & UINT32_MAX; break;
    case TW_OP_F32_COPYSIGN: *out = (ra & 0x7fffffffu) | (rb & 0x80000000u); break;
    case TW_OP_F32_CEIL: *out = bits32(ceilf(a)); break;
    case TW_OP_F32_FLOOR: *out = bits32(floorf(a)); break;
    case TW_OP_F32_TRUNC: *out = bits32(truncf(a)); break;
    case TW_OP_F32_NEAREST: *out = bits32(nearbyintf(a)); break;
    case TW_OP_F32_SQRT: *out = bits32(sqrtf(a)); break;
    case TW_OP_F32_ADD: *out = bits32(a + b); break;
    case TW_OP_F32_SUB: *out = bits32(a - b); break;
    case TW_OP_F32_MUL: *out = bits32(a * b); break;
    case TW_OP_F32_DIV: *out = bits32(a / b); break;
    case TW_OP_F32_MIN: *out = bits32(FLOAT_MIN(a, b)); break;
    case TW_OP_F32_MAX: *out = bits32(FLOAT_MAX(a, b)); break;
    case TW_OP_F64_PROMOTE_F32: *out = bits64((double)a); break;
    default: return false;
    }
    return true;
}

static bool op_f64(tw_op op, uint64_t ra, uint64_t rb, uint64_t *out)
{
    double a = f64_of(ra), b = f64_of(rb);
    const uint64_t sign = (uint64_t)1 << 63;
    switch (op) {
    case TW_OP_F64_EQ: *out = a == b; break;
    case TW_OP_F64_NE: *out = a != b; break;
    case TW_OP_F64_LT: *out = a < b; break;
    case TW_OP_F64_GT: *out = a > b; break;
    case TW_OP_F64_LE: *out = a <= b; break;
    case TW_OP_F64_GE: *out = a >= b; break;
    case TW_OP_F64_ABS: *out = ra & ~sign; break;
    case TW_OP_F64_NEG: *out = ra ^ sign; break;
    case TW_OP_F64_COPYSIGN: *out = (ra & ~sign) | (rb & sign); break;
    case TW_OP_F64_CEIL: *out = bits64(ceil(a)); break;
    case TW_OP_F64_FLOOR: *out = bits64(floor(a)); break;
    case TW_OP_F64_TRUNC: *out = bits64(trunc(a)); break;
    case TW_OP_F64_NEAREST: *out = bits64(nearbyint(a)); break;
    case TW_OP_F64_SQRT: *out = bits64(sqrt(a)); break;
    case TW_OP_F64_ADD: *out = bits64(a + b); break;
    case TW_OP_F64_SUB: *out = bits64(a - b); break;
    case TW_OP_F64_MUL: *out = bits64(a * b); break;
    case TW_OP_F64_DIV: *out = bits64(a / b); break;
    case TW_OP_F64_MIN: *out = bits64(FLOAT_MIN(a, b)); break;
    case TW_OP_F64_MAX: *out = bits64(FLOAT_MAX(a, b)); break;
    case TW_OP_F32_DEMOTE_F64: *out = bits32((float)a); break;
    default: return false;
    }
    return true;
}

/* Towards zero, into [low, high]; NaN gives 0. The limits are exact as doubles or one above. */
static int64_t trunc_s(double a, int64_t low, int64_t high)
{
    if (a != a) return 0;
    if (a <= (double)low) return low;
    return a >= (double)high ? high : (int64_t)a;
}

static uint64_t trunc_u(double a, uint64_t high)
{
    if (a != a || a <= 0) return 0;
    return a >= (double)high ? high : (uint64_t)a;
}

static bool op_convert(tw_op op, uint64_t a, uint64_t *out)
{
    switch (op) {
    case TW_OP_I32_WRAP_I64: *out = (uint32_t)a; break;
    case TW_OP_I64_EXTEND_I32_S: *out = (uint64_t)(int32_t)a; break;
    case TW_OP_I64_EXTEND_I32_U: *out = (uint32_t)a; break;
    case TW_OP_I32_REINTERPRET_F32: case TW_OP_F32_REINTERPRET_I32: *out = (uint32_t)a; break;
    case TW_OP_I64_REINTERPRET_F64: case TW_OP_F64_REINTERPRET_I64: *out = a; break;
    case TW_OP_F32_CONVERT_I32_S: *out = bits32((float)(int32_t)a); break;
    case TW_OP_F32_CONVERT_I32_U: *out = bits32((float)(uint32_t)a); break;
    case TW_OP_F32_CONVERT_I64_S: *out = bits32((float)(int64_t)a); break;
    case TW_OP_F32_CONVERT_I64_U: *out = bits32((float)a); break;
    case TW_OP_F64_CONVERT_I32_S: *out = bits64((double)(int32_t)a); break;
    case TW_OP_F64_CONVERT_I32_U: *out = bits64((double)(uint32_t)a); break;
    case TW_OP_F64_CONVERT_I64_S: *out = bits64((double)(int64_t)a); break;
    case TW_OP_F64_CONVERT_I64_U: *out = bits64((double)a); break;
    case TW_OP_I32_TRUNC_SAT_F32_S: *out = (uint32_t)trunc_s(f32_of(a), INT32_MIN, INT32_MAX); break;
    case TW_OP_I32_TRUNC_SAT_F32_U: *out = trunc_u(f32_of(a), UINT32_MAX); break;
    case TW_OP_I32_TRUNC_SAT_F64_S: *out = (uint32_t)trunc_s(f64_of(a), INT32_MIN, INT32_MAX); break;
    case TW_OP_I32_TRUNC_SAT_F64_U: *out = trunc_u(f64_of(a), UINT32_MAX); break;
    case TW_OP_I64_TRUNC_SAT_F32_S: *out = (uint64_t)trunc_s(f32_of(a), INT64_MIN, INT64_MAX); break;
    case TW_OP_I64_TRUNC_SAT_F32_U: *out = trunc_u(f32_of(a), UINT64_MAX); break;
    case TW_OP_I64_TRUNC_SAT_F64_S: *out = (uint64_t)trunc_s(f64_of(a), INT64_MIN, INT64_MAX); break;
    case TW_OP_I64_TRUNC_SAT_F64_U: *out = trunc_u(f64_of(a), UINT64_MAX); break;
    default: return false;
    }
    return true;
}

bool tw_interp_op(tw_op op, const uint64_t args[3], uint64_t *out)
{
    if (op == TW_OP_SELECT) return *out = (uint32_t)args[2] ? args[0] : args[1], true;
    return op_i32(op, (uint32_t)args[0], (uint32_t)args[1], out) || op_i64(op, args[0], args[1], out) ||
           op_f32(op, args[0], args[1], out) || op_f64(op, args[0], args[1], out) || op_convert(op, args[0], out);
}
