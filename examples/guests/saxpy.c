/* SPDX-License-Identifier: Apache-2.0 */
/* y = a x + y in floats, over and over.   saxpy [PASSES] */
#include "example.h"

SEPARATE static void saxpy(int n, float a, const float *x, float *y)
{
    for (int i = 0; i < n; i++) y[i] = a * x[i] + y[i];
}

int main(int argc, char **argv)
{
    enum { N = 20000 };
    int passes = example_argument(argc, argv, 1, 60000);
    float *x = example_memory(N, sizeof *x), *y = example_memory(N, sizeof *y);
    for (int i = 0; i < N; i++) x[i] = (float)example_number();
    for (int p = 0; p < passes; p++) saxpy(N, 0.001f * (float)(p & 7), x, y);
    example_print("saxpy", y, sizeof *y * N);
    return 0;
}
