/* SPDX-License-Identifier: Apache-2.0 */
#ifndef TW_KCACHE_DISK_H
#define TW_KCACHE_DISK_H

/* A folder of authenticated files, ours alone.
 *
 *   key         32 random bytes, made once, 0600
 *   NAME        offset 0: "TWKCACHE", 8: version u32, 12: 0 u32, 16: payload size u64, 24: payload, then 32 bytes of keyed
 *               BLAKE2b over the file's name and all bytes before (numbers little-endian)
 *
 * Files come by rename, so a reader sees a whole one or none. What doesn't authenticate is removed. Any thread. */

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

typedef struct tw_disk tw_disk;

/* NULL with the reason when the folder can't be had or trusted: it must be a real folder of ours with mode 0700. */
tw_disk *tw_disk_open(const char *directory, uint64_t max_bytes, char *reason, size_t reason_size);
void tw_disk_close(tw_disk *disk); /* NULL is fine */

typedef enum tw_disk_found { TW_DISK_ABSENT, TW_DISK_FOUND, TW_DISK_REJECTED } tw_disk_found;
/* *payload is malloc'd. name: letters and digits, at most 80. */
tw_disk_found tw_disk_read(tw_disk *disk, const char *name, uint8_t **payload, size_t *size);
/* Best effort: false when it didn't work out; nothing is then left behind. Removes the longest unused when over the bound. */
bool tw_disk_write(tw_disk *disk, const char *name, const uint8_t *payload, size_t size);
void tw_disk_remove(tw_disk *disk, const char *name);

#endif
