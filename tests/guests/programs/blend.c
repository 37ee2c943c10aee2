/* SPDX-License-Identifier: Apache-2.0 */
#include "guest.h"

typedef unsigned char u8;

/* x / 255, rounded, for x up to 255 * 255. */
static unsigned by_255(unsigned x)
{
    x += 128;
    return (x + (x >> 8)) >> 8;
}

/* n bytes of src over dst, one opacity for all. */
GUEST(void, blend, (int n, u8 *dst, const u8 *src, int alpha))
{
    for (int i = 0; i < n; i++) dst[i] = (u8)by_255(src[i] * (unsigned)alpha + dst[i] * (255u - (unsigned)alpha));
}
NATIVE(blend, (I32(0), PTR(1), PTR(2), I32(3)))

/* n pixels of four bytes, each with an opacity of its own in the fourth. */
GUEST(void, blend_rgba, (int n, u8 *dst, const u8 *src))
{
    for (int i = 0; i < n; i++) {
        unsigned alpha = src[4 * i + 3];
        for (int c = 0; c < 3; c++) {
            u8 *d = dst + 4 * i + c;
            *d = (u8)by_255(src[4 * i + c] * alpha + *d * (255 - alpha));
        }
    }
}
NATIVE(blend_rgba, (I32(0), PTR(1), PTR(2)))
