/* SPDX-License-Identifier: Apache-2.0 */
#ifndef TW_SNAPSHOT_REGISTERS_H
#define TW_SNAPSHOT_REGISTERS_H

/* The blob "registers" of a captured instance: what it consists of beside its memories. Little-endian; "list of X" is a u32
 * count and that many X; a string is a u32 length and that many bytes of UTF-8, none of them zero.
 *
 *   u32   tag "TWRG"
 *   u32   version 1, or 2 where there are buffers
 *   32    BLAKE3 of the module, in binary form
 *   u64   bytes of linear memory
 *   u64   bytes that it may have at most
 *   list of globals, the mutable ones and all that are imported: u32 index, u8 type (the binary format's byte), 16 bytes value, unused ones zero. A funcref's value is
 *         its function's index, u32, or 0xFFFFFFFF for null
 *   list of tables: u32 index, list of u32 function index or 0xFFFFFFFF for null
 *   u32   passive segments whose drops are noted, then a u64 for each 64 of them: bit set, dropped
 *   u8    0 without WASI; 1, then: list of strings, the arguments; list of strings, the environment, NAME=VALUE; list of
 *         strings, the guest's names of its preopened directories, the first is descriptor 3
 *   version 2 only: list of buffers, at least one: string name, string backend ("host", "cuda-managed"), u64 bytes, at least one.
 *         The bytes of all lie in the snapshot's device memory, one behind the other. No name comes twice
 *
 * Nothing may follow. Indices ascend. */

#include <stdbool.h>

#include "base/arena.h"
#include "base/bytes.h"
#include "base/error.h"
#include "tensorwasm/span.h"

#define TW_REGISTERS_TAG UINT32_C(0x47525754)
enum { TW_REGISTERS_VERSION = 1, TW_REGISTERS_VERSION_BUFFERS = 2, TW_REGISTERS_MAX_BUFFERS = 1024, TW_REGISTERS_HASH = 32, TW_REGISTERS_VALUE = 16 };
#define TW_REGISTERS_NULL UINT32_MAX

typedef struct tw_registers_global {
    uint32_t index;
    uint8_t type;
    uint8_t value[TW_REGISTERS_VALUE];
} tw_registers_global;

typedef struct tw_registers_table {
    uint32_t index, size;
    const uint32_t *funcs;
} tw_registers_table;

typedef struct tw_registers_strings {
    const char *const *items; /* NUL-terminated */
    uint32_t count;
} tw_registers_strings;

typedef struct tw_registers_buffer {
    const char *name, *backend; /* NUL-terminated */
    uint64_t size;
} tw_registers_buffer;

typedef struct tw_registers {
    uint8_t module_hash[TW_REGISTERS_HASH];
    uint64_t memory_size, max_memory;
    const tw_registers_global *globals;
    uint32_t global_count;
    const tw_registers_table *tables;
    uint32_t table_count;
    const uint64_t *drops; /* words */
    uint32_t drop_count;   /* bits */
    bool has_wasi;
    tw_registers_strings args, env, dirs;
    const tw_registers_buffer *buffers;
    uint32_t buffer_count;
} tw_registers;

void tw_registers_hash(tw_span module, uint8_t hash[TW_REGISTERS_HASH]);
/* Appends the blob; a failure sticks to `out`. */
void tw_registers_write(const tw_registers *from, tw_bytes *out);
/* Everything that *out points to comes from `arena`, at most some times the blob's size. TW_MALFORMED, TW_UNSUPPORTED for
 * another version. */
tw_status tw_registers_read(tw_span blob, tw_arena *arena, tw_registers *out, tw_error *error);

#endif
