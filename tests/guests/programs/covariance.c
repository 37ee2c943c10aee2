/* SPDX-License-Identifier: Apache-2.0 */
#include "guest.h"

/* How the columns of data (rows x columns, centred) vary together: a triangle that starts at the diagonal, its sums independent
 * and each in its order, and every result stored twice. */
GUEST(void, covariance, (int rows, int columns, const double *data, double *out))
{
    for (int i = 0; i < columns; i++)
        for (int j = i; j < columns; j++) {
            double sum = 0;
            for (int k = 0; k < rows; k++) sum += data[k * columns + i] * data[k * columns + j];
            out[i * columns + j] = out[j * columns + i] = sum / (rows - 1);
        }
}
NATIVE(covariance, (I32(0), I32(1), PTR(2), PTR(3)))
