/* SPDX-License-Identifier: Apache-2.0 */
#include "region/match.h"

#include <inttypes.h>
#include <string.h>

/* The walk below relies on the cut being reducible and on each loop having one latch and one exit, at its latch
 * (bottom-tested) or at its header (top-tested, with a header that has no effect). The outermost loop may be left anywhere: a
 * kernel runs whole iterations of it, and the arrival that leaves is the guest's. The acyclic body between is then blocks
 * with path conditions: a block whose immediate dominator it post-dominates runs whenever that runs; a block with one
 * predecessor adds that branch; anything else is an `or` of its edges. Merge parameters are selects, unless they
 * only carry a loop's result around the branch that guards it. */

enum { CANT = UINT32_MAX - 1, DEEPEST = 200, DRAFT_DEPTH = 64 };

static bool fail_memory(tw_builder *b)
{
    return tw_refuse(b->reason, TW_REFUSAL_TOO_BIG, "the model grows too large");
}

static tw_loop loop_at(const tw_builder *b, tw_ir_block block)
{
    return block == TW_IR_NO_BLOCK ? TW_NO_LOOP : b->loops->innermost[block];
}

static const tw_ir_valuedata *data_of(const tw_builder *b, tw_ir_value value)
{
    return &b->func->values[value];
}

static bool is_int(uint8_t type)
{
    return type == TW_I32 || type == TW_I64;
}

/* ---- parameters ---- */

typedef enum param_role { ROLE_NONE, ROLE_SYMBOL, ROLE_HEADER, ROLE_MERGE } param_role;

static param_role role_of(const tw_builder *b, tw_ir_value value)
{
    const tw_ir_valuedata *data = data_of(b, value);
    if (data->kind != TW_IR_PARAM) return ROLE_NONE;
    if (data->block == 0) return ROLE_SYMBOL;
    tw_loop loop = loop_at(b, data->block);
    return loop != TW_NO_LOOP && b->loops->items[loop].header == data->block ? ROLE_HEADER : ROLE_MERGE;
}

static uint32_t pred_count(const tw_builder *b, tw_ir_block block)
{
    return b->cfg->pred_start[block + 1] - b->cfg->pred_start[block];
}

static const tw_cfg_edge *pred_edge(const tw_builder *b, tw_ir_block block, uint32_t k)
{
    return &b->cfg->preds[b->cfg->pred_start[block] + k];
}

static tw_ir_value edge_arg(const tw_builder *b, const tw_cfg_edge *edge, uint32_t position)
{
    return b->func->blocks[edge->from].edges[edge->edge].args[position];
}

/* What a merge parameter gets along pred k. */
static tw_ir_value merge_arg(const tw_builder *b, tw_ir_value param, uint32_t k)
{
    const tw_ir_valuedata *data = data_of(b, param);
    return edge_arg(b, pred_edge(b, data->block, k), data->position);
}

/* ---- polynomials ---- */

static const tw_poly *evolve(tw_builder *b, tw_ir_value value, tw_loop scope)
{
    return tw_build_resolve(b, tw_evolution_of(b->analysis, value, scope));
}

/* Whether control can come from `from` to `to` without passing `barrier`. */
static bool reaches(tw_builder *b, tw_ir_block from, tw_ir_block to, tw_ir_block barrier)
{
    uint8_t *seen = TW_NEW_ARRAY(b->arena, uint8_t, b->func->block_count);
    tw_ir_block *stack = TW_NEW_ARRAY(b->arena, tw_ir_block, b->func->block_count);
    uint32_t count = 0;
    if (!seen || !stack) return true;
    stack[count++] = from;
    seen[from] = 1;
    while (count) {
        tw_ir_block block = stack[--count];
        if (block == to) return true;
        for (uint32_t e = 0; e < b->func->blocks[block].edge_count; e++) {
            tw_ir_block next = b->func->blocks[block].edges[e].to;
            if (seen[next] || next == barrier) continue;
            seen[next] = 1;
            stack[count++] = next;
        }
    }
    return false;
}

static tw_ir_block header_of(const tw_builder *b, tw_loop loop)
{
    return loop == TW_NO_LOOP ? TW_IR_NO_BLOCK : b->loops->items[loop].header;
}

const tw_poly *tw_build_evolve(tw_builder *b, tw_ir_value value, tw_loop scope)
{
    return evolve(b, value, scope);
}

bool tw_build_reaches(tw_builder *b, tw_ir_block from, tw_ir_block to)
{
    return reaches(b, from, to, header_of(b, loop_at(b, from)));
}

bool tw_build_loop_reaches(tw_builder *b, tw_loop loop, tw_ir_block to)
{
    return reaches(b, b->loops->items[loop].header, to, header_of(b, b->loops->items[loop].parent));
}

/* A loop's result carried round the branch that guards it: init on the edges that skip the loop, init + step·ARRIVALS on those
 * that come from it. With arrivals 0 for a loop not entered that is one polynomial, `whole`. `other` is what an edge from
 * block `from` brings, which must not be on a way through the loops whose arrivals are taken as 0. */
static bool covers(tw_builder *b, const tw_poly *whole, const tw_poly *other, tw_ir_block from)
{
    for (tw_loop l = b->loops->count; whole && l-- > 0;) {
        if (tw_poly_equal(whole, other)) return true;
        tw_atom arrivals = tw_atom_make(TW_ATOM_ARRIVALS, l);
        if (!tw_poly_has(whole, arrivals) || b->top_tested[l] || b->loop_of[l] == TW_NONE || tw_build_loop_reaches(b, l, from)) continue;
        whole = tw_poly_substitute(b->arena, whole, arrivals, tw_poly_const(b->arena, whole->bits, 0));
    }
    return tw_poly_equal(whole, other);
}

static const tw_poly *merge_poly(tw_builder *b, tw_ir_value param)
{
    enum { MOST = 8 };
    const tw_poly *polys[MOST];
    tw_ir_block block = data_of(b, param)->block;
    uint32_t count = pred_count(b, block);
    if (b->merge_tried[param] || count > MOST) return b->merge[param];
    b->merge_tried[param] = 1;
    if (++b->depth > DEEPEST) return b->depth--, NULL;
    for (uint32_t k = 0; k < count; k++) {
        polys[k] = evolve(b, merge_arg(b, param, k), loop_at(b, block));
        if (!polys[k]) count = 0;
    }
    for (uint32_t k = 0; k < count && !b->merge[param]; k++) {
        bool all = true;
        for (uint32_t j = 0; j < count && all; j++) all = covers(b, polys[k], polys[j], pred_edge(b, block, j)->from);
        if (all) b->merge[param] = polys[k];
    }
    b->depth--;
    return b->merge[param];
}

const tw_poly *tw_build_resolve(tw_builder *b, const tw_poly *poly)
{
    for (uint32_t t = 0; poly && t < poly->term_count; t++)
        for (uint32_t k = 0; k < TW_POLY_DEGREE && poly->terms[t].atoms[k]; k++) {
            tw_atom atom = poly->terms[t].atoms[k];
            if (tw_atom_kind_of(atom) != TW_ATOM_VALUE) continue;
            tw_ir_value value = tw_atom_index(atom);
            if (role_of(b, value) != ROLE_MERGE || !is_int(data_of(b, value)->type)) continue;
            const tw_poly *by = merge_poly(b, value);
            if (!by || by->bits < poly->bits || tw_poly_has(by, atom)) continue;
            const tw_poly *next = tw_poly_substitute(b->arena, poly, atom, tw_poly_wrap(b->arena, by, poly->bits));
            if (next) return tw_build_resolve(b, next);
        }
    return poly;
}

/* ---- exprs ---- */

static uint32_t expr_of_opaque(tw_builder *b, tw_ir_value value);

static uint32_t expr_of_value(tw_builder *b, tw_ir_value value, tw_loop scope)
{
    if (!is_int(data_of(b, value)->type)) return TW_NONE;
    return tw_build_expr(b, evolve(b, value, scope));
}

static uint32_t resize(tw_builder *b, uint32_t expr, uint8_t bits)
{
    if (expr == TW_NONE) return TW_NONE;
    const tw_expr_node *node = &b->model->exprs[expr];
    uint8_t have = node->kind == TW_EXPR_TRIPS ? 64 : node->bits;
    if (have == bits) return expr;
    return bits == 32 ? tw_expr_op(b->model, TW_OP_I32_WRAP_I64, 32, expr, TW_NONE) : TW_NONE;
}

static uint32_t expr_of_atom(tw_builder *b, tw_atom atom, uint8_t bits)
{
    uint32_t index = tw_atom_index(atom);
    switch (tw_atom_kind_of(atom)) {
    case TW_ATOM_COUNTER: return b->loop_of[index] == TW_NONE ? TW_NONE : tw_expr_counter(b->model, bits, b->loop_of[index]);
    case TW_ATOM_ARRIVALS: return resize(b, b->arrivals[index], bits);
    case TW_ATOM_VALUE: return resize(b, expr_of_opaque(b, index), bits);
    case TW_ATOM_NONE: break;
    }
    return TW_NONE;
}

