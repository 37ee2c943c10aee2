/* SPDX-License-Identifier: Apache-2.0 */
#ifndef TW_TEST_SNAPSHOTS_H
#define TW_TEST_SNAPSHOTS_H

/* Keys, states and files for tests of snapshots. Keys and states are those of tests/data/craton/README.md. Include behind
 * cmocka.h. */

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "tensorwasm/snapshot.h"

typedef struct test_keys {
    tw_snapshot_key *hmac, *hmac2, *ed, *ed2, *aead, *aead2, *seed;
} test_keys;

static inline tw_snapshot_key *test_key(tw_snapshot_key_kind kind, const uint8_t bytes[32])
{
    tw_snapshot_key *key;
    assert_int_equal(tw_snapshot_key_new(kind, bytes, &key, NULL), TW_OK);
    return key;
}

static inline tw_snapshot_key *test_key_rising(tw_snapshot_key_kind kind, uint8_t first)
{
    uint8_t bytes[32];
    for (int i = 0; i < 32; i++) bytes[i] = (uint8_t)(first + i);
    return test_key(kind, bytes);
}

static inline void test_hex(const char *hex, uint8_t *bytes, size_t size)
{
    for (size_t i = 0; i < size; i++) {
        unsigned byte;
        assert_int_equal(sscanf(hex + 2 * i, "%2x", &byte), 1);
        bytes[i] = (uint8_t)byte;
    }
}

static inline test_keys test_keys_new(void)
{
    uint8_t ed[32], ed2[32], seed[32];
    test_hex("2152f8d19b791d24453242e15f2eab6cb7cffa7b6a5ed30097960e069881db12", ed, 32);
    /* the public key of the seed 32 bytes 0x43, from another implementation */
    test_hex("22fc297792f0b6ffc0bfcfdb7edb0c0aa14e025a365ec0e342e86e3829cb74b6", ed2, 32);
    memset(seed, 0x42, sizeof seed);
    return (test_keys){
        .hmac = test_key_rising(TW_SNAPSHOT_KEY_HMAC, 0),
        .hmac2 = test_key_rising(TW_SNAPSHOT_KEY_HMAC, 0x80),
        .ed = test_key(TW_SNAPSHOT_KEY_ED25519_PUBLIC, ed),
        .ed2 = test_key(TW_SNAPSHOT_KEY_ED25519_PUBLIC, ed2),
        .aead = test_key_rising(TW_SNAPSHOT_KEY_AEAD, 0xa0),
        .aead2 = test_key_rising(TW_SNAPSHOT_KEY_AEAD, 0x80),
        .seed = test_key(TW_SNAPSHOT_KEY_ED25519_SECRET, seed),
    };
}

static inline void test_keys_free(test_keys *keys)
{
    tw_snapshot_key *all[] = {keys->hmac, keys->hmac2, keys->ed, keys->ed2, keys->aead, keys->aead2, keys->seed};
    for (size_t i = 0; i < sizeof all / sizeof *all; i++) tw_snapshot_key_free(all[i]);
}

/* A file under tests/data/craton, exactly as large as it is. */
static inline uint8_t *test_file(const char *name, size_t *size)
{
    char path[1024];
    snprintf(path, sizeof path, "%s/craton/%s", TW_TEST_DATA, name);
    FILE *file = fopen(path, "rb");
    if (!file) fail_msg("%s can't be opened", path);
    fseek(file, 0, SEEK_END);
    *size = (size_t)ftell(file);
    rewind(file);
    uint8_t *bytes = malloc(*size ? *size : 1);
    assert_non_null(bytes);
    assert_int_equal(fread(bytes, 1, *size, file), *size);
    fclose(file);
    return bytes;
}

#define TEST_CREATED UINT64_C(1767225600000)

typedef struct test_state {
    tw_snapshot_state state;
    uint8_t wasm[196608], device[70000], registers[512];
} test_state;

static inline uint8_t *test_xorshift(uint64_t seed, uint8_t *out, size_t size)
{
    for (size_t i = 0; i < size; i++) {
        if (i % 8 == 0) {
            seed ^= seed << 13;
            seed ^= seed >> 7;
            seed ^= seed << 17;
        }
        out[i] = (uint8_t)(seed >> (8 * (i % 8)));
    }
    return out;
}

static inline void test_state_sizes(test_state *s, size_t wasm, size_t device, size_t registers)
{
    s->state.wasm_memory = (tw_span){s->wasm, wasm};
    s->state.device_memory = (tw_span){s->device, device};
    s->state.registers = (tw_span){s->registers, registers};
}

static inline void test_fill_conformance(test_state *s)
{
    for (size_t i = 0; i < 8192; i++) s->wasm[i] = (uint8_t)(i % 251);
    for (size_t i = 0; i < 4096; i++) s->device[i] = (uint8_t)((i * 17) % 253);
    for (size_t i = 0; i < 512; i++) s->registers[i] = (uint8_t)((i ^ 0xA5) & 0xFF);
    test_state_sizes(s, 8192, 4096, 512);
}

