/* SPDX-License-Identifier: Apache-2.0 */
/* tw_bench_images PAIRS FOLDER MIB MIB...: instances restored from images in FOLDER, which is made private, on trust; each size in turn.
 * A sample is wall time from opening the file to the end of a call that has read the first MiB, with the file in the page cache; and
 * the parts of it. The same from images that stand on those, of memories up to 1 GiB with eight pages changed: both files are opened.
 * The image of the first size is also verified in full, on one thread, without and with a copy: CPU time.
 * Prints JSON: {"restore": {"MIB": [[all, open, restore, call], …], …}, "verify": {"bytes": N, "ns": [[without, with], …]}}, nanoseconds;
 * "increment" is as "restore". */
#include <inttypes.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>

#include "tensorwasm/snapshot.h"

enum { MAX_SIZES = 8, PAGE = 65536, CHANGED = 8, MOST_INCREMENT = 1024 };

typedef struct subject {
    int mib;
    char path[512], above[512]; /* above: "" without an increment */
    tw_module *module;
} subject;

static void fail(const char *what, const tw_error *error)
{
    fprintf(stderr, "tw_bench_images: %s: %s\n", what, error ? error->message : "");
    exit(1);
}

static long long now(clockid_t clock)
{
    struct timespec t;
    clock_gettime(clock, &t);
    return t.tv_sec * 1000000000ll + t.tv_nsec;
}

static tw_module *make_module(tw_engine *engine, int mib)
{
    char text[600];
    tw_error error;
    tw_module *module;
    snprintf(text, sizeof text,
             "(module (memory (export \"memory\") %d)"
             "(func (export \"read\") (result i32) (local $i i32) (local $s i32) (loop $l"
             " (local.set $s (i32.add (local.get $s) (i32.load (local.get $i))))"
             " (br_if $l (i32.lt_u (local.tee $i (i32.add (local.get $i) (i32.const 64))) (i32.const 1048576)))) (local.get $s)))",
             mib * 16);
    if (tw_module_new(engine, (const uint8_t *)text, strlen(text), &module, &error)) fail("module", &error);
    return module;
}

static tw_snapshot *open_image(const char *path, const tw_snapshot *base, tw_snapshot_verify verify)
{
    tw_snapshot_reader_options options = TW_SNAPSHOT_READER_OPTIONS_INIT;
    tw_snapshot_reader *reader;
    tw_snapshot *snapshot;
    tw_error error;
    options.verify = verify;
    options.base = base;
    options.threads = 1;
    options.max_bytes = options.max_file = UINT64_C(8) << 30;
    if (tw_snapshot_reader_new(&options, &reader, &error)) fail("reader", &error);
    if (tw_snapshot_open(reader, path, &snapshot, NULL, &error)) fail("open", &error);
    tw_snapshot_reader_free(reader);
    return snapshot;
}

static void save_as(tw_instance *instance, const char *path, const tw_snapshot *base)
{
    tw_snapshot_writer_options writing = TW_SNAPSHOT_WRITER_OPTIONS_INIT;
    tw_snapshot_writer *writer;
    tw_error error;
    writing.format = TW_SNAPSHOT_IMAGE;
    writing.base = base;
    if (tw_snapshot_writer_new(&writing, &writer, &error) || tw_instance_save(instance, writer, NULL, path, &error)) fail("save", &error);
    tw_snapshot_writer_free(writer);
}

/* Every page has something in it. */
static void save(const subject *s)
{
    tw_spawn_options options = TW_SPAWN_OPTIONS_INIT;
    tw_instance *instance;
    tw_error error;
    uint8_t *memory;
    size_t size;
    options.capturable = true;
    if (tw_instance_spawn(s->module, &options, &instance, &error)) fail("spawn", &error);
    if (tw_instance_memory(instance, "memory", &memory, &size, &error)) fail("memory", &error);
    for (size_t at = 0; at < size; at += PAGE / 16) memory[at] = (uint8_t)(at / PAGE) | 1;
    save_as(instance, s->path, NULL);
    if (*s->above) {
        tw_snapshot *base = open_image(s->path, NULL, TW_SNAPSHOT_VERIFY_FULL);
        for (size_t i = 0; i < CHANGED; i++) memory[i * (size / CHANGED) + 100]++;
        save_as(instance, s->above, base);
        tw_snapshot_free(base);
    }
    tw_instance_free(instance);
}

typedef struct sample {
    long long all, open, restore, call;
} sample;

