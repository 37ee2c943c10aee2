/* SPDX-License-Identifier: Apache-2.0 */
/* A run that didn't end well, in the words of the user's module: kind, function, offset, backtrace. */
#include <stdio.h>
#include <string.h>

#include "instance/runtime.h"

#define NAME_BYTES 100
#define FRAME_BYTES 170 /* a line with such a name, and "N more" */

static void write_frame(tw_bytes *out, const tw_instance *instance, const tw_frame *frame, uint32_t number)
{
    char name[NAME_BYTES];
    tw_wasm_func_name(&instance->module->wasm, frame->function, name, sizeof name);
    tw_bytes_printf(out, "\n  %2u: %s (function %u)", number, name, frame->function);
    if (frame->offset != TW_NO_OFFSET) tw_bytes_printf(out, " at 0x%llx", (unsigned long long)frame->offset);
}

/* "…: out of bounds memory access in sum (function 3) at 0x4f" and the frames below it. */
static void write_place(tw_bytes *out, const tw_instance *instance, const tw_ending *ending)
{
    if (!ending->frame_count) return;
    char name[NAME_BYTES];
    const tw_frame *frame = &ending->frames[0];
    tw_wasm_func_name(&instance->module->wasm, frame->function, name, sizeof name);
    tw_bytes_printf(out, " in %s (function %u)", name, frame->function);
    if (frame->offset != TW_NO_OFFSET) tw_bytes_printf(out, " at 0x%llx", (unsigned long long)frame->offset);
    tw_bytes_append_string(out, "\nbacktrace:");
    for (uint32_t i = 0; i < ending->frame_count; i++) {
        if (out->size + FRAME_BYTES > sizeof((tw_error *)NULL)->message) {
            tw_bytes_printf(out, "\n  %2u more", ending->frame_count - i);
            return;
        }
        write_frame(out, instance, &ending->frames[i], i);
    }
}

static void put(tw_error *error, tw_status status, const tw_ending *ending, tw_bytes *text)
{
    if (error) {
        tw_fail(error, status, "%s", text->failed || !text->data ? tw_status_meaning(status) : text->data);
        if (ending->frame_count) {
            error->function = ending->frames[0].function;
            error->offset = ending->frames[0].offset;
        }
    }
    tw_bytes_free(text);
}

static bool is_stopped(const tw_ending *ending, tw_stop reason)
{
    if (reason == TW_STOP_NONE) return false;
    return ending->status == TW_TERMINATED || (ending->status == TW_TRAP && ending->trap == TW_TRAP_MEMORY_OUT_OF_BOUNDS);
}

static tw_status stopped(tw_instance *instance, const tw_ending *ending, tw_stop reason, tw_error *error)
{
    tw_bytes text = {0};
    tw_status status = reason == TW_STOP_TIMEOUT ? TW_TIMEOUT : TW_TERMINATED;
    if (status == TW_TIMEOUT)
        tw_bytes_printf(&text, "time limit of %g ms reached", (double)instance->timeout_ns * 1e-6);
    else tw_bytes_append_string(&text, "terminated");
    write_place(&text, instance, ending);
    put(error, status, ending, &text);
    return status;
}

tw_status tw_runtime_ending(tw_instance *instance, const tw_ending *ending, tw_stop reason, tw_error *error)
{
    tw_bytes text = {0};
    if (is_stopped(ending, reason)) return stopped(instance, ending, reason, error);
    switch (ending->status) {
    case TW_EXIT:
        instance->exit_code = ending->exit_code;
        return tw_fail(error, TW_EXIT, "the guest exited with code %d", ending->exit_code);
    case TW_TRAP:
        tw_bytes_printf(&text, "trap: %s", tw_trap_text(ending->trap));
        write_place(&text, instance, ending);
        put(error, TW_TRAP, ending, &text);
        return TW_TRAP;
    default:
        if (error) *error = ending->error;
        return ending->status;
    }
}
