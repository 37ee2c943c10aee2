/* SPDX-License-Identifier: Apache-2.0 */
/* Facts against the truth: all iterations of small nests enumerated, all pairs of them compared byte by byte. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "dispatch/legality.h"
#include "dispatch/overlap.h"

/* ---- nests by hand ---- */

typedef struct nest {
    tw_model model;
    tw_model_loop loops[8];
    tw_model_access accesses[8];
    tw_numbers numbers;
    tw_numbers_loop loop_numbers[8];
    tw_numbers_access access_numbers[8];
} nest;

static void nest_start(nest *n)
{
    memset(n, 0, sizeof *n);
    n->model.loops = n->loops, n->model.accesses = n->accesses;
    n->numbers.loops = n->loop_numbers, n->numbers.accesses = n->access_numbers;
}

static uint32_t add_loop(nest *n, uint32_t parent, int64_t trips)
{
    uint32_t l = n->model.loop_count++;
    n->loops[l] = (tw_model_loop){.parent = parent, .depth = parent == TW_NONE ? 0 : n->loops[parent].depth + 1, .place = 0x100 + l};
    n->loop_numbers[l] = (tw_numbers_loop){.t0 = trips, .least = trips, .most = trips, .average = (double)trips};
    return l;
}

static uint32_t add_access(nest *n, uint32_t loop, bool is_store, uint8_t width, int64_t base, const int64_t *strides)
{
    uint32_t x = n->model.access_count++, chain[TW_MODEL_MAX_DEPTH];
    n->accesses[x] = (tw_model_access){.width = width, .is_store = is_store, .loop = loop, .place = 0x200 + x};
    n->access_numbers[x].base = base;
    uint32_t depth = tw_model_chain(&n->model, loop, chain);
    for (uint32_t d = 0; d < depth; d++) n->access_numbers[x].stride[d] = strides[d];
    return x;
}

/* ---- enumeration ---- */

typedef struct event {
    int64_t at, counter[3];
} event;
typedef struct events {
    event items[256];
    uint32_t count;
} events;

static int64_t trips_of(const nest *n, uint32_t loop, const int64_t *counter)
{
    int64_t trips = n->loop_numbers[loop].t0;
    for (uint32_t d = 0; d < n->loops[loop].depth; d++) trips += n->loop_numbers[loop].t[d] * counter[d];
    return trips;
}

static void enumerate(const nest *n, const uint32_t *chain, uint32_t depth, uint32_t d, event e, const int64_t *stride, events *out)
{
    if (d == depth) {
        assert_true(out->count < 256);
        out->items[out->count++] = e;
        return;
    }
    if (d >= sizeof e.counter / sizeof *e.counter) return;
    int64_t trips = trips_of(n, chain[d], e.counter), at = e.at;
    for (int64_t i = 0; i < trips; i++) {
        e.counter[d] = i, e.at = at + stride[d] * i;
        enumerate(n, chain, depth, d + 1, e, stride, out);
    }
}

static void enumerate_all(nest *n, events *all)
{
    for (uint32_t x = 0; x < n->model.access_count; x++) {
        uint32_t chain[TW_MODEL_MAX_DEPTH], depth = tw_model_chain(&n->model, n->accesses[x].loop, chain);
        tw_numbers_access *a = &n->access_numbers[x];
        all[x].count = 0;
        enumerate(n, chain, depth, 0, (event){.at = a->base}, a->stride, &all[x]);
        a->low = INT64_MAX, a->high = INT64_MIN;
        for (uint32_t i = 0; i < all[x].count; i++) {
            int64_t at = all[x].items[i].at, end = at + n->accesses[x].width;
            if (at < a->low) a->low = at;
            if (end > a->high) a->high = end;
        }
        if (!all[x].count) a->low = a->high = 0;
    }
}

static bool touch(const nest *n, uint32_t x, const event *e, uint32_t y, const event *f)
{
    return e->at < f->at + n->accesses[y].width && f->at < e->at + n->accesses[x].width;
}

static bool around(const nest *n, uint32_t loop, uint32_t x)
{
    uint32_t chain[TW_MODEL_MAX_DEPTH], depth = tw_model_chain(&n->model, n->accesses[x].loop, chain);
    return n->loops[loop].depth < depth && chain[n->loops[loop].depth] == loop;
}

