/* SPDX-License-Identifier: Apache-2.0 */
#include "cli/latency.h"

#include <math.h>

/* Values below 128 have a row each; from there on 128 rows share a power of two. */
static unsigned power_of(uint64_t ns) { return ns < CLI_LATENCY_ROWS ? 0 : 64 - 7 - (unsigned)__builtin_clzll(ns); }

static unsigned row_of(uint64_t ns, unsigned power)
{
    return power ? (unsigned)(ns >> (power - 1)) - CLI_LATENCY_ROWS : (unsigned)ns;
}

/* The largest value of a row. */
static uint64_t top_of(unsigned power, unsigned row)
{
    return power ? ((uint64_t)(row + CLI_LATENCY_ROWS) << (power - 1)) + (UINT64_C(1) << (power - 1)) - 1 : row;
}

void cli_latency_add(cli_latency *latency, uint64_t ns)
{
    unsigned power = power_of(ns);
    latency->rows[power][row_of(ns, power)]++;
    if (!latency->count || ns < latency->least) latency->least = ns;
    if (ns > latency->most) latency->most = ns;
    latency->sum += ns;
    latency->count++;
}

void cli_latency_merge(cli_latency *into, const cli_latency *from)
{
    if (!from->count) return;
    for (unsigned p = 0; p < CLI_LATENCY_POWERS; p++)
        for (unsigned r = 0; r < CLI_LATENCY_ROWS; r++) into->rows[p][r] += from->rows[p][r];
    if (!into->count || from->least < into->least) into->least = from->least;
    if (from->most > into->most) into->most = from->most;
    into->sum += from->sum;
    into->count += from->count;
}

uint64_t cli_latency_percentile(const cli_latency *latency, double percent)
{
    double wanted = ceil((double)latency->count * percent / 100);
    uint64_t seen = 0, least = wanted < 1 ? 1 : (uint64_t)wanted;
    for (unsigned p = 0; p < CLI_LATENCY_POWERS; p++)
        for (unsigned r = 0; r < CLI_LATENCY_ROWS; r++) {
            seen += latency->rows[p][r];
            if (seen >= least) return top_of(p, r) < latency->most ? top_of(p, r) : latency->most;
        }
    return latency->most;
}

double cli_latency_mean(const cli_latency *latency)
{
    return latency->count ? (double)latency->sum / (double)latency->count : 0;
}
