/* SPDX-License-Identifier: Apache-2.0 */
/* In this order: what kind of image it is, the reader's demands on that, the signature of header and table, their hash, the table,
 * the small bodies by their hashes, the base, then every block by its own. A file is read with pread, never mapped while it can
 * change: what is checked is the copy that is used (docs/decisions/0015-images-are-copied-or-trusted.md). */
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <sodium.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "base/crew.h"
#include "os/machine.h"
#include "snapshot/image.h"
#include "snapshot/little.h"
#include "snapshot/snapshot.h"

enum { CHUNK_BLOCKS = 4, CHUNK = CHUNK_BLOCKS * TW_SNAP_BLOCK, ALIGN = 64, PAGE = 4096 };

typedef enum wrong { WRONG_NOT, WRONG_HASH, WRONG_FILE, WRONG_COPY, WRONG_MEMORY } wrong;

/* Neighbouring blocks of one memory, at most CHUNK bytes. */
typedef struct chunk {
    size_t memory; /* 0 wasm, 1 device */
    uint64_t at, in_file, size;
    uint64_t first_hash;
    wrong wrong;
} chunk;

typedef struct memory {
    uint64_t size;
    tw_snap_run *runs;
    uint32_t run_count;
    uint64_t length, blocks; /* in the file */
    uint8_t *to;             /* where its bytes go; NULL: into the copy, if there is one */
} memory;

typedef struct image {
    tw_envelope e;
    const tw_image_source *source;
    tw_snap_storage *storage;
    uint8_t front[TW_ENVELOPE_MOST];
    uint32_t depth;
    memory memories[2];
    uint8_t *hashes;
    chunk *chunks;
    size_t chunk_count;
    uint64_t first_page; /* where the copied part of the file begins */
    int copy;            /* -1: none */
    bool trusts;         /* wasm memory isn't looked at */
    uint8_t *registers;  /* in the heap */
} image;

bool tw_image_is(tw_span file)
{
    return tw_envelope_is(&tw_image_form, file);
}

void tw_snap_storage_free(tw_snap_storage *storage)
{
    free(storage->heap);
    free(storage->registers);
    free(storage->present);
    free(storage->backing.runs);
    if (storage->view) munmap(storage->view, storage->view_size);
    for (uint32_t f = 0; f < storage->backing.file_count; f++) close(storage->backing.files[f]);
    *storage = (tw_snap_storage){0};
}

/* Whole groups of an archive, of 16 blocks. */
size_t tw_snap_present_size(uint64_t size)
{
    return (size_t)(size / TW_SNAP_BLOCK / 16 + 1) * 2;
}

/* ---- bytes of the source ---- */

static bool pread_whole(int file, uint8_t *to, size_t size, uint64_t at)
{
    while (size) {
        ssize_t got = pread(file, to, size, (off_t)at);
        if (got < 0 && errno == EINTR) continue;
        if (got <= 0) return false;
        to += got, at += (uint64_t)got, size -= (size_t)got;
    }
    return true;
}

static bool pwrite_whole(int file, const uint8_t *bytes, size_t size, uint64_t at)
{
    while (size) {
        ssize_t put = pwrite(file, bytes, size, (off_t)at);
        if (put < 0 && errno == EINTR) continue;
        if (put <= 0) return false;
        bytes += put, at += (uint64_t)put, size -= (size_t)put;
    }
    return true;
}

/* Bytes that lie within source->size; copied to `room`, or where they are. NULL: the file can't be read, or is shorter by now. */
static const uint8_t *get(const tw_image_source *source, uint64_t at, size_t size, uint8_t *room)
{
    if (source->file < 0) return source->bytes.data + at;
    return pread_whole(source->file, room, size, at) ? room : NULL;
}

static tw_status cant_read(const image *i)
{
    return tw_fail(i->e.why->error, TW_IO, "the image can't be read, or has become shorter: %s", errno ? strerror(errno) : "end of file");
}

static tw_status refuse(const image *i, const char *what)
{
    return tw_snap_refuse(i->e.why, TW_SNAPSHOT_CLASS_FORMAT, "%s", what);
}

/* ---- the front ---- */

