/* SPDX-License-Identifier: Apache-2.0 */
#include "rewrite/rewrite.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "rewrite/parts.h"

static const tw_rewrite_options no_options;

void tw_export_index(tw_rewriter *r, const char *what, uint32_t number, tw_extern_kind kind, uint32_t index)
{
    char name[48];
    snprintf(name, sizeof name, "tw:%s:%u", what, number);
    tw_edit_export(r->edit, name, kind, index);
}

static uint32_t export_global(tw_rewriter *r, const char *what, uint32_t number, tw_type type, uint64_t value)
{
    uint32_t index = tw_edit_global(r->edit, type, true, value);
    tw_export_index(r, what, number, TW_EXTERN_GLOBAL, index);
    return index;
}

static tw_status check_names(const tw_rewriter *r)
{
    for (uint32_t i = 0; i < r->module->export_count; i++) {
        tw_name name = r->module->exports[i].name;
        if (name.size >= 3 && memcmp(name.data, "tw:", 3) == 0)
            return tw_fail(r->error, TW_REFUSED,
                           "the module exports \"%.*s\": names that begin with tw: are the rewriter's",
                           (int)(name.size < 100 ? name.size : 100), name.data);
    }
    return TW_OK;
}

/* ---- sites ---- */

static tw_status make_sites(tw_rewriter *r)
{
    const tw_rewrite_options *o = r->options;
    r->out->site_count = o->region_count + o->function_count;
    r->out->sites = TW_NEW_ARRAY(&r->out->arena, tw_rewrite_site, r->out->site_count);
    r->parts = TW_NEW_ARRAY(&r->arena, tw_part, o->region_count);
    if (!r->out->sites || !r->parts) return tw_fail_memory(r->error);
    for (uint32_t i = 0; i < r->out->site_count; i++) {
        bool whole = i >= o->region_count;
        uint32_t func = whole ? o->functions[i - o->region_count].func : o->regions[i].func;
        r->out->sites[i] = (tw_rewrite_site){.func = func, .whole_function = whole, .slot = i + 1,
                                             .countdown = UINT32_MAX, .rest = UINT32_MAX, .installed = UINT32_MAX,
                                             .twin = UINT32_MAX, .outlined = UINT32_MAX};
    }
    return TW_OK;
}

static bool is_whole_function(const tw_rewriter *r, uint32_t func)
{
    for (uint32_t i = 0; i < r->options->function_count; i++)
        if (r->options->functions[i].func == func) return true;
    return false;
}

static int by_place(const void *a, const void *b)
{
    const tw_rewrite_region *x = (*(const tw_part *const *)a)->region, *y = (*(const tw_part *const *)b)->region;
    if (x->func != y->func) return x->func < y->func ? -1 : 1;
    return x->loop_offset == y->loop_offset ? 0 : x->loop_offset < y->loop_offset ? -1 : 1;
}

static void refuse_overlap(tw_part *part, const char *why)
{
    part->site->status = TW_REFUSED;
    part->site->why = why;
    part->site->why_offset = part->region->loop_offset;
}

/* Accepted parts, by function and place; *count of them. */
static tw_status sort_parts(tw_rewriter *r, const tw_part ***out, uint32_t *count)
{
    const tw_part **sorted = TW_NEW_ARRAY(&r->arena, const tw_part *, r->part_count);
    TW_TRY_ALLOC(sorted, r->error);
    uint32_t kept = 0, accepted = 0;
    for (uint32_t i = 0; i < r->part_count; i++)
        if (r->parts[i].site->status == TW_OK) sorted[accepted++] = &r->parts[i];
    if (accepted) qsort(sorted, accepted, sizeof *sorted, by_place);
    for (uint32_t i = 0; i < accepted; i++) {
        tw_part *part = (tw_part *)sorted[i];
        const tw_part *last = kept ? sorted[kept - 1] : NULL;
        bool overlaps =
            last && last->region->func == part->region->func && part->region->loop_offset < last->nest.end_offset;
        if (is_whole_function(r, part->region->func)) refuse_overlap(part, "its function is a region as a whole");
        else if (overlaps) refuse_overlap(part, "it lies in another region");
        else sorted[kept++] = part;
    }
    *out = sorted;
    *count = kept;
    return TW_OK;
}

