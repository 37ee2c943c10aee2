/* SPDX-License-Identifier: Apache-2.0 */
#include "snapshot/diff.h"

#include <inttypes.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include "snapshot/little.h"
#include "snapshot/registers.h"

enum { PAGE = 4096, MOST_SLOTS = 100, VALUE = 96 };

typedef struct comparison {
    tw_snap_diff *out;
    tw_arena *arena;
    bool failed; /* out of memory */
} comparison;

/* ---- noting ---- */

static const char *keep(comparison *c, const char *text)
{
    const char *kept = text ? tw_arena_string(c->arena, text, strlen(text)) : NULL;
    if (text && !kept) c->failed = true;
    return kept;
}

static void note(comparison *c, const char *part, const char *a, const char *b, const char *format, ...)
    __attribute__((format(printf, 5, 6)));
static void note(comparison *c, const char *part, const char *a, const char *b, const char *format, ...)
{
    char what[VALUE];
    va_list args;
    va_start(args, format);
    vsnprintf(what, sizeof what, format, args);
    va_end(args);
    if (!TW_ARENA_GROW(c->arena, c->out->items, c->out->count, c->out->capacity)) c->failed = true;
    else c->out->items[c->out->count++] = (tw_snap_difference){part, keep(c, what), keep(c, a), keep(c, b)};
}

static void compare_numbers(comparison *c, const char *part, const char *what, uint64_t a, uint64_t b)
{
    char x[24], y[24];
    if (a == b) return;
    snprintf(x, sizeof x, "%" PRIu64, a);
    snprintf(y, sizeof y, "%" PRIu64, b);
    note(c, part, x, y, "%s", what);
}

/* ---- bytes ---- */

static void add_page(comparison *c, tw_snap_bytes_diff *d, uint64_t offset, uint64_t size, uint64_t differing)
{
    tw_snap_range *last = d->range_count ? &d->ranges[d->range_count - 1] : NULL;
    d->differing += differing;
    if (last && last->offset + last->size == offset) {
        last->size += size;
        last->differing += differing;
        return;
    }
    if (!TW_ARENA_GROW(c->arena, d->ranges, d->range_count, d->range_capacity)) c->failed = true;
    else d->ranges[d->range_count++] = (tw_snap_range){offset, size, differing};
}

static uint64_t count_differing(const uint8_t *a, const uint8_t *b, size_t size)
{
    uint64_t count = 0;
    for (size_t i = 0; i < size; i++) count += a[i] != b[i];
    return count;
}

/* The page of `from` at `at`, as long as `size`; zeros stand for what is behind its end. */
static const uint8_t *page_of(tw_span from, size_t at, size_t size, uint8_t room[PAGE])
{
    if (at + size <= from.size) return from.data + at;
    size_t there = at < from.size ? from.size - at : 0;
    memset(room, 0, PAGE);
    if (there) memcpy(room, from.data + at, there);
    return room;
}

static void compare_bytes(comparison *c, unsigned which, const char *name, tw_span a, tw_span b)
{
    tw_snap_bytes_diff *d = &c->out->spans[which];
    uint8_t a_room[PAGE], b_room[PAGE];
    *d = (tw_snap_bytes_diff){.name = name, .a = a.size, .b = b.size};
    size_t most = a.size > b.size ? a.size : b.size;
    for (size_t at = 0; at < most; at += PAGE) {
        size_t size = most - at < PAGE ? most - at : PAGE;
        const uint8_t *x = page_of(a, at, size, a_room), *y = page_of(b, at, size, b_room);
        if (memcmp(x, y, size)) add_page(c, d, at, size, count_differing(x, y, size));
    }
}

/* ---- metadata ---- */

static void write_hex(const uint8_t *bytes, size_t size, char *text)
{
    for (size_t i = 0; i < size; i++) sprintf(text + 2 * i, "%02x", bytes[i]);
}

static void compare_nonces(comparison *c, const tw_snapshot *a, const tw_snapshot *b)
{
    char x[2 * TW_SNAPSHOT_NONCE_SIZE + 1], y[2 * TW_SNAPSHOT_NONCE_SIZE + 1];
    if (a->has_nonce == b->has_nonce && (!a->has_nonce || !memcmp(a->nonce, b->nonce, sizeof a->nonce))) return;
    write_hex(a->nonce, sizeof a->nonce, x);
    write_hex(b->nonce, sizeof b->nonce, y);
    note(c, "metadata", a->has_nonce ? x : NULL, b->has_nonce ? y : NULL, "nonce");
}

