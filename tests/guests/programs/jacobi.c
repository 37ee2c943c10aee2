/* SPDX-License-Identifier: Apache-2.0 */
#include "guest.h"

/* steps times: b = the five-point mean of a, then a = that of b; n x n with a fixed border. */
GUEST(void, jacobi_2d, (int steps, int n, double *a, double *b))
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
NATIVE(jacobi_2d, (I32(0), I32(1), PTR(2), PTR(3)))
