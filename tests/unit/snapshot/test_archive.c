/* SPDX-License-Identifier: Apache-2.0 */
/* Our own archives: what goes in comes out, the bytes are those of docs/snapshot-format.md whoever compressed them, and what was
 * changed is refused. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "../../support/snapshots.h"
#include "blake3/blake3.h"
#include "snapshot/little.h"

/* Offsets, written down again from the document. */
enum { HEAD = 96, ENTRY = 64, SECTIONS = 4, TABLE_END = HEAD + SECTIONS * ENTRY, PAGE = 65536, GROUP = 16 * PAGE };

static test_keys keys;

static int make_keys(void **state)
{
    (void)state;
    keys = test_keys_new();
    return 0;
}

static int free_keys(void **state)
{
    (void)state;
    test_keys_free(&keys);
    return 0;
}

/* ---- with each guard ---- */

typedef enum guard { PLAIN, HMAC, ED25519, SEALED, SEALED_HMAC, GUARDS } guard;

static tw_snapshot_writer_options writer_with(guard g)
{
    tw_snapshot_writer_options o = TW_SNAPSHOT_WRITER_OPTIONS_INIT;
    if (g == HMAC || g == SEALED_HMAC) o.hmac_key = keys.hmac;
    if (g == ED25519) o.ed25519_secret = keys.seed;
    if (g == SEALED || g == SEALED_HMAC) o.aead_key = keys.aead;
    return o;
}

static tw_snapshot_reader_options reader_with(guard g)
{
    tw_snapshot_reader_options o = TW_SNAPSHOT_READER_OPTIONS_INIT;
    o.hmac_key = keys.hmac;
    o.ed25519_public = keys.ed;
    if (g == SEALED || g == SEALED_HMAC) o.aead_key = keys.aead;
    o.require_signature = g == HMAC || g == ED25519 || g == SEALED_HMAC;
    return o;
}

static uint8_t *archive_of(guard g, const char *name, size_t *size)
{
    test_state *s = test_state_new(name);
    tw_snapshot_writer_options options = writer_with(g);
    uint8_t *bytes = test_write(&options, &s->state, size);
    free(s);
    return bytes;
}

static tw_snapshot_class refusal(const tw_snapshot_reader_options *options, const uint8_t *bytes, size_t size)
{
    tw_snapshot *s;
    tw_snapshot_class why;
    tw_error error = {0};
    uint8_t *exact = malloc(size ? size : 1);
    assert_non_null(exact);
    memcpy(exact, bytes, size);
    tw_status status = test_read(options, exact, size, &s, &why, &error);
    free(exact);
    assert_int_equal(status == TW_OK, why == TW_SNAPSHOT_CLASS_NONE);
    if (status) assert_true(error.status == status && error.message[0]);
    else tw_snapshot_free(s);
    return why;
}

#define assert_class(actual, name) assert_string_equal(tw_snapshot_class_name(actual), name)

static void what_goes_in_comes_out(void **state)
{
    (void)state;
    static const char *const states[] = {"empty",    "conformance", "small",  "seq7_nonce",
                                         "random1k", "pages3",      "maxvals"};
    for (int g = 0; g < GUARDS; g++) {
        for (size_t i = 0; i < sizeof states / sizeof *states; i++) {
            tw_snapshot *out;
            size_t size;
            test_state *s = test_state_new(states[i]);
            uint8_t *bytes = archive_of((guard)g, states[i], &size);
            tw_snapshot_reader_options reader = reader_with((guard)g);
            assert_int_equal(test_read(&reader, bytes, size, &out, NULL, NULL), TW_OK);
            assert_snapshot_has(out, &s->state);
            assert_int_equal(out->format, TW_SNAPSHOT_ARCHIVE);
            assert_int_equal(out->magic, TW_SNAPSHOT_ARCHIVE_MAGIC);
            assert_int_equal(out->version, TW_SNAPSHOT_ARCHIVE_VERSION);
            assert_int_equal(out->encrypted, g == SEALED || g == SEALED_HMAC);
            assert_int_equal(out->signature, g == ED25519                    ? TW_SNAPSHOT_SIGNATURE_ED25519
                                             : g == HMAC || g == SEALED_HMAC ? TW_SNAPSHOT_SIGNATURE_HMAC
                                                                             : TW_SNAPSHOT_SIGNATURE_NONE);
            tw_snapshot_free(out);
            free(bytes);
            free(s);
        }
    }
}

