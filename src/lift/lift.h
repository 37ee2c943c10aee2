/* SPDX-License-Identifier: Apache-2.0 */
#ifndef TW_LIFT_LIFT_H
#define TW_LIFT_LIFT_H

/* One wasm function → SSA. The module has passed tw_wasm_check_bodies and the engine's validation; still, on
 * anything unexpected lift fails (TW_INVALID) rather than misreads. Dead code is skipped. Trivial block parameters are
 * removed, constants and simple integer identities folded. Cost is linear in the body but for the SSA construction. */

#include "ir/ir.h"

/* Free with tw_ir_func_free. TW_LIMIT when the function would need more than memory_limit bytes. */
tw_status tw_lift(const tw_wasm *module, uint32_t func, size_t memory_limit, tw_ir_func **out, tw_error *error);

#endif
