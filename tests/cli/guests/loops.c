/* SPDX-License-Identifier: Apache-2.0 */
/* A reactor with one loop that can be offloaded and one that can't. */
#define N 4096
static float x[N], y[N];
static int sums[N];

__attribute__((export_name("saxpy"))) void saxpy(float a, int n)
{
    for (int i = 0; i < n; i++) y[i] += a * x[i];
}

__attribute__((export_name("prefix"))) void prefix(int n)
{
    for (int i = 1; i < n; i++) sums[i] += sums[i - 1];
}

__attribute__((export_name("fill"))) void fill(int n)
{
    for (int i = 0; i < n; i++) x[i] = (float)i;
}

__attribute__((export_name("at"))) float at(int i)
{
    return y[i];
}
