/* SPDX-License-Identifier: Apache-2.0 */
/* F's twin, where loops have become questions to their stubs, and F itself behind its guard. Labels around a replaced loop
 * keep their depths: what takes its place is closed in itself. */
#include "rewrite/parts.h"

#include "wasm/read.h"

typedef struct copier {
    tw_rewriter *r;
    tw_emit e;
    uint32_t func;
    uint32_t local_count;
    uint32_t code, counter; /* extra locals */
    bool counts_depth;      /* a twin of a recursive function */
    tw_reader reader;
    tw_instr instr;
} copier;

void tw_emit_install(tw_rewriter *r, tw_emit *e, const tw_rewrite_site *site, uint32_t number)
{
    tw_emit_index(e, TW_OP_GLOBAL_GET, site->installed);
    tw_emit_op(e, TW_OP_I32_EQZ);
    tw_emit_block(e, TW_OP_IF);
    tw_emit_i32(e, (int32_t)number);
    tw_emit_i32(e, 0);
    tw_emit_call_indirect(e, r->generic_type, r->out->stub_table);
    tw_emit_op(e, TW_OP_END);
}

/* code = --countdown <= 0 ? AGAIN : 0 */
static void emit_entry_countdown(copier *c, const tw_part *part)
{
    tw_emit *e = &c->e;
    tw_emit_i32(e, TW_REWRITE_AGAIN);
    tw_emit_i32(e, 0);
    tw_emit_index(e, TW_OP_GLOBAL_GET, part->site->countdown);
    tw_emit_i64(e, 1);
    tw_emit_op(e, TW_OP_I64_SUB);
    tw_emit_index(e, TW_OP_GLOBAL_SET, part->site->countdown);
    tw_emit_index(e, TW_OP_GLOBAL_GET, part->site->countdown);
    tw_emit_i64(e, 0);
    tw_emit_op(e, TW_OP_I64_LE_S);
    tw_emit_op(e, TW_OP_SELECT);
    tw_emit_index(e, TW_OP_LOCAL_SET, c->code);
}

static void take_results(copier *c, const tw_part *part)
{
    tw_emit_sets(&c->e, part->region->headers, part->region->header_count);
    tw_emit_index(&c->e, TW_OP_LOCAL_SET, c->code);
}

/* A stub that left a countdown below 1 would make L come back at once, for ever. */
static void emit_least_countdown(copier *c, const tw_part *part)
{
    tw_emit *e = &c->e;
    tw_emit_index(e, TW_OP_GLOBAL_GET, part->site->countdown);
    tw_emit_i64(e, 1);
    tw_emit_op(e, TW_OP_I64_LT_S);
    tw_emit_block(e, TW_OP_IF);
    tw_emit_i64(e, 1);
    tw_emit_index(e, TW_OP_GLOBAL_SET, part->site->countdown);
    tw_emit_op(e, TW_OP_END);
}

static void emit_ask(copier *c, const tw_part *part)
{
    tw_emit *e = &c->e;
    tw_emit_index(e, TW_OP_LOCAL_GET, c->code);
    tw_emit_i32(e, TW_REWRITE_AGAIN);
    tw_emit_op(e, TW_OP_I32_EQ);
    tw_emit_block(e, TW_OP_IF);
    tw_emit_install(c->r, e, part->site, part->number);
    tw_emit_gets(e, part->passed, part->passed_count);
    tw_emit_i32(e, (int32_t)part->site->slot);
    tw_emit_call_indirect(e, part->stub_type, c->r->out->stub_table);
    tw_emit_index(e, TW_OP_GLOBAL_SET, part->site->countdown);
    take_results(c, part);
    emit_least_countdown(c, part);
    tw_emit_op(e, TW_OP_END);
}

static void emit_go_on(copier *c, const tw_part *part)
{
    tw_emit *e = &c->e;
    tw_emit_index(e, TW_OP_LOCAL_GET, c->code);
    tw_emit_op(e, TW_OP_I32_EQZ);
    tw_emit_block(e, TW_OP_IF);
    tw_emit_gets(e, part->passed, part->passed_count);
    tw_emit_gets(e, part->extras, part->extra_count);
    tw_emit_index(e, TW_OP_CALL, part->site->outlined);
    tw_emit_sets(e, part->extras + part->extra_count - part->private_count, part->private_count);
    take_results(c, part);
    if (part->region->nested) {
        tw_emit_index(e, TW_OP_LOCAL_GET, c->code);
        tw_emit_i32(e, TW_REWRITE_AGAIN);
        tw_emit_op(e, TW_OP_I32_EQ);
        tw_emit_index(e, TW_OP_BR_IF, 1);
    }
    tw_emit_op(e, TW_OP_END);
}

