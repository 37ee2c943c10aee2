/* SPDX-License-Identifier: Apache-2.0 */
/* A loop that must stay as it is: the order of floating-point additions is part of the result.   running_sum [PASSES] */
#include "example.h"

SEPARATE static void running_sum(int n, const double *x, double *y)
{
    double sum = 0;
    for (int i = 0; i < n; i++) {
        sum += x[i];
        y[i] = sum;
    }
}

int main(int argc, char **argv)
{
    enum { N = 20000 };
    int passes = example_argument(argc, argv, 1, 20000);
    double *x = example_memory(N, sizeof *x), *y = example_memory(N, sizeof *y);
    for (int i = 0; i < N; i++) x[i] = example_number();
    for (int p = 0; p < passes; p++) {
        x[p % N] += 0.25;
        running_sum(N, x, y);
    }
    example_print("running sum", y, sizeof *y * N);
    return 0;
}
