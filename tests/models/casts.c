/* SPDX-License-Identifier: Apache-2.0 */
/* Floats that become integers: without saturating instructions a branch stands around each conversion. */
#define EXPORT(name) __attribute__((export_name(#name))) name

void EXPORT(to_int)(int n, int *to, const double *from)
{
    for (int i = 0; i < n; i++) to[i] = (int)(from[i] * 3.0);
}

void EXPORT(to_byte)(int n, unsigned char *to, const float *from)
{
    for (int i = 0; i < n; i++) to[i] = (unsigned char)(from[i] * 255.0f);
}

void EXPORT(to_unsigned_long)(int n, unsigned long long *to, const float *from)
{
    for (int i = 0; i < n; i++) to[i] = (unsigned long long)from[i];
}

void EXPORT(clamped)(int n, unsigned char *to, const float *from)
{
    for (int i = 0; i < n; i++) {
        float value = from[i] * 255.0f + 0.5f;
        to[i] = (unsigned char)(value < 0 ? 0 : value > 255 ? 255 : value);
    }
}
