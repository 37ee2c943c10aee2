/* SPDX-License-Identifier: Apache-2.0 */
/* What a well-formed model is. Models arrive from other processes and from tests, and code is generated from them, so
 * nothing here is taken for granted: indices, types, bounds, depth, and that every value is at hand where it is used.
 *
 * At hand: the body is numbered in program order, a loop getting one number where it begins and one where it ends. A value
 * belongs to a loop and a number: a read to its item's, an affine or a carried scalar to its loop's begin, a final value
 * to the enclosing loop and its own loop's end, an operation to the innermost and latest of its arguments. It may be used
 * where its loop is around the user and its number is smaller. */

#include <stdlib.h>
#include <string.h>

#include "region/bounds.h"
#include "region/exprs.h"
#include "region/model.h"
#include "region/refusals.h"

typedef struct place_in_body {
    uint32_t loop, number;
} place_in_body;

typedef struct verifier {
    const tw_model *model;
    tw_error *error;
    uint32_t begin[TW_MODEL_MAX_LOOPS], end[TW_MODEL_MAX_LOOPS]; /* 0: not met in the body */
    uint32_t read[TW_MODEL_MAX_VALUES];                          /* number of the read item, 0: none */
    bool access_used[TW_MODEL_MAX_ACCESSES];
    place_in_body at_hand[TW_MODEL_MAX_VALUES];
    tw_bounds bounds[TW_MODEL_MAX_VALUES];
    uint32_t number;
} verifier;

#define BAD(v, ...) return tw_fail((v)->error, TW_INVALID, __VA_ARGS__)
#define NEVER UINT32_MAX

static bool is_int(uint32_t type)
{
    return type == TW_I32 || type == TW_I64;
}

static bool is_scalar(uint32_t type)
{
    return is_int(type) || type == TW_F32 || type == TW_F64;
}

static uint32_t type_bits(uint32_t type)
{
    return type == TW_I32 || type == TW_F32 ? 32 : 64;
}

/* Is `outer` (NONE: the region) around `inner` or the same? */
static bool encloses(const tw_model *model, uint32_t outer, uint32_t inner)
{
    while (inner != outer && inner != TW_NONE) inner = model->loops[inner].parent;
    return inner == outer;
}

/* Bits of the loops around `loop`, itself included, that count. */
static uint32_t counters_of(const tw_model *model, uint32_t loop)
{
    uint32_t mask = 0;
    for (; loop != TW_NONE; loop = model->loops[loop].parent)
        if (!model->loops[loop].is_if) mask |= 1u << loop;
    return mask;
}

static uint32_t expr_bits(const tw_expr_node *e)
{
    return e->kind == TW_EXPR_TRIPS ? 64 : e->bits;
}

static tw_status check_counts(verifier *v)
{
    const tw_model *m = v->model;
    const struct {
        const char *what;
        uint32_t count, limit;
    } rows[] = {
        {"symbols", m->symbol_count, TW_MODEL_MAX_SYMBOLS},      {"exprs", m->expr_count, TW_MODEL_MAX_EXPRS},
        {"affines", m->affine_count, TW_MODEL_MAX_AFFINES},      {"accesses", m->access_count, TW_MODEL_MAX_ACCESSES},
        {"values", m->value_count, TW_MODEL_MAX_VALUES},         {"carried scalars", m->carried_count, TW_MODEL_MAX_CARRIED},
        {"loops", m->loop_count, TW_MODEL_MAX_LOOPS},            {"checks", m->check_count, TW_MODEL_MAX_CHECKS},
        {"headers", m->header_count, TW_MODEL_MAX_SYMBOLS},      {"live-outs", m->live_out_count, TW_MODEL_MAX_SYMBOLS},
        {"outputs", m->output_count, TW_MODEL_MAX_SYMBOLS},      {"limits", m->limit_count, TW_MODEL_MAX_LIMITS},
    };
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++)
        if (rows[i].count > rows[i].limit) BAD(v, "%u %s; at most %u fit", rows[i].count, rows[i].what, rows[i].limit);
    return TW_OK;
}