static uint32_t count_dead_ends(const tw_nest *nest)
{
    uint32_t count = 0;
    for (uint32_t i = 0; i < nest->exit_count; i++) count += nest->exits[i].dead_end != 0;
    return count;
}

static void emit_exit_table(copier *c, const tw_nest *nest, uint32_t dead_ends)
{
    tw_emit *e = &c->e;
    uint32_t next = 0;
    tw_emit_index(e, TW_OP_LOCAL_GET, c->code);
    tw_emit_i32(e, 1);
    tw_emit_op(e, TW_OP_I32_SUB);
    tw_emit_op(e, TW_OP_BR_TABLE);
    tw_write_u32(&e->code, nest->exit_count);
    for (uint32_t i = 0; i < nest->exit_count; i++) {
        const tw_nest_exit *exit = &nest->exits[i];
        tw_write_u32(&e->code, exit->dead_end ? next++ : exit->falls_through ? dead_ends : exit->depth + 1 + dead_ends);
    }
    tw_write_u32(&e->code, dead_ends);
}

/* reader: right behind the nest's `loop`. */
static tw_status copy_dead_end(copier *c, const tw_nest_exit *exit, tw_reader reader)
{
    tw_instr instr;
    reader.at += exit->dead_end - tw_reader_offset(&reader);
    while (tw_reader_offset(&reader) < exit->dead_end_end) {
        TW_TRY(tw_wasm_next(&reader, &instr, c->r->error));
        tw_emit_place(&c->e, instr.offset);
        tw_emit_user(c->r, &c->e, &instr);
    }
    return TW_OK;
}

/* Exits that aren't falling through branch to their labels, seen from inside a block, or to their dead ends, which follow
 * one another behind blocks of their own:
 *
 *   block  block … block  br_table  end  dead end  end … dead end  end */
static tw_status emit_branches(copier *c, const tw_part *part)
{
    tw_emit *e = &c->e;
    const tw_nest *nest = &part->nest;
    if (nest->exit_count == 1 && nest->exits[0].falls_through) return TW_OK;
    uint32_t dead_ends = count_dead_ends(nest);
    for (uint32_t i = 0; i <= dead_ends; i++) tw_emit_block(e, TW_OP_BLOCK);
    emit_exit_table(c, nest, dead_ends);
    for (uint32_t i = 0; i < nest->exit_count; i++) {
        if (!nest->exits[i].dead_end) continue;
        tw_emit_op(e, TW_OP_END);
        TW_TRY(copy_dead_end(c, &nest->exits[i], c->reader));
    }
    tw_emit_op(e, TW_OP_END);
    if (!tw_nest_fall_through(nest)) tw_emit_op(e, TW_OP_UNREACHABLE);
    return TW_OK;
}

static tw_status emit_region(copier *c, const tw_part *part)
{
    tw_emit_place(&c->e, part->nest.loop_offset);
    emit_entry_countdown(c, part);
    if (part->region->nested) tw_emit_block(&c->e, TW_OP_LOOP);
    emit_ask(c, part);
    emit_go_on(c, part);
    if (part->region->nested) tw_emit_op(&c->e, TW_OP_END);
    return emit_branches(c, part);
}

static tw_status skip_nest(copier *c, const tw_nest *nest)
{
    while (c->instr.offset != nest->end_offset) TW_TRY(tw_wasm_next(&c->reader, &c->instr, c->r->error));
    return TW_OK;
}

static bool leaves_function(tw_op op)
{
    return op == TW_OP_RETURN || op == TW_OP_RETURN_CALL || op == TW_OP_RETURN_CALL_INDIRECT;
}

/* The rest of the body, regions replaced, probes put in. */
static tw_status copy_code(copier *c, const tw_part *const *parts, uint32_t count)
{
    uint32_t next = 0;
    while (c->reader.at != c->reader.end) {
        TW_TRY(tw_wasm_next(&c->reader, &c->instr, c->r->error));
        if (next < count && c->instr.offset == parts[next]->nest.loop_offset) {
            TW_TRY(emit_region(c, parts[next]));
            TW_TRY(skip_nest(c, &parts[next++]->nest));
            continue;
        }
        if (c->counts_depth && leaves_function(c->instr.op)) tw_emit_add_to(&c->e, c->r->depth, -1);
        tw_emit_user(c->r, &c->e, &c->instr);
        if (c->instr.op == TW_OP_LOOP && tw_wants_loop_probe(c->r, c->func, c->instr.offset))
            tw_emit_loop_probe(&c->e, c->counter, c->r->probe_memory);
    }
    return TW_OK;
}

