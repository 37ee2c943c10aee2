/* SPDX-License-Identifier: Apache-2.0 */
#include "host/files.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

enum { NAMED = 8, PATH_BYTES = 100 };

void tw_files_init(tw_files *files, bool given_input) { *files = (tw_files){.moved = -1, .given_input = given_input}; }

void tw_files_free(tw_files *files)
{
    for (size_t i = 0; i < files->count; i++) free(files->items[i].path);
    free(files->items);
    *files = (tw_files){.moved = -1};
}

static char *printable(const uint8_t *path, size_t size)
{
    char *text = malloc(size + 1);
    if (!text) return NULL;
    for (size_t i = 0; i < size; i++) text[i] = path[i] < 0x20 || path[i] == 0x7F ? '?' : (char)path[i];
    text[size] = 0;
    return text;
}

static bool make_room(tw_files *files)
{
    if (files->count < files->capacity) return true;
    size_t capacity = files->capacity ? files->capacity * 2 : 8;
    tw_file *items = realloc(files->items, capacity * sizeof *items);
    if (!items) return false;
    files->items = items;
    files->capacity = capacity;
    return true;
}

void tw_files_opened(tw_files *files, uint32_t fd, const uint8_t *path, size_t size)
{
    char *text = printable(path, size < PATH_BYTES ? size : PATH_BYTES);
    if (!text || !make_room(files)) {
        free(text);
        files->incomplete = true;
        return;
    }
    files->items[files->count++] = (tw_file){fd, text};
    files->crowded |= files->count > 1;
}

static tw_file *find(const tw_files *files, uint32_t fd)
{
    for (size_t i = 0; i < files->count; i++)
        if (files->items[i].fd == fd) return &files->items[i];
    return NULL;
}

void tw_files_closed(tw_files *files, uint32_t fd)
{
    tw_file *file = find(files, fd);
    if (!file) {
        files->moved = fd;
        return;
    }
    free(file->path);
    *file = files->items[--files->count];
}

void tw_files_renumbered(tw_files *files, uint32_t from, uint32_t to)
{
    if (from == to) return;
    tw_files_closed(files, to);
    tw_file *file = find(files, from);
    if (file) file->fd = to;
    else files->moved = from;
}

static void name_files(const tw_files *files, char *why, size_t size)
{
    size_t used = (size_t)snprintf(why, size, "it has open files:");
    for (size_t i = 0; i < files->count && used < size; i++) {
        if (i == NAMED) {
            snprintf(why + used, size - used, " and %zu more", files->count - i);
            return;
        }
        used += (size_t)snprintf(why + used, size - used, "%s %s (descriptor %u)", i ? "," : "", files->items[i].path, files->items[i].fd);
    }
}

bool tw_files_are_as_new(const tw_files *files, char *why, size_t size)
{
    if (files->count) name_files(files, why, size);
    else if (files->incomplete) snprintf(why, size, "it may have open files: there was no memory to keep track of them");
    else if (files->moved >= 0)
        snprintf(why, size, "it has closed or renumbered descriptor %lld, which it began with", (long long)files->moved);
    else if (files->took_input) snprintf(why, size, "it has read from the bytes that it was given as standard input");
    else return true;
    return false;
}

bool tw_files_go_on_as_new(const tw_files *files)
{
    return !files->count && !files->incomplete && files->moved < 0 && !files->took_input && !files->crowded;
}

tw_folder tw_folder_at(const char *path)
{
    struct stat found;
    return stat(path, &found) ? (tw_folder){0, 0} : (tw_folder){found.st_dev, found.st_ino};
}
