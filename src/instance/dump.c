/* SPDX-License-Identifier: Apache-2.0 */
/* What the compile worker would make of a region, without numbers to go by. Facts come from an arrival; here the kindest ones
 * that the model's own shape allows are assumed: different bases are different arrays, rows don't overlap, a loop is
 * parallel when nothing in sight says otherwise. The text begins with what was assumed. */
#include <stdlib.h>
#include <string.h>

#include "instance/runtime.h"
#include "region/facts.h"

/* ---- what a base address is made of ---- */

static void mark_symbols(const tw_model *model, uint32_t expr, bool *seen, bool *symbols)
{
    if (expr == TW_NONE || seen[expr]) return;
    const tw_expr_node *e = &model->exprs[expr];
    seen[expr] = true;
    if (e->kind == TW_EXPR_SYMBOL) symbols[e->index] = true;
    mark_symbols(model, e->a, seen, symbols);
    mark_symbols(model, e->b, seen, symbols);
    mark_symbols(model, e->c, seen, symbols);
}

static const tw_affine *address(const tw_model *model, uint32_t access)
{
    return &model->affines[model->accesses[access].address];
}

static bool same_array(const tw_model *model, uint32_t a, uint32_t b, bool *work)
{
    size_t half = model->expr_count + model->symbol_count;
    memset(work, 0, 2 * half * sizeof *work);
    mark_symbols(model, address(model, a)->base, work, work + model->expr_count);
    mark_symbols(model, address(model, b)->base, work + half, work + half + model->expr_count);
    return !memcmp(work + model->expr_count, work + half + model->expr_count, model->symbol_count * sizeof *work);
}

/* ---- facts ---- */

static void assume_groups(const tw_model *model, tw_facts *facts, bool *work)
{
    uint8_t groups = 0;
    for (uint32_t a = 0; a < model->access_count; a++) {
        uint32_t b = 0;
        while (b < a && !same_array(model, a, b, work)) b++;
        facts->group[a] = b < a ? facts->group[b] : groups++;
    }
}

static tw_stride stride_of(const tw_model *model, uint32_t access, uint32_t depth)
{
    uint32_t coef = address(model, access)->coef[depth];
    if (coef == TW_NONE) return TW_STRIDE_ZERO;
    const tw_expr_node *e = &model->exprs[coef];
    return e->kind == TW_EXPR_CONST && e->imm == model->accesses[access].width ? TW_STRIDE_UNIT : TW_STRIDE_ANY;
}

static bool is_inside(const tw_model *model, uint32_t inner, uint32_t loop)
{
    while (inner != TW_NONE && inner != loop) inner = model->loops[inner].parent;
    return inner == loop;
}

/* Rows that move alike with the loop at `depth` and those around it; what is further in stays within a row. */
static bool same_rows(const tw_model *model, uint32_t a, uint32_t b, uint32_t depth)
{
    const tw_affine *x = address(model, a), *y = address(model, b);
    return x->base == y->base && model->accesses[a].offset == model->accesses[b].offset &&
           !memcmp(x->coef, y->coef, (depth + 1) * sizeof *x->coef);
}

static bool looks_parallel(const tw_model *model, const tw_facts *facts, uint32_t loop)
{
    for (uint32_t c = 0; c < model->carried_count; c++)
        if (model->carried[c].loop == loop) return false;
    for (uint32_t s = 0; s < model->access_count; s++) {
        if (!model->accesses[s].is_store || !is_inside(model, model->accesses[s].loop, loop)) continue;
        if (facts->stride[s][model->loops[loop].depth] == TW_STRIDE_ZERO) return false;
        for (uint32_t a = 0; a < model->access_count; a++)
            if (facts->group[a] == facts->group[s] && is_inside(model, model->accesses[a].loop, loop) &&
                !same_rows(model, a, s, model->loops[loop].depth))
                return false;
    }
    return true;
}

static tw_status assume(const tw_model *model, bool canonical_nan, tw_facts *facts, tw_error *error)
{
    bool *work = calloc(2 * ((size_t)model->expr_count + model->symbol_count) + 1, sizeof *work);
    TW_TRY_ALLOC(work, error);
    *facts = (tw_facts){.canonical_nan = canonical_nan};
    assume_groups(model, facts, work);
    free(work);
    for (uint32_t a = 0; a < model->access_count; a++)
        for (uint32_t d = 0; d < TW_MODEL_MAX_DEPTH; d++) facts->stride[a][d] = (uint8_t)stride_of(model, a, d);
    for (uint32_t l = 0; l < model->loop_count; l++) {
        facts->parallel[l] = !model->loops[l].is_if && looks_parallel(model, facts, l);
        facts->free[l] = facts->parallel[l] ? (uint8_t)model->loops[l].depth : 0;
        facts->trips[l] = 1024;
    }
    return TW_OK;
}

/* ---- the worker's answer ---- */

static void write_comments(const char *text, tw_bytes *out)
{
    for (const char *line = text; *line; line += strcspn(line, "\n") + (line[strcspn(line, "\n")] != 0))
        tw_bytes_printf(out, "; assumed: %.*s\n", (int)strcspn(line, "\n"), line);
}

tw_status tw_runtime_dump_kernel(tw_engine *engine, const tw_model *model, const char *what, tw_bytes *out, tw_error *error)
{
    tw_facts *facts = malloc(sizeof *facts);
    tw_bytes request = {0}, assumed = {0};
    tw_compiler *compiler;
    tw_device *device;
    char *text = NULL;
    tw_status status = facts ? assume(model, engine->options.canonical_nan, facts, error) : tw_fail_memory(error);
    if (status == TW_OK) {
        tw_model_print(model, &request);
        tw_facts_print(model, facts, &assumed);
        tw_bytes_append(&request, assumed.data, assumed.size);
        status = request.failed || assumed.failed ? tw_fail_memory(error) : TW_OK;
    }
    if (status == TW_OK) status = tw_runtime_engine_workers(engine, &compiler, &device, error);
    if (status == TW_OK) status = tw_compiler_dump(compiler, what, request.data, request.size, &text, error);
    if (status == TW_OK) {
        write_comments(assumed.data ? assumed.data : "", out);
        tw_bytes_append_string(out, text);
    }
    free(text);
    free(facts);
    tw_bytes_free(&request);
    tw_bytes_free(&assumed);
    return status;
}
