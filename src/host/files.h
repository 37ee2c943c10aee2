/* SPDX-License-Identifier: Apache-2.0 */
#ifndef TW_HOST_FILES_H
#define TW_HOST_FILES_H

/* Which descriptors a guest has beside those that it began with: an instance that holds some can't be written down. The
 * engine doesn't tell, so it is noted as they come and go. One thread at a time. */

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

typedef struct tw_file {
    uint32_t fd;
    char *path; /* as the guest named it; printable */
} tw_file;

typedef struct tw_files {
    tw_file *items;
    size_t count, capacity;
    bool incomplete;    /* out of memory */
    bool crowded;       /* it had two at once: which number the next one gets differs from a new instance's, even with both closed */
    int64_t moved;      /* one that it began with and has closed or renumbered; -1 = none */
    bool given_input;   /* standard input is bytes of the embedder's … */
    bool took_input;    /* … and it has read some */
} tw_files;

void tw_files_init(tw_files *files, bool given_input);
void tw_files_free(tw_files *files);
/* path isn't terminated and may hold anything. */
void tw_files_opened(tw_files *files, uint32_t fd, const uint8_t *path, size_t size);
void tw_files_closed(tw_files *files, uint32_t fd);
void tw_files_renumbered(tw_files *files, uint32_t from, uint32_t to);
/* Whether there is nothing but what a new instance would have; else `why` says what: "it has open files: a.txt (4)". */
bool tw_files_are_as_new(const tw_files *files, char *why, size_t size);
/* Whether the engine's WASI would go on exactly as a new one's: the same descriptors are there, and the next ones get the same
 * numbers. */
bool tw_files_go_on_as_new(const tw_files *files);

/* Which folder of the host's a path leads to, now. All 0: none. */
typedef struct tw_folder { uint64_t device, inode; } tw_folder;
tw_folder tw_folder_at(const char *path);

#endif
