/* SPDX-License-Identifier: Apache-2.0 */
#include "compare.h"

#include <ftw.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "harness.h"

/* A nest's calls, in order. Runs are repeated with the memory as they left it, which is when verdicts are remembered, and
 * after others, and after the memory has grown under them. */
typedef struct step {
    int run;
    bool fill;
    uint32_t grow;
} step;
static const step steps[] = {{0, true, 0}, {0, false, 0}, {1, true, 0},  {0, true, 0},
                             {2, true, 0}, {3, true, 1},  {3, false, 0}, {1, true, 0}};
enum { STEPS = sizeof steps / sizeof *steps, PAGE = 65536 };

typedef struct record {
    tw_status status;
    tw_error error;
    int64_t result;
    uint64_t memory; /* hash */
} record;

uint8_t *nests_module(const nest *nests, uint32_t count, size_t *size)
{
    emit_func *funcs = calloc(count, sizeof *funcs);
    if (!funcs) abort();
    for (uint32_t i = 0; i < count; i++) nest_write(&nests[i], &funcs[i]);
    code out = {0};
    emit_module(&out, funcs, count, nests[0].class.whole ? WHOLE_PAGES : MEMORY_PAGES);
    for (uint32_t i = 0; i < count; i++) code_free(&funcs[i].body);
    free(funcs);
    *size = out.size;
    return out.data;
}

/* ---- memory ---- */

static void set_memory(const nest *it, const uint8_t *picture, uint8_t *memory, size_t size)
{
    if (it->class.whole) {
        memcpy(memory, picture, WINDOW_BYTES);
        memcpy(memory + size - WINDOW_BYTES, picture + WINDOW_BYTES, WINDOW_BYTES);
    } else {
        memcpy(memory, picture, MEMORY_BYTES);
        memset(memory + MEMORY_BYTES, 0, size - MEMORY_BYTES);
    }
}

static uint64_t hash(const uint8_t *bytes, size_t size)
{
    uint64_t sum = size;
    for (size_t i = 0; i + 8 <= size; i += 8) {
        uint64_t word;
        memcpy(&word, bytes + i, 8);
        sum = (sum ^ word) * 0x9E3779B97F4A7C15;
        sum ^= sum >> 29;
    }
    return sum;
}

/* Of the bytes that are looked at. scratch has room for MEMORY_BYTES and two pages. */
static uint64_t hash_memory(const nest *it, int run, const uint8_t *memory, size_t size, uint8_t *scratch)
{
    size_t used = size < MEMORY_BYTES + 2 * PAGE ? size : MEMORY_BYTES + 2 * PAGE;
    if (it->class.whole) {
        memcpy(scratch, memory, WINDOW_BYTES);
        memcpy(scratch + WINDOW_BYTES, memory + size - WINDOW_BYTES, WINDOW_BYTES);
        used = MEMORY_BYTES;
    } else {
        memcpy(scratch, memory, used);
    }
    if (!it->class.canonical) nest_blur_nans(it, run, scratch);
    return hash(scratch, used);
}

/* ---- calls ---- */

static void grow(tw_instance *instance, uint32_t pages)
{
    tw_val argument = {.kind = TW_VAL_I32, .of.i32 = (int32_t)pages}, result;
    tw_instance_call(instance, "grow", &argument, 1, &result, 1, NULL);
}

static void call(tw_instance *instance, const nest *it, uint32_t number_, int run, record *out)
{
    static const tw_val_kind kinds[] = {TW_VAL_I32, TW_VAL_I64, TW_VAL_F32, TW_VAL_F64};
    tw_val args[64] = {0}, result = {0};
    for (uint32_t p = 0; p < it->param_count; p++) {
        args[p].kind = kinds[it->params[p]];
        memcpy(&args[p].of, &it->param_numbers[p].value[run], 8);
    }
    char name[16];
    snprintf(name, sizeof name, "n%u", number_);
    out->error.message[0] = 0;
    out->status = tw_instance_call(instance, name, args, it->param_count, &result, 1, &out->error);
    out->result = out->status == TW_OK ? result.of.i64 : 0;
}

