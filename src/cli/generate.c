/* SPDX-License-Identifier: Apache-2.0 */
#include "cli/generate.h"

#include "cli/command.h"
#include "cli/message.h"
#include "cli/parse.h"

static const char documents[] = "man|bash|zsh|fish";
static void (*const printers[])(FILE *) = {
    cli_print_man,
    cli_print_bash_completion,
    cli_print_zsh_completion,
    cli_print_fish_completion,
};

static int run(const void *settings, const cli_operands *operands)
{
    (void)settings;
    int index = cli_choice_index(documents, operands->items[0]);
    if (index < 0) return cli_usage_error(false, "generate", "'%s' is not one of %s", operands->items[0], documents);
    printers[index](stdout);
    return CLI_EXIT_DONE;
}

const cli_command cli_generate = {
    .name = "generate",
    .operands = "man|bash|zsh|fish",
    .summary = "prints the man page or a shell's completions",
    .text = "Made from the same tables as --help. 'make install' puts them in place.",
    .min_operands = 1,
    .max_operands = 1,
    .hidden = true,
    .run = run,
};
