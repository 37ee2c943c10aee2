/* SPDX-License-Identifier: Apache-2.0 */
/* Arrays passed by pointer, with sizes that only the call knows: the guest's compiler then makes versions for arrays that
 * overlap, and peels first iterations off. */
#include "check.h"

enum { N = 48 };
static double A[N * N], B[N * N], C[N * N];

/* At -O3 the first row, where the inner loop doesn't run, is a loop of its own with an odd cell behind it. */
KERNEL void symm(int m, int n, double alpha, double beta, const double *a, const double *b, double *c) { for (int i = 0; i < m; i++) for (int j = 0; j < n; j++) { double t = 0; for (int k = 0; k < i; k++) { c[k * n + j] += alpha * b[i * n + j] * a[i * m + k]; t += b[k * n + j] * a[i * m + k]; } c[i * n + j] = beta * c[i * n + j] + alpha * b[i * n + j] * a[i * m + i] + alpha * t; } }

/* Unrolled, with a remainder, and all of it under a condition that counters decide. */
KERNEL void thirds(int n, int64_t *p, const int32_t *q, int64_t *r) { for (int i = 2; i < 2 * n; i += 2) for (int j = i; j < 17 || j == i; j++) if (j % 3 == 1) { for (unsigned l = 0; l < (unsigned)(j + 1); l++) r[i * 16 + l] *= j + q[l * 16 + j] * r[i] + q[j - 1]; p[j + i] += n; } }
KERNEL void first_row(int n, int m, double *a, const double *b, double x) { for (int i = 0; i < n; i++) { if (i & 1) { for (int j = 0; j < m; j++) a[i * m + j] = a[i * m + j] * x + b[j]; a[i * m] += 1; } else a[i * m] -= 1; } }

static void reset(void)
{
    random_state = 33;
    fill_doubles(A, N * N); fill_doubles(B, N * N); fill_doubles(C, N * N);
}

#define RUN(call) (reset(), call, hash_bytes(A, sizeof A), hash_bytes(B, sizeof B), SHOW(#call, C))

int main(void)
{
    for (int n = N; n > 0; n -= 3) { RUN(symm(N, n, 1.5, 1.2, A, B, C)); RUN(symm(n, N, 1.5, 1.2, A, B, C)); RUN(symm(n, n - 1, 1.5, 1.2, A, A, C)); }
    for (int n = 1; n < 16; n++) RUN(thirds(n, (int64_t *)A, (int32_t *)B, (int64_t *)C));
    for (int n = 1; n < N; n += 3) { RUN(first_row(n, 45, A, B, 0.5)); RUN(first_row(n, n, A, B, 0.5)); }
    return 0;
}