/* ---- the bytes ---- */

/* Noise in some pages, a short last one. */
static uint8_t *patchy(size_t size)
{
    uint8_t *memory = calloc(1, size);
    assert_non_null(memory);
    for (size_t page = 0; page * PAGE < size; page++)
        if (page * 7 % 5 < 2) test_xorshift(page + 1, memory + page * PAGE, size - page * PAGE < 999 ? 1 : 999);
    return memory;
}

static void the_number_of_threads_does_not_show(void **state)
{
    (void)state;
    const size_t size = 9 * GROUP + 3 * PAGE + 17;
    uint8_t *memory = patchy(size), *first = NULL;
    size_t first_size = 0;
    static const uint32_t threads[] = {1, 2, 3, 8, 0};
    for (size_t i = 0; i < sizeof threads / sizeof *threads; i++) {
        tw_snapshot_writer_options writer = writer_with(HMAC);
        tw_snapshot_reader_options reader = reader_with(HMAC);
        tw_snapshot_state s = TW_SNAPSHOT_STATE_INIT;
        tw_snapshot *out;
        size_t length;
        s.has_created = true;
        s.wasm_memory = (tw_span){memory, size};
        s.device_memory = (tw_span){memory, GROUP + 1};
        writer.threads = reader.threads = threads[i];
        uint8_t *bytes = test_write(&writer, &s, &length);
        if (!first) {
            first = bytes;
            first_size = length;
        }
        assert_int_equal(length, first_size);
        assert_memory_equal(bytes, first, length);
        assert_int_equal(test_read(&reader, bytes, length, &out, NULL, NULL), TW_OK);
        assert_snapshot_has(out, &s);
        tw_snapshot_free(out);
        if (bytes != first) free(bytes);
    }
    free(first);
    free(memory);
}

static void the_layout_is_that_of_the_document(void **state)
{
    (void)state;
    static uint8_t memory[2 * GROUP + PAGE + 5]; /* page 3 of group 0 and the short page have something in them */
    memory[3 * PAGE + 100] = 1;
    memory[2 * GROUP + PAGE + 4] = 2;
    tw_snapshot_writer_options writer = writer_with(ED25519);
    tw_snapshot_state s = TW_SNAPSHOT_STATE_INIT;
    s.tenant = 0x1122334455667788;
    s.instance = (tw_instance_id){.high = 1, .low = 2};
    s.has_created = true;
    s.created_unix_ms = 3;
    s.sequence = 4;
    s.wasm_memory = (tw_span){memory, sizeof memory};
    size_t size;
    uint8_t *b = test_write(&writer, &s, &size);
    assert_memory_equal(b, "TWSA\1\0\0\0\2\0\0\0\4\0\0\0", 16);
    assert_int_equal(tw_little64(b + 16), size);
    const uint8_t *meta = b + HEAD, *wasm = meta + ENTRY, *device = wasm + ENTRY, *registers = device + ENTRY;
    const uint64_t start = TABLE_END + 64; /* the signature */
    assert_int_equal(tw_little32(meta), 1);
    assert_int_equal(tw_little32(meta + 4), 1);
    assert_int_equal(tw_little64(meta + 8), start);
    assert_int_equal(tw_little64(meta + 16), 65);
    assert_int_equal(tw_little64(meta + 24), 65);
    assert_memory_equal(b + start, "\x88\x77\x66\x55\x44\x33\x22\x11\2\0\0\0\0\0\0\0\1\0\0\0\0\0\0\0\3\0\0\0\0\0\0\0\4",
                        33);
    assert_int_equal(tw_little64(b + start + 40), sizeof memory);
    assert_int_equal(tw_little32(wasm), 2);
    assert_int_equal(tw_little64(wasm + 24), sizeof memory);
    const uint8_t *rows = b + tw_little64(wasm + 8);
    assert_true(tw_little32(rows) > 0);
    assert_int_equal(tw_little32(rows + 4), 1 << 3);
    assert_int_equal(tw_little64(rows + 8), 0); /* a group of zeros */
    assert_int_equal(tw_little32(rows + 20), 1 << 1);
    assert_int_equal(tw_little64(wasm + 16), 24 + tw_little32(rows) + tw_little32(rows + 16));
    assert_int_equal(tw_little32(rows + 24), 0xFD2FB528); /* a zstd frame */
    assert_int_equal(tw_little64(device + 16), 0);
    assert_int_equal(tw_little64(registers + 8), size);
    assert_true(size < 1024); /* holes cost nothing */
    free(b);
}

