/* SPDX-License-Identifier: Apache-2.0 */
#include "guest.h"

/* b (m x n) = a (n x m) turned. */
GUEST(void, transpose, (int n, int m, const float *a, float *b))
{
    for (int i = 0; i < n; i++)
        for (int j = 0; j < m; j++) b[j * n + i] = a[i * m + j];
}
NATIVE(transpose, (I32(0), I32(1), PTR(2), PTR(3)))
