/* SPDX-License-Identifier: Apache-2.0 */
#ifndef TW_REGION_BOUNDS_H
#define TW_REGION_BOUNDS_H

/* Bounds of a model's integer values that hold whatever the numbers and whatever is in memory: what a byte that was loaded,
 * a mask, a shift or a remainder leave possible. They are what makes an indirect read safe, so the verifier finds them anew.
 *
 * Interval arithmetic on signed numbers, once through the values in their order; a result that may wrap can be anything. A select
 * whose condition compares the value picked with a constant knows more (a clamp). */

#include "region/model.h"

typedef struct tw_bounds {
    int64_t least, most; /* of the value read as a signed number of its type; the type's whole range when nothing is known */
} tw_bounds;

/* bounds: as many as the model has values. Arguments must have lower numbers than their operations. */
void tw_bounds_find(const tw_model *model, tw_bounds *bounds);

#endif
