/* SPDX-License-Identifier: Apache-2.0 */

/* Random nests through the analysis alone, many a second: a survey of any valid module ends, and every model it makes is
 * well-formed and comes back from its text as it was. Prints how often loops are refused and why.
 *
 *   survey COUNT [START]     START: the first seed; another one each time when it is left out */

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "nest.h"
#include "region/region.h"

typedef struct tally {
    uint64_t nests, with_region, refusals[TW_REFUSAL_COUNT];
} tally;

static void fail(uint64_t seed, const char *what, const tw_error *error)
{
    printf("seed 0x%" PRIx64 ": %s: %s\n", seed, what, error->message);
    exit(1);
}

static void check_model(uint64_t seed, const tw_model *model)
{
    tw_error error = {.message = "the text changes"};
    tw_bytes first = {0}, second = {0};
    tw_model *copy;
    if (tw_model_verify(model, &error) != TW_OK) fail(seed, "a model isn't well-formed", &error);
    tw_model_print(model, &first);
    if (tw_model_parse(first.data, first.size, &copy, &error) != TW_OK)
        fail(seed, "a model's text can't be read", &error);
    tw_model_print(copy, &second);
    if (first.failed || second.failed || strcmp(first.data, second.data) != 0)
        fail(seed, "a model isn't its own text", &error);
    tw_model_free(copy);
    tw_bytes_free(&first);
    tw_bytes_free(&second);
}

static void survey_module(uint64_t seed, tw_span bytes, tally *sum)
{
    tw_error error;
    tw_wasm module;
    tw_survey *survey;
    const tw_detector_options off = {0};
    if (tw_wasm_decode(bytes, NULL, &module, &error) != TW_OK) fail(seed, "not decoded", &error);
    if (tw_survey_new(&module, &off, 1, &survey, &error) != TW_OK) fail(seed, "not surveyed", &error);
    for (uint32_t r = 0; r < survey->region_count; r++) check_model(seed, survey->regions[r].model);
    for (uint32_t l = 0; l < survey->loop_count; l++) sum->refusals[survey->loops[l].refusal]++;
    sum->nests++;
    sum->with_region += survey->region_count > 0;
    tw_survey_free(survey);
    tw_wasm_free(&module);
}

int main(int argc, char **argv)
{
    uint64_t count = argc > 1 ? strtoull(argv[1], NULL, 0) : 1000;
    uint64_t start = argc > 2 ? strtoull(argv[2], NULL, 0) : (uint64_t)time(NULL) << 20;
    printf("survey: start 0x%" PRIx64 "\n", start);
    fflush(stdout);
    static nest it;
    tally sum = {0};
    for (uint64_t i = 0; i < count; i++) {
        nest_generate(start + i, ALL_FEATURES, 0, &it);
        emit_func func;
        code out = {0};
        nest_write(&it, &func);
        emit_module(&out, &func, 1, MEMORY_PAGES);
        survey_module(start + i, (tw_span){out.data, out.size}, &sum);
        code_free(&func.body);
        code_free(&out);
    }
    printf("%" PRIu64 " nests, %" PRIu64 " of them with a region; loops:", sum.nests, sum.with_region);
    for (int r = 0; r < TW_REFUSAL_COUNT; r++)
        if (sum.refusals[r]) printf(" %s %" PRIu64, tw_refusal_name((tw_refusal)r), sum.refusals[r]);
    printf("\n");
    return 0;
}
