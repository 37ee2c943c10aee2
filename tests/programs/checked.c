/* SPDX-License-Identifier: Apache-2.0 */
/* Arrays that know their length, as compilers of safe languages make them: every index is checked, and one that fails is reported. */
#include "check.h"

typedef struct floats { double *at; uint32_t count; } floats;
typedef struct bytes { uint8_t *at; uint32_t count; } bytes;

enum { N = 40 };
static double A[N * N], B[N * N], C[N * N];
static uint8_t P[N * N], Q[N * N];

/* The first index that fails is told with what the arrays then hold; after that the program is over. */
__attribute__((noinline, noreturn, cold)) static void fail(uint32_t index, uint32_t count, const char *what)
{
    printf("%s: index %u of %u\n", what, index, count);
    SHOW("A", A); SHOW("C", C); SHOW("Q", Q);
    exit(0);
}

static inline double get(floats a, uint32_t i) { if (i >= a.count) fail(i, a.count, "get"); return a.at[i]; }
static inline void set(floats a, uint32_t i, double x) { if (i >= a.count) fail(i, a.count, "set"); a.at[i] = x; }
static inline uint8_t get8(bytes a, uint32_t i) { if (i >= a.count) fail(i, a.count, "get8"); return a.at[i]; }
static inline void set8(bytes a, uint32_t i, uint8_t x) { if (i >= a.count) fail(i, a.count, "set8"); a.at[i] = x; }

KERNEL void matmul(uint32_t n, floats a, floats b, floats c) { for (uint32_t i = 0; i < n; i++) for (uint32_t j = 0; j < n; j++) { double t = 0; for (uint32_t k = 0; k < n; k++) t += get(a, i * n + k) * get(b, k * n + j); set(c, i * n + j, t); } }
KERNEL void by_rows(uint32_t n, floats a, floats b, floats c) { for (uint32_t i = 0; i < n; i++) for (uint32_t k = 0; k < n; k++) { double t = get(a, i * n + k); for (uint32_t j = 0; j < n; j++) set(c, i * n + j, get(c, i * n + j) + t * get(b, k * n + j)); } }
KERNEL void axpy(uint32_t n, double f, floats x, floats y) { for (uint32_t i = 0; i < n; i++) set(y, i, f * get(x, i) + get(y, i)); }
KERNEL void stencil(uint32_t n, floats a, floats c) { for (uint32_t i = 1; i + 1 < n; i++) for (uint32_t j = 1; j + 1 < n; j++) set(c, i * n + j, 0.2 * (get(a, i * n + j) + get(a, i * n + j - 1) + get(a, i * n + j + 1) + get(a, (i + 1) * n + j) + get(a, (i - 1) * n + j))); }
KERNEL void transpose(uint32_t n, uint32_t m, floats a, floats c) { for (uint32_t i = 0; i < n; i++) for (uint32_t j = 0; j < m; j++) set(c, j * n + i, get(a, i * m + j)); }
KERNEL void blur(uint32_t w, uint32_t h, bytes p, bytes q) { for (uint32_t y = 1; y + 1 < h; y++) for (uint32_t x = 1; x + 1 < w; x++) { uint32_t s = 0; for (uint32_t v = 0; v < 3; v++) for (uint32_t u = 0; u < 3; u++) s += get8(p, (y + v - 1) * w + x + u - 1); set8(q, y * w + x, (uint8_t)(s / 9)); } }
KERNEL void down(uint32_t n, floats a, floats c) { for (uint32_t i = n; i-- > 0;) set(c, i, get(a, i) + 1); }
KERNEL void signed_index(int n, floats a, floats c) { for (int i = -2; i < n; i++) { if (i + 2 < 0 || i + 2 >= (int)a.count) fail((uint32_t)i, a.count, "signed"); c.at[i + 2] = a.at[i + 2] * 2; } }
KERNEL void pairs(uint32_t n, floats a, floats c) { for (uint32_t i = 0; i < n; i++) { set(c, 2 * i, get(a, 2 * i) - get(a, 2 * i + 1)); set(c, 2 * i + 1, get(a, 2 * i) + get(a, 2 * i + 1)); } }
KERNEL void triangle(uint32_t n, floats a, floats c) { for (uint32_t i = 0; i < n; i++) for (uint32_t j = 0; j <= i; j++) set(c, i * n + j, get(a, j * n + i)); }
KERNEL void column_sums(uint32_t n, floats a, floats c) { for (uint32_t j = 0; j < n; j++) { double t = 0; for (uint32_t i = 0; i < n; i++) { t += get(a, i * n + j); set(c, i * n + j, t); } } }
KERNEL void chosen(uint32_t n, uint32_t m, floats a, floats c) { for (uint32_t i = 0; i < n; i++) if (i & 1) set(c, i, get(a, i)); else set(c, i, get(a, m)); }

KERNEL void rows_of(uint32_t n, uint32_t m, floats a, floats c) { for (uint32_t i = 0; i < n; i++) { uint32_t end = (i + 1) * m; for (uint32_t j = 0; j < m; j++) { uint32_t k = i * m + j; if (k >= end) fail(k, end, "row"); c.at[k] = a.at[k] * 3; } } }
KERNEL void below_diagonal(int n, floats a, floats c) { for (int i = 0; i < n; i++) for (int j = 0; j < n; j++) { if (j - n >= i + 1) fail((uint32_t)j, (uint32_t)i, "diagonal"); c.at[i * n + j] += a.at[j * n + i]; } }

static void reset(void)
{
    random_state = 51;
    fill_doubles(A, N * N); fill_doubles(B, N * N); fill_doubles(C, N * N);
    fill_bytes(P, sizeof P); fill_bytes(Q, sizeof Q);
}

#define RUN(call) (reset(), call, hash_bytes(A, sizeof A), hash_bytes(Q, sizeof Q), SHOW(#call, C))

int main(void)
{
    floats a = {A, N * N}, b = {B, N * N}, c = {C, N * N};
    bytes p = {P, N * N}, q = {Q, N * N};
    for (uint32_t n = 0; n <= N; n += n < 4 ? 1 : 9) {
        RUN(matmul(n, a, b, c)); RUN(by_rows(n, a, b, c)); RUN(axpy(n * n, 1.5, a, c)); RUN(axpy(n * n, 0.5, c, c));
        RUN(stencil(n, a, c)); RUN(transpose(n, N - n, a, c)); RUN(blur(n, n, p, q)); RUN(down(n * n, a, c)); RUN(signed_index((int)(n * n) - 2, a, c));
        RUN(pairs(n * n / 2, a, c)); RUN(triangle(n, a, c)); RUN(column_sums(n, a, c)); RUN(chosen(n * n, n, a, c)); RUN(rows_of(n, N - n, a, c)); RUN(below_diagonal((int)n, a, c));
    }
    /* The last column of row 20 fails: what was stored before it must be there, and nothing after it. */
    reset();
    floats cut = {C, 20 * N + N - 1};
    by_rows(N, a, b, cut);
    return 1;
}
