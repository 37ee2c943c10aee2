/* SPDX-License-Identifier: Apache-2.0 */
/* One image faded over another, byte by byte.   blend [FRAMES] */
#include "example.h"

SEPARATE static void blend(int n, uint8_t *dst, const uint8_t *src, unsigned alpha)
{
    for (int i = 0; i < n; i++) {
        unsigned x = src[i] * alpha + dst[i] * (255 - alpha) + 128;
        dst[i] = (uint8_t)((x + (x >> 8)) >> 8);
    }
}

int main(int argc, char **argv)
{
    enum { N = 320 * 240 * 3 };
    int frames = example_argument(argc, argv, 1, 1500);
    uint8_t *dst = example_memory(N, 1), *src = example_memory(N, 1);
    for (int i = 0; i < N; i++) {
        dst[i] = (uint8_t)(example_next() >> 24);
        src[i] = (uint8_t)(example_next() >> 24);
    }
    for (int f = 0; f < frames; f++) blend(N, dst, src, (unsigned)f & 255);
    example_print("blend", dst, N);
    return 0;
}
