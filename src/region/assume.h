/* SPDX-License-Identifier: Apache-2.0 */
#ifndef TW_REGION_ASSUME_H
#define TW_REGION_ASSUME_H

/* Facts without numbers, for looking at a region that nobody has run: what a usual arrival would establish. Never used to
 * run anything. */

#include "region/facts.h"

/* Assumes that accesses with different base addresses touch different arrays, and that rows don't overlap. */
void tw_facts_assume(const tw_model *model, tw_facts *out);

#endif
