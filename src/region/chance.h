/* SPDX-License-Identifier: Apache-2.0 */
#ifndef TW_REGION_CHANCE_H
#define TW_REGION_CHANCE_H

/* Regions that can never pay, whatever the numbers: where offload must not cost anything they are left as they are. */

#include "analysis/analysis.h"
#include "region/model.h"
#include "region/refusals.h"

/* The loop has at most so many iterations each time; 0: not known. */
uint64_t tw_chance_most(tw_analysis *analysis, const tw_loops *loops, tw_loop loop);

/* TW_REFUSAL_NONE, or what every arrival would be refused with that brings more than a handful of iterations; detail then
 * says why. most: the outermost loop's iterations, or 0 where they aren't a number. */
tw_refusal tw_model_chance(const tw_model *model, uint64_t most, char detail[200]);

#endif