typedef struct comparison {
    const nest *nests;
    uint32_t count;
    record *originals; /* [nest][step] */
    nest_verdict *verdicts;
    uint8_t *picture, *scratch, *module;
    size_t module_size;
    bool sabotaged;
    char folder[64]; /* of the kernel cache: the run on several threads finds the kernels of the one before on disk */
    nest_watch watch;
    void *context;
} comparison;

static void differ(nest_verdict *verdict, const run_mode *mode, int step_, const record *a, const record *b)
{
    if (verdict->differs) return;
    verdict->differs = true;
    snprintf(verdict->text, sizeof verdict->text,
             "%s, call %d: %s, result %" PRIx64 ", memory %016" PRIx64 "%s%s; original: %s, result %" PRIx64
             ", memory %016" PRIx64 "%s%s",
             mode->name, step_, tw_status_name(b->status), (uint64_t)b->result, b->memory, b->status ? ", " : "",
             b->error.message, tw_status_name(a->status), (uint64_t)a->result, a->memory, a->status ? ", " : "",
             a->error.message);
}

/* Without what says where: " at 0x3b1". */
static void without_places(const char *from, char *to, size_t size)
{
    size_t used = 0;
    while (*from && used + 1 < size) {
        if (strncmp(from, " at 0x", 6) == 0) from += 6 + strspn(from + 6, "0123456789abcdef");
        else to[used++] = *from++;
    }
    to[used] = 0;
}

/* The engine knows no place for a load that its compiler made part of another instruction, or gives that one's, which depends on
 * the code around: then the rest counts. */
static bool same_error(const tw_error *a, const tw_error *b)
{
    char first[sizeof a->message], second[sizeof b->message];
    if (a->function != b->function) return false;
    if (a->offset != TW_NO_OFFSET && b->offset != TW_NO_OFFSET)
        return a->offset == b->offset && strcmp(a->message, b->message) == 0;
    without_places(a->message, first, sizeof first);
    without_places(b->message, second, sizeof second);
    return strcmp(first, second) == 0;
}

static bool same(const record *a, const record *b)
{
    return a->status == b->status && a->result == b->result && a->memory == b->memory &&
           (a->status == TW_OK || same_error(&a->error, &b->error));
}

/* Arithmetic isn't out of bounds: a load is part of it. */
static void distrust_place(const comparison *c, tw_error *error)
{
    if (error->offset >= c->module_size || !strstr(error->message, "out of bounds memory access")) return;
    uint8_t op = c->module[error->offset];
    bool loads_or_stores = op >= 0x28 && op <= 0x3E;
    if (!loads_or_stores) error->offset = TW_NO_OFFSET;
}

static void run_steps(comparison *c, uint32_t index, tw_instance *instance, const run_mode *mode)
{
    const nest *it = &c->nests[index];
    nest_verdict *verdict = &c->verdicts[index];
    for (int s = 0; s < STEPS && !verdict->skipped; s++) {
        record now = {0}, *original = &c->originals[index * STEPS + (uint32_t)s];
        size_t size;
        if (steps[s].grow) grow(instance, steps[s].grow);
        uint8_t *memory = harness_memory(instance, &size);
        if (steps[s].fill) {
            nest_fill(it, steps[s].run, c->picture);
            set_memory(it, c->picture, memory, size);
        }
        if (c->watch) c->watch(c->context, it, mode->name, s);
        call(instance, it, index, steps[s].run, &now);
        distrust_place(c, &now.error);
        now.memory = hash_memory(it, steps[s].run, memory, size, c->scratch);
        if (mode->offload == TW_OFFLOAD_OFF) {
            *original = now;
            verdict->skipped = now.status == TW_TIMEOUT;
            verdict->calls++;
        } else if (!same(original, &now)) {
            differ(verdict, mode, s, original, &now);
            return;
        }
    }
}

