/* SPDX-License-Identifier: Apache-2.0 */
/* Products in every order and size class, with what makes tiles hard: values from outer loops, triangles, offsets, two targets. */
#include "check.h"

enum { N = 141 };
#define SET(T, name) static T name##A[N][N], name##B[N][N], name##C[N][N], name##D[N][N], name##x[N], name##y[N];
SET(double, d) SET(float, f) SET(int32_t, i) SET(int64_t, l)
static int16_t sA[N][N], sB[N][N], sC[N][N];
static uint8_t bA[N][N], bB[N][N], bC[N][N];

#define KERNELS(T, p) \
KERNEL void p##ikj(int n, int m, int k) { for (int a = 0; a < n; a++) for (int c = 0; c < k; c++) for (int b = 0; b < m; b++) p##C[a][b] += p##A[a][c] * p##B[c][b]; } \
KERNEL void p##ijk(int n, int m, int k) { for (int a = 0; a < n; a++) for (int b = 0; b < m; b++) for (int c = 0; c < k; c++) p##C[a][b] += p##A[a][c] * p##B[c][b]; } \
KERNEL void p##kij(int n, int m, int k) { for (int c = 0; c < k; c++) for (int a = 0; a < n; a++) for (int b = 0; b < m; b++) p##C[a][b] += p##A[a][c] * p##B[c][b]; } \
KERNEL void p##jki(int n, int m, int k) { for (int b = 0; b < m; b++) for (int c = 0; c < k; c++) for (int a = 0; a < n; a++) p##C[a][b] += p##A[a][c] * p##B[c][b]; } \
KERNEL void p##outer_value(int n, int m, int k) { for (int a = 0; a < n; a++) { T t = p##x[a]; for (int c = 0; c < k; c++) for (int b = 0; b < m; b++) p##C[a][b] += t * p##B[c][b]; } } \
KERNEL void p##outer_two(int n, int m, int k) { for (int a = 0; a < n; a++) { T t = p##x[a] * p##y[a]; p##D[a][0] = t; for (int b = 0; b < m; b++) p##C[a][b] = t; for (int c = 0; c < k; c++) for (int b = 0; b < m; b++) p##C[a][b] += t * p##B[c][b] + p##y[c]; } } \
KERNEL void p##scaled(int n, int m, int k) { for (int a = 0; a < n; a++) { for (int b = 0; b < m; b++) p##C[a][b] = p##C[a][b] * 3; for (int c = 0; c < k; c++) for (int b = 0; b < m; b++) p##C[a][b] += p##A[a][c] * p##B[c][b]; } } \
KERNEL void p##then(int n, int m, int k) { for (int a = 0; a < n; a++) { for (int c = 0; c < k; c++) for (int b = 0; b < m; b++) p##C[a][b] += p##A[a][c] * p##B[c][b]; for (int b = 0; b < m; b++) p##D[a][b] = p##C[a][b] + 1; } } \
KERNEL void p##transposed(int n, int m, int k) { for (int a = 0; a < n; a++) for (int c = 0; c < k; c++) for (int b = 0; b < m; b++) p##C[a][b] += p##A[c][a] * p##B[b][c]; } \
KERNEL void p##lower(int n, int m) { for (int a = 0; a < n; a++) for (int c = 0; c < m; c++) for (int b = 0; b <= a; b++) p##C[a][b] += p##A[a][c] * p##A[b][c]; } \
KERNEL void p##upto(int n, int m) { for (int a = 0; a < n; a++) for (int c = 0; c < a; c++) for (int b = 0; b < m; b++) p##C[a][b] += p##A[a][c] * p##B[c][b]; } \
KERNEL void p##from(int n, int m, int k) { for (int a = 0; a < n; a++) for (int b = 0; b < m; b++) for (int c = b; c < k; c++) p##C[a][b] += p##A[a][c] * p##B[c][b]; } \
KERNEL void p##two_targets(int n, int m, int k) { for (int a = 0; a < n; a++) for (int c = 0; c < k; c++) for (int b = 0; b < m; b++) { p##C[a][b] += p##A[a][c] * p##B[c][b]; p##D[a][b] -= p##A[a][c] + p##B[c][b]; } } \
KERNEL void p##shifted(int n, int m, int k) { for (int a = 0; a < n; a++) for (int c = 0; c < k; c++) for (int b = 0; b + 1 < m; b++) { p##C[a][b] += p##A[a][c] * p##B[c][b]; p##C[a][b + 1] -= p##B[c][b]; } } \
KERNEL void p##in_place(int n, int m, int k) { for (int a = 0; a < n; a++) for (int c = 0; c < k; c++) for (int b = 0; b < m; b++) p##C[a][b] += p##C[a][c] * p##B[c][b]; } \
KERNEL void p##in_place2(int n, int m, int k) { for (int a = 0; a < n; a++) for (int c = 0; c < k; c++) for (int b = 0; b < m; b++) p##C[a][b] += p##A[a][c] * p##C[c][b]; } \
KERNEL void p##square(int n) { for (int a = 0; a < n; a++) for (int b = 0; b < n; b++) p##C[b][a] = p##A[a][b]; } \
KERNEL void p##square_add(int n, int m) { for (int a = 0; a < n; a++) for (int b = 0; b < m; b++) p##C[b][a] += p##A[a][b] * p##x[a] + p##y[b]; } \
KERNEL void p##square_same(int n) { for (int a = 0; a < n; a++) for (int b = 0; b < n; b++) p##C[b][a] = p##C[a][b]; } \
KERNEL void p##square_halves(int n) { for (int a = 0; a < n / 2; a++) for (int b = 0; b < n / 2; b++) p##C[b][n / 2 + a] = p##C[a][b]; } \
KERNEL void p##guarded(int n, int m, int k) { for (int a = 0; a < n; a++) for (int c = 0; c < k; c++) for (int b = 0; b < m; b++) if (p##B[c][b] > 0) p##C[a][b] += p##A[a][c]; } \
KERNEL void p##backwards(int n, int m, int k) { for (int a = n - 1; a >= 0; a--) for (int c = k - 1; c >= 0; c--) for (int b = m - 1; b >= 0; b--) p##C[a][b] += p##A[a][c] * p##B[c][b]; } \
KERNEL void p##matvec(int n, int m) { for (int a = 0; a < n; a++) for (int b = 0; b < m; b++) p##y[a] += p##A[a][b] * p##x[b]; } \
KERNEL void p##vecmat(int n, int m) { for (int a = 0; a < n; a++) for (int b = 0; b < m; b++) p##y[b] += p##A[a][b] * p##x[a]; } \
KERNEL void p##window(int n, int m, int k) { for (int a = 0; a + k <= n; a++) for (int b = 0; b + k <= m; b++) { T s = 0; for (int c = 0; c < k; c++) for (int e = 0; e < k; e++) s += p##A[a + c][b + e] * p##B[c][e]; p##C[a][b] = s; } } \
KERNEL void p##rank1(int n, int m) { for (int a = 0; a < n; a++) for (int b = 0; b < m; b++) p##C[a][b] += p##x[a] * p##y[b]; } \
KERNEL void p##smooth(int n, int m) { for (int a = 1; a + 1 < n; a++) for (int b = 1; b + 1 < m; b++) p##C[a][b] = p##A[a - 1][b] + p##A[a + 1][b] + p##A[a][b - 1] + p##A[a][b + 1] - p##A[a][b] * 4; }
KERNELS(double, d) KERNELS(float, f) KERNELS(int32_t, i) KERNELS(int64_t, l)
KERNEL void s16(int n, int m, int k) { for (int a = 0; a < n; a++) for (int c = 0; c < k; c++) for (int b = 0; b < m; b++) sC[a][b] = (int16_t)(sC[a][b] + sA[a][c] * sB[c][b]); }
KERNEL void u8(int n, int m, int k) { for (int a = 0; a < n; a++) for (int c = 0; c < k; c++) for (int b = 0; b < m; b++) bC[a][b] = (uint8_t)(bC[a][b] + bA[a][c] * bB[c][b]); }
KERNEL void wide16(int n, int m, int k) { for (int a = 0; a < n; a++) for (int c = 0; c < k; c++) for (int b = 0; b < m; b++) iC[a][b] += sA[a][c] * sB[c][b]; }
KERNEL void square8(int n) { for (int a = 0; a < n; a++) for (int b = 0; b < n; b++) bC[b][a] = bA[a][b]; }
KERNEL void square16(int n) { for (int a = 0; a < n; a++) for (int b = 0; b < n; b++) sC[b][a] = (int16_t)(sA[a][b] + 1); }
KERNEL void square_mixed(int n) { for (int a = 0; a < n; a++) for (int b = 0; b < n; b++) dC[b][a] = (double)fA[a][b] + bA[a][b]; }

