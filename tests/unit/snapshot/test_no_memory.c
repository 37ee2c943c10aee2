/* SPDX-License-Identifier: Apache-2.0 */
/* Each allocation of writing and reading fails once, zstd's too: the answer is no-memory, and nothing is kept or lost. The
 * program's malloc is ours here; not under sanitizers, which have their own. */
#include <fcntl.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <unistd.h>

#include <cmocka.h>

#include "../../support/no_memory.h"
#include "../../support/snapshots.h"

#if NO_MEMORY_OURS
typedef struct form {
    tw_snapshot_format format;
    bool sealed;
} form;
static const form forms[] = {{TW_SNAPSHOT_ARCHIVE, false},
                             {TW_SNAPSHOT_ARCHIVE, true},
                             {TW_SNAPSHOT_IMAGE, false},
                             {TW_SNAPSHOT_V2, false},
                             {TW_SNAPSHOT_V3, false},
                             {TW_SNAPSHOT_V4, false}};

static tw_snapshot_writer *new_writer(const test_keys *keys, const form *f)
{
    tw_snapshot_writer_options options = TW_SNAPSHOT_WRITER_OPTIONS_INIT;
    tw_snapshot_writer *writer;
    options.format = f->format;
    options.threads = 1;
    if (f->format == TW_SNAPSHOT_V3 || f->format == TW_SNAPSHOT_V4) options.hmac_key = keys->hmac;
    if (f->sealed) options.aead_key = keys->aead;
    assert_int_equal(tw_snapshot_writer_new(&options, &writer, NULL), TW_OK);
    return writer;
}

static tw_snapshot_reader *new_reader(const test_keys *keys, bool sealed)
{
    tw_snapshot_reader_options options = TW_SNAPSHOT_READER_OPTIONS_INIT;
    tw_snapshot_reader *reader;
    options.hmac_key = keys->hmac;
    options.threads = 1;
    if (sealed) options.aead_key = keys->aead;
    assert_int_equal(tw_snapshot_reader_new(&options, &reader, NULL), TW_OK);
    return reader;
}

/* Fails the first allocation, then the second, and so on, until there are no more; gives the number. */
static long capture_with_failures(const tw_snapshot_writer *writer, const tw_snapshot_state *s, uint8_t **bytes,
                                  size_t *size)
{
    for (long at = 0;; at++) {
        tw_error error = {0};
        long before = no_memory_blocks;
        no_memory_at(at);
        tw_status status = tw_snapshot_capture(writer, s, bytes, size, &error);
        if (!no_memory_ends()) {
            assert_int_equal(status, TW_OK);
            return at;
        }
        assert_int_equal(status, TW_NO_MEMORY);
        assert_int_equal(error.status, TW_NO_MEMORY);
        assert_int_equal(no_memory_blocks, before);
    }
}

static long restore_with_failures(const tw_snapshot_reader *reader, const uint8_t *bytes, size_t size,
                                  tw_snapshot **out)
{
    for (long at = 0;; at++) {
        tw_error error = {0};
        tw_snapshot_class why;
        long before = no_memory_blocks;
        no_memory_at(at);
        tw_status status = tw_snapshot_restore(reader, bytes, size, out, &why, &error);
        if (!no_memory_ends()) {
            assert_int_equal(status, TW_OK);
            return at;
        }
        assert_int_equal(status, TW_NO_MEMORY);
        assert_int_equal(why, TW_SNAPSHOT_CLASS_NONE);
        assert_int_equal(no_memory_blocks, before);
    }
}

static void every_allocation_may_fail(void **state)
{
    (void)state;
    test_keys keys = test_keys_new();
    test_state *s = test_state_new("pages3");
    for (size_t i = 0; i < sizeof forms / sizeof *forms; i++) {
        tw_snapshot_writer *writer = new_writer(&keys, &forms[i]);
        tw_snapshot_reader *reader = new_reader(&keys, forms[i].sealed);
        uint8_t *bytes;
        size_t size;
        tw_snapshot *out;
        long writing = capture_with_failures(writer, &s->state, &bytes, &size);
        long reading = restore_with_failures(reader, bytes, size, &out);
        assert_snapshot_has(out, &s->state);
        if (writing < 4 || reading < 3)
            fail_msg("format %d: %ld and %ld allocations seen", forms[i].format, writing, reading);
        tw_snapshot_free(out);
        free(bytes);
        tw_snapshot_writer_free(writer);
        tw_snapshot_reader_free(reader);
    }
    free(s);
    test_keys_free(&keys);
}

