/* SPDX-License-Identifier: Apache-2.0 */
/* Percentiles from a table of fixed size against sorted values. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "cli/latency.h"

enum { MANY = 20000 };
static uint64_t values[MANY];
static cli_latency latency, other;

static int by_size(const void *a, const void *b)
{
    uint64_t x = *(const uint64_t *)a, y = *(const uint64_t *)b;
    return (x > y) - (x < y);
}

static uint64_t next(uint64_t *state)
{
    *state ^= *state << 13;
    *state ^= *state >> 7;
    return *state ^= *state << 17;
}

/* At most 1 % above the value of that rank, never below it. */
static void is_right(size_t count, double percent, size_t rank)
{
    uint64_t found = cli_latency_percentile(&latency, percent), wanted = values[rank - 1];
    (void)count;
    if (found < wanted || (double)found > (double)wanted * 1.01)
        fail_msg("%g %% of %zu: %llu, which should be %llu", percent, count, (unsigned long long)found, (unsigned long long)wanted);
}

static void percentiles_are_those_of_the_sorted_values(void **state)
{
    (void)state;
    uint64_t seed = 88172645463325252u;
    for (unsigned shift = 0; shift < 64; shift++) {
        memset(&latency, 0, sizeof latency);
        memset(&other, 0, sizeof other);
        uint64_t sum = 0;
        size_t count = 1000;
        for (size_t i = 0; i < count; i++) {
            values[i] = next(&seed) >> shift;
            sum += values[i];
            cli_latency_add(i % 3 ? &latency : &other, values[i]); /* by two threads */
        }
        cli_latency_merge(&latency, &other);
        qsort(values, count, sizeof *values, by_size);
        assert_int_equal(latency.count, count);
        assert_true(latency.sum == sum && latency.least == values[0] && latency.most == values[count - 1]);
        is_right(count, 50, 500);
        is_right(count, 95, 950);
        is_right(count, 99, 990);
        is_right(count, 100, 1000);
        is_right(count, 0, 1);
    }
}

static void few_and_none(void **state)
{
    (void)state;
    memset(&latency, 0, sizeof latency);
    assert_int_equal(cli_latency_percentile(&latency, 50), 0);
    assert_true(cli_latency_mean(&latency) == 0);
    cli_latency_add(&latency, 1000);
    assert_int_equal(cli_latency_percentile(&latency, 50), 1000); /* not the row's end: there is no larger one */
    assert_int_equal(cli_latency_percentile(&latency, 99), 1000);
    cli_latency_add(&latency, UINT64_MAX);
    assert_true(cli_latency_percentile(&latency, 99) == UINT64_MAX);
    assert_true(latency.least == 1000);
    for (uint64_t ns = 0; ns < 300; ns++) { /* each small value has a row of its own */
        memset(&latency, 0, sizeof latency);
        cli_latency_add(&latency, ns);
        cli_latency_add(&latency, 1000000);
        assert_true(cli_latency_percentile(&latency, 50) - ns <= ns / 100);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(percentiles_are_those_of_the_sorted_values),
        cmocka_unit_test(few_and_none),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
