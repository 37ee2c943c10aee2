/* SPDX-License-Identifier: Apache-2.0 */
#include "analysis/inside.h"

static void print_edges(const char *what, const tw_cfg_edge *edges, uint32_t count, tw_bytes *out)
{
    tw_bytes_printf(out, "  %s", what);
    for (uint32_t i = 0; i < count; i++) tw_bytes_printf(out, " b%u.%u", edges[i].from, edges[i].edge);
    tw_bytes_append_byte(out, '\n');
}

static void print_values(const char *what, tw_values values, tw_bytes *out)
{
    tw_bytes_printf(out, "  %s", what);
    for (uint32_t i = 0; i < values.count; i++) tw_bytes_printf(out, " v%u", values.items[i]);
    tw_bytes_append_byte(out, '\n');
}

static void print_params(tw_analysis *a, const tw_loopdata *loop, tw_bytes *out)
{
    static const char *const kinds[] = {"other", "invariant", "affine"};
    const tw_ir_blockdata *header = &a->func->blocks[loop->header];
    for (uint32_t i = 0; i < header->param_count; i++) {
        tw_recurrence r = tw_recurrence_of(a, header->first_param + i);
        tw_bytes_printf(out, "  v%u %s", header->first_param + i, kinds[r.kind]);
        if (r.kind != TW_PARAM_OTHER) {
            tw_bytes_append_byte(out, ' ');
            tw_poly_print(r.init, out);
        }
        if (r.kind == TW_PARAM_AFFINE) {
            tw_bytes_append_string(out, " step ");
            tw_poly_print(r.step, out);
        }
        if (r.given) {
            tw_bytes_append_string(out, " given 0 is ");
            tw_poly_print(r.given, out);
        }
        tw_bytes_append_byte(out, '\n');
    }
}

static void print_trips(tw_analysis *a, tw_loop loop, tw_bytes *out)
{
    const tw_loopdata *data = &a->loops->items[loop];
    const tw_trip *trips = tw_trips_of(a, loop);
    for (uint32_t i = 0; trips && i < data->exit_count; i++) {
        tw_bytes_printf(out, "  exit b%u.%u ", data->exits[i].from, data->exits[i].edge);
        if (!trips[i].known) {
            tw_bytes_printf(out, "unknown: %s\n", trips[i].why);
            continue;
        }
        tw_bytes_append_string(out, "while ");
        tw_poly_print(trips[i].start, out);
        tw_bytes_append_string(out, " step ");
        tw_poly_print(trips[i].step, out);
        tw_bytes_printf(out, " %s%u ", tw_compare_name(trips[i].compare), trips[i].bits);
        tw_poly_print(trips[i].bound, out);
        if (trips[i].loaded) tw_bytes_append_string(out, " if no store changes it");
        tw_bytes_append_byte(out, '\n');
    }
}

static void print_accesses(tw_analysis *a, tw_loop loop, tw_bytes *out)
{
    const tw_accesses *accesses = tw_accesses_of(a, loop);
    for (uint32_t i = 0; accesses && i < accesses->access_count; i++) {
        const tw_access *access = &accesses->accesses[i];
        if (access->loop != loop) continue;
        tw_bytes_printf(out, "  %s b%u ", tw_op_describe(access->op)->name, access->block);
        tw_poly_print(access->address, out);
        tw_bytes_printf(out, " offset %llu width %u\n", (unsigned long long)access->offset, access->width);
    }
    for (uint32_t i = 0; accesses && i < accesses->effect_count; i++)
        if (a->loops->innermost[accesses->effects[i].block] == loop)
            tw_bytes_printf(out, "  effect b%u %s\n", accesses->effects[i].block, tw_op_describe(accesses->effects[i].op)->name);
}

static void print_loop(tw_analysis *a, tw_loop loop, tw_bytes *out)
{
    const tw_loopdata *data = &a->loops->items[loop];
    tw_bytes_printf(out, "loop %u header b%u depth %u", loop, data->header, data->depth);
    if (data->parent != TW_NO_LOOP) tw_bytes_printf(out, " in %u", data->parent);
    tw_bytes_append_string(out, data->irreducible ? " irreducible\n  blocks" : "\n  blocks");
    for (uint32_t i = 0; i < data->block_count; i++) tw_bytes_printf(out, " b%u", data->blocks[i]);
    tw_bytes_append_byte(out, '\n');
    print_edges("entries", data->entries, data->entry_count, out);
    print_edges("latches", data->latches, data->latch_count, out);
    print_params(a, data, out);
    print_trips(a, loop, out);
    print_accesses(a, loop, out);
    print_values("live in", tw_live_ins_of(a, loop), out);
    print_values("live out", tw_live_outs_of(a, loop), out);
}

static void print_dominators(const tw_cfg *cfg, tw_bytes *out)
{
    for (uint32_t i = 0; i < cfg->order_count; i++) {
        tw_ir_block block = cfg->order[i];
        tw_bytes_printf(out, "b%u", block);
        if (cfg->idom[block] != TW_IR_NO_BLOCK) tw_bytes_printf(out, " idom b%u", cfg->idom[block]);
        if (cfg->ipdom[block] != TW_IR_NO_BLOCK) tw_bytes_printf(out, " ipdom b%u", cfg->ipdom[block]);
        tw_bytes_append_byte(out, '\n');
    }
}

void tw_analysis_print(tw_analysis *a, tw_bytes *out)
{
    const tw_loops *loops = tw_analysis_loops(a);
    if (!loops) {
        tw_bytes_append_string(out, "out of memory\n");
        return;
    }
    print_dominators(a->cfg, out);
    if (loops->irreducible) tw_bytes_append_string(out, "irreducible\n");
    for (tw_loop l = 0; l < loops->count; l++) print_loop(a, l, out);
    if (tw_analysis_failed(a)) tw_bytes_append_string(out, "out of memory\n");
}
