/* SPDX-License-Identifier: Apache-2.0 */
/* Settings of the engine, each with its reason:
 *
 *   epochs and fuel off     their checks slow tight float loops up to 4x; guests are stopped by taking pages away
 *   our memory creator      linear memory is a host slot; needs on-demand allocation and memory_init_cow off
 *   4 GiB + 32 MiB          no bounds checks; where that can't be reserved, small slots and checks
 *   relaxed SIMD            deterministic profile: fused on every host alike
 *   several memories        on, for the private memory that rewriting adds; users' modules are refused theirs earlier */
#include <stdlib.h>
#include <string.h>

#include "engine/inside.h"
#include "memory/faults.h"

tw_status tw_engine_fail(tw_error *error, tw_status status, wasmtime_error_t *failure)
{
    wasm_name_t message;
    wasmtime_error_message(failure, &message);
    tw_fail(error, status, "%.*s", (int)(message.size < 900 ? message.size : 900), message.data);
    wasm_byte_vec_delete(&message);
    wasmtime_error_delete(failure);
    return status;
}

static wasm_config_t *configure(const tw_core_options *options)
{
    wasm_config_t *config = wasm_config_new();
    tw_slot_layout layout = tw_slot_probe();
    wasmtime_config_memory_reservation_set(config, layout.reserved);
    wasmtime_config_memory_guard_size_set(config, layout.guard);
    wasmtime_config_memory_may_move_set(config, false);
    wasmtime_config_memory_init_cow_set(config, false);
    tw_creator_set(config);
    wasmtime_config_epoch_interruption_set(config, false);
    wasmtime_config_consume_fuel_set(config, false);
    wasmtime_config_max_wasm_stack_set(config, options->max_stack);
    /* We never run on the engine's own stacks, but it wants them to be larger: it aborts otherwise. */
    wasmtime_config_async_stack_size_set(config, options->max_stack + ((size_t)1 << 20));
    wasmtime_config_cranelift_opt_level_set(config, WASMTIME_OPT_LEVEL_SPEED);
    wasmtime_config_cranelift_nan_canonicalization_set(config, options->canonical_nan);
    wasmtime_config_wasm_relaxed_simd_set(config, true);
    wasmtime_config_wasm_relaxed_simd_deterministic_set(config, true);
    wasmtime_config_wasm_tail_call_set(config, true);
    wasmtime_config_wasm_multi_memory_set(config, true);
    wasmtime_config_wasm_memory64_set(config, false);
#ifdef __SANITIZE_THREAD__
    wasmtime_config_parallel_compilation_set(config, false);
#endif
    return config;
}

tw_status tw_core_new(const tw_core_options *options, tw_core **out, tw_error *error)
{
    tw_core *core = calloc(1, sizeof *core);
    TW_TRY_ALLOC(core, error);
    tw_status status = tw_faults_install_last(error);
    if (status == TW_OK) core->engine = wasm_engine_new_with_config(configure(options));
    if (status == TW_OK) status = core->engine ? tw_faults_install(error) : tw_fail(error, TW_INTERNAL, "no engine");
    if (status != TW_OK) {
        if (core->engine) wasm_engine_delete(core->engine);
        free(core);
        return status;
    }
    atomic_init(&core->references, 1);
    pthread_mutex_init(&core->lock, NULL);
    *out = core;
    return TW_OK;
}

void tw_core_retain(tw_core *core) { atomic_fetch_add(&core->references, 1); }

void tw_core_free(tw_core *core)
{
    if (!core || atomic_fetch_sub(&core->references, 1) != 1) return;
    if (core->wasi) wasmtime_linker_delete(core->wasi);
    for (size_t i = 0; i < 2; i++)
        if (core->wasi_pass[i]) wasmtime_module_delete(core->wasi_pass[i]);
    tw_imports_forget(core);
    wasm_engine_delete(core->engine);
    pthread_mutex_destroy(&core->lock);
    free(core);
}

/* "--> <anon>:3:7" of the assembler's messages becomes "--> line 3:7": whose text it is knows the caller. */
static void name_line(char *message)
{
    static const char before[] = "<anon>:", after[] = "line ";
    char *found = strstr(message, before);
    if (!found) return;
    memcpy(found, after, sizeof after - 1);
    char *rest = found + sizeof before - 1;
    memmove(found + sizeof after - 1, rest, strlen(rest) + 1);
}

tw_status tw_core_assemble(const char *text, size_t size, tw_bytes *out, tw_error *error)
{
    wasm_byte_vec_t binary;
    wasmtime_error_t *failure = wasmtime_wat2wasm(text, size, &binary);
    if (failure) {
        tw_engine_fail(error, TW_MALFORMED, failure);
        if (error) name_line(error->message);
        return TW_MALFORMED;
    }
    tw_bytes_append(out, binary.data, binary.size);
    wasm_byte_vec_delete(&binary);
    return out->failed ? tw_fail_memory(error) : TW_OK;
}

/* The engine's sentence ends in "(at offset 0x24)". */
static uint64_t offset_in(const char *message)
{
    static const char before[] = "at offset 0x";
    const char *found = strstr(message, before);
    return found ? strtoull(found + sizeof before - 1, NULL, 16) : TW_NO_OFFSET;
}

tw_status tw_core_validate(tw_core *core, const uint8_t *bytes, size_t size, tw_error *error)
{
    wasmtime_error_t *failure = wasmtime_module_validate(core->engine, bytes, size);
    if (!failure) return TW_OK;
    tw_engine_fail(error, TW_INVALID, failure);
    if (error) error->offset = offset_in(error->message);
    return TW_INVALID;
}
