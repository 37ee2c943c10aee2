/* SPDX-License-Identifier: Apache-2.0 */
#include "harness.h"

#include <dlfcn.h>
#include <inttypes.h>
#include <jansson.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { PAGE = 65536 };

static void give_up(const char *what, const char *name, const tw_error *error)
{
    fprintf(stderr, "harness: %s %s: %s\n", what, name, error ? error->message : "failed");
    exit(2);
}

tw_engine *harness_engine(const run_mode *mode)
{
    tw_engine_options options = TW_ENGINE_OPTIONS_INIT;
    options.offload = mode->offload;
    options.threads = mode->threads;
    options.canonical_nan = mode->canonical_nan;
    tw_engine *engine;
    tw_error error;
    if (tw_engine_new(&options, &engine, &error) != TW_OK) give_up("engine for", mode->name, &error);
    return engine;
}

tw_kernel_cache *harness_cache(tw_engine *engine, const char *directory)
{
    tw_kernel_cache_options options = TW_KERNEL_CACHE_OPTIONS_INIT;
    options.directory = directory;
    tw_kernel_cache *cache;
    tw_error error;
    tw_status status = tw_kernel_cache_new(engine, &options, &cache, &error);
    if (status == TW_UNSUPPORTED) return NULL;
    if (status != TW_OK) give_up("cache", "", &error);
    return cache;
}

uint8_t *harness_read(const char *path, size_t *size)
{
    FILE *file = fopen(path, "rb");
    if (!file) give_up("can't open", path, NULL);
    uint8_t *bytes = NULL;
    size_t used = 0, room = 0, got;
    do {
        if (used == room) bytes = realloc(bytes, room = room ? 2 * room : PAGE);
        if (!bytes) give_up("no memory for", path, NULL);
        used += got = fread(bytes + used, 1, room - used, file);
    } while (got);
    fclose(file);
    *size = used;
    return bytes;
}

tw_module *harness_module(tw_engine *engine, const char *path)
{
    size_t size;
    uint8_t *bytes = harness_read(path, &size);
    tw_module *module;
    tw_error error;
    if (tw_module_new(engine, bytes, size, &module, &error) != TW_OK) give_up("module", path, &error);
    free(bytes);
    return module;
}

tw_instance *harness_spawn(tw_module *module, tw_kernel_cache *cache, uint64_t bytes)
{
    tw_spawn_options options = TW_SPAWN_OPTIONS_INIT;
    options.tenant = 7;
    options.kernel_cache = cache;
    tw_instance *instance;
    tw_error error;
    if (tw_instance_spawn(module, &options, &instance, &error) != TW_OK) give_up("spawn", "", &error);
    size_t size;
    harness_memory(instance, &size);
    if (size >= bytes) return instance;
    tw_val pages = {.kind = TW_VAL_I32, .of.i32 = (int32_t)((bytes - size + PAGE - 1) / PAGE)}, old = {0};
    if (tw_instance_call(instance, "reserve", &pages, 1, &old, 1, &error) != TW_OK)
        give_up("call of", "reserve", &error);
    if (old.of.i32 < 0) give_up("memory.grow in", "reserve", NULL);
    return instance;
}

uint8_t *harness_memory(tw_instance *instance, size_t *size)
{
    uint8_t *base;
    tw_error error;
    if (tw_instance_memory(instance, "memory", &base, size, &error) != TW_OK) give_up("memory", "", &error);
    return base;
}

void harness_call(tw_instance *instance, const char *name, const guest_call *call, bool has_result, run_outcome *out)
{
    *out = (run_outcome){0};
    out->status = tw_instance_call(instance, name, call->args, call->arg_count, &out->result, has_result, &out->error);
    uint8_t *memory = harness_memory(instance, &out->size);
    out->memory = malloc(out->size);
    if (!out->memory) give_up("no memory for", "a copy", NULL);
    memcpy(out->memory, memory, out->size);
}

