/* SPDX-License-Identifier: Apache-2.0 */
#include "snapshot/registers.h"

#include <string.h>

#include "blake3/blake3.h"
#include "snapshot/little.h"

_Static_assert((int)TW_REGISTERS_HASH == (int)TW_BLAKE3_SIZE, "it is BLAKE3's");

void tw_registers_hash(tw_span module, uint8_t hash[TW_REGISTERS_HASH])
{
    tw_blake3 state;
    tw_blake3_start(&state);
    tw_blake3_add(&state, module.data, module.size);
    tw_blake3_end(&state, hash);
}

/* ---- writing ---- */

static void put32(tw_bytes *out, uint32_t value)
{
    uint8_t bytes[4];
    tw_put_little32(bytes, value);
    tw_bytes_append(out, bytes, sizeof bytes);
}

static void put64(tw_bytes *out, uint64_t value)
{
    uint8_t bytes[8];
    tw_put_little64(bytes, value);
    tw_bytes_append(out, bytes, sizeof bytes);
}

static void write_globals(const tw_registers *from, tw_bytes *out)
{
    put32(out, from->global_count);
    for (uint32_t i = 0; i < from->global_count; i++) {
        put32(out, from->globals[i].index);
        tw_bytes_append_byte(out, from->globals[i].type);
        tw_bytes_append(out, from->globals[i].value, TW_REGISTERS_VALUE);
    }
}

static void write_tables(const tw_registers *from, tw_bytes *out)
{
    put32(out, from->table_count);
    for (uint32_t i = 0; i < from->table_count; i++) {
        put32(out, from->tables[i].index);
        put32(out, from->tables[i].size);
        for (uint32_t j = 0; j < from->tables[i].size; j++) put32(out, from->tables[i].funcs[j]);
    }
}

static uint32_t words_of(uint32_t bits) { return bits / 64 + (bits % 64 != 0); }

static void write_drops(const tw_registers *from, tw_bytes *out)
{
    put32(out, from->drop_count);
    for (uint32_t i = 0; i < words_of(from->drop_count); i++) put64(out, from->drops[i]);
}

static void write_string(const char *text, tw_bytes *out)
{
    put32(out, (uint32_t)strlen(text));
    tw_bytes_append_string(out, text);
}

static void write_strings(const tw_registers_strings *strings, tw_bytes *out)
{
    put32(out, strings->count);
    for (uint32_t i = 0; i < strings->count; i++) write_string(strings->items[i], out);
}

static void write_wasi(const tw_registers *from, tw_bytes *out)
{
    tw_bytes_append_byte(out, from->has_wasi);
    if (!from->has_wasi) return;
    write_strings(&from->args, out);
    write_strings(&from->env, out);
    write_strings(&from->dirs, out);
}

static void write_buffers(const tw_registers *from, tw_bytes *out)
{
    put32(out, from->buffer_count);
    for (uint32_t i = 0; i < from->buffer_count; i++) {
        write_string(from->buffers[i].name, out);
        write_string(from->buffers[i].backend, out);
        put64(out, from->buffers[i].size);
    }
}

void tw_registers_write(const tw_registers *from, tw_bytes *out)
{
    put32(out, TW_REGISTERS_TAG);
    put32(out, from->buffer_count ? TW_REGISTERS_VERSION_BUFFERS : TW_REGISTERS_VERSION);
    tw_bytes_append(out, from->module_hash, TW_REGISTERS_HASH);
    put64(out, from->memory_size);
    put64(out, from->max_memory);
    write_globals(from, out);
    write_tables(from, out);
    write_drops(from, out);
    write_wasi(from, out);
    if (from->buffer_count) write_buffers(from, out);
}

/* ---- reading ---- */

typedef struct reader {
    const uint8_t *at;
    size_t left;
    uint32_t version;
    tw_arena *arena;
    tw_error *error;
} reader;

static tw_status malformed(const reader *r, const char *what)
{
    return tw_fail(r->error, TW_MALFORMED, "the snapshot's registers are malformed: %s", what);
}

