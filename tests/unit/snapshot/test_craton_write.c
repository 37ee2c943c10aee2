/* SPDX-License-Identifier: Apache-2.0 */
/* What we write is what the earlier project's writer made of the same state (tests/data/craton/good): byte for byte where
 * libzstd compresses alike, and always the same payload under a signature that verifies. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "../../support/snapshots.h"

static const struct {
    const char *file, *state;
    tw_snapshot_format format;
    bool ed25519;
    int level;
} goldens[] = {
    {"good/v2_empty.snap", "empty", TW_SNAPSHOT_V2, false, 3},
    {"good/v2_conformance.snap", "conformance", TW_SNAPSHOT_V2, false, 3},
    {"good/v2_conformance_level1.snap", "conformance", TW_SNAPSHOT_V2, false, 1},
    {"good/v2_conformance_level19.snap", "conformance", TW_SNAPSHOT_V2, false, 19},
    {"good/v2_seq7_nonce.snap", "seq7_nonce", TW_SNAPSHOT_V2, false, 3},
    {"good/v2_random1k.snap", "random1k", TW_SNAPSHOT_V2, false, 3},
    {"good/v2_pages3.snap", "pages3", TW_SNAPSHOT_V2, false, 3},
    {"good/v2_maxvals.snap", "maxvals", TW_SNAPSHOT_V2, false, 3},
    {"good/v3_hmac_empty.snap", "empty", TW_SNAPSHOT_V3, false, 3},
    {"good/v3_hmac_conformance.snap", "conformance", TW_SNAPSHOT_V3, false, 3},
    {"good/v3_hmac_seq7_nonce.snap", "seq7_nonce", TW_SNAPSHOT_V3, false, 3},
    {"good/v3_ed25519_empty.snap", "empty", TW_SNAPSHOT_V3, true, 3},
    {"good/v3_ed25519_conformance.snap", "conformance", TW_SNAPSHOT_V3, true, 3},
    {"good/v3_ed25519_wins.snap", "small", TW_SNAPSHOT_V3, true, 3},
    {"good/v4_empty.snap", "empty", TW_SNAPSHOT_V4, false, 3},
    {"good/v4_conformance.snap", "conformance", TW_SNAPSHOT_V4, false, 19}, /* its level is always 3 */
    {"good/v4_seq7_nonce.snap", "seq7_nonce", TW_SNAPSHOT_V4, false, 3},
};

static tw_snapshot_reader_options reader_for(const test_keys *keys)
{
    tw_snapshot_reader_options options = TW_SNAPSHOT_READER_OPTIONS_INIT;
    options.hmac_key = keys->hmac;
    options.ed25519_public = keys->ed;
    return options;
}

static tw_snapshot_writer_options writer_for(const test_keys *keys, size_t row)
{
    tw_snapshot_writer_options options = TW_SNAPSHOT_WRITER_OPTIONS_INIT;
    options.format = goldens[row].format;
    options.level = goldens[row].level;
    if (options.format != TW_SNAPSHOT_V2) options.hmac_key = keys->hmac;
    if (goldens[row].ed25519) options.ed25519_secret = keys->seed;
    return options;
}

static void goldens_are_written_again(void **state)
{
    (void)state;
    test_keys keys = test_keys_new();
    size_t same = 0;
    for (size_t i = 0; i < sizeof goldens / sizeof *goldens; i++) {
        size_t size, golden_size;
        test_state *s = test_state_new(goldens[i].state);
        tw_snapshot_writer_options options = writer_for(&keys, i);
        uint8_t *bytes = test_write(&options, &s->state, &size), *golden = test_file(goldens[i].file, &golden_size);
        if (size == golden_size && !memcmp(bytes, golden, size)) same++;
        else print_message("%s: compressed otherwise\n", goldens[i].file);
        tw_snapshot_reader_options reader = reader_for(&keys);
        reader.require_signature = goldens[i].format != TW_SNAPSHOT_V2;
        tw_snapshot *mine, *theirs;
        assert_int_equal(test_read(&reader, bytes, size, &mine, NULL, NULL), TW_OK);
        assert_int_equal(test_read(&reader, golden, golden_size, &theirs, NULL, NULL), TW_OK);
        assert_snapshot_has(mine, &s->state);
        assert_snapshot_has(theirs, &s->state);
        assert_int_equal(mine->format, goldens[i].format);
        assert_int_equal(mine->signature, theirs->signature);
        assert_int_equal(mine->version, theirs->version);
        tw_snapshot_free(mine);
        tw_snapshot_free(theirs);
        free(bytes);
        free(golden);
        free(s);
    }
    /* Where there is next to nothing to compress every libzstd does the same. */
    assert_true(same >= 6);
    test_keys_free(&keys);
}

