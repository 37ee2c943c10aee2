/* SPDX-License-Identifier: Apache-2.0 */
#ifndef TW_ANALYSIS_POLY_H
#define TW_ANALYSIS_POLY_H

/* Polynomials modulo 2^32 or 2^64 over atoms: what every address and every bound of a loop is reduced to.
 *
 * In this ring add, sub, mul and shl may be done in any order with the same result, so two ways to write one
 * address come out equal and intermediate wraps don't matter. Normal form: terms sorted by their atoms, no two
 * with the same atoms, coefficients reduced modulo 2^bits and not 0. So equality is structural. (It is sound, not
 * complete: 2^31*x*x and 2^31*x are equal functions modulo 2^32 and different polynomials.)
 *
 * An atom stands for an integer: an IR value (of either width: in a 32-bit polynomial an i64 atom counts by its
 * low half), or a count of a loop, which is a natural number without wrap.
 *
 * Polynomials are immutable and live in the arena they were made in. Every operation returns NULL when out of
 * memory or over a cap (terms, degree), and when an operand is NULL: chains of operations look once, at the end. */

#include <stdbool.h>
#include <stdint.h>

#include "base/arena.h"
#include "base/bytes.h"

enum { TW_POLY_TERMS = 48, TW_POLY_DEGREE = 3 };

typedef enum tw_atom_kind {
    TW_ATOM_NONE,
    TW_ATOM_VALUE,    /* index: tw_ir_value. The value it has at the moment. */
    TW_ATOM_COUNTER,  /* index: tw_loop. Completed iterations: 0 the first time the header is reached */
    TW_ATOM_ARRIVALS, /* index: tw_loop. How often the header was reached during the loop's last entry; known once it has left */
} tw_atom_kind;

typedef uint64_t tw_atom; /* 0 = none; ordered as a number */
static inline tw_atom tw_atom_make(tw_atom_kind kind, uint32_t index) { return (uint64_t)kind << 32 | index; }
static inline tw_atom_kind tw_atom_kind_of(tw_atom atom) { return (tw_atom_kind)(atom >> 32); }
static inline uint32_t tw_atom_index(tw_atom atom) { return (uint32_t)atom; }

typedef struct tw_term {
    uint64_t coef;                 /* < 2^bits, not 0 */
    tw_atom atoms[TW_POLY_DEGREE]; /* descending; unused ones (0) last; the constant term has none */
} tw_term;

typedef struct tw_poly {
    uint8_t bits; /* 8 (tests), 32 or 64 */
    uint16_t term_count;
    tw_term terms[]; /* the constant term, if any, is first */
} tw_poly;

const tw_poly *tw_poly_const(tw_arena *arena, uint8_t bits, uint64_t value);
const tw_poly *tw_poly_atom(tw_arena *arena, uint8_t bits, tw_atom atom);
const tw_poly *tw_poly_add(tw_arena *arena, const tw_poly *a, const tw_poly *b); /* equal bits */
const tw_poly *tw_poly_sub(tw_arena *arena, const tw_poly *a, const tw_poly *b);
const tw_poly *tw_poly_mul(tw_arena *arena, const tw_poly *a, const tw_poly *b);
const tw_poly *tw_poly_neg(tw_arena *arena, const tw_poly *a);
const tw_poly *tw_poly_scale(tw_arena *arena, const tw_poly *a, uint64_t factor);
const tw_poly *tw_poly_copy(tw_arena *arena, const tw_poly *a);
/* The same polynomial modulo 2^bits, bits <= a->bits. */
const tw_poly *tw_poly_wrap(tw_arena *arena, const tw_poly *a, uint8_t bits);
/* Every occurrence of atom in a replaced by `by` (equal bits). */
const tw_poly *tw_poly_substitute(tw_arena *arena, const tw_poly *a, tw_atom atom, const tw_poly *by);

/* a == *coef * atom + *rest with atom in neither. False when atom occurs in a power above 1 (or on NULL): the
 * outputs are then unset. coef is the zero polynomial when atom doesn't occur. */
bool tw_poly_linear(tw_arena *arena, const tw_poly *a, tw_atom atom, const tw_poly **coef, const tw_poly **rest);
bool tw_poly_has(const tw_poly *a, tw_atom atom);
/* True when a has no atoms; *value is then its value. */
bool tw_poly_is_const(const tw_poly *a, uint64_t *value);
bool tw_poly_equal(const tw_poly *a, const tw_poly *b); /* false when either is NULL */
/* Value modulo 2^bits; `lookup` gives each atom's. */
uint64_t tw_poly_eval(const tw_poly *a, uint64_t (*lookup)(void *context, tw_atom atom), void *context);

/* "8*i2*v3 + v5 - 16": iN is COUNTER(N), nN is ARRIVALS(N); coefficients as signed numbers; "?" for NULL. */
void tw_poly_print(const tw_poly *a, tw_bytes *out);

#endif
