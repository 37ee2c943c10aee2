/* SPDX-License-Identifier: Apache-2.0 */
/* Our own images: what goes in comes out, from bytes, from a file and on trust; the bytes are those of docs/snapshot-format.md
 * whoever hashed them, and what was changed is refused. */
#include <fcntl.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cmocka.h>

#include "../../support/snapshots.h"
#include "blake3/blake3.h"
#include "snapshot/little.h"
#include "snapshot/snapshot.h"

/* Offsets, written down again from the document. */
enum { HEAD = 96, ENTRY = 64, SECTIONS = 7, TABLE_END = HEAD + SECTIONS * ENTRY, BLOCK = 65536, RUNS = 32, HASHES = 4 };

static test_keys keys;
static char folder[] = "/tmp/tw-image-XXXXXX", path[64];

static int begin(void **state)
{
    (void)state;
    keys = test_keys_new();
    assert_non_null(mkdtemp(folder));
    snprintf(path, sizeof path, "%s/file", folder);
    return 0;
}

static int end(void **state)
{
    (void)state;
    test_keys_free(&keys);
    unlink(path);
    rmdir(folder);
    return 0;
}

typedef enum guard { PLAIN, HMAC, ED25519, GUARDS } guard;

static tw_snapshot_writer_options writer_with(guard g)
{
    tw_snapshot_writer_options o = TW_SNAPSHOT_WRITER_OPTIONS_INIT;
    o.format = TW_SNAPSHOT_IMAGE;
    if (g == HMAC) o.hmac_key = keys.hmac;
    if (g == ED25519) o.ed25519_secret = keys.seed;
    return o;
}

static tw_snapshot_reader_options reader_with(guard g)
{
    tw_snapshot_reader_options o = TW_SNAPSHOT_READER_OPTIONS_INIT;
    o.hmac_key = keys.hmac;
    o.ed25519_public = keys.ed;
    o.require_signature = g != PLAIN;
    o.threads = 1;
    return o;
}

static uint8_t *image_of(guard g, const char *name, size_t *size)
{
    test_state *s = test_state_new(name);
    tw_snapshot_writer_options options = writer_with(g);
    uint8_t *bytes = test_write(&options, &s->state, size);
    free(s);
    return bytes;
}

static void save(const tw_snapshot_writer_options *options, const tw_snapshot_state *state)
{
    tw_snapshot_writer *writer;
    tw_error error = {0};
    assert_int_equal(tw_snapshot_writer_new(options, &writer, &error), TW_OK);
    if (tw_snapshot_save(writer, state, path, &error)) fail_msg("%s", error.message);
    tw_snapshot_writer_free(writer);
}

static tw_status open_path(const tw_snapshot_reader_options *options, const char *from, tw_snapshot **out, tw_snapshot_class *why,
                           tw_error *error)
{
    tw_snapshot_reader *reader;
    assert_int_equal(tw_snapshot_reader_new(options, &reader, error), TW_OK);
    tw_status status = tw_snapshot_open(reader, from, out, why, error);
    tw_snapshot_reader_free(reader);
    return status;
}

static void put_bytes(const uint8_t *bytes, size_t size)
{
    FILE *file = fopen(path, "wb");
    assert_non_null(file);
    assert_int_equal(fwrite(bytes, 1, size, file), size);
    fclose(file);
}

/* From bytes of exactly that length; and that a file gives the same answer. */
static tw_snapshot_class refusal(const tw_snapshot_reader_options *options, const uint8_t *bytes, size_t size)
{
    tw_snapshot *s;
    tw_snapshot_class why;
    tw_error error = {0};
    uint8_t *exact = malloc(size ? size : 1);
    assert_non_null(exact);
    memcpy(exact, bytes, size);
    tw_status status = test_read(options, exact, size, &s, &why, &error);
    free(exact);
    assert_int_equal(status == TW_OK, why == TW_SNAPSHOT_CLASS_NONE);
    if (status) assert_true(error.status == status && error.message[0]);
    else tw_snapshot_free(s);
    return why;
}

static tw_snapshot_class refusal_of_file(const tw_snapshot_reader_options *options, const uint8_t *bytes, size_t size)
{
    tw_snapshot *s;
    tw_snapshot_class why;
    tw_error error = {0};
    put_bytes(bytes, size);
    tw_status status = open_path(options, path, &s, &why, &error);
    assert_int_equal(status == TW_OK, why == TW_SNAPSHOT_CLASS_NONE);
    if (!status) tw_snapshot_free(s);
    if (options->verify == TW_SNAPSHOT_VERIFY_FULL) { /* without a copy it is the same */
        tw_snapshot_reader_options only = *options;
        tw_snapshot_class again;
        only.verify = TW_SNAPSHOT_VERIFY_ONLY;
        if (!open_path(&only, path, &s, &again, &error)) tw_snapshot_free(s);
        assert_int_equal(again, why);
    }
    return why;
}

#define assert_class(actual, name) assert_string_equal(tw_snapshot_class_name(actual), name)

static const char *const states[] = {"empty", "conformance", "small", "seq7_nonce", "random1k", "pages3", "maxvals"};

static void is_that_image(const tw_snapshot *s, const tw_snapshot_state *state, guard g)
{
    assert_snapshot_has(s, state);
    assert_int_equal(s->format, TW_SNAPSHOT_IMAGE);
    assert_int_equal(s->magic, TW_SNAPSHOT_IMAGE_MAGIC);
    assert_int_equal(s->version, TW_SNAPSHOT_IMAGE_VERSION);
    assert_int_equal(s->signature, g == HMAC ? TW_SNAPSHOT_SIGNATURE_HMAC : g == ED25519 ? TW_SNAPSHOT_SIGNATURE_ED25519 : TW_SNAPSHOT_SIGNATURE_NONE);
    assert_true(s->has_content && !s->has_base && s->depth == 0);
}

static void what_goes_in_comes_out(void **state)
{
    (void)state;
    for (int g = 0; g < GUARDS; g++) {
        for (size_t i = 0; i < sizeof states / sizeof *states; i++) {
            tw_snapshot *out;
            size_t size;
            test_state *s = test_state_new(states[i]);
            uint8_t *bytes = image_of((guard)g, states[i], &size);
            tw_snapshot_writer_options writer = writer_with((guard)g);
            tw_snapshot_reader_options reader = reader_with((guard)g);
            assert_int_equal(test_read(&reader, bytes, size, &out, NULL, NULL), TW_OK);
            is_that_image(out, &s->state, (guard)g);
            tw_snapshot_free(out);
            save(&writer, &s->state); /* the file is the bytes, and is read as they are */
            size_t saved;
            FILE *file = fopen(path, "rb");
            uint8_t *again = malloc(size + 1);
            assert_true(file && again);
            saved = fread(again, 1, size + 1, file);
            fclose(file);
            assert_int_equal(saved, size);
            assert_memory_equal(again, bytes, size);
            free(again);
            assert_int_equal(open_path(&reader, path, &out, NULL, NULL), TW_OK);
            is_that_image(out, &s->state, (guard)g);
            tw_snapshot_free(out);
            free(bytes);
            free(s);
        }
    }
}

