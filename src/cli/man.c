/* SPDX-License-Identifier: Apache-2.0 */
/* One page for all commands. Text is escaped for roff as it is printed: a '-' that is to be copied is \-, a backslash
 * is \e, and a line may not begin with '.' or '\''. */
#include <string.h>

#include "cli/command.h"
#include "cli/generate.h"

static void print_text(FILE *out, const char *text)
{
    for (const char *p = text; *p; p++) {
        bool starts = p == text || p[-1] == '\n';
        if (starts && (*p == '.' || *p == '\'')) fputs("\\&", out);
        if (*p == '-') fputs("\\-", out);
        else if (*p == '\\') fputs("\\e", out);
        else fputc(*p, out);
    }
}

static void print_paragraphs(FILE *out, const char *text)
{
    for (; *text; text++) {
        if (*text == '\n') {
            fputs("\n.PP\n", out);
            continue;
        }
        char one[2] = {*text, 0};
        print_text(out, one);
    }
    fputc('\n', out);
}

static void print_option(FILE *out, const cli_option *option)
{
    if (option->kind == CLI_HEADING) {
        fprintf(out, ".PP\n.I %s:\n", option->help);
        return;
    }
    fputs(".TP\n", out);
    if (option->letter) fprintf(out, "\\fB\\-%c\\fR, ", option->letter);
    fputs("\\fB\\-\\-", out);
    print_text(out, option->name);
    fputs("\\fR", out);
    if (option->value) {
        fputs(" \\fI", out);
        print_text(out, option->value);
        fputs("\\fR", out);
    }
    fputc('\n', out);
    print_text(out, option->help);
    fputs(".\n", out);
}

static void print_examples(FILE *out, const cli_command *command)
{
    if (command->example_count) fputs(".PP\nExamples:\n", out);
    for (size_t i = 0; i < command->example_count; i++) {
        fputs(".TP\n\\fB", out);
        print_text(out, command->examples[i].line);
        fputs("\\fR\n", out);
        print_text(out, command->examples[i].says);
        fputs(".\n", out);
    }
}

static void print_command(FILE *out, const cli_command *command)
{
    fprintf(out, ".SS \"%s %s\"\n", CLI_PROGRAM, command->name);
    fprintf(out, ".B %s %s\n", CLI_PROGRAM, command->name);
    fputs("[options] ", out);
    print_text(out, command->operands);
    fputs("\n.PP\n", out);
    print_paragraphs(out, command->text);
    for (size_t i = 0; i < command->option_count; i++) print_option(out, &command->options[i]);
    print_examples(out, command);
}

static void print_exits(FILE *out)
{
#define PRINT_EXIT(name, code, meaning)                                                                                \
    fprintf(out, ".TP\n.B %d\n", code);                                                                                \
    print_text(out, meaning);                                                                                          \
    fputs(".\n", out);
    CLI_EXIT_MAP(PRINT_EXIT)
#undef PRINT_EXIT
}

void cli_print_man(FILE *out)
{
    fprintf(
        out,
        ".TH TENSOR\\-WASM 1 \"\" \"TensorWasm " TW_VERSION "\" \"User Commands\"\n"
        ".SH NAME\ntensor\\-wasm \\- runs WebAssembly, and its hot loops as native kernels\n"
        ".SH SYNOPSIS\n.B tensor\\-wasm\n.I MODULE\n[args...]\n.br\n.B tensor\\-wasm\n.I COMMAND\n[options] ...\n"
        ".SH DESCRIPTION\n"
        "TensorWasm runs WebAssembly. Loops over linear memory whose iterations may be reordered, decided with the "
        "numbers of each run, are compiled to native kernels that use vector units and several cores, and leave the "
        "same bits as the original code.\n.PP\n"
        "Each option with a value is taken as\n.B \\-\\-option VALUE\nand as\n.BR \\-\\-option=VALUE .\n"
        ".SH COMMANDS\n");
    const cli_command *command;
    for (size_t i = 0; (command = cli_command_at(i)); i++)
        if (!command->hidden) print_command(out, command);
    fputs(".SH EXIT STATUS\n", out);
    print_exits(out);
    fputs(".SH FILES\n.TP\n.I ~/.cache/tensorwasm/kernels\n"
          "Compiled kernels, where $XDG_CACHE_HOME isn't set. May be deleted at any time.\n"
          ".SH ENVIRONMENT\n.TP\n.B XDG_CACHE_HOME\nThe folder that holds\n.I tensorwasm/kernels\n"
          "instead of ~/.cache.\n",
          out);
}
