/* SPDX-License-Identifier: Apache-2.0 */
#ifndef TW_CLI_LATENCY_H
#define TW_CLI_LATENCY_H

#include <stdint.h>

/* How long something took, many times, in a table of fixed size: 128 rows for each power of two, so that a percentile is at most
 * 1 % above the true one. Count, sum, least and most are exact. One thread at a time. */

enum { CLI_LATENCY_ROWS = 128, CLI_LATENCY_POWERS = 58 };

typedef struct cli_latency {
    uint64_t count, sum, least, most; /* nanoseconds */
    uint64_t rows[CLI_LATENCY_POWERS][CLI_LATENCY_ROWS];
} cli_latency; /* all zero: nothing yet */

void cli_latency_add(cli_latency *latency, uint64_t ns);
void cli_latency_merge(cli_latency *into, const cli_latency *from);
/* The least value that `percent` of all aren't above; 0 without any. */
uint64_t cli_latency_percentile(const cli_latency *latency, double percent);
double cli_latency_mean(const cli_latency *latency);

#endif
