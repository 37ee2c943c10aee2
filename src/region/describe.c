/* SPDX-License-Identifier: Apache-2.0 */
#include "region/describe.h"

#include <inttypes.h>
#include <string.h>

#include "region/plan.h"
#include "region/refusals.h"

enum { DEEPEST = 40, LONGEST = 1 << 15 };

static void print_float(uint8_t type, uint64_t bits, tw_bytes *out)
{
    if (type == TW_F32) {
        float f;
        uint32_t narrow = (uint32_t)bits;
        memcpy(&f, &narrow, sizeof f);
        tw_bytes_printf(out, "%.9g", (double)f);
        return;
    }
    double d;
    memcpy(&d, &bits, sizeof d);
    tw_bytes_printf(out, "%.17g", d);
}

static void print_symbol(const tw_model *model, uint32_t symbol, tw_bytes *out)
{
    tw_bytes_printf(out, "l%u", model->symbols[symbol].local);
}

static const char *infix(tw_op op)
{
    switch (op) {
    case TW_OP_I32_ADD: case TW_OP_I64_ADD: case TW_OP_F32_ADD: case TW_OP_F64_ADD: return "+";
    case TW_OP_I32_SUB: case TW_OP_I64_SUB: case TW_OP_F32_SUB: case TW_OP_F64_SUB: return "-";
    case TW_OP_I32_MUL: case TW_OP_I64_MUL: case TW_OP_F32_MUL: case TW_OP_F64_MUL: return "*";
    case TW_OP_F32_DIV: case TW_OP_F64_DIV: return "/";
    case TW_OP_I32_AND: case TW_OP_I64_AND: return "&";
    default: return NULL;
    }
}

/* What is shared is printed wherever it is used, which may double the text with each level: a term ends at `out`'s size `end`. */
static void print_expr(const tw_model *model, uint32_t expr, tw_bytes *out, int depth, size_t end)
{
    const tw_expr_node *e = &model->exprs[expr];
    const char *name = tw_op_describe((tw_op)e->op)->name, *mark = infix((tw_op)e->op);
    if (depth > DEEPEST || out->size > end) {
        tw_bytes_append_string(out, "…");
        return;
    }
    switch ((tw_expr_kind)e->kind) {
    case TW_EXPR_CONST: tw_bytes_printf(out, "%" PRId64, e->bits == 32 ? (int32_t)e->imm : (int64_t)e->imm); return;
    case TW_EXPR_SYMBOL: print_symbol(model, e->index, out); return;
    case TW_EXPR_COUNTER: tw_bytes_printf(out, "n%u", e->index); return;
    case TW_EXPR_SELECT: tw_bytes_append_string(out, "("); break;
    case TW_EXPR_LOAD: tw_bytes_printf(out, "%s[", name); break;
    case TW_EXPR_TRIPS: tw_bytes_printf(out, "trips(%s: ", name); break;
    case TW_EXPR_OP: tw_bytes_printf(out, mark && e->b != TW_NONE ? "(" : "%s(", name); break;
    }
    const char *between = e->kind == TW_EXPR_SELECT ? " ? " : e->kind == TW_EXPR_OP && mark ? mark : ", ";
    print_expr(model, e->a, out, depth + 1, end);
    if (e->b != TW_NONE) {
        tw_bytes_append_string(out, between);
        print_expr(model, e->b, out, depth + 1, end);
    }
    if (e->c != TW_NONE) {
        tw_bytes_append_string(out, e->kind == TW_EXPR_SELECT ? " : " : ", ");
        print_expr(model, e->c, out, depth + 1, end);
    }
    if (e->kind == TW_EXPR_LOAD) tw_bytes_printf(out, " + %" PRIu64 "]", e->imm);
    else tw_bytes_append_string(out, ")");
}

static void print_affine(const tw_model *model, uint32_t affine, tw_bytes *out, size_t end)
{
    const tw_affine *a = &model->affines[affine];
    uint32_t chain[TW_MODEL_MAX_DEPTH], length = tw_model_chain(model, a->loop, chain);
    print_expr(model, a->base, out, 0, end);
    for (uint32_t d = 0; d < length; d++) {
        if (a->coef[d] == TW_NONE) continue;
        tw_bytes_append_string(out, " + ");
        print_expr(model, a->coef[d], out, 0, end);
        tw_bytes_printf(out, "*n%u", chain[d]);
    }
}

