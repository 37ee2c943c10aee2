/* SPDX-License-Identifier: Apache-2.0 */
/* Key files: only regular ones that are ours and closed to others; raw or hexadecimal; never in a message. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <sys/stat.h>
#include <unistd.h>

#include "../../support/snapshots.h"

#define SECRET "000102030405060708090A0B0C0D0E0F101112131415161718191a1b1c1d1e1f"

static char folder[] = "/tmp/tw-keys-XXXXXX";

static int make_folder(void **state)
{
    (void)state;
    return mkdtemp(folder) ? 0 : -1;
}

static int remove_folder(void **state)
{
    (void)state;
    return rmdir(folder);
}

static const char *key_file(const void *bytes, size_t size, mode_t mode)
{
    static char path[64];
    snprintf(path, sizeof path, "%s/key", folder);
    unlink(path);
    FILE *file = fopen(path, "wb");
    assert_non_null(file);
    assert_int_equal(fwrite(bytes, 1, size, file), size);
    fclose(file);
    assert_int_equal(chmod(path, mode), 0);
    return path;
}

static tw_status read_key(const char *path, tw_error *error)
{
    tw_snapshot_key *key = NULL;
    tw_status status = tw_snapshot_key_read(TW_SNAPSHOT_KEY_HMAC, path, &key, error);
    tw_snapshot_key_free(key);
    return status;
}

/* By what can be read with it: a file that was signed with the bytes 00..1f. */
static void check_opens(const char *path)
{
    tw_snapshot_key *key;
    tw_snapshot *s;
    size_t size;
    uint8_t *bytes = test_file("good/v4_conformance.snap", &size);
    tw_snapshot_reader_options options = TW_SNAPSHOT_READER_OPTIONS_INIT;
    assert_int_equal(tw_snapshot_key_read(TW_SNAPSHOT_KEY_HMAC, path, &key, NULL), TW_OK);
    options.hmac_key = key;
    assert_int_equal(test_read(&options, bytes, size, &s, NULL, NULL), TW_OK);
    tw_snapshot_free(s);
    tw_snapshot_key_free(key);
    free(bytes);
}

static void raw_and_hexadecimal_files_are_the_same_key(void **state)
{
    (void)state;
    uint8_t raw[32];
    for (int i = 0; i < 32; i++) raw[i] = (uint8_t)i;
    check_opens(key_file(raw, 32, 0600));
    check_opens(key_file(raw, 32, 0400));
    check_opens(key_file(SECRET, 64, 0600));
    check_opens(key_file(SECRET "\n", 65, 0600));
    check_opens(key_file(SECRET "\r\n", 66, 0600));
    unlink(key_file("", 0, 0600));
}

static void other_contents_are_no_key_and_never_shown(void **state)
{
    (void)state;
    static const char *const wrong[] = {"",
                                        SECRET " ",
                                        SECRET "\n\n",
                                        "0x" SECRET,
                                        "SECRETkeySECRETkeySECRETkeySECRETkey",
                                        SECRET SECRET,
                                        "g00102030405060708090A0B0C0D0E0F101112131415161718191a1b1c1d1e1f"};
    for (size_t i = 0; i < sizeof wrong / sizeof *wrong; i++) {
        tw_error error = {0};
        assert_int_equal(read_key(key_file(wrong[i], strlen(wrong[i]), 0600), &error), TW_MALFORMED);
        assert_null(strstr(error.message, "0001"));
        assert_null(strstr(error.message, "SECRET"));
    }
    unlink(key_file("", 0, 0600));
}

static void files_open_to_others_are_not_read(void **state)
{
    (void)state;
    static const mode_t modes[] = {0644, 0640, 0604, 0660, 0606, 0601, 0610};
    for (size_t i = 0; i < sizeof modes / sizeof *modes; i++) {
        tw_error error = {0};
        assert_int_equal(read_key(key_file(SECRET, 64, modes[i]), &error), TW_UNTRUSTED);
        assert_non_null(strstr(error.message, "chmod 600"));
    }
    unlink(key_file("", 0, 0600));
}

static void only_regular_files_are_keys(void **state)
{
    (void)state;
    char link[64], fifo[64];
    tw_error error = {0};
    snprintf(link, sizeof link, "%s/link", folder);
    snprintf(fifo, sizeof fifo, "%s/fifo", folder);
    const char *path = key_file(SECRET, 64, 0600);
    assert_int_equal(symlink(path, link), 0);
    assert_int_equal(mkfifo(fifo, 0600), 0);
    assert_int_equal(read_key(link, &error), TW_UNTRUSTED);
    assert_int_equal(read_key(fifo, &error), TW_UNTRUSTED);
    assert_int_equal(read_key(folder, &error), TW_UNTRUSTED);
    unlink(path);
    unlink(link);
    unlink(fifo);
    assert_int_equal(read_key(path, &error), TW_NOT_FOUND);
}

static void a_key_of_another_users_is_not_read(void **state)
{
    (void)state;
    const char *path = key_file(SECRET, 64, 0600);
    if (geteuid() != 0) skip();
    tw_error error = {0};
    assert_int_equal(chown(path, 65534, 65534), 0);
    assert_int_equal(read_key(path, &error), TW_UNTRUSTED);
    unlink(path);
}

static void keys_know_what_they_are_for(void **state)
{
    (void)state;
    test_keys keys = test_keys_new();
    tw_snapshot_reader_options options = TW_SNAPSHOT_READER_OPTIONS_INIT;
    tw_snapshot_reader *reader;
    options.ed25519_public = keys.seed; /* the secret where the public one belongs */
    assert_int_equal(tw_snapshot_reader_new(&options, &reader, NULL), TW_INVALID_ARGUMENT);
    options.ed25519_public = NULL;
    options.aead_key = keys.hmac;
    assert_int_equal(tw_snapshot_reader_new(&options, &reader, NULL), TW_INVALID_ARGUMENT);
    test_keys_free(&keys);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(raw_and_hexadecimal_files_are_the_same_key),
        cmocka_unit_test(other_contents_are_no_key_and_never_shown),
        cmocka_unit_test(files_open_to_others_are_not_read),
        cmocka_unit_test(only_regular_files_are_keys),
        cmocka_unit_test(a_key_of_another_users_is_not_read),
        cmocka_unit_test(keys_know_what_they_are_for),
    };
    return cmocka_run_group_tests(tests, make_folder, remove_folder);
}
