/* SPDX-License-Identifier: Apache-2.0 */
/* Any text: parsed or refused with a place. What parses prints to a text that parses to the same print. What verifies
 * survives every analysis and pass, and verifies after each. */
#include <stdlib.h>
#include <string.h>

#include "analysis/analysis.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

enum { MEMORY = 256 << 20 };

static void require(bool condition)
{
    if (!condition) abort();
}

static void check_print(const tw_ir_func *func)
{
    tw_error error;
    tw_ir_func *again;
    tw_bytes first = {0}, second = {0};
    tw_ir_print(func, &first);
    require(tw_ir_parse(first.data, first.size, &again, &error) == TW_OK);
    tw_ir_print(again, &second);
    require(first.size == second.size && memcmp(first.data, second.data, first.size) == 0);
    tw_ir_func_free(again);
    tw_bytes_free(&first);
    tw_bytes_free(&second);
}

static void check_passes(tw_ir_func *func)
{
    tw_error error;
    tw_analysis *analysis;
    tw_bytes text = {0};
    bool changed;
    require(tw_analysis_new(func, MEMORY, &analysis, &error) == TW_OK);
    tw_analysis_print(analysis, &text);
    tw_analysis_free(analysis);
    tw_bytes_free(&text);
    require(tw_thread_jumps(func, &changed, &error) == TW_OK);
    require(tw_ir_verify(func, NULL, &error) == TW_OK);
    require(tw_ir_simplify(func, &error) == TW_OK);
    require(tw_ir_verify(func, NULL, &error) == TW_OK);
    check_print(func);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    tw_error error = {0};
    tw_ir_func *func;
    tw_status status = tw_ir_parse((const char *)data, size, &func, &error);
    if (status != TW_OK) {
        require(error.status == status && status != TW_INTERNAL && error.message[0]);
        require(error.offset == TW_NO_OFFSET || error.offset <= size);
        return 0;
    }
    check_print(func);
    if (tw_ir_verify(func, NULL, &error) == TW_OK) check_passes(func);
    tw_ir_func_free(func);
    return 0;
}