static tw_status check_symbols(verifier *v)
{
    for (uint32_t i = 0; i < v->model->symbol_count; i++) {
        const tw_symbol *s = &v->model->symbols[i];
        if (s->kind > TW_SYMBOL_HEADER) BAD(v, "symbol s%u: no such kind", i);
        if (!is_scalar(s->type)) BAD(v, "symbol s%u: not a scalar type", i);
    }
    return TW_OK;
}

/* Depth and parents first, so that chains can be walked. */
static tw_status check_loops(verifier *v)
{
    const tw_model *m = v->model;
    for (uint32_t l = 0; l < m->loop_count; l++) {
        const tw_model_loop *loop = &m->loops[l];
        const char *word = loop->is_if ? "if" : "loop";
        if (l == 0 ? loop->parent != TW_NONE : loop->parent >= l) BAD(v, "%s n%u: its parent must have a lower number", word, l);
        uint32_t depth = l == 0 ? 0 : m->loops[loop->parent].depth + 1;
        if (loop->depth != depth) BAD(v, "%s n%u: depth %u, its parent says %u", word, l, loop->depth, depth);
        if (depth >= TW_MODEL_MAX_DEPTH) BAD(v, "%s n%u: nested too deeply", word, l);
        if (loop->item_count && !loop->items) BAD(v, "%s n%u: no items", word, l);
    }
    return TW_OK;
}

static tw_status check_trips(verifier *v)
{
    const tw_model *m = v->model;
    for (uint32_t l = 0; l < m->loop_count; l++) {
        const tw_model_loop *loop = &m->loops[l];
        const char *word = loop->is_if ? "if" : "loop";
        if (loop->trips >= m->expr_count) BAD(v, "%s n%u: no such expr", word, l);
        const tw_expr_node *e = &m->exprs[loop->trips];
        if (expr_bits(e) != 64) BAD(v, "%s n%u: its trip count isn't an i64", word, l);
        if (e->counters & ~counters_of(m, loop->parent))
            BAD(v, "%s n%u: its trip count varies with a loop that isn't around it", word, l);
    }
    return TW_OK;
}

/* ---- exprs ---- */

static bool is_compare(tw_op op)
{
    return (op >= TW_OP_I32_EQ && op <= TW_OP_I32_GE_U) || (op >= TW_OP_I64_EQ && op <= TW_OP_I64_GE_U);
}

/* Do the arguments exist, come first, and have the bits that `letters` name? `letters` has at most three. */
static bool expr_args_fit(const tw_model *m, uint32_t index, const char *letters)
{
    const tw_expr_node *e = &m->exprs[index];
    const uint32_t args[] = {e->a, e->b, e->c};
    size_t count = strlen(letters);
    for (size_t i = 0; i < 3; i++) {
        if (i >= count) {
            if (args[i] != TW_NONE) return false;
            continue;
        }
        if (args[i] >= index) return false;
        if (expr_bits(&m->exprs[args[i]]) != (letters[i] == 'i' ? 32u : 64u)) return false;
    }
    return true;
}

static bool only_ints(const char *letters)
{
    return strspn(letters, "il") == strlen(letters);
}

static bool expr_op_fits(const tw_model *m, uint32_t index)
{
    const tw_expr_node *e = &m->exprs[index];
    const tw_op_info *info = tw_op_describe((tw_op)e->op);
    if (info->kind != TW_KIND_PURE && info->kind != TW_KIND_TRAPPING) return false;
    if (!only_ints(info->operands) || !only_ints(info->results) || strlen(info->results) != 1) return false;
    return strlen(info->operands) <= 3 && e->bits == (info->results[0] == 'i' ? 32 : 64) &&
           expr_args_fit(m, index, info->operands);
}

