/* SPDX-License-Identifier: Apache-2.0 */
/* Ends in the way that its argument says. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static volatile int never;

__attribute__((noinline)) static void inner(int how)
{
    if (how) __builtin_trap();
    puts("not reached");
}

__attribute__((noinline)) static void outer(int how)
{
    inner(how);
    never++;
}

int main(int argc, char **argv)
{
    const char *how = argc > 1 ? argv[1] : "";
    if (!strcmp(how, "trap")) outer(1);
    if (!strcmp(how, "spin"))
        while (!never) {}
    if (!strcmp(how, "sleep")) sleep(30);
    if (!strcmp(how, "read")) getchar();
    if (!strcmp(how, "yes"))
        while (puts("y") >= 0) {}
    fprintf(stderr, "leaving\n");
    exit(argc > 2 ? atoi(argv[2]) : 0);
}
