/* SPDX-License-Identifier: Apache-2.0 */
/* A grey image blurred again and again.   blur [PASSES] */
#include "example.h"

SEPARATE static void blur(int w, int h, const uint8_t *src, uint8_t *dst)
{
    for (int y = 1; y < h - 1; y++)
        for (int x = 1; x < w - 1; x++) {
            const uint8_t *p = src + y * w + x;
            unsigned sum = 0u + p[-w - 1] + p[-w] + p[-w + 1] + p[-1] + p[0] + p[1] + p[w - 1] + p[w] + p[w + 1];
            dst[y * w + x] = (uint8_t)(sum / 9);
        }
}

int main(int argc, char **argv)
{
    enum { W = 640, H = 480 };
    int passes = example_argument(argc, argv, 1, 500);
    uint8_t *a = example_memory(W * H, 1), *b = example_memory(W * H, 1);
    for (int i = 0; i < W * H; i++) a[i] = b[i] = (uint8_t)(example_next() >> 24);
    for (int p = 0; p < passes; p += 2) {
        blur(W, H, a, b);
        blur(W, H, b, a);
    }
    example_print("blur", a, W * H);
    return 0;
}