/* ---- the bytes ---- */

/* Noise in some blocks, a short last one; more runs than a file may have. */
static uint8_t *patchy(size_t size)
{
    uint8_t *memory = calloc(1, size);
    assert_non_null(memory);
    for (size_t block = 0; block * BLOCK < size; block++)
        if (block * 7 % 5 < 2 || block % 11 == 0) test_xorshift(block + 1, memory + block * BLOCK, size - block * BLOCK < 999 ? 1 : 999);
    return memory;
}

static void the_number_of_threads_does_not_show(void **state)
{
    (void)state;
    const size_t size = (size_t)900 * BLOCK + 17;
    uint8_t *memory = patchy(size), *first = NULL;
    size_t first_size = 0;
    static const uint32_t threads[] = {1, 2, 3, 8, 0};
    for (size_t i = 0; i < sizeof threads / sizeof *threads; i++) {
        tw_snapshot_writer_options writer = writer_with(HMAC);
        tw_snapshot_reader_options reader = reader_with(HMAC);
        tw_snapshot_state s = TW_SNAPSHOT_STATE_INIT;
        tw_snapshot *out;
        size_t length;
        s.has_created = true;
        s.wasm_memory = (tw_span){memory, size};
        s.device_memory = (tw_span){memory + BLOCK, 33 * BLOCK + 1};
        writer.threads = reader.threads = threads[i];
        uint8_t *bytes = test_write(&writer, &s, &length);
        if (!first) first = bytes, first_size = length;
        assert_int_equal(length, first_size);
        assert_memory_equal(bytes, first, length);
        assert_int_equal(tw_little64(bytes + HEAD + 2 * ENTRY + 16), RUNS * 8); /* joined to as many as may be */
        assert_int_equal(test_read(&reader, bytes, length, &out, NULL, NULL), TW_OK);
        assert_snapshot_has(out, &s);
        tw_snapshot_free(out);
        save(&writer, &s);
        assert_int_equal(open_path(&reader, path, &out, NULL, NULL), TW_OK);
        assert_snapshot_has(out, &s);
        tw_snapshot_free(out);
        if (bytes != first) free(bytes);
    }
    free(first);
    free(memory);
}

static void blake3(const uint8_t *a, size_t a_size, const uint8_t *b, size_t b_size, uint8_t out[32])
{
    tw_blake3 hasher;
    tw_blake3_start(&hasher);
    tw_blake3_add(&hasher, a, a_size);
    tw_blake3_add(&hasher, b, b_size);
    tw_blake3_end(&hasher, out);
}

static void the_layout_is_that_of_the_document(void **state)
{
    (void)state;
    static uint8_t memory[20 * BLOCK + 5]; /* block 3, and the short one at the end */
    memory[3 * BLOCK + 100] = 1;
    memory[20 * BLOCK + 4] = 2;
    tw_snapshot_writer_options writer = writer_with(ED25519);
    tw_snapshot_state s = TW_SNAPSHOT_STATE_INIT;
    s.tenant = 0x1122334455667788;
    s.instance = (tw_instance_id){.high = 1, .low = 2};
    s.has_created = true;
    s.created_unix_ms = 3;
    s.sequence = 4;
    s.wasm_memory = (tw_span){memory, sizeof memory};
    s.registers = (tw_span){(const uint8_t *)"regs", 4};
    size_t size;
    uint8_t *b = test_write(&writer, &s, &size), hash[32];
    assert_memory_equal(b, "TWSI\1\0\0\0\2\0\0\0\7\0\0\0", 16);
    assert_int_equal(tw_little64(b + 16), size);
    for (int i = 24; i < 64; i++) assert_int_equal(b[i], 0);
    const uint8_t *meta = b + HEAD, *registers = meta + ENTRY, *runs = registers + ENTRY, *device_runs = runs + ENTRY,
                  *hashes = device_runs + ENTRY, *pages = hashes + ENTRY, *device = pages + ENTRY;
    const uint64_t start = TABLE_END + 64; /* the signature */
    assert_int_equal(tw_little64(meta + 8), start);
    assert_memory_equal(b + start, "\x88\x77\x66\x55\x44\x33\x22\x11\2\0\0\0\0\0\0\0\1\0\0\0\0\0\0\0\3\0\0\0\0\0\0\0\4", 33);
    assert_int_equal(tw_little64(registers + 8), start + 65);
    assert_memory_equal(b + start + 65, "regs", 4);
    assert_int_equal(tw_little64(runs + 24), sizeof memory);
    assert_int_equal(tw_little64(runs + 16), 16);
    assert_memory_equal(b + start + 69, "\3\0\0\0\1\0\0\0\x14\0\0\0\1\0\0\0", 16);
    assert_int_equal(tw_little64(device_runs + 16), 0);
    assert_int_equal(tw_little64(hashes + 8), start + 85);
    assert_int_equal(tw_little64(hashes + 16), 64);
    assert_int_equal(tw_little64(hashes + 24), 2);
    blake3(memory + 3 * BLOCK, BLOCK, NULL, 0, hash);
    assert_memory_equal(b + start + 85, hash, 32);
    blake3(memory + 20 * BLOCK, 5, NULL, 0, hash);
    assert_memory_equal(b + start + 85 + 32, hash, 32);
    blake3(b + start + 85, 64, NULL, 0, hash);
    assert_memory_equal(hashes + 32, hash, 32);
    assert_int_equal(tw_little64(pages + 8), BLOCK);
    assert_int_equal(tw_little64(pages + 16), BLOCK + 5);
    assert_memory_equal(b + BLOCK, memory + 3 * BLOCK, BLOCK);
    assert_int_equal(b[2 * BLOCK + 4], 2);
    assert_int_equal(tw_little64(device + 8), size);
    assert_int_equal(size, 2 * BLOCK + 5);
    blake3(b, 64, b + HEAD, SECTIONS * ENTRY, hash);
    assert_memory_equal(b + 64, hash, 32);
    free(b);
}

