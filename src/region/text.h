/* SPDX-License-Identifier: Apache-2.0 */
#ifndef TW_REGION_TEXT_H
#define TW_REGION_TEXT_H

/* Reading line-based text: words between single or more spaces, numbers, and names such as s12 or n0. Every failure is
 * TW_MALFORMED with the byte in error->offset. Used for models and facts, whose text may come from anywhere. */

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/error.h"

typedef struct tw_text {
    const char *start, *at, *end;
    tw_error *error;
} tw_text;

tw_status tw_text_fail(const tw_text *text, const char *format, ...) __attribute__((format(printf, 2, 3)));

/* Consumes `word` if it is next, as a whole word. */
bool tw_text_word(tw_text *text, const char *word);
tw_status tw_text_expect(tw_text *text, const char *word);
/* The next word, not consumed: its length (0 at the end of the line) and its first byte. */
size_t tw_text_peek(tw_text *text, const char **word);
/* Decimal, with '-' for negative ones, or 0x….; as two's complement. */
tw_status tw_text_u64(tw_text *text, uint64_t *out);
tw_status tw_text_u32(tw_text *text, uint32_t *out);
/* `letter` and a number without a space: n3. */
tw_status tw_text_index(tw_text *text, char letter, uint32_t *out);
/* Nothing but spaces may be left on the line, which is consumed with its newline. */
tw_status tw_text_line_end(tw_text *text);

#endif
