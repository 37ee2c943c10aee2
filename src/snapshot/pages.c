/* SPDX-License-Identifier: Apache-2.0 */
/* A memory as groups of pages, each group a zstd frame of its own: so threads share the work, and the bytes don't depend on how.
 * Pages that are all zero aren't written. A group of 1 MiB is where one frame for everything would win next to nothing. */
#include <pthread.h>
#include <stdlib.h>
#include <string.h>
#include <zstd.h>

#include "base/bytes.h"
#include "base/crew.h"
#include "os/machine.h"
#include "snapshot/archive.h"
#include "snapshot/little.h"

enum { PAGE = 64 << 10, GROUP_PAGES = 16, GROUP = PAGE * GROUP_PAGES, ROW = 8 };

/* A group to be read. */
typedef struct group {
    const uint8_t *frame; /* in the body */
    uint32_t length;
    uint16_t pages;
    bool no_memory;
    const char *wrong; /* what is wrong with it; static */
} group;

typedef struct job {
    uint8_t *memory; /* only read when writing */
    size_t size;
    group *groups; /* reading */
    /* writing */
    int level;
    tw_bytes *out;
    size_t rows;          /* where they begin in out */
    pthread_mutex_t lock; /* of out, and of what follows */
    pthread_cond_t turned;
    size_t turn; /* the group whose frame is the next in out */
    bool no_memory;
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

static uint16_t find_pages(const job *j, size_t index)
{
    unsigned pages = 0;
    for (size_t page = 0; page < pages_in(j, index); page++)
        if (!tw_is_zero(j->memory + index * GROUP + page * PAGE, page_size(j, index, page))) pages |= 1u << page;
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

/* What a thread works with. */
typedef struct desk {
    ZSTD_CCtx *context;
    uint8_t *scratch, *room;
    size_t room_size;
} desk;

static bool desk_make(desk *d, int level)
{
    *d = (desk){ZSTD_createCCtx(), malloc(GROUP), malloc(ZSTD_compressBound(GROUP)), ZSTD_compressBound(GROUP)};
    if (d->context) ZSTD_CCtx_setParameter(d->context, ZSTD_c_compressionLevel, level);
    return d->context && d->scratch && d->room;
}

static void desk_clear(desk *d)
{
    ZSTD_freeCCtx(d->context);
    free(d->scratch);
    free(d->room);
}

/* The frame's length; false when there is no memory for it. */
static bool compress_group(const job *j, size_t index, const desk *d, uint16_t pages, size_t *length)
{
    const uint8_t *from = d->scratch;
    *length = 0;
    if (!pages) return true;
    if (is_run(pages)) from = first_page(j, index, pages);
    else gather(j, index, pages, d->scratch);
    *length = ZSTD_compress2(d->context, d->room, d->room_size, from, bytes_of(j, index, pages));
    return !ZSTD_isError(*length);
}

/* Frames stand in the order of their groups: each thread waits until it is its group's turn. It always comes, since the threads
 * take numbers in order and each that has one gets here. */
static void append_in_turn(job *j, size_t index, const desk *d, uint16_t pages, size_t length, bool good)
{
    pthread_mutex_lock(&j->lock);
    while (j->turn != index) pthread_cond_wait(&j->turned, &j->lock);
    if (good) tw_bytes_append(j->out, d->room, length);
    if (good && !j->out->failed)
        tw_put_little32(tw_put_little32((uint8_t *)j->out->data + j->rows + index * ROW, (uint32_t)length), pages);
    j->no_memory |= !good || j->out->failed;
    j->turn++;
    pthread_cond_broadcast(&j->turned);
    pthread_mutex_unlock(&j->lock);
}

static void compress_groups(tw_crew *crew)
{
    job *j = crew->context;
    desk d;
    size_t index, length = 0;
    bool ready = desk_make(&d, j->level);
    while (tw_crew_take(crew, &index)) {
        uint16_t pages = find_pages(j, index);
        bool good = ready && compress_group(j, index, &d, pages, &length);
        append_in_turn(j, index, &d, pages, length, good);
    }
    desk_clear(&d);
}

static void append_empty_rows(size_t count, tw_bytes *out)
{
    static const uint8_t row[ROW];
    for (size_t i = 0; i < count; i++) tw_bytes_append(out, row, sizeof row);
}

tw_status tw_archive_pages_write(tw_span memory, int level, uint32_t threads, tw_bytes *out, tw_error *error)
{
    job j = {.memory = (uint8_t *)(uintptr_t)memory.data,
             .size = memory.size,
             .level = level,
             .out = out,
             .rows = out->size};
    size_t count = groups_of(memory.size);
    append_empty_rows(count, out);
    if (out->failed) return tw_fail_memory(error);
    pthread_mutex_init(&j.lock, NULL);
    pthread_cond_init(&j.turned, NULL);
    tw_crew crew = {.count = count, .work = compress_groups, .context = &j};
    if (count) tw_crew_run(&crew, threads ? threads : tw_machine_processors());
    pthread_cond_destroy(&j.turned);
    pthread_mutex_destroy(&j.lock);
    return j.no_memory ? tw_fail_memory(error) : TW_OK;
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

static void decompress_groups(tw_crew *crew)
{
    const job *j = crew->context;
    size_t index;
    ZSTD_DCtx *context = ZSTD_createDCtx();
    uint8_t *scratch = malloc(GROUP);
    while (tw_crew_take(crew, &index)) {
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
    g->frame = body.data + *at;
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

static void tell_present(const group *groups, size_t count, uint8_t *present)
{
    for (size_t i = 0; present && i < count; i++) {
        present[2 * i] = (uint8_t)groups[i].pages;
        present[2 * i + 1] = (uint8_t)(groups[i].pages >> 8);
    }
}

tw_status tw_archive_pages_read(tw_span body, uint8_t *memory, size_t size, uint32_t threads, uint8_t *present, tw_snap_why *why)
{
    size_t count = groups_of(size);
    if (body.size / ROW < count)
        return tw_snap_refuse(why, TW_SNAPSHOT_CLASS_FORMAT, "%zu bytes are too few for %zu groups of pages", body.size,
                              count);
    if (!count && !body.size) return TW_OK;
    job j = {.memory = memory, .size = size, .groups = calloc(count ? count : 1, sizeof(group))};
    TW_TRY_ALLOC(j.groups, why->error);
    tw_status status = read_rows(&j, count, body, why);
    if (!status) {
        tw_crew crew = {.count = count, .work = decompress_groups, .context = &j};
        tw_crew_run(&crew, threads ? threads : tw_machine_processors());
        status = first_wrong(j.groups, count, why);
        tell_present(j.groups, count, present);
    }
    free(j.groups);
    return status;
}