/* over: how many loops around it may have other counters. */
static bool really_conflicts(const nest *n, const events *all, uint32_t loop, uint32_t over)
{
    uint32_t depth = n->loops[loop].depth;
    for (uint32_t x = 0; x < n->model.access_count; x++)
        for (uint32_t y = 0; y < n->model.access_count; y++) {
            if (!n->accesses[x].is_store || !around(n, loop, x) || !around(n, loop, y)) continue;
            for (uint32_t i = 0; i < all[x].count; i++)
                for (uint32_t j = 0; j < all[y].count; j++) {
                    const event *e = &all[x].items[i], *f = &all[y].items[j];
                    if (memcmp(e->counter, f->counter, (depth - over) * sizeof e->counter[0])) continue;
                    if (e->counter[depth] != f->counter[depth] && touch(n, x, e, y, f)) return true;
                }
        }
    return false;
}

static void assert_groups_are_apart(const nest *n, const events *all, const tw_facts *facts)
{
    for (uint32_t x = 0; x < n->model.access_count; x++)
        for (uint32_t y = 0; y < n->model.access_count; y++) {
            if (!n->accesses[x].is_store || facts->group[x] == facts->group[y]) continue;
            for (uint32_t i = 0; i < all[x].count; i++)
                for (uint32_t j = 0; j < all[y].count; j++) assert_false(touch(n, x, &all[x].items[i], y, &all[y].items[j]));
        }
}

/* ---- random nests ---- */

static uint64_t seed;
static int64_t pick(int64_t low, int64_t high)
{
    seed ^= seed << 13, seed ^= seed >> 7, seed ^= seed << 17;
    return low + (int64_t)(seed % (uint64_t)(high - low + 1));
}

static void bound_trips(nest *n, uint32_t l)
{
    tw_numbers_loop *numbers = &n->loop_numbers[l];
    numbers->least = numbers->most = numbers->t0;
    for (uint32_t d = 0, chain[TW_MODEL_MAX_DEPTH]; d < n->loops[l].depth; d++) {
        tw_model_chain(&n->model, l, chain);
        int64_t last = n->loop_numbers[chain[d]].most - 1;
        if (last < 0) last = 0;
        if (numbers->t[d] > 0) numbers->most += numbers->t[d] * last;
        else numbers->least += numbers->t[d] * last;
        numbers->varies |= numbers->t[d] != 0;
    }
}

static void random_nest(nest *n)
{
    static const uint8_t widths[] = {1, 2, 4, 8};
    nest_start(n);
    uint32_t loops = (uint32_t)pick(1, 4), accesses = (uint32_t)pick(1, 4);
    for (uint32_t l = 0; l < loops; l++) {
        uint32_t parent = l ? (uint32_t)pick(0, l - 1) : TW_NONE;
        if (l && n->loops[parent].depth == 2) parent = 0;
        add_loop(n, parent, pick(0, 5));
        if (n->loops[l].depth && pick(0, 3) == 0) { /* triangular, never negative, at most 5 */
            int64_t last = n->loop_numbers[parent].most - 1, t = pick(-1, 1);
            uint32_t d = n->loops[parent].depth;
            if (last < 0) last = 0;
            n->loop_numbers[l].t[d] = t;
            n->loop_numbers[l].t0 = t < 0 ? pick(last, 5) : t > 0 ? pick(0, 5 - last) : 2;
        }
        bound_trips(n, l);
    }
    for (uint32_t x = 0; x < accesses; x++) {
        int64_t strides[3], scale = pick(0, 2) ? 1 : 4;
        for (int d = 0; d < 3; d++) strides[d] = scale * pick(-9, 9);
        if (pick(0, 1)) strides[pick(0, 2)] = 0;
        if (x && pick(0, 1)) memcpy(strides, n->access_numbers[0].stride, sizeof strides);
        add_access(n, (uint32_t)pick(0, loops - 1), x == 0 || pick(0, 1), widths[pick(0, 3)], pick(-40, 40), strides);
    }
}

