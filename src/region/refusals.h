/* SPDX-License-Identifier: Apache-2.0 */
#ifndef TW_REGION_REFUSALS_H
#define TW_REGION_REFUSALS_H

typedef enum tw_refusal {
#define TW_REFUSAL(id, name, meaning, change) TW_REFUSAL_##id,
#include "region/refusals.def"
#undef TW_REFUSAL
    TW_REFUSAL_COUNT
} tw_refusal;

/* Static strings; refusal < TW_REFUSAL_COUNT. */
const char *tw_refusal_name(tw_refusal refusal);
const char *tw_refusal_meaning(tw_refusal refusal);
const char *tw_refusal_change(tw_refusal refusal);
/* TW_REFUSAL_COUNT when there is none of that name. */
tw_refusal tw_refusal_from_name(const char *name);

#endif
