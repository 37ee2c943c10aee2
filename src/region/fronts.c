/* SPDX-License-Identifier: Apache-2.0
 * Measured on Zen 3, in cycles an iteration, one thread: Gauss-Seidel with nine points and a division 34 in its own order and 10 in
 * fronts, with five points 18 and 7, an edit distance 9 and 5, a longest common subsequence 5 and 5. */
#include "region/fronts.h"

static const double
    THROUGH_MEMORY = 5, /* cycles from a store to a load of the same bytes */
    FRONT_ACCESS = 0.8; /* of an access whose neighbours along the front lie elsewhere */

enum { MOST_ITEMS = 32 }; /* of a body that is looked at */

static bool carries_scalar(const tw_model *model, uint32_t loop)
{
    for (uint32_t c = 0; c < model->carried_count; c++)
        if (model->carried[c].loop == loop) return true;
    return false;
}

/* Nothing in the loop but direct reads and stores, or, if `inner` isn't TW_NONE, but reads and that loop. */
static bool holds_only(const tw_model *model, uint32_t loop, uint32_t inner)
{
    const tw_model_loop *l = &model->loops[loop];
    for (uint32_t i = 0; i < l->item_count; i++) {
        if (l->items[i].kind == TW_ITEM_LOOP && l->items[i].index != inner) return false;
        if (l->items[i].kind == TW_ITEM_STORE && inner != TW_NONE) return false;
        if (l->items[i].kind == TW_ITEM_READ && model->accesses[l->items[i].index].is_indirect) return false;
    }
    return true;
}

bool tw_fronts_pair(const tw_model *model, uint32_t inner, bool varies)
{
    uint32_t outer = model->loops[inner].parent;
    if (outer == TW_NONE || model->loops[outer].is_if || model->loops[inner].is_if) return false;
    if (carries_scalar(model, outer) || carries_scalar(model, inner)) return false;
    if (varies && (model->exprs[model->loops[inner].trips].counters >> outer & 1)) return false;
    return holds_only(model, inner, TW_NONE) && holds_only(model, outer, inner);
}

/* Cycles until a result can be used, and of the processor's time; rough, of a current x86-64 core. */
typedef struct op_time {
    double wait, work;
} op_time;

static op_time time_of(const tw_value_node *v)
{
    switch (v->op) {
    case TW_OP_F32_DIV: case TW_OP_F32_SQRT: return (op_time){11, 4};
    case TW_OP_F64_DIV: case TW_OP_F64_SQRT: return (op_time){14, 5};
    case TW_OP_F32_ADD: case TW_OP_F64_ADD: case TW_OP_F32_SUB: case TW_OP_F64_SUB: case TW_OP_F32_MUL: case TW_OP_F64_MUL:
        return (op_time){3.5, 0.5};
    default: return (op_time){1, 0.4};
    }
}

/* By value: cycles from the load to it; -1: the load has no part in it. Arguments have lower numbers. */
static double wait_for(const tw_model *model, uint32_t load, uint32_t value, double *wait)
{
    for (uint32_t v = 0; v <= value; v++) {
        const tw_value_node *n = &model->values[v];
        wait[v] = n->kind == TW_VALUE_READ && n->index == load ? THROUGH_MEMORY : -1;
        for (int i = 0; i < 3 && n->args[i] != TW_NONE; i++)
            if (wait[n->args[i]] >= 0 && wait[n->args[i]] + time_of(n).wait > wait[v]) wait[v] = wait[n->args[i]] + time_of(n).wait;
    }
    return wait[value];
}

double tw_fronts_wait(const tw_model *model, uint32_t inner, const uint8_t *lags)
{
    const tw_model_loop *loop = &model->loops[inner];
    double wait[TW_MODEL_MAX_VALUES], longest = 0;
    if (loop->item_count > MOST_ITEMS) return 0;
    for (uint32_t i = 0; i < loop->item_count; i++) {
        if (loop->items[i].kind != TW_ITEM_STORE) continue;
        for (uint32_t k = 0; k < loop->item_count; k++) {
            const tw_item *read = &loop->items[k];
            uint32_t lag = read->kind != TW_ITEM_READ ? 0 : lags ? lags[read->index] : 1;
            double cycles = lag ? wait_for(model, read->index, loop->items[i].value, wait) / lag : 0;
            if (cycles > longest) longest = cycles;
        }
    }
    return longest;
}

double tw_fronts_work(const tw_model *model, uint32_t inner)
{
    double work = 2 + FRONT_ACCESS * model->loops[inner].item_count;
    for (uint32_t v = 0; v < model->value_count; v++) /* some may belong to other loops: in favour of the original */
        if (model->values[v].kind == TW_VALUE_OP) work += time_of(&model->values[v]).work;
    return work;
}

bool tw_fronts_promise(const tw_model *model)
{
    for (uint32_t l = 0; l < model->loop_count; l++)
        if (tw_fronts_pair(model, l, true) && tw_fronts_wait(model, l, NULL) > tw_fronts_work(model, l)) return true;
    return false;
}
