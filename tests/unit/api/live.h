/* SPDX-License-Identifier: Apache-2.0 */
#ifndef TW_TEST_LIVE_H
#define TW_TEST_LIVE_H

/* Two instances that should be the same run on: every result and the memory are compared. */

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "../../support/embedder.h"
#include "everything.h"

static tw_snapshot_writer *writer;
static tw_snapshot_reader *reader;

static MAYBE_UNUSED tw_snapshot *read_file(file f)
{
    tw_snapshot *snapshot;
    tw_snapshot_class why;
    OK(tw_snapshot_restore(reader, f.bytes, f.size, &snapshot, &why, &error));
    return snapshot;
}

static MAYBE_UNUSED tw_status try_restore(tw_module *module, file f, const tw_spawn_options *options, tw_instance **out)
{
    tw_spawn_options own = options ? *options : usual();
    tw_snapshot *snapshot = read_file(f);
    tw_status status = tw_instance_restore(module, snapshot, &own, out, &error);
    tw_snapshot_free(snapshot);
    return status;
}

static MAYBE_UNUSED tw_instance *restore(tw_module *module, file f)
{
    tw_instance *instance;
    OK(try_restore(module, f, NULL, &instance));
    return instance;
}

/* ---- running on ---- */

typedef struct outcome {
    tw_status status;
    char message[200];
    tw_val results[4];
} outcome;

static MAYBE_UNUSED outcome outcome_of(tw_instance *instance, tw_module *module, const char *name, int32_t argument)
{
    outcome o = {0};
    o.status = call(instance, module, name, argument, o.results);
    if (o.status) snprintf(o.message, sizeof o.message, "%.199s", error.message);
    return o;
}

static MAYBE_UNUSED void same_outcomes(const outcome *a, const outcome *b)
{
    assert_int_equal(a->status, b->status);
    assert_string_equal(a->message, b->message);
    assert_memory_equal(a->results, b->results, sizeof a->results);
}

static MAYBE_UNUSED void same_memories(tw_instance *a, tw_instance *b)
{
    uint8_t *x, *y;
    size_t size, other;
    OK(tw_instance_memory(a, "memory", &x, &size, &error));
    OK(tw_instance_memory(b, "memory", &y, &other, &error));
    assert_int_equal(size, other);
    assert_memory_equal(x, y, size);
}

/* The same calls on both; each may change anything. */
static MAYBE_UNUSED void run_on(tw_module *module, tw_instance *a, tw_instance *b, const char *const *names, size_t count, int calls,
                   uint32_t seed)
{
    for (int i = 0; i < calls; i++) {
        const char *name = names[(next(&seed) >> 8) % count];
        int32_t argument = (int32_t)(next(&seed) >> 12 & 63);
        outcome x = outcome_of(a, module, name, argument), y = outcome_of(b, module, name, argument);
        same_outcomes(&x, &y);
    }
    same_memories(a, b);
}

/* Likewise with two modules: messages name places of their own. */
static MAYBE_UNUSED void run_on_both(tw_module *module, tw_instance *a, tw_module *other, tw_instance *b, const char *const *names,
                                     size_t count, int calls, uint32_t seed)
{
    for (int i = 0; i < calls; i++) {
        const char *name = names[(next(&seed) >> 8) % count];
        int32_t argument = (int32_t)(next(&seed) >> 12 & 63);
        outcome x = outcome_of(a, module, name, argument), y = outcome_of(b, other, name, argument);
        assert_int_equal(x.status, y.status);
        assert_memory_equal(x.results, y.results, sizeof x.results);
    }
    same_memories(a, b);
}

static MAYBE_UNUSED void warm_up(tw_module *module, tw_instance *instance, int calls, uint32_t seed)
{
    for (int i = 0; i < calls; i++) {
        const char *name = all_names[(next(&seed) >> 8) % ALL];
        outcome_of(instance, module, name, (int32_t)(next(&seed) >> 12 & 63));
    }
}

/* Loops that become kernels: one fills an array, one mixes it into another. */
static MAYBE_UNUSED const char *const streams_text =
    "(module (memory (export \"memory\") 4)"
    "(func (export \"fill\") (param i32) (local $i i32) (loop $l"
    " (f32.store (i32.shl (local.get $i) (i32.const 2)) (f32.mul (f32.convert_i32_s (i32.add (local.get $i) (local.get 0))) (f32.const 0.37)))"
    " (br_if $l (i32.lt_u (local.tee $i (i32.add (local.get $i) (i32.const 1))) (i32.const 16384)))))"
    "(func (export \"mix\") (param i32) (local $i i32) (loop $l"
    " (f32.store offset=65536 (i32.shl (local.get $i) (i32.const 2)) (f32.add (f32.load offset=65536 (i32.shl (local.get $i) (i32.const 2)))"
    "  (f32.mul (f32.load (i32.shl (local.get $i) (i32.const 2))) (f32.convert_i32_s (local.get 0)))))"
    " (br_if $l (i32.lt_u (local.tee $i (i32.add (local.get $i) (i32.const 1))) (i32.const 16384))))))";
static MAYBE_UNUSED const char *const stream_names[] = {"fill", "mix"};

static MAYBE_UNUSED int kernels_run(tw_instance *instance)
{
    char *text;
    OK(tw_instance_report(instance, TW_FORMAT_JSON, &text, &error));
    int ran = 0;
    for (const char *at = text; (at = strstr(at, "\"kernel_runs\":")); at++) ran += atoi(at + 14) > 0;
    if (!ran)
        for (const char *at = text; (at = strstr(at, "\"dispatches\":")); at++) ran += atoi(at + 13) > 0;
    free(text);
    return ran;
}

static MAYBE_UNUSED int set_up(void **state)
{
    (void)state;
    return engine_begins(TW_OFFLOAD_FORCE, true) || tw_snapshot_writer_new(NULL, &writer, &error) ||
           tw_snapshot_reader_new(NULL, &reader, &error);
}

static MAYBE_UNUSED int tear_down(void **state)
{
    (void)state;
    tw_snapshot_writer_free(writer);
    tw_snapshot_reader_free(reader);
    engine_ends();
    return 0;
}

#endif