static tw_status read_front(image *i)
{
    tw_envelope *e = &i->e;
    size_t size = i->source->size < sizeof i->front ? (size_t)i->source->size : sizeof i->front;
    errno = 0;
    const uint8_t *front = get(i->source, 0, size, i->front);
    if (!front) return cant_read(i);
    e->front = (tw_span){front, size};
    TW_TRY(tw_envelope_read_kind(e));
    if (e->options->aead_key)
        return tw_snap_refuse(e->why, TW_SNAPSHOT_CLASS_AEAD, "it is not encrypted, and the reader takes encrypted files only");
    TW_TRY(tw_envelope_verify(e));
    const uint8_t *head = e->front.data;
    e->out->has_base = e->flags & TW_IMAGE_INCREMENTAL;
    e->out->depth = tw_little32(head + TW_IMAGE_DEPTH_AT);
    memcpy(e->out->base, head + TW_IMAGE_BASE_AT, TW_ENVELOPE_HASH);
    if (!sodium_is_zero(head + 28, 4) || e->out->has_base != (e->out->depth != 0) ||
        (!e->out->has_base && !sodium_is_zero(e->out->base, TW_ENVELOPE_HASH)))
        return refuse(i, "bytes of the header that must be zero aren't, or the depth isn't one");
    return TW_OK;
}

static uint64_t page_offset(uint64_t at, uint64_t length)
{
    return length ? (at + TW_SNAP_BLOCK - 1) / TW_SNAP_BLOCK * TW_SNAP_BLOCK : at;
}

/* An entry's length isn't known before it is read: where the next begins follows from it. */
static tw_status read_table(image *i)
{
    tw_envelope *e = &i->e;
    uint64_t offset = e->bodies;
    for (size_t s = 0; s < TW_IMAGE_SECTIONS; s++) {
        const uint8_t *raw = e->front.data + TW_ENVELOPE_HEAD + s * TW_ENVELOPE_ENTRY;
        if (s >= TW_IMAGE_PAGES) offset = page_offset(offset, tw_little64(raw + 16));
        TW_TRY(tw_envelope_read_entry(e, s, offset));
        offset += e->entries[s].length;
        if (s >= TW_IMAGE_PAGES && (e->entries[s].size != e->entries[s].length || !sodium_is_zero(raw + TW_ENVELOPE_HASH_AT, TW_ENVELOPE_HASH)))
            return refuse(i, "the table says of pages what isn't so");
    }
    TW_TRY(tw_envelope_end(e, offset));
    const uint64_t sizes[] = {e->entries[TW_IMAGE_RUNS].size, e->entries[TW_IMAGE_RUNS + 1].size, e->entries[TW_IMAGE_REGISTERS].size};
    TW_TRY(tw_envelope_check_sizes(e, sizes));
    for (size_t m = 0; m < 2; m++) i->memories[m].size = sizes[m];
    return TW_OK;
}

/* ---- small bodies ---- */

static tw_status read_meta(image *i)
{
    uint8_t room[TW_ENVELOPE_META];
    const tw_envelope_entry *entry = &i->e.entries[TW_IMAGE_META];
    if (entry->length != sizeof room) return refuse(i, "the metadata isn't built as it should be");
    const uint8_t *body = get(i->source, entry->offset, sizeof room, room);
    if (!body) return cant_read(i);
    TW_TRY(tw_envelope_check_body(&i->e, TW_IMAGE_META, (tw_span){body, sizeof room}));
    return tw_envelope_read_meta(&i->e, (tw_span){body, sizeof room});
}

/* A body by its hash into memory of our own. */
static tw_status read_body(image *i, size_t section, uint8_t *to)
{
    const tw_envelope_entry *entry = &i->e.entries[section];
    const uint8_t *body = get(i->source, entry->offset, (size_t)entry->length, to);
    if (!body) return cant_read(i);
    if (body != to && entry->length) memcpy(to, body, (size_t)entry->length);
    return tw_envelope_check_body(&i->e, section, (tw_span){to, (size_t)entry->length});
}

static tw_status cut_run(image *i, memory *m, const uint8_t *row)
{
    uint64_t blocks = m->size / TW_SNAP_BLOCK + (m->size % TW_SNAP_BLOCK != 0), first = tw_little32(row), count = tw_little32(row + 4);
    const tw_snap_run *last = m->run_count ? &m->runs[m->run_count - 1] : NULL;
    uint64_t at = first * TW_SNAP_BLOCK, end = (first + count) * TW_SNAP_BLOCK;
    if (count == 0 || first + count > blocks || (last && at <= last->at + last->size))
        return refuse(i, "the table of a memory isn't in order, or goes beyond it");
    if (end > m->size) end = m->size;
    m->runs[m->run_count++] = (tw_snap_run){at, end - at, m->length, 0};
    m->length += end - at;
    m->blocks += count;
    return TW_OK;
}

