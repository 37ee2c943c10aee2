/* SPDX-License-Identifier: Apache-2.0 */
/* stdin in capitals to stdout, and how many bytes that was to stderr. */
#include <ctype.h>
#include <stdio.h>

int main(void)
{
    int count = 0;
    for (int c; (c = getchar()) != EOF; count++) putchar(toupper(c));
    fprintf(stderr, "%d bytes\n", count);
    return 0;
}