static void compare_metadata(comparison *c, const tw_snapshot *a, const tw_snapshot *b)
{
    char x[40], y[40];
    compare_numbers(c, "metadata", "tenant", a->tenant, b->tenant);
    snprintf(x, sizeof x, "0x%016" PRIx64 "%016" PRIx64, a->instance.high, a->instance.low);
    snprintf(y, sizeof y, "0x%016" PRIx64 "%016" PRIx64, b->instance.high, b->instance.low);
    if (strcmp(x, y)) note(c, "metadata", x, y, "instance");
    compare_numbers(c, "metadata", "created_unix_ms", a->created_unix_ms, b->created_unix_ms);
    compare_numbers(c, "metadata", "sequence", a->sequence, b->sequence);
    compare_nonces(c, a, b);
}

/* ---- registers of instances ---- */

static void write_reference(uint32_t index, char text[VALUE])
{
    if (index == TW_REGISTERS_NULL) snprintf(text, VALUE, "null");
    else snprintf(text, VALUE, "function %" PRIu32, index);
}

/* Types are the binary format's bytes. */
static void write_value(const tw_registers_global *g, char text[VALUE])
{
    uint64_t bits = tw_little64(g->value);
    float f;
    double d;
    memcpy(&f, g->value, sizeof f);
    memcpy(&d, g->value, sizeof d);
    switch (g->type) {
    case 0x7F: snprintf(text, VALUE, "%" PRId32, (int32_t)tw_little32(g->value)); break;
    case 0x7E: snprintf(text, VALUE, "%" PRId64, (int64_t)bits); break;
    case 0x7D: snprintf(text, VALUE, "%.9g (0x%08" PRIx32 ")", (double)f, tw_little32(g->value)); break;
    case 0x7C: snprintf(text, VALUE, "%.17g (0x%016" PRIx64 ")", d, bits); break;
    case 0x70: write_reference(tw_little32(g->value), text); break;
    default: write_hex(g->value, sizeof g->value, text); break;
    }
}

/* Both lists ascend by index. */
static void compare_globals(comparison *c, const tw_registers *a, const tw_registers *b)
{
    uint32_t i = 0, j = 0;
    while (i < a->global_count || j < b->global_count) {
        bool left = i < a->global_count && (j == b->global_count || a->globals[i].index <= b->globals[j].index);
        bool right = j < b->global_count && (i == a->global_count || b->globals[j].index <= a->globals[i].index);
        const tw_registers_global *x = left ? &a->globals[i++] : NULL, *y = right ? &b->globals[j++] : NULL;
        char from[VALUE], to[VALUE];
        if (x && y && x->type == y->type && !memcmp(x->value, y->value, sizeof x->value)) continue;
        if (x) write_value(x, from);
        if (y) write_value(y, to);
        note(c, "globals", x ? from : NULL, y ? to : NULL, "global %" PRIu32, x ? x->index : y->index);
    }
}

static void compare_table(comparison *c, const tw_registers_table *a, const tw_registers_table *b)
{
    uint32_t least = a->size < b->size ? a->size : b->size, most = a->size > b->size ? a->size : b->size, count = 0;
    char what[VALUE], from[VALUE], to[VALUE];
    snprintf(what, sizeof what, "table %" PRIu32 ", size", a->index);
    compare_numbers(c, "tables", what, a->size, b->size);
    for (uint32_t i = 0; i < most; i++) {
        if (i < least && a->funcs[i] == b->funcs[i]) continue;
        if (count++ >= MOST_SLOTS) continue;
        if (i < a->size) write_reference(a->funcs[i], from);
        if (i < b->size) write_reference(b->funcs[i], to);
        note(c, "tables", i < a->size ? from : NULL, i < b->size ? to : NULL, "table %" PRIu32 ", slot %" PRIu32, a->index, i);
    }
    if (count > MOST_SLOTS) note(c, "tables", NULL, NULL, "table %" PRIu32 ", %" PRIu32 " more slots", a->index, count - MOST_SLOTS);
}

static void compare_tables(comparison *c, const tw_registers *a, const tw_registers *b)
{
    uint32_t least = a->table_count < b->table_count ? a->table_count : b->table_count;
    compare_numbers(c, "tables", "number of tables", a->table_count, b->table_count);
    for (uint32_t i = 0; i < least; i++) compare_table(c, &a->tables[i], &b->tables[i]);
}

static bool is_dropped(const tw_registers *r, uint32_t bit)
{
    return bit < r->drop_count && r->drops[bit / 64] >> bit % 64 & 1;
}

