/* SPDX-License-Identifier: Apache-2.0 */
/* What is known of a module's loops before it runs. */
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "base/bytes.h"
#include "instance/runtime.h"
#include "json/write.h"
#include "region/describe.h"
#include "region/plan.h"

/* ---- inspect ---- */

/* Loops first, in code order, then the regions that are whole functions and have perhaps no loop at all. */

typedef enum standing { IS_REGION, IS_INNER, IS_REFUSED } standing;
static const char *const standings[] = {"region", "inner", "refused"};

static standing standing_of(const tw_survey_loop *loop)
{
    return loop->refusal == TW_REFUSAL_NONE ? IS_REGION : loop->refusal == TW_REFUSAL_INNER_OF ? IS_INNER : IS_REFUSED;
}

static void key_string(tw_bytes *out, int *first, const char *key, const char *value)
{
    tw_json_key(out, first, key);
    tw_json_string(out, value);
}

static void key_number(tw_bytes *out, int *first, const char *key, uint64_t value)
{
    tw_json_key(out, first, key);
    tw_bytes_printf(out, "%" PRIu64, value);
}

static void key_model(tw_bytes *out, int *first, const tw_model *model)
{
    tw_bytes text = {0};
    tw_model_describe(model, 0, &text);
    key_string(out, first, "model", text.data ? text.data : "");
    tw_bytes_free(&text);
}

static void json_region(tw_bytes *out, int *first, const tw_survey_region *region)
{
    if (region->hopeless != TW_REFUSAL_NONE) {
        key_string(out, first, "left_alone", tw_refusal_name((tw_refusal)region->hopeless));
        key_string(out, first, "detail", region->why_hopeless);
    }
    key_model(out, first, region->model);
}

static void json_loop(tw_bytes *out, const tw_survey *survey, const tw_survey_loop *loop, uint64_t trips)
{
    int first = 1;
    standing now = standing_of(loop);
    tw_bytes_append_string(out, "    {");
    key_string(out, &first, "name", loop->name);
    key_number(out, &first, "function", loop->func);
    key_number(out, &first, "offset", loop->place);
    key_number(out, &first, "depth", loop->depth);
    if (trips) key_number(out, &first, "trips", trips);
    key_string(out, &first, "status", standings[now]);
    if (now != IS_REGION) key_string(out, &first, "refusal", tw_refusal_name((tw_refusal)loop->refusal));
    if (loop->detail) key_string(out, &first, "detail", loop->detail);
    if (loop->region != TW_NONE) key_string(out, &first, "region", survey->regions[loop->region].model->name);
    if (now == IS_REGION) json_region(out, &first, &survey->regions[loop->region]);
    tw_bytes_append_byte(out, '}');
}

static void json_function(tw_bytes *out, const tw_survey_region *region)
{
    int first = 1;
    tw_bytes_append_string(out, "    {");
    key_string(out, &first, "name", region->model->name);
    key_number(out, &first, "function", region->func);
    key_model(out, &first, region->model);
    tw_bytes_append_byte(out, '}');
}

static void write_json(const tw_survey *survey, const uint64_t *trips, tw_bytes *out)
{
    const char *before = "\n";
    tw_bytes_append_string(out, "{\n  \"loops\": [");
    for (uint32_t i = 0; i < survey->loop_count; i++, before = ",\n") {
        tw_bytes_append_string(out, before);
        json_loop(out, survey, &survey->loops[i], trips[i]);
    }
    tw_bytes_append_string(out, "\n  ],\n  \"functions\": [");
    before = "\n";
    for (uint32_t i = 0; i < survey->region_count; i++) {
        if (!survey->regions[i].whole_function) continue;
        tw_bytes_append_string(out, before);
        json_function(out, &survey->regions[i]);
        before = ",\n";
    }
    tw_bytes_append_string(out, "\n  ]\n}\n");
}