/* 1 GiB of which two blocks have something in them. */
static void zeros_cost_nothing(void **state)
{
    (void)state;
    const size_t large = (size_t)1 << 30;
    uint8_t *memory = calloc(1, large);
    struct stat about;
    tw_snapshot *out;
    tw_snapshot_writer_options writer = writer_with(PLAIN);
    tw_snapshot_reader_options reader = reader_with(PLAIN);
    tw_snapshot_state s = TW_SNAPSHOT_STATE_INIT;
    assert_non_null(memory);
    memory[5] = memory[large - 1] = 1;
    s.wasm_memory = (tw_span){memory, large};
    save(&writer, &s);
    assert_int_equal(stat(path, &about), 0);
    assert_int_equal(about.st_size, 3 * BLOCK);
    reader.max_bytes = large;
    assert_int_equal(open_path(&reader, path, &out, NULL, NULL), TW_OK);
    assert_true(out->wasm_memory.size == large && out->wasm_memory.data[5] == 1 && out->wasm_memory.data[large - 1] == 1);
    assert_int_equal(out->wasm_memory.data[large / 2], 0);
    tw_snapshot_free(out);
    reader.max_bytes--;
    tw_snapshot_class why;
    assert_int_equal(open_path(&reader, path, &out, &why, NULL), TW_LIMIT);
    assert_class(why, "limit");
    free(memory);
}

/* Blocks that are zero inside of a run take no room on the disk. */
static void zero_blocks_in_a_run_are_holes(void **state)
{
    (void)state;
    size_t blocks = 4 * RUNS;
    uint8_t *memory = calloc(blocks, BLOCK);
    struct stat about;
    tw_snapshot_writer_options writer = writer_with(PLAIN);
    tw_snapshot_reader_options reader = reader_with(PLAIN);
    tw_snapshot_state s = TW_SNAPSHOT_STATE_INIT;
    tw_snapshot *out;
    assert_non_null(memory);
    for (size_t i = 0; i < blocks; i += 2) memory[i * BLOCK] = 1;
    s.has_created = true;
    s.wasm_memory = (tw_span){memory, blocks * BLOCK};
    save(&writer, &s);
    assert_int_equal(stat(path, &about), 0);
    assert_true((size_t)about.st_size > (blocks - RUNS) * BLOCK);
    assert_true((size_t)about.st_blocks * 512 < (blocks / 2 + 16) * BLOCK);
    assert_int_equal(open_path(&reader, path, &out, NULL, NULL), TW_OK);
    assert_snapshot_has(out, &s);
    tw_snapshot_free(out);
    free(memory);
}

/* Written by version 1: to be read for ever. */
static void files_of_version_1_are_read_for_ever(void **state)
{
    (void)state;
    static const struct {
        const char *file, *state;
        guard guard;
    } rows[] = {{"../image/v1_seq7_nonce.twi", "seq7_nonce", PLAIN},
                {"../image/v1_conformance_hmac.twi", "conformance", HMAC},
                {"../image/v1_pages3_ed25519.twi", "pages3", ED25519}};
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        tw_snapshot *out;
        size_t size, ours;
        test_state *s = test_state_new(rows[i].state);
        uint8_t *bytes = test_file(rows[i].file, &size), *now = image_of(rows[i].guard, rows[i].state, &ours);
        tw_snapshot_reader_options reader = reader_with(rows[i].guard);
        assert_int_equal(test_read(&reader, bytes, size, &out, NULL, NULL), TW_OK);
        is_that_image(out, &s->state, rows[i].guard);
        assert_int_equal(size, ours); /* nothing in an image depends on another library's version */
        assert_memory_equal(bytes, now, size);
        tw_snapshot_free(out);
        free(bytes);
        free(now);
        free(s);
    }
}

/* ---- damage ---- */

/* Of the image of "seq7_nonce": zeros before the first block and between the two. */
static bool is_padding(size_t at)
{
    return (at > 1000 && at < BLOCK - 8) || (at > BLOCK + 16 && at < 2 * BLOCK - 8);
}

static void cut_anywhere_it_is_refused(void **state)
{
    (void)state;
    for (int g = 0; g < GUARDS; g++) {
        size_t size;
        uint8_t *bytes = image_of((guard)g, "seq7_nonce", &size);
        tw_snapshot_reader_options options = reader_with((guard)g);
        assert_class(refusal(&options, bytes, size), "none");
        for (size_t cut = 0; cut < size; cut++) {
            if (!refusal(&options, bytes, cut)) fail_msg("guard %d: taken when cut to %zu bytes", g, cut);
            if (is_padding(cut)) cut += 509;
        }
        for (size_t cut = 0; cut < size; cut += is_padding(cut) ? 20011 : 97)
            if (!refusal_of_file(&options, bytes, cut)) fail_msg("guard %d: the file is taken when cut to %zu bytes", g, cut);
        free(bytes);
    }
}

static void with_any_bit_turned_it_is_refused(void **state)
{
    (void)state;
    for (int g = 0; g < GUARDS; g++) {
        size_t size;
        uint8_t *bytes = image_of((guard)g, "seq7_nonce", &size);
        tw_snapshot_reader_options options = reader_with((guard)g);
        for (size_t bit = 0; bit < 8 * size; bit += is_padding(bit / 8) ? 4093 : 1) {
            tw_snapshot *s;
            bytes[bit / 8] ^= (uint8_t)(1 << bit % 8);
            if (test_read(&options, bytes, size, &s, NULL, NULL) == TW_OK) fail_msg("guard %d: taken with bit %zu turned", g, bit);
            bytes[bit / 8] ^= (uint8_t)(1 << bit % 8);
        }
        for (size_t bit = 0; bit < 8 * size; bit += is_padding(bit / 8) ? 80021 : 61) {
            bytes[bit / 8] ^= (uint8_t)(1 << bit % 8);
            if (!refusal_of_file(&options, bytes, size)) fail_msg("guard %d: the file is taken with bit %zu turned", g, bit);
            bytes[bit / 8] ^= (uint8_t)(1 << bit % 8);
        }
        free(bytes);
    }
}

/* Makes the hashes of the small bodies and of header and table right again, as somebody who forges an unsigned file would. */
static void rehash(uint8_t *bytes, size_t size)
{
    for (size_t i = 0; i <= HASHES; i++) {
        uint8_t *entry = bytes + HEAD + i * ENTRY;
        uint64_t offset = tw_little64(entry + 8), length = tw_little64(entry + 16);
        if (offset <= size && length <= size - offset) blake3(bytes + offset, length, NULL, 0, entry + 32);
    }
    blake3(bytes, 64, bytes + HEAD, SECTIONS * ENTRY, bytes + 64);
}

typedef struct forgery {
    const char *class_name, *what;
    size_t offset;
    int bytes; /* 1, 4 or 8 of the value */
    uint64_t value;
} forgery;

/* Of an unsigned image of 4 blocks of wasm memory, of which 0, 1 and 3 are there, 1 block of device memory and 4 bytes of registers.
 * Entries: 96 metadata, 160 registers, 224 and 288 runs, 352 hashes, 416 and 480 pages. Bodies: metadata 544, registers 609,
 * runs 613 and 629, hashes 637. Pages at 1 and 4 blocks; the file has 5. */
