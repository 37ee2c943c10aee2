/* SPDX-License-Identifier: Apache-2.0 */
/* The loops that the cost of being stoppable is measured on; each runs n rounds of about the same work. */

#define EXPORT(name) __attribute__((export_name(#name)))

enum { N = 4096 };
static float x[N], y[N];
static char text[N + 1];

EXPORT(float_loop) int float_loop(int n)
{
    float sum = 0;
    for (int r = 0; r < n; r++)
        for (int i = 0; i < N; i++) sum += x[i] * y[i];
    return (int)sum;
}

typedef float lanes __attribute__((vector_size(16)));

EXPORT(vector_loop) int vector_loop(int n)
{
    for (int r = 0; r < n; r++)
        for (int i = 0; i < N; i += 4) *(lanes *)(y + i) += *(lanes *)(x + i) * 0.5f;
    return (int)y[7];
}

EXPORT(integer_loop) int integer_loop(int n)
{
    unsigned state = 1;
    for (int r = 0; r < n; r++)
        for (int i = 0; i < N; i++) {
            state ^= state << 13;
            state ^= state >> 17;
            state ^= state << 5;
        }
    return (int)state;
}

EXPORT(strlen_loop) int strlen_loop(int n)
{
    int sum = 0;
    for (int i = 0; i < N; i++) text[i] = 'a';
    for (int r = 0; r < n; r++) {
        const char *p = text + (r & 63);
        while (*p) p++;
        sum += (int)(p - text);
    }
    return sum;
}

EXPORT(mandelbrot_loop) int mandelbrot_loop(int n)
{
    int inside = 0;
    for (int r = 0; r < n; r++) {
        double re = -0.1 + r * 1e-6, im = 0.1, zr = 0, zi = 0;
        int i = 0;
        while (i < N && zr * zr + zi * zi <= 4) {
            double t = zr * zr - zi * zi + re;
            zi = 2 * zr * zi + im;
            zr = t;
            i++;
        }
        inside += i == N;
    }
    return inside;
}