static tw_status read_runs(image *i, size_t which)
{
    uint8_t rows[TW_SNAP_RUNS * TW_SNAP_RUN];
    size_t section = TW_IMAGE_RUNS + which;
    memory *m = &i->memories[which];
    const tw_envelope_entry *entry = &i->e.entries[section], *pages = &i->e.entries[TW_IMAGE_PAGES + which];
    if (entry->length > sizeof rows || entry->length % TW_SNAP_RUN) return refuse(i, "the table of a memory isn't built as it should be");
    TW_TRY(read_body(i, section, rows));
    m->runs = malloc(sizeof *m->runs * (entry->length / TW_SNAP_RUN + 1));
    TW_TRY_ALLOC(m->runs, i->e.why->error);
    for (size_t at = 0; at < entry->length; at += TW_SNAP_RUN) TW_TRY(cut_run(i, m, rows + at));
    if (m->length != pages->length) return refuse(i, "the pages of a memory aren't those of its table");
    for (uint32_t r = 0; r < m->run_count; r++) m->runs[r].in_file += pages->offset;
    return TW_OK;
}

static tw_status check_hash_count(const image *i)
{
    const tw_envelope_entry *entry = &i->e.entries[TW_IMAGE_HASHES];
    uint64_t blocks = i->memories[0].blocks + i->memories[1].blocks;
    if (entry->size == blocks && entry->length == blocks * TW_ENVELOPE_HASH) return TW_OK;
    return refuse(i, "there aren't as many hashes as blocks");
}

/* ---- the base ---- */

static tw_status check_base(const image *i)
{
    const tw_snapshot *s = i->e.out, *base = i->e.options->base;
    tw_snap_why *why = i->e.why;
    if (!s->has_base) return TW_OK;
    if (s->depth > TW_SNAPSHOT_MAX_DEPTH)
        return tw_snap_refuse(why, TW_SNAPSHOT_CLASS_LIMIT, "%" PRIu32 " files are below it; at most %d may be", s->depth, TW_SNAPSHOT_MAX_DEPTH);
    if (!base)
        return tw_snap_refuse(why, TW_SNAPSHOT_CLASS_BASE, "it holds only what differs from its base, the snapshot whose content hash begins with "
                              "%02x%02x%02x%02x, and the reader has none", s->base[0], s->base[1], s->base[2], s->base[3]);
    if (!base->has_content || sodium_memcmp(base->content, s->base, TW_ENVELOPE_HASH) || base->tenant != s->tenant || base->depth + 1 != s->depth)
        return tw_snap_refuse(why, TW_SNAPSHOT_CLASS_BASE, "its base is the snapshot whose content hash begins with %02x%02x%02x%02x; that of the "
                              "reader's begins with %02x%02x%02x%02x", s->base[0], s->base[1], s->base[2], s->base[3], base->content[0],
                              base->content[1], base->content[2], base->content[3]);
    return TW_OK;
}

/* ---- blocks ---- */

static tw_status make_chunks(image *i)
{
    uint64_t most = 0, hash = 0;
    for (size_t m = 0; m < 2; m++) most += i->memories[m].blocks / CHUNK_BLOCKS + i->memories[m].run_count;
    i->chunks = malloc(((size_t)most + 1) * sizeof *i->chunks);
    TW_TRY_ALLOC(i->chunks, i->e.why->error);
    for (size_t m = 0; m < 2; m++) {
        for (uint32_t r = 0; r < i->memories[m].run_count; r++) {
            const tw_snap_run *run = &i->memories[m].runs[r];
            for (uint64_t done = 0; done < run->size; done += CHUNK) {
                uint64_t size = run->size - done < CHUNK ? run->size - done : CHUNK;
                if (m > 0 || !i->trusts) i->chunks[i->chunk_count++] = (chunk){m, run->at + done, run->in_file + done, size, hash, WRONG_NOT};
                hash += (size + TW_SNAP_BLOCK - 1) / TW_SNAP_BLOCK;
            }
        }
    }
    return TW_OK;
}

