/* SPDX-License-Identifier: Apache-2.0 */
#include "schedule/scheduler.h"

enum { UNKNOWN_TRIPS = 256 /* when facts have no hint */, RECORD_COST = 4 };

bool tw_is_parallel(const tw_scheduler *s, uint32_t loop)
{
    return s->facts->parallel[loop] && !s->model->loops[loop].is_if && !s->carries[loop];
}

double tw_trips_hint(const tw_scheduler *s, uint32_t loop)
{
    if (s->model->loops[loop].is_if) return 1;
    uint64_t hint = s->facts->trips[loop];
    return hint ? (double)hint : UNKNOWN_TRIPS;
}

static uint32_t op_cost(const tw_value_node *v)
{
    if (v->kind != TW_VALUE_OP) return 0;
    switch (v->op) {
    case TW_OP_F32_DIV: case TW_OP_F64_DIV: case TW_OP_F32_SQRT: case TW_OP_F64_SQRT: return 6;
    default: return 1;
    }
}

void tw_count_ops(tw_scheduler *s)
{
    for (uint32_t i = 0; i < s->model->value_count; i++)
        if (s->shape.loop[i] != TW_NONE) s->ops[s->shape.loop[i]] += op_cost(&s->model->values[i]);
    for (uint32_t c = 0; c < s->model->carried_count; c++) s->carries[s->model->carried[c].loop] = true;
}

bool tw_only_items(const tw_scheduler *s, const tw_node *n)
{
    for (uint32_t i = 0; i < n->child_count; i++)
        if (s->tree->nodes[n->children[i]].kind == TW_NODE_LOOP) return false;
    return true;
}

bool tw_uniform_beneath(const tw_scheduler *s, uint32_t node, uint32_t loop)
{
    const tw_node *n = &s->tree->nodes[node];
    for (uint32_t i = 0; i < n->child_count; i++) {
        const tw_node *child = &s->tree->nodes[n->children[i]];
        if (child->kind == TW_NODE_STORE && tw_stride_by(s->model, s->facts, child->access, loop) == TW_STRIDE_ZERO) return false;
        if (child->kind != TW_NODE_LOOP) continue;
        if (tw_trips_vary_with(s->model, s->facts, child->loop, loop)) return false;
        if (!tw_uniform_beneath(s, n->children[i], loop)) return false;
    }
    return true;
}

/* ---- widths ---- */

static uint32_t type_bytes(uint32_t type)
{
    return type == TW_I64 || type == TW_F64 ? 8 : 4;
}

static void measure(const tw_scheduler *s, uint32_t node, uint32_t loop, tw_widths *w)
{
    const tw_node *n = &s->tree->nodes[node];
    if (n->kind == TW_NODE_LOOP) {
        for (uint32_t i = 0; i < n->child_count; i++) measure(s, n->children[i], loop, w);
        for (uint32_t v = 0; v < s->model->value_count; v++)
            if (s->shape.loop[v] == n->loop && s->model->values[v].kind == TW_VALUE_OP && (s->shape.varies[v] >> loop & 1) &&
                type_bytes(s->model->values[v].type) > w->widest)
                w->widest = type_bytes(s->model->values[v].type);
        return;
    }
    uint32_t width = s->model->accesses[n->access].width;
    if (tw_stride_by(s->model, s->facts, n->access, loop) == TW_STRIDE_ZERO) return;
    if (width > w->widest) w->widest = width;
    if (width < w->narrowest) w->narrowest = width;
}

tw_widths tw_measure_widths(const tw_scheduler *s, uint32_t node, uint32_t loop)
{
    tw_widths w = {1, 8};
    measure(s, node, loop, &w);
    return w;
}

/* ---- costs ---- */

/* A constant stride of a few elements, or back by one: whole vectors are moved and sorted. */
static bool is_in_records(const tw_scheduler *s, uint32_t access, uint32_t loop)
{
    const tw_model_access *x = &s->model->accesses[access];
    uint32_t index = s->model->affines[x->address].coef[s->model->loops[loop].depth];
    if (index == TW_NONE) return false;
    const tw_expr_node *coef = &s->model->exprs[index];
    int64_t stride = (int32_t)coef->imm;
    return coef->kind == TW_EXPR_CONST && stride % x->width == 0 && (stride == -x->width || (stride > 0 && stride / x->width <= 4));
}

static double access_cost(const tw_scheduler *s, const tw_node *n, uint32_t lane_loop, uint32_t lanes)
{
    if (lanes == 1) return 1;
    tw_stride stride = tw_stride_by(s->model, s->facts, n->access, lane_loop);
    if (stride == TW_STRIDE_ZERO || stride == TW_STRIDE_UNIT) return 1;
    return is_in_records(s, n->access, lane_loop) ? RECORD_COST : 1.5 * lanes;
}

/* Of one trip of a loop's body. */
double tw_body_cost(const tw_scheduler *s, const tw_node *n, uint32_t lane_loop, uint32_t lanes)
{
    double cost = s->ops[n->loop] + 1;
    for (uint32_t i = 0; i < n->child_count; i++) cost += tw_subtree_cost(s, n->children[i], lane_loop, lanes);
    return cost;
}

/* Everything beneath in vectors of `lanes` trips of `lane_loop`; lanes 1: trip by trip. */
double tw_subtree_cost(const tw_scheduler *s, uint32_t node, uint32_t lane_loop, uint32_t lanes)
{
    const tw_node *n = &s->tree->nodes[node];
    if (n->kind != TW_NODE_LOOP) return access_cost(s, n, lane_loop, lanes);
    return tw_trips_hint(s, n->loop) * tw_body_cost(s, n, lane_loop, lanes);
}
