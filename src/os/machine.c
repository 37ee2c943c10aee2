/* SPDX-License-Identifier: Apache-2.0 */
#include "os/machine.h"

#include <sched.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/utsname.h>
#include <unistd.h>

#include "os/cgroup.h"

static void describe_kernel(tw_machine *out)
{
    struct utsname name;
    if (uname(&name) == 0)
        snprintf(out->kernel, sizeof out->kernel, "%.20s %.60s %.20s", name.sysname, name.release, name.machine);
}

static void describe_cpu(tw_machine *out)
{
    FILE *file = fopen("/proc/cpuinfo", "re");
    char line[512];
    while (file && fgets(line, sizeof line, file)) {
        char *colon = strchr(line, ':');
        if (strncmp(line, "model name", 10) || !colon) continue;
        snprintf(out->cpu, sizeof out->cpu, "%.*s", (int)strcspn(colon + 2, "\n"), colon + 2);
        break;
    }
    if (file) fclose(file);
}

static void add_word(char *text, size_t size, const char *word)
{
    size_t length = strlen(text);
    snprintf(text + length, size - length, "%s%s", length ? " " : "", word);
}

static void describe_simd(tw_machine *out)
{
#ifdef __x86_64__
    __builtin_cpu_init();
#define TW_FEATURE(name)                                                                           \
    if (__builtin_cpu_supports(name)) add_word(out->simd, sizeof out->simd, name)
    TW_FEATURE("sse4.1");
    TW_FEATURE("sse4.2");
    TW_FEATURE("avx");
    TW_FEATURE("avx2");
    TW_FEATURE("fma");
    TW_FEATURE("avx512f");
    TW_FEATURE("avx512vl");
#undef TW_FEATURE
#else
    add_word(out->simd, sizeof out->simd, "unknown");
#endif
}

uint32_t tw_machine_processors(void)
{
    cpu_set_t set;
    if (sched_getaffinity(0, sizeof set, &set) == 0) return (uint32_t)CPU_COUNT(&set);
    return 1;
}

static uint64_t read_number(const char *path)
{
    FILE *file = fopen(path, "re");
    unsigned long long value = 0;
    if (file && fscanf(file, "%llu", &value) != 1) value = 0;
    if (file) fclose(file);
    return value;
}

uint64_t tw_machine_max_mappings(void) { return read_number("/proc/sys/vm/max_map_count"); }

void tw_machine_describe(tw_machine *out)
{
    *out = (tw_machine){.processors = tw_machine_processors(), .address_space = UINT64_MAX,
                        .memory = (uint64_t)sysconf(_SC_PHYS_PAGES) * (uint64_t)sysconf(_SC_PAGE_SIZE),
                        .memory_limit = tw_cgroup_memory(), .max_mappings = tw_machine_max_mappings()};
    struct rlimit limit;
    if (getrlimit(RLIMIT_AS, &limit) == 0 && limit.rlim_cur != RLIM_INFINITY) out->address_space = limit.rlim_cur;
    describe_kernel(out);
    describe_cpu(out);
    describe_simd(out);
}
