/* SPDX-License-Identifier: Apache-2.0 */
/* Any bytes in a folder of kernels: as a file, which doesn't authenticate and is removed; and behind that, with the folder's key, as a
 * kernel's payload, as the table of what was learned, as the key itself. What is taken as a kernel fits together; its code isn't run. */
#include <dirent.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "kcache/disk.h"
#include "kcache/kcache.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static char folder[] = "/tmp/tw-fuzz-kernels-XXXXXX", name[100];
static const tw_kcache_key key = {5, "compiler", "request", 7};

static void require(bool condition)
{
    if (!condition) abort();
}

static tw_kcache *open_cache(void)
{
    tw_kcache_options options = {.directory = folder};
    tw_kcache *cache;
    require(tw_kcache_new(&options, &cache, NULL) == TW_OK);
    return cache;
}

static void remove_folder(void)
{
    char command[100];
    snprintf(command, sizeof command, "rm -rf '%s'", folder);
    if (system(command)) abort();
}

/* The name that the kernel has on disk: the only file of a kernel there. */
static void find_name(void)
{
    DIR *dir = opendir(folder);
    require(dir != NULL);
    for (struct dirent *entry; (entry = readdir(dir));)
        if (entry->d_name[0] == 'k' && strcmp(entry->d_name, "key")) snprintf(name, sizeof name, "%.90s", entry->d_name);
    closedir(dir);
    require(name[0]);
}

static void begin(void)
{
    uint8_t code[64] = {0x31, 0xC0, 0xC3};
    tw_kernel_info info = {.abi = TW_KERNEL_ABI, .code_size = sizeof code};
    tw_kernel *kernel;
    bool claimed;
    require(mkdtemp(folder) != NULL);
    atexit(remove_folder);
    tw_kcache *cache = open_cache();
    require(tw_kcache_get(cache, &key, true, &kernel, &claimed, NULL) == TW_OK && claimed);
    tw_kernel_finish(kernel, &info, code);
    tw_kernel_unref(kernel);
    tw_kcache_unref(cache);
    find_name();
}

static void put_file(const char *which, const uint8_t *data, size_t size)
{
    char path[200];
    snprintf(path, sizeof path, "%s/%s", folder, which);
    int file = open(path, O_WRONLY | O_CREAT | O_TRUNC, 0600);
    require(file >= 0 && write(file, data, size) == (ssize_t)size);
    close(file);
}

static void put_payload(const char *which, const uint8_t *data, size_t size)
{
    char why[200];
    tw_disk *disk = tw_disk_open(folder, 1 << 30, why, sizeof why);
    require(disk && tw_disk_write(disk, which, data, size));
    tw_disk_close(disk);
}

static bool exists(const char *which)
{
    char path[200];
    struct stat about;
    snprintf(path, sizeof path, "%s/%s", folder, which);
    return stat(path, &about) == 0;
}

/* Whether there is a kernel now. */
static bool look(void)
{
    tw_kcache *cache = open_cache();
    tw_kernel *kernel = NULL;
    bool claimed;
    tw_kcache_stats stats;
    require(tw_kcache_get(cache, &key, false, &kernel, &claimed, NULL) == TW_OK);
    tw_kcache_get_stats(cache, &stats);
    if (kernel) {
        const tw_kernel_info *info = tw_kernel_info_of(kernel);
        require(tw_kernel_state_of(kernel) == TW_KERNEL_READY && info->abi == TW_KERNEL_ABI && info->entry < info->code_size);
    } else {
        require(stats.disk_rejected == 1 && !exists(name));
    }
    bool found = kernel != NULL;
    tw_kernel_unref(kernel);
    tw_kcache_unref(cache);
    return found;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    if (!name[0]) begin();
    put_file(name, data, size);
    require(!look());
    put_payload(name, data, size);
    look();
    put_payload("learned", data, size);
    tw_kcache_unref(open_cache());
    put_file("key", data, size < 100 ? size : 100);
    tw_kcache_unref(open_cache());
    return 0;
}
