/* SPDX-License-Identifier: Apache-2.0 */
/* Reset equals fresh: instances that a pool gives again and again, whatever random guests did to them, beside ones that have just been
 * spawned, in our form and in the engine's own, without kernels. What each looks like at first and after every call is compared:
 * results and traps, memory, all of a capture, the files that the guest wrote; now and then one goes on as a restored copy.
 *
 *   resets [--seeds N] [--start SEED] [--seconds T] [--reused N]   N seeds, or as many as fit into T seconds; fails when fewer than
 *                                                  N instances were used again
 *   resets … --sabotage memory|global|table|size|output            spoils that of what the pool gives: a test of this test
 *
 * A module whose pool differs is left in /tmp/resets-SEED.wat. */
#include <dirent.h>
#include <fcntl.h>
#include <ftw.h>
#include <inttypes.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include <cmocka.h>

#include "../support/embedder.h"
#include "../support/random_state.h"
#include "instance/runtime.h"
#include "memory/reset.h"

enum { ROUNDS = 9, MOST_CALLS = 9, NAME = 24 };

static struct {
    uint64_t seeds, start, seconds, reused;
    const char *sabotage;
} settings = {.seeds = 50, .start = 1};

static tw_snapshot_writer *writer, *image_writer;
static tw_snapshot_reader *reader, *trusting;
static char files[] = "/tmp/tw-resets-XXXXXX"; /* all of ours, and what is left of them after a failure */

/* One way to run the guest, with a folder of its own. */
typedef struct side {
    const char *what;
    char folder[64], output[80];
    tw_wasi_dir dir;
    tw_wasi_options wasi;
    tw_import_func import;
    tw_import_memory memory; /* and the table: a new one in each instance */
    tw_import_table table;
    tw_import_global globals[2];
    tw_spawn_options options;
    tw_instance *instance;
    tw_status status; /* of the start */
    char message[sizeof error.message];
} side;

typedef struct trial {
    uint64_t seed, reused;
    random_state guest;
    char *text;
    tw_module *module;
    tw_instance_pool *pool;
    side pooled, fresh, plain;
} trial;

#define DIFFERS(t, ...)                                                                                    \
    do {                                                                                                   \
        keep_module(t);                                                                                    \
        print_message("seed %" PRIu64 ", way %d, image from %zu bytes: ", (t)->seed, (int)engine->reset_way, engine->least_image); \
        fail_msg(__VA_ARGS__);                                                                             \
    } while (0)

static void keep_module(const trial *t)
{
    char path[64];
    snprintf(path, sizeof path, "/tmp/resets-%" PRIu64 ".wat", t->seed);
    FILE *out = settings.sabotage ? NULL : fopen(path, "w");
    if (!out) return;
    fputs(t->text, out);
    fclose(out);
}

/* ---- the world outside: the same for both, and as new before each round ---- */

static int remove_one(const char *path, const struct stat *about, int kind, struct FTW *where)
{
    (void)about, (void)kind;
    if (where->level) remove(path);
    return 0;
}

static void put_text(const char *folder, const char *name, const char *text)
{
    char path[128];
    snprintf(path, sizeof path, "%s/%s", folder, name);
    FILE *out = fopen(path, "w");
    assert_non_null(out);
    fputs(text, out);
    fclose(out);
}

static void renew_folder(const side *s)
{
    nftw(s->folder, remove_one, 8, FTW_DEPTH | FTW_PHYS);
    put_text(s->folder, "a", "contents of a");
    put_text(s->folder, "b", "the other file's");
}

static char *read_text(const char *path)
{
    static char texts[2][4096];
    static int which;
    char *text = texts[which ^= 1];
    memset(text, 0, 4096);
    int in = open(path, O_RDONLY);
    if (in < 0) return strcpy(text, "(none)");
    if (read(in, text, 4095) < 0) strcpy(text, "(a folder)");
    close(in);
    return text;
}

static void same_folders(const trial *t, const side *a, const side *b)
{
    static const char *const names[] = {"a", "b", "c", "d"};
    char x[128], y[128];
    for (size_t i = 0; i < 4; i++) {
        snprintf(x, sizeof x, "%s/%s", a->folder, names[i]);
        snprintf(y, sizeof y, "%s/%s", b->folder, names[i]);
        if (strcmp(read_text(x), read_text(y))) DIFFERS(t, "the file \"%s\" of %s is \"%s\", of %s \"%s\"", names[i], a->what, read_text(x), b->what, read_text(y));
    }
    if (strcmp(read_text(a->output), read_text(b->output)))
        DIFFERS(t, "%s wrote \"%s\", %s \"%s\"", a->what, read_text(a->output), b->what, read_text(b->output));
}

