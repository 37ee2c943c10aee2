/* SPDX-License-Identifier: Apache-2.0 */
#ifndef TW_REGION_EXTRACT_H
#define TW_REGION_EXTRACT_H

/* Cuts a loop nest out of its function, as the rewrite will cut it out of the bytecode: a function whose parameters are
 * the locals that the stub passes, and which jumps straight to the loop's header. Everything from outside is then
 * a parameter, so analysis of the cut speaks of one arrival, wherever in the loop it happens. */

#include "analysis/analysis.h"
#include "region/refusals.h"
#include "wasm/nest.h"

typedef struct tw_cut {
    tw_ir_func *func;     /* params: live-ins, then headers; the only loops are the nest's; exits return nothing */
    uint32_t *locals;     /* by parameter of func: the local of the user's function */
    uint32_t live_in_count, header_count;
    uint64_t size;        /* bytes of its code */
    uint32_t exit;        /* number of the bytecode's exit that the loop is left through; 0: there are several */
    bool live_outs;       /* something that the nest leaves in a local is used after it */
    /* Where the exit's locals hold such values: by parameter of func, the value in func, or 0. */
    tw_ir_value *at_exit;
    bool exit_known;      /* at_exit has all of them */
} tw_cut;

/* A refusal with its sentence. */
typedef struct tw_reason {
    tw_refusal refusal;
    char detail[200];
} tw_reason;
bool tw_refuse(tw_reason *reason, tw_refusal refusal, const char *format, ...) __attribute__((format(printf, 3, 4)));

/* The loop's bytecode, in `arena`; false with *reason when it can't be cut out. It costs a walk over the function. */
bool tw_cut_nest(const tw_wasm *module, tw_analysis *analysis, tw_loop loop, tw_arena *arena, tw_nest *out, tw_reason *reason);
/* False with *reason when it can't be cut. The cut's arrays are in `arena`; func is the caller's to free. foreign: what
 * tw_cut_foreign says of the loop, or NULL to see whether it can be cut and modelled at all. stale: of tw_stale_locals. */
bool tw_cut_new(tw_analysis *analysis, tw_loop loop, const tw_nest *nest, const bool *stale, const bool *foreign, tw_arena *arena,
                tw_cut *out, tw_reason *reason);

/* By local, those that are read after the loop and leave it with a value that came from outside: live after it though no value
 * of the loop is. *out is NULL when there are none. It costs walks over the function, so ask last. In `arena`. */
bool tw_cut_foreign(const tw_wasm *module, tw_analysis *analysis, tw_loop loop, const tw_nest *nest, const bool *stale, tw_arena *arena,
                    bool **out, tw_reason *reason);

#endif
