/* SPDX-License-Identifier: Apache-2.0 */
/* How the columns of a table vary together; each sum keeps its order, the sums are independent.   covariance [COLUMNS] */
#include "example.h"

SEPARATE static void centre(int rows, int columns, double *data)
{
    for (int j = 0; j < columns; j++) {
        double mean = 0;
        for (int i = 0; i < rows; i++) mean += data[i * columns + j];
        mean /= rows;
        for (int i = 0; i < rows; i++) data[i * columns + j] -= mean;
    }
}

SEPARATE static void covariance(int rows, int columns, const double *data, double *out)
{
    for (int i = 0; i < columns; i++)
        for (int j = i; j < columns; j++) {
            double sum = 0;
            for (int k = 0; k < rows; k++) sum += data[k * columns + i] * data[k * columns + j];
            out[i * columns + j] = out[j * columns + i] = sum / (rows - 1);
        }
}

int main(int argc, char **argv)
{
    int columns = example_argument(argc, argv, 1, 700), rows = columns + 100;
    double *data = example_memory((size_t)rows * columns, sizeof *data);
    double *out = example_memory((size_t)columns * columns, sizeof *out);
    for (int i = 0; i < rows * columns; i++) data[i] = example_number();
    centre(rows, columns, data);
    covariance(rows, columns, data, out);
    example_print("covariance", out, sizeof *out * (size_t)columns * columns);
    return 0;
}
