/* SPDX-License-Identifier: Apache-2.0 */
#ifndef TW_SNAPSHOT_CRC32_H
#define TW_SNAPSHOT_CRC32_H

#include <stddef.h>
#include <stdint.h>

/* The IEEE 802.3 checksum, zlib's. Start with crc 0; more pieces continue with what the last call gave. Any thread. */
uint32_t tw_snap_crc32(uint32_t crc, const uint8_t *data, size_t size);

#endif
