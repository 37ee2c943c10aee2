/* SPDX-License-Identifier: Apache-2.0 */
#include "region/guarded.h"

#include <string.h>

enum { DEEPEST = 8, MOST_BRANCHES = 32 };

/* Below `most` and, by which compare, above or from `least` on: then the conversion doesn't trap. */
typedef struct conversion {
    uint16_t op, saturating;
    double least, most;
} conversion;

static const conversion conversions[] = {
    {TW_OP_I32_TRUNC_F32_S, TW_OP_I32_TRUNC_SAT_F32_S, -0x1p31, 0x1p31}, {TW_OP_I32_TRUNC_F32_U, TW_OP_I32_TRUNC_SAT_F32_U, 0, 0x1p32},
    {TW_OP_I32_TRUNC_F64_S, TW_OP_I32_TRUNC_SAT_F64_S, -0x1p31, 0x1p31}, {TW_OP_I32_TRUNC_F64_U, TW_OP_I32_TRUNC_SAT_F64_U, 0, 0x1p32},
    {TW_OP_I64_TRUNC_F32_S, TW_OP_I64_TRUNC_SAT_F32_S, -0x1p63, 0x1p63}, {TW_OP_I64_TRUNC_F32_U, TW_OP_I64_TRUNC_SAT_F32_U, 0, 0x1p64},
    {TW_OP_I64_TRUNC_F64_S, TW_OP_I64_TRUNC_SAT_F64_S, -0x1p63, 0x1p63}, {TW_OP_I64_TRUNC_F64_U, TW_OP_I64_TRUNC_SAT_F64_U, 0, 0x1p64},
};

typedef struct facts { /* what the branches say of x */
    const tw_ir_func *func;
    tw_ir_value x;
    const conversion *to;
    bool below, above;
} facts;

static const tw_ir_inst *inst_of(const tw_ir_func *func, tw_ir_value value)
{
    return func->values[value].kind == TW_IR_RESULT ? &func->insts[func->values[value].inst] : NULL;
}

static bool constant(const tw_ir_func *func, tw_ir_value value, double *out)
{
    const tw_ir_valuedata *data = &func->values[value];
    if (data->kind != TW_IR_CONST || (data->type != TW_F32 && data->type != TW_F64)) return false;
    uint32_t low = (uint32_t)data->bits[0];
    float single;
    memcpy(&single, &low, sizeof single);
    memcpy(out, &data->bits[0], sizeof *out);
    if (data->type == TW_F32) *out = (double)single;
    return true;
}

static bool is_magnitude(const facts *f, tw_ir_value value)
{
    const tw_ir_inst *inst = inst_of(f->func, value);
    return inst && (inst->op == TW_OP_F32_ABS || inst->op == TW_OP_F64_ABS) && inst->args[0] == f->x;
}

/* `value` is less than `bound`, or not greater: neither is NaN. */
static void note_below(facts *f, tw_ir_value value, double bound, bool strictly)
{
    bool low = bound < f->to->most || (strictly && bound == f->to->most);
    if (value != f->x && !is_magnitude(f, value)) return;
    f->below |= low;
    if (value != f->x) f->above |= low && f->to->least < 0; /* the range is symmetric but for its least, which may be left out */
}

static void note_above(facts *f, tw_ir_value value, double bound)
{
    if (value == f->x) f->above |= bound >= f->to->least;
}

/* A compare that holds. Of one that doesn't, a NaN may be the reason. */
static void note_compare(facts *f, const tw_ir_inst *inst)
{
    double bound;
    bool less = inst->op == TW_OP_F32_LT || inst->op == TW_OP_F64_LT, not_more = inst->op == TW_OP_F32_LE || inst->op == TW_OP_F64_LE;
    bool more = inst->op == TW_OP_F32_GT || inst->op == TW_OP_F64_GT, not_less = inst->op == TW_OP_F32_GE || inst->op == TW_OP_F64_GE;
    if (!less && !not_more && !more && !not_less) return;
    if (constant(f->func, inst->args[1], &bound)) {
        if (less || not_more) note_below(f, inst->args[0], bound, less);
        else note_above(f, inst->args[0], bound);
    } else if (constant(f->func, inst->args[0], &bound)) {
        if (more || not_less) note_below(f, inst->args[1], bound, more);
        else note_above(f, inst->args[1], bound);
    }
}

static void note(facts *f, tw_ir_value condition, bool holds, uint32_t depth)
{
    const tw_ir_inst *inst = inst_of(f->func, condition);
    if (!inst || depth == DEEPEST) return;
    if (inst->op == TW_OP_I32_EQZ) {
        note(f, inst->args[0], !holds, depth + 1);
    } else if ((inst->op == TW_OP_I32_AND && holds) || (inst->op == TW_OP_I32_OR && !holds)) {
        note(f, inst->args[0], holds, depth + 1);
        note(f, inst->args[1], holds, depth + 1);
    } else if (holds) {
        note_compare(f, inst);
    }
}

/* Every way to `block` comes by the branches of the blocks that dominate it; which side it took is known where it has one way in. */
static bool is_guarded(const tw_cfg *cfg, facts *f, tw_ir_block block)
{
    for (uint32_t n = 0; n < MOST_BRANCHES && cfg->idom[block] != TW_IR_NO_BLOCK; n++, block = cfg->idom[block]) {
        if (cfg->pred_start[block + 1] - cfg->pred_start[block] != 1) continue;
        const tw_cfg_edge *edge = &cfg->preds[cfg->pred_start[block]];
        const tw_ir_blockdata *from = &f->func->blocks[edge->from];
        if (from->term == TW_IR_BRANCH) note(f, from->value, edge->edge == 0, 0);
        if (f->below && f->above) return true;
    }
    return false;
}

void tw_take_guarded(tw_ir_func *func, const tw_cfg *cfg)
{
    for (uint32_t o = 0; o < cfg->order_count; o++) {
        const tw_ir_blockdata *block = &func->blocks[cfg->order[o]];
        for (uint32_t i = 0; i < block->inst_count; i++) {
            tw_ir_inst *inst = &func->insts[block->insts[i]];
            for (size_t c = 0; c < sizeof conversions / sizeof *conversions; c++) {
                if (inst->op != conversions[c].op) continue;
                facts f = {.func = func, .x = inst->args[0], .to = &conversions[c]};
                if (is_guarded(cfg, &f, cfg->order[o])) inst->op = conversions[c].saturating;
                break;
            }
        }
    }
}
