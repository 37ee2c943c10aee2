/* SPDX-License-Identifier: Apache-2.0 */
/* A memory as groups of pages, each group a zstd frame of its own: so threads share the work, and the bytes don't depend on how.
 * Pages that are all zero aren't written. A group of 1 MiB is where one frame for everything would win next to nothing. */
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>
#include <zstd.h>

#include "snapshot/archive.h"
#include "snapshot/crew.h"
#include "snapshot/little.h"

enum { PAGE = 64 << 10, GROUP_PAGES = 16, GROUP = PAGE * GROUP_PAGES, ROW = 8 };

typedef struct group {
    uint8_t *frame; /* writing: malloc'd; reading: in the body */
    uint32_t length;
    uint16_t pages;
    bool no_memory;
    const char *wrong; /* reading: what is wrong with it; static */
} group;

typedef struct job {
    uint8_t *memory; /* only read when writing */
    size_t size;
    int level;
    group *groups;
} job;

static size_t groups_of(size_t size)
{
    return size / GROUP + (size % GROUP != 0);
}

/* The pages of group `index`, and the bytes of one of them: the last page of a memory may be short. */
static size_t pages_in(const job *j, size_t index)
{
    size_t left = j->size - index * GROUP;
    return left >= GROUP ? GROUP_PAGES : left / PAGE + (left % PAGE != 0);
}

static size_t page_size(const job *j, size_t index, size_t page)
{
    size_t left = j->size - index * GROUP - page * PAGE;
    return left < PAGE ? left : PAGE;
}

static size_t bytes_of(const job *j, size_t index, uint16_t pages)
{
    size_t bytes = 0;
    for (size_t page = 0; page < GROUP_PAGES; page++)
        if (pages >> page & 1) bytes += page_size(j, index, page);
    return bytes;
}

/* One run of neighbouring pages: then the frame's content is the memory's bytes as they lie there. */
static bool is_run(uint16_t pages)
{
    unsigned low = pages & -(unsigned)pages;
    return ((pages + low) & pages) == 0;
}

static uint8_t *first_page(const job *j, size_t index, uint16_t pages)
{
    return j->memory + index * GROUP + (size_t)__builtin_ctz(pages) * PAGE;
}

/* ---- writing ---- */

static bool is_zero(const uint8_t *bytes, size_t size)
{
    return bytes[0] == 0 && memcmp(bytes, bytes + 1, size - 1) == 0;
}

static uint16_t find_pages(const job *j, size_t index)
{
    unsigned pages = 0;
    for (size_t page = 0; page < pages_in(j, index); page++)
        if (!is_zero(j->memory + index * GROUP + page * PAGE, page_size(j, index, page))) pages |= 1u << page;
    return (uint16_t)pages;
}

static void gather(const job *j, size_t index, uint16_t pages, uint8_t *out)
{
    for (size_t page = 0; page < GROUP_PAGES; page++) {
        if (!(pages >> page & 1)) continue;
        size_t size = page_size(j, index, page);
        memcpy(out, j->memory + index * GROUP + page * PAGE, size);
        out += size;
    }
}

static void compress_group(const job *j, size_t index, ZSTD_CCtx *context, uint8_t *scratch, uint8_t *room,
                           size_t room_size)
{
    group *g = &j->groups[index];
    g->pages = find_pages(j, index);
    if (!g->pages) return;
    const uint8_t *from = scratch;
    if (is_run(g->pages)) from = first_page(j, index, g->pages);
    else gather(j, index, g->pages, scratch);
    size_t length = ZSTD_compress2(context, room, room_size, from, bytes_of(j, index, g->pages));
    g->frame = ZSTD_isError(length) ? NULL : malloc(length);
    g->no_memory = !g->frame;
    if (!g->frame) return;
    memcpy(g->frame, room, length);
    g->length = (uint32_t)length;
}

static void compress_groups(tw_snap_crew *crew)
{
    const job *j = crew->context;
    size_t index, room_size = ZSTD_compressBound(GROUP);
    ZSTD_CCtx *context = ZSTD_createCCtx();
    uint8_t *scratch = malloc(GROUP), *room = malloc(room_size);
    bool ready = context && scratch && room;
    if (ready) ZSTD_CCtx_setParameter(context, ZSTD_c_compressionLevel, j->level);
    while (tw_snap_crew_take(crew, &index)) {
        if (ready) compress_group(j, index, context, scratch, room, room_size);
        else j->groups[index].no_memory = true;
    }
    ZSTD_freeCCtx(context);
    free(scratch);
    free(room);
}

static void append_groups(const group *groups, size_t count, tw_bytes *out)
{
    for (size_t i = 0; i < count; i++) {
        uint8_t row[ROW] = {0};
        tw_put_little32(tw_put_little32(row, groups[i].length), groups[i].pages);
        tw_bytes_append(out, row, sizeof row);
    }
    for (size_t i = 0; i < count; i++)
        if (groups[i].length) tw_bytes_append(out, groups[i].frame, groups[i].length);
}

