/* SPDX-License-Identifier: Apache-2.0 */
/* Looking into a module: every loop with its model or its refusal, and the forms a region takes on its way. */
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "base/bytes.h"
#include "base/error.h"
#include "compile/compile.h"
#include "instance/runtime.h"
#include "json/write.h"
#include "region/assume.h"
#include "region/describe.h"
#include "region/plan.h"
#include "region/region.h"

static tw_status survey(const tw_module *module, tw_survey **out, tw_error *error)
{
    const tw_engine_options *options = &module->engine->options;
    tw_detector_options detector = {.enabled = true, .v128_ratio_threshold = options->detector.v128_ratio_threshold,
                                    .min_trip_count = options->detector.min_trip_count};
    return tw_survey_new(&module->wasm, &detector, out, error);
}

static tw_status give(tw_bytes *bytes, char **text, tw_error *error)
{
    tw_bytes_append(bytes, "", 0);
    char *taken = tw_bytes_take(bytes, NULL);
    TW_TRY_ALLOC(taken, error);
    *text = taken;
    return TW_OK;
}

/* ---- text ---- */

static const tw_survey_region *region_of(const tw_survey *s, const tw_survey_loop *loop)
{
    return loop->refusal == TW_REFUSAL_NONE && loop->region != TW_NONE ? &s->regions[loop->region] : NULL;
}

static void print_loop(const tw_survey *s, const tw_survey_loop *loop, tw_bytes *out)
{
    int indent = 2 * (int)(loop->depth - 1);
    const tw_survey_region *region = region_of(s, loop);
    tw_bytes_printf(out, "%*s%s  (offset 0x%" PRIx64 ", depth %u): ", indent, "", loop->name, loop->place, loop->depth);
    if (region) {
        tw_bytes_append_string(out, "region\n");
        tw_model_describe(region->model, (unsigned)indent + 4, out);
    } else if (loop->refusal == TW_REFUSAL_INNER_OF) {
        tw_bytes_printf(out, "part of %s\n", s->regions[loop->region].model->name);
    } else {
        tw_bytes_printf(out, "refused: %s: %s\n", tw_refusal_name((tw_refusal)loop->refusal), loop->detail ? loop->detail : "");
    }
}

static void print_text(const tw_survey *s, tw_bytes *out)
{
    for (uint32_t r = 0; r < s->region_count; r++) {
        if (!s->regions[r].whole_function) continue;
        tw_bytes_printf(out, "%s  (whole function): region\n", s->regions[r].model->name);
        tw_model_describe(s->regions[r].model, 4, out);
    }
    for (uint32_t l = 0; l < s->loop_count; l++) print_loop(s, &s->loops[l], out);
    if (!s->loop_count && !s->region_count) tw_bytes_append_string(out, "no loops\n");
}

/* ---- JSON ---- */

static void json_text(tw_bytes *out, int *first, const char *key, const char *text)
{
    tw_json_key(out, first, key);
    tw_json_string(out, text);
}

static void json_number(tw_bytes *out, int *first, const char *key, uint64_t number)
{
    tw_json_key(out, first, key);
    tw_bytes_printf(out, "%" PRIu64, number);
}

static void json_model(tw_bytes *out, int *first, const tw_model *model)
{
    tw_bytes text = {0};
    tw_model_describe(model, 0, &text);
    json_text(out, first, "model", text.data ? text.data : "");
    tw_bytes_free(&text);
}

static void json_loop(const tw_survey *s, const tw_survey_loop *loop, tw_bytes *out)
{
    int first = 1;
    const tw_survey_region *region = region_of(s, loop);
    tw_bytes_append_string(out, "{");
    json_text(out, &first, "name", loop->name);
    json_number(out, &first, "function", loop->func);
    json_number(out, &first, "offset", loop->place);
    json_number(out, &first, "depth", loop->depth);
    json_text(out, &first, "status", region ? "region" : loop->refusal == TW_REFUSAL_INNER_OF ? "inner" : "refused");
    if (region) json_model(out, &first, region->model);
    else json_text(out, &first, "refusal", tw_refusal_name((tw_refusal)loop->refusal));
    if (!region && loop->detail) json_text(out, &first, "detail", loop->detail);
    if (loop->region != TW_NONE) json_text(out, &first, "region", s->regions[loop->region].model->name);
    tw_bytes_append_string(out, "}");
}

static void json_function(const tw_survey_region *region, tw_bytes *out)
{
    int first = 1;
    tw_bytes_append_string(out, "{");
    json_text(out, &first, "name", region->model->name);
    json_number(out, &first, "function", region->func);
    json_model(out, &first, region->model);
    tw_bytes_append_string(out, "}");
}