/* Reads and writes guest memory, as far as there is some. */
static tw_status poke(void *context, tw_host_call *in, const tw_val *args, tw_val *results, tw_error *why)
{
    (void)context, (void)why;
    size_t size;
    uint8_t *memory = tw_host_memory(in, &size);
    uint32_t at = size ? (uint32_t)args[0].of.i32 * 2654435761u % (uint32_t)size : 0;
    results[0].kind = TW_VAL_I32;
    results[0].of.i32 = size ? memory[at]++ : 3;
    return TW_OK;
}

static tw_global *global_of(int32_t value, bool is_mutable)
{
    tw_val val = {TW_VAL_I32, {.i32 = value}};
    tw_global *global;
    OK(tw_global_new(engine, &val, is_mutable, &global, &error));
    return global;
}

static void lend(side *s)
{
    s->memory = (tw_import_memory){"h", "m", NULL};
    s->table = (tw_import_table){"h", "t", NULL};
    s->globals[0] = (tw_import_global){"h", "place", global_of(STATE_PLACE, false)};
    s->globals[1] = (tw_import_global){"h", "shared", global_of(0, true)};
    s->options.memories = &s->memory, s->options.memory_count = 1;
    s->options.tables = &s->table, s->options.table_count = 1;
    s->options.globals = s->globals, s->options.global_count = 2;
}

static void take_back(side *s)
{
    for (int i = 0; i < 2; i++) tw_global_free(s->globals[i].global);
}

/* What guests have made of it is the host's: it isn't reset. */
static void renew_global(const side *s)
{
    tw_val value = {TW_VAL_I32, {.i32 = -5}};
    OK(tw_global_set(s->globals[1].global, &value, &error));
}

static void begin_side(side *s, const char *what, const trial *t, bool offloads)
{
    static const char *const args[] = {"guest", "one"}, *const env[] = {"KEY=value"};
    static const tw_val_kind i32 = TW_VAL_I32;
    s->what = what;
    snprintf(s->folder, sizeof s->folder, "%s/%.5s-%" PRIu64, files, what + 4, t->seed);
    assert_int_equal(mkdir(s->folder, 0700), 0);
    snprintf(s->output, sizeof s->output, "%s.out", s->folder);
    s->dir = (tw_wasi_dir){s->folder, "d"};
    s->wasi = (tw_wasi_options)TW_WASI_OPTIONS_INIT;
    s->wasi.args = args, s->wasi.arg_count = 2, s->wasi.env = env, s->wasi.env_count = 1, s->wasi.dirs = &s->dir, s->wasi.dir_count = 1;
    s->wasi.stdin_bytes = (const uint8_t *)"what the guest is given", s->wasi.stdin_size = 23;
    s->wasi.stdout_path = s->output;
    s->import = (tw_import_func){"h", "poke", &i32, 1, &i32, 1, poke, NULL};
    s->options = usual();
    s->options.tenant = t->seed % 3;
    s->options.max_memory = 120 * 65536;
    if (!offloads) s->options.kernel_cache = NULL;
    if (t->guest.has_wasi) s->options.wasi = &s->wasi;
    s->options.imports = &s->import, s->options.import_count = 1;
    lend(s);
}

static void end_side(side *s)
{
    take_back(s);
    nftw(s->folder, remove_one, 8, FTW_DEPTH | FTW_PHYS);
    rmdir(s->folder);
    unlink(s->output);
}

/* ---- comparing ---- */

static void start_side(side *s, trial *t)
{
    renew_folder(s);
    renew_global(s);
    size_t idle = t->pool ? tw_instance_pool_idle(t->pool) : 0;
    s->instance = NULL;
    s->status = s == &t->pooled ? tw_instance_pool_take(t->pool, &s->instance, &error)
                                : tw_instance_spawn(t->module, &s->options, &s->instance, &error);
    snprintf(s->message, sizeof s->message, "%s", s->status ? error.message : "");
    if (s == &t->pooled && s->status == TW_OK && tw_instance_pool_idle(t->pool) < idle) t->reused++;
}