static void text_region(tw_bytes *out, const tw_survey_region *region)
{
    tw_bytes_append_string(out, "region");
    if (region->hopeless != TW_REFUSAL_NONE)
        tw_bytes_printf(out, "; auto leaves it alone: %s", region->why_hopeless);
    tw_bytes_append_byte(out, '\n');
    tw_model_describe(region->model, 1, out);
}

static void text_loop(tw_bytes *out, const tw_survey *survey, const tw_survey_loop *loop, uint64_t trips)
{
    tw_bytes_printf(out, "%s at 0x%" PRIx64 ", depth %u", loop->name, loop->place, loop->depth);
    if (trips) tw_bytes_printf(out, ", %" PRIu64 " times", trips);
    tw_bytes_append_string(out, ": ");
    switch (standing_of(loop)) {
    case IS_REGION:
        text_region(out, &survey->regions[loop->region]);
        break;
    case IS_INNER: tw_bytes_printf(out, "part of %s\n", survey->regions[loop->region].model->name); break;
    case IS_REFUSED:
        tw_bytes_printf(out, "refused: %s: %s\n", tw_refusal_name((tw_refusal)loop->refusal),
                        loop->detail ? loop->detail : tw_refusal_meaning((tw_refusal)loop->refusal));
        break;
    }
}

static void write_text(const tw_survey *survey, const uint64_t *trips, tw_bytes *out)
{
    if (!survey->loop_count && !survey->region_count) tw_bytes_append_string(out, "the module has no loops\n");
    for (uint32_t i = 0; i < survey->loop_count; i++) text_loop(out, survey, &survey->loops[i], trips[i]);
    for (uint32_t i = 0; i < survey->region_count; i++) {
        if (!survey->regions[i].whole_function) continue;
        tw_bytes_printf(out, "%s: the whole function is a region\n", survey->regions[i].model->name);
        tw_model_describe(survey->regions[i].model, 1, out);
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
    uint64_t *trips = calloc(survey->loop_count + 1u, sizeof *trips);
    TW_TRY_ALLOC(trips, error);
    tw_survey_trips(&module->wasm, survey, trips);
    tw_bytes out = {0};
    (format == TW_FORMAT_JSON ? write_json : write_text)(survey, trips, &out);
    free(trips);
    return hand_over(&out, text, error);
}

/* ---- dump ---- */

static const tw_model *find_model(const tw_survey *survey, const char *name)
{
    for (uint32_t i = 0; i < survey->region_count; i++)
        if (!strcmp(survey->regions[i].model->name, name)) return survey->regions[i].model;
    return NULL;
}

/* A loop that has a name but is no region is told with its reason. */
static tw_status no_region(const tw_survey *survey, const char *name, tw_error *error)
{
    for (uint32_t i = 0; i < survey->loop_count; i++) {
        const tw_survey_loop *loop = &survey->loops[i];
        if (strcmp(loop->name, name)) continue;
        if (standing_of(loop) == IS_INNER)
            return tw_fail(error, TW_REFUSED, "%.200s is part of the region %.200s", name,
                           survey->regions[loop->region].model->name);
        return tw_fail(error, TW_REFUSED, "%.200s is a loop, but no region: %s: %.500s", name,
                       tw_refusal_name((tw_refusal)loop->refusal),
                       loop->detail ? loop->detail : tw_refusal_meaning((tw_refusal)loop->refusal));
    }
    return tw_fail(error, TW_NOT_FOUND, "the module has no region %.200s", name);
}

static tw_status dump(const tw_module *module, const char *what, const char *region, tw_bytes *out, tw_error *error)
{
    if (!strcmp(what, "ir")) return tw_survey_print_ir(&module->wasm, region, out, error);
    const tw_survey *survey;
    TW_TRY(tw_runtime_survey((tw_module *)module, &survey, error));
    const tw_model *model = find_model(survey, region);
    if (!model) return no_region(survey, region, error);
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