static void formats_and_keys_must_go_together(void **state)
{
    (void)state;
    test_keys keys = test_keys_new();
    const struct {
        tw_snapshot_format format;
        const tw_snapshot_key *hmac, *ed;
        int level;
        tw_status status;
    } rows[] = {
        {TW_SNAPSHOT_V2, NULL, NULL, 3, TW_OK},
        {TW_SNAPSHOT_V2, keys.hmac, NULL, 3, TW_INVALID_ARGUMENT},
        {TW_SNAPSHOT_V2, NULL, keys.seed, 3, TW_INVALID_ARGUMENT},
        {TW_SNAPSHOT_V2, NULL, NULL, 0, TW_INVALID_ARGUMENT},
        {TW_SNAPSHOT_V2, NULL, NULL, 20, TW_INVALID_ARGUMENT},
        {TW_SNAPSHOT_V3, NULL, NULL, 3, TW_INVALID_ARGUMENT},
        {TW_SNAPSHOT_V3, NULL, keys.ed, 3, TW_INVALID_ARGUMENT}, /* a public key can't sign */
        {TW_SNAPSHOT_V3, keys.aead, NULL, 3, TW_INVALID_ARGUMENT},
        {TW_SNAPSHOT_V4, NULL, NULL, 3, TW_INVALID_ARGUMENT},
        {TW_SNAPSHOT_V4, NULL, keys.seed, 3, TW_INVALID_ARGUMENT},
        {TW_SNAPSHOT_V4, keys.hmac, NULL, 3, TW_OK},
        {(tw_snapshot_format)99, NULL, NULL, 3, TW_INVALID_ARGUMENT},
    };
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        tw_snapshot_writer_options options = TW_SNAPSHOT_WRITER_OPTIONS_INIT;
        tw_snapshot_writer *writer = NULL;
        tw_error error = {0};
        options.format = rows[i].format;
        options.hmac_key = rows[i].hmac;
        options.ed25519_secret = rows[i].ed;
        options.level = rows[i].level;
        tw_status status = tw_snapshot_writer_new(&options, &writer, &error);
        if (status != rows[i].status) fail_msg("row %zu: %s", i, tw_status_name(status));
        if (status) assert_true(error.message[0]);
        tw_snapshot_writer_free(writer);
    }
    test_keys_free(&keys);
}

static void what_a_format_cannot_hold_is_a_limit(void **state)
{
    (void)state;
    test_keys keys = test_keys_new();
    const size_t large = (size_t)1 << 20;
    uint8_t *bytes = calloc(1, ((size_t)1 << 30) + 1); /* never touched: only its size is looked at */
    uint8_t *out;
    size_t size;
    assert_non_null(bytes);
    const struct {
        tw_snapshot_format format;
        size_t wasm, registers;
        tw_status status;
    } rows[] = {{TW_SNAPSHOT_V2, 0, large, TW_OK},
                {TW_SNAPSHOT_V2, 0, large + 1, TW_LIMIT},
                {TW_SNAPSHOT_V2, ((size_t)1 << 30) + 1, 0, TW_LIMIT},
                {TW_SNAPSHOT_V4, ((size_t)256 << 20) - 84, 0, TW_LIMIT}};
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        tw_snapshot_writer_options options = TW_SNAPSHOT_WRITER_OPTIONS_INIT;
        tw_snapshot_state s = TW_SNAPSHOT_STATE_INIT;
        tw_snapshot_writer *writer;
        options.format = rows[i].format;
        if (options.format == TW_SNAPSHOT_V4) options.hmac_key = keys.hmac;
        s.wasm_memory = (tw_span){bytes, rows[i].wasm};
        s.registers = (tw_span){bytes, rows[i].registers};
        assert_int_equal(tw_snapshot_writer_new(&options, &writer, NULL), TW_OK);
        tw_status status = tw_snapshot_capture(writer, &s, &out, &size, NULL);
        assert_int_equal(status, rows[i].status);
        if (!status) free(out);
        tw_snapshot_writer_free(writer);
    }
    free(bytes);
    test_keys_free(&keys);
}

static void without_a_creation_time_it_is_now(void **state)
{
    (void)state;
    tw_snapshot_writer_options options = TW_SNAPSHOT_WRITER_OPTIONS_INIT;
    options.format = TW_SNAPSHOT_V2;
    tw_snapshot_reader_options reader = TW_SNAPSHOT_READER_OPTIONS_INIT;
    tw_snapshot_state s = TW_SNAPSHOT_STATE_INIT;
    tw_snapshot *out;
    size_t size;
    uint8_t *bytes = test_write(&options, &s, &size);
    reader.has_max_age = true;
    reader.max_age_ms = 60000;
    assert_int_equal(test_read(&reader, bytes, size, &out, NULL, NULL), TW_OK);
    assert_true(out->created_unix_ms > TEST_CREATED);
    tw_snapshot_free(out);
    free(bytes);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(goldens_are_written_again),
        cmocka_unit_test(formats_and_keys_must_go_together),
        cmocka_unit_test(what_a_format_cannot_hold_is_a_limit),
        cmocka_unit_test(without_a_creation_time_it_is_now),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
