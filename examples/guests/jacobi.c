/* SPDX-License-Identifier: Apache-2.0 */
/* Heat on a plate: each point becomes the mean of itself and its four neighbours.   jacobi [STEPS] */
#include "example.h"

SEPARATE static void jacobi(int steps, int n, double *a, double *b)
{
    for (int t = 0; t < steps; t++) {
        for (int i = 1; i < n - 1; i++)
            for (int j = 1; j < n - 1; j++)
                b[i * n + j] = 0.2 * (a[i * n + j] + a[i * n + j - 1] + a[i * n + j + 1] + a[(i + 1) * n + j] +
                                      a[(i - 1) * n + j]);
        for (int i = 1; i < n - 1; i++)
            for (int j = 1; j < n - 1; j++)
                a[i * n + j] = 0.2 * (b[i * n + j] + b[i * n + j - 1] + b[i * n + j + 1] + b[(i + 1) * n + j] +
                                      b[(i - 1) * n + j]);
    }
}

int main(int argc, char **argv)
{
    enum { N = 200 };
    int steps = example_argument(argc, argv, 1, 4000);
    double *a = example_memory(N * N, sizeof *a), *b = example_memory(N * N, sizeof *b);
    for (int i = 0; i < N * N; i++) a[i] = b[i] = example_number();
    jacobi(steps, N, a, b);
    example_print("jacobi", a, sizeof *a * N * N);
    return 0;
}
