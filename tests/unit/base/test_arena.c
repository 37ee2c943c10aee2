/* SPDX-License-Identifier: Apache-2.0 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "base/arena.h"
#include "base/bytes.h"

static void arena_zeroes_aligns_and_keeps_to_its_limit(void **state)
{
    (void)state;
    tw_arena arena;
    tw_arena_init(&arena, 1 << 20);
    for (size_t size = 0; size < 300; size++) {
        uint8_t *p = tw_arena_alloc(&arena, size);
        assert_non_null(p);
        assert_int_equal((uintptr_t)p % 16, 0);
        for (size_t i = 0; i < size; i++) assert_int_equal(p[i], 0);
        if (size) memset(p, 0xFF, size);
    }
    assert_null(tw_arena_alloc(&arena, 1 << 20));
    assert_null(tw_arena_array(&arena, SIZE_MAX / 2, 4));
    tw_arena_free(&arena);
}

static void growing_keeps_the_items(void **state)
{
    (void)state;
    tw_arena arena;
    tw_arena_init(&arena, TW_ARENA_NO_LIMIT);
    uint32_t *items = NULL, count = 0, capacity = 0;
    for (; count < 1000; count++) {
        assert_true(TW_ARENA_GROW(&arena, items, count, capacity));
        items[count] = count * 3;
    }
    for (uint32_t i = 0; i < count; i++) assert_int_equal(items[i], i * 3);
    tw_arena_free(&arena);
}

static void bytes_are_terminated_and_taken(void **state)
{
    (void)state;
    tw_bytes bytes = {0};
    for (int i = 0; i < 500; i++) tw_bytes_printf(&bytes, "%d,", i % 10);
    assert_int_equal(bytes.size, 1000);
    assert_int_equal(bytes.data[1000], 0);
    size_t size;
    char *data = tw_bytes_take(&bytes, &size);
    assert_int_equal(size, 1000);
    assert_int_equal(strlen(data), 1000);
    tw_bytes_append(&bytes, data, 3);
    assert_string_equal(bytes.data, "0,1");
    tw_bytes_free(&bytes);
    free(data);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(arena_zeroes_aligns_and_keeps_to_its_limit),
        cmocka_unit_test(growing_keeps_the_items),
        cmocka_unit_test(bytes_are_terminated_and_taken),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
