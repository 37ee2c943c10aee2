/* SPDX-License-Identifier: Apache-2.0 */
#ifndef TW_CLI_HELP_H
#define TW_CLI_HELP_H

#include <stdio.h>

#include "cli/command.h"

/* One command: usage, prose, options, examples. */
void cli_print_help(FILE *out, const cli_command *command);
/* The commands of a group. */
void cli_print_group(FILE *out, const char *group);
/* The program: its commands, exit codes, where to go on. */
void cli_print_overview(FILE *out);

#endif