#define BYTES(a) fill_bytes(a, sizeof a)
#define FLOATS(T, a) do { T *at = (T *)(a); for (size_t e = 0; e < sizeof a / sizeof(T); e++) at[e] = (T)((int)(random_next() % 513) - 256) / (T)8; } while (0)
#define FILL(T, p) FLOATS(T, p##A); FLOATS(T, p##B); FLOATS(T, p##C); FLOATS(T, p##D); FLOATS(T, p##x); FLOATS(T, p##y)
static void reset(void)
{
    random_state = 3;
    FILL(double, d); FILL(float, f); FILL(int32_t, i); FILL(int64_t, l);
    BYTES(sA); BYTES(sB); BYTES(sC); BYTES(bA); BYTES(bB); BYTES(bC);
}
static void hash_words(const void *data, size_t size)
{
    const volatile uint32_t *words = data;
    for (size_t w = 0; w < size / 4; w++) hash_state = (hash_state ^ words[w]) * 0x100000001b3ull + (hash_state >> 47);
}
#define RUN(call, p) (call, hash_words(p##C, sizeof p##C), hash_words(p##D, sizeof p##D), hash_words(p##y, sizeof p##y), show(#call))
#define ALL(p, n, m, k) \
    RUN(p##ikj(n, m, k), p); RUN(p##ijk(n, m, k), p); RUN(p##kij(n, m, k), p); RUN(p##jki(n, m, k), p); RUN(p##outer_value(n, m, k), p); RUN(p##outer_two(n, m, k), p); \
    RUN(p##scaled(n, m, k), p); RUN(p##then(n, m, k), p); RUN(p##transposed(n, m, k), p); RUN(p##lower(n, k), p); RUN(p##upto(n, m), p); RUN(p##from(n, m, k), p); RUN(p##two_targets(n, m, k), p); \
    RUN(p##shifted(n, m, k), p); RUN(p##in_place(n, m, k), p); RUN(p##in_place2(n, m, k), p); RUN(p##square(n), p); RUN(p##square_add(n, m), p); RUN(p##square_same(n), p); RUN(p##square_halves(n), p); \
    RUN(p##guarded(n, m, k), p); RUN(p##backwards(n, m, k), p); RUN(p##matvec(n, m), p); RUN(p##vecmat(n, m), p); RUN(p##window(n, m, 5), p); RUN(p##rank1(n, m), p); RUN(p##smooth(n, m), p)

static void size(int n, int m, int k)
{
    printf("%d %d %d\n", n, m, k);
    reset();
    ALL(d, n, m, k); ALL(f, n, m, k); ALL(i, n, m, k); ALL(l, n, m, k);
    s16(n, m, k); u8(n, m, k); wide16(n, m, k); square8(n); square16(n); square_mixed(n);
    hash_bytes(sC, sizeof sC); hash_bytes(bC, sizeof bC); hash_bytes(iC, sizeof iC); hash_bytes(dC, sizeof dC); show("narrow");
}

int main(int count, char **args)
{
    (void)args;
    size(33, 47, 19);
    size(5, 5, 5);
    size(17, 8, 130);
    if (count < 2) return 0;
    size(141, 141, 141);
    size(64, 64, 64);
    return 0;
}