static void what_is_called_parallel_is(void **state)
{
    (void)state;
    static nest n;
    static events all[8];
    static tw_facts facts;
    tw_legality legality;
    uint64_t parallel = 0, missed = 0, really = 0;
    seed = 0x1234567;
    for (int k = 0; k < 150000; k++) {
        uint64_t before = seed;
        random_nest(&n);
        enumerate_all(&n, all);
        tw_legality_find(&n.model, &n.numbers, &facts, &legality);
        for (uint32_t l = 0; l < n.model.loop_count; l++) {
            bool conflict = really_conflicts(&n, all, l, 0);
            parallel += facts.parallel[l], really += !conflict;
            missed += !facts.parallel[l] && !conflict && n.loop_numbers[l].most > 1;
            for (uint32_t over = 1; over <= facts.free[l]; over++)
                if (really_conflicts(&n, all, l, over)) fail_msg("nest of seed %llu: n%u isn't free", (unsigned long long)before, l);
            assert_true(facts.free[l] <= n.loops[l].depth && (facts.parallel[l] || !facts.free[l]));
            if (facts.parallel[l] && conflict) fail_msg("nest of seed %llu: n%u isn't parallel", (unsigned long long)before, l);
        }
        assert_groups_are_apart(&n, all, &facts);
    }
    print_message("parallel %llu of %llu; not seen, with more than one trip: %llu\n", (unsigned long long)parallel,
                  (unsigned long long)really, (unsigned long long)missed);
    assert_true(parallel > 50000);
    assert_true(missed < really / 20);
}

/* ---- the usual shapes ---- */

static tw_facts facts_of(nest *n, tw_legality *legality)
{
    static tw_facts facts;
    for (uint32_t x = 0; x < n->model.access_count; x++) {
        tw_numbers_access *a = &n->access_numbers[x];
        uint32_t chain[TW_MODEL_MAX_DEPTH], depth = tw_model_chain(&n->model, n->accesses[x].loop, chain);
        a->low = a->base, a->high = a->base + n->accesses[x].width;
        for (uint32_t d = 0; d < depth; d++) {
            int64_t reach = a->stride[d] * (n->loop_numbers[chain[d]].most - 1);
            if (reach < 0) a->low += reach;
            else a->high += reach;
        }
    }
    tw_legality_find(&n->model, &n->numbers, &facts, legality);
    return facts;
}

static void saxpy_in_place_is_parallel(void **state)
{
    (void)state;
    nest n;
    tw_legality legality;
    nest_start(&n);
    uint32_t i = add_loop(&n, TW_NONE, 1000000);
    add_access(&n, i, false, 4, 0, (int64_t[]){4});
    add_access(&n, i, false, 4, 4000000, (int64_t[]){4});
    add_access(&n, i, true, 4, 4000000, (int64_t[]){4});
    tw_facts facts = facts_of(&n, &legality);
    assert_int_equal(legality.refusal, TW_REFUSAL_NONE);
    assert_true(facts.parallel[0]);
    assert_int_equal(facts.group[0], 0);
    assert_int_equal(facts.group[1], 1);
    assert_int_equal(facts.group[2], 1);
    assert_int_equal(facts.stride[2][0], TW_STRIDE_UNIT);
    assert_false(facts.dead[0]);
}

/* a[i + k] = f(a[i]): the number k decides. */
static void the_distance_decides_by_its_sign_and_size(void **state)
{
    (void)state;
    enum { T = 64 };
    for (int64_t k = -130; k <= 130; k++) {
        nest n;
        tw_legality legality;
        nest_start(&n);
        uint32_t i = add_loop(&n, TW_NONE, T);
        add_access(&n, i, false, 8, 10000, (int64_t[]){8});
        add_access(&n, i, true, 8, 10000 + 8 * k, (int64_t[]){8});
        tw_facts facts = facts_of(&n, &legality);
        bool parallel = k == 0 || k >= T || k <= -T;
        assert_int_equal(facts.parallel[0], parallel);
        assert_int_equal(legality.refusal, parallel ? TW_REFUSAL_NONE : TW_REFUSAL_DEPENDENCE);
        if (!parallel) {
            char expected[40];
            snprintf(expected, sizeof expected, "%d iteration%s apart", abs((int)k), abs((int)k) == 1 ? "" : "s");
            assert_non_null(strstr(legality.detail, expected));
            assert_non_null(strstr(legality.detail, "0x201"));
            assert_non_null(strstr(legality.detail, "0x200"));
        }
    }
}

static void views_four_bytes_apart_overlap(void **state)
{
    (void)state;
    nest n;
    tw_legality legality;
    nest_start(&n);
    uint32_t i = add_loop(&n, TW_NONE, 100);
    add_access(&n, i, false, 8, 0, (int64_t[]){8});
    add_access(&n, i, true, 8, 4, (int64_t[]){8});
    assert_false(facts_of(&n, &legality).parallel[0]);
    assert_int_equal(legality.refusal, TW_REFUSAL_DEPENDENCE);
    n.accesses[0].width = n.accesses[1].width = 4; /* interleaved fields don't */
    assert_true(facts_of(&n, &legality).parallel[0]);
}

