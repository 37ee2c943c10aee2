/* SPDX-License-Identifier: Apache-2.0 */
#include "region/region.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "lift/lift.h"
#include "region/builder.h"
#include "region/chance.h"
#include "region/doomed.h"
#include "region/guarded.h"
#include "region/module.h"
#include "region/detector.h"
#include "region/fronts.h"
#include "region/rotate.h"
#include "region/stale.h"

enum { FUNCTION_MEMORY = 256 << 20 };
/* Each loop costs a walk over its function's bytes, of which a second does about this many; a function with more of both than any
 * compiler makes is left alone. */
enum { MOST_WALKED = 64 << 20 };

typedef struct surveyor {
    const tw_wasm *module;
    tw_survey *survey;
    tw_analysis *analysis;
    const tw_loops *loops;
    const tw_ir_func *func;
    uint32_t first;     /* survey index of the function's first loop; loop l of the analysis is first + rank[l] */
    uint32_t *rank;
    bool failed;        /* out of memory */
} surveyor;

/* ---- one loop ---- */

typedef struct attempt {
    bool use_ifs, recall;
    tw_nest nest;
    const bool *stale, *foreign; /* by local */
    tw_model *model;
    tw_cut cut;
    tw_arena scratch;
    tw_reason reason;
} attempt;

static bool build(surveyor *s, tw_loop loop, const char *name, attempt *it)
{
    tw_cut *cut = &it->cut;
    tw_reason *reason = &it->reason;
    tw_builder b = {.arena = &it->scratch, .reason = reason, .use_ifs = it->use_ifs, .cut = cut};
    if (!tw_cut_new(s->analysis, loop, &it->nest, it->stale, it->foreign, &it->scratch, cut, reason)) return false;
    b.func = cut->func;
    bool ok = false;
    if (tw_analysis_new(cut->func, FUNCTION_MEMORY, &b.analysis, NULL) == TW_OK && tw_model_new(&b.model, NULL) == TW_OK) {
        b.model->name = tw_arena_string(&b.model->arena, name, strlen(name));
        b.model->func = s->func->index;
        b.model->place = s->func->blocks[s->loops->items[loop].header].loop_offset;
        ok = tw_rotate(cut, &b.analysis, &it->scratch, &it->reason) && tw_build_draft(&b);
        bool recalled = true;
        if (ok && it->recall) ok = tw_build_recall(&b, &recalled) && recalled;
        if (ok) {
            tw_build_reroll(&b);
            ok = tw_build_finish(&b) && !tw_analysis_failed(b.analysis);
        }
    } else {
        tw_refuse(reason, TW_REFUSAL_TOO_BIG, "out of memory");
    }
    tw_error error;
    if (ok && tw_model_verify(b.model, &error) != TW_OK) ok = tw_refuse(reason, TW_REFUSAL_CONTROL, "%.160s", error.message);
    tw_analysis_free(b.analysis);
    tw_ir_func_free(cut->func);
    it->model = ok ? b.model : NULL;
    if (!ok) tw_model_free(b.model);
    return ok;
}

/* Dearest last: what else is live after the loop is asked only of one that became a model. */
static bool attempt_loop(surveyor *s, tw_loop loop, const char *name, attempt *it)
{
    bool *foreign;
    it->use_ifs = true;
    if (!tw_build_promises(s->analysis, loop, &it->reason)) return false;
    if (!tw_cut_nest(s->module, s->analysis, loop, &it->scratch, &it->nest, &it->reason)) return false;
    it->stale = tw_stale_locals(s->analysis, loop, &it->scratch);
    if (!it->stale) return tw_refuse(&it->reason, TW_REFUSAL_TOO_BIG, "out of memory");
    bool ok = build(s, loop, name, it);
    if (!ok && it->reason.refusal == TW_REFUSAL_CONTROL) {
        it->use_ifs = false;
        ok = build(s, loop, name, it);
    }
    if (!ok) return false;
    ok = tw_cut_foreign(s->module, s->analysis, loop, &it->nest, it->stale, &it->scratch, &foreign, &it->reason);
    if (ok && !foreign) return true;
    tw_model_free(it->model);
    it->foreign = foreign;
    return ok && build(s, loop, name, it);
}

