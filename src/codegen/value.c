/* SPDX-License-Identifier: Apache-2.0 */
#include "codegen/inside.h"

LLVMValueRef tw_gen_instance(const tw_instances *instances, uint32_t row, uint32_t vector)
{
    uint32_t r = instances->rows > 1 ? row : 0, v = instances->vectors > 1 ? vector : 0;
    return instances->of[r * instances->vectors + v];
}

static bool has_lanes(const tw_emitter *e, uint32_t mask)
{
    return e->lane_loop != TW_NONE && (mask >> e->lane_loop & 1);
}

static LLVMValueRef constant(const tw_emitter *e, uint8_t type, uint64_t bits)
{
    LLVMValueRef raw = LLVMConstInt(type == TW_I32 || type == TW_F32 ? e->i32 : e->i64, bits, 0);
    return type == TW_F32 || type == TW_F64 ? LLVMConstBitCast(raw, tw_gen_type(e, type)) : raw;
}

/* An argument word as a value of `type`. */
static LLVMValueRef argument(tw_emitter *e, uint32_t word, uint8_t type)
{
    LLVMValueRef raw = tw_gen_arg(e, word);
    LLVMBasicBlockRef back = tw_gen_at(e, 0);
    if (type == TW_I32 || type == TW_F32) raw = LLVMBuildTrunc(e->builder, raw, e->i32, "");
    if (type == TW_F32 || type == TW_F64) raw = LLVMBuildBitCast(e->builder, raw, tw_gen_type(e, type), "");
    tw_gen_back(e, back);
    return raw;
}

static void emit_leaf(tw_emitter *e, tw_instances *out, LLVMValueRef value)
{
    tw_gen_instances(e, out, 0, 0);
    out->of[0] = value;
}

/* 0, coef, 2·coef, … in the lanes of vector `vector`. */
static LLVMValueRef lane_steps(tw_emitter *e, LLVMValueRef coef, LLVMTypeRef type, uint32_t vector)
{
    LLVMValueRef steps[64];
    for (uint32_t i = 0; i < e->lanes; i++) steps[i] = LLVMConstInt(type, (uint64_t)vector * e->lanes + i, 0);
    if (e->lanes == 1) return LLVMBuildMul(e->builder, steps[0], coef, "");
    return LLVMBuildMul(e->builder, LLVMConstVector(steps, e->lanes), tw_gen_splat(e, coef, e->lanes), "");
}

/* What a trip of the loop adds. The mask has the pair's outer loop as soon as it has the inner one. */
static LLVMValueRef coefficient(tw_emitter *e, uint32_t index, uint32_t loop, uint8_t type)
{
    const tw_affine *affine = &e->model->affines[index];
    uint32_t word = e->layout.affine[index] + 1, inner = e->tree->pair.inner;
    LLVMValueRef own = argument(e, word + e->model->loops[loop].depth, type);
    if (!e->tree->has_fronts || loop != e->tree->pair.outer || affine->loop != inner) return own;
    return tw_gen_skewed(e, own, argument(e, word + e->model->loops[inner].depth, type));
}

