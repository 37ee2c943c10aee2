/* SPDX-License-Identifier: Apache-2.0 */
#ifndef TW_TEST_SEED000_H
#define TW_TEST_SEED000_H

/* What the earlier project's snapshot tests promised for every source of bytes: a state goes into a file and comes back, each byte
 * and each field, wherever the bytes came from. Constants, patterns and assertions are here; a source of bytes is a program. */

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "tensorwasm/snapshot.h"

#define TENANT   UINT64_C(0xB4CC0AF2DEADBEEF)
#define INSTANCE ((tw_instance_id){.high = UINT64_C(0x123456789ABCDEF0), .low = UINT64_C(0xF00DBABECAFE5A5A)})
enum { WASM_SIZE = 8 * 1024, DEVICE_SIZE = 4 * 1024, REGISTERS_SIZE = 512 };

/* ---- the payloads ---- */

static inline void fill_wasm_pattern(uint8_t *to, size_t size)
{
    for (size_t i = 0; i < size; i++) to[i] = (uint8_t)(i % 251);
}

static inline void fill_device_pattern(uint8_t *to, size_t size)
{
    for (size_t i = 0; i < size; i++) to[i] = (uint8_t)((uint32_t)i * 17 % 253);
}

static inline void fill_registers_pattern(uint8_t *to, size_t size)
{
    for (size_t i = 0; i < size; i++) to[i] = (uint8_t)((i ^ 0xA5) & 0xFF);
}

typedef struct destination {
    uint8_t *data;
    size_t size;
} destination;

/* Fills destinations that a source of bytes has made. False, and nothing is written, when one has another length than its
 * payload: then the test that made it is wrong. */
static inline bool populate(destination wasm, destination device, destination registers)
{
    if (wasm.size != WASM_SIZE || device.size != DEVICE_SIZE || registers.size != REGISTERS_SIZE) return false;
    fill_wasm_pattern(wasm.data, wasm.size);
    fill_device_pattern(device.data, device.size);
    fill_registers_pattern(registers.data, registers.size);
    return true;
}

/* ---- formats ---- */

typedef struct form {
    tw_snapshot_format format;
    bool ed25519;
    uint32_t magic, version; /* what a reader gives back */
} form;

static const form archive = {TW_SNAPSHOT_ARCHIVE, false, TW_SNAPSHOT_ARCHIVE_MAGIC, TW_SNAPSHOT_ARCHIVE_VERSION};
static const form archive_ed25519 = {TW_SNAPSHOT_ARCHIVE, true, TW_SNAPSHOT_ARCHIVE_MAGIC, TW_SNAPSHOT_ARCHIVE_VERSION};
static const form image = {TW_SNAPSHOT_IMAGE, false, TW_SNAPSHOT_IMAGE_MAGIC, TW_SNAPSHOT_IMAGE_VERSION};
static const form image_ed25519 = {TW_SNAPSHOT_IMAGE, true, TW_SNAPSHOT_IMAGE_MAGIC, TW_SNAPSHOT_IMAGE_VERSION};
static const form v2 = {TW_SNAPSHOT_V2, false, TW_SNAPSHOT_MAGIC, TW_SNAPSHOT_VERSION};
static const form v3 = {TW_SNAPSHOT_V3, false, TW_SNAPSHOT_MAGIC, TW_SNAPSHOT_VERSION_SIGNED};
static const form v3_ed25519 = {TW_SNAPSHOT_V3, true, TW_SNAPSHOT_MAGIC, TW_SNAPSHOT_VERSION_SIGNED};
static const form v4 = {TW_SNAPSHOT_V4, false, TW_SNAPSHOT_MAGIC, TW_SNAPSHOT_VERSION};
static const form *const all_forms[] = {&archive, &archive_ed25519, &image, &image_ed25519, &v2, &v3, &v3_ed25519, &v4};
enum { FORMS = sizeof all_forms / sizeof *all_forms };

static tw_snapshot_key *hmac, *secret, *public_key; /* from make_keys to free_keys */

static inline tw_snapshot_key *new_key(tw_snapshot_key_kind kind, const uint8_t bytes[TW_SNAPSHOT_KEY_SIZE])
{
    tw_snapshot_key *key;
    assert_int_equal(tw_snapshot_key_new(kind, bytes, &key, NULL), TW_OK);
    return key;
}

static inline int make_keys(void **state)
{
    (void)state;
    /* RFC 8032, 7.1, test 1: a seed and its public key */
    static const uint8_t seed[] = {0x9d, 0x61, 0xb1, 0x9d, 0xef, 0xfd, 0x5a, 0x60, 0xba, 0x84, 0x4a,
                                   0xf4, 0x92, 0xec, 0x2c, 0xc4, 0x44, 0x49, 0xc5, 0x69, 0x7b, 0x32,
                                   0x69, 0x19, 0x70, 0x3b, 0xac, 0x03, 0x1c, 0xae, 0x7f, 0x60};
    static const uint8_t of_seed[] = {0xd7, 0x5a, 0x98, 0x01, 0x82, 0xb1, 0x0a, 0xb7, 0xd5, 0x4b, 0xfe,
                                      0xd3, 0xc9, 0x64, 0x07, 0x3a, 0x0e, 0xe1, 0x72, 0xf3, 0xda, 0xa6,
                                      0x23, 0x25, 0xaf, 0x02, 0x1a, 0x68, 0xf7, 0x07, 0x51, 0x1a};
    hmac = new_key(TW_SNAPSHOT_KEY_HMAC, seed);
    secret = new_key(TW_SNAPSHOT_KEY_ED25519_SECRET, seed);
    public_key = new_key(TW_SNAPSHOT_KEY_ED25519_PUBLIC, of_seed);
    return 0;
}

