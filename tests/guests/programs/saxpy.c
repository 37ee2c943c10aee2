/* SPDX-License-Identifier: Apache-2.0 */
#include "guest.h"

GUEST(void, saxpy, (int n, float a, const float *x, float *y))
{
    for (int i = 0; i < n; i++) y[i] = a * x[i] + y[i];
}
NATIVE(saxpy, (I32(0), F32(1), PTR(2), PTR(3)))

/* The same, with everything in a structure in memory: the stores to y might change it, so it is read again every time. */
struct job {
    int n;
    float a;
    unsigned x, y;
};

GUEST(void, saxpy_job, (const struct job *job))
{
    for (int i = 0; i < job->n; i++) AT(float, job->y)[i] = job->a * AT(const float, job->x)[i] + AT(float, job->y)[i];
}
NATIVE(saxpy_job, (PTR(0)))
