/* SPDX-License-Identifier: Apache-2.0 */
/* Two loops in a row over the same range, each unrolled with a remainder: the second must not be taken for more of the first. */
__attribute__((export_name("twice")))
void twice(int n, int m, int *p)
{
    for (int i = 0; i < m; i++) {
        for (int j = 0; j < n; j++) p[j] *= 3;
        for (int j = 0; j < n; j++) p[j] *= 3;
    }
}
