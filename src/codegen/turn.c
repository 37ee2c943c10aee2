/* SPDX-License-Identifier: Apache-2.0 */
/* Square tiles turned in registers. x86's shuffles are cheap within 128 bits, so a tile of wider vectors first swaps its
 * off-diagonal quarters (whole halves of vectors); what remains is a transpose within each half, done in log2 rounds of
 * interleaving: vectors i and i + n/2 give their lower halves interleaved to 2i and their upper halves to 2i + 1. */

#include "codegen/inside.h"

static LLVMValueRef shuffle(tw_emitter *e, LLVMValueRef a, LLVMValueRef b, const uint32_t *lanes, uint32_t n)
{
    LLVMValueRef mask[2 * TW_MAX_ROWS];
    for (uint32_t i = 0; i < n; i++) mask[i] = LLVMConstInt(e->i32, lanes[i], 0);
    return LLVMBuildShuffleVector(e->builder, a, b, LLVMConstVector(mask, n), "");
}

/* Lower or upper halves of each group of `group` lanes, interleaved. */
static LLVMValueRef interleave(tw_emitter *e, LLVMValueRef a, LLVMValueRef b, uint32_t n, uint32_t group, bool upper)
{
    uint32_t lanes[TW_MAX_ROWS], at = 0;
    for (uint32_t base = 0; base < n; base += group)
        for (uint32_t k = 0; k < group / 2; k++) {
            lanes[at++] = base + k + (upper ? group / 2 : 0);
            lanes[at++] = n + base + k + (upper ? group / 2 : 0);
        }
    return shuffle(e, a, b, lanes, n);
}

/* `count` vectors, each group of whose `group` = count lanes is a column of a square of its own. */
static void transpose_groups(tw_emitter *e, LLVMValueRef *m, uint32_t n, uint32_t group)
{
    for (uint32_t round = 1; round < group; round *= 2) {
        LLVMValueRef out[TW_MAX_ROWS];
        for (uint32_t i = 0; i < group / 2; i++) {
            out[2 * i] = interleave(e, m[i], m[i + group / 2], n, group, false);
            out[2 * i + 1] = interleave(e, m[i], m[i + group / 2], n, group, true);
        }
        for (uint32_t i = 0; i < group; i++) m[i] = out[i];
    }
}

static void swap_quarters(tw_emitter *e, LLVMValueRef *m, uint32_t n)
{
    uint32_t lower[TW_MAX_ROWS], upper[TW_MAX_ROWS], half = n / 2;
    for (uint32_t i = 0; i < half; i++) {
        lower[i] = i, lower[half + i] = n + i;
        upper[i] = half + i, upper[half + i] = n + half + i;
    }
    for (uint32_t i = 0; i < half; i++) {
        LLVMValueRef a = m[i], b = m[half + i];
        m[i] = shuffle(e, a, b, lower, n);
        m[half + i] = shuffle(e, a, b, upper, n);
    }
}

static unsigned bits_of(LLVMTypeRef type)
{
    switch (LLVMGetTypeKind(type)) {
    case LLVMFloatTypeKind: return 32;
    case LLVMDoubleTypeKind: return 64;
    default: return LLVMGetIntTypeWidth(type);
    }
}

void tw_gen_transpose(tw_emitter *e, LLVMValueRef *m, uint32_t n)
{
    if (n * bits_of(LLVMGetElementType(LLVMTypeOf(m[0]))) <= 128) {
        transpose_groups(e, m, n, n);
        return;
    }
    swap_quarters(e, m, n);
    transpose_groups(e, m, n, n / 2);
    transpose_groups(e, m + n / 2, n, n / 2);
}
