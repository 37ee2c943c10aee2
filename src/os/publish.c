/* SPDX-License-Identifier: Apache-2.0 */
#include "os/publish.h"

#include <errno.h>
#include <fcntl.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

static int open_at(int folder, const char *name, int flags, mode_t mode) { return openat(folder, name, flags, mode); }

const tw_publish_calls tw_publish_system = {open_at, write, fsync, close, renameat, unlinkat, lseek};

typedef struct publishing {
    const tw_publish_calls *calls;
    const char *folder_name, *name; /* within `path` */
    int folder;
    char temporary[64];
    const char **step;
} publishing;

static int failed(publishing *p, const char *step)
{
    *p->step = step;
    return errno ? errno : EIO;
}

static bool write_all(const publishing *p, int file, const uint8_t *bytes, size_t size)
{
    while (size) {
        ssize_t put = p->calls->write(file, bytes, size);
        if (put < 0 && errno == EINTR) continue;
        if (put <= 0) return false;
        bytes += put, size -= (size_t)put;
    }
    return true;
}

/* Of no length that could be too long for the folder, and of nobody else: O_EXCL sees to that. */
static int open_temporary(publishing *p)
{
    enum { TRIES = 16 };
    static atomic_uint serial;
    int file = -1;
    for (int i = 0; i < TRIES && file < 0; i++) {
        struct timespec now;
        clock_gettime(CLOCK_REALTIME, &now);
        snprintf(p->temporary, sizeof p->temporary, ".tw-%ld-%lx-%x.tmp", (long)getpid(), (unsigned long)now.tv_nsec,
                 atomic_fetch_add(&serial, 1));
        file = p->calls->open(p->folder, p->temporary, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC | O_NOFOLLOW, 0600);
        if (file < 0 && errno != EEXIST) break;
    }
    return file;
}

static int write_parts(publishing *p, int file, const tw_publish_part *parts, size_t count)
{
    uint64_t at = 0;
    for (size_t i = 0; i < count; i++) {
        if (parts[i].offset != at && p->calls->seek(file, (off_t)parts[i].offset, SEEK_SET) < 0) return failed(p, "seek");
        if (!write_all(p, file, parts[i].bytes, parts[i].size)) return failed(p, "write");
        at = parts[i].offset + parts[i].size;
    }
    return 0;
}

static int fill(publishing *p, int file, const tw_publish_part *parts, size_t count)
{
    int error = write_parts(p, file, parts, count);
    if (error) return error;
    return p->calls->fsync(file) ? failed(p, "fsync") : 0;
}

static int put(publishing *p, const tw_publish_part *parts, size_t count)
{
    int file = open_temporary(p);
    if (file < 0) return failed(p, "open");
    int error = fill(p, file, parts, count);
    if (p->calls->close(file) && !error) error = failed(p, "close");
    if (!error && p->calls->rename(p->folder, p->temporary, p->folder, p->name)) error = failed(p, "rename");
    if (error) p->calls->unlink(p->folder, p->temporary, 0);
    else if (p->calls->fsync(p->folder)) error = failed(p, "fsync of the folder");
    return error;
}

static int in_folder(publishing *p, const tw_publish_part *parts, size_t count)
{
    p->folder = p->calls->open(AT_FDCWD, p->folder_name, O_RDONLY | O_DIRECTORY | O_CLOEXEC, 0);
    if (p->folder < 0) return failed(p, "open the folder");
    int error = put(p, parts, count);
    p->calls->close(p->folder);
    return error;
}

/* Splits `path`, its own copy. */
static void split(publishing *p, char *path)
{
    char *slash = strrchr(path, '/');
    p->folder_name = !slash ? "." : slash == path ? "/" : path;
    p->name = slash ? slash + 1 : path;
    if (slash) *slash = 0;
}

int tw_publish_by(const tw_publish_calls *calls, const char *path, const tw_publish_part *parts, size_t count, const char **step)
{
    publishing p = {.calls = calls, .step = step};
    struct stat about;
    bool exists = stat(path, &about) == 0;
    int why = errno;
    if (!exists && lstat(path, &about) == 0 && S_ISLNK(about.st_mode)) {
        errno = why;
        return failed(&p, "follow the link");
    }
    errno = 0;
    if (exists && !S_ISREG(about.st_mode)) {
        errno = S_ISDIR(about.st_mode) ? EISDIR : EINVAL;
        return failed(&p, "replace what isn't a regular file");
    }
    char *real = exists ? realpath(path, NULL) : strdup(path);
    if (!real) return failed(&p, "find");
    split(&p, real);
    int error = in_folder(&p, parts, count);
    free(real);
    return error;
}

int tw_publish(const char *path, const void *bytes, size_t size, const char **step)
{
    const tw_publish_part all = {0, bytes, size};
    return tw_publish_parts(path, &all, 1, step);
}

int tw_publish_parts(const char *path, const tw_publish_part *parts, size_t count, const char **step)
{
    return tw_publish_by(&tw_publish_system, path, parts, count, step);
}
