/* SPDX-License-Identifier: Apache-2.0 */
/* Any bytes: a snapshot, or refused with a class and a sentence. As they are, under readers with and without keys; and behind
 * what guards them: as a payload, as pages, and with signatures and hashes made right. What is taken can be written and read again. */
#include <stdlib.h>
#include <string.h>

#include "blake3/blake3.h"
#include "snapshot/archive.h"
#include "snapshot/craton.h"
#include "snapshot/image.h"
#include "snapshot/little.h"
#include "tensorwasm/snapshot.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

enum { MAX_BYTES = 4 << 20 };

static tw_snapshot_key *hmac, *ed25519, *aead;

static void require(bool condition)
{
    if (!condition) abort();
}

/* The keys of tests/data/craton. */
static void make_keys(void)
{
    uint8_t rising[32], sealed[32];
    static const uint8_t public_key[32] = {0x21, 0x52, 0xf8, 0xd1, 0x9b, 0x79, 0x1d, 0x24, 0x45, 0x32, 0x42,
                                           0xe1, 0x5f, 0x2e, 0xab, 0x6c, 0xb7, 0xcf, 0xfa, 0x7b, 0x6a, 0x5e,
                                           0xd3, 0x00, 0x97, 0x96, 0x0e, 0x06, 0x98, 0x81, 0xdb, 0x12};
    for (int i = 0; i < 32; i++) {
        rising[i] = (uint8_t)i;
        sealed[i] = (uint8_t)(0xa0 + i);
    }
    require(tw_snapshot_key_new(TW_SNAPSHOT_KEY_HMAC, rising, &hmac, NULL) == TW_OK);
    require(tw_snapshot_key_new(TW_SNAPSHOT_KEY_ED25519_PUBLIC, public_key, &ed25519, NULL) == TW_OK);
    require(tw_snapshot_key_new(TW_SNAPSHOT_KEY_AEAD, sealed, &aead, NULL) == TW_OK);
}

static void require_refusal(tw_status status, tw_snapshot_class why, const tw_error *error)
{
    if (status == TW_NO_MEMORY) return;
    require(status == error->status && status != TW_INTERNAL && error->message[0]);
    require(why > TW_SNAPSHOT_CLASS_NONE && why < TW_SNAPSHOT_CLASS_COUNT);
}

static bool same(tw_span a, tw_span b)
{
    return a.size == b.size && (a.size == 0 || memcmp(a.data, b.data, a.size) == 0);
}

static void write_and_read_as(const tw_snapshot *s, tw_snapshot_format format)
{
    tw_snapshot_state state = TW_SNAPSHOT_STATE_INIT;
    tw_snapshot_writer_options options = TW_SNAPSHOT_WRITER_OPTIONS_INIT;
    tw_snapshot_reader_options reading = TW_SNAPSHOT_READER_OPTIONS_INIT;
    tw_snapshot_writer *writer;
    tw_snapshot_reader *reader;
    tw_snapshot *again;
    uint8_t *bytes;
    size_t size;
    state.tenant = s->tenant;
    state.instance = s->instance;
    state.wasm_memory = s->wasm_memory;
    state.device_memory = s->device_memory;
    state.registers = s->registers;
    state.has_created = true;
    state.created_unix_ms = s->created_unix_ms;
    state.sequence = s->sequence;
    options.format = format;
    options.threads = reading.threads = 1;
    require(tw_snapshot_writer_new(&options, &writer, NULL) == TW_OK);
    require(tw_snapshot_reader_new(&reading, &reader, NULL) == TW_OK);
    require(tw_snapshot_capture(writer, &state, &bytes, &size, NULL) == TW_OK);
    require(tw_snapshot_restore(reader, bytes, size, &again, NULL, NULL) == TW_OK);
    require(same(again->wasm_memory, s->wasm_memory) && same(again->device_memory, s->device_memory) &&
            same(again->registers, s->registers) && again->tenant == s->tenant && again->sequence == s->sequence);
    tw_snapshot_free(again);
    free(bytes);
    tw_snapshot_writer_free(writer);
    tw_snapshot_reader_free(reader);
}

