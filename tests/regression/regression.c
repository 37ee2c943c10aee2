/* SPDX-License-Identifier: Apache-2.0 */
/* A case is a module in text form with the calls to make in its comments:
 *
 *   ;; call NAME ARG…     on one instance, in order; integers, by the export's own types
 *   ;; timeout MS         for each call; none when not said
 *   ;; kernels N          at least so many dispatches must have run kernels
 *
 * Each case runs without offload, with kernels forced on 1 and on 4 threads, with canonical NaNs, and by choice. All must say the same of each
 * call: status, error with function and offset, results, and the hash of the exported memories. The original is the
 * oracle. A difference, a crash or a missing kernel is a failure; so is a text of `inspect` that nobody could read. */

#include <inttypes.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "tensorwasm/tensorwasm.h"

enum { TRANSCRIPT = 1 << 16, LINE = 512, MOST = 16, LONGEST_TEXT = 1 << 20 };

typedef struct mode {
    const char *name;
    tw_offload offload;
    uint32_t threads;
    bool canonical;
} mode;

static const mode modes[] = {
    {"off", TW_OFFLOAD_OFF, 1, false},     {"force on 1 thread", TW_OFFLOAD_FORCE, 1, false},
    {"force on 4 threads", TW_OFFLOAD_FORCE, 4, false}, {"auto", TW_OFFLOAD_AUTO, 2, false},
    {"off, canonical", TW_OFFLOAD_OFF, 1, true},  {"force, canonical", TW_OFFLOAD_FORCE, 2, true},
};

static char *read_file(const char *path)
{
    FILE *file = fopen(path, "rb");
    char *text = calloc(1, 1 << 22);
    if (!file || !text || fread(text, 1, (1 << 22) - 1, file) == 0) {
        fprintf(stderr, "can't read %s\n", path);
        exit(2);
    }
    fclose(file);
    return text;
}

static uint64_t hash(const uint8_t *bytes, size_t size)
{
    uint64_t sum = size;
    for (size_t i = 0; i + 8 <= size; i += 8) {
        uint64_t word;
        memcpy(&word, bytes + i, 8);
        if (!word) continue; /* untouched pages of large memories are quick to pass */
        sum = (sum ^ word ^ i) * 0x9E3779B97F4A7C15;
        sum ^= sum >> 29;
    }
    return sum;
}

typedef struct transcript {
    char text[TRANSCRIPT];
    size_t used;
} transcript;

__attribute__((format(printf, 2, 3))) static void say(transcript *t, const char *format, ...)
{
    va_list args;
    va_start(args, format);
    if (t->used < TRANSCRIPT) t->used += (size_t)vsnprintf(t->text + t->used, TRANSCRIPT - t->used, format, args);
    va_end(args);
}

static size_t parse_args(char *rest, const tw_val_kind *kinds, size_t count, tw_val *args)
{
    size_t given = 0;
    for (char *word = strtok(rest, " \r"); word && given < count; word = strtok(NULL, " \r"), given++) {
        args[given] = (tw_val){.kind = kinds[given]};
        uint64_t bits = word[0] == '-' ? (uint64_t)strtoll(word, NULL, 0) : strtoull(word, NULL, 0);
        memcpy(&args[given].of, &bits, sizeof bits);
    }
    return given;
}

static void make_call(tw_module *module, tw_instance *instance, char *line, transcript *out)
{
    char *name = line, *rest = strchr(line, ' ');
    char empty[1] = "";
    if (rest) *rest++ = 0;
    const tw_val_kind *params, *kinds;
    size_t param_count, result_count;
    tw_val args[MOST] = {0}, results[MOST] = {0};
    tw_error error = {0};
    if (tw_module_func_type(module, name, &params, &param_count, &kinds, &result_count, &error) != TW_OK || param_count > MOST || result_count > MOST) {
        fprintf(stderr, "no such export: %s\n", name);
        exit(2);
    }
    size_t given = parse_args(rest ? rest : empty, params, param_count, args);
    tw_status status = tw_instance_call(instance, name, args, given, results, result_count, &error);
    say(out, "%s: %s", name, tw_status_name(status));
    if (status != TW_OK) say(out, " %s in %" PRIu32 " at %" PRIx64, error.message, (uint32_t)error.function, (uint64_t)error.offset);
    for (size_t r = 0; status == TW_OK && r < result_count; r++) say(out, " %016" PRIx64, (uint64_t)results[r].of.i64);
    uint8_t *base;
    size_t size;
    if (tw_instance_memory(instance, "memory", &base, &size, NULL) == TW_OK && status != TW_TIMEOUT) say(out, " memory %016" PRIx64, hash(base, size));
    say(out, "\n");
}

static void each_line(const char *text, const char *prefix, void (*visit)(char *line, void *context), void *context)
{
    for (const char *at = text; (at = strstr(at, prefix)); ) {
        at += strlen(prefix);
        char line[LINE];
        size_t size = strcspn(at, "\n");
        if (size >= LINE) size = LINE - 1;
        memcpy(line, at, size);
        line[size] = 0;
        visit(line, context);
    }
}

