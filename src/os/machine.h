/* SPDX-License-Identifier: Apache-2.0 */
#ifndef TW_OS_MACHINE_H
#define TW_OS_MACHINE_H

/* What the machine and the system offer, for people to read. */

#include <stdint.h>

typedef struct tw_machine {
    char kernel[128];       /* "Linux 6.1.0 x86_64" */
    char cpu[128];          /* the model's name */
    char simd[128];         /* extensions that kernels may use, by name */
    uint32_t processors;    /* that this process may use */
    uint64_t memory;        /* bytes of the machine */
    uint64_t memory_limit;  /* of the process's control groups; UINT64_MAX = no limit */
    uint64_t address_space; /* bytes that this process may map; UINT64_MAX = no limit */
    uint64_t max_mappings;  /* of this process; 0 = unknown */
} tw_machine;

void tw_machine_describe(tw_machine *out); /* reads files: some tenths of a millisecond */
uint32_t tw_machine_processors(void);      /* one system call */
uint64_t tw_machine_max_mappings(void);    /* vm.max_map_count; 0 = unknown. Reads a file */

#endif