tw_status tw_archive_pages_write(tw_span memory, int level, uint32_t threads, tw_bytes *out, tw_error *error)
{
    size_t count = groups_of(memory.size);
    bool complete = true;
    if (!count) return TW_OK;
    job j = {(uint8_t *)(uintptr_t)memory.data, memory.size, level, calloc(count, sizeof(group))};
    TW_TRY_ALLOC(j.groups, error);
    tw_snap_crew crew = {.count = count, .work = compress_groups, .context = &j};
    tw_snap_crew_run(&crew, threads);
    for (size_t i = 0; i < count; i++) complete &= !j.groups[i].no_memory;
    if (complete) append_groups(j.groups, count, out);
    for (size_t i = 0; i < count; i++) free(j.groups[i].frame);
    free(j.groups);
    return complete && !out->failed ? TW_OK : tw_fail_memory(error);
}

/* ---- reading ---- */

static void scatter(const job *j, size_t index, uint16_t pages, const uint8_t *from)
{
    for (size_t page = 0; page < GROUP_PAGES; page++) {
        if (!(pages >> page & 1)) continue;
        size_t size = page_size(j, index, page);
        memcpy(j->memory + index * GROUP + page * PAGE, from, size);
        from += size;
    }
}

static void decompress_group(const job *j, size_t index, ZSTD_DCtx *context, uint8_t *scratch)
{
    group *g = &j->groups[index];
    if (!g->pages) return;
    size_t size = bytes_of(j, index, g->pages);
    bool run = is_run(g->pages);
    uint8_t *to = run ? first_page(j, index, g->pages) : scratch;
    if (ZSTD_findFrameCompressedSize(g->frame, g->length) != g->length) {
        g->wrong = "isn't one zstd frame";
        return;
    }
    size_t got = ZSTD_decompressDCtx(context, to, size, g->frame, g->length);
    if (ZSTD_isError(got)) g->wrong = ZSTD_getErrorName(got);
    else if (got != size) g->wrong = "has less in it than its pages";
    else if (!run) scatter(j, index, g->pages, scratch);
}

static void decompress_groups(tw_snap_crew *crew)
{
    const job *j = crew->context;
    size_t index;
    ZSTD_DCtx *context = ZSTD_createDCtx();
    uint8_t *scratch = malloc(GROUP);
    while (tw_snap_crew_take(crew, &index)) {
        if (context && scratch) decompress_group(j, index, context, scratch);
        else j->groups[index].no_memory = true;
    }
    ZSTD_freeDCtx(context);
    free(scratch);
}

/* A row is one that a writer could have made; and moves *at behind its frame. */
static bool read_row(const job *j, size_t index, tw_span body, size_t *at)
{
    group *g = &j->groups[index];
    const uint8_t *row = body.data + index * ROW;
    uint32_t pages = tw_little32(row + 4);
    g->length = tw_little32(row);
    g->pages = (uint16_t)pages;
    g->frame = (uint8_t *)(uintptr_t)body.data + *at;
    if (pages >> pages_in(j, index) || !g->pages != !g->length || g->length > body.size - *at) return false;
    *at += g->length;
    return true;
}

static tw_status read_rows(const job *j, size_t count, tw_span body, tw_snap_why *why)
{
    size_t at = count * ROW;
    for (size_t i = 0; i < count; i++)
        if (!read_row(j, i, body, &at))
            return tw_snap_refuse(why, TW_SNAPSHOT_CLASS_FORMAT, "the table of pages is wrong for group %zu", i);
    if (at != body.size)
        return tw_snap_refuse(why, TW_SNAPSHOT_CLASS_FORMAT, "%zu bytes stand behind the last group of pages",
                              body.size - at);
    return TW_OK;
}

static tw_status first_wrong(const group *groups, size_t count, tw_snap_why *why)
{
    for (size_t i = 0; i < count; i++) {
        if (groups[i].no_memory) return tw_fail_memory(why->error);
        if (groups[i].wrong)
            return tw_snap_refuse(why, TW_SNAPSHOT_CLASS_FORMAT, "group %zu of pages can't be decompressed: %s", i,
                                  groups[i].wrong);
    }
    return TW_OK;
}

tw_status tw_archive_pages_read(tw_span body, uint8_t *memory, size_t size, uint32_t threads, tw_snap_why *why)
{
    size_t count = groups_of(size);
    if (body.size / ROW < count)
        return tw_snap_refuse(why, TW_SNAPSHOT_CLASS_FORMAT, "%zu bytes are too few for %zu groups of pages", body.size,
                              count);
    if (!count && !body.size) return TW_OK;
    job j = {memory, size, 0, calloc(count ? count : 1, sizeof(group))};
    TW_TRY_ALLOC(j.groups, why->error);
    tw_status status = read_rows(&j, count, body, why);
    if (!status) {
        tw_snap_crew crew = {.count = count, .work = decompress_groups, .context = &j};
        tw_snap_crew_run(&crew, threads);
        status = first_wrong(j.groups, count, why);
    }
    free(j.groups);
    return status;
}