static bool expr_fits(const tw_model *m, uint32_t index)
{
    const tw_expr_node *e = &m->exprs[index];
    const tw_op_info *info = tw_op_describe((tw_op)e->op);
    bool wide = e->bits == 64;
    switch ((tw_expr_kind)e->kind) {
    case TW_EXPR_CONST: return wide || e->imm <= UINT32_MAX;
    case TW_EXPR_SYMBOL:
        return e->index < m->symbol_count && is_int(m->symbols[e->index].type) &&
               type_bits(m->symbols[e->index].type) == e->bits;
    case TW_EXPR_COUNTER: return e->index < m->loop_count && !m->loops[e->index].is_if;
    case TW_EXPR_OP: return expr_op_fits(m, index);
    case TW_EXPR_SELECT: return expr_args_fit(m, index, wide ? "ill" : "iii");
    case TW_EXPR_LOAD:
        return info->kind == TW_KIND_LOAD && only_ints(info->results) && e->bits == (info->results[0] == 'i' ? 32 : 64) &&
               e->imm <= UINT32_MAX && expr_args_fit(m, index, "i");
    case TW_EXPR_TRIPS:
        return is_compare((tw_op)e->op) && wide == (info->operands[0] == 'l') && expr_args_fit(m, index, wide ? "lll" : "iii");
    }
    return false;
}

static tw_status check_exprs(verifier *v)
{
    const tw_model *m = v->model;
    for (uint32_t i = 0; i < m->expr_count; i++) {
        const tw_expr_node *e = &m->exprs[i];
        if ((e->bits != 32 && e->bits != 64) || e->op >= TW_OP_COUNT || !expr_fits(m, i))
            BAD(v, "expr e%u: its kind, operation, bits and arguments don't fit together", i);
        bool leaf = e->kind < TW_EXPR_OP;
        const uint32_t args[] = {e->a, e->b, e->c};
        uint32_t counters = e->kind == TW_EXPR_COUNTER ? 1u << e->index : 0;
        for (int a = 0; !leaf && a < 3; a++)
            if (args[a] != TW_NONE) counters |= m->exprs[args[a]].counters;
        if (e->counters != counters) BAD(v, "expr e%u: its set of counters is wrong", i);
    }
    return TW_OK;
}

/* ---- affines and accesses ---- */

static bool is_invariant(const tw_model *m, uint32_t expr, uint32_t bits)
{
    return expr < m->expr_count && expr_bits(&m->exprs[expr]) == bits && m->exprs[expr].counters == 0;
}

static tw_status check_affines(verifier *v)
{
    const tw_model *m = v->model;
    for (uint32_t i = 0; i < m->affine_count; i++) {
        const tw_affine *a = &m->affines[i];
        if (a->bits != 32 && a->bits != 64) BAD(v, "affine a%u: neither 32 nor 64 bits", i);
        if (a->loop != TW_NONE && a->loop >= m->loop_count) BAD(v, "affine a%u: no such loop", i);
        if (!is_invariant(m, a->base, a->bits)) BAD(v, "affine a%u: its base varies or has other bits", i);
        uint32_t chain[TW_MODEL_MAX_DEPTH], length = tw_model_chain(m, a->loop, chain);
        for (uint32_t d = 0; d < TW_MODEL_MAX_DEPTH; d++) {
            if (a->coef[d] == TW_NONE) continue;
            if (d >= length || m->loops[chain[d]].is_if) BAD(v, "affine a%u: a coefficient for a loop that doesn't count", i);
            if (!is_invariant(m, a->coef[d], a->bits)) BAD(v, "affine a%u: a coefficient varies or has other bits", i);
        }
    }
    return TW_OK;
}

static tw_status check_accesses(verifier *v)
{
    const tw_model *m = v->model;
    for (uint32_t i = 0; i < m->access_count; i++) {
        const tw_model_access *x = &m->accesses[i];
        const tw_op_info *info = tw_op_describe((tw_op)x->op);
        bool store = info->kind == TW_KIND_STORE;
        const char *type = store ? info->operands + 1 : info->results;
        if ((!store && info->kind != TW_KIND_LOAD) || !strchr("ilfd", *type))
            BAD(v, "access x%u: not a scalar load or store", i);
        if (x->width != info->access || x->is_store != store || (store && x->is_inspected))
            BAD(v, "access x%u: width or direction isn't its operation's", i);
        if (x->loop != TW_NONE && x->loop >= m->loop_count) BAD(v, "access x%u: no such loop", i);
        if (x->loop == TW_NONE && m->loop_count) BAD(v, "access x%u: outside the loops", i);
        if (x->address >= m->affine_count || m->affines[x->address].bits != 32 ||
            !encloses(m, m->affines[x->address].loop, x->loop))
            BAD(v, "access x%u: its address isn't a 32-bit affine of the loops around it", i);
        if (x->is_indirect ? store || x->is_inspected || x->least > x->most : x->least || x->most)
            BAD(v, "access x%u: bounds of an index that it has none of, or that aren't in order", i);
        if (x->offset > UINT32_MAX) BAD(v, "access x%u: the static offset needs more than 32 bits", i);
    }
    return TW_OK;
}