uint32_t tw_build_expr(tw_builder *b, const tw_poly *poly)
{
    if (!poly) return TW_NONE;
    uint32_t sum = tw_expr_const(b->model, poly->bits, 0);
    for (uint32_t t = 0; t < poly->term_count; t++) {
        uint32_t product = tw_expr_const(b->model, poly->bits, poly->terms[t].coef);
        for (uint32_t k = 0; k < TW_POLY_DEGREE && poly->terms[t].atoms[k]; k++)
            product = tw_expr_mul(b->model, poly->bits, product, expr_of_atom(b, poly->terms[t].atoms[k], poly->bits));
        sum = tw_expr_add(b->model, poly->bits, sum, product);
    }
    return sum;
}

/* The successor of `from` that a pred edge of a merge belongs to; UINT32_MAX when it isn't clear. */
static uint32_t side_of(const tw_builder *b, tw_ir_block from, const tw_cfg_edge *edge)
{
    if (edge->from == from) return edge->edge;
    const tw_ir_blockdata *block = &b->func->blocks[from];
    for (uint32_t e = 0; e < block->edge_count; e++)
        if (pred_count(b, block->edges[e].to) == 1 && tw_cfg_dominates(b->cfg, block->edges[e].to, edge->from)) return e;
    return UINT32_MAX;
}

/* A merge of two edges that one branch decides: the branch, and which pred belongs to its true side. */
static bool find_branch(const tw_builder *b, tw_ir_block merge, tw_ir_value *condition, uint32_t *yes)
{
    tw_ir_block from = b->cfg->idom[merge];
    if (pred_count(b, merge) != 2 || from == TW_IR_NO_BLOCK) return false;
    if (b->func->blocks[from].term != TW_IR_BRANCH || loop_at(b, from) != loop_at(b, merge)) return false;
    uint32_t first = side_of(b, from, pred_edge(b, merge, 0)), second = side_of(b, from, pred_edge(b, merge, 1));
    if (first > 1 || second > 1 || first == second) return false;
    *condition = b->func->blocks[from].value;
    *yes = first == 0 ? 0 : 1;
    return true;
}

static uint32_t expr_of_merge(tw_builder *b, tw_ir_value param)
{
    tw_ir_block block = data_of(b, param)->block;
    tw_ir_value condition;
    uint32_t yes;
    if (!find_branch(b, block, &condition, &yes)) return TW_NONE;
    tw_loop scope = loop_at(b, block);
    return tw_expr_select(b->model, expr_of_value(b, condition, scope), expr_of_value(b, merge_arg(b, param, yes), scope),
                          expr_of_value(b, merge_arg(b, param, !yes), scope));
}

/* A live-in in memory: loaded by the plan, at an address that no counter changes; dispatch checks that no store of the
 * region touches it. */
static uint32_t inspected_access(tw_builder *b, const tw_ir_inst *inst, const tw_poly *address)
{
    tw_model *model = b->model;
    uint32_t affine = tw_build_affine(b, address, TW_NONE);
    if (affine == TW_NONE) return TW_NONE;
    for (uint32_t x = 0; x < model->access_count; x++) {
        const tw_model_access *access = &model->accesses[x];
        if (access->is_inspected && access->op == inst->op && access->address == affine && access->offset == inst->mem_offset) return x;
    }
    if (model->access_count >= TW_MODEL_MAX_ACCESSES) return TW_NONE;
    if (!TW_ARENA_GROW(&model->arena, model->accesses, model->access_count, model->access_capacity)) return TW_NONE;
    model->accesses[model->access_count] = (tw_model_access){
        .op = (uint16_t)inst->op, .width = tw_op_describe(inst->op)->access, .is_inspected = true, .loop = 0,
        .address = affine, .offset = inst->mem_offset, .place = inst->offset};
    return model->access_count++;
}

static uint32_t expr_of_load(tw_builder *b, const tw_ir_inst *inst, uint8_t type)
{
    const tw_poly *address = evolve(b, inst->args[0], loop_at(b, inst->block));
    uint32_t expr = tw_build_expr(b, address);
    if (expr == TW_NONE || b->model->exprs[expr].counters) return TW_NONE;
    uint32_t access = inspected_access(b, inst, address);
    if (access == TW_NONE) return TW_NONE;
    return tw_expr_load(b->model, inst->op, type == TW_I64 ? 64 : 32, expr, inst->mem_offset, access);
}

static uint32_t expr_of_result(tw_builder *b, tw_ir_value value)
{
    const tw_ir_inst *inst = &b->func->insts[data_of(b, value)->inst];
    tw_loop scope = loop_at(b, inst->block);
    uint8_t type = data_of(b, value)->type, kind = tw_op_describe(inst->op)->kind;
    if (kind == TW_KIND_LOAD) return expr_of_load(b, inst, type);
    if (inst->op == TW_OP_SELECT)
        return tw_expr_select(b->model, expr_of_value(b, inst->args[2], scope), expr_of_value(b, inst->args[0], scope),
                              expr_of_value(b, inst->args[1], scope));
    if ((kind != TW_KIND_PURE && kind != TW_KIND_TRAPPING) || inst->arg_count > 2 || !inst->arg_count) return TW_NONE;
    uint32_t left = expr_of_value(b, inst->args[0], scope), right = TW_NONE;
    if (inst->arg_count == 2 && (right = expr_of_value(b, inst->args[1], scope)) == TW_NONE) return TW_NONE;
    return tw_expr_op(b->model, inst->op, type == TW_I64 ? 64 : 32, left, right);
}

static uint32_t expr_of_opaque(tw_builder *b, tw_ir_value value)
{
    const tw_ir_valuedata *data = data_of(b, value);
    if (!is_int(data->type)) return TW_NONE;
    if (data->kind == TW_IR_CONST) return tw_expr_const(b->model, data->type == TW_I64 ? 64 : 32, data->bits[0]);
    if (role_of(b, value) == ROLE_SYMBOL) return tw_expr_symbol(b->model, data->position);
    if (b->expr[value] == CANT) return TW_NONE;
    if (b->expr[value] != TW_NONE) return b->expr[value];
    b->expr[value] = CANT; /* also ends cycles */
    if (++b->depth > DEEPEST) return b->depth--, TW_NONE;
    uint32_t expr = role_of(b, value) == ROLE_MERGE ? expr_of_merge(b, value)
                    : data->kind == TW_IR_RESULT    ? expr_of_result(b, value)
                                                    : TW_NONE;
    b->depth--;
    if (expr != TW_NONE) b->expr[value] = expr;
    return expr;
}

/* ---- values ---- */

static uint32_t add_value(tw_builder *b, tw_value_node node)
{
    tw_model *model = b->model;
    if (node.kind != TW_VALUE_READ && node.kind != TW_VALUE_CARRIED && node.kind != TW_VALUE_FINAL)
        for (uint32_t v = 0; v < model->value_count; v++)
            if (!memcmp(&model->values[v], &node, sizeof node)) return v;
    if (model->value_count >= TW_MODEL_MAX_VALUES ||
        !TW_ARENA_GROW(&model->arena, model->values, model->value_count, model->value_capacity)) {
        fail_memory(b);
        return TW_NONE;
    }
    model->values[model->value_count] = node;
    return model->value_count++;
}

static tw_value_node new_value(tw_value_kind kind, uint8_t type)
{
    tw_value_node node;
    memset(&node, 0, sizeof node);
    node.kind = (uint8_t)kind;
    node.type = type;
    node.index = TW_NONE;
    node.args[0] = node.args[1] = node.args[2] = TW_NONE;
    return node;
}

static uint32_t add_op(tw_builder *b, tw_op op, uint8_t type, uint32_t x, uint32_t y, uint32_t z)
{
    tw_value_node node = new_value(TW_VALUE_OP, type);
    node.op = (uint16_t)op;
    node.args[0] = x;
    node.args[1] = y;
    node.args[2] = z;
    return add_value(b, node);
}

static uint32_t add_const(tw_builder *b, uint8_t type, uint64_t bits)
{
    tw_value_node node = new_value(TW_VALUE_CONST, type);
    node.bits = bits;
    return add_value(b, node);
}

uint32_t tw_build_op(tw_builder *b, tw_op op, uint8_t type, uint32_t x, uint32_t y)
{
    return add_op(b, op, type, x, y, TW_NONE);
}

uint32_t tw_build_const(tw_builder *b, uint8_t type, uint64_t bits)
{
    return add_const(b, type, bits);
}

static uint32_t refuse_value(tw_builder *b, tw_refusal refusal, const char *what, tw_ir_value value)
{
    uint64_t place = data_of(b, value)->kind == TW_IR_RESULT ? b->func->insts[data_of(b, value)->inst].offset : TW_NO_OFFSET;
    if (place == TW_NO_OFFSET) tw_refuse(b->reason, refusal, "%s", what);
    else tw_refuse(b->reason, refusal, "%s at 0x%" PRIx64, what, place);
    return TW_NONE;
}

