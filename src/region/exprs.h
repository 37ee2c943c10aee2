/* SPDX-License-Identifier: Apache-2.0 */
#ifndef TW_REGION_EXPRS_H
#define TW_REGION_EXPRS_H

/* Building a model's exprs: interned (equal nodes are one node), constants folded. All return TW_NONE when the model is
 * full or out of memory, and when an argument is TW_NONE: chains look once, at the end. */

#include "analysis/trip.h"
#include "region/model.h"

uint32_t tw_expr_const(tw_model *model, uint8_t bits, uint64_t value);
uint32_t tw_expr_symbol(tw_model *model, uint32_t symbol);
uint32_t tw_expr_counter(tw_model *model, uint8_t bits, uint32_t loop);
/* b = TW_NONE for unary operations. bits: of the result. */
uint32_t tw_expr_op(tw_model *model, tw_op op, uint8_t bits, uint32_t a, uint32_t b);
uint32_t tw_expr_select(tw_model *model, uint32_t condition, uint32_t yes, uint32_t no);
/* access: the inspected access that stands for it. */
uint32_t tw_expr_load(tw_model *model, tw_op op, uint8_t bits, uint32_t address, uint64_t offset, uint32_t access);
/* False when op isn't an integer compare. */
bool tw_expr_compare(tw_op op, tw_compare *out);
/* bits: 32 or 64. */
tw_op tw_expr_compare_op(tw_compare compare, uint8_t bits);
uint32_t tw_expr_trips(tw_model *model, tw_op compare, uint8_t bits, uint32_t start, uint32_t step, uint32_t bound);

/* a + b, a * b in `bits` bits. */
uint32_t tw_expr_add(tw_model *model, uint8_t bits, uint32_t a, uint32_t b);
uint32_t tw_expr_mul(tw_model *model, uint8_t bits, uint32_t a, uint32_t b);
/* a == b as 0 or 1. */
uint32_t tw_expr_equal(tw_model *model, uint8_t bits, uint32_t a, uint32_t b);
bool tw_expr_is_const(const tw_model *model, uint32_t expr, uint64_t *value);

#endif
