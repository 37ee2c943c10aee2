/* SPDX-License-Identifier: Apache-2.0 */
#include "guest.h"

/* Loops whose iterations must stay in their order: each is a way in which a plausible parallel version is wrong. */

/* Running sums: the order of the additions is part of every result. */
GUEST(void, prefix_sum, (int n, const double *x, double *y))
{
    double sum = 0;
    for (int i = 0; i < n; i++) {
        sum += x[i];
        y[i] = sum;
    }
}
NATIVE(prefix_sum, (I32(0), PTR(1), PTR(2)))

GUEST(double, dot, (int n, const double *x, const double *y))
{
    double sum = 0;
    for (int i = 0; i < n; i++) sum += x[i] * y[i];
    return sum;
}
NATIVE_F64(dot, (I32(0), PTR(1), PTR(2)))

/* Two bytes may name the same counter. */
GUEST(void, histogram, (int n, const unsigned char *data, unsigned *bins))
{
    for (int i = 0; i < n; i++) bins[data[i]]++;
}
NATIVE(histogram, (I32(0), PTR(1), PTR(2)))

/* The compiler hands x[i - 1] on in a register. */
GUEST(void, recurrence, (int n, double c, double *x))
{
    for (int i = 1; i < n; i++) x[i] = c * x[i - 1] + x[i];
}
NATIVE(recurrence, (I32(0), F64(1), PTR(2)))

/* Source and destination lie in one array, k elements apart: only the number k says whether it is serial. */
GUEST(void, shift_copy, (int n, int k, float *a))
{
    for (int i = 0; i < n; i++) a[i + k] = a[i];
}
NATIVE(shift_copy, (I32(0), I32(1), PTR(2)))

/* Two views of the same bytes, half an element apart: no element is both read and written, but every byte is. */
typedef double __attribute__((aligned(4), may_alias)) view;

GUEST(void, views, (int n, double c, const view *x, view *y))
{
    for (int i = 0; i < n; i++) y[i] = c * x[i];
}
NATIVE(views, (I32(0), F64(1), PTR(2), PTR(3)))
