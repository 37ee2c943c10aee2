/* SPDX-License-Identifier: Apache-2.0 */
#ifndef TW_CLI_GENERATE_H
#define TW_CLI_GENERATE_H

#include <stdio.h>

/* Documents made from the commands' tables when the program is built. */

/* roff for man(1). */
void cli_print_man(FILE *out);

void cli_print_bash_completion(FILE *out);
void cli_print_zsh_completion(FILE *out);
void cli_print_fish_completion(FILE *out);

#endif
