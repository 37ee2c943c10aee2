/* SPDX-License-Identifier: Apache-2.0 */
/* A loop in the guest that calls a small kernel over and over with the same numbers: what a repeated dispatch costs. */

enum { MAX = 1024 };
static float x[MAX], y[MAX];

__attribute__((noinline)) static void saxpy(int n, float a, const float *from, float *to)
{
    for (int i = 0; i < n; i++) to[i] = a * from[i] + to[i];
}

__attribute__((export_name("many"))) int many(int calls, int n)
{
    for (int c = 0; c < calls; c++) saxpy(n, 0.5f, x, y);
    return (int)y[0];
}