void run_outcome_free(run_outcome *outcome)
{
    free(outcome->memory);
    *outcome = (run_outcome){0};
}

/* ---- native guests ---- */

native_guest harness_native_open(const char *folder, const guest *which)
{
    char text[1024];
    native_guest out;
    snprintf(text, sizeof text, "%s/native/%s.so", folder, which->program);
    out.library = dlopen(text, RTLD_NOW | RTLD_LOCAL);
    if (!out.library) give_up("can't load", dlerror(), NULL);
    snprintf(text, sizeof text, "native_%s", which->export);
    void *symbol = dlsym(out.library, text);
    if (!symbol) give_up("no such native guest:", text, NULL);
    memcpy(&out.call, &symbol, sizeof symbol);
    return out;
}

/* An argument is eight bytes with the value at their start: programs/guest.h. */
void harness_native_call(const native_guest *native, const guest_call *call, uint8_t *memory, double *result)
{
    uint64_t args[GUEST_ARGS];
    for (size_t i = 0; i < call->arg_count; i++) memcpy(&args[i], &call->args[i].of, sizeof args[i]);
    native->call(memory, args, result);
}

void harness_native_close(native_guest *native)
{
    dlclose(native->library);
    native->library = NULL;
}

/* ---- comparing ---- */

static bool is_nan_f32(const uint8_t *at)
{
    float value;
    memcpy(&value, at, sizeof value);
    return isnan(value);
}

static bool is_nan_f64(const uint8_t *at)
{
    double value;
    memcpy(&value, at, sizeof value);
    return isnan(value);
}

/* Both runs have a NaN in the element that holds byte `at`: the rest of the element is no difference. 0 = not so. */
static size_t nan_bytes(const guest_call *call, const uint8_t *a, const uint8_t *b, size_t at)
{
    for (size_t i = 0; i < call->array_count; i++) {
        const guest_array *it = &call->arrays[i];
        size_t width = guest_elem_size(it->elem);
        if (at < it->address || at >= it->address + it->count * width) continue;
        size_t start = at - (at - it->address) % width;
        bool both = (it->elem == GUEST_F32 && is_nan_f32(a + start) && is_nan_f32(b + start)) ||
                    (it->elem == GUEST_F64 && is_nan_f64(a + start) && is_nan_f64(b + start));
        return both ? start + width - at : 0;
    }
    return 0;
}

static bool equal_memory(const run_outcome *a, const run_outcome *b, const guest_call *call, bool canonical_nan,
                         char *text, size_t size)
{
    if (a->size != b->size) {
        snprintf(text, size, "memory sizes differ: %zu and %zu", a->size, b->size);
        return false;
    }
    if (memcmp(a->memory, b->memory, a->size) == 0) return true;
    for (size_t at = 0; at < a->size;) {
        if (a->memory[at] == b->memory[at]) {
            at++;
            continue;
        }
        size_t skip = canonical_nan ? 0 : nan_bytes(call, a->memory, b->memory, at);
        if (!skip) {
            snprintf(text, size, "memory differs first at byte 0x%zx: %02x and %02x", at, a->memory[at], b->memory[at]);
            return false;
        }
        at += skip;
    }
    return true;
}

static bool equal_result(const tw_val *a, const tw_val *b, bool canonical_nan)
{
    if (a->kind != b->kind) return false;
    if (!canonical_nan && a->kind == TW_VAL_F64 && isnan(a->of.f64) && isnan(b->of.f64)) return true;
    if (!canonical_nan && a->kind == TW_VAL_F32 && isnan(a->of.f32) && isnan(b->of.f32)) return true;
    return memcmp(&a->of, &b->of, sizeof a->of) == 0;
}

