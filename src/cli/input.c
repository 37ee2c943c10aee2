/* SPDX-License-Identifier: Apache-2.0 */
#include "cli/input.h"

#include <errno.h>
#include <fcntl.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

static tw_status fail(tw_error *error, tw_status status, const char *format, ...) __attribute__((format(printf, 3, 4)));

static tw_status fail(tw_error *error, tw_status status, const char *format, ...)
{
    va_list args;
    va_start(args, format);
    *error = (tw_error){.status = status, .function = TW_NO_FUNCTION, .offset = TW_NO_OFFSET};
    vsnprintf(error->message, sizeof error->message, format, args);
    va_end(args);
    return status;
}

static tw_status too_large(const cli_input_kind *kind, tw_error *error)
{
    return fail(error, TW_LIMIT, "is larger than %zu MiB, the most that %s may have", kind->most >> 20, kind->noun);
}

/* Until the end of the file, which may be a pipe: its size isn't known before. */
static tw_status read_all(const cli_input_kind *kind, int file, uint8_t **bytes, size_t *size, tw_error *error)
{
    size_t capacity = 1 << 16, used = 0;
    uint8_t *data = malloc(capacity);
    if (!data) return fail(error, TW_NO_MEMORY, "out of memory");
    for (;;) {
        ssize_t got = read(file, data + used, capacity - used);
        if (got < 0 && errno == EINTR) continue;
        if (got < 0) {
            free(data);
            return fail(error, TW_IO, "can't be read: %s", strerror(errno));
        }
        if (got == 0) break;
        used += (size_t)got;
        if (used > kind->most) {
            free(data);
            return too_large(kind, error);
        }
        if (used < capacity) continue;
        uint8_t *grown = realloc(data, capacity * 2);
        if (!grown) {
            free(data);
            return fail(error, TW_NO_MEMORY, "out of memory");
        }
        data = grown;
        capacity *= 2;
    }
    *bytes = data;
    *size = used;
    return TW_OK;
}

tw_status cli_read_file(const cli_input_kind *kind, const char *path, uint8_t **bytes, size_t *size, tw_error *error)
{
    if (!strcmp(path, "-")) return read_all(kind, STDIN_FILENO, bytes, size, error);
    int file = open(path, O_RDONLY | O_CLOEXEC);
    if (file < 0) return fail(error, errno == ENOENT ? TW_NOT_FOUND : TW_IO, "can't be opened: %s", strerror(errno));
    struct stat about = {0};
    tw_status status;
    if (!fstat(file, &about) && S_ISDIR(about.st_mode))
        status = fail(error, TW_IO, "is a folder; name %s", kind->files);
    else if (S_ISREG(about.st_mode) && (uint64_t)about.st_size > kind->most) status = too_large(kind, error);
    else status = read_all(kind, file, bytes, size, error);
    close(file);
    return status;
}

tw_status cli_read_module(const char *path, uint8_t **bytes, size_t *size, tw_error *error)
{
    static const cli_input_kind module = {CLI_MAX_MODULE, "a module", "a .wasm or .wat file"};
    return cli_read_file(&module, path, bytes, size, error);
}
