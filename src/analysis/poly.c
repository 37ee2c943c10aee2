/* SPDX-License-Identifier: Apache-2.0 */
#include "analysis/poly.h"

#include <stdlib.h>
#include <string.h>

enum { MAX_PRODUCTS = 512 }; /* of two polynomials' term counts */

/* Terms on their way to a normal form. */
typedef struct draft {
    tw_term terms[MAX_PRODUCTS];
    uint32_t count;
} draft;

static uint64_t mask_of(uint8_t bits)
{
    return bits >= 64 ? UINT64_MAX : ((uint64_t)1 << bits) - 1;
}

static int compare_terms(const void *a, const void *b)
{
    const tw_term *x = a, *y = b;
    for (int i = 0; i < TW_POLY_DEGREE; i++)
        if (x->atoms[i] != y->atoms[i]) return x->atoms[i] < y->atoms[i] ? -1 : 1;
    return 0;
}

static bool is_sorted(const draft *d)
{
    for (uint32_t i = 1; i < d->count; i++)
        if (compare_terms(&d->terms[i - 1], &d->terms[i]) >= 0) return false;
    return true;
}

/* Sorts, adds up equal monomials, drops zeros. NULL over the cap. */
static const tw_poly *finish(tw_arena *arena, uint8_t bits, draft *d)
{
    uint32_t kept = 0;
    if (!is_sorted(d)) qsort(d->terms, d->count, sizeof *d->terms, compare_terms);
    for (uint32_t i = 0; i < d->count;) {
        tw_term term = d->terms[i++];
        while (i < d->count && compare_terms(&term, &d->terms[i]) == 0) term.coef += d->terms[i++].coef;
        term.coef &= mask_of(bits);
        if (term.coef) d->terms[kept++] = term;
    }
    if (kept > TW_POLY_TERMS) return NULL;
    tw_poly *poly = tw_arena_alloc(arena, sizeof *poly + kept * sizeof *poly->terms);
    if (!poly) return NULL;
    poly->bits = bits;
    poly->term_count = (uint16_t)kept;
    if (kept) memcpy(poly->terms, d->terms, kept * sizeof *poly->terms);
    return poly;
}

static const tw_poly *single(tw_arena *arena, uint8_t bits, uint64_t coef, tw_atom atom)
{
    coef &= mask_of(bits);
    tw_poly *poly = tw_arena_alloc(arena, sizeof *poly + (coef != 0) * sizeof *poly->terms);
    if (!poly) return NULL;
    poly->bits = bits;
    poly->term_count = coef != 0;
    if (coef) poly->terms[0] = (tw_term){.coef = coef, .atoms = {atom}};
    return poly;
}

const tw_poly *tw_poly_const(tw_arena *arena, uint8_t bits, uint64_t value)
{
    return single(arena, bits, value, 0);
}

const tw_poly *tw_poly_atom(tw_arena *arena, uint8_t bits, tw_atom atom)
{
    return single(arena, bits, 1, atom);
}

const tw_poly *tw_poly_copy(tw_arena *arena, const tw_poly *a)
{
    size_t size = a ? sizeof *a + a->term_count * sizeof *a->terms : 0;
    tw_poly *copy = a ? tw_arena_alloc(arena, size) : NULL;
    if (copy) memcpy(copy, a, size);
    return copy;
}

static void append(draft *d, const tw_poly *a, uint64_t factor)
{
    for (uint32_t i = 0; i < a->term_count; i++) {
        d->terms[d->count] = a->terms[i];
        d->terms[d->count++].coef *= factor;
    }
}

static const tw_poly *combine(tw_arena *arena, const tw_poly *a, const tw_poly *b, uint64_t factor)
{
    if (!a || !b || a->bits != b->bits) return NULL;
    draft d;
    d.count = 0;
    append(&d, a, 1);
    append(&d, b, factor);
    return finish(arena, a->bits, &d);
}

const tw_poly *tw_poly_add(tw_arena *arena, const tw_poly *a, const tw_poly *b)
{
    return combine(arena, a, b, 1);
}

const tw_poly *tw_poly_sub(tw_arena *arena, const tw_poly *a, const tw_poly *b)
{
    return combine(arena, a, b, UINT64_MAX);
}

const tw_poly *tw_poly_scale(tw_arena *arena, const tw_poly *a, uint64_t factor)
{
    if (!a) return NULL;
    draft d;
    d.count = 0;
    append(&d, a, factor);
    return finish(arena, a->bits, &d);
}

const tw_poly *tw_poly_neg(tw_arena *arena, const tw_poly *a)
{
    return tw_poly_scale(arena, a, UINT64_MAX);
}

const tw_poly *tw_poly_wrap(tw_arena *arena, const tw_poly *a, uint8_t bits)
{
    if (!a || bits > a->bits) return NULL;
    draft d;
    d.count = 0;
    append(&d, a, 1);
    return finish(arena, bits, &d);
}

/* Both lists descend, and so does the merged one. False above the degree. */
static bool multiply_terms(const tw_term *a, const tw_term *b, tw_term *out)
{
    int i = 0, k = 0, n = 0;
    *out = (tw_term){.coef = a->coef * b->coef};
    while ((i < TW_POLY_DEGREE && a->atoms[i]) || (k < TW_POLY_DEGREE && b->atoms[k])) {
        tw_atom x = i < TW_POLY_DEGREE ? a->atoms[i] : 0, y = k < TW_POLY_DEGREE ? b->atoms[k] : 0;
        if (n == TW_POLY_DEGREE) return false;
        if (x >= y) out->atoms[n++] = x, i++;
        else out->atoms[n++] = y, k++;
    }
    return true;
}

