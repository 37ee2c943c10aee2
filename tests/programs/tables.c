/* SPDX-License-Identifier: Apache-2.0 */
/* Tables that are read by what the data say: colours, character classes, substitution boxes, quantisation. */
#include "check.h"

enum { N = 700 };
static uint8_t P[3 * N], Q[3 * N], T[768];
static int16_t S[N];
static uint32_t X[N], Y[N], U[1024];
static int32_t I[N];
static uint64_t L[N];
static float F[N], FT[65536];
static double D[N], DT[256];

KERNEL void bytes(int n, uint8_t *q, const uint8_t *p, const uint8_t *t) { for (int i = 0; i < n; i++) q[i] = t[p[i]]; }
KERNEL void bytes_apart(int n, uint8_t *restrict q, const uint8_t *restrict p, const uint8_t *restrict t) { for (int i = 0; i < n; i++) q[i] = t[p[i]] ^ t[p[i] >> 1]; }
KERNEL void floats(int n, float *f, const uint8_t *p, const float *t) { for (int i = 0; i < n; i++) f[i] = t[p[i]] * 2.0f + f[i]; }
KERNEL void channels(int n, uint8_t *p, const uint8_t *r, const uint8_t *g, const uint8_t *b) { for (int i = 0; i < n; i++) { p[3 * i] = r[p[3 * i]]; p[3 * i + 1] = g[p[3 * i + 1]]; p[3 * i + 2] = b[p[3 * i + 2]]; } }
KERNEL void masked(int n, double *d, const uint32_t *x, const double *t) { for (int i = 0; i < n; i++) d[i] = t[x[i] & 127] - t[(x[i] >> 7) & 127]; }
KERNEL void clamped(int n, uint8_t *q, const int32_t *x, const uint8_t *t) { for (int i = 0; i < n; i++) { int v = x[i]; v = v < 0 ? 0 : v > 255 ? 255 : v; q[i] = t[v]; } }
KERNEL void centred(int n, uint8_t *q, const int32_t *x, const uint8_t *t) { for (int i = 0; i < n; i++) { int v = x[i] >> 3; v = v < -100 ? -100 : v > 100 ? 100 : v; q[i] = t[v + 128]; } }
KERNEL void palette(int w, int h, int pitch, uint32_t *y, const uint8_t *p, const uint32_t *u) { for (int r = 0; r < h; r++) for (int c = 0; c < w; c++) y[r * w + c] = u[p[r * pitch + c]]; }
KERNEL void hexadecimal(int n, uint8_t *q, const uint8_t *p) { static const char digits[] = "0123456789abcdef"; for (int i = 0; i < n; i++) { q[2 * i] = (uint8_t)digits[p[i] >> 4]; q[2 * i + 1] = (uint8_t)digits[p[i] & 15]; } }
KERNEL void samples(int n, float *f, const int16_t *s, const float *t) { for (int i = 0; i < n; i++) f[i] = t[s[i] + 32768]; }
KERNEL void signed_bytes(int n, float *f, const int8_t *p, const float *t) { for (int i = 0; i < n; i++) f[i] = t[p[i]]; }
KERNEL void boxes(int n, uint32_t *y, const uint32_t *x, const uint32_t *u) { for (int i = 0; i < n; i++) { uint32_t v = x[i]; y[i] = u[v & 255] ^ u[256 + (v >> 8 & 255)] ^ u[512 + (v >> 16 & 255)] ^ u[768 + (v >> 24)]; } }
KERNEL void remainders(int n, double *d, const uint32_t *x, const double *t) { for (int i = 0; i < n; i++) d[i] = t[x[i] % 100] + t[x[i] / 0x4000000]; }
KERNEL void bits(int n, uint8_t *q, const uint64_t *l, const uint8_t *t) { for (int i = 0; i < n; i++) { int c = 0; for (int k = 0; k < 8; k++) c += t[l[i] >> 8 * k & 255]; q[i] = (uint8_t)c; } }
KERNEL void window(int w, int h, float *f, const uint8_t *p, const float *t) { for (int y = 1; y + 1 < h; y++) for (int x = 1; x + 1 < w; x++) { float s = 0; for (int v = -1; v <= 1; v++) for (int u = -1; u <= 1; u++) s += t[p[(y + v) * w + x + u]]; f[y * w + x] = s; } }
KERNEL void two_steps(int n, uint8_t *q, const uint8_t *p, const uint8_t *t) { for (int i = 0; i < n; i++) q[i] = t[t[p[i]]] + t[256 + t[p[i] & 31]]; }
KERNEL void if_set(int n, uint8_t *q, const uint8_t *p, const uint8_t *t) { for (int i = 0; i < n; i++) if (p[i] & 1) q[i] = t[p[i]]; else q[i] += 3; }
KERNEL void rows(int n, int m, double *d, const uint8_t *p, const double *t) { for (int i = 0; i < n; i++) for (int j = 0; j < m; j++) d[i * m + j] = t[16 * (p[i] & 15) + (p[j] & 15)]; }
KERNEL void table_by_row(int n, int m, uint8_t *q, const uint8_t *p, const uint8_t *t) { for (int i = 0; i < n; i++) for (int j = 0; j < m; j++) q[i * m + j] = t[256 * (i % 3) + p[j]]; }
KERNEL void sums(int n, int m, float *f, const uint8_t *p, const float *t) { for (int i = 0; i < n; i++) { float s = 0; for (int j = 0; j < m; j++) s += t[p[i * m + j]]; f[i] = s; } }
KERNEL void by_two(int n, uint8_t *q, const uint8_t *p, const uint8_t *t) { for (int i = 0; i + 1 < n; i += 2) { q[i] = t[p[i]]; q[i + 1] = t[p[i + 1]]; } }
KERNEL void fields(int n, uint32_t *y, const uint8_t *p, const uint32_t *u) { for (int i = 0; i < n; i++) { y[2 * i] = u[2 * p[i]]; y[2 * i + 1] = u[2 * p[i] + 1]; } }
KERNEL void mixed(int n, double *d, const uint8_t *p, const double *t, const double *a) { for (int i = 0; i < n; i++) d[i] = t[p[i]] + a[i]; }
KERNEL void moving(int n, uint8_t *q, const uint8_t *p, const uint8_t *t) { for (int i = 0; i < n; i++) q[i] = t[i + (p[i] & 7)]; }
KERNEL void folded(int n, uint8_t *q, const uint8_t *p, const uint8_t *t) { for (int i = 0; i < n; i++) q[i] = p[i] > t[i & 15] ? t[i % 10] : (uint8_t)i; }
KERNEL void wrapped(int n, int m, float *f, const float *t) { for (int y = 0; y < n; y++) for (int x = 0; x < m; x++) f[y * m + x] = t[16 * (y & 15) + (x & 15)]; }
KERNEL void histogram(int n, uint32_t *y, const uint8_t *p) { for (int i = 0; i < n; i++) y[p[i]]++; }
KERNEL void gathered(int n, float *f, const float *t, const uint32_t *x) { for (int i = 0; i < n; i++) f[i] = t[x[i] % 65536u]; }
KERNEL void automaton(int n, uint8_t *q, const uint8_t *p, const uint8_t *t) { int s = 0; for (int i = 0; i < n; i++) { s = t[4 * (s & 63) + (p[i] & 3)]; q[i] = (uint8_t)s; } }

