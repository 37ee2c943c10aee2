/* SPDX-License-Identifier: Apache-2.0 */
#include "region/refusals.h"

#include <string.h>

static const struct {
    const char *name, *meaning, *change;
} table[] = {
#define TW_REFUSAL(id, text, what, remedy) {text, what, remedy},
#include "region/refusals.def"
#undef TW_REFUSAL
};
_Static_assert(sizeof table / sizeof *table == TW_REFUSAL_COUNT, "a row a refusal");

const char *tw_refusal_name(tw_refusal refusal)
{
    return table[refusal].name;
}

const char *tw_refusal_meaning(tw_refusal refusal)
{
    return table[refusal].meaning;
}

const char *tw_refusal_change(tw_refusal refusal)
{
    return table[refusal].change;
}

tw_refusal tw_refusal_from_name(const char *name)
{
    int i = 0;
    while (i < TW_REFUSAL_COUNT && strcmp(table[i].name, name)) i++;
    return (tw_refusal)i;
}
