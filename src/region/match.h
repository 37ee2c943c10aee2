/* SPDX-License-Identifier: Apache-2.0 */
#ifndef TW_REGION_MATCH_H
#define TW_REGION_MATCH_H

/* Between reroll.c and remainder.c: whether two statements, or two steps of a sum, are the same but for where they are, and the
 * affines in which they may differ.
 *
 * A chain is what an iteration of an unrolled loop does to a carried scalar: c = ((c + a) + b) + … . Its spine is the values that
 * every way from the new value down to c passes; with U copies every (length / U)th of them is the scalar after one copy. */

#include "region/builder.h"

enum { TW_MATCH_LEAVES = 64, TW_MATCH_STATEMENTS = 64, TW_MATCH_CHAINS = 8 };

typedef struct tw_leaf { /* a pair of corresponding affines, of accesses or of values */
    bool is_access;
    uint32_t x, y;       /* accesses, or value nodes of kind AFFINE */
} tw_leaf;

typedef struct tw_leaves {
    tw_leaf items[TW_MATCH_LEAVES];
    uint32_t count;
} tw_leaves;

typedef struct tw_chain {
    uint32_t carried;
    uint32_t length;
    uint32_t *spine; /* [0] is the carried scalar, [length] its next value */
} tw_chain;

typedef struct tw_chains {
    tw_chain items[TW_MATCH_CHAINS];
    uint32_t count;
} tw_chains;

/* Items of a loop, all or some in a row, and what they do: stores, unguarded reads, and the loop's chains; nothing else. */
typedef struct tw_stretch {
    uint32_t loop;
    const tw_item *items;
    uint32_t item_count;
    uint32_t stores[TW_MATCH_STATEMENTS]; /* the stores' indices among the items */
    uint32_t store_count;
} tw_stretch;

typedef struct tw_match {
    const tw_builder *b;
    const tw_stretch *x, *y;
    /* within one loop: x is copy 0 and y copy `shift` of `copies` */
    const tw_chains *chains;
    uint32_t copies, shift;
    /* between loops: scalars that stand for each other */
    uint32_t hole_count, holes[TW_MATCH_CHAINS][2];
    tw_leaves *leaves;
} tw_match;

/* False when the items hold anything that isn't matched: loops, guarded reads, too much. */
bool tw_stretch_of(const tw_builder *b, uint32_t loop, uint32_t first, uint32_t count, tw_stretch *out);
/* All of the loop's carried scalars. False when one isn't a chain. */
bool tw_chains_of(const tw_builder *b, uint32_t loop, tw_chains *out);
/* The scalar before copy `copy`; after all of them for copy = copies. */
uint32_t tw_chain_at(const tw_chain *chain, uint32_t copy, uint32_t copies);
/* The value is such a point of some chain. */
bool tw_chains_hold(const tw_chains *chains, uint32_t copies, uint32_t value);

/* Both empty m->leaves first. x and y are indices among the stretches' items; or values, which themselves aren't looked up among
 * chains and holes. */
bool tw_match_stores(const tw_match *m, uint32_t x, uint32_t y);
bool tw_match_steps(const tw_match *m, uint32_t x, uint32_t y);

const tw_poly *tw_leaf_poly(const tw_builder *b, const tw_leaf *leaf, bool second);
uint64_t tw_leaf_offset(const tw_builder *b, const tw_leaf *leaf, bool second);
/* (y + its offset) - (x + its offset); NULL when they can't be compared. */
const tw_poly *tw_leaf_distance(const tw_builder *b, const tw_leaf *leaf);
tw_atom tw_match_counter(const tw_builder *b, uint32_t loop);
/* How far poly moves in one iteration of loop. */
const tw_poly *tw_match_stride(const tw_builder *b, const tw_poly *poly, uint32_t loop);
/* The read's index among the items; TW_NONE. */
uint32_t tw_stretch_item(const tw_stretch *stretch, uint32_t access);
/* No counter, nor what isn't known before the region begins. */
bool tw_match_only_symbols(const tw_builder *b, const tw_poly *poly);
/* A check that must hold for the model to be right. False when it surely doesn't, or the model is full. */
bool tw_match_check(tw_builder *b, uint32_t expr, uint32_t loop);

/* remainder.c: what follows `main`, an item of `parent`, and goes on where it ends becomes more trips of it. copies: of the body, which has been
 * rerolled. */
void tw_build_remainders(tw_builder *b, uint32_t parent, uint32_t main_item, uint32_t copies);
/* build.c: merges of values that have become one are that one. */
void tw_build_remerge(tw_builder *b);
/* build.c: whether control can come from `from` to `to` without another iteration of the loop around `from`. */
bool tw_build_reaches(tw_builder *b, tw_ir_block from, tw_ir_block to);
/* build.c: likewise, from any block of the loop, without another iteration of the one around it. */
bool tw_build_loop_reaches(tw_builder *b, tw_loop loop, tw_ir_block to);
/* build.c: `final` is `value` too when the last loops of its chain weren't entered: then it is their init. An edge from block
 * `from` that brings `value` must not be on a way through those loops. */
bool tw_build_falls_back(tw_builder *b, uint32_t final, uint32_t value, tw_ir_block from);

#endif
