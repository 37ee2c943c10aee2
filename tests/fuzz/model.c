/* SPDX-License-Identifier: Apache-2.0 */
/* A model's and its facts' text, which the compile worker gets from a pipe: refused, or a model whose text is stable. */
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "region/facts.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static char *print(const tw_model *model, const tw_facts *facts, size_t *size)
{
    tw_bytes out = {0};
    tw_model_print(model, &out);
    tw_facts_print(model, facts, &out);
    return tw_bytes_take(&out, size);
}

/* NULL when refused. */
static char *reprint(const char *text, size_t size, size_t *out_size)
{
    static tw_facts facts;
    tw_error error;
    tw_model *model;
    size_t model_size = tw_model_text_size(text, size);
    if (tw_model_parse(text, model_size, &model, &error)) return NULL;
    char *again = NULL;
    if (tw_facts_parse(model, text + model_size, size - model_size, &facts, &error) == TW_OK)
        again = print(model, &facts, out_size);
    tw_model_free(model);
    return again;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    size_t once_size, twice_size;
    char *once = reprint((const char *)data, size, &once_size);
    if (!once) return 0;
    char *twice = reprint(once, once_size, &twice_size);
    if (!twice || once_size != twice_size || memcmp(once, twice, once_size)) abort();
    free(once);
    free(twice);
    return 0;
}
