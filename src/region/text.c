/* SPDX-License-Identifier: Apache-2.0 */
#include "region/text.h"

#include <stdarg.h>
#include <stdio.h>
#include <string.h>

tw_status tw_text_fail(const tw_text *text, const char *format, ...)
{
    char message[256];
    va_list args;
    va_start(args, format);
    vsnprintf(message, sizeof message, format, args);
    va_end(args);
    return tw_fail_at(text->error, TW_MALFORMED, TW_NO_FUNCTION, (uint64_t)(text->at - text->start), "%s", message);
}

size_t tw_text_peek(tw_text *text, const char **word)
{
    while (text->at < text->end && *text->at == ' ') text->at++;
    const char *end = text->at;
    while (end < text->end && *end != ' ' && *end != '\n') end++;
    *word = text->at;
    return (size_t)(end - text->at);
}

bool tw_text_word(tw_text *text, const char *word)
{
    const char *at;
    size_t size = tw_text_peek(text, &at);
    if (size != strlen(word) || memcmp(at, word, size)) return false;
    text->at += size;
    return true;
}

tw_status tw_text_expect(tw_text *text, const char *word)
{
    if (tw_text_word(text, word)) return TW_OK;
    return tw_text_fail(text, "expected `%s`", word);
}

static int digit_of(char c, unsigned base)
{
    int digit = c >= '0' && c <= '9' ? c - '0' : c >= 'a' && c <= 'f' ? c - 'a' + 10 : 99;
    return digit < (int)base ? digit : -1;
}

/* Digits from `at` to `end`; at least one, and no overflow. */
static bool read_digits(const char *at, const char *end, unsigned base, uint64_t *out)
{
    uint64_t value = 0;
    if (at == end) return false;
    for (; at < end; at++) {
        int digit = digit_of(*at, base);
        if (digit < 0 || __builtin_mul_overflow(value, base, &value)) return false;
        if (__builtin_add_overflow(value, (uint64_t)digit, &value)) return false;
    }
    *out = value;
    return true;
}

tw_status tw_text_u64(tw_text *text, uint64_t *out)
{
    const char *at;
    size_t size = tw_text_peek(text, &at);
    bool negative = size > 1 && at[0] == '-';
    bool hex = size > 2 && at[0] == '0' && at[1] == 'x';
    uint64_t value;
    if (!read_digits(at + (negative ? 1 : hex ? 2 : 0), at + size, hex ? 16 : 10, &value) ||
        (negative && value > (uint64_t)1 << 63))
        return tw_text_fail(text, "expected a number of 64 bits");
    *out = negative ? 0 - value : value;
    text->at += size;
    return TW_OK;
}

tw_status tw_text_u32(tw_text *text, uint32_t *out)
{
    uint64_t value;
    tw_text before = *text;
    TW_TRY(tw_text_u64(text, &value));
    if (value > UINT32_MAX) return tw_text_fail(&before, "expected a number below 2^32");
    *out = (uint32_t)value;
    return TW_OK;
}

tw_status tw_text_index(tw_text *text, char letter, uint32_t *out)
{
    const char *at;
    size_t size = tw_text_peek(text, &at);
    uint64_t value;
    if (size < 2 || at[0] != letter || !read_digits(at + 1, at + size, 10, &value) || value >= UINT32_MAX)
        return tw_text_fail(text, "expected %c and a number", letter);
    *out = (uint32_t)value;
    text->at += size;
    return TW_OK;
}

tw_status tw_text_line_end(tw_text *text)
{
    const char *at;
    if (tw_text_peek(text, &at) != 0) return tw_text_fail(text, "more on the line than belongs there");
    if (text->at < text->end) text->at++;
    return TW_OK;
}
