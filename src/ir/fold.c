/* SPDX-License-Identifier: Apache-2.0 */
#include "ir/ir.h"

/* One switch over the integer operations. Signed arithmetic is done on unsigned numbers or in a wider type, so that no
 * operand pair is undefined in C. */

static uint32_t rotate32(uint32_t a, uint32_t n)
{
    n &= 31;
    return n ? a << n | a >> (32 - n) : a;
}

static uint64_t rotate64(uint64_t a, uint64_t n)
{
    n &= 63;
    return n ? a << n | a >> (64 - n) : a;
}

static uint32_t shift_right32(uint32_t a, uint32_t n)
{
    n &= 31;
    return a >> n | ((a >> 31) && n ? UINT32_MAX << (32 - n) : 0);
}

static uint64_t shift_right64(uint64_t a, uint64_t n)
{
    n &= 63;
    return a >> n | ((a >> 63) && n ? UINT64_MAX << (64 - n) : 0);
}

bool tw_ir_fold_int(tw_op op, uint64_t a, uint64_t b, uint64_t *out)
{
    uint32_t x = (uint32_t)a, y = (uint32_t)b;
    int32_t sx = (int32_t)x, sy = (int32_t)y;
    int64_t sa = (int64_t)a, sb = (int64_t)b;
    switch (op) {
    case TW_OP_I32_EQZ: *out = x == 0; return true;
    case TW_OP_I32_EQ: *out = x == y; return true;
    case TW_OP_I32_NE: *out = x != y; return true;
    case TW_OP_I32_LT_S: *out = sx < sy; return true;
    case TW_OP_I32_LT_U: *out = x < y; return true;
    case TW_OP_I32_GT_S: *out = sx > sy; return true;
    case TW_OP_I32_GT_U: *out = x > y; return true;
    case TW_OP_I32_LE_S: *out = sx <= sy; return true;
    case TW_OP_I32_LE_U: *out = x <= y; return true;
    case TW_OP_I32_GE_S: *out = sx >= sy; return true;
    case TW_OP_I32_GE_U: *out = x >= y; return true;
    case TW_OP_I64_EQZ: *out = a == 0; return true;
    case TW_OP_I64_EQ: *out = a == b; return true;
    case TW_OP_I64_NE: *out = a != b; return true;
    case TW_OP_I64_LT_S: *out = sa < sb; return true;
    case TW_OP_I64_LT_U: *out = a < b; return true;
    case TW_OP_I64_GT_S: *out = sa > sb; return true;
    case TW_OP_I64_GT_U: *out = a > b; return true;
    case TW_OP_I64_LE_S: *out = sa <= sb; return true;
    case TW_OP_I64_LE_U: *out = a <= b; return true;
    case TW_OP_I64_GE_S: *out = sa >= sb; return true;
    case TW_OP_I64_GE_U: *out = a >= b; return true;

    case TW_OP_I32_CLZ: *out = x ? (uint64_t)__builtin_clz(x) : 32; return true;
    case TW_OP_I32_CTZ: *out = x ? (uint64_t)__builtin_ctz(x) : 32; return true;
    case TW_OP_I32_POPCNT: *out = (uint64_t)__builtin_popcount(x); return true;
    case TW_OP_I32_ADD: *out = x + y; return true;
    case TW_OP_I32_SUB: *out = x - y; return true;
    case TW_OP_I32_MUL: *out = x * y; return true;
    case TW_OP_I32_DIV_S:
        if (!y || (x == 0x80000000u && y == UINT32_MAX)) return false;
        *out = (uint32_t)(sx / sy);
        return true;
    case TW_OP_I32_DIV_U:
        if (!y) return false;
        *out = x / y;
        return true;
    case TW_OP_I32_REM_S:
        if (!y) return false;
        *out = y == UINT32_MAX ? 0 : (uint32_t)(sx % sy);
        return true;
    case TW_OP_I32_REM_U:
        if (!y) return false;
        *out = x % y;
        return true;
    case TW_OP_I32_AND: *out = x & y; return true;
    case TW_OP_I32_OR: *out = x | y; return true;
    case TW_OP_I32_XOR: *out = x ^ y; return true;
    case TW_OP_I32_SHL: *out = x << (y & 31); return true;
    case TW_OP_I32_SHR_S: *out = shift_right32(x, y); return true;
    case TW_OP_I32_SHR_U: *out = x >> (y & 31); return true;
    case TW_OP_I32_ROTL: *out = rotate32(x, y); return true;
    case TW_OP_I32_ROTR: *out = rotate32(x, 32 - (y & 31)); return true;

    case TW_OP_I64_CLZ: *out = a ? (uint64_t)__builtin_clzll(a) : 64; return true;
    case TW_OP_I64_CTZ: *out = a ? (uint64_t)__builtin_ctzll(a) : 64; return true;
    case TW_OP_I64_POPCNT: *out = (uint64_t)__builtin_popcountll(a); return true;
    case TW_OP_I64_ADD: *out = a + b; return true;
    case TW_OP_I64_SUB: *out = a - b; return true;
    case TW_OP_I64_MUL: *out = a * b; return true;
    case TW_OP_I64_DIV_S:
        if (!b || (a == 1ull << 63 && b == UINT64_MAX)) return false;
        *out = (uint64_t)(sa / sb);
        return true;
    case TW_OP_I64_DIV_U:
        if (!b) return false;
        *out = a / b;
        return true;
    case TW_OP_I64_REM_S:
        if (!b) return false;
        *out = b == UINT64_MAX ? 0 : (uint64_t)(sa % sb);
        return true;
    case TW_OP_I64_REM_U:
        if (!b) return false;
        *out = a % b;
        return true;
    case TW_OP_I64_AND: *out = a & b; return true;
    case TW_OP_I64_OR: *out = a | b; return true;
    case TW_OP_I64_XOR: *out = a ^ b; return true;
    case TW_OP_I64_SHL: *out = a << (b & 63); return true;
    case TW_OP_I64_SHR_S: *out = shift_right64(a, b); return true;
    case TW_OP_I64_SHR_U: *out = a >> (b & 63); return true;
    case TW_OP_I64_ROTL: *out = rotate64(a, b); return true;
    case TW_OP_I64_ROTR: *out = rotate64(a, 64 - (b & 63)); return true;

    case TW_OP_I32_WRAP_I64: *out = x; return true;
    case TW_OP_I64_EXTEND_I32_S: *out = (uint64_t)(int64_t)sx; return true;
    case TW_OP_I64_EXTEND_I32_U: *out = x; return true;
    case TW_OP_I32_EXTEND8_S: *out = (uint32_t)(int32_t)(int8_t)x; return true;
    case TW_OP_I32_EXTEND16_S: *out = (uint32_t)(int32_t)(int16_t)x; return true;
    case TW_OP_I64_EXTEND8_S: *out = (uint64_t)(int64_t)(int8_t)a; return true;
    case TW_OP_I64_EXTEND16_S: *out = (uint64_t)(int64_t)(int16_t)a; return true;
    case TW_OP_I64_EXTEND32_S: *out = (uint64_t)(int64_t)sx; return true;
    default: return false;
    }
}
