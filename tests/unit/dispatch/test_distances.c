/* SPDX-License-Identifier: Apache-2.0 */
/* Distances against the truth: all iterations of small nests in place, all pairs of them that touch a common byte. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "dispatch/distances.h"
#include "dispatch/legality.h"

enum { MOST_ACCESSES = 6 };

typedef struct nest {
    tw_model model;
    tw_model_loop loops[3];
    tw_item items[3][MOST_ACCESSES + 1];
    tw_expr_node exprs[1];
    tw_model_access accesses[MOST_ACCESSES];
    tw_numbers numbers;
    tw_numbers_loop loop_numbers[3];
    tw_numbers_access access_numbers[MOST_ACCESSES];
    uint32_t depth;
} nest;

/* depth loops, one in another; the accesses are the innermost one's. */
static void start(nest *n, uint32_t depth, const int64_t *trips)
{
    memset(n, 0, sizeof *n);
    n->depth = depth;
    n->model.loops = n->loops, n->model.accesses = n->accesses, n->model.exprs = n->exprs;
    n->model.loop_count = depth;
    n->numbers.loops = n->loop_numbers, n->numbers.accesses = n->access_numbers;
    for (uint32_t l = 0; l < depth; l++) {
        n->loops[l] = (tw_model_loop){.parent = l ? l - 1 : TW_NONE, .depth = l, .items = n->items[l]};
        n->loop_numbers[l] = (tw_numbers_loop){.t0 = trips[l], .least = trips[l], .most = trips[l], .average = (double)trips[l]};
        if (l + 1 < depth) n->items[l][n->loops[l].item_count++] = (tw_item){.kind = TW_ITEM_LOOP, .index = l + 1};
    }
}

static void add(nest *n, bool is_store, uint8_t width, int64_t base, const int64_t *strides)
{
    uint32_t x = n->model.access_count++, inner = n->depth - 1;
    n->accesses[x] = (tw_model_access){.width = width, .is_store = is_store, .loop = inner};
    tw_numbers_access *a = &n->access_numbers[x];
    *a = (tw_numbers_access){.base = base, .low = base, .high = base + width};
    for (uint32_t d = 0; d < n->depth; d++) {
        a->stride[d] = strides[d];
        int64_t way = strides[d] * (n->loop_numbers[d].most - 1);
        *(way < 0 ? &a->low : &a->high) += way;
    }
    n->items[inner][n->loops[inner].item_count++] = (tw_item){.kind = is_store ? TW_ITEM_STORE : TW_ITEM_READ, .index = x};
}

static bool find(nest *n, tw_facts *facts)
{
    tw_legality legality;
    uint32_t inner;
    tw_legality_find(&n->model, &n->numbers, facts, &legality);
    return legality.is_serial && tw_pair_find(&n->model, &n->numbers, &inner) && tw_distances_find(&n->model, &n->numbers, inner, facts);
}

static bool covered(const tw_facts *facts, int64_t outer, int64_t inner)
{
    for (uint32_t i = 0; i < facts->distance_count; i++)
        if (outer >= facts->distance[i].outer && inner >= facts->distance[i].inner) return true;
    return false;
}

static int64_t address(const nest *n, uint32_t x, const int64_t *at)
{
    int64_t sum = n->access_numbers[x].base;
    for (uint32_t d = 0; d < n->depth; d++) sum += n->access_numbers[x].stride[d] * at[d];
    return sum;
}

static bool touch(const nest *n, const int64_t *a, const int64_t *b)
{
    for (uint32_t x = 0; x < n->model.access_count; x++)
        for (uint32_t y = 0; y < n->model.access_count; y++) {
            if (!n->accesses[x].is_store && !n->accesses[y].is_store) continue;
            int64_t p = address(n, x, a), q = address(n, y, b);
            if (p < q + n->accesses[y].width && q < p + n->accesses[x].width) return true;
        }
    return false;
}

/* Every pair of iterations with a common byte, the later one against the facts. Returns how many there are. */
static int check_all(const nest *n, const tw_facts *facts)
{
    int64_t a[3] = {0}, b[3] = {0};
    uint32_t o = n->depth - 2, i = n->depth - 1;
    int found = 0;
    for (a[o] = 0; a[o] < n->loop_numbers[o].most; a[o]++)
        for (a[i] = 0; a[i] < n->loop_numbers[i].most; a[i]++)
            for (b[o] = a[o]; b[o] < n->loop_numbers[o].most; b[o]++)
                for (b[i] = 0; b[i] < n->loop_numbers[i].most; b[i]++) {
                    if ((b[o] == a[o] && b[i] <= a[i]) || !touch(n, a, b)) continue;
                    found++;
                    if (!covered(facts, b[o] - a[o], b[i] - a[i]))
                        fail_msg("from (%d, %d) to (%d, %d)", (int)a[o], (int)a[i], (int)b[o], (int)b[i]);
                }
    return found;
}