/* The nest with its scalars read back from memory; NULL when it has none that could be. It must fit the same stub. */
static tw_model *build_other(surveyor *s, tw_loop loop, const attempt *first)
{
    const tw_model *model = first->model;
    attempt it = {.use_ifs = first->use_ifs, .nest = first->nest, .stale = first->stale, .foreign = first->foreign, .recall = true};
    if (!model->carried_count || model->loop_count < 2) return NULL;
    tw_arena_init(&it.scratch, FUNCTION_MEMORY);
    bool ok = build(s, loop, model->name, &it);
    tw_arena_free(&it.scratch);
    if (!ok) return NULL;
    if (it.model->symbol_count == model->symbol_count && it.model->header_count == model->header_count &&
        it.model->exit == model->exit && it.model->exits_at_end == model->exits_at_end && it.model->output_count == model->output_count)
        return it.model;
    tw_model_free(it.model);
    return NULL;
}

/* Serial in every loop, but two of them may run in wavefronts. */
static bool may_have_fronts(const tw_survey_region *region)
{
    return tw_fronts_promise(region->model) || (region->other && tw_fronts_promise(region->other));
}

static void judge(surveyor *s, tw_loop loop, tw_survey_region *region)
{
    char why[200];
    uint64_t most = tw_chance_most(s->analysis, s->loops, loop), copies = region->model->copies;
    region->hopeless = (uint16_t)tw_model_chance(region->model, most > UINT32_MAX ? 0 : most * copies, why);
    if (region->hopeless != TW_REFUSAL_FEW && region->hopeless != TW_REFUSAL_NONE && may_have_fronts(region)) region->hopeless = TW_REFUSAL_NONE;
    if (region->hopeless == TW_REFUSAL_NONE) return;
    region->why_hopeless = tw_arena_printf(&s->survey->arena, "%s: %s", tw_refusal_name((tw_refusal)region->hopeless), why);
    if (!region->why_hopeless) region->hopeless = TW_REFUSAL_NONE;
}

static bool add_region(surveyor *s, tw_loop loop, const attempt *it)
{
    const tw_cut *cut = &it->cut;
    tw_survey *survey = s->survey;
    if (!TW_ARENA_GROW(&survey->arena, survey->regions, survey->region_count, survey->region_capacity)) return false;
    tw_survey_region *region = &survey->regions[survey->region_count];
    uint32_t count = cut->live_in_count + cut->header_count;
    uint32_t *locals = TW_NEW_ARRAY(&survey->arena, uint32_t, count);
    if (!locals) return false;
    memcpy(locals, cut->locals, count * sizeof *locals);
    *region = (tw_survey_region){.model = it->model, .func = s->func->index, .place = it->model->place, .size = cut->size,
        .nested = s->loops->items[loop].child_count > 0, .live_ins = locals, .live_in_count = cut->live_in_count,
        .headers = locals + cut->live_in_count, .header_count = cut->header_count};
    survey->region_count++;
    region->other = build_other(s, loop, it);
    judge(s, loop, region);
    return true;
}

static void mark_inner(surveyor *s, tw_loop loop, uint32_t region)
{
    for (uint32_t c = 0; c < s->loops->items[loop].child_count; c++) {
        tw_loop child = s->loops->items[loop].children[c];
        tw_survey_loop *entry = &s->survey->loops[s->first + s->rank[child]];
        entry->refusal = TW_REFUSAL_INNER_OF;
        entry->region = region;
        mark_inner(s, child, region);
    }
}

static void try_loop(surveyor *s, tw_loop loop)
{
    tw_survey_loop *entry = &s->survey->loops[s->first + s->rank[loop]];
    attempt it = {0};
    tw_arena_init(&it.scratch, FUNCTION_MEMORY);
    bool ok = attempt_loop(s, loop, entry->name, &it);
    if (ok && !add_region(s, loop, &it)) {
        tw_model_free(it.model);
        s->failed = true;
        ok = false;
    }
    tw_arena_free(&it.scratch);
    if (ok) {
        entry->region = s->survey->region_count - 1;
        mark_inner(s, loop, entry->region);
        return;
    }
    entry->refusal = (uint16_t)it.reason.refusal;
    entry->detail = tw_arena_string(&s->survey->arena, it.reason.detail, strlen(it.reason.detail));
    for (uint32_t c = 0; c < s->loops->items[loop].child_count; c++) try_loop(s, s->loops->items[loop].children[c]);
}

/* ---- one function ---- */

static uint64_t place_of(const surveyor *s, tw_loop loop)
{
    const tw_ir_blockdata *header = &s->func->blocks[s->loops->items[loop].header];
    return header->loop_offset != TW_NO_OFFSET ? header->loop_offset : header->offset;
}

