/* SPDX-License-Identifier: Apache-2.0 */
#include "guest.h"

typedef unsigned char u8;

/* n indices into a table of 256 colours. */
GUEST(void, colours, (int n, int *dst, const u8 *src, const int *table))
{
    for (int i = 0; i < n; i++) dst[i] = table[src[i]];
}
NATIVE(colours, (I32(0), PTR(1), PTR(2), PTR(3)))

/* From 0 to 1 becomes 0 to 255, rounded; what lies outside goes to the ends, what is no number to 0. */
GUEST(void, to_bytes, (int n, u8 *dst, const float *src))
{
    for (int i = 0; i < n; i++) {
        float value = src[i] * 255.0f + 0.5f;
        dst[i] = (u8)(!(value > 0) ? 0 : value > 255 ? 255 : value);
    }
}
NATIVE(to_bytes, (I32(0), PTR(1), PTR(2)))
