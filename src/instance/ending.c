/* SPDX-License-Identifier: Apache-2.0 */
/* A run that didn't end well, in the words of the user's module: kind, function, offset, backtrace. What was compiled may
 * be the rewritten module; none of its own functions and offsets are shown. */
#include <stdio.h>
#include <string.h>

#include "instance/runtime.h"

#define NAME_BYTES 100
#define FRAME_BYTES 170 /* a line with such a name, and "N more" */

/* The frames of an ending as the user's module has them. */
typedef struct user_trace {
    uint32_t count;
    tw_frame frames[TW_MAX_FRAMES];
    const char *segment_kind; /* "data" or "element": while a segment was copied; else NULL */
    uint32_t segment;
    uint64_t segment_place;
} user_trace;

/* ---- to the user's module ---- */

static bool translate(const tw_rewrite *rewrite, const tw_frame *from, tw_frame *to)
{
    *to = *from;
    if (!rewrite->map) return true;
    bool placed = tw_offset_map_original(rewrite->map, from->function, from->offset, &to->function, &to->offset);
    if (!placed || from->offset == TW_NO_OFFSET) to->offset = TW_NO_OFFSET;
    return to->function != TW_NO_FUNCTION;
}

/* An outlined loop and the twin that called it were one function. */
static bool is_loop_and_twin(const tw_rewrite *rewrite, uint32_t inner, uint32_t outer)
{
    for (uint32_t i = 0; i < rewrite->site_count; i++)
        if (rewrite->sites[i].outlined == inner && rewrite->sites[i].twin == outer) return true;
    return false;
}

/* The segment that the initialiser couldn't copy: the one whose offset stands at that place. */
static void take_segment(const tw_wasm *wasm, uint64_t place, user_trace *out)
{
    const uint8_t *at = wasm->bytes.data + place;
    out->segment_place = place;
    for (uint32_t i = 0; i < wasm->elem_count; i++)
        if (wasm->elems[i].offset.data == at) out->segment_kind = "element", out->segment = i;
    for (uint32_t i = 0; i < wasm->data_count; i++)
        if (wasm->datas[i].offset.data == at) out->segment_kind = "data", out->segment = i;
}

static void take(const tw_instance *instance, const tw_ending *ending, user_trace *out)
{
    const tw_rewrite *rewrite = instance->form->rewrite;
    tw_frame place;
    out->count = 0;
    out->segment_kind = NULL;
    if (ending->frame_count && ending->frames[0].function == rewrite->initialiser &&
        !translate(rewrite, &ending->frames[0], &place) && place.offset != TW_NO_OFFSET)
        take_segment(&instance->module->wasm, place.offset, out);
    for (uint32_t i = 0; i < ending->frame_count; i++) {
        bool same = i && is_loop_and_twin(rewrite, ending->frames[i - 1].function, ending->frames[i].function);
        if (!same && translate(rewrite, &ending->frames[i], &out->frames[out->count])) out->count++;
    }
}

/* ---- to text ---- */

static void write_frame(tw_bytes *out, const tw_instance *instance, const tw_frame *frame)
{
    char name[NAME_BYTES];
    tw_wasm_func_name(&instance->module->wasm, frame->function, name, sizeof name);
    tw_bytes_printf(out, "%s (function %u)", name, frame->function);
    if (frame->offset != TW_NO_OFFSET) tw_bytes_printf(out, " at 0x%llx", (unsigned long long)frame->offset);
}

/* " in sum (function 3) at 0x4f" and the frames below it, as many as the error can hold. */
static void write_trace(tw_bytes *out, const tw_instance *instance, const user_trace *trace)
{
    if (!trace->count) return;
    tw_bytes_append_string(out, " in ");
    write_frame(out, instance, &trace->frames[0]);
    tw_bytes_append_string(out, "\nbacktrace:");
    for (uint32_t i = 0; i < trace->count; i++) {
        if (out->size + FRAME_BYTES > sizeof((tw_error *)NULL)->message) {
            tw_bytes_printf(out, "\n  %2u more", trace->count - i);
            return;
        }
        tw_bytes_printf(out, "\n  %2u: ", i);
        write_frame(out, instance, &trace->frames[i]);
    }
}

/* Takes the text: what happened; adds where. */
static tw_status report(const tw_instance *instance, tw_status status, tw_bytes *text, const tw_ending *ending,
                        tw_error *error)
{
    user_trace trace;
    take(instance, ending, &trace);
    if (trace.segment_kind)
        tw_bytes_printf(text, " in %s segment %u at 0x%llx", trace.segment_kind, trace.segment,
                        (unsigned long long)trace.segment_place);
    write_trace(text, instance, &trace);
    tw_fail(error, status, "%s", text->failed || !text->data ? tw_status_meaning(status) : text->data);
    tw_bytes_free(text);
    if (error && trace.count) {
        error->function = trace.frames[0].function;
        error->offset = trace.frames[0].offset;
    } else if (error && trace.segment_kind) {
        error->offset = trace.segment_place;
    }
    return status;
}

/* ---- kinds ---- */

static bool is_stopped(const tw_ending *ending, tw_stop reason)
{
    if (reason == TW_STOP_NONE) return false;
    if (ending->status == TW_TRAP) return !ending->from_host && ending->trap == TW_TRAP_MEMORY_OUT_OF_BOUNDS;
    return ending->status == TW_TERMINATED;
}

static tw_status stopped(tw_instance *instance, const tw_ending *ending, tw_stop reason, tw_error *error)
{
    tw_bytes text = {0};
    if (reason == TW_STOP_TIMEOUT)
        tw_bytes_printf(&text, "time limit of %g ms reached", (double)instance->timeout_ns * 1e-6);
    else tw_bytes_append_string(&text, "terminated");
    return report(instance, reason == TW_STOP_TIMEOUT ? TW_TIMEOUT : TW_TERMINATED, &text, ending, error);
}

tw_status tw_runtime_ending(tw_instance *instance, const tw_ending *ending, tw_stop reason, tw_error *error)
{
    tw_bytes text = {0};
    if (is_stopped(ending, reason)) return stopped(instance, ending, reason, error);
    if (ending->status == TW_TRAP && !ending->from_host) {
        tw_bytes_printf(&text, "trap: %s", tw_trap_text(ending->trap));
        return report(instance, TW_TRAP, &text, ending, error);
    }
    if (ending->status == TW_EXIT && instance->wasi.exited) instance->exit_code = instance->wasi.exit_code;
    if (error) *error = ending->error;
    return ending->status;
}
