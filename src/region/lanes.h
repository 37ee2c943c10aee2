/* SPDX-License-Identifier: Apache-2.0 */
#ifndef TW_REGION_LANES_H
#define TW_REGION_LANES_H

/* Vectors become their lanes while a nest is cut out: a v128 operation is as many scalar ones, a v128 load as many loads side by
 * side. The copies that come of it are an unrolled body like any other, which reroll.c makes one statement again: the guest's vector
 * width is gone, and kernels have the host's.
 *
 * A v128 has no type of its own: each value gets a shape, from what makes it or else from what uses it; a use that wants another
 * shape converts, bits unchanged. Lanes of 8 and 16 bits are i32s with the upper bits 0. Floats never change bits: what moves
 * lanes doesn't compute with them. */

#include "ir/ir.h"
#include "region/refusals.h"

typedef struct tw_lanes tw_lanes;

typedef struct tw_lanes_options {
    const tw_ir_func *from;
    tw_ir_func *to;
    tw_arena *arena;                                        /* scratch */
    tw_ir_value (*scalar)(void *context, tw_ir_value value); /* of `from` → of `to`; 0: can't be had */
    void *context;
} tw_lanes_options;

/* NULL when out of memory. Lives in options->arena. */
tw_lanes *tw_lanes_new(const tw_lanes_options *options);
/* Lanes of a block parameter, and their type; made known with tw_lanes_bind. */
uint32_t tw_lanes_count(const tw_lanes *lanes, tw_ir_value value, tw_type *type);
void tw_lanes_bind(tw_lanes *lanes, tw_ir_value value, tw_ir_value first);
/* A v128 among its operands or results. */
bool tw_lanes_concern(const tw_ir_func *func, const tw_ir_inst *inst);
/* The instruction's scalar ones at the end of block `to`. A scalar result is *result (else 0). False with *why (static) when that
 * can't be. */
bool tw_lanes_split(tw_lanes *lanes, tw_ir_block to, const tw_ir_inst *inst, tw_ir_value *result, const char **why);
/* A v128's lanes in the shape that parameter `like` has. False when they can't be had. */
bool tw_lanes_get(tw_lanes *lanes, tw_ir_block to, tw_ir_value value, tw_ir_value like, tw_ir_value *out);

#endif
