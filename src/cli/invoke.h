/* SPDX-License-Identifier: Apache-2.0 */
#ifndef TW_CLI_INVOKE_H
#define TW_CLI_INVOKE_H

#include <stdio.h>

#include "cli/command.h"
#include "tensorwasm/tensorwasm.h"

/* What of a module is called, with which values, and what came back. */
typedef struct cli_invocation {
    const char *command; /* for usage errors; set before it is prepared */
    const char *name; /* NULL = nothing but what instantiation does */
    bool initialize;  /* _initialize is called before */
    bool prints;      /* results are printed: the function was named by the user */
    const char *before; /* called without arguments before `name`, after _initialize; NULL = nothing */
    char hint[512];   /* what to say when nothing is called; "" = nothing */
    tw_val *args, *results;
    size_t arg_count, result_count;
} cli_invocation;

/* invoke: the name from --invoke, or NULL for `_start`. operands: MODULE and the arguments behind it. Looks the export
 * up and types the arguments; a mistake is told and gives CLI_EXIT_USAGE. Free the invocation either way. */
int cli_invocation_prepare(cli_invocation *invocation, const tw_module *module, const char *invoke,
                           const cli_operands *operands);
/* `export` shall be called in any case: where nothing else does, before the rest. A mistake is told. */
int cli_invocation_insert(cli_invocation *invocation, const tw_module *module, const char *export);
/* What to do when a call has come back well: with TW_OK or with TW_EXIT and code 0. */
typedef struct cli_invocation_watcher {
    tw_status (*returned)(void *context, const char *export, tw_error *error); /* NULL = nobody cares */
    void *context;
} cli_invocation_watcher;
/* The first call that fails is the last, or the first time that the watcher does. */
tw_status cli_invocation_call(cli_invocation *invocation, tw_instance *instance, const cli_invocation_watcher *watcher,
                              tw_error *error);
/* The results, one a line; nothing for `_start`. */
void cli_invocation_print(const cli_invocation *invocation, FILE *out);
void cli_invocation_free(cli_invocation *invocation);

#endif