enum { META_AT = 544, REGISTERS_AT = META_AT + 65, RUNS_AT = REGISTERS_AT + 4, DEVICE_RUNS_AT = RUNS_AT + 16, HASHES_AT = DEVICE_RUNS_AT + 8 };
static const forgery forgeries[] = {
    {"version", "another version", 4, 4, 2},
    {"format", "an unknown flag", 8, 4, 8},
    {"format", "signature 3", 8, 4, 3},
    {"format", "incremental of depth 0", 8, 4, 4},
    {"format", "a depth without a base", 24, 4, 1},
    {"format", "a base that isn't one", 40, 4, 1},
    {"format", "reserved bytes", 28, 4, 1},
    {"format", "eight sections", 12, 4, 8},
    {"trailing", "a smaller size of the file", 16, 8, 4 * BLOCK},
    {"format", "a larger size of the file", 16, 8, 6 * BLOCK},
    {"format", "registers twice", 224, 4, 2},
    {"format", "an unknown kind", 480, 4, 9},
    {"version", "a section of another version", 420, 4, 2},
    {"format", "sections that overlap", 232, 8, META_AT},
    {"format", "pages that overlap", 488, 8, BLOCK},
    {"format", "pages that aren't aligned", 424, 8, BLOCK + 4096},
    {"format", "pages behind the file", 424, 8, UINT64_C(1) << 40},
    {"format", "pages whose end wraps round", 432, 8, UINT64_MAX},
    {"format", "a length that wraps round", 176, 8, UINT64_MAX},
    {"format", "fewer pages than the table has", 432, 8, 2 * BLOCK},
    {"format", "another size of pages", 440, 8, 2 * BLOCK},
    {"format", "a hash of pages", 448, 8, 1},
    {"format", "metadata of another size", 120, 8, 66},
    {"total", "registers of another size", 184, 8, 5},
    {"limit", "a huge memory", 248, 8, UINT64_C(1) << 62},
    {"limit", "a memory whose sum wraps round", 248, 8, UINT64_MAX},
    {"format", "a memory that ends before its runs", 248, 8, 3 * BLOCK},
    {"format", "hashes fewer than blocks", 376, 8, 3},
    {"format", "a run of nothing", RUNS_AT + 4, 4, 0},
    {"format", "a run that goes beyond", RUNS_AT + 12, 4, 2},
    {"format", "a run of all that there is", RUNS_AT + 12, 4, UINT32_MAX},
    {"format", "runs that overlap", RUNS_AT + 8, 4, 1},
    {"format", "runs that touch", RUNS_AT + 8, 4, 2},
    {"format", "runs in another order", RUNS_AT, 4, 3},
    {"format", "a run far out", RUNS_AT + 8, 4, UINT32_MAX},
    {"format", "a run of the device's memory that isn't there", DEVICE_RUNS_AT, 4, 1},
    {"total", "another total", META_AT + 40, 8, 10},
    {"format", "a nonce that is neither there nor not", META_AT + 48, 1, 2},
    {"format", "no nonce, but its bytes", META_AT + 50, 1, 1},
    {"hash", "another hash of a block", HASHES_AT + 33, 1, 77},
    {"format", "bytes before the pages", HASHES_AT + 4 * 32 + 7, 1, 1},
    {"hash", "another byte of a block", 2 * BLOCK + 9, 1, 1},
    {"hash", "another byte of the device's", 4 * BLOCK + 9, 1, 1},
};

static uint8_t *four_blocks(size_t *size)
{
    static uint8_t memory[4 * BLOCK];
    memory[0] = memory[BLOCK] = memory[3 * BLOCK] = 1;
    tw_snapshot_writer_options writer = writer_with(PLAIN);
    tw_snapshot_state s = TW_SNAPSHOT_STATE_INIT;
    s.has_created = true;
    s.wasm_memory = (tw_span){memory, sizeof memory};
    s.device_memory = (tw_span){memory, BLOCK};
    s.registers = (tw_span){(const uint8_t *)"regs", 4};
    uint8_t *bytes = test_write(&writer, &s, size);
    assert_int_equal(*size, 5 * BLOCK);
    assert_int_equal(tw_little64(bytes + 360), HASHES_AT);
    return bytes;
}

static void forgeries_with_right_hashes_are_refused_by_name(void **state)
{
    (void)state;
    tw_snapshot_reader_options options = reader_with(PLAIN);
    size_t size;
    uint8_t *good = four_blocks(&size), *bytes = malloc(size);
    assert_non_null(bytes);
    for (size_t i = 0; i < sizeof forgeries / sizeof *forgeries; i++) {
        const forgery *f = &forgeries[i];
        memcpy(bytes, good, size);
        for (int k = 0; k < f->bytes; k++) bytes[f->offset + (size_t)k] = (uint8_t)(f->value >> 8 * k);
        if (f->offset == 248) tw_put_little64(bytes + META_AT + 40, f->value + BLOCK + 4); /* the total too: it would be seen before */
        rehash(bytes, size);
        const char *name = tw_snapshot_class_name(refusal(&options, bytes, size)),
                   *of_file = tw_snapshot_class_name(refusal_of_file(&options, bytes, size));
        if (strcmp(name, f->class_name)) fail_msg("%s: %s, expected %s", f->what, name, f->class_name);
        if (strcmp(of_file, f->class_name)) fail_msg("%s, in a file: %s, expected %s", f->what, of_file, f->class_name);
    }
    free(bytes);
    free(good);
}

/* A forger who makes the leaves right, too, has made another file, whose content is another. */
static void the_content_names_every_byte(void **state)
{
    (void)state;
    tw_snapshot_reader_options options = reader_with(PLAIN);
    size_t size;
    uint8_t *bytes = four_blocks(&size);
    tw_snapshot *before, *after;
    assert_int_equal(test_read(&options, bytes, size, &before, NULL, NULL), TW_OK);
    bytes[2 * BLOCK + 9] = 1;
    blake3(bytes + 2 * BLOCK, BLOCK, NULL, 0, bytes + HASHES_AT + 32);
    rehash(bytes, size);
    assert_int_equal(test_read(&options, bytes, size, &after, NULL, NULL), TW_OK);
    assert_int_equal(after->wasm_memory.data[BLOCK + 9], 1);
    assert_memory_not_equal(before->content, after->content, 32);
    tw_snapshot_free(before);
    tw_snapshot_free(after);
    free(bytes);
}

static void bytes_behind_it_are_trailing(void **state)
{
    (void)state;
    tw_snapshot_reader_options options = reader_with(PLAIN);
    size_t size;
    uint8_t *bytes = image_of(PLAIN, "small", &size);
    bytes = realloc(bytes, size + 1);
    assert_non_null(bytes);
    bytes[size] = 0;
    assert_class(refusal(&options, bytes, size + 1), "trailing");
    assert_class(refusal_of_file(&options, bytes, size + 1), "trailing");
    free(bytes);
}

