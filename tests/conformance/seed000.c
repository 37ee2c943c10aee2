/* SPDX-License-Identifier: Apache-2.0 */
/* The earlier project's snapshot tests with bytes from the host's own memory; each format is a test. */
#include "seed000.h"

#include <sys/mman.h>

static void round_trip_from_the_heap(const form *f)
{
    source s = heap_source();
    snapshot_round_trip_with_source(f, span_of(s.wasm), span_of(s.device), span_of(s.registers));
    free_heap_source(&s);
}

static void the_archive_gives_a_heap_back(void **state)
{
    (void)state;
    round_trip_from_the_heap(&archive);
    round_trip_from_the_heap(&archive_ed25519);
}

static void the_image_gives_a_heap_back(void **state)
{
    (void)state;
    round_trip_from_the_heap(&image);
    round_trip_from_the_heap(&image_ed25519);
}

static void v2_gives_a_heap_back(void **state)
{
    (void)state;
    round_trip_from_the_heap(&v2);
}

static void v3_gives_a_heap_back(void **state)
{
    (void)state;
    round_trip_from_the_heap(&v3);
    round_trip_from_the_heap(&v3_ed25519);
}

static void v4_gives_a_heap_back(void **state)
{
    (void)state;
    round_trip_from_the_heap(&v4);
}

/* Mapped pages, and addresses that are multiples of nothing. */
static void the_file_does_not_show_where_its_bytes_lay(void **state)
{
    (void)state;
    uint8_t *pages = mmap(NULL, 65536, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    assert_true(pages != MAP_FAILED);
    source odd = {{pages + 1, WASM_SIZE}, {pages + 16387, DEVICE_SIZE}, {pages + 32771, REGISTERS_SIZE}};
    source heap = heap_source();
    assert_true(populate(odd.wasm, odd.device, odd.registers));
    for (int i = 0; i < FORMS; i++) assert_same_file(all_forms[i], &heap, &odd);
    free_heap_source(&heap);
    munmap(pages, 65536);
}

/* By hand, so that the patterns are the document's. */
static void the_patterns_are_those_of_the_document(void **state)
{
    (void)state;
    source s = heap_source();
    assert_int_equal(s.wasm.data[0], 0);
    assert_int_equal(s.wasm.data[250], 250);
    assert_int_equal(s.wasm.data[251], 0);
    assert_int_equal(s.wasm.data[8191], 8191 - 32 * 251);
    assert_int_equal(s.device.data[1], 17);
    assert_int_equal(s.device.data[14], 238);
    assert_int_equal(s.device.data[15], 2);
    assert_int_equal(s.registers.data[0], 0xA5);
    assert_int_equal(s.registers.data[0xA5], 0);
    assert_int_equal(s.registers.data[511], 0x5A);
    free_heap_source(&s);
}

static void destinations_of_another_length_are_not_filled(void **state)
{
    (void)state;
    uint8_t bytes[WASM_SIZE + 1] = {0};
    static const size_t wrong[][3] = {
        {WASM_SIZE - 1, DEVICE_SIZE, REGISTERS_SIZE}, {WASM_SIZE + 1, DEVICE_SIZE, REGISTERS_SIZE},
        {WASM_SIZE, DEVICE_SIZE - 1, REGISTERS_SIZE}, {WASM_SIZE, DEVICE_SIZE + 1, REGISTERS_SIZE},
        {WASM_SIZE, DEVICE_SIZE, REGISTERS_SIZE - 1}, {WASM_SIZE, DEVICE_SIZE, REGISTERS_SIZE + 1},
        {DEVICE_SIZE, WASM_SIZE, REGISTERS_SIZE},     {0, 0, 0}};
    for (size_t i = 0; i < sizeof wrong / sizeof *wrong; i++)
        assert_false(populate((destination){bytes, wrong[i][0]}, (destination){bytes, wrong[i][1]},
                              (destination){bytes, wrong[i][2]}));
    for (size_t i = 0; i < sizeof bytes; i++) assert_int_equal(bytes[i], 0);
}

/* The helper takes any lengths: those next to the payloads' come back as exactly as they do. */
static void other_lengths_come_back_as_well(void **state)
{
    (void)state;
    static const form *const forms[] = {&archive, &image, &v2, &v3, &v4};
    static uint8_t bytes[WASM_SIZE + 1];
    fill_wasm_pattern(bytes, sizeof bytes);
    for (size_t i = 0; i < sizeof forms / sizeof *forms; i++) {
        snapshot_round_trip_with_source(forms[i], (tw_span){bytes, WASM_SIZE - 1}, (tw_span){bytes, DEVICE_SIZE + 1},
                                        (tw_span){bytes, REGISTERS_SIZE - 1});
        snapshot_round_trip_with_source(forms[i], (tw_span){bytes, WASM_SIZE + 1}, (tw_span){NULL, 0},
                                        (tw_span){bytes, 1});
        snapshot_round_trip_with_source(forms[i], (tw_span){NULL, 0}, (tw_span){NULL, 0}, (tw_span){NULL, 0});
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(the_archive_gives_a_heap_back),
        cmocka_unit_test(the_image_gives_a_heap_back),
        cmocka_unit_test(v2_gives_a_heap_back),
        cmocka_unit_test(v3_gives_a_heap_back),
        cmocka_unit_test(v4_gives_a_heap_back),
        cmocka_unit_test(the_file_does_not_show_where_its_bytes_lay),
        cmocka_unit_test(the_patterns_are_those_of_the_document),
        cmocka_unit_test(destinations_of_another_length_are_not_filled),
        cmocka_unit_test(other_lengths_come_back_as_well),
    };
    return cmocka_run_group_tests(tests, make_keys, free_keys);
}
