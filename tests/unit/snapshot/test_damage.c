/* SPDX-License-Identifier: Apache-2.0 */
/* Files cut at every byte, and with each single bit turned: a typed refusal, or what was signed. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "../../support/snapshots.h"

typedef struct subject {
    const char *file;
    bool authenticated; /* any change must be refused */
} subject;

static const subject subjects[] = {
    {"good/v2_seq7_nonce.snap", false},
    {"good/v2_empty.snap", false},
    {"good/v3_hmac_seq7_nonce.snap", true},
    {"good/v3_ed25519_wins.snap", true},
    {"good/v4_seq7_nonce.snap", true},
    {"good/aead_v2_small.snap", true},
    {"alt/v2_frame_size_and_checksum.snap", false},
};

/* A signed file with its signature taken off is an unsigned one: that is what require_signature is for. */
static tw_snapshot_reader_options reader_of(const test_keys *keys, const subject *s)
{
    tw_snapshot_reader_options options = TW_SNAPSHOT_READER_OPTIONS_INIT;
    bool wrapped = strstr(s->file, "aead") != NULL;
    options.hmac_key = keys->hmac;
    options.ed25519_public = keys->ed;
    options.aead_key = wrapped ? keys->aead : NULL;
    options.require_signature = s->authenticated && !wrapped;
    return options;
}

static bool is_taken(const tw_snapshot_reader_options *options, const uint8_t *bytes, size_t size)
{
    tw_snapshot *s = NULL;
    tw_error error = {0};
    tw_snapshot_class why = TW_SNAPSHOT_CLASS_COUNT;
    uint8_t *exact = malloc(size ? size : 1); /* sanitizers see a read behind it */
    assert_non_null(exact);
    memcpy(exact, bytes, size);
    tw_status status = test_read(options, exact, size, &s, &why, &error);
    free(exact);
    if (status == TW_OK) {
        tw_snapshot_free(s);
        return true;
    }
    assert_null(s);
    assert_true(why > TW_SNAPSHOT_CLASS_NONE && why < TW_SNAPSHOT_CLASS_COUNT);
    assert_int_equal(status, error.status);
    assert_true(error.message[0]);
    return false;
}

static void cut_at_every_byte_it_is_refused(void **state)
{
    (void)state;
    test_keys keys = test_keys_new();
    for (size_t i = 0; i < sizeof subjects / sizeof *subjects; i++) {
        size_t size;
        uint8_t *bytes = test_file(subjects[i].file, &size);
        tw_snapshot_reader_options options = reader_of(&keys, &subjects[i]);
        assert_true(is_taken(&options, bytes, size));
        for (size_t cut = 0; cut < size; cut++)
            if (is_taken(&options, bytes, cut)) fail_msg("%s: taken when cut to %zu bytes", subjects[i].file, cut);
        free(bytes);
    }
    test_keys_free(&keys);
}

static void with_any_bit_turned_it_is_refused_when_authenticated(void **state)
{
    (void)state;
    test_keys keys = test_keys_new();
    for (size_t i = 0; i < sizeof subjects / sizeof *subjects; i++) {
        size_t size;
        uint8_t *bytes = test_file(subjects[i].file, &size);
        tw_snapshot_reader_options options = reader_of(&keys, &subjects[i]);
        for (size_t bit = 0; bit < 8 * size; bit++) {
            bytes[bit / 8] ^= (uint8_t)(1 << bit % 8);
            if (is_taken(&options, bytes, size) && subjects[i].authenticated)
                fail_msg("%s: taken with bit %zu turned", subjects[i].file, bit);
            bytes[bit / 8] ^= (uint8_t)(1 << bit % 8);
        }
        free(bytes);
    }
    test_keys_free(&keys);
}

static void larger_than_the_reader_takes_is_a_limit(void **state)
{
    (void)state;
    tw_snapshot_reader_options options = TW_SNAPSHOT_READER_OPTIONS_INIT;
    tw_snapshot *s;
    tw_snapshot_class why;
    size_t size;
    uint8_t *bytes = test_file("good/v2_conformance.snap", &size);
    options.max_file = size;
    assert_int_equal(test_read(&options, bytes, size, &s, &why, NULL), TW_OK);
    tw_snapshot_free(s);
    options.max_file = size - 1;
    assert_int_equal(test_read(&options, bytes, size, &s, &why, NULL), TW_LIMIT);
    assert_int_equal(why, TW_SNAPSHOT_CLASS_LIMIT);
    free(bytes);
}

static void wrong_arguments_are_no_refusal(void **state)
{
    (void)state;
    tw_snapshot_reader *reader;
    tw_snapshot_writer *writer;
    tw_snapshot *s;
    uint8_t *bytes;
    size_t size;
    tw_snapshot_class why = TW_SNAPSHOT_CLASS_COUNT;
    tw_snapshot_state span = TW_SNAPSHOT_STATE_INIT, none = {0};
    span.registers.size = 1;
    assert_int_equal(tw_snapshot_reader_new(NULL, &reader, NULL), TW_OK);
    assert_int_equal(tw_snapshot_writer_new(NULL, &writer, NULL), TW_OK);
    assert_int_equal(tw_snapshot_restore(reader, NULL, 1, &s, &why, NULL), TW_INVALID_ARGUMENT);
    assert_int_equal(why, TW_SNAPSHOT_CLASS_NONE);
    assert_int_equal(tw_snapshot_restore(NULL, NULL, 0, &s, &why, NULL), TW_INVALID_ARGUMENT);
    assert_int_equal(tw_snapshot_capture(writer, &span, &bytes, &size, NULL), TW_INVALID_ARGUMENT);
    assert_int_equal(tw_snapshot_capture(writer, &none, &bytes, &size, NULL), TW_INVALID_ARGUMENT);
    tw_snapshot_reader_free(reader);
    tw_snapshot_writer_free(writer);
    tw_snapshot_reader_free(NULL);
    tw_snapshot_writer_free(NULL);
    tw_snapshot_free(NULL);
    tw_snapshot_key_free(NULL);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(cut_at_every_byte_it_is_refused),
        cmocka_unit_test(with_any_bit_turned_it_is_refused_when_authenticated),
        cmocka_unit_test(larger_than_the_reader_takes_is_a_limit),
        cmocka_unit_test(wrong_arguments_are_no_refusal),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
