/* SPDX-License-Identifier: Apache-2.0 */
/* Sizes that are constants, and odd: where the compiler unrolls, its factor doesn't divide them, and the test of the loop comes to
 * stand between two copies. */
#define EXPORT(name) __attribute__((export_name(#name))) void name(void)
#define FOR(i, from, to) for (int i = (from); i < (to); i++)
enum { N = 125, M = 131 };
float f[1021], g[1021];
double A[N][N], B[N][N], C[N][M], D[N][M];
unsigned char rgb[N][M][3], gray[N][M];

EXPORT(saxpy) { FOR(i, 0, 1021) g[i] += 2.5f * f[i]; }
EXPORT(gemm) { FOR(i, 0, N) { FOR(j, 0, M) C[i][j] *= 1.25; FOR(k, 0, N) FOR(j, 0, M) C[i][j] += 1.5 * A[i][k] * D[k][j]; } }
EXPORT(gemm_dot) { FOR(i, 0, N) FOR(j, 0, M) { double s = 0; FOR(k, 0, N) s += A[i][k] * D[k][j]; C[i][j] = s; } }
EXPORT(rank2) { FOR(i, 0, N) FOR(j, 0, N) A[i][j] += f[i] * g[j] + f[j] * g[i]; }
EXPORT(fields) { FOR(i, 1, N) FOR(j, 0, N) B[i][j] -= 0.5 * (A[i][j] - A[i - 1][j]); }
EXPORT(luma) { FOR(i, 0, N) FOR(j, 0, M) gray[i][j] = (unsigned char)((rgb[i][j][0] * 77 + rgb[i][j][1] * 150 + rgb[i][j][2] * 29) >> 8); }
/* The outermost loop is left in its middle, and what its last half made is used afterwards. */
EXPORT(last) { double t = 0; int i = 0; for (;;) { A[0][i] = t; if (i == N - 1) break; t = f[i] * 2.0; B[0][i] = t; i++; } C[0][0] = t; }

/* Triangles: what is left of an unrolled sum starts at an address that isn't linear. */
double x[N], y[N];
EXPORT(trisolv) { FOR(i, 0, N) { x[i] = y[i]; FOR(j, 0, i) x[i] -= A[i][j] * x[j]; x[i] = x[i] / A[i][i]; } }
EXPORT(cholesky) { FOR(i, 0, N) { FOR(j, 0, i) { FOR(k, 0, j) A[i][j] -= A[i][k] * A[j][k]; A[i][j] /= A[j][j]; } FOR(k, 0, i) A[i][i] -= A[i][k] * A[i][k]; A[i][i] = __builtin_sqrt(A[i][i]); } }
EXPORT(symm) { FOR(i, 0, N) FOR(j, 0, N) { double t = 0; FOR(k, 0, i) { B[k][j] += 1.5 * A[i][j] * D[i][k]; t += A[k][j] * D[i][k]; } B[i][j] = 1.2 * B[i][j] + 1.5 * t; } }
/* What one loop leaves, the next one uses. */
EXPORT(normalise) { FOR(i, 0, N) { double s = 0; FOR(j, 0, M) s += C[i][j]; FOR(j, 0, M) D[i][j] = C[i][j] / s; } }
