/* SPDX-License-Identifier: Apache-2.0 */
#ifndef TW_CLI_PARSE_H
#define TW_CLI_PARSE_H

#include "cli/command.h"

/* Parses what follows the command's name and runs the command. Gives the exit code.
 * Every option is taken as `--x V` and as `--x=V`; `--` ends the options. -h and --help print the command's help.
 * A mistake is told on stderr (on stdout as JSON, where --json was asked for) and gives CLI_EXIT_USAGE. */
int cli_parse_and_run(const cli_command *command, char **args, size_t count);

/* The words of a choice, "off|auto|force": the index of word, or -1. */
int cli_choice_index(const char *words, const char *word);

#endif
