/* SPDX-License-Identifier: Apache-2.0 */
#ifndef TW_DISPATCH_DISTANCES_H
#define TW_DISPATCH_DISTANCES_H

/* Where no loop is parallel: how far the dependences of two neighbouring loops reach, so that the compile worker may find
 * wavefronts (decision 0013). Pure; no allocation; bounded work. */

#include "region/facts.h"
#include "region/plan.h"

/* Two loops, one in the other, around a body without loops; neither hands a scalar on, and the inner one's trips don't depend
 * on the outer's. The one with the most iterations. False: there is none. */
bool tw_pair_find(const tw_model *model, const tw_numbers *numbers, uint32_t *inner);

/* Writes facts->pair and its distances; facts has groups already. False, and no distances, when they aren't few and near. */
bool tw_distances_find(const tw_model *model, const tw_numbers *numbers, uint32_t inner, tw_facts *facts);

/* Whether wavefronts on so many threads should beat the original code, which must wait for each iteration's result before it can
 * begin the next: an estimate, in favour of the original. */
bool tw_fronts_pay(const tw_model *model, const tw_numbers *numbers, uint32_t inner, uint32_t threads);

#endif
