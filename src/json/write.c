/* SPDX-License-Identifier: Apache-2.0 */
#include "json/write.h"

/* Length of the well-formed UTF-8 sequence at `at`, 0 when there is none. */
static int sequence(const unsigned char *at)
{
    int length = at[0] < 0x80 ? 1 : at[0] >= 0xC2 && at[0] < 0xE0 ? 2 : (at[0] & 0xF0) == 0xE0 ? 3 : at[0] >= 0xF0 && at[0] < 0xF5 ? 4 : 0;
    for (int i = 1; i < length; i++)
        if ((at[i] & 0xC0) != 0x80) return 0;
    if (length == 3 && ((at[0] == 0xE0 && at[1] < 0xA0) || (at[0] == 0xED && at[1] >= 0xA0))) return 0;
    if (length == 4 && ((at[0] == 0xF0 && at[1] < 0x90) || (at[0] == 0xF4 && at[1] >= 0x90))) return 0;
    return length;
}

void tw_json_string(tw_bytes *out, const char *text)
{
    tw_bytes_append_byte(out, '"');
    for (const unsigned char *at = (const unsigned char *)text; *at;) {
        int length = sequence(at);
        if (*at == '"' || *at == '\\') tw_bytes_printf(out, "\\%c", *at);
        else if (*at < 0x20) tw_bytes_printf(out, "\\u%04x", *at);
        else if (length) tw_bytes_append(out, at, (size_t)length);
        else tw_bytes_append_string(out, "\\ufffd");
        at += length ? length : 1;
    }
    tw_bytes_append_byte(out, '"');
}

void tw_json_key(tw_bytes *out, int *first, const char *key)
{
    if (!*first) tw_bytes_append_byte(out, ',');
    *first = 0;
    tw_json_string(out, key);
    tw_bytes_append_byte(out, ':');
}
