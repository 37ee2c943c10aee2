/* SPDX-License-Identifier: Apache-2.0 */
#ifndef TW_REGION_WORTH_H
#define TW_REGION_WORTH_H

/* Which regions aren't worth a twin where offload must pay: compiling the twin of a large function costs every start of the
 * program, whether its loop is ever reached or not. Looks at models alone, before any number is known. */

#include "region/region.h"

/* By region of the survey: NULL, or in words why it should be left alone. */
void tw_survey_doubts(const tw_wasm *module, const tw_survey *survey, const char **why);

#endif
