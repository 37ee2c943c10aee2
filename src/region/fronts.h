/* SPDX-License-Identifier: Apache-2.0 */
#ifndef TW_REGION_FRONTS_H
#define TW_REGION_FRONTS_H

/* Which loops may run in wavefronts, as far as a model says, and what that is worth. Where each iteration waits for the one
 * before, a processor does one at a time; along a front it does several, and several processors may. Numbers decide the rest:
 * dispatch/distances.h. */

#include "region/model.h"

/* The loop and the one around it are a pair that may have fronts: around a body without loops, neither hands a scalar on, and the
 * inner one's trips don't depend on the outer's counter (varies: they differ from one entry to another). */
bool tw_fronts_pair(const tw_model *model, uint32_t inner, bool varies);

/* Cycles, roughly, that an iteration of the inner loop must wait for an earlier one. lags: by access, after how many iterations
 * it reads what a store wrote, 0 for never; NULL: every read after one. */
double tw_fronts_wait(const tw_model *model, uint32_t inner, const uint8_t *lags);
/* Cycles, roughly, of an iteration in a front, on one processor. */
double tw_fronts_work(const tw_model *model, uint32_t inner);

/* Some pair might gain on one processor if every read had to wait. */
bool tw_fronts_promise(const tw_model *model);

#endif
