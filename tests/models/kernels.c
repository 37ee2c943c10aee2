/* SPDX-License-Identifier: Apache-2.0 */
/* Kernels as people write them; see CMakeLists.txt. The last four must not become parallel regions. */
#define EXPORT(name) __attribute__((export_name(#name)))
typedef unsigned char u8;

EXPORT(saxpy) void saxpy(int n, float a, const float *x, float *y)
{
    for (int i = 0; i < n; i++) y[i] += a * x[i];
}

EXPORT(gemm) void gemm(int n, int m, int k, double alpha, double beta, double *C, const double *A, const double *B)
{
    for (int i = 0; i < n; i++) {
        for (int j = 0; j < m; j++) C[i * m + j] *= beta;
        for (int l = 0; l < k; l++)
            for (int j = 0; j < m; j++) C[i * m + j] += alpha * A[i * k + l] * B[l * m + j];
    }
}

EXPORT(blend) void blend(int n, u8 *d, const u8 *s, const u8 *alpha)
{
    for (int i = 0; i < n; i++) {
        int a = alpha[i];
        d[i] = (u8)((s[i] * a + d[i] * (255 - a) + 127) / 255);
    }
}

EXPORT(blur) void blur(int w, int h, u8 *d, const u8 *s)
{
    for (int y = 1; y < h - 1; y++)
        for (int x = 1; x < w - 1; x++) {
            int t = 0;
            for (int dy = -1; dy <= 1; dy++)
                for (int dx = -1; dx <= 1; dx++) t += s[(y + dy) * w + x + dx];
            d[y * w + x] = (u8)(t / 9);
        }
}

EXPORT(transpose) void transpose(int n, int m, float *B, const float *A)
{
    for (int i = 0; i < n; i++)
        for (int j = 0; j < m; j++) B[j * n + i] = A[i * m + j];
}

EXPORT(matvec) void matvec(int n, int m, double *y, const double *A, const double *x)
{
    for (int i = 0; i < n; i++) {
        double s = 0;
        for (int j = 0; j < m; j++) s += A[i * m + j] * x[j];
        y[i] = s;
    }
}

EXPORT(jacobi) void jacobi(int steps, int n, double *A, double *B)
{
    for (int t = 0; t < steps; t++) {
        for (int i = 1; i < n - 1; i++)
            for (int j = 1; j < n - 1; j++)
                B[i * n + j] = 0.2 * (A[i * n + j] + A[i * n + j - 1] + A[i * n + j + 1] + A[(i + 1) * n + j] + A[(i - 1) * n + j]);
        for (int i = 1; i < n - 1; i++)
            for (int j = 1; j < n - 1; j++)
                A[i * n + j] = 0.2 * (B[i * n + j] + B[i * n + j - 1] + B[i * n + j + 1] + B[(i + 1) * n + j] + B[(i - 1) * n + j]);
    }
}

EXPORT(syrk) void syrk(int n, int m, double alpha, double beta, double *C, const double *A)
{
    for (int i = 0; i < n; i++) {
        for (int j = 0; j <= i; j++) C[i * n + j] *= beta;
        for (int k = 0; k < m; k++)
            for (int j = 0; j <= i; j++) C[i * n + j] += alpha * A[i * m + k] * A[j * m + k];
    }
}

struct vectors { int n; float *x, *y; float a; };
EXPORT(saxpy_struct) void saxpy_struct(const struct vectors *v)
{
    for (int i = 0; i < v->n; i++) v->y[i] += v->a * v->x[i];
}

EXPORT(clamp) void clamp(int n, float low, float high, float *x)
{
    for (int i = 0; i < n; i++) {
        if (x[i] < low) x[i] = low;
        else if (x[i] > high) x[i] = high;
    }
}

EXPORT(prefix) void prefix(int n, float *x)
{
    for (int i = 1; i < n; i++) x[i] += x[i - 1];
}

EXPORT(dot) double dot(int n, const double *x, const double *y)
{
    double s = 0;
    for (int i = 0; i < n; i++) s += x[i] * y[i];
    return s;
}

EXPORT(histogram) void histogram(int n, int *counts, const u8 *x)
{
    for (int i = 0; i < n; i++) counts[x[i]]++;
}

EXPORT(recurrence) void recurrence(int n, double *x)
{
    double v = x[0];
    for (int i = 1; i < n; i++) {
        v = v * 0.5 + x[i];
        x[i] = v;
    }
}

void *memset(void *d, int c, unsigned long n)
{
    char *p = d;
    while (n--) *p++ = (char)c;
    return d;
}
