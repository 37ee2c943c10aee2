/* SPDX-License-Identifier: Apache-2.0 */
#include <string.h>

#include "region/refusals.h"
#include "tensorwasm/tensorwasm.h"

static const struct { const char *name, *text; } rows[] = {
#define TW_REFUSAL(id, name, meaning, change) {name, meaning ". What to change: " change "."},
#include "region/refusals.def"
#undef TW_REFUSAL
};

const char *tw_refusal_explain(const char *refusal)
{
    for (size_t i = 0; refusal && i < sizeof rows / sizeof *rows; i++)
        if (!strcmp(refusal, rows[i].name)) return rows[i].text;
    return NULL;
}

const char *tw_refusal_listed(size_t index) { return index < sizeof rows / sizeof *rows ? rows[index].name : NULL; }
