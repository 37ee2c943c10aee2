/* SPDX-License-Identifier: Apache-2.0 */
/* Bounds, pointers and strides that the guest's compiler loads again in every iteration, since a store might have changed them:
 * bytes alias everything, and so do words of the same type. The plan loads them, and checks that no store touches them. */
#define EXPORT(name) __attribute__((export_name(#name))) name

typedef struct image { unsigned char *pixels; int width, height, stride; } image;

void EXPORT(fill)(image *to, unsigned char value)
{
    for (int i = 0; i < to->width; i++) to->pixels[i] = value;
}

void EXPORT(brighten)(image *to, int by)
{
    for (int y = 0; y < to->height; y++)
        for (int x = 0; x < to->width * 4; x++) to->pixels[y * to->stride + x] += (unsigned char)by;
}

void EXPORT(count_up)(const int *n, int *to)
{
    for (int i = 0; i < *n; i++) to[i] = i;
}

/* Not: the counter itself lies in memory. */
void EXPORT(drain)(image *to)
{
    while (to->width < to->height) to->pixels[to->width++] = 0;
}

/* Not the outer loop: it stores what the inner one's bound is loaded from. */
void EXPORT(refill)(image *to, int steps)
{
    for (int t = 0; t < steps; t++) {
        to->width = 1000;
        to->pixels[t] = 3;
        for (int x = 0; x < to->width; x++) to->pixels[x] ^= 1;
    }
}

/* Not: every iteration of the outer loop changes the inner one's bound. */
void EXPORT(shrink)(image *to, int steps)
{
    for (int t = 0; t < steps; t++) {
        for (int x = 0; x < to->width; x++) to->pixels[x] ^= 1;
        to->width--;
    }
}