/* ---- values ---- */

static uint8_t value_type(const tw_model *m, uint32_t value)
{
    return value < m->value_count ? m->values[value].type : (uint8_t)TW_TYPE_NONE;
}

static bool is_division(tw_op op)
{
    return (op >= TW_OP_I32_DIV_S && op <= TW_OP_I32_REM_U) || (op >= TW_OP_I64_DIV_S && op <= TW_OP_I64_REM_U);
}

/* A divisor that can't trap: a constant, not 0, and not -1 for the signed ones. */
static bool divisor_fits(const tw_model *m, tw_op op, uint32_t divisor)
{
    const tw_value_node *d = &m->values[divisor];
    if (d->kind != TW_VALUE_CONST || d->bits == 0) return false;
    bool is_signed = op == TW_OP_I32_DIV_S || op == TW_OP_I32_REM_S || op == TW_OP_I64_DIV_S || op == TW_OP_I64_REM_S;
    return !is_signed || d->bits != (d->type == TW_I32 ? UINT32_MAX : UINT64_MAX);
}

static bool value_op_fits(const tw_model *m, uint32_t index)
{
    const tw_value_node *n = &m->values[index];
    const tw_op_info *info = tw_op_describe((tw_op)n->op);
    bool select = n->op == TW_OP_SELECT, division = is_division((tw_op)n->op);
    if (!select && !division && info->kind != TW_KIND_PURE) return false;
    size_t count = select ? 3 : strlen(info->operands);
    if (count > 3 || (!select && (count == 0 || strlen(info->results) != 1))) return false;
    for (size_t i = 0; i < 3; i++) {
        if (i >= count ? n->args[i] != TW_NONE : n->args[i] >= index) return false;
        uint32_t wanted = select ? (i == 2 ? TW_I32 : n->type)
                                 : i < count ? (uint32_t)tw_type_from_letter(info->operands[i]) : TW_TYPE_NONE;
        if (i < count && (value_type(m, n->args[i]) != wanted || !is_scalar(wanted))) return false;
    }
    if (!select && n->type != (uint8_t)tw_type_from_letter(info->results[0])) return false;
    return !division || divisor_fits(m, (tw_op)n->op, n->args[1]);
}

static bool value_fits(const tw_model *m, uint32_t index)
{
    const tw_value_node *n = &m->values[index];
    switch ((tw_value_kind)n->kind) {
    case TW_VALUE_CONST: return type_bits(n->type) == 64 || n->bits <= UINT32_MAX;
    case TW_VALUE_SYMBOL: return n->index < m->symbol_count && m->symbols[n->index].type == n->type;
    case TW_VALUE_AFFINE:
        return n->index < m->affine_count && is_int(n->type) && m->affines[n->index].bits == type_bits(n->type);
    case TW_VALUE_READ:
        return n->index < m->access_count && !m->accesses[n->index].is_store && !m->accesses[n->index].is_inspected &&
               (n->args[0] == TW_NONE || (n->args[0] < index && value_type(m, n->args[0]) == TW_I32)) &&
               (n->args[0] != TW_NONE) == m->accesses[n->index].is_indirect &&
               tw_type_from_letter(tw_op_describe((tw_op)m->accesses[n->index].op)->results[0]) == (tw_type)n->type;
    case TW_VALUE_OP: return n->op < TW_OP_COUNT && value_op_fits(m, index);
    case TW_VALUE_CARRIED:
    case TW_VALUE_FINAL: return n->index < m->carried_count && m->carried[n->index].type == n->type;
    }
    return false;
}

