/* SPDX-License-Identifier: Apache-2.0 */
/* Images and resets: after each way of resetting, whatever was done to the memory, it is what the image was made of. */
#include <pthread.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <unistd.h>

#include <cmocka.h>

#include "memory/budget.h"
#include "memory/faults.h"
#include "memory/reset.h"
#include "../../handlers.h"

#define MIB ((size_t)1 << 20)
#define RESERVED (64 * MIB)
#define WASM 65536u

static uint32_t next(uint32_t *seed) { return *seed = *seed * 1664525 + 1013904223; }

/* `runs` stretches of bytes that aren't zero. */
static uint8_t *contents(size_t size, int runs, uint32_t seed)
{
    uint8_t *memory = mmap(NULL, size, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    assert_true(memory != MAP_FAILED);
    for (int i = 0; i < runs; i++) {
        size_t at = next(&seed) % size, length = next(&seed) % 20000;
        for (size_t j = at; j < at + length && j < size; j++) memory[j] = (uint8_t)(next(&seed) >> 20 | 1);
    }
    return memory;
}

static tw_slot *take(size_t size)
{
    tw_slot *slot;
    assert_int_equal(tw_slot_take(size, RESERVED, WASM, &slot, NULL), TW_OK);
    return slot;
}

static tw_image *image_of(const uint8_t *memory, size_t size)
{
    tw_image *image;
    tw_error error;
    if (tw_image_new(memory, size, &image, &error) != TW_OK) fail_msg("%s", error.message);
    return image;
}

static void an_image_holds_the_pages_with_data_only(void **state)
{
    (void)state;
    size_t size = 32 * MIB;
    uint8_t *memory = contents(size, 0, 1);
    memory[5 * 4096 + 17] = 1;
    memory[6 * 4096] = 2;
    memory[20 * MIB] = 3;
    tw_image *image = image_of(memory, size);
    assert_int_equal(image->extent_count, 2);
    assert_int_equal(image->bytes, 3 * 4096);
    assert_int_equal(image->extents[0].at, 5 * 4096);
    assert_int_equal(image->extents[0].size, 2 * 4096);
    assert_int_equal(image->extents[1].at, 20 * MIB);
    assert_null(tw_image_page(image, 0));
    assert_int_equal(tw_image_page(image, 20 * MIB)[0], 3);
    assert_int_equal(ftruncate(image->files[0].file, 0), -1); /* sealed */
    assert_int_equal(write(image->files[0].file, "x", 1), -1);
    tw_image_release(image);
    for (size_t at = 0; at < size; at += 100 * 4096) memory[at] = 9; /* many: the closest are joined */
    image = image_of(memory, size);
    assert_true(image->extent_count <= TW_IMAGE_EXTENTS);
    for (size_t at = 0; at < size; at += 4096) {
        const uint8_t *page = tw_image_page(image, at);
        if (page) assert_memory_equal(page, memory + at, 4096);
        else assert_true(memory[at] == 0);
    }
    tw_image_release(image);
    munmap(memory, size);
}

static void slots_share_an_image_and_see_nothing_of_each_other(void **state)
{
    (void)state;
    size_t size = 4 * WASM;
    uint8_t *memory = contents(size, 3, 7);
    tw_image *image = image_of(memory, size);
    tw_slot *a = take(size), *b = take(size);
    assert_int_equal(tw_slot_put_image(a, image, NULL), TW_OK);
    assert_int_equal(tw_slot_put_image(b, image, NULL), TW_OK);
    memset(a->base, 0x55, size);
    assert_memory_equal(b->base, memory, size);
    tw_image_release(image); /* the slots keep it */
    tw_slot_give(a);
    assert_memory_equal(b->base, memory, size);
    tw_slot_give(b);
    for (int i = 0; i < 2; i++) { /* who comes next finds zeros */
        a = take(size), b = take(size);
        for (size_t at = 0; at < size; at++) assert_true(!a->base[at] && !b->base[at]);
        tw_slot_give(a), tw_slot_give(b);
    }
    tw_slot_trim();
    for (int i = 0; i < TW_BUDGETS; i++) assert_int_equal(tw_budget_used((tw_budget)i), 0);
    munmap(memory, size);
}

/* Writes, reads, growth, and what the kernel does to pages behind everybody's back. */
static void use(tw_slot *slot, uint32_t seed)
{
    for (int i = 0; i < 40; i++) {
        size_t at = next(&seed) % slot->size;
        switch (next(&seed) >> 16 & 7) {
        case 0: (void)*(volatile uint8_t *)(slot->base + at); break;
        case 1: memset(slot->base + at, (int)seed, next(&seed) % (slot->size - at) % 60000); break;
        case 2: memset(slot->base + at, 0, next(&seed) % (slot->size - at) % 60000); break;
        case 3:
            if (slot->size + WASM <= RESERVED) assert_int_equal(tw_slot_grow(slot, slot->size + WASM, NULL), TW_OK);
            slot->base[slot->size - 1] = 1;
            break;
        case 4: madvise(slot->base, slot->size & ~(size_t)4095, MADV_PAGEOUT); break;
        default: slot->base[at] = (uint8_t)(seed >> 24); break;
        }
    }
}

static void is_as_fresh(const tw_slot *slot, const uint8_t *memory, size_t size)
{
    assert_int_equal(slot->size, size);
    assert_int_equal(slot->opened, size);
    if (memcmp(slot->base, memory, size)) fail_msg("the memory differs from its image");
}

static void every_way_gives_the_image_back(void **state)
{
    (void)state;
    use_handlers();
    static const size_t sizes[] = {WASM, 5 * WASM, 3 * MIB, 20 * MIB};
    for (size_t s = 0; s < sizeof sizes / sizeof *sizes; s++) {
        for (int way = 0; way < TW_RESET_WAYS; way++) {
            if (!tw_reset_can((tw_reset_way)way)) {
                print_message("this system can't reset by way %d\n", way);
                continue;
            }
            uint8_t *memory = contents(sizes[s], (int)s * 5, (uint32_t)s + 1);
            tw_image *image = image_of(memory, sizes[s]);
            tw_slot *slot = take(sizes[s]);
            assert_int_equal(tw_slot_put_image(slot, image, NULL), TW_OK);
            is_as_fresh(slot, memory, sizes[s]);
            for (uint32_t round = 0; round < 12; round++) {
                use(slot, round * 100 + (uint32_t)way);
                assert_true(tw_reset(slot, (tw_reset_way)way));
                is_as_fresh(slot, memory, sizes[s]);
                assert_int_equal(tw_slot_grow(slot, sizes[s] + WASM, NULL), TW_OK); /* what was beyond is zero again */
                for (size_t at = sizes[s]; at < sizes[s] + WASM; at++) assert_int_equal(slot->base[at], 0);
            }
            tw_slot_give(slot);
            tw_image_release(image);
            munmap(memory, sizes[s]);
        }
    }
    tw_slot_trim();
    for (int i = 0; i < TW_BUDGETS; i++) assert_int_equal(tw_budget_used((tw_budget)i), 0);
}

/* More private regions than one answer of the kernel holds. */
static void the_whole_range_is_walked(void **state)
{
    (void)state;
    size_t size = 16 * MIB;
    uint8_t *memory = contents(size, 0, 1);
    memory[0] = 1;
    for (int way = TW_RESET_SCAN; way <= TW_RESET_PAGEMAP; way++) {
        if (!tw_reset_can((tw_reset_way)way)) continue;
        tw_image *image = image_of(memory, size);
        tw_slot *slot = take(size);
        assert_int_equal(tw_slot_put_image(slot, image, NULL), TW_OK);
        for (size_t at = 0; at < size; at += 2 * 4096) slot->base[at + 5] = 7;
        assert_true(tw_reset(slot, (tw_reset_way)way));
        is_as_fresh(slot, memory, size);
        tw_slot_give(slot);
        tw_image_release(image);
    }
    munmap(memory, size);
}

static size_t private_pages(const tw_slot *slot, size_t size)
{
    static uint64_t entries[16 * MIB / 4096];
    FILE *file = fopen("/proc/self/pagemap", "rb");
    size_t count = 0, pages = size / 4096;
    assert_non_null(file);
    assert_int_equal(fseek(file, (long)((uintptr_t)slot->base / 4096 * sizeof *entries), SEEK_SET), 0);
    assert_int_equal(fread(entries, sizeof *entries, pages, file), pages);
    fclose(file);
    for (size_t i = 0; i < pages; i++) count += (entries[i] >> 63) && !(entries[i] >> 61 & 1);
    return count;
}

static void *write_there(void *at)
{
    memset(at, 9, 5000);
    return NULL;
}

/* The same pages every time: the second reset has nothing to look for. Then others, of another thread's, and by a system call. */
static void pages_that_are_recalled_are_all_that_changed(void **state)
{
    (void)state;
    size_t size = 16 * MIB;
    uint8_t *memory = contents(size, 4, 3);
    if (!tw_reset_can(TW_RESET_RECALL)) skip();
    for (int mapped = 0; mapped < 2; mapped++) {
        tw_image *image = image_of(memory, size);
        tw_slot *slot = take(size);
        pthread_t thread;
        int ends[2];
        if (mapped) {
            assert_int_equal(tw_slot_put_image(slot, image, NULL), TW_OK);
        } else {
            memcpy(slot->base, memory, size);
            tw_slot_adopt_image(slot, image);
        }
        for (size_t round = 0; round < 20; round++) {
            for (size_t at = 77; at < size; at += 2 * MIB) slot->base[at] ^= 0x80;
            if (round == 8) assert_int_equal(pthread_create(&thread, NULL, write_there, slot->base + 3 * MIB), 0);
            if (round == 8) assert_int_equal(pthread_join(thread, NULL), 0);
            if (round == 12) {
                assert_int_equal(pipe(ends), 0);
                assert_int_equal(write(ends[1], "somewhere else", 14), 14);
                assert_int_equal(read(ends[0], slot->base + 5 * MIB + 4090, 14), 14);
                close(ends[0]), close(ends[1]);
            }
            if (round == 15) madvise(slot->base, size, MADV_PAGEOUT);
            assert_true(tw_reset(slot, TW_RESET_RECALL));
            is_as_fresh(slot, memory, size);
        }
        assert_true(slot->known->valid);
        tw_slot_give(slot);
        tw_image_release(image);
    }
    munmap(memory, size);
}

static void private_pages_that_nobody_uses_any_more_are_given_back(void **state)
{
    (void)state;
    size_t size = 16 * MIB;
    uint8_t *memory = contents(size, 4, 3);
    if (!tw_reset_can(TW_RESET_RECALL)) skip();
    tw_image *image = image_of(memory, size);
    tw_slot *slot = take(size);
    assert_int_equal(tw_slot_put_image(slot, image, NULL), TW_OK);
    memset(slot->base + MIB, 3, 6 * MIB); /* a run that needed much */
    assert_true(tw_reset(slot, TW_RESET_RECALL));
    is_as_fresh(slot, memory, size);
    for (int round = 0; round < 3; round++) { /* and some that need little */
        slot->base[MIB + 5] = 7;
        assert_true(tw_reset(slot, TW_RESET_RECALL));
    }
    assert_true(private_pages(slot, size) < 100);
    is_as_fresh(slot, memory, size);
    for (uint32_t seed = 1, round = 0; round < 40; round++) { /* elsewhere each time */
        for (int i = 0; i < 30; i++) slot->base[next(&seed) % size] = 1;
        assert_true(tw_reset(slot, TW_RESET_RECALL));
        if (round % 8 == 7) is_as_fresh(slot, memory, size); /* which maps the zero page everywhere */
        if (round % 8 == 6) assert_true(slot->known->pages < 300);
    }
    tw_slot_give(slot);
    tw_image_release(image);
    munmap(memory, size);
}

static void an_image_without_data_and_one_of_nothing(void **state)
{
    (void)state;
    uint8_t *memory = contents(2 * WASM, 0, 1);
    static const size_t sizes[] = {0, 2 * WASM};
    for (int i = 0; i < 2; i++) {
        tw_image *image = image_of(memory, sizes[i]);
        assert_int_equal(image->bytes, 0);
        for (int way = 0; way < TW_RESET_WAYS; way++) {
            if (!tw_reset_can((tw_reset_way)way)) continue;
            tw_slot *slot = take(sizes[i]);
            assert_int_equal(tw_slot_put_image(slot, image, NULL), TW_OK);
            assert_int_equal(tw_slot_grow(slot, sizes[i] + WASM, NULL), TW_OK);
            memset(slot->base, 1, slot->size);
            assert_true(tw_reset(slot, (tw_reset_way)way));
            is_as_fresh(slot, memory, sizes[i]);
            tw_slot_give(slot);
        }
        tw_image_release(image);
    }
    munmap(memory, 2 * WASM);
}

static void an_image_over_the_budget_is_refused(void **state)
{
    (void)state;
    uint8_t *memory = contents(WASM, 0, 1);
    memset(memory, 1, WASM);
    tw_image *image = NULL;
    tw_budget_limit(TW_BUDGET_COMMITTED, WASM - 1);
    assert_int_equal(tw_image_new(memory, WASM, &image, NULL), TW_LIMIT);
    tw_budget_limit(TW_BUDGET_COMMITTED, 0);
    assert_int_equal(tw_budget_used(TW_BUDGET_COMMITTED), 0);
    struct rlimit before, none;
    getrlimit(RLIMIT_NOFILE, &before);
    none = (struct rlimit){0, before.rlim_max};
    setrlimit(RLIMIT_NOFILE, &none);
    assert_int_equal(tw_image_new(memory, WASM, &image, NULL), TW_IO);
    setrlimit(RLIMIT_NOFILE, &before);
    assert_int_equal(tw_budget_used(TW_BUDGET_COMMITTED), 0);
    munmap(memory, WASM);
}

static int set_up(void **state)
{
    (void)state;
    if (tw_faults_install(NULL) != TW_OK) return 1;
    keep_handlers();
    return 0;
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(an_image_holds_the_pages_with_data_only),
        cmocka_unit_test(slots_share_an_image_and_see_nothing_of_each_other),
        cmocka_unit_test(every_way_gives_the_image_back),
        cmocka_unit_test(the_whole_range_is_walked),
        cmocka_unit_test(pages_that_are_recalled_are_all_that_changed),
        cmocka_unit_test(private_pages_that_nobody_uses_any_more_are_given_back),
        cmocka_unit_test(an_image_without_data_and_one_of_nothing),
        cmocka_unit_test(an_image_over_the_budget_is_refused),
    };
    return cmocka_run_group_tests(tests, set_up, NULL);
}
