/* SPDX-License-Identifier: Apache-2.0 */
/* What a WASI program sees: prints its arguments, and the environment variables that they name as $NAME. */
#include <stdio.h>
#include <stdlib.h>

int main(int argc, char **argv)
{
    for (int i = 0; i < argc; i++) {
        if (argv[i][0] != '$') {
            printf("arg %d: %s\n", i, argv[i]);
            continue;
        }
        const char *value = getenv(argv[i] + 1);
        printf("env %s: %s\n", argv[i] + 1, value ? value : "(unset)");
    }
    return 0;
}