static void a_store_that_stays_meets_itself(void **state)
{
    (void)state;
    nest n;
    tw_legality legality;
    nest_start(&n);
    uint32_t i = add_loop(&n, TW_NONE, 100);
    add_access(&n, i, true, 8, 0, (int64_t[]){0});
    assert_false(facts_of(&n, &legality).parallel[0]);
    n.access_numbers[0].stride[0] = 4; /* or moves on by less than its width */
    assert_false(facts_of(&n, &legality).parallel[0]);
    n.access_numbers[0].stride[0] = -8;
    assert_true(facts_of(&n, &legality).parallel[0]);
}

static void gemm_is_parallel_in_rows_and_columns_only(void **state)
{
    (void)state;
    nest n;
    tw_legality legality;
    const int64_t N = 1000, M = 1100, K = 1200, C = 1 << 20, A = C + 8 * N * M, B = A + 8 * N * K;
    nest_start(&n);
    uint32_t i = add_loop(&n, TW_NONE, N), l = add_loop(&n, i, K), j = add_loop(&n, l, M);
    add_access(&n, l, false, 8, A, (int64_t[]){8 * K, 8});
    add_access(&n, j, false, 8, B, (int64_t[]){0, 8 * M, 8});
    add_access(&n, j, false, 8, C, (int64_t[]){8 * M, 0, 8});
    add_access(&n, j, true, 8, C, (int64_t[]){8 * M, 0, 8});
    tw_facts facts = facts_of(&n, &legality);
    assert_true(facts.parallel[i]);
    assert_false(facts.parallel[l]);
    assert_true(facts.parallel[j]);
    assert_int_equal(facts.free[i], 0);
    assert_int_equal(facts.free[j], 2);
    assert_int_equal(legality.refusal, TW_REFUSAL_NONE);
    n.access_numbers[2].stride[0] = n.access_numbers[3].stride[0] = 8; /* rows that overlap */
    facts = facts_of(&n, &legality);
    assert_false(facts.parallel[i]);
    assert_true(facts.parallel[j]);
    assert_int_equal(facts.free[j], 1);
}

static void a_transpose_is_parallel_both_ways(void **state)
{
    (void)state;
    nest n;
    tw_legality legality;
    for (int64_t padding = 0; padding < 40; padding += 8) {
        const int64_t N = 300, M = 500;
        nest_start(&n);
        uint32_t i = add_loop(&n, TW_NONE, N), j = add_loop(&n, i, M);
        add_access(&n, j, false, 8, 0, (int64_t[]){8 * M, 8});
        add_access(&n, j, true, 8, 1 << 22, (int64_t[]){8, 8 * N + padding});
        tw_facts facts = facts_of(&n, &legality);
        assert_true(facts.parallel[i]);
        assert_true(facts.parallel[j]);
        assert_int_equal(facts.stride[1][0], TW_STRIDE_UNIT);
    }
    n.access_numbers[1].stride[1] = 8 * 299; /* rows overlap by one: cell (299, j) is (0, j+1) */
    assert_false(facts_of(&n, &legality).parallel[0]);
}

static void in_place_transposition_isn_t(void **state)
{
    (void)state;
    nest n;
    tw_legality legality;
    nest_start(&n);
    uint32_t i = add_loop(&n, TW_NONE, 50), j = add_loop(&n, i, 50);
    add_access(&n, j, false, 8, 0, (int64_t[]){400, 8});
    add_access(&n, j, true, 8, 0, (int64_t[]){8, 400});
    tw_facts facts = facts_of(&n, &legality);
    assert_false(facts.parallel[i]);
    assert_true(facts.parallel[j] || legality.refusal == TW_REFUSAL_DEPENDENCE);
}

