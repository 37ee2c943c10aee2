/* SPDX-License-Identifier: Apache-2.0 */
/* Dense kernels: products, solvers, stencils, in the shapes that textbooks give them. */
#include "check.h"

enum { N = 37, M = 41 };
static double A[N][N], B[N][N], C[N][N], D[N][N], E[N][N], F[N][N], R[N][M], x[N], y[N], z[N], u[N], v[N];
static double H[13][13][13], G[13][13][13];
static float f[N][N], g[N][N];
static int32_t I[N][N], J[N][N];

KERNEL void gemm(int n, double alpha, double beta) { for (int i = 0; i < n; i++) { for (int j = 0; j < n; j++) C[i][j] *= beta; for (int k = 0; k < n; k++) for (int j = 0; j < n; j++) C[i][j] += alpha * A[i][k] * B[k][j]; } }
KERNEL void gemm_dot(int n) { for (int i = 0; i < n; i++) for (int j = 0; j < n; j++) { double s = 0; for (int k = 0; k < n; k++) s += A[i][k] * B[k][j]; C[i][j] = s; } }
KERNEL void mm2(int n) { for (int i = 0; i < n; i++) for (int j = 0; j < n; j++) { D[i][j] = 0; for (int k = 0; k < n; k++) D[i][j] += 1.5 * A[i][k] * B[k][j]; } for (int i = 0; i < n; i++) for (int j = 0; j < n; j++) { E[i][j] *= 0.5; for (int k = 0; k < n; k++) E[i][j] += D[i][k] * C[k][j]; } }
KERNEL void mm3(int n) { for (int i = 0; i < n; i++) for (int j = 0; j < n; j++) { E[i][j] = 0; for (int k = 0; k < n; k++) E[i][j] += A[i][k] * B[k][j]; } for (int i = 0; i < n; i++) for (int j = 0; j < n; j++) { F[i][j] = 0; for (int k = 0; k < n; k++) F[i][j] += C[i][k] * D[k][j]; } for (int i = 0; i < n; i++) for (int j = 0; j < n; j++) { R[i][j] = 0; for (int k = 0; k < n; k++) R[i][j] += E[i][k] * F[k][j]; } }
KERNEL void atax(int n) { for (int i = 0; i < n; i++) y[i] = 0; for (int i = 0; i < n; i++) { z[i] = 0; for (int j = 0; j < n; j++) z[i] = z[i] + A[i][j] * x[j]; for (int j = 0; j < n; j++) y[j] = y[j] + A[i][j] * z[i]; } }
KERNEL void bicg(int n) { for (int i = 0; i < n; i++) u[i] = 0; for (int i = 0; i < n; i++) { v[i] = 0; for (int j = 0; j < n; j++) { u[j] = u[j] + x[i] * A[i][j]; v[i] = v[i] + A[i][j] * y[j]; } } }
KERNEL void mvt(int n) { for (int i = 0; i < n; i++) for (int j = 0; j < n; j++) x[i] = x[i] + A[i][j] * u[j]; for (int i = 0; i < n; i++) for (int j = 0; j < n; j++) y[i] = y[i] + A[j][i] * v[j]; }
KERNEL void gemver(int n) { for (int i = 0; i < n; i++) for (int j = 0; j < n; j++) A[i][j] = A[i][j] + u[i] * v[j] + x[i] * y[j]; for (int i = 0; i < n; i++) for (int j = 0; j < n; j++) x[i] = x[i] + 1.25 * A[j][i] * y[j]; for (int i = 0; i < n; i++) x[i] = x[i] + z[i]; for (int i = 0; i < n; i++) for (int j = 0; j < n; j++) v[i] = v[i] + 1.5 * A[i][j] * x[j]; }
KERNEL void gesummv(int n) { for (int i = 0; i < n; i++) { z[i] = 0; y[i] = 0; for (int j = 0; j < n; j++) { z[i] = A[i][j] * x[j] + z[i]; y[i] = B[i][j] * x[j] + y[i]; } y[i] = 1.5 * z[i] + 1.2 * y[i]; } }
KERNEL void symm(int m, int n) { for (int i = 0; i < m; i++) for (int j = 0; j < n; j++) { double t = 0; for (int k = 0; k < i; k++) { C[k][j] += 1.5 * B[i][j] * A[i][k]; t += B[k][j] * A[i][k]; } C[i][j] = 1.2 * C[i][j] + 1.5 * B[i][j] * A[i][i] + 1.5 * t; } }
KERNEL void syrk(int n, int m) { for (int i = 0; i < n; i++) { for (int j = 0; j <= i; j++) C[i][j] *= 1.2; for (int k = 0; k < m; k++) for (int j = 0; j <= i; j++) C[i][j] += 1.5 * A[i][k] * A[j][k]; } }
KERNEL void syr2k(int n, int m) { for (int i = 0; i < n; i++) { for (int j = 0; j <= i; j++) C[i][j] *= 1.2; for (int k = 0; k < m; k++) for (int j = 0; j <= i; j++) C[i][j] += A[j][k] * 1.5 * B[i][k] + B[j][k] * 1.5 * A[i][k]; } }
KERNEL void trmm(int m, int n) { for (int i = 0; i < m; i++) for (int j = 0; j < n; j++) { for (int k = i + 1; k < m; k++) B[i][j] += A[k][i] * B[k][j]; B[i][j] = 1.5 * B[i][j]; } }
KERNEL void trisolv(int n) { for (int i = 0; i < n; i++) { x[i] = y[i]; for (int j = 0; j < i; j++) x[i] -= A[i][j] * x[j]; x[i] = x[i] / A[i][i]; } }
KERNEL void lu(int n) { for (int i = 0; i < n; i++) { for (int j = 0; j < i; j++) { for (int k = 0; k < j; k++) A[i][j] -= A[i][k] * A[k][j]; A[i][j] /= A[j][j]; } for (int j = i; j < n; j++) for (int k = 0; k < i; k++) A[i][j] -= A[i][k] * A[k][j]; } }
KERNEL void lu_right(int n) { for (int k = 0; k < n; k++) { for (int i = k + 1; i < n; i++) A[i][k] /= A[k][k]; for (int i = k + 1; i < n; i++) for (int j = k + 1; j < n; j++) A[i][j] -= A[i][k] * A[k][j]; } }
KERNEL void ludcmp(int n) { for (int i = 0; i < n; i++) { for (int j = 0; j < i; j++) { double w = A[i][j]; for (int k = 0; k < j; k++) w -= A[i][k] * A[k][j]; A[i][j] = w / A[j][j]; } for (int j = i; j < n; j++) { double w = A[i][j]; for (int k = 0; k < i; k++) w -= A[i][k] * A[k][j]; A[i][j] = w; } } for (int i = 0; i < n; i++) { double w = x[i]; for (int j = 0; j < i; j++) w -= A[i][j] * y[j]; y[i] = w; } for (int i = n - 1; i >= 0; i--) { double w = y[i]; for (int j = i + 1; j < n; j++) w -= A[i][j] * z[j]; z[i] = w / A[i][i]; } }
KERNEL void cholesky(int n) { for (int i = 0; i < n; i++) { for (int j = 0; j < i; j++) { for (int k = 0; k < j; k++) A[i][j] -= A[i][k] * A[j][k]; A[i][j] /= A[j][j]; } for (int k = 0; k < i; k++) A[i][i] -= A[i][k] * A[i][k]; A[i][i] = __builtin_sqrt(A[i][i]); } }
KERNEL void gramschmidt(int n) { for (int k = 0; k < n; k++) { double s = 0; for (int i = 0; i < n; i++) s += A[i][k] * A[i][k]; C[k][k] = __builtin_sqrt(s); for (int i = 0; i < n; i++) B[i][k] = A[i][k] / C[k][k]; for (int j = k + 1; j < n; j++) { C[k][j] = 0; for (int i = 0; i < n; i++) C[k][j] += B[i][k] * A[i][j]; for (int i = 0; i < n; i++) A[i][j] = A[i][j] - B[i][k] * C[k][j]; } } }
KERNEL void durbin(int n) { y[0] = -x[0]; double beta = 1, alpha = -x[0]; for (int k = 1; k < n; k++) { beta = (1 - alpha * alpha) * beta; double s = 0; for (int i = 0; i < k; i++) s += x[k - i - 1] * y[i]; alpha = -(x[k] + s) / beta; for (int i = 0; i < k; i++) z[i] = y[i] + alpha * y[k - i - 1]; for (int i = 0; i < k; i++) y[i] = z[i]; y[k] = alpha; } }
KERNEL void covariance(int n) { for (int j = 0; j < n; j++) { x[j] = 0; for (int i = 0; i < n; i++) x[j] += A[i][j]; x[j] /= n; } for (int i = 0; i < n; i++) for (int j = 0; j < n; j++) A[i][j] -= x[j]; for (int i = 0; i < n; i++) for (int j = i; j < n; j++) { C[i][j] = 0; for (int k = 0; k < n; k++) C[i][j] += A[k][i] * A[k][j]; C[i][j] /= n - 1.0; C[j][i] = C[i][j]; } }
KERNEL void correlation(int n) { for (int j = 0; j < n; j++) { y[j] = 0; for (int i = 0; i < n; i++) y[j] += (A[i][j] - x[j]) * (A[i][j] - x[j]); y[j] = __builtin_sqrt(y[j] / n); y[j] = y[j] <= 0.1 ? 1.0 : y[j]; } for (int i = 0; i < n; i++) for (int j = 0; j < n; j++) { A[i][j] -= x[j]; A[i][j] /= __builtin_sqrt((double)n) * y[j]; } for (int i = 0; i < n - 1; i++) { C[i][i] = 1; for (int j = i + 1; j < n; j++) { C[i][j] = 0; for (int k = 0; k < n; k++) C[i][j] += A[k][i] * A[k][j]; C[j][i] = C[i][j]; } } C[n - 1][n - 1] = 1; }
KERNEL void doitgen(int n) { for (int r = 0; r < n; r++) for (int q = 0; q < n; q++) { for (int p = 0; p < n; p++) { x[p] = 0; for (int s = 0; s < n; s++) x[p] += H[r][q][s] * A[s][p]; } for (int p = 0; p < n; p++) H[r][q][p] = x[p]; } }
KERNEL void jacobi1(int n, int t) { for (int k = 0; k < t; k++) { for (int i = 1; i < n - 1; i++) y[i] = 0.33333 * (x[i - 1] + x[i] + x[i + 1]); for (int i = 1; i < n - 1; i++) x[i] = 0.33333 * (y[i - 1] + y[i] + y[i + 1]); } }
KERNEL void jacobi2(int n, int t) { for (int k = 0; k < t; k++) { for (int i = 1; i < n - 1; i++) for (int j = 1; j < n - 1; j++) B[i][j] = 0.2 * (A[i][j] + A[i][j - 1] + A[i][1 + j] + A[1 + i][j] + A[i - 1][j]); for (int i = 1; i < n - 1; i++) for (int j = 1; j < n - 1; j++) A[i][j] = 0.2 * (B[i][j] + B[i][j - 1] + B[i][1 + j] + B[1 + i][j] + B[i - 1][j]); } }
KERNEL void seidel(int n, int t) { for (int k = 0; k < t; k++) for (int i = 1; i <= n - 2; i++) for (int j = 1; j <= n - 2; j++) A[i][j] = (A[i - 1][j - 1] + A[i - 1][j] + A[i - 1][j + 1] + A[i][j - 1] + A[i][j] + A[i][j + 1] + A[i + 1][j - 1] + A[i + 1][j] + A[i + 1][j + 1]) / 9.0; }
KERNEL void heat3(int n, int t) { for (int k = 0; k < t; k++) { for (int i = 1; i < n - 1; i++) for (int j = 1; j < n - 1; j++) for (int l = 1; l < n - 1; l++) G[i][j][l] = 0.125 * (H[i + 1][j][l] - 2.0 * H[i][j][l] + H[i - 1][j][l]) + 0.125 * (H[i][j + 1][l] - 2.0 * H[i][j][l] + H[i][j - 1][l]) + 0.125 * (H[i][j][l + 1] - 2.0 * H[i][j][l] + H[i][j][l - 1]) + H[i][j][l]; for (int i = 1; i < n - 1; i++) for (int j = 1; j < n - 1; j++) for (int l = 1; l < n - 1; l++) H[i][j][l] = 0.25 * (G[i + 1][j][l] + G[i][j][l]); } }
KERNEL void fdtd(int n, int t) { for (int k = 0; k < t; k++) { for (int j = 0; j < n; j++) B[0][j] = x[k]; for (int i = 1; i < n; i++) for (int j = 0; j < n; j++) B[i][j] = B[i][j] - 0.5 * (C[i][j] - C[i - 1][j]); for (int i = 0; i < n; i++) for (int j = 1; j < n; j++) A[i][j] = A[i][j] - 0.5 * (C[i][j] - C[i][j - 1]); for (int i = 0; i < n - 1; i++) for (int j = 0; j < n - 1; j++) C[i][j] = C[i][j] - 0.7 * (A[i][j + 1] - A[i][j] + B[i + 1][j] - B[i][j]); } }
KERNEL void adi(int n, int t) { for (int k = 1; k <= t; k++) { for (int i = 1; i < n - 1; i++) { B[0][i] = 1; C[i][0] = 0; D[i][0] = B[0][i]; for (int j = 1; j < n - 1; j++) { C[i][j] = -0.5 / (0.25 * C[i][j - 1] + 1.5); D[i][j] = (-0.3 * A[j][i - 1] + 1.6 * A[j][i] - 0.3 * A[j][i + 1] - 0.5 * D[i][j - 1]) / (0.5 * C[i][j - 1] + 1.5); } B[n - 1][i] = 1; for (int j = n - 2; j >= 1; j--) B[j][i] = C[i][j] * B[j + 1][i] + D[i][j]; } for (int i = 1; i < n - 1; i++) for (int j = 1; j < n - 1; j++) A[i][j] = B[i][j] * 0.5 + A[i][j] * 0.5; } }
KERNEL void floyd(int n) { for (int k = 0; k < n; k++) for (int i = 0; i < n; i++) for (int j = 0; j < n; j++) I[i][j] = I[i][j] < I[i][k] + I[k][j] ? I[i][j] : I[i][k] + I[k][j]; }
KERNEL void nussinov(int n) { for (int i = n - 1; i >= 0; i--) for (int j = i + 1; j < n; j++) { if (j - 1 >= 0) J[i][j] = J[i][j] > J[i][j - 1] ? J[i][j] : J[i][j - 1]; if (i + 1 < n) J[i][j] = J[i][j] > J[i + 1][j] ? J[i][j] : J[i + 1][j]; if (j - 1 >= 0 && i + 1 < n) { int m = i < j - 1 ? J[i + 1][j - 1] + (I[i][0] + I[j][0] == 3) : J[i + 1][j - 1]; J[i][j] = J[i][j] > m ? J[i][j] : m; } for (int k = i + 1; k < j; k++) { int m = J[i][k] + J[k + 1][j]; J[i][j] = J[i][j] > m ? J[i][j] : m; } } }
KERNEL void deriche(int n) { for (int i = 0; i < n; i++) { float p1 = 0, p2 = 0, q1 = 0; for (int j = 0; j < n; j++) { g[i][j] = 0.4f * f[i][j] + 0.2f * q1 + 0.3f * p1 - 0.1f * p2; q1 = f[i][j]; p2 = p1; p1 = g[i][j]; } } for (int i = 0; i < n; i++) { float p1 = 0, p2 = 0, q1 = 0; for (int j = n - 1; j >= 0; j--) { float t = 0.3f * q1 + 0.2f * p1 - 0.2f * p2; q1 = f[i][j]; p2 = p1; p1 = t; f[i][j] = t + g[i][j]; } } for (int j = 0; j < n; j++) { float p = 0; for (int i = 0; i < n; i++) { g[i][j] = f[i][j] * 0.5f + p; p = g[i][j]; } } }
KERNEL void transpose_in_place(int n) { for (int i = 0; i < n; i++) for (int j = i + 1; j < n; j++) { double t = A[i][j]; A[i][j] = A[j][i]; A[j][i] = t; } }
KERNEL void transpose_all(int n) { for (int i = 0; i < n; i++) for (int j = 0; j < n; j++) { double t = A[i][j]; A[i][j] = A[j][i]; A[j][i] = t; } }
KERNEL void flip(int n) { for (int i = 0; i < n; i++) for (int j = 0; j < n / 2; j++) { double t = A[i][j]; A[i][j] = A[i][n - 1 - j]; A[i][n - 1 - j] = t; } }
KERNEL void flip_rows(int n) { for (int i = 0; i < n; i++) for (int j = 0; j < n; j++) B[n - 1 - i][j] = A[i][n - 1 - j]; }
KERNEL void blocked(int n) { for (int ii = 0; ii < n; ii += 8) for (int kk = 0; kk < n; kk += 8) for (int i = ii; i < ii + 8 && i < n; i++) for (int k = kk; k < kk + 8 && k < n; k++) for (int j = 0; j < n; j++) C[i][j] += A[i][k] * B[k][j]; }
KERNEL void outer(int n, int m) { for (int i = 0; i < n; i++) for (int j = 0; j < m; j++) R[i][j] = x[i] * y[j % N]; }
KERNEL void row_past(int n, int m) { double *p = &A[0][0]; for (int i = 0; i < n; i++) for (int j = 0; j < m; j++) p[i * n + j] = p[i * n + j] * 0.5 + i; }
KERNEL void row_scan(int n) { for (int i = 0; i < n; i++) for (int j = 1; j < n; j++) A[i][j] += A[i][j - 1]; }
KERNEL void column_scan(int n) { for (int j = 0; j < n; j++) for (int i = 1; i < n; i++) A[i][j] += A[i - 1][j]; }
KERNEL void skewed(int n) { for (int i = 1; i < n; i++) for (int j = 0; j < n - 1; j++) A[i][j] = A[i - 1][j + 1] + 1; }
KERNEL void skewed2(int n) { for (int j = 0; j < n - 1; j++) for (int i = 1; i < n; i++) A[i][j] = A[i - 1][j + 1] * 0.5 + A[i][j]; }
KERNEL void sum_columns(int n) { for (int i = 0; i < n; i++) for (int j = 0; j < n; j++) x[j] += A[i][j]; }
KERNEL void sum_all(int n) { double s = 0; for (int i = 0; i < n; i++) for (int j = 0; j < n; j++) s += A[i][j]; x[0] = s; }
KERNEL void min_max(int n) { double lo = A[0][0], hi = A[0][0]; for (int i = 0; i < n; i++) for (int j = 0; j < n; j++) { if (A[i][j] < lo) lo = A[i][j]; if (A[i][j] > hi) hi = A[i][j]; } x[0] = lo; x[1] = hi; }
KERNEL void guarded(int n) { for (int i = 0; i < n; i++) for (int j = 0; j < n; j++) if (A[i][j] > 0) B[i][j] = A[i][j] * 2; else if (i > j) B[i][j] = -A[i][j]; }
KERNEL void scalar_exp(int n) { for (int i = 0; i < n; i++) { double t = x[i]; for (int j = 0; j < n; j++) { B[i][j] = t; t = t * 0.5 + A[i][j]; } y[i] = t; } }

