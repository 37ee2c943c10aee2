/* SPDX-License-Identifier: Apache-2.0 */
#ifndef TW_REGION_DESCRIBE_H
#define TW_REGION_DESCRIBE_H

/* A model as pseudo-code for people; l5 is local 5, n0 the counter of loop 0. Not parsed by anyone. */

#include "region/model.h"

void tw_model_describe(const tw_model *model, unsigned indent, tw_bytes *out);

#endif