static void same_start(const trial *t, const side *a, const side *b)
{
    if (a->status != b->status || strcmp(a->message, b->message)) DIFFERS(t, "%s starts with \"%s\", %s with \"%s\"", a->what, a->message, b->what, b->message);
}

static void same_memory(const trial *t, const side *a, const side *b)
{
    uint8_t *x, *y;
    size_t size, other;
    if (!t->guest.has_memory) return;
    OK(tw_instance_memory(a->instance, "memory", &x, &size, &error));
    OK(tw_instance_memory(b->instance, "memory", &y, &other, &error));
    if (size != other) DIFFERS(t, "%s has %zu bytes of memory, %s %zu", a->what, size, b->what, other);
    for (size_t at = 0; memcmp(x, y, size) && at < size; at++)
        if (x[at] != y[at]) DIFFERS(t, "byte 0x%zx of %s is %02x, of %s %02x", at, a->what, x[at], b->what, y[at]);
}

/* NULL bytes: it can't be captured, for the reason in error. */
static file state_of(const side *s)
{
    file f = {NULL, 0};
    if (try_capture(s->instance, writer, &f) != TW_OK) f.bytes = NULL;
    return f;
}

static void same_capture(const trial *t, const side *a, const side *b)
{
    file x = state_of(a);
    char why[sizeof error.message];
    strcpy(why, error.message);
    file y = state_of(b);
    if (!x.bytes != !y.bytes || (!x.bytes && strcmp(why, error.message))) DIFFERS(t, "only one can be captured: %s, %s", why, error.message);
    if (x.bytes && (x.size != y.size || memcmp(x.bytes, y.bytes, x.size))) DIFFERS(t, "a capture of %s isn't one of %s", a->what, b->what);
    free(x.bytes), free(y.bytes);
}

/* What a call came to. */
typedef struct outcome {
    tw_status status;
    char message[sizeof error.message];
    tw_val results[4];
} outcome;

static outcome outcome_of(const trial *t, const side *s, const char *name, int32_t argument)
{
    outcome o;
    o.status = call(s->instance, t->module, name, argument, o.results);
    snprintf(o.message, sizeof o.message, "%s", o.status ? error.message : "");
    return o;
}

static void same_outcome(const trial *t, const char *name, int32_t argument, const side *a, const outcome *x, const side *b, const outcome *y)
{
    if (x->status != y->status || strcmp(x->message, y->message))
        DIFFERS(t, "%s(%d) ends with \"%s\" in %s, with \"%s\" in %s", name, argument, x->message, a->what, y->message, b->what);
    if (!x->status && memcmp(x->results, y->results, sizeof x->results))
        DIFFERS(t, "%s(%d) gives %d in %s, %d in %s", name, argument, x->results[0].of.i32, a->what, y->results[0].of.i32, b->what);
}

static void same_call(const trial *t, const side *a, const side *b, const char *name, int32_t argument)
{
    outcome x = outcome_of(t, a, name, argument), y = outcome_of(t, b, name, argument);
    same_outcome(t, name, argument, a, &x, b, &y);
}

static void same_calls(const trial *t, const char *name, int32_t argument)
{
    const side *sides[] = {&t->pooled, &t->fresh, &t->plain};
    outcome first = outcome_of(t, sides[0], name, argument);
    for (int i = 1; i < 3; i++) {
        outcome other = outcome_of(t, sides[i], name, argument);
        same_outcome(t, name, argument, sides[0], &first, sides[i], &other);
    }
}

static void same_sight(const trial *t, random_state *g)
{
    same_calls(t, "globals", 0);
    same_calls(t, "vector", 0);
    if (t->guest.has_memory) same_calls(t, "size", 0);
    for (uint32_t table = 0; table < t->guest.tables; table++) {
        char name[NAME];
        snprintf(name, sizeof name, "size_t%u", table);
        same_calls(t, name, 0);
        snprintf(name, sizeof name, "t%u", table);
        uint32_t beyond = state_pick(g, 20) == 0;
        for (uint32_t i = 0; i < t->guest.table_size[table] + beyond; i++) same_calls(t, name, (int32_t)i);
    }
}

/* ---- rounds ---- */

