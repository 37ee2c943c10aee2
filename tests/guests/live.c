/* SPDX-License-Identifier: Apache-2.0 */

/* Real guests go on from a snapshot exactly as they would have without: the captured one, which came from a pool, restored ones with
 * kernels and without, a module with the state baked in, and one in another process are called again and again; every result, the
 * memory and in the end the state are compared.
 *
 *   live FOLDER                     FOLDER holds the programs of one level
 *   live --child FOLDER INDEX IN OUT   guest INDEX goes on from IN and leaves its state in OUT */

#include <ftw.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "harness.h"
#include "tensorwasm/snapshot.h"

enum { N = 900, BEFORE = 2, AFTER = 3, PAGE = 65536, PROCESSES = 3 /* one guest in so many goes on in another, too */ };

static const run_mode mode = {"live", TW_OFFLOAD_FORCE, 2, true};
static tw_engine *engine;
static tw_kernel_cache *cache;
static tw_snapshot_writer *writer;
static tw_snapshot_reader *reader;
static tw_error error;
static unsigned failures;
static const char *current = "";

static void check(bool holds, const char *what, const char *why)
{
    if (holds) return;
    failures++;
    printf("not ok: %s: %s%s%s\n", current, what, *why ? ": " : "", why);
}

static void must(tw_status status, const char *what)
{
    if (!status) return;
    printf("not ok: %s: %s: %s\n", current, what, error.message);
    exit(1);
}

/* ---- states ---- */

typedef struct file {
    uint8_t *bytes;
    size_t size;
} file;

static file capture(tw_instance *instance)
{
    tw_capture_options options = TW_CAPTURE_OPTIONS_INIT;
    file f;
    options.has_created = true;
    must(tw_instance_capture(instance, writer, &options, &f.bytes, &f.size, &error), "capture");
    return f;
}

static bool same_file(file a, file b) { return a.size == b.size && !memcmp(a.bytes, b.bytes, a.size); }

static tw_snapshot *read_state(file f)
{
    tw_snapshot *snapshot;
    must(tw_snapshot_restore(reader, f.bytes, f.size, &snapshot, NULL, &error), "read");
    return snapshot;
}

static tw_spawn_options options_with(tw_kernel_cache *kernels)
{
    tw_spawn_options options = TW_SPAWN_OPTIONS_INIT;
    options.kernel_cache = kernels;
    options.capturable = true;
    return options;
}

static tw_instance *restore(tw_module *module, file f, tw_kernel_cache *kernels)
{
    tw_spawn_options options = options_with(kernels);
    tw_snapshot *snapshot = read_state(f);
    tw_instance *instance;
    must(tw_instance_restore(module, snapshot, &options, &instance, &error), "restore");
    tw_snapshot_free(snapshot);
    return instance;
}

static tw_module *bake(tw_module *module, file f)
{
    tw_snapshot *snapshot = read_state(f);
    tw_module *made;
    uint8_t *bytes;
    size_t size;
    must(tw_module_bake(module, snapshot, NULL, &bytes, &size, &error), "bake");
    must(tw_module_new(engine, bytes, size, &made, &error), "the baked module");
    free(bytes);
    tw_snapshot_free(snapshot);
    return made;
}

static void write_file(const char *path, file f)
{
    FILE *out = fopen(path, "wb");
    if (!out || fwrite(f.bytes, 1, f.size, out) != f.size || fclose(out)) must(TW_IO, path);
}

static file get_file(const char *path)
{
    file f;
    f.bytes = harness_read(path, &f.size);
    return f;
}

/* ---- a guest ---- */

typedef struct subject {
    const guest *which;
    guest_call call;
    tw_module *module;
    bool has_result;
} subject;

static void make_room(tw_instance *instance, uint64_t bytes)
{
    size_t size;
    harness_memory(instance, &size);
    if (size >= bytes) return;
    tw_val pages = {.kind = TW_VAL_I32, .of.i32 = (int32_t)((bytes - size + PAGE - 1) / PAGE)}, old = {0};
    must(tw_instance_call(instance, "reserve", &pages, 1, &old, 1, &error), "reserve");
}

static subject open_guest(const char *folder, size_t index)
{
    subject s = {.which = &guests[index]};
    char path[1024];
    size_t results;
    current = s.which->name;
    snprintf(path, sizeof path, "%s/%s.wasm", folder, s.which->program);
    guest_lay_out(s.which, N, &s.call);
    s.module = harness_module(engine, path);
    must(tw_module_func_type(s.module, s.which->export, NULL, NULL, NULL, &results, &error), "type");
    s.has_result = results == 1;
    return s;
}

static void call_times(const subject *s, tw_instance *instance, int times)
{
    for (int i = 0; i < times; i++) {
        run_outcome outcome;
        harness_call(instance, s->which->export, &s->call, s->has_result, &outcome);
        run_outcome_free(&outcome);
    }
}

/* All are called once more, and compared with the first. */
static void step(const subject *s, tw_instance *const *instances, const char *const *names, size_t count)
{
    run_outcome first, other;
    char why[256];
    harness_call(instances[0], s->which->export, &s->call, s->has_result, &first);
    for (size_t i = 1; i < count; i++) {
        harness_call(instances[i], s->which->export, &s->call, s->has_result, &other);
        check(harness_equal(&first, &other, &s->call, true, why, sizeof why), names[i], why);
        run_outcome_free(&other);
    }
    run_outcome_free(&first);
}

