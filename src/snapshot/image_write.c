/* SPDX-License-Identifier: Apache-2.0 */
/* In two passes over each memory, by several threads: which blocks differ from what a reader assumes, then, when runs that lie close
 * together have become one, the hashes of the blocks of all runs. So the bytes don't depend on the number of threads. */
#include <stdlib.h>
#include <string.h>

#include "base/bytes.h"
#include "base/crew.h"
#include "os/machine.h"
#include "snapshot/image.h"
#include "snapshot/little.h"

enum {
    CHUNK = 16,     /* blocks that a thread takes at once */
    MOST_RUNS = 32, /* a mapping costs 10 to 30 us; a zero block in a run is a hole of the file and costs next to nothing */
};

const tw_envelope_form tw_image_form = {
    .format = TW_SNAPSHOT_IMAGE, .noun = "image", .magic = TW_SNAPSHOT_IMAGE_MAGIC, .version = TW_SNAPSHOT_IMAGE_VERSION,
    .flags = TW_IMAGE_INCREMENTAL, .sections = TW_IMAGE_SECTIONS, .section_version = 1,
    .names = {"metadata", "registers", "the table of wasm memory", "the table of device memory", "the hashes", "wasm memory",
              "device memory"}};

typedef struct run {
    size_t first, count;
} run;

/* A memory on its way into the file. */
typedef struct memory {
    tw_span bytes, base;
    size_t blocks;
    bool *differs; /* per block: from the base, or from zero */
    run runs[MOST_RUNS];
    uint32_t run_count;
    size_t written;  /* blocks of all runs */
    uint64_t length; /* bytes of them */
    uint8_t *hashes; /* of them; in the file's front */
} memory;

static size_t blocks_of(size_t size)
{
    return size / TW_SNAP_BLOCK + (size % TW_SNAP_BLOCK != 0);
}

static size_t block_size(const memory *m, size_t block)
{
    size_t left = m->bytes.size - block * TW_SNAP_BLOCK;
    return left < TW_SNAP_BLOCK ? left : TW_SNAP_BLOCK;
}

/* ---- which blocks ---- */

static bool differs(const memory *m, size_t block)
{
    size_t at = block * TW_SNAP_BLOCK, size = block_size(m, block), known = 0;
    if (at < m->base.size) known = m->base.size - at < size ? m->base.size - at : size;
    const uint8_t *bytes = m->bytes.data + at;
    return (known && memcmp(bytes, m->base.data + at, known)) || !tw_is_zero(bytes + known, size - known);
}

static void compare_blocks(tw_crew *crew)
{
    memory *m = crew->context;
    size_t chunk;
    while (tw_crew_take(crew, &chunk))
        for (size_t i = chunk * CHUNK; i < m->blocks && i < (chunk + 1) * CHUNK; i++) m->differs[i] = differs(m, i);
}

static void work(memory *m, size_t count, void (*what)(tw_crew *), uint32_t threads)
{
    tw_crew crew = {.count = (count + CHUNK - 1) / CHUNK, .work = what, .context = m};
    if (count) tw_crew_run(&crew, threads ? threads : tw_machine_processors());
}

/* ---- runs ---- */

typedef struct gap {
    size_t size, first;
} gap;

static int by_size(const void *a, const void *b)
{
    const gap *x = a, *y = b;
    if (x->size != y->size) return x->size < y->size ? -1 : 1;
    return x->first < y->first ? -1 : x->first > y->first;
}

static size_t count_runs(const memory *m)
{
    size_t count = 0;
    for (size_t i = 0; i < m->blocks; i++) count += m->differs[i] && (i == 0 || !m->differs[i - 1]);
    return count;
}

/* The next run at or behind *at, which is moved behind it. */
static bool next_run(const memory *m, size_t *at, run *out)
{
    while (*at < m->blocks && !m->differs[*at]) ++*at;
    if (*at == m->blocks) return false;
    out->first = *at;
    while (*at < m->blocks && m->differs[*at]) ++*at;
    out->count = *at - out->first;
    return true;
}

/* The smallest gaps are filled, of equal ones the first, until there are few enough runs. */
static tw_status fill_gaps(memory *m, size_t runs, tw_error *error)
{
    gap *gaps = malloc(runs * sizeof *gaps);
    TW_TRY_ALLOC(gaps, error);
    run r;
    size_t at = 0, count = 0, end = 0; /* of the run before */
    for (; next_run(m, &at, &r); end = at)
        if (end) gaps[count++] = (gap){r.first - end, end};
    qsort(gaps, count, sizeof *gaps, by_size);
    for (size_t i = 0; i < runs - MOST_RUNS; i++) memset(m->differs + gaps[i].first, true, gaps[i].size);
    free(gaps);
    return TW_OK;
}