static tw_status make_parts(tw_rewriter *r)
{
    for (uint32_t i = 0; i < r->options->region_count; i++) {
        tw_part *part = &r->parts[r->part_count++];
        part->region = &r->options->regions[i];
        part->site = &r->out->sites[i];
        part->number = i;
        TW_TRY(tw_part_make(r, part));
    }
    return TW_OK;
}

/* ---- functions ---- */

/* The stub table and slot 0's type, at the first need. */
static void need_stubs(tw_rewriter *r)
{
    if (r->out->stub_table != UINT32_MAX) return;
    static const uint8_t i32 = TW_I32;
    r->generic_type = tw_edit_type(r->edit, &i32, 1, NULL, 0);
    r->out->stub_table = tw_edit_table(r->edit, r->out->site_count + 1, r->out->site_count + 1);
    tw_edit_export(r->edit, "tw:stubs", TW_EXTERN_TABLE, r->out->stub_table);
}

static void need_depth(tw_rewriter *r)
{
    if (r->depth != UINT32_MAX) return;
    r->depth = tw_edit_global(r->edit, TW_I32, true, 0);
    tw_edit_export(r->edit, "tw:depth", TW_EXTERN_GLOBAL, r->depth);
}

/* One function with its regions. */
static tw_status rewrite_function(tw_rewriter *r, const tw_part *const *parts, uint32_t count)
{
    uint32_t func = parts[0]->region->func;
    uint32_t rest = export_global(r, "rest", func, TW_I32, 0);
    uint32_t twin = tw_edit_func_declare(r->edit, r->module->funcs[func].type, func);
    need_stubs(r);
    if (tw_is_recursive(r, func)) need_depth(r);
    for (uint32_t i = 0; i < count; i++) {
        tw_rewrite_site *site = parts[i]->site;
        site->rest = rest;
        site->twin = twin;
        site->countdown = export_global(r, "countdown", parts[i]->number, TW_I64, 0);
        site->installed = export_global(r, "installed", parts[i]->number, TW_I32, 0);
        site->outlined = tw_edit_func_declare(r->edit, parts[i]->outlined_type, func);
        TW_TRY(tw_outline(r, parts[i]));
    }
    TW_TRY(tw_twin(r, parts, count));
    return tw_guarded(r, func, parts, count);
}

static tw_status rewrite_regions(tw_rewriter *r, bool *rewritten)
{
    const tw_part **parts = NULL;
    uint32_t count = 0;
    TW_TRY(make_parts(r));
    TW_TRY(sort_parts(r, &parts, &count));
    for (uint32_t i = 0, end; i < count; i = end) {
        for (end = i; end < count && parts[end]->region->func == parts[i]->region->func;) end++;
        rewritten[parts[i]->region->func] = true;
        TW_TRY(rewrite_function(r, parts + i, end - i));
    }
    return TW_OK;
}

static tw_status rewrite_whole_functions(tw_rewriter *r, bool *rewritten)
{
    for (uint32_t i = r->options->region_count; i < r->out->site_count; i++) {
        tw_rewrite_site *site = &r->out->sites[i];
        if (site->func < r->module->func_count && rewritten[site->func]) {
            site->status = TW_REFUSED;
            site->why = "the function is a region already";
            continue;
        }
        tw_trampoline_check(r, site);
        if (site->status != TW_OK) continue;
        need_stubs(r);
        site->installed = export_global(r, "installed", i, TW_I32, 0);
        TW_TRY(tw_trampoline(r, site, i));
        rewritten[site->func] = true;
    }
    return TW_OK;
}

/* ---- probes ---- */

/* Memory 0 when it can't be empty, else a private one of a page. */
static void choose_memory(tw_rewriter *r)
{
    if (r->module->memory_count && r->module->memories[0].minimum > 0) return;
    r->probe_memory = r->out->private_memory = tw_edit_memory(r->edit, 1, 1);
    tw_edit_export(r->edit, "tw:memory", TW_EXTERN_MEMORY, r->probe_memory);
}

