/* SPDX-License-Identifier: Apache-2.0 */
#ifndef TW_WASM_READ_H
#define TW_WASM_READ_H

/* The primitives under the decoder. Each reads one thing and moves past it, or fails with the thing's module
 * offset, the reader left somewhere inside. `what` names the thing for the message. */

#include "wasm/module.h"

static inline size_t tw_reader_left(const tw_reader *reader) { return (size_t)(reader->end - reader->at); }
static inline uint64_t tw_reader_offset(const tw_reader *reader)
{
    return reader->base + (uint64_t)(reader->at - reader->start);
}

/* A failure at the reader's place; the function is filled in by whoever knows it. */
#define TW_READ_FAIL(reader, error, status, ...)                                                   \
    tw_fail_at((error), (status), TW_NO_FUNCTION, tw_reader_offset(reader), __VA_ARGS__)

tw_status tw_read_byte(tw_reader *reader, const char *what, uint8_t *out, tw_error *error);
tw_status tw_read_u32(tw_reader *reader, const char *what, uint32_t *out, tw_error *error);
tw_status tw_read_s32(tw_reader *reader, const char *what, int32_t *out, tw_error *error);
tw_status tw_read_s64(tw_reader *reader, const char *what, int64_t *out, tw_error *error);
tw_status tw_read_bytes(tw_reader *reader, const char *what, size_t size, tw_span *out, tw_error *error);
/* A count of things that take at least `least` bytes each: more than the bytes left could hold is refused
 * here, before anything is allocated for them; so is more than `limit`. */
tw_status tw_read_count(tw_reader *reader, const char *what, size_t least, uint32_t limit, uint32_t *out,
                        tw_error *error);
/* UTF-8, checked. */
tw_status tw_read_name(tw_reader *reader, const char *what, tw_name *out, tw_error *error);
/* A value type; the ones of proposals that are off are refused by the proposal's name. */
tw_status tw_read_type(tw_reader *reader, const char *what, tw_type *out, tw_error *error);
/* After ref.null. */
tw_status tw_read_heap_type(tw_reader *reader, tw_type *out, tw_error *error);
/* Block types: 0x40, a value type, or a type index. */
tw_status tw_read_block_type(tw_reader *reader, tw_instr *out, tw_error *error);

/* Names the proposal that an opcode we don't know belongs to; NULL when it is nobody's. */
const char *tw_opcode_proposal(uint8_t prefix, uint32_t code);

bool tw_utf8_valid(const uint8_t *bytes, size_t size);

#endif
