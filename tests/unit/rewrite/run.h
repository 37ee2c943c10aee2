/* SPDX-License-Identifier: Apache-2.0 */
#ifndef TW_TEST_RUN_H
#define TW_TEST_RUN_H

/* Rewritten modules in another engine (wabt's interpreter): the stub table is filled by text added to what wasm2wat says,
 * with stubs written in wasm. */
#include "../wasm/wat.h"

#include "rewrite/rewrite.h"

#define REWRITTEN "--enable-tail-call --enable-multi-memory --enable-relaxed-simd --enable-extended-const"

static inline void decode_ok(bytes b, tw_wasm *module)
{
    tw_error error;
    if (tw_wasm_decode((tw_span){b.data, b.size}, NULL, module, &error) != TW_OK ||
        tw_wasm_check_bodies(module, NULL, &error) != TW_OK)
        fail_msg("%s", error.message);
}

/* Offsets of a function's loops in code order; returns how many. */
static inline uint32_t loops_of(const tw_wasm *module, uint32_t func, uint64_t *offsets, uint32_t most)
{
    tw_reader reader;
    tw_instr instr;
    uint32_t locals, count = 0;
    assert_int_equal(tw_wasm_code(module, func, &reader, &locals, NULL), TW_OK);
    while (reader.at != reader.end) {
        assert_int_equal(tw_wasm_next(&reader, &instr, NULL), TW_OK);
        if (instr.op == TW_OP_LOOP && count < most) offsets[count++] = instr.offset;
    }
    return count;
}

/* What the exports of a module print when they are all run, "tw:" ones left out. Free .data. */
static inline bytes run_exports(const void *data, size_t size)
{
    bytes all = tool("timeout 30 wasm-interp", REWRITTEN " --run-all-exports", data, size, NULL);
    bytes kept = {malloc(all.size + 1), 0};
    for (char *line = strtok((char *)all.data, "\n"); line; line = strtok(NULL, "\n")) {
        if (strncmp(line, "tw:", 3) == 0) continue;
        kept.size += (size_t)sprintf((char *)kept.data + kept.size, "%s\n", line);
    }
    kept.data[kept.size] = 0;
    free(all.data);
    return kept;
}

static inline void write_params(FILE *out, const char *keyword, const uint8_t *types, uint32_t count)
{
    if (!count) return;
    fprintf(out, " (%s", keyword);
    for (uint32_t i = 0; i < count; i++) fprintf(out, " %s", tw_type_name((tw_type)types[i]));
    fprintf(out, ")");
}

/* The rewritten module with its stub table filled: slot 0 notes that the region is installed, the others run the text that
 * `stub` writes (the inside of a function of the site's type). */
typedef void (*stub_writer)(FILE *out, const tw_rewrite_site *site, uint32_t number);
static inline bytes with_stubs(const tw_rewrite *rewrite, uint32_t func_count, stub_writer stub)
{
    bytes text = tool("wasm2wat", REWRITTEN, rewrite->bytes, rewrite->size, NULL);
    char *end = strrchr((char *)text.data, ')');
    assert_non_null(end);
    *end = 0;
    char *result;
    size_t size;
    FILE *out = open_memstream(&result, &size);
    fputs((char *)text.data, out);
    fprintf(out, "\n(func (param i32)");
    for (uint32_t i = 0; i < rewrite->site_count; i++)
        if (rewrite->sites[i].status == TW_OK)
            fprintf(out, " local.get 0 i32.const %u i32.eq if i32.const 1 global.set %u end", i,
                    rewrite->sites[i].installed);
    fprintf(out, ")\n");
    uint32_t next = func_count + 1;
    fprintf(out, "(elem (table %u) (i32.const 0) func %u)\n", rewrite->stub_table, func_count);
    for (uint32_t i = 0; i < rewrite->site_count; i++) {
        const tw_rewrite_site *site = &rewrite->sites[i];
        if (site->status != TW_OK) continue;
        fprintf(out, "(func");
        write_params(out, "param", site->params, site->param_count);
        write_params(out, "result", site->results, site->result_count);
        fprintf(out, " ");
        stub(out, site, i);
        fprintf(out, ")\n(elem (table %u) (i32.const %u) func %u)\n", rewrite->stub_table, site->slot, next++);
    }
    fprintf(out, ")\n");
    fclose(out);
    bytes module = wat(REWRITTEN, result);
    free(result);
    free(text.data);
    return module;
}

/* "Not now", and the next question soon. */
static inline void echo_stub(FILE *out, const tw_rewrite_site *site, uint32_t number)
{
    fprintf(out, "i32.const 0");
    for (uint32_t i = site->param_count + 2 - site->result_count; i < site->param_count; i++)
        fprintf(out, " local.get %u", i);
    fprintf(out, " i64.const %u", number % 3 + 1);
}

static inline uint32_t rewritten_funcs(const tw_rewrite *rewrite)
{
    tw_wasm module;
    tw_wasm_limits limits = tw_wasm_default_limits;
    tw_error error;
    limits.memories = 2;
    if (tw_wasm_decode((tw_span){rewrite->bytes, rewrite->size}, &limits, &module, &error) != TW_OK ||
        tw_wasm_check_bodies(&module, &limits, &error) != TW_OK)
        fail_msg("%s", error.message);
    uint32_t count = module.func_count;
    tw_wasm_free(&module);
    return count;
}

#endif
