/* SPDX-License-Identifier: Apache-2.0 */
#include "cli/help.h"

#include <string.h>

#include "cli/message.h"
#include "cli/suggest.h"

enum { WIDTH = 80, HELP_COLUMN = 28 };

/* Words of `text` from column `at`, lines broken at WIDTH and continued at `indent`. */
static void print_wrapped(FILE *out, const char *text, size_t at, size_t indent)
{
    bool first = true;
    while (*text) {
        size_t size = strcspn(text, " ");
        if (!first && at + 1 + size > WIDTH) {
            fprintf(out, "\n%*s", (int)indent, "");
            at = indent;
        } else if (!first) {
            fputc(' ', out);
            at++;
        }
        fwrite(text, 1, size, out);
        at += size;
        text += size + (text[size] == ' ');
        first = false;
    }
    fputc('\n', out);
}

static void print_option(FILE *out, const cli_option *option)
{
    if (option->kind == CLI_HEADING) {
        fprintf(out, "\n%s:\n", option->help);
        return;
    }
    char left[96], letter[8] = "    ";
    if (option->letter) snprintf(letter, sizeof letter, "-%c, ", option->letter);
    int size = snprintf(left, sizeof left, "  %s--%s%s%s", letter, option->name, option->value ? " " : "",
                        option->value ? option->value : "");
    fputs(left, out);
    if (size > HELP_COLUMN - 2) fprintf(out, "\n%*s", HELP_COLUMN, "");
    else fprintf(out, "%*s", HELP_COLUMN - size, "");
    print_wrapped(out, option->help, HELP_COLUMN, HELP_COLUMN);
}

static void print_paragraphs(FILE *out, const char *text)
{
    while (*text) {
        char paragraph[1024];
        size_t size = strcspn(text, "\n");
        snprintf(paragraph, sizeof paragraph, "%.*s", (int)size, text);
        fputc('\n', out);
        print_wrapped(out, paragraph, 0, 0);
        text += size + (text[size] == '\n');
    }
}

void cli_print_help(FILE *out, const cli_command *command)
{
    fprintf(out, "%s %s: %s\n\nUsage: %s %s [options]%s%s\n", CLI_PROGRAM, command->name, command->summary, CLI_PROGRAM,
            command->name, *command->operands ? " " : "", command->operands);
    print_paragraphs(out, command->text);
    if (!command->option_count || command->options[0].kind != CLI_HEADING) fputs("\nOptions:\n", out);
    for (size_t i = 0; i < command->option_count; i++) print_option(out, &command->options[i]);
    fprintf(out, "  -h, --help%*sprints this\n", HELP_COLUMN - 12, "");
    if (command->example_count) fputs("\nExamples:\n", out);
    for (size_t i = 0; i < command->example_count; i++) {
        fprintf(out, "  %s\n      ", command->examples[i].line);
        print_wrapped(out, command->examples[i].says, 6, 6);
    }
}

void cli_print_group(FILE *out, const char *group)
{
    const cli_command *command;
    fprintf(out, "Usage: %s %s COMMAND [options] ...\n\nCommands:\n", CLI_PROGRAM, group);
    for (size_t i = 0; (command = cli_command_at(i)); i++) {
        const char *word = cli_word_in_group(command, group);
        if (word && !command->hidden) fprintf(out, "  %-10s  %s\n", word, command->summary);
    }
    fprintf(out, "\nOptions and examples of each: '%s %s COMMAND --help'.\n", CLI_PROGRAM, group);
}

void cli_print_overview(FILE *out)
{
    fprintf(out,
            "%s runs WebAssembly, and its hot loops as native kernels with the same bits.\n\n"
            "Usage: %s MODULE [args...]            runs a module: short for 'run'\n"
            "       %s COMMAND [options] ...\n\nCommands:\n",
            CLI_PROGRAM, CLI_PROGRAM, CLI_PROGRAM);
    const cli_command *command;
    for (size_t i = 0; (command = cli_command_at(i)); i++)
        if (!command->hidden) fprintf(out, "  %-16s  %s\n", command->name, command->summary);
    fputs("\nOptions:\n  -h, --help     prints this\n  -V, --version  prints the version\n\nExit codes:\n", out);
#define PRINT_EXIT(name, code, meaning) fprintf(out, "  %-4d %s\n", code, meaning);
    CLI_EXIT_MAP(PRINT_EXIT)
#undef PRINT_EXIT
    fprintf(out,
            "\nStart here:\n"
            "  %s hello.wasm\n      runs a WASI program\n"
            "  %s run --invoke add add.wat 7 5\n      calls one function and prints its result\n"
            "  %s inspect gemm.wasm\n      tells of every loop whether it can be offloaded, or why not\n"
            "  %s help run\n      shows every option of 'run', with examples\n",
            CLI_PROGRAM, CLI_PROGRAM, CLI_PROGRAM, CLI_PROGRAM);
}

static int unknown_topic(const char *topic)
{
    cli_suggestion near;
    cli_suggestion_init(&near, topic);
    const cli_command *command;
    for (size_t i = 0; (command = cli_command_at(i)); i++)
        if (!command->hidden) cli_suggestion_offer(&near, command->name);
    if (near.best) return cli_usage_error(false, NULL, "no command '%s'; did you mean '%s'?", topic, near.best);
    return cli_usage_error(false, NULL, "no command '%s'", topic);
}

static int run(const void *settings, const cli_operands *operands)
{
    (void)settings;
    if (!operands->count) {
        cli_print_overview(stdout);
        return CLI_EXIT_DONE;
    }
    const char *word = operands->items[0];
    bool group = cli_is_group(word);
    if (group && operands->count == 1) {
        cli_print_group(stdout, word);
        return CLI_EXIT_DONE;
    }
    const char *last = operands->items[operands->count - 1];
    const cli_command *command = group == (operands->count > 1) ? cli_command_in_group(group ? word : NULL, last) : NULL;
    if (!command) return unknown_topic(last);
    cli_print_help(stdout, command);
    return CLI_EXIT_DONE;
}

static const cli_example examples[] = {
    {"tensor-wasm help", "lists the commands"},
    {"tensor-wasm help run", "the same as 'tensor-wasm run --help'"},
    {"tensor-wasm help snapshot save", "the same as 'tensor-wasm snapshot save --help'"},
};

const cli_command cli_help = {
    .name = "help",
    .operands = "[COMMAND...]",
    .summary = "explains a command",
    .text = "Prints what a command does, its options and examples.",
    .examples = examples,
    .example_count = CLI_LENGTH(examples),
    .max_operands = 2,
    .run = run,
};
