/* SPDX-License-Identifier: Apache-2.0 */
/* Eight bytes a step with eight tables: row k of the tables is the effect of a byte that k more bytes follow. */
#include "snapshot/crc32.h"

#include <pthread.h>

#define POLYNOMIAL UINT32_C(0xEDB88320)

static uint32_t tables[8][256];
static pthread_once_t once = PTHREAD_ONCE_INIT;

static void fill(void)
{
    for (uint32_t i = 0; i < 256; i++) {
        uint32_t crc = i;
        for (int bit = 0; bit < 8; bit++) crc = crc >> 1 ^ (crc & 1 ? POLYNOMIAL : 0);
        tables[0][i] = crc;
    }
    for (int row = 1; row < 8; row++)
        for (uint32_t i = 0; i < 256; i++)
            tables[row][i] = tables[row - 1][i] >> 8 ^ tables[0][tables[row - 1][i] & 255];
}

static uint32_t word(const uint8_t *p)
{
    return (uint32_t)p[0] | (uint32_t)p[1] << 8 | (uint32_t)p[2] << 16 | (uint32_t)p[3] << 24;
}

uint32_t tw_snap_crc32(uint32_t crc, const uint8_t *data, size_t size)
{
    pthread_once(&once, fill);
    crc = ~crc;
    for (; size >= 8; size -= 8, data += 8) {
        uint32_t low = crc ^ word(data), high = word(data + 4);
        crc = tables[7][low & 255] ^ tables[6][low >> 8 & 255] ^ tables[5][low >> 16 & 255] ^ tables[4][low >> 24] ^
              tables[3][high & 255] ^ tables[2][high >> 8 & 255] ^ tables[1][high >> 16 & 255] ^ tables[0][high >> 24];
    }
    for (; size > 0; size--, data++) crc = crc >> 8 ^ tables[0][(crc ^ *data) & 255];
    return ~crc;
}