static tw_status find_runs(memory *m, uint32_t threads, tw_error *error)
{
    size_t at = 0;
    m->blocks = blocks_of(m->bytes.size);
    if (m->blocks > UINT32_MAX) return tw_fail(error, TW_LIMIT, "an image holds no memory of %zu bytes", m->bytes.size);
    m->differs = calloc(m->blocks + 1, sizeof *m->differs);
    TW_TRY_ALLOC(m->differs, error);
    work(m, m->blocks, compare_blocks, threads);
    size_t runs = count_runs(m);
    if (runs > MOST_RUNS) TW_TRY(fill_gaps(m, runs, error));
    while (next_run(m, &at, &m->runs[m->run_count])) {
        const run *r = &m->runs[m->run_count++];
        m->written += r->count;
        m->length += (uint64_t)r->count * TW_SNAP_BLOCK;
        if (at == m->blocks) m->length -= TW_SNAP_BLOCK - block_size(m, at - 1);
    }
    return TW_OK;
}

/* ---- hashes ---- */

/* The number in the memory of the index-th block that is written. */
static size_t nth_block(const memory *m, size_t index)
{
    uint32_t r = 0;
    while (index >= m->runs[r].count) index -= m->runs[r++].count;
    return m->runs[r].first + index;
}

static void hash_blocks(tw_crew *crew)
{
    memory *m = crew->context;
    size_t chunk;
    while (tw_crew_take(crew, &chunk)) {
        for (size_t i = chunk * CHUNK; i < m->written && i < (chunk + 1) * CHUNK; i++) {
            size_t block = nth_block(m, i), size = block_size(m, block);
            const uint8_t *bytes = m->bytes.data + block * TW_SNAP_BLOCK;
            if (!tw_is_zero(bytes, size)) tw_envelope_hash((tw_span){bytes, size}, (tw_span){NULL, 0}, m->hashes + i * TW_ENVELOPE_HASH);
        }
    }
}

/* ---- the file ---- */

typedef struct draft {
    const tw_snapshot_writer_options *options;
    const tw_snapshot_state *state;
    memory memories[2]; /* wasm, device */
    uint64_t offsets[TW_IMAGE_SECTIONS], lengths[TW_IMAGE_SECTIONS];
    tw_snap_draft *out;
    tw_error *error;
} draft;

static void append_runs(const memory *m, tw_bytes *out)
{
    for (uint32_t i = 0; i < m->run_count; i++) {
        uint8_t row[TW_SNAP_RUN];
        tw_put_little32(tw_put_little32(row, (uint32_t)m->runs[i].first), (uint32_t)m->runs[i].count);
        tw_bytes_append(out, row, sizeof row);
    }
}

static void append_zeros(size_t size, tw_bytes *out)
{
    static const uint8_t zeros[4096];
    for (; size; size -= size < sizeof zeros ? size : sizeof zeros) tw_bytes_append(out, zeros, size < sizeof zeros ? size : sizeof zeros);
}

/* Bodies 1 to 5, the hashes still zero, behind room for what comes before them. */
static tw_status write_bodies(draft *d)
{
    tw_bytes *out = &d->out->front;
    append_zeros(TW_ENVELOPE_HEAD + TW_IMAGE_SECTIONS * TW_ENVELOPE_ENTRY +
                     tw_envelope_tag_size(tw_envelope_signature(d->options)), out);
    for (size_t i = 0; i <= TW_IMAGE_HASHES; i++) {
        d->offsets[i] = out->size;
        if (i == TW_IMAGE_META) tw_envelope_append_meta(d->state, out);
        else if (i == TW_IMAGE_REGISTERS) tw_bytes_append(out, d->state->registers.data, d->state->registers.size);
        else if (i < TW_IMAGE_HASHES) append_runs(&d->memories[i - TW_IMAGE_RUNS], out);
        else append_zeros((d->memories[0].written + d->memories[1].written) * TW_ENVELOPE_HASH, out);
        d->lengths[i] = out->size - d->offsets[i];
    }
    return out->failed ? tw_fail_memory(d->error) : TW_OK;
}

static void place_pages(draft *d)
{
    uint64_t offset = d->out->front.size;
    for (size_t i = 0; i < 2; i++) {
        d->lengths[TW_IMAGE_PAGES + i] = d->memories[i].length;
        if (d->memories[i].length) offset = (offset + TW_SNAP_BLOCK - 1) / TW_SNAP_BLOCK * TW_SNAP_BLOCK;
        d->offsets[TW_IMAGE_PAGES + i] = offset;
        offset += d->memories[i].length;
    }
    d->out->size = offset;
}

static void hash_pages(draft *d)
{
    uint8_t *at = (uint8_t *)d->out->front.data + d->offsets[TW_IMAGE_HASHES];
    for (size_t i = 0; i < 2; i++) {
        d->memories[i].hashes = at;
        work(&d->memories[i], d->memories[i].written, hash_blocks, d->options->threads);
        at += d->memories[i].written * TW_ENVELOPE_HASH;
    }
}

