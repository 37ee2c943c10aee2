/* SPDX-License-Identifier: Apache-2.0 */

/* The least that can run a module with the same engine, at its usual settings: what our start and our loops are compared with.
 *
 *   minimal run MODULE                      calls _start
 *   minimal time MODULE EXPORT N SAMPLES    nanoseconds of each call EXPORT(N), one a line */

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include <wasm.h>
#include <wasmtime.h>

static void need(int holds, const char *what)
{
    if (holds) return;
    fprintf(stderr, "minimal: %s\n", what);
    exit(2);
}

static uint8_t *read_file(const char *path, size_t *size)
{
    FILE *file = fopen(path, "rb");
    need(file != NULL, path);
    fseek(file, 0, SEEK_END);
    *size = (size_t)ftell(file);
    rewind(file);
    uint8_t *bytes = malloc(*size + 1);
    need(bytes && fread(bytes, 1, *size, file) == *size, path);
    fclose(file);
    return bytes;
}

static uint64_t call(wasmtime_context_t *context, const wasmtime_func_t *func, const wasmtime_val_t *args, size_t count,
                     size_t results)
{
    struct timespec a, b;
    wasmtime_val_t result;
    wasm_trap_t *trap = NULL;
    clock_gettime(CLOCK_MONOTONIC, &a);
    wasmtime_error_t *error = wasmtime_func_call(context, func, args, count, &result, results, &trap);
    clock_gettime(CLOCK_MONOTONIC, &b);
    need(!error && !trap, "the call failed");
    return (uint64_t)(b.tv_sec - a.tv_sec) * 1000000000 + (uint64_t)b.tv_nsec - (uint64_t)a.tv_nsec;
}

static wasmtime_func_t export(wasmtime_context_t *context, const wasmtime_instance_t *instance, const char *name)
{
    wasmtime_extern_t item;
    need(wasmtime_instance_export_get(context, instance, name, strlen(name), &item) &&
             item.kind == WASMTIME_EXTERN_FUNC,
         name);
    return item.of.func;
}

static void measure(wasmtime_context_t *context, const wasmtime_instance_t *instance, char **args)
{
    wasmtime_func_t func = export(context, instance, args[0]);
    wasmtime_val_t n = {.kind = WASMTIME_I32, .of.i32 = atoi(args[1])};
    for (int i = 0; i < 2; i++) call(context, &func, &n, 1, 1);
    for (int i = 0; i < atoi(args[2]); i++) printf("%" PRIu64 "\n", call(context, &func, &n, 1, 1));
}

int main(int argc, char **argv)
{
    int timed = argc == 6 && strcmp(argv[1], "time") == 0;
    need(timed || (argc == 3 && strcmp(argv[1], "run") == 0),
         "usage: minimal run MODULE | time MODULE EXPORT N SAMPLES");
    size_t size;
    uint8_t *bytes = read_file(argv[2], &size);
    wasm_engine_t *engine = wasm_engine_new();
    wasmtime_module_t *module;
    need(!wasmtime_module_new(engine, bytes, size, &module), "the module is refused");
    wasmtime_store_t *store = wasmtime_store_new(engine, NULL, NULL);
    wasmtime_context_t *context = wasmtime_store_context(store);
    wasmtime_instance_t instance;
    wasm_trap_t *trap = NULL;
    need(!wasmtime_instance_new(context, module, NULL, 0, &instance, &trap) && !trap, "it can't be instantiated");
    if (timed) {
        measure(context, &instance, argv + 3);
    } else {
        wasmtime_func_t func = export(context, &instance, "_start");
        call(context, &func, NULL, 0, 0);
    }
    wasmtime_store_delete(store);
    wasmtime_module_delete(module);
    wasm_engine_delete(engine);
    free(bytes);
    return 0;
}