static void reset(void)
{
    random_state = 77;
    double *all[] = {&A[0][0], &B[0][0], &C[0][0], &D[0][0], &E[0][0], &F[0][0]};
    for (size_t k = 0; k < COUNT(all); k++) fill_doubles(all[k], N * N);
    for (int i = 0; i < N; i++) A[i][i] += 100;
    fill_doubles(&R[0][0], N * M); fill_doubles(x, N); fill_doubles(y, N); fill_doubles(z, N); fill_doubles(u, N); fill_doubles(v, N);
    fill_doubles(&H[0][0][0], 13 * 13 * 13); fill_doubles(&G[0][0][0], 13 * 13 * 13);
    for (int i = 0; i < N * N; i++) (&f[0][0])[i] = (float)(&A[0][0])[i], (&g[0][0])[i] = 0, (&I[0][0])[i] = (int)(random_next() % 4), (&J[0][0])[i] = 0;
}

static void hash_all(void)
{
    hash_bytes(A, sizeof A); hash_bytes(B, sizeof B); hash_bytes(C, sizeof C); hash_bytes(D, sizeof D); hash_bytes(E, sizeof E); hash_bytes(F, sizeof F);
    hash_bytes(R, sizeof R); hash_bytes(x, sizeof x); hash_bytes(y, sizeof y); hash_bytes(z, sizeof z); hash_bytes(u, sizeof u); hash_bytes(v, sizeof v);
    hash_bytes(H, sizeof H); hash_bytes(G, sizeof G); hash_bytes(f, sizeof f); hash_bytes(g, sizeof g); hash_bytes(I, sizeof I); hash_bytes(J, sizeof J);
}

