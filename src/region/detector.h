/* SPDX-License-Identifier: Apache-2.0 */
#ifndef TW_REGION_DETECTOR_H
#define TW_REGION_DETECTOR_H

/* The static detector: nominates whole functions by the share of vector instructions in their bodies. A nominated function
 * whose results are pure functions of its parameters becomes a region without loops, and its body a trampoline. */

#include "region/region.h"

bool tw_detector_nominates(const tw_wasm *module, uint32_t func, const tw_detector_options *options);
/* Adds the function's region; false when it can't be modelled (its loops may still be regions). */
bool tw_detector_add(const tw_wasm *module, uint32_t func, tw_survey *survey);

#endif
