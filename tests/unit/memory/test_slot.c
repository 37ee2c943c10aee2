/* SPDX-License-Identifier: Apache-2.0 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cmocka.h>

#include "memory/budget.h"
#include "memory/faults.h"
#include "memory/slot.h"
#include "../../handlers.h"

#define PAGE 65536u
#define RESERVED ((size_t)1 << 30)

static bool all_zero(const uint8_t *bytes, size_t size)
{
    for (size_t i = 0; i < size; i++)
        if (bytes[i]) return false;
    return true;
}

static tw_slot *take(size_t size, size_t reserved, size_t guard)
{
    tw_slot *slot;
    assert_int_equal(tw_slot_take(size, reserved, guard, &slot, NULL), TW_OK);
    return slot;
}

/* Runs body in a child; the signal that ended it, or 0. */
static int signal_of(void (*body)(tw_slot *), tw_slot *slot)
{
    pid_t child = fork();
    if (child == 0) {
        struct rlimit none = {0, 0};
        setrlimit(RLIMIT_CORE, &none);
        body(slot);
        _exit(0);
    }
    int state;
    waitpid(child, &state, 0);
    return WIFSIGNALED(state) ? WTERMSIG(state) : WEXITSTATUS(state);
}

static void touch_end(tw_slot *slot) { slot->base[slot->size] = 1; }
static void touch_last(tw_slot *slot) { slot->base[slot->size - 1] = 1; }

static void only_the_live_bytes_can_be_touched(void **state)
{
    (void)state;
    use_handlers();
    tw_slot *slot = take(2 * PAGE, RESERVED, PAGE);
    assert_true(all_zero(slot->base, 2 * PAGE));
    assert_int_equal(signal_of(touch_last, slot), 0);
    assert_int_not_equal(signal_of(touch_end, slot), 0);
    assert_int_equal(tw_slot_grow(slot, 3 * PAGE, NULL), TW_OK);
    assert_int_equal(slot->size, 3 * PAGE);
    assert_int_equal(signal_of(touch_last, slot), 0);
    assert_int_not_equal(signal_of(touch_end, slot), 0);
    assert_int_equal(tw_slot_grow(slot, RESERVED + PAGE, NULL), TW_LIMIT);
    tw_slot_give(slot);
}

static void a_slot_comes_back_zeroed_and_smaller(void **state)
{
    (void)state;
    use_handlers();
    static const size_t sizes[] = {PAGE, 5 * PAGE, 300 * PAGE};
    for (size_t i = 0; i < 3; i++) {
        tw_slot *slot = take(sizes[i], RESERVED, PAGE);
        memset(slot->base, 0xAB, sizes[i]);
        uint64_t generation = slot->generation;
        uint8_t *base = slot->base;
        tw_slot_give(slot);
        slot = take(PAGE, RESERVED, PAGE);
        assert_ptr_equal(slot->base, base);
        assert_int_not_equal(slot->generation, generation);
        assert_true(all_zero(slot->base, PAGE));
        assert_int_not_equal(signal_of(touch_end, slot), 0);
        assert_int_equal(tw_slot_grow(slot, sizes[i] + PAGE, NULL), TW_OK);
        assert_true(all_zero(slot->base, sizes[i] + PAGE));
        tw_slot_give(slot);
        tw_slot_trim();
    }
}

static void closing_needs_the_generation_and_a_running_guest(void **state)
{
    (void)state;
    use_handlers();
    tw_slot *slot = take(PAGE, RESERVED, PAGE);
    assert_int_equal(tw_slot_close(slot, slot->generation), TW_SLOT_IDLE);
    tw_slot_enter(slot);
    assert_int_equal(tw_slot_close(slot, slot->generation + 1), TW_SLOT_IDLE);
    assert_int_equal(signal_of(touch_last, slot), 0);
    assert_int_equal(tw_slot_close(slot, slot->generation), TW_SLOT_CLOSED);
    tw_slot_leave(slot);
    slot->base[0] = 1;
    assert_int_equal(tw_slot_close(slot, slot->generation), TW_SLOT_IDLE);
    tw_slot_give(slot);
}