uint32_t tw_build_affine(tw_builder *b, const tw_poly *poly, uint32_t loop)
{
    tw_model *model = b->model;
    for (uint32_t a = 0; a < model->affine_count; a++)
        if (b->affine_loop[a] == loop && tw_poly_equal(b->affine[a], poly)) return a;
    if (model->affine_count >= TW_MODEL_MAX_VALUES) {
        fail_memory(b);
        return TW_NONE;
    }
    b->affine[model->affine_count] = poly;
    b->affine_loop[model->affine_count] = loop;
    return model->affine_count++;
}

/* Takes the counters out of poly, outermost loops first: *rest is what no counter multiplies. False when a counter occurs
 * in a power or times another. */
static bool split_counters(tw_builder *b, const tw_poly *poly, const tw_poly **rest)
{
    for (tw_loop l = 0; poly && l < b->loops->count; l++) {
        const tw_poly *coef;
        tw_atom counter = tw_atom_make(TW_ATOM_COUNTER, l);
        if (!tw_poly_has(poly, counter)) continue;
        if (!tw_poly_linear(b->arena, poly, counter, &coef, &poly)) return false;
        for (tw_loop other = 0; other < b->loops->count; other++)
            if (tw_poly_has(coef, tw_atom_make(TW_ATOM_COUNTER, other))) return false;
    }
    *rest = poly;
    return poly != NULL;
}

/* Only symbols and pure operations on them, none of it varying: no load is moved into the plan for a mere value. */
static bool is_steady(const tw_builder *b, uint32_t expr)
{
    return expr != TW_NONE && !b->model->exprs[expr].counters && !b->model->exprs[expr].loads;
}

enum { LOADS_UNKNOWN, LOADS_NO, LOADS_YES };

/* Parameters end the search: what they merge is looked at when they are resolved. */
static bool made_of_loads(tw_builder *b, tw_ir_value value)
{
    const tw_ir_valuedata *data = data_of(b, value);
    if (data->kind != TW_IR_RESULT) return false;
    if (b->loads[value] != LOADS_UNKNOWN) return b->loads[value] == LOADS_YES;
    const tw_ir_inst *inst = &b->func->insts[data->inst];
    bool yes = b->depth > DEEPEST || tw_op_describe(inst->op)->kind == TW_KIND_LOAD;
    b->depth++;
    for (uint32_t a = 0; a < inst->arg_count && !yes; a++) yes = made_of_loads(b, inst->args[a]);
    b->depth--;
    b->loads[value] = yes ? LOADS_YES : LOADS_NO;
    return yes;
}

bool tw_build_made_of_loads(tw_builder *b, tw_ir_value value)
{
    return made_of_loads(b, value);
}

/* TW_NONE without a refusal when the value isn't an affine integer. */
static uint32_t affine_value(tw_builder *b, tw_ir_value value, tw_loop scope)
{
    uint8_t type = data_of(b, value)->type;
    const tw_poly *rest, *poly;
    if (!is_int(type) || made_of_loads(b, value) || !(poly = evolve(b, value, scope))) return TW_NONE;
    for (uint32_t t = 0; t < poly->term_count; t++)
        for (uint32_t k = 0; k < TW_POLY_DEGREE && poly->terms[t].atoms[k]; k++) {
            tw_atom atom = poly->terms[t].atoms[k];
            if (tw_atom_kind_of(atom) == TW_ATOM_COUNTER) continue;
            if (tw_atom_kind_of(atom) == TW_ATOM_VALUE && made_of_loads(b, tw_atom_index(atom))) return TW_NONE;
            uint32_t expr = expr_of_atom(b, atom, poly->bits);
            if (!is_steady(b, expr)) return TW_NONE;
        }
    if (!split_counters(b, poly, &rest)) return TW_NONE;
    tw_value_node node = new_value(TW_VALUE_AFFINE, type);
    node.index = tw_build_affine(b, poly, scope == TW_NO_LOOP ? TW_NONE : b->loop_of[scope]);
    return node.index == TW_NONE ? TW_NONE : add_value(b, node);
}

static uint32_t use_value(tw_builder *b, tw_ir_value value, tw_loop scope);

static tw_ir_value latch_arg(const tw_builder *b, tw_loop loop, uint32_t position)
{
    return edge_arg(b, &b->loops->items[loop].latches[0], position);
}

static uint32_t carried_of(tw_builder *b, tw_ir_value param)
{
    tw_model *model = b->model;
    tw_loop loop = loop_at(b, data_of(b, param)->block);
    const tw_loopdata *data = &b->loops->items[loop];
    if (b->loop_of[loop] == 0)
        return refuse_value(b, TW_REFUSAL_CARRIED, "the outermost loop hands a value from one iteration to the next", latch_arg(b, loop, data_of(b, param)->position));
    if (data->entry_count != 1) return refuse_value(b, TW_REFUSAL_CONTROL, "a loop is entered from two places", param);
    tw_value_node node = new_value(TW_VALUE_CARRIED, data_of(b, param)->type);
    if (!TW_ARENA_GROW(&model->arena, model->carried, model->carried_count, model->carried_capacity))
        return fail_memory(b), TW_NONE;
    node.index = model->carried_count++;
    model->carried[node.index] = (tw_carried){.loop = b->loop_of[loop], .type = node.type, .init = TW_NONE, .next = TW_NONE};
    uint32_t result = b->value[param] = add_value(b, node);
    uint32_t init = use_value(b, edge_arg(b, &data->entries[0], data_of(b, param)->position), data->parent);
    if (result == TW_NONE || init == TW_NONE) return TW_NONE;
    b->model->carried[node.index].init = init;
    return result;
}

/* A scalar that loop `over` left behind, for use in the loops around it and in later ones there. */
static uint32_t final_of(tw_builder *b, tw_ir_value value, tw_loop over, tw_loop scope)
{
    while (over != 0 && !tw_loop_contains(b->loops, b->loops->items[over].parent, scope)) over = b->loops->items[over].parent;
    if (over == 0) return refuse_value(b, TW_REFUSAL_CONTROL, "a scalar's loop isn't inside its use's", value);
    const tw_ir_blockdata *header = &b->func->blocks[b->loops->items[over].header];
    for (uint32_t p = 0; p < header->param_count; p++) {
        tw_ir_value param = header->first_param + p;
        if (b->top_tested[over] ? value != param : value != latch_arg(b, over, p)) continue;
        uint32_t carried = use_value(b, param, over);
        if (carried == TW_NONE) return TW_NONE;
        if (b->model->values[carried].kind != TW_VALUE_CARRIED) continue;
        for (uint32_t v = 0; v < b->model->value_count; v++)
            if (b->model->values[v].kind == TW_VALUE_FINAL && b->model->values[v].index == b->model->values[carried].index) return v;
        tw_value_node node = new_value(TW_VALUE_FINAL, b->model->values[carried].type);
        node.index = b->model->values[carried].index;
        return add_value(b, node);
    }
    return refuse_value(b, TW_REFUSAL_CONTROL, "a value from the last iteration of an inner loop is used after it", value);
}

/* `final` is `value` too when the last loops of its chain weren't entered: then it is their init. An edge from block
 * `from` that brings `value` must not be on a way through those loops. */
bool tw_build_falls_back(tw_builder *b, uint32_t final, uint32_t value, tw_ir_block from)
{
    for (uint32_t steps = 0; steps < TW_MODEL_MAX_LOOPS; steps++) {
        if (final == value) return true;
        const tw_value_node *node = &b->model->values[final];
        if (node->kind != TW_VALUE_FINAL) return false;
        const tw_carried *carried = &b->model->carried[node->index];
        if (carried->init == TW_NONE || tw_build_loop_reaches(b, b->natural[carried->loop], from)) return false;
        final = carried->init;
    }
    return false;
}

static bool edge_value(tw_builder *b, const tw_cfg_edge *edge, tw_loop loop, uint32_t *out);

static uint32_t pick_by_edges(tw_builder *b, tw_ir_value param, const uint32_t *values, uint32_t count)
{
    tw_ir_block block = data_of(b, param)->block;
    uint32_t result = values[count - 1], test;
    for (uint32_t k = count - 1; k-- > 0;) {
        if (values[k] == result) continue;
        if (!edge_value(b, pred_edge(b, block, k), loop_at(b, block), &test)) return TW_NONE;
        if (test == TW_NONE) return refuse_value(b, TW_REFUSAL_CONTROL, "a merge that no branch decides", param);
        result = add_op(b, TW_OP_SELECT, data_of(b, param)->type, values[k], result, test);
        if (result == TW_NONE) return TW_NONE;
    }
    return result;
}

enum { MOST_MERGED = 8 };

