/* SPDX-License-Identifier: Apache-2.0 */
#include "guest.h"

/* Each cell waits for the one before it and for the row above: no loop is parallel, only lines across both are. */

/* Nine points in place, a division at the end of a long chain. */
GUEST(void, seidel_2d, (int steps, int n, double *a))
{
    for (int t = 0; t < steps; t++)
        for (int i = 1; i < n - 1; i++)
            for (int j = 1; j < n - 1; j++)
                a[i * n + j] = (a[(i - 1) * n + j - 1] + a[(i - 1) * n + j] + a[(i - 1) * n + j + 1] + a[i * n + j - 1] + a[i * n + j] +
                                a[i * n + j + 1] + a[(i + 1) * n + j - 1] + a[(i + 1) * n + j] + a[(i + 1) * n + j + 1]) /
                               9.0;
}
NATIVE(seidel_2d, (I32(0), I32(1), PTR(2)))

/* Five points; small enough for the guest's compiler to unroll it. */
GUEST(void, gauss_seidel, (int n, int m, float *a))
{
    for (int i = 1; i < n - 1; i++)
        for (int j = 1; j < m - 1; j++)
            a[i * m + j] = 0.25f * (a[(i - 1) * m + j] + a[i * m + j - 1] + a[i * m + j + 1] + a[(i + 1) * m + j]);
}
NATIVE(gauss_seidel, (I32(0), I32(1), PTR(2)))

/* Insertions, deletions and replacements between two strings; the table's first row and column are given. */
GUEST(void, edit_distance, (int n, int m, const unsigned char *x, const unsigned char *y, int *table))
{
    for (int i = 1; i <= n; i++)
        for (int j = 1; j <= m; j++) {
            int up = table[(i - 1) * (m + 1) + j] + 1, left = table[i * (m + 1) + j - 1] + 1;
            int both = table[(i - 1) * (m + 1) + j - 1] + (x[i - 1] != y[j - 1]), least = up < left ? up : left;
            table[i * (m + 1) + j] = least < both ? least : both;
        }
}
NATIVE(edit_distance, (I32(0), I32(1), PTR(2), PTR(3), PTR(4)))