static void fill_front(draft *d)
{
    const tw_snapshot *base = d->options->base;
    const uint64_t sizes[TW_IMAGE_SECTIONS] = {
        TW_ENVELOPE_META, d->state->registers.size, d->state->wasm_memory.size, d->state->device_memory.size,
        d->memories[0].written + d->memories[1].written, d->memories[0].length, d->memories[1].length};
    uint8_t *front = (uint8_t *)d->out->front.data;
    for (size_t i = 0; i < TW_IMAGE_SECTIONS; i++) {
        uint8_t *entry = front + TW_ENVELOPE_HEAD + i * TW_ENVELOPE_ENTRY;
        tw_envelope_put_entry(&tw_image_form, i, d->offsets[i], d->lengths[i], sizes[i], entry);
        if (i <= TW_IMAGE_HASHES)
            tw_envelope_hash((tw_span){front + d->offsets[i], (size_t)d->lengths[i]}, (tw_span){NULL, 0}, entry + TW_ENVELOPE_HASH_AT);
    }
    tw_envelope_put_head(&tw_image_form, tw_envelope_signature(d->options) | (base ? TW_IMAGE_INCREMENTAL : 0), d->out->size, front);
    if (base) {
        tw_put_little32(front + TW_IMAGE_DEPTH_AT, base->depth + 1);
        memcpy(front + TW_IMAGE_BASE_AT, base->content, TW_ENVELOPE_HASH);
    }
    tw_envelope_close(&tw_image_form, d->options, front);
}

/* ---- parts ---- */

static bool add_part(tw_snap_draft *out, tw_publish_part part)
{
    tw_publish_part *last = out->part_count ? &out->parts[out->part_count - 1] : NULL;
    if (last && last->offset + last->size == part.offset && (const uint8_t *)last->bytes + last->size == part.bytes) {
        last->size += part.size;
        return true;
    }
    if ((out->part_count & (out->part_count + 1)) == 0) { /* 0, 1, 3, 7, …: room for as many again */
        tw_publish_part *more = realloc(out->parts, (2 * out->part_count + 1) * sizeof *more);
        if (!more) return false;
        out->parts = more;
    }
    out->parts[out->part_count++] = part;
    return true;
}

/* Blocks that are zero are left out, but for the file's last bytes. */
static bool add_pages(const memory *m, uint64_t offset, tw_snap_draft *out)
{
    for (size_t i = 0; i < m->written; i++) {
        size_t block = nth_block(m, i), size = block_size(m, block);
        tw_publish_part part = {offset, m->bytes.data + block * TW_SNAP_BLOCK, size};
        bool needed = !tw_is_zero(m->hashes + i * TW_ENVELOPE_HASH, TW_ENVELOPE_HASH) || offset + size == out->size;
        if (needed && !add_part(out, part)) return false;
        offset += size;
    }
    return true;
}

static tw_status add_parts(draft *d)
{
    tw_publish_part front = {0, d->out->front.data, d->out->front.size};
    bool good = add_part(d->out, front);
    for (size_t i = 0; i < 2; i++) good = good && add_pages(&d->memories[i], d->offsets[TW_IMAGE_PAGES + i], d->out);
    return good ? TW_OK : tw_fail_memory(d->error);
}

static tw_status write_draft(draft *d)
{
    for (size_t i = 0; i < 2; i++) TW_TRY(find_runs(&d->memories[i], d->options->threads, d->error));
    TW_TRY(write_bodies(d));
    place_pages(d);
    hash_pages(d);
    fill_front(d);
    return add_parts(d);
}

static tw_status check_base(const tw_snapshot *base, const tw_snapshot_state *state, tw_error *error)
{
    if (!base || base->tenant == state->tenant) return TW_OK;
    return tw_fail(error, TW_INVALID_ARGUMENT, "a snapshot's base is of the same tenant");
}

void tw_snap_draft_free(tw_snap_draft *d)
{
    tw_bytes_free(&d->front);
    free(d->parts);
}

tw_status tw_image_draft(const tw_snapshot_writer_options *options, const tw_snapshot_state *state, tw_snap_draft *out,
                         tw_error *error)
{
    draft d = {.options = options, .state = state, .out = out, .error = error};
    d.memories[0].bytes = state->wasm_memory;
    d.memories[1].bytes = state->device_memory;
    TW_TRY(check_base(options->base, state, error));
    if (options->base) d.memories[0].base = options->base->wasm_memory, d.memories[1].base = options->base->device_memory;
    tw_status status = write_draft(&d);
    for (size_t i = 0; i < 2; i++) free(d.memories[i].differs);
    return status;
}
