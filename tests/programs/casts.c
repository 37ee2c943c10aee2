/* SPDX-License-Identifier: Apache-2.0 */
/* Floats become integers: in range, at its ends, beyond them, and what is no number. A compiler without saturating instructions puts a
 * branch around each. */
#include <math.h>

#include "check.h"

enum { N = 500 };
static double D[N], E[N];
static float F[N], G[N];
static int32_t I[N];
static uint32_t U[N];
static int64_t L[N];
static uint64_t M[N];
static uint8_t B[N];
static int16_t S[N];

KERNEL void to_int(int n, int32_t *i, const double *d) { for (int k = 0; k < n; k++) i[k] = (int32_t)(d[k] * 3.0); }
KERNEL void to_unsigned(int n, uint32_t *u, const double *d) { for (int k = 0; k < n; k++) u[k] = (uint32_t)d[k]; }
KERNEL void to_int_f(int n, int32_t *i, const float *f) { for (int k = 0; k < n; k++) i[k] = (int32_t)f[k]; }
KERNEL void to_unsigned_f(int n, uint32_t *u, const float *f) { for (int k = 0; k < n; k++) u[k] = (uint32_t)(f[k] + 0.5f); }
KERNEL void to_long(int n, int64_t *l, const double *d) { for (int k = 0; k < n; k++) l[k] = (int64_t)d[k]; }
KERNEL void to_long_f(int n, int64_t *l, const float *f) { for (int k = 0; k < n; k++) l[k] = (int64_t)f[k]; }
KERNEL void to_unsigned_long(int n, uint64_t *m, const double *d) { for (int k = 0; k < n; k++) m[k] = (uint64_t)d[k]; }
KERNEL void to_unsigned_long_f(int n, uint64_t *m, const float *f) { for (int k = 0; k < n; k++) m[k] = (uint64_t)f[k]; }
KERNEL void to_byte(int n, uint8_t *b, const float *f) { for (int k = 0; k < n; k++) b[k] = (uint8_t)(f[k] * 255.0f); }
KERNEL void to_clamped_byte(int n, uint8_t *b, const float *f) { for (int k = 0; k < n; k++) { float v = f[k] * 255.0f + 0.5f; b[k] = (uint8_t)(v < 0 ? 0 : v > 255 ? 255 : v); } }
KERNEL void to_short(int n, int16_t *s, const double *d) { for (int k = 0; k < n; k++) s[k] = (int16_t)d[k]; }
KERNEL void there_and_back(int n, float *g, const float *f) { for (int k = 0; k < n; k++) g[k] = f[k] - (float)(int)f[k]; }
KERNEL void luma(int n, uint8_t *b, const uint8_t *p) { for (int k = 0; k < n; k++) b[k] = (uint8_t)(0.299f * p[k] + 0.587f * p[(k + 1) % 7] + 0.114f * p[0]); }
KERNEL void quantised(int n, int m, int32_t *i, const double *d, double by) { for (int k = 0; k < n; k++) for (int j = 0; j < m; j++) i[k * m + j] = (int32_t)(d[k * m + j] / by) * 2; }
KERNEL void if_it_fits(int n, int32_t *i, const double *d) { for (int k = 0; k < n; k++) if (d[k] > -1000 && d[k] < 1000) i[k] = (int32_t)d[k]; }
KERNEL void table_by_float(int n, float *g, const float *f, const float *t) { for (int k = 0; k < n; k++) g[k] = t[(int)f[k] & 63]; }

static const double notable[] = {0.0, -0.0, 0.5, -0.5, 0.999999999, -0.999999999, 1, -1, 127.5, 128, 255.49, 255.5, 256, 32767.9, 32768, -32769, 2147483520, 2147483647, 2147483647.5,
                                 2147483648, -2147483648.0, -2147483648.5, -2147483649.0, 4294967040, 4294967295, 4294967295.5, 4294967296, 9223372036854774784.0,
                                 9223372036854775808.0, -9223372036854775808.0, -9223372036854777856.0, 18446744073709549568.0, 18446744073709551616.0, 1e30, -1e30, 1e-310,
                                 INFINITY, -INFINITY, NAN, 5e-324};

static void reset(void)
{
    random_state = 99;
    fill_doubles(D, N); fill_doubles(E, N);
    for (size_t k = 0; k < COUNT(notable); k++) D[3 * k + k % 3] = notable[k], E[(7 * k + 5) % N] = notable[k] / 3;
    for (int k = 0; k < N; k++) F[k] = (float)(k & 1 ? D[k] : E[k]), G[k] = (float)E[k];
    fill_bytes(I, sizeof I); fill_bytes(U, sizeof U); fill_bytes(L, sizeof L); fill_bytes(M, sizeof M); fill_bytes(B, sizeof B); fill_bytes(S, sizeof S);
}

#define RUN(call) (reset(), call, hash_bytes(I, sizeof I), hash_bytes(U, sizeof U), hash_bytes(L, sizeof L), hash_bytes(M, sizeof M), hash_bytes(S, sizeof S), SHOW(#call, B))

int main(void)
{
    static const int sizes[] = {0, 1, 2, 3, 7, 16, 65, N};
    for (size_t k = 0; k < COUNT(sizes); k++) {
        int n = sizes[k], root = n < 22 ? n : 22;
        RUN(to_int(n, I, D)); RUN(to_unsigned(n, U, D)); RUN(to_int_f(n, I, F)); RUN(to_unsigned_f(n, U, F)); RUN(to_long(n, L, D)); RUN(to_long_f(n, L, F));
        RUN(to_unsigned_long(n, M, D)); RUN(to_unsigned_long_f(n, M, F)); RUN(to_byte(n, B, F)); RUN(to_clamped_byte(n, B, F)); RUN(to_short(n, S, D)); RUN(luma(n, B, (uint8_t *)U));
        RUN(quantised(root, root, I, D, 0.25)); RUN(if_it_fits(n, I, D)); RUN(to_int(n, (int32_t *)B, D)); RUN(to_int(n < 100 ? n : 100, (int32_t *)(B + 2), D));
        reset(); there_and_back(n, G, F); for (int i = 0; i < N; i++) hash_bytes(&(uint8_t){G[i] == G[i]}, 1); show("there_and_back");
        reset(); table_by_float(n, G, F, F); for (int i = 0; i < N; i++) hash_bytes(&(uint8_t){G[i] > 0}, 1); show("table_by_float");
    }
    return 0;
}
