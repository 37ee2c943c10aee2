/* SPDX-License-Identifier: Apache-2.0 */
/* Dense kernels on arrays of constant sizes. With such sizes compilers unroll small loops whole, make counts of their own from the
 * addresses, and put the test of an unrolled loop into its middle where the factor doesn't divide the count: constant.c has even
 * sizes, constant_odd.c odd ones. */
#include "check.h"

#ifndef SIZES
#define SIZES N = 40, M = 44, K = 36, T = 3, W = 64, H = 40, L = 16, U = 240
#endif
#define EXPORT(name) KERNEL void name(void)
#define FOR(i, from, to) for (int i = (from); i < (to); i++)
#define HEAT(O, I) FOR(i,1,L-1) FOR(j,1,L-1) FOR(k,1,L-1) O[i][j][k] = 0.125 * (I[i+1][j][k] - 2.0 * I[i][j][k] + I[i-1][j][k]) + 0.125 * (I[i][j+1][k] - 2.0 * I[i][j][k] + I[i][j-1][k]) + 0.125 * (I[i][j][k+1] - 2.0 * I[i][j][k] + I[i][j][k-1]) + I[i][j][k];
#define MAX(a, b) ((a) >= (b) ? (a) : (b))
#define sqrt __builtin_sqrt
#define sqrtf __builtin_sqrtf
typedef unsigned char u8;
enum { SIZES };

double alpha = 1.5, beta = 1.2;
double A[N][N], B[N][N], C[N][N], D[N][N], E[N][N], F[N][N], G[N][N], x[N], y[N], z[N], w[N], u1[N], v1[N], u2[N], v2[N];
double P[N][K], Q[K][M], R[N][M], S[N][M], V[M][M];
double X3[L][L][L], Y3[L][L][L], c4[L][L], sum3[L];
float img[H][W], out[H][W], tmp1[H][W], f1[U], f2[U], f3[U];
u8 src8[H][W], dst8[H][W], rgb[H][W][3];
int table[N][N], path[N][N], seq[N];
float dctm[8][8];
float re[U], im[U], wr[U], wi[U];
float px[U], py[U], pz[U], ax[U], ay[U], az[U], mass[U];
float points[U][8], centers[16][8], dist[U][16]; int nearest[U];
float logits[100][64], act[100][64], g1[64], b1[64];
float cin[8][34][34], cout_[8][32][32], cw[8][8][3][3], cb[8];
signed char q8[U];

