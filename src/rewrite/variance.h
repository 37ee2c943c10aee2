/* SPDX-License-Identifier: Apache-2.0 */
#ifndef TW_REWRITE_VARIANCE_H
#define TW_REWRITE_VARIANCE_H

/* What a value on the operand stack is made of, as far as it decides whether an address surely varies with what a loop
 * carries. "Varies" is meant formally: in the SSA form that the engine's optimiser sees, the value depends on a
 * loop-carried phi, and no simplification makes it stop doing so. Hence sums of different locals and invariants only,
 * shifted and masked in ways that can't cancel. Whatever isn't sure is "unknown". */

#include "wasm/module.h"

enum { TW_VARIANCE_LOOPS = 62 }; /* nested loops that can be told apart */

typedef struct tw_variance {
    uint64_t vary;   /* bit k: varies with what the k-th enclosing loop carries */
    uint64_t clean;  /* bit k: every local in it is carried evenly by that loop, or isn't written in it */
    uint64_t roots;  /* the locals in it, modulo 64 */
    uint8_t scale;   /* bits shifted out at the top so far; 32: only to be added to */
    bool is_const;
    int32_t constant;
    uint32_t local;  /* it is this local, as it was at the boundary `since`, + add; or UINT32_MAX */
    uint32_t since;
    int32_t add;
    bool plus_param; /* + a parameter that is never written, besides */
} tw_variance;

extern const tw_variance tw_variance_unknown;
tw_variance tw_variance_const(int32_t value);
/* The result of a binary i32 instruction. */
tw_variance tw_variance_binary(tw_op op, tw_variance a, tw_variance b);

#endif