static wrong take_block(const image *i, const chunk *c, const uint8_t *bytes, uint64_t done)
{
    size_t size = c->size - done < TW_SNAP_BLOCK ? (size_t)(c->size - done) : TW_SNAP_BLOCK;
    const uint8_t *wanted = i->hashes + (c->first_hash + done / TW_SNAP_BLOCK) * TW_ENVELOPE_HASH;
    const memory *m = &i->memories[c->memory];
    uint8_t hash[TW_ENVELOPE_HASH];
    bytes += done;
    bool zero = sodium_is_zero(wanted, TW_ENVELOPE_HASH);
    if (!zero) {
        tw_envelope_hash((tw_span){bytes, size}, (tw_span){NULL, 0}, hash);
        if (memcmp(hash, wanted, sizeof hash)) return WRONG_HASH;
    } else if (bytes[0] || memcmp(bytes, bytes + 1, size - 1)) {
        return WRONG_HASH;
    }
    if (m->to) memcpy(m->to + c->at + done, bytes, size);
    else if (i->copy >= 0 && !zero && !pwrite_whole(i->copy, bytes, size, c->in_file - i->first_page + done)) return WRONG_COPY;
    return WRONG_NOT;
}

static void take_chunks(tw_crew *crew)
{
    const image *i = crew->context;
    uint8_t *room = i->source->file >= 0 ? malloc(CHUNK) : NULL;
    size_t index;
    while (tw_crew_take(crew, &index)) {
        chunk *c = &i->chunks[index];
        const uint8_t *bytes = room || i->source->file < 0 ? get(i->source, c->in_file, (size_t)c->size, room) : NULL;
        c->wrong = bytes ? WRONG_NOT : i->source->file >= 0 && !room ? WRONG_MEMORY : WRONG_FILE;
        for (uint64_t done = 0; bytes && !c->wrong && done < c->size; done += TW_SNAP_BLOCK) c->wrong = take_block(i, c, bytes, done);
    }
    free(room);
}

static tw_status first_wrong(const image *i)
{
    for (size_t n = 0; n < i->chunk_count; n++) {
        const chunk *c = &i->chunks[n];
        switch (c->wrong) {
        case WRONG_NOT: break;
        case WRONG_MEMORY: return tw_fail_memory(i->e.why->error);
        case WRONG_FILE: errno = 0; return cant_read(i);
        case WRONG_COPY: return tw_fail(i->e.why->error, TW_LIMIT, "there is no memory for a copy of the image");
        case WRONG_HASH:
            return tw_snap_refuse(i->e.why, TW_SNAPSHOT_CLASS_HASH, "the hash of a block of %s in the %" PRIu64 " bytes from %" PRIu64 " on is another",
                                  i->e.form->names[TW_IMAGE_PAGES + c->memory], c->size, c->at);
        }
    }
    return TW_OK;
}

static tw_status check_padding(const image *i, uint64_t from, uint64_t to)
{
    uint8_t room[TW_SNAP_BLOCK];
    if (from == to) return TW_OK;
    const uint8_t *bytes = get(i->source, from, (size_t)(to - from), room);
    if (!bytes) return cant_read(i);
    return sodium_is_zero(bytes, (size_t)(to - from)) ? TW_OK : refuse(i, "bytes before the pages that must be zero aren't");
}

static tw_status take_blocks(image *i)
{
    const tw_envelope_entry *e = i->e.entries;
    uint32_t threads = i->e.options->threads;
    for (size_t s = TW_IMAGE_PAGES; s < TW_IMAGE_SECTIONS; s++) TW_TRY(check_padding(i, e[s - 1].offset + e[s - 1].length, e[s].offset));
    i->hashes = malloc((size_t)e[TW_IMAGE_HASHES].length + 1);
    TW_TRY_ALLOC(i->hashes, i->e.why->error);
    TW_TRY(read_body(i, TW_IMAGE_HASHES, i->hashes));
    TW_TRY(make_chunks(i));
    tw_crew crew = {.count = i->chunk_count, .work = take_chunks, .context = i};
    if (crew.count) tw_crew_run(&crew, threads ? threads : tw_machine_processors());
    return first_wrong(i);
}

/* ---- where they go: a heap block ---- */