EXPORT(gemm) { FOR(i,0,N) { FOR(j,0,M) R[i][j] *= beta; FOR(k,0,K) FOR(j,0,M) R[i][j] += alpha * P[i][k] * Q[k][j]; } }
EXPORT(gemm_dot) { FOR(i,0,N) FOR(j,0,M) { double s = 0; FOR(k,0,K) s += P[i][k] * Q[k][j]; R[i][j] = s; } }
EXPORT(mm2) { FOR(i,0,N) FOR(j,0,M) { R[i][j] = 0; FOR(k,0,K) R[i][j] += alpha * P[i][k] * Q[k][j]; } FOR(i,0,N) FOR(j,0,M) { S[i][j] *= beta; FOR(k,0,M) S[i][j] += R[i][k] * V[k][j]; } }
EXPORT(mm3) { FOR(i,0,N) FOR(j,0,N) { E[i][j] = 0; FOR(k,0,N) E[i][j] += A[i][k] * B[k][j]; } FOR(i,0,N) FOR(j,0,N) { F[i][j] = 0; FOR(k,0,N) F[i][j] += C[i][k] * D[k][j]; } FOR(i,0,N) FOR(j,0,N) { G[i][j] = 0; FOR(k,0,N) G[i][j] += E[i][k] * F[k][j]; } }
EXPORT(gemver) { FOR(i,0,N) FOR(j,0,N) A[i][j] = A[i][j] + u1[i] * v1[j] + u2[i] * v2[j]; FOR(i,0,N) FOR(j,0,N) x[i] = x[i] + beta * A[j][i] * y[j]; FOR(i,0,N) x[i] = x[i] + z[i]; FOR(i,0,N) FOR(j,0,N) w[i] = w[i] + alpha * A[i][j] * x[j]; }
EXPORT(gesummv) { FOR(i,0,N) { w[i] = 0; y[i] = 0; FOR(j,0,N) { w[i] = A[i][j] * x[j] + w[i]; y[i] = B[i][j] * x[j] + y[i]; } y[i] = alpha * w[i] + beta * y[i]; } }
EXPORT(mvt) { FOR(i,0,N) FOR(j,0,N) x[i] = x[i] + A[i][j] * y[j]; FOR(i,0,N) FOR(j,0,N) z[i] = z[i] + A[j][i] * w[j]; }
EXPORT(atax) { FOR(i,0,M) v1[i % N] = 0; FOR(i,0,N) { w[i] = 0; FOR(j,0,N) w[i] = w[i] + A[i][j] * x[j]; FOR(j,0,N) y[j] = y[j] + A[i][j] * w[i]; } }
EXPORT(bicg) { FOR(i,0,N) z[i] = 0; FOR(i,0,N) { w[i] = 0; FOR(j,0,N) { z[j] = z[j] + x[i] * A[i][j]; w[i] = w[i] + A[i][j] * y[j]; } } }
EXPORT(syrk) { FOR(i,0,N) { FOR(j,0,i+1) C[i][j] *= beta; FOR(k,0,N) FOR(j,0,i+1) C[i][j] += alpha * A[i][k] * A[j][k]; } }
EXPORT(syr2k) { FOR(i,0,N) { FOR(j,0,i+1) C[i][j] *= beta; FOR(k,0,N) FOR(j,0,i+1) C[i][j] += A[j][k] * alpha * B[i][k] + B[j][k] * alpha * A[i][k]; } }
EXPORT(symm) { FOR(i,0,N) FOR(j,0,N) { double t = 0; FOR(k,0,i) { C[k][j] += alpha * B[i][j] * A[i][k]; t += B[k][j] * A[i][k]; } C[i][j] = beta * C[i][j] + alpha * B[i][j] * A[i][i] + alpha * t; } }
EXPORT(trmm) { FOR(i,0,N) FOR(j,0,N) { FOR(k,i+1,N) B[i][j] += A[k][i] * B[k][j]; B[i][j] = alpha * B[i][j]; } }
EXPORT(trisolv) { FOR(i,0,N) { x[i] = y[i]; FOR(j,0,i) x[i] -= A[i][j] * x[j]; x[i] = x[i] / A[i][i]; } }
EXPORT(lu) { FOR(i,0,N) { FOR(j,0,i) { FOR(k,0,j) A[i][j] -= A[i][k] * A[k][j]; A[i][j] /= A[j][j]; } FOR(j,i,N) FOR(k,0,i) A[i][j] -= A[i][k] * A[k][j]; } }
EXPORT(lu_right) { FOR(k,0,N) { FOR(i,k+1,N) A[i][k] /= A[k][k]; FOR(i,k+1,N) FOR(j,k+1,N) A[i][j] -= A[i][k] * A[k][j]; } }
EXPORT(cholesky) { FOR(i,0,N) { FOR(j,0,i) { FOR(k,0,j) A[i][j] -= A[i][k] * A[j][k]; A[i][j] /= A[j][j]; } FOR(k,0,i) A[i][i] -= A[i][k] * A[i][k]; A[i][i] = sqrt(A[i][i]); } }
EXPORT(ludcmp) { FOR(i,0,N) { double s = x[i]; FOR(j,0,i) s -= A[i][j] * y[j]; y[i] = s; } for (int i = N - 1; i >= 0; i--) { double s = y[i]; FOR(j,i+1,N) s -= A[i][j] * z[j]; z[i] = s / A[i][i]; } }
EXPORT(durbin) { double a = -x[0], b = 1; y[0] = -x[0]; FOR(k,1,N) { b = (1 - a * a) * b; double s = 0; FOR(i,0,k) s += x[k - i - 1] * y[i]; a = -(x[k] + s) / b; FOR(i,0,k) z[i] = y[i] + a * y[k - i - 1]; FOR(i,0,k) y[i] = z[i]; y[k] = a; } }
EXPORT(gramschmidt) { FOR(k,0,N) { double s = 0; FOR(i,0,N) s += A[i][k] * A[i][k]; C[k][k] = sqrt(s); FOR(i,0,N) B[i][k] = A[i][k] / C[k][k]; FOR(j,k+1,N) { C[k][j] = 0; FOR(i,0,N) C[k][j] += B[i][k] * A[i][j]; FOR(i,0,N) A[i][j] = A[i][j] - B[i][k] * C[k][j]; } } }
EXPORT(correlation) { FOR(j,0,N) { x[j] = 0; FOR(i,0,N) x[j] += A[i][j]; x[j] /= N; } FOR(j,0,N) { y[j] = 0; FOR(i,0,N) y[j] += (A[i][j] - x[j]) * (A[i][j] - x[j]); y[j] /= N; y[j] = sqrt(y[j]); y[j] = y[j] <= 0.1 ? 1.0 : y[j]; } FOR(i,0,N) FOR(j,0,N) { A[i][j] -= x[j]; A[i][j] /= sqrt((double)N) * y[j]; } FOR(i,0,N-1) { C[i][i] = 1; FOR(j,i+1,N) { C[i][j] = 0; FOR(k,0,N) C[i][j] += A[k][i] * A[k][j]; C[j][i] = C[i][j]; } } C[N-1][N-1] = 1; }
EXPORT(covariance) { FOR(j,0,N) { x[j] = 0; FOR(i,0,N) x[j] += A[i][j]; x[j] /= N; } FOR(i,0,N) FOR(j,0,N) A[i][j] -= x[j]; FOR(i,0,N) FOR(j,i,N) { C[i][j] = 0; FOR(k,0,N) C[i][j] += A[k][i] * A[k][j]; C[i][j] /= N - 1.0; C[j][i] = C[i][j]; } }
EXPORT(doitgen) { FOR(r,0,L) FOR(q,0,L) { FOR(p,0,L) { sum3[p] = 0; FOR(s,0,L) sum3[p] += X3[r][q][s] * c4[s][p]; } FOR(p,0,L) X3[r][q][p] = sum3[p]; } }
EXPORT(jacobi1) { FOR(t,0,T) { FOR(i,1,N-1) y[i] = 0.33333 * (x[i - 1] + x[i] + x[i + 1]); FOR(i,1,N-1) x[i] = 0.33333 * (y[i - 1] + y[i] + y[i + 1]); } }
EXPORT(jacobi2) { FOR(t,0,T) { FOR(i,1,N-1) FOR(j,1,N-1) B[i][j] = 0.2 * (A[i][j] + A[i][j-1] + A[i][j+1] + A[i+1][j] + A[i-1][j]); FOR(i,1,N-1) FOR(j,1,N-1) A[i][j] = 0.2 * (B[i][j] + B[i][j-1] + B[i][j+1] + B[i+1][j] + B[i-1][j]); } }
EXPORT(heat3) { FOR(t,0,T) { HEAT(Y3, X3) HEAT(X3, Y3) } }
EXPORT(fdtd) { FOR(t,0,T) { FOR(j,0,N) B[0][j] = x[t]; FOR(i,1,N) FOR(j,0,N) B[i][j] = B[i][j] - 0.5 * (C[i][j] - C[i-1][j]); FOR(i,0,N) FOR(j,1,N) A[i][j] = A[i][j] - 0.5 * (C[i][j] - C[i][j-1]); FOR(i,0,N-1) FOR(j,0,N-1) C[i][j] = C[i][j] - 0.7 * (A[i][j+1] - A[i][j] + B[i+1][j] - B[i][j]); } }
EXPORT(adi) { FOR(t,0,T) { FOR(i,1,N-1) { B[0][i] = 1; C[i][0] = 0; D[i][0] = B[0][i]; FOR(j,1,N-1) { C[i][j] = -0.5 / (0.25 * C[i][j-1] + 1.5); D[i][j] = (-0.3 * A[j][i-1] + 1.6 * A[j][i] - 0.3 * A[j][i+1] - 0.5 * D[i][j-1]) / (0.5 * C[i][j-1] + 1.5); } B[N-1][i] = 1; for (int j = N - 2; j >= 1; j--) B[j][i] = C[i][j] * B[j+1][i] + D[i][j]; } } }
EXPORT(seidel) { FOR(t,0,T) FOR(i,1,N-1) FOR(j,1,N-1) A[i][j] = (A[i-1][j-1] + A[i-1][j] + A[i-1][j+1] + A[i][j-1] + A[i][j] + A[i][j+1] + A[i+1][j-1] + A[i+1][j] + A[i+1][j+1]) / 9.0; }
EXPORT(floyd) { FOR(k,0,N) FOR(i,0,N) FOR(j,0,N) path[i][j] = path[i][j] < path[i][k] + path[k][j] ? path[i][j] : path[i][k] + path[k][j]; }
EXPORT(nussinov) { for (int i = N - 1; i >= 0; i--) FOR(j,i+1,N) { if (j - 1 >= 0) table[i][j] = MAX(table[i][j], table[i][j-1]); if (i + 1 < N) table[i][j] = MAX(table[i][j], table[i+1][j]); if (j - 1 >= 0 && i + 1 < N) { if (i < j - 1) table[i][j] = MAX(table[i][j], table[i+1][j-1] + (seq[i] + seq[j] == 3)); else table[i][j] = MAX(table[i][j], table[i+1][j-1]); } FOR(k,i+1,j) table[i][j] = MAX(table[i][j], table[i][k] + table[k+1][j]); } }
EXPORT(deriche) { FOR(i,0,H) { float p1 = 0, p2 = 0, q1 = 0; FOR(j,0,W) { out[i][j] = 0.4f * img[i][j] + 0.2f * q1 + 0.3f * p1 - 0.1f * p2; q1 = img[i][j]; p2 = p1; p1 = out[i][j]; } } FOR(i,0,H) { float p1 = 0, p2 = 0, q1 = 0, q2 = 0; for (int j = W - 1; j >= 0; j--) { tmp1[i][j] = 0.3f * q1 + 0.1f * q2 + 0.2f * p1 - 0.2f * p2; q2 = q1; q1 = img[i][j]; p2 = p1; p1 = tmp1[i][j]; } } FOR(i,0,H) FOR(j,0,W) out[i][j] = 0.5f * (out[i][j] + tmp1[i][j]); }
EXPORT(blur3) { FOR(i,1,H-1) FOR(j,1,W-1) { int t = 0; FOR(a,-1,2) FOR(b,-1,2) t += src8[i+a][j+b]; dst8[i][j] = (u8)(t / 9); } }
EXPORT(blur5f) { static const float k[5][5] = {{1,2,3,2,1},{2,4,6,4,2},{3,6,9,6,3},{2,4,6,4,2},{1,2,3,2,1}}; FOR(i,2,H-2) FOR(j,2,W-2) { float t = 0; FOR(a,0,5) FOR(b,0,5) t += img[i+a-2][j+b-2] * k[a][b]; out[i][j] = t / 81; } }
EXPORT(sobel) { FOR(i,1,H-1) FOR(j,1,W-1) { int gx = src8[i-1][j+1] - src8[i-1][j-1] + 2 * (src8[i][j+1] - src8[i][j-1]) + src8[i+1][j+1] - src8[i+1][j-1]; int gy = src8[i+1][j-1] - src8[i-1][j-1] + 2 * (src8[i+1][j] - src8[i-1][j]) + src8[i+1][j+1] - src8[i-1][j+1]; int m = (gx < 0 ? -gx : gx) + (gy < 0 ? -gy : gy); dst8[i][j] = m > 255 ? 255 : (u8)m; } }
EXPORT(gray) { FOR(i,0,H) FOR(j,0,W) dst8[i][j] = (u8)((rgb[i][j][0] * 77 + rgb[i][j][1] * 150 + rgb[i][j][2] * 29) >> 8); }
EXPORT(blend) { FOR(i,0,H) FOR(j,0,W) { int a = src8[i][j]; dst8[i][j] = (u8)((rgb[i][j][0] * a + dst8[i][j] * (255 - a) + 127) / 255); } }
EXPORT(dct) { FOR(bi,0,H/8) FOR(bj,0,W/8) { float t[8][8]; FOR(i,0,8) FOR(j,0,8) { float s = 0; FOR(k,0,8) s += dctm[i][k] * img[bi*8+k][bj*8+j]; t[i][j] = s; } FOR(i,0,8) FOR(j,0,8) { float s = 0; FOR(k,0,8) s += t[i][k] * dctm[j][k]; out[bi*8+i][bj*8+j] = s; } } }
EXPORT(fft) { for (int len = 2; len <= 128; len <<= 1) { int half = len / 2, step = 128 / len; for (int i = 0; i < 128; i += len) FOR(j,0,half) { float a = re[i+j+half] * wr[j*step] - im[i+j+half] * wi[j*step], b = re[i+j+half] * wi[j*step] + im[i+j+half] * wr[j*step]; re[i+j+half] = re[i+j] - a; im[i+j+half] = im[i+j] - b; re[i+j] += a; im[i+j] += b; } } }
EXPORT(fft_stage) { FOR(j,0,U/2) { float a = re[j+U/2] * wr[j] - im[j+U/2] * wi[j], b = re[j+U/2] * wi[j] + im[j+U/2] * wr[j]; re[j+U/2] = re[j] - a; im[j+U/2] = im[j] - b; re[j] += a; im[j] += b; } }
EXPORT(nbody) { FOR(i,0,U) { float sx = 0, sy = 0, sz = 0; FOR(j,0,U/2) { float dx = px[j] - px[i], dy = py[j] - py[i], dz = pz[j] - pz[i]; float d = dx * dx + dy * dy + dz * dz + 0.01f, inv = 1 / sqrtf(d), s = mass[j] * inv * inv * inv; sx += dx * s; sy += dy * s; sz += dz * s; } ax[i] = sx; ay[i] = sy; az[i] = sz; } }
EXPORT(mandelbrot) { FOR(i,0,H) FOR(j,0,W) { double cr = j * 0.01 - 1.5, ci = i * 0.01 - 1, a = 0, b = 0; int k = 0; while (k < 100 && a * a + b * b < 4) { double t = a * a - b * b + cr; b = 2 * a * b + ci; a = t; k++; } dst8[i][j] = (u8)k; } }
EXPORT(kmeans_dist) { FOR(i,0,U) FOR(c,0,16) { float s = 0; FOR(k,0,8) { float d = points[i][k] - centers[c][k]; s += d * d; } dist[i][c] = s; } }
EXPORT(kmeans_near) { FOR(i,0,U) { int best = 0; float least = dist[i][0]; FOR(c,1,16) if (dist[i][c] < least) least = dist[i][c], best = c; nearest[i] = best; } }
EXPORT(softmax_norm) { FOR(i,0,100) { float m = logits[i][0]; FOR(j,1,64) m = logits[i][j] > m ? logits[i][j] : m; FOR(j,0,64) act[i][j] = logits[i][j] - m; float s = 0; FOR(j,0,64) s += act[i][j]; FOR(j,0,64) act[i][j] /= s; } }
EXPORT(layernorm) { FOR(i,0,100) { float m = 0, v = 0; FOR(j,0,64) m += logits[i][j]; m /= 64; FOR(j,0,64) v += (logits[i][j] - m) * (logits[i][j] - m); v = 1 / sqrtf(v / 64 + 1e-5f); FOR(j,0,64) act[i][j] = (logits[i][j] - m) * v * g1[j] + b1[j]; } }
EXPORT(conv2d) { FOR(o,0,8) FOR(i,0,32) FOR(j,0,32) { float s = cb[o]; FOR(c,0,8) FOR(a,0,3) FOR(b,0,3) s += cin[c][i+a][j+b] * cw[o][c][a][b]; cout_[o][i][j] = s; } }
EXPORT(maxpool) { FOR(c,0,8) FOR(i,0,16) FOR(j,0,16) { float m = cin[c][2*i][2*j]; FOR(a,0,2) FOR(b,0,2) m = cin[c][2*i+a][2*j+b] > m ? cin[c][2*i+a][2*j+b] : m; cout_[c][i][j] = m; } }
EXPORT(avgpool) { FOR(c,0,8) FOR(i,0,16) FOR(j,0,16) { float m = 0; FOR(a,0,2) FOR(b,0,2) m += cin[c][2*i+a][2*j+b]; cout_[c][i][j] = m * 0.25f; } }
EXPORT(relu) { FOR(i,0,U) f1[i] = f1[i] > 0 ? f1[i] : 0; }
EXPORT(relu_if) { FOR(i,0,U) if (f1[i] < 0) f1[i] = 0; }
EXPORT(quantize) { FOR(i,0,U) { float t = f1[i] * 31.5f; t = t > 127 ? 127 : t < -128 ? -128 : t; q8[i] = (signed char)(int)t; } }
EXPORT(dequantize) { FOR(i,0,U) f2[i] = (float)q8[i] * 0.031f; }
EXPORT(saxpy) { FOR(i,0,U-3) f2[i] += 2.5f * f1[i]; }
EXPORT(triad) { FOR(i,0,U-24) f3[i] = f1[i] + 3 * f2[i]; }
EXPORT(fill) { FOR(i,0,N) FOR(j,0,N) A[i][j] = (double)(i * j % N) / N; }
EXPORT(transpose) { FOR(i,0,N) FOR(j,0,N) B[j][i] = A[i][j]; }
EXPORT(life) { FOR(i,1,H-1) FOR(j,1,W-1) { int n = 0; FOR(a,-1,2) FOR(b,-1,2) n += (a || b) ? src8[i+a][j+b] : 0; dst8[i][j] = n == 3 || (n == 2 && src8[i][j]); } }
EXPORT(threshold) { FOR(i,0,H) FOR(j,0,W) dst8[i][j] = src8[i][j] > 128 ? 255 : 0; }
EXPORT(fir) { FOR(i,0,U-24) { float s = 0; FOR(k,0,16) s += f1[i + k] * wr[k]; f2[i] = s; } }
EXPORT(histogram_free) { FOR(i,0,U) f3[i] = f1[U - 1 - i] * f2[i]; }

