/* SPDX-License-Identifier: Apache-2.0 */
#include "rewrite/variance.h"

const tw_variance tw_variance_unknown = {.roots = UINT64_MAX, .scale = 32, .local = UINT32_MAX};

tw_variance tw_variance_const(int32_t value)
{
    return (tw_variance){.clean = UINT64_MAX, .is_const = true, .constant = value, .local = UINT32_MAX};
}

static int32_t wrap_add(int32_t a, int32_t b) { return (int32_t)((uint32_t)a + (uint32_t)b); }

/* a + b or a - b. A local in both might cancel. */
static tw_variance sum(tw_variance a, tw_variance b, bool minus)
{
    if (a.is_const && b.is_const)
        return tw_variance_const(wrap_add(a.constant, minus ? (int32_t)(0u - (uint32_t)b.constant) : b.constant));
    tw_variance r = {.clean = a.clean & b.clean,
                     .roots = a.roots | b.roots,
                     .scale = a.scale > b.scale ? a.scale : b.scale,
                     .local = UINT32_MAX};
    if (!(a.roots & b.roots)) r.vary = a.vary | b.vary;
    if (b.is_const) {
        r.local = a.local;
        r.since = a.since;
        r.add = wrap_add(a.add, minus ? (int32_t)(0u - (uint32_t)b.constant) : b.constant);
        r.plus_param = a.plus_param;
    }
    return r;
}

static tw_variance shifted_out(tw_variance a, int bits)
{
    if (a.scale + bits >= 32) return tw_variance_unknown;
    a.scale = (uint8_t)(a.scale + bits);
    a.local = UINT32_MAX;
    return a;
}

/* Depends on a still, but only adding keeps that so. */
static tw_variance frozen(tw_variance a)
{
    if (a.scale) return tw_variance_unknown;
    a.scale = 32;
    a.local = UINT32_MAX;
    return a;
}

static tw_variance by_const(tw_op op, tw_variance a, int32_t c)
{
    switch (op) {
    case TW_OP_I32_SHL: return shifted_out(a, c & 31);
    case TW_OP_I32_MUL: return c ? shifted_out(a, __builtin_ctz((unsigned)c)) : tw_variance_unknown;
    case TW_OP_I32_AND: return c ? frozen(a) : tw_variance_unknown;
    case TW_OP_I32_OR: return c != -1 ? frozen(a) : tw_variance_unknown;
    case TW_OP_I32_SHR_U: return frozen(a);
    default: return tw_variance_unknown;
    }
}

tw_variance tw_variance_binary(tw_op op, tw_variance a, tw_variance b)
{
    bool commutes = op == TW_OP_I32_ADD || op == TW_OP_I32_MUL || op == TW_OP_I32_AND || op == TW_OP_I32_OR;
    if (commutes && a.is_const) {
        tw_variance swap = a;
        a = b;
        b = swap;
    }
    if (op == TW_OP_I32_ADD || op == TW_OP_I32_SUB) return sum(a, b, op == TW_OP_I32_SUB);
    if (!b.is_const || a.is_const) return tw_variance_unknown;
    return by_const(op, a, b.constant);
}
