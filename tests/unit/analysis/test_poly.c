/* SPDX-License-Identifier: Apache-2.0 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "analysis/poly.h"

static uint64_t random_state = 88172645463325252u;
static uint64_t random_number(void)
{
    random_state ^= random_state << 13;
    random_state ^= random_state >> 7;
    random_state ^= random_state << 17;
    return random_state;
}

/* Atoms' values in a random world. */
static uint64_t world[8];
static uint64_t value_of(void *context, tw_atom atom)
{
    (void)context;
    return world[tw_atom_index(atom) & 7];
}

static tw_atom some_atom(void)
{
    return tw_atom_make((tw_atom_kind)(1 + random_number() % 3), (uint32_t)(random_number() % 8));
}

static uint64_t some_number(void)
{
    uint64_t n = random_number();
    return random_number() % 3 ? n % 9 - 4 : n;
}

/* A random expression and, beside it, its value by plain machine arithmetic. */
static const tw_poly *expression(tw_arena *arena, uint8_t bits, int depth, uint64_t *value)
{
    uint64_t x, y;
    tw_atom atom = some_atom();
    switch (depth ? random_number() % 5 : random_number() % 2) {
    case 0: *value = some_number(); return tw_poly_const(arena, bits, *value);
    case 1: *value = value_of(NULL, atom); return tw_poly_atom(arena, bits, atom);
    default: break;
    }
    const tw_poly *a = expression(arena, bits, depth - 1, &x), *b = expression(arena, bits, depth - 1, &y);
    switch (random_number() % 4) {
    case 0: *value = x + y; return tw_poly_add(arena, a, b);
    case 1: *value = x - y; return tw_poly_sub(arena, a, b);
    case 2: *value = x * y; return tw_poly_mul(arena, a, b);
    default: *value = -x; return tw_poly_neg(arena, a);
    }
}

static uint64_t cut(uint64_t value, uint8_t bits)
{
    return bits == 64 ? value : value & (((uint64_t)1 << bits) - 1);
}

static void polynomials_compute_what_the_machine_computes(void **state)
{
    (void)state;
    unsigned made = 0;
    for (int i = 0; i < 20000; i++) {
        tw_arena arena;
        tw_arena_init(&arena, TW_ARENA_NO_LIMIT);
        for (int k = 0; k < 8; k++) world[k] = some_number();
        uint8_t bits = i % 3 == 0 ? 8 : i % 3 == 1 ? 32 : 64;
        uint64_t value;
        const tw_poly *poly = expression(&arena, bits, 4, &value);
        if (poly) {
            made++;
            assert_true(tw_poly_eval(poly, value_of, NULL) == cut(value, bits));
            if (bits == 64) assert_true(tw_poly_eval(tw_poly_wrap(&arena, poly, 32), value_of, NULL) == cut(value, 32));
        }
        tw_arena_free(&arena);
    }
    assert_true(made > 15000); /* the caps are met now and then only */
}

static void substitution_and_linear_form_keep_the_value(void **state)
{
    (void)state;
    for (int i = 0; i < 20000; i++) {
        tw_arena arena;
        tw_arena_init(&arena, TW_ARENA_NO_LIMIT);
        for (int k = 0; k < 8; k++) world[k] = some_number();
        uint64_t value, by_value;
        const tw_poly *poly = expression(&arena, 32, 3, &value), *by = expression(&arena, 32, 1, &by_value);
        tw_atom atom = some_atom();
        const tw_poly *coef, *rest;
        if (tw_poly_linear(&arena, poly, atom, &coef, &rest)) {
            assert_false(tw_poly_has(coef, atom) || tw_poly_has(rest, atom));
            const tw_poly *again = tw_poly_add(&arena, rest, tw_poly_mul(&arena, coef, tw_poly_atom(&arena, 32, atom)));
            assert_true(tw_poly_equal(poly, again));
        }
        const tw_poly *with = tw_poly_substitute(&arena, poly, atom, by);
        if (with && !tw_poly_has(by, atom)) {
            uint64_t got = tw_poly_eval(with, value_of, NULL);
            assert_false(tw_poly_has(with, atom));
            /* the same by letting the atom alone have that value */
            uint64_t sum = 0;
            for (uint32_t t = 0; t < poly->term_count; t++) {
                uint64_t product = poly->terms[t].coef;
                for (int k = 0; k < TW_POLY_DEGREE && poly->terms[t].atoms[k]; k++)
                    product *= poly->terms[t].atoms[k] == atom ? by_value : value_of(NULL, poly->terms[t].atoms[k]);
                sum += product;
            }
            assert_true(got == cut(sum, 32));
        }
        tw_arena_free(&arena);
    }
}