/* Checked: what fails is told, with what has been stored before it. */
typedef struct table { const uint8_t *at; uint32_t count; } table;
__attribute__((noinline, noreturn, cold)) static void fail(uint32_t index, uint32_t count) { printf("index %u of %u\n", index, count); SHOW("Q", Q); exit(0); }
static inline uint8_t get(table t, uint32_t i) { if (i >= t.count) fail(i, t.count); return t.at[i]; }
KERNEL void checked(int n, uint8_t *q, const uint8_t *p, table t) { for (int i = 0; i < n; i++) q[i] = get(t, p[i]); }
KERNEL void checked_rows(int n, int m, uint8_t *q, const uint8_t *p, table t) { for (int i = 0; i < n; i++) for (int j = 0; j < m; j++) q[i * m + j] = get(t, (uint32_t)(i * 16) + p[j]); }
KERNEL void checked_centred(int n, uint8_t *q, const int8_t *p, table t) { for (int i = 0; i < n; i++) q[i] = get(t, (uint32_t)(p[i] + 128)); }

static void fill_floats(float *floats, size_t count)
{
    for (size_t i = 0; i < count; i++) floats[i] = (float)(random_next() % 4001) / 16 - 125;
}

static void reset(void)
{
    random_state = 77;
    fill_bytes(P, sizeof P); fill_bytes(Q, sizeof Q); fill_bytes(T, sizeof T); fill_bytes((uint8_t *)S, sizeof S);
    fill_bytes((uint8_t *)X, sizeof X); fill_bytes((uint8_t *)Y, sizeof Y); fill_bytes((uint8_t *)U, sizeof U); fill_bytes((uint8_t *)L, sizeof L);
    for (int i = 0; i < N; i++) I[i] = (int32_t)(X[i] % 1200) - 400;
    fill_floats(F, N); fill_floats(FT, 65536); fill_doubles(D, N); fill_doubles(DT, 256);
}

