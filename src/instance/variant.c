/* SPDX-License-Identifier: Apache-2.0 */
/* From a module to something that can be instantiated: rewrite, validate and compile again, resolve. */
#include <stdlib.h>
#include <string.h>

#include "instance/runtime.h"

static tw_status compile(const tw_module *module, tw_variant *variant, tw_error *error)
{
    const uint8_t *bytes = variant->rewrite->bytes;
    size_t size = variant->rewrite->size;
    if (!bytes) bytes = (const uint8_t *)module->bytes.data, size = module->bytes.size;
    return tw_code_new(module->engine->core, bytes, size, &variant->code, error);
}

static tw_status make_plain(tw_module *module, tw_error *error)
{
    tw_variant made = {0};
    tw_rewrite_options options = {.stoppable = true};
    TW_TRY(tw_rewrite_module(&module->wasm, &options, &made.rewrite, error));
    tw_status status = compile(module, &made, error);
    if (status == TW_INVALID)
        status = tw_fail(error, TW_INTERNAL, "the module with probes doesn't validate: please report it");
    if (status == TW_OK) module->plain = made;
    else tw_runtime_variant_free(&made);
    return status;
}

tw_status tw_runtime_variant(tw_module *module, tw_variant **out, tw_error *error)
{
    pthread_mutex_lock(&module->lock);
    tw_status status = module->plain.code ? TW_OK : make_plain(module, error);
    *out = &module->plain;
    pthread_mutex_unlock(&module->lock);
    return status;
}

void tw_runtime_variant_free(tw_variant *variant)
{
    while (variant->links) {
        tw_variant_link *next = variant->links->next;
        tw_link_free(variant->links->link);
        free(variant->links);
        variant->links = next;
    }
    tw_code_free(variant->code);
    tw_rewrite_free(variant->rewrite);
}

/* ---- links ---- */

static tw_variant_link *find_link(const tw_variant *variant, const bool *is_wasi, size_t size)
{
    for (tw_variant_link *at = variant->links; at; at = at->next)
        if (!memcmp(at->is_wasi, is_wasi, size)) return at;
    return NULL;
}

static tw_status fill_link(const tw_module *module, const tw_variant *variant, const bool *is_wasi, tw_variant_link *link,
                           tw_error *error)
{
    tw_link_func *funcs = calloc(module->import_count + 1u, sizeof *funcs);
    TW_TRY_ALLOC(funcs, error);
    for (uint32_t i = 0; i < module->import_count; i++) {
        funcs[i] = module->imports[i];
        funcs[i].is_wasi = link->is_wasi[i] = is_wasi[i];
    }
    tw_status status = tw_link_new(variant->code, funcs, module->import_count, &link->link, error);
    free(funcs);
    return status;
}

static tw_status make_link(const tw_module *module, tw_variant *variant, const bool *is_wasi, tw_variant_link **out,
                           tw_error *error)
{
    tw_variant_link *made = calloc(1, sizeof *made + module->import_count * sizeof *is_wasi);
    TW_TRY_ALLOC(made, error);
    tw_status status = fill_link(module, variant, is_wasi, made, error);
    if (status != TW_OK) {
        free(made);
        return status;
    }
    made->next = variant->links;
    *out = variant->links = made;
    return TW_OK;
}

tw_status tw_runtime_link(tw_module *module, tw_variant *variant, const bool *is_wasi, tw_link **out, tw_error *error)
{
    tw_status status = TW_OK;
    pthread_mutex_lock(&module->lock);
    tw_variant_link *found = find_link(variant, is_wasi, module->import_count * sizeof *is_wasi);
    if (!found) status = make_link(module, variant, is_wasi, &found, error);
    if (status == TW_OK) *out = found->link;
    pthread_mutex_unlock(&module->lock);
    return status;
}