/* The reader, and the declarations with our own locals behind the user's. */
static tw_status begin(copier *c, bool with_code)
{
    uint8_t extra[2];
    uint32_t extra_count = 0;
    TW_TRY(tw_wasm_code(c->r->module, c->func, &c->reader, &c->local_count, c->r->error));
    c->code = c->counter = c->local_count;
    if (with_code) extra[extra_count++] = TW_I32;
    c->counter += extra_count;
    if (tw_has_loop_probes(c->r, c->func)) extra[extra_count++] = TW_I32;
    return tw_emit_locals(&c->e, c->r->module, c->func, extra, extra_count, c->r->error);
}

static tw_status finish(copier *c, tw_status status, bool replaces)
{
    if (status == TW_OK) return tw_emit_finish(&c->e, replaces, c->r->error);
    tw_bytes_free(&c->e.code);
    return status;
}

/* In a block, which takes the branches that would leave the function. Its own last `end` closes that. */
static tw_status copy_counting(copier *c, const tw_part *const *parts, uint32_t count)
{
    const tw_functype *type = tw_wasm_func_type(c->r->module, c->func);
    tw_emit_add_to(&c->e, c->r->depth, 1);
    tw_emit_result_block(&c->e, type->results, type->result_count);
    TW_TRY(copy_code(c, parts, count));
    tw_emit_add_to(&c->e, c->r->depth, -1);
    tw_emit_op(&c->e, TW_OP_END);
    return TW_OK;
}

tw_status tw_twin(tw_rewriter *r, const tw_part *const *parts, uint32_t count)
{
    copier c = {.r = r, .func = parts[0]->region->func, .e = {.edit = r->edit, .func = parts[0]->site->twin}};
    c.counts_depth = tw_is_recursive(r, c.func);
    tw_status status = begin(&c, true);
    if (status == TW_OK) status = (c.counts_depth ? copy_counting : copy_code)(&c, parts, count);
    return finish(&c, status, false);
}

static void emit_if_rested(copier *c, uint32_t rest)
{
    tw_emit_index(&c->e, TW_OP_GLOBAL_GET, rest);
    tw_emit_op(&c->e, TW_OP_I32_EQZ);
    tw_emit_block(&c->e, TW_OP_IF);
}

static void emit_if_shallow(copier *c)
{
    tw_emit_index(&c->e, TW_OP_GLOBAL_GET, c->r->depth);
    tw_emit_i32(&c->e, TW_REWRITE_MAX_DEPTH);
    tw_emit_op(&c->e, TW_OP_I32_LT_S);
    tw_emit_block(&c->e, TW_OP_IF);
}

static void emit_guard(copier *c, const tw_part *const *parts, uint32_t count)
{
    tw_emit *e = &c->e;
    uint32_t rest = parts[0]->site->rest, params = tw_wasm_func_type(c->r->module, c->func)->param_count;
    if (tw_is_recursive(c->r, c->func)) emit_if_shallow(c);
    emit_if_rested(c, rest);
    for (uint32_t i = 0; i < params; i++) tw_emit_index(e, TW_OP_LOCAL_GET, i);
    tw_emit_index(e, TW_OP_RETURN_CALL, parts[0]->site->twin);
    tw_emit_op(e, TW_OP_END);
    tw_emit_add_to(e, rest, -1);
    emit_if_rested(c, rest);
    for (uint32_t i = 0; i < count; i++) {
        tw_emit_i64(e, 0);
        tw_emit_index(e, TW_OP_GLOBAL_SET, parts[i]->site->countdown);
    }
    tw_emit_op(e, TW_OP_END);
    if (tw_is_recursive(c->r, c->func)) tw_emit_op(e, TW_OP_END);
}

tw_status tw_guarded(tw_rewriter *r, uint32_t func, const tw_part *const *parts, uint32_t count)
{
    copier c = {.r = r, .func = func, .e = {.edit = r->edit, .func = func}};
    tw_status status = begin(&c, false);
    if (status == TW_OK) {
        tw_emit_place(&c.e, tw_reader_offset(&c.reader));
        if (r->probes && r->probes[func].entry) tw_emit_entry_probe(&c.e, r->probe_memory);
        if (count) emit_guard(&c, parts, count);
        status = copy_code(&c, NULL, 0);
    }
    return finish(&c, status, true);
}
