/* SPDX-License-Identifier: Apache-2.0 */
/* cat FILE..., and with "=FILE" writes a line to FILE. Exits with 3 when one can't be opened. */
#include <stdio.h>

static int write_line(const char *path)
{
    FILE *file = fopen(path, "w");
    if (!file) return 1;
    fputs("written by the guest\n", file);
    return fclose(file) != 0;
}

static int print(const char *path)
{
    FILE *file = fopen(path, "r");
    if (!file) return 1;
    for (int c; (c = getc(file)) != EOF;) putchar(c);
    fclose(file);
    return 0;
}

int main(int argc, char **argv)
{
    int code = 0;
    for (int i = 1; i < argc; i++) {
        const char *path = argv[i][0] == '=' ? argv[i] + 1 : argv[i];
        if (argv[i][0] == '=' ? write_line(path) : print(path)) {
            perror(path);
            code = 3;
        }
    }
    return code;
}