/* A[i][j] from its neighbours: in another array parallel, in place not. */
static void a_stencil_with_halo(void **state)
{
    (void)state;
    for (int in_place = 0; in_place < 2; in_place++) {
        nest n;
        tw_legality legality;
        const int64_t M = 102, A = 1 << 16, B = in_place ? A : A + 8 * M * M;
        nest_start(&n);
        uint32_t i = add_loop(&n, TW_NONE, M - 2), j = add_loop(&n, i, M - 2);
        for (int64_t k = 0; k < 5; k++)
            add_access(&n, j, false, 8, A + 8 * (int64_t[]){M + 1, M, M + 2, 1, 2 * M + 1}[k], (int64_t[]){8 * M, 8});
        add_access(&n, j, true, 8, B + 8 * (M + 1), (int64_t[]){8 * M, 8});
        tw_facts facts = facts_of(&n, &legality);
        assert_int_equal(facts.parallel[i], !in_place);
        assert_int_equal(facts.parallel[j], !in_place);
        assert_int_equal(legality.refusal, in_place ? TW_REFUSAL_DEPENDENCE : TW_REFUSAL_NONE);
    }
}

/* syrk: C[i][j] for j <= i, C[i][j] += A[i][k] * A[j][k] */
static void a_triangle_is_parallel(void **state)
{
    (void)state;
    nest n;
    tw_legality legality;
    const int64_t N = 200, K = 100;
    nest_start(&n);
    uint32_t i = add_loop(&n, TW_NONE, N), k = add_loop(&n, i, K), j = add_loop(&n, k, 1);
    n.loop_numbers[j] = (tw_numbers_loop){.t0 = 1, .t = {1}, .least = 1, .most = N, .varies = true, .average = 100};
    add_access(&n, j, false, 8, 1 << 20, (int64_t[]){8 * N, 0, 8});
    add_access(&n, j, true, 8, 1 << 20, (int64_t[]){8 * N, 0, 8});
    add_access(&n, j, false, 8, 0, (int64_t[]){0, 8, 8 * K});
    add_access(&n, k, false, 8, 0, (int64_t[]){8 * K, 8});
    tw_facts facts = facts_of(&n, &legality);
    assert_true(facts.parallel[i]);
    assert_false(facts.parallel[k]);
    assert_true(facts.parallel[j]);
    assert_true(facts.varying[j]);
}

/* One step of a right-looking factorisation: rows below the pivot's, from the pivot row. */
static void rows_below_the_pivot_are_parallel(void **state)
{
    (void)state;
    nest n;
    tw_legality legality;
    const int64_t N = 100;
    nest_start(&n);
    uint32_t k = add_loop(&n, TW_NONE, N - 1), i = add_loop(&n, k, N - 1), j = add_loop(&n, i, N - 1);
    n.loop_numbers[i] = (tw_numbers_loop){.t0 = N - 1, .t = {-1}, .least = 1, .most = N - 1, .varies = true};
    n.loop_numbers[j] = (tw_numbers_loop){.t0 = N - 1, .t = {-1}, .least = 1, .most = N - 1, .varies = true};
    add_access(&n, j, true, 8, 8 * (N + 1), (int64_t[]){8 * (N + 1), 8 * N, 8});
    add_access(&n, j, false, 8, 8 * (N + 1), (int64_t[]){8 * (N + 1), 8 * N, 8});
    add_access(&n, j, false, 8, 8 * N, (int64_t[]){8 * (N + 1), 8 * N, 0});
    add_access(&n, j, false, 8, 8, (int64_t[]){8 * (N + 1), 0, 8});
    tw_facts facts = facts_of(&n, &legality);
    assert_false(facts.parallel[k]);
    assert_true(facts.parallel[i]);
    assert_true(facts.parallel[j]);
}

static void a_carried_scalar_is_named(void **state)
{
    (void)state;
    nest n;
    tw_legality legality;
    tw_carried sum = {.loop = 0};
    nest_start(&n);
    uint32_t i = add_loop(&n, TW_NONE, 100);
    add_access(&n, i, true, 8, 0, (int64_t[]){8});
    n.model.carried = &sum, n.model.carried_count = 1;
    assert_false(facts_of(&n, &legality).parallel[0]);
    assert_int_equal(legality.refusal, TW_REFUSAL_CARRIED);
    uint32_t j = add_loop(&n, i, 10); /* of an inner loop: the outer one is still parallel */
    sum.loop = j;
    tw_facts facts = facts_of(&n, &legality);
    assert_true(facts.parallel[i]);
    assert_false(facts.parallel[j]);
    assert_int_equal(legality.refusal, TW_REFUSAL_NONE);
}