static void seidel(nest *n, int64_t row)
{
    static const int64_t trips[] = {3, 7, 9};
    start(n, 3, trips);
    const int64_t strides[] = {0, row, 8};
    int64_t base = 4096;
    add(n, true, 8, base, strides);
    for (int k = 0; k < 4; k++) add(n, false, 8, base + (int64_t[]){-row - 8, -row + 8, -8, row + 8}[k], strides);
}

static void nine_points_in_place(void **state)
{
    (void)state;
    nest n;
    tw_facts facts;
    seidel(&n, 800);
    assert_true(find(&n, &facts));
    assert_int_equal(facts.pair, 2);
    assert_int_equal(facts.distance_count, 2);
    assert_memory_equal(facts.distance, ((tw_distance[]){{0, 1}, {1, -1}}), 4);
    assert_true(check_all(&n, &facts) > 50);
}

/* Rows shorter than what a row holds: dependences reach far. */
static void rows_that_overlap_reach_too_far(void **state)
{
    (void)state;
    nest n;
    tw_facts facts;
    static const int64_t trips[] = {1, 30, 40};
    const int64_t strides[] = {0, 160, 8};
    start(&n, 3, trips);
    add(&n, true, 8, 4096, strides);
    add(&n, false, 8, 4088, strides);
    assert_false(find(&n, &facts));
    assert_int_equal(facts.distance_count, 0);
}

static void different_strides_say_nothing(void **state)
{
    (void)state;
    nest n;
    tw_facts facts;
    static const int64_t trips[] = {9, 9};
    start(&n, 2, trips);
    add(&n, true, 8, 4096, (int64_t[]){800, 8});
    add(&n, false, 8, 4088, (int64_t[]){800, 8});
    add(&n, false, 8, 4096, (int64_t[]){8, 800});
    assert_false(find(&n, &facts));
}

static void a_scalar_that_is_handed_on_says_nothing(void **state)
{
    (void)state;
    nest n;
    tw_facts facts;
    tw_carried carried = {.loop = 2};
    seidel(&n, 800);
    n.model.carried = &carried, n.model.carried_count = 1;
    assert_false(find(&n, &facts));
}

static uint64_t seed = 88172645463325252;
static int64_t pick(int64_t below)
{
    seed ^= seed << 13, seed ^= seed >> 7, seed ^= seed << 17;
    return (int64_t)(seed >> 16) % below;
}

static void random_stencils_in_place(void **state)
{
    (void)state;
    int found = 0, dependences = 0;
    for (int round = 0; round < 3000; round++) {
        nest n;
        tw_facts facts;
        uint32_t depth = 2 + (uint32_t)pick(2);
        int64_t trips[] = {1 + pick(3), 2 + pick(7), 2 + pick(9)}, width = 4 << pick(2);
        int64_t row = width * (pick(4) ? 12 : 1 + pick(12)) * (pick(2) ? 1 : -1), cell = width * (pick(4) ? 1 : 2) * (pick(2) ? 1 : -1);
        int64_t strides[] = {pick(3) ? 0 : width * 200, row, cell}, *own = strides + 3 - depth;
        start(&n, depth, trips + 3 - depth);
        add(&n, true, (uint8_t)width, 100000, own);
        for (int64_t reads = 1 + pick(4); reads-- > 0;) {
            int64_t off = pick(20) == 0 ? 1 : 0;
            add(&n, false, (uint8_t)width, 100000 + (pick(5) - 2) * row + (pick(7) - 3) * width + off, own);
        }
        if (!find(&n, &facts)) continue;
        found++;
        dependences += check_all(&n, &facts);
    }
    print_message("%d of 3000 nests have distances, %d dependences in them\n", found, dependences);
    assert_true(found > 500);
}

/* More dependences, or nearer ones, than a kernel was made for. */
static void a_kernel_is_right_where_dependences_reach_as_far(void **state)
{
    (void)state;
    static tw_facts made, now;
    nest n;
    seidel(&n, 800);
    assert_true(find(&n, &made));
    now = made;
    assert_true(tw_facts_imply(&n.model, &now, &made));
    now.distance[1] = (tw_distance){1, 0};
    assert_true(tw_facts_imply(&n.model, &now, &made));
    now.distance[1] = (tw_distance){1, -2};
    assert_false(tw_facts_imply(&n.model, &now, &made));
    now.distance_count = 0;
    assert_false(tw_facts_imply(&n.model, &now, &made));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(nine_points_in_place),
        cmocka_unit_test(rows_that_overlap_reach_too_far),
        cmocka_unit_test(different_strides_say_nothing),
        cmocka_unit_test(a_scalar_that_is_handed_on_says_nothing),
        cmocka_unit_test(random_stencils_in_place),
        cmocka_unit_test(a_kernel_is_right_where_dependences_reach_as_far),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