static void equal_expressions_have_equal_forms(void **state)
{
    (void)state;
    tw_arena arena;
    tw_arena_init(&arena, TW_ARENA_NO_LIMIT);
    const tw_poly *x = tw_poly_atom(&arena, 32, tw_atom_make(TW_ATOM_VALUE, 1));
    const tw_poly *y = tw_poly_atom(&arena, 32, tw_atom_make(TW_ATOM_COUNTER, 2));
    const tw_poly *sum = tw_poly_add(&arena, x, y), *one = tw_poly_const(&arena, 32, 1);
    const tw_poly *square = tw_poly_mul(&arena, sum, sum);
    const tw_poly *long_way = tw_poly_add(&arena, tw_poly_mul(&arena, y, y),
                                          tw_poly_add(&arena, tw_poly_scale(&arena, tw_poly_mul(&arena, y, x), 2),
                                                      tw_poly_mul(&arena, x, x)));
    assert_true(tw_poly_equal(square, long_way));
    assert_false(tw_poly_equal(square, tw_poly_add(&arena, long_way, one)));
    uint64_t value;
    assert_true(tw_poly_is_const(tw_poly_sub(&arena, square, long_way), &value));
    assert_int_equal(value, 0);
    /* 2^16 * 2^16 is nothing modulo 2^32 */
    const tw_poly *half = tw_poly_scale(&arena, x, 65536);
    assert_true(tw_poly_is_const(tw_poly_mul(&arena, half, tw_poly_scale(&arena, y, 65536)), &value));
    tw_arena_free(&arena);
}

static void over_the_caps_there_is_no_polynomial(void **state)
{
    (void)state;
    tw_arena arena;
    tw_arena_init(&arena, TW_ARENA_NO_LIMIT);
    const tw_poly *x = tw_poly_atom(&arena, 32, tw_atom_make(TW_ATOM_VALUE, 1));
    const tw_poly *cube = tw_poly_mul(&arena, x, tw_poly_mul(&arena, x, x));
    assert_non_null(cube);
    assert_null(tw_poly_mul(&arena, cube, x));
    const tw_poly *sum = tw_poly_const(&arena, 32, 0);
    for (uint32_t i = 1; i <= TW_POLY_TERMS; i++)
        sum = tw_poly_add(&arena, sum, tw_poly_atom(&arena, 32, tw_atom_make(TW_ATOM_VALUE, i)));
    assert_non_null(sum);
    sum = tw_poly_add(&arena, sum, tw_poly_const(&arena, 32, 1));
    assert_null(sum);
    assert_null(tw_poly_add(&arena, sum, x)); /* and nothing comes of nothing */
    tw_arena_free(&arena);
}

static void printing_shows_signs_and_atoms(void **state)
{
    (void)state;
    tw_arena arena;
    tw_arena_init(&arena, TW_ARENA_NO_LIMIT);
    const tw_poly *v = tw_poly_atom(&arena, 32, tw_atom_make(TW_ATOM_VALUE, 3));
    const tw_poly *i = tw_poly_atom(&arena, 32, tw_atom_make(TW_ATOM_COUNTER, 2));
    const tw_poly *n = tw_poly_atom(&arena, 32, tw_atom_make(TW_ATOM_ARRIVALS, 0));
    const tw_poly *p = tw_poly_sub(&arena, tw_poly_scale(&arena, tw_poly_mul(&arena, v, i), 8), tw_poly_const(&arena, 32, 16));
    p = tw_poly_sub(&arena, p, n);
    tw_bytes text = {0};
    tw_poly_print(p, &text);
    assert_string_equal(text.data, "8*i2*v3 - n0 - 16");
    text.size = 0;
    tw_poly_print(NULL, &text);
    tw_poly_print(tw_poly_const(&arena, 64, 0), &text);
    assert_string_equal(text.data, "?0");
    tw_bytes_free(&text);
    tw_arena_free(&arena);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(polynomials_compute_what_the_machine_computes),
        cmocka_unit_test(substitution_and_linear_form_keep_the_value),
        cmocka_unit_test(equal_expressions_have_equal_forms),
        cmocka_unit_test(over_the_caps_there_is_no_polynomial),
        cmocka_unit_test(printing_shows_signs_and_atoms),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
