/* SPDX-License-Identifier: Apache-2.0 */
/* A kernel leaves the bytes that the interpreter leaves: as written or scheduled, unoptimised or optimised, in one call or
 * in chunks; and it touches nothing when its numbers lead outside memory. */
#include "support.h"

static tw_codegen *codegen;

static int set_up(void **state)
{
    (void)state;
    tw_error error;
    return tw_codegen_new(&codegen, &error);
}

static int tear_down(void **state)
{
    (void)state;
    tw_codegen_free(codegen);
    return 0;
}

static void compare_all(subject *s, const uint8_t *memory, const char *name)
{
    static uint8_t expected[MEMORY_BYTES], got[MEMORY_BYTES];
    memcpy(expected, memory, MEMORY_BYTES);
    subject_interpret(s, expected, MEMORY_BYTES, 0);
    for (uint64_t seed = 1; seed < 4; seed++) {
        memcpy(got, memory, MEMORY_BYTES);
        subject_interpret(s, got, MEMORY_BYTES, seed);
        assert_same_memory(got, expected, "parallel loops in a random order");
    }
    for (int how = PLAIN; how <= SCHEDULED; how++)
        for (unsigned level = 0; level <= 3; level += 3) {
            kernel k;
            char what[300];
            subject_compile(s, codegen, (manner)how, level, &k);
            snprintf(what, sizeof what, "%s: %s at O%u", name, k.info.schedule, level);
            memcpy(got, memory, MEMORY_BYTES);
            assert_int_equal(subject_run(s, &k, got, MEMORY_BYTES, 0, s->iterations), TW_KERNEL_DONE);
            assert_same_memory(got, expected, what);
            memcpy(got, memory, MEMORY_BYTES);
            for (int64_t at = 0, step = 3; at < s->iterations; at += step, step += 4)
                assert_int_equal(subject_run(s, &k, got, MEMORY_BYTES, at, at + step < s->iterations ? at + step : s->iterations),
                                 TW_KERNEL_DONE);
            assert_same_memory(got, expected, what);
            kernel_free(&k);
        }
}

static uint8_t memory[MEMORY_BYTES];
static const uint64_t sizes[] = {1, 2, 3, 7, 8, 31, 32, 33, 63, 64, 65, 100};
enum { SIZES = sizeof sizes / sizeof *sizes };

static void saxpy(void **state)
{
    (void)state;
    subject s;
    subject_from_file(&s, "saxpy");
    fill_f32(memory, 1);
    for (int i = 0; i < SIZES; i++) {
        subject_numbers(&s, (uint64_t[]){sizes[i], 1024, 524288 + 4, f32_bits(1.7f), 0}, memory, MEMORY_BYTES);
        compare_all(&s, memory, "saxpy");
    }
    subject_free(&s);
}

static void gemm(void **state)
{
    (void)state;
    subject s;
    subject_from_file(&s, "gemm");
    fill_f64(memory, 2);
    for (int i = 0; i < SIZES; i++) {
        uint64_t n = sizes[i] % 37 + 1, m = sizes[i], k = sizes[(i + 5) % SIZES];
        subject_numbers(&s, (uint64_t[]){n, m, k, f64_bits(1.5), f64_bits(0.3), 64, 200000, 400000}, memory, MEMORY_BYTES);
        compare_all(&s, memory, "gemm");
    }
    subject_free(&s);
}

static void matvec(void **state)
{
    (void)state;
    subject s;
    subject_from_file(&s, "matvec");
    fill_f64(memory, 3);
    for (int i = 0; i < SIZES; i++) {
        subject_numbers(&s, (uint64_t[]){sizes[i], sizes[SIZES - 1 - i], 64, 400000, 600000}, memory, MEMORY_BYTES);
        compare_all(&s, memory, "matvec");
    }
    subject_free(&s);
}

static void transpose(void **state)
{
    (void)state;
    subject s;
    subject_from_file(&s, "transpose");
    fill_bytes(memory, 4);
    for (int i = 0; i < SIZES; i++) {
        subject_numbers(&s, (uint64_t[]){sizes[i], sizes[(i * 5 + 3) % SIZES], 64, 600000}, memory, MEMORY_BYTES);
        compare_all(&s, memory, "transpose");
    }
    subject_free(&s);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(saxpy),
        cmocka_unit_test(gemm),
        cmocka_unit_test(matvec),
        cmocka_unit_test(transpose),
    };
    return cmocka_run_group_tests(tests, set_up, tear_down);
}
