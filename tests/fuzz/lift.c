/* SPDX-License-Identifier: Apache-2.0 */
/* Any module that the decoder lets through, valid or not: each function is lifted or refused. A module that isn't valid may
 * give IR that doesn't verify; what verifies survives analysis and jump threading. */
#include <stdlib.h>
#include <string.h>

#include "analysis/analysis.h"
#include "lift/lift.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

enum { MEMORY = 256 << 20, FUNCTIONS = 64 };

static void require(bool condition)
{
    if (!condition) abort();
}

static void check_function(const tw_wasm *module, uint32_t index)
{
    tw_error error = {0};
    tw_ir_func *func;
    tw_analysis *analysis;
    tw_bytes text = {0};
    bool changed;
    tw_status status = tw_lift(module, index, MEMORY, &func, &error);
    if (status != TW_OK) {
        require(error.status == status && status != TW_INTERNAL && error.message[0] && error.function == index);
        return;
    }
    if (tw_ir_verify(func, module, &error) == TW_OK) {
        require(tw_analysis_new(func, MEMORY, &analysis, &error) == TW_OK);
        tw_analysis_print(analysis, &text);
        tw_analysis_free(analysis);
        tw_bytes_free(&text);
        require(tw_thread_jumps(func, &changed, &error) == TW_OK);
        require(tw_ir_verify(func, module, &error) == TW_OK);
    }
    tw_ir_func_free(func);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    tw_wasm module;
    if (tw_wasm_decode((tw_span){data, size}, NULL, &module, NULL) != TW_OK) return 0;
    if (tw_wasm_check_bodies(&module, NULL, NULL) == TW_OK)
        for (uint32_t i = module.imported_funcs; i < module.func_count && i < module.imported_funcs + FUNCTIONS; i++)
            check_function(&module, i);
    tw_wasm_free(&module);
    return 0;
}