static void write_and_read(const tw_snapshot *s)
{
    write_and_read_as(s, TW_SNAPSHOT_ARCHIVE);
    write_and_read_as(s, TW_SNAPSHOT_IMAGE);
}

static void read_with(const tw_snapshot_reader_options *options, const uint8_t *data, size_t size)
{
    tw_snapshot_reader *reader;
    tw_snapshot *s;
    tw_snapshot_class why;
    tw_error error = {0};
    require(tw_snapshot_reader_new(options, &reader, NULL) == TW_OK);
    tw_status status = tw_snapshot_restore(reader, data, size, &s, &why, &error);
    if (status) require_refusal(status, why, &error);
    else {
        write_and_read(s);
        tw_snapshot_free(s);
    }
    tw_snapshot_reader_free(reader);
}

static void read_as_payload(const uint8_t *data, size_t size)
{
    tw_error error = {0};
    tw_snap_why why = {TW_SNAPSHOT_CLASS_NONE, &error};
    tw_snapshot s = {0};
    tw_status status = tw_craton_payload_read((tw_span){data, size}, TW_SNAPSHOT_VERSION, true, &s, &why);
    if (status) require_refusal(status, why.refused, &error);
    else write_and_read(&s);
}

/* The bytes with `middle` and an HMAC that is right behind them. */
static void read_as_signed(const tw_snapshot_reader_options *options, const uint8_t *data, size_t size,
                           const void *middle, size_t middle_size)
{
    size_t body = size + middle_size;
    uint8_t *bytes = malloc(body + TW_SNAP_HMAC_SIZE);
    require(bytes != NULL);
    if (size) memcpy(bytes, data, size);
    if (middle_size) memcpy(bytes + size, middle, middle_size);
    tw_snap_hmac(hmac, (tw_span){bytes, body}, (tw_span){NULL, 0}, bytes + body);
    read_with(options, bytes, body + TW_SNAP_HMAC_SIZE);
    free(bytes);
}

static void hash(tw_span first, tw_span second, uint8_t out[TW_BLAKE3_SIZE])
{
    tw_blake3 state;
    tw_blake3_start(&state);
    tw_blake3_add(&state, first.data, first.size);
    tw_blake3_add(&state, second.data, second.size);
    tw_blake3_end(&state, out);
}

/* The bytes as an archive whose hashes are right. */
static void read_as_archive(const tw_snapshot_reader_options *options, const uint8_t *data, size_t size)
{
    enum { TABLE = TW_ARCHIVE_SECTIONS * TW_ENVELOPE_ENTRY };
    if (size < TW_ENVELOPE_HEAD + TABLE) return;
    uint8_t *bytes = malloc(size);
    require(bytes != NULL);
    memcpy(bytes, data, size);
    tw_put_little32(bytes, TW_SNAPSHOT_ARCHIVE_MAGIC);
    for (size_t i = 0; i < TW_ARCHIVE_SECTIONS; i++) {
        uint8_t *entry = bytes + TW_ENVELOPE_HEAD + i * TW_ENVELOPE_ENTRY;
        uint64_t offset = tw_little64(entry + 8), length = tw_little64(entry + 16);
        if (offset <= size && length <= size - offset)
            hash((tw_span){bytes + offset, (size_t)length}, (tw_span){NULL, 0}, entry + TW_ENVELOPE_HASH_AT);
    }
    hash((tw_span){bytes, TW_ENVELOPE_HASHED}, (tw_span){bytes + TW_ENVELOPE_HEAD, TABLE}, bytes + TW_ENVELOPE_HASHED);
    read_with(options, bytes, size);
    free(bytes);
}

