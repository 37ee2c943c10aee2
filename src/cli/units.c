/* SPDX-License-Identifier: Apache-2.0 */
#include "cli/units.h"

#include <string.h>

typedef struct unit {
    const char *name;
    uint64_t worth;
} unit;

static const unit sizes[] = {
    {"", 1},      {"B", 1},        {"KiB", 1ull << 10}, {"MiB", 1ull << 20}, {"GiB", 1ull << 30}, {"TiB", 1ull << 40},
    {"kB", 1000}, {"MB", 1000000}, {"GB", 1000000000},
};
static const unit durations[] = {
    {"ns", 1}, {"us", 1000}, {"ms", 1000000}, {"s", 1000000000}, {"m", 60000000000}, {"h", 3600000000000},
};

/* The digits at *text, which is moved behind them. False when there are none or too many. */
static bool take_digits(const char **text, uint64_t *out)
{
    const char *p = *text;
    uint64_t number = 0;
    for (; *p >= '0' && *p <= '9'; p++)
        if (__builtin_mul_overflow(number, 10, &number) ||
            __builtin_add_overflow(number, (uint64_t)(*p - '0'), &number))
            return false;
    if (p == *text) return false;
    *text = p;
    *out = number;
    return true;
}

static bool parse(const char *text, const unit *units, size_t count, uint64_t *out)
{
    uint64_t number;
    if (!take_digits(&text, &number)) return false;
    for (size_t i = 0; i < count; i++)
        if (!strcmp(units[i].name, text)) {
            uint64_t value;
            if (__builtin_mul_overflow(number, units[i].worth, &value)) return false;
            *out = value;
            return true;
        }
    return false;
}

bool cli_parse_size(const char *text, uint64_t *bytes)
{
    return parse(text, sizes, sizeof sizes / sizeof *sizes, bytes);
}

bool cli_parse_duration(const char *text, uint64_t *ns)
{
    return parse(text, durations, sizeof durations / sizeof *durations, ns);
}

bool cli_parse_number(const char *text, uint64_t *number)
{
    uint64_t value;
    if (!take_digits(&text, &value) || *text) return false;
    *number = value;
    return true;
}

bool cli_parse_count(const char *text, uint32_t *count)
{
    uint64_t number;
    if (!cli_parse_number(text, &number) || number > UINT32_MAX) return false;
    *count = (uint32_t)number;
    return true;
}
