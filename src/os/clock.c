/* SPDX-License-Identifier: Apache-2.0 */
#include "os/clock.h"

#include <time.h>

uint64_t tw_clock_now(void)
{
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    return (uint64_t)now.tv_sec * 1000000000u + (uint64_t)now.tv_nsec;
}

uint64_t tw_clock_after(uint64_t ns)
{
    uint64_t at;
    return __builtin_add_overflow(tw_clock_now(), ns, &at) ? TW_NEVER : at;
}

uint64_t tw_clock_unix_ms(void)
{
    struct timespec now;
    clock_gettime(CLOCK_REALTIME, &now);
    return (uint64_t)now.tv_sec * 1000u + (uint64_t)now.tv_nsec / 1000000u;
}
