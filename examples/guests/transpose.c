/* SPDX-License-Identifier: Apache-2.0 */
/* A matrix turned over its diagonal, back and forth.   transpose [PASSES] */
#include "example.h"

SEPARATE static void transpose(int n, int m, const float *a, float *b)
{
    for (int i = 0; i < n; i++)
        for (int j = 0; j < m; j++) b[j * n + i] = a[i * m + j];
}

int main(int argc, char **argv)
{
    enum { N = 200, M = 240 };
    int passes = example_argument(argc, argv, 1, 20000);
    float *a = example_memory(N * M, sizeof *a), *b = example_memory(N * M, sizeof *b);
    for (int i = 0; i < N * M; i++) a[i] = (float)example_number();
    for (int p = 0; p < passes; p += 2) {
        transpose(N, M, a, b);
        transpose(M, N, b, a);
    }
    example_print("transpose", a, sizeof *a * N * M);
    return 0;
}
