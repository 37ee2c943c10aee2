/* SPDX-License-Identifier: Apache-2.0 */
#ifndef TW_JSON_WRITE_H
#define TW_JSON_WRITE_H

/* JSON text by appending. Structure (braces, commas) is the caller's; strings are escaped here. */

#include "base/bytes.h"

/* A quoted string: control characters, quotes and backslashes escaped, bytes that aren't UTF-8 replaced. */
void tw_json_string(tw_bytes *out, const char *text);
/* "key": — with a comma before it unless *first, which becomes 0. */
void tw_json_key(tw_bytes *out, int *first, const char *key);

#endif
