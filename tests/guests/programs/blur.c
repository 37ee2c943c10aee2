/* SPDX-License-Identifier: Apache-2.0 */
#include "guest.h"

typedef unsigned char u8;

/* Mean of 3 x 3 bytes; the border stays as it is. */
GUEST(void, blur, (int w, int h, const u8 *src, u8 *dst))
{
    for (int y = 1; y < h - 1; y++)
        for (int x = 1; x < w - 1; x++) {
            const u8 *p = src + y * w + x;
            unsigned sum = 0u + p[-w - 1] + p[-w] + p[-w + 1] + p[-1] + p[0] + p[1] + p[w - 1] + p[w] + p[w + 1];
            dst[y * w + x] = (u8)(sum / 9);
        }
}
NATIVE(blur, (I32(0), I32(1), PTR(2), PTR(3)))