static uint32_t merge_value(tw_builder *b, tw_ir_value param)
{
    tw_ir_block block = data_of(b, param)->block;
    tw_loop scope = loop_at(b, block);
    uint32_t count = pred_count(b, block), values[MOST_MERGED], yes;
    tw_ir_value condition;
    if (count > MOST_MERGED) return refuse_value(b, TW_REFUSAL_CONTROL, "a value is merged from too many places", param);
    for (uint32_t k = 0; k < count; k++)
        if ((values[k] = use_value(b, merge_arg(b, param, k), scope)) == TW_NONE) return TW_NONE;
    for (uint32_t k = 0; k < count; k++) {
        bool all = true;
        for (uint32_t j = 0; j < count; j++) all &= tw_build_falls_back(b, values[k], values[j], pred_edge(b, block, j)->from);
        if (all) return values[k];
    }
    if (!find_branch(b, block, &condition, &yes)) return pick_by_edges(b, param, values, count);
    uint32_t test = use_value(b, condition, scope);
    return test == TW_NONE ? TW_NONE : add_op(b, TW_OP_SELECT, data_of(b, param)->type, values[yes], values[!yes], test);
}

uint32_t tw_build_use(tw_builder *b, tw_ir_value value, tw_loop scope)
{
    return use_value(b, value, scope);
}

void tw_build_remerge(tw_builder *b)
{
    for (tw_ir_value p = 1; p < b->func->value_count; p++) {
        uint32_t values[MOST_MERGED], count, at = b->value[p];
        if (at == TW_NONE || role_of(b, p) != ROLE_MERGE || b->model->values[at].kind != TW_VALUE_OP) continue;
        tw_ir_block block = data_of(b, p)->block;
        if ((count = pred_count(b, block)) > MOST_MERGED) continue;
        bool known = true;
        for (uint32_t k = 0; k < count; k++) known &= (values[k] = use_value(b, merge_arg(b, p, k), loop_at(b, block))) != TW_NONE;
        for (uint32_t k = 0; known && k < count; k++) {
            bool all = b->model->values[values[k]].kind == TW_VALUE_FINAL;
            for (uint32_t j = 0; all && j < count; j++) all = tw_build_falls_back(b, values[k], values[j], pred_edge(b, block, j)->from);
            if (!all) continue;
            b->model->values[at] = b->model->values[values[k]];
            break;
        }
    }
}

/* Division is only taken on when it can't trap: by a constant that is neither 0 nor (signed) -1. */
static bool may_trap(const tw_builder *b, const tw_ir_inst *inst)
{
    if (tw_op_describe(inst->op)->kind != TW_KIND_TRAPPING) return false;
    if (inst->arg_count != 2) return true;
    const tw_ir_valuedata *by = data_of(b, inst->args[1]);
    bool wide = by->type == TW_I64;
    return by->kind != TW_IR_CONST || by->bits[0] == 0 || by->bits[0] == (wide ? UINT64_MAX : UINT32_MAX);
}

static uint32_t result_value(tw_builder *b, tw_ir_value value)
{
    const tw_ir_inst *inst = &b->func->insts[data_of(b, value)->inst];
    tw_loop scope = loop_at(b, inst->block);
    uint32_t args[3] = {TW_NONE, TW_NONE, TW_NONE};
    uint8_t kind = tw_op_describe(inst->op)->kind;
    if (data_of(b, value)->type == TW_V128) return refuse_value(b, TW_REFUSAL_UNMODELLED_OP, "a vector operation", value);
    if (may_trap(b, inst)) return refuse_value(b, TW_REFUSAL_TRAP, tw_op_describe(inst->op)->name, value);
    if ((kind != TW_KIND_PURE && kind != TW_KIND_TRAPPING && inst->op != TW_OP_SELECT) || inst->arg_count > 3)
        return refuse_value(b, TW_REFUSAL_UNMODELLED_OP, tw_op_describe(inst->op)->name, value);
    for (uint32_t a = 0; a < inst->arg_count; a++) {
        if (data_of(b, inst->args[a])->type == TW_V128) return refuse_value(b, TW_REFUSAL_UNMODELLED_OP, "a vector operation", value);
        if ((args[a] = use_value(b, inst->args[a], scope)) == TW_NONE) return TW_NONE;
    }
    return add_op(b, inst->op, data_of(b, value)->type, args[0], args[1], args[2]);
}

static uint32_t make_value(tw_builder *b, tw_ir_value value)
{
    const tw_ir_valuedata *data = data_of(b, value);
    if (data->kind == TW_IR_CONST) {
        if (data->type == TW_V128) return refuse_value(b, TW_REFUSAL_UNMODELLED_OP, "a vector constant", value);
        return add_const(b, data->type, data->bits[0]);
    }
    if (role_of(b, value) == ROLE_SYMBOL) {
        tw_value_node node = new_value(TW_VALUE_SYMBOL, data->type);
        node.index = data->position;
        return add_value(b, node);
    }
    uint32_t affine = affine_value(b, value, loop_at(b, data->block));
    if (affine != TW_NONE) return affine;
    switch (role_of(b, value)) {
    case ROLE_HEADER: return carried_of(b, value);
    case ROLE_MERGE: return merge_value(b, value);
    default: return result_value(b, value);
    }
}

static uint32_t use_value(tw_builder *b, tw_ir_value value, tw_loop scope)
{
    const tw_ir_valuedata *data = data_of(b, value);
    tw_loop home = loop_at(b, data->block);
    if (data->kind != TW_IR_CONST && data->block != 0 && !tw_loop_contains(b->loops, home, scope)) {
        uint32_t affine = affine_value(b, value, scope);
        return affine != TW_NONE ? affine : final_of(b, value, home, scope);
    }
    if (b->value[value] != TW_NONE) return b->value[value];
    if (++b->depth > DEEPEST) {
        b->depth--;
        return refuse_value(b, TW_REFUSAL_TOO_BIG, "an expression is too deep", value);
    }
    uint32_t made = make_value(b, value);
    b->depth--;
    return b->value[value] = made;
}

/* ---- guards ---- */

static bool post_dominates(const tw_builder *b, tw_ir_block later, tw_ir_block earlier)
{
    while (earlier != TW_IR_NO_BLOCK && earlier != later) earlier = b->cfg->ipdom[earlier];
    return earlier == later;
}

static bool guard_of(tw_builder *b, tw_ir_block block, tw_loop loop, const tw_guard **out);

/* One link of the chain as a 0/1 value; TW_NONE on failure. */
static uint32_t link_value(tw_builder *b, const tw_guard *guard, tw_loop loop)
{
    if (guard->value != TW_NONE) return guard->value;
    uint32_t value = use_value(b, guard->condition, loop), zero = value == TW_NONE ? TW_NONE : add_const(b, TW_I32, 0);
    if (zero == TW_NONE) return TW_NONE;
    return ((tw_guard *)guard)->value = add_op(b, guard->side ? TW_OP_I32_NE : TW_OP_I32_EQ, TW_I32, value, zero, TW_NONE);
}

/* The guard's chain as a 0/1 value, without the links that are if-loops; *out TW_NONE for "always". */
static bool guard_value(tw_builder *b, const tw_guard *guard, tw_loop loop, bool without_ifs, uint32_t *out)
{
    uint32_t all = TW_NONE;
    for (; guard; guard = guard->parent) {
        if (without_ifs && guard->expr != TW_NONE) continue;
        uint32_t value = link_value(b, guard, loop);
        if (value != TW_NONE && all != TW_NONE) value = add_op(b, TW_OP_I32_AND, TW_I32, all, value, TW_NONE);
        if (value == TW_NONE) return false;
        all = value;
    }
    *out = all;
    return true;
}

static bool new_guard(tw_builder *b, const tw_guard *parent, tw_ir_value condition, bool side, tw_loop loop, const tw_guard **out)
{
    tw_guard *guard = TW_NEW(b->arena, tw_guard);
    if (!guard) return fail_memory(b);
    *guard = (tw_guard){.parent = parent, .value = TW_NONE, .condition = condition, .side = side};
    guard->expr = made_of_loads(b, condition) ? TW_NONE : expr_of_value(b, condition, loop);
    *out = guard;
    return true;
}

static tw_loop child_holding(const tw_builder *b, tw_loop loop, tw_ir_block block)
{
    tw_loop inner = loop_at(b, block);
    while (inner != TW_NO_LOOP && b->loops->items[inner].parent != loop) inner = b->loops->items[inner].parent;
    return inner;
}

/* The condition under which a pred edge is taken, as a guard; NULL: always. */
static bool edge_guard(tw_builder *b, const tw_cfg_edge *edge, tw_loop loop, const tw_guard **out)
{
    const tw_ir_blockdata *from = &b->func->blocks[edge->from];
    tw_loop child = loop_at(b, edge->from) == loop ? TW_NO_LOOP : child_holding(b, loop, edge->from);
    if (child != TW_NO_LOOP) return guard_of(b, b->loops->items[child].header, loop, out);
    if (loop_at(b, edge->from) != loop || from->term == TW_IR_SWITCH)
        return tw_refuse(b->reason, TW_REFUSAL_CONTROL, "a block is reached in ways that can't be told apart");
    if (!guard_of(b, edge->from, loop, out)) return false;
    return from->term != TW_IR_BRANCH || new_guard(b, *out, from->value, edge->edge == 0, loop, out);
}

static bool edge_value(tw_builder *b, const tw_cfg_edge *edge, tw_loop loop, uint32_t *out)
{
    const tw_guard *guard;
    return edge_guard(b, edge, loop, &guard) && guard_value(b, guard, loop, false, out);
}

