/* SPDX-License-Identifier: Apache-2.0 */
#include "guest.h"

/* y = A x, A being n x m: each sum keeps its order, the sums are independent. */
GUEST(void, matvec, (int n, int m, const double *a, const double *x, double *y))
{
    for (int i = 0; i < n; i++) {
        double sum = 0;
        for (int j = 0; j < m; j++) sum += a[i * m + j] * x[j];
        y[i] = sum;
    }
}
NATIVE(matvec, (I32(0), I32(1), PTR(2), PTR(3), PTR(4)))