static void run_nest(comparison *c, uint32_t index, tw_module *module, tw_kernel_cache *cache, const run_mode *mode)
{
    if (c->verdicts[index].skipped || c->verdicts[index].differs) return;
    tw_spawn_options options = TW_SPAWN_OPTIONS_INIT;
    options.tenant = 1;
    options.kernel_cache = cache;
    options.timeout_ns = (mode->offload == TW_OFFLOAD_OFF ? 2 : 30) * UINT64_C(1000000000);
    tw_instance *instance;
    tw_error error;
    if (tw_instance_spawn(module, &options, &instance, &error) != TW_OK) {
        fprintf(stderr, "nests: seed 0x%" PRIx64 " can't be spawned: %s\n", c->nests[index].seed, error.message);
        exit(2);
    }
    run_steps(c, index, instance, mode);
    report_totals totals;
    if (mode->offload != TW_OFFLOAD_OFF && harness_report(instance, &totals)) {
        c->verdicts[index].offloaded |= totals.dispatches > 0;
        const char *wrong = strstr(totals.refusals, "internal") ? "a kernel's own range check disagreed with the plan"
                            : totals.paid_without_hope          ? "a region without a chance ran a kernel all the same"
                                                                : NULL;
        if (wrong) {
            c->verdicts[index].differs = true;
            snprintf(c->verdicts[index].text, sizeof c->verdicts[index].text, "%s: %s", mode->name, wrong);
        }
        if (mode->threads == 1) {
            memcpy(c->verdicts[index].refusals, totals.refusals, sizeof totals.refusals);
            memcpy(c->verdicts[index].detail, totals.detail, sizeof totals.detail);
        }
    }
    tw_instance_free(instance);
}

/* Without the nests' last statements: a wrong kernel, as it were. */
static uint8_t *sabotaged_module(const nest *nests, uint32_t count, size_t *size)
{
    nest *copies = malloc(count * sizeof *copies);
    if (!copies) abort();
    memcpy(copies, nests, count * sizeof *copies);
    for (uint32_t i = 0; i < count; i++) copies[i].dropped |= UINT32_C(1) << (copies[i].statement_count - 1);
    uint8_t *bytes = nests_module(copies, count, size);
    free(copies);
    return bytes;
}

static void run_all(comparison *c, const run_mode *mode)
{
    tw_engine *engine = harness_engine(mode);
    size_t size;
    bool sabotage = c->sabotaged && mode->offload != TW_OFFLOAD_OFF;
    uint8_t *bytes = (sabotage ? sabotaged_module : nests_module)(c->nests, c->count, &size);
    tw_module *module;
    tw_error error;
    if (tw_module_new(engine, bytes, size, &module, &error) != TW_OK) {
        fprintf(stderr, "nests: the module of seed 0x%" PRIx64 " is refused: %s\n", c->nests[0].seed, error.message);
        exit(2);
    }
    c->module = bytes;
    c->module_size = size;
    tw_kernel_cache *cache = harness_cache(engine, c->folder);
    for (uint32_t i = 0; i < c->count; i++) run_nest(c, i, module, cache, mode);
    tw_kernel_cache_free(cache);
    tw_module_free(module);
    tw_engine_free(engine);
    free(bytes);
}

static int remove_entry(const char *path, const struct stat *about, int kind, struct FTW *where)
{
    (void)about, (void)kind, (void)where;
    return remove(path);
}

void nests_compare(const nest *nests, uint32_t count, uint32_t threads, bool sabotaged, nest_watch watch, void *context,
                   nest_verdict *verdicts)
{
    bool canonical = nests[0].class.canonical;
    const run_mode modes[] = {{"original", TW_OFFLOAD_OFF, 1, canonical},
                              {"kernels on 1 thread", TW_OFFLOAD_FORCE, 1, canonical},
                              {"kernels on several threads", TW_OFFLOAD_FORCE, threads, canonical}};
    comparison c = {.nests = nests,
                    .count = count,
                    .originals = calloc(count * STEPS, sizeof(record)),
                    .verdicts = verdicts,
                    .picture = malloc(MEMORY_BYTES),
                    .scratch = malloc(MEMORY_BYTES + 2 * PAGE),
                    .sabotaged = sabotaged,
                    .watch = watch,
                    .context = context};
    snprintf(c.folder, sizeof c.folder, "/tmp/tensorwasm-nests-XXXXXX");
    if (!c.originals || !c.picture || !c.scratch || !mkdtemp(c.folder)) abort();
    memset(verdicts, 0, count * sizeof *verdicts);
    for (size_t m = 0; m < sizeof modes / sizeof *modes; m++) run_all(&c, &modes[m]);
    nftw(c.folder, remove_entry, 8, FTW_DEPTH | FTW_PHYS);
    free(c.originals);
    free(c.picture);
    free(c.scratch);
}