/* c0 + Σ c·counter at the innermost scope that it needs, then a step for rows and lanes. */
static void emit_affine(tw_emitter *e, tw_instances *out, uint32_t index, uint32_t mask)
{
    const tw_affine *affine = &e->model->affines[index];
    uint8_t type = affine->bits == 32 ? TW_I32 : TW_I64;
    LLVMTypeRef llvm_type = tw_gen_type(e, type);
    uint32_t word = e->layout.affine[index], depth = tw_gen_depth_of(e, mask);
    LLVMValueRef sum = argument(e, word, type), coefs[TW_MAX_SCOPES] = {0};
    for (uint32_t k = 1; k <= depth; k++) {
        const tw_scope *scope = &e->scopes[k];
        if (scope->sets_off_blocks || !(mask >> scope->loop & 1)) continue;
        coefs[k] = coefficient(e, index, scope->loop, type);
    }
    tw_gen_instances(e, out, depth, mask);
    LLVMBasicBlockRef back = tw_gen_at(e, depth);
    for (uint32_t k = 1; k <= depth; k++) {
        if (!coefs[k]) continue;
        LLVMValueRef counter = LLVMBuildTrunc(e->builder, e->scopes[k].counter, llvm_type, "");
        sum = LLVMBuildAdd(e->builder, sum, LLVMBuildMul(e->builder, counter, coefs[k], ""), "");
    }
    for (uint32_t r = 0; r < out->rows; r++) {
        LLVMValueRef row = sum;
        for (uint32_t k = 1; k <= depth && r; k++)
            if (coefs[k] && e->scopes[k].loop == e->row_loop)
                row = LLVMBuildAdd(e->builder, row, LLVMBuildMul(e->builder, LLVMConstInt(llvm_type, r, 0), coefs[k], ""), "");
        for (uint32_t v = 0; v < out->vectors; v++) {
            LLVMValueRef value = row;
            for (uint32_t k = 1; k <= depth; k++)
                if (coefs[k] && e->scopes[k].loop == e->lane_loop)
                    value = LLVMBuildAdd(e->builder, tw_gen_splat(e, row, e->lanes), lane_steps(e, coefs[k], llvm_type, v), "");
            out->of[r * out->vectors + v] = value;
        }
    }
    tw_gen_back(e, back);
}

static void emit_operation(tw_emitter *e, tw_instances *out, uint32_t index)
{
    const tw_value_node *n = &e->model->values[index];
    const tw_instances *args[3] = {0};
    uint32_t depth = 0;
    for (int i = 0; i < 3 && n->args[i] != TW_NONE; i++) {
        args[i] = tw_gen_value(e, n->args[i]);
        if (args[i]->depth > depth) depth = args[i]->depth;
    }
    uint32_t lanes = has_lanes(e, e->varies[index]) ? e->lanes : 1;
    tw_gen_instances(e, out, depth, e->varies[index]);
    LLVMBasicBlockRef back = tw_gen_at(e, depth);
    for (uint32_t r = 0; r < out->rows; r++)
        for (uint32_t v = 0; v < out->vectors; v++) {
            LLVMValueRef a[3] = {0};
            for (int i = 0; i < 3 && args[i]; i++) a[i] = tw_gen_instance(args[i], r, v);
            out->of[r * out->vectors + v] = tw_gen_op(e, (tw_op)n->op, n->type, a, lanes);
        }
    tw_gen_back(e, back);
}

/* A final value whose loop isn't in the tree (it never has a trip) is the loop's init. */
static void emit_unmade(tw_emitter *e, tw_instances *out, const tw_value_node *n)
{
    if (n->kind == TW_VALUE_FINAL) {
        const tw_instances *init = tw_gen_value(e, e->model->carried[n->index].init);
        LLVMValueRef *of = out->of;
        *out = *init;
        out->of = of ? of : TW_NEW_ARRAY(e->arena, LLVMValueRef, TW_MAX_INSTANCES);
        if (!out->of) tw_gen_fail(e, TW_NO_MEMORY, "out of memory"), out->of = init->of;
        for (uint32_t i = 0; i < (uint32_t)init->rows * init->vectors; i++) out->of[i] = init->of[i];
        return;
    }
    tw_gen_fail(e, TW_INTERNAL, "a read or carried scalar is used where the schedule hasn't made it");
    emit_leaf(e, out, LLVMGetPoison(tw_gen_type(e, n->type)));
}

const tw_instances *tw_gen_value(tw_emitter *e, uint32_t value)
{
    tw_instances *out = &e->values[value];
    if (tw_gen_valid(e, out)) return out;
    const tw_value_node *n = &e->model->values[value];
    switch ((tw_value_kind)n->kind) {
    case TW_VALUE_CONST: emit_leaf(e, out, constant(e, n->type, n->bits)); break;
    case TW_VALUE_SYMBOL: emit_leaf(e, out, argument(e, e->layout.symbol[n->index], n->type)); break;
    case TW_VALUE_AFFINE: emit_affine(e, out, n->index, e->varies[value]); break;
    case TW_VALUE_OP: emit_operation(e, out, value); break;
    default: emit_unmade(e, out, n); break;
    }
    return out;
}