/* Written by version 1, of the state "seq7_nonce" and of "conformance": to be read for ever. */
static void files_of_version_1_are_read_for_ever(void **state)
{
    (void)state;
    static const struct {
        const char *file, *state;
        guard guard;
    } rows[] = {{"../archive/v1_seq7_nonce.snap", "seq7_nonce", PLAIN},
                {"../archive/v1_conformance_hmac.snap", "conformance", HMAC},
                {"../archive/v1_conformance_ed25519.snap", "conformance", ED25519},
                {"../archive/v1_pages3_sealed_hmac.snap", "pages3", SEALED_HMAC}};
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        tw_snapshot *out;
        size_t size;
        test_state *s = test_state_new(rows[i].state);
        uint8_t *bytes = test_file(rows[i].file, &size);
        tw_snapshot_reader_options reader = reader_with(rows[i].guard);
        assert_int_equal(test_read(&reader, bytes, size, &out, NULL, NULL), TW_OK);
        assert_snapshot_has(out, &s->state);
        tw_snapshot_free(out);
        free(bytes);
        free(s);
    }
}

/* ---- damage ---- */

static void cut_or_with_any_bit_turned_it_is_refused(void **state)
{
    (void)state;
    for (int g = 0; g < GUARDS; g++) {
        size_t size;
        uint8_t *bytes = archive_of((guard)g, "seq7_nonce", &size);
        tw_snapshot_reader_options options = reader_with((guard)g);
        assert_class(refusal(&options, bytes, size), "none");
        for (size_t cut = 0; cut < size; cut++)
            if (!refusal(&options, bytes, cut)) fail_msg("guard %d: taken when cut to %zu bytes", g, cut);
        for (size_t bit = 0; bit < 8 * size; bit++) {
            bytes[bit / 8] ^= (uint8_t)(1 << bit % 8);
            if (!refusal(&options, bytes, size)) fail_msg("guard %d: taken with bit %zu turned", g, bit);
            bytes[bit / 8] ^= (uint8_t)(1 << bit % 8);
        }
        free(bytes);
    }
}

static void hash(const uint8_t *a, size_t a_size, const uint8_t *b, size_t b_size, uint8_t out[32])
{
    tw_blake3 hasher;
    tw_blake3_start(&hasher);
    tw_blake3_add(&hasher, a, a_size);
    tw_blake3_add(&hasher, b, b_size);
    tw_blake3_end(&hasher, out);
}

/* Makes all hashes right again, as somebody who forges an unsigned file would. */
static void rehash(uint8_t *bytes, size_t size)
{
    for (size_t i = 0; i < SECTIONS; i++) {
        uint8_t *entry = bytes + HEAD + i * ENTRY;
        uint64_t offset = tw_little64(entry + 8), length = tw_little64(entry + 16);
        if (offset <= size && length <= size - offset) hash(bytes + offset, length, NULL, 0, entry + 32);
    }
    hash(bytes, 64, bytes + HEAD, SECTIONS * ENTRY, bytes + 64);
}

static void put64(uint8_t *at, uint64_t value)
{
    tw_put_little64(at, value);
}

typedef struct forgery {
    const char *class_name, *what;
    size_t offset;
    int bytes; /* 1, 4 or 8 of the value */
    uint64_t value;
} forgery;