static inline void test_fill_pages3(test_state *s)
{
    uint8_t noise[48 * 21];
    test_xorshift(0x0123456789ABCDEF, noise, sizeof noise);
    for (size_t k = 0; k < 48; k++) memcpy(s->wasm + 4096 * k + 37 * k % 3000, noise + 21 * k, 21);
    memset(s->device, 0xEE, 70000);
    test_state_sizes(s, 196608, 70000, 0);
}

/* By the name in the table of payloads, and "seq7_nonce": small with these two. free() it. */
static inline test_state *test_state_new(const char *name)
{
    static const struct {
        const char *name;
        uint64_t tenant;
        tw_instance_id instance;
    } ids[] = {{"empty", 0xA, {0, 0xB}},
               {"conformance", 0xB4CC0AF2DEADBEEF, {0x123456789ABCDEF0, 0xF00DBABECAFE5A5A}},
               {"small", 1, {0, 2}},
               {"seq7_nonce", 1, {0, 2}},
               {"random1k", 3, {0, 4}},
               {"pages3", 5, {0, 6}},
               {"maxvals", UINT64_MAX, {UINT64_MAX, UINT64_MAX}}};
    test_state *s = calloc(1, sizeof *s);
    assert_non_null(s);
    s->state = (tw_snapshot_state)TW_SNAPSHOT_STATE_INIT;
    s->state.has_created = true;
    s->state.created_unix_ms = TEST_CREATED;
    size_t row = 0;
    while (strcmp(ids[row].name, name)) row++;
    s->state.tenant = ids[row].tenant;
    s->state.instance = ids[row].instance;
    if (!strcmp(name, "conformance")) test_fill_conformance(s);
    if (!strcmp(name, "pages3")) test_fill_pages3(s);
    if (!strcmp(name, "random1k")) {
        test_xorshift(0x9E3779B97F4A7C15, s->wasm, 1024);
        test_state_sizes(s, 1024, 0, 0);
    }
    if (!strcmp(name, "small") || !strcmp(name, "seq7_nonce")) {
        memcpy(s->wasm, "wasm", 4);
        memcpy(s->device, "gpu", 3);
        memcpy(s->registers, "rg", 2);
        test_state_sizes(s, 4, 3, 2);
    }
    if (!strcmp(name, "seq7_nonce")) {
        s->state.sequence = 7;
        s->state.has_nonce = true;
        for (int i = 0; i < 16; i++) s->state.nonce[i] = (uint8_t)i;
    }
    if (!strcmp(name, "maxvals")) {
        memset(s->wasm, 0xff, 1);
        memset(s->registers, 0xff, 3);
        test_state_sizes(s, 1, 0, 3);
        s->state.created_unix_ms = s->state.sequence = UINT64_MAX;
        s->state.has_nonce = true;
        memset(s->state.nonce, 0xff, 16);
    }
    return s;
}

static inline void assert_span_equal(tw_span a, tw_span b)
{
    assert_int_equal(a.size, b.size);
    if (a.size) assert_memory_equal(a.data, b.data, a.size);
}

static inline void assert_snapshot_has(const tw_snapshot *s, const tw_snapshot_state *state)
{
    assert_int_equal(s->tenant, state->tenant);
    assert_int_equal(s->instance.high, state->instance.high);
    assert_int_equal(s->instance.low, state->instance.low);
    assert_int_equal(s->created_unix_ms, state->created_unix_ms);
    assert_int_equal(s->sequence, state->sequence);
    assert_int_equal(s->has_nonce, state->has_nonce);
    if (state->has_nonce) assert_memory_equal(s->nonce, state->nonce, 16);
    assert_int_equal(s->total_uncompressed_bytes,
                     state->wasm_memory.size + state->device_memory.size + state->registers.size);
    assert_span_equal(s->wasm_memory, state->wasm_memory);
    assert_span_equal(s->device_memory, state->device_memory);
    assert_span_equal(s->registers, state->registers);
}

static inline tw_status test_read(const tw_snapshot_reader_options *options, const uint8_t *bytes, size_t size,
                                  tw_snapshot **out, tw_snapshot_class *why, tw_error *error)
{
    tw_snapshot_reader *reader;
    assert_int_equal(tw_snapshot_reader_new(options, &reader, NULL), TW_OK);
    tw_status status = tw_snapshot_restore(reader, bytes, size, out, why, error);
    tw_snapshot_reader_free(reader);
    return status;
}

static inline uint8_t *test_write(const tw_snapshot_writer_options *options, const tw_snapshot_state *state,
                                  size_t *size)
{
    tw_snapshot_writer *writer;
    uint8_t *bytes;
    tw_error error = {0};
    assert_int_equal(tw_snapshot_writer_new(options, &writer, &error), TW_OK);
    tw_status status = tw_snapshot_capture(writer, state, &bytes, size, &error);
    if (status) fail_msg("%s", error.message);
    tw_snapshot_writer_free(writer);
    return bytes;
}

#endif
