/* SPDX-License-Identifier: Apache-2.0 */
#ifndef TW_OS_PUBLISH_H
#define TW_OS_PUBLISH_H

#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

/* Writes a file so that whoever looks, at any moment and after any crash, finds the old one or the new one, whole:
 *
 *   a temporary file beside it, mode 0600 → write → fsync → rename → fsync of the folder
 *
 * A symbolic link is followed, so that what it points to is replaced. One that leads nowhere, and something that is there and
 * isn't a regular file, are left alone. 0, or errno; *step is what failed then, a word like "rename", static. After a failure the
 * old file is as it was (but for "fsync of the folder", where the new one is in place, and may be gone after a crash). Any
 * thread. */
int tw_publish(const char *path, const void *bytes, size_t size, const char **step);

/* The same of parts, by ascending offset: what is between them is zero, and a hole where the file system has those. */
typedef struct tw_publish_part {
    uint64_t offset;
    const void *bytes;
    size_t size;
} tw_publish_part;
int tw_publish_parts(const char *path, const tw_publish_part *parts, size_t count, const char **step);

/* ---- for tests ---- */

/* The system calls that it makes, so that each can be made to fail. */
typedef struct tw_publish_calls {
    int (*open)(int folder, const char *name, int flags, mode_t mode);
    ssize_t (*write)(int file, const void *bytes, size_t size);
    int (*fsync)(int file);
    int (*close)(int file);
    int (*rename)(int from_folder, const char *from, int to_folder, const char *to);
    int (*unlink)(int folder, const char *name, int flags);
    off_t (*seek)(int file, off_t offset, int whence); /* where there is a hole */
} tw_publish_calls;
extern const tw_publish_calls tw_publish_system;
int tw_publish_by(const tw_publish_calls *calls, const char *path, const tw_publish_part *parts, size_t count, const char **step);

#endif
