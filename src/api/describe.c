/* SPDX-License-Identifier: Apache-2.0 */
/* What a snapshot's registers say of its guest. Names and arguments are the guest's, so only what can be seen of them is printed; of
 * variables the names only. */
#include <inttypes.h>
#include <string.h>

#include "base/bytes.h"
#include "base/error.h"
#include "json/write.h"
#include "snapshot/registers.h"
#include "tensorwasm/snapshot.h"

static uint32_t dropped(const tw_registers *r)
{
    uint32_t count = 0;
    for (uint32_t i = 0; i < r->drop_count; i++) count += r->drops[i / 64] >> i % 64 & 1;
    return count;
}

static void write_hash(const tw_registers *r, tw_bytes *out)
{
    for (int i = 0; i < TW_REGISTERS_HASH; i++) tw_bytes_printf(out, "%02x", r->module_hash[i]);
}

/* ---- text ---- */

/* Up to `end`, or all of it. */
static void write_visible(const char *text, char end, tw_bytes *out)
{
    for (; *text && *text != end; text++)
        tw_bytes_append_byte(out, (uint8_t)*text < 0x20 || *text == 0x7F ? (uint8_t)'?' : (uint8_t)*text);
}

static void write_list(const char *label, const tw_registers_strings *list, char end, tw_bytes *out)
{
    if (!list->count) return;
    tw_bytes_printf(out, "  %-15s ", label);
    for (uint32_t i = 0; i < list->count; i++) {
        tw_bytes_append_byte(out, ' ');
        write_visible(list->items[i], end, out);
    }
    tw_bytes_append_byte(out, '\n');
}

static void write_tables(const tw_registers *r, tw_bytes *out)
{
    if (!r->table_count) return;
    tw_bytes_append_string(out, "  tables          ");
    for (uint32_t i = 0; i < r->table_count; i++) tw_bytes_printf(out, " %" PRIu32, r->tables[i].size);
    tw_bytes_append_string(out, r->table_count > 1 || r->tables[0].size != 1 ? " elements\n" : " element\n");
}

static void write_text(const tw_registers *r, tw_bytes *out)
{
    tw_bytes_append_string(out, "  of the module    BLAKE3 ");
    write_hash(r, out);
    tw_bytes_printf(out, "\n  memory's limit   %" PRIu64 " bytes\n  mutable globals  %" PRIu32 "\n", r->max_memory, r->global_count);
    write_tables(r, out);
    if (r->drop_count) tw_bytes_printf(out, "  dropped          %" PRIu32 " of %" PRIu32 " segments\n", dropped(r), r->drop_count);
    write_list("arguments", &r->args, 0, out);
    write_list("variables", &r->env, '=', out);
    write_list("folders", &r->dirs, 0, out);
    for (uint32_t i = 0; i < r->buffer_count; i++) {
        tw_bytes_append_string(out, "  buffer           ");
        write_visible(r->buffers[i].name, 0, out);
        tw_bytes_append_string(out, ", ");
        write_visible(r->buffers[i].backend, 0, out);
        tw_bytes_printf(out, ", %" PRIu64 " bytes\n", r->buffers[i].size);
    }
}

/* ---- JSON ---- */

/* A number, or its digits as a string where a reader might not keep it exactly. */
static void write_exact(uint64_t value, tw_bytes *out)
{
    bool keeps = value <= UINT64_C(1) << 53;
    tw_bytes_printf(out, keeps ? "%" PRIu64 : "\"%" PRIu64 "\"", value);
}

static void write_json_list(const char *key, const tw_registers_strings *list, tw_bytes *out)
{
    tw_bytes_printf(out, ",\"%s\":[", key);
    for (uint32_t i = 0; i < list->count; i++) {
        if (i) tw_bytes_append_byte(out, ',');
        tw_json_string(out, list->items[i]);
    }
    tw_bytes_append_byte(out, ']');
}

static void write_json_names(const tw_registers_strings *env, tw_bytes *out)
{
    tw_bytes_append_string(out, ",\"variables\":[");
    for (uint32_t i = 0; i < env->count; i++) {
        tw_bytes name = {0};
        if (i) tw_bytes_append_byte(out, ',');
        tw_bytes_append(&name, env->items[i], strcspn(env->items[i], "="));
        tw_json_string(out, name.failed ? "" : name.data);
        if (name.failed) out->failed = 1;
        tw_bytes_free(&name);
    }
    tw_bytes_append_byte(out, ']');
}

static void write_json_buffers(const tw_registers *r, tw_bytes *out)
{
    tw_bytes_append_string(out, ",\"buffers\":[");
    for (uint32_t i = 0; i < r->buffer_count; i++) {
        tw_bytes_append_string(out, i ? ",{\"name\":" : "{\"name\":");
        tw_json_string(out, r->buffers[i].name);
        tw_bytes_append_string(out, ",\"backend\":");
        tw_json_string(out, r->buffers[i].backend);
        tw_bytes_append_string(out, ",\"bytes\":");
        write_exact(r->buffers[i].size, out);
        tw_bytes_append_byte(out, '}');
    }
    tw_bytes_append_byte(out, ']');
}

static void write_json(const tw_registers *r, tw_bytes *out)
{
    tw_bytes_append_string(out, "{\"module_blake3\":\"");
    write_hash(r, out);
    tw_bytes_append_string(out, "\",\"max_memory\":");
    write_exact(r->max_memory, out);
    tw_bytes_printf(out, ",\"mutable_globals\":%" PRIu32 ",\"tables\":[", r->global_count);
    for (uint32_t i = 0; i < r->table_count; i++) tw_bytes_printf(out, "%s%" PRIu32, i ? "," : "", r->tables[i].size);
    tw_bytes_printf(out, "],\"droppable_segments\":%" PRIu32 ",\"dropped_segments\":%" PRIu32 ",\"wasi\":%s", r->drop_count, dropped(r),
                    r->has_wasi ? "true" : "false");
    write_json_list("arguments", &r->args, out);
    write_json_names(&r->env, out);
    write_json_list("folders", &r->dirs, out);
    write_json_buffers(r, out);
    tw_bytes_append_byte(out, '}');
}

/* ---- the call ---- */

tw_status tw_snapshot_describe(const tw_snapshot *snapshot, tw_format format, char **text, tw_error *error)
{
    if (!snapshot || !text) return tw_fail(error, TW_INVALID_ARGUMENT, "tw_snapshot_describe: a required pointer is NULL");
    tw_arena arena;
    tw_registers r;
    tw_bytes out = {0};
    tw_arena_init(&arena, TW_ARENA_NO_LIMIT);
    tw_status status = tw_registers_read(snapshot->registers, &arena, &r, error);
    if (status == TW_OK && format == TW_FORMAT_JSON) write_json(&r, &out);
    else if (status == TW_OK) write_text(&r, &out);
    tw_arena_free(&arena);
    char *made = status == TW_OK ? tw_bytes_take(&out, NULL) : NULL;
    tw_bytes_free(&out);
    if (status == TW_OK) TW_TRY_ALLOC(made, error);
    if (status == TW_OK) *text = made;
    return status;
}