static tw_status cut_off(const reader *r) { return malformed(r, "they are cut off"); }

/* The next `size` bytes, or NULL when there are fewer. */
static const uint8_t *take(reader *r, size_t size)
{
    if (size > r->left) return NULL;
    const uint8_t *at = r->at;
    r->at += size;
    r->left -= size;
    return at;
}

static tw_status take32(reader *r, uint32_t *out)
{
    const uint8_t *at = take(r, 4);
    if (!at) return cut_off(r);
    *out = tw_little32(at);
    return TW_OK;
}

static tw_status take64(reader *r, uint64_t *out)
{
    const uint8_t *at = take(r, 8);
    if (!at) return cut_off(r);
    *out = tw_little64(at);
    return TW_OK;
}

/* A count of things of at least `least` bytes each: bounded by what is there, before anything is allocated. */
static tw_status take_count(reader *r, size_t least, uint32_t *out)
{
    TW_TRY(take32(r, out));
    return *out > r->left / least ? malformed(r, "a list is longer than they are") : TW_OK;
}

static tw_status read_head(reader *r, tw_registers *out)
{
    uint32_t tag = 0;
    TW_TRY(take32(r, &tag));
    TW_TRY(take32(r, &r->version));
    if (tag != TW_REGISTERS_TAG) return malformed(r, "they don't begin with TWRG: is it a snapshot of an instance?");
    if (r->version != TW_REGISTERS_VERSION && r->version != TW_REGISTERS_VERSION_BUFFERS)
        return tw_fail(r->error, TW_UNSUPPORTED, "the snapshot's registers have version %u: this reader knows 1 and 2", r->version);
    const uint8_t *hash = take(r, TW_REGISTERS_HASH);
    if (!hash) return cut_off(r);
    memcpy(out->module_hash, hash, TW_REGISTERS_HASH);
    TW_TRY(take64(r, &out->memory_size));
    return take64(r, &out->max_memory);
}

static tw_status read_globals(reader *r, tw_registers *out)
{
    TW_TRY(take_count(r, 5 + TW_REGISTERS_VALUE, &out->global_count));
    tw_registers_global *globals = TW_NEW_ARRAY(r->arena, tw_registers_global, out->global_count);
    TW_TRY_ALLOC(globals, r->error);
    for (uint32_t i = 0; i < out->global_count; i++) {
        TW_TRY(take32(r, &globals[i].index));
        const uint8_t *rest = take(r, 1 + TW_REGISTERS_VALUE);
        if (!rest) return cut_off(r);
        globals[i].type = rest[0];
        memcpy(globals[i].value, rest + 1, TW_REGISTERS_VALUE);
        if (i && globals[i].index <= globals[i - 1].index) return malformed(r, "globals out of order");
    }
    out->globals = globals;
    return TW_OK;
}

static tw_status read_table(reader *r, tw_registers_table *table)
{
    TW_TRY(take32(r, &table->index));
    TW_TRY(take_count(r, 4, &table->size));
    uint32_t *funcs = TW_NEW_ARRAY(r->arena, uint32_t, table->size);
    TW_TRY_ALLOC(funcs, r->error);
    for (uint32_t i = 0; i < table->size; i++) TW_TRY(take32(r, &funcs[i]));
    table->funcs = funcs;
    return TW_OK;
}

static tw_status read_tables(reader *r, tw_registers *out)
{
    TW_TRY(take_count(r, 8, &out->table_count));
    tw_registers_table *tables = TW_NEW_ARRAY(r->arena, tw_registers_table, out->table_count);
    TW_TRY_ALLOC(tables, r->error);
    for (uint32_t i = 0; i < out->table_count; i++) {
        TW_TRY(read_table(r, &tables[i]));
        if (i && tables[i].index <= tables[i - 1].index) return malformed(r, "tables out of order");
    }
    out->tables = tables;
    return TW_OK;
}

