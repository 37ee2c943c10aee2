/* SPDX-License-Identifier: Apache-2.0 */
/* From a module to something that can be instantiated: rewrite, validate and compile again, resolve. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "instance/runtime.h"

#define MOST_REGIONS 256 /* where offload must pay: 8000 two-level nests took three times as long to compile with stubs */

static tw_status compile(const tw_module *module, tw_form *form, tw_error *error)
{
    const uint8_t *bytes = form->rewrite->bytes;
    size_t size = form->rewrite->size;
    if (!bytes) bytes = (const uint8_t *)module->bytes.data, size = module->bytes.size;
    return tw_code_new(module->engine->core, bytes, size, &form->code, error);
}

/* Why the engine refuses what has been rewritten: it can't compile everything that is valid (a function may become too large), and
 * that is said of the user's module as it came. */
static tw_status explain(const tw_module *module, const tw_form *form, tw_error *error)
{
    char why[256];
    tw_error mistake;
    const uint8_t *bytes = form->rewrite->bytes;
    snprintf(why, sizeof why, "%.250s", error ? error->message : "");
    if (!bytes || tw_core_validate(module->engine->core, bytes, form->rewrite->size, &mistake) == TW_OK)
        return tw_fail(error, TW_LIMIT, "the engine can't compile the module: %s", why);
    return tw_fail(error, TW_INTERNAL, "the module with what we added doesn't validate: please report it: %s", why);
}

static tw_status make_plain(tw_module *module, unsigned kind, tw_error *error)
{
    tw_form made = {0};
    tw_rewrite_options options = {.stoppable = true, .capturable = kind & TW_FORM_CAPTURABLE};
    TW_TRY(tw_rewrite_module(&module->wasm, &options, &made.rewrite, error));
    tw_status status = compile(module, &made, error);
    if (status == TW_INVALID) status = explain(module, &made, error);
    if (status == TW_OK) module->forms[kind] = made;
    else tw_runtime_form_free(&made);
    return status;
}

static tw_status survey(tw_module *module, tw_error *error)
{
    const tw_detector *detector = &module->engine->options.detector;
    tw_detector_options options = {true, detector->v128_ratio_threshold, detector->min_trip_count};
    return module->survey ? TW_OK : tw_survey_new(&module->wasm, &options, tw_runtime_engine_threads(module->engine), &module->survey, error);
}

static tw_status make_with_stubs(tw_module *module, unsigned kind, tw_form *made, tw_error *error)
{
    TW_TRY(survey(module, error));
    uint32_t most = module->engine->options.offload == TW_OFFLOAD_FORCE ? TW_OFFLOAD_ALL_REGIONS : MOST_REGIONS;
    tw_offload_choice choice = {most, kind & TW_FORM_CAPTURABLE};
    TW_TRY(tw_offload_plan_new(&module->wasm, module->survey, &choice, &made->plan, error));
    if (!made->plan && module->survey->region_count)
        snprintf(error->message, sizeof error->message, "none of the regions that were found (%u) promises to pay",
                 module->survey->region_count);
    if (!made->plan) return TW_OK;
    made->rewrite = made->plan->rewrite;
    return compile(module, made, error);
}

static void give_up_offload(tw_module *module, const char *why)
{
    if (module->no_offload) return;
    module->no_offload = true;
    snprintf(module->no_offload_why, sizeof module->no_offload_why, "%.250s", why);
}

/* Whatever goes wrong, the module can still run as it came; only memory is a reason to fail. */
static tw_status make_offloaded(tw_module *module, unsigned kind, tw_error *error)
{
    tw_error why = {.message = "no region was found that could be offloaded"};
    tw_form made = {0};
    tw_status status = make_with_stubs(module, kind, &made, &why);
    if (status == TW_OK && made.code) {
        module->forms[kind] = made;
        return TW_OK;
    }
    tw_runtime_form_free(&made);
    if (status == TW_NO_MEMORY) return tw_fail_memory(error);
    give_up_offload(module, why.message);
    return TW_OK;
}

