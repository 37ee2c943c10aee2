/* SPDX-License-Identifier: Apache-2.0 */
#include "guest.h"

/* C (n x m) = beta C + alpha A (n x k) B (k x m). */
#define GEMM(name, type, scalar)                                                                                       \
    GUEST(void, name, (int n, int m, int k, type alpha, type beta, const type *a, const type *b, type *c))             \
    {                                                                                                                  \
        for (int i = 0; i < n; i++) {                                                                                  \
            for (int j = 0; j < m; j++) c[i * m + j] *= beta;                                                          \
            for (int l = 0; l < k; l++)                                                                                \
                for (int j = 0; j < m; j++) c[i * m + j] += alpha * a[i * k + l] * b[l * m + j];                       \
        }                                                                                                              \
    }                                                                                                                  \
    NATIVE(name, (I32(0), I32(1), I32(2), scalar(3), scalar(4), PTR(5), PTR(6), PTR(7)))

GEMM(gemm_f64, double, F64)
GEMM(gemm_f32, float, F32)
GEMM(gemm_i32, int, I32)