static sample measure(const subject *s, bool increment)
{
    tw_spawn_options options = TW_SPAWN_OPTIONS_INIT;
    tw_instance *instance;
    tw_error error;
    tw_val result;
    long long start = now(CLOCK_MONOTONIC);
    tw_snapshot *snapshot = open_image(s->path, NULL, TW_SNAPSHOT_VERIFY_TRUSTED), *base = NULL;
    if (increment) base = snapshot, snapshot = open_image(s->above, base, TW_SNAPSHOT_VERIFY_TRUSTED);
    long long opened = now(CLOCK_MONOTONIC);
    if (tw_instance_restore(s->module, snapshot, &options, &instance, &error)) fail("restore", &error);
    long long restored = now(CLOCK_MONOTONIC);
    if (tw_instance_call(instance, "read", NULL, 0, &result, 1, &error)) fail("read", &error);
    long long end = now(CLOCK_MONOTONIC);
    tw_snapshot_free(snapshot);
    tw_snapshot_free(base);
    tw_instance_free(instance);
    return (sample){end - start, opened - start, restored - opened, end - restored};
}

static long long verify(const subject *s, tw_snapshot_verify how)
{
    long long start = now(CLOCK_PROCESS_CPUTIME_ID);
    tw_snapshot *snapshot = open_image(s->path, NULL, how);
    long long taken = now(CLOCK_PROCESS_CPUTIME_ID) - start;
    tw_snapshot_free(snapshot);
    return taken;
}

static void print_restores(const char *name, const subject *subjects, int count, int pairs, bool increment, sample *samples)
{
    bool first = true;
    for (int p = 0; p < pairs; p++) /* who is first, takes turns */
        for (int i = 0; i < count; i++) 
            if (!increment || *subjects[(p + i) % count].above)
                samples[(p + i) % count * pairs + p] = measure(&subjects[(p + i) % count], increment);
    printf("\"%s\": {", name);
    for (int i = 0; i < count; i++) {
        if (increment && !*subjects[i].above) continue;
        printf("%s\"%d\": [", first ? "" : ", ", subjects[i].mib);
        first = false;
        for (int p = 0; p < pairs; p++) {
            const sample *s = &samples[i * pairs + p];
            printf("%s[%lld, %lld, %lld, %lld]", p ? ", " : "", s->all, s->open, s->restore, s->call);
        }
        printf("]");
    }
    printf("}, ");
}

int main(int argc, char **argv)
{
    int pairs = argc > 3 ? atoi(argv[1]) : 0, count = argc - 3;
    subject subjects[MAX_SIZES];
    tw_engine *engine;
    tw_error error;
    tw_engine_options options = TW_ENGINE_OPTIONS_INIT;
    if (pairs <= 0 || count > MAX_SIZES || chmod(argv[2], 0700)) fail("PAIRS FOLDER MIB...", NULL);
    if (tw_engine_new(&options, &engine, &error)) fail("engine", &error);
    for (int i = 0; i < count; i++) {
        subjects[i].mib = atoi(argv[3 + i]);
        snprintf(subjects[i].path, sizeof subjects[i].path, "%s/%d.twi", argv[2], subjects[i].mib);
        *subjects[i].above = 0;
        if (subjects[i].mib <= MOST_INCREMENT) snprintf(subjects[i].above, sizeof subjects[i].above, "%s/%d+.twi", argv[2], subjects[i].mib);
        subjects[i].module = make_module(engine, subjects[i].mib);
        save(&subjects[i]);
    }
    sample *samples = calloc((size_t)(pairs * count), sizeof *samples);
    if (!samples) fail("no memory", NULL);
    for (int i = 0; i < count; i++) measure(&subjects[i], false);
    printf("{");
    print_restores("restore", subjects, count, pairs, false, samples);
    print_restores("increment", subjects, count, pairs, true, samples);
    printf("\"verify\": {\"bytes\": %" PRIu64 ", \"ns\": [", (uint64_t)subjects[0].mib << 20);
    for (int p = 0; p < pairs; p++) {
        long long only = verify(&subjects[0], TW_SNAPSHOT_VERIFY_ONLY), copied = verify(&subjects[0], TW_SNAPSHOT_VERIFY_FULL);
        printf("%s[%lld, %lld]", p ? ", " : "", only, copied);
    }
    printf("]}}\n");
    for (int i = 0; i < count; i++) {
        remove(subjects[i].path);
        if (*subjects[i].above) remove(subjects[i].above);
    }
    free(samples);
    return 0;
}