/* Entries in the table: 96 meta, 160 wasm, 224 device, 288 registers; meta's body at 352, of 65 bytes; then that of wasm. */
static const forgery forgeries[] = {
    {"version", "another version", 4, 4, 2},
    {"format", "an unknown flag", 8, 4, 8},
    {"format", "signature 3", 8, 4, 3},
    {"format", "five sections", 12, 4, 5},
    {"format", "three sections", 12, 4, 3},
    {"trailing", "a smaller size of the file", 16, 8, 400},
    {"format", "a larger size of the file", 16, 8, 4000},
    {"format", "reserved bytes", 24, 8, 1},
    {"format", "an id without encryption", 32, 8, 1},
    {"format", "more reserved bytes", 56, 8, 1},
    {"format", "wasm memory twice", 224, 4, 2},
    {"format", "an unknown kind", 288, 4, 9},
    {"version", "a section of another version", 164, 4, 2},
    {"format", "an offset that overlaps", 168, 8, 352},
    {"format", "an offset behind the file", 168, 8, UINT64_C(1) << 40},
    {"format", "a length behind the file", 176, 8, UINT64_C(1) << 40},
    {"format", "a length that wraps round", 176, 8, UINT64_MAX},
    {"limit", "a huge memory", 184, 8, UINT64_C(1) << 62},
    {"limit", "a memory whose sum wraps round", 184, 8, UINT64_MAX},
    {"format", "a memory of more groups than its table", 184, 8, GROUP + 1},
    {"format", "a memory one byte larger", 184, 8, 5},
    {"format", "a memory one byte smaller", 184, 8, 3},
    {"format", "metadata of another size", 120, 8, 66},
    {"total", "another total", 392, 8, 10},
    {"format", "a nonce that is neither there nor not", 400, 1, 2},
    {"format", "no nonce, but its bytes", 400, 1, 0},
    {"format", "a longer frame", 417, 4, 1000},
    {"format", "no frame for a page", 417, 4, 0},
    {"format", "a page that isn't in the memory", 421, 4, 3},
    {"format", "no page for a frame", 421, 4, 0},
    {"format", "bytes of a row that must be zero", 421, 4, 0x10001},
    {"format", "no frame where one should be", 425, 4, 0},
    {"format", "a frame to be skipped", 425, 4, 0x184D2A50},
};

static void forgeries_with_right_hashes_are_refused_by_name(void **state)
{
    (void)state;
    tw_snapshot_reader_options options = reader_with(PLAIN);
    for (size_t i = 0; i < sizeof forgeries / sizeof *forgeries; i++) {
        const forgery *f = &forgeries[i];
        size_t size;
        uint8_t *bytes = archive_of(PLAIN, "seq7_nonce", &size);
        for (int k = 0; k < f->bytes; k++) bytes[f->offset + (size_t)k] = (uint8_t)(f->value >> 8 * k);
        if (f->offset == 184) put64(bytes + 392, f->value + 5); /* the total too: it would be seen before */
        rehash(bytes, size);
        const char *name = tw_snapshot_class_name(refusal(&options, bytes, size));
        if (strcmp(name, f->class_name)) fail_msg("%s: %s, expected %s", f->what, name, f->class_name);
        free(bytes);
    }
}

static void without_right_hashes_it_is_a_wrong_hash(void **state)
{
    (void)state;
    tw_snapshot_reader_options options = reader_with(PLAIN);
    size_t size;
    uint8_t *bytes = archive_of(PLAIN, "seq7_nonce", &size);
    bytes[size - 1] ^= 1;
    assert_class(refusal(&options, bytes, size), "hash");
    bytes[size - 1] ^= 1;
    put64(bytes + 184, 5);
    assert_class(refusal(&options, bytes, size), "hash");
    free(bytes);
}

static void bytes_behind_it_are_trailing(void **state)
{
    (void)state;
    tw_snapshot_reader_options options = reader_with(PLAIN);
    size_t size;
    uint8_t *bytes = archive_of(PLAIN, "small", &size);
    bytes = realloc(bytes, size + 1);
    assert_non_null(bytes);
    bytes[size] = 0;
    assert_class(refusal(&options, bytes, size + 1), "trailing");
    free(bytes);
}

/* 4 GiB of zeros would be 32 KiB of file: what isn't asked for isn't unpacked. */
static void zeros_beyond_the_limit_are_a_limit(void **state)
{
    (void)state;
    tw_snapshot_writer_options writer = writer_with(PLAIN);
    tw_snapshot_reader_options reader = reader_with(PLAIN);
    tw_snapshot_state s = TW_SNAPSHOT_STATE_INIT;
    size_t size, large = (size_t)64 << 20;
    s.wasm_memory = (tw_span){calloc(1, large), large};
    uint8_t *bytes = test_write(&writer, &s, &size);
    reader.max_bytes = large;
    assert_class(refusal(&reader, bytes, size), "none");
    reader.max_bytes = large - 1;
    assert_class(refusal(&reader, bytes, size), "limit");
    free((void *)(uintptr_t)s.wasm_memory.data);
    free(bytes);
}