/* ---- keys and demands ---- */

static void readers_without_the_right_key_refuse(void **state)
{
    (void)state;
    size_t size;
    tw_snapshot_reader_options none = TW_SNAPSHOT_READER_OPTIONS_INIT, wrong = TW_SNAPSHOT_READER_OPTIONS_INIT;
    tw_snapshot_reader_options required = reader_with(HMAC), sealed = reader_with(HMAC);
    wrong.hmac_key = keys.hmac2;
    wrong.ed25519_public = keys.ed2;
    sealed.aead_key = keys.aead;
    static const char *const without[GUARDS] = {"none", "nokey", "nokey"}, *const with_wrong[GUARDS] = {"none", "signature", "signature"};
    for (int g = 0; g < GUARDS; g++) {
        uint8_t *bytes = image_of((guard)g, "small", &size);
        assert_class(refusal(&none, bytes, size), without[g]);
        assert_class(refusal(&wrong, bytes, size), with_wrong[g]);
        assert_class(refusal(&sealed, bytes, size), "aead");
        if (g == PLAIN) assert_class(refusal(&required, bytes, size), "unsigned");
        free(bytes);
    }
    tw_snapshot_writer_options writer = writer_with(PLAIN);
    tw_snapshot_writer *made;
    writer.aead_key = keys.aead;
    assert_int_equal(tw_snapshot_writer_new(&writer, &made, NULL), TW_INVALID_ARGUMENT);
}

static void what_the_reader_demands_holds_for_images(void **state)
{
    (void)state;
    size_t size;
    uint8_t *bytes = image_of(HMAC, "seq7_nonce", &size);
    tw_snapshot_reader_options options = reader_with(HMAC);
    options.min_sequence = 7;
    assert_class(refusal(&options, bytes, size), "none");
    options.min_sequence = 8;
    assert_class(refusal(&options, bytes, size), "replay");
    options = reader_with(HMAC);
    options.has_max_age = true;
    options.max_age_ms = 1000;
    assert_class(refusal(&options, bytes, size), "stale");
    options = reader_with(HMAC);
    options.max_file = size - 1;
    assert_class(refusal(&options, bytes, size), "limit");
    assert_class(refusal_of_file(&options, bytes, size), "limit");
    free(bytes);
}

/* ---- from files ---- */

static void other_formats_are_opened_as_well(void **state)
{
    (void)state;
    static const tw_snapshot_format formats[] = {TW_SNAPSHOT_ARCHIVE, TW_SNAPSHOT_V2};
    tw_snapshot_reader_options reader = reader_with(PLAIN);
    for (size_t i = 0; i < 2; i++) {
        tw_snapshot_writer_options writer = TW_SNAPSHOT_WRITER_OPTIONS_INIT;
        test_state *s = test_state_new("conformance");
        tw_snapshot *out;
        writer.format = formats[i];
        save(&writer, &s->state);
        assert_int_equal(open_path(&reader, path, &out, NULL, NULL), TW_OK);
        assert_snapshot_has(out, &s->state);
        tw_snapshot_free(out);
        free(s);
    }
    tw_snapshot *out;
    tw_snapshot_class why;
    assert_int_equal(open_path(&reader, "/nowhere/at/all", &out, &why, NULL), TW_NOT_FOUND);
    assert_int_equal(open_path(&reader, folder, &out, &why, NULL), TW_IO);
    assert_class(why, "none");
    char fifo[80];
    snprintf(fifo, sizeof fifo, "%s/fifo", folder);
    assert_int_equal(mkfifo(fifo, 0600), 0);
    assert_int_equal(open_path(&reader, fifo, &out, &why, NULL), TW_IO);
    unlink(fifo);
}

/* What was verified is a copy: neither writing to the file nor cutting it changes what was read. */
static void a_file_changed_after_it_was_verified_changes_nothing(void **state)
{
    (void)state;
    tw_snapshot_writer_options writer = writer_with(PLAIN);
    tw_snapshot_reader_options reader = reader_with(PLAIN);
    test_state *s = test_state_new("pages3");
    tw_snapshot *out;
    save(&writer, &s->state);
    assert_int_equal(open_path(&reader, path, &out, NULL, NULL), TW_OK);
    FILE *file = fopen(path, "r+b");
    fseek(file, BLOCK, SEEK_SET);
    for (int i = 0; i < BLOCK; i++) fputc(0xAA, file);
    fclose(file);
    assert_snapshot_has(out, &s->state);
    assert_int_equal(truncate(path, 100), 0);
    assert_snapshot_has(out, &s->state);
    tw_snapshot_free(out);
    free(s);
}

static tw_snapshot_class trust(const char *from)
{
    tw_snapshot_reader_options reader = reader_with(PLAIN);
    tw_snapshot *out;
    tw_snapshot_class why;
    tw_error error = {0};
    reader.verify = TW_SNAPSHOT_VERIFY_TRUSTED;
    tw_status status = open_path(&reader, from, &out, &why, &error);
    if (why == TW_SNAPSHOT_CLASS_STORE) assert_int_equal(status, TW_UNTRUSTED);
    if (!status) tw_snapshot_free(out);
    return why;
}

static void only_a_private_store_is_trusted(void **state)
{
    (void)state;
    tw_snapshot_writer_options writer = writer_with(PLAIN);
    test_state *s = test_state_new("conformance");
    char link[80], elsewhere[80];
    snprintf(link, sizeof link, "%s/link", folder);
    snprintf(elsewhere, sizeof elsewhere, "%s/fifo", folder);
    save(&writer, &s->state);
    assert_class(trust(path), "none");
    static const mode_t folders[] = {0755, 0770, 0701, 01700, 0500};
    for (size_t i = 0; i < sizeof folders / sizeof *folders; i++) {
        chmod(folder, folders[i]);
        assert_class(trust(path), "store");
    }
    chmod(folder, 0700);
    static const mode_t files[] = {0620, 0602, 0666};
    for (size_t i = 0; i < sizeof files / sizeof *files; i++) {
        chmod(path, files[i]);
        assert_class(trust(path), "store");
    }
    chmod(path, 0644); /* to be read by others is no harm */
    assert_class(trust(path), "none");
    assert_int_equal(symlink(path, link), 0);
    assert_class(trust(link), "store");
    unlink(link);
    assert_int_equal(mkfifo(elsewhere, 0600), 0);
    assert_class(trust(elsewhere), "store");
    unlink(elsewhere);
    if (geteuid() == 0) {
        assert_int_equal(chown(path, 1, 1), 0);
        assert_class(trust(path), "store");
        assert_int_equal(chown(path, 0, 0), 0);
        assert_int_equal(chown(folder, 1, 1), 0);
        assert_class(trust(path), "store");
        assert_int_equal(chown(folder, 0, 0), 0);
    }
    assert_class(trust(path), "none");
    free(s);
}

