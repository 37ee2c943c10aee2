/* SPDX-License-Identifier: Apache-2.0 */
/* tw-kernel WORKER REQUEST schedule|llvm|asm: what the compile worker makes of a model and its facts, from a file. */
#include <stdio.h>
#include <stdlib.h>

#include "base/bytes.h"
#include "compile/compile.h"

int main(int argc, char **argv)
{
    tw_bytes request = {0};
    tw_compiler *compiler;
    tw_error error;
    char *text, part[4096];
    size_t got;
    FILE *file = argc == 4 ? fopen(argv[2], "rb") : NULL;
    if (!file) return fprintf(stderr, "usage: tw-kernel WORKER REQUEST schedule|llvm|asm\n"), 2;
    while ((got = fread(part, 1, sizeof part, file)) > 0) tw_bytes_append(&request, part, got);
    fclose(file);
    tw_compiler_options options = {.worker_path = argv[1], .limit_ms = 20000};
    if (tw_compiler_new(&options, &compiler, &error) != TW_OK ||
        tw_compiler_dump(compiler, argv[3], request.data, request.size, &text, &error) != TW_OK)
        return fprintf(stderr, "%s\n", error.message), 1;
    fputs(text, stdout);
    free(text);
    tw_compiler_free(compiler);
    tw_bytes_free(&request);
    return 0;
}