static void spoil(trial *t)
{
    const side *s = &t->pooled;
    uint8_t *memory;
    size_t size;
    tw_handle handle;
    if (!settings.sabotage) return;
    tw_store *store = s->instance->store;
    switch (settings.sabotage[0]) {
    case 'm':
        if (t->guest.has_memory && !tw_instance_memory(s->instance, "memory", &memory, &size, &error) && size) memory[t->seed * 7919 % size] ^= 1;
        break;
    case 'g':
        if (tw_own_export(store, "global", 6 + t->guest.has_place, TW_HANDLE_GLOBAL, &handle)) { /* the vector */
            tw_raw value = {.i64 = 5};
            tw_store_global_set(store, &handle, TW_V128, &value);
        }
        break;
    case 't':
        if (t->guest.tables && t->guest.table_size[0] && tw_own_export(store, "table", 0, TW_HANDLE_TABLE, &handle)) tw_store_table_set(store, &handle, 0, NULL);
        break;
    case 's':
        if (t->guest.has_memory && tw_store_export(store, "tw:linear", TW_HANDLE_MEMORY, &handle)) tw_store_memory_grow(store, &handle, 1);
        break;
    default:
        if (t->guest.has_wasi) put_text(s->folder, "a", "something else");
    }
}

/* Through an archive, or an image that is mapped: a copy of its pages, or the file itself. False: it can't be captured. */
static bool pass_through_file(const trial *t, random_state *g, tw_snapshot **out)
{
    static uint32_t number;
    tw_snapshot_class why;
    char path[80];
    file f;
    uint32_t how = state_pick(g, 3);
    if (try_capture(t->pooled.instance, how ? image_writer : writer, &f) != TW_OK) return false;
    snprintf(path, sizeof path, "%s/%u", files, number++);
    int made = open(path, O_WRONLY | O_CREAT | O_EXCL, 0600);
    assert_true(made >= 0 && write(made, f.bytes, f.size) == (ssize_t)f.size);
    close(made);
    if (tw_snapshot_open(how == 2 ? trusting : reader, path, out, &why, &error) != TW_OK) DIFFERS(t, "the file isn't read: %s", error.message);
    unlink(path);
    free(f.bytes);
    return true;
}

/* After some calls the first of the two is as the second again: what a capture holds is all there is. */
static void go_on_restored(trial *t, random_state *g)
{
    tw_snapshot *snapshot;
    side restored = t->fresh;
    if (!pass_through_file(t, g, &snapshot)) return;
    restored.what = "the restored one";
    restored.wasi.arg_count = restored.wasi.env_count = 0;
    if (restored.options.wasi) restored.options.wasi = &restored.wasi;
    lend(&restored);
    OK(tw_instance_restore(t->module, snapshot, &restored.options, &restored.instance, &error));
    tw_snapshot_free(snapshot);
    same_capture(t, &t->pooled, &restored);
    if (!t->guest.has_wasi) /* what was written stays where it was written; a restored guest's input begins anew */
        for (uint32_t i = 0; i < 4; i++) {
            char name[NAME];
            snprintf(name, sizeof name, "op%u", state_pick(g, STATE_OPS));
            same_call(t, &t->pooled, &restored, name, (int32_t)state_pick(g, 40));
        }
    same_memory(t, &t->pooled, &restored);
    tw_instance_free(restored.instance);
    take_back(&restored);
}

static void use_all(trial *t, random_state *g)
{
    for (uint32_t calls = state_pick(g, MOST_CALLS); calls; calls--) {
        char name[NAME];
        int32_t argument = (int32_t)state_pick(g, 40);
        snprintf(name, sizeof name, "op%u", state_pick(g, STATE_OPS));
        same_calls(t, name, argument);
    }
}

static void one_round(trial *t, random_state *g)
{
    side *a = &t->pooled, *b = &t->fresh, *c = &t->plain;
    start_side(a, t), start_side(b, t), start_side(c, t);
    same_start(t, a, b), same_start(t, b, c);
    if (a->status != TW_OK) return;
    spoil(t);
    same_memory(t, a, b), same_memory(t, b, c);
    same_capture(t, a, b);
    same_folders(t, a, b);
    use_all(t, g);
    same_memory(t, a, b), same_memory(t, b, c);
    same_capture(t, a, b);
    same_folders(t, a, b), same_folders(t, b, c);
    if (state_pick(g, 2)) same_sight(t, g); /* which changes things, and may spoil them */
    if (state_pick(g, 3) == 0) go_on_restored(t, g);
    if (state_pick(g, 8)) tw_instance_pool_give(t->pool, a->instance);
    else tw_instance_free(a->instance);
    tw_instance_free(b->instance);
    tw_instance_free(c->instance);
}

