/* SPDX-License-Identifier: Apache-2.0 */
#ifndef TW_CLI_UNITS_H
#define TW_CLI_UNITS_H

#include <stdbool.h>
#include <stdint.h>

/* Numbers with units, as people write them. Each gives false, and leaves *out alone, for anything else: a sign, a
 * space, a fraction, an unknown unit, a number that doesn't fit. */

/* "4096", "64KiB", "256MiB", "4GiB", and the decimal "kB", "MB", "GB". */
bool cli_parse_size(const char *text, uint64_t *bytes);
/* "500ms", "2s", "1m", "1h", "100us", "10ns". The unit is required. */
bool cli_parse_duration(const char *text, uint64_t *ns);
/* A plain decimal number. */
bool cli_parse_number(const char *text, uint64_t *number);
bool cli_parse_count(const char *text, uint32_t *count);

#endif
