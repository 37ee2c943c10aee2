/* SPDX-License-Identifier: Apache-2.0 */
/* Tables that are read where the data say: what bounds the index, and what doesn't. */
#define EXPORT(name) __attribute__((export_name(#name))) name

typedef unsigned char byte;

void EXPORT(by_byte)(int n, byte *restrict to, const byte *from, const byte *table)
{
    for (int i = 0; i < n; i++) to[i] = table[from[i]];
}

void EXPORT(masked)(int n, double *to, const unsigned *from, const double *table)
{
    for (int i = 0; i < n; i++) to[i] = table[from[i] & 127] + table[from[i] >> 27];
}

void EXPORT(clamped)(int n, float *to, const int *from, const float *table)
{
    for (int i = 0; i < n; i++) {
        int at = from[i] < -10 ? -10 : from[i] > 300 ? 300 : from[i];
        to[i] = table[at];
    }
}

void EXPORT(by_half)(int n, float *to, const short *from, const float *table)
{
    for (int i = 0; i < n; i++) to[i] = table[from[i] + 32768];
}

void EXPORT(two_dimensions)(int n, int m, int pitch, unsigned *to, const byte *from, const unsigned *palette)
{
    for (int y = 0; y < n; y++)
        for (int x = 0; x < m; x++) to[y * m + x] = palette[from[y * pitch + x]];
}

/* The table stays where it is, the pointer to it doesn't: it is loaded again in every iteration. */
typedef struct tables { const byte *first; byte *to; } tables;
void EXPORT(through_struct)(int n, tables *t, const byte *from)
{
    for (int i = 0; i < n; i++) t->to[i] = t->first[from[i]];
}

void EXPORT(not_bounded)(int n, float *to, const int *from, const float *table)
{
    for (int i = 0; i < n; i++) to[i] = table[from[i]];
}

void EXPORT(stored_by_data)(int n, unsigned *to, const byte *from)
{
    for (int i = 0; i < n; i++) to[from[i]]++;
}