const tw_poly *tw_poly_mul(tw_arena *arena, const tw_poly *a, const tw_poly *b)
{
    if (!a || !b || a->bits != b->bits || (uint32_t)a->term_count * b->term_count > MAX_PRODUCTS) return NULL;
    draft d;
    d.count = 0;
    for (uint32_t i = 0; i < a->term_count; i++)
        for (uint32_t k = 0; k < b->term_count; k++) {
            tw_term term;
            bool fits = multiply_terms(&a->terms[i], &b->terms[k], &term);
            if ((term.coef & mask_of(a->bits)) == 0) continue;
            if (!fits) return NULL;
            d.terms[d.count++] = term;
        }
    return finish(arena, a->bits, &d);
}

static uint32_t power_of(const tw_term *term, tw_atom atom)
{
    uint32_t power = 0;
    for (int i = 0; i < TW_POLY_DEGREE; i++) power += term->atoms[i] == atom;
    return power;
}

/* The term without one factor `atom`. */
static tw_term divide(const tw_term *term, tw_atom atom)
{
    tw_term out = {.coef = term->coef};
    bool taken = false;
    for (int i = 0, n = 0; i < TW_POLY_DEGREE; i++) {
        if (!taken && term->atoms[i] == atom) taken = true;
        else out.atoms[n++] = term->atoms[i];
    }
    return out;
}

/* By Horner's rule: a = rest + atom * q, and so on down to the power 0. */
const tw_poly *tw_poly_substitute(tw_arena *arena, const tw_poly *a, tw_atom atom, const tw_poly *by)
{
    if (!a || !by || a->bits != by->bits) return NULL;
    if (!tw_poly_has(a, atom)) return a;
    draft rest, quotient;
    rest.count = quotient.count = 0;
    for (uint32_t i = 0; i < a->term_count; i++) {
        if (power_of(&a->terms[i], atom)) quotient.terms[quotient.count++] = divide(&a->terms[i], atom);
        else rest.terms[rest.count++] = a->terms[i];
    }
    const tw_poly *q = finish(arena, a->bits, &quotient), *r = finish(arena, a->bits, &rest);
    q = tw_poly_substitute(arena, q, atom, by); /* at most TW_POLY_DEGREE deep */
    return tw_poly_add(arena, r, tw_poly_mul(arena, q, by));
}

bool tw_poly_linear(tw_arena *arena, const tw_poly *a, tw_atom atom, const tw_poly **coef, const tw_poly **rest)
{
    if (!a) return false;
    draft with, without;
    with.count = without.count = 0;
    for (uint32_t i = 0; i < a->term_count; i++) {
        uint32_t power = power_of(&a->terms[i], atom);
        if (power > 1) return false;
        if (power) with.terms[with.count++] = divide(&a->terms[i], atom);
        else without.terms[without.count++] = a->terms[i];
    }
    *coef = finish(arena, a->bits, &with);
    *rest = finish(arena, a->bits, &without);
    return *coef && *rest;
}

bool tw_poly_has(const tw_poly *a, tw_atom atom)
{
    for (uint32_t i = 0; a && i < a->term_count; i++)
        if (power_of(&a->terms[i], atom)) return true;
    return false;
}

bool tw_poly_is_const(const tw_poly *a, uint64_t *value)
{
    if (!a || a->term_count > 1 || (a->term_count == 1 && a->terms[0].atoms[0])) return false;
    *value = a->term_count ? a->terms[0].coef : 0;
    return true;
}

bool tw_poly_equal(const tw_poly *a, const tw_poly *b)
{
    if (!a || !b || a->bits != b->bits || a->term_count != b->term_count) return false;
    for (uint32_t i = 0; i < a->term_count; i++)
        if (a->terms[i].coef != b->terms[i].coef || compare_terms(&a->terms[i], &b->terms[i]) != 0) return false;
    return true;
}

uint64_t tw_poly_eval(const tw_poly *a, uint64_t (*lookup)(void *context, tw_atom atom), void *context)
{
    uint64_t sum = 0;
    for (uint32_t i = 0; i < a->term_count; i++) {
        uint64_t product = a->terms[i].coef;
        for (int k = 0; k < TW_POLY_DEGREE && a->terms[i].atoms[k]; k++) product *= lookup(context, a->terms[i].atoms[k]);
        sum += product;
    }
    return sum & mask_of(a->bits);
}

static void print_term(const tw_term *term, uint8_t bits, bool first, tw_bytes *out)
{
    uint64_t coef = term->coef, mask = mask_of(bits);
    bool negative = coef >> (bits - 1);
    if (negative) coef = (0 - coef) & mask;
    tw_bytes_append_string(out, first ? (negative ? "-" : "") : (negative ? " - " : " + "));
    if (coef != 1 || !term->atoms[0]) tw_bytes_printf(out, "%llu%s", (unsigned long long)coef, term->atoms[0] ? "*" : "");
    for (int i = 0; i < TW_POLY_DEGREE && term->atoms[i]; i++) {
        static const char letters[] = {'?', 'v', 'i', 'n'};
        tw_bytes_printf(out, "%s%c%u", i ? "*" : "", letters[tw_atom_kind_of(term->atoms[i]) & 3], tw_atom_index(term->atoms[i]));
    }
}

/* The constant last, as one writes it. */
void tw_poly_print(const tw_poly *a, tw_bytes *out)
{
    if (!a) {
        tw_bytes_append_byte(out, '?');
        return;
    }
    bool has_constant = a->term_count && !a->terms[0].atoms[0];
    for (uint32_t i = has_constant; i < a->term_count; i++) print_term(&a->terms[i], a->bits, i == has_constant, out);
    if (has_constant) print_term(&a->terms[0], a->bits, a->term_count == 1, out);
    if (!a->term_count) tw_bytes_append_byte(out, '0');
}
