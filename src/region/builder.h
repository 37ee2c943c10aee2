/* SPDX-License-Identifier: Apache-2.0 */
#ifndef TW_REGION_BUILDER_H
#define TW_REGION_BUILDER_H

/* From a cut to a model, in steps of which all but the first share one builder:
 *
 *   rotate.c   (on the cut) loops left in their middle become loops left at their end
 *   build.c    walks the loops' blocks in order: items, guards, values; addresses and trip counts stay polynomials
 *   indirect.c what of an address follows from data
 *   limits.c   what was taken for granted of ways out that end in a trap
 *   recall.c   for a second model only: scalars that memory has as well are read from there
 *   reroll.c, remainder.c (match.h)
 *              unrolled bodies and main + remainder loops become one statement on a finer domain
 *   finish.c   if-loops whose condition varies become predicates again; polynomials become affines; what nothing uses any more is
 *              dropped
 *
 * Inside the builder a loop's counter is the COUNTER atom of the cut's loop that it came from. */

#include "analysis/analysis.h"
#include "region/bounds.h"
#include "region/exprs.h"
#include "region/extract.h"
#include "region/model.h"

/* The path condition of a block within its innermost loop: a chain of branch conditions that must hold. NULL: always. */
typedef struct tw_guard {
    const struct tw_guard *parent;
    uint32_t value;    /* 0/1, of the model; TW_NONE until asked for */
    uint32_t expr;     /* plan-computable condition (any i32), or TW_NONE */
    tw_ir_value condition;
    bool side;         /* taken when the condition is ≠ 0 */
    bool is_or;        /* not a branch: `value` is all there is */
} tw_guard;

typedef struct tw_builder {
    const tw_ir_func *func; /* of the cut */
    const tw_cut *cut;
    tw_analysis *analysis;
    const tw_cfg *cfg;
    const tw_loops *loops;
    tw_model *model;
    tw_arena *arena;        /* scratch */
    tw_reason *reason;
    uint32_t *value;        /* IR value → model value; TW_NONE */
    uint32_t *expr;         /* opaque IR value → expr; TW_NONE = not tried, TW_NONE - 1 = can't */
    const tw_poly **merge;  /* merge parameter → polynomial */
    uint8_t *merge_tried;
    uint8_t *loads;         /* IR value → made of loads? */
    uint8_t *moves;         /* IR value → made of a load whose address changes? indirect.c's */
    uint32_t *loop_of;      /* cut's loop → model's */
    uint32_t *arrivals;     /* cut's loop → expr: header arrivals in one entry, 0 when it isn't entered */
    uint8_t *top_tested;    /* cut's loop: left at its header; loop 0: or in its middle */
    tw_loop natural[TW_MODEL_MAX_LOOPS]; /* model's loop → cut's; TW_NO_LOOP for an if or a merged loop's leftover */
    uint32_t if_value[TW_MODEL_MAX_LOOPS]; /* model's if-loop → its condition as a 0/1 value */
    bool merged_under[TW_MODEL_MAX_LOOPS]; /* model's counted loop: has trips that only count where the if-loops around it hold */
    const tw_poly **affine; /* model's affine → polynomial */
    uint32_t *affine_loop;  /* and the model's loop it is seen from */
    const tw_guard **guard; /* block → guard */
    uint8_t *guard_known;
    bool use_ifs;           /* plan-decided branches become if-loops; else predicates */
    uint32_t depth;         /* recursion guard */
} tw_builder;

/* Whether a look at the function's own loops, before any is cut out, leaves hope for this one: its shape, that of the loops
 * inside, and that it holds nothing but computation and memory. Cheap. */
bool tw_build_promises(tw_analysis *analysis, tw_loop loop, tw_reason *reason);
/* Fills b->model (empty, with name, func, place set) from b->cut, b->analysis. False with *b->reason. */
bool tw_build_draft(tw_builder *b);
/* limits.c: what the cut's function assumes becomes the model's limits. */
bool tw_build_limits(tw_builder *b);
/* Some limit moves with the loop's counter, which must then keep its meaning. */
bool tw_build_is_limited(const tw_builder *b, uint32_t loop);
/* `rest` becomes further trips of `main`, counter 0 of the one being trip `first` of the other: its limits become main's. False:
 * no room, and nothing has changed. */
bool tw_build_hand_on_limits(tw_builder *b, uint32_t rest, uint32_t main, const tw_poly *(*first)(const void *context, uint8_t bits),
                             const void *context);
/* recall.c, for a second model: scalars that memory has as well are read from there. False: out of room, give the model up. */
bool tw_build_recall(tw_builder *b, bool *any);
/* If-loops around nothing but loops go. */
void tw_build_collapse_ifs(tw_builder *b);
/* Never fails: what doesn't match stays as it is. */
void tw_build_reroll(tw_builder *b);
bool tw_build_finish(tw_builder *b);

/* ---- shared by the steps ---- */
/* Polynomial with merge parameters resolved, as far as they can be. NULL when out of memory. */
const tw_poly *tw_build_resolve(tw_builder *b, const tw_poly *poly);
/* The value as seen from scope, with merge parameters resolved as far as they can be. NULL when out of memory. */
const tw_poly *tw_build_evolve(tw_builder *b, tw_ir_value value, tw_loop scope);
/* A load is among the operations that make it; parameters end the search. */
bool tw_build_made_of_loads(tw_builder *b, tw_ir_value value);
/* An operation or constant of the model. TW_NONE, with a refusal, when there is no room. */
uint32_t tw_build_op(tw_builder *b, tw_op op, uint8_t type, uint32_t x, uint32_t y);
uint32_t tw_build_const(tw_builder *b, uint8_t type, uint64_t bits);
/* The model's value for an IR value as seen from scope. TW_NONE when there is none. */
uint32_t tw_build_use(tw_builder *b, tw_ir_value value, tw_loop scope);
/* TW_NONE when the plan can't compute it. */
uint32_t tw_build_expr(tw_builder *b, const tw_poly *poly);
/* The model's affine for poly as seen from its loop. TW_NONE with a refusal when there is no room. */
uint32_t tw_build_affine(tw_builder *b, const tw_poly *poly, uint32_t loop);
/* indirect.c: what of an address or a compare's side follows from data becomes *index, with its bounds, and *poly is the rest; where there is
 * no such thing, or nothing bounds it, *index is TW_NONE. False with a refusal. */
bool tw_build_index(tw_builder *b, const tw_poly **poly, tw_loop scope, uint32_t *index, tw_bounds *bounds);
bool tw_build_new_loop(tw_builder *b, uint32_t parent, uint32_t *out);
bool tw_build_add_item(tw_builder *b, uint32_t loop, tw_item item);
/* Puts the items of the if-loop that is item `at` of `loop` in its place; counted loops among them move to `loop`, if-loops also
 * take the condition over. The if-loop is left empty. */
bool tw_build_splice(tw_builder *b, uint32_t loop, uint32_t at);

#endif