static int by_place(const void *a, const void *b, void *context)
{
    tw_loop x = *(const tw_loop *)a, y = *(const tw_loop *)b;
    uint64_t first = place_of(context, x), second = place_of(context, y);
    return first != second ? (first < second ? -1 : 1) : x < y ? -1 : x > y;
}

/* Ordinals follow the code. */
static bool rank_loops(surveyor *s, tw_arena *scratch)
{
    uint32_t count = s->loops->count;
    tw_loop *order = TW_NEW_ARRAY(scratch, tw_loop, count);
    s->rank = TW_NEW_ARRAY(scratch, uint32_t, count);
    if (!s->rank || !order) return false;
    for (tw_loop l = 0; l < count; l++) order[l] = l;
    qsort_r(order, count, sizeof *order, by_place, s);
    for (uint32_t k = 0; k < count; k++) s->rank[order[k]] = k;
    return true;
}

static bool add_loops(surveyor *s)
{
    char name[200];
    tw_wasm_func_name(s->module, s->func->index, name, sizeof name);
    s->first = s->survey->loop_count;
    for (tw_loop k = 0; k < s->loops->count; k++) {
        if (!TW_ARENA_GROW(&s->survey->arena, s->survey->loops, s->survey->loop_count, s->survey->loop_capacity)) return false;
        s->survey->loops[s->survey->loop_count++] = (tw_survey_loop){0};
    }
    for (tw_loop l = 0; l < s->loops->count; l++) {
        char *text = tw_arena_printf(&s->survey->arena, "%s#%u", name, s->rank[l]);
        if (!text) return false;
        s->survey->loops[s->first + s->rank[l]] = (tw_survey_loop){.name = text, .func = s->func->index, .place = place_of(s, l),
            .depth = s->loops->items[l].depth, .refusal = TW_REFUSAL_NONE, .region = TW_NONE};
    }
    return true;
}

/* A look at the bytes: most functions have no loop with a store in it and need no analysis. */
static bool has_loop(const tw_wasm *module, uint32_t func)
{
    tw_arena arena;
    tw_reader reader;
    const uint8_t *locals;
    uint32_t count;
    tw_instr instr;
    bool found = false;
    tw_arena_init(&arena, 1 << 20);
    if (tw_wasm_body(module, func, &arena, &reader, &locals, &count, NULL) == TW_OK)
        while (!found && tw_wasm_next(&reader, &instr, NULL) == TW_OK) found = instr.op == TW_OP_LOOP;
    tw_arena_free(&arena);
    return found;
}

static void refuse_all(surveyor *s)
{
    for (tw_loop l = 0; l < s->loops->count; l++) {
        tw_survey_loop *entry = &s->survey->loops[s->first + l];
        entry->refusal = TW_REFUSAL_TOO_BIG;
        entry->detail = "its function has too many loops to look at each";
    }
}

static void survey_loops(surveyor *s)
{
    tw_arena scratch;
    tw_arena_init(&scratch, FUNCTION_MEMORY);
    s->loops = tw_analysis_loops(s->analysis);
    if (!s->loops || !rank_loops(s, &scratch) || !add_loops(s)) s->failed = true;
    bool too_many = !s->failed && s->loops->count > MOST_WALKED / (s->module->funcs[s->func->index].body.size + 1);
    if (too_many) refuse_all(s);
    for (tw_loop l = 0; !s->failed && !too_many && l < s->loops->count; l++)
        if (s->loops->items[l].parent == TW_NO_LOOP) try_loop(s, l);
    tw_arena_free(&scratch);
}

static void survey_func(surveyor *s, uint32_t func)
{
    tw_ir_func *ir;
    if (tw_lift(s->module, func, FUNCTION_MEMORY, &ir, NULL) != TW_OK) return;
    s->func = ir;
    if (tw_analysis_new(ir, FUNCTION_MEMORY, &s->analysis, NULL) == TW_OK) {
        if (tw_analysis_cfg(s->analysis)) tw_take_guarded(ir, tw_analysis_cfg(s->analysis));
        if (tw_prune_doomed(ir, FUNCTION_MEMORY, &s->analysis)) survey_loops(s);
        tw_analysis_free(s->analysis);
    }
    tw_ir_func_free(ir);
}

bool tw_survey_function(const tw_wasm *module, uint32_t func, const tw_detector_options *detector, tw_survey **out)
{
    bool nominated = detector && detector->enabled && tw_detector_nominates(module, func, detector);
    *out = NULL;
    if (!nominated && !has_loop(module, func)) return true;
    tw_survey *survey = calloc(1, sizeof *survey);
    if (!survey) return false;
    tw_arena_init(&survey->arena, FUNCTION_MEMORY);
    surveyor s = {.module = module, .survey = survey};
    if (!nominated || !tw_detector_add(module, func, survey)) survey_func(&s, func);
    if (!s.failed) return *out = survey, true;
    tw_survey_free(survey);
    return false;
}

