/* SPDX-License-Identifier: Apache-2.0 */
/* tw-survey MODULE.wasm [ir|model|describe]: what the region builder makes of a module, without the rest of the runtime. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "analysis/analysis.h"
#include "lift/lift.h"
#include "region/describe.h"
#include "region/plan.h"
#include "region/region.h"

static uint8_t *read_file(const char *path, size_t *size)
{
    FILE *file = fopen(path, "rb");
    if (!file) return NULL;
    uint8_t *bytes = NULL;
    if (!fseek(file, 0, SEEK_END)) {
        long length = ftell(file);
        rewind(file);
        bytes = length > 0 ? malloc((size_t)length) : NULL;
        *size = bytes ? fread(bytes, 1, (size_t)length, file) : 0;
    }
    fclose(file);
    return bytes;
}

static void print_ir(const tw_wasm *module, tw_bytes *out)
{
    for (uint32_t f = module->imported_funcs; f < module->func_count; f++) {
        tw_ir_func *func;
        tw_analysis *analysis;
        tw_error error;
        if (tw_lift(module, f, 1 << 28, &func, &error) != TW_OK) {
            tw_bytes_printf(out, "func %u: %s\n", f, error.message);
            continue;
        }
        tw_ir_print(func, out);
        if (tw_analysis_new(func, 1 << 28, &analysis, NULL) == TW_OK) {
            tw_analysis_print(analysis, out);
            tw_analysis_free(analysis);
        }
        tw_ir_func_free(func);
    }
}

static void print_region(const tw_model *model, const char *form, tw_bytes *out)
{
    if (!strcmp(form, "model")) tw_model_print(model, out);
    if (strcmp(form, "describe")) return;
    tw_bytes_printf(out, "\n%s\n", model->name);
    tw_model_describe(model, 2, out);
    tw_plan_print(model, out);
}

/* With the scalars read back that memory has as well. */
static void print_other(const tw_model *model, const char *form, tw_bytes *out)
{
    if (!strcmp(form, "model")) tw_model_print(model, out);
    if (strcmp(form, "describe")) return;
    tw_bytes_printf(out, "\n%s, scalars read back from memory\n", model->name);
    tw_model_describe(model, 2, out);
}

int main(int argc, char **argv)
{
    size_t size = 0;
    tw_wasm module;
    tw_error error;
    tw_survey *survey;
    tw_bytes out = {0};
    uint8_t *bytes = argc > 1 ? read_file(argv[1], &size) : NULL;
    if (!bytes) return fprintf(stderr, "usage: tw-survey MODULE.wasm [ir|model|describe]\n"), 2;
    if (tw_wasm_decode((tw_span){bytes, size}, NULL, &module, &error) != TW_OK ||
        tw_wasm_check_bodies(&module, NULL, &error) != TW_OK || tw_survey_new(&module, NULL, 3, &survey, &error) != TW_OK)
        return fprintf(stderr, "%s\n", error.message), 1;
    if (argc > 2 && !strcmp(argv[2], "ir")) print_ir(&module, &out);
    tw_survey_print(survey, &module, &out);
    for (uint32_t r = 0; r < survey->region_count; r++) {
        print_region(survey->regions[r].model, argc > 2 ? argv[2] : "", &out);
        if (survey->regions[r].other) print_other(survey->regions[r].other, argc > 2 ? argv[2] : "", &out);
    }
    if (out.data) fputs(out.data, stdout);
    tw_bytes_free(&out);
    tw_survey_free(survey);
    tw_wasm_free(&module);
    free(bytes);
    return 0;
}