static void a_store_over_what_the_plan_read_is_refused(void **state)
{
    (void)state;
    nest n;
    tw_legality legality;
    nest_start(&n);
    uint32_t i = add_loop(&n, TW_NONE, 100);
    add_access(&n, i, true, 8, 1000, (int64_t[]){8});
    uint32_t x = add_access(&n, TW_NONE, false, 4, 1796, NULL);
    n.accesses[x].is_inspected = true;
    facts_of(&n, &legality);
    assert_int_equal(legality.refusal, TW_REFUSAL_DEPENDENCE);
    n.access_numbers[x].base = 1800; /* right behind */
    facts_of(&n, &legality);
    assert_int_equal(legality.refusal, TW_REFUSAL_NONE);
}

static void weaker_facts_are_implied(void **state)
{
    (void)state;
    nest n;
    tw_legality legality;
    nest_start(&n);
    uint32_t i = add_loop(&n, TW_NONE, 100), j = add_loop(&n, i, 0);
    add_access(&n, i, true, 8, 0, (int64_t[]){8});
    add_access(&n, i, false, 8, 5000, (int64_t[]){8});
    add_access(&n, j, false, 8, 5000, (int64_t[]){8, 8});
    tw_facts strong = facts_of(&n, &legality), weak = strong;
    assert_true(strong.dead[j]);
    weak.dead[j] = false, weak.varying[j] = true, weak.stride[1][0] = TW_STRIDE_ANY, weak.trips[0] = 4;
    weak.group[0] = weak.group[1] = weak.group[2] = 0;
    assert_true(tw_facts_imply(&n.model, &strong, &strong));
    assert_true(tw_facts_imply(&n.model, &strong, &weak));
    assert_false(tw_facts_imply(&n.model, &weak, &strong));
    weak = strong, weak.canonical_nan = true;
    assert_false(tw_facts_imply(&n.model, &strong, &weak));
    weak = strong, weak.parallel[0] = false;
    assert_true(tw_facts_imply(&n.model, &strong, &weak));
    assert_false(tw_facts_imply(&n.model, &weak, &strong));
}

/* Numbers at the ends of their types, and more pairs than the budget is for: an answer, and a safe one. */
static void wild_numbers_get_the_safe_answer(void **state)
{
    (void)state;
    static const int64_t wild[] = {INT64_MIN, INT64_MIN + 1, -1, 0, 1, 8, INT64_MAX - 1, INT64_MAX};
    seed = 99;
    for (int k = 0; k < 20000; k++) {
        tw_overlap overlap = {.start = wild[pick(0, 7)], .least = -7, .most = 7, .count = (uint32_t)pick(0, 20)};
        for (uint32_t i = 0; i < overlap.count; i++) {
            int64_t a = wild[pick(0, 7)], b = wild[pick(0, 7)];
            overlap.terms[i] = (tw_overlap_term){(__int128)wild[pick(0, 7)] * (pick(0, 1) ? 1 : 2), a < 0 ? a : 0, b > 0 ? b : 0, pick(0, 1)};
        }
        uint32_t budget = 1000;
        tw_overlap_possible(&overlap, &budget);
        assert_true(budget <= 1000);
    }
    tw_overlap hard = {.start = 1, .least = 0, .most = 0, .count = 3}; /* 6x + 10y + 15z = -1 within small bounds, many x */
    hard.terms[0] = (tw_overlap_term){6, -1000000, 1000000, false};
    hard.terms[1] = (tw_overlap_term){10, -1000000, 1000000, false};
    hard.terms[2] = (tw_overlap_term){15, 0, 1000000, false};
    uint32_t budget = 50;
    assert_true(tw_overlap_possible(&hard, &budget));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(what_is_called_parallel_is),
        cmocka_unit_test(saxpy_in_place_is_parallel),
        cmocka_unit_test(the_distance_decides_by_its_sign_and_size),
        cmocka_unit_test(views_four_bytes_apart_overlap),
        cmocka_unit_test(a_store_that_stays_meets_itself),
        cmocka_unit_test(gemm_is_parallel_in_rows_and_columns_only),
        cmocka_unit_test(a_transpose_is_parallel_both_ways),
        cmocka_unit_test(in_place_transposition_isn_t),
        cmocka_unit_test(a_stencil_with_halo),
        cmocka_unit_test(a_triangle_is_parallel),
        cmocka_unit_test(rows_below_the_pivot_are_parallel),
        cmocka_unit_test(a_carried_scalar_is_named),
        cmocka_unit_test(a_store_over_what_the_plan_read_is_refused),
        cmocka_unit_test(weaker_facts_are_implied),
        cmocka_unit_test(wild_numbers_get_the_safe_answer),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
