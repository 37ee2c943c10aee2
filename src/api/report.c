/* SPDX-License-Identifier: Apache-2.0 */
/* What became of each region in an instance. docs/offload.md says how to read it. */
#include <inttypes.h>
#include <stdlib.h>

#include "base/bytes.h"
#include "instance/runtime.h"
#include "json/write.h"
#include "region/worth.h"

/* A site of the rewrite with everything that is known of it. */
typedef struct row {
    const char *name;
    const tw_survey_region *region;
    const tw_rewrite_site *site;
    tw_region_stats stats; /* all zero when the rewrite refused the site */
} row;

static row row_of(const tw_instance *instance, uint32_t site)
{
    const tw_offload_plan *plan = instance->stubs->plan;
    const tw_survey_region *region = &instance->module->survey->regions[plan->region_of_site[site]];
    row r = {.name = region->model->name, .region = region, .site = &plan->rewrite->sites[site]};
    tw_stubs_stats(instance->stubs, instance->store, site, &r.stats);
    return r;
}

static uint32_t site_count(const tw_instance *instance)
{
    return instance->stubs ? instance->stubs->plan->rewrite->site_count : 0;
}

/* Regions that were found and not rewritten. */
typedef struct left_alone {
    const tw_survey *survey; /* NULL: none */
    const char **why;        /* by region; NULL: it isn't one of them */
    bool owned;
} left_alone;

/* The plan has the reasons; where auto left all regions alone there is no plan, and they are found again. */
static bool find_left(const tw_instance *instance, left_alone *left)
{
    const tw_module *module = instance->module;
    *left = (left_alone){.survey = module->survey};
    if (instance->stubs) {
        left->why = instance->stubs->plan->why_left;
    } else if (!left->survey || !instance->offloads || module->engine->options.offload != TW_OFFLOAD_AUTO) {
        left->survey = NULL;
    } else {
        left->owned = true;
        left->why = calloc(left->survey->region_count + 1u, sizeof *left->why);
        if (left->why) tw_survey_doubts(&module->wasm, left->survey, left->why);
    }
    return !left->owned || left->why;
}

/* The next of them from *at on; NULL when there is none. */
static const tw_survey_region *next_left(const left_alone *left, uint32_t *at, const char **why)
{
    for (; left->survey && *at < left->survey->region_count; ++*at) {
        *why = left->why[*at];
        if (*why) return &left->survey->regions[(*at)++];
    }
    return NULL;
}

/* Why there is no region at all; NULL when there are some. */
static const char *why_none(const tw_instance *instance)
{
    if (instance->stubs) return NULL;
    if (instance->module->engine->options.offload == TW_OFFLOAD_OFF) return "offload is off";
    return instance->offloads ? instance->module->no_offload_why : "no kernel cache is attached to the instance";
}

/* ---- JSON ---- */

static void key_number(tw_bytes *out, int *first, const char *key, uint64_t value)
{
    tw_json_key(out, first, key);
    tw_bytes_printf(out, "%" PRIu64, value);
}

static void key_string(tw_bytes *out, int *first, const char *key, const char *value)
{
    tw_json_key(out, first, key);
    tw_json_string(out, value);
}

static void json_refusals(tw_bytes *out, int *first, const row *r)
{
    int first_refusal = 1;
    tw_json_key(out, first, "refusals");
    tw_bytes_append_byte(out, '{');
    if (r->site->status != TW_OK) key_number(out, &first_refusal, tw_refusal_name(TW_REFUSAL_SIGNATURE), 1);
    for (uint32_t i = 1; i < TW_REFUSAL_COUNT; i++)
        if (r->stats.refusals[i]) key_number(out, &first_refusal, tw_refusal_name((tw_refusal)i), r->stats.refusals[i]);
    tw_bytes_append_byte(out, '}');
}

static void json_row(tw_bytes *out, const row *r)
{
    int first = 1;
    tw_bytes_append_string(out, "    {");
    key_string(out, &first, "name", r->name);
    key_number(out, &first, "function", r->region->func);
    key_number(out, &first, "offset", r->region->place);
    if (r->region->hopeless != TW_REFUSAL_NONE) key_string(out, &first, "hopeless", tw_refusal_name((tw_refusal)r->region->hopeless));
    tw_json_key(out, &first, "whole_function");
    tw_bytes_append_string(out, r->region->whole_function ? "true" : "false");
    key_number(out, &first, "arrivals", r->stats.arrivals);
    key_number(out, &first, "dispatches", r->stats.dispatches);
    key_number(out, &first, "kernel_iterations", r->stats.kernel_iterations);
    key_number(out, &first, "original_iterations", r->stats.original_iterations);
    tw_json_key(out, &first, "kernel_seconds");
    tw_bytes_printf(out, "%.9f", r->stats.kernel_seconds);
    tw_json_key(out, &first, "original_seconds");
    tw_bytes_printf(out, "%.9f", r->stats.original_seconds);
    key_number(out, &first, "threads", r->stats.threads);
    key_string(out, &first, "schedule", r->stats.schedule);
    json_refusals(out, &first, r);
    key_string(out, &first, "detail", r->site->status != TW_OK ? r->site->why : r->stats.last_detail);
    tw_bytes_append_byte(out, '}');
}