/* Kernels rely on the bounds of what indirect reads add to their addresses: they must follow from the values themselves. */
static tw_status check_indices(verifier *v)
{
    const tw_model *m = v->model;
    bool any = false;
    for (uint32_t x = 0; x < m->access_count; x++) any |= m->accesses[x].is_indirect;
    if (!any) return TW_OK;
    tw_bounds_find(m, v->bounds);
    for (uint32_t i = 0; i < m->value_count; i++) {
        const tw_value_node *n = &m->values[i];
        if (n->kind != TW_VALUE_READ || n->args[0] == TW_NONE) continue;
        const tw_model_access *x = &m->accesses[n->index];
        if (v->bounds[n->args[0]].least < x->least || v->bounds[n->args[0]].most > x->most)
            BAD(v, "access x%u: its index may be out of the bounds given", n->index);
    }
    return TW_OK;
}

static tw_status check_values(verifier *v)
{
    const tw_model *m = v->model;
    for (uint32_t c = 0; c < m->carried_count; c++) {
        const tw_carried *carried = &m->carried[c];
        if (carried->loop >= m->loop_count || !is_scalar(carried->type)) BAD(v, "carried c%u: no such loop or type", c);
        if (value_type(m, carried->init) != carried->type || value_type(m, carried->next) != carried->type)
            BAD(v, "carried c%u: init or next has another type or doesn't exist", c);
    }
    for (uint32_t i = 0; i < m->value_count; i++)
        if (!is_scalar(m->values[i].type) || !value_fits(m, i))
            BAD(v, "value v%u: its kind, operation, type and arguments don't fit together", i);
    return check_indices(v);
}

/* ---- the region's edges ---- */

static bool is_limit_op(uint16_t op, uint8_t bits)
{
    tw_compare compare;
    return tw_expr_compare((tw_op)op, &compare) && tw_expr_compare_op(compare, bits) == (tw_op)op;
}

static bool are_alike(const tw_model *m, uint32_t affine, uint32_t other)
{
    return other < m->affine_count && m->affines[affine].bits == m->affines[other].bits && m->affines[affine].loop == m->affines[other].loop;
}

static tw_status check_edges(verifier *v)
{
    const tw_model *m = v->model;
    if (!m->copies) BAD(v, "copies must be at least 1");
    if (m->apart_count > TW_MODEL_MAX_ACCESSES) BAD(v, "%u pairs to lie apart; at most %u fit", m->apart_count, TW_MODEL_MAX_ACCESSES);
    for (uint32_t i = 0; i < m->apart_count; i++)
        if (m->apart[i].first >= m->access_count || m->apart[i].second >= m->access_count) BAD(v, "pair %u: no such access", i);
    for (uint32_t i = 0; i < m->check_count; i++) {
        const tw_check *c = &m->checks[i];
        if (c->refusal >= TW_REFUSAL_COUNT || c->expr >= m->expr_count || (c->loop != TW_NONE && c->loop >= m->loop_count) ||
            (m->exprs[c->expr].counters & ~counters_of(m, c->loop)))
            BAD(v, "check %u: no such expr, loop or refusal, or a counter that isn't of the loops around it", i);
    }
    for (uint32_t i = 0; i < m->limit_count; i++) {
        const tw_limit *l = &m->limits[i];
        if (l->affine >= m->affine_count || !is_limit_op(l->op, m->affines[l->affine].bits) ||
            (l->other == TW_NONE ? !is_invariant(m, l->bound, m->affines[l->affine].bits) : !are_alike(m, l->affine, l->other)))
            BAD(v, "limit %u: no such affine, not a compare of its bits, a bound that varies, or another loop's affine", i);
    }
    for (uint32_t i = 0; i < m->header_count; i++) {
        const tw_header *h = &m->headers[i];
        if (h->kind > TW_HEADER_DEAD || h->symbol >= m->symbol_count || m->symbols[h->symbol].kind != TW_SYMBOL_HEADER ||
            m->symbols[h->symbol].type != h->type || m->symbols[h->symbol].local != h->local)
            BAD(v, "header %u: its symbol is missing or another local's", i);
        if (h->kind == TW_HEADER_AFFINE && (!is_int(h->type) || !is_invariant(m, h->step, type_bits(h->type))))
            BAD(v, "header %u: its step varies or has another type", i);
    }
    for (uint32_t i = 0; i < m->live_out_count; i++) {
        const tw_live_out *o = &m->live_outs[i];
        if (o->kind > TW_LIVE_OUT_UNKNOWN || o->header >= m->header_count) BAD(v, "live-out %u: no such header", i);
        if (o->kind != TW_LIVE_OUT_AFFINE) continue;
        uint8_t type = m->headers[o->header].type;
        if (o->affine >= m->affine_count || !is_int(type) || m->affines[o->affine].bits != type_bits(type) ||
            !encloses(m, m->affines[o->affine].loop, m->loop_count ? 0 : TW_NONE))
            BAD(v, "live-out %u: its affine has another type or varies with an inner loop", i);
    }
    if (m->output_count && m->loop_count) BAD(v, "outputs are for regions without loops");
    return TW_OK;
}

