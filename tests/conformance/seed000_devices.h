/* SPDX-License-Identifier: Apache-2.0 */
#ifndef TW_TEST_SEED000_DEVICES_H
#define TW_TEST_SEED000_DEVICES_H

/* The earlier project's snapshot tests with bytes that lie in buffers which a driver gave. Each program has a purpose: a backend, and
 * a way in which the *device* writes the bytes. What is asserted is the same for all. */

#include "seed000.h"

#include "../devices/devices.h"

typedef struct purpose {
    tw_backend backend;
    const char *driver; /* the variable that names the stand-in or recorder */
    const char *gives;  /* the driver's function that gives the memory, as the log has it */
    const char *writes; /* and the one by which the device writes last */
    /* Makes the buffer hold these bytes. */
    void (*write)(tw_buffer *buffer, const uint8_t *bytes, size_t size);
} purpose;

/* The program's. */
static const purpose its;
static tw_devices *devices;
static uint32_t device_index;

typedef struct buffers {
    tw_buffer *wasm, *device, *registers;
    source s;
} buffers;

static inline destination place_of(tw_buffer *buffer)
{
    return (destination){tw_buffer_host(buffer), tw_buffer_size(buffer)};
}

static inline tw_buffer *written(void (*fill)(uint8_t *to, size_t size), size_t size)
{
    uint8_t *bytes = malloc(size);
    assert_non_null(bytes);
    fill(bytes, size);
    tw_buffer *buffer = test_buffer(devices, its.backend, device_index, size);
    its.write(buffer, bytes, size);
    free(bytes);
    return buffer;
}

static inline buffers written_buffers(size_t wasm, size_t device, size_t registers)
{
    buffers b = {.wasm = written(fill_wasm_pattern, wasm),
                 .device = written(fill_device_pattern, device),
                 .registers = written(fill_registers_pattern, registers)};
    b.s = (source){place_of(b.wasm), place_of(b.device), place_of(b.registers)};
    return b;
}

static inline void free_buffers(buffers *b)
{
    tw_buffer_free(b->wasm);
    tw_buffer_free(b->device);
    tw_buffer_free(b->registers);
}

/* ---- what is asserted ---- */

static void every_form_gives_the_buffers_back(void **state)
{
    (void)state;
    buffers b = written_buffers(WASM_SIZE, DEVICE_SIZE, REGISTERS_SIZE);
    assert_round_trips(&b.s);
    free_buffers(&b);
}

/* What the device wrote is what the document's pattern is, and the files of it are those of the same bytes on the heap. */
static void the_files_are_those_of_a_heap(void **state)
{
    (void)state;
    source heap = heap_source();
    buffers b = written_buffers(WASM_SIZE, DEVICE_SIZE, REGISTERS_SIZE);
    assert_memory_equal(b.s.device.data, heap.device.data, DEVICE_SIZE);
    for (int i = 0; i < FORMS; i++) assert_same_file(all_forms[i], &heap, &b.s);
    free_buffers(&b);
    free_heap_source(&heap);
}

static void assert_line(const char *log, const char *function, size_t size, uintptr_t address)
{
    char line[128];
    snprintf(line, sizeof line, "%s of %zu bytes at 0x%llx", function, size, (unsigned long long)address);
    if (!strstr(log, line)) fail_msg("no '%s' in\n%s", line, log);
}

/* A line of this function about the device's address of the buffer. */
static inline bool writes_at(const char *log, uint64_t address)
{
    char end[32];
    snprintf(end, sizeof end, " at 0x%llx\n", (unsigned long long)address);
    for (const char *line = strstr(log, its.writes); line; line = strstr(line + 1, its.writes))
        if (strstr(line, end) == strchr(line, '\n') + 1 - strlen(end)) return true;
    return false;
}

/* The driver's own log: it gave this memory to us, and its device wrote these bytes. */
static void the_driver_gave_the_memory_and_wrote_the_bytes(void **state)
{
    (void)state;
    const standin *driver = test_standin(its.driver);
    if (!driver) skip(); /* real hardware keeps no log */
    driver->reset();
    tw_buffer *buffer = written(fill_device_pattern, DEVICE_SIZE);
    assert_line(driver->log(), its.gives, DEVICE_SIZE, (uintptr_t)tw_buffer_host(buffer));
    if (!writes_at(driver->log(), tw_buffer_device(buffer))) fail_msg("no %s there in\n%s", its.writes, driver->log());
    tw_buffer_free(buffer);
    assert_int_equal(driver->wrong(), 0);
}

/* By the host, as the document does it: right lengths are filled, any other leaves everything as it was. */
static void destinations_must_have_the_payloads_lengths(void **state)
{
    (void)state;
    static const size_t right[] = {WASM_SIZE, DEVICE_SIZE, REGISTERS_SIZE};
    for (int wrong = -1; wrong < 6; wrong++) {
        tw_buffer *b[3];
        bool bytes = false;
        for (int i = 0; i < 3; i++) {
            size_t size = right[i] + (wrong == 2 * i) - (wrong == 2 * i + 1);
            b[i] = test_buffer(devices, its.backend, device_index, size);
        }
        assert_int_equal(populate(place_of(b[0]), place_of(b[1]), place_of(b[2])), wrong < 0);
        for (int i = 0; i < 3; i++)
            for (size_t at = 0; at < tw_buffer_size(b[i]); at++) bytes = bytes || place_of(b[i]).data[at];
        assert_int_equal(bytes, wrong < 0);
        source s = {place_of(b[0]), place_of(b[1]), place_of(b[2])};
        if (wrong < 0) assert_round_trips(&s);
        for (int i = 0; i < 3; i++) tw_buffer_free(b[i]);
    }
}

static void other_lengths_come_back_as_well(void **state)
{
    (void)state;
    buffers b = written_buffers(WASM_SIZE + 1, DEVICE_SIZE - 1, REGISTERS_SIZE + 1);
    assert_round_trips(&b.s);
    free_buffers(&b);
}

/* What the host wrote after the device is in the file, too: nobody keeps an old copy. */
static void a_byte_of_the_hosts_is_in_the_file(void **state)
{
    (void)state;
    source heap = heap_source();
    buffers b = written_buffers(WASM_SIZE, DEVICE_SIZE, REGISTERS_SIZE);
    heap.device.data[77] = b.s.device.data[77] = 0xFE; /* a value that the pattern hasn't */
    for (int i = 0; i < FORMS; i++) assert_same_file(all_forms[i], &heap, &b.s);
    free_buffers(&b);
    free_heap_source(&heap);
}

static int make_all(void **state)
{
    devices = test_devices();
    return make_keys(state);
}

static int free_all(void **state)
{
    const standin *driver = test_standin(its.driver);
    tw_devices_close(devices);
    if (driver && (driver->wrong() || driver->alive())) return 1;
    return free_keys(state);
}

static inline int run_purpose(int count, char **args)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(every_form_gives_the_buffers_back),
        cmocka_unit_test(the_files_are_those_of_a_heap),
        cmocka_unit_test(the_driver_gave_the_memory_and_wrote_the_bytes),
        cmocka_unit_test(destinations_must_have_the_payloads_lengths),
        cmocka_unit_test(other_lengths_come_back_as_well),
        cmocka_unit_test(a_byte_of_the_hosts_is_in_the_file),
    };
    device_index = count > 1 ? (uint32_t)atoi(args[1]) : 0;
    test_need(its.backend);
    return cmocka_run_group_tests(tests, make_all, free_all);
}

#endif