static void json_left(const left_alone *left, tw_bytes *out)
{
    const tw_survey_region *region;
    const char *why, *before = "\n";
    tw_bytes_append_string(out, ",\n  \"left_alone\": [");
    for (uint32_t at = 0; (region = next_left(left, &at, &why)); before = ",\n") {
        int first = 1;
        tw_bytes_printf(out, "%s    {", before);
        key_string(out, &first, "name", region->model->name);
        key_string(out, &first, "reason", why);
        tw_bytes_append_byte(out, '}');
    }
    tw_bytes_append_string(out, "\n  ]");
}

static void write_json(const tw_instance *instance, const left_alone *left, tw_bytes *out)
{
    static const char *const modes[] = {"off", "auto", "force"};
    const char *why = why_none(instance);
    int first = 1;
    tw_bytes_append_string(out, "{\n  ");
    key_string(out, &first, "offload", modes[instance->module->engine->options.offload]);
    if (why) key_string(out, &first, "reason", why);
    tw_bytes_append_string(out, ",\n  \"regions\": [");
    for (uint32_t i = 0; i < site_count(instance); i++) {
        row r = row_of(instance, i);
        tw_bytes_append_string(out, i ? ",\n" : "\n");
        json_row(out, &r);
    }
    tw_bytes_append_string(out, "\n  ]");
    json_left(left, out);
    tw_bytes_append_string(out, "\n}\n");
}

/* ---- text ---- */

static void text_refusals(tw_bytes *out, const row *r)
{
    const char *before = "  given back: ";
    for (uint32_t i = 1; i < TW_REFUSAL_COUNT; i++) {
        if (!r->stats.refusals[i]) continue;
        tw_bytes_printf(out, "%s%s %" PRIu64, before, tw_refusal_name((tw_refusal)i), r->stats.refusals[i]);
        before = ", ";
    }
    if (before[0] == ',' ) tw_bytes_append_byte(out, '\n');
    if (r->stats.last_detail[0]) tw_bytes_printf(out, "  last: %s\n", r->stats.last_detail);
}

static void text_row(tw_bytes *out, const row *r)
{
    const tw_region_stats *s = &r->stats;
    uint64_t all = s->kernel_iterations + s->original_iterations;
    tw_bytes_printf(out, "%s at 0x%" PRIx64 ": ", r->name, r->region->place);
    if (r->site->status != TW_OK) {
        tw_bytes_printf(out, "not offloaded: %s\n", r->site->why);
        return;
    }
    tw_bytes_printf(out, "%" PRIu64 " arrivals, %" PRIu64 " dispatches", s->arrivals, s->dispatches);
    if (all) tw_bytes_printf(out, ", %.1f %% of %" PRIu64 " iterations in kernels", 100.0 * (double)s->kernel_iterations / (double)all, all);
    if (s->dispatches) tw_bytes_printf(out, ", %.3f ms, %u threads", s->kernel_seconds * 1e3, s->threads);
    if (s->original_iterations) tw_bytes_printf(out, ", original about %.3f ms", s->original_seconds * 1e3);
    tw_bytes_append_byte(out, '\n');
    if (s->schedule[0]) tw_bytes_printf(out, "  kernel: %s\n", s->schedule);
    text_refusals(out, r);
}

static void write_text(const tw_instance *instance, const left_alone *left, tw_bytes *out)
{
    const char *why = why_none(instance);
    if (why) tw_bytes_printf(out, "offload: %s\n", why);
    for (uint32_t i = 0; i < site_count(instance); i++) {
        row r = row_of(instance, i);
        text_row(out, &r);
    }
    const tw_survey_region *region;
    for (uint32_t at = 0; (region = next_left(left, &at, &why));)
        tw_bytes_printf(out, "%s at 0x%" PRIx64 ": left alone: %s\n", region->model->name, region->place, why);
}

tw_status tw_instance_report(const tw_instance *instance, tw_format format, char **text, tw_error *error)
{
    if (!instance || !text) return tw_fail(error, TW_INVALID_ARGUMENT, "tw_instance_report: a required pointer is NULL");
    tw_bytes out = {0};
    left_alone left;
    TW_TRY_ALLOC(find_left(instance, &left), error);
    (format == TW_FORMAT_JSON ? write_json : write_text)(instance, &left, &out);
    if (left.owned) free(left.why);
    char *taken = tw_bytes_take(&out, NULL);
    TW_TRY_ALLOC(taken, error);
    *text = taken;
    return TW_OK;
}
