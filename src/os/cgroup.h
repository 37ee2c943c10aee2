/* SPDX-License-Identifier: Apache-2.0 */
#ifndef TW_OS_CGROUP_H
#define TW_OS_CGROUP_H

#include <stdint.h>

/* Bytes of memory that this process's control groups leave it, versions 1 and 2: the least of its own group and those above
 * it. UINT64_MAX where there is no limit or none can be seen. Reads some files: about 0.1 ms. Any thread. */
uint64_t tw_cgroup_memory(void);
/* The same for tests: `membership` stands for /proc/self/cgroup, `mount` for /sys/fs/cgroup. */
uint64_t tw_cgroup_memory_in(const char *membership, const char *mount);

#endif