/* The guard's chain as a plan's 0 or 1; TW_NONE when data decide. */
static uint32_t guard_expr(tw_builder *b, const tw_guard *guard)
{
    tw_model *model = b->model;
    uint32_t all = tw_expr_const(model, 32, 1), no = tw_expr_const(model, 32, 0);
    for (; guard; guard = guard->parent) {
        if (guard->expr == TW_NONE) return TW_NONE;
        all = guard->side ? tw_expr_select(model, guard->expr, all, no) : tw_expr_select(model, guard->expr, no, all);
    }
    return all;
}

/* Not a latch of the loop that the block heads. */
static bool enters(const tw_builder *b, const tw_cfg_edge *edge, tw_ir_block block)
{
    tw_loop loop = loop_at(b, block);
    return loop == TW_NO_LOOP || b->loops->items[loop].header != block || !tw_loop_has_block(b->loops, loop, edge->from);
}

static bool or_guard(tw_builder *b, tw_ir_block block, tw_loop loop, const tw_guard **out)
{
    uint32_t any = TW_NONE, expr = tw_expr_const(b->model, 32, 0), yes = tw_expr_const(b->model, 32, 1);
    for (uint32_t k = 0; k < pred_count(b, block); k++) {
        const tw_guard *way;
        uint32_t value;
        if (!enters(b, pred_edge(b, block, k), block)) continue;
        if (!edge_guard(b, pred_edge(b, block, k), loop, &way) || !guard_value(b, way, loop, false, &value)) return false;
        if (value == TW_NONE) return tw_refuse(b->reason, TW_REFUSAL_CONTROL, "an unconditional edge into a conditional block");
        any = any == TW_NONE ? value : add_op(b, TW_OP_I32_OR, TW_I32, any, value, TW_NONE);
        if (any == TW_NONE) return false;
        expr = tw_expr_select(b->model, guard_expr(b, way), yes, expr);
    }
    tw_guard *guard = TW_NEW(b->arena, tw_guard);
    if (!guard) return fail_memory(b);
    *guard = (tw_guard){.value = any, .expr = expr, .side = true, .is_or = true};
    *out = guard;
    return true;
}

/* The branch at `from` leaves the loop: what comes after it in the loop is in every whole iteration. */
static bool stays_from(const tw_builder *b, tw_loop loop, tw_ir_block from)
{
    const tw_loopdata *data = &b->loops->items[loop];
    return data->exit_count == 1 && data->exits[0].from == from && from != data->latches[0].from;
}

static bool make_guard(tw_builder *b, tw_ir_block block, tw_loop loop, const tw_guard **out)
{
    tw_ir_block from = b->cfg->idom[block];
    if (from == TW_IR_NO_BLOCK) return tw_refuse(b->reason, TW_REFUSAL_CONTROL, "an unreachable block");
    bool always = post_dominates(b, block, from) || stays_from(b, loop, from);
    if (loop_at(b, from) != loop) {
        tw_loop child = child_holding(b, loop, from);
        if (!always || child == TW_NO_LOOP) return tw_refuse(b->reason, TW_REFUSAL_CONTROL, "an inner loop is left in two directions");
        return guard_of(b, b->loops->items[child].header, loop, out);
    }
    if (always) return guard_of(b, from, loop, out);
    if (pred_count(b, block) != 1 || b->func->blocks[from].term != TW_IR_BRANCH) {
        bool entered = loop_at(b, block) != loop; /* an inner header's latch isn't a way in */
        if (!entered) return or_guard(b, block, loop, out);
        const tw_loopdata *inner = &b->loops->items[loop_at(b, block)];
        if (inner->entry_count != 1 || inner->entries[0].from != from || b->func->blocks[from].term != TW_IR_BRANCH)
            return or_guard(b, block, loop, out);
        const tw_guard *parent;
        return guard_of(b, from, loop, &parent) &&
               new_guard(b, parent, b->func->blocks[from].value, inner->entries[0].edge == 0, loop, out);
    }
    const tw_guard *parent;
    return guard_of(b, from, loop, &parent) &&
           new_guard(b, parent, b->func->blocks[from].value, pred_edge(b, block, 0)->edge == 0, loop, out);
}

/* Remembered by block: a header's is that within the loop around its own. */
static bool guard_of(tw_builder *b, tw_ir_block block, tw_loop loop, const tw_guard **out)
{
    if (block == b->loops->items[loop].header) return *out = NULL, true;
    if (b->guard_known[block]) return *out = b->guard[block], true;
    if (++b->depth > DEEPEST) return b->depth--, tw_refuse(b->reason, TW_REFUSAL_CONTROL, "branches nest too deeply");
    bool ok = make_guard(b, block, loop, out);
    b->depth--;
    if (!ok) return false;
    b->guard_known[block] = 1;
    b->guard[block] = *out;
    return true;
}

/* ---- items ---- */

bool tw_build_new_loop(tw_builder *b, uint32_t parent, uint32_t *out)
{
    tw_model *model = b->model;
    uint32_t depth = parent == TW_NONE ? 0 : model->loops[parent].depth + 1;
    if (model->loop_count >= TW_MODEL_MAX_LOOPS || depth >= DRAFT_DEPTH)
        return tw_refuse(b->reason, TW_REFUSAL_TOO_BIG, "%u loops, %u deep", model->loop_count + 1, depth + 1);
    if (!TW_ARENA_GROW(&model->arena, model->loops, model->loop_count, model->loop_capacity)) return fail_memory(b);
    model->loops[model->loop_count] = (tw_model_loop){.parent = parent, .depth = depth, .trips = TW_NONE, .place = TW_NO_OFFSET};
    b->natural[model->loop_count] = TW_NO_LOOP;
    *out = model->loop_count++;
    return true;
}

bool tw_build_add_item(tw_builder *b, uint32_t loop, tw_item item)
{
    tw_model_loop *into = &b->model->loops[loop];
    if (!TW_ARENA_GROW(&b->model->arena, into->items, into->item_count, into->item_capacity)) return fail_memory(b);
    into->items[into->item_count++] = item;
    return true;
}

/* Of loops inside an if-loop those whose trips don't hold its condition: if-loops and what remainders were merged into. */
static bool is_relative(const tw_builder *b, const tw_item *item)
{
    return item->kind == TW_ITEM_LOOP && (b->model->loops[item->index].is_if || b->merged_under[item->index]);
}

/* `trips`, or 0 when the if-loop's condition fails. */
static uint32_t under_if(tw_builder *b, uint32_t loop, uint32_t trips)
{
    tw_model *model = b->model;
    uint32_t decides = model->loops[loop].trips, none = tw_expr_const(model, 64, 0), once = tw_expr_const(model, 64, 1);
    const tw_expr_node *node = &model->exprs[decides];
    if (node->kind == TW_EXPR_SELECT && node->b == once && node->c == none) return tw_expr_select(model, node->a, trips, none);
    if (node->kind == TW_EXPR_SELECT && node->b == none && node->c == once) return tw_expr_select(model, node->a, none, trips);
    return tw_expr_select(model, tw_expr_op(model, TW_OP_I32_WRAP_I64, 32, decides, TW_NONE), trips, none);
}

/* What such a `child` becomes when the if-loop around it goes: it takes that one's condition over, an if-loop as a value,
 * too. False: no room. */
static bool inherit(tw_builder *b, uint32_t gone, uint32_t child, uint32_t *trips, uint32_t *value)
{
    *trips = under_if(b, gone, b->model->loops[child].trips);
    *value = TW_NONE;
    if (!b->model->loops[child].is_if) return *trips != TW_NONE;
    *value = add_op(b, TW_OP_I32_AND, TW_I32, b->if_value[child], b->if_value[gone], TW_NONE);
    return *trips != TW_NONE && *value != TW_NONE;
}

/* Loops among the items of if-loop `gone` become children of `parent`. Other counted loops' trips are 0 anyway when a guard
 * fails. All of them or, for want of room, none. */
static bool move_loops(tw_builder *b, uint32_t gone, uint32_t parent)
{
    tw_model_loop *loops = b->model->loops;
    const tw_item *items = loops[gone].items;
    uint32_t count = loops[gone].item_count, trips, value;
    for (uint32_t i = 0; i < count; i++)
        if (is_relative(b, &items[i]) && !inherit(b, gone, items[i].index, &trips, &value)) return false;
    for (uint32_t i = 0; i < count; i++) {
        if (items[i].kind != TW_ITEM_LOOP) continue;
        uint32_t child = items[i].index;
        loops[child].parent = parent;
        if (!is_relative(b, &items[i]) || !inherit(b, gone, child, &trips, &value)) continue; /* there was room */
        loops[child].trips = trips;
        b->if_value[child] = value;
    }
    return true;
}