/* Each way that the system has, and images of small data, of large data, of none. */
static void choose_settings(uint64_t seed)
{
    static const size_t least[] = {0, 64 << 10, SIZE_MAX};
    engine->reset_way = (tw_reset_way)(seed % TW_RESET_WAYS);
    if (!tw_reset_can(engine->reset_way)) engine->reset_way = TW_RESET_CHEAPEST;
    engine->least_image = least[seed / TW_RESET_WAYS % 3];
}

static uint64_t try_seed(uint64_t seed)
{
    trial t = {.seed = seed, .guest = {.seed = seed * UINT64_C(0x9E3779B97F4A7C15) | 1}};
    state_generate(&t.guest);
    random_state calls = {.seed = t.guest.seed | 1};
    t.text = tw_bytes_take(&t.guest.out, &(size_t){0});
    choose_settings(seed);
    if (tw_module_new(engine, (const uint8_t *)t.text, strlen(t.text), &t.module, &error)) DIFFERS(&t, "%s", error.message);
    begin_side(&t.pooled, "the pool's", &t, seed & 1);
    begin_side(&t.fresh, "the fresh one", &t, seed & 2);
    begin_side(&t.plain, "the plain one", &t, false);
    t.plain.options.capturable = false;
    t.pool = pool_of(t.module, &t.pooled.options);
    for (int i = 0; i < ROUNDS; i++) one_round(&t, &calls);
    tw_instance_pool_free(t.pool);
    tw_module_free(t.module);
    end_side(&t.pooled), end_side(&t.fresh), end_side(&t.plain);
    free(t.text);
    return t.reused;
}

static void reset_equals_fresh(void **state)
{
    (void)state;
    use_handlers();
    uint64_t reused = 0, tried = 0;
    time_t began = time(NULL);
    while (settings.seconds ? time(NULL) - began < (time_t)settings.seconds : tried < settings.seeds) reused += try_seed(settings.start + tried++);
    print_message("%" PRIu64 " modules, %" PRIu64 " instances were used again\n", tried, reused);
    assert_true(reused >= settings.reused);
}

static int set_up(void **state)
{
    (void)state;
    tw_snapshot_writer_options image = TW_SNAPSHOT_WRITER_OPTIONS_INIT;
    tw_snapshot_reader_options trusted = TW_SNAPSHOT_READER_OPTIONS_INIT;
    image.format = TW_SNAPSHOT_IMAGE;
    trusted.verify = TW_SNAPSHOT_VERIFY_TRUSTED;
    return engine_begins(TW_OFFLOAD_FORCE, true) || !mkdtemp(files) || tw_snapshot_writer_new(NULL, &writer, &error) ||
           tw_snapshot_writer_new(&image, &image_writer, &error) || tw_snapshot_reader_new(NULL, &reader, &error) ||
           tw_snapshot_reader_new(&trusted, &trusting, &error);
}

static int tear_down(void **state)
{
    (void)state;
    tw_snapshot_writer_free(writer);
    tw_snapshot_writer_free(image_writer);
    tw_snapshot_reader_free(reader);
    tw_snapshot_reader_free(trusting);
    nftw(files, remove_one, 8, FTW_DEPTH | FTW_PHYS);
    rmdir(files);
    engine_ends();
    return 0;
}

int main(int count, char **args)
{
    for (int i = 1; i + 1 < count; i += 2) {
        uint64_t value = strtoull(args[i + 1], NULL, 0);
        if (!strcmp(args[i], "--seeds")) settings.seeds = value;
        else if (!strcmp(args[i], "--start")) settings.start = value;
        else if (!strcmp(args[i], "--seconds")) settings.seconds = value;
        else if (!strcmp(args[i], "--reused")) settings.reused = value;
        else if (!strcmp(args[i], "--sabotage")) settings.sabotage = args[i + 1];
        else return 2;
    }
    const struct CMUnitTest tests[] = {cmocka_unit_test(reset_equals_fresh)};
    return cmocka_run_group_tests(tests, set_up, tear_down);
}