static uint8_t *aligned(uint8_t *at)
{
    return (uint8_t *)(((uintptr_t)at + ALIGN - 1) / ALIGN * ALIGN);
}

static void fill(uint8_t *to, uint64_t size, tw_span base)
{
    if (base.size && size) memcpy(to, base.data, base.size < size ? base.size : (size_t)size);
}

/* A base that is taken on trust shows no bytes, but its files have them. */
static tw_status fill_from_base(image *i, const memory *m, const tw_snapshot *base)
{
    const tw_snap_backing *backing = base->wasm_memory.data || !base->wasm_memory.size ? NULL : tw_snap_backing_of(base);
    if (!backing) fill(m->to, m->size, base->wasm_memory);
    for (uint32_t r = 0; backing && r < backing->run_count; r++) {
        const tw_snap_run *run = &backing->runs[r];
        uint64_t end = run->at + run->size < m->size ? run->at + run->size : m->size;
        errno = 0;
        if (end > run->at && !pread_whole(backing->files[run->file], m->to + run->at, (size_t)(end - run->at), run->in_file)) return cant_read(i);
    }
    return TW_OK;
}

static tw_status take_into_heap(image *i)
{
    tw_snapshot *s = i->e.out;
    const tw_snapshot *base = i->e.options->base;
    uint8_t *at = i->storage->heap = calloc(1, (size_t)(i->memories[0].size + i->memories[1].size) + 3 * ALIGN);
    TW_TRY_ALLOC(at, i->e.why->error);
    for (size_t m = 0; m < 2; m++) {
        i->memories[m].to = at = aligned(at);
        at += i->memories[m].size;
    }
    if (s->has_base) {
        TW_TRY(fill_from_base(i, &i->memories[0], base));
        fill(i->memories[1].to, i->memories[1].size, base->device_memory);
    }
    TW_TRY(take_blocks(i));
    s->wasm_memory = (tw_span){i->memories[0].to, (size_t)i->memories[0].size};
    s->device_memory = (tw_span){i->memories[1].to, (size_t)i->memories[1].size};
    return TW_OK;
}

/* ---- a file of our own, sealed ---- */

static uint64_t whole_pages(uint64_t size)
{
    return (size + PAGE - 1) / PAGE * PAGE;
}

static bool map_runs(const int *files, const tw_snap_run *runs, uint32_t count, uint8_t *to)
{
    for (uint32_t r = 0; r < count; r++)
        if (mmap(to + runs[r].at, (size_t)runs[r].size, PROT_READ, MAP_PRIVATE | MAP_FIXED, files[runs[r].file], (off_t)runs[r].in_file) == MAP_FAILED)
            return false;
    return true;
}

