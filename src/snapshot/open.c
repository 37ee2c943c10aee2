/* SPDX-License-Identifier: Apache-2.0 */
#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "os/private.h"
#include "os/whole.h"
#include "snapshot/snapshot.h"

static tw_status cant_read(const char *path, tw_snap_why *why)
{
    if (errno == ENOMEM) return tw_fail_memory(why->error);
    return tw_fail(why->error, errno == ENOENT ? TW_NOT_FOUND : TW_IO, "can't read the snapshot %.300s: %s", path, strerror(errno));
}

/* *file is open even where it is refused; -1: it isn't. */
static tw_status open_file(const tw_snapshot_reader_options *options, const char *path, int *file, uint64_t *size, tw_snap_why *why)
{
    struct stat about;
    const char *reason;
    if (options->verify == TW_SNAPSHOT_VERIFY_TRUSTED) {
        *file = tw_private_open(path, &reason);
        if (*file < 0 && reason)
            return tw_snap_refuse(why, TW_SNAPSHOT_CLASS_STORE, "it can't be taken on trust: %s", reason);
    } else {
        *file = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY);
    }
    if (*file < 0 || fstat(*file, &about)) return cant_read(path, why);
    if (!S_ISREG(about.st_mode)) return tw_fail(why->error, TW_IO, "%.300s isn't a regular file", path);
    *size = (uint64_t)about.st_size;
    return TW_OK;
}

/* Other formats are read as bytes. */
static tw_status read_whole(const tw_snapshot_reader_options *options, int file, size_t size, const char *path, tw_snapshot **out,
                            tw_snap_why *why)
{
    uint8_t *bytes = malloc(size + 1);
    TW_TRY_ALLOC(bytes, why->error);
    errno = EIO;
    tw_status status = lseek(file, 0, SEEK_SET) == 0 && tw_read_whole(file, bytes, size) ? TW_OK : cant_read(path, why);
    if (!status) status = tw_snap_read(options, (tw_span){bytes, size}, out, why);
    free(bytes);
    return status;
}

static tw_status read_opened(const tw_snapshot_reader_options *options, int file, uint64_t size, const char *path, tw_snapshot **out,
                             tw_snap_why *why)
{
    uint8_t magic[4];
    bool image = size >= sizeof magic && tw_read_whole(file, magic, sizeof magic) && tw_image_is((tw_span){magic, sizeof magic});
    tw_image_source source = {file, {NULL, 0}, size};
    if (image) return tw_snap_read_source(options, &source, out, why);
    TW_TRY(tw_snap_check_file_size(options, size, why));
    return read_whole(options, file, (size_t)size, path, out, why);
}

tw_status tw_snap_open(const tw_snapshot_reader_options *options, const char *path, tw_snapshot **out, tw_snap_why *why)
{
    int file = -1;
    uint64_t size = 0;
    tw_status status = open_file(options, path, &file, &size, why);
    if (!status) status = read_opened(options, file, size, path, out, why);
    if (file >= 0) close(file);
    return status;
}