static void print_json(const tw_survey *s, tw_bytes *out)
{
    tw_bytes_append_string(out, "{\"loops\":[");
    for (uint32_t l = 0; l < s->loop_count; l++) {
        if (l) tw_bytes_append_string(out, ",");
        json_loop(s, &s->loops[l], out);
    }
    tw_bytes_append_string(out, "],\"functions\":[");
    for (uint32_t r = 0, written = 0; r < s->region_count; r++) {
        if (!s->regions[r].whole_function) continue;
        if (written++) tw_bytes_append_string(out, ",");
        json_function(&s->regions[r], out);
    }
    tw_bytes_append_string(out, "]}\n");
}

tw_status tw_module_inspect(const tw_module *module, tw_format format, char **text, tw_error *error)
{
    tw_survey *s;
    tw_bytes out = {0};
    if (!module || !text) return tw_fail(error, TW_INVALID_ARGUMENT, "tw_module_inspect needs a module and a place for the text");
    TW_TRY(survey(module, &s, error));
    if (format == TW_FORMAT_JSON) print_json(s, &out);
    else print_text(s, &out);
    tw_survey_free(s);
    return give(&out, text, error);
}

/* ---- dumps ---- */

/* What the compile worker would be asked on a usual arrival. */
static tw_status dump_compiled(const tw_module *module, const char *what, const tw_model *model, char **text, tw_error *error)
{
    const tw_engine_options *options = &module->engine->options;
    tw_compiler_options compiler_options = {.worker_path = options->worker_path, .limit_ms = options->worker_limit_ms};
    tw_compiler *compiler;
    tw_bytes request = {0};
    tw_facts *facts = malloc(sizeof *facts);
    TW_TRY_ALLOC(facts, error);
    tw_facts_assume(model, facts);
    facts->canonical_nan = options->canonical_nan;
    tw_model_print(model, &request);
    tw_facts_print(model, facts, &request);
    free(facts);
    tw_status status = request.failed ? tw_fail_memory(error) : tw_compiler_new(&compiler_options, &compiler, error);
    if (status == TW_OK) {
        status = tw_compiler_dump(compiler, what, request.data, request.size, text, error);
        tw_compiler_free(compiler);
    }
    tw_bytes_free(&request);
    return status;
}

static tw_status dump_region(const tw_module *module, const char *what, const tw_model *model, char **text, tw_error *error)
{
    tw_bytes out = {0};
    if (!strcmp(what, "model")) tw_model_print(model, &out);
    else if (!strcmp(what, "plan")) tw_plan_print(model, &out);
    else if (!strcmp(what, "schedule") || !strcmp(what, "llvm") || !strcmp(what, "asm"))
        return dump_compiled(module, what, model, text, error);
    else return tw_fail(error, TW_INVALID_ARGUMENT, "no dump is called '%s': ir, model, plan, schedule, llvm or asm", what);
    return give(&out, text, error);
}

static tw_status not_a_region(const tw_survey *s, const char *name, tw_error *error)
{
    for (uint32_t l = 0; l < s->loop_count; l++) {
        const tw_survey_loop *loop = &s->loops[l];
        if (strcmp(loop->name, name)) continue;
        if (loop->refusal == TW_REFUSAL_INNER_OF)
            return tw_fail(error, TW_NOT_FOUND, "%s is part of the region %s: name that", name, s->regions[loop->region].model->name);
        return tw_fail(error, TW_REFUSED, "%s is no region: %s: %s", name, tw_refusal_name((tw_refusal)loop->refusal), loop->detail ? loop->detail : "");
    }
    return tw_fail(error, TW_NOT_FOUND, "no loop is called '%s': inspect without --dump lists them", name);
}

tw_status tw_module_dump(const tw_module *module, const char *what, const char *region, char **text, tw_error *error)
{
    tw_survey *s;
    if (!module || !what || !region || !text) return tw_fail(error, TW_INVALID_ARGUMENT, "a dump needs a module, a form and a region's name");
    if (!strcmp(what, "ir")) {
        tw_bytes out = {0};
        tw_status status = tw_survey_print_ir(&module->wasm, region, &out, error);
        if (status == TW_OK) return give(&out, text, error);
        tw_bytes_free(&out);
        return status;
    }
    TW_TRY(survey(module, &s, error));
    const tw_model *model = NULL;
    for (uint32_t r = 0; r < s->region_count; r++)
        if (!strcmp(s->regions[r].model->name, region)) model = s->regions[r].model;
    tw_status status = model ? dump_region(module, what, model, text, error) : not_a_region(s, region, error);
    tw_survey_free(s);
    return status;
}