#define RUN(call) (reset(), call, hash_bytes(P, sizeof P), hash_bytes(T, sizeof T), hash_bytes(Y, sizeof Y), hash_bytes(U, sizeof U), hash_bytes(F, sizeof F), hash_bytes(D, sizeof D), hash_bytes(DT, sizeof DT), SHOW(#call, Q))

int main(void)
{
    static const int sizes[] = {0, 1, 2, 3, 5, 16, 33, 100, 300, N};
    for (unsigned k = 0; k < sizeof sizes / sizeof *sizes; k++) {
        int n = sizes[k], half = n / 2, root = n < 26 ? n : 26;
        RUN(bytes(n, Q, P, T)); RUN(bytes_apart(n, Q, P, T)); RUN(floats(n, F, P, FT)); RUN(channels(n, P, T, T + 256, T + 512));
        RUN(masked(n, D, X, DT)); RUN(clamped(n, Q, I, T)); RUN(centred(n, Q, I, T)); RUN(palette(root, root, root + 1, Y, P, U));
        RUN(hexadecimal(n, Q, P)); RUN(samples(n, F, S, FT)); RUN(signed_bytes(n, F, (int8_t *)P, FT + 128)); RUN(boxes(n, Y, X, U));
        RUN(remainders(n, D, X, DT)); RUN(bits(n, Q, L, T)); RUN(window(root, root, F, P, FT)); RUN(two_steps(n, Q, P, T)); RUN(if_set(n, Q, P, T));
        RUN(rows(root, root, D, P, DT)); RUN(table_by_row(root, root, Q, P, T)); RUN(sums(root, root, F, P, FT)); RUN(by_two(n, Q, P, T));
        RUN(fields(half, Y, P, U)); RUN(mixed(n, D, P, DT, D)); RUN(moving(n, Q, P, T)); RUN(histogram(n, Y, P)); RUN(gathered(n, F, FT, X)); RUN(automaton(n, Q, P, T));
        RUN(folded(n, Q, P, T)); RUN(wrapped(root, root, F, FT)); RUN(folded(n, Q, P, Q)); RUN(folded(n, Q, P, Q + 20)); RUN(wrapped(root, root, F, F + 256));
        /* The table is among what is stored to. */
        RUN(bytes(n < 256 ? n : 256, T, P, T)); RUN(bytes(n, Q, P, Q + 10)); RUN(bytes(n, P, P, P)); RUN(bytes(n, Q, P, Q + N)); RUN(bytes(n, Q + 512, P, Q + 256));
        RUN(bytes(n, Q + 256, P, Q)); RUN(bytes(n, Q + 255, P, Q)); RUN(floats(n, F, P, F)); RUN(masked(n < 128 ? n : 128, DT, X, DT + 128)); RUN(masked(n < 128 ? n : 128, DT + 128, X, DT));
        RUN(channels(n, P, P + N, T, T + 256)); RUN(two_steps(n, Q, Q, T)); RUN(moving(n, T, P, T)); RUN(fields(half, U, P, U)); RUN(signed_bytes(n, F, (int8_t *)P, F + 128));
        RUN(checked(n, Q, P, (table){T, 256})); RUN(checked(n, Q, P, (table){T, 768})); RUN(checked_centred(n, Q, (int8_t *)P, (table){T, 256}));
        RUN(checked_rows(root, root, Q, P, (table){T, 255u + 26 * 16}));
    }
    reset();
    for (int i = 0; i < N; i++) P[i] = (uint8_t)(i == 600 ? 200 : P[i] % 200);
    checked(N, Q, P, (table){T, 200});
    return 1;
}