/* On trust the pages aren't looked at; all else is. */
static void trusted_images_are_verified_but_for_their_pages(void **state)
{
    (void)state;
    tw_snapshot_writer_options writer = writer_with(HMAC);
    tw_snapshot_reader_options reader = reader_with(HMAC);
    test_state *s = test_state_new("conformance");
    tw_snapshot *out;
    save(&writer, &s->state);
    reader.verify = TW_SNAPSHOT_VERIFY_TRUSTED;
    assert_int_equal(open_path(&reader, path, &out, NULL, NULL), TW_OK);
    assert_int_equal(out->wasm_memory.size, 8192);
    assert_null(out->wasm_memory.data);
    assert_span_equal(out->device_memory, s->state.device_memory);
    assert_span_equal(out->registers, s->state.registers);
    assert_int_equal(out->tenant, s->state.tenant);
    tw_snapshot_free(out);
    size_t size;
    uint8_t *bytes = image_of(HMAC, "conformance", &size);
    for (size_t bit = 0; bit < 8 * (TABLE_END + 32 + 65 + 512 + 16); bit += 3) {
        bytes[bit / 8] ^= (uint8_t)(1 << bit % 8);
        if (!refusal_of_file(&reader, bytes, size)) fail_msg("taken on trust with bit %zu turned", bit);
        bytes[bit / 8] ^= (uint8_t)(1 << bit % 8);
    }
    /* what has no data can't be written again, nor be a base */
    put_bytes(bytes, size);
    assert_int_equal(open_path(&reader, path, &out, NULL, NULL), TW_OK);
    tw_snapshot_writer *made;
    writer.base = out;
    assert_int_equal(tw_snapshot_writer_new(&writer, &made, NULL), TW_INVALID_ARGUMENT);
    tw_snapshot_free(out);
    free(bytes);
    free(s);
}

/* ---- incremental ---- */

static tw_snapshot *read_on(const tw_snapshot *base, const uint8_t *bytes, size_t size)
{
    tw_snapshot_reader_options reader = reader_with(PLAIN);
    tw_snapshot *out = NULL;
    tw_error error = {0};
    reader.base = base;
    if (test_read(&reader, bytes, size, &out, NULL, &error)) fail_msg("%s", error.message);
    return out;
}

static tw_snapshot_class refusal_on(const tw_snapshot *base, const uint8_t *bytes, size_t size)
{
    tw_snapshot_reader_options reader = reader_with(PLAIN);
    reader.base = base;
    return refusal(&reader, bytes, size);
}

static uint8_t *write_on(const tw_snapshot *base, const tw_snapshot_state *state, size_t *size)
{
    tw_snapshot_writer_options writer = writer_with(PLAIN);
    writer.base = base;
    return test_write(&writer, state, size);
}

static tw_snapshot_state state_of(const uint8_t *memory, size_t size)
{
    tw_snapshot_state s = TW_SNAPSHOT_STATE_INIT;
    s.has_created = true;
    s.wasm_memory = (tw_span){memory, size};
    s.device_memory = (tw_span){memory + size / 2, size / 3};
    s.registers = (tw_span){(const uint8_t *)"registers", 9};
    return s;
}

static uint32_t next(uint32_t *seed) { return *seed = *seed * 1664525 + 1013904223; }

/* Some blocks with something in them, some zeroed, some left. */
static void scribble(uint8_t *memory, size_t size, uint32_t *seed)
{
    for (size_t at = 0; at < size; at += BLOCK) {
        uint32_t what = next(seed) >> 28;
        if (what < 3) memory[at + (size - at < BLOCK ? 0 : next(seed) % BLOCK)] ^= (uint8_t)(next(seed) >> 24);
        else if (what == 3) memset(memory + at, 0, size - at < BLOCK ? size - at : BLOCK);
    }
}

/* Memories that grow and shrink by any number of bytes, over archives and images, as many as may stand on one another. */
static void what_differs_from_a_base_comes_back_with_it(void **state)
{
    (void)state;
    enum { MOST = 40 * BLOCK };
    uint8_t *memory = calloc(1, MOST);
    assert_non_null(memory);
    for (uint32_t seed = 1; seed <= 12; seed++) {
        uint32_t random = seed;
        tw_snapshot_writer_options writer = writer_with(PLAIN);
        if (seed & 1) writer.format = TW_SNAPSHOT_ARCHIVE;
        size_t size = next(&random) % MOST, length;
        scribble(memory, size, &random);
        tw_snapshot_state s = state_of(memory, size);
        uint8_t *bytes = test_write(&writer, &s, &length);
        tw_snapshot *below = read_on(NULL, bytes, length);
        free(bytes);
        for (uint32_t depth = 1; depth <= TW_SNAPSHOT_MAX_DEPTH; depth++) {
            size_t wanted = next(&random) % 3 ? size : next(&random) % MOST;
            if (wanted > size) memset(memory + size, 0, wanted - size);
            size = wanted;
            scribble(memory, size, &random);
            s = state_of(memory, size);
            bytes = write_on(below, &s, &length);
            tw_snapshot *above = read_on(below, bytes, length);
            assert_snapshot_has(above, &s);
            assert_int_equal(above->depth, depth);
            assert_true(above->has_base);
            assert_memory_equal(above->base, below->content, 32);
            put_bytes(bytes, length);
            tw_snapshot_reader_options reader = reader_with(PLAIN);
            for (int trusted = 0; trusted < 2; trusted++) {
                tw_snapshot *from_file;
                reader.base = below;
                reader.verify = trusted ? TW_SNAPSHOT_VERIFY_TRUSTED : TW_SNAPSHOT_VERIFY_FULL;
                assert_int_equal(open_path(&reader, path, &from_file, NULL, NULL), TW_OK);
                assert_snapshot_has(from_file, &s);
                tw_snapshot_free(from_file);
            }
            assert_class(refusal_on(NULL, bytes, length), "base");
            assert_class(refusal_on(above, bytes, length), "base");
            free(bytes);
            tw_snapshot_free(below);
            below = above;
        }
        tw_snapshot_writer *made;
        writer = writer_with(PLAIN);
        writer.base = below;
        assert_int_equal(tw_snapshot_writer_new(&writer, &made, NULL), TW_LIMIT);
        tw_snapshot_free(below);
    }
    free(memory);
}

