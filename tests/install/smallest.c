/* SPDX-License-Identifier: Apache-2.0 */
/* The smallest embedder: the header and the library belong together, and a function gives what it should. */
#include <stdio.h>
#include <string.h>

#include <tensorwasm/tensorwasm.h>

static const char text[] = "(module (func (export \"add\") (param i32 i32) (result i32)"
                           " (i32.add (local.get 0) (local.get 1))))";

static tw_status add(int a, int b, int *sum, tw_error *error)
{
    tw_engine *engine = NULL;
    tw_module *module = NULL;
    tw_instance *instance = NULL;
    tw_spawn_options options = TW_SPAWN_OPTIONS_INIT;
    tw_val args[2] = {{TW_VAL_I32, {.i32 = a}}, {TW_VAL_I32, {.i32 = b}}}, result = {TW_VAL_I32, {0}};
    tw_status status = tw_engine_new(NULL, &engine, error);
    if (!status) status = tw_module_new(engine, (const uint8_t *)text, strlen(text), &module, error);
    if (!status) status = tw_instance_spawn(module, &options, &instance, error);
    if (!status) status = tw_instance_call(instance, "add", args, 2, &result, 1, error);
    *sum = result.of.i32;
    tw_instance_free(instance);
    tw_module_free(module);
    tw_engine_free(engine);
    return status;
}

int main(void)
{
    tw_error error;
    int sum;
    if (tw_abi_version() != TW_ABI_VERSION) return 2;
    if (add(7, 5, &sum, &error)) {
        fprintf(stderr, "%s\n", error.message);
        return 1;
    }
    printf("%d\n", sum);
    return 0;
}
