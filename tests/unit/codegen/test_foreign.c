/* SPDX-License-Identifier: Apache-2.0 */
/* Facts that aren't true: a kernel made for them may compute nonsense, but compiling it ends in a kernel or a reason, and
 * running it touches nothing outside memory. */
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

static void lie(subject *s, uint64_t *seed)
{
    const tw_model *m = s->model;
    for (uint32_t l = 0; l < m->loop_count; l++) {
        uint64_t r = random_next(seed) >> 11;
        if (r % 3 == 0) s->facts.parallel[l] = !s->facts.parallel[l];
        if (r % 5 == 0) s->facts.varying[l] = !s->facts.varying[l];
        if (r % 31 == 0) s->facts.dead[l] = !s->facts.dead[l];
        if (r % 7 == 0) s->facts.free[l] = (uint8_t)((r >> 8) % (m->loops[l].depth + 1));
        s->facts.trips[l] = (uint64_t)1 << (r >> 16) % 24;
    }
    for (uint32_t x = 0; x < m->access_count; x++) {
        for (uint32_t d = 0; d < TW_MODEL_MAX_DEPTH; d++)
            if (random_next(seed) % 4 == 0) s->facts.stride[x][d] = (uint8_t)((random_next(seed) >> 9) % 3);
        if (random_next(seed) % 4 == 0) s->facts.group[x] = (uint8_t)(random_next(seed) >> 9);
    }
    s->facts.canonical_nan = random_next(seed) % 2;
    s->facts.checked = random_next(seed) % 8 == 0;
}

typedef struct tally {
    int compiled, refused, ran;
} tally;

static void compile_and_run(subject *s, uint8_t *memory, uint64_t size, tally *t)
{
    tw_arena arena;
    tw_arena_init(&arena, TW_ARENA_NO_LIMIT);
    tw_tree *tree;
    tw_kernel_info info;
    tw_bytes code = {0};
    tw_error error = {.message = ""};
    subject_tree(s, SCHEDULED, codegen, &arena, &tree);
    if (tw_codegen_compile(codegen, tree, 0, &info, &code, &error)) {
        assert_true(error.message[0]);
        t->refused++;
    } else {
        kernel k;
        kernel_load(&k, &info, code.data);
        int32_t result = subject_run(s, &k, memory, size, 0, s->iterations);
        assert_in_range(result, TW_KERNEL_DONE, TW_KERNEL_STOPPED);
        t->compiled++, t->ran += result == TW_KERNEL_DONE;
        kernel_free(&k);
    }
    tw_bytes_free(&code);
    tw_arena_free(&arena);
}

static void facts_that_lie(void **state)
{
    (void)state;
    static const char *const names[] = {"saxpy", "gemm", "matvec", "jacobi", "guards", "lanes", "transpose"};
    static const uint64_t symbols[][8] = {
        {100, 1024, 32768, 0x3f800000, 0}, {17, 20, 9, 0, 0, 64, 8192, 20000}, {17, 20, 64, 8192, 20000},
        {3, 20, 1024, 16384}, {40, 1024, 32768, 0}, {40, 1024, 32768, 0}, {33, 40, 64, 32768},
    };
    uint8_t *fenced = mmap(NULL, 3 << 20, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    assert_true(fenced != MAP_FAILED);
    assert_int_equal(mprotect(fenced + (1 << 20), 1 << 20, PROT_READ | PROT_WRITE), 0);
    uint64_t seed = 77;
    tally t = {0};
    for (int m = 0; m < 7; m++)
        for (int round = 0; round < 25; round++) {
            subject s;
            subject_from_file(&s, names[m]);
            subject_numbers(&s, symbols[m], fenced + (1 << 20), 1 << 20);
            lie(&s, &seed);
            compile_and_run(&s, fenced + (1 << 20), 1 << 20, &t);
            subject_free(&s);
        }
    print_message("%d compiled, %d ran, %d refused\n", t.compiled, t.ran, t.refused);
    assert_true(t.compiled > 50);
    munmap(fenced, 3 << 20);
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(facts_that_lie)};
    return cmocka_run_group_tests(tests, set_up, tear_down);
}
