/* SPDX-License-Identifier: Apache-2.0 */
/* Loops by their counters: narrow ones that wrap, 64-bit ones, downward, by !=, do-while, breaks. */
#include "check.h"

static uint8_t b[70000];
static int32_t w[1024];
static int64_t q[512];

KERNEL void byte_counter(uint8_t from, uint8_t to, uint8_t step) { for (uint8_t i = from; i < to; i = (uint8_t)(i + step)) b[i] = (uint8_t)(b[i] + i); }
KERNEL void byte_wrap(uint8_t from, int n) { uint8_t i = from; for (int k = 0; k < n; k++) { b[i] = (uint8_t)(b[i] + k); i++; } }
KERNEL void byte_until(uint8_t from, uint8_t to) { for (uint8_t i = from; i != to; i++) w[i] += i; }
KERNEL void short_counter(uint16_t from, uint16_t to, uint16_t step) { for (uint16_t i = from; i < to; i = (uint16_t)(i + step)) b[i] ^= (uint8_t)i; }
KERNEL void short_signed(int16_t from, int16_t to) { for (int16_t i = from; i < to; i++) b[i + 32768] += 3; }
KERNEL void short_index(uint32_t from, int n) { for (int k = 0; k < n; k++) b[(uint16_t)(from + (uint32_t)k)] += 1; }
KERNEL void masked(int n, int mask) { for (int k = 0; k < n; k++) w[k & mask] += k; }
KERNEL void modulo(int n, int m) { for (int k = 0; k < n; k++) w[k % m] += k; }
KERNEL void halved(int n) { for (int k = 0; k < n; k++) w[k / 2] += k, w[512 + (k >> 3)] ^= k; }
KERNEL void long_counter(int64_t from, int64_t to) { for (int64_t i = from; i < to; i++) q[i & 511] += i; }
KERNEL void long_plain(int64_t n) { for (int64_t i = 0; i < n; i++) q[i] = i * i; }
KERNEL void long_far(int64_t from, int64_t n, int64_t back) { for (int64_t i = from; i < from + n; i++) q[i - back] += i; }
KERNEL void down(unsigned n) { for (unsigned i = n; i-- > 0;) w[i] = w[i] * 5 + (int)i; }
KERNEL void down_by(unsigned n, unsigned s) { for (unsigned i = n; i >= s; i -= s) w[i] += 7; }
KERNEL void do_while(int n) { int i = 0; do w[i] += i; while (++i < n); }
KERNEL void not_equal(int *from, int *to, int step) { for (int *p = from; p != to; p += step) *p += 1; }
KERNEL int find(const uint8_t *p, int n, uint8_t c) { int i; for (i = 0; i < n; i++) if (p[i] == c) break; return i; }
KERNEL int copy_until(uint8_t *to, const uint8_t *from, int n) { int i; for (i = 0; i < n; i++) { if (from[i] == 0) break; to[i] = (uint8_t)(from[i] + 1); } return i; }
KERNEL void skip(int n) { for (int i = 0; i < n; i++) { if (i % 3 == 1) continue; w[i] += 2; if (i == n - 2) break; w[i + 1] ^= 1; } }
KERNEL int two_breaks(int n) { int s = 0; for (int i = 0; i < n; i++) { for (int j = 0; j < n; j++) { if (w[i + j] == 77) goto out; w[i + j] += 3; if (j > i) break; s++; } } out: return s; }
KERNEL void triangle_up(int n) { for (int i = 0; i < n; i++) for (int j = i; j < n; j++) w[i * n + j] += i - j; }
KERNEL void triangle_down(int n) { for (int i = n - 1; i >= 0; i--) for (int j = n - 1; j > i; j--) w[i * n + j] ^= j * 3; }
KERNEL void triangle_both(int n) { for (int i = 0; i < n; i++) { for (int j = 0; j < i; j++) w[i * n + j] += 1; for (int j = i + 1; j < n; j++) w[i * n + j] -= 1; } }
KERNEL void five(int n) { for (int i = 0; i < n; i++) for (int j = 0; j < n; j++) for (int k = 0; k < n; k++) for (int l = 0; l < n; l++) for (int m = 0; m < n; m++) w[(((i * n + j) * n + k) * n + l) * n + m] += i + j * k - l * m; }
KERNEL int live_out(int n, int s) { int i, last = -1; for (i = 0; i < n; i += s) { w[i] += 1; last = i; } return i * 1000 + last; }
KERNEL uint32_t live_wrap(uint32_t from, uint32_t to) { uint32_t i = from, k = 0; while (i != to) { w[k & 1023] += 1; i += 3; k++; if (k > 2000) break; } return i + k; }
KERNEL double live_double(int n) { double x = 1; int i; for (i = 0; i < n; i++) { q[i] += 2; x = x * 1.5; } return x + i; }
KERNEL int conditional_step(int n) { int i = 0, k = 0; while (i < n) { w[i] += 1; i += (w[i] & 1) ? 1 : 2; k++; } return k; }
KERNEL void swapped(int n) { int x = 1, y = 2; for (int i = 0; i < n; i++) { w[i] += x; int t = x; x = y; y = t; } }
KERNEL void previous(int n) { int p = 9; for (int i = 0; i < n; i++) { int v = w[i]; w[i] = v + p; p = v; } }
KERNEL void inductions(int n, int s, int t) { int x = 0, y = n; for (int i = 0; i < n; i++) { w[x & 255] += y; x += s; y -= t; } }
KERNEL void quadratic(int n) { int x = 0; for (int i = 0; i < n; i++) { w[x & 1023] += i; x += i; } }
KERNEL void geometric(int n) { for (int i = 1; i < n; i *= 2) w[i] += i; for (int i = n; i > 0; i >>= 1) w[i] ^= 3; }