bool tw_build_splice(tw_builder *b, uint32_t loop, uint32_t at)
{
    tw_model *model = b->model;
    uint32_t gone = model->loops[loop].items[at].index, count = model->loops[gone].item_count, old = model->loops[loop].item_count;
    tw_item *items = TW_NEW_ARRAY(&model->arena, tw_item, old + count);
    if (!items || !move_loops(b, gone, loop)) return fail_memory(b);
    memcpy(items, model->loops[loop].items, at * sizeof *items);
    if (count) memcpy(items + at, model->loops[gone].items, count * sizeof *items);
    memcpy(items + at + count, model->loops[loop].items + at + 1, (old - at - 1) * sizeof *items);
    model->loops[gone].item_count = 0;
    for (uint32_t c = 0; c < model->check_count; c++)
        if (model->checks[c].loop == gone) model->checks[c].loop = loop;
    model->loops[loop].items = items;
    model->loops[loop].item_count = model->loops[loop].item_capacity = old - 1 + count;
    return true;
}

/* trips, or 0 when the condition of a guard with this side fails. */
static uint32_t trips_if(tw_builder *b, uint32_t condition, bool side, uint32_t trips)
{
    uint32_t none = tw_expr_const(b->model, 64, 0);
    return side ? tw_expr_select(b->model, condition, trips, none) : tw_expr_select(b->model, condition, none, trips);
}

static uint32_t under(tw_builder *b, const tw_guard *guard, uint32_t trips)
{
    return trips_if(b, guard->expr, guard->side, trips);
}

/* As under(), for an inner loop: what decides whether it runs may be a load that the plan makes, as for its bound. */
static uint32_t trips_under(tw_builder *b, const tw_guard *guard, tw_loop loop, uint32_t trips)
{
    if (guard->expr != TW_NONE || guard->is_or) return under(b, guard, trips);
    return trips_if(b, expr_of_value(b, guard->condition, loop), guard->side, trips);
}

/* The if-loop for `guard` at the end of `loop`, opened anew unless it is the last item there. */
static bool open_if(tw_builder *b, uint32_t loop, const tw_guard *guard, tw_loop natural, uint32_t *out)
{
    uint32_t value = link_value(b, guard, natural);
    if (value == TW_NONE) return false;
    uint32_t trips = under(b, guard, tw_expr_const(b->model, 64, 1));
    if (trips == TW_NONE) return fail_memory(b);
    const tw_model_loop *into = &b->model->loops[loop];
    if (into->item_count) {
        const tw_item *last = &into->items[into->item_count - 1];
        if (last->kind == TW_ITEM_LOOP && b->model->loops[last->index].is_if && b->model->loops[last->index].trips == trips)
            return *out = last->index, true;
    }
    if (!tw_build_new_loop(b, loop, out)) return false;
    b->model->loops[*out].is_if = true;
    b->if_value[*out] = value;
    b->model->loops[*out].trips = trips;
    return tw_build_add_item(b, loop, (tw_item){.kind = TW_ITEM_LOOP, .index = *out, .value = TW_NONE, .guard = TW_NONE});
}

/* Where the items of a block with this guard go. */
static bool open_scope(tw_builder *b, tw_loop natural, const tw_guard *guard, uint32_t *out)
{
    if (!guard) return *out = b->loop_of[natural], true;
    if (!open_scope(b, natural, guard->parent, out)) return false;
    return !b->use_ifs || guard->expr == TW_NONE || open_if(b, *out, guard, natural, out);
}

/* index: NULL for a store. */
static bool add_access(tw_builder *b, const tw_ir_inst *inst, tw_loop scope, uint32_t loop, uint32_t *out, uint32_t *index)
{
    tw_model *model = b->model;
    const tw_op_info *info = tw_op_describe(inst->op);
    if (model->access_count >= TW_MODEL_MAX_ACCESSES) return tw_refuse(b->reason, TW_REFUSAL_TOO_BIG, "more accesses than a model may have");
    const tw_poly *address = evolve(b, inst->args[0], scope);
    if (!address) return fail_memory(b);
    tw_model_access access = {.op = (uint16_t)inst->op, .width = info->access, .loop = loop,
        .is_store = info->kind == TW_KIND_STORE, .offset = inst->mem_offset, .place = inst->offset};
    tw_bounds bounds = {0, 0};
    if (index && !tw_build_index(b, &address, scope, index, &bounds)) return false;
    access.is_indirect = index && *index != TW_NONE;
    if (access.is_indirect) access.least = (int32_t)bounds.least, access.most = (int32_t)bounds.most;
    access.address = tw_build_affine(b, address, loop);
    if (access.address == TW_NONE) return false;
    if (!TW_ARENA_GROW(&model->arena, model->accesses, model->access_count, model->access_capacity)) return fail_memory(b);
    *out = model->access_count++;
    model->accesses[*out] = access;
    return true;
}

static bool add_read(tw_builder *b, const tw_ir_inst *inst, tw_loop scope, uint32_t loop, uint32_t guard)
{
    uint8_t type = data_of(b, inst->first_result)->type;
    uint32_t access, index;
    if (type == TW_V128) return refuse_value(b, TW_REFUSAL_UNMODELLED_OP, "a vector load", inst->first_result) != TW_NONE;
    if (!add_access(b, inst, scope, loop, &access, &index)) return false;
    tw_value_node node = new_value(TW_VALUE_READ, type);
    node.index = access, node.args[0] = index;
    uint32_t value = b->value[inst->first_result] = add_value(b, node);
    return value != TW_NONE && tw_build_add_item(b, loop, (tw_item){.kind = TW_ITEM_READ, .index = access, .value = value, .guard = guard});
}

static bool add_store(tw_builder *b, const tw_ir_inst *inst, tw_loop scope, uint32_t loop, uint32_t guard)
{
    uint32_t access, value = use_value(b, inst->args[1], scope);
    return value != TW_NONE && add_access(b, inst, scope, loop, &access, NULL) &&
           tw_build_add_item(b, loop, (tw_item){.kind = TW_ITEM_STORE, .index = access, .value = value, .guard = guard});
}

static bool refuse_inst(const tw_ir_inst *inst, tw_reason *reason)
{
    static const struct { uint16_t op; uint16_t refusal; } special[] = {
        {TW_OP_CALL, TW_REFUSAL_CALL}, {TW_OP_CALL_INDIRECT, TW_REFUSAL_CALL}, {TW_OP_MEMORY_GROW, TW_REFUSAL_MEMORY_GROW}};
    tw_refusal refusal = TW_REFUSAL_UNMODELLED_OP;
    for (size_t i = 0; i < sizeof special / sizeof *special; i++)
        if (special[i].op == inst->op) refusal = (tw_refusal)special[i].refusal;
    return tw_refuse(reason, refusal, "%s at 0x%" PRIx64, tw_op_describe(inst->op)->name, inst->offset);
}

/* Of an instruction that isn't a load, a store or a computation nothing can be made, wherever it stands. */
static bool has_place(const tw_ir_inst *inst)
{
    uint8_t kind = tw_op_describe(inst->op)->kind;
    return kind == TW_KIND_PURE || kind == TW_KIND_TRAPPING || kind == TW_KIND_LOAD || kind == TW_KIND_STORE || inst->op == TW_OP_SELECT;
}

static bool walk_block(tw_builder *b, tw_ir_block block, tw_loop loop)
{
    const tw_ir_blockdata *data = &b->func->blocks[block];
    for (uint32_t i = 0; i < data->inst_count; i++) {
        const tw_ir_inst *inst = &b->func->insts[data->insts[i]];
        uint8_t kind = tw_op_describe(inst->op)->kind;
        if (kind == TW_KIND_PURE || inst->op == TW_OP_SELECT) continue;
        if (kind == TW_KIND_TRAPPING) {
            if (may_trap(b, inst)) return tw_refuse(b->reason, TW_REFUSAL_TRAP, "%s at 0x%" PRIx64, tw_op_describe(inst->op)->name, inst->offset);
            continue;
        }
        if (kind != TW_KIND_LOAD && kind != TW_KIND_STORE) return refuse_inst(inst, b->reason);
        const tw_guard *guard;
        uint32_t scope, condition;
        if (!guard_of(b, block, loop, &guard) || !open_scope(b, loop, guard, &scope) ||
            !guard_value(b, guard, loop, b->use_ifs, &condition))
            return false;
        if (kind == TW_KIND_LOAD ? !add_read(b, inst, loop, scope, condition) : !add_store(b, inst, loop, scope, condition)) return false;
    }
    return true;
}

/* ---- loops ---- */

/* A header that does nothing but decide. */
static bool is_pure_header(const tw_ir_func *func, tw_ir_block header)
{
    const tw_ir_blockdata *block = &func->blocks[header];
    for (uint32_t i = 0; i < block->inst_count; i++)
        if (tw_op_describe(func->insts[block->insts[i]].op)->kind != TW_KIND_PURE) return false;
    return true;
}

typedef enum exit_place { LEFT_AT_LATCH, LEFT_AT_HEADER, LEFT_IN_THE_MIDDLE } exit_place; /* at a header that only decides */

