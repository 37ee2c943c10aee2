/* SPDX-License-Identifier: Apache-2.0 */
#ifndef TW_CLI_WASI_H
#define TW_CLI_WASI_H

#include "cli/command.h"
#include "tensorwasm/tensorwasm.h"

/* What a guest sees of the world: options for the library, with the memory that they point to. */
typedef struct cli_wasi {
    const char *command; /* for usage errors; set before it is prepared */
    tw_wasi_options options;
    const char **args, **env;
    tw_wasi_dir *dirs;
    char **owned; /* texts made here; owned_count of them */
    size_t owned_count;
} cli_wasi;

/* dirs: "HOST" or "HOST::GUEST"; env: "NAME=VALUE" or "NAME"; argv0 NULL = the file name of operand 0. A mistake is told
 * and gives CLI_EXIT_USAGE. Free it either way. */
int cli_wasi_prepare(cli_wasi *wasi, const cli_list *dirs, const cli_list *env, const char *argv0,
                     const cli_operands *operands);
void cli_wasi_free(cli_wasi *wasi);

#endif
