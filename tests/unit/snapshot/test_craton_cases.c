/* SPDX-License-Identifier: Apache-2.0 */
/* tests/data/craton/cases.tsv: each file, under each set-up of the reader, is taken or refused with the class named there. The
 * file's fields are compared with what the earlier project's reader returned. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <inttypes.h>

#include "../../support/snapshots.h"

enum { CASES = 143, COLUMNS = 7 };

/* ---- a reader by its words ---- */

static void apply_word(const test_keys *keys, const char *word, tw_snapshot_reader_options *o)
{
    if (!strcmp(word, "none")) return;
    if (!strcmp(word, "req")) o->require_signature = true;
    else if (!strcmp(word, "hmac")) o->hmac_key = keys->hmac;
    else if (!strcmp(word, "hmac2")) o->hmac_key = keys->hmac2;
    else if (!strcmp(word, "ed")) o->ed25519_public = keys->ed;
    else if (!strcmp(word, "ed2")) o->ed25519_public = keys->ed2;
    else if (!strcmp(word, "aead")) o->aead_key = keys->aead;
    else if (!strcmp(word, "aead2")) o->aead_key = keys->aead2;
    else if (!strncmp(word, "cap", 3)) o->max_bytes = strtoull(word + 3, NULL, 10);
    else if (!strncmp(word, "seq", 3)) o->min_sequence = strtoull(word + 3, NULL, 10);
    else if (!strcmp(word, "age1s")) {
        o->has_max_age = true;
        o->max_age_ms = 1000;
    } else if (!strncmp(word, "nonce", 5)) {
        o->has_expected_nonce = true;
        for (int i = 0; i < 16; i++) o->expected_nonce[i] = word[5] ? 0xff : (uint8_t)i;
    } else fail_msg("unknown word %s", word);
}

static tw_snapshot_reader_options options_of(const test_keys *keys, const char *words)
{
    tw_snapshot_reader_options o = TW_SNAPSHOT_READER_OPTIONS_INIT;
    char text[128], *rest, *word;
    snprintf(text, sizeof text, "%s", words);
    for (word = strtok_r(text, "+", &rest); word; word = strtok_r(NULL, "+", &rest)) apply_word(keys, word, &o);
    return o;
}

/* ---- what came of it, in the words of the table ---- */

static void describe(const tw_snapshot *s, char *text, size_t room)
{
    char nonce[33] = "none", instance[40];
    for (int i = 0; s->has_nonce && i < 16; i++) snprintf(nonce + 2 * i, 3, "%02x", s->nonce[i]);
    if (s->instance.high)
        snprintf(instance, sizeof instance, "%" PRIx64 "%016" PRIx64, s->instance.high, s->instance.low);
    else snprintf(instance, sizeof instance, "%" PRIx64, s->instance.low);
    snprintf(text, room,
             "OK version=%u tenant=0x%" PRIx64 " instance=0x%s created=%" PRIu64 " total=%" PRIu64 " seq=%" PRIu64
             " nonce=%s wasm=%zu gpu=%zu regs=%zu crc32=",
             s->version, s->tenant, instance, s->created_unix_ms, s->total_uncompressed_bytes, s->sequence, nonce,
             s->wasm_memory.size, s->device_memory.size, s->registers.size);
}

/* "format or crc": any of them. */
static bool is_one_of(const char *name, const char *alternatives)
{
    for (size_t size = strlen(name);;) {
        const char *end = strstr(alternatives, " or ");
        size_t length = end ? (size_t)(end - alternatives) : strlen(alternatives);
        if (length == size && !memcmp(alternatives, name, size)) return true;
        if (!end) return false;
        alternatives = end + 4;
    }
}

/* ---- the table ---- */

typedef struct table_row {
    char *column[COLUMNS];
} table_row;

static const char *rust_answer(const table_row *r)
{
    return strcmp(r->column[6], "=") ? r->column[6] : r->column[5];
}

/* What the strict reader says of files that the earlier project's takes: NULL where nothing in the file could tell. */
static const char *strict_class(const char *file)
{
    static const struct {
        const char *file, *name;
    } odd[] = {{"odd/v2_payload_trailing.snap", "trailing"},
               {"odd/v4_two_frames.snap", "trailing"},
               {"odd/v4_split_frames.snap", "trailing"}};
    for (size_t i = 0; i < sizeof odd / sizeof *odd; i++)
        if (!strcmp(odd[i].file, file)) return odd[i].name;
    return NULL;
}

static void check_accepted(const table_row *r, const tw_snapshot *s)
{
    char text[512];
    describe(s, text, sizeof text);
    if (strncmp(rust_answer(r), text, strlen(text)))
        fail_msg("%s: %s, expected %s", r->column[0], text, rust_answer(r));
}

static void check_refused(const table_row *r, const char *expected, tw_status status, tw_snapshot_class why,
                          const tw_error *error)
{
    const char *name = tw_snapshot_class_name(why);
    if (!is_one_of(name, expected))
        fail_msg("%s (%s): refused as %s, expected %s: %s", r->column[0], r->column[1], name, expected, error->message);
    assert_int_equal(status, error->status);
    assert_int_not_equal(status, TW_INTERNAL);
    assert_true(error->message[0]);
}

static void check_row(const test_keys *keys, const table_row *r, bool lenient)
{
    tw_snapshot_reader_options options = options_of(keys, r->column[1]);
    options.lenient = lenient;
    const char *expected = strcmp(r->column[2], "accept") ? r->column[3] : lenient ? NULL : strict_class(r->column[0]);
    size_t size;
    uint8_t *bytes = test_file(r->column[0], &size);
    tw_snapshot *s;
    tw_snapshot_class why;
    tw_error error = {0};
    tw_status status = test_read(&options, bytes, size, &s, &why, &error);
    free(bytes);
    if (!expected && status) fail_msg("%s (%s): refused: %s", r->column[0], r->column[1], error.message);
    if (expected && !status) fail_msg("%s (%s): taken, expected %s", r->column[0], r->column[1], expected);
    if (expected) {
        check_refused(r, expected, status, why, &error);
        return;
    }
    assert_int_equal(why, TW_SNAPSHOT_CLASS_NONE);
    check_accepted(r, s);
    tw_snapshot_free(s);
}

static void check_table(bool lenient)
{
    test_keys keys = test_keys_new();
    size_t size;
    char *text = (char *)test_file("cases.tsv", &size), *line, *next = text;
    text = realloc(text, size + 1);
    assert_non_null(text);
    text[size] = 0;
    next = text;
    int rows = -1; /* the first line has the names */
    while ((line = strsep(&next, "\n")) && *line) {
        table_row r = {{0}};
        if (rows++ < 0) continue;
        for (int i = 0; i < COLUMNS; i++) r.column[i] = strsep(&line, "\t");
        assert_non_null(r.column[COLUMNS - 1]);
        check_row(&keys, &r, lenient);
    }
    assert_int_equal(rows, CASES);
    free(text);
    test_keys_free(&keys);
}

static void every_case_gives_its_answer_and_class(void **state)
{
    (void)state;
    check_table(false);
}

/* Lenient only takes more, and only the three odd files. */
static void lenient_follows_the_earlier_reader_in_every_case(void **state)
{
    (void)state;
    check_table(true);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(every_case_gives_its_answer_and_class),
        cmocka_unit_test(lenient_follows_the_earlier_reader_in_every_case),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
