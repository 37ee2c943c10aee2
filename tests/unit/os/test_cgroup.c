/* SPDX-License-Identifier: Apache-2.0 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cmocka.h>

#include "os/cgroup.h"

static char root[] = "/tmp/tw-cgroup-XXXXXX";

static void make_folders(char *path)
{
    for (char *at = path + strlen(root) + 1; (at = strchr(at, '/')); at++) {
        *at = 0;
        mkdir(path, 0700);
        *at = '/';
    }
}

static void put(const char *name, const char *text)
{
    char path[512];
    snprintf(path, sizeof path, "%s/%s", root, name);
    make_folders(path);
    FILE *file = fopen(path, "w");
    assert_non_null(file);
    fputs(text, file);
    fclose(file);
}

static uint64_t limit(const char *membership)
{
    char path[512], mount[512];
    put("membership", membership);
    snprintf(path, sizeof path, "%s/membership", root);
    snprintf(mount, sizeof mount, "%s/mount", root);
    return tw_cgroup_memory_in(path, mount);
}

static void version_2_is_the_least_on_the_way_up(void **state)
{
    (void)state;
    put("mount/a/memory.max", "5000\n");
    put("mount/a/b/memory.max", "max\n");
    put("mount/a/b/c/memory.max", "7000\n");
    assert_int_equal(limit("0::/a/b/c\n"), 5000);
    put("mount/a/b/c/memory.max", "3000\n");
    assert_int_equal(limit("0::/a/b/c\n"), 3000);
    assert_int_equal(limit("0::/a/b\n"), 5000);
    assert_true(limit("0::/\n") == UINT64_MAX);
}

static void version_1_asks_the_memory_controller_only(void **state)
{
    (void)state;
    put("mount/memory/docker/x/memory.limit_in_bytes", "9000\n");
    put("mount/memory/memory.limit_in_bytes", "9223372036854771712\n"); /* none */
    put("mount/cpu/docker/x/memory.limit_in_bytes", "1\n");
    assert_int_equal(limit("5:cpu,cpuacct:/docker/x\n4:hugetlb,memory:/docker/x\n0::/none\n"), 9000);
    assert_true(limit("4:memory:/docker\n") == UINT64_MAX);
    assert_true(limit("4:memoryx:/docker/x\n") == UINT64_MAX);
}

static void in_a_container_the_mount_itself_is_the_group(void **state)
{
    (void)state;
    put("mount/memory.max", "4096\n");
    assert_int_equal(limit("0::/system.slice/docker-12ab.scope\n"), 4096);
    assert_int_equal(limit("0::/\n"), 4096);
    put("mount/memory.max", "max\n");
}

static void nonsense_is_no_limit(void **state)
{
    (void)state;
    assert_true(limit("") == UINT64_MAX);
    assert_true(limit("no colons\n:\n::\n") == UINT64_MAX);
    assert_true(tw_cgroup_memory_in("/nowhere", "/nowhere") == UINT64_MAX);
    assert_true(tw_cgroup_memory() > 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(version_2_is_the_least_on_the_way_up),
        cmocka_unit_test(version_1_asks_the_memory_controller_only),
        cmocka_unit_test(in_a_container_the_mount_itself_is_the_group),
        cmocka_unit_test(nonsense_is_no_limit),
    };
    if (!mkdtemp(root)) return 1;
    int failed = cmocka_run_group_tests(tests, NULL, NULL);
    char command[600];
    snprintf(command, sizeof command, "rm -rf '%s'", root);
    return system(command) || failed;
}
