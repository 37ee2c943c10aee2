/* SPDX-License-Identifier: Apache-2.0 */
#include "os/whole.h"

#include <errno.h>
#include <stdint.h>
#include <unistd.h>

bool tw_read_whole(int file, void *bytes, size_t size)
{
    for (uint8_t *at = bytes; size;) {
        ssize_t got = read(file, at, size);
        if (got < 0 && errno == EINTR) continue;
        if (got == 0) errno = 0;
        if (got <= 0) return false;
        at += got, size -= (size_t)got;
    }
    return true;
}

bool tw_write_whole(int file, const void *bytes, size_t size)
{
    for (const uint8_t *at = bytes; size;) {
        ssize_t put = write(file, at, size);
        if (put < 0 && errno == EINTR) continue;
        if (put == 0) errno = 0;
        if (put <= 0) return false;
        at += put, size -= (size_t)put;
    }
    return true;
}