typedef struct play {
    tw_module *module;
    tw_instance *instance;
    transcript *out;
} play;

static void visit_call(char *line, void *context)
{
    play *p = context;
    make_call(p->module, p->instance, line, p->out);
}

static uint64_t number_of(const char *text, const char *prefix)
{
    const char *at = strstr(text, prefix);
    return at ? strtoull(at + strlen(prefix), NULL, 0) : 0;
}

static uint64_t dispatches(const tw_instance *instance)
{
    char *text = NULL;
    uint64_t sum = 0;
    if (tw_instance_report(instance, TW_FORMAT_JSON, &text, NULL) != TW_OK) return 0;
    for (const char *at = text; (at = strstr(at, "\"dispatches\"")); at++) sum += strtoull(strchr(at, ':') + 1, NULL, 10);
    if (strstr(text, "internal")) printf("  a kernel's own check disagreed\n%s", text), sum = 0;
    free(text);
    return sum;
}

static void inspect(const tw_module *module, transcript *out)
{
    char *text = NULL;
    tw_error error = {0};
    if (tw_module_inspect(module, TW_FORMAT_TEXT, &text, &error) != TW_OK) say(out, "inspect: %s\n", error.message);
    else if (strlen(text) > LONGEST_TEXT) say(out, "inspect: %zu bytes\n", strlen(text));
    free(text);
}

/* The number of dispatches. */
static uint64_t run(const char *text, const mode *m, transcript *out)
{
    tw_engine_options options = TW_ENGINE_OPTIONS_INIT;
    options.offload = m->offload, options.threads = m->threads, options.canonical_nan = m->canonical;
    tw_engine *engine;
    tw_kernel_cache *cache;
    tw_error error = {0};
    uint64_t ran = 0;
    tw_kernel_cache_options in_memory = TW_KERNEL_CACHE_OPTIONS_INIT;
    play p = {.out = out};
    out->used = 0;
    out->text[0] = 0;
    if (tw_engine_new(&options, &engine, &error) != TW_OK || tw_kernel_cache_new(engine, &in_memory, &cache, &error) != TW_OK) {
        fprintf(stderr, "no engine: %s\n", error.message);
        exit(2);
    }
    tw_spawn_options spawn = TW_SPAWN_OPTIONS_INIT;
    spawn.tenant = 1, spawn.kernel_cache = cache, spawn.timeout_ns = number_of(text, ";; timeout ") * 1000000;
    tw_status status = tw_module_new(engine, (const uint8_t *)text, strlen(text), &p.module, &error);
    if (status == TW_OK) status = tw_instance_spawn(p.module, &spawn, &p.instance, &error);
    if (status != TW_OK) say(out, "spawn: %s %s at %" PRIx64 "\n", tw_status_name(status), error.message, (uint64_t)error.offset);
    if (status == TW_OK && m->offload != TW_OFFLOAD_OFF) inspect(p.module, out);
    if (status == TW_OK) {
        each_line(text, ";; call ", visit_call, &p);
        ran = dispatches(p.instance);
        if (getenv("REPORT")) {
            char *report = NULL;
            if (tw_instance_report(p.instance, TW_FORMAT_TEXT, &report, NULL) == TW_OK) printf("-- %s\n%s", m->name, report);
            free(report);
        }
    }
    tw_instance_free(p.instance);
    tw_module_free(p.module);
    tw_kernel_cache_free(cache);
    tw_engine_free(engine);
    return ran;
}

static int check(const char *path)
{
    static transcript oracle, now;
    char *text = read_file(path);
    uint64_t wanted = number_of(text, ";; kernels ");
    int failures = 0;
    for (size_t i = 0; i < sizeof modes / sizeof *modes; i++) {
        transcript *out = modes[i].offload == TW_OFFLOAD_OFF ? &oracle : &now;
        uint64_t ran = run(text, &modes[i], out);
        if (out == &oracle) {
            if (i == 0 && getenv("VERBOSE")) printf("%s", out->text);
            continue;
        }
        if (strcmp(oracle.text, now.text)) failures++, printf("%s, %s:\n%soriginal:\n%s", path, modes[i].name, now.text, oracle.text);
        if (modes[i].offload == TW_OFFLOAD_FORCE && ran < wanted)
            failures++, printf("%s, %s: %" PRIu64 " dispatches, wanted %" PRIu64 "\n", path, modes[i].name, ran, wanted);
    }
    free(text);
    return failures;
}

int main(int argc, char **argv)
{
    int failures = 0;
    for (int i = 1; i < argc; i++) {
        fprintf(stderr, "%s\n", argv[i]);
        failures += check(argv[i]);
    }
    printf("%d case%s, %d failure%s\n", argc - 1, argc == 2 ? "" : "s", failures, failures == 1 ? "" : "s");
    return failures != 0;
}