/* ---- keys and demands ---- */

static void readers_without_the_right_key_refuse(void **state)
{
    (void)state;
    size_t size;
    tw_snapshot_reader_options none = TW_SNAPSHOT_READER_OPTIONS_INIT, wrong = TW_SNAPSHOT_READER_OPTIONS_INIT;
    tw_snapshot_reader_options sealed = reader_with(SEALED), required = reader_with(HMAC);
    wrong.hmac_key = keys.hmac2;
    wrong.ed25519_public = keys.ed2;
    static const char *const without[GUARDS] = {"none", "nokey", "nokey", "nokey", "nokey"};
    static const char *const with_wrong[GUARDS] = {"none", "signature", "signature", "nokey", "nokey"};
    for (int g = 0; g < GUARDS; g++) {
        uint8_t *bytes = archive_of((guard)g, "small", &size);
        assert_class(refusal(&none, bytes, size), without[g]);
        assert_class(refusal(&wrong, bytes, size), with_wrong[g]);
        if (g == PLAIN) assert_class(refusal(&required, bytes, size), "unsigned");
        if (g == HMAC) assert_class(refusal(&sealed, bytes, size), "aead");
        free(bytes);
    }
    uint8_t *bytes = archive_of(SEALED, "small", &size);
    sealed.aead_key = keys.aead2;
    assert_class(refusal(&sealed, bytes, size), "aead");
    sealed.aead_key = keys.aead;
    sealed.require_signature = true;
    assert_class(refusal(&sealed, bytes, size), "unsigned"); /* encryption is no signature */
    free(bytes);
}

/* Two encrypted files with the same key: the memory of one in the other. */
static void sections_of_encrypted_files_cannot_be_exchanged(void **state)
{
    (void)state;
    size_t size, other_size;
    uint8_t *bytes = archive_of(SEALED, "small", &size), *other = archive_of(SEALED, "small", &other_size);
    tw_snapshot_reader_options options = reader_with(SEALED);
    assert_int_equal(size, other_size);
    assert_memory_not_equal(bytes, other, size);
    uint64_t offset = tw_little64(bytes + 168), length = tw_little64(bytes + 176);
    memcpy(bytes + offset, other + offset, length);
    rehash(bytes, size);
    assert_class(refusal(&options, bytes, size), "aead");
    free(bytes);
    free(other);
}

static void what_the_reader_demands_holds_for_archives(void **state)
{
    (void)state;
    size_t size;
    uint8_t *bytes = archive_of(HMAC, "seq7_nonce", &size);
    tw_snapshot_reader_options options = reader_with(HMAC);
    options.min_sequence = 7;
    assert_class(refusal(&options, bytes, size), "none");
    options.min_sequence = 8;
    assert_class(refusal(&options, bytes, size), "replay");
    options = reader_with(HMAC);
    options.has_expected_nonce = true;
    assert_class(refusal(&options, bytes, size), "replay");
    for (int i = 0; i < 16; i++) options.expected_nonce[i] = (uint8_t)i;
    assert_class(refusal(&options, bytes, size), "none");
    options.has_max_age = true;
    options.max_age_ms = 1000;
    assert_class(refusal(&options, bytes, size), "stale");
    free(bytes);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(what_goes_in_comes_out),
        cmocka_unit_test(the_number_of_threads_does_not_show),
        cmocka_unit_test(the_layout_is_that_of_the_document),
        cmocka_unit_test(files_of_version_1_are_read_for_ever),
        cmocka_unit_test(cut_or_with_any_bit_turned_it_is_refused),
        cmocka_unit_test(forgeries_with_right_hashes_are_refused_by_name),
        cmocka_unit_test(without_right_hashes_it_is_a_wrong_hash),
        cmocka_unit_test(bytes_behind_it_are_trailing),
        cmocka_unit_test(zeros_beyond_the_limit_are_a_limit),
        cmocka_unit_test(readers_without_the_right_key_refuse),
        cmocka_unit_test(sections_of_encrypted_files_cannot_be_exchanged),
        cmocka_unit_test(what_the_reader_demands_holds_for_archives),
    };
    return cmocka_run_group_tests(tests, make_keys, free_keys);
}
