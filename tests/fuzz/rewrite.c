/* SPDX-License-Identifier: Apache-2.0 */
/* Any module that the decoder accepts (types unchecked, as an embedder without validation would send it): every loop is
 * made a region, every second function a whole-function region, probes are put in. What comes out must be accepted in
 * turn, and every place of it must map to the input or be ours alone. */
#include <stdlib.h>

#include "rewrite/rewrite.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

enum { MOST = 64, LOCALS = 16 };

static void require(bool condition)
{
    if (!condition) abort();
}

typedef struct choice {
    tw_rewrite_region regions[MOST];
    uint32_t lists[MOST][2][LOCALS];
    tw_rewrite_function functions[MOST];
    uint32_t region_count, function_count;
} choice;

static void choose_region(choice *c, const tw_nest *nest)
{
    tw_rewrite_region *r = &c->regions[c->region_count];
    uint32_t *live_ins = c->lists[c->region_count][0], *headers = c->lists[c->region_count][1];
    *r = (tw_rewrite_region){.func = nest->func,
                             .loop_offset = nest->loop_offset,
                             .nested = nest->nested,
                             .live_ins = live_ins,
                             .headers = headers};
    for (uint32_t i = 0; i < nest->local_count; i++) {
        if (nest->touched[i] & TW_NEST_WRITTEN && r->header_count < LOCALS) headers[r->header_count++] = i;
        else if ((nest->touched[i] & TW_NEST_TOUCHED) == TW_NEST_READ && i % 2 && r->live_in_count < LOCALS)
            live_ins[r->live_in_count++] = i;
    }
    c->region_count++;
}

static void choose(choice *c, const tw_wasm *module, tw_arena *arena)
{
    for (uint32_t func = module->imported_funcs; func < module->func_count; func++) {
        tw_reader reader;
        tw_instr instr;
        tw_nest nest;
        uint32_t locals;
        if (func % 2 && c->function_count < MOST) c->functions[c->function_count++].func = func;
        require(tw_wasm_code(module, func, &reader, &locals, NULL) == TW_OK);
        while (reader.at != reader.end) {
            require(tw_wasm_next(&reader, &instr, NULL) == TW_OK);
            if (instr.op != TW_OP_LOOP || c->region_count == MOST) continue;
            if (tw_wasm_nest(module, func, instr.offset, arena, &nest, NULL) == TW_OK) choose_region(c, &nest);
        }
    }
}

static void check_places(const tw_wasm *module, const tw_rewrite *rewrite, const tw_wasm *again)
{
    for (uint32_t func = again->imported_funcs; func < again->func_count; func++) {
        tw_reader reader;
        tw_instr instr;
        uint32_t locals, original;
        uint64_t offset;
        require(tw_wasm_code(again, func, &reader, &locals, NULL) == TW_OK);
        while (reader.at != reader.end) {
            require(tw_wasm_next(&reader, &instr, NULL) == TW_OK);
            if (!tw_offset_map_original(rewrite->map, func, instr.offset, &original, &offset)) continue;
            if (original == TW_NO_FUNCTION) require(offset < module->bytes.size); /* a segment's */
            if (original == TW_NO_FUNCTION) continue;
            const tw_func *f = &module->funcs[original];
            require(original < module->func_count && offset >= f->body_offset &&
                    offset < f->body_offset + f->body.size);
        }
    }
}

static void check_output(const tw_wasm *module, const tw_rewrite *rewrite)
{
    tw_wasm again;
    tw_wasm_limits limits = tw_wasm_default_limits;
    limits.memories = 2;
    if (!rewrite->bytes) return;
    require(tw_wasm_decode((tw_span){rewrite->bytes, rewrite->size}, &limits, &again, NULL) == TW_OK);
    require(tw_wasm_check_bodies(&again, &limits, NULL) == TW_OK);
    check_places(module, rewrite, &again);
    tw_wasm_free(&again);
}

static void rewrite_all(const tw_wasm *module, bool capturable)
{
    static choice c;
    tw_arena arena;
    tw_rewrite *rewrite;
    tw_error error;
    c.region_count = c.function_count = 0;
    tw_arena_init(&arena, TW_ARENA_NO_LIMIT);
    choose(&c, module, &arena);
    tw_rewrite_options options = {c.regions, c.region_count, c.functions, c.function_count, true, capturable};
    tw_status status = tw_rewrite_module(module, &options, &rewrite, &error);
    require(status == TW_OK || status == TW_REFUSED);
    if (status == TW_OK) {
        check_output(module, rewrite);
        tw_rewrite_free(rewrite);
    }
    tw_arena_free(&arena);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    tw_wasm module;
    if (tw_wasm_decode((tw_span){data, size}, NULL, &module, NULL) != TW_OK) return 0;
    if (tw_wasm_check_bodies(&module, NULL, NULL) == TW_OK) {
        rewrite_all(&module, false);
        rewrite_all(&module, true);
    }
    tw_wasm_free(&module);
    return 0;
}
