/* SPDX-License-Identifier: Apache-2.0 */
/* What the engine says about a run that ended early comes on two channels, as a trap or as an error, and a host
 * function's own failure as a third, which the store keeps itself (the engine would keep only its text). */
#include "engine/inside.h"

static const char *const texts[] = {
#define TW_TRAP_TEXT(name, text) text,
    TW_TRAP_MAP(TW_TRAP_TEXT)
#undef TW_TRAP_TEXT
};

const char *tw_trap_text(tw_trap trap) { return texts[trap <= TW_TRAP_OTHER ? trap : TW_TRAP_OTHER]; }

static tw_trap trap_of(wasmtime_trap_code_t code)
{
    switch (code) {
    case WASMTIME_TRAP_CODE_STACK_OVERFLOW: return TW_TRAP_STACK_OVERFLOW;
    case WASMTIME_TRAP_CODE_MEMORY_OUT_OF_BOUNDS: return TW_TRAP_MEMORY_OUT_OF_BOUNDS;
    case WASMTIME_TRAP_CODE_HEAP_MISALIGNED: return TW_TRAP_HEAP_MISALIGNED;
    case WASMTIME_TRAP_CODE_TABLE_OUT_OF_BOUNDS: return TW_TRAP_TABLE_OUT_OF_BOUNDS;
    case WASMTIME_TRAP_CODE_INDIRECT_CALL_TO_NULL: return TW_TRAP_INDIRECT_CALL_TO_NULL;
    case WASMTIME_TRAP_CODE_BAD_SIGNATURE: return TW_TRAP_BAD_SIGNATURE;
    case WASMTIME_TRAP_CODE_INTEGER_OVERFLOW: return TW_TRAP_INTEGER_OVERFLOW;
    case WASMTIME_TRAP_CODE_INTEGER_DIVISION_BY_ZERO: return TW_TRAP_INTEGER_DIVISION_BY_ZERO;
    case WASMTIME_TRAP_CODE_BAD_CONVERSION_TO_INTEGER: return TW_TRAP_BAD_CONVERSION_TO_INTEGER;
    case WASMTIME_TRAP_CODE_UNREACHABLE_CODE_REACHED: return TW_TRAP_UNREACHABLE;
    default: return TW_TRAP_OTHER;
    }
}

static void take_frames(wasm_frame_vec_t *trace, tw_ending *ending)
{
    ending->frame_count = 0;
    for (size_t i = 0; i < trace->size && ending->frame_count < TW_MAX_FRAMES; i++) {
        size_t offset = wasm_frame_module_offset(trace->data[i]);
        ending->frames[ending->frame_count++] = (tw_frame){
            wasm_frame_func_index(trace->data[i]), offset == SIZE_MAX ? TW_NO_OFFSET : offset};
    }
    wasm_frame_vec_delete(trace);
}

static tw_status take_trap(wasm_trap_t *trap, tw_ending *ending)
{
    wasmtime_trap_code_t code;
    wasm_frame_vec_t trace;
    ending->status = TW_TRAP;
    ending->from_host = false;
    ending->trap = wasmtime_trap_code(trap, &code) ? trap_of(code) : TW_TRAP_OTHER;
    wasm_trap_trace(trap, &trace);
    take_frames(&trace, ending);
    wasm_trap_delete(trap);
    return TW_TRAP;
}

static tw_status take_error(tw_store *store, wasmtime_error_t *failure, tw_ending *ending)
{
    wasm_frame_vec_t trace;
    wasmtime_error_wasm_trace(failure, &trace);
    take_frames(&trace, ending);
    int exit_code;
    ending->from_host = store->host_error.status != TW_OK;
    if (ending->from_host) {
        ending->error = store->host_error;
        ending->status = store->host_error.status;
        wasmtime_error_delete(failure);
    } else if (wasmtime_error_exit_status(failure, &exit_code)) {
        ending->status = TW_EXIT;
        ending->exit_code = exit_code;
        wasmtime_error_delete(failure);
    } else {
        ending->status = tw_engine_fail(&ending->error, TW_LIMIT, failure);
    }
    return ending->status;
}

tw_status tw_ending_take(tw_store *store, wasmtime_error_t *failure, wasm_trap_t *trap, tw_ending *ending)
{
    if (trap) return take_trap(trap, ending);
    if (failure) return take_error(store, failure, ending);
    return ending->status = TW_OK;
}
