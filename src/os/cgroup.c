/* SPDX-License-Identifier: Apache-2.0 */
/* A line of /proc/self/cgroup is "0::/path" (version 2) or "N:controller,controller:/path" (version 1). In a container the
 * path may be one of the host's, of which the container sees only the end, mounted as the root: so a group that isn't
 * there is skipped, and every way up ends at the mount itself. */
#include "os/cgroup.h"

#include <limits.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define NONE_V1 (UINT64_C(1) << 62) /* version 1 writes a number near 2^63 for "no limit" */

/* "max" isn't a number, and no limit. */
static uint64_t limit_in(const char *path)
{
    FILE *file = fopen(path, "re");
    unsigned long long value;
    bool known = file && fscanf(file, "%llu", &value) == 1 && value < NONE_V1;
    if (file) fclose(file);
    return known ? value : UINT64_MAX;
}

static uint64_t least_on_the_way_up(const char *mount, const char *below, char *path, const char *name)
{
    char file[PATH_MAX];
    for (uint64_t least = UINT64_MAX;;) {
        int size = snprintf(file, sizeof file, "%s%s%s/%s", mount, below, path, name);
        uint64_t limit = size > 0 && (size_t)size < sizeof file ? limit_in(file) : UINT64_MAX;
        if (limit < least) least = limit;
        char *slash = strrchr(path, '/');
        if (!slash) return least;
        *slash = 0;
    }
}

static bool names_memory(const char *controllers)
{
    for (const char *at = controllers; *at; at += *at == ',') {
        size_t size = strcspn(at, ",");
        if (size == 6 && !memcmp(at, "memory", 6)) return true;
        at += size;
    }
    return false;
}

static uint64_t of_line(char *line, const char *mount)
{
    line[strcspn(line, "\n")] = 0;
    char *controllers = strchr(line, ':'), *path = controllers ? strchr(controllers + 1, ':') : NULL;
    if (!path) return UINT64_MAX;
    *path++ = 0;
    controllers++;
    if (!strcmp(path, "/")) *path = 0;
    if (names_memory(controllers)) return least_on_the_way_up(mount, "/memory", path, "memory.limit_in_bytes");
    if (*controllers) return UINT64_MAX;
    char copy[PATH_MAX];
    snprintf(copy, sizeof copy, "%s", path);
    uint64_t hybrid = least_on_the_way_up(mount, "/unified", copy, "memory.max");
    uint64_t limit = least_on_the_way_up(mount, "", path, "memory.max");
    return limit < hybrid ? limit : hybrid;
}

uint64_t tw_cgroup_memory_in(const char *membership, const char *mount)
{
    uint64_t least = UINT64_MAX;
    char line[PATH_MAX];
    FILE *file = fopen(membership, "re");
    while (file && fgets(line, sizeof line, file)) {
        uint64_t limit = of_line(line, mount);
        if (limit < least) least = limit;
    }
    if (file) fclose(file);
    return least;
}

uint64_t tw_cgroup_memory(void) { return tw_cgroup_memory_in("/proc/self/cgroup", "/sys/fs/cgroup"); }