static void print_value(const tw_model *model, uint32_t value, tw_bytes *out, int depth, size_t end);

/* value: of the access's item; TW_NONE: of what an index is made isn't told. */
static void print_access(const tw_model *model, uint32_t access, uint32_t value, tw_bytes *out)
{
    const tw_model_access *x = &model->accesses[access];
    tw_bytes_printf(out, "%s[", tw_op_describe((tw_op)x->op)->name);
    print_affine(model, x->address, out, out->size + LONGEST);
    if (x->is_indirect && value == TW_NONE) tw_bytes_append_string(out, " + index");
    if (x->is_indirect && value != TW_NONE) {
        tw_bytes_append_string(out, " + ");
        print_value(model, model->values[value].args[0], out, 0, out->size + LONGEST);
    }
    if (x->offset) tw_bytes_printf(out, " + %" PRIu64, x->offset);
    tw_bytes_append_string(out, "]");
    if (x->is_indirect) tw_bytes_printf(out, " (index from %" PRId32 " to %" PRId32 ")", x->least, x->most);
}

static void print_value(const tw_model *model, uint32_t value, tw_bytes *out, int depth, size_t end)
{
    const tw_value_node *v = &model->values[value];
    if (depth > DEEPEST || out->size > end) {
        tw_bytes_append_string(out, "…");
        return;
    }
    switch ((tw_value_kind)v->kind) {
    case TW_VALUE_CONST:
        if (v->type == TW_I32) tw_bytes_printf(out, "%d", (int32_t)v->bits);
        else if (v->type == TW_I64) tw_bytes_printf(out, "%" PRId64, (int64_t)v->bits);
        else print_float(v->type, v->bits, out);
        return;
    case TW_VALUE_SYMBOL: print_symbol(model, v->index, out); return;
    case TW_VALUE_AFFINE: tw_bytes_append_string(out, "("); print_affine(model, v->index, out, end); tw_bytes_append_string(out, ")"); return;
    case TW_VALUE_READ: tw_bytes_printf(out, "v%u", value); return;
    case TW_VALUE_CARRIED: tw_bytes_printf(out, "c%u", v->index); return;
    case TW_VALUE_FINAL: tw_bytes_printf(out, "final c%u", v->index); return;
    case TW_VALUE_OP: break;
    }
    const char *mark = infix((tw_op)v->op);
    tw_bytes_printf(out, mark ? "(" : "%s(", tw_op_describe((tw_op)v->op)->name);
    for (int a = 0; a < 3 && v->args[a] != TW_NONE; a++) {
        if (a) tw_bytes_printf(out, mark ? " %s " : ", ", mark);
        print_value(model, v->args[a], out, depth + 1, end);
    }
    tw_bytes_append_string(out, ")");
}

static void print_loop(const tw_model *model, uint32_t loop, unsigned indent, tw_bytes *out);

static void print_item(const tw_model *model, const tw_item *item, unsigned indent, tw_bytes *out)
{
    if (item->kind == TW_ITEM_LOOP) {
        print_loop(model, item->index, indent, out);
        return;
    }
    tw_bytes_printf(out, "%*s", (int)indent, "");
    if (item->guard != TW_NONE) {
        tw_bytes_append_string(out, "if ");
        print_value(model, item->guard, out, 0, out->size + LONGEST);
        tw_bytes_append_string(out, ": ");
    }
    if (item->kind == TW_ITEM_READ) {
        tw_bytes_printf(out, "v%u = ", item->value);
        print_access(model, item->index, item->value, out);
    } else {
        print_access(model, item->index, item->value, out);
        tw_bytes_append_string(out, " = ");
        print_value(model, item->value, out, 0, out->size + LONGEST);
    }
    tw_bytes_append_string(out, "\n");
}