static tw_status find_probes(tw_rewriter *r)
{
    TW_TRY(tw_probes_find(r->module, &r->arena, &r->probes, r->error));
    for (uint32_t i = r->module->imported_funcs; i < r->module->func_count; i++) {
        r->out->probed_loops += r->probes[i].loop_count;
        r->out->probed_functions += r->probes[i].entry;
    }
    if (r->out->probed_loops || r->out->probed_functions) choose_memory(r);
    return TW_OK;
}

static tw_status place_probes(tw_rewriter *r, const bool *rewritten)
{
    for (uint32_t i = r->module->imported_funcs; i < r->module->func_count; i++) {
        bool probed = r->probes && (r->probes[i].entry || r->probes[i].loop_count);
        bool notes = r->drops.count && r->drops.funcs[i];
        if (!rewritten[i] && (probed || notes)) TW_TRY(tw_guarded(r, i, NULL, 0));
    }
    return TW_OK;
}

/* ---- all ---- */

static bool nothing_done(const tw_rewriter *r)
{
    return !r->options->capturable && r->out->stub_table == UINT32_MAX && !r->out->probed_loops && !r->out->probed_functions;
}

static tw_status encode(tw_rewriter *r)
{
    tw_bytes bytes = {0};
    tw_status status = tw_edit_encode(r->edit, &bytes, r->error);
    if (status == TW_OK) {
        r->out->map = tw_edit_take_map(r->edit);
        r->out->bytes = (uint8_t *)tw_bytes_take(&bytes, &r->out->size);
        if (!r->out->map || !r->out->bytes) status = tw_fail_memory(r->error);
    }
    tw_bytes_free(&bytes);
    return status;
}

/* Instantiation would run it before the host has put anything into the stub table. */
static void put_off_start(tw_rewriter *r)
{
    if (!r->module->has_start || (r->out->stub_table == UINT32_MAX && !r->options->capturable)) return;
    tw_edit_drop_start(r->edit);
    tw_edit_export(r->edit, "tw:start", TW_EXTERN_FUNC, r->module->start);
}

static tw_status rewrite(tw_rewriter *r)
{
    bool *rewritten = TW_NEW_ARRAY(&r->arena, bool, r->module->func_count);
    TW_TRY_ALLOC(rewritten, r->error);
    TW_TRY(check_names(r));
    TW_TRY(make_sites(r));
    if (r->options->stoppable) TW_TRY(find_probes(r));
    tw_edit_own_memories(r->edit);
    if (r->options->capturable) TW_TRY(tw_drops_find(r));
    TW_TRY(rewrite_regions(r, rewritten));
    TW_TRY(rewrite_whole_functions(r, rewritten));
    TW_TRY(place_probes(r, rewritten));
    put_off_start(r);
    if (r->options->capturable) TW_TRY(tw_capture_exports(r));
    return nothing_done(r) ? TW_OK : encode(r);
}

tw_status tw_rewrite_module(const tw_wasm *module, const tw_rewrite_options *options, tw_rewrite **out, tw_error *error)
{
    tw_rewriter r = {.module = module, .options = options ? options : &no_options, .depth = UINT32_MAX, .error = error};
    r.out = calloc(1, sizeof *r.out);
    r.edit = tw_edit_new(module);
    tw_status status = r.out && r.edit ? TW_OK : tw_fail_memory(error);
    if (status == TW_OK) {
        tw_arena_init(&r.out->arena, TW_ARENA_NO_LIMIT);
        tw_arena_init(&r.arena, TW_ARENA_NO_LIMIT);
        r.out->stub_table = r.out->private_memory = r.out->initialiser = UINT32_MAX;
        status = rewrite(&r);
        tw_arena_free(&r.arena);
    }
    tw_edit_free(r.edit);
    if (status != TW_OK) tw_rewrite_free(r.out);
    else *out = r.out;
    return status;
}

void tw_rewrite_free(tw_rewrite *rewrite)
{
    if (!rewrite) return;
    tw_offset_map_free(rewrite->map);
    free(rewrite->bytes);
    tw_arena_free(&rewrite->arena);
    free(rewrite);
}
