/* SPDX-License-Identifier: Apache-2.0 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>

#include <cmocka.h>

#include "../../support/ir_interp.h"

static const uint64_t corners[] = {0, 1, 2, 3, 7, 31, 32, 33, 63, 64, 65, 127, 128, 255, 256, 0x7FFF, 0x8000, 0xFFFF,
                                   0x7FFFFFFF, 0x80000000, 0x80000001, 0xFFFFFFFE, 0xFFFFFFFF, 0x100000000,
                                   0x123456789ABCDEF0, 0x7FFFFFFFFFFFFFFF, 0x8000000000000000, 0xFFFFFFFFFFFFFFFF};

static bool is_integer_op(const tw_op_info *info)
{
    return (info->kind == TW_KIND_PURE || info->kind == TW_KIND_TRAPPING) && info->name[0] == 'i' && info->name[3] == '.' &&
           strspn(info->operands, "il") == strlen(info->operands);
}

/* The other opinion is that of the tests' interpreter. */
static void folding_agrees_with_a_second_reading_of_the_specification(void **state)
{
    (void)state;
    unsigned ops = 0, traps = 0;
    interp in = {0};
    for (int op = 1; op < TW_OP_COUNT; op++) {
        const tw_op_info *info = tw_op_describe((tw_op)op);
        if (!is_integer_op(info)) continue;
        ops++;
        for (size_t i = 0; i < sizeof corners / sizeof *corners; i++)
            for (size_t k = 0; k < sizeof corners / sizeof *corners; k++) {
                uint64_t args[2] = {corners[i], corners[k]}, want = 0, got = 0;
                if (info->operands[0] == 'i') args[0] = (uint32_t)args[0];
                if (info->operands[1] == 'i') args[1] = (uint32_t)args[1];
                interp_end end = interp_pure(&in, (tw_op)op, args, (uint32_t)strlen(info->operands), &want);
                assert_int_not_equal(end, INTERP_UNKNOWN);
                bool folded = tw_ir_fold_int((tw_op)op, args[0], args[1], &got);
                if (folded != (end == INTERP_OK) || (folded && got != want))
                    fail_msg("%s %llx %llx: %llx, not %llx", info->name, (unsigned long long)args[0],
                             (unsigned long long)args[1], (unsigned long long)got, (unsigned long long)want);
                traps += !folded;
            }
    }
    assert_int_equal(ops, (15 + 3 + 11) * 2 + 8); /* binary, counting bits, comparing; conversions */
    assert_true(traps > 0);
}

static void only_the_low_half_of_i32_operands_counts(void **state)
{
    (void)state;
    uint64_t out;
    assert_true(tw_ir_fold_int(TW_OP_I32_ADD, 0xABCD00000001u, 0x1234FFFFFFFFu, &out));
    assert_int_equal(out, 0);
    assert_true(tw_ir_fold_int(TW_OP_I32_EQZ, 0x100000000u, 0, &out));
    assert_int_equal(out, 1);
}

static void other_operations_are_refused(void **state)
{
    (void)state;
    uint64_t out;
    assert_false(tw_ir_fold_int(TW_OP_F32_ADD, 1, 2, &out));
    assert_false(tw_ir_fold_int(TW_OP_I32_LOAD, 1, 2, &out));
    assert_false(tw_ir_fold_int(TW_OP_I32X4_ADD, 1, 2, &out));
    assert_false(tw_ir_fold_int(TW_OP_INVALID, 1, 2, &out));
    assert_false(tw_ir_fold_int(TW_OP_I32_TRUNC_F32_S, 1, 2, &out));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(folding_agrees_with_a_second_reading_of_the_specification),
        cmocka_unit_test(only_the_low_half_of_i32_operands_counts),
        cmocka_unit_test(other_operations_are_refused),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