static void only_what_differs_is_written(void **state)
{
    (void)state;
    const size_t size = (size_t)100 * BLOCK;
    uint8_t *memory = malloc(size);
    size_t length;
    assert_non_null(memory);
    memset(memory, 7, size);
    tw_snapshot_state s = state_of(memory, size);
    s.device_memory = (tw_span){NULL, 0};
    uint8_t *bytes = write_on(NULL, &s, &length);
    tw_snapshot *base = read_on(NULL, bytes, length);
    free(bytes);
    bytes = write_on(base, &s, &length);
    assert_true(length < 1000); /* nothing does */
    free(bytes);
    memory[50 * BLOCK + 4] = 8;
    memset(memory + 60 * BLOCK, 0, BLOCK);
    bytes = write_on(base, &s, &length);
    assert_int_equal(length, 3 * BLOCK);
    tw_snapshot *again = read_on(base, bytes, length);
    assert_snapshot_has(again, &s);
    tw_snapshot_free(again);
    tw_snapshot_free(base);
    free(bytes);
    free(memory);
}

/* ---- incremental, from files ---- */

static tw_snapshot *open_file_on(const tw_snapshot *base, tw_snapshot_verify verify)
{
    tw_snapshot_reader_options reader = reader_with(PLAIN);
    tw_snapshot *out = NULL;
    tw_error error = {0};
    reader.base = base;
    reader.verify = verify;
    if (open_path(&reader, path, &out, NULL, &error)) fail_msg("%s", error.message);
    return out;
}

/* What instances would find there. */
static void assert_maps_to(const tw_snapshot *s, const tw_snapshot_state *state)
{
    const tw_snap_backing *b = tw_snap_backing_of(s);
    uint8_t *memory = calloc(1, state->wasm_memory.size + 1);
    uint64_t end = 0;
    assert_non_null(b);
    assert_non_null(memory);
    for (uint32_t r = 0; r < b->run_count; r++) {
        const tw_snap_run *run = &b->runs[r];
        assert_true(run->at >= end && run->size && run->at % BLOCK == 0 && run->in_file % BLOCK == 0 && run->file < b->file_count);
        end = run->at + run->size;
        assert_true(end <= state->wasm_memory.size);
        assert_int_equal(pread(b->files[run->file], memory + run->at, run->size, (off_t)run->in_file), run->size);
    }
    assert_memory_equal(memory, state->wasm_memory.data, state->wasm_memory.size);
    assert_int_equal(s->wasm_memory.size, state->wasm_memory.size);
    free(memory);
}

/* Memories that grow and shrink; by whole pages they are mapped over one another, by others they are merged. Each file is gone when
 * the next is read. */
static void chains_of_files_are_mapped_over_one_another(void **state)
{
    (void)state;
    enum { MOST = 40 * BLOCK };
    uint8_t *memory = calloc(1, MOST);
    assert_non_null(memory);
    for (uint32_t seed = 1; seed <= 12; seed++) {
        uint32_t random = seed, unit = seed % 4 ? 4096 : 1;
        size_t size = next(&random) % MOST / unit * unit, length;
        tw_snapshot *full = NULL, *trusted = NULL;
        memset(memory, 0, MOST);
        scribble(memory, size, &random);
        for (uint32_t depth = 0; depth <= TW_SNAPSHOT_MAX_DEPTH; depth++) {
            tw_snapshot_state s = state_of(memory, size);
            uint8_t *bytes = write_on(full, &s, &length);
            unlink(path);
            put_bytes(bytes, length);
            free(bytes);
            tw_snapshot *over_full = open_file_on(full, TW_SNAPSHOT_VERIFY_FULL), *over_trusted = open_file_on(trusted, TW_SNAPSHOT_VERIFY_TRUSTED);
            assert_snapshot_has(over_full, &s);
            assert_span_equal(over_trusted->device_memory, s.device_memory);
            if (unit == 4096) {
                assert_maps_to(over_full, &s);
                assert_maps_to(over_trusted, &s);
                assert_true(!size || !over_trusted->wasm_memory.data);
            } else if (over_trusted->wasm_memory.data) {
                assert_span_equal(over_trusted->wasm_memory, s.wasm_memory);
            }
            tw_snapshot_free(full);
            tw_snapshot_free(trusted);
            full = over_full, trusted = over_trusted;
            size_t wanted = next(&random) % 3 ? size : next(&random) % MOST / unit * unit;
            if (wanted > size) memset(memory + size, 0, wanted - size);
            size = wanted;
            scribble(memory, size, &random);
        }
        tw_snapshot_free(full);
        tw_snapshot_free(trusted);
    }
    free(memory);
}

/* 32 blocks far apart cut what is below in 33, again and again. */
static void what_would_be_too_many_mappings_is_merged(void **state)
{
    (void)state;
    enum { FILES = 8, APART = 2 * FILES, BLOCKS = 32 * APART + 1 };
    const size_t size = (size_t)BLOCKS * BLOCK;
    uint8_t *memory = malloc(size);
    tw_snapshot *full = NULL, *trusted = NULL;
    assert_non_null(memory);
    memset(memory, 1, size);
    for (size_t depth = 0; depth <= FILES; depth++) {
        size_t length;
        for (size_t i = 0; depth && i < 32; i++) memory[(i * APART + 2 * depth - 1) * BLOCK + i] = (uint8_t)(depth + 1);
        tw_snapshot_state s = state_of(memory, size);
        s.device_memory = (tw_span){NULL, 0};
        uint8_t *bytes = write_on(full, &s, &length);
        unlink(path);
        put_bytes(bytes, length);
        free(bytes);
        tw_snapshot *over_full = open_file_on(full, TW_SNAPSHOT_VERIFY_FULL), *over_trusted = open_file_on(trusted, TW_SNAPSHOT_VERIFY_TRUSTED);
        assert_snapshot_has(over_full, &s);
        if (depth < FILES) {
            assert_int_equal(tw_snap_backing_of(over_trusted)->run_count, 1 + 64 * depth);
            assert_int_equal(tw_snap_backing_of(over_trusted)->file_count, 1 + depth);
            assert_maps_to(over_trusted, &s);
        } else {
            assert_null(tw_snap_backing_of(over_full));
            assert_null(tw_snap_backing_of(over_trusted));
            assert_span_equal(over_trusted->wasm_memory, s.wasm_memory);
        }
        tw_snapshot_free(full);
        tw_snapshot_free(trusted);
        full = over_full, trusted = over_trusted;
    }
    tw_snapshot_free(full);
    tw_snapshot_free(trusted);
    free(memory);
}

/* Written by version 1 over the golden image of "pages3", with one byte changed. */
static tw_snapshot_state changed_pages3(test_state *s)
{
    s->wasm[BLOCK + 1] ^= 0x80;
    return s->state;
}

