/* SPDX-License-Identifier: Apache-2.0 */
#include "wasm/read.h"

/* LEB128 of at most `bits` bits: no more bytes than that takes, and the bits beyond it in the last byte
 * zeros, or copies of the sign. */
static tw_status read_leb(tw_reader *reader, const char *what, unsigned bits, bool is_signed, uint64_t *out,
                          tw_error *error)
{
    const uint8_t *at = reader->at;
    uint64_t value = 0;
    for (unsigned shift = 0;; shift += 7) {
        if (at == reader->end) return TW_READ_FAIL(reader, error, TW_MALFORMED, "unexpected end in %s", what);
        uint8_t byte = *at++;
        value |= (uint64_t)(byte & 0x7F) << shift;
        if (shift + 7 >= bits) {
            if (byte & 0x80) return TW_READ_FAIL(reader, error, TW_MALFORMED, "%s: integer takes too many bytes", what);
            int rest = is_signed ? (int8_t)(uint8_t)(byte << 1) >> (bits - shift) : byte >> (bits - shift);
            if (rest != 0 && !(is_signed && rest == -1))
                return TW_READ_FAIL(reader, error, TW_MALFORMED, "%s: integer too large", what);
        }
        if (byte & 0x80) continue;
        if (is_signed && (byte & 0x40) && shift + 7 < 64) value |= ~(uint64_t)0 << (shift + 7);
        break;
    }
    reader->at = at;
    *out = value;
    return TW_OK;
}

tw_status tw_read_byte(tw_reader *reader, const char *what, uint8_t *out, tw_error *error)
{
    if (reader->at == reader->end) return TW_READ_FAIL(reader, error, TW_MALFORMED, "unexpected end in %s", what);
    *out = *reader->at++;
    return TW_OK;
}

tw_status tw_read_u32(tw_reader *reader, const char *what, uint32_t *out, tw_error *error)
{
    uint64_t value = 0;
    if (reader->at != reader->end && *reader->at < 0x80) {
        *out = *reader->at++;
        return TW_OK;
    }
    TW_TRY(read_leb(reader, what, 32, false, &value, error));
    *out = (uint32_t)value;
    return TW_OK;
}

tw_status tw_read_s32(tw_reader *reader, const char *what, int32_t *out, tw_error *error)
{
    uint64_t value = 0;
    TW_TRY(read_leb(reader, what, 32, true, &value, error));
    *out = (int32_t)(uint32_t)value;
    return TW_OK;
}

tw_status tw_read_s64(tw_reader *reader, const char *what, int64_t *out, tw_error *error)
{
    uint64_t value = 0;
    TW_TRY(read_leb(reader, what, 64, true, &value, error));
    *out = (int64_t)value;
    return TW_OK;
}

bool tw_wasm_read_u32(const uint8_t **at, const uint8_t *end, uint32_t *out)
{
    tw_reader reader = {.start = *at, .at = *at, .end = end};
    if (tw_read_u32(&reader, "integer", out, NULL) != TW_OK) return false;
    *at = reader.at;
    return true;
}

tw_status tw_read_bytes(tw_reader *reader, const char *what, size_t size, tw_span *out, tw_error *error)
{
    if (size > tw_reader_left(reader))
        return TW_READ_FAIL(reader, error, TW_MALFORMED, "unexpected end in %s: %zu bytes declared, %zu left", what,
                            size, tw_reader_left(reader));
    *out = (tw_span){reader->at, size};
    reader->at += size;
    return TW_OK;
}

tw_status tw_read_count(tw_reader *reader, const char *what, size_t least, uint32_t limit, uint32_t *out,
                        tw_error *error)
{
    tw_reader start = *reader;
    TW_TRY(tw_read_u32(reader, what, out, error));
    if (*out > tw_reader_left(reader) / least)
        return TW_READ_FAIL(&start, error, TW_MALFORMED,
                            "unexpected end: %u declared as %s, more than the %zu bytes left can hold", *out, what,
                            tw_reader_left(reader));
    if (*out > limit) return TW_READ_FAIL(&start, error, TW_LIMIT, "%s: %u is over the limit of %u", what, *out, limit);
    return TW_OK;
}

/* Length of the well-formed sequence at `at`, 0 when there is none. */
static size_t utf8_sequence(const uint8_t *at, size_t left)
{
    uint8_t lead = at[0];
    if (lead < 0x80) return 1;
    size_t size = lead >= 0xC2 && lead < 0xE0   ? 2
                  : lead >= 0xE0 && lead < 0xF0 ? 3
                  : lead >= 0xF0 && lead < 0xF5 ? 4
                                                : 0;
    if (size == 0 || size > left) return 0;
    for (size_t i = 1; i < size; i++)
        if ((at[i] & 0xC0) != 0x80) return 0;
    bool overlong = (lead == 0xE0 && at[1] < 0xA0) || (lead == 0xF0 && at[1] < 0x90);
    bool beyond = (lead == 0xED && at[1] > 0x9F) || (lead == 0xF4 && at[1] > 0x8F); /* surrogates, over U+10FFFF */
    return overlong || beyond ? 0 : size;
}

bool tw_utf8_valid(const uint8_t *bytes, size_t size)
{
    for (size_t at = 0; at < size;) {
        size_t step = utf8_sequence(bytes + at, size - at);
        if (step == 0) return false;
        at += step;
    }
    return true;
}

tw_status tw_read_name(tw_reader *reader, const char *what, tw_name *out, tw_error *error)
{
    uint32_t size;
    tw_span bytes = {0};
    tw_reader start = *reader;
    TW_TRY(tw_read_u32(reader, what, &size, error));
    TW_TRY(tw_read_bytes(reader, what, size, &bytes, error));
    if (!tw_utf8_valid(bytes.data, bytes.size))
        return TW_READ_FAIL(&start, error, TW_MALFORMED, "%s isn't UTF-8", what);
    *out = (tw_name){(const char *)bytes.data, size};
    return TW_OK;
}
