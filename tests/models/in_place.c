/* SPDX-License-Identifier: Apache-2.0 */
/* Loops that read what they have stored: what the guest's compiler then keeps in locals is read back in a second model, where
 * memory is known to have it, and only there. */
#define EXPORT(name) __attribute__((export_name(#name))) name

void EXPORT(seidel)(int steps, int n, double *a)
{
    for (int t = 0; t < steps; t++)
        for (int i = 1; i < n - 1; i++)
            for (int j = 1; j < n - 1; j++)
                a[i * n + j] = (a[(i - 1) * n + j + 1] + a[i * n + j - 1] + a[i * n + j] + a[(i + 1) * n + j]) / 4;
}

/* Unrolled at some levels, with a remainder. */
void EXPORT(smooth)(int n, int m, float *a)
{
    for (int i = 1; i < n; i++)
        for (int j = 1; j < m; j++) a[i * m + j] = 0.5f * (a[(i - 1) * m + j] + a[i * m + j - 1]);
}

void EXPORT(edit)(int n, int m, const unsigned char *x, const unsigned char *y, int *table)
{
    for (int i = 1; i <= n; i++)
        for (int j = 1; j <= m; j++) {
            int up = table[(i - 1) * (m + 1) + j] + 1, left = table[i * (m + 1) + j - 1] + 1;
            int both = table[(i - 1) * (m + 1) + j - 1] + (x[i - 1] != y[j - 1]), least = up < left ? up : left;
            table[i * (m + 1) + j] = least < both ? least : both;
        }
}

/* The sum isn't what is stored: it stays a scalar. */
void EXPORT(row_sums)(int n, int m, const double *a, double *out)
{
    for (int i = 0; i < n; i++) {
        double sum = 0;
        for (int j = 0; j < m; j++) sum += a[i * m + j], out[i * m + j] = sum * 2;
    }
}

/* What is stored begins with a constant, which is nowhere in memory. */
void EXPORT(running)(int n, int m, const double *a, double *out)
{
    for (int i = 0; i < n; i++) {
        double sum = 0;
        for (int j = 0; j < m; j++) out[i * m + j] = sum += a[i * m + j];
    }
}