#define RUN(call) (reset(), call, hash_all(), show(#call))

int main(void)
{
    RUN(gemm(N, 1.5, 1.2)); RUN(gemm(1, 1.5, 0)); RUN(gemm_dot(N)); RUN(mm2(N)); RUN(mm3(N)); RUN(atax(N)); RUN(bicg(N)); RUN(mvt(N)); RUN(gemver(N));
    RUN(gesummv(N)); RUN(symm(N, N)); RUN(syrk(N, N)); RUN(syrk(N, 5)); RUN(syr2k(N, N)); RUN(trmm(N, N)); RUN(trisolv(N)); RUN(lu(N)); RUN(lu_right(N));
    RUN(ludcmp(N)); RUN(cholesky(N)); RUN(gramschmidt(N)); RUN(durbin(N)); RUN(covariance(N)); RUN(correlation(N)); RUN(doitgen(13)); RUN(jacobi1(N, 20));
    RUN(jacobi2(N, 9)); RUN(seidel(N, 5)); RUN(heat3(13, 6)); RUN(fdtd(N, 8)); RUN(adi(N, 5)); RUN(floyd(N)); RUN(nussinov(N)); RUN(deriche(N));
    RUN(transpose_in_place(N)); RUN(transpose_all(N)); RUN(flip(N)); RUN(flip(N - 1)); RUN(flip_rows(N)); RUN(blocked(N)); RUN(outer(N, M)); RUN(outer(N, 3));
    for (int m = 5; m < N * 2; m += 13) RUN(row_past(20, m));
    RUN(row_scan(N)); RUN(column_scan(N)); RUN(skewed(N)); RUN(skewed2(N)); RUN(sum_columns(N)); RUN(sum_all(N)); RUN(min_max(N)); RUN(guarded(N)); RUN(scalar_exp(N));
    return 0;
}
