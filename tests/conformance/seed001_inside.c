/* SPDX-License-Identifier: Apache-2.0 */

/* What the public header can't show: the hot function's sum comes from the kernel alone. Its original body is in the module that
 * runs no more; when there is no kernel to answer, the guest traps as if it were `unreachable`. */

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>

#include <cmocka.h>

#include "engine/engine.h"
#include "hot.h"
#include "region/region.h"
#include "rewrite/rewrite.h"

static tw_wasm decode(tw_span bytes)
{
    tw_wasm module;
    tw_error error;
    if (tw_wasm_decode(bytes, NULL, &module, &error) != TW_OK) fail_msg("%s", error.message);
    return module;
}

/* How often the op stands in the module's bodies. */
static int count(const tw_wasm *module, tw_op op)
{
    int found = 0;
    for (uint32_t f = module->imported_funcs; f < module->func_count; f++) {
        tw_arena arena;
        tw_arena_init(&arena, TW_ARENA_NO_LIMIT);
        tw_reader reader;
        const uint8_t *locals;
        uint32_t local_count;
        tw_instr instr;
        tw_error error;
        assert_int_equal(tw_wasm_body(module, f, &arena, &reader, &locals, &local_count, &error), TW_OK);
        while (reader.at < reader.end && tw_wasm_next(&reader, &instr, &error) == TW_OK) found += instr.op == op;
        tw_arena_free(&arena);
    }
    return found;
}

static void the_hot_function_has_no_body_but_the_kernel(void **state)
{
    (void)state;
    tw_error error;
    tw_bytes binary = {0};
    tw_survey *survey;
    tw_rewrite *rewrite;
    assert_int_equal(tw_core_assemble(hot_add(), strlen(hot_add()), &binary, &error), TW_OK);
    tw_wasm module = decode((tw_span){(uint8_t *)binary.data, binary.size});
    const tw_detector_options detector = {.enabled = true, .v128_ratio_threshold = 0.05, .min_trip_count = 64};
    assert_int_equal(tw_survey_new(&module, &detector, 1, &survey, &error), TW_OK);
    assert_int_equal(survey->region_count, 1);
    assert_true(survey->regions[0].whole_function);
    const tw_rewrite_function whole = {.func = survey->regions[0].func};
    const tw_rewrite_options options = {.functions = &whole, .function_count = 1};
    assert_int_equal(tw_rewrite_module(&module, &options, &rewrite, &error), TW_OK);
    tw_wasm rewritten = decode((tw_span){rewrite->bytes, rewrite->size});
    assert_int_equal(count(&module, TW_OP_I32X4_ADD), HOT_STEPS);
    assert_int_equal(count(&rewritten, TW_OP_I32X4_ADD), 0);
    assert_int_equal(count(&rewritten, TW_OP_I32_ADD), 0);
    tw_wasm_free(&rewritten);
    tw_rewrite_free(rewrite);
    tw_survey_free(survey);
    tw_wasm_free(&module);
    tw_bytes_free(&binary);
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(the_hot_function_has_no_body_but_the_kernel)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
