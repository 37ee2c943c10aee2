/* SPDX-License-Identifier: Apache-2.0 */
/* Whether a region can be rewritten, and the signatures of its stub and of L. */
#include <string.h>

#include "rewrite/parts.h"
#include "wasm/exposed.h"

enum { MAX_PARAMETERS = 900 }; /* of L; the engine takes 1000, and as many results */

static tw_status refuse(tw_part *part, uint64_t offset, const char *why)
{
    part->site->status = TW_REFUSED;
    part->site->why = why;
    part->site->why_offset = offset;
    return TW_OK;
}

static const char *nest_refusal(const tw_nest *nest, uint64_t *offset)
{
    *offset = nest->loop_offset;
    if (nest->has_type) return "the loop takes or gives values on the stack";
    for (uint32_t i = 0; i < nest->exit_count; i++)
        if (nest->exits[i].arity) return "an exit of the loop carries values on the stack";
    if (nest->exit_count == 0) return "the loop has no exit";
    if ((*offset = nest->call) != 0) return "a call in the loop";
    if ((*offset = nest->grow) != 0) return "memory.grow in the loop";
    if ((*offset = nest->table) != 0) return "a table instruction in the loop";
    return NULL;
}

/* Live-ins and headers are locals, each once, of types that a host function can take. */
static const char *values_refusal(tw_part *part)
{
    const tw_nest *nest = &part->nest;
    for (uint32_t i = 0; i < part->passed_count; i++) {
        uint32_t local = part->passed[i];
        if (local >= nest->local_count) return "a value that isn't a local";
        uint8_t type = nest->local_types[local];
        if (type == TW_V128 || type == TW_FUNCREF) return "a v128 or a reference among the values that the stub needs";
        for (uint32_t j = 0; j < i; j++)
            if (part->passed[j] == local) return "a local that is passed twice";
        bool written = nest->touched[local] & TW_NEST_WRITTEN;
        if (i < part->region->live_in_count && written) return "a live-in that the loop writes";
    }
    return NULL;
}

static bool is_passed(const tw_part *part, uint32_t local)
{
    for (uint32_t i = 0; i < part->passed_count; i++)
        if (part->passed[i] == local) return true;
    return false;
}

static tw_status collect_values(tw_rewriter *r, tw_part *part)
{
    const tw_rewrite_region *region = part->region;
    part->passed = TW_NEW_ARRAY(&r->arena, uint32_t, part->passed_count);
    TW_TRY_ALLOC(part->passed, r->error);
    if (region->live_in_count) memcpy(part->passed, region->live_ins, region->live_in_count * sizeof *part->passed);
    if (region->header_count)
        memcpy(part->passed + region->live_in_count, region->headers, region->header_count * sizeof *part->passed);
    return TW_OK;
}

/* The twin goes on there with what the nest has made. */
static bool is_left_for_dead_end(const tw_part *part, uint32_t local)
{
    uint8_t touched = part->nest.touched[local];
    return touched & TW_NEST_WRITTEN && touched & TW_NEST_AT_DEAD_END && !is_passed(part, local);
}

/* Locals that aren't passed to the stub: the ones that the nest only reads, then the ones that it writes and that the
 * bytecode may read from an earlier iteration or after the nest. */
static tw_status collect_extras(tw_rewriter *r, tw_part *part)
{
    uint32_t count = part->nest.local_count;
    bool *written = TW_NEW_ARRAY(&r->arena, bool, count);
    part->extras = TW_NEW_ARRAY(&r->arena, uint32_t, count);
    if (!part->extras || !written) return tw_fail_memory(r->error);
    for (uint32_t i = 0; i < count; i++) {
        if (is_passed(part, i)) continue;
        if ((part->nest.touched[i] & TW_NEST_TOUCHED) == TW_NEST_READ) part->extras[part->extra_count++] = i;
        written[i] = part->nest.touched[i] & TW_NEST_WRITTEN;
    }
    TW_TRY(
        tw_exposed_locals(r->module, &part->nest, TW_EXPOSED_ANYWHERE, &r->arena, written, r->error));
    for (uint32_t i = 0; i < count; i++) {
        written[i] |= is_left_for_dead_end(part, i);
        part->private_count += written[i];
        if (written[i]) part->extras[part->extra_count++] = i;
    }
    return TW_OK;
}

