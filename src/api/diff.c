/* SPDX-License-Identifier: Apache-2.0 */
#include "snapshot/diff.h"

#include <inttypes.h>

#include "api/options.h"
#include "base/bytes.h"
#include "json/write.h"

/* ---- text ---- */

/* Arguments and variables may hold anything: nothing of theirs reaches a terminal but what can be seen. */
static void write_printable(const char *text, tw_bytes *out)
{
    for (; *text; text++) tw_bytes_append_byte(out, (uint8_t)*text < 0x20 || *text == 0x7F ? (uint8_t)'?' : (uint8_t)*text);
}

static void write_change(const tw_snap_difference *item, tw_bytes *out)
{
    if (!item->a && !item->b) return;
    tw_bytes_append_string(out, ": ");
    write_printable(item->a ? item->a : "none", out);
    tw_bytes_append_string(out, " -> ");
    write_printable(item->b ? item->b : "none", out);
}

static void write_items(const tw_snap_diff *d, tw_bytes *out)
{
    for (uint32_t i = 0; i < d->count; i++) {
        const tw_snap_difference *item = &d->items[i];
        tw_bytes_printf(out, "  %s: ", item->part);
        write_printable(item->what, out);
        write_change(item, out);
        tw_bytes_append_byte(out, '\n');
    }
}

static void write_span(const tw_snap_bytes_diff *d, tw_bytes *out)
{
    enum { MOST_RANGES = 50 };
    if (d->a == d->b && !d->differing) return;
    tw_bytes_printf(out, "  %s: %" PRIu64 " bytes", d->name, d->a);
    if (d->a != d->b) tw_bytes_printf(out, " -> %" PRIu64 " bytes", d->b);
    tw_bytes_printf(out, ", %" PRIu64 " differ\n", d->differing);
    for (uint32_t i = 0; i < d->range_count && i < MOST_RANGES; i++)
        tw_bytes_printf(out, "    0x%08" PRIx64 "-0x%08" PRIx64 ": %" PRIu64 " of %" PRIu64 " bytes\n", d->ranges[i].offset,
                        d->ranges[i].offset + d->ranges[i].size - 1, d->ranges[i].differing, d->ranges[i].size);
    if (d->range_count > MOST_RANGES) tw_bytes_printf(out, "    and %" PRIu32 " more ranges\n", d->range_count - MOST_RANGES);
}

static void write_text(const tw_snap_diff *d, tw_bytes *out)
{
    write_items(d, out);
    for (int i = 0; i < TW_SNAP_DIFF_SPANS; i++) write_span(&d->spans[i], out);
}

/* ---- JSON ---- */

static void write_string_or_null(const char *text, tw_bytes *out)
{
    if (text) tw_json_string(out, text);
    else tw_bytes_append_string(out, "null");
}

static void write_items_json(const tw_snap_diff *d, tw_bytes *out)
{
    for (uint32_t i = 0; i < d->count; i++) {
        tw_bytes_append_string(out, i ? ",{\"part\":" : "{\"part\":");
        tw_json_string(out, d->items[i].part);
        tw_bytes_append_string(out, ",\"what\":");
        tw_json_string(out, d->items[i].what);
        tw_bytes_append_string(out, ",\"a\":");
        write_string_or_null(d->items[i].a, out);
        tw_bytes_append_string(out, ",\"b\":");
        write_string_or_null(d->items[i].b, out);
        tw_bytes_append_byte(out, '}');
    }
}

static void write_span_json(const tw_snap_bytes_diff *d, tw_bytes *out)
{
    tw_bytes_append_string(out, "{\"name\":");
    tw_json_string(out, d->name);
    tw_bytes_printf(out, ",\"a_bytes\":%" PRIu64 ",\"b_bytes\":%" PRIu64 ",\"differing_bytes\":%" PRIu64 ",\"ranges\":[", d->a, d->b,
                    d->differing);
    for (uint32_t i = 0; i < d->range_count; i++)
        tw_bytes_printf(out, "%s{\"offset\":%" PRIu64 ",\"bytes\":%" PRIu64 ",\"differing_bytes\":%" PRIu64 "}", i ? "," : "",
                        d->ranges[i].offset, d->ranges[i].size, d->ranges[i].differing);
    tw_bytes_append_string(out, "]}");
}

static void write_json(const tw_snap_diff *d, tw_bytes *out)
{
    bool first = true;
    tw_bytes_printf(out, "{\"same\":%s,\"differences\":[", d->same ? "true" : "false");
    write_items_json(d, out);
    tw_bytes_append_string(out, "],\"memories\":[");
    for (int i = 0; i < TW_SNAP_DIFF_SPANS; i++) {
        if (!d->spans[i].a && !d->spans[i].b) continue;
        if (!first) tw_bytes_append_byte(out, ',');
        first = false;
        write_span_json(&d->spans[i], out);
    }
    tw_bytes_append_string(out, "]}");
}

/* ---- the call ---- */

static tw_status diff(const tw_snapshot *a, const tw_snapshot *b, const tw_snapshot_diff_options *options, tw_arena *arena, bool *same,
                      char **text, tw_error *error)
{
    tw_snap_diff d;
    tw_bytes out = {0};
    TW_TRY(tw_snap_compare(a, b, options->state_only, arena, &d, error));
    if (options->format == TW_FORMAT_JSON) write_json(&d, &out);
    else write_text(&d, &out);
    tw_bytes_append_byte(&out, 0);
    char *made = tw_bytes_take(&out, NULL);
    tw_bytes_free(&out);
    TW_TRY_ALLOC(made, error);
    *text = made;
    *same = d.same;
    return TW_OK;
}

static bool is_whole(const tw_snapshot *s)
{
    return (s->wasm_memory.data || !s->wasm_memory.size) && (s->device_memory.data || !s->device_memory.size);
}

tw_status tw_snapshot_diff(const tw_snapshot *a, const tw_snapshot *b, const tw_snapshot_diff_options *options, bool *same, char **text,
                           tw_error *error)
{
    if (!a || !b || !same || !text) return tw_fail(error, TW_INVALID_ARGUMENT, "tw_snapshot_diff: a required pointer is NULL");
    if (!is_whole(a) || !is_whole(b))
        return tw_fail(error, TW_INVALID_ARGUMENT, "tw_snapshot_diff: a snapshot was opened without its memories: read it in full");
    tw_snapshot_diff_options own = TW_SNAPSHOT_DIFF_OPTIONS_INIT;
    tw_arena arena;
    TW_TRY(tw_options_read(&own, sizeof own, options, "tw_snapshot_diff_options", error));
    tw_arena_init(&arena, TW_ARENA_NO_LIMIT);
    tw_status status = diff(a, b, &own, &arena, same, text, error);
    tw_arena_free(&arena);
    return status;
}
