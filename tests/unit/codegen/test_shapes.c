/* SPDX-License-Identifier: Apache-2.0 */
/* What kernels do beside arithmetic: guards, ifs, carried scalars beneath lanes, threads that share one call, the range
 * check, the stop flag, moves that keep signalling NaNs; and what they never do: fuse a multiplication with an addition. */
#include "support.h"

static tw_codegen *codegen;
static uint8_t memory[MEMORY_BYTES], expected[MEMORY_BYTES], got[MEMORY_BYTES];

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

static void compare(subject *s, const char *name)
{
    memcpy(expected, memory, MEMORY_BYTES);
    subject_interpret(s, expected, MEMORY_BYTES, 0);
    for (int way = 0; way < 4; way++) {
        kernel k;
        char what[300];
        subject_compile(s, codegen, (manner)(way / 2), way % 2 ? 3 : 0, &k);
        snprintf(what, sizeof what, "%s: %s at O%d", name, k.info.schedule, way % 2 ? 3 : 0);
        memcpy(got, memory, MEMORY_BYTES);
        assert_int_equal(subject_run(s, &k, got, MEMORY_BYTES, 0, s->iterations), TW_KERNEL_DONE);
        assert_same_memory(got, expected, what);
        kernel_free(&k);
    }
}

static void guards_ifs_and_carried_scalars(void **state)
{
    (void)state;
    static const char *const names[] = {"guards", "lanes"}; /* an inner loop whose trips vary, or not: then there are lanes */
    static const uint64_t sizes[] = {1, 2, 31, 32, 33, 100, 129};
    fill_bytes(memory, 7);
    for (int m = 0; m < 2; m++) {
        subject s;
        subject_from_file(&s, names[m]);
        for (int checked = 0; checked < 2; checked++)
            for (int i = 0; i < 7; i++)
                for (uint64_t flag = 0; flag < 2; flag++) {
                    s.facts.checked = checked;
                    subject_numbers(&s, (uint64_t[]){sizes[i], 1024, 32768, flag * 77}, memory, MEMORY_BYTES);
                    compare(&s, names[m]);
                }
        subject_free(&s);
    }
}

/* ---- threads ---- */

static void threads_share_a_sequential_loop(void **state)
{
    (void)state;
    subject s;
    subject_from_file(&s, "jacobi");
    fill_f64(memory, 5);
    static const uint64_t sizes[] = {3, 4, 19, 66, 101};
    for (int i = 0; i < 5; i++) {
        subject_numbers(&s, (uint64_t[]){7, sizes[i], 1024, 500000}, memory, MEMORY_BYTES);
        compare(&s, "jacobi");
        kernel k;
        subject_compile(&s, codegen, SCHEDULED, 3, &k);
        assert_false(k.info.outer_parallel);
        assert_true(k.info.shares_work);
        for (uint32_t threads = 1; threads <= 5; threads += 2) {
            memcpy(got, memory, MEMORY_BYTES);
            assert_int_equal(subject_run_team(&s, &k, got, threads), TW_KERNEL_DONE);
            assert_same_memory(got, expected, "threads");
        }
        kernel_free(&k);
    }
    subject_free(&s);
}

/* ---- limits ---- */

/* The last byte that gemm touches is the memory's last; with one byte less, nothing is touched. */
static void the_range_check_is_exact(void **state)
{
    (void)state;
    subject s;
    kernel k;
    subject_from_file(&s, "gemm");
    subject_compile(&s, codegen, SCHEDULED, 3, &k);
    fill_f64(memory, 9);
    static const uint64_t bases[3][3] = {{4096, 100000, 8 * 20 * 30}, {100000, 4096, 8 * 20 * 10}, {4096, 100000, 8 * 10 * 30}};
    for (int last = 0; last < 3; last++) { /* which of A (20 x 10), B (10 x 30), C (20 x 30) lies last; symbols: C, A, B */
        uint64_t place[3] = {bases[last][0], bases[last][0] + 8192, bases[last][1]};
        place[last] = 200000;
        uint64_t end = 200000 + bases[last][2];
        uint64_t symbols[] = {20, 30, 10, f64_bits(1.5), f64_bits(2), place[0], place[1], place[2]};
        subject_numbers(&s, symbols, memory, MEMORY_BYTES);
        memcpy(got, memory, MEMORY_BYTES);
        assert_int_equal(subject_run(&s, &k, got, end, 0, 20), TW_KERNEL_DONE);
        memcpy(got, memory, MEMORY_BYTES);
        assert_int_equal(subject_run(&s, &k, got, end - 1, 0, 20), TW_KERNEL_OUT_OF_RANGE);
        assert_same_memory(got, memory, "out of range");
    }
    kernel_free(&k);
    subject_free(&s);
}