static void reset(void) { random_state = 4; fill_bytes(b, sizeof b); fill_bytes(w, sizeof w); fill_bytes(q, sizeof q); }
#define RUN(call) (reset(), (call), hash_bytes(b, sizeof b), hash_bytes(w, sizeof w), SHOW(#call, q))

int main(void)
{
    RUN(byte_counter(0, 200, 1)); RUN(byte_counter(5, 250, 5)); RUN(byte_counter(200, 100, 1)); RUN(byte_counter(0, 250, 9));
    RUN(byte_wrap(0, 1000)); RUN(byte_wrap(250, 20)); RUN(byte_wrap(1, 255)); RUN(byte_wrap(1, 256)); RUN(byte_wrap(1, 257));
    RUN(byte_until(0, 255)); RUN(byte_until(200, 100)); RUN(byte_until(7, 7));
    RUN(short_counter(0, 60000, 1)); RUN(short_counter(100, 65000, 7)); RUN(short_counter(0, 65520, 16));
    RUN(short_signed(-32768, 32767)); RUN(short_signed(-5, 100)); RUN(short_signed(5, -100));
    RUN(short_index(65000, 1000)); RUN(short_index(65535, 2)); RUN(short_index(0xFFFFFFF0u, 64)); RUN(short_index(0, 65536)); RUN(short_index(0, 65537));
    RUN(masked(1000, 1023)); RUN(masked(1000, 255)); RUN(masked(1000, 0)); RUN(masked(1000, 0x155)); RUN(masked(512, 511)); RUN(masked(513, 511));
    RUN(modulo(1000, 1000)); RUN(modulo(1000, 7)); RUN(modulo(1000, 999)); RUN(modulo(10, -3)); RUN(halved(1000)); RUN(halved(1023));
    RUN(long_counter(0, 511)); RUN(long_counter(0, 5000)); RUN(long_counter(-100, 100)); RUN(long_counter(0x100000000ll - 50, 0x100000000ll + 50));
    RUN(long_counter(INT64_MAX - 100, INT64_MAX)); RUN(long_plain(0)); RUN(long_plain(512)); RUN(long_plain(-5));
    RUN(long_far(0x100000000ll, 500, 0x100000000ll)); RUN(long_far(0x0FFFFFFF0ll, 500, 0x0FFFFFFF0ll)); RUN(long_far(-20, 100, -20)); RUN(long_far(0x7FFFFFFFll - 3, 100, 0x7FFFFFFFll - 3));
    RUN(down(0)); RUN(down(1)); RUN(down(1000)); RUN(down_by(1000, 3)); RUN(down_by(1000, 1000)); RUN(down_by(2, 3)); RUN(down_by(999, 3));
    RUN(do_while(0)); RUN(do_while(1)); RUN(do_while(-4)); RUN(do_while(1000));
    RUN(not_equal(w, w + 999, 1)); RUN(not_equal(w, w + 999, 3)); RUN(not_equal(w + 999, w, -3)); RUN(not_equal(w + 5, w + 5, 1));
    for (int k = 0; k < 256; k += 51) { RUN(w[0] = find(b, 60000, (uint8_t)k)); RUN(w[1] = copy_until(b + 4000 * k / 51, b + 100, 3000)); }
    RUN(skip(0)); RUN(skip(1)); RUN(skip(2)); RUN(skip(3)); RUN(skip(1000)); RUN(w[0] = two_breaks(30)); RUN((w[500] = 77, w[0] = two_breaks(400)));
    RUN(triangle_up(30)); RUN(triangle_up(1)); RUN(triangle_up(0)); RUN(triangle_down(30)); RUN(triangle_down(2)); RUN(triangle_both(31)); RUN(triangle_both(1));
    RUN(five(4)); RUN(five(3)); RUN(five(1)); RUN(five(0));
    for (int s = 1; s < 8; s++) RUN(w[0] += live_out(1000, s));
    RUN(w[0] += live_out(0, 1)); RUN(w[0] += live_out(1, 1));
    RUN(w[0] += (int)live_wrap(0, 999)); RUN(w[0] += (int)live_wrap(0, 1000)); RUN(w[0] += (int)live_wrap(0xFFFFFFF7u, 0)); RUN(w[0] += (int)live_wrap(0xFFFFFFF7u, 300));
    RUN(w[0] += (int)live_double(10)); RUN(q[0] += (int64_t)live_double(60)); RUN(w[0] += conditional_step(1000));
    RUN(swapped(1000)); RUN(previous(1000)); RUN(inductions(200, 1, 1)); RUN(inductions(1000, 3, -5)); RUN(inductions(1000, 0, 0)); RUN(inductions(256, -1, 2)); RUN(inductions(257, -1, 2));
    RUN(quadratic(40)); RUN(quadratic(1000)); RUN(geometric(1000)); RUN(geometric(1));
    return 0;
}