static tw_status read_drops(reader *r, tw_registers *out)
{
    TW_TRY(take32(r, &out->drop_count));
    uint32_t words = words_of(out->drop_count);
    if (words > r->left / 8) return cut_off(r);
    uint64_t *drops = TW_NEW_ARRAY(r->arena, uint64_t, words);
    TW_TRY_ALLOC(drops, r->error);
    for (uint32_t i = 0; i < words; i++) TW_TRY(take64(r, &drops[i]));
    if (out->drop_count % 64 && drops[words - 1] >> out->drop_count % 64) return malformed(r, "drops of segments that aren't there");
    out->drops = drops;
    return TW_OK;
}

static tw_status read_string(reader *r, const char **out)
{
    uint32_t size = 0;
    TW_TRY(take32(r, &size));
    const uint8_t *bytes = take(r, size);
    if (!bytes) return cut_off(r);
    if (size && memchr(bytes, 0, size)) return malformed(r, "a string with a zero in it");
    *out = tw_arena_string(r->arena, (const char *)bytes, size);
    TW_TRY_ALLOC(*out, r->error);
    return TW_OK;
}

static tw_status read_strings(reader *r, tw_registers_strings *out)
{
    TW_TRY(take_count(r, 4, &out->count));
    const char **items = TW_NEW_ARRAY(r->arena, const char *, out->count);
    TW_TRY_ALLOC(items, r->error);
    for (uint32_t i = 0; i < out->count; i++) TW_TRY(read_string(r, &items[i]));
    out->items = items;
    return TW_OK;
}

static tw_status read_wasi(reader *r, tw_registers *out)
{
    const uint8_t *has = take(r, 1);
    if (!has) return cut_off(r);
    if (*has > 1) return malformed(r, "neither with nor without WASI");
    out->has_wasi = *has;
    if (!out->has_wasi) return TW_OK;
    TW_TRY(read_strings(r, &out->args));
    TW_TRY(read_strings(r, &out->env));
    return read_strings(r, &out->dirs);
}

static bool is_named_before(const tw_registers_buffer *buffers, uint32_t at)
{
    for (uint32_t i = 0; i < at; i++)
        if (!strcmp(buffers[i].name, buffers[at].name)) return true;
    return false;
}

static tw_status read_buffer(reader *r, tw_registers_buffer *buffers, uint32_t at)
{
    TW_TRY(read_string(r, &buffers[at].name));
    TW_TRY(read_string(r, &buffers[at].backend));
    TW_TRY(take64(r, &buffers[at].size));
    if (!*buffers[at].name || !*buffers[at].backend || !buffers[at].size) return malformed(r, "a buffer without a name, a backend or bytes");
    return is_named_before(buffers, at) ? malformed(r, "two buffers of one name") : TW_OK;
}

static tw_status read_buffers(reader *r, tw_registers *out)
{
    TW_TRY(take_count(r, 16, &out->buffer_count));
    if (!out->buffer_count) return malformed(r, "version 2 without buffers");
    if (out->buffer_count > TW_REGISTERS_MAX_BUFFERS)
        return tw_fail(r->error, TW_LIMIT, "the snapshot has %u buffers, over the limit of %d", out->buffer_count, TW_REGISTERS_MAX_BUFFERS);
    tw_registers_buffer *buffers = TW_NEW_ARRAY(r->arena, tw_registers_buffer, out->buffer_count);
    TW_TRY_ALLOC(buffers, r->error);
    for (uint32_t i = 0; i < out->buffer_count; i++) TW_TRY(read_buffer(r, buffers, i));
    out->buffers = buffers;
    return TW_OK;
}

tw_status tw_registers_read(tw_span blob, tw_arena *arena, tw_registers *out, tw_error *error)
{
    reader r = {.at = blob.data, .left = blob.size, .arena = arena, .error = error};
    *out = (tw_registers){0};
    TW_TRY(read_head(&r, out));
    TW_TRY(read_globals(&r, out));
    TW_TRY(read_tables(&r, out));
    TW_TRY(read_drops(&r, out));
    TW_TRY(read_wasi(&r, out));
    if (r.version == TW_REGISTERS_VERSION_BUFFERS) TW_TRY(read_buffers(&r, out));
    return r.left ? malformed(&r, "there is more behind their end") : TW_OK;
}
