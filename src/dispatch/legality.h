/* SPDX-License-Identifier: Apache-2.0 */
#ifndef TW_DISPATCH_LEGALITY_H
#define TW_DISPATCH_LEGALITY_H

/* One arrival's numbers → facts: which loops are parallel, which accesses may touch common bytes, which strides are 1 or 0.
 * An access is a byte interval everywhere. Pure; no allocation; bounded work. */

#include "region/facts.h"
#include "region/plan.h"
#include "region/refusals.h"

typedef struct tw_legality {
    tw_refusal refusal; /* NONE: a kernel may run */
    char detail[200];   /* for a refusal: the two accesses or the scalar, and the distance */
    bool is_serial;     /* refused for no other reason than that no loop is parallel */
} tw_legality;

/* Writes *facts in any case (canonical_nan and checked are left false). The numbers must not be refused. */
void tw_legality_find(const tw_model *model, const tw_numbers *numbers, tw_facts *facts, tw_legality *out);

/* What holds in weak holds in strong (trip hints aside): a kernel compiled for weak may run where strong was found. */
bool tw_facts_imply(const tw_model *model, const tw_facts *strong, const tw_facts *weak);

#endif