/* Halves and small numbers: sums stay exact enough to be told apart, and nothing overflows an integer. */
#define FILL(array, type, make) for (size_t k = 0; k < sizeof(array) / sizeof(type); k++) ((volatile type *)(array))[k] = (make)

static void reset(void)
{
    random_state = 4711;
    double *doubles[] = {(double *)A, (double *)B, (double *)C, (double *)D, (double *)E, (double *)F, (double *)G, (double *)x, (double *)y, (double *)z, (double *)w, (double *)u1, (double *)v1, (double *)u2, (double *)v2, (double *)P, (double *)Q, (double *)R, (double *)S, (double *)V, (double *)X3, (double *)Y3, (double *)c4, (double *)sum3};
    const size_t double_bytes[] = {sizeof A, sizeof B, sizeof C, sizeof D, sizeof E, sizeof F, sizeof G, sizeof x, sizeof y, sizeof z, sizeof w, sizeof u1, sizeof v1, sizeof u2, sizeof v2, sizeof P, sizeof Q, sizeof R, sizeof S, sizeof V, sizeof X3, sizeof Y3, sizeof c4, sizeof sum3};
    float *floats[] = {(float *)img, (float *)out, (float *)tmp1, (float *)f1, (float *)f2, (float *)f3, (float *)dctm, (float *)re, (float *)im, (float *)wr, (float *)wi, (float *)px, (float *)py, (float *)pz, (float *)ax, (float *)ay, (float *)az, (float *)mass, (float *)points, (float *)centers, (float *)dist};
    const size_t float_bytes[] = {sizeof img, sizeof out, sizeof tmp1, sizeof f1, sizeof f2, sizeof f3, sizeof dctm, sizeof re, sizeof im, sizeof wr, sizeof wi, sizeof px, sizeof py, sizeof pz, sizeof ax, sizeof ay, sizeof az, sizeof mass, sizeof points, sizeof centers, sizeof dist};
    for (size_t a = 0; a < COUNT(doubles); a++) fill_doubles(doubles[a], double_bytes[a] / 8);
    for (size_t a = 0; a < COUNT(floats); a++)
        for (size_t k = 0; k < float_bytes[a] / 4; k++) ((volatile float *)floats[a])[k] = (float)((int)(random_next() % 2001) - 1000) / 64.0f;
    fill_bytes(src8, sizeof src8);
    fill_bytes(dst8, sizeof dst8);
    fill_bytes(rgb, sizeof rgb);
    fill_bytes(q8, sizeof q8);
    for (int i = 0; i < N; i++) {
        seq[i] = (int)(random_next() % 4);
        A[i][i] += 100;
        for (int j = 0; j < N; j++) table[i][j] = 0, path[i][j] = (int)(random_next() % 1000);
    }
}