void tw_survey_free(tw_survey *survey)
{
    if (!survey) return;
    for (uint32_t p = 0; p < survey->part_count; p++) tw_survey_free(survey->parts[p]);
    for (uint32_t r = 0; r < survey->region_count && !survey->parts; r++) {
        tw_model_free(survey->regions[r].model);
        tw_model_free(survey->regions[r].other);
    }
    free(survey->parts);
    tw_arena_free(&survey->arena);
    free(survey);
}

/* ---- for people ---- */

/* Left at its only exit, by numbers. A test at the top is made once more than the loop goes round. */
static uint64_t trips_of(surveyor *s, tw_loop loop)
{
    const tw_loopdata *data = &s->loops->items[loop];
    if (data->exit_count != 1 || data->latch_count != 1) return 0;
    uint64_t tests = tw_chance_most(s->analysis, s->loops, loop);
    return tests && data->exits[0].from != data->latches[0].from ? tests - 1 : tests;
}

static void count_trips(surveyor *s, uint64_t *counts, uint32_t room)
{
    tw_arena scratch;
    tw_arena_init(&scratch, FUNCTION_MEMORY);
    s->loops = tw_analysis_loops(s->analysis);
    if (s->loops && s->loops->count == room && rank_loops(s, &scratch))
        for (tw_loop l = 0; l < room; l++) counts[s->rank[l]] = trips_of(s, l);
    tw_arena_free(&scratch);
}

void tw_survey_trips(const tw_wasm *module, const tw_survey *survey, uint64_t *counts)
{
    surveyor s = {.module = module};
    uint32_t next;
    memset(counts, 0, survey->loop_count * sizeof *counts);
    for (uint32_t first = 0; first < survey->loop_count; first = next) {
        tw_ir_func *ir;
        for (next = first; next < survey->loop_count && survey->loops[next].func == survey->loops[first].func;) next++;
        if (tw_lift(module, survey->loops[first].func, FUNCTION_MEMORY, &ir, NULL) != TW_OK) continue;
        s.func = ir;
        if (tw_analysis_new(ir, FUNCTION_MEMORY, &s.analysis, NULL) == TW_OK) {
            if (tw_prune_doomed(ir, FUNCTION_MEMORY, &s.analysis)) count_trips(&s, counts + first, next - first);
            tw_analysis_free(s.analysis);
        }
        tw_ir_func_free(ir);
    }
}

static void print_loop(const tw_survey *survey, const tw_survey_loop *loop, tw_bytes *out)
{
    tw_bytes_printf(out, "%*s%s at 0x%" PRIx64 ": ", 2 * (int)(loop->depth - 1), "", loop->name, loop->place);
    if (loop->refusal == TW_REFUSAL_NONE) tw_bytes_printf(out, "region %u\n", loop->region);
    else if (loop->refusal == TW_REFUSAL_INNER_OF) tw_bytes_printf(out, "part of region %s\n", survey->regions[loop->region].model->name);
    else tw_bytes_printf(out, "refused, %s: %s\n", tw_refusal_name((tw_refusal)loop->refusal), loop->detail ? loop->detail : "");
}

void tw_survey_print(const tw_survey *survey, const tw_wasm *module, tw_bytes *out)
{
    (void)module;
    for (uint32_t l = 0; l < survey->loop_count; l++) print_loop(survey, &survey->loops[l], out);
}

tw_status tw_survey_print_ir(const tw_wasm *module, const char *name, tw_bytes *out, tw_error *error)
{
    const char *hash = strrchr(name, '#');
    size_t length = hash ? (size_t)(hash - name) : strlen(name);
    for (uint32_t f = module->imported_funcs; f < module->func_count; f++) {
        char have[200];
        tw_ir_func *ir;
        tw_wasm_func_name(module, f, have, sizeof have);
        if (strlen(have) != length || memcmp(have, name, length)) continue;
        TW_TRY(tw_lift(module, f, FUNCTION_MEMORY, &ir, error));
        tw_ir_print(ir, out);
        tw_ir_func_free(ir);
        return TW_OK;
    }
    return tw_fail(error, TW_NOT_FOUND, "no function named %.*s", (int)length, name);
}