static void host_code_is_served_in_a_closed_slot_and_the_stopper_closes_again(void **state)
{
    (void)state;
    use_handlers();
    tw_slot *slot = take(4 * PAGE, RESERVED, PAGE);
    tw_slot_enter(slot);
    assert_int_equal(tw_slot_close(slot, slot->generation), TW_SLOT_CLOSED);
    memset(slot->base, 7, 4 * PAGE); /* host code: a fault an instruction in the first page, then one for all */
    assert_true(atomic_load(&slot->served));
    assert_int_equal(tw_slot_close(slot, slot->generation), TW_SLOT_AGAIN);
    assert_false(atomic_load(&slot->served));
    assert_int_equal(tw_slot_grow(slot, 6 * PAGE, NULL), TW_OK); /* grown parts stay closed */
    slot->base[5 * PAGE] = 1;
    assert_true(atomic_load(&slot->served));
    slot->base[9] = 9; /* stepped over: the first page is closed again, and nothing is left to do */
    assert_int_equal(tw_slot_close(slot, slot->generation), TW_SLOT_AGAIN); /* for page 5 */
    slot->base[9]++;
    assert_int_equal(tw_slot_close(slot, slot->generation), TW_SLOT_CLOSED);
    tw_slot_leave(slot);
    assert_int_equal(slot->base[9], 10);
    assert_int_equal(slot->base[4 * PAGE - 1], 7);
    assert_int_equal(slot->base[4 * PAGE], 0);
    tw_slot_give(slot);
}

static void host_bugs_still_kill_the_process(void **state)
{
    (void)state;
    use_handlers();
    tw_slot *slot = take(PAGE, RESERVED, PAGE);
    tw_slot_enter(slot);
    tw_slot_close(slot, slot->generation);
    assert_int_not_equal(signal_of(touch_end, slot), 0); /* beyond the live size nothing is served */
    tw_slot_leave(slot);
    tw_slot_give(slot);
}

static void many_ranges_are_told_apart(void **state)
{
    (void)state;
    use_handlers();
    enum { N = 300 };
    tw_slot *slots[N];
    for (int i = 0; i < N; i++) {
        slots[i] = take(PAGE, 4 * PAGE, PAGE);
        tw_slot_enter(slots[i]);
        tw_slot_close(slots[i], slots[i]->generation);
    }
    for (int i = N - 1; i >= 0; i -= 2) tw_slot_leave(slots[i]), tw_slot_give(slots[i]);
    tw_slot_trim();
    for (int i = 0; i < N; i += 2) {
        slots[i]->base[9000] = (uint8_t)i;
        assert_true(atomic_load(&slots[i]->served));
        tw_slot_leave(slots[i]);
        tw_slot_give(slots[i]);
    }
    tw_slot_trim();
}

static void budgets_are_charged_and_given_back(void **state)
{
    (void)state;
    tw_slot_trim();
    for (int i = 0; i < TW_BUDGETS; i++) assert_int_equal(tw_budget_used((tw_budget)i), 0);
    tw_slot *a = take(2 * PAGE, 4 * PAGE, PAGE), *b = take(0, 4 * PAGE, PAGE);
    assert_int_equal(tw_budget_used(TW_BUDGET_COMMITTED), 2 * PAGE);
    assert_int_equal(tw_budget_used(TW_BUDGET_ADDRESSES), 10 * PAGE);
    assert_int_equal(tw_slot_grow(b, PAGE, NULL), TW_OK);
    assert_int_equal(tw_budget_used(TW_BUDGET_COMMITTED), 3 * PAGE);
    tw_slot_give(a);
    tw_slot_give(b);
    assert_int_equal(tw_budget_used(TW_BUDGET_COMMITTED), 0);
    assert_int_equal(tw_budget_used(TW_BUDGET_ADDRESSES), 10 * PAGE); /* they wait for reuse */
    tw_slot_trim();
    for (int i = 0; i < TW_BUDGETS; i++) assert_int_equal(tw_budget_used((tw_budget)i), 0);
}