static tw_status type_list(tw_rewriter *r, const tw_part *part, uint8_t first, const uint32_t *locals, uint32_t count,
                           uint32_t room, uint8_t **out)
{
    uint8_t *types = tw_arena_alloc(&r->out->arena, (size_t)room + count + 1);
    TW_TRY_ALLOC(types, r->error);
    uint32_t at = 0;
    if (first) types[at++] = first;
    for (uint32_t i = 0; i < count; i++) types[at++] = part->nest.local_types[locals[i]];
    *out = types;
    return TW_OK;
}

static tw_status make_types(tw_rewriter *r, tw_part *part)
{
    tw_rewrite_site *site = part->site;
    uint8_t *params = NULL, *results = NULL, *inner = NULL;
    uint32_t headers = part->region->header_count;
    TW_TRY(type_list(r, part, 0, part->passed, part->passed_count, part->extra_count, &params));
    TW_TRY(type_list(r, part, TW_I32, part->region->headers, headers, 1, &results));
    TW_TRY(type_list(r, part, TW_I32, part->region->headers, headers, part->private_count, &inner));
    results[headers + 1] = TW_I64; /* the countdown */
    site->params = params;
    site->param_count = part->passed_count;
    site->results = results;
    site->result_count = headers + 2;
    part->stub_type = tw_edit_type(r->edit, params, site->param_count, results, site->result_count);
    for (uint32_t i = 0; i < part->extra_count; i++)
        params[part->passed_count + i] = part->nest.local_types[part->extras[i]];
    for (uint32_t i = 0; i < part->private_count; i++)
        inner[headers + 1 + i] = params[part->passed_count + part->extra_count - part->private_count + i];
    part->outlined_type = tw_edit_type(r->edit, params, part->passed_count + part->extra_count, inner,
                                       headers + 1 + part->private_count);
    return TW_OK;
}

tw_status tw_part_make(tw_rewriter *r, tw_part *part)
{
    const tw_rewrite_region *region = part->region;
    uint64_t offset;
    const char *why;
    if (region->func >= r->module->func_count || r->module->funcs[region->func].imported)
        return refuse(part, TW_NO_OFFSET, "not a function with a body");
    tw_status status = tw_wasm_nest(r->module, region->func, region->loop_offset, &r->arena, &part->nest, r->error);
    if (status == TW_NOT_FOUND) return refuse(part, region->loop_offset, "no reachable loop begins there");
    TW_TRY(status);
    if ((why = nest_refusal(&part->nest, &offset))) return refuse(part, offset, why);
    if (region->live_in_count > TW_REWRITE_MAX_VALUES || region->header_count >= TW_REWRITE_MAX_VALUES ||
        region->live_in_count + region->header_count > TW_REWRITE_MAX_VALUES)
        return refuse(part, region->loop_offset, "more values than a stub takes");
    part->passed_count = region->live_in_count + region->header_count;
    TW_TRY(collect_values(r, part));
    if ((why = values_refusal(part))) return refuse(part, region->loop_offset, why);
    TW_TRY(collect_extras(r, part));
    if (tw_is_recursive(r, region->func) && part->passed_count + part->extra_count > TW_REWRITE_MAX_VALUES)
        return refuse(part, region->loop_offset, "more values than a frame of a recursive function should take");
    if (part->passed_count + part->extra_count > MAX_PARAMETERS)
        return refuse(part, region->loop_offset, "more values than a function takes");
    part->site->exit_count = part->nest.exit_count;
    return make_types(r, part);
}