static void hash_all(void)
{
    const void *all[] = {A, B, C, D, E, F, G, x, y, z, w, u1, v1, u2, v2, P, Q, R, S, V, X3, Y3, c4, sum3, img, out, tmp1, f1, f2, f3, dctm, re, im, wr, wi, px, py, pz, ax, ay, az, mass, points, centers, dist, src8, dst8, rgb, table, path, nearest, q8};
    const size_t bytes[] = {sizeof A, sizeof B, sizeof C, sizeof D, sizeof E, sizeof F, sizeof G, sizeof x, sizeof y, sizeof z, sizeof w, sizeof u1, sizeof v1, sizeof u2, sizeof v2, sizeof P, sizeof Q, sizeof R, sizeof S, sizeof V, sizeof X3, sizeof Y3, sizeof c4, sizeof sum3, sizeof img, sizeof out, sizeof tmp1, sizeof f1, sizeof f2, sizeof f3, sizeof dctm, sizeof re, sizeof im, sizeof wr, sizeof wi, sizeof px, sizeof py, sizeof pz, sizeof ax, sizeof ay, sizeof az, sizeof mass, sizeof points, sizeof centers, sizeof dist, sizeof src8, sizeof dst8, sizeof rgb, sizeof table, sizeof path, sizeof nearest, sizeof q8};
    for (size_t a = 0; a < COUNT(all); a++) hash_bytes(all[a], bytes[a]);
}