/* ---- the body ---- */

static tw_status number_item(verifier *v, const tw_item *item, uint32_t loop);

static tw_status number_items(verifier *v, const tw_item *items, uint32_t count, uint32_t loop)
{
    for (uint32_t i = 0; i < count; i++) TW_TRY(number_item(v, &items[i], loop));
    return TW_OK;
}

static tw_status number_loop(verifier *v, uint32_t index, uint32_t around)
{
    const tw_model *m = v->model;
    if (index >= m->loop_count || m->loops[index].parent != around || v->begin[index])
        BAD(v, "loop n%u: not where its parent is, or twice in the body", index);
    v->begin[index] = ++v->number;
    TW_TRY(number_items(v, m->loops[index].items, m->loops[index].item_count, index));
    v->end[index] = ++v->number;
    return TW_OK;
}

static tw_status number_item(verifier *v, const tw_item *item, uint32_t loop)
{
    const tw_model *m = v->model;
    if (item->kind == TW_ITEM_LOOP) return number_loop(v, item->index, loop);
    bool store = item->kind == TW_ITEM_STORE;
    if (!store && item->kind != TW_ITEM_READ) BAD(v, "the body has an item of no kind");
    if (item->index >= m->access_count || item->value >= m->value_count) BAD(v, "an item names what doesn't exist");
    const tw_model_access *x = &m->accesses[item->index];
    if (x->loop != loop || x->is_store != store || x->is_inspected || v->access_used[item->index])
        BAD(v, "access x%u: its item is in another loop, of another kind, or not the only one", item->index);
    v->access_used[item->index] = true;
    v->number++;
    if (store) return TW_OK;
    const tw_value_node *n = &m->values[item->value];
    if (n->kind != TW_VALUE_READ || n->index != item->index || v->read[item->value])
        BAD(v, "value v%u: an item reads it that isn't its own", item->value);
    v->read[item->value] = v->number;
    return TW_OK;
}

/* Where an operation is at hand; false when its arguments belong to loops side by side. */
static bool op_at_hand(const verifier *v, const tw_value_node *n, place_in_body *out)
{
    *out = (place_in_body){TW_NONE, 0};
    for (int i = 0; i < 3 && n->args[i] != TW_NONE; i++) {
        place_in_body arg = v->at_hand[n->args[i]];
        if (encloses(v->model, out->loop, arg.loop)) out->loop = arg.loop;
        else if (!encloses(v->model, arg.loop, out->loop)) return false;
        if (arg.number > out->number) out->number = arg.number;
    }
    return true;
}

static uint32_t begin_of(const verifier *v, uint32_t loop)
{
    return loop == TW_NONE ? 0 : v->begin[loop];
}

static tw_status place_values(verifier *v)
{
    const tw_model *m = v->model;
    for (uint32_t i = 0; i < m->value_count; i++) {
        const tw_value_node *n = &m->values[i];
        place_in_body at = {TW_NONE, 0};
        uint32_t loop;
        switch ((tw_value_kind)n->kind) {
        case TW_VALUE_CONST:
        case TW_VALUE_SYMBOL: break;
        case TW_VALUE_AFFINE: loop = m->affines[n->index].loop; at = (place_in_body){loop, begin_of(v, loop)}; break;
        case TW_VALUE_READ: at = (place_in_body){m->accesses[n->index].loop, v->read[i] ? v->read[i] : NEVER}; break;
        case TW_VALUE_CARRIED: loop = m->carried[n->index].loop; at = (place_in_body){loop, v->begin[loop]}; break;
        case TW_VALUE_FINAL:
            loop = m->carried[n->index].loop;
            at = (place_in_body){m->loops[loop].parent, v->end[loop]};
            break;
        case TW_VALUE_OP:
            if (!op_at_hand(v, n, &at)) BAD(v, "value v%u: its arguments belong to loops side by side", i);
            break;
        }
        v->at_hand[i] = at;
    }
    return TW_OK;
}

