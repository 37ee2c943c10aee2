/* SPDX-License-Identifier: Apache-2.0 */
#ifndef TW_REGION_GUARDED_H
#define TW_REGION_GUARDED_H

/* Conversions of floats to integers that can't trap, since the branches on the way to them see to that: compilers without the saturating
 * instructions write each cast so.
 *
 *   b: branch f64.lt(f64.abs(x), 2^31), then, else        then: i32.trunc_f64_s x
 *
 * In the function that is analysed they become saturating ones, which give the same wherever the branch leads to them and can be
 * made where it doesn't. */

#include "analysis/cfg.h"

void tw_take_guarded(tw_ir_func *func, const tw_cfg *cfg);

#endif
