/* SPDX-License-Identifier: Apache-2.0 */
#ifndef TW_REGION_MODULE_H
#define TW_REGION_MODULE_H

/* A survey is put together from those of its functions, which know nothing of one another: several threads take one each,
 * and the parts are joined in the order of the functions, so that the result is the same whatever their number. */

#include "region/region.h"

/* The survey of one function; *out is NULL when there is nothing to look at. False: out of memory. Threads may share `module`. */
bool tw_survey_function(const tw_wasm *module, uint32_t func, const tw_detector_options *detector, tw_survey **out);

#endif
