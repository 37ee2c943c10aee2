/* SPDX-License-Identifier: Apache-2.0 */
#include "guest.h"

/* The lower triangle of C (n x n) = beta C + alpha A A^T, A being n x m. */
GUEST(void, syrk, (int n, int m, double alpha, double beta, const double *a, double *c))
{
    for (int i = 0; i < n; i++) {
        for (int j = 0; j <= i; j++) c[i * n + j] *= beta;
        for (int k = 0; k < m; k++)
            for (int j = 0; j <= i; j++) c[i * n + j] += alpha * a[i * m + k] * a[j * m + k];
    }
}
NATIVE(syrk, (I32(0), I32(1), F64(2), F64(3), PTR(4), PTR(5)))