static void tables_are_read_by_lanes_rows_and_threads(void **state)
{
    (void)state;
    static const uint64_t sizes[][2] = {{1, 1}, {2, 3}, {1, 100}, {5, 16}, {9, 33}, {64, 129}};
    subject s;
    subject_from_file(&s, "tables");
    fill_bytes(memory, 11);
    for (uint32_t i = 0; i < 40000; i += 8) { /* small and wild values to clamp */
        uint32_t value = i * 31 % 4000 - 2000u;
        memcpy(memory + 65536 + i, &value, 4);
    }
    for (int checked = 0; checked < 2; checked++)
        for (size_t i = 0; i < sizeof sizes / sizeof *sizes; i++) {
            s.facts.checked = checked;
            subject_numbers(&s, (uint64_t[]){sizes[i][0], sizes[i][1], 65536, 4096, 8192, 300000}, memory, MEMORY_BYTES);
            compare(&s, "tables");
        }
    subject_free(&s);
}

/* The tables' first and last byte that an index can reach are the memory's. */
static void the_range_check_goes_as_far_as_an_index(void **state)
{
    (void)state;
    static const struct { uint64_t first, second, end; bool inside; } at[] = {
        {100, 8192, 400000, true}, {99, 8192, 400000, false}, {4096, 399474, 400000, true}, {4096, 399475, 400000, false},
        {399899, 8192, 400000, true}, {399900, 8192, 400000, false}};
    subject s;
    kernel k;
    subject_from_file(&s, "tables");
    subject_compile(&s, codegen, SCHEDULED, 3, &k);
    fill_bytes(memory, 12);
    for (size_t i = 0; i < sizeof at / sizeof *at; i++) { /* 9 rows: the second table's lie one byte further each */
        subject_numbers(&s, (uint64_t[]){9, 33, 65536, 4096, 8192, 300000}, memory, MEMORY_BYTES);
        s.args[s.layout.access[1]] = at[i].first, s.args[s.layout.access[2]] = at[i].second + 6;
        memcpy(got, memory, MEMORY_BYTES);
        int32_t result = subject_run(&s, &k, got, at[i].end, 0, 9);
        assert_int_equal(result, at[i].inside ? TW_KERNEL_DONE : TW_KERNEL_OUT_OF_RANGE);
        if (!at[i].inside) assert_same_memory(got, memory, "out of range");
        tw_numbers *n = tw_plan_numbers(s.plan); /* and so does the plan */
        n->symbols[3] = at[i].first, n->symbols[4] = at[i].second;
        assert_int_equal(tw_plan_evaluate(s.plan, (tw_plan_memory){memory, at[i].end}), at[i].inside);
    }
    kernel_free(&k);
    subject_free(&s);
}