static bool shape_of(const tw_ir_func *func, const tw_loops *loops, tw_loop loop, tw_reason *reason, exit_place *where)
{
    const tw_loopdata *data = &loops->items[loop];
    uint64_t place = func->blocks[data->header].offset;
    *where = LEFT_AT_LATCH;
    if (data->latch_count != 1) return tw_refuse(reason, TW_REFUSAL_CONTROL, "the loop at 0x%" PRIx64 " continues from %u places", place, data->latch_count);
    if (data->exit_count != 1) return tw_refuse(reason, TW_REFUSAL_EXIT, "the loop at 0x%" PRIx64 " has %u exits", place, data->exit_count);
    if (data->exits[0].from == data->latches[0].from) return true;
    *where = data->exits[0].from == data->header && is_pure_header(func, data->header) ? LEFT_AT_HEADER : LEFT_IN_THE_MIDDLE;
    if (loops->innermost[data->exits[0].from] == loop) return true;
    return tw_refuse(reason, TW_REFUSAL_EXIT, "the loop at 0x%" PRIx64 " is left from a loop inside it", place);
}

/* Cut out, an innermost loop counts no better than where it stands; but rotation may yet change one that is left in its middle. */
static bool promises_to_count(tw_analysis *analysis, tw_loop loop, exit_place where, tw_reason *reason)
{
    const tw_loopdata *data = &tw_analysis_loops(analysis)->items[loop];
    if (data->child_count || where == LEFT_IN_THE_MIDDLE) return true;
    const tw_trip *trip = tw_trips_of(analysis, loop);
    if (!trip || trip->known) return true;
    return tw_refuse(reason, TW_REFUSAL_TRIP_COUNT, "the loop at 0x%" PRIx64 ": %s", tw_analysis_func(analysis)->blocks[data->header].offset, trip->why);
}

bool tw_build_promises(tw_analysis *analysis, tw_loop loop, tw_reason *reason)
{
    const tw_ir_func *func = tw_analysis_func(analysis);
    const tw_loopdata *data = &tw_analysis_loops(analysis)->items[loop];
    exit_place where;
    if (!shape_of(func, tw_analysis_loops(analysis), loop, reason, &where)) return false;
    for (uint32_t b = 0; b < data->block_count; b++) {
        const tw_ir_blockdata *block = &func->blocks[data->blocks[b]];
        for (uint32_t i = 0; i < block->inst_count; i++)
            if (!has_place(&func->insts[block->insts[i]])) return refuse_inst(&func->insts[block->insts[i]], reason);
    }
    for (uint32_t c = 0; c < data->child_count; c++)
        if (!tw_build_promises(analysis, data->children[c], reason)) return false;
    return promises_to_count(analysis, loop, where, reason);
}

static bool check_shape(tw_builder *b, tw_loop loop)
{
    exit_place where;
    if (!shape_of(b->func, b->loops, loop, b->reason, &where)) return false;
    b->top_tested[loop] = where != LEFT_AT_LATCH;
    if (where != LEFT_IN_THE_MIDDLE || loop == 0) return true;
    return tw_refuse(b->reason, TW_REFUSAL_EXIT, "the loop at 0x%" PRIx64 " is left in its middle", b->func->blocks[b->loops->items[loop].header].offset);
}

static bool count_loop(tw_builder *b, tw_loop loop, uint32_t *trips)
{
    const tw_trip *trip = tw_trips_of(b->analysis, loop);
    tw_model *model = b->model;
    uint64_t place = b->func->blocks[b->loops->items[loop].header].offset;
    if (!trip) return fail_memory(b);
    if (!trip->known) return tw_refuse(b->reason, TW_REFUSAL_TRIP_COUNT, "the loop at 0x%" PRIx64 ": %s", place, trip->why);
    uint32_t start = tw_build_expr(b, tw_build_resolve(b, trip->start)), step = tw_build_expr(b, tw_build_resolve(b, trip->step)),
             bound = tw_build_expr(b, tw_build_resolve(b, trip->bound));
    uint32_t arrivals = tw_expr_trips(model, tw_expr_compare_op(trip->compare, trip->bits), trip->bits, start, step, bound);
    if (arrivals == TW_NONE) return tw_refuse(b->reason, TW_REFUSAL_TRIP_COUNT, "the loop at 0x%" PRIx64 ": its bounds can't be computed on arrival", place);
    *trips = b->top_tested[loop] && b->loop_of[loop] != 0
                 ? tw_expr_op(model, TW_OP_I64_SUB, 64, arrivals, tw_expr_const(model, 64, 1)) : arrivals;
    return *trips != TW_NONE ? true : fail_memory(b);
}

static bool walk_loop(tw_builder *b, tw_loop loop);

static bool walk_child(tw_builder *b, tw_loop child, tw_loop loop)
{
    const tw_guard *guard;
    uint32_t scope, index, trips;
    if (!check_shape(b, child) || !guard_of(b, b->loops->items[child].header, loop, &guard) ||
        !open_scope(b, loop, guard, &scope) || !tw_build_new_loop(b, scope, &index))
        return false;
    b->loop_of[child] = index;
    b->natural[index] = child;
    b->model->loops[index].place = b->func->blocks[b->loops->items[child].header].offset;
    if (!tw_build_add_item(b, scope, (tw_item){.kind = TW_ITEM_LOOP, .index = index, .value = TW_NONE, .guard = TW_NONE}) ||
        !count_loop(b, child, &trips))
        return false;
    for (const tw_guard *g = guard; g; g = g->parent) {
        trips = trips_under(b, g, loop, trips);
        if (trips == TW_NONE) return tw_refuse(b->reason, TW_REFUSAL_CONTROL, "an inner loop runs on a condition that data decide");
    }
    b->model->loops[index].trips = trips;
    b->arrivals[child] = b->top_tested[child] ? tw_expr_add(b->model, 64, trips, tw_expr_const(b->model, 64, 1)) : trips;
    return walk_loop(b, child);
}

/* After a loop's body: what its carried scalars become. */
static bool close_carried(tw_builder *b, tw_loop loop)
{
    const tw_ir_blockdata *header = &b->func->blocks[b->loops->items[loop].header];
    for (uint32_t p = 0; p < header->param_count; p++) {
        uint32_t value = b->value[header->first_param + p];
        if (value == TW_NONE || b->model->values[value].kind != TW_VALUE_CARRIED) continue;
        uint32_t carried = b->model->values[value].index;
        if (b->model->carried[carried].next != TW_NONE) continue;
        uint32_t next = use_value(b, latch_arg(b, loop, p), loop);
        if (next == TW_NONE) return false;
        b->model->carried[carried].next = next;
    }
    return true;
}

static bool walk_loop(tw_builder *b, tw_loop loop)
{
    const tw_loopdata *data = &b->loops->items[loop];
    for (uint32_t k = 0; k < data->block_count; k++) {
        tw_ir_block block = data->blocks[k];
        tw_loop inner = loop_at(b, block);
        if (inner == loop ? !walk_block(b, block, loop)
                          : b->loops->items[inner].header == block && b->loops->items[inner].parent == loop && !walk_child(b, inner, loop))
            return false;
    }
    return close_carried(b, loop);
}

/* Scalars met only after their loop's end (by a later use) are closed too. */
static bool close_all(tw_builder *b)
{
    for (uint32_t before = 0; before != b->model->carried_count;) {
        before = b->model->carried_count;
        for (tw_loop l = 0; l < b->loops->count; l++)
            if (!close_carried(b, l)) return false;
    }
    return true;
}

/* ---- the outermost loop ---- */

static bool add_symbols(tw_builder *b)
{
    tw_model *model = b->model;
    uint32_t count = b->cut->live_in_count + b->cut->header_count;
    model->symbols = TW_NEW_ARRAY(&model->arena, tw_symbol, count);
    if (!model->symbols) return fail_memory(b);
    model->symbol_count = model->symbol_capacity = count;
    for (uint32_t k = 0; k < count; k++)
        model->symbols[k] = (tw_symbol){.kind = k < b->cut->live_in_count ? TW_SYMBOL_LIVE_IN : TW_SYMBOL_HEADER,
                                        .type = b->func->params[k], .local = b->cut->locals[k]};
    return true;
}

/* The header parameter that symbol k enters, or 0. */
static tw_ir_value header_param(const tw_builder *b, uint32_t symbol)
{
    const tw_ir_edge *edge = &b->func->blocks[0].edges[0];
    for (uint32_t p = 0; p < edge->arg_count; p++)
        if (edge->args[p] == b->func->blocks[0].first_param + symbol) return b->func->blocks[edge->to].first_param + p;
    return 0;
}

static bool has_other_uses(const tw_builder *b, tw_ir_value param)
{
    for (uint32_t i = 0; i < b->func->inst_count; i++)
        for (uint32_t a = 0; a < b->func->insts[i].arg_count; a++)
            if (b->func->insts[i].args[a] == param) return true;
    for (uint32_t k = 0; k < b->func->block_count; k++) {
        const tw_ir_blockdata *block = &b->func->blocks[k];
        if (block->value == param && block->term != TW_IR_JUMP) return true;
        for (uint32_t e = 0; e < block->edge_count; e++)
            for (uint32_t a = 0; a < block->edges[e].arg_count; a++)
                if (block->edges[e].args[a] == param) return true;
    }
    for (uint32_t u = 0; u < b->func->doomed_use_count; u++)
        if (b->func->doomed_uses[u].value == param) return true;
    return false;
}

