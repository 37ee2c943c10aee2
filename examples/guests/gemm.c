/* SPDX-License-Identifier: Apache-2.0 */
/* C = beta C + alpha A B in doubles.   gemm [N] */
#include "example.h"

SEPARATE static void gemm(int n, int m, int k, double alpha, double beta, const double *a, const double *b, double *c)
{
    for (int i = 0; i < n; i++) {
        for (int j = 0; j < m; j++) c[i * m + j] *= beta;
        for (int l = 0; l < k; l++)
            for (int j = 0; j < m; j++) c[i * m + j] += alpha * a[i * k + l] * b[l * m + j];
    }
}

static double *matrix(int rows, int columns)
{
    double *out = example_memory((size_t)rows * columns, sizeof *out);
    for (int i = 0; i < rows * columns; i++) out[i] = example_number();
    return out;
}

int main(int argc, char **argv)
{
    int n = example_argument(argc, argv, 1, 1000);
    double *a = matrix(n, n), *b = matrix(n, n), *c = matrix(n, n);
    gemm(n, n, n, 1.5, 1.2, a, b, c);
    example_print("gemm", c, sizeof *c * (size_t)n * n);
    return 0;
}