/* Arguments that no plan would make: whatever they are, the kernel stays inside or refuses. */
static void wild_arguments_never_lead_outside(void **state)
{
    (void)state;
    static const char *const names[] = {"saxpy", "gemm", "lanes", "jacobi", "matvec", "tables"};
    uint8_t *fenced = mmap(NULL, 3 << 20, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    assert_true(fenced != MAP_FAILED);
    assert_int_equal(mprotect(fenced + (1 << 20), 65536, PROT_READ | PROT_WRITE), 0);
    uint64_t seed = 12345;
    int ran = 0;
    for (int m = 0; m < 6; m++) {
        subject s;
        kernel k;
        subject_from_file(&s, names[m]);
        subject_compile(&s, codegen, SCHEDULED, 3, &k);
        for (int round = 0; round < 20000; round++) {
            for (uint32_t w = 0; w < s.layout.count; w++) {
                uint64_t r = random_next(&seed);
                unsigned kind = r % 16;
                s.args[w] = kind < 10 ? (r >> 8) % 9 * 4 : kind < 13 ? (r >> 8) % 65536 : kind == 13 ? 0 - (r >> 8) % 64 : kind == 14 ? r : r >> 30;
            }
            for (uint32_t x = 0; x < s.model->access_count; x++) { /* as the facts say, mostly */
                uint32_t depth = s.model->loops[s.model->accesses[x].loop].depth;
                for (uint32_t d = 0; d <= depth; d++)
                    if (random_next(&seed) % 64 && s.facts.stride[x][d])
                        s.args[s.layout.access[x] + 1 + d] = s.facts.stride[x][d] == TW_STRIDE_UNIT ? s.model->accesses[x].width : 0;
            }
            for (uint32_t l = 0; l < s.model->loop_count; l++) { /* what steps by 0 may go on for ever */
                uint64_t *trips = &s.args[s.layout.trips[l]];
                if ((int64_t)*trips > 5000) *trips %= 5000;
            }
            int64_t first = (int64_t)(random_next(&seed) % 5), last = first + (int64_t)(random_next(&seed) % 40) - 2;
            int32_t result = subject_run(&s, &k, fenced + (1 << 20), 65536, first, last);
            assert_true(result == TW_KERNEL_DONE || result == TW_KERNEL_OUT_OF_RANGE);
            ran += result == TW_KERNEL_DONE;
        }
        kernel_free(&k);
        subject_free(&s);
    }
    print_message("%d of 120000 ran\n", ran);
    assert_true(ran > 1000);
    munmap(fenced, 3 << 20);
}

static void the_stop_flag_is_seen(void **state)
{
    (void)state;
    subject s;
    kernel k;
    subject_from_file(&s, "gemm");
    subject_compile(&s, codegen, SCHEDULED, 3, &k);
    subject_numbers(&s, (uint64_t[]){20, 30, 10, f64_bits(1.5), f64_bits(2), 64, 8192, 16384}, memory, MEMORY_BYTES);
    s.stop = 1;
    assert_int_equal(subject_run(&s, &k, memory, MEMORY_BYTES, 0, 20), TW_KERNEL_STOPPED);
    kernel_free(&k);
    subject_free(&s);
}

/* Facts that the numbers contradict: the kernel made for them refuses. */
static void other_strides_than_it_was_made_for_are_refused(void **state)
{
    (void)state;
    subject s;
    kernel k;
    subject_from_file(&s, "saxpy");
    subject_compile(&s, codegen, SCHEDULED, 3, &k);
    fill_f32(memory, 1);
    subject_numbers(&s, (uint64_t[]){100, 1024, 65536, f32_bits(1), 0}, memory, MEMORY_BYTES);
    memcpy(got, memory, MEMORY_BYTES);
    for (uint32_t x = 0; x < 3; x++) {
        uint64_t kept = s.args[s.layout.access[x] + 1];
        s.args[s.layout.access[x] + 1] = 8;
        assert_int_equal(subject_run(&s, &k, got, MEMORY_BYTES, 0, 100), TW_KERNEL_OUT_OF_RANGE);
        s.args[s.layout.access[x] + 1] = kept;
    }
    s.args[s.layout.access[2]] += 4; /* the store isn't where the load of y is */
    assert_int_equal(subject_run(&s, &k, got, MEMORY_BYTES, 0, 100), TW_KERNEL_OUT_OF_RANGE);
    assert_same_memory(got, memory, "refused");
    kernel_free(&k);
    subject_free(&s);
}

/* ---- exactness ---- */

static void nothing_is_fused(void **state)
{
    (void)state;
    static const char *const names[] = {"saxpy", "gemm", "matvec", "jacobi"};
    for (int i = 0; i < 4; i++) {
        subject s;
        tw_arena arena;
        tw_tree *tree;
        tw_bytes text = {0};
        tw_error error;
        subject_from_file(&s, names[i]);
        tw_arena_init(&arena, TW_ARENA_NO_LIMIT);
        subject_tree(&s, SCHEDULED, codegen, &arena, &tree);
        assert_int_equal(tw_codegen_dump(codegen, tree, 3, "asm", &text, &error), TW_OK);
        assert_non_null(strstr(text.data, "mulp"));
        assert_null(strstr(text.data, "vfmadd"));
        assert_null(strstr(text.data, "vfnmadd"));
        assert_null(strstr(text.data, "vfmsub"));
        tw_bytes_free(&text);
        tw_arena_free(&arena);
        subject_free(&s);
    }
}

static const char copy_text[] = "region \"copy\" exits-at-end exit 1\nloop n0 trips e0\n"
                                "expr e0 = const i64 100\nexpr e1 = const i32 4096\nexpr e2 = const i32 8\nexpr e3 = const i32 8192\n"
                                "affine a0 i32 in n0 = e1 + e2 * n0\naffine a1 i32 in n0 = e3 + e2 * n0\n"
                                "access x0 f64.load a0 + 0 in n0\naccess x1 f64.store a1 + 0 in n0\n"
                                "access x2 f32.load a0 + 65536 in n0\naccess x3 f32.store a1 + 65536 in n0\n"
                                "value v0 = read x0\nvalue v1 = read x2\nvalue v2 = const i32 1\nvalue v3 = select v0 v0 v2\n"
                                "n0 {\n  read v0\n  store x1 v3\n  read v1\n  store x3 v1\n}\nend\n"
                                "fact parallel n0\nfact trips n0 128\nfact stride x0 n0 unit\nfact stride x1 n0 unit\n"
                                "fact group x1 1\nfact group x2 2\nfact group x3 3\n";

static void moves_keep_signalling_nans(void **state)
{
    (void)state;
    for (int canonical = 0; canonical < 2; canonical++) {
        subject s;
        subject_from_text(&s, copy_text, sizeof copy_text - 1);
        s.facts.canonical_nan = canonical;
        for (size_t i = 0; i < MEMORY_BYTES / 8; i++) {
            uint64_t nan = i < 8192 ? 0x7ff0000000000001u + i : 0x7f8000017f800001u + i;
            memcpy(memory + 8 * i, &nan, 8);
        }
        subject_numbers(&s, NULL, memory, MEMORY_BYTES);
        compare(&s, "copy");
        subject_free(&s);
    }
}

/* Two arrays whose constant addresses are further apart than accesses may be to share one computation. */
static void arrays_far_apart_at_constant_addresses(void **state)
{
    (void)state;
    static const char text[] = "region \"far\" exits-at-end exit 1\nsymbol s0 i32 live-in 0\nloop n0 trips e0\n"
                               "expr e0 = const i64 100\nexpr e1 = symbol s0\nexpr e2 = const i32 8\nexpr e3 = const i32 2995904\n"
                               "expr e4 = i32.add e1 e3\nexpr e5 = const i32 5995904\nexpr e6 = i32.add e5 e1\n"
                               "affine a0 i32 in n0 = e1 + e2 * n0\naffine a1 i32 in n0 = e4 + e2 * n0\naffine a2 i32 in n0 = e6 + e2 * n0\n"
                               "access x0 f64.load a0 + 0 in n0\naccess x1 f64.store a1 + 0 in n0\naccess x2 f64.store a2 + 8 in n0\n"
                               "value v0 = read x0\nn0 {\n  read v0\n  store x1 v0\n  store x2 v0\n}\nend\n"
                               "fact parallel n0\nfact trips n0 128\nfact stride x0 n0 unit\nfact stride x1 n0 unit\n"
                               "fact stride x2 n0 unit\nfact group x1 1\nfact group x2 2\n";
    enum { FAR_BYTES = 7000000 };
    subject s;
    uint8_t *far_memory = calloc(1, FAR_BYTES);
    for (size_t i = 0; i < 800; i++) far_memory[4096 + i] = (uint8_t)(i * 7 + 1);
    subject_from_text(&s, text, sizeof text - 1);
    subject_numbers(&s, (uint64_t[]){4096}, far_memory, FAR_BYTES);
    for (int how = PLAIN; how <= SCHEDULED; how++) {
        kernel k;
        subject_compile(&s, codegen, (manner)how, 3, &k);
        memset(far_memory + 3000000, 0, FAR_BYTES - 3000000);
        assert_int_equal(subject_run(&s, &k, far_memory, FAR_BYTES, 0, 100), TW_KERNEL_DONE);
        assert_memory_equal(far_memory + 3000000, far_memory + 4096, 800);
        assert_memory_equal(far_memory + 6000008, far_memory + 4096, 800);
        kernel_free(&k);
    }
    free(far_memory);
    subject_free(&s);
}

/* Each of two channels that lie interleaved is the other's gap: while threads share the channels out, no gap is rewritten. */
static void gaps_that_other_threads_fill_are_left_alone(void **state)
{
    (void)state;
    static const char form[] = "region \"channels\" exits-at-end exit 1\nloop n0 trips e0\nloop n1 in n0 trips e1\n"
                               "expr e0 = const i64 2\nexpr e1 = const i64 100\nexpr e2 = const i32 4096\nexpr e3 = const i32 8192\n"
                               "expr e4 = const i32 4\nexpr e5 = const i32 8\n"
                               "affine a0 i32 in n1 = e2 + e4 * n1\naffine a1 i32 in n1 = e3 + e4 * n0 + e5 * n1\n"
                               "access x0 i32.load a0 + 0 in n1\naccess x1 i32.store a1 + 0 in n1\n"
                               "value v0 = read x0\nn0 {\n  n1 {\n    read v0\n    store x1 v0\n  }\n}\nend\n"
                               "fact parallel n1\nfact trips n0 2\nfact trips n1 128\nfact stride x0 n1 unit\nfact group x1 1\n";
    for (int shared = 0; shared < 2; shared++) {
        char text[2048];
        int length = snprintf(text, sizeof text, "%s%s", form, shared ? "fact parallel n0\n" : "");
        subject s;
        subject_from_text(&s, text, (size_t)length);
        tw_arena arena;
        tw_arena_init(&arena, TW_ARENA_NO_LIMIT);
        tw_tree *tree;
        tw_error error;
        tw_bytes code = {0};
        assert_int_equal(tw_schedule_make(s.model, &s.facts, tw_codegen_target(codegen), &arena, &tree, &error), TW_OK);
        assert_int_equal(tree->outer_parallel, shared);
        assert_int_equal(tw_codegen_dump(codegen, tree, 3, "llvm", &code, &error), TW_OK);
        tw_bytes_append_byte(&code, 0);
        assert_int_equal(strstr((char *)code.data, "store <") != NULL, !shared);
        tw_bytes_free(&code);
        tw_arena_free(&arena);
        subject_free(&s);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(gaps_that_other_threads_fill_are_left_alone),
        cmocka_unit_test(guards_ifs_and_carried_scalars),
        cmocka_unit_test(threads_share_a_sequential_loop),
        cmocka_unit_test(tables_are_read_by_lanes_rows_and_threads),
        cmocka_unit_test(the_range_check_is_exact),
        cmocka_unit_test(the_range_check_goes_as_far_as_an_index),
        cmocka_unit_test(wild_arguments_never_lead_outside),
        cmocka_unit_test(the_stop_flag_is_seen),
        cmocka_unit_test(other_strides_than_it_was_made_for_are_refused),
        cmocka_unit_test(nothing_is_fused),
        cmocka_unit_test(moves_keep_signalling_nans),
        cmocka_unit_test(arrays_far_apart_at_constant_addresses),
    };
    return cmocka_run_group_tests(tests, set_up, tear_down);
}