static void unwrapping_may_fail(void **state)
{
    (void)state;
    test_keys keys = test_keys_new();
    tw_snapshot_reader *reader = new_reader(&keys, true);
    tw_snapshot *out;
    size_t size;
    uint8_t *bytes = test_file("good/aead_v4_conformance.snap", &size);
    assert_true(restore_with_failures(reader, bytes, size, &out) >= 3);
    tw_snapshot_free(out);
    free(bytes);
    tw_snapshot_reader_free(reader);
    test_keys_free(&keys);
}

/* The lowest descriptor that is free: the same before and after, or one was lost. */
static int free_descriptor(void)
{
    int file = open("/dev/null", O_RDONLY);
    close(file);
    return file;
}

static tw_snapshot *open_on(const tw_snapshot *base, tw_snapshot_verify verify, const char *path)
{
    tw_snapshot_reader_options reading = TW_SNAPSHOT_READER_OPTIONS_INIT;
    tw_snapshot_reader *reader;
    tw_snapshot *out;
    reading.base = base;
    reading.verify = verify;
    assert_int_equal(tw_snapshot_reader_new(&reading, &reader, NULL), TW_OK);
    assert_int_equal(tw_snapshot_open(reader, path, &out, NULL, NULL), TW_OK);
    tw_snapshot_reader_free(reader);
    return out;
}

/* Whole ones, and then one that stands on the other. */
static void opening_an_image_may_fail(void **state)
{
    (void)state;
    static const tw_snapshot_verify ways[] = {TW_SNAPSHOT_VERIFY_FULL, TW_SNAPSHOT_VERIFY_TRUSTED, TW_SNAPSHOT_VERIFY_ONLY};
    char folder[] = "/tmp/tw-no-memory-XXXXXX", path[64], above[64];
    test_state *s = test_state_new("pages3");
    tw_snapshot_writer_options writing = TW_SNAPSHOT_WRITER_OPTIONS_INIT;
    tw_snapshot_writer *writer;
    assert_non_null(mkdtemp(folder));
    snprintf(path, sizeof path, "%s/file", folder);
    writing.format = TW_SNAPSHOT_IMAGE;
    writing.threads = 1;
    assert_int_equal(tw_snapshot_writer_new(&writing, &writer, NULL), TW_OK);
    assert_int_equal(tw_snapshot_save(writer, &s->state, path, NULL), TW_OK);
    tw_snapshot_writer_free(writer);
    snprintf(above, sizeof above, "%s/above", folder);
    tw_snapshot *full = open_on(NULL, TW_SNAPSHOT_VERIFY_FULL, path), *trusted = open_on(NULL, TW_SNAPSHOT_VERIFY_TRUSTED, path);
    writing.base = full;
    assert_int_equal(tw_snapshot_writer_new(&writing, &writer, NULL), TW_OK);
    s->wasm[70000] ^= 1;
    assert_int_equal(tw_snapshot_save(writer, &s->state, above, NULL), TW_OK);
    for (size_t w = 0; w < 6; w++) {
        tw_snapshot_reader_options reading = TW_SNAPSHOT_READER_OPTIONS_INIT;
        tw_snapshot_reader *reader;
        tw_snapshot *out = NULL;
        int descriptor = free_descriptor();
        reading.verify = ways[w % 3];
        if (w >= 3) reading.base = w % 3 == 1 ? trusted : full;
        reading.threads = 1;
        assert_int_equal(tw_snapshot_reader_new(&reading, &reader, NULL), TW_OK);
        long at = 0;
        for (;; at++) {
            tw_snapshot_class why;
            long before = no_memory_blocks;
            no_memory_at(at);
            tw_status status = tw_snapshot_open(reader, w < 3 ? path : above, &out, &why, NULL);
            if (!no_memory_ends()) {
                assert_int_equal(status, TW_OK);
                break;
            }
            assert_int_equal(status, TW_NO_MEMORY);
            assert_int_equal(why, TW_SNAPSHOT_CLASS_NONE);
            assert_int_equal(no_memory_blocks, before);
            assert_int_equal(free_descriptor(), descriptor);
        }
        assert_true(at >= 3);
        tw_snapshot_free(out);
        assert_int_equal(free_descriptor(), descriptor);
        tw_snapshot_reader_free(reader);
    }
    tw_snapshot_writer_free(writer);
    tw_snapshot_free(full);
    tw_snapshot_free(trusted);
    unlink(path);
    unlink(above);
    rmdir(folder);
    free(s);
}
#else
static void opening_an_image_may_fail(void **state)
{
    (void)state;
    skip();
}

static void every_allocation_may_fail(void **state)
{
    (void)state;
    skip();
}

static void unwrapping_may_fail(void **state)
{
    (void)state;
    skip();
}
#endif

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(every_allocation_may_fail),
        cmocka_unit_test(unwrapping_may_fail),
        cmocka_unit_test(opening_an_image_may_fail),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
