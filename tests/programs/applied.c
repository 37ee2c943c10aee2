/* SPDX-License-Identifier: Apache-2.0 */
/* What programs do: pictures, text, sorting, sums, sieves, small machines. */
#include "check.h"

enum { W = 61, H = 43 };
static uint8_t image[H][W], other[H][W], rgb[H][W][3];
static uint16_t wide[H][W];
static int histogram[256];
static double real[256], imag[256];
static uint8_t text[5000], coded[8000];

struct body { double x, y, z, vx, vy, vz, mass; };
static struct body bodies[12];
struct pixel { uint8_t r, g, b, a; float depth; int16_t tag; };
static struct pixel pixels[500];

KERNEL void box_blur(void) { for (int y = 1; y < H - 1; y++) for (int x = 1; x < W - 1; x++) { int s = 0; for (int dy = -1; dy <= 1; dy++) for (int dx = -1; dx <= 1; dx++) s += image[y + dy][x + dx]; other[y][x] = (uint8_t)(s / 9); } }
KERNEL void blur_in_place(void) { for (int y = 1; y < H - 1; y++) for (int x = 1; x < W - 1; x++) image[y][x] = (uint8_t)((image[y][x - 1] + image[y][x] * 2 + image[y][x + 1]) / 4); }
KERNEL void convolve(const int8_t *k, int n) { for (int y = 0; y + n <= H; y++) for (int x = 0; x + n <= W; x++) { int s = 0; for (int j = 0; j < n; j++) for (int i = 0; i < n; i++) s += k[j * n + i] * image[y + j][x + i]; other[y][x] = (uint8_t)(s < 0 ? 0 : s > 255 ? 255 : s); } }
KERNEL void sobel(void) { for (int y = 1; y < H - 1; y++) for (int x = 1; x < W - 1; x++) { int gx = image[y - 1][x + 1] - image[y - 1][x - 1] + 2 * (image[y][x + 1] - image[y][x - 1]) + image[y + 1][x + 1] - image[y + 1][x - 1]; int gy = image[y + 1][x - 1] - image[y - 1][x - 1] + 2 * (image[y + 1][x] - image[y - 1][x]) + image[y + 1][x + 1] - image[y - 1][x + 1]; int m = abs(gx) + abs(gy); other[y][x] = (uint8_t)(m > 255 ? 255 : m); } }
KERNEL void equalise(void) { memset(histogram, 0, sizeof histogram); for (int y = 0; y < H; y++) for (int x = 0; x < W; x++) histogram[image[y][x]]++; int c = 0; for (int i = 0; i < 256; i++) { c += histogram[i]; histogram[i] = c; } for (int y = 0; y < H; y++) for (int x = 0; x < W; x++) image[y][x] = (uint8_t)((histogram[image[y][x]] * 255) / (W * H)); }
KERNEL void grey(void) { for (int y = 0; y < H; y++) for (int x = 0; x < W; x++) image[y][x] = (uint8_t)((rgb[y][x][0] * 77 + rgb[y][x][1] * 150 + rgb[y][x][2] * 29) >> 8); }
KERNEL void swap_channels(void) { for (int y = 0; y < H; y++) for (int x = 0; x < W; x++) { uint8_t t = rgb[y][x][0]; rgb[y][x][0] = rgb[y][x][2]; rgb[y][x][2] = t; } }
KERNEL void alpha(int a) { for (int i = 0; i < W * H; i++) { int v = ((&image[0][0])[i] * a + (&other[0][0])[i] * (256 - a)) >> 8; (&image[0][0])[i] = (uint8_t)v; } }
KERNEL void saturate(int by) { for (int i = 0; i < W * H; i++) { int v = (&image[0][0])[i] + by; (&image[0][0])[i] = (uint8_t)(v < 0 ? 0 : v > 255 ? 255 : v); } }
KERNEL void widen(void) { for (int y = 0; y < H; y++) for (int x = 0; x < W; x++) wide[y][x] = (uint16_t)(image[y][x] * 257 + wide[y][x]); }
KERNEL void integral(void) { for (int y = 0; y < H; y++) { unsigned s = 0; for (int x = 0; x < W; x++) { s += image[y][x]; wide[y][x] = (uint16_t)(s + (y ? wide[y - 1][x] : 0)); } } }
KERNEL void median(void) { for (int y = 0; y < H; y++) for (int x = 1; x < W - 1; x++) { uint8_t a = image[y][x - 1], b = image[y][x], c = image[y][x + 1]; uint8_t lo = a < b ? a : b, hi = a < b ? b : a; other[y][x] = c < lo ? lo : c > hi ? hi : c; } }
KERNEL void dither(void) { for (int y = 0; y < H - 1; y++) for (int x = 1; x < W - 1; x++) { int old = image[y][x], neu = old > 127 ? 255 : 0, e = old - neu; image[y][x] = (uint8_t)neu; image[y][x + 1] = (uint8_t)(image[y][x + 1] + e * 7 / 16); image[y + 1][x - 1] = (uint8_t)(image[y + 1][x - 1] + e * 3 / 16); image[y + 1][x] = (uint8_t)(image[y + 1][x] + e * 5 / 16); } }
KERNEL void life(int steps) { for (int t = 0; t < steps; t++) { for (int y = 0; y < H; y++) for (int x = 0; x < W; x++) { int n = 0; for (int dy = H - 1; dy <= H + 1; dy++) for (int dx = W - 1; dx <= W + 1; dx++) if (dy != H || dx != W) n += image[(y + dy) % H][(x + dx) % W] & 1; other[y][x] = n == 3 || (n == 2 && (image[y][x] & 1)); } for (int y = 0; y < H; y++) for (int x = 0; x < W; x++) image[y][x] = other[y][x]; } }
KERNEL void rotate90(void) { for (int y = 0; y < H; y++) for (int x = 0; x < H; x++) other[x][H - 1 - y] = image[y][x]; }
KERNEL void mandelbrot(void) { for (int y = 0; y < H; y++) for (int x = 0; x < W; x++) { double cr = x * 3.0 / W - 2, ci = y * 2.0 / H - 1, zr = 0, zi = 0; int n = 0; while (n < 60 && zr * zr + zi * zi < 4) { double t = zr * zr - zi * zi + cr; zi = 2 * zr * zi + ci; zr = t; n++; } image[y][x] = (uint8_t)n; } }
KERNEL void nbody(int steps) { for (int t = 0; t < steps; t++) { for (int i = 0; i < 12; i++) for (int j = i + 1; j < 12; j++) { double dx = bodies[i].x - bodies[j].x, dy = bodies[i].y - bodies[j].y, dz = bodies[i].z - bodies[j].z; double d = dx * dx + dy * dy + dz * dz + 0.01, m = 0.001 / (d * __builtin_sqrt(d)); bodies[i].vx -= dx * bodies[j].mass * m; bodies[i].vy -= dy * bodies[j].mass * m; bodies[i].vz -= dz * bodies[j].mass * m; bodies[j].vx += dx * bodies[i].mass * m; bodies[j].vy += dy * bodies[i].mass * m; bodies[j].vz += dz * bodies[i].mass * m; } for (int i = 0; i < 12; i++) { bodies[i].x += bodies[i].vx; bodies[i].y += bodies[i].vy; bodies[i].z += bodies[i].vz; } } }
KERNEL void fft(int n) { for (int i = 1, j = 0; i < n; i++) { int bit = n >> 1; for (; j & bit; bit >>= 1) j ^= bit; j ^= bit; if (i < j) { double t = real[i]; real[i] = real[j]; real[j] = t; t = imag[i]; imag[i] = imag[j]; imag[j] = t; } } for (int len = 2; len <= n; len <<= 1) { double wr = 1.0 - 2.0 / len, wi = __builtin_sqrt(1 - wr * wr); for (int i = 0; i < n; i += len) { double cr = 1, ci = 0; for (int k = 0; k < len / 2; k++) { double ar = real[i + k], ai = imag[i + k], br = real[i + k + len / 2] * cr - imag[i + k + len / 2] * ci, bi = real[i + k + len / 2] * ci + imag[i + k + len / 2] * cr; real[i + k] = ar + br; imag[i + k] = ai + bi; real[i + k + len / 2] = ar - br; imag[i + k + len / 2] = ai - bi; double t = cr * wr - ci * wi; ci = cr * wi + ci * wr; cr = t; } } } }
KERNEL void haar(int n) { for (int len = n; len > 1; len /= 2) { for (int i = 0; i < len / 2; i++) { imag[i] = (real[2 * i] + real[2 * i + 1]) / 2; imag[len / 2 + i] = (real[2 * i] - real[2 * i + 1]) / 2; } for (int i = 0; i < len; i++) real[i] = imag[i]; } }
KERNEL uint32_t crc(int n) { uint32_t c = ~0u; for (int i = 0; i < n; i++) { c ^= text[i]; for (int k = 0; k < 8; k++) c = c >> 1 ^ (0xEDB88320u & -(c & 1)); } return ~c; }
KERNEL void crc_table(uint32_t *t) { for (uint32_t i = 0; i < 256; i++) { uint32_t c = i; for (int k = 0; k < 8; k++) c = c & 1 ? c >> 1 ^ 0xEDB88320u : c >> 1; t[i] = c; } }
KERNEL uint32_t adler(int n) { uint32_t a = 1, b = 0; for (int i = 0; i < n; i++) { a = (a + text[i]) % 65521; b = (b + a) % 65521; } return b << 16 | a; }
KERNEL int base64(int n) { static const char digits[] = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/"; int o = 0; for (int i = 0; i + 2 < n; i += 3) { uint32_t v = (uint32_t)text[i] << 16 | (uint32_t)text[i + 1] << 8 | text[i + 2]; coded[o++] = (uint8_t)digits[v >> 18]; coded[o++] = (uint8_t)digits[v >> 12 & 63]; coded[o++] = (uint8_t)digits[v >> 6 & 63]; coded[o++] = (uint8_t)digits[v & 63]; } return o; }
KERNEL void upper(int n) { for (int i = 0; i < n; i++) if (text[i] >= 'a' && text[i] <= 'z') text[i] = (uint8_t)(text[i] - 32); }
KERNEL void rot13(uint8_t *s) { for (; *s; s++) { uint8_t c = *s; if (c >= 'a' && c <= 'z') *s = (uint8_t)((c - 'a' + 13) % 26 + 'a'); } }
KERNEL void reverse(int n) { for (int i = 0, j = n - 1; i < j; i++, j--) { uint8_t t = text[i]; text[i] = text[j]; text[j] = t; } }
KERNEL void hex(int n) { for (int i = 0; i < n; i++) { coded[2 * i] = (uint8_t)"0123456789abcdef"[text[i] >> 4]; coded[2 * i + 1] = (uint8_t)"0123456789abcdef"[text[i] & 15]; } }
KERNEL void xor_key(int n, const uint8_t *key, int k) { for (int i = 0; i < n; i++) text[i] ^= key[i % k]; }
KERNEL void rc4(int n) { uint8_t s[256]; for (int i = 0; i < 256; i++) s[i] = (uint8_t)i; uint8_t j = 0; for (int i = 0; i < 256; i++) { j = (uint8_t)(j + s[i] + coded[i % 16]); uint8_t t = s[i]; s[i] = s[j]; s[j] = t; } uint8_t a = 0, b = 0; for (int i = 0; i < n; i++) { a++; b = (uint8_t)(b + s[a]); uint8_t t = s[a]; s[a] = s[b]; s[b] = t; text[i] ^= s[(uint8_t)(s[a] + s[b])]; } }
KERNEL int word_count(int n) { int in = 0, c = 0; for (int i = 0; i < n; i++) { int l = (text[i] | 32) >= 'a' && (text[i] | 32) <= 'z'; if (l && !in) c++; in = l; } return c; }
KERNEL int run_length(int n) { int o = 0; for (int i = 0; i < n;) { int k = 1; while (i + k < n && k < 255 && (text[i + k] & 192) == (text[i] & 192)) k++; coded[o++] = (uint8_t)k; coded[o++] = text[i] & 192; i += k; } return o; }
KERNEL void bubble(int *a, int n) { for (int i = 0; i < n; i++) for (int j = 0; j + 1 < n - i; j++) if (a[j] > a[j + 1]) { int t = a[j]; a[j] = a[j + 1]; a[j + 1] = t; } }
KERNEL void insertion(int *a, int n) { for (int i = 1; i < n; i++) { int v = a[i], j = i - 1; while (j >= 0 && a[j] > v) { a[j + 1] = a[j]; j--; } a[j + 1] = v; } }
KERNEL void selection(int *a, int n) { for (int i = 0; i < n; i++) { int m = i; for (int j = i + 1; j < n; j++) if (a[j] < a[m]) m = j; int t = a[i]; a[i] = a[m]; a[m] = t; } }
KERNEL void shell(int *a, int n) { for (int g = n / 2; g; g /= 2) for (int i = g; i < n; i++) { int v = a[i], j = i; for (; j >= g && a[j - g] > v; j -= g) a[j] = a[j - g]; a[j] = v; } }
KERNEL void odd_even(int *a, int n) { for (int t = 0; t < n; t++) for (int i = t & 1; i + 1 < n; i += 2) { int lo = a[i] < a[i + 1] ? a[i] : a[i + 1], hi = a[i] < a[i + 1] ? a[i + 1] : a[i]; a[i] = lo; a[i + 1] = hi; } }
KERNEL void bitonic(int *a, int n) { for (int k = 2; k <= n; k *= 2) for (int j = k / 2; j > 0; j /= 2) for (int i = 0; i < n; i++) { int l = i ^ j; if (l > i && ((i & k) == 0) == (a[i] > a[l])) { int t = a[i]; a[i] = a[l]; a[l] = t; } } }
KERNEL void merge_sort(int *a, int *t, int n) { for (int w = 1; w < n; w *= 2) { for (int i = 0; i < n; i += 2 * w) { int m = i + w < n ? i + w : n, e = i + 2 * w < n ? i + 2 * w : n, l = i, r = m; for (int k = i; k < e; k++) t[k] = l < m && (r >= e || a[l] <= a[r]) ? a[l++] : a[r++]; } for (int i = 0; i < n; i++) a[i] = t[i]; } }
KERNEL void counting(uint8_t *a, int n) { int c[256]; for (int i = 0; i < 256; i++) c[i] = 0; for (int i = 0; i < n; i++) c[a[i]]++; int o = 0; for (int v = 0; v < 256; v++) for (int k = 0; k < c[v]; k++) a[o++] = (uint8_t)v; }
KERNEL int sieve(uint8_t *s, int n) { for (int i = 0; i < n; i++) s[i] = 1; for (int i = 2; i * i < n; i++) if (s[i]) for (int j = i * i; j < n; j += i) s[j] = 0; int c = 0; for (int i = 2; i < n; i++) c += s[i]; return c; }
KERNEL int lcs(const uint8_t *a, const uint8_t *b, int n, int (*t)[64]) { for (int i = 0; i <= n; i++) t[i][0] = t[0][i] = 0; for (int i = 1; i <= n; i++) for (int j = 1; j <= n; j++) t[i][j] = a[i - 1] == b[j - 1] ? t[i - 1][j - 1] + 1 : t[i - 1][j] > t[i][j - 1] ? t[i - 1][j] : t[i][j - 1]; return t[n][n]; }
KERNEL void knapsack(int *best, const uint8_t *w, int n, int cap) { for (int i = 0; i < n; i++) for (int c = cap; c >= w[i]; c--) { int v = best[c - w[i]] + w[i] * 3 % 17; if (v > best[c]) best[c] = v; } }
KERNEL void fields(int n) { for (int i = 0; i < n; i++) { pixels[i].r = (uint8_t)(pixels[i].r + pixels[i].g); pixels[i].a = 255; pixels[i].depth = pixels[i].depth * 0.5f + (float)i; pixels[i].tag = (int16_t)(pixels[i].tag - i); } }
KERNEL void field_shift(int n) { for (int i = 0; i < n; i++) { pixels[i].r = pixels[i + 1].g; pixels[i].g = pixels[i].b; } }
KERNEL void copy_structs(struct pixel *to, const struct pixel *from, int n) { for (int i = 0; i < n; i++) to[i] = from[i]; }
KERNEL int machine(const uint8_t *code, int n, int *stack) { int sp = 0, acc = 0, at = 0; for (int steps = 0; steps < 20000 && at < n; steps++) { switch (code[at++] & 7) { case 0: stack[sp++ & 63] = acc; break; case 1: acc += stack[(sp - 1) & 63]; break; case 2: acc ^= code[at++ % n]; break; case 3: sp--; break; case 4: acc *= 3; break; case 5: if (acc & 1) at -= 3; if (at < 0) at = 0; break; case 6: acc -= stack[at & 63]; break; default: acc++; } } return acc; }
KERNEL void strided_volatile(volatile int *p, int n) { for (int i = 0; i < n; i++) { p[i] = p[i] + 1; p[i] = p[i] * 2; } }
KERNEL int stack_array(int n) { int local[100]; for (int i = 0; i < 100; i++) local[i] = i * n; for (int i = 0; i < 99; i++) local[i] += local[i + 1] ^ 3; int s = 0; for (int i = 0; i < 100; i++) s += local[i]; return s; }
KERNEL int64_t mix(int64_t *q, int32_t *w, int n) { int64_t s = 0; for (int i = 0; i < n; i++) { q[i] = (int64_t)w[i] * q[i] >> 3; w[i] = (int32_t)(q[i] ^ q[i] >> 32); s += q[i]; } return s; }
KERNEL void float_ops(float *f, double *d, int n) { for (int i = 0; i < n; i++) { d[i] = __builtin_floor((double)f[i] * 1.7) - __builtin_ceil(d[i]) + __builtin_fabs((double)f[i]); f[i] = __builtin_copysignf((float)d[i], f[i]) * __builtin_sqrtf(__builtin_fabsf(f[i])); } }
KERNEL void float_min(float *f, float *g, int n) { for (int i = 0; i < n; i++) { f[i] = f[i] < g[i] ? f[i] : g[i]; g[i] = f[i] > 0 ? f[i] : 0.0f; } }
KERNEL void convert(int32_t *to, const double *from, int n) { for (int i = 0; i < n; i++) to[i] = (int32_t)from[i]; }
KERNEL void to_float(double *to, const int32_t *a, const uint32_t *b, int n) { for (int i = 0; i < n; i++) to[i] = (double)a[i] + (double)b[i] * 0.25; }
KERNEL void shifts(uint32_t *a, const uint32_t *b, int n) { for (int i = 0; i < n; i++) { a[i] = a[i] << (b[i] & 31) | a[i] >> (-b[i] & 31); a[i] += (uint32_t)__builtin_popcount(b[i]) + (uint32_t)__builtin_clz(b[i] | 1); } }
KERNEL void divide(int32_t *a, const int32_t *b, int n) { for (int i = 0; i < n; i++) a[i] = a[i] / (b[i] | 1) + a[i] % 7 - a[i] / 16; }

static int numbers[1024], spare[1024], table[64][64];
static int64_t longs[1024];
static float floats[1024], floats2[1024];
static double doubles[1024];

static void reset(void)
{
    random_state = 5;
    fill_bytes(image, sizeof image); fill_bytes(other, sizeof other); fill_bytes(rgb, sizeof rgb); fill_bytes(wide, sizeof wide); fill_bytes(text, sizeof text);
    fill_bytes(numbers, sizeof numbers); fill_bytes(spare, sizeof spare); fill_bytes(longs, sizeof longs); fill_bytes(coded, sizeof coded);
    fill_doubles(real, 256); fill_doubles(imag, 256); fill_doubles(doubles, 1024);
    for (int i = 0; i < 1024; i++) floats[i] = (float)doubles[i], floats2[i] = (float)doubles[1023 - i] * 0.5f;
    for (int i = 0; i < 12; i++) fill_doubles(&bodies[i].x, 7);
    memset(pixels, 0, sizeof pixels); memset(table, 0, sizeof table);
    for (int i = 0; i < 500; i++) pixels[i].r = text[i], pixels[i].g = text[500 + i], pixels[i].b = text[1000 + i], pixels[i].depth = floats[i];
}

#define HASH(array) hash_bytes(array, sizeof array)
static void hash_all(void)
{
    HASH(image); HASH(other); HASH(rgb); HASH(wide); HASH(histogram); HASH(real); HASH(imag); HASH(text); HASH(coded); HASH(bodies); HASH(pixels);
    HASH(numbers); HASH(spare); HASH(table); HASH(longs); HASH(floats); HASH(floats2); HASH(doubles);
}
#define RUN(call) (reset(), (call), hash_all(), show(#call))
#define KEEP(call) RUN(spare[0] = (int)(call))

int main(void)
{
    static const int8_t k3[] = {-1, 0, 1, -2, 1, 2, -1, 0, 1}, k5[25] = {1, 2, 3, 2, 1, 1, -2, -3, -2, 1, 0, 0, 2, 0, 0, 1, 1, 1, 1, 1, -1, -1, -1, -1, -1};
    RUN(box_blur()); RUN(blur_in_place()); RUN(convolve(k3, 3)); RUN(convolve(k5, 5)); RUN(convolve(k3, 1)); RUN(sobel()); RUN(equalise()); RUN(grey());
    RUN(swap_channels()); RUN(alpha(100)); RUN(alpha(256)); RUN(saturate(40)); RUN(saturate(-90)); RUN(widen()); RUN(integral()); RUN(median()); RUN(dither());
    RUN(life(3)); RUN(rotate90()); RUN(mandelbrot()); RUN(nbody(10)); RUN(fft(256)); RUN(haar(256)); KEEP(crc(3000)); RUN(crc_table((uint32_t *)numbers));
    KEEP(adler(5000)); KEEP(base64(4999)); RUN(upper(5000)); RUN((text[700] = 0, rot13(text + 300))); RUN(reverse(5000)); RUN(reverse(1)); RUN(reverse(2)); RUN(hex(4000));
    RUN(xor_key(5000, coded, 7)); RUN(xor_key(5000, text + 100, 16)); RUN(rc4(3000)); KEEP(word_count(5000)); KEEP(run_length(4000)); RUN(bubble(numbers, 80)); RUN(insertion(numbers, 200));
    RUN(selection(numbers, 150)); RUN(shell(numbers, 500)); RUN(odd_even(numbers, 100)); RUN(bitonic(numbers, 128)); RUN(merge_sort(numbers, spare, 500)); RUN(counting(text, 5000));
    KEEP(sieve(coded, 8000)); KEEP(lcs(text, text + 60, 63, table)); RUN(knapsack(numbers, text, 20, 900)); RUN(fields(500)); RUN(field_shift(499));
    RUN(copy_structs(pixels, pixels + 1, 400)); RUN(copy_structs(pixels + 1, pixels, 400)); RUN(copy_structs(pixels, pixels + 200, 200)); KEEP(machine(text, 1000, table[0]));
    RUN(strided_volatile(numbers, 1000)); KEEP(stack_array(5)); KEEP(mix(longs, numbers, 1000)); RUN(float_ops(floats, doubles, 1000)); RUN(float_min(floats, floats2, 1000));
    RUN(convert(numbers, doubles, 1000)); RUN(to_float(doubles, numbers, (uint32_t *)spare, 1000)); RUN(shifts((uint32_t *)numbers, (uint32_t *)spare, 1000)); RUN(divide(numbers, spare, 1000));
    return 0;
}