/* Of the sections that it can be made right for: the small ones. */
static void make_hashes_right(uint8_t *bytes, size_t size)
{
    for (size_t i = 0; i <= TW_IMAGE_HASHES; i++) {
        uint8_t *entry = bytes + TW_ENVELOPE_HEAD + i * TW_ENVELOPE_ENTRY;
        uint64_t offset = tw_little64(entry + 8), length = tw_little64(entry + 16);
        if (offset <= size && length <= size - offset)
            hash((tw_span){bytes + offset, (size_t)length}, (tw_span){NULL, 0}, entry + TW_ENVELOPE_HASH_AT);
    }
    hash((tw_span){bytes, TW_ENVELOPE_HASHED}, (tw_span){bytes + TW_ENVELOPE_HEAD, TW_IMAGE_SECTIONS * TW_ENVELOPE_ENTRY},
         bytes + TW_ENVELOPE_HASHED);
}

/* A base of any content, which has what the file asks for. */
static void read_on_base(const tw_snapshot_reader_options *options, const uint8_t *bytes, size_t size)
{
    static const uint8_t memory[100000] = {1, [70000] = 2};
    tw_snapshot_reader_options own = *options;
    tw_snapshot base = {.has_content = true, .wasm_memory = {memory, sizeof memory}, .device_memory = {memory, 5}};
    memcpy(base.content, bytes + TW_IMAGE_BASE_AT, sizeof base.content);
    base.depth = tw_little32(bytes + TW_IMAGE_DEPTH_AT) - 1;
    own.base = &base;
    read_with(&own, bytes, size);
}

/* The bytes as an image whose hashes are right; without a file of that size there is nothing to be found behind the first bytes: so
 * what is missing before the first pages is zeros. */
static void read_as_image(const tw_snapshot_reader_options *options, const uint8_t *data, size_t size)
{
    enum { FRONT = TW_ENVELOPE_HEAD + TW_IMAGE_SECTIONS * TW_ENVELOPE_ENTRY, MOST = 4 * TW_SNAP_BLOCK };
    if (size < FRONT) return;
    uint64_t wanted = tw_little64(data + 16);
    size_t padded = wanted > size && wanted < MOST ? (size_t)wanted : size;
    uint8_t *bytes = calloc(1, padded);
    require(bytes != NULL);
    memcpy(bytes, data, size);
    tw_put_little32(bytes, TW_SNAPSHOT_IMAGE_MAGIC);
    make_hashes_right(bytes, padded);
    read_with(options, bytes, padded);
    read_on_base(options, bytes, padded);
    free(bytes);
}

/* The first three bytes as the size of a memory, the others as its pages. */
static void read_as_pages(const uint8_t *data, size_t size)
{
    tw_error error = {0};
    tw_snap_why why = {TW_SNAPSHOT_CLASS_NONE, &error};
    if (size < 3) return;
    size_t memory_size = ((size_t)data[0] | (size_t)data[1] << 8 | (size_t)data[2] << 16) & (MAX_BYTES - 1);
    uint8_t *memory = calloc(1, memory_size ? memory_size : 1);
    require(memory != NULL);
    uint8_t *present = calloc(1, tw_snap_present_size(memory_size));
    require(present != NULL);
    tw_status status = tw_archive_pages_read((tw_span){data + 3, size - 3}, memory, memory_size, 1, present, &why);
    if (status) require_refusal(status, why.refused, &error);
    for (size_t at = 0; !status && at < memory_size; at++)
        require(!memory[at] || present[at / TW_SNAP_BLOCK / 8] >> at / TW_SNAP_BLOCK % 8 & 1);
    free(present);
    free(memory);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    tw_snapshot_reader_options options = TW_SNAPSHOT_READER_OPTIONS_INIT;
    if (!hmac) make_keys();
    options.max_bytes = MAX_BYTES;
    options.threads = 1;
    read_with(&options, data, size);
    options.hmac_key = hmac;
    options.ed25519_public = ed25519;
    for (int lenient = 0; lenient < 2; lenient++) {
        options.lenient = lenient;
        read_with(&options, data, size);
        read_as_signed(&options, data, size, "S3T1\1", 5);
        read_as_signed(&options, data, size, NULL, 0);
    }
    read_as_payload(data, size);
    read_as_archive(&options, data, size);
    read_as_image(&options, data, size);
    read_as_pages(data, size);
    options.aead_key = aead;
    read_with(&options, data, size);
    return 0;
}