static void print_loop(const tw_model *model, uint32_t loop, unsigned indent, tw_bytes *out)
{
    const tw_model_loop *l = &model->loops[loop];
    tw_bytes_printf(out, "%*s%s n%u, ", (int)indent, "", l->is_if ? "if" : "for", loop);
    print_expr(model, l->trips, out, 0, out->size + LONGEST);
    tw_bytes_append_string(out, " times:\n");
    for (uint32_t c = 0; c < model->carried_count; c++) {
        if (model->carried[c].loop != loop) continue;
        tw_bytes_printf(out, "%*scarry c%u from ", (int)indent + 2, "", c);
        print_value(model, model->carried[c].init, out, 0, out->size + LONGEST);
        tw_bytes_append_string(out, ", then ");
        print_value(model, model->carried[c].next, out, 0, out->size + LONGEST);
        tw_bytes_append_string(out, "\n");
    }
    for (uint32_t i = 0; i < l->item_count; i++) print_item(model, &l->items[i], indent + 2, out);
}

void tw_model_describe(const tw_model *model, unsigned indent, tw_bytes *out)
{
    if (model->loop_count) print_loop(model, 0, indent, out);
    for (uint32_t i = 0; i < model->item_count; i++) print_item(model, &model->items[i], indent, out);
    for (uint32_t o = 0; o < model->output_count; o++) {
        tw_bytes_printf(out, "%*sresult %u = ", (int)indent, "", o);
        print_value(model, model->outputs[o], out, 0, out->size + LONGEST);
        tw_bytes_append_string(out, "\n");
    }
}

static void print_header(const tw_model *model, uint32_t header, tw_bytes *out)
{
    const tw_header *h = &model->headers[header];
    tw_bytes_printf(out, "local %u after k iterations: ", h->local);
    if (h->kind == TW_HEADER_DEAD) {
        tw_bytes_append_string(out, "not needed\n");
        return;
    }
    tw_bytes_printf(out, "l%u + k*", h->local);
    print_expr(model, h->step, out, 0, out->size + LONGEST);
    tw_bytes_append_string(out, "\n");
}

static void print_live_out(const tw_model *model, uint32_t live_out, tw_bytes *out)
{
    tw_bytes_printf(out, "local %u on leaving: ", model->headers[model->live_outs[live_out].header].local);
    print_affine(model, model->live_outs[live_out].affine, out, out->size + LONGEST);
    tw_bytes_append_string(out, "\n");
}

void tw_plan_print(const tw_model *model, tw_bytes *out)
{
    for (uint32_t l = 0; l < model->loop_count; l++) {
        tw_bytes_printf(out, "%s n%u: trips = ", model->loops[l].is_if ? "if" : "loop", l);
        print_expr(model, model->loops[l].trips, out, 0, out->size + LONGEST);
        tw_bytes_append_string(out, "\n");
    }
    for (uint32_t x = 0; x < model->access_count; x++) {
        tw_bytes_printf(out, "access x%u%s: ", x, model->accesses[x].is_inspected ? " (read by the plan)" : "");
        print_access(model, x, TW_NONE, out);
        tw_bytes_append_string(out, "\n");
    }
    for (uint32_t c = 0; c < model->check_count; c++) {
        tw_bytes_append_string(out, "check: ");
        print_expr(model, model->checks[c].expr, out, 0, out->size + LONGEST);
        tw_bytes_printf(out, " (else %s)\n", tw_refusal_name((tw_refusal)model->checks[c].refusal));
    }
    for (uint32_t l = 0; l < model->limit_count; l++) {
        tw_bytes_append_string(out, "limit: ");
        print_affine(model, model->limits[l].affine, out, out->size + LONGEST);
        tw_bytes_printf(out, " %s ", tw_op_describe((tw_op)model->limits[l].op)->name);
        if (model->limits[l].other != TW_NONE) print_affine(model, model->limits[l].other, out, out->size + LONGEST);
        else print_expr(model, model->limits[l].bound, out, 0, out->size + LONGEST);
        tw_bytes_append_string(out, "\n");
    }
    for (uint32_t p = 0; p < model->apart_count; p++)
        tw_bytes_printf(out, "apart: x%u and x%u\n", model->apart[p].first, model->apart[p].second);
    for (uint32_t h = 0; h < model->header_count; h++) print_header(model, h, out);
    bool guests = !model->exits_at_end;
    for (uint32_t o = 0; o < model->live_out_count; o++) {
        if (model->live_outs[o].kind == TW_LIVE_OUT_UNKNOWN) guests = true;
        else print_live_out(model, o, out);
    }
    tw_bytes_printf(out, "%s\n", guests ? "the last iteration is the guest's" : "the loop is left when all iterations are done");
}