static tw_status check_use(verifier *v, uint32_t value, uint32_t loop, uint32_t number)
{
    place_in_body at = v->at_hand[value];
    if (!encloses(v->model, at.loop, loop) || at.number >= number)
        BAD(v, "value v%u: used where it isn't at hand", value);
    return TW_OK;
}

static tw_status check_guard(verifier *v, uint32_t guard, uint32_t loop)
{
    if (guard == TW_NONE) return TW_OK;
    if (value_type(v->model, guard) != TW_I32) BAD(v, "value v%u: a guard must be an i32", guard);
    return check_use(v, guard, loop, v->number);
}

/* Walks the body again, counting as number_items did. */
static tw_status check_uses(verifier *v, const tw_item *items, uint32_t count, uint32_t loop)
{
    const tw_model *m = v->model;
    for (uint32_t i = 0; i < count; i++) {
        const tw_item *item = &items[i];
        v->number++;
        if (item->kind == TW_ITEM_LOOP) {
            TW_TRY(check_uses(v, m->loops[item->index].items, m->loops[item->index].item_count, item->index));
            v->number++;
            continue;
        }
        TW_TRY(check_guard(v, item->guard, loop));
        if (item->kind == TW_ITEM_READ) {
            uint32_t index = m->values[item->value].args[0];
            if (index != TW_NONE) TW_TRY(check_use(v, index, loop, v->number));
            continue;
        }
        const tw_op_info *info = tw_op_describe((tw_op)m->accesses[item->index].op);
        if (value_type(m, item->value) != (uint8_t)tw_type_from_letter(info->operands[1]))
            BAD(v, "value v%u: stored by an access of another type", item->value);
        TW_TRY(check_use(v, item->value, loop, v->number));
    }
    return TW_OK;
}

static tw_status check_carried_uses(verifier *v)
{
    const tw_model *m = v->model;
    for (uint32_t c = 0; c < m->carried_count; c++) {
        const tw_carried *carried = &m->carried[c];
        TW_TRY(check_use(v, carried->init, m->loops[carried->loop].parent, v->begin[carried->loop]));
        TW_TRY(check_use(v, carried->next, carried->loop, v->end[carried->loop]));
    }
    for (uint32_t i = 0; i < m->output_count; i++) {
        if (m->outputs[i] >= m->value_count) BAD(v, "output %u: no such value", i);
        TW_TRY(check_use(v, m->outputs[i], TW_NONE, NEVER));
    }
    return TW_OK;
}

static tw_status check_body(verifier *v)
{
    const tw_model *m = v->model;
    const tw_item root = {.kind = TW_ITEM_LOOP, .index = 0};
    const tw_item *items = m->loop_count ? &root : m->items;
    uint32_t count = m->loop_count ? 1 : m->item_count;
    if (m->loop_count && m->item_count) BAD(v, "items outside the loops");
    TW_TRY(number_items(v, items, count, TW_NONE));
    for (uint32_t l = 0; l < m->loop_count; l++)
        if (!v->begin[l]) BAD(v, "loop n%u: not in the body", l);
    TW_TRY(place_values(v));
    v->number = 0;
    TW_TRY(check_uses(v, items, count, TW_NONE));
    return check_carried_uses(v);
}

static tw_status verify(verifier *v)
{
    TW_TRY(check_counts(v));
    TW_TRY(check_symbols(v));
    TW_TRY(check_loops(v));
    TW_TRY(check_exprs(v));
    TW_TRY(check_trips(v));
    TW_TRY(check_affines(v));
    TW_TRY(check_accesses(v));
    TW_TRY(check_values(v));
    TW_TRY(check_edges(v));
    return check_body(v);
}

tw_status tw_model_verify(const tw_model *model, tw_error *error)
{
    verifier *v = calloc(1, sizeof *v);
    if (!v) return tw_fail_memory(error);
    v->model = model;
    v->error = error;
    tw_status status = verify(v);
    free(v);
    return status;
}