static void incremental_files_of_version_1_are_read_for_ever(void **state)
{
    (void)state;
    size_t base_size, size, ours;
    test_state *s = test_state_new("pages3");
    uint8_t *base_bytes = test_file("../image/v1_pages3_ed25519.twi", &base_size), *bytes = test_file("../image/v1_incremental.twi", &size);
    tw_snapshot *base = read_on(NULL, base_bytes, base_size), *out = read_on(base, bytes, size);
    tw_snapshot_state wanted = changed_pages3(s);
    assert_snapshot_has(out, &wanted);
    uint8_t *now = write_on(base, &wanted, &ours);
    assert_int_equal(ours, size);
    assert_memory_equal(now, bytes, size);
    tw_snapshot_free(base);
    tw_snapshot_free(out);
    free(base_bytes);
    free(bytes);
    free(now);
    free(s);
}

static void a_wrong_base_is_refused(void **state)
{
    (void)state;
    static uint8_t memory[3 * BLOCK] = {1};
    tw_snapshot_state s = state_of(memory, sizeof memory);
    size_t length, base_length, other_length;
    uint8_t *base_bytes = write_on(NULL, &s, &base_length);
    memory[2 * BLOCK] = 5;
    uint8_t *other_bytes = write_on(NULL, &s, &other_length);
    tw_snapshot *base = read_on(NULL, base_bytes, base_length), *other = read_on(NULL, other_bytes, other_length);
    uint8_t *bytes = write_on(base, &s, &length), *forged = malloc(length);
    assert_non_null(forged);
    assert_class(refusal_on(base, bytes, length), "none");
    assert_class(refusal_on(other, bytes, length), "base");
    assert_class(refusal_on(NULL, bytes, length), "base");
    static const struct {
        const char *class_name;
        size_t offset;
        uint32_t value;
    } rows[] = {{"base", 24, 2}, {"limit", 24, 17}, {"limit", 24, UINT32_MAX}, {"format", 24, 0}, {"format", 8, 0}, {"base", 32, 0}};
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        memcpy(forged, bytes, length);
        tw_put_little32(forged + rows[i].offset, rows[i].value);
        rehash(forged, length);
        const char *name = tw_snapshot_class_name(refusal_on(base, forged, length));
        if (strcmp(name, rows[i].class_name)) fail_msg("row %zu: %s, expected %s", i, name, rows[i].class_name);
    }
    for (size_t bit = 0; bit < 8 * length; bit += bit < 8 * 1000 || bit / 8 > length - 16 ? 1 : 4093) {
        bytes[bit / 8] ^= (uint8_t)(1 << bit % 8);
        if (refusal_on(base, bytes, length) == TW_SNAPSHOT_CLASS_NONE) fail_msg("taken with bit %zu turned", bit);
        bytes[bit / 8] ^= (uint8_t)(1 << bit % 8);
    }
    tw_snapshot_writer_options writer = writer_with(PLAIN);
    tw_snapshot_writer *made;
    writer.base = base;
    assert_int_equal(tw_snapshot_writer_new(&writer, &made, NULL), TW_OK);
    s.tenant = 9; /* another tenant's memory isn't a base */
    uint8_t *out;
    assert_int_equal(tw_snapshot_capture(made, &s, &out, &length, NULL), TW_INVALID_ARGUMENT);
    tw_snapshot_writer_free(made);
    writer.format = TW_SNAPSHOT_ARCHIVE;
    assert_int_equal(tw_snapshot_writer_new(&writer, &made, NULL), TW_INVALID_ARGUMENT);
    tw_snapshot_free(base);
    tw_snapshot_free(other);
    free(base_bytes);
    free(other_bytes);
    free(bytes);
    free(forged);
}

/* `test_image --write FOLDER` makes the golden files. */
static int write_golden(const char *to)
{
    static const struct {
        const char *file, *state;
        guard guard;
    } rows[] = {{"v1_seq7_nonce", "seq7_nonce", PLAIN}, {"v1_conformance_hmac", "conformance", HMAC}, {"v1_pages3_ed25519", "pages3", ED25519}};
    keys = test_keys_new();
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        size_t size;
        char name[300];
        uint8_t *bytes = image_of(rows[i].guard, rows[i].state, &size);
        snprintf(name, sizeof name, "%s/%s.twi", to, rows[i].file);
        FILE *file = fopen(name, "wbx");
        if (!file || fwrite(bytes, 1, size, file) != size) return 1;
        fclose(file);
        free(bytes);
    }
    return 0;
}

/* And `test_image --write-incremental FILE` the one that stands on another. */
static int write_incremental(const char *to)
{
    size_t base_size, size;
    keys = test_keys_new();
    test_state *s = test_state_new("pages3");
    uint8_t *base_bytes = test_file("../image/v1_pages3_ed25519.twi", &base_size);
    tw_snapshot *base = read_on(NULL, base_bytes, base_size);
    tw_snapshot_state changed = changed_pages3(s);
    uint8_t *bytes = write_on(base, &changed, &size);
    FILE *file = fopen(to, "wbx");
    return !file || fwrite(bytes, 1, size, file) != size || fclose(file);
}

int main(int argc, char **argv)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(what_goes_in_comes_out),
        cmocka_unit_test(the_number_of_threads_does_not_show),
        cmocka_unit_test(the_layout_is_that_of_the_document),
        cmocka_unit_test(zeros_cost_nothing),
        cmocka_unit_test(zero_blocks_in_a_run_are_holes),
        cmocka_unit_test(files_of_version_1_are_read_for_ever),
        cmocka_unit_test(cut_anywhere_it_is_refused),
        cmocka_unit_test(with_any_bit_turned_it_is_refused),
        cmocka_unit_test(forgeries_with_right_hashes_are_refused_by_name),
        cmocka_unit_test(the_content_names_every_byte),
        cmocka_unit_test(bytes_behind_it_are_trailing),
        cmocka_unit_test(readers_without_the_right_key_refuse),
        cmocka_unit_test(what_the_reader_demands_holds_for_images),
        cmocka_unit_test(other_formats_are_opened_as_well),
        cmocka_unit_test(a_file_changed_after_it_was_verified_changes_nothing),
        cmocka_unit_test(only_a_private_store_is_trusted),
        cmocka_unit_test(trusted_images_are_verified_but_for_their_pages),
        cmocka_unit_test(what_differs_from_a_base_comes_back_with_it),
        cmocka_unit_test(only_what_differs_is_written),
        cmocka_unit_test(chains_of_files_are_mapped_over_one_another),
        cmocka_unit_test(what_would_be_too_many_mappings_is_merged),
        cmocka_unit_test(incremental_files_of_version_1_are_read_for_ever),
        cmocka_unit_test(a_wrong_base_is_refused),
    };
    if (argc == 3 && !strcmp(argv[1], "--write")) return write_golden(argv[2]);
    if (argc == 3 && !strcmp(argv[1], "--write-incremental")) return write_incremental(argv[2]);
    return cmocka_run_group_tests(tests, begin, end);
}