static void a_budget_that_is_spent_refuses_and_nothing_changes(void **state)
{
    (void)state;
    tw_error error;
    tw_slot *slot = NULL, *held = take(PAGE, 4 * PAGE, PAGE);
    static const uint64_t limits[TW_BUDGETS] = {[TW_BUDGET_ADDRESSES] = 9 * PAGE, [TW_BUDGET_MAPPINGS] = 5,
                                                [TW_BUDGET_COMMITTED] = 2 * PAGE - 1};
    static const char *const says[TW_BUDGETS] = {[TW_BUDGET_ADDRESSES] = "655360 bytes of address space together, over the limit of 589824",
                                                 [TW_BUDGET_MAPPINGS] = "8 mappings together, over the limit of 5",
                                                 [TW_BUDGET_COMMITTED] = "131072 bytes together, over the limit of 131071"};
    for (int i = 0; i < TW_BUDGETS; i++) {
        tw_budget_limit((tw_budget)i, limits[i]);
        assert_int_equal(tw_slot_take(PAGE, 4 * PAGE, PAGE, &slot, &error), TW_LIMIT);
        assert_non_null(strstr(error.message, says[i]));
        tw_budget_limit((tw_budget)i, 0);
        assert_int_equal(tw_budget_used(TW_BUDGET_ADDRESSES), 5 * PAGE);
        assert_int_equal(tw_budget_used(TW_BUDGET_COMMITTED), PAGE);
    }
    tw_budget_limit(TW_BUDGET_COMMITTED, 2 * PAGE);
    assert_int_equal(tw_slot_grow(held, 3 * PAGE, &error), TW_LIMIT);
    assert_int_equal(held->size, PAGE);
    assert_int_equal(tw_slot_grow(held, 2 * PAGE, &error), TW_OK);
    tw_budget_limit(TW_BUDGET_COMMITTED, 0);
    tw_slot_give(held);
    tw_slot_trim();
}

static void slots_are_reused_without_being_unmapped(void **state)
{
    (void)state;
    enum { N = 200 };
    tw_slot *slots[N];
    uint8_t *bases[N];
    for (int i = 0; i < N; i++) {
        slots[i] = take(PAGE, 4 * PAGE, PAGE);
        memset(slots[i]->base, 1 + i, PAGE);
        bases[i] = slots[i]->base;
    }
    for (int i = 0; i < N; i++) tw_slot_give(slots[i]);
    for (int i = N - 1; i >= 0; i--) {
        slots[i] = take(PAGE, 4 * PAGE, PAGE);
        assert_ptr_equal(slots[i]->base, bases[i]);
        assert_true(all_zero(slots[i]->base, PAGE));
    }
    for (int i = 0; i < N; i++) tw_slot_give(slots[i]);
    tw_slot_trim();
}

static int set_up(void **state)
{
    (void)state;
    signal(SIGSEGV, SIG_DFL); /* not the test runner's */
    if (tw_faults_install(NULL) != TW_OK) return 1;
    keep_handlers();
    return 0;
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(only_the_live_bytes_can_be_touched),
        cmocka_unit_test(a_slot_comes_back_zeroed_and_smaller),
        cmocka_unit_test(closing_needs_the_generation_and_a_running_guest),
        cmocka_unit_test(host_code_is_served_in_a_closed_slot_and_the_stopper_closes_again),
        cmocka_unit_test(host_bugs_still_kill_the_process),
        cmocka_unit_test(many_ranges_are_told_apart),
        cmocka_unit_test(budgets_are_charged_and_given_back),
        cmocka_unit_test(a_budget_that_is_spent_refuses_and_nothing_changes),
        cmocka_unit_test(slots_are_reused_without_being_unmapped),
    };
    return cmocka_run_group_tests(tests, set_up, NULL);
}