static bool add_header(tw_builder *b, uint32_t symbol)
{
    tw_model *model = b->model;
    tw_header header = {.local = model->symbols[symbol].local, .kind = TW_HEADER_DEAD, .type = model->symbols[symbol].type, .symbol = symbol, .step = TW_NONE};
    tw_ir_value param = header_param(b, symbol);
    if (param && has_other_uses(b, param)) {
        tw_recurrence recurrence = is_int(header.type) ? tw_recurrence_of(b->analysis, param) : (tw_recurrence){.kind = TW_PARAM_OTHER};
        if (recurrence.kind == TW_PARAM_OTHER)
            return refuse_value(b, TW_REFUSAL_CARRIED, "the outermost loop hands a value from one iteration to the next, computed",
                                latch_arg(b, 0, data_of(b, param)->position)) != TW_NONE;
        header.kind = TW_HEADER_AFFINE;
        header.step = tw_build_expr(b, tw_build_resolve(b, recurrence.step));
        if (header.step == TW_NONE || model->exprs[header.step].counters)
            return tw_refuse(b->reason, TW_REFUSAL_CARRIED, "the step of local %u changes", header.local);
    }
    if (!TW_ARENA_GROW(&model->arena, model->headers, model->header_count, model->header_capacity)) return fail_memory(b);
    model->headers[model->header_count++] = header;
    return true;
}

/* A header's value on leaving, if it is linear in the outermost counter: at a bottom-tested loop's exit that of its last
 * iteration; at a top-tested one's header the header's own value, which advances with it. */
static bool add_live_out(tw_builder *b, uint32_t header, tw_ir_value value, bool *known)
{
    tw_model *model = b->model;
    uint32_t affine = TW_NONE;
    if (b->top_tested[0] && model->headers[header].kind == TW_HEADER_AFFINE && header_param(b, model->headers[header].symbol) == value) return true;
    if (b->top_tested[0] && role_of(b, value) != ROLE_HEADER && loop_at(b, data_of(b, value)->block) == 0) return true; /* the guest makes it anew */
    if (!b->top_tested[0] && is_int(data_of(b, value)->type)) affine = affine_value(b, value, 0);
    if (affine == TW_NONE) return *known = false, true;
    if (!TW_ARENA_GROW(&model->arena, model->live_outs, model->live_out_count, model->live_out_capacity)) return fail_memory(b);
    model->live_outs[model->live_out_count++] =
        (tw_live_out){.header = header, .kind = TW_LIVE_OUT_AFFINE, .affine = model->values[affine].index};
    return true;
}

static bool add_live_outs(tw_builder *b)
{
    tw_model *model = b->model;
    bool known = b->cut->exit_known;
    for (uint32_t h = 0; h < model->header_count; h++) {
        tw_ir_value value = b->cut->at_exit[model->headers[h].symbol];
        if (!value) continue;
        if (!add_live_out(b, h, value, &known)) return false;
    }
    if (known) return true;
    model->live_out_count = 0;
    if (!TW_ARENA_GROW(&model->arena, model->live_outs, model->live_out_count, model->live_out_capacity)) return fail_memory(b);
    model->live_outs[model->live_out_count++] = (tw_live_out){.header = 0, .kind = TW_LIVE_OUT_UNKNOWN, .affine = TW_NONE};
    return true;
}

/* What the arrival's numbers must confirm of the outermost header's parameters. */
static bool check_recurrences(tw_builder *b)
{
    const tw_ir_blockdata *header = &b->func->blocks[b->loops->items[0].header];
    for (uint32_t p = 0; p < header->param_count; p++) {
        tw_ir_value param = header->first_param + p;
        if (!is_int(data_of(b, param)->type) || !has_other_uses(b, param)) continue;
        const tw_poly *given = tw_recurrence_of(b->analysis, param).given;
        uint32_t expr = given ? tw_build_expr(b, given) : TW_NONE;
        if (!given) continue;
        if (expr == TW_NONE || b->model->exprs[expr].counters ||
            !tw_match_check(b, tw_expr_equal(b->model, given->bits, expr, tw_expr_const(b->model, given->bits, 0)), TW_NONE))
            return refuse_value(b, TW_REFUSAL_CARRIED, "the outermost loop hands a value from one iteration to the next", latch_arg(b, 0, p)) != TW_NONE;
    }
    return true;
}

static bool add_headers(tw_builder *b)
{
    if (!check_recurrences(b)) return false;
    for (uint32_t k = b->cut->live_in_count; k < b->model->symbol_count; k++)
        if (!add_header(b, k)) return false;
    return !b->cut->live_outs || !b->model->header_count || add_live_outs(b);
}

static bool allocate(tw_builder *b)
{
    uint32_t values = b->func->value_count, blocks = b->func->block_count, loops = b->loops->count;
    b->value = TW_NEW_ARRAY(b->arena, uint32_t, values);
    b->expr = TW_NEW_ARRAY(b->arena, uint32_t, values);
    b->merge = TW_NEW_ARRAY(b->arena, const tw_poly *, values);
    b->merge_tried = TW_NEW_ARRAY(b->arena, uint8_t, values);
    b->loads = TW_NEW_ARRAY(b->arena, uint8_t, values);
    b->moves = TW_NEW_ARRAY(b->arena, uint8_t, values);
    b->loop_of = TW_NEW_ARRAY(b->arena, uint32_t, loops);
    b->arrivals = TW_NEW_ARRAY(b->arena, uint32_t, loops);
    b->top_tested = TW_NEW_ARRAY(b->arena, uint8_t, loops);
    b->affine = TW_NEW_ARRAY(b->arena, const tw_poly *, TW_MODEL_MAX_VALUES);
    b->affine_loop = TW_NEW_ARRAY(b->arena, uint32_t, TW_MODEL_MAX_VALUES);
    b->guard = TW_NEW_ARRAY(b->arena, const tw_guard *, blocks);
    b->guard_known = TW_NEW_ARRAY(b->arena, uint8_t, blocks);
    if (!b->value || !b->expr || !b->merge || !b->merge_tried || !b->loads || !b->moves || !b->loop_of || !b->arrivals || !b->top_tested || !b->affine ||
        !b->affine_loop || !b->guard || !b->guard_known)
        return fail_memory(b);
    memset(b->value, 0xFF, values * sizeof *b->value);
    memset(b->expr, 0xFF, values * sizeof *b->expr);
    memset(b->loop_of, 0xFF, loops * sizeof *b->loop_of);
    memset(b->arrivals, 0xFF, loops * sizeof *b->arrivals);
    return true;
}

/* At an address that differs from the load's by a number, so that whatever the numbers are, the store changes what the plan loads. */
static bool spoils(tw_builder *b, const tw_model_access *store, const tw_model_access *load)
{
    uint64_t apart;
    const tw_poly *difference = tw_poly_sub(b->arena, b->affine[store->address], b->affine[load->address]);
    if (!difference || !tw_poly_is_const(difference, &apart)) return false;
    int64_t distance = (int32_t)(uint32_t)apart + (int64_t)store->offset - (int64_t)load->offset;
    return distance < load->width && -distance < store->width;
}

static bool keep_inspected(tw_builder *b)
{
    const tw_model_access *accesses = b->model->accesses;
    for (uint32_t x = 0; x < b->model->access_count; x++)
        for (uint32_t y = 0; accesses[x].is_inspected && y < b->model->access_count; y++)
            if (accesses[y].is_store && spoils(b, &accesses[y], &accesses[x]))
                return tw_refuse(b->reason, TW_REFUSAL_TRIP_COUNT,
                                 "what is loaded at 0x%" PRIx64 " for a bound or an address is stored to at 0x%" PRIx64,
                                 accesses[x].place, accesses[y].place);
    return true;
}

bool tw_build_draft(tw_builder *b)
{
    uint32_t outer, trips;
    b->cfg = tw_analysis_cfg(b->analysis);
    b->loops = tw_analysis_loops(b->analysis);
    if (!b->cfg || !b->loops) return fail_memory(b);
    if (!b->loops->count || b->loops->irreducible) return tw_refuse(b->reason, TW_REFUSAL_IRREDUCIBLE, "a cycle has more than one entry");
    if (!allocate(b) || !add_symbols(b) || !check_shape(b, 0) || !tw_build_new_loop(b, TW_NONE, &outer)) return false;
    b->loop_of[0] = outer;
    b->natural[outer] = 0;
    b->model->loops[outer].place = b->model->place;
    b->model->exits_at_end = !b->top_tested[0] && b->cut->exit;
    b->model->copies = 1;
    b->model->exit = b->cut->exit ? b->cut->exit : 1;
    if (!count_loop(b, 0, &trips)) return false;
    b->model->loops[outer].trips = b->arrivals[0] = trips;
    return add_headers(b) && walk_loop(b, 0) && close_all(b) && tw_build_limits(b) && keep_inspected(b);
}
