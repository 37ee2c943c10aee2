/* SPDX-License-Identifier: Apache-2.0 */
#include "codegen/inside.h"

LLVMBasicBlockRef tw_gen_block(tw_emitter *e, const char *name)
{
    return LLVMAppendBasicBlockInContext(e->context, e->function, name);
}

LLVMBasicBlockRef tw_gen_at(tw_emitter *e, uint32_t depth)
{
    LLVMBasicBlockRef current = LLVMGetInsertBlock(e->builder);
    if (depth < e->depth)
        LLVMPositionBuilderBefore(e->builder, LLVMGetBasicBlockTerminator(e->scopes[depth + 1].around));
    return current;
}

void tw_gen_back(tw_emitter *e, LLVMBasicBlockRef block)
{
    LLVMPositionBuilderAtEnd(e->builder, block);
}

uint32_t tw_gen_depth_of(const tw_emitter *e, uint32_t mask)
{
    for (uint32_t depth = e->depth; depth > 0; depth--) {
        const tw_scope *scope = &e->scopes[depth];
        if (!scope->sets_off_blocks && (mask >> scope->loop & 1)) return depth;
    }
    return 0;
}

bool tw_gen_valid(const tw_emitter *e, const tw_instances *instances)
{
    return instances->serial && instances->depth <= e->depth && e->scopes[instances->depth].serial == instances->serial;
}

static bool varies_with(uint32_t mask, uint32_t loop)
{
    return loop != TW_NONE && (mask >> loop & 1);
}

void tw_gen_instances(tw_emitter *e, tw_instances *out, uint32_t depth, uint32_t mask)
{
    out->serial = e->scopes[depth].serial;
    out->depth = depth;
    out->rows = (uint8_t)(varies_with(mask, e->row_loop) ? e->rows : 1);
    out->vectors = (uint8_t)(varies_with(mask, e->lane_loop) ? e->vectors : 1);
    if (!out->of) out->of = TW_NEW_ARRAY(e->arena, LLVMValueRef, TW_MAX_INSTANCES);
    if (!out->of) {
        static LLVMValueRef nowhere[TW_MAX_INSTANCES]; /* written, never read: the failure ends the compilation */
        out->of = nowhere;
        tw_gen_fail(e, TW_NO_MEMORY, "out of memory");
    }
}

LLVMValueRef tw_gen_const64(const tw_emitter *e, int64_t value)
{
    return LLVMConstInt(e->i64, (uint64_t)value, 0);
}

LLVMValueRef tw_gen_arg(tw_emitter *e, uint32_t index)
{
    LLVMBasicBlockRef back = tw_gen_at(e, 0);
    LLVMValueRef offset = tw_gen_const64(e, (int64_t)index * 8);
    LLVMValueRef at = LLVMBuildInBoundsGEP2(e->builder, e->i8, e->args, &offset, 1, "");
    LLVMValueRef value = LLVMBuildLoad2(e->builder, e->i64, at, "");
    tw_gen_back(e, back);
    return value;
}

LLVMValueRef tw_gen_skewed(tw_emitter *e, LLVMValueRef outer, LLVMValueRef inner)
{
    LLVMBasicBlockRef back = tw_gen_at(e, 0);
    LLVMValueRef skew = LLVMConstInt(LLVMTypeOf(inner), e->tree->pair.skew, 0);
    LLVMValueRef result = LLVMBuildSub(e->builder, outer, LLVMBuildMul(e->builder, inner, skew, ""), "");
    tw_gen_back(e, back);
    return result;
}