static void compare_drops(comparison *c, const tw_registers *a, const tw_registers *b)
{
    uint32_t most = a->drop_count > b->drop_count ? a->drop_count : b->drop_count;
    for (uint32_t i = 0; i < most; i++)
        if (is_dropped(a, i) != is_dropped(b, i))
            note(c, "drops", is_dropped(a, i) ? "dropped" : "there", is_dropped(b, i) ? "dropped" : "there", "segment of drop %" PRIu32, i);
}

static void compare_strings(comparison *c, const char *what, const tw_registers_strings *a, const tw_registers_strings *b)
{
    uint32_t most = a->count > b->count ? a->count : b->count;
    for (uint32_t i = 0; i < most; i++) {
        const char *x = i < a->count ? a->items[i] : NULL, *y = i < b->count ? b->items[i] : NULL;
        if (!x || !y || strcmp(x, y)) note(c, "wasi", x, y, "%s %" PRIu32, what, i);
    }
}

static const tw_registers_buffer *find_buffer(const tw_registers *r, const char *name)
{
    for (uint32_t i = 0; i < r->buffer_count; i++)
        if (!strcmp(r->buffers[i].name, name)) return &r->buffers[i];
    return NULL;
}

static void write_buffer(const tw_registers_buffer *buffer, char text[VALUE])
{
    if (buffer) snprintf(text, VALUE, "%.40s, %" PRIu64 " bytes", buffer->backend, buffer->size);
}

static void compare_buffer(comparison *c, const tw_registers_buffer *a, const tw_registers_buffer *b)
{
    char from[VALUE], to[VALUE];
    if (a && b && a->size == b->size && !strcmp(a->backend, b->backend)) return;
    write_buffer(a, from);
    write_buffer(b, to);
    note(c, "buffers", a ? from : NULL, b ? to : NULL, "buffer %s", a ? a->name : b->name);
}

/* What they hold is in the device memory. */
static void compare_buffers(comparison *c, const tw_registers *a, const tw_registers *b)
{
    for (uint32_t i = 0; i < a->buffer_count; i++) compare_buffer(c, &a->buffers[i], find_buffer(b, a->buffers[i].name));
    for (uint32_t i = 0; i < b->buffer_count; i++)
        if (!find_buffer(a, b->buffers[i].name)) compare_buffer(c, NULL, &b->buffers[i]);
}

static void compare_registers(comparison *c, const tw_registers *a, const tw_registers *b)
{
    char x[2 * TW_REGISTERS_HASH + 1], y[2 * TW_REGISTERS_HASH + 1];
    write_hex(a->module_hash, TW_REGISTERS_HASH, x);
    write_hex(b->module_hash, TW_REGISTERS_HASH, y);
    if (strcmp(x, y)) note(c, "module", x, y, "BLAKE3");
    compare_numbers(c, "module", "memory's limit", a->max_memory, b->max_memory);
    compare_globals(c, a, b);
    compare_tables(c, a, b);
    compare_drops(c, a, b);
    if (a->has_wasi != b->has_wasi) note(c, "wasi", a->has_wasi ? "yes" : "no", b->has_wasi ? "yes" : "no", "WASI");
    compare_strings(c, "argument", &a->args, &b->args);
    compare_strings(c, "variable", &a->env, &b->env);
    compare_strings(c, "folder", &a->dirs, &b->dirs);
    compare_buffers(c, a, b);
}

/* Registers of something else are bytes. */
static void compare_all_registers(comparison *c, const tw_snapshot *a, const tw_snapshot *b)
{
    tw_registers x, y;
    compare_bytes(c, 2, "registers", (tw_span){0}, (tw_span){0});
    bool known = tw_registers_read(a->registers, c->arena, &x, NULL) == TW_OK && tw_registers_read(b->registers, c->arena, &y, NULL) == TW_OK;
    if (known) compare_registers(c, &x, &y);
    else compare_bytes(c, 2, "registers", a->registers, b->registers);
}

tw_status tw_snap_compare(const tw_snapshot *a, const tw_snapshot *b, bool state_only, tw_arena *arena, tw_snap_diff *out,
                          tw_error *error)
{
    comparison c = {out, arena, false};
    *out = (tw_snap_diff){.same = true};
    if (!state_only) compare_metadata(&c, a, b);
    compare_all_registers(&c, a, b);
    compare_bytes(&c, 0, "wasm memory", a->wasm_memory, b->wasm_memory);
    compare_bytes(&c, 1, "device memory", a->device_memory, b->device_memory);
    if (c.failed) return tw_fail_memory(error);
    out->same = !out->count;
    for (int i = 0; i < TW_SNAP_DIFF_SPANS; i++)
        out->same &= out->spans[i].a == out->spans[i].b && !out->spans[i].differing;
    return TW_OK;
}