#define RUN(name) (reset(), name(), hash_all(), show(#name))

int main(void)
{
    RUN(gemm); RUN(gemm_dot); RUN(mm2); RUN(mm3); RUN(gemver); RUN(gesummv); RUN(mvt); RUN(atax); RUN(bicg); RUN(syrk);
    RUN(syr2k); RUN(symm); RUN(trmm); RUN(trisolv); RUN(lu); RUN(lu_right); RUN(cholesky); RUN(ludcmp); RUN(durbin);
    RUN(gramschmidt); RUN(correlation); RUN(covariance); RUN(doitgen); RUN(jacobi1); RUN(jacobi2); RUN(heat3); RUN(fdtd);
    RUN(adi); RUN(seidel); RUN(floyd); RUN(nussinov); RUN(deriche); RUN(blur3); RUN(blur5f); RUN(sobel); RUN(gray);
    RUN(blend); RUN(dct); RUN(fft); RUN(fft_stage); RUN(nbody); RUN(mandelbrot); RUN(kmeans_dist); RUN(kmeans_near);
    RUN(softmax_norm); RUN(layernorm); RUN(conv2d); RUN(maxpool); RUN(avgpool); RUN(relu); RUN(relu_if); RUN(quantize);
    RUN(dequantize); RUN(saxpy); RUN(triad); RUN(fill); RUN(transpose); RUN(life); RUN(threshold); RUN(fir);
    RUN(histogram_free);
    return 0;
}