/* Both memories as they are, to be read; device memory only where it isn't in the heap. */
static tw_status map_view(image *i)
{
    const tw_snap_backing *backing = &i->storage->backing;
    const memory *wasm = &i->memories[0], *device = &i->memories[1];
    bool both = !device->to;
    uint64_t size = whole_pages(wasm->size) + (both ? whole_pages(device->size) : 0);
    if (!size) return TW_OK;
    uint8_t *view = mmap(NULL, (size_t)size, PROT_READ, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
    if (view == MAP_FAILED) return tw_fail(i->e.why->error, TW_LIMIT, "the system has no address space for the image");
    i->storage->view = view;
    i->storage->view_size = (size_t)size;
    if (!map_runs(backing->files, backing->runs, backing->run_count, view) ||
        (both && !map_runs(&i->copy, device->runs, device->run_count, view + whole_pages(wasm->size))))
        return tw_fail(i->e.why->error, TW_LIMIT, "the system maps no more of the image");
    i->e.out->wasm_memory = (tw_span){view, (size_t)wasm->size};
    if (both) i->e.out->device_memory = (tw_span){view + whole_pages(wasm->size), (size_t)device->size};
    return TW_OK;
}

/* ---- the pages of a chain ---- */

/* Whole pages can be mapped over one another, and there is something to map over. */
static bool stands_on_pages(const image *i)
{
    const tw_snapshot *base = i->e.options->base;
    return tw_snap_backing_of(base) && base->wasm_memory.size % PAGE == 0 && i->memories[0].size % PAGE == 0;
}

static void append_run(tw_snap_backing *to, tw_snap_run run, uint32_t file)
{
    run.file = file;
    to->runs[to->run_count++] = run;
}

/* The part of a base's run from `from` up to `end`. */
static void append_part(tw_snap_backing *to, const tw_snap_run *run, uint64_t from, uint64_t end)
{
    if (from < end) append_run(to, (tw_snap_run){from, end - from, run->in_file + (from - run->at), 0}, run->file);
}

/* The memory's own runs, and between them what the base has. Those of the base get its numbers of files, its own get `own`. */
static void lay_over(const memory *m, uint32_t own, const tw_snap_backing *base, tw_snap_backing *to)
{
    uint32_t b = 0;
    uint64_t at = 0;
    for (uint32_t r = 0; r <= m->run_count; r++) {
        uint64_t until = r < m->run_count ? m->runs[r].at : m->size;
        for (; b < base->run_count && base->runs[b].at < until; b++) {
            const tw_snap_run *run = &base->runs[b];
            uint64_t end = run->at + run->size;
            append_part(to, run, run->at > at ? run->at : at, end < until ? end : until);
            if (end > until) break; /* what is left of it may show behind this one */
        }
        if (r < m->run_count) {
            append_run(to, m->runs[r], own);
            at = m->runs[r].at + m->runs[r].size;
        }
    }
}

/* Files without a run go; the others are opened anew. False with errno. */
static bool keep_files(tw_snap_backing *b, const int *files)
{
    uint32_t as[TW_SNAP_FILES + 1];
    memset(as, 0xFF, sizeof as);
    for (uint32_t r = 0; r < b->run_count; r++) {
        uint32_t *number = &as[b->runs[r].file];
        if (*number == UINT32_MAX) {
            int file = fcntl(files[b->runs[r].file], F_DUPFD_CLOEXEC, 0);
            if (file < 0) return false;
            b->files[b->file_count] = file;
            *number = b->file_count++;
        }
        b->runs[r].file = *number;
    }
    return true;
}

/* What is mapped from where. Its own runs are in file number `own`. */
static tw_status lay_out(image *i, uint32_t *own)
{
    static const tw_snap_backing nothing = {0};
    const memory *m = &i->memories[0];
    const tw_snap_backing *base = i->e.out->has_base ? tw_snap_backing_of(i->e.options->base) : &nothing;
    tw_snap_backing *b = &i->storage->backing;
    b->runs = malloc(((size_t)base->run_count + 2 * (size_t)m->run_count + 1) * sizeof *b->runs);
    TW_TRY_ALLOC(b->runs, i->e.why->error);
    *own = base->file_count;
    lay_over(m, *own, base, b);
    return TW_OK;
}

/* Its own pages are in `file`, counted from where it begins there. */
static tw_status name_files(image *i, uint32_t own, int file, uint64_t begins)
{
    tw_snap_backing *b = &i->storage->backing;
    int files[TW_SNAP_FILES + 1];
    if (own) memcpy(files, tw_snap_backing_of(i->e.options->base)->files, own * sizeof *files);
    files[own] = file;
    for (uint32_t r = 0; r < b->run_count; r++)
        if (b->runs[r].file == own) b->runs[r].in_file -= begins;
    b->there = true;
    return keep_files(b, files) ? TW_OK : tw_fail(i->e.why->error, TW_IO, "can't keep the image open: %s", strerror(errno));
}

/* Nobody maps that: it goes into buffers, which are small beside the guest's memory. */
static tw_status make_room_for_device_memory(image *i)
{
    const tw_snapshot *s = i->e.out, *base = i->e.options->base;
    memory *m = &i->memories[1];
    m->to = i->storage->heap = calloc(1, (size_t)m->size + 1);
    TW_TRY_ALLOC(m->to, i->e.why->error);
    if (s->has_base) fill(m->to, m->size, base->device_memory);
    i->e.out->device_memory = (tw_span){m->to, (size_t)m->size};
    return TW_OK;
}

static tw_status take_into_copy(image *i, uint32_t own)
{
    const tw_envelope_entry *pages = &i->e.entries[TW_IMAGE_PAGES];
    i->first_page = pages->length ? pages->offset : pages[1].offset;
    i->copy = memfd_create("tensorwasm-snapshot", MFD_CLOEXEC | MFD_ALLOW_SEALING);
    if (i->copy < 0) return tw_fail(i->e.why->error, TW_IO, "no file for a copy of the image: %s", strerror(errno));
    if (ftruncate(i->copy, (off_t)(i->source->size - i->first_page)))
        return tw_fail(i->e.why->error, TW_IO, "no room for a copy of the image: %s", strerror(errno));
    if (i->e.out->has_base) TW_TRY(make_room_for_device_memory(i));
    TW_TRY(take_blocks(i));
    if (fcntl(i->copy, F_ADD_SEALS, F_SEAL_SHRINK | F_SEAL_GROW | F_SEAL_WRITE | F_SEAL_SEAL))
        return tw_fail(i->e.why->error, TW_IO, "can't seal a copy of the image: %s", strerror(errno));
    for (uint32_t r = 0; r < i->memories[1].run_count; r++) i->memories[1].runs[r].in_file -= i->first_page;
    TW_TRY(name_files(i, own, i->copy, i->first_page));
    return map_view(i);
}

/* ---- or where they are ---- */

static tw_status trust(image *i, uint32_t own)
{
    i->trusts = true;
    TW_TRY(name_files(i, own, i->source->file, 0));
    if (i->memories[1].size) {
        TW_TRY(make_room_for_device_memory(i));
        TW_TRY(take_blocks(i));
    }
    i->e.out->wasm_memory.size = (size_t)i->memories[0].size;
    return TW_OK;
}

/* ---- or nowhere ---- */

static tw_status only_verify(image *i)
{
    TW_TRY(take_blocks(i));
    i->e.out->wasm_memory.size = (size_t)i->memories[0].size;
    i->e.out->device_memory.size = (size_t)i->memories[1].size;
    return TW_OK;
}

/* ---- all ---- */

static tw_status read_registers(image *i)
{
    const tw_envelope_entry *entry = &i->e.entries[TW_IMAGE_REGISTERS];
    if (entry->length != entry->size) return refuse(i, "the registers have another size");
    i->registers = malloc((size_t)entry->length + 1);
    TW_TRY_ALLOC(i->registers, i->e.why->error);
    TW_TRY(read_body(i, TW_IMAGE_REGISTERS, i->registers));
    i->e.out->registers = (tw_span){i->registers, (size_t)entry->length};
    return TW_OK;
}

/* What is in too many pieces for mappings is merged in the heap. */
static tw_status take_as_pages(image *i)
{
    uint32_t own = 0;
    tw_snap_backing *b = &i->storage->backing;
    if (i->e.out->has_base && !stands_on_pages(i)) return take_into_heap(i);
    TW_TRY(lay_out(i, &own));
    if (b->run_count <= TW_SNAP_MAPPED_RUNS)
        return i->e.options->verify == TW_SNAPSHOT_VERIFY_TRUSTED ? trust(i, own) : take_into_copy(i, own);
    free(b->runs);
    *b = (tw_snap_backing){0};
    return take_into_heap(i);
}

static tw_status read_image(image *i)
{
    TW_TRY(read_front(i));
    TW_TRY(read_table(i));
    TW_TRY(read_meta(i));
    for (size_t m = 0; m < 2; m++) TW_TRY(read_runs(i, m));
    TW_TRY(check_hash_count(i));
    TW_TRY(check_base(i));
    TW_TRY(read_registers(i));
    if (i->source->file < 0) return take_into_heap(i);
    switch (i->e.options->verify) {
    case TW_SNAPSHOT_VERIFY_FULL:
    case TW_SNAPSHOT_VERIFY_TRUSTED: return take_as_pages(i);
    case TW_SNAPSHOT_VERIFY_ONLY: return only_verify(i);
    }
    return tw_fail(i->e.why->error, TW_INVALID_ARGUMENT, "no such way to verify: %d", (int)i->e.options->verify);
}

tw_status tw_image_read(const tw_snapshot_reader_options *options, const tw_image_source *source, tw_snapshot *out,
                        tw_snap_storage *storage, tw_snap_why *why)
{
    image i = {.e = {.form = &tw_image_form, .options = options, .file_size = source->size, .why = why, .out = out},
               .source = source, .storage = storage, .copy = -1};
    tw_status status = read_image(&i);
    for (size_t m = 0; m < 2; m++) free(i.memories[m].runs);
    free(i.hashes);
    free(i.chunks);
    if (i.copy >= 0) close(i.copy);
    storage->registers = i.registers;
    if (status != TW_OK) tw_snap_storage_free(storage);
    return status;
}
