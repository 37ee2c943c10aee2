/* SPDX-License-Identifier: Apache-2.0 */
/* Arrays passed by pointer, with sizes that only the call knows: the guest's compiler then makes versions for arrays that
 * overlap, and peels first iterations off. */
#include "check.h"

enum { N = 48 };
static double A[N * N], B[N * N], C[N * N];

/* At -O3 the first row, where the inner loop doesn't run, is a loop of its own with an odd cell behind it. */
KERNEL void symm(int m, int n, double alpha, double beta, const double *a, const double *b, double *c) { for (int i = 0; i < m; i++) for (int j = 0; j < n; j++) { double t = 0; for (int k = 0; k < i; k++) { c[k * n + j] += alpha * b[i * n + j] * a[i * m + k]; t += b[k * n + j] * a[i * m + k]; } c[i * n + j] = beta * c[i * n + j] + alpha * b[i * n + j] * a[i * m + i] + alpha * t; } }

static void reset(void)
{
    random_state = 33;
    fill_doubles(A, N * N); fill_doubles(B, N * N); fill_doubles(C, N * N);
}

#define RUN(call) (reset(), call, hash_bytes(A, sizeof A), hash_bytes(B, sizeof B), SHOW(#call, C))

int main(void)
{
    for (int n = N; n > 0; n -= 3) { RUN(symm(N, n, 1.5, 1.2, A, B, C)); RUN(symm(n, N, 1.5, 1.2, A, B, C)); RUN(symm(n, n - 1, 1.5, 1.2, A, A, C)); }
    return 0;
}