static void check_kernels(const subject *s, const tw_instance *instance, const char *what)
{
    report_totals totals;
    check(harness_report(instance, &totals) && (s->which->refusal || totals.kernel_iterations), what, "it ran no kernels");
}

static void another_process(const char *self, const char *folder, size_t index, file from, file wanted)
{
    char scratch[] = "/tmp/tw-live-guests-XXXXXX", in[64], out[64], command[2048];
    if (!mkdtemp(scratch)) must(TW_IO, "mkdtemp");
    snprintf(in, sizeof in, "%s/in", scratch);
    snprintf(out, sizeof out, "%s/out", scratch);
    write_file(in, from);
    snprintf(command, sizeof command, "'%s' --child '%s' %zu '%s' '%s'", self, folder, index, in, out);
    check(system(command) == 0, "another process", "it failed");
    file got = get_file(out);
    check(same_file(got, wanted), "another process", "another state");
    free(got.bytes);
    unlink(in), unlink(out), rmdir(scratch);
}

/* What the pool gives again is as a new one. */
static void check_pool(tw_instance_pool *pool, tw_instance *instance, file fresh)
{
    tw_instance *again;
    tw_instance_pool_give(pool, instance);
    must(tw_instance_pool_take(pool, &again, &error), "take");
    file f = capture(again);
    check(same_file(f, fresh), "the pool", "its next instance isn't fresh");
    free(f.bytes);
    tw_instance_free(again);
}

static void try_guest(const char *self, const char *folder, size_t index)
{
    static const char *const names[] = {"pooled", "restored with kernels", "restored without kernels", "baked"};
    subject s = open_guest(folder, index);
    tw_spawn_options options = options_with(cache);
    tw_instance_pool *pool;
    tw_instance *all[4];
    must(tw_instance_pool_new(s.module, &options, NULL, &pool, &error), "pool");
    must(tw_instance_pool_take(pool, &all[0], &error), "take");
    file fresh = capture(all[0]);
    make_room(all[0], s.call.end);
    size_t size;
    guest_fill(&s.call, GUEST_CORNERS, 11, harness_memory(all[0], &size));
    call_times(&s, all[0], BEFORE);
    file f = capture(all[0]);
    tw_module *baked = bake(s.module, f);
    all[1] = restore(s.module, f, cache);
    all[2] = restore(s.module, f, NULL);
    must(tw_instance_spawn(baked, &options, &all[3], &error), "spawn of the baked module");
    for (int i = 0; i < AFTER; i++) step(&s, all, names, 4);
    check_kernels(&s, all[0], "the original");
    check_kernels(&s, all[1], "the restored one");
    file later = capture(all[0]), copy = capture(all[1]), plain = capture(all[2]);
    check(same_file(later, copy), "restored with kernels", "another state in the end");
    check(same_file(later, plain), "restored without kernels", "another state in the end");
    if (index % PROCESSES == 0) another_process(self, folder, index, f, later);
    check_pool(pool, all[0], fresh);
    for (int i = 1; i < 4; i++) tw_instance_free(all[i]);
    tw_instance_pool_free(pool);
    tw_module_free(baked);
    tw_module_free(s.module);
    free(fresh.bytes), free(f.bytes), free(later.bytes), free(copy.bytes), free(plain.bytes);
}

static int child(const char *folder, size_t index, const char *in, const char *out)
{
    subject s = open_guest(folder, index);
    file f = get_file(in);
    tw_instance *instance = restore(s.module, f, cache);
    call_times(&s, instance, AFTER);
    file later = capture(instance);
    write_file(out, later);
    tw_instance_free(instance);
    tw_module_free(s.module);
    free(f.bytes), free(later.bytes);
    return 0;
}

static int remove_entry(const char *path, const struct stat *about, int kind, struct FTW *where)
{
    (void)about, (void)kind, (void)where;
    return remove(path);
}

/* Both processes use the same folder, so that kernels are compiled once. */
static const char *cache_folder(bool is_child)
{
    static char folder[] = "/tmp/tw-live-kernels-XXXXXX";
    if (is_child) return getenv("TW_LIVE_KERNELS");
    if (!mkdtemp(folder)) must(TW_IO, "mkdtemp");
    setenv("TW_LIVE_KERNELS", folder, 1);
    return folder;
}

int main(int count, char **args)
{
    bool is_child = count == 6 && !strcmp(args[1], "--child");
    if (count != 2 && !is_child) return 2;
    engine = harness_engine(&mode);
    const char *kernels = cache_folder(is_child);
    cache = harness_cache(engine, kernels);
    must(tw_snapshot_writer_new(NULL, &writer, &error), "writer");
    must(tw_snapshot_reader_new(NULL, &reader, &error), "reader");
    if (is_child) child(args[2], (size_t)atoi(args[3]), args[4], args[5]);
    for (size_t i = 0; !is_child && i < guest_count; i++) try_guest(args[0], args[1], i);
    tw_snapshot_writer_free(writer);
    tw_snapshot_reader_free(reader);
    tw_kernel_cache_free(cache);
    tw_engine_free(engine);
    if (!is_child) nftw(kernels, remove_entry, 8, FTW_DEPTH | FTW_PHYS);
    if (!is_child) printf("%zu guests, %u not ok\n", guest_count, failures);
    return failures != 0;
}