static inline int free_keys(void **state)
{
    (void)state;
    tw_snapshot_key_free(hmac);
    tw_snapshot_key_free(secret);
    tw_snapshot_key_free(public_key);
    return 0;
}

static inline bool is_signed(const form *f)
{
    return f->format == TW_SNAPSHOT_V3 || f->format == TW_SNAPSHOT_V4 || f->ed25519;
}

/* created: of the state; the clock's where has_created is false. */
static inline uint8_t *capture(const form *f, tw_span wasm, tw_span device, tw_span registers, bool has_created,
                               size_t *size)
{
    tw_snapshot_writer_options options = TW_SNAPSHOT_WRITER_OPTIONS_INIT;
    tw_snapshot_state state = TW_SNAPSHOT_STATE_INIT;
    tw_snapshot_writer *writer;
    tw_error error = {0};
    uint8_t *blob = NULL;
    options.format = f->format;
    if (f->ed25519) options.ed25519_secret = secret;
    else if (is_signed(f)) options.hmac_key = hmac;
    state.tenant = TENANT;
    state.instance = INSTANCE;
    state.wasm_memory = wasm;
    state.device_memory = device;
    state.registers = registers;
    state.has_created = has_created;
    assert_int_equal(tw_snapshot_writer_new(&options, &writer, &error), TW_OK);
    if (tw_snapshot_capture(writer, &state, &blob, size, &error))
        fail_msg("a valid state isn't captured: %s", error.message);
    tw_snapshot_writer_free(writer);
    return blob;
}

static inline tw_snapshot *restore(const form *f, const uint8_t *blob, size_t size)
{
    tw_snapshot_reader_options options = TW_SNAPSHOT_READER_OPTIONS_INIT;
    tw_snapshot_reader *reader;
    tw_snapshot *restored = NULL;
    tw_error error = {0};
    options.hmac_key = hmac;
    options.ed25519_public = public_key;
    options.require_signature = is_signed(f);
    assert_int_equal(tw_snapshot_reader_new(&options, &reader, &error), TW_OK);
    if (tw_snapshot_restore(reader, blob, size, &restored, NULL, &error))
        fail_msg("a fresh file isn't restored: %s", error.message);
    tw_snapshot_reader_free(reader);
    return restored;
}

static inline void assert_bytes(tw_span actual, tw_span expected)
{
    assert_int_equal(actual.size, expected.size);
    if (expected.size) assert_memory_equal(actual.data, expected.data, expected.size);
}

/* Every assertion of the earlier project's helper of this name. */
static inline void snapshot_round_trip_with_source(const form *f, tw_span wasm, tw_span device, tw_span registers)
{
    size_t size;
    uint8_t *blob = capture(f, wasm, device, registers, false, &size);
    tw_snapshot *restored = restore(f, blob, size);
    assert_int_equal(restored->format, f->format);
    assert_int_equal(restored->magic, f->magic);
    assert_int_equal(restored->version, f->version);
    assert_true(restored->tenant == TENANT);
    assert_true(restored->instance.high == INSTANCE.high && restored->instance.low == INSTANCE.low);
    assert_bytes(restored->wasm_memory, wasm);
    assert_bytes(restored->device_memory, device);
    assert_bytes(restored->registers, registers);
    assert_int_equal(restored->total_uncompressed_bytes, wasm.size + device.size + registers.size);
    tw_snapshot_free(restored);
    free(blob);
}

/* ---- sources: what owns the bytes ---- */

static inline tw_span span_of(destination d)
{
    return (tw_span){d.data, d.size};
}

typedef struct source {
    destination wasm, device, registers;
} source;

static inline source heap_source(void)
{
    source s = {
        {malloc(WASM_SIZE), WASM_SIZE}, {malloc(DEVICE_SIZE), DEVICE_SIZE}, {malloc(REGISTERS_SIZE), REGISTERS_SIZE}};
    assert_true(s.wasm.data && s.device.data && s.registers.data);
    assert_true(populate(s.wasm, s.device, s.registers));
    return s;
}

static inline void free_heap_source(source *s)
{
    free(s->wasm.data);
    free(s->device.data);
    free(s->registers.data);
}

/* Same state, other place of the bytes: the file is the same, to the last byte. */
static inline void assert_same_file(const form *f, const source *a, const source *b)
{
    size_t size, other_size;
    uint8_t *blob = capture(f, span_of(a->wasm), span_of(a->device), span_of(a->registers), true, &size);
    uint8_t *other = capture(f, span_of(b->wasm), span_of(b->device), span_of(b->registers), true, &other_size);
    assert_int_equal(size, other_size);
    assert_memory_equal(blob, other, size);
    free(blob);
    free(other);
}

/* All that the earlier project's helper asserts, for each form. */
static inline void assert_round_trips(const source *s)
{
    for (int i = 0; i < FORMS; i++)
        snapshot_round_trip_with_source(all_forms[i], span_of(s->wasm), span_of(s->device), span_of(s->registers));
}

#endif