bool harness_equal(const run_outcome *a, const run_outcome *b, const guest_call *call, bool canonical_nan, char *text,
                   size_t size)
{
    if (a->status != b->status || (a->status != TW_OK && strcmp(a->error.message, b->error.message) != 0)) {
        snprintf(text, size, "outcomes differ: %s (%s) and %s (%s)", tw_status_name(a->status),
                 a->status ? a->error.message : "", tw_status_name(b->status), b->status ? b->error.message : "");
        return false;
    }
    if (a->status == TW_OK && !equal_result(&a->result, &b->result, canonical_nan)) {
        snprintf(text, size, "results differ: %" PRIx64 " and %" PRIx64, (uint64_t)a->result.of.i64,
                 (uint64_t)b->result.of.i64);
        return false;
    }
    return equal_memory(a, b, call, canonical_nan, text, size);
}

/* ---- reports ---- */

static uint64_t number(const json_t *object, const char *key)
{
    return (uint64_t)json_integer_value(json_object_get(object, key));
}

static void add_refusals(const json_t *region, report_totals *out)
{
    const char *name;
    json_t *count;
    json_object_foreach(json_object_get(region, "refusals"), name, count)
    {
        if (!json_integer_value(count)) continue;
        size_t used = strlen(out->refusals);
        snprintf(out->refusals + used, sizeof out->refusals - used, "%s%s %lld", used ? ", " : "", name,
                 (long long)json_integer_value(count));
    }
}

bool harness_report(const tw_instance *instance, report_totals *out)
{
    *out = (report_totals){0};
    char *text;
    if (tw_instance_report(instance, TW_FORMAT_JSON, &text, NULL) != TW_OK) return false;
    json_t *root = json_loads(text, 0, NULL);
    free(text);
    const json_t *regions = json_object_get(root, "regions");
    bool good = json_is_array(regions);
    for (size_t i = 0; good && i < json_array_size(regions); i++) {
        const json_t *region = json_array_get(regions, i);
        out->regions++;
        out->arrivals += number(region, "arrivals");
        out->dispatches += number(region, "dispatches");
        out->kernel_iterations += number(region, "kernel_iterations");
        out->original_iterations += number(region, "original_iterations");
        const char *schedule = json_string_value(json_object_get(region, "schedule"));
        /* Wavefronts aren't hopeless, only never worth it for `auto`; a loop of a single trip may pass for parallel and gains nothing. */
        bool apart = schedule && (strstr(schedule, "wavefronts") || !strcmp(schedule, "sequential"));
        out->paid_without_hope |= !apart && json_object_get(region, "hopeless") && number(region, "kernel_iterations") > 200 * number(region, "dispatches");
        add_refusals(region, out);
        const char *detail = json_string_value(json_object_get(region, "detail"));
        size_t used = strlen(out->detail);
        if (detail && *detail)
            snprintf(out->detail + used, sizeof out->detail - used, "%s%s: %s", used ? "; " : "",
                     json_string_value(json_object_get(region, "name")), detail);
    }
    json_decref(root);
    return good;
}

static bool names_refusal(const char *list, const char *refusal)
{
    size_t length = strlen(refusal);
    for (const char *at = list; (at = strstr(at, refusal)); at += length)
        if ((at == list || at[-1] == ' ') && at[length] == ' ') return true;
    return false;
}

bool harness_refused(const tw_module *module, const report_totals *totals, const char *function, const char *refusal)
{
    if (names_refusal(totals->refusals, refusal)) return true;
    char *text;
    if (tw_module_inspect(module, TW_FORMAT_JSON, &text, NULL) != TW_OK) return false;
    json_t *root = json_loads(text, 0, NULL);
    free(text);
    bool found = false;
    const json_t *loops = json_object_get(root, "loops");
    for (size_t i = 0; i < json_array_size(loops); i++) {
        const json_t *loop = json_array_get(loops, i);
        const char *name = json_string_value(json_object_get(loop, "name"));
        const char *why = json_string_value(json_object_get(loop, "refusal"));
        size_t length = strlen(function);
        found |=
            name && why && strncmp(name, function, length) == 0 && name[length] == '#' && strcmp(why, refusal) == 0;
    }
    json_decref(root);
    return found;
}
