/* SPDX-License-Identifier: Apache-2.0 */
/* tw_bench_snapshots PAIRS MIB: an archive, signed with HMAC-SHA256, of a memory that is half random and half zero, on one thread.
 * Against what it is made of: zstd level 3 of the same bytes in one frame and back, and a pass of HMAC-SHA256 over what zstd made.
 * Prints JSON: {"capture": [[ours, theirs], …], "restore": [[ours, theirs], …]}, nanoseconds of CPU time. */
#include <sodium.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <zstd.h>

#include "tensorwasm/snapshot.h"

static const uint8_t key_bytes[TW_SNAPSHOT_KEY_SIZE] = {1};

typedef struct bench {
    uint8_t *memory;
    size_t size;
    tw_snapshot_writer *writer;
    tw_snapshot_reader *reader;
} bench;

typedef struct sample {
    long long capture, restore;
} sample;

static void require(bool condition, const char *what)
{
    if (condition) return;
    fprintf(stderr, "tw_bench_snapshots: %s\n", what);
    exit(1);
}

static long long cpu_time(void)
{
    struct timespec now;
    clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &now);
    return now.tv_sec * 1000000000ll + now.tv_nsec;
}

static void fill_half(uint8_t *memory, size_t size)
{
    uint64_t state = 88172645463325252u;
    for (size_t i = 0; i + 8 <= size / 2; i += 8) {
        state ^= state << 13;
        state ^= state >> 7;
        state ^= state << 17;
        memcpy(memory + i, &state, 8);
    }
}

static sample ours(const bench *b)
{
    tw_snapshot_state state = TW_SNAPSHOT_STATE_INIT;
    tw_snapshot *out;
    uint8_t *bytes;
    size_t size;
    sample s;
    state.wasm_memory = (tw_span){b->memory, b->size};
    long long start = cpu_time();
    require(!tw_snapshot_capture(b->writer, &state, &bytes, &size, NULL), "capture fails");
    s.capture = cpu_time() - start;
    start = cpu_time();
    require(!tw_snapshot_restore(b->reader, bytes, size, &out, NULL, NULL), "restore fails");
    s.restore = cpu_time() - start;
    require(memcmp(out->wasm_memory.data, b->memory, b->size) == 0, "another memory comes back");
    tw_snapshot_free(out);
    free(bytes);
    return s;
}

static sample theirs(const bench *b)
{
    sample s;
    uint8_t tag[crypto_auth_hmacsha256_BYTES];
    size_t room = ZSTD_compressBound(b->size);
    long long start = cpu_time();
    uint8_t *bytes = malloc(room);
    require(bytes != NULL, "out of memory");
    size_t size = ZSTD_compress(bytes, room, b->memory, b->size, 3);
    crypto_auth_hmacsha256(tag, bytes, size, key_bytes);
    s.capture = cpu_time() - start;
    start = cpu_time();
    uint8_t *out = malloc(b->size);
    require(out != NULL, "out of memory");
    require(crypto_auth_hmacsha256_verify(tag, bytes, size, key_bytes) == 0, "the tag is wrong");
    require(ZSTD_decompress(out, b->size, bytes, size) == b->size, "zstd fails");
    s.restore = cpu_time() - start;
    free(out);
    free(bytes);
    return s;
}

static bench make(size_t size, tw_snapshot_key *key)
{
    bench b = {.memory = calloc(1, size), .size = size};
    tw_snapshot_writer_options writer = TW_SNAPSHOT_WRITER_OPTIONS_INIT;
    tw_snapshot_reader_options reader = TW_SNAPSHOT_READER_OPTIONS_INIT;
    require(b.memory != NULL, "out of memory");
    fill_half(b.memory, size);
    writer.hmac_key = reader.hmac_key = key;
    writer.threads = reader.threads = 1;
    reader.max_bytes = size;
    reader.require_signature = true;
    require(!tw_snapshot_writer_new(&writer, &b.writer, NULL), "no writer");
    require(!tw_snapshot_reader_new(&reader, &b.reader, NULL), "no reader");
    return b;
}

static void print(const char *name, const long long (*pairs)[2], int count, const char *end)
{
    printf("\"%s\": [", name);
    for (int i = 0; i < count; i++) printf("%s[%lld, %lld]", i ? ", " : "", pairs[i][0], pairs[i][1]);
    printf("]%s", end);
}

int main(int argc, char **argv)
{
    require(argc == 3, "PAIRS MIB");
    int pairs = atoi(argv[1]);
    size_t size = (size_t)atoi(argv[2]) << 20;
    tw_snapshot_key *key;
    require(pairs > 0 && size > 0, "PAIRS and MIB are numbers");
    require(!tw_snapshot_key_new(TW_SNAPSHOT_KEY_HMAC, key_bytes, &key, NULL), "no key");
    bench b = make(size, key);
    long long(*capture)[2] = calloc((size_t)pairs, sizeof *capture),
         (*restore)[2] = calloc((size_t)pairs, sizeof *restore);
    require(capture && restore, "out of memory");
    for (int i = 0; i < pairs; i++) { /* which comes first, takes turns */
        sample first = i % 2 ? theirs(&b) : ours(&b), second = i % 2 ? ours(&b) : theirs(&b);
        sample our = i % 2 ? second : first, their = i % 2 ? first : second;
        capture[i][0] = our.capture, capture[i][1] = their.capture;
        restore[i][0] = our.restore, restore[i][1] = their.restore;
    }
    printf("{");
    print("capture", (const long long(*)[2])capture, pairs, ", ");
    print("restore", (const long long(*)[2])restore, pairs, "}\n");
    return 0;
}
