/* SPDX-License-Identifier: Apache-2.0 */
/* Files that unpack to far more than a reader takes are refused by name, in every format, having cost no more memory than the reader
 * allows: where the size is declared, and where it only shows while unpacking. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "../../support/no_memory.h"
#include "../../support/snapshots.h"

#define MIB ((size_t)1 << 20)
enum { BOMB = 128, ALLOWED = 1, WORK = 14 }; /* MiB; work: windows and tables of zstd */

typedef struct form {
    const char *what;
    tw_snapshot_format format;
    bool sealed;
} form;
static const form forms[] = {{"archive", TW_SNAPSHOT_ARCHIVE, false}, {"sealed archive", TW_SNAPSHOT_ARCHIVE, true}, {"v2", TW_SNAPSHOT_V2, false},
                             {"v3", TW_SNAPSHOT_V3, false}, {"v4", TW_SNAPSHOT_V4, false}};

static test_keys keys;

static uint8_t *bomb(const form *f, size_t *size)
{
    tw_snapshot_writer_options options = TW_SNAPSHOT_WRITER_OPTIONS_INIT;
    tw_snapshot_state s = TW_SNAPSHOT_STATE_INIT;
    uint8_t *zeros = calloc(1, BOMB * MIB);
    assert_non_null(zeros);
    zeros[BOMB * MIB / 2] = 1; /* not only holes */
    options.format = f->format;
    if (f->format == TW_SNAPSHOT_V3 || f->format == TW_SNAPSHOT_V4) options.hmac_key = keys.hmac;
    if (f->sealed) options.aead_key = keys.aead;
    s.wasm_memory = (tw_span){zeros, BOMB * MIB};
    uint8_t *bytes = test_write(&options, &s, size);
    free(zeros);
    return bytes;
}

static tw_snapshot_reader_options reader_for(const form *f, size_t max_bytes)
{
    tw_snapshot_reader_options options = TW_SNAPSHOT_READER_OPTIONS_INIT;
    options.hmac_key = keys.hmac;
    options.aead_key = f->sealed ? keys.aead : NULL;
    options.max_bytes = max_bytes;
    return options;
}

static void is_refused_cheaply(const form *f, const uint8_t *bytes, size_t size, size_t allowed)
{
    tw_snapshot_reader_options options = reader_for(f, allowed);
    tw_snapshot *s = NULL;
    tw_snapshot_class why;
    tw_error error;
    long before = no_memory_bytes;
    no_memory_measure();
    assert_int_equal(test_read(&options, bytes, size, &s, &why, &error), TW_LIMIT);
    if (why != TW_SNAPSHOT_CLASS_LIMIT) fail_msg("%s: %s, %s", f->what, tw_snapshot_class_name(why), error.message);
    assert_null(s);
    long most = no_memory_most(before);
    if (NO_MEMORY_OURS && most > (long)(allowed + WORK * MIB)) fail_msg("%s: %ld bytes were used for %zu", f->what, most, allowed);
}

static void a_small_file_of_much_is_a_limit_and_costs_little(void **state)
{
    (void)state;
    for (size_t i = 0; i < sizeof forms / sizeof *forms; i++) {
        size_t size;
        uint8_t *bytes = bomb(&forms[i], &size);
        assert_true(size < MIB);
        is_refused_cheaply(&forms[i], bytes, size, ALLOWED * MIB);
        is_refused_cheaply(&forms[i], bytes, size, 1);
        is_refused_cheaply(&forms[i], bytes, size, BOMB * MIB - 1);
        free(bytes);
    }
}

/* The same reader takes what is within its limit. */
static void what_is_within_the_limit_is_read(void **state)
{
    (void)state;
    for (size_t i = 0; i < sizeof forms / sizeof *forms; i++) {
        size_t size;
        uint8_t *bytes = bomb(&forms[i], &size);
        tw_snapshot_reader_options options = reader_for(&forms[i], BOMB * MIB + 1000);
        tw_snapshot *s;
        tw_snapshot_class why;
        assert_int_equal(test_read(&options, bytes, size, &s, &why, NULL), TW_OK);
        assert_int_equal(s->wasm_memory.size, BOMB * MIB);
        assert_int_equal(s->wasm_memory.data[BOMB * MIB / 2], 1);
        tw_snapshot_free(s);
        free(bytes);
    }
}

/* The earlier project's wrapper around a bomb: its key is ours, too. */
static void bombs_of_the_earlier_project_cost_little(void **state)
{
    (void)state;
    static const char *const names[] = {"bad/v2_bomb_256mib.snap", "bad/v2_window_256mib.snap", "bad/v2_wasm_len_1tib.snap", "bad/v2_wasm_len_max.snap"};
    for (size_t i = 0; i < sizeof names / sizeof *names; i++) {
        size_t size;
        uint8_t *bytes = test_file(names[i], &size);
        tw_snapshot_reader_options options = TW_SNAPSHOT_READER_OPTIONS_INIT;
        tw_snapshot *s = NULL;
        tw_snapshot_class why;
        options.max_bytes = ALLOWED * MIB;
        long before = no_memory_bytes;
        no_memory_measure();
        assert_int_not_equal(test_read(&options, bytes, size, &s, &why, NULL), TW_OK);
        assert_null(s);
        if (NO_MEMORY_OURS && no_memory_most(before) > (long)(WORK * MIB)) fail_msg("%s: %ld bytes were used", names[i], no_memory_most(before));
        free(bytes);
    }
}

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

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_small_file_of_much_is_a_limit_and_costs_little),
        cmocka_unit_test(what_is_within_the_limit_is_read),
        cmocka_unit_test(bombs_of_the_earlier_project_cost_little),
    };
    return cmocka_run_group_tests(tests, make_keys, free_keys);
}