static tw_status choose(tw_module *module, unsigned kind, tw_form **out, tw_error *error)
{
    bool offload = kind & TW_FORM_OFFLOADS;
    if (offload && !module->forms[kind].code && !module->no_offload) TW_TRY(make_offloaded(module, kind, error));
    if (offload && module->no_offload) kind &= ~(unsigned)TW_FORM_OFFLOADS;
    *out = &module->forms[kind];
    return (*out)->code ? TW_OK : make_plain(module, kind, error);
}

tw_status tw_runtime_form(tw_module *module, unsigned kind, tw_form **out, tw_error *error)
{
    pthread_mutex_lock(&module->lock);
    tw_status status = choose(module, kind, out, error);
    pthread_mutex_unlock(&module->lock);
    return status;
}

tw_status tw_runtime_form_without_offload(tw_module *module, unsigned kind, const char *why, tw_form **out,
                                          tw_error *error)
{
    pthread_mutex_lock(&module->lock);
    give_up_offload(module, why);
    tw_status status = choose(module, kind, out, error);
    pthread_mutex_unlock(&module->lock);
    return status;
}

tw_status tw_runtime_survey(tw_module *module, const tw_survey **out, tw_error *error)
{
    pthread_mutex_lock(&module->lock);
    tw_status status = survey(module, error);
    *out = module->survey;
    pthread_mutex_unlock(&module->lock);
    return status;
}

void tw_runtime_form_free(tw_form *form)
{
    while (form->links) {
        tw_form_link *next = form->links->next;
        tw_link_free(form->links->link);
        free(form->links);
        form->links = next;
    }
    tw_code_free(form->code);
    if (form->plan) tw_offload_plan_free(form->plan);
    else tw_rewrite_free(form->rewrite);
}

/* ---- links ---- */

static tw_form_link *find_link(const tw_form *form, const bool *is_wasi, size_t size)
{
    for (tw_form_link *at = form->links; at; at = at->next)
        if (!memcmp(at->is_wasi, is_wasi, size)) return at;
    return NULL;
}

static tw_status fill_link(const tw_module *module, const tw_form *form, const bool *is_wasi, tw_form_link *link,
                           tw_error *error)
{
    tw_link_func *funcs = calloc(module->import_count + 1u, sizeof *funcs);
    TW_TRY_ALLOC(funcs, error);
    for (uint32_t i = 0; i < module->import_count; i++) {
        funcs[i] = module->imports[i];
        funcs[i].is_wasi = link->is_wasi[i] = is_wasi[i];
    }
    const tw_link_imports imports = {funcs, module->import_count, module->kinds, module->kind_count};
    tw_status status = tw_link_new(form->code, &imports, &link->link, error);
    free(funcs);
    return status;
}

static tw_status make_link(const tw_module *module, tw_form *form, const bool *is_wasi, tw_form_link **out,
                           tw_error *error)
{
    tw_form_link *made = calloc(1, sizeof *made + module->import_count * sizeof *is_wasi);
    TW_TRY_ALLOC(made, error);
    tw_status status = fill_link(module, form, is_wasi, made, error);
    if (status != TW_OK) {
        free(made);
        return status;
    }
    made->next = form->links;
    *out = form->links = made;
    return TW_OK;
}

tw_status tw_runtime_link(tw_module *module, tw_form *form, const bool *is_wasi, tw_link **out, tw_error *error)
{
    tw_status status = TW_OK;
    pthread_mutex_lock(&module->lock);
    tw_form_link *found = find_link(form, is_wasi, module->import_count * sizeof *is_wasi);
    if (!found) status = make_link(module, form, is_wasi, &found, error);
    if (status == TW_OK) *out = found->link;
    pthread_mutex_unlock(&module->lock);
    return status;
}
