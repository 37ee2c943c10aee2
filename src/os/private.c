/* SPDX-License-Identifier: Apache-2.0 */
#include "os/private.h"

#include <errno.h>
#include <fcntl.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

static int refuse(int file, const char *reason, const char **why)
{
    close(file);
    *why = reason;
    return -1;
}

static int open_folder(const char *path, const char **why)
{
    struct stat about;
    int folder = open(path, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    if (folder < 0) return -1;
    if (fstat(folder, &about)) return refuse(folder, NULL, why);
    if (about.st_uid != geteuid()) return refuse(folder, "its folder belongs to another user", why);
    if ((about.st_mode & 07777) != 0700) return refuse(folder, "its folder's mode isn't 0700", why);
    return folder;
}

/* Without waiting for the other end of a pipe. */
static int open_in(int folder, const char *name, const char **why)
{
    struct stat about;
    int file = openat(folder, name, O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_NOCTTY | O_CLOEXEC);
    if (file < 0 && errno == ELOOP) *why = "it is a symbolic link";
    if (file < 0) return -1;
    if (fstat(file, &about)) return refuse(file, NULL, why);
    if (!S_ISREG(about.st_mode)) return refuse(file, "it isn't a regular file", why);
    if (about.st_uid != geteuid()) return refuse(file, "it belongs to another user", why);
    if (about.st_mode & 022) return refuse(file, "others may write to it", why);
    return file;
}

int tw_private_open(const char *path, const char **why)
{
    *why = NULL;
    char *folder_name = strdup(path), *slash = folder_name ? strrchr(folder_name, '/') : NULL;
    if (!folder_name) {
        errno = ENOMEM;
        return -1;
    }
    const char *name = slash ? path + (slash - folder_name) + 1 : path;
    if (slash) *slash = 0;
    int folder = open_folder(!slash ? "." : slash == folder_name ? "/" : folder_name, why);
    int file = folder < 0 ? -1 : open_in(folder, name, why);
    int saved = errno;
    if (folder >= 0) close(folder);
    free(folder_name);
    errno = saved;
    return file;
}
