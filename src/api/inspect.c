/* SPDX-License-Identifier: Apache-2.0 */
/* What is known of a module's loops before it runs. */
#include <inttypes.h>
#include <string.h>

#include "base/bytes.h"
#include "instance/runtime.h"
#include "json/write.h"
#include "region/describe.h"
#include "region/plan.h"

/* ---- inspect ---- */

static void json_loop(tw_bytes *out, const tw_survey *survey, const tw_survey_loop *loop)
{
    int first = 1;
    tw_bytes_append_string(out, "    {");
    tw_json_key(out, &first, "name");
    tw_json_string(out, loop->name);
    tw_json_key(out, &first, "function");
    tw_bytes_printf(out, "%u", loop->func);
    tw_json_key(out, &first, "offset");
    tw_bytes_printf(out, "%" PRIu64, loop->place);
    tw_json_key(out, &first, "depth");
    tw_bytes_printf(out, "%u", loop->depth);
    tw_json_key(out, &first, "refusal");
    tw_json_string(out, tw_refusal_name((tw_refusal)loop->refusal));
    if (loop->detail) {
        tw_json_key(out, &first, "detail");
        tw_json_string(out, loop->detail);
    }
    if (loop->region != TW_NONE) {
        tw_json_key(out, &first, "region");
        tw_json_string(out, survey->regions[loop->region].model->name);
    }
    tw_bytes_append_byte(out, '}');
}

static void json_region(tw_bytes *out, const tw_survey_region *region)
{
    int first = 1;
    tw_bytes model = {0};
    tw_model_describe(region->model, 0, &model);
    tw_bytes_append_string(out, "    {");
    tw_json_key(out, &first, "name");
    tw_json_string(out, region->model->name);
    tw_json_key(out, &first, "function");
    tw_bytes_printf(out, "%u", region->func);
    tw_json_key(out, &first, "whole_function");
    tw_bytes_append_string(out, region->whole_function ? "true" : "false");
    tw_json_key(out, &first, "model");
    tw_json_string(out, model.data ? model.data : "");
    tw_bytes_append_byte(out, '}');
    tw_bytes_free(&model);
}

static void write_json(const tw_module *module, const tw_survey *survey, tw_bytes *out)
{
    (void)module;
    tw_bytes_append_string(out, "{\n  \"loops\": [");
    for (uint32_t i = 0; i < survey->loop_count; i++) {
        tw_bytes_append_string(out, i ? ",\n" : "\n");
        json_loop(out, survey, &survey->loops[i]);
    }
    tw_bytes_append_string(out, "\n  ],\n  \"regions\": [");
    for (uint32_t i = 0; i < survey->region_count; i++) {
        tw_bytes_append_string(out, i ? ",\n" : "\n");
        json_region(out, &survey->regions[i]);
    }
    tw_bytes_append_string(out, "\n  ]\n}\n");
}

static void write_text(const tw_module *module, const tw_survey *survey, tw_bytes *out)
{
    if (!survey->loop_count && !survey->region_count) tw_bytes_append_string(out, "the module has no loops\n");
    tw_survey_print(survey, &module->wasm, out);
    for (uint32_t i = 0; i < survey->region_count; i++) {
        const tw_survey_region *region = &survey->regions[i];
        tw_bytes_printf(out, "\n%s%s:\n", region->model->name, region->whole_function ? ", the whole function" : "");
        tw_model_describe(region->model, 1, out);
    }
}

static tw_status hand_over(tw_bytes *out, char **text, tw_error *error)
{
    char *taken = tw_bytes_take(out, NULL);
    TW_TRY_ALLOC(taken, error);
    *text = taken;
    return TW_OK;
}

/* The module is const to the caller; that it is looked at only now is our own affair. */
tw_status tw_module_inspect(const tw_module *module, tw_format format, char **text, tw_error *error)
{
    if (!module || !text) return tw_fail(error, TW_INVALID_ARGUMENT, "tw_module_inspect: a required pointer is NULL");
    const tw_survey *survey;
    TW_TRY(tw_runtime_survey((tw_module *)module, &survey, error));
    tw_bytes out = {0};
    (format == TW_FORMAT_JSON ? write_json : write_text)(module, survey, &out);
    return hand_over(&out, text, error);
}

/* ---- dump ---- */

static const tw_model *find_model(const tw_survey *survey, const char *name)
{
    for (uint32_t i = 0; i < survey->region_count; i++)
        if (!strcmp(survey->regions[i].model->name, name)) return survey->regions[i].model;
    return NULL;
}

static tw_status dump(const tw_module *module, const char *what, const char *region, tw_bytes *out, tw_error *error)
{
    if (!strcmp(what, "ir")) return tw_survey_print_ir(&module->wasm, region, out, error);
    const tw_survey *survey;
    TW_TRY(tw_runtime_survey((tw_module *)module, &survey, error));
    const tw_model *model = find_model(survey, region);
    if (!model) return tw_fail(error, TW_NOT_FOUND, "the module has no region %.200s", region);
    if (!strcmp(what, "model")) tw_model_print(model, out);
    else if (!strcmp(what, "plan")) tw_plan_print(model, out);
    else return tw_runtime_dump_kernel(module->engine, model, what, out, error);
    return TW_OK;
}

tw_status tw_module_dump(const tw_module *module, const char *what, const char *region, char **text, tw_error *error)
{
    if (!module || !what || !region || !text)
        return tw_fail(error, TW_INVALID_ARGUMENT, "tw_module_dump: a required pointer is NULL");
    tw_bytes out = {0};
    tw_status status = dump(module, what, region, &out, error);
    if (status == TW_OK) return hand_over(&out, text, error);
    tw_bytes_free(&out);
    return status;
}
