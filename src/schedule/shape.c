/* SPDX-License-Identifier: Apache-2.0 */
#include <string.h>

#include "schedule/build.h"

static bool encloses(const tw_model *model, uint32_t outer, uint32_t inner)
{
    while (inner != outer && inner != TW_NONE) inner = model->loops[inner].parent;
    return inner == outer;
}

tw_stride tw_stride_by(const tw_model *model, const tw_facts *facts, uint32_t access, uint32_t loop)
{
    const tw_model_access *x = &model->accesses[access];
    if (!encloses(model, loop, x->loop) || x->is_indirect) return TW_STRIDE_ANY;
    uint32_t depth = model->loops[loop].depth;
    if (model->affines[x->address].coef[depth] == TW_NONE) return TW_STRIDE_ZERO;
    return (tw_stride)facts->stride[access][depth];
}

bool tw_trips_vary_with(const tw_model *model, const tw_facts *facts, uint32_t loop, uint32_t outer)
{
    return facts->varying[loop] && (model->exprs[model->loops[loop].trips].counters >> outer & 1);
}

/* Loops whose counters the affine has; an access leaves out those that facts say have stride 0. */
static uint32_t affine_loops(const tw_model *model, const tw_affine *affine)
{
    uint32_t chain[TW_MODEL_MAX_DEPTH], length = tw_model_chain(model, affine->loop, chain), mask = 0;
    for (uint32_t d = 0; d < length; d++)
        if (affine->coef[d] != TW_NONE) mask |= 1u << chain[d];
    return mask;
}

static uint32_t access_loops(const tw_model *model, const tw_facts *facts, uint32_t access)
{
    const tw_model_access *x = &model->accesses[access];
    uint32_t mask = affine_loops(model, &model->affines[x->address]), kept = 0;
    for (uint32_t l = 0; l < model->loop_count; l++)
        if ((mask >> l & 1) && tw_stride_by(model, facts, access, l) != TW_STRIDE_ZERO) kept |= 1u << l;
    return kept;
}

/* A carried scalar varies with its loop, and with what its init and its next vary with; a final value not with the loop. */
static uint32_t value_loops(const tw_model *model, const tw_facts *facts, const tw_shape *shape, const tw_value_node *v)
{
    uint32_t mask = 0;
    switch ((tw_value_kind)v->kind) {
    case TW_VALUE_CONST:
    case TW_VALUE_SYMBOL: return 0;
    case TW_VALUE_AFFINE: return affine_loops(model, &model->affines[v->index]);
    case TW_VALUE_READ:
    case TW_VALUE_OP:
        if (v->kind == TW_VALUE_READ) mask = access_loops(model, facts, v->index);
        for (int i = 0; i < 3 && v->args[i] != TW_NONE; i++) mask |= shape->varies[v->args[i]];
        return mask;
    case TW_VALUE_CARRIED:
    case TW_VALUE_FINAL: {
        const tw_carried *c = &model->carried[v->index];
        mask = shape->varies[c->init] | shape->varies[c->next];
        return v->kind == TW_VALUE_CARRIED ? mask | 1u << c->loop : mask & ~(1u << c->loop);
    }
    }
    return 0;
}

static uint32_t inner_of(const tw_model *model, uint32_t a, uint32_t b)
{
    return encloses(model, a, b) ? b : a;
}

static uint32_t value_home(const tw_model *model, const tw_shape *shape, const tw_value_node *v)
{
    uint32_t home = TW_NONE;
    switch ((tw_value_kind)v->kind) {
    case TW_VALUE_CONST:
    case TW_VALUE_SYMBOL: return TW_NONE;
    case TW_VALUE_AFFINE: return model->affines[v->index].loop;
    case TW_VALUE_READ: return model->accesses[v->index].loop;
    case TW_VALUE_CARRIED: return model->carried[v->index].loop;
    case TW_VALUE_FINAL: return model->loops[model->carried[v->index].loop].parent;
    case TW_VALUE_OP:
        for (int i = 0; i < 3 && v->args[i] != TW_NONE; i++) home = inner_of(model, home, shape->loop[v->args[i]]);
        return home;
    }
    return home;
}

/* Masks only grow and have 32 bits, and each round without a change ends it. */
void tw_shape_of(const tw_model *model, const tw_facts *facts, tw_shape *out)
{
    memset(out, 0, sizeof *out);
    for (bool changed = true; changed;) {
        changed = false;
        for (uint32_t i = 0; i < model->value_count; i++) {
            uint32_t mask = value_loops(model, facts, out, &model->values[i]);
            changed |= mask != out->varies[i];
            out->varies[i] |= mask;
        }
    }
    for (uint32_t i = 0; i < model->value_count; i++) out->loop[i] = value_home(model, out, &model->values[i]);
}

void tw_tree_varies(const tw_tree *tree, uint32_t varies[TW_MODEL_MAX_VALUES])
{
    tw_shape shape;
    tw_shape_of(tree->model, tree->facts, &shape);
    memcpy(varies, shape.varies, sizeof shape.varies);
    if (!tree->has_fronts) return;
    for (uint32_t v = 0; v < tree->model->value_count; v++) /* within a front the inner counter follows from the outer */
        if (varies[v] >> tree->pair.inner & 1) varies[v] |= 1u << tree->pair.outer;
}
