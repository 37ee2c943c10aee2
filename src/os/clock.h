/* SPDX-License-Identifier: Apache-2.0 */
#ifndef TW_OS_CLOCK_H
#define TW_OS_CLOCK_H

#include <stdint.h>

#define TW_NEVER UINT64_MAX

/* CLOCK_MONOTONIC in nanoseconds. Any thread. */
uint64_t tw_clock_now(void);
/* now + ns, or TW_NEVER where that doesn't fit. */
uint64_t tw_clock_after(uint64_t ns);
/* CLOCK_REALTIME in milliseconds since 1970. Any thread. */
uint64_t tw_clock_unix_ms(void);

#endif
